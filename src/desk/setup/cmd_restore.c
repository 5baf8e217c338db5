/* SPDX-License-Identifier: Apache-2.0 */
/* callgate restore: puts a backup in the place of an installation, after all of it was looked at. What stood there is moved
 * into a folder beside the configuration; nothing is removed.
 *
 * The store goes first and comes last: a gate that is started after a restore that did not end finds none, while its trail
 * tells of one, and refuses. */
#include "setup/backup.h"
#include "args/command.h"
#include "cli/commands.h"
#include "cli/told.h"
#include "args/print.h"
#include "store/store.h"

#include "files/trail.h"
#include "audit/writer.h"
#include "base/mem.h"
#include "evidence/verify_trail.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADS_BYTES ((size_t)1 << 30)

struct task {
    struct backup backup;
    const struct option_values *given; /* keys of checkpoints, from outside; none: the backup's own */
    char aside[PATH_MAX];       /* where what stood there goes */
    bool moved;                 /* something went there */
    size_t replaced, kept;
    int lock_fd;
};

/* ---- is it whole? ------------------------------------------------------------------------------------------------- */

static enum code check_file(struct task *task, const struct backup_file *file, struct why *why)
{
    const char *path = backup_inside(&task->backup, file->name);
    unsigned char sha256[DIGEST_BYTES];
    uint64_t bytes = 0;
    enum code code;

    if (path == NULL)
        return why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
    if (file->link != NULL)
        return CODE_OK; /* made anew of what the manifest says */
    code = backup_digest(path, &bytes, sha256, why);
    if (code != CODE_OK || (bytes == file->bytes && memcmp(sha256, file->sha256, DIGEST_BYTES) == 0))
        return code;
    return why_set(why, CODE_INVALID, "%s is not what the backup's manifest.json says: it was changed or damaged; take another "
                   "backup", path);
}

static enum code check_store(struct task *task, struct why *why)
{
    const char *path = backup_inside(&task->backup, backup_find(&task->backup, BACKUP_STORE)->name);
    struct db_stmt *stmt = NULL;
    struct db *db = NULL;
    enum code code = path != NULL ? db_open(path, DB_READ, &db, why) : CODE_NOMEM;

    if (code == CODE_OK)
        code = db_find(db, "PRAGMA integrity_check(1)", NULL, 0, &stmt);
    if (code == CODE_OK && !span_is(db_text(stmt, 0), "ok"))
        code = why_set(why, CODE_INVALID, "%s: %.*s", path, SPAN_ARG(db_text(stmt, 0)));
    db_finalize(&stmt);
    db_close(&db);
    return code;
}

static enum code read_keys(struct task *task, struct keyring *keys, struct why *why)
{
    const struct backup_file *file = backup_find(&task->backup, BACKUP_PUBLIC_KEY);
    enum code code = CODE_OK;

    for (size_t i = 0; i < task->given->count && code == CODE_OK; i++)
        code = verify_key_read(task->given->value[i], keys, why);
    if (task->given->count == 0 && file != NULL)
        code = verify_key_read(backup_inside(&task->backup, file->name), keys, why);
    return code;
}

static enum code read_heads(struct task *task, struct buf *heads, struct why *why)
{
    const struct backup_file *file = backup_find(&task->backup, BACKUP_CHECKPOINTS);
    const char *path = file != NULL ? backup_inside(&task->backup, file->name) : NULL;

    return path != NULL ? file_read(path, FILE_ANY, HEADS_BYTES, heads, why) : CODE_OK;
}

struct checked {
    enum code code; /* of the first file that is not whole */
    struct why why;
};

static bool check_rows_of(void *context, const struct verify_conf *conf, size_t at, enum code code,
                          const struct verify_report *report, const struct why *why)
{
    struct checked *checked = context;

    (void)at;
    checked->code = code;
    checked->why = *why;
    if (code == CODE_OK && report->fault_count > 0)
        checked->code = why_set(&checked->why, CODE_INVALID, "%s: row %" PRId64 ", %s.%s: %s", conf->path, report->fault[0].seq,
                                report->fault[0].table, report->fault[0].field, report->fault[0].text);
    return checked->code == CODE_OK;
}

/* Every file of the trail against the one before it, the key and the checkpoints. */
static enum code check_rows(const struct verify_conf *conf, const char *database, struct why *why)
{
    struct checked checked = {.code = CODE_OK};
    struct trail trail = {0};
    struct verify_trail_conf all = {.trail = &trail, .threads = thread_cores(), .each = *conf, .live = database,
                                    .tell = check_rows_of};
    enum code code = trail_find(database, true, &trail, why);

