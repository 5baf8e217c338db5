/* SPDX-License-Identifier: Apache-2.0 */
/* People's own accounts at upstreams: whom the gate may act for, by a token that is sealed here (store/account_keys.h).
 *
 * A token opens as that of its own tenant, principal, upstream, login, client and issuer alone: a row that somebody has moved,
 * or put others' columns to, is one that does not open. Each change is durable when it returns.
 *
 * Threads: a connection belongs to one thread at a time.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. CODE_BUSY: somebody else writes the store. */
#ifndef STORE_STORE_ACCOUNTS_H
#define STORE_STORE_ACCOUNTS_H

#include "base/buf.h"
#include "db/db.h"

#define STORE_ACCOUNT_STATE_BYTES 64 /* SHA-256 as hexadecimal digits */

/* Whose account it is, and where. */
struct store_account {
    struct span tenant, principal, upstream;
    struct span login;          /* the issuer of the login by which he is that principal */
    struct span client, issuer; /* as which the gate is known to the provider, and the provider */
    int64_t id;                 /* of the row; 0: not known yet */
};

/* Begins to ask for a newer token. Takes: store: the store's path; account: its login is that of the caller's token, or at ==
 * NULL: he has shown none; it is set, and lies in *login, which is empty before; asker: this gate, of which nobody else has the
 * name; token: the one that the provider takes is appended. On CODE_OK nobody else asks until `until_us`, store_account_keep or
 * store_account_let. CODE_NOT_FOUND: nobody is connected; CODE_UNDECIDED: another gate asks; CODE_DENIED: it does not open. */
enum code store_account_claim(struct db *db, const char *store, struct store_account *account, const char *asker,
                              int64_t now_us, int64_t until_us, struct buf *token, struct buf *login,
                              struct why *why) MUST_USE;
/* Ends that. Takes: token: which the provider gave in the place of the other. CODE_NOT_FOUND: the account has ended by now. */
enum code store_account_keep(struct db *db, const char *store, const struct store_account *account, struct span token,
                             int64_t now_us, struct why *why) MUST_USE;
/* Ends it with the token that there was. CODE_NOT_FOUND: likewise. */
enum code store_account_let(struct db *db, const struct store_account *account, struct why *why) MUST_USE;
/* CODE_EXISTS: it has ended already; CODE_NOT_FOUND. */
enum code store_account_end(struct db *db, int64_t account, struct span by, struct span reason, int64_t now_us,
                            struct why *why) MUST_USE;

/* Tells of each account that ended behind *last, the number of an end, which is moved. Takes: told: NULL: it is only moved. */
enum code store_accounts_ended(struct db *db, int64_t *last, void (*told)(void *context, const struct store_account *account),
                               void *context, struct why *why) MUST_USE;

/* Seals all tokens by a new key, and takes the old ones out of the file. *count: how many. */
enum code store_accounts_rekey(struct db *db, const char *store, uint64_t *count, struct why *why) MUST_USE;

/* ---- people who connect: the gate's side ---- */

/* Who is next. Spans are valid until the buffer that they lie in is emptied. */
struct store_account_ask {
    int64_t id, asked_us;
    struct span tenant, principal, upstream, login, person;
    bool is_back;            /* the browser has come back, with: */
    struct span code, said_by; /* said_by.at NULL: the provider did not say */
};
/* Takes: after: its id is larger. The texts lie in *texts. CODE_NOT_FOUND: nobody is. */
enum code store_account_next(struct db *db, int64_t after, struct store_account_ask *ask, struct buf *texts, struct why *why)
    MUST_USE;
/* The browser may go. Takes: state: its SHA-256; verifier: is sealed. CODE_NOT_FOUND: another gate has answered. */
enum code store_account_begun(struct db *db, const char *store, const struct store_account_ask *ask, struct span state,
                              struct span verifier, struct span url, struct why *why) MUST_USE;
/* The code is about to be shown to the provider; nobody does that twice. CODE_NOT_FOUND: another gate does. */
enum code store_account_shown(struct db *db, const char *store, const struct store_account_ask *ask, struct buf *verifier,
                              struct why *why) MUST_USE;
/* The provider gave this token for it. Takes: scopes: at == NULL: it does not say. An account that there was ends. */
enum code store_account_made(struct db *db, const char *store, const struct store_account_ask *ask,
                             struct store_account *account, struct span token, struct span scopes, int64_t now_us,
                             struct why *why) MUST_USE;
enum code store_account_failed(struct db *db, int64_t ask, struct span problem, struct why *why) MUST_USE;

/* ---- their commands' side ---- */

#define STORE_ACCOUNT_ASK_US (INT64_C(600) * 1000000) /* so long after it was begun a connection may end */

/* Takes: ask: its tenant, principal, upstream, login and person; browser: a SHA-256. What he had begun there is no more. */
enum code store_account_ask(struct db *db, const struct store_account_ask *ask, struct span browser, int64_t now_us,
                            int64_t *id, struct why *why) MUST_USE;
/* How it is. CODE_BUSY: the gate has not answered; CODE_OK with *url, which is told once; CODE_DENIED with the problem. */
enum code store_account_url(struct db *db, int64_t ask, struct buf *url, struct why *why) MUST_USE;
/* The browser is back. CODE_DENIED: such a browser has not begun that, or not lately. */
enum code store_account_bring(struct db *db, const struct store_account_ask *back, struct span browser, struct span state,
                              int64_t now_us, int64_t *id, struct why *why) MUST_USE;
/* CODE_BUSY: it is under way; CODE_OK: connected; CODE_DENIED with the problem. */
enum code store_account_is_made(struct db *db, int64_t ask, struct why *why) MUST_USE;

#endif
