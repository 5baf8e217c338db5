/* SPDX-License-Identifier: Apache-2.0 */
/* Which claims of an access token the rules ask for (policy/claim.c). */
#include "language/compile_priv.h"

#define KEY_MAX_BYTES (SIZE_MAX / 2)

/* How many names stand at the path's beginning: all that the path selects lies below them. */
static uint32_t named_steps(const struct path *path)
{
    uint32_t steps = 0;

    while (steps < path->count && path_name_at(path, steps).at != NULL)
        steps++;
    return steps;
}

/* Adds a step as a normalised path writes it, but for the escapes of controls: they stay as they are, since a key is
 * written as JSON when it is recorded. */
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

/* Takes the claims out that lie below this one. A key ends with the bracket of its last name, so that each
 * key which begins with it lies below it. */
static void take_out_below(struct policy *policy, struct span above)
{
    const struct claim_ask **at = &policy->claims;

    while (*at != NULL)
        if (span_starts_with((*at)->key, above))
            *at = (*at)->next;
        else
            at = (const struct claim_ask **)(uintptr_t)&(*at)->next;
}

const struct claim_ask *compile__claim(struct compiler *c, const struct path *path)
{
    uint32_t steps = named_steps(path);
    struct claim_ask *ask = compiler_alloc(c, 1, sizeof *ask), *kept = compiler_alloc(c, 1, sizeof *kept);
    size_t *ends = compiler_alloc(c, steps + 1, sizeof *ends);
    struct buf key;

    c->asks_claim = true;
    if (ask == NULL || kept == NULL || ends == NULL)
        return NULL;
    buf_init(&key, KEY_MAX_BYTES);
    buf_add_byte(&key, '$');
    ends[0] = 1;
    for (uint32_t i = 0; i < steps; i++) {
        add_step(&key, path_name_at(path, i));
        ends[i + 1] = buf_len(&key);
    }
    if (buf_code(&key) == CODE_OK)
        *ask = (struct claim_ask){.key = compiler_copy(c, buf_peek(&key)), .path = path, .ends = ends, .steps = steps};
    else
        c->no_memory = true;
    buf_fini(&key);
    if (c->no_memory)
        return NULL;
    for (const struct claim_ask *other = c->policy->claims; other != NULL; other = other->next)
        if (span_starts_with(ask->key, other->key))
            return ask;
    take_out_below(c->policy, ask->key);
    *kept = *ask;
    kept->next = c->policy->claims;
    c->policy->claims = kept;
    return ask;
}
