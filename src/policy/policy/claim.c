/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of an access token: which of them rules ask for, how these are recorded, and how a recorded claim is asked again. A
 * claim is named by the member names that its path begins with, as RFC 9535 normalises them: `$['realm_access']['roles']`. */
#include "policy/snapshot.h"
#include "policy/walk.h"

bool policy_asks_claims(const struct policy *policy)
{
    return policy->claims != NULL;
}

enum code policy_claims_write(const struct policy *policy, const struct json_node *claims, struct buf *out)
{
    for (const struct claim_ask *ask = policy->claims; ask != NULL; ask = ask->next) {
        const struct json_node *value = claims;

        for (uint32_t i = 0; i < ask->steps && value != NULL; i++)
            value = value->type == JSON_OBJECT ? json_member(value, path_name_at(ask->path, i)) : NULL;
        buf_add_byte(out, ask == policy->claims ? '{' : ',');
        json_write_string(out, ask->key);
        buf_add_text(out, ":[");
        if (value != NULL)
            buf_add_span(out, value->raw);
        buf_add_byte(out, ']');
    }
    return buf_add_text(out, policy->claims == NULL ? "{}" : "}");
}

bool policy_claim_recorded(const struct claim_ask *ask, const struct json_node *recorded, struct path *path,
                           const struct json_node **root)
{
    for (uint32_t steps = 0; steps <= ask->steps; steps++) {
        const struct json_node *found = json_member(recorded, span_part(ask->key, 0, ask->ends[steps]));

        if (found == NULL || found->type != JSON_ARRAY)
            continue;
        path->segments += steps;
        path->count -= steps;
        *root = found->child;
        /* Of a claim that has no members none is selected; `..*` of a document that is one value would select that. */
        if (path->count > 0 && *root != NULL && (*root)->child == NULL)
            *root = NULL;
        return true;
    }
    return false;
}
