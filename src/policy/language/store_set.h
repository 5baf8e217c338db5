/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of policy files in memory, as the store has them and as a change lays them out.
 *
 * Threads: that of the connection.
 * Owns: a set owns copies of its texts.
 * Lifetime: policy_set_init, policy_set_fini.
 * Errors: enum code with a sentence. */
#ifndef LANGUAGE_STORE_SET_H
#define LANGUAGE_STORE_SET_H

#include "crypto/digest.h"
#include "language/language.h"

/* What a change does to a file of the set. */
enum policy_store_fate { POLICY_KEPT = 0, POLICY_REPLACED, POLICY_ADDED, POLICY_REMOVED };

struct policy_member {
    struct span name, path, text;
    enum policy_store_fate fate;
    bool is_same; /* replaced, by the same text */
};

struct policy_set {
    struct arena arena;
    struct policy_member *members;
    size_t count, size;
};

void policy_set_init(struct policy_set *set);
void policy_set_fini(struct policy_set *set);

/* Texts are copied. Returns: CODE_OK or CODE_NOMEM. */
enum code policy_set_add(struct policy_set *set, struct span name, struct span path, struct span text,
                          enum policy_store_fate fate) MUST_USE;

struct policy_member *policy_set_find(struct policy_set *set, struct span name); /* NULL: not there */
void policy_set_sort(struct policy_set *set);                             /* by name, as versions are stored */

/* All but the removed ones. Takes, errors: as of policy_compile_for. */
enum code policy_set_compile(const struct policy_set *set, uint64_t version, const struct authoring *author,
                             struct policy **policy, struct faults *faults, struct faults *warnings) MUST_USE;

/* The hash that a version of these files has. */
void policy_set_hash(const struct policy_set *set, char hex[2 * DIGEST_BYTES]);

#endif
