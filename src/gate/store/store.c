/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include "args/print.h"

#include <string.h>

enum code store_begin(struct db *db, struct why *why)
{
    enum code code = db_begin(db);

    return db_why(why, code, db, "locking the store");
}

enum code store_end(struct db *db, enum code code, const char *doing, struct why *why)
{
    bool is_said = code != CODE_OK && doing == NULL;

    if (code == CODE_OK)
        code = db_commit(db);
    if (code == CODE_OK)
        return code;
    if (!is_said)
        (void)db_why(why, code, db, doing != NULL ? doing : "writing the store");
    db_rollback(db);
    return code;
}

enum code store_data_version(struct db *db, int64_t *version, struct why *why)
{
    enum code code = db_number(db, "PRAGMA data_version", NULL, 0, version);

    return db_why(why, code, db, "asking the store for changes");
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
    return db_why(why, code, db, "reading a key of the store");
}

enum code store_secret_take(struct db *db, const char *name, const unsigned char key[DIGEST_BYTES], struct why *why)
{
    enum code code = db_change(db, "INSERT INTO secret(name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET "
                               "value = excluded.value WHERE value IS NOT excluded.value",
                               DB_VALUES(db_of_text(span_text(name)), db_of_blob(span_of(key, DIGEST_BYTES))));

    return db_why(why, code, db, "writing a key of the store");
}

enum code store_told(struct db *db, const char *name, int64_t *id, struct why *why)
{
    enum code code = db_number(db, "SELECT id FROM told WHERE name = ?1", DB_VALUES(db_of_text(span_text(name))), id);

    return db_why(why, code, db, "reading the store");
}

enum code store_set_told(struct db *db, const char *name, int64_t id, struct why *why)
{
    enum code code = db_change(db, "INSERT INTO told(name, id) VALUES (?1, ?2) "
                               "ON CONFLICT (name) DO UPDATE SET id = excluded.id WHERE excluded.id > id",
                               DB_VALUES(db_of_text(span_text(name)), db_of_int(id)));

    return db_why(why, code, db, "writing the store");
}

enum code store_untell(struct db *db, const char *name, struct why *why)
{
    return db_why(why, db_change(db, "DELETE FROM told WHERE name = ?1", DB_VALUES(db_of_text(span_text(name)))), db,
                  "writing the store");
}

enum code store_told_each(struct db *db, struct span begins, void (*told)(void *context, struct span rest, int64_t number),
                          void *context, struct why *why)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_find(db, "SELECT substr(name, length(?1) + 1), id FROM told WHERE substr(name, 1, length(?1)) = ?1",
                             DB_VALUES(db_of_text(begins)), &stmt);

    for (; code == CODE_OK; code = db_step(stmt))
        told(context, db_text(stmt, 0), db_int(stmt, 1));
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : db_why(why, code, db, "reading the store");
}

enum code store_compile_policy(struct db *db, uint64_t version, const struct authoring *author, struct policy **policy,
                               struct why *why)
{
    struct faults faults;
    enum code code;

    faults_init(&faults);
    *policy = NULL;
    code = policy_store_compile(db, version, author, policy, &faults, why);
    return faults.count > 0 ? why_of_faults(why, code, &faults) : code;
}
