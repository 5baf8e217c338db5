/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include "base/mem.h"

#define CLAIMS_MAX 256

/* Fills `claims` (room for CLAIMS_MAX + 1) with copies in the arena. The key can claim none that do not fit. */
static enum code read_claims(struct db_stmt *stmt, int64_t id, struct arena *arena, const char **claims)
{
    size_t count = 0;
    enum code code;

    db_reset(stmt);
    db_bind_int(stmt, 1, id);
    while ((code = db_step(stmt)) == CODE_OK && count < CLAIMS_MAX) {
        struct span glob = db_text(stmt, 0);

        claims[count] = arena_dup(arena, glob.at, glob.len);
        if (claims[count++] == NULL)
            return CODE_NOMEM;
    }
    claims[count] = NULL;
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

#define SELECT_KEYS \
    "SELECT k.id, k.principal, k.tenant, k.expires_us, k.note, k.made_us, k.made_by, r.revoked_us, r.revoked_by, k.digest, " \
    "k.roles, r.why, k.agent " \
    "FROM agent_key k LEFT JOIN agent_key_revocation r ON r.key = k.id "

#define SELECT_CLAIMS "SELECT glob FROM agent_key_claim WHERE key = ?1 ORDER BY glob"

static struct store_key key_of_row(struct db_stmt *row)
{
    return (struct store_key){
        .id = db_int(row, 0), .principal = db_text(row, 1), .tenant = db_text(row, 2), .expires_us = db_int(row, 3),
        .made_why = db_text(row, 4), .made_us = db_int(row, 5), .made_by = db_text(row, 6), .revoked_us = db_int(row, 7),
        .revoked_by = db_text(row, 8), .roles = db_text(row, 10), .revoked_why = db_text(row, 11),
        .agent = db_text(row, 12),
    };
}

enum code store_keys_each(struct db *db, store_key_fn each, void *context, struct why *why)
{
    const char *globs[CLAIMS_MAX + 1];
    struct db_stmt *rows = NULL, *claims = NULL;
    struct arena arena;
    enum code code = db_prepare(db, SELECT_CLAIMS, &claims);

    if (code == CODE_OK)
        code = db_prepare(db, SELECT_KEYS "ORDER BY k.id", &rows);
    arena_init(&arena, SIZE_MAX);
    while (db_next(&rows, &code)) {
        struct store_key key = key_of_row(rows);

        arena_reset(&arena);
        code = read_claims(claims, key.id, &arena, globs);
        key.may_claim = globs;
        if (code == CODE_OK)
            code = each(context, &key);
    }
    arena_fini(&arena);
    db_finalize(&claims);
    return db_why(why, code, db, "reading the keys");
}

struct key_rows {
    struct arena arena;
    struct identity_key *keys;
    size_t count, room;
};

static enum code take_row(struct key_rows *rows, struct db_stmt *row, struct db_stmt *claims)
{
    const char *globs[CLAIMS_MAX + 1];
    struct store_key stored = key_of_row(row);
    struct span digest = db_blob(row, 9);
    struct identity_key *key = mem_room(rows->keys, &rows->room, rows->count + 1, sizeof *key);
    const char *const *kept;
    size_t count = 0;
    enum code code = CODE_NOMEM;

    if (key != NULL) {
        rows->keys = key;
        code = read_claims(claims, stored.id, &rows->arena, globs);
    }
    if (code != CODE_OK)
        return code;
    if (digest.len != DIGEST_BYTES)
        return CODE_INVALID;
    while (globs[count] != NULL)
        count++;
    kept = (const char *const *)(void *)arena_dup(&rows->arena, globs, (count + 1) * sizeof *globs);
    if (kept == NULL)
        return CODE_NOMEM;
    key = &rows->keys[rows->count];
    *key = (struct identity_key){
        .principal = arena_dup(&rows->arena, stored.principal.at, stored.principal.len),
        .tenant = arena_dup(&rows->arena, stored.tenant.at, stored.tenant.len),
        .agent = stored.agent.at != NULL ? arena_dup(&rows->arena, stored.agent.at, stored.agent.len) : NULL,
        .may_claim = kept, .expires_us = stored.expires_us, .id = stored.id,
    };
    memcpy(key->digest, digest.at, DIGEST_BYTES);
    if (key->principal == NULL || key->tenant == NULL || (stored.agent.at != NULL && key->agent == NULL))
        return CODE_NOMEM;
    rows->count++;
    return CODE_OK;
}

static enum code take_rows(struct key_rows *rows, struct db *db, int64_t now_us)
{
    struct db_stmt *row = NULL, *claims = NULL;
    enum code code = db_select(db, SELECT_KEYS "WHERE r.id IS NULL AND k.roles IS NULL AND "
                               "(k.expires_us IS NULL OR k.expires_us > ?1)",
                               DB_VALUES(db_of_int(now_us)), &row);

    if (code == CODE_OK)
        code = db_prepare(db, SELECT_CLAIMS, &claims);
    while (db_next(&row, &code))
        code = take_row(rows, row, claims);
    db_finalize(&claims);
    return code;
}

enum code store_keys_load(struct db *db, int64_t now_us, struct identity_keys **keys, struct why *why)
{
    struct key_rows rows = {0};
    enum code code;

    *keys = NULL;
    arena_init(&rows.arena, SIZE_MAX);
    code = take_rows(&rows, db, now_us);
    if (code == CODE_OK)
        code = identity_keys_new(rows.keys, rows.count, keys);
    mem_free(rows.keys);
    arena_fini(&rows.arena);
    return db_why(why, code, db, "reading the keys");
}
