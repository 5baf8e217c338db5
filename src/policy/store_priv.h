/* SPDX-License-Identifier: Apache-2.0 */
/* What the store's files share.
 *
 * Threads: that of the connection.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: enum code with a sentence. */
#ifndef POLICY_STORE_PRIV_H
#define POLICY_STORE_PRIV_H

#include "crypto/digest.h"
#include "policy/store.h"

/* "doing failed: " and the connection's own sentence. Returns: code. */
enum code policy__store_why(struct why *why, enum code code, const struct db *db, const char *doing);

/* ---- sets of files in memory ---- */

struct policy_member {
    struct span name, path, text;
    enum policy_store_fate fate;
};

struct policy_set {
    struct arena arena;
    struct policy_member *members;
    size_t count, size;
};

void policy__set_init(struct policy_set *set);
void policy__set_fini(struct policy_set *set);

/* Texts are copied. Returns: CODE_OK or CODE_NOMEM. */
enum code policy__set_copy(struct policy_set *set, struct span text, struct span *copy) MUST_USE;
enum code policy__set_add(struct policy_set *set, struct span name, struct span path, struct span text,
                          enum policy_store_fate fate) MUST_USE;

struct policy_member *policy__set_find(struct policy_set *set, struct span name); /* NULL: not there */
void policy__set_sort(struct policy_set *set);                             /* by name, as versions are stored */

/* All but the removed ones. Errors: as of policy_compile. */
enum code policy__set_compile(const struct policy_set *set, uint64_t version, struct policy **policy, struct faults *faults,
                              struct faults *warnings) MUST_USE;

/* What a version of these files has as its hash. */
void policy__set_hash(const struct policy_set *set, char hex[2 * DIGEST_BYTES]);

#endif
