/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of an access token: which the rules ask for, how these are recorded, and how a recorded one is asked again. A claim is
 * known by the member names that its path begins with, as RFC 9535 normalises them: `$['realm_access']['roles']`. */
#include "policy/compile_priv.h"

#define KEY_MAX_BYTES (SIZE_MAX / 2)

/* The names that every value which the path selects lies below. */
static uint32_t named_steps(const struct path *path)
{
    uint32_t steps = 0;

    while (steps < path->count && path_name_at(path, steps).at != NULL)
        steps++;
    return steps;
}

/* Controls have escapes of their own there; here they go on as they are: a key is written as JSON when it is recorded. */
static void add_step(struct buf *out, struct span name)
{
    buf_add_text(out, "['");
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] == '\'' || name.at[i] == '\\')
            buf_add_byte(out, '\\');
        buf_add_byte(out, name.at[i]);
    }
    buf_add_text(out, "']");
}

/* A key ends with its last name's bracket, so that all that begins with it lies below it. */
static void take_out_below(struct policy *policy, struct span above)
{
    const struct claim_ask **at = &policy->claims;

    while (*at != NULL)
        if (span_starts_with((*at)->key, above))
            *at = (*at)->next;
        else
            at = (const struct claim_ask **)(uintptr_t)&(*at)->next;
}

void policy__note_claim(struct compiler *c, struct condition *leaf)
{
    uint32_t steps = named_steps(&leaf->path);
    struct claim_ask *ask = policy__alloc(c, 1, sizeof *ask), *kept = policy__alloc(c, 1, sizeof *kept);
    size_t *ends = policy__alloc(c, steps + 1, sizeof *ends);
    struct buf key;

    if (ask == NULL || kept == NULL || ends == NULL)
        return;
    buf_init(&key, KEY_MAX_BYTES);
    buf_add_byte(&key, '$');
    ends[0] = 1;
    for (uint32_t i = 0; i < steps; i++) {
        add_step(&key, path_name_at(&leaf->path, i));
        ends[i + 1] = buf_len(&key);
    }
    if (buf_code(&key) == CODE_OK)
        *ask = (struct claim_ask){.key = policy__copy(c, buf_peek(&key)), .path = &leaf->path, .ends = ends, .steps = steps};
    else
        c->no_memory = true;
    buf_fini(&key);
    if (c->no_memory)
        return;
    leaf->claim = ask;
    for (const struct claim_ask *other = c->policy->claims; other != NULL; other = other->next)
        if (span_starts_with(ask->key, other->key))
            return;
    take_out_below(c->policy, ask->key);
    *kept = *ask;
    kept->next = c->policy->claims;
    c->policy->claims = kept;
}

/* ---- recorded ---- */

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

bool policy__claim_recorded(const struct condition *leaf, const struct json_node *recorded, struct path *rest,
                            const struct json_node **root)
{
    const struct claim_ask *ask = leaf->claim;

    for (uint32_t steps = 0; steps <= ask->steps; steps++) {
        const struct json_node *found = json_member(recorded, span_part(ask->key, 0, ask->ends[steps]));

        if (found == NULL || found->type != JSON_ARRAY)
            continue;
        *rest = leaf->path;
        rest->segments += steps;
        rest->count -= steps;
        *root = found->child;
        return true;
    }
    return false;
}
