/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

#include "base/num.h"

/* The name of a tool, or a map where more of the earlier call is not as in this one. */
static enum code compile_earlier(struct compiler *c, const struct yaml_node *node, const struct question *now,
                                 struct case_earlier *earlier)
{
    static const char *const known[] = {"tool", "upstream", "principal", "session", "correlation", "ago", NULL};
    struct question *question = &earlier->question;
    const struct {
        const char *key;
        struct span usual, *text;
    } texts[] = {
        {"tool", SPAN_NONE, &question->tool}, {"upstream", now->upstream, &question->upstream},
        {"principal", now->principal, &question->principal}, {"session", now->session, &question->session},
        {"correlation", now->correlation, &question->correlation},
    };
    const struct yaml_node *ago = yaml_member(node, "ago");
    enum code code = CODE_OK;
    uint64_t ms = 0;

    *question = *now;
    if (node->type == YAML_STRING)
        return policy__copy(c, node->text, &question->tool);
    if (!policy__is_map(c, node))
        return CODE_OK;
    policy__check_keys(c, node, known, "a call of `after`");
    for (size_t i = 0; i < sizeof texts / sizeof *texts && code == CODE_OK; i++)
        code = policy__text_or(c, node, texts[i].key, texts[i].usual, texts[i].text);
    if (question->tool.len == 0)
        FAULT(c, node, "a call of `after` names its `tool`; write a name, or {tool: NAME, ago: 5min}");
    if (ago != NULL && (ago->type != YAML_STRING || num_duration(ago->text, &ms) != CODE_OK || ms > INT32_MAX))
        FAULT(c, ago, "`ago` is a time; write one such as 30s or 10min");
    earlier->ago_us = (int64_t)(ms > INT32_MAX ? 0 : ms * 1000);
    return code;
}

static enum code compile_after(struct compiler *c, const struct yaml_node *list, struct policy_case *kase)
{
    struct case_earlier *earlier;
    enum code code = CODE_OK;

    if (!policy__is_list(c, list))
        return CODE_OK;
    kase->earlier = earlier = policy__alloc(c, list->count, sizeof *earlier);
    if (earlier == NULL)
        return CODE_NOMEM;
    for (const struct yaml_node *member = list->child; member != NULL && code == CODE_OK; member = member->next)
        code = compile_earlier(c, member, &kase->question, &earlier[kase->earlier_count++]);
    return code;
}

static enum code compile_spent(struct compiler *c, const struct yaml_node *map, struct policy_case *kase)
{
    struct case_spent *spent;
    enum code code = CODE_OK;

    if (!policy__is_map(c, map))
        return CODE_OK;
    kase->spent = spent = policy__alloc(c, map->count, sizeof *spent);
    if (spent == NULL)
        return CODE_NOMEM;
    for (const struct yaml_node *member = map->child; member != NULL && code == CODE_OK; member = member->next) {
        struct case_spent *one = &spent[kase->spent_count++];

        one->line = member->key_line;
        one->column = member->key_column;
        code = policy__copy(c, member->key, &one->rule);
        if (member->type != YAML_INT || num_u64(member->json, &one->calls) != CODE_OK)
            FAULT(c, member, "`spent` says how many calls of a rule count under its limit; write {RULE: 100}");
    }
    return code;
}

enum code policy__compile_case_past(struct compiler *c, const struct yaml_node *call, struct policy_case *kase)
{
    const struct yaml_node *hints = yaml_member(call, "annotations");
    enum code code = compile_after(c, yaml_member(call, "after"), kase);

    if (code == CODE_OK)
        code = compile_spent(c, yaml_member(call, "spent"), kase);
    if (hints != NULL && policy__is_map(c, hints))
        policy__compile_hints(c, hints, kase->hints);
    return code;
}

static void check_spent(struct compiler *c, const struct policy_case *kase, const struct case_spent *spent)
{
    const struct rule *rule = policy__rule_by_id(c->policy, spent->rule);

    if (rule == NULL)
        faults_add(c->faults, kase->source->path_text, spent->line, spent->column,
                   "there is no rule `%.*s` with a limit to be spent; name the id of a permit", SPAN_ARG(spent->rule));
    else if (rule->limit == NULL)
        faults_add(c->faults, kase->source->path_text, spent->line, spent->column,
                   "`%.*s` has no limit that could be spent; name a permit with a `limit`", SPAN_ARG(spent->rule));
}

void policy__check_spent(struct compiler *c)
{
    for (uint32_t i = 0; i < c->policy->case_count; i++)
        for (uint32_t j = 0; j < c->policy->cases[i].spent_count; j++)
            check_spent(c, &c->policy->cases[i], &c->policy->cases[i].spent[j]);
}
