/* SPDX-License-Identifier: Apache-2.0 */
/* callgate audit rotate-key, while no gate runs. Killed at any step it has changed nothing that counts, or all:
 *
 *   1. what is there is signed with the old key, to its end
 *   2. a new key, in memory alone; the last checkpoint, with both keys in it, signed with both
 *   3. that in an event, durable               killed here: nobody has the new key, and the old one goes on
 *   4. the new key in the old one's place      killed from here on: the next start signs with it, and the event vouches for it
 *   5. a start and a stop under the new key, so that all rows are signed with it
 *
 * 3 and 4 are under the audit's lock: no gate starts in between with the old key. */
#include "trail/cmd_audit_priv.h"
#include "args/print.h"
#include "cli/told.h"
#include "run/serve.h"
#include "run/serve_audit.h"

#include "proof/succession.h"
#include "files/trail.h"
#include "base/mem.h"
#include "json/json.h"
#include "os/file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEM_BYTES ((size_t)4096)

struct rotation_of_key {
    struct serve serve;
    struct sign_key *before, *after;
    struct buf pem;      /* of the new one */
    struct buf old, new; /* name+id+key */
    struct buf detail;   /* of the event */
};

static enum code describe(const struct sign_key *key, struct span origin, struct buf *out)
{
    unsigned char public[SIGN_PUBLIC_BYTES];
    enum code code = sign_key_public(key, public);

    return code == CODE_OK ? note_key_write(origin, public, out) : code;
}

/* Appends the text of the first row. Nothing is said of a question that finds none, or fails. */
static enum code read_one(const struct rotation_of_key *task, const char *sql, const struct db_value *values, size_t count,
                          struct buf *text, struct why *why)
{
    struct db *db;
    struct db_stmt *stmt = NULL;
    enum code code = trail_open_as(task->serve.conf->audit.database, DB_LOOK, &db, why);

    if (code != CODE_OK)
        return code;
    code = db_find(db, sql, values, count, &stmt);
    if (code == CODE_OK)
        code = buf_add_span(text, db_text(stmt, 0));
    db_finalize(&stmt);
    db_close(&db);
    return code;
}

/* The text of the last checkpoint, which begins with the log's name. */
static enum code last_checkpoint(const struct rotation_of_key *task, struct buf *text, struct why *why)
{
    enum code code = read_one(task, "SELECT note FROM checkpoint ORDER BY size DESC LIMIT 1", NULL, 0, text, why);

    return code == CODE_OK || why->text[0] != '\0' ? code
           : why_set(why, code, "%s: holds no checkpoint yet; start the gate once", task->serve.conf->audit.database);
}

/* Another key than `new` that the file names, where the old one gave no word for it. */
static enum code find_lost(struct rotation_of_key *task, struct why *why)
{
    enum code code = read_one(task, "SELECT json_extract(detail, '$.key') AS key FROM event WHERE kind = 'checkpoint_key' AND "
                              "json_valid(detail) AND key IS NOT ?1 AND NOT EXISTS (SELECT 1 FROM event WHERE "
                              "kind = 'checkpoint_key' AND json_valid(detail) AND json_extract(detail, '$.key') = ?1 AND "
                              "json_extract(detail, '$.note') IS NOT NULL) ORDER BY seq DESC LIMIT 1",
                              DB_VALUES(db_of_text(buf_peek(&task->new))), &task->old, why);

    return code != CODE_NOT_FOUND || why->text[0] != '\0' ? code
           : why_set(why, code, "%s: no key was lost: %s is the one that signed before; leave --lost out",
                     task->serve.conf->audit.database, task->serve.conf->audit.checkpoint_key);
}

/* Writes `start`, what has to be said, and at its end `stop`, signed with the key that stands there. */
static enum code run_once(struct rotation_of_key *task, bool replaces, struct why *why)
{
    struct serve *serve = &task->serve;
    enum code code = serve_open_audit(serve, why);

    if (code == CODE_BUSY)
        (void)why_set(why, code, "a gate writes %s, or another command: stop it first, and start it again behind this",
                      serve->conf->audit.database);
    if (code == CODE_OK)
        code = audit_start(serve->audit, why);
    if (code == CODE_OK && replaces)
        code = file_replace(serve->conf->audit.checkpoint_key, 0600, buf_peek(&task->pem), why);
    serve_close_audit(serve);
    serve->key_change = (struct audit_key_change){0};
    return code;
}

static void says(struct rotation_of_key *task)
{
    actor_name(task->serve.continue_actor);
    task->serve.key_change = (struct audit_key_change){buf_peek(&task->detail), span_text(task->serve.continue_actor)};
}

static enum code add_member(struct buf *out, const char *before, struct span text)
{
    enum code code = buf_add_text(out, before);

    return code == CODE_OK ? json_write_string(out, text) : code;
}

static enum code hand_over(struct rotation_of_key *task, struct why *why)
{
    struct buf last, succession;
    struct note note;
    enum code code;

