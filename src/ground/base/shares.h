/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a table's room is. The one rule of every table that callers fill: a tenant may hold no more of it than is free, and a
 * principal no more than his tenant could still take. So one tenant alone gets half, n of them n parts of n + 1, and whoever
 * comes next finds as much free as each of them has; within a tenant likewise. Nothing is set aside for anybody.
 *
 * Threads: one at a time; a table asks under its own lock.
 * Owns: an account of everybody who holds something.
 * Lifetime: shares_init to shares_fini; all zeros is a room of nothing.
 * Errors: CODE_LIMIT: more than his share, or none is left; CODE_NOMEM. */
#ifndef BASE_SHARES_H
#define BASE_SHARES_H

#include "base/code.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

/* Who is charged, as hashes under a secret key (base/hash.h): nobody can choose to share an account with another. */
struct share {
    uint64_t tenant;
    uint64_t principal; /* of that tenant; 0: the tenant alone is charged */
};

/* Takes: tenant: the credential's own, never one that it claims: with each it claims one would have another share. */
struct share share_of(struct span tenant, struct span principal); /* under the process' own key */
struct hash_key;
struct share share_under(const struct hash_key *key, struct span tenant, struct span principal);

struct share_account {
    uint64_t who; /* 0: nobody */
    size_t held;
};

struct shares {
    size_t cap, held;               /* in whatever the table counts: bytes, entries */
    struct share_account *accounts; /* open addressing; at most half of them used */
    uint32_t size, count;
};

void shares_init(struct shares *shares, size_t cap);
void shares_fini(struct shares *shares);

size_t shares_held(const struct shares *shares, uint64_t who); /* a tenant, or a principal */

/* Whether he may hold so much more. */
bool shares_allow(const struct shares *shares, struct share who, size_t amount);
enum code shares_take(struct shares *shares, struct share who, size_t amount) MUST_USE;
void shares_give(struct shares *shares, struct share who, size_t amount); /* of what was taken */

#endif
