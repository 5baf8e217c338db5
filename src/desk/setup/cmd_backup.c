/* SPDX-License-Identifier: Apache-2.0 */
/* callgate backup: the configuration, the store, the trail and the keys in one folder, while the gate runs.
 *
 * The order makes the parts fit: checkpoints before the rows that they cover, since a file of checkpoints that is ahead of its
 * trail means a loss; the trail before the store, since a store that lacks what the trail tells of it is an older one. */
#include "setup/backup.h"
#include "args/command.h"
#include "cli/commands.h"
#include "cli/told.h"
#include "conf/conf.h"
#include "args/print.h"
#include "run/serve_audit.h"
#include "store/account_keys.h"
#include "store/store.h"

#include "files/trail.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOLD_MAX 256
#define TRIES 5 /* rotations that may come between */

/* What the audit had been told of the store before its rows were copied. */
struct copied {
    struct {
        char name[96];
        int64_t id;
    } at[TOLD_MAX];
    size_t count;
};

struct task {
    struct backup backup;
    const struct conf *conf;
    struct copied told;
    uint64_t bytes;
    int64_t last_seq;
};

/* ---- one file ----------------------------------------------------------------------------------------------------- */

/* Forgets the last file. */
static void drop_last(struct task *task)
{
    struct backup_file *last = &task->backup.files[task->backup.count - 1];
    const char *inside = backup_inside(&task->backup, last->name);

    task->bytes -= last->bytes;
    if (inside != NULL)
        (void)unlink(inside);
    task->backup.count--;
}

/* Takes: code: of its copy. One that failed is forgotten, because whoever tries again passes over what is there already. */
static enum code finish_file(struct task *task, enum code code, struct backup_file *file, const char *inside, struct why *why)
{
    if (code == CODE_OK && chmod(inside, (mode_t)file->mode) != 0)
        code = why_set(why, CODE_IO, "%s: %s", inside, strerror(errno));
    if (code == CODE_OK)
        code = backup_digest(inside, &file->bytes, file->sha256, why);
    task->bytes += file->bytes;
    if (code != CODE_OK)
        drop_last(task);
    return code;
}

static enum code begin_file(struct task *task, enum backup_part part, const char *path, struct backup_file **file,
                            const char **inside, struct why *why)
{
    enum code code = backup_add(&task->backup, part, path, file, why);

    if (code != CODE_OK || *file == NULL)
        return code;
    *inside = backup_inside(&task->backup, (*file)->name);
    return *inside != NULL ? backup_lead(*inside, why) : why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
}

/* Takes: is_required: false passes over what is not there. */
static enum code take_file(struct task *task, enum backup_part part, const char *path, bool is_required, struct why *why)
{
    struct backup_file *file;
    const char *inside;
    enum code code = begin_file(task, part, path, &file, &inside, why);

    if (code == CODE_NOT_FOUND && !is_required)
        return CODE_OK;
    if (code != CODE_OK || file == NULL)
        return code;
    return finish_file(task, backup_copy(path, inside, file->mode, why), file, inside, why);
}

static enum code take_database(struct task *task, enum backup_part part, const char *path, struct why *why)
{
    struct backup_file *file;
    struct db *db = NULL;
    const char *inside;
    enum code code = begin_file(task, part, path, &file, &inside, why);

    if (code != CODE_OK || file == NULL)
        return code;
    code = db_open(path, DB_READ, &db, why);
    if (code == CODE_OK)
        code = db_copy(db, inside, why);
    db_close(&db);
    return finish_file(task, code, file, inside, why);
}

/* ---- the trail ---------------------------------------------------------------------------------------------------- */

static enum code take_link(struct task *task, const char *target, struct why *why)
{
    struct backup_file *file;
    const char *inside;
    enum code code = begin_file(task, BACKUP_AUDIT, task->conf->audit.database, &file, &inside, why);

    if (code != CODE_OK || file == NULL)
        return code;
    file->link = arena_dup(&task->backup.arena, target, strlen(target));
    if (file->link == NULL)
        return why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
    return symlink(target, inside) == 0 ? CODE_OK : why_set(why, CODE_IO, "%s cannot be made: %s", inside, strerror(errno));
}

/* Returns: CODE_BUSY where a rotation came between. */
static enum code take_rows(struct task *task, const char *target, struct why *why)
{
    struct trail trail = {0};
    char now[PATH_MAX];
    ssize_t len;
    enum code code = trail_find(task->conf->audit.database, true, &trail, why);

