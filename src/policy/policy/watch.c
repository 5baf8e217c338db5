/* SPDX-License-Identifier: Apache-2.0 */
/* What conditions about earlier calls watch, and whether a call is such a one. */
#include "policy/snapshot.h"

#include "base/glob.h"

static bool is_named(const struct names *names, struct span value)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (names->name[i].kind == NAME_GLOB ? glob_matches(names->name[i].text, value)
                                             : span_equals(names->name[i].text, value))
            return true;
    return !names->given;
}

const struct watch *policy_watch_of(const struct policy_watch *view)
{
    return (const struct watch *)(const void *)((const char *)view - offsetof(struct watch, view));
}

static bool has_decided(const struct policy_met *met, struct span rule)
{
    return span_equals(rule, met->deciding[HALF_PERSON]) || span_equals(rule, met->deciding[HALF_AGENT]);
}

static enum policy_known is_met(const struct names *rules, const struct policy_met *met)
{
    for (uint32_t i = 0; i < met->count && i < VERDICT_RULES_MAX && met->rules[i].id.at != NULL; i++)
        if ((!met->rules[i].limited || has_decided(met, met->rules[i].id)) && is_named(rules, met->rules[i].id))
            return POLICY_YES;
    return met->count > VERDICT_RULES_MAX ? POLICY_UNKNOWN : POLICY_NO;
}

static enum policy_known has_label(const struct label *label, const struct question *question)
{
    struct regex_budget budget;
    enum truth truth;

    regex_budget_init(&budget);
    truth = policy_labelled(label, question, &budget);
    return truth == TRUTH_TRUE ? POLICY_YES : truth == TRUTH_FALSE ? POLICY_NO : POLICY_UNKNOWN;
}

enum policy_known policy_is_watched(const struct watch *watch, const struct question *question, const struct policy_met *met)
{
    if (watch->label != NULL)
        return has_label(watch->label, question);
    if (watch->rules.given)
        return is_met(&watch->rules, met);
    return question->tool.len > 0 && is_named(&watch->tools, question->tool) &&
           is_named(&watch->upstreams, question->upstream) ? POLICY_YES : POLICY_NO;
}

bool policy_watches(const struct policy *policy)
{
    return policy->watches != NULL;
}

bool policy_watches_answers(const struct policy *policy)
{
    for (const struct watch *watch = policy->watches; watch != NULL; watch = watch->next)
        for (uint32_t i = 0; i < watch->rules.count; i++)
            if (policy_answer_by_id(policy, watch->rules.name[i].text) != NULL)
                return true;
    return false;
}

void policy_each_watch(const struct policy *policy, const struct question *question, const struct policy_met *met,
                       void (*told)(void *context, const struct policy_watch *watch, bool is_sure), void *context)
{
    for (const struct watch *watch = policy->watches; watch != NULL; watch = watch->next) {
        enum policy_known known = policy_is_watched(watch, question, met);

        if (known != POLICY_NO)
            told(context, &watch->view, known == POLICY_YES);
    }
}

static bool watches(const struct policy *policy, const struct policy_watch *asked)
{
    for (const struct watch *watch = policy->watches; watch != NULL; watch = watch->next)
        if (span_equals(watch->view.key, asked->key))
            return (asked->by & ~watch->view.by) == 0 && watch->view.longest_us >= asked->longest_us;
    return false;
}

bool policy_watches_all_of(const struct policy *policy, const struct policy *other)
{
    for (const struct watch *watch = other->watches; watch != NULL; watch = watch->next)
        if (!watches(policy, &watch->view))
            return false;
    return true;
}
