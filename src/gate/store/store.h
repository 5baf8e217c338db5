/* SPDX-License-Identifier: Apache-2.0 */
/* The store, callgate.db: policies, agents' keys, the sessions' MAC key. Commands write it, the running gate polls it.
 *
 * What people did is append-only there (a revocation is a row of its own), so that the gate can tell the audit of each
 * row exactly once, also of those made while it was down.
 *
 * Threads: a connection belongs to one thread at a time.
 * Owns: nothing.
 * Lifetime: db_close.
 * Errors: enum code with a sentence; a store made by a newer build is refused, CODE_DENIED. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "db/db.h"
#include "identity/identity.h"
#include "language/store.h"

/* While a restore is under way, the new store has the store's name with this behind it. */
#define STORE_RESTORED ".restored"

/* Opens and brings the tables up to date, one numbered step after the other under one lock.
 * Takes: DB_CREATE makes a missing file (0600: it holds the MAC key); DB_READ changes nothing and refuses an older store.
 * Errors: CODE_INVALID where a restore has not ended: what stands there is neither what was nor what is to be. */
enum code store_open(const char *path, enum db_mode mode, struct db **db, struct why *why) MUST_USE;
int64_t store_format(void); /* the number of the newest form of it that this build knows */

/* One transaction, from a store_begin that returned CODE_OK to store_end: where `code` is CODE_OK all is kept, else nothing.
 * Takes: doing: what failed, for the sentence; NULL: `why` has one, unless keeping fails. Returns: whether it is kept. */
enum code store_begin(struct db *db, struct why *why) MUST_USE;
enum code store_end(struct db *db, enum code code, const char *doing, struct why *why) MUST_USE;

/* Changes whenever another connection has written. */
enum code store_data_version(struct db *db, int64_t *version, struct why *why) MUST_USE;

/* A key that all gates on the store share: "session", of the sessions' MAC; "approval", by which held calls are recognised.
 * Made when it is first asked for (not on a DB_READ connection: CODE_NOT_FOUND then). */
enum code store_secret(struct db *db, const char *name, bool may_make, unsigned char key[DIGEST_BYTES],
                       struct why *why) MUST_USE;

/* Puts a key that comes from elsewhere in the place of what the store has. */
enum code store_secret_take(struct db *db, const char *name, const unsigned char key[DIGEST_BYTES], struct why *why) MUST_USE;

struct store_key {
    int64_t id;
    struct span principal, tenant, made_by, made_why, revoked_by, revoked_why;
    struct span agent;            /* the program that acts by it for the principal; at == NULL: not said */
    struct span roles;            /* of a person's: blank-separated; at == NULL: it is an agent's */
    const char *const *may_claim; /* NULL-terminated; NULL: none */
    int64_t expires_us;           /* 0: never */
    int64_t made_us;
    int64_t revoked_us;           /* 0: not */
};

enum code store_key_add(struct db *db, const struct store_key *key, const unsigned char digest[DIGEST_BYTES], int64_t *id,
                        struct why *why) MUST_USE;
/* Takes: reason: may be empty. Returns: CODE_NOT_FOUND; CODE_EXISTS where it is revoked already. */
enum code store_key_revoke(struct db *db, int64_t id, const char *actor, struct span reason, int64_t now_us,
                           struct why *why) MUST_USE;

/* Calls `each` for every key, revoked ones too, by id; spans are valid during the call. */
typedef enum code (*store_key_fn)(void *context, const struct store_key *key);
enum code store_keys_each(struct db *db, store_key_fn each, void *context, struct why *why) MUST_USE;

/* Whose a person's key is, and what it permits. Takes: text: the key itself. CODE_DENIED: it is nobody's, an agent's, or
 * has ended. */
struct store_person_key {
    char name[136], roles[4096];
};
enum code store_key_of_person(struct db *db, struct span text, int64_t now_us, struct store_person_key *key,
                              struct why *why) MUST_USE;

/* Makes the table of agents' keys that are neither revoked nor expired. */
enum code store_keys_load(struct db *db, int64_t now_us, struct identity_keys **keys, struct why *why) MUST_USE;

/* policy_store_compile, with the first fault as a sentence; CODE_INVALID where this build cannot compile it. */
enum code store_compile_policy(struct db *db, uint64_t version, const struct authoring *author, struct policy **policy,
                               struct why *why) MUST_USE;

/* Up to which row of an append-only table an audit was told. Takes: name: names the table and the audit. */
enum code store_told(struct db *db, const char *name, int64_t *id, struct why *why) MUST_USE;
enum code store_set_told(struct db *db, const char *name, int64_t id, struct why *why) MUST_USE;
/* Of names that are told with a number until they are taken out. store_told_each: those that begin so. */
enum code store_untell(struct db *db, const char *name, struct why *why) MUST_USE;
enum code store_told_each(struct db *db, struct span begins, void (*told)(void *context, struct span rest, int64_t number),
                          void *context, struct why *why) MUST_USE;

#endif
