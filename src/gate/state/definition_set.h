/* SPDX-License-Identifier: Apache-2.0 */
/* The definitions of tools that people have accepted: what an upstream said that a tool is, by its digest. Made from the store
 * by main, published to workers as a policy is.
 *
 * Threads: a finished set is immutable.
 * Owns: all of it lives in its arena.
 * Lifetime: definition_set_ref, definition_set_unref; what is found lives as long.
 * Errors: CODE_NOMEM; CODE_LIMIT: more than DEFINITION_SET_MAX. */
#ifndef STATE_DEFINITION_SET_H
#define STATE_DEFINITION_SET_H

#include "base/code.h"
#include "base/span.h"
#include "crypto/digest.h"
#include "policy/schema.h"

#define DEFINITION_SET_MAX 65536

struct definition {
    const struct definition *next; /* in the bucket */
    struct span upstream, tool;
    unsigned char digest[DIGEST_BYTES];
    bool is_accepted;              /* else it is only the one that the upstream told last, of a tool that has accepted ones */
    bool is_latest;
    struct policy_schema *schema;  /* its inputSchema; NULL: it has none, or one that cannot bind. The set's */
};

struct definition_set;

/* Takes: count: how many will be added at most. */
enum code definition_set_new(size_t count, struct definition_set **set) MUST_USE;
/* Copies its texts, and takes its schema in any case. */
enum code definition_set_add(struct definition_set *set, const struct definition *definition) MUST_USE;
struct definition_set *definition_set_ref(struct definition_set *set);
void definition_set_unref(struct definition_set **set);

/* Takes: set: NULL: nothing is accepted; digest: NULL: the definition that was told last. Returns: NULL: there is none. */
const struct definition *definition_set_find(const struct definition_set *set, struct span upstream, struct span tool,
                                             const unsigned char *digest);
/* As definition_set_find, among accepted ones alone. Takes: a digest. */
const struct definition *definition_set_accepted(const struct definition_set *set, struct span upstream, struct span tool,
                                                 const unsigned char digest[DIGEST_BYTES]);
/* The schema for calls of which nobody knows which definition they meant: that of the definition that was told last, where it
 * is accepted; or NULL. */
const struct policy_schema *definition_set_schema(const struct definition_set *set, struct span upstream, struct span tool);

#endif
