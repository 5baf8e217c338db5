/* SPDX-License-Identifier: Apache-2.0 */
#include "author/tidy.h"
#include "language/keys.h"
#include "yaml/layout.h"
#include "yaml/yaml.h"

/* What a condition is about stands first, and what is asked of it as its author put it: it is read as a sentence. */
static void order_condition(struct layout_node *condition)
{
    static const char *const about[] = {"arg", "meta", "param", "claim", "value", NULL};
    static const char *const inner[] = {"not", "any", "all", NULL};

    layout_order(condition, about);
    for (size_t i = 0; inner[i] != NULL; i++) {
        struct layout_node *member = layout_member(condition, inner[i]);

        if (member != NULL && member->kind == LAYOUT_MAP)
            order_condition(member);
        for (struct layout_node *one = member != NULL && member->kind == LAYOUT_LIST ? member->child : NULL; one != NULL;
             one = one->next)
            order_condition(one);
    }
}

static struct layout_node *first_of(struct layout_node *root, const char *list)
{
    struct layout_node *member = layout_member(root, list);

    return member != NULL && member->kind == LAYOUT_LIST ? member->child : NULL;
}

static void order_rules(struct layout_node *root, const char *list, const char *const *keys)
{
    for (struct layout_node *rule = first_of(root, list); rule != NULL; rule = rule->next) {
        layout_order(rule, keys);
        layout_order(layout_member(rule, "match"), policy_match_keys);
        for (struct layout_node *condition = first_of(rule, "when"); condition != NULL; condition = condition->next)
            order_condition(condition);
    }
}

static void order(struct layout_node *root)
{
    layout_order(root, policy_file_keys);
    order_rules(root, "rules", policy_rule_keys);
    order_rules(root, "answers", policy_answer_keys);
    order_rules(root, "redact", policy_redaction_keys);
    for (struct layout_node *test = first_of(root, "tests"); test != NULL; test = test->next) {
        struct layout_node *expect = layout_member(test, "expect");

        layout_order(test, policy_test_keys);
        layout_order(layout_member(test, "call"), policy_call_keys);
        layout_order(expect, layout_member(expect, "answer") != NULL ? policy_expect_answer_keys : policy_expect_keys);
    }
}

/* ---- whether it says the same ---- */

static bool is_same(const struct yaml_node *a, const struct yaml_node *b);

static bool has_same_members(const struct yaml_node *a, const struct yaml_node *b)
{
    const struct yaml_node *beside = b->child;

    for (const struct yaml_node *member = a->child; member != NULL; member = member->next) {
        const struct yaml_node *other = beside;

        if (a->type == YAML_MAP && !span_equals(other->key, member->key))
            for (other = b->child; other != NULL && !span_equals(other->key, member->key);)
                other = other->next;
        if (other == NULL || !is_same(member, other))
            return false;
        beside = beside->next;
    }
    return true;
}

static bool is_same(const struct yaml_node *a, const struct yaml_node *b)
{
    return a->type == b->type && a->truth == b->truth && a->count == b->count && span_equals(a->text, b->text) &&
           has_same_members(a, b);
}

/* Whatever the layout made of it, no text is handed out that says something else. */
static enum code check_same(const struct yaml_tree *tree, struct span text, struct faults *faults)
{
    struct yaml_tree *written;
    struct faults unread;
    enum code code;

    faults_init(&unread);
    code = yaml_read(text, "", &written, &unread);
    if (code == CODE_INVALID || (code == CODE_OK && !is_same(yaml_root(tree), yaml_root(written)))) {
        faults_add(faults, yaml_file(tree), code == CODE_INVALID ? unread.fault[0].line : 1, 1,
                   "the file has something that cannot be written in the one manner and stay the same; it was left as it is: "
                   "please tell us");
        code = CODE_INVALID;
    }
    yaml_tree_free(&written);
    return code;
}

enum code tidy_write(struct span text, const char *file, struct buf *out, struct faults *faults)
{
    struct layout *layout = NULL;
    struct yaml_tree *tree = NULL;
    enum code code = yaml_read(text, file, &tree, faults);

    if (code == CODE_OK && yaml_root(tree)->type != YAML_MAP) {
        faults_add(faults, file, yaml_root(tree)->line, yaml_root(tree)->column,
                   "no policy file: it has no keys; it begins with policy: NAME");
        code = CODE_INVALID;
    }
    if (code == CODE_OK)
        code = layout_read(text, &layout);
    if (code == CODE_OK) {
        order(layout_root(layout));
        code = layout_write(layout, out);
    }
    if (code == CODE_OK)
        code = check_same(tree, buf_peek(out), faults);
    layout_free(&layout);
    yaml_tree_free(&tree);
    return code;
}