    for (size_t i = 0; i + 1 < trail.count && code == CODE_OK; i++)
        code = take_database(task, BACKUP_TRAIL, trail.files[i].path, why);
    if (code == CODE_OK && trail.count > 0) {
        char *live = file_beside(task->conf->audit.database, span_text(target));

        task->last_seq = trail.files[trail.count - 1].last_seq;
        code = live != NULL ? take_database(task, BACKUP_TRAIL, live, why) : CODE_NOMEM;
        mem_free(live);
    }
    trail_fini(&trail);
    len = readlink(task->conf->audit.database, now, sizeof now - 1);
    if (code == CODE_OK && (len < 0 || strlen(target) != (size_t)len || memcmp(now, target, (size_t)len) != 0)) {
        drop_last(task); /* a rotation has sealed it meanwhile: it has more rows than its copy */
        return why_set(why, CODE_BUSY, "%s: a file was sealed during each of %d copies; try again when less is recorded",
                       task->conf->audit.database, TRIES);
    }
    return code;
}

/* No gate has run yet, or somebody has removed the link: a backup that lacks the trail would look like a whole one. */
static enum code check_absence(const char *database, struct why *why)
{
    char settled[TRAIL_PATH_BYTES];

    trail_settle(database, settled);
    return access(settled, F_OK) != 0 ? CODE_OK
           : why_set(why, CODE_INVALID, "%s is not there, but %s is: start the gate, which makes it a link to the newest, and "
                     "try again", database, settled);
}

static enum code take_trail(struct task *task, struct why *why)
{
    char target[PATH_MAX];
    enum code code = CODE_BUSY;

    for (int tries = 0; tries < TRIES && code == CODE_BUSY; tries++) {
        ssize_t len = readlink(task->conf->audit.database, target, sizeof target - 1);

        if (len < 0 && errno == ENOENT)
            return check_absence(task->conf->audit.database, why);
        if (len < 0)
            return why_set(why, CODE_IO, "%s is no link to the file that the gate writes: %s", task->conf->audit.database,
                           strerror(errno));
        target[len] = '\0';
        code = take_rows(task, target, why);
    }
    return code == CODE_OK ? take_link(task, target, why) : code;
}

/* ---- the store ---------------------------------------------------------------------------------------------------- */

static enum code read_told(struct task *task, struct why *why)
{
    struct db_stmt *stmt = NULL;
    struct db *db = NULL;
    enum code code = store_open(task->conf->store, DB_READ, &db, why);

    if (code == CODE_OK) {
        code = db_prepare(db, "SELECT name, id FROM told", &stmt);
        while (db_next(&stmt, &code)) {
            if (task->told.count == TOLD_MAX)
                continue; /* of audits that are gone; what is not noted is told again */
            (void)snprintf(task->told.at[task->told.count].name, sizeof task->told.at[0].name, "%.*s",
                           SPAN_ARG(db_text(stmt, 0)));
            task->told.at[task->told.count++].id = db_int(stmt, 1);
        }
        if (code != CODE_OK)
            code = db_why(why, code, db, "reading the store");
    }
    db_close(&db);
    return code;
}

/* The copied trail may lack what it was told between the two copies: so it is told that again. */
static enum code set_told(struct task *task, const char *inside, struct why *why)
{
    struct db *db = NULL;
    enum code code = store_open(inside, DB_WRITE, &db, why);

    if (code != CODE_OK)
        return code;
    code = db_exec(db, "UPDATE told SET id = 0");
    for (size_t i = 0; i < task->told.count && code == CODE_OK; i++)
        code = db_change(db, "UPDATE told SET id = ?2 WHERE name = ?1",
                         DB_VALUES(db_of_text(span_text(task->told.at[i].name)), db_of_int(task->told.at[i].id)));
    if (code != CODE_OK)
        code = db_why(why, code, db, "writing the store's copy");
    db_close(&db);
    return code;
}

static enum code take_store(struct task *task, struct why *why)
{
    enum code code = take_database(task, BACKUP_STORE, task->conf->store, why);
    struct backup_file *file;
    const char *inside;

    if (code != CODE_OK)
        return code;
    file = &task->backup.files[task->backup.count - 1];
    inside = backup_inside(&task->backup, file->name);
    task->bytes -= file->bytes;
    file->bytes = 0;
    return finish_file(task, inside != NULL ? set_told(task, inside, why) : CODE_NOMEM, file, inside, why);
}

/* With the key by which people's accounts open in it, as it was meanwhile. Returns: CODE_BUSY: another one came between. */
static enum code take_store_once(struct task *task, const char *key, struct why *why)
{
    struct stat before = {.st_ino = 0}, after = {.st_ino = 0};
    size_t count = task->backup.count;
    enum code code;

