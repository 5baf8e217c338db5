/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

#define PAIRS_MAX 1000000 /* of permits and forbids that are compared */

#define WARN(c, node, ...) \
    faults_add((c)->warnings, (c)->source->path_text, (node)->line, (node)->column, __VA_ARGS__)

static void warn_unused(struct compiler *c, const struct yaml_node *map, const bool *used, const char *what)
{
    size_t at = 0;

    for (const struct yaml_node *member = map ? map->child : NULL; member != NULL; member = member->next, at++)
        if (!used[at])
            faults_add(c->warnings, c->source->path_text, member->key_line, member->key_column,
                       "the %s `%.*s` is used by no rule; use it or leave it out", what, SPAN_ARG(member->key));
}

void policy__warn_file(struct compiler *c)
{
    if (c->warnings == NULL)
        return;
    warn_unused(c, c->patterns, c->pattern_used, "pattern");
    warn_unused(c, c->lists, c->list_used, "list");
}

/* `..` looks everywhere; that it finds nothing is no absent argument. */
void policy__warn_absence(struct compiler *c, const struct yaml_node *node, const struct condition *leaf)
{
    if (c->warnings != NULL && !leaf->path.descends && !path_is_root(&leaf->path))
        WARN(c, node, "where `%.*s` is absent this %s does not apply; write `absent: applies` if it should, "
             "`absent: ignored` if that is meant", SPAN_ARG(leaf->path.text), effect_text(c->effect));
}

/* ---- over the whole set ---- */

static bool holds(const struct names *names, const struct name *name)
{
    for (uint32_t i = 0; i < names->count; i++) {
        const struct name *other = &names->name[i];

        if (other->kind == NAME_GLOB && span_is(other->text, "*"))
            return true;
        if (other->kind == name->kind && span_equals(other->text, name->text) && other->whole == name->whole)
            return true;
    }
    return false;
}

/* Whether every call in `inner` is in `outer`, as far as can be read off the names. */
static bool covers(const struct match *outer, const struct match *inner)
{
    for (enum dimension d = DIM_TENANT; d < DIM_COUNT; d++) {
        if (!outer->by[d].given)
            continue;
        if (!inner->by[d].given)
            return false;
        for (uint32_t i = 0; i < inner->by[d].count; i++)
            if (!holds(&outer->by[d], &inner->by[d].name[i]))
                return false;
    }
    return true;
}

static void warn_covered(struct compiler *c, const struct rule *permit)
{
    const struct policy *policy = c->policy;

    for (uint32_t i = 0; i < policy->rule_count && policy->rules[i].effect == EFFECT_FORBID; i++) {
        const struct rule *forbid = &policy->rules[i];

        if (forbid->when == NULL && !forbid->monitor && covers(&forbid->match, &permit->match)) {
            faults_add(c->warnings, permit->source->path_text, permit->line, permit->column,
                       "the permit `%.*s` never decides: the forbid `%.*s` covers all its calls; drop one of them",
                       SPAN_ARG(permit->id), SPAN_ARG(forbid->id));
            return;
        }
    }
}

/* A rule that names tools but whose methods cannot be tools/call. */
static bool can_apply(const struct rule *rule)
{
    const struct names *methods = &rule->match.by[DIM_METHOD];

    if (!rule->match.by[DIM_TOOL].given || !methods->given)
        return true;
    for (uint32_t i = 0; i < methods->count; i++)
        if (methods->name[i].kind == NAME_GLOB || methods->name[i].kind == NAME_REGEX ||
            span_is(methods->name[i].text, "tools/call"))
            return true;
    return false;
}

static bool is_expected(const struct policy *policy, const struct rule *rule)
{
    for (uint32_t i = 0; i < policy->case_count; i++)
        if (policy->cases[i].has_rule && span_equals(policy->cases[i].rule, rule->id))
            return true;
    return false;
}

static void warn_rule(struct compiler *c, const struct rule *rule, uint32_t forbids)
{
    const struct policy *policy = c->policy;

    if (!can_apply(rule))
        faults_add(c->warnings, rule->source->path_text, rule->line, rule->column,
                   "the rule `%.*s` can never apply: it names tools, but its methods are not tools/call; drop one of them",
                   SPAN_ARG(rule->id));
    if (rule->effect == EFFECT_PERMIT && (uint64_t)forbids * policy->rule_count <= PAIRS_MAX)
        warn_covered(c, rule);
    if (!rule->monitor && (uint64_t)policy->case_count * policy->rule_count <= PAIRS_MAX && !is_expected(policy, rule))
        faults_add(c->warnings, rule->source->path_text, rule->line, rule->column,
                   "no test expects that the rule `%.*s` decides; add one under `tests:`", SPAN_ARG(rule->id));
}

void policy__warn_set(struct compiler *c)
{
    const struct policy *policy = c->policy;
    uint32_t forbids = 0;

    if (c->warnings == NULL)
        return;
    while (forbids < policy->rule_count && policy->rules[forbids].effect == EFFECT_FORBID)
        forbids++;
    for (uint32_t i = 0; i < policy->rule_count; i++)
        warn_rule(c, &policy->rules[i], forbids);
    for (uint32_t i = 0; i < policy->case_count; i++) {
        const struct policy_case *kase = &policy->cases[i];

        if (kase->rule.at != NULL && policy__rule_by_id(policy, kase->rule) == NULL)
            faults_add(c->warnings, kase->source->path_text, kase->line, 1,
                       "the test expects the rule `%.*s`, which does not exist; name one that does", SPAN_ARG(kase->rule));
    }
}
