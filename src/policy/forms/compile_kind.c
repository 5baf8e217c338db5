/* SPDX-License-Identifier: Apache-2.0 */
/* `kinds:` of a file: what the capital words of its forms stand for, by a condition on one word. */
#include "words/text_condition.h"

#include "base/ascii.h"

#define NAME_BYTES 40

struct made_kind { /* a kind as it was compiled for one use; all uses like it share that */
    struct made_kind *next;
    const struct yaml_node *node;
    bool opening, slow_allowed;
    const struct condition *condition;
};

static bool is_kind_name(struct span name)
{
    return name.len > 0 && name.len <= NAME_BYTES && ascii_is_of(name.at[0], "A-Z") && ascii_is_all(name, "A-Z0-9_");
}

static const struct condition *made(struct compiler *c, const struct yaml_node *node, bool opening)
{
    struct made_kind *kind = c->made_kinds;

    while (kind != NULL && (kind->node != node || kind->opening != opening || kind->slow_allowed != c->slow_allowed))
        kind = kind->next;
    if (kind != NULL)
        return kind->condition;
    kind = compiler_alloc(c, 1, sizeof *kind);
    if (kind == NULL)
        return NULL;
    *kind = (struct made_kind){.next = c->made_kinds, .node = node, .opening = opening, .slow_allowed = c->slow_allowed};
    c->made_kinds = kind;
    c->of_closing_word = !opening;
    kind->condition = compiler_text_condition(c, node, opening);
    c->of_closing_word = false;
    return kind->condition;
}

void compiler_kinds(struct compiler *c)
{
    const struct yaml_node *map = yaml_member(yaml_root(c->tree), "kinds");
    bool slow_allowed = c->slow_allowed;

    c->kinds = (struct part){.word = "kind", .key = "kinds", .map = compiler_is_map(c, map) ? map : NULL};
    c->kinds.used = compiler_alloc(c, c->kinds.map != NULL ? map->count : 0, sizeof *c->kinds.used);
    c->slow_allowed = true; /* what a regex costs is tried where it is used, as with patterns */
    for (const struct yaml_node *kind = c->kinds.map != NULL ? map->child : NULL; kind != NULL && !c->no_memory;
         kind = kind->next) {
        if (!is_kind_name(kind->key))
            FAULT_KEY(c, kind, "`%.*s` is no name of a kind; write capital letters, digits and `_`, as in REVISION or FILE_2",
                      SPAN_ARG(span_part(kind->key, 0, NAME_BYTES)));
        (void)made(c, kind, true);
    }
    c->slow_allowed = slow_allowed;
}

bool compiler_kind(struct compiler *c, struct span name, bool opening, const struct condition **condition)
{
    size_t at = 0;

    for (const struct yaml_node *kind = c->kinds.map != NULL ? c->kinds.map->child : NULL; kind != NULL;
         kind = kind->next, at++)
        if (span_equals(kind->key, name)) {
            c->kinds.used[at] = true;
            *condition = made(c, kind, opening);
            return true;
        }
    return false;
}
