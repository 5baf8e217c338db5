/* SPDX-License-Identifier: Apache-2.0 */
/* People who are about to connect an account: the gate's side of the row by which their commands and it speak. */
#include "store/account_seal_priv.h"
#include "store/store.h"

#include <string.h>

static struct span keep(struct buf *texts, struct span text, bool is_null)
{
    char *at;

    if (is_null || buf_reserve(texts, text.len + 1, &at) != CODE_OK)
        return SPAN_NONE;
    if (text.len > 0)
        memcpy(at, text.at, text.len);
    at[text.len] = '\0';
    buf_commit(texts, text.len + 1);
    return span_of(at, text.len);
}

enum code store_account_next(struct db *db, int64_t after, struct store_account_ask *ask, struct buf *texts, struct why *why)
{
    struct db_stmt *row = NULL;
    char *room;
    size_t bytes = 0;
    enum code code = db_find(db, "SELECT id, asked_us, tenant, principal, upstream, person, phase = 'brought', code, said_by, "
                             "login FROM account_ask WHERE id > ?1 AND phase IN ('asked', 'brought') ORDER BY id LIMIT 1",
                             DB_VALUES(db_of_int(after)), &row);

    for (int i = 2; i < 10 && code == CODE_OK; i++)
        bytes += i == 6 ? 0 : db_text(row, i).len + 1;
    if (code == CODE_OK)
        code = buf_reserve(texts, bytes, &room); /* so that what is added moves nothing */
    if (code == CODE_OK)
        *ask = (struct store_account_ask){
            .id = db_int(row, 0), .asked_us = db_int(row, 1), .tenant = keep(texts, db_text(row, 2), false),
            .principal = keep(texts, db_text(row, 3), false), .upstream = keep(texts, db_text(row, 4), false),
            .person = keep(texts, db_text(row, 5), false), .is_back = db_int(row, 6) != 0,
            .code = keep(texts, db_text(row, 7), db_is_null(row, 7)),
            .said_by = keep(texts, db_text(row, 8), db_is_null(row, 8)), .login = keep(texts, db_text(row, 9), false)};
    db_finalize(&row);
    return code == CODE_NOT_FOUND ? code : db_why(why, code, db, "reading who is about to connect");
}

/* The proof is bound to who asks, by the number of his row. */
static void place_of(const struct store_account_ask *ask, unsigned char place[DIGEST_BYTES])
{
    const struct store_account account = {
        .tenant = ask->tenant, .principal = ask->principal, .upstream = ask->upstream,
        .login = ask->login, .client = span_of((const char *)&ask->id, sizeof ask->id)};

    account__place(ACCOUNT__PROOF, &account, place);
}

/* Whether the last change has changed a row, which it does where the phase was as it had to be. */
static enum code has_changed(const struct db *db)
{
    return db_changes(db) > 0 ? CODE_OK : CODE_NOT_FOUND;
}

static enum code settle(struct db *db, enum code code, struct why *why)
{
    enum code ended = store_end(db, code == CODE_NOT_FOUND ? CODE_OK : code, "writing of who connects", why);

    return ended == CODE_OK ? code : ended;
}

enum code store_account_begun(struct db *db, const char *store, const struct store_account_ask *ask, struct span state,
                              struct span verifier, struct span url, struct why *why)
{
    char name[ACCOUNT_KEY_NAME_BYTES];
    unsigned char place[DIGEST_BYTES];
    struct buf sealed;
    enum code code = store_begin(db, why);

    if (code != CODE_OK)
        return code;
    buf_init(&sealed, 4096);
    place_of(ask, place);
    code = account__seal(store, place, verifier, name, &sealed, why);
    if (code == CODE_OK)
        code = db_change(db, "UPDATE account_ask SET phase = 'begun', state = ?2, key = ?3, sealed = ?4, url = ?5 WHERE "
                         "id = ?1 AND phase = 'asked'",
                         DB_VALUES(db_of_int(ask->id), db_of_text(state), db_of_text(span_text(name)),
                                   db_of_blob(buf_peek(&sealed)), db_of_text(url)));
    if (code == CODE_OK)
        code = has_changed(db);
    buf_fini(&sealed);
    return settle(db, code, why);
}

enum code store_account_shown(struct db *db, const char *store, const struct store_account_ask *ask, struct buf *verifier,
                              struct why *why)
{
    struct account_keys keys;
    unsigned char place[DIGEST_BYTES];
    struct db_stmt *row = NULL;
    enum code code = account_keys_read(store, false, &keys, why);

    if (code == CODE_OK)
        code = store_begin(db, why);
    if (code != CODE_OK) {
        account_keys_wipe(&keys);
        return code;
    }
    code = db_change(db, "UPDATE account_ask SET phase = 'exchanged', code = NULL WHERE id = ?1 AND phase = 'brought'",
                     DB_VALUES(db_of_int(ask->id)));
    if (code == CODE_OK)
        code = has_changed(db);
    if (code == CODE_OK)
        code = db_find(db, "SELECT key, sealed FROM account_ask WHERE id = ?1", DB_VALUES(db_of_int(ask->id)), &row);
    if (code == CODE_OK) {
        place_of(ask, place);
        code = account__open(&keys, place, db_text(row, 0), db_blob(row, 1), verifier, why);
    }
    db_finalize(&row);
    account_keys_wipe(&keys);
    return settle(db, code, why);
}

enum code store_account_failed(struct db *db, int64_t ask, struct span problem, struct why *why)
{
    return db_why(why, db_change(db, "UPDATE account_ask SET phase = 'failed', code = NULL, sealed = NULL, url = NULL, "
                                 "problem = ?2 WHERE id = ?1 AND phase NOT IN ('done', 'failed')",
                                 DB_VALUES(db_of_int(ask), db_of_text(problem))), db, "writing of who connects");
}
