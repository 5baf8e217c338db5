/* SPDX-License-Identifier: Apache-2.0 */
/* Claims by their paths, and names made of them. The policies' JSONPath selects many values; a name needs exactly one place. */
#include "identity/claim_priv.h"

#include "base/ascii.h"
#include "unicode/unicode.h"

#define STEPS_MAX (sizeof(((struct identity_path *)NULL)->steps) / sizeof(struct span))

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (unsigned char)c >= 0x80;
}

/* Takes one step off the front: `.name`, `['a name']` or `["a name"]`. */
static bool take_step(struct span *text, struct span *step)
{
    size_t len = 1;

    if (text->len > 1 && text->at[0] == '.') {
        while (len < text->len && is_word(text->at[len]))
            len++;
        *step = span_part(*text, 1, len - 1);
        *text = span_part(*text, len, SIZE_MAX);
        return step->len > 0;
    }
    if (text->len < 5 || text->at[0] != '[' || (text->at[1] != '\'' && text->at[1] != '"'))
        return false;
    len = span_find(span_part(*text, 2, SIZE_MAX), text->at[1]);
    *step = span_part(*text, 2, len);
    *text = span_part(*text, 2 + len, SIZE_MAX);
    if (text->len < 2 || text->at[1] != ']' || step->len == 0 || span_find(*step, '\\') < step->len)
        return false;
    *text = span_part(*text, 2, SIZE_MAX);
    return true;
}

enum code identity_path_read(const char *text, struct identity_path *path, struct why *why)
{
    struct span rest = span_text(text);

    *path = (struct identity_path){.count = 0};
    if (!span_starts_with(rest, SPAN_LIT("$")) || rest.len == 1)
        return why_set(why, CODE_INVALID, "`%s` is no place in the claims; write $.sub, $.realm_access.roles or "
                       "$['https://acme.com/groups']", text);
    rest = span_part(rest, 1, SIZE_MAX);
    while (rest.len > 0) {
        if (path->count == STEPS_MAX)
            return why_set(why, CODE_INVALID, "`%s` has more than %zu steps; claims are not that deep", text, STEPS_MAX);
        if (!take_step(&rest, &path->steps[path->count++]))
            return why_set(why, CODE_INVALID, "`%s` has a step that is none; write .name, or ['a name'] for one with other "
                           "characters than letters, digits and _, without wildcards and escapes", text);
    }
    return CODE_OK;
}

const struct json_node *identity_path_find(const struct identity_path *path, const struct json_node *claims)
{
    const struct json_node *node = path->count > 0 ? claims : NULL;

    for (uint32_t i = 0; i < path->count && node != NULL; i++)
        node = json_member(node, path->steps[i]);
    return node;
}

bool identity_name_is_good(struct span name, size_t max)
{
    return name.len > 0 && name.len <= max && ascii_is_all(name, ASCII_VISIBLE);
}

bool identity__is_readable(struct span text, size_t max)
{
    size_t len = 1;
    uint32_t point;

    if (text.len == 0 || text.len > max)
        return false;
    for (; text.len > 0 && len > 0; text = span_part(text, len, SIZE_MAX)) {
        len = unicode_next(text, &point);
        if (len == 0 || unicode_cells(point) < 0)
            return false;
    }
    return true;
}

enum identity_fault identity__name(const struct identity_naming *naming, const struct json_node *claims, size_t max,
                                   enum identity_fault fault, struct span *name)
{
    const struct json_node *claim = identity_path_find(&naming->claim, claims);

    *name = span_text(naming->constant);
    if (naming->constant != NULL)
        return IDENTITY_FAULT_NONE;
    if (claim != NULL && claim->type == JSON_ARRAY && claim->count == 1)
        claim = claim->child;
    if (claim == NULL || claim->type != JSON_STRING)
        return fault;
    *name = claim->text;
    if (naming->table == NULL)
        return identity_name_is_good(*name, max) ? IDENTITY_FAULT_NONE : fault;
    for (size_t i = 0; i < naming->table_count; i++)
        if (span_is(*name, naming->table[i].claim)) {
            *name = span_text(naming->table[i].name);
            return IDENTITY_FAULT_NONE;
        }
    *name = SPAN_NONE;
    return IDENTITY_FAULT_TENANT_TABLE;
}
