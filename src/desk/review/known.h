/* SPDX-License-Identifier: Apache-2.0 */
/* Who there is, and what there is to call: whom a policy's rules name, who has a key, and whom the trail saw; the tools that
 * servers told, and that were called; and how often somebody did.
 *
 * Threads: one.
 * Owns: copies of all texts.
 * Lifetime: known_new to known_free.
 * Errors: CODE_NOMEM; enum code with a sentence of what is read. */
#ifndef REVIEW_KNOWN_H
#define REVIEW_KNOWN_H

#include "base/why.h"
#include "db/db.h"
#include "policy/policy.h"
#include "review/access.h"

struct known_who {
    struct access_who who;
    bool is_seen; /* by the trail; else a rule names it, or it has a key */
};

struct known_tool {
    struct span upstream, tool;
};

/* What a rule, or somebody with a tool, was good for. */
struct known_use {
    uint64_t calls;   /* that were permitted; of a rule: to which it applied, or would have but for its limit */
    uint64_t decided; /* of a rule: that it decided */
    int64_t last_us;  /* 0: none */
};

struct known;
enum code known_new(struct known **known) MUST_USE;
void known_free(struct known **known);

/* Those whom rules name letter by letter. */
enum code known_of_policy(struct known *known, const struct policy *policy) MUST_USE;
/* Those who have an agent's key that is good, and tools that servers told. */
enum code known_of_store(struct known *known, struct db *db, int64_t now_us, struct why *why) MUST_USE;
/* Reads the calls of one file of the trail from a time on. Files come the oldest first, so that the last word of somebody's
 * groups counts. A tool counts as seen where some call of it was let through or held: agents make names up. */
enum code known_of_trail(struct known *known, const char *path, int64_t since_us, struct why *why) MUST_USE;

/* By tenant, kind and name; by upstream and name. Whom rules name without a tenant stands there once more only where nobody of
 * that name is known in one. Returns: CODE_NOMEM. */
struct known_lists {
    const struct known_who **who;
    size_t who_count;
    const struct known_tool **tools;
    size_t tool_count;
};
enum code known_lists(struct known *known, struct known_lists *lists) MUST_USE;

/* What was not used has zeros. */
struct known_use known_used(const struct known *known, const struct known_who *who, const struct known_tool *tool);
struct known_use known_rule_used(const struct known *known, struct span rule);
int64_t known_first_us(const struct known *known); /* of all calls that were read; 0: there was none */

#endif
