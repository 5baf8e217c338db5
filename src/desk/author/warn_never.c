/* SPDX-License-Identifier: Apache-2.0 */
#include "author/warn_priv.h"

#include "base/glob.h"
#include "base/num.h"
#include "os/clock.h"
#include "policy/other.h"
#include "words/operators.h"

/* Conditions that no call can fulfil. Only what is certain is told: of each doubt the answer is "it may hold". */

#define ASKS_MAX 64
#define GOOD_MAX_BYTES ((size_t)64 << 20)

/* Takes: plainly: only operators that are never undecided count. */
static bool is_good(const struct op *const *asks, size_t count, const struct json_node *value, bool plainly)
{
    struct question question = {.root = NULL};
    struct regex_budget budget;
    struct arena arena;
    struct rule_walk walk = {.question = &question, .budget = &budget, .visits_left = VISITS_MAX,
                        .visits_told = VISITS_MAX, .arena = &arena};
    bool good = true;

    arena_init(&arena, GOOD_MAX_BYTES);
    regex_budget_init(&budget);
    for (size_t i = 0; i < count && good; i++)
        good = asks[i]->varies || asks[i]->other != NULL || (plainly && !asks[i]->operator->is_decided) ||
               policy_op(&walk, asks[i], value) == TRUTH_TRUE || budget.spent || walk.spent || walk.no_memory;
    arena_fini(&arena);
    return good;
}

/* Where the value is one of a few, each is tried. Returns: whether none of them is good. */
static bool none_is_good(const struct op *const *asks, size_t count, bool plainly)
{
    const struct op *few = NULL;

    for (size_t i = 0; i < count; i++)
        if (asks[i]->operator->is_decided && !asks[i]->varies && (asks[i]->value != NULL || asks[i]->values != NULL))
            few = asks[i];
    if (few != NULL && few->value != NULL)
        return !is_good(asks, count, few->value, plainly);
    for (uint32_t i = 0; few != NULL && i < few->value_count; i++)
        if (is_good(asks, count, few->values[i], plainly))
            return false;
    return few != NULL;
}

/* Whether a moment is to be at or after one that is later than that which it is to be at or before. */
static bool is_turned(const struct op *lower, const struct op *upper)
{
    const struct op_other *from = lower->other, *to = upper->other;

    return lower->moments && upper->moments && from != NULL && to != NULL && from->kind == to->kind && from->kind !=
    OTHER_VALUE &&
           from->plus_us > to->plus_us;
}

/* Whether no multiple of a whole number lies between two others. */
static bool is_between_multiples(const struct op *of, const struct op *lower, const struct op *upper)
{
    int64_t step, least, most;

    return of->operator->shape == SHAPE_MULTIPLE && lower->value != NULL && upper->value != NULL &&
           num_i64(of->value->raw, &step) == CODE_OK && num_i64(lower->value->raw, &least) == CODE_OK &&
           num_i64(upper->value->raw, &most) == CODE_OK && step > 0 && most >= 0 && least > most - most % step;
}

/* Whether nothing lies within a lower and an upper bound. */
static bool is_empty(const struct op *const *asks, size_t count, const struct op *lower)
{
    for (size_t i = 0; i < count && lower->operator->upper != NULL; i++) {
        const struct op *upper = asks[i];

        if (upper->operator != lower->operator->upper)
            continue;
        if (is_turned(lower, upper) || (lower->value != NULL && upper->value != NULL &&
                                        json_number_compare(lower->value->raw, upper->value->raw) > 0))
            return true;
        for (size_t k = 0; k < count; k++)
            if (is_between_multiples(asks[k], lower, upper))
                return true;
    }
    return false;
}

/* Whether no value makes all of them true. */
static bool cannot_be_true(const struct op *const *asks, size_t count)
{
    unsigned types = TYPES_ALL;

    for (size_t i = 0; i < count; i++) {
        types &= asks[i]->types;
        if ((asks[i]->operator->decides_absence && !asks[i]->truth) || is_empty(asks, count, asks[i]))
            return true;
    }
    return types == 0 || none_is_good(asks, count, false);
}

static size_t add_ops(const struct condition *leaf, const struct op **asks, size_t count)
{
    for (uint32_t i = 0; i < leaf->op_count && count < ASKS_MAX; i++)
        asks[count++] = &leaf->ops[i];
    return count;
}

/* What else in this `all` is asked of the value of `leaf`. */
static size_t add_same(const struct condition *all, const struct condition *leaf, const struct op **asks, size_t count)
{
    for (uint32_t i = 0; i < all->count; i++) {
        const struct condition *member = &all->members[i];

        if (member->kind == CONDITION_ALL)
            count = add_same(member, leaf, asks, count);
        else if (member->kind == CONDITION_LEAF && member != leaf && !member->asks_keys &&
                 member->from == leaf->from && span_equals(member->path.text, leaf->path.text))
            count = add_ops(member, asks, count);
    }
    return count;
}

/* A leaf of a permit that needs a value, and none will do. Takes: top, the outermost `all` around it, or NULL. */
static bool leaf_never_opens(const struct condition *leaf, const struct condition *top)
{
    const struct op *asks[ASKS_MAX];
    size_t count = add_ops(leaf, asks, 0);

    if (leaf->absent == TRUTH_TRUE)
        return false;
    if (top != NULL && !leaf->asks_keys && path_is_single(&leaf->path))
        count = add_same(top, leaf, asks, count);
    return cannot_be_true(asks, count);
}

