/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_priv.h"

#include "args/command.h"
#include "store/store_approvals.h"
#include "store/store_audit.h"
#include "store/store_definitions.h"
#include "store/store_holds.h"
#include "store/store_tools.h"
#include "os/file.h"
#include "language/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char own_schema[] =
    "CREATE TABLE secret("
    "  name  TEXT PRIMARY KEY,"
    "  value BLOB NOT NULL) STRICT;"
    "CREATE TABLE told(" /* the audit knows of every row of `name` up to this id */
    "  name TEXT PRIMARY KEY,"
    "  id   INTEGER NOT NULL) STRICT;"
    "CREATE TABLE restoration(" /* by callgate restore; the audit is told of it */
    "  id          INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  backup_made TEXT NOT NULL,"
    "  restored_us INTEGER NOT NULL,"
    "  restored_by TEXT NOT NULL,"
    "  why         TEXT NOT NULL) STRICT;"
    "CREATE TRIGGER restoration_stays BEFORE UPDATE ON restoration"
    "  BEGIN SELECT raise(ABORT, 'restorations are append-only'); END;"
    "CREATE TRIGGER restoration_remains BEFORE DELETE ON restoration"
    "  BEGIN SELECT raise(ABORT, 'restorations are append-only'); END;";

/* A step is SQL text in parts up to NULL. A step that went out with a release is never edited: a store remembers by its
 * number how far it has come. */
static const char *const first_step[] = {own_schema, policy_store_schema, store_keys_schema, store_approvals_schema,
                                         store_audit_schema, store_holds_schema, store_tools_schema, store_definitions_schema,
                                         NULL};
static const char *const *const steps[] = {first_step};

#define APPLICATION_ID 1128747332 /* "CGSD", so that file(1) and we know whose it is */

enum code store_why(struct why *why, enum code code, const struct db *db, const char *doing)
{
    return why_set(why, code, "%s failed: %s", doing, db != NULL ? db_error(db) : code_text(code));
}

static enum code run_step(struct db *db, const char *const *step, int64_t number)
{
    char mark[96];
    enum code code = CODE_OK;

    for (; *step != NULL && code == CODE_OK; step++)
        code = db_exec(db, *step);
    if (code != CODE_OK)
        return code;
    snprintf(mark, sizeof mark, "PRAGMA user_version = %d; PRAGMA application_id = %d;", (int)number + 1, APPLICATION_ID);
    return db_exec(db, mark);
}

/* Two programs may find the same old store: the second waits for the lock and then finds nothing to do. */
static enum code bring_up(struct db *db, const char *const *const *all, int64_t count, struct why *why)
{
    int64_t at = 0;
    enum code code = db_begin(db);

    if (code != CODE_OK)
        return store_why(why, code, db, "locking the store");
    code = db_number(db, "PRAGMA user_version", &at);
    for (; code == CODE_OK && at < count; at++)
        code = run_step(db, all[at], at);
    if (code == CODE_OK)
        code = db_commit(db);
    if (code == CODE_OK)
        return CODE_OK;
    store_why(why, code, db, "bringing the store's tables up to date");
    db_rollback(db);
    return code;
}

/* As it was before an upgrade, for a build that knows no newer one. A copy of the same step is as good: a start that failed
 * behind it made it. */
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

enum code store__settle(struct db *db, const char *path, bool may_write, const char *const *const *all, int64_t count,
                        struct why *why)
{
    int64_t at = 0, application = 0;
    enum code code = db_number(db, "PRAGMA user_version", &at);

    if (code == CODE_OK)
        code = db_number(db, "PRAGMA application_id", &application);
    if (code != CODE_OK)
        return store_why(why, code, db, "reading the store");
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
    if (code == CODE_OK && mode == DB_CREATE)
        code = make_file(path, why);
    if (code == CODE_OK)
        code = db_open(path, mode, db, why);
    if (code != CODE_OK)
        return code;
    if (mode != DB_READ && db_exec(*db, "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY") !=
                               CODE_OK)
        code = store_why(why, CODE_IO, *db, "preparing the store");
    if (code == CODE_OK)
        code = store__settle(*db, path, mode != DB_READ, steps, (int64_t)(sizeof steps / sizeof steps[0]), why);
    if (code != CODE_OK)
        db_close(db);
    return code;
}

enum code store_data_version(struct db *db, int64_t *version, struct why *why)
{
    enum code code = db_number(db, "PRAGMA data_version", version);

    return code == CODE_OK ? code : store_why(why, code, db, "asking the store for changes");
}

static enum code read_secret(struct db *db, const char *name, unsigned char key[DIGEST_BYTES])
{
    struct db_stmt *stmt;
    enum code code = db_find(db, "SELECT value FROM secret WHERE name = ?1", DB_VALUES(db_of_text(span_text(name))), &stmt);

    if (code == CODE_OK && db_blob(stmt, 0).len != DIGEST_BYTES)
        code = CODE_INVALID;
    if (code == CODE_OK)
        memcpy(key, db_blob(stmt, 0).at, DIGEST_BYTES);
    db_finalize(&stmt);
    return code;
}

enum code store_secret(struct db *db, const char *name, bool may_make, unsigned char key[DIGEST_BYTES], struct why *why)
{
    unsigned char made[DIGEST_BYTES];
    enum code code = read_secret(db, name, key);

    if (code == CODE_NOT_FOUND && may_make) {
        /* Of two gates that start at once the first one's key stays: it must hold on both. */
        random_bytes(made, sizeof made);
        code = db_change(db, "INSERT INTO secret(name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                         DB_VALUES(db_of_text(span_text(name)), db_of_blob(span_of(made, sizeof made))));
        if (code == CODE_OK)
            code = read_secret(db, name, key);
    }
    return code == CODE_OK ? code : store_why(why, code, db, "reading a key of the store");
}

enum code store_told(struct db *db, const char *name, int64_t *id, struct why *why)
{
    struct db_stmt *stmt;
    enum code code = db_find(db, "SELECT id FROM told WHERE name = ?1", DB_VALUES(db_of_text(span_text(name))), &stmt);

    *id = code == CODE_OK ? db_int(stmt, 0) : 0;
    db_finalize(&stmt);
    return code == CODE_OK || code == CODE_NOT_FOUND ? CODE_OK : store_why(why, code, db, "reading the store");
}

enum code store_set_told(struct db *db, const char *name, int64_t id, struct why *why)
{
    enum code code = db_change(db, "INSERT INTO told(name, id) VALUES (?1, ?2) "
                               "ON CONFLICT (name) DO UPDATE SET id = excluded.id WHERE excluded.id > id",
                               DB_VALUES(db_of_text(span_text(name)), db_of_int(id)));

    return code == CODE_OK ? code : store_why(why, code, db, "writing the store");
}

enum code store_compile_policy(struct db *db, uint64_t version, struct policy **policy, struct why *why)
{
    struct faults faults;
    enum code code;

    faults_init(&faults);
    *policy = NULL;
    code = policy_store_compile(db, version, policy, &faults, why);
    return faults.count > 0 ? why_of_faults(why, code, &faults) : code;
}
