/* SPDX-License-Identifier: Apache-2.0 */
/* A new key for what people's accounts have sealed. */
#include "store/account_seal_priv.h"
#include "store/store.h"

#include <string.h>

/* Within a transaction. */
static enum code seal_anew(struct db *db, const struct account_keys *keys, uint64_t *count, struct why *why)
{
    struct db_stmt *row = NULL;
    struct buf token, sealed;
    enum code code = db_select(db, "SELECT t.account, t.key, t.sealed, a.tenant, a.principal, a.upstream, a.client, a.issuer, "
                               "a.login FROM account_token t JOIN account a ON a.id = t.account", NULL, 0, &row);

    buf_init(&token, ACCOUNT__TOKEN_BYTES);
    buf_wipes(&token);
    buf_init(&sealed, 2 * ACCOUNT__TOKEN_BYTES);
    while (db_next(&row, &code)) {
        const struct store_account account = {.tenant = db_text(row, 3), .principal = db_text(row, 4),
                                              .upstream = db_text(row, 5), .client = db_text(row, 6),
                                              .issuer = db_text(row, 7), .login = db_text(row, 8)};
        unsigned char place[DIGEST_BYTES];

        buf_clear(&token);
        buf_clear(&sealed);
        account__place(ACCOUNT__TOKEN, &account, place);
        code = account__open(keys, place, db_text(row, 1), db_blob(row, 2), &token, why);
        if (code == CODE_OK)
            code = seal_close(keys->key[0], span_of((const char *)place, DIGEST_BYTES), buf_peek(&token), &sealed);
        if (code == CODE_OK)
            code = db_change(db, "UPDATE account_token SET key = ?2, sealed = ?3 WHERE account = ?1",
                             DB_VALUES(db_of_int(db_int(row, 0)), db_of_text(span_text(keys->name[0])),
                                       db_of_blob(buf_peek(&sealed))));
        *count += code == CODE_OK;
    }
    if (code == CODE_OK) /* who is about to connect begins again: his proof is sealed by a key that goes */
        code = db_change(db, "DELETE FROM account_ask", NULL, 0);
    buf_fini(&sealed);
    buf_fini(&token);
    return code;
}

/* Nothing is sealed by an old key any more: whoever has read the old file held the store's lock until what he sealed by it was
 * there. Where somebody has begun another turn since, that one ends it. */
static enum code drop_old(struct db *db, const char *store, const struct account_keys *mine, struct why *why)
{
    struct account_keys keys = {.count = 0};
    enum code code = store_begin(db, why);

    if (code != CODE_OK)
        return code;
    code = account_keys_read(store, false, &keys, why);
    if (code == CODE_OK && strcmp(keys.name[0], mine->name[0]) == 0)
        code = account_keys_drop_old(store, &keys, why);
    account_keys_wipe(&keys);
    return store_end(db, code, NULL, why);
}

enum code store_accounts_rekey(struct db *db, const char *store, uint64_t *count, struct why *why)
{
    struct account_keys keys = {.count = 0};
    bool is_full;
    enum code code;

    do {
        *count = 0;
        code = store_begin(db, why);
        if (code != CODE_OK)
            break;
        code = account_keys_read(store, true, &keys, why);
        is_full = code == CODE_OK && keys.count == ACCOUNT_KEYS_MAX; /* of turns that were killed: the last one ends first */
        if (code == CODE_OK && !is_full)
            code = account_keys_turn(store, &keys, why);
        if (code == CODE_OK)
            code = seal_anew(db, &keys, count, why);
        code = store_end(db, code, NULL, why);
        if (code == CODE_OK)
            code = drop_old(db, store, &keys, why);
    } while (code == CODE_OK && is_full);
    account_keys_wipe(&keys);
    return code;
}
