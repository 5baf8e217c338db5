/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_accounts.h"

#include "crypto/digest.h"
#include "crypto/parts.h"
#include "store/account_seal_priv.h"
#include "store/store.h"

#include <inttypes.h>
#include <string.h>

#define IS_IT "tenant = ?1 AND principal = ?2 AND upstream = ?3 AND client = ?4 AND issuer = ?5 AND login = coalesce(?6, login)"
#define LIVES "NOT EXISTS (SELECT 1 FROM account_end e WHERE e.account = a.id)"
#define WHOSE(account) \
    db_of_text((account)->tenant), db_of_text((account)->principal), db_of_text((account)->upstream), \
        db_of_text((account)->client), db_of_text((account)->issuer), db_of_text((account)->login)

/* ---- sealing ---- */

void account__place(const char *what, const struct store_account *account, unsigned char place[DIGEST_BYTES])
{
    const struct span parts[] = {span_text(what), account->tenant, account->principal, account->upstream, account->login,
                                 account->client, account->issuer};

    parts_digest(parts, sizeof parts / sizeof parts[0], place);
}

enum code account__seal(const char *store, const unsigned char place[DIGEST_BYTES], struct span text,
                        char name[ACCOUNT_KEY_NAME_BYTES], struct buf *sealed, struct why *why)
{
    struct account_keys keys;
    enum code code = account_keys_read(store, true, &keys, why);

    if (code == CODE_OK) {
        memcpy(name, keys.name[0], ACCOUNT_KEY_NAME_BYTES);
        code = seal_close(keys.key[0], span_of((const char *)place, DIGEST_BYTES), text, sealed);
        if (code != CODE_OK)
            (void)why_set(why, code, "sealing a token: %s", code_text(code));
    }
    account_keys_wipe(&keys);
    return code;
}

enum code account__open(const struct account_keys *keys, const unsigned char place[DIGEST_BYTES], struct span name,
                        struct span sealed, struct buf *text, struct why *why)
{
    const unsigned char *key = account_keys_find(keys, name);
    enum code code = key != NULL ? seal_open(key, span_of((const char *)place, DIGEST_BYTES), sealed, text) : CODE_DENIED;

    if (key == NULL)
        return why_set(why, code, "a token is sealed by a key that accounts.key does not have; put the file back that "
                       "belongs to the store");
    return code != CODE_DENIED ? code : why_set(why, code, "a sealed token was changed, or is another account's");
}

/* ---- one token ---- */

/* Takes: until_us: nobody claims for longer, so that a claim that ends later is of a clock that was wrong. */
static enum code find(struct db *db, struct store_account *account, const char *asker, int64_t now_us, int64_t until_us,
                      struct db_stmt **row)
{
    enum code code = db_find(db, "SELECT a.id, t.key, t.sealed, t.asker IS NOT NULL AND t.asker <> ?7 AND t.asks_until_us > "
                             "?8 AND t.asks_until_us <= ?9, a.login FROM account a JOIN account_token t ON t.account = a.id "
                             "WHERE " IS_IT " AND " LIVES " ORDER BY a.id DESC LIMIT 1",
                             DB_VALUES(WHOSE(account), db_of_text(span_text(asker)), db_of_int(now_us),
                                       db_of_int(until_us)), row);

    if (code == CODE_OK) {
        account->id = db_int(*row, 0);
        account->login = db_text(*row, 4);
    }
    return code == CODE_OK && db_int(*row, 3) != 0 ? CODE_UNDECIDED : code;
}