    (void)stat(key, &before);
    code = take_file(task, BACKUP_NAMED, key, false, why);
    if (code == CODE_OK)
        code = take_store(task, why);
    (void)stat(key, &after);
    if (code == CODE_OK && before.st_ino == after.st_ino && before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
        before.st_mtim.tv_nsec == after.st_mtim.tv_nsec)
        return CODE_OK;
    while (task->backup.count > count)
        drop_last(task);
    return code != CODE_OK ? code
           : why_set(why, CODE_BUSY, "%s was changed during each of %d copies; try again when `callgate connect rekey` has "
                     "ended", key, TRIES);
}

static enum code take_store_and_key(struct task *task, struct why *why)
{
    char *key = file_beside(task->conf->store, SPAN_LIT(ACCOUNT_KEYS_FILE));
    enum code code = key != NULL ? CODE_BUSY : CODE_NOMEM;

    for (int tries = 0; tries < TRIES && code == CODE_BUSY; tries++)
        code = take_store_once(task, key, why);
    mem_free(key);
    return code;
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static enum code take_keys(struct task *task, struct why *why)
{
    char *public = serve_public_key_path(task->conf->audit.checkpoint_key);
    enum code code = public != NULL ? take_file(task, BACKUP_NAMED, task->conf->audit.checkpoint_key, false, why)
                                    : why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));

    if (code == CODE_OK)
        code = take_file(task, BACKUP_NAMED, task->conf->audit.redact_key, false, why);
    if (code == CODE_OK)
        code = take_file(task, BACKUP_PUBLIC_KEY, public, false, why);
    mem_free(public);
    return code;
}

/* A configuration names sockets and folders, too. */
static bool is_no_file(const char *path)
{
    struct stat there;

    return stat(path, &there) == 0 && !S_ISREG(there.st_mode);
}

static enum code take_all(struct task *task, struct why *why)
{
    enum code code = read_told(task, why);

    if (code == CODE_OK && task->conf->audit.checkpoints != NULL)
        code = take_file(task, BACKUP_CHECKPOINTS, task->conf->audit.checkpoints, false, why);
    if (code == CODE_OK)
        code = take_trail(task, why);
    if (code == CODE_OK)
        code = take_store_and_key(task, why);
    if (code == CODE_OK)
        code = take_keys(task, why);
    if (code == CODE_OK)
        code = take_file(task, BACKUP_CONFIGURATION, task->conf->path, true, why);
    for (size_t i = 0; i < task->conf->file_count && code == CODE_OK; i++)
        code = is_no_file(task->conf->files[i]) ? CODE_OK : take_file(task, BACKUP_NAMED, task->conf->files[i], false, why);
    return code == CODE_OK ? backup_write_manifest(&task->backup, why) : code;
}

static int tell(const struct task *task, const char *folder, bool as_json)
{
    struct doc *doc = doc_object();

    doc_text(doc, "backup", span_text(folder));
    doc_int(doc, "files", (int64_t)task->backup.count);
    doc_int(doc, "bytes", (int64_t)task->bytes);
    doc_int(doc, "last_seq", task->last_seq);
    return told_answer(&doc, as_json, "{backup}: {files} files, {bytes} bytes, the trail to row {last_seq} at least; it holds "
                       "keys and what agents sent: keep it as safe as the gate\n");
}

static int make(struct task *task, const char *folder, bool as_json)
{
    char part[PATH_MAX], made[CLOCK_TEXT_BYTES], by[ACTOR_BYTES];
    struct why why = {""};
    int status = backup_begin_folder(folder, part);
    enum code code;

    if (status != OPTIONS_GO)
        return status;
    code = backup_init(&task->backup, part, task->conf->path, &why);
    clock_text(clock_wall_us(), made);
    actor_name(by);
    task->backup.made = made;
    task->backup.by = by;
    if (code == CODE_OK)
        code = take_all(task, &why);
    if (code == CODE_OK)
        code = backup_end_folder(part, folder, &why);
    if (code == CODE_OK)
        return tell(task, folder, as_json);
    return complain(STATUS_CANNOT, "%s; what was copied stands in %s, which is no backup: remove it",
                    why.text[0] != '\0' ? why.text : code_text(code), part);
}

int cmd_backup(const struct asked *asked)
{
    static struct task task;
    struct conf *conf = NULL;
    int status = asked_conf(asked, &conf);

    if (status != OPTIONS_GO)
        return status;
    task.conf = conf;
    status = make(&task, asked_operand(asked, 0), asked->json);
    backup_fini(&task.backup);
    conf_free(&conf);
    return status;
}