    all.each.context = &checked;
    if (code == CODE_OK)
        code = verify_sequence_new(&trail, &all.each.sequence, why);
    if (code == CODE_OK)
        code = verify_trail(&all, why);
    verify_sequence_free(&all.each.sequence);
    trail_fini(&trail);
    if (code == CODE_OK && checked.code != CODE_OK)
        *why = checked.why;
    return code == CODE_OK ? checked.code : code;
}

static enum code check_trail(struct task *task, struct why *why)
{
    const struct backup_file *audit = backup_find(&task->backup, BACKUP_AUDIT);
    const char *database = audit != NULL ? backup_inside(&task->backup, audit->name) : NULL;
    struct verify_conf conf = {.unsigned_us = INT64_MAX}; /* what was young when it was copied is old by now */
    struct keyring keys = {.count = 0};
    struct buf heads;
    enum code code;

    if (database == NULL)
        return CODE_OK; /* no gate had run */
    buf_init(&heads, HEADS_BYTES);
    code = read_keys(task, &keys, why);
    if (code == CODE_OK)
        code = read_heads(task, &heads, why);
    conf.keys = keys.count > 0 ? &keys : NULL;
    conf.heads = buf_peek(&heads);
    if (code == CODE_OK)
        code = check_rows(&conf, database, why);
    buf_fini(&heads);
    return code;
}

static enum code check(struct task *task, struct why *why)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < task->backup.count && code == CODE_OK; i++)
        code = check_file(task, &task->backup.files[i], why);
    if (code == CODE_OK)
        code = check_store(task, why);
    return code == CODE_OK ? check_trail(task, why) : code;
}

/* ---- into its place ----------------------------------------------------------------------------------------------- */

static enum code step_failed(struct why *why, const char *path)
{
    return why_set(why, CODE_IO, "%s: %s", path, strerror(errno));
}

/* Into the folder for what stood there, under the name that the backup would give it. */
static enum code set_aside(struct task *task, const char *name, const char *path, struct why *why)
{
    char to[PATH_MAX];
    struct stat there;
    enum code code;

    if (lstat(path, &there) != 0)
        return errno == ENOENT ? CODE_OK : step_failed(why, path);
    if ((size_t)snprintf(to, sizeof to, "%s/%s", task->aside, name) >= sizeof to)
        return why_set(why, CODE_LIMIT, "%s: the path is too long", path);
    code = backup_lead(to, why);
    if (code != CODE_OK)
        return code;
    task->moved = true;
    if (rename(path, to) == 0)
        return file_sync_folder(path) ? CODE_OK : step_failed(why, path);
    if (errno != EXDEV || !S_ISREG(there.st_mode))
        return step_failed(why, path);
    code = backup_copy(path, to, there.st_mode & 0777, why);
    return code != CODE_OK || unlink(path) == 0 ? code : step_failed(why, path);
}

static enum code set_aside_beside(struct task *task, const char *name, const char *path, const char *suffix, struct why *why)
{
    char its_name[BACKUP_NAME_BYTES + 16], its_path[PATH_MAX];

    if ((size_t)snprintf(its_name, sizeof its_name, "%s%s", name, suffix) >= sizeof its_name ||
        (size_t)snprintf(its_path, sizeof its_path, "%s%s", path, suffix) >= sizeof its_path)
        return why_set(why, CODE_LIMIT, "%s: the path is too long", path);
    return set_aside(task, its_name, its_path, why);
}

static enum code set_database_aside(struct task *task, const char *name, const char *path, struct why *why)
{
    static const char *const around[] = {"-journal", "-wal", "-shm", ""};
    enum code code = CODE_OK;

    for (size_t i = 0; i < sizeof around / sizeof around[0] && code == CODE_OK; i++)
        code = set_aside_beside(task, name, path, around[i], why);
    return code;
}

/* All files of the trail that is there, whatever the backup has of it: two trails in one folder are none. */
static enum code set_trail_aside(struct task *task, struct why *why)
{
    const struct backup_file *audit = backup_find(&task->backup, BACKUP_AUDIT);
    const char *database = audit != NULL ? backup_outside(&task->backup, audit->name) : NULL;
    size_t folder = audit != NULL ? (size_t)(strrchr(audit->name, '/') - audit->name) : 0;
    char settled[TRAIL_PATH_BYTES];
    struct trail trail = {0};
    enum code code = CODE_OK;

