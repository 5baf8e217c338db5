/* SPDX-License-Identifier: Apache-2.0 */
#include "language/compile_priv.h"
#include "language/keys.h"

#include "base/glob.h"
#include "policy/variable.h"

static void compile_regex_name(struct compiler *c, const struct yaml_node *node, bool opening, struct match_name *name)
{
    static const char *const known[] = {"regex", "anchor", NULL};
    static const char *const anchors[] = {"whole", "anywhere", NULL};
    const struct yaml_node *regex = yaml_member(node, "regex"), *anchor = yaml_member(node, "anchor");

    (void)compiler_is_map_of(c, node, known, "a name");
    name->kind = NAME_REGEX;
    name->whole = anchor != NULL ? compiler_word(c, anchor, anchors) == 0 : opening;
    if (regex == NULL)
        FAULT(c, node, "a map here holds a regex; write {regex: 'list_[a-z]+'}");
    else if (compiler_is_string(c, regex))
        name->regex = compiler_pattern(c, regex, name->text, name->whole);
}

static void compile_name(struct compiler *c, const struct yaml_node *node, enum dimension dimension, bool opening,
                         struct match_name *name)
{
    const struct yaml_node *text = node->type == YAML_MAP ? yaml_member(node, "regex") : node;

    name->text = compiler_copy(c, text ? text->text : SPAN_NONE);
    if (dimension == DIM_LABEL) {
        name->kind = NAME_LABEL;
        name->label = compile__label(c, node);
        return;
    }
    if (node->type == YAML_MAP) {
        compile_regex_name(c, node, opening, name);
        return;
    }
    if (!compiler_is_string(c, node) || c->no_memory)
        return;
    if (node->text.len == 0)
        FAULT(c, node, "an empty name never matches; write a name, a glob such as '*', or {regex: '...'}");
    if (variable_in(node->text))
        FAULT(c, node, "`match` has parameters of the file and no variables of the call, or `{upstream}` would be every "
              "upstream; ask in `when`, as in {arg: uri, glob: 'x://{tenant}/*'}");
    if (c->warnings != NULL)
        c->author->warn_name(c, node, dimension);
    if (dimension == DIM_METHOD && span_is(node->text, "protocol"))
        name->kind = NAME_PROTOCOL;
    else if (!glob_is_literal(node->text))
        name->kind = NAME_GLOB;
    while (name->kind == NAME_GLOB && strchr("*?\\", name->text.at[name->head]) == NULL)
        name->head++;
}

static void compile_names(struct compiler *c, const struct yaml_node *node, enum dimension dimension, bool opening,
                          struct names *names)
{
    struct match_name *name;

    names->given = node != NULL;
    if (!compiler_is_list(c, node))
        return;
    if (node->count == 0)
        FAULT(c, node, "an empty list of %s never matches; name one, or write ['*'] for all", policy_dimension_text[dimension]);
    names->name = name = compiler_alloc(c, node->count, sizeof *name);
    names->count = name != NULL ? node->count : 0;
    for (const struct yaml_node *member = node->child; name != NULL && member != NULL; member = member->next)
        compile_name(c, member, dimension, opening, name++);
}

/* Returns: what the match names of tools, resources and prompts; DIM_COUNT: nothing. */
static enum dimension target_of(struct compiler *c, const struct yaml_node *node, const struct match *match)
{
    enum dimension target = DIM_COUNT;

    for (enum dimension d = DIM_TARGET; d < DIM_HELD; d++) {
        if (!match->by[d].given)
            continue;
        if (target != DIM_COUNT)
            FAULT(c, node, "no message is about %s and %s at once; write two rules, or two entries of a label",
                  policy_dimension_text[target], policy_dimension_text[d]);
        target = d;
    }
    return target;
}

/* The methods that are meant where `methods` is left out (Meaning 10). What opens by a label opens what rules open by the
 * targets themselves. What closes by a resource closes every method: a route may declare further ones that are about some. */
static struct names methods_of(const struct match *match, enum dimension target)
{
    if (match->opening)
        return target != DIM_COUNT          ? *policy_target_methods[target]
               : match->by[DIM_LABEL].given ? policy_label_methods
                                            : *policy_target_methods[DIM_TOOL];
    return target == DIM_TOOL || target == DIM_PROMPT ? *policy_target_methods[target] : (struct names){.given = false};
}

/* Returns: what is named of tools, resources and prompts, as target_of. */
static enum dimension compile_dimensions(struct compiler *c, const struct yaml_node *map, struct match *match)
{
    enum dimension target;

