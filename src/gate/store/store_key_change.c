/* SPDX-License-Identifier: Apache-2.0 */
/* What commands do with keys: the gate only reads them. */
#include "store/store.h"

#include <stdio.h>

static enum code add_claims(struct db *db, int64_t id, const char *const *claims)
{
    enum code code = CODE_OK;

    for (; code == CODE_OK && claims != NULL && *claims != NULL; claims++)
        code = db_change(db, "INSERT INTO agent_key_claim(key, glob) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                         DB_VALUES(db_of_int(id), db_of_text(span_text(*claims))));
    return code;
}

static enum code add_key(struct db *db, const struct store_key *key, const unsigned char digest[DIGEST_BYTES], int64_t *id)
{
    enum code code = db_change(db, "INSERT INTO agent_key(digest, principal, tenant, expires_us, note, made_us, made_by, "
                               "roles, agent) VALUES (?1, ?2, ?3, nullif(?4, 0), ?5, ?6, ?7, ?8, ?9)",
                               DB_VALUES(db_of_blob(span_of(digest, DIGEST_BYTES)), db_of_text(key->principal),
                                         db_of_text(key->tenant), db_of_int(key->expires_us), db_of_text(key->made_why),
                                         db_of_int(key->made_us), db_of_text(key->made_by), db_of_text(key->roles),
                                         db_of_text(key->agent)));

    if (code != CODE_OK)
        return code;
    *id = db_last_id(db);
    return add_claims(db, *id, key->may_claim);
}

enum code store_key_add(struct db *db, const struct store_key *key, const unsigned char digest[DIGEST_BYTES], int64_t *id,
                        struct why *why)
{
    enum code code = store_begin(db, why);

    return code == CODE_OK ? store_end(db, add_key(db, key, digest, id), "storing the key", why) : code;
}

enum code store_key_revoke(struct db *db, int64_t id, const char *actor, struct span reason, int64_t now_us,
                           struct why *why)
{
    int64_t is_there = 0;
    enum code code = db_number(db, "SELECT 1 FROM agent_key WHERE id = ?1", DB_VALUES(db_of_int(id)), &is_there);

    if (code == CODE_OK && is_there == 0)
        return why_set(why, CODE_NOT_FOUND, "there is no key %lld; `callgate key list` shows them", (long long)id);
    if (code != CODE_OK)
        return db_why(why, code, db, "reading the store");
    code = db_change(db, "INSERT INTO agent_key_revocation(key, revoked_us, revoked_by, why) VALUES (?1, ?2, ?3, "
                     "nullif(?4, ''))",
                     DB_VALUES(db_of_int(id), db_of_int(now_us), db_of_text(span_text(actor)), db_of_text(reason)));
    if (code == CODE_EXISTS)
        return why_set(why, code, "key %lld is revoked already; nothing was changed", (long long)id);
    return db_why(why, code, db, "storing the revocation");
}

enum code store_key_of_person(struct db *db, struct span text, int64_t now_us, struct store_person_key *key, struct why *why)
{
    unsigned char plain[DIGEST_BYTES];
    struct db_stmt *row = NULL;
    enum code code;

    digest_of(text, plain);
    code = db_find(db, "SELECT k.principal, k.roles FROM agent_key k WHERE k.digest = ?1 AND k.roles IS NOT NULL AND "
                   "(k.expires_us IS NULL OR k.expires_us > ?2) AND k.id NOT IN (SELECT key FROM agent_key_revocation)",
                   DB_VALUES(db_of_blob(span_of(plain, sizeof plain)), db_of_int(now_us)), &row);
    if (code == CODE_OK) {
        (void)snprintf(key->name, sizeof key->name, "%.*s", SPAN_ARG(db_text(row, 0)));
        (void)snprintf(key->roles, sizeof key->roles, "%.*s", SPAN_ARG(db_text(row, 1)));
    }
    db_finalize(&row);
    if (code == CODE_NOT_FOUND)
        return why_set(why, CODE_DENIED, "the key is none of a person's: it is an agent's, revoked or over, or nobody's; let "
                       "an admin make one with `callgate key create --role`");
    return db_why(why, code, db, "reading the keys");
}
