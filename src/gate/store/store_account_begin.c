/* SPDX-License-Identifier: Apache-2.0 */
/* People who are about to connect an account: their commands' side of that row. */
#include "store/store_accounts.h"

#include "store/store.h"

#define BEGIN_AGAIN "this browser has not begun to connect that account, or longer ago than ten minutes; begin again"

enum code store_account_ask(struct db *db, const struct store_account_ask *ask, struct span browser, int64_t now_us,
                            int64_t *id, struct why *why)
{
    enum code code = store_begin(db, why);

    if (code != CODE_OK)
        return code;
    code = db_change(db, "DELETE FROM account_ask WHERE asked_us < ?1 OR (tenant = ?2 AND principal = ?3 AND upstream = ?4)",
                     DB_VALUES(db_of_int(now_us - STORE_ACCOUNT_ASK_US), db_of_text(ask->tenant), db_of_text(ask->principal),
                               db_of_text(ask->upstream)));
    if (code == CODE_OK)
        code = db_change(db, "INSERT INTO account_ask(tenant, principal, upstream, person, browser, phase, asked_us, login) "
                         "VALUES (?1, ?2, ?3, ?4, ?5, 'asked', ?6, ?7)",
                         DB_VALUES(db_of_text(ask->tenant), db_of_text(ask->principal), db_of_text(ask->upstream),
                                   db_of_text(ask->person), db_of_text(browser), db_of_int(now_us),
                                   db_of_text(ask->login)));
    *id = code == CODE_OK ? db_last_id(db) : 0;
    return store_end(db, code, "asking to connect", why);
}

/* Where it stands. Returns: CODE_OK: in that phase, or behind it; CODE_BUSY: not yet; CODE_DENIED: it failed. */
static enum code look(struct db *db, int64_t ask, const char *phase, struct buf *url, struct why *why)
{
    struct db_stmt *row = NULL;
    enum code code = db_find(db, "SELECT phase, problem, url FROM account_ask WHERE id = ?1", DB_VALUES(db_of_int(ask)), &row);

    if (code == CODE_NOT_FOUND)
        code = why_set(why, CODE_DENIED, BEGIN_AGAIN);
    else if (code != CODE_OK)
        code = db_why(why, code, db, "reading the store");
    else if (span_is(db_text(row, 0), "failed"))
        code = why_set(why, CODE_DENIED, "%.*s", SPAN_ARG(db_text(row, 1)));
    else if (!span_is(db_text(row, 0), phase))
        code = CODE_BUSY;
    else if (url != NULL)
        code = buf_add_span(url, db_text(row, 2));
    db_finalize(&row);
    return code;
}

enum code store_account_url(struct db *db, int64_t ask, struct buf *url, struct why *why)
{
    enum code code = look(db, ask, "begun", url, why);

    if (code == CODE_OK)
        code = db_why(why, db_change(db, "UPDATE account_ask SET url = NULL WHERE id = ?1", DB_VALUES(db_of_int(ask))), db,
                      "writing of who connects");
    return code;
}

enum code store_account_is_made(struct db *db, int64_t ask, struct why *why)
{
    return look(db, ask, "done", NULL, why);
}

enum code store_account_bring(struct db *db, const struct store_account_ask *back, struct span browser, struct span state,
                              int64_t now_us, int64_t *id, struct why *why)
{
    enum code code = store_begin(db, why), ended;

    if (code != CODE_OK)
        return code;
    code = db_number(db, "SELECT id FROM account_ask WHERE state = ?1 AND browser = ?2 AND tenant = ?3 AND principal = ?4 AND "
                     "upstream = ?5 AND phase = 'begun' AND asked_us > ?6 AND asked_us <= ?8 AND login = ?7",
                     DB_VALUES(db_of_text(state), db_of_text(browser), db_of_text(back->tenant), db_of_text(back->principal),
                               db_of_text(back->upstream), db_of_int(now_us - STORE_ACCOUNT_ASK_US),
                               db_of_text(back->login), db_of_int(now_us)), id);
    if (code == CODE_OK && *id == 0)
        code = CODE_NOT_FOUND;
    if (code == CODE_OK)
        code = db_change(db, "UPDATE account_ask SET phase = 'brought', code = ?2, said_by = ?3, url = NULL WHERE id = ?1",
                         DB_VALUES(db_of_int(*id), db_of_text(back->code), db_of_text(back->said_by)));
    ended = store_end(db, code == CODE_NOT_FOUND ? CODE_OK : code, "writing of who connects", why);
    code = ended == CODE_OK ? code : ended;
    return code == CODE_NOT_FOUND ? why_set(why, CODE_DENIED, BEGIN_AGAIN) : code;
}