    buf_init(&last, NOTE_BYTES);
    buf_init(&succession, NOTE_BYTES);
    code = last_checkpoint(task, &last, why);
    if (code == CODE_OK && note_read(buf_peek(&last), &note) != CODE_OK)
        code = why_set(why, CODE_INVALID, "%s: its last checkpoint is none; `callgate audit verify` says more",
                       task->serve.conf->audit.database);
    if (code == CODE_OK)
        code = sign_key_make(&task->pem);
    if (code == CODE_OK)
        code = sign_key_read(buf_peek(&task->pem), &task->after);
    if (code == CODE_OK)
        code = succession_write(&note, task->before, task->after, &succession);
    if (code == CODE_OK)
        code = describe(task->before, note.origin, &task->old);
    if (code == CODE_OK)
        code = describe(task->after, note.origin, &task->new);
    if (code == CODE_OK)
        code = add_member(&task->detail, "{\"key\":", buf_peek(&task->new));
    if (code == CODE_OK)
        code = add_member(&task->detail, ",\"note\":", buf_peek(&succession));
    if (code == CODE_OK)
        code = buf_add_byte(&task->detail, '}');
    buf_fini(&succession);
    buf_fini(&last);
    return code;
}

static enum code rotate(struct rotation_of_key *task, struct why *why)
{
    const char *path = task->serve.conf->audit.checkpoint_key;
    enum code code = serve_checkpoint_key(path, false, &task->before, why);

    if (code == CODE_NOT_FOUND)
        (void)why_set(why, code, "there is no %s: put it back, or say with --lost --why TEXT that it is gone", path);
    if (code == CODE_OK)
        code = run_once(task, false, why);
    if (code == CODE_OK)
        code = hand_over(task, why);
    if (code != CODE_OK)
        return code;
    says(task);
    code = run_once(task, true, why);
    return code == CODE_OK ? run_once(task, false, why) : code;
}

/* The key that stands there, or is made, as a start makes one. */
static enum code tell_lost(struct rotation_of_key *task, const char *reason, struct why *why)
{
    struct span rest, origin;
    struct buf last;
    enum code code;

    buf_init(&last, NOTE_BYTES);
    code = last_checkpoint(task, &last, why);
    origin = span_cut(buf_peek(&last), '\n', &rest);
    if (code == CODE_OK)
        code = serve_checkpoint_key(task->serve.conf->audit.checkpoint_key, true, &task->after, why);
    if (code == CODE_OK)
        code = describe(task->after, origin, &task->new);
    if (code == CODE_OK)
        code = find_lost(task, why);
    if (code == CODE_OK)
        code = add_member(&task->detail, "{\"key\":", buf_peek(&task->new));
    if (code == CODE_OK)
        code = add_member(&task->detail, ",\"lost\":", buf_peek(&task->old));
    if (code == CODE_OK)
        code = add_member(&task->detail, ",\"why\":", span_text(reason));
    if (code == CODE_OK)
        code = buf_add_byte(&task->detail, '}');
    buf_fini(&last);
    if (code != CODE_OK)
        return code;
    says(task);
    return run_once(task, false, why);
}

/* Files that somebody else makes here the gate could not read. */
static enum code check_owner(const struct conf *conf, struct why *why)
{
    struct stat there;

    if (stat(conf->audit.database, &there) != 0)
        return why_set(why, CODE_NOT_FOUND, "there is no %s: the first start makes the key", conf->audit.database);
    if (there.st_uid != geteuid())
        return why_set(why, CODE_DENIED, "%s is user %u's, as whom the gate runs: run this as that user",
                       conf->audit.database, (unsigned)there.st_uid);
    return CODE_OK;
}

static int tell(const struct rotation_of_key *task, const struct asked *asked)
{
    struct doc *doc = doc_object();

    doc_text(doc, "old_key", buf_peek(&task->old));
    doc_text(doc, "new_key", buf_peek(&task->new));
    doc_bool(doc, "lost", asked->lost);
    return told_answer(&doc, asked->json, "old key: {old_key}\nnew key: {new_key}\n"
                       "[{?lost}recorded: the old key was lost; who verifies needs both keys, from you\n]"
                       "[{!lost}the old key's word for the new one is recorded: either verifies the whole trail with --all\n]");
}

static int change_key(const struct asked *asked)
{
    struct rotation_of_key task = {.before = NULL};
    struct why why = {0};
    enum code code;
    int status = asked_conf(asked, &task.serve.conf);

    if (status != OPTIONS_GO)
        return status;
    buf_init(&task.pem, PEM_BYTES);
    buf_init(&task.old, NOTE_BYTES);
    buf_init(&task.new, NOTE_BYTES);
    buf_init(&task.detail, AUDIT_JSON_BYTES);
    code = check_owner(task.serve.conf, &why);
    if (code == CODE_OK)
        code = asked->lost ? tell_lost(&task, asked->why, &why) : rotate(&task, &why);
    status = code == CODE_OK ? tell(&task, asked) : complain_why(code, &why);
    mem_wipe(task.pem.block, task.pem.size);
    buf_fini(&task.pem);
    buf_fini(&task.old);
    buf_fini(&task.new);
    buf_fini(&task.detail);
    sign_key_free(&task.before);
    sign_key_free(&task.after);
    conf_free(&task.serve.conf);
    return status;
}

int cmd_audit_rotate_key(const struct asked *asked)
{
    if (asked->lost != (asked->why != NULL))
        return complain(STATUS_USAGE, "--lost and --why TEXT go together: how the key was lost");
    return change_key(asked);
}