enum code store_account_claim(struct db *db, const char *store, struct store_account *account, const char *asker,
                              int64_t now_us, int64_t until_us, struct buf *token, struct buf *login, struct why *why)
{
    struct db_stmt *row = NULL;
    struct account_keys keys = {.count = 0};
    unsigned char place[DIGEST_BYTES];
    enum code code = store_begin(db, why), found = CODE_OK;

    if (code != CODE_OK)
        return code;
    found = find(db, account, asker, now_us, until_us, &row);
    if (found == CODE_OK)
        found = account_keys_read(store, false, &keys, why);
    if (found == CODE_OK) {
        account__place(ACCOUNT__TOKEN, account, place);
        found = account__open(&keys, place, db_text(row, 1), db_blob(row, 2), token, why);
        if (found == CODE_DENIED && account_keys_find(&keys, db_text(row, 1)) == NULL)
            found = CODE_NOT_FOUND; /* as without the file: nobody has it any more, and who connects anew has one again */
    }
    if (found == CODE_OK && buf_put(login, account->login) != CODE_OK)
        found = CODE_NOMEM;
    account->login = buf_peek(login); /* the row's own goes with it */
    account_keys_wipe(&keys);
    db_finalize(&row);
    code = found;
    if (found == CODE_OK)
        code = db_change(db, "UPDATE account_token SET asker = ?2, asks_until_us = ?3 WHERE account = ?1",
                         DB_VALUES(db_of_int(account->id), db_of_text(span_text(asker)), db_of_int(until_us)));
    if (code == CODE_NOT_FOUND || code == CODE_UNDECIDED || code == CODE_DENIED) {
        (void)!store_end(db, code, NULL, why);
        return code;
    }
    return store_end(db, code, "reading an account's token", why);
}

/* Within a transaction. Returns: CODE_NOT_FOUND: the account has ended. */
static enum code put_token(struct db *db, const char *store, const struct store_account *account, struct span token,
                           int64_t now_us, struct why *why)
{
    char name[ACCOUNT_KEY_NAME_BYTES];
    unsigned char place[DIGEST_BYTES];
    struct buf sealed;
    int64_t there = 0;
    enum code code = db_number(db, "SELECT 1 FROM account a WHERE id = ?1 AND " LIVES, DB_VALUES(db_of_int(account->id)),
                               &there);

    if (there == 0)
        return code == CODE_OK ? CODE_NOT_FOUND : code;
    buf_init(&sealed, 2 * ACCOUNT__TOKEN_BYTES);
    account__place(ACCOUNT__TOKEN, account, place);
    code = account__seal(store, place, token, name, &sealed, why);
    if (code == CODE_OK)
        code = db_change(db, "INSERT INTO account_token(account, key, sealed, changed_us) VALUES (?1, ?2, ?3, ?4) "
                         "ON CONFLICT(account) DO UPDATE SET key = ?2, sealed = ?3, changed_us = ?4, asker = NULL",
                         DB_VALUES(db_of_int(account->id), db_of_text(span_text(name)), db_of_blob(buf_peek(&sealed)),
                                   db_of_int(now_us)));
    buf_fini(&sealed);
    return code;
}

enum code store_account_keep(struct db *db, const char *store, const struct store_account *account, struct span token,
                             int64_t now_us, struct why *why)
{
    enum code code = store_begin(db, why);

    if (code == CODE_OK) {
        code = put_token(db, store, account, token, now_us, why);
        code = code == CODE_NOT_FOUND ? store_end(db, CODE_OK, "keeping a token", why) == CODE_OK ? CODE_NOT_FOUND : CODE_IO
                                      : store_end(db, code, "keeping a token", why);
    }
    return code;
}

enum code store_account_let(struct db *db, const struct store_account *account, struct why *why)
{
    enum code code = db_change(db, "UPDATE account_token SET asker = NULL WHERE account = ?1",
                               DB_VALUES(db_of_int(account->id)));

    return code == CODE_OK && db_changes(db) == 0 ? CODE_NOT_FOUND : db_why(why, code, db, "writing the store");
}

/* ---- ends ---- */

/* Within a transaction. */
static enum code end_it(struct db *db, int64_t account, struct span by, struct span reason, int64_t now_us)
{
    enum code code = db_change(db, "INSERT INTO account_end(account, ended_us, ended_by, why) VALUES (?1, ?2, ?3, ?4)",
                               DB_VALUES(db_of_int(account), db_of_int(now_us), db_of_text(by), db_of_text(reason)));

