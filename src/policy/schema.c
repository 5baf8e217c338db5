/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/schema.h"

#include "base/bug.h"
#include "base/mem.h"
#include "policy/condition.h"

#include <stdatomic.h>

struct policy_schema {
    _Atomic uint32_t refs;
    struct arena arena;
    struct condition condition;
};

enum code policy_schema_compile(struct span json, struct policy_schema **schema, struct why *why)
{
    *schema = NULL;
    if (json.len > POLICY_SCHEMA_MAX_BYTES)
        return why_set(why, CODE_LIMIT, "a schema of more than 256 KiB");
    return why_set(why, CODE_INVALID, "no keyword of schemas is taken yet");
}

struct policy_schema *policy_schema_ref(struct policy_schema *schema)
{
    BUG_ON(atomic_fetch_add_explicit(&schema->refs, 1, memory_order_relaxed) == 0);
    return schema;
}

void policy_schema_unref(struct policy_schema **schema)
{
    struct policy_schema *gone = *schema;

    *schema = NULL;
    if (gone == NULL || atomic_fetch_sub_explicit(&gone->refs, 1, memory_order_acq_rel) != 1)
        return;
    arena_fini(&gone->arena);
    mem_free(gone);
}

const struct condition *policy_schema_condition(const struct policy_schema *schema)
{
    return &schema->condition;
}

enum truth policy_schema_holds(const struct policy_schema *schema, const struct json_node *arguments)
{
    (void)schema;
    (void)arguments;
    return TRUTH_UNDECIDED;
}