/* Returns: the condition that is never true, or NULL. */
static const struct condition *never_opens(const struct condition *condition, const struct condition *top)
{
    const struct condition *found = NULL;

    if (condition->kind == CONDITION_LEAF)
        return leaf_never_opens(condition, top) ? condition : NULL;
    if (condition->kind == CONDITION_NOT)
        return NULL;
    for (uint32_t i = 0; i < condition->count; i++) {
        bool all = condition->kind == CONDITION_ALL;
        const struct condition *member = never_opens(&condition->members[i], all ? (top ? top : condition) : NULL);

        if (all ? member != NULL : member == NULL)
            return member;
        found = member;
    }
    return condition->kind == CONDITION_ANY ? found : NULL;
}

/* A forbid applies where it is undecided too, so that only a plain no to every value counts. */
static bool leaf_never_closes(const struct condition *leaf)
{
    const struct op *asks[ASKS_MAX];

    return leaf->absent == TRUTH_FALSE && leaf->decoders == 0 && none_is_good(asks, add_ops(leaf, asks, 0), true);
}

static const struct condition *never_closes(const struct condition *condition)
{
    const struct condition *found = NULL;

    if (condition->kind == CONDITION_LEAF)
        return leaf_never_closes(condition) ? condition : NULL;
    if (condition->kind == CONDITION_NOT)
        return NULL;
    for (uint32_t i = 0; i < condition->count; i++) {
        const struct condition *member = never_closes(&condition->members[i]);

        if ((condition->kind == CONDITION_ALL) == (member != NULL))
            return member;
        found = member;
    }
    return condition->kind == CONDITION_ANY ? found : NULL;
}

static bool is_listed(const struct rule *rule, struct span name)
{
    for (uint32_t i = 0; i < rule->arg_count; i++)
        if (span_equals(rule->args[i], name))
            return true;
    return false;
}

/* A condition needs an argument that `only_args` does not let through. */
static const struct condition *needs_unlisted(const struct rule *rule, const struct condition *all)
{
    for (uint32_t i = 0; all != NULL && i < all->count; i++) {
        const struct condition *member = &all->members[i], *found = NULL;
        const struct path_segment *first = member->path.segments;

        if (member->kind == CONDITION_ALL)
            found = needs_unlisted(rule, member);
        else if (member->kind == CONDITION_LEAF && member->absent != TRUTH_TRUE && member->from == FROM_ARG &&
                 member->path.next == NULL && member->path.count > 0 && !first->descends && first->count == 1 &&
                 first->selectors[0].kind == SELECTOR_NAME && !is_listed(rule, first->selectors[0].name))
            found = member;
        if (found != NULL)
            return found;
    }
    return NULL;
}

static bool has_method(const struct names *methods, struct span method)
{
    for (uint32_t i = 0; i < methods->count; i++)
        if (methods->name[i].kind == NAME_REGEX || span_equals(methods->name[i].text, method) ||
            (methods->name[i].kind == NAME_GLOB && glob_matches(methods->name[i].text, method)))
            return true;
    return false;
}

/* A rule that names tools, resources or prompts, but none of the methods that have them. Returns: DIM_COUNT for others. */
static enum dimension misses_its_method(const struct rule *rule)
{
    const struct names *methods = &rule->match.by[DIM_METHOD];

    for (enum dimension d = DIM_TARGET; d < DIM_HELD; d++) {
        bool has = !rule->match.by[d].given || !methods->given;

        for (uint32_t i = 0; !has && i < policy_target_methods[d]->count; i++)
            has = has_method(methods, policy_target_methods[d]->name[i].text);
        if (!has)
            return d;
    }
    return DIM_COUNT;
}

static bool has_ended(const struct rule *rule)
{
    return rule->until_us != 0 && rule->until_us <= clock_wall_us();
}

void warn_ended(const struct policy *policy, struct faults *warnings)
{
    for (uint32_t i = 0; i < policy->rule_count + policy->answer_count; i++) {
        const struct rule *rule = i < policy->rule_count ? &policy->rules[i] : &policy->answers[i - policy->rule_count];

        if (has_ended(rule))
            faults_add(warnings, rule->source->path_text, rule->line, rule->column,
                       "the rule `%.*s` has ended by its `until` and %s; take it out, or give it another end",
                       SPAN_ARG(rule->id),
                       rule->effect == EFFECT_PERMIT    ? "permits nothing any more"
                       : rule->answer == ANSWER_NONE    ? "no longer stops a call"
                                                        : "no longer looks at answers");
    }
}

void warn__never(const struct rule *rule, struct faults *warnings)
{
    const struct condition *never = NULL;
    enum dimension missed = misses_its_method(rule);

    if (has_ended(rule))
        return; /* warn_ended tells it */
    if (missed != DIM_COUNT) {
        faults_add(warnings, rule->source->path_text, rule->line, rule->column,
                   "the rule `%.*s` can never apply: it names %s, but its methods are not %s; drop one of them",
                   SPAN_ARG(rule->id), policy_dimension_text[missed],
                   policy_target_methods[missed]->name[0].text.at);
        return;
    }
    if (rule->when != NULL)
        never = rule->effect == EFFECT_PERMIT ? never_opens(rule->when, NULL) : never_closes(rule->when);
    if (never != NULL) {
        faults_add(warnings, rule->source->path_text, never->line, rule->column,
                   "the rule can never apply: no value fulfils `%.*s` and what else is asked of it; mend one of them",
                   SPAN_ARG(never->label));
        return;
    }
    never = rule->restricts_args ? needs_unlisted(rule, rule->when) : NULL;
    if (never != NULL)
        faults_add(warnings, rule->source->path_text, never->line, rule->column,
                   rule->effect == EFFECT_PERMIT
                       ? "the rule can never apply: `%.*s` needs an argument that `only_args` does not list; add it there"
                       : "nobody can ever approve what the rule holds: `%.*s` needs an argument that `only_args` does not "
                         "list; add it there",
                   SPAN_ARG(never->label));
}
