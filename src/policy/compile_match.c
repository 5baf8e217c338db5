/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

#include "base/glob.h"

const char *const policy__dimension_text[DIM_COUNT] = {
    [DIM_TENANT] = "tenants", [DIM_PRINCIPAL] = "principals", [DIM_UPSTREAM] = "upstreams",
    [DIM_METHOD] = "methods", [DIM_TOOL] = "tools",
};

static enum code compile_regex_name(struct compiler *c, const struct yaml_node *node, bool opening, struct name *name)
{
    static const char *const known[] = {"regex", "anchor", NULL};
    static const char *const reserved[] = {NULL};
    static const char *const anchors[] = {"whole", "anywhere", NULL};
    const struct yaml_node *regex = yaml_member(node, "regex"), *anchor = yaml_member(node, "anchor");

    policy__check_keys(c, node, known, reserved, "a name");
    name->kind = NAME_REGEX;
    name->whole = opening;
    if (anchor != NULL)
        name->whole = policy__word(c, anchor, anchors) == 0;
    if (regex == NULL) {
        FAULT(c, node, "a map here holds a regex; write {regex: 'list_[a-z]+'}");
        return CODE_OK;
    }
    if (!policy__is_string(c, regex))
        return CODE_OK;
    return policy__pattern(c, regex, name->text, name->whole, &name->regex);
}

static enum code compile_name(struct compiler *c, const struct yaml_node *node, enum dimension dimension, bool opening,
                              struct name *name)
{
    const struct yaml_node *text = node->type == YAML_MAP ? yaml_member(node, "regex") : node;
    enum code code = policy__copy(c, text ? text->text : SPAN_NONE, &name->text);

    if (code != CODE_OK)
        return code;
    if (node->type == YAML_MAP)
        return compile_regex_name(c, node, opening, name);
    if (!policy__is_string(c, node))
        return CODE_OK;
    if (node->text.len == 0)
        FAULT(c, node, "an empty name never matches; write a name, a glob such as '*', or {regex: '...'}");
    if (dimension == DIM_METHOD && span_is(node->text, "protocol"))
        name->kind = NAME_PROTOCOL;
    else if (!glob_is_literal(node->text))
        name->kind = NAME_GLOB;
    return CODE_OK;
}

static enum code compile_names(struct compiler *c, const struct yaml_node *node, enum dimension dimension, bool opening,
                               struct names *names)
{
    struct name *name;

    names->given = node != NULL;
    if (!policy__is_list(c, node))
        return CODE_OK;
    if (node->count == 0)
        FAULT(c, node, "an empty list of %s never matches; leave it out to match all", policy__dimension_text[dimension]);
    names->name = name = policy__alloc(c, node->count, sizeof *name);
    names->count = node->count;
    if (name == NULL)
        return CODE_NOMEM;
    for (const struct yaml_node *member = node->child; member != NULL; member = member->next) {
        enum code code = compile_name(c, member, dimension, opening, name++);

        if (code != CODE_OK)
            return code;
    }
    return CODE_OK;
}

static const struct name tools_call = {.kind = NAME_LITERAL, .text = {"tools/call", 10}};

enum code policy__compile_match(struct compiler *c, const struct yaml_node *node, bool opening, struct match *match)
{
    static const char *const known[] = {"tenants", "principals", "upstreams", "methods", "tools", "resources", "prompts",
                                        "annotations", "client", "session", "during", NULL};
    static const char *const reserved[] = {"resources", "prompts", "annotations", "client", "session", "during", NULL};

    *match = (struct match){.opening = opening};
    if (node != NULL && policy__is_map(c, node)) {
        policy__check_keys(c, node, known, reserved, "`match`");
        for (enum dimension d = DIM_TENANT; d < DIM_COUNT; d++) {
            enum code code =
                compile_names(c, yaml_member(node, policy__dimension_text[d]), d, opening, &match->by[d]);

            if (code != CODE_OK)
                return code;
        }
    }
    /* Meaning 10: what `methods` stands for where it is left out. */
    if (!match->by[DIM_METHOD].given && (opening || match->by[DIM_TOOL].given))
        match->by[DIM_METHOD] = (struct names){.given = true, .count = 1, .name = &tools_call};
    if (match->by[DIM_PRINCIPAL].given)
        c->policy->asks_principal = true;
    return CODE_OK;
}
