/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

#define NAME_BYTES 64

static const char *const known[] = {"policy", "description", "mode", "patterns", "lists", "rules", "redact", "tests", NULL};
static const char *const modes[] = {"enforce", "monitor", NULL};

static bool is_name(struct span text)
{
    if (text.len == 0 || text.len > NAME_BYTES)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i], lower = (char)(c | 32);

        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '.' && c != '-')
            return false;
    }
    return true;
}

/* Returns: the node of the file's name, or NULL with a fault. */
static const struct yaml_node *name_node(const struct yaml_tree *tree, const char *path, struct faults *faults)
{
    const struct yaml_node *root = yaml_root(tree), *name = yaml_member(root, "policy");

    if (root->type != YAML_MAP)
        faults_add(faults, path, root->line, root->column, "a policy file is a map; begin it with `policy: NAME`");
    else if (name == NULL)
        faults_add(faults, path, root->line, root->column, "the file has no name; begin it with `policy: NAME`");
    else if (name->type != YAML_STRING || !is_name(name->text))
        faults_add(faults, path, name->line, name->column,
                   "`policy` is a name; write 1 to %d letters, digits, `_`, `.` or `-`", NAME_BYTES);
    else
        return name;
    return NULL;
}

enum code policy_name_of(struct span text, const char *path, struct buf *name, struct faults *faults)
{
    const struct yaml_node *node;
    struct yaml_tree *tree;
    enum code code = yaml_read(text, path, &tree, faults);

    if (code != CODE_OK)
        return code;
    node = name_node(tree, path, faults);
    code = node ? buf_add_span(name, node->text) : CODE_INVALID;
    yaml_tree_free(&tree);
    return code;
}

/* Regexes are compiled where they are defined, so that an unused one is told too. Cost is asked where they are used:
 * `slow_regex` stands at the rule. */
static enum code compile_patterns(struct compiler *c)
{
    bool pumps = c->pumps;
    enum code code = CODE_OK;

    c->pumps = false;
    for (const struct yaml_node *member = c->patterns ? c->patterns->child : NULL; member != NULL && code == CODE_OK;
         member = member->next) {
        const struct regex *regex;

        if (policy__is_string(c, member))
            code = policy__pattern(c, member, member->text, false, &regex);
    }
    c->pumps = pumps;
    return code;
}

static void check_lists(struct compiler *c)
{
    for (const struct yaml_node *member = c->lists ? c->lists->child : NULL; member != NULL; member = member->next)
        (void)policy__is_list(c, member);
}

static enum code compile_rules(struct compiler *c, const struct yaml_node *list)
{
    enum code code = CODE_OK;

    for (const struct yaml_node *node = list->child; node != NULL && code == CODE_OK; node = node->next)
        code = policy__compile_rule(c, node, &c->policy->rules[c->rule_count++]);
    return code;
}

static enum code compile_redactions(struct compiler *c, const struct yaml_node *list)
{
    enum code code = CODE_OK;

    for (const struct yaml_node *node = list->child; node != NULL && code == CODE_OK; node = node->next)
        code = policy__compile_redaction(c, node, &c->policy->redactions[c->redaction_count++]);
    return code;
}

static enum code compile_cases(struct compiler *c, const struct yaml_node *list)
{
    enum code code = CODE_OK;

    for (const struct yaml_node *node = list->child; node != NULL && code == CODE_OK; node = node->next)
        code = policy__compile_case(c, node, &c->policy->cases[c->case_count++]);
    return code;
}

enum code policy__compile_name(struct compiler *c)
{
    const struct yaml_node *name = name_node(c->tree, c->source->path_text, c->faults);

    return policy__copy(c, name ? name->text : SPAN_NONE, &c->source->name);
}

static const struct yaml_node *member_list(struct compiler *c, const char *key)
{
    const struct yaml_node *list = yaml_member(yaml_root(c->tree), key);

    return policy__is_list(c, list) ? list : NULL;
}

static const struct yaml_node *member_map(struct compiler *c, const char *key)
{
    const struct yaml_node *map = yaml_member(yaml_root(c->tree), key);

    return policy__is_map(c, map) ? map : NULL;
}

void policy__count_parts(const struct yaml_tree *tree, struct policy *policy)
{
    const struct yaml_node *root = yaml_root(tree);
    const struct yaml_node *rules = yaml_member(root, "rules"), *redact = yaml_member(root, "redact");
    const struct yaml_node *tests = yaml_member(root, "tests");

    policy->rule_count += rules && rules->type == YAML_LIST ? rules->count : 0;
    policy->redaction_count += redact && redact->type == YAML_LIST ? redact->count : 0;
    policy->case_count += tests && tests->type == YAML_LIST ? tests->count : 0;
}

enum code policy__compile_file(struct compiler *c)
{
    const struct yaml_node *root = yaml_root(c->tree), *mode = yaml_member(root, "mode");
    const struct yaml_node *rules, *redact, *tests;
    enum code code;

    if (root->type != YAML_MAP)
        return CODE_OK;
    policy__check_keys(c, root, known, "a policy file");
    c->patterns = member_map(c, "patterns");
    c->lists = member_map(c, "lists");
    c->pattern_used = policy__alloc(c, c->patterns ? c->patterns->count : 0, sizeof(bool));
    c->list_used = policy__alloc(c, c->lists ? c->lists->count : 0, sizeof(bool));
    if (c->pattern_used == NULL || c->list_used == NULL)
        return CODE_NOMEM;
    if (mode != NULL)
        c->source->monitor = policy__word(c, mode, modes) == 1;
    (void)policy__is_string(c, yaml_member(root, "description"));
    code = compile_patterns(c);
    check_lists(c);
    rules = member_list(c, "rules");
    redact = member_list(c, "redact");
    tests = member_list(c, "tests");
    if (code == CODE_OK && rules != NULL)
        code = compile_rules(c, rules);
    if (code == CODE_OK && redact != NULL)
        code = compile_redactions(c, redact);
    if (code == CODE_OK && tests != NULL)
        code = compile_cases(c, tests);
    if (code == CODE_OK)
        policy__warn_file(c);
    return code;
}
