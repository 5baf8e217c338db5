/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/match.h"
#include "texts/reading.h"
#include "policy/policy.h"

#include "base/glob.h"

/* U+017F and U+212A: PCRE2 folds them to `s` and `k` under (?i); the upstream may not. */
static bool holds_odd_folds(struct span text)
{
    return memmem(text.at, text.len, "\xc5\xbf", 2) != NULL || memmem(text.at, text.len, "\xe2\x84\xaa", 3) != NULL;
}

enum truth policy_regex(const struct regex *regex, bool opening, struct span subject, bool whole, struct regex_budget *budget)
{
    if (opening && regex_folds_case(regex) && subject.len > 0 && holds_odd_folds(subject))
        return TRUTH_UNDECIDED;
    switch (regex_match(regex, subject, whole, budget)) {
    case REGEX_MATCH: return TRUTH_TRUE;
    case REGEX_NO_MATCH: return TRUTH_FALSE;
    case REGEX_UNDECIDED: break;
    }
    return TRUTH_UNDECIDED;
}

/* Whether the method is one that `protocol` stands for. A client's answer to ping is asked as `ping`. */
bool policy_is_protocol(struct span method)
{
    static const char *const methods[] = {"initialize",  "server/discover", "ping", "tools/list",
                                          "stream/open", "session/end",     NULL};

    for (const char *const *word = methods; *word != NULL; word++)
        if (span_is(method, *word))
            return true;
    return span_starts_with(method, SPAN_LIT("notifications/"));
}

bool question_needs_agent(const struct question *question)
{
    return question->is_agent_judged && !policy_is_protocol(question->method);
}

/* Most globs are a beginning and a `*`, which is compared at once. Others may try their pattern at each place of the name,
 * whose length an agent or an upstream chooses, so they are charged. */
static enum truth matches_glob(const struct match_name *name, struct span value, struct regex_budget *budget)
{
    if (value.len < name->head || memcmp(value.at, name->text.at, name->head) != 0)
        return TRUTH_FALSE;
    if (name->head + 1 == name->text.len && name->text.at[name->head] == '*')
        return TRUTH_TRUE;
    if (!regex_budget_spend(budget, (uint64_t)value.len / 16 * name->text.len * VISIT_WORK))
        return TRUTH_UNDECIDED;
    return glob_matches(name->text, value) ? TRUTH_TRUE : TRUTH_FALSE;
}

enum truth policy_name_matches(const struct match_name *name, bool opening, struct span value, struct regex_budget *budget)
{
    bool matches = false;

    switch (name->kind) {
    case NAME_LITERAL: matches = span_equals(name->text, value); break;
    case NAME_GLOB: return matches_glob(name, value, budget);
    case NAME_REGEX: return policy_regex(name->regex, opening, value, name->whole, budget);
    case NAME_PROTOCOL: matches = policy_is_protocol(value); break;
    case NAME_LABEL: break; /* a label asks for more than a name */
    }
    return matches ? TRUTH_TRUE : TRUTH_FALSE;
}

/* An entry that spells the URI out matches it, and `*` matches all. Of the rest each reading of the URI is asked. */
static enum truth uri_matches(const struct match_name *name, bool opening, struct span uri, enum reading_count count,
                              struct span usual, struct regex_budget *budget)
{
    enum truth truth;

    if (name->kind == NAME_LITERAL ? span_equals(name->text, uri) : name->kind == NAME_GLOB && span_is(name->text, "*"))
        return TRUTH_TRUE;
    if (count == READING_MANY)
        return TRUTH_UNDECIDED;
    truth = policy_name_matches(name, opening, uri, budget);
    return count == READING_ONE || policy_name_matches(name, opening, usual, budget) == truth ? truth : TRUTH_UNDECIDED;
}

static enum truth resources_match(const struct names *names, bool opening, struct span uri, struct regex_budget *budget)
{
    enum truth truth = TRUTH_FALSE;
    struct uri_readings readings;
    enum reading_count count;
    struct span usual;

    if (uri.len <= READING_URI_MAX && !regex_budget_spend(budget, (uint64_t)uri.len / 16 * VISIT_WORK))
        return TRUTH_UNDECIDED;
    count = reading_of_uri(uri, &readings);
    usual = span_of(readings.usual, readings.len);
    for (uint32_t i = 0; i < names->count && truth != TRUTH_TRUE; i++)
        truth = truth_or(truth, uri_matches(&names->name[i], opening, uri, count, usual, budget));
    return truth;
}

struct span *question_place(struct question *question, enum dimension dimension)
{
    static const size_t places[DIM_HELD] = {
        [DIM_TENANT] = offsetof(struct question, tenant), [DIM_PRINCIPAL] = offsetof(struct question, principal),
        [DIM_UPSTREAM] = offsetof(struct question, upstream), [DIM_METHOD] = offsetof(struct question, method),
        [DIM_AGENT] = offsetof(struct question, agent), [DIM_PATH] = offsetof(struct question, path),
        [DIM_QUERY] = offsetof(struct question, query),
        [DIM_TOOL] = offsetof(struct question, tool), [DIM_RESOURCE] = offsetof(struct question, resource),
        [DIM_PROMPT] = offsetof(struct question, prompt),
    };

    return (struct span *)(void *)((char *)question + places[dimension]);
}

struct span question_name(const struct question *question, enum dimension dimension)
{
    return dimension == DIM_LABEL ? SPAN_NONE : *question_place((struct question *)(uintptr_t)question, dimension);
}