    if (database == NULL)
        return CODE_OK;
    trail_settle(database, settled); /* what was lost may be the link alone */
    if (access(settled, F_OK) == 0)
        code = trail_find(settled, true, &trail, why);
    for (size_t i = 0; i < trail.count && code == CODE_OK; i++) {
        char name[BACKUP_NAME_BYTES], path[PATH_MAX];
        const char *base;

        if (realpath(trail.files[i].path, path) == NULL)
            code = step_failed(why, trail.files[i].path);
        base = strrchr(path, '/') + 1;
        if (code == CODE_OK && (size_t)snprintf(name, sizeof name, "%.*s/%s", (int)folder, audit->name, base) >= sizeof name)
            code = why_set(why, CODE_LIMIT, "%s: the path is too long", path);
        if (code == CODE_OK)
            code = set_database_aside(task, name, path, why);
    }
    trail_fini(&trail);
    return code == CODE_OK ? set_aside(task, audit->name, database, why) : code;
}

/* Root gives files to whom they were; anybody else can only have made his own. */
static enum code give(const struct backup_file *file, const char *path, struct why *why)
{
    const struct passwd *user = *file->owner != '\0' ? getpwnam(file->owner) : NULL;
    const struct group *group = *file->group != '\0' ? getgrnam(file->group) : NULL;

    if (geteuid() != 0)
        return CODE_OK;
    if (user == NULL || group == NULL)
        return why_set(why, CODE_INVALID, "%s belonged to %s:%s, whom this machine does not know; make them first", path,
                       file->owner, file->group);
    return lchown(path, user->pw_uid, group->gr_gid) == 0 ? CODE_OK : step_failed(why, path);
}

static bool is_there_already(const struct backup_file *file, const char *path)
{
    unsigned char sha256[DIGEST_BYTES];
    struct why why;
    uint64_t bytes;

    return backup_digest(path, &bytes, sha256, &why) == CODE_OK && bytes == file->bytes &&
           memcmp(sha256, file->sha256, DIGEST_BYTES) == 0;
}

static enum code put(struct task *task, const struct backup_file *file, struct why *why)
{
    const char *from = backup_inside(&task->backup, file->name), *to = backup_outside(&task->backup, file->name);
    enum code code;

    if (from == NULL || to == NULL)
        return why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
    if (file->link == NULL && is_there_already(file, to)) {
        task->kept++;
        return CODE_OK;
    }
    code = set_aside(task, file->name, to, why);
    if (code == CODE_OK)
        code = backup_lead(to, why);
    if (code == CODE_OK && file->link != NULL)
        code = symlink(file->link, to) == 0 && file_sync_folder(to) ? CODE_OK : step_failed(why, to);
    else if (code == CODE_OK)
        code = backup_copy(from, to, file->mode, why);
    task->replaced++;
    return code == CODE_OK ? give(file, to, why) : code;
}

/* The audit tells it at the next start. */
static enum code note_restoration(struct task *task, const char *path, const char *reason, struct why *why)
{
    struct db *db = NULL;
    char by[ACTOR_BYTES];
    enum code code = store_open(path, DB_WRITE, &db, why);

    actor_name(by);
    if (code == CODE_OK) {
        code = db_change(db, "INSERT INTO restoration(backup_made, restored_us, restored_by, why) VALUES (?1, ?2, ?3, ?4)",
                         DB_VALUES(db_of_text(span_text(task->backup.made)), db_of_int(clock_wall_us()),
                                   db_of_text(span_text(by)), db_of_text(span_text(reason))));
        if (code != CODE_OK)
            code = db_why(why, code, db, "writing the store");
    }
    db_close(&db);
    return code;
}

static enum code move_to(const char *from, const char *to, struct why *why)
{
    return rename(from, to) == 0 && file_sync_folder(to) ? CODE_OK : step_failed(why, to);
}

/* What a restore that was killed left half written: its journal would be rolled into the next copy. */
static void forget(const char *path)
{
    static const char *const around[] = {"", "-journal"};
    char name[PATH_MAX + 16];

    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, around[i]);
        (void)unlink(name);
    }
}

/* The whole store, with its own record of where it came from, beside its place: from here on nobody opens what stands there. */
static enum code prepare_store(struct task *task, const char *reason, const char *restored, struct why *why)
{
    const struct backup_file *file = backup_find(&task->backup, BACKUP_STORE);
    const char *from = backup_inside(&task->backup, file->name);
    char fresh[PATH_MAX];
    enum code code;

    if (from == NULL || (size_t)snprintf(fresh, sizeof fresh, "%s.new", restored) >= sizeof fresh)
        return why_set(why, CODE_LIMIT, "%s: the path is too long", file->name);
    forget(fresh);
    code = backup_lead(restored, why);
    if (code == CODE_OK)
        code = backup_copy(from, fresh, file->mode | 0200, why);
    if (code == CODE_OK)
        code = note_restoration(task, fresh, reason, why);
    if (code == CODE_OK)
        code = give(file, fresh, why);
    return code == CODE_OK ? move_to(fresh, restored, why) : code;
}

/* What a crash left half written is taken back before its journal leaves its side. One that cannot be read goes aside as it
 * is. */