    for (enum dimension d = DIM_TENANT; d < DIM_COUNT; d++)
        compile_names(c, yaml_member(map, policy_dimension_text[d]), d, match->opening, &match->by[d]);
    target = target_of(c, map, match);
    if (!match->by[DIM_METHOD].given)
        match->by[DIM_METHOD] = methods_of(match, target);
    c->policy->asks_principal |= match->by[DIM_PRINCIPAL].given;
    c->policy->asks_agent |= match->by[DIM_AGENT].given;
    c->policy->asks_path |= match->by[DIM_PATH].given;
    c->policy->asks_query |= match->by[DIM_QUERY].given;
    c->policy->asks_resource |= match->by[DIM_RESOURCE].given;
    c->policy->asks_prompt |= match->by[DIM_PROMPT].given;
    c->policy->asks_held |= match->by[DIM_GROUP].given || match->by[DIM_SCOPE].given;
    return target;
}

const char *const policy_match_keys[] = {"tenants", "principals", "agents", "upstreams", "methods", "paths", "queries", "tools",
                                         "resources", "prompts", "labels", "groups", "scopes", "", "annotations",
                                         "client", "session", "during", "plan", NULL};

void compile__match(struct compiler *c, const struct yaml_node *node, bool opening, struct match *match)
{
    bool is_map = compiler_is_map_of(c, node, policy_match_keys, "`match`");

    *match = (struct match){.opening = opening};
    if (is_map)
        compile__misplaced_fact(c, node);
    (void)compile_dimensions(c, is_map ? node : NULL, match);
}

/* ---- labels ---- */

/* An entry is a tool's name or glob, at any upstream; or a map that says more. */
static void compile_labelled(struct compiler *c, const struct yaml_node *node, struct match *match)
{
    static const char *const known[] = {"upstreams", "tools", "resources", "prompts", NULL};
    struct match_name *name;

    *match = (struct match){.opening = false};
    if (node->type == YAML_MAP) {
        (void)compiler_is_map_of(c, node, known, "an entry of a label");
        if (compile_dimensions(c, node, match) == DIM_COUNT)
            FAULT(c, node, "an entry of a label names `tools`, `resources` or `prompts`; write all tools of an upstream as "
                  "{upstreams: [NAME], tools: ['*']}");
    } else {
        name = compiler_alloc(c, 1, sizeof *name);
        match->by[DIM_METHOD] = *policy_target_methods[DIM_TOOL];
        match->by[DIM_TOOL] = (struct names){.given = true, .count = name != NULL, .name = name};
        if (name != NULL)
            compile_name(c, node, DIM_TOOL, false, name);
    }
    for (enum dimension d = DIM_TENANT; d < DIM_COUNT; d++)
        for (uint32_t i = 0; i < match->by[d].count; i++)
            if (match->by[d].name[i].kind == NAME_REGEX)
                FAULT(c, node, "a label takes names and globs, since rules that open and rules that close may name it; write "
                      "them out");
}

static void compile_label(struct compiler *c, const struct yaml_node *node, struct label *label)
{
    struct match *any = compiler_is_list(c, node) ? compiler_alloc(c, node->count, sizeof *any) : NULL;
    struct buf key;

    *label = (struct label){.name = compiler_copy(c, node->key), .any = any, .node = node, .source = c->source,
                            .line = node->key_line, .column = node->key_column};
    if (node->type == YAML_LIST && node->count == 0)
        FAULT(c, node, "no call ever has a label without tools; name at least one, or leave the label out");
    for (const struct yaml_node *one = any != NULL ? node->child : NULL; one != NULL; one = one->next)
        compile_labelled(c, one, &any[label->count++]);
    buf_init(&key, (size_t)16 << 20);
    buf_addf(&key, "l%zu:", label->name.len);
    buf_add_span(&key, label->name);
    buf_add_span(&key, compiler_written(c, node));
    c->no_memory |= buf_code(&key) != CODE_OK;
    if (!c->no_memory)
        label->key = compiler_copy(c, buf_peek(&key));
    buf_fini(&key);
}

void compile__labels(struct compiler *c)
{
    const struct yaml_node *map = yaml_member(yaml_root(c->tree), "labels");

    for (const struct yaml_node *node = map != NULL && map->type == YAML_MAP ? map->child : NULL; node != NULL && !c->no_memory;
         node = node->next) {
        struct label *label = compiler_alloc(c, 1, sizeof *label);

        if (label == NULL)
            return;
        compile_label(c, node, label);
        label->next = c->policy->labels;
        c->policy->labels = label;
    }
}

const struct label *compile__label(struct compiler *c, const struct yaml_node *text)
{
    const struct yaml_node *node = compiler_is_string(c, text) ? compiler_named_text(c, text, &c->labels) : NULL;
    const struct label *label = c->policy->labels;
    static const struct label none;

    while (label != NULL && label->node != node)
        label = label->next;
    return label != NULL ? label : &none; /* a fault was told */
}
