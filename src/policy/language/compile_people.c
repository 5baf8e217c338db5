/* SPDX-License-Identifier: Apache-2.0 */
#include "language/compile_priv.h"

#include "base/ascii.h"
#include "base/num.h"
#include "policy/variable.h"
#include "unicode/unicode.h"

#define APPROVALS_MAX 5
#define NAMES_MAX 64
#define NAME_BYTES ((size_t)256)
#define ALL_BYTES ((size_t)8192) /* a notification has room for as much */

static void compile_approvals(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    uint64_t count = 1;

    if (node != NULL &&
        (node->type != YAML_INT || num_u64(node->json, &count) != CODE_OK || count < 1 || count > APPROVALS_MAX))
        FAULT(c, node, "`approvals` says how many different people have to approve a call; write a whole number from 1 to %d",
              APPROVALS_MAX);
    rule->people.needed = (uint32_t)count;
}

/* ---- who ---- */

/* Names are kept a line each, so that none holds a line's end. */
static bool is_name(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (ascii_is_of(text.at[i], "\t\n\r"))
            return false;
    return text.len > 0 && text.len <= NAME_BYTES && !unicode_is_deceptive(text);
}

/* Whether the text is meant to stand for several names. */
static bool is_pattern(struct span text)
{
    return memchr(text.at, '*', text.len) != NULL || memchr(text.at, '?', text.len) != NULL || variable_in(text);
}

static void add_name(struct compiler *c, const struct yaml_node *node, const char *kind, struct buf *names)
{
    if (!compiler_is_string(c, node))
        return;
    if (!is_name(node->text))
        FAULT(c, node, "this is no name of people; write 1 to %zu bytes of plain text", NAME_BYTES);
    else if (is_pattern(node->text))
        FAULT(c, node, "`%.*s` is no name: who may decide is named one by one, without `*`, `?` and variables; `{list: NAME}` "
              "takes the names from elsewhere", SPAN_ARG(node->text));
    (void)buf_addf(names, "%s%s:%.*s", buf_len(names) > 0 ? "\n" : "", kind, SPAN_ARG(node->text));
}

static void add_names(struct compiler *c, const struct yaml_node *list, const char *kind, struct buf *names)
{
    if (!compiler_is_list(c, list))
        return;
    if (list->count == 0 || list->count > NAMES_MAX)
        FAULT(c, list, "a list of %ss who may decide holds 1 to %d names; name them, or leave the line out", kind, NAMES_MAX);
    else
        for (const struct yaml_node *one = list->child; one != NULL; one = one->next)
            add_name(c, one, kind, names);
}

static void compile_named(struct compiler *c, const struct yaml_node *node, struct buf *names)
{
    static const char *const known[] = {"roles", "groups", "tenants", NULL}, *const kinds[] = {"role", "group", "tenant"};

    if (!compiler_is_map_of(c, node, known, "`approvers`"))
        return;
    if (node->count == 0)
        FAULT(c, node, "empty `approvers` name nobody, so that the call would wait for ever; write {groups: [treasury]}, or "
              "leave the line out");
    for (int i = 0; known[i] != NULL; i++)
        add_names(c, yaml_member(node, known[i]), kinds[i], names);
}

static void compile_approvers(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    struct buf names;

    if (node == NULL)
        return;
    buf_init(&names, ALL_BYTES);
    if (node->type == YAML_STRING && span_is(node->text, "self")) {
        if (rule->people.needed > 1)
            FAULT_KEY(c, node, "`approvers: self` is one person, and `approvals: %u` asks for several; leave one of the two "
                      "out", rule->people.needed);
        (void)buf_add_text(&names, "self");
    } else if (node->type != YAML_MAP) {
        FAULT(c, node, "`approvers` is who may decide a held call; write {roles: [...], groups: [...], tenants: [...]}, or "
              "`self` for the person in whose name it is asked");
    } else {
        compile_named(c, node, &names);
    }
    if (buf_code(&names) == CODE_LIMIT)
        FAULT_KEY(c, node, "the names of `approvers` are more than %zu bytes; name a group of all of them", ALL_BYTES);
    else if (buf_code(&names) != CODE_OK)
        c->no_memory = true;
    else
        rule->people.approvers = compiler_copy(c, buf_peek(&names));
    buf_fini(&names);
}

void compile__people(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    static const struct { const char *key, *says; } words[] = {{"approvals", "how many people a held call needs"},
                                                               {"approvers", "who decides a held call"}};
    bool asks = rule->effect == EFFECT_REQUIRE_APPROVAL || rule->asks;

    for (size_t i = 0; i < sizeof words / sizeof words[0] && !asks; i++)
        if (yaml_member(node, words[i].key) != NULL)
            FAULT_KEY(c, yaml_member(node, words[i].key), "`%s` says %s, and nobody is asked here; write effect: "
                      "require_approval, or a limit with over: require_approval", words[i].key, words[i].says);
    compile_approvals(c, asks ? yaml_member(node, "approvals") : NULL, rule);
    compile_approvers(c, asks ? yaml_member(node, "approvers") : NULL, rule);
}