static void settle_store(const char *path)
{
    struct db *db = NULL;
    int64_t version;

    if (db_open(path, DB_WRITE, &db, NULL) == CODE_OK && db_number(db, "PRAGMA user_version", NULL, 0, &version) != CODE_OK)
        version = 0;
    db_close(&db);
}

static enum code restore(struct task *task, const char *reason, struct why *why)
{
    const struct backup_file *store = backup_find(&task->backup, BACKUP_STORE);
    const char *at = backup_outside(&task->backup, store->name);
    char restored[PATH_MAX];
    enum code code;

    if (at == NULL || (size_t)snprintf(restored, sizeof restored, "%s%s", at, STORE_RESTORED) >= sizeof restored)
        return why_set(why, CODE_LIMIT, "%s: the path is too long", store->name);
    code = prepare_store(task, reason, restored, why);
    if (code == CODE_OK) {
        settle_store(at);
        code = set_database_aside(task, store->name, at, why);
    }
    if (code == CODE_OK)
        code = set_trail_aside(task, why);
    for (size_t i = 0; i < task->backup.count && code == CODE_OK; i++)
        if (task->backup.files[i].part != BACKUP_STORE)
            code = put(task, &task->backup.files[i], why);
    task->replaced++;
    if (code == CODE_OK)
        code = move_to(restored, at, why);
    if (code != CODE_OK && !task->moved)
        forget(restored);
    return code;
}

/* ---- the command -------------------------------------------------------------------------------------------------- */

/* Nobody writes the trail or reads the store as a gate meanwhile. */
static enum code hold(struct task *task, struct why *why)
{
    const struct backup_file *audit = backup_find(&task->backup, BACKUP_AUDIT);
    const char *path = audit != NULL ? backup_outside(&task->backup, audit->name) : NULL;
    enum code code = path != NULL ? backup_lead(path, why) : CODE_OK;

    if (path == NULL || code != CODE_OK)
        return code;
    code = audit_hold(path, &task->lock_fd, why);
    return code == CODE_BUSY ? why_set(why, code, "%s: a gate runs there; stop it first", path) : code;
}

#define WHOLE \
    "{backup}: a backup of {made} by {made_by}, {files} files, whole; its store and its trail are in order\n"

static int tell(const struct task *task, bool checked, bool as_json)
{
    struct doc *doc = doc_object();

    doc_text(doc, "backup", span_text(task->backup.folder));
    doc_text(doc, "made", span_text(task->backup.made));
    doc_text(doc, "made_by", span_text(task->backup.by));
    doc_int(doc, "files", (int64_t)task->backup.count);
    doc_bool(doc, "restored", !checked);
    doc_int(doc, "replaced", (int64_t)task->replaced);
    doc_int(doc, "kept", (int64_t)task->kept);
    doc_text_or_null(doc, "aside", task->moved ? span_text(task->aside) : SPAN_NONE);
    return told_answer(&doc, as_json,
                       checked ? WHOLE
                               : WHOLE "restored: {replaced} files put in place, {kept} were there already[; what stood there "
                                       "is in {aside}]\n");
}

static int run(struct task *task, const struct asked *asked)
{
    struct why why = {""};
    char stamp[CLOCK_TEXT_BYTES];
    enum code code = backup_init(&task->backup, asked_operand(asked, 0), asked->config, &why);

    clock_text(clock_wall_us(), stamp);
    if (code == CODE_OK)
        code = backup_read_manifest(&task->backup, &why);
    if (code == CODE_OK && (size_t)snprintf(task->aside, sizeof task->aside, "%s/replaced-%s", task->backup.here, stamp) >=
                               sizeof task->aside)
        code = why_set(&why, CODE_LIMIT, "%s: the path is too long", task->backup.here);
    if (code == CODE_OK)
        code = check(task, &why);
    if (code == CODE_OK && !asked->check)
        code = hold(task, &why);
    if (code == CODE_OK && !asked->check)
        code = restore(task, asked->why, &why);
    if (code == CODE_OK)
        return tell(task, asked->check, asked->json);
    if (task->moved)
        return complain(STATUS_CANNOT, "%s; what stood there is in %s; the gate does not start before a restore has ended",
                        why.text, task->aside);
    return complain_why(code, &why);
}

int cmd_restore(const struct asked *asked)
{
    static struct task task = {.lock_fd = -1};
    int status;

    if (asked->why == NULL && !asked->check)
        return complain(STATUS_USAGE, "--why TEXT is required: why is a backup put in the place of what is there?");
    task.given = &asked->public_keys;
    status = run(&task, asked);
    if (task.lock_fd >= 0)
        (void)close(task.lock_fd);
    backup_fini(&task.backup);
    return status;
}