struct held question_held(const struct question *question, enum dimension dimension)
{
    return dimension == DIM_GROUP ? (struct held){question->groups, question->group_count}
                                  : (struct held){question->scopes, question->scope_count};
}

/* Whether any of the names matches any group or scope that the caller has. Each pair is charged, since both may be
 * thousands. */
static enum truth held_match(const struct names *names, enum dimension dimension, bool opening, const struct question *question,
                             struct regex_budget *budget)
{
    struct held held = question_held(question, dimension);
    uint32_t count = held.count + (dimension == DIM_SCOPE); /* plus the one further scope that the question may have */
    enum truth truth = TRUTH_FALSE;

    if (dimension == DIM_SCOPE && opening && question->any_scope)
        return TRUTH_TRUE;
    for (uint32_t i = 0; i < names->count && truth != TRUTH_TRUE; i++) {
        if (!regex_budget_spend(budget, ((uint64_t)held.count + 1) * VISIT_WORK))
            return TRUTH_UNDECIDED;
        for (uint32_t h = 0; h < count && truth != TRUTH_TRUE; h++) {
            struct span name = h < held.count ? held.name[h] : question->more_scope;

            if (name.len > 0)
                truth = truth_or(truth, policy_name_matches(&names->name[i], opening, name, budget));
        }
    }
    return truth != TRUTH_TRUE && question_hides_name(question, dimension) ? TRUTH_UNDECIDED : truth;
}

enum truth policy_labelled(const struct label *label, const struct question *question, struct regex_budget *budget)
{
    enum truth truth = TRUTH_FALSE;
    enum dimension undecided;

    for (uint32_t i = 0; i < label->count && truth != TRUTH_TRUE; i++)
        truth = truth_or(truth, policy_match(&label->any[i], DIM_TENANT, DIM_HELD, question, budget, &undecided));
    return truth;
}

static enum truth labels_match(const struct names *names, const struct question *question, struct regex_budget *budget)
{
    enum truth truth = TRUTH_FALSE;

    for (uint32_t i = 0; i < names->count && truth != TRUTH_TRUE; i++)
        truth = truth_or(truth, policy_labelled(names->name[i].label, question, budget));
    return truth;
}

enum truth policy_names_match(const struct names *names, enum dimension dimension, bool opening,
                               const struct question *question, struct regex_budget *budget)
{
    struct span value = dimension < DIM_HELD ? question_name(question, dimension) : SPAN_NONE;
    bool is_response = dimension == DIM_METHOD && span_is(question->method, "response") && question->answers.len > 0;
    enum truth truth = TRUTH_FALSE;

    if (!names->given)
        return TRUTH_TRUE;
    if (dimension == DIM_LABEL)
        return labels_match(names, question, budget);
    if (dimension >= DIM_HELD)
        return held_match(names, dimension, opening, question, budget);
    if ((dimension == DIM_RESOURCE && question->any_resource) || /* judgement/uris.c asks about templates */
        question_hides_name(question, dimension))
        return TRUTH_UNDECIDED;
    /* A message that calls no tool has no name that could match, not even `*`; likewise with resources and prompts. */
    if (dimension >= DIM_OPTIONAL && value.len == 0)
        return TRUTH_FALSE;
    if (dimension == DIM_RESOURCE)
        return resources_match(names, opening, value, budget);
    for (uint32_t i = 0; i < names->count && truth != TRUTH_TRUE; i++) {
        truth = truth_or(truth, policy_name_matches(&names->name[i], opening, value, budget));
        /* An answer is judged by the name `response` and by the method that it answers. */
        if (is_response && truth != TRUTH_TRUE)
            truth = truth_or(truth, policy_name_matches(&names->name[i], opening, question->answers, budget));
    }
    return truth;
}

enum truth policy_match(const struct match *match, enum dimension from, enum dimension to, const struct question *question,
                        struct regex_budget *budget, enum dimension *undecided)
{
    enum truth all = TRUTH_TRUE;

    for (enum dimension d = from; d < to && all != TRUTH_FALSE; d++) {
        enum truth truth;

        if (!match->by[d].given)
            continue;
        truth = policy_names_match(&match->by[d], d, match->opening, question, budget);
        if (truth == TRUTH_UNDECIDED && all == TRUTH_TRUE)
            *undecided = d;
        all = truth_and(all, truth);
    }
    return all;
}

#define METHOD(word) {.kind = NAME_LITERAL, .text = {word, sizeof(word) - 1}}

static const struct match_name target_methods[] = {METHOD("tools/call"), METHOD("resources/read"),
    METHOD("resources/subscribe"), METHOD("resources/unsubscribe"), METHOD("skills/get"), METHOD("resources/directory/read"),
    METHOD("prompts/get")};
static const struct match_name answer_methods[] = {METHOD("tools/call"), METHOD("resources/read"), METHOD("prompts/get")};

const struct names policy_label_methods = {.given = true, .count = 7, .name = target_methods};
const struct names policy_answer_methods = {.given = true, .count = 3, .name = answer_methods};

static const struct names of_tools = {.given = true, .count = 1, .name = target_methods};
static const struct names of_resources = {.given = true, .count = 5, .name = target_methods + 1};
static const struct names of_prompts = {.given = true, .count = 1, .name = target_methods + 6};

const struct names *const policy_target_methods[DIM_COUNT] = {
    [DIM_TOOL] = &of_tools, [DIM_RESOURCE] = &of_resources, [DIM_PROMPT] = &of_prompts,
};
