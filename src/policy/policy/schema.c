/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/schema.h"

struct policy_schema *policy_schema_ref(struct policy_schema *schema)
{
    ref_take(&schema->ref);
    return schema;
}

void policy_schema_unref(struct policy_schema **schema)
{
    struct policy_schema *gone = *schema;

    *schema = NULL;
    if (gone == NULL || !ref_drop(&gone->ref))
        return;
    for (struct kept_regex *kept = gone->regexes; kept != NULL; kept = kept->next)
        regex_free(&kept->regex);
    buf_fini(&gone->text);
    arena_fini(&gone->arena);
    mem_free(gone);
}

const struct condition *policy_schema_condition(const struct policy_schema *schema)
{
    return &schema->condition;
}

struct span policy_schema_text(const struct policy_schema *schema)
{
    return buf_peek(&schema->text);
}
