/* SPDX-License-Identifier: Apache-2.0 */
/* A store is opened: the tables of all that keep something in it, by numbered steps. */
#include "store/store_priv.h"

#include "base/take_in.h"
#include "os/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TAKE_IN(store_schema, "schema/store.sql");

/* A step that went out with a release is never edited: a store remembers by its number how far it has come. */
static const char *const steps[] = {store_schema};

#define APPLICATION_ID 1128747332 /* "CGSD", so that file(1) and we know whose it is */

static enum code run_step(struct db *db, const char *step, int64_t number)
{
    char mark[96];
    enum code code = db_exec(db, step);

    if (code != CODE_OK)
        return code;
    snprintf(mark, sizeof mark, "PRAGMA user_version = %d; PRAGMA application_id = %d;", (int)number + 1, APPLICATION_ID);
    return db_exec(db, mark);
}

/* Two programs may find the same old store: the second waits for the lock and then finds nothing to do. */
static enum code bring_up(struct db *db, const char *const *all, int64_t count, struct why *why)
{
    int64_t at = 0;
    enum code code = store_begin(db, why);

    if (code != CODE_OK)
        return code;
    code = db_number(db, "PRAGMA user_version", NULL, 0, &at);
    for (; code == CODE_OK && at < count; at++)
        code = run_step(db, all[at], at);
    return store_end(db, code, "bringing the store's tables up to date", why);
}

int64_t store_format(void)
{
    return sizeof steps / sizeof steps[0];
}

/* Copies the store before an upgrade, for an older build. A copy of the same step that is there already is as good: it was made
 * by a start that failed after it. */
static enum code keep_old(struct db *db, const char *path, int64_t at, struct why *why)
{
    char old[PATH_MAX];
    enum code code;

    if ((size_t)snprintf(old, sizeof old, "%s.step-%lld", path, (long long)at) >= sizeof old)
        return why_set(why, CODE_LIMIT, "%s: the path is too long", path);
    code = db_copy(db, old, why);
    if (code == CODE_EXISTS)
        return CODE_OK;
    if (code == CODE_OK && (chmod(old, 0600) != 0 || !file_sync_folder(old)))
        code = why_set(why, CODE_IO, "%s: %s", old, strerror(errno));
    return code;
}

enum code store__settle(struct db *db, const char *path, bool may_write, const char *const *all, int64_t count,
                        struct why *why)
{
    int64_t at = 0, application = 0;
    enum code code = db_number(db, "PRAGMA user_version", NULL, 0, &at);

    if (code == CODE_OK)
        code = db_number(db, "PRAGMA application_id", NULL, 0, &application);
    if (code != CODE_OK)
        return db_why(why, code, db, "reading the store");
    if (application != APPLICATION_ID && (at != 0 || application != 0))
        return why_set(why, CODE_DENIED, "%s is a database of another program; name another file", path);
    if (at > count)
        return why_set(why, CODE_DENIED, "%s was made by a newer callgate (step %lld, this one knows %lld); use that one",
                       path, (long long)at, (long long)count);
    if (at == count)
        return CODE_OK;
    if (!may_write)
        return why_set(why, CODE_DENIED, "%s was made by an older callgate; any command that writes, or `callgate serve`, "
                       "brings it up to date", path);
    code = at > 0 && strcmp(path, ":memory:") != 0 ? keep_old(db, path, at, why) : CODE_OK;
    return code == CODE_OK ? bring_up(db, all, count, why) : code;
}

/* The file exists with its mode before SQLite first writes into it. */
static enum code make_file(const char *path, struct why *why)
{
    struct stat there;
    enum code code;

    if (stat(path, &there) == 0)
        return CODE_OK;
    code = file_create(path, 0600, SPAN_NONE, why);
    return code == CODE_EXISTS ? CODE_OK : code;
}

static enum code refuse_half_restored(const char *path, struct why *why)
{
    char restored[PATH_MAX];

    if ((size_t)snprintf(restored, sizeof restored, "%s%s", path, STORE_RESTORED) >= sizeof restored)
        return why_set(why, CODE_LIMIT, "%s: the path is too long", path);
    if (access(restored, F_OK) != 0)
        return CODE_OK;
    return why_set(why, CODE_INVALID,
                   "%s: a restore was begun and has not ended; run `callgate restore` again, or put everything that it set "
                   "aside back by hand and remove %s", path, restored);
}

enum code store_open(const char *path, enum db_mode mode, struct db **db, struct why *why)
{
    enum code code = refuse_half_restored(path, why);

    *db = NULL;
    if (code == CODE_OK && mode == DB_CREATE && strcmp(path, ":memory:") != 0)
        code = make_file(path, why);
    if (code == CODE_OK)
        code = db_open(path, mode, db, why);
    if (code != CODE_OK)
        return code;
    if (mode != DB_READ && db_exec(*db, "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY") !=
                               CODE_OK)
        code = db_why(why, CODE_IO, *db, "preparing the store");
    if (code == CODE_OK)
        code = store__settle(*db, path, mode != DB_READ, steps, (int64_t)(sizeof steps / sizeof steps[0]), why);
    if (code != CODE_OK)
        db_close(db);
    return code;
}
