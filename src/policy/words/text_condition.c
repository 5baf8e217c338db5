/* SPDX-License-Identifier: Apache-2.0 */
#include "words/text_condition.h"

#include "words/operators.h"

void compiler_companions(struct compiler *c, const struct yaml_node *map)
{
    static const char *const parts[] = {"front", "rest"};
    const struct yaml_node *anchor = yaml_member(map, "anchor");

    if (anchor != NULL && yaml_member(map, "matches") == NULL && yaml_member(map, "not_matches") == NULL)
        FAULT_KEY(c, anchor, "`anchor` belongs to `matches` and `not_matches`; other operators are always whole");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (yaml_member(map, parts[i]) != NULL && yaml_member(map, "cut") == NULL)
            FAULT_KEY(c, yaml_member(map, parts[i]), "`%s` is a part of a text that is cut in two; add where, as in {cut: ':', "
                      "%s: {...}}", parts[i], parts[i]);
}

static const char *const known[] = {
    "not", "any", "all", "anchor", "not_matches", "front", "rest",
#define X(word) #word,
    OPERATOR_TABLE(X)
#undef X
    NULL};

static void compile_map(struct compiler *c, const struct yaml_node *map, bool opening, struct condition *condition);

static struct condition *make_members(struct compiler *c, enum condition_kind kind, uint32_t count, struct condition *condition)
{
    struct condition *members = compiler_alloc(c, count, sizeof *members);

    condition->kind = kind;
    condition->members = members;
    return members;
}

static void compile_operator(struct compiler *c, const struct yaml_node *node, const struct operator *operator, bool opening,
                             struct condition *leaf)
{
    static const char *const anchors[] = {"whole", "anywhere", NULL};
    const struct yaml_node *anchor = yaml_member(c->condition, "anchor");
    struct op *op = compiler_alloc(c, 1, sizeof *op);

    leaf->opening = opening;
    leaf->ops = op;
    leaf->op_count = op != NULL;
    if (op == NULL)
        return;
    op->operator = operator;
    op->types = operator->types;
    op->opening = opening;
    op->whole = anchor != NULL ? compiler_word(c, anchor, anchors) == 0 : opening != c->of_closing_word;
    if (!op_reads_decoded(op))
        FAULT_KEY(c, node, "`%s` asks nothing of a text; write a word that does, such as matches, in or path", operator->word);
    operator->compile(c, node, op);
}

/* One entry of a map. Returns: false: it asks nothing itself, and says how others are meant. */
static bool compile_entry(struct compiler *c, const struct yaml_node *node, bool opening, struct condition *condition)
{
    bool is_not = span_is(node->key, "not"), is_any = span_is(node->key, "any");
    const struct operator *operator = policy_operator(node->key);
    struct condition *members;

    *condition = (struct condition){.line = node->line, .number = CONDITION_UNCOUNTED, .opening = opening};
    if (operator != NULL) {
        compile_operator(c, node, operator, opening, condition);
    } else if (is_not || span_is(node->key, "not_matches")) {
        members = make_members(c, CONDITION_NOT, 1, condition);
        condition->count = members != NULL;
        if (members != NULL && is_not)
            compile_map(c, node, !opening, members);
        else if (members != NULL)
            compile_operator(c, node, policy_operator(SPAN_LIT("matches")), !opening, members);
    } else if (is_any || span_is(node->key, "all")) {
        if (!compiler_is_list(c, node))
            return false;
        if (node->count == 0)
            FAULT(c, node, "an empty `%.*s` says nothing; leave it out", SPAN_ARG(node->key));
        members = make_members(c, is_any ? CONDITION_ANY : CONDITION_ALL, node->count, condition);
        for (const struct yaml_node *one = members != NULL ? node->child : NULL; one != NULL; one = one->next)
            compile_map(c, one, opening, &members[condition->count++]);
    } else {
        return false;
    }
    return true;
}

static void compile_map(struct compiler *c, const struct yaml_node *map, bool opening, struct condition *condition)
{
    const struct yaml_node *around = c->condition;
    struct condition *members;

    *condition = (struct condition){.kind = CONDITION_ALL, .line = map->line, .number = CONDITION_UNCOUNTED,
                                    .opening = opening};
    if (!compiler_is_map_of(c, map, known, "a condition of one text"))
        return;
    members = make_members(c, CONDITION_ALL, map->count, condition);
    c->condition = map;
    for (const struct yaml_node *one = members != NULL ? map->child : NULL; one != NULL; one = one->next)
        condition->count += compile_entry(c, one, opening, &members[condition->count]);
    c->condition = around;
    if (members != NULL && condition->count == 0)
        FAULT(c, map, "this asks nothing of the text; write operators, as in {matches: '[a-z]+', max_length: 40}");
    compiler_companions(c, map);
}

const struct condition *compiler_text_condition(struct compiler *c, const struct yaml_node *map, bool opening)
{
    struct condition *condition = compiler_alloc(c, 1, sizeof *condition);

    if (condition == NULL || !compiler_is_map(c, map))
        return NULL;
    compile_map(c, map, opening, condition);
    return condition;
}

enum truth text_condition_truth(struct rule_walk *walk, const struct condition *condition, struct span text)
{
    const struct json_node string = {.type = JSON_STRING, .text = text, .raw = text};
    bool is_any = condition->kind == CONDITION_ANY;
    enum truth truth = is_any ? TRUTH_FALSE : TRUTH_TRUE;

    if (condition->kind == CONDITION_LEAF)
        return policy_op(walk, condition->ops, &string);
    if (condition->kind == CONDITION_NOT)
        return truth_not(text_condition_truth(walk, condition->members, text));
    for (uint32_t i = 0; i < condition->count && truth != (is_any ? TRUTH_TRUE : TRUTH_FALSE); i++) {
        enum truth member = text_condition_truth(walk, &condition->members[i], text);

        truth = is_any ? truth_or(truth, member) : truth_and(truth, member);
    }
    return truth;
}

bool text_condition_varies(const struct condition *condition)
{
    bool varies = condition->op_count > 0 && condition->ops->varies;

    for (uint32_t i = 0; i < condition->count; i++)
        varies |= text_condition_varies(&condition->members[i]);
    return varies;
}

void text_condition_sample(const struct condition *condition, struct samples *samples)
{
    if (condition->op_count > 0)
        op_sample(condition->ops, samples);
    for (uint32_t i = 0; i < condition->count; i++)
        text_condition_sample(&condition->members[i], samples);
}
