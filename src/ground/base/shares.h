/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a table's room among those who fill it, by one rule: a tenant may hold no more of it than is free, and a principal
 * no more than his tenant could still take. So one tenant alone gets half, n tenants get n of n + 1 parts, and the next one
 * finds as much free as each of them holds; within a tenant likewise. Nothing is set aside for anybody.
 *
 * Threads: one at a time; a table calls it under its own lock.
 * Owns: an account for everybody who holds something.
 * Lifetime: shares_init to shares_fini; all zeros is a room of nothing.
 * Errors: CODE_LIMIT: more than the share, or nothing is left; CODE_NOMEM. */
#ifndef BASE_SHARES_H
#define BASE_SHARES_H

#include "base/code.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

/* Who is charged, as hashes under a secret key (base/hash.h): nobody can choose to share an account with another. */
struct share {
    uint64_t tenant;
    uint64_t principal; /* a principal of that tenant; 0: only the tenant is charged */
};

/* Takes: tenant: the credential's own, never one that a caller claims, since each claim would give him another share. */
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

/* Whether `who` may hold so much more. */
bool shares_allow(const struct shares *shares, struct share who, size_t amount);
enum code shares_take(struct shares *shares, struct share who, size_t amount) MUST_USE;
void shares_give(struct shares *shares, struct share who, size_t amount); /* gives back a part of what was taken */

#endif
