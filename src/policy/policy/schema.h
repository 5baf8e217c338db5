/* SPDX-License-Identifier: Apache-2.0 */
/* A schema that became conditions: what a tool's accepted definition says of its arguments (schema/schema_compile.h makes it).
 *
 * Threads: immutable and shared.
 * Owns: everything that it was compiled from, a copy of the text included.
 * Lifetime: policy_schema_ref / policy_schema_unref; atomic, from any thread.
 * Errors: none. */
#ifndef POLICY_SCHEMA_H
#define POLICY_SCHEMA_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/ref.h"
#include "policy/condition.h"

struct kept_regex {
    struct kept_regex *next;
    struct regex *regex;
};

struct policy_schema {
    struct ref ref;
    struct arena arena;
    struct buf text; /* canonical; the nodes of operands point into it */
    struct kept_regex *regexes;
    struct condition condition;
};

struct policy_schema *policy_schema_ref(struct policy_schema *schema);
void policy_schema_unref(struct policy_schema **schema);

/* What it came to, and its text in canonical JSON; they live as long as the schema. */
const struct condition *policy_schema_condition(const struct policy_schema *schema);
struct span policy_schema_text(const struct policy_schema *schema);

#endif