    return code != CODE_OK ? code : db_change(db, "DELETE FROM account_token WHERE account = ?1",
                                              DB_VALUES(db_of_int(account)));
}

enum code store_account_end(struct db *db, int64_t account, struct span by, struct span reason, int64_t now_us, struct why *why)
{
    struct db_stmt *row = NULL;
    enum code code = store_begin(db, why), found;

    if (code != CODE_OK)
        return code;
    found = db_find(db, "SELECT " LIVES " FROM account a WHERE a.id = ?1", DB_VALUES(db_of_int(account)), &row);
    if (found == CODE_OK && db_int(row, 0) == 0)
        found = CODE_EXISTS;
    db_finalize(&row);
    if (found == CODE_OK)
        found = end_it(db, account, by, reason, now_us);
    if (found == CODE_NOT_FOUND || found == CODE_EXISTS) {
        (void)!store_end(db, found, NULL, why);
        return why_set(why, found, found == CODE_EXISTS ? "account %" PRId64 " has ended already"
                                                        : "there is no account %" PRId64 "; `callgate connect list` lists them",
                       account);
    }
    return store_end(db, found, "ending an account", why);
}

enum code store_accounts_ended(struct db *db, int64_t *last, void (*told)(void *context, const struct store_account *account),
                               void *context, struct why *why)
{
    struct db_stmt *row = NULL;
    enum code code;

    if (told == NULL)
        return db_why(why, db_number(db, "SELECT coalesce(max(id), 0) FROM account_end", NULL, 0, last), db,
                      "reading which accounts have ended");
    code = db_select(db, "SELECT e.id, a.tenant, a.principal, a.upstream, a.client, a.issuer, a.login, a.id FROM account_end e "
                     "JOIN account a ON a.id = e.account WHERE e.id > ?1 ORDER BY e.id", DB_VALUES(db_of_int(*last)), &row);
    while (db_next(&row, &code)) {
        const struct store_account account = {.tenant = db_text(row, 1), .principal = db_text(row, 2),
                                              .upstream = db_text(row, 3), .client = db_text(row, 4),
                                              .issuer = db_text(row, 5), .login = db_text(row, 6), .id = db_int(row, 7)};

        *last = db_int(row, 0);
        told(context, &account);
    }
    return db_why(why, code, db, "reading which accounts have ended");
}

/* ---- a person has connected ---- */

enum code store_account_made(struct db *db, const char *store, const struct store_account_ask *ask,
                             struct store_account *account, struct span token, struct span scopes, int64_t now_us,
                             struct why *why)
{
    struct db_stmt *row = NULL;
    enum code code = store_begin(db, why);

    if (code != CODE_OK)
        return code;
    code = db_select(db, "SELECT id FROM account a WHERE tenant = ?1 AND principal = ?2 AND upstream = ?3 AND " LIVES,
                     DB_VALUES(db_of_text(account->tenant), db_of_text(account->principal), db_of_text(account->upstream)),
                     &row);
    while (db_next(&row, &code))
        code = end_it(db, db_int(row, 0), ask->person, SPAN_LIT("connected anew"), now_us);
    if (code == CODE_OK)
        code = db_change(db, "INSERT INTO account(tenant, principal, upstream, client, issuer, login, scopes, made_us, "
                         "made_by) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                         DB_VALUES(WHOSE(account), db_of_text(scopes), db_of_int(now_us), db_of_text(ask->person)));
    account->id = code == CODE_OK ? db_last_id(db) : 0;
    if (code == CODE_OK)
        code = put_token(db, store, account, token, now_us, why);
    if (code == CODE_OK)
        code = db_change(db, "UPDATE account_ask SET phase = 'done', code = NULL, sealed = NULL WHERE id = ?1 AND "
                         "phase = 'exchanged'", DB_VALUES(db_of_int(ask->id)));
    return store_end(db, code, "keeping an account", why);
}
