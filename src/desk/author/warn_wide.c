/* SPDX-License-Identifier: Apache-2.0 */
#include "author/warn_priv.h"

#include <stdlib.h>

/* Permits that decide nothing, since a forbid or a wider permit takes all their calls, and permits that are wider than they
 * look. Only what can be read off the names is told: of each doubt the answer is "it does not cover". */

#define PAIRS_MAX 1000000 /* of permits and others that are compared */

/* ---- permits that a forbid covers ---- */

bool warn__name_covers(const struct match_name *outer, const struct match_name *inner)
{
    struct regex_budget budget;

    if (outer->kind == NAME_GLOB && span_is(outer->text, "*"))
        return true;
    if (outer->kind == inner->kind && span_equals(outer->text, inner->text) && outer->whole == inner->whole &&
        outer->label == inner->label)
        return true;
    if (inner->kind != NAME_LITERAL)
        return false;
    regex_budget_init(&budget);
    return policy_name_matches(outer, false, inner->text, &budget) == TRUTH_TRUE;
}

static bool holds(const struct names *names, const struct match_name *name)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (warn__name_covers(&names->name[i], name))
            return true;
    return false;
}

bool warn__covers(const struct match *outer, const struct match *inner)
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

static void warn_covered(const struct policy *policy, const struct rule *permit, struct faults *warnings)
{
    for (uint32_t i = 0; i < policy->rule_count && policy->rules[i].effect == EFFECT_FORBID; i++) {
        const struct rule *forbid = &policy->rules[i];

        if (forbid->when == NULL && forbid->until_us == 0 && !forbid->monitor && warn__covers(&forbid->match, &permit->match)) {
            faults_add(warnings, permit->source->path_text, permit->line, permit->column,
                       "the permit `%.*s` never decides: the forbid `%.*s` covers all its calls; drop one of them",
                       SPAN_ARG(permit->id), SPAN_ARG(forbid->id));
            return;
        }
    }
}

/* ---- permits that a wider one swallows ---- */

/* Whether `outer` lets every argument through that `inner` does. */
static bool takes_all_args(const struct rule *outer, const struct rule *inner)
{
    if (outer->by_schema && !inner->by_schema)
        return false;
    if (!outer->restricts_args || !inner->restricts_args)
        return !outer->restricts_args;
    for (uint32_t i = 0; i < inner->arg_count; i++)
        if (outer->arg_count == 0 ||
            bsearch(&inner->args[i], outer->args, outer->arg_count, sizeof *outer->args, span_order) == NULL)
            return false;
    return true;
}

static bool is_bounded(const struct rule *rule)
{
    return rule->when != NULL || rule->limit != NULL || rule->restricts_args || rule->by_schema;
}

/* What the narrow one asks, the wide one does not: whoever fails it is permitted all the same. */
static bool swallows(const struct rule *wide, const struct rule *narrow)
{
    return wide != narrow && !wide->monitor && wide->when == NULL && wide->limit == NULL && wide->until_us == 0 &&
           takes_all_args(wide, narrow) &&
           (narrow->when != NULL || narrow->limit != NULL || !takes_all_args(narrow, wide)) &&
           warn__covers(&wide->match, &narrow->match);
}

static void warn_swallowed(const struct policy *policy, uint32_t permits, const struct rule *narrow, struct faults *warnings)
{
    for (uint32_t i = permits; i < policy->rule_count; i++) {
        const struct rule *wide = &policy->rules[i];

        if (!swallows(wide, narrow))
            continue;
        faults_add(warnings, narrow->source->path_text, narrow->line, narrow->column,
                   "the permit `%.*s` bounds nothing: `%.*s` (%s:%d) permits all its calls without %s; narrow that one, or "
                   "drop one of them", SPAN_ARG(narrow->id), SPAN_ARG(wide->id), wide->source->path_text, wide->line,
                   narrow->when != NULL ? "its conditions" : narrow->limit != NULL ? "its limit" : "a look at its arguments");
        return;
    }
}

/* ---- permits for all routes ---- */

/* The beginning of a session, and what goes with it, may well be permitted everywhere. */
static bool is_protocol_only(const struct names *methods)
{
    for (uint32_t i = 0; i < methods->count; i++)
        if (methods->name[i].kind != NAME_PROTOCOL && !policy_is_protocol(methods->name[i].text))
            return false;
    return methods->given;
}

static bool names_anything(const struct match *match)
{
    for (enum dimension d = DIM_TENANT; d < DIM_COUNT; d++)
        if (d != DIM_METHOD && match->by[d].given)
            return true;
    return false;
}

static bool names_upstreams(const struct match *match)
{
    const struct names *labels = &match->by[DIM_LABEL];
    bool all = labels->given;

    for (uint32_t i = 0; i < labels->count; i++)
        for (uint32_t j = 0; j < labels->name[i].label->count; j++)
            all = all && labels->name[i].label->any[j].by[DIM_UPSTREAM].given;
    return match->by[DIM_UPSTREAM].given || all;
}

static void warn_everywhere(const struct rule *permit, size_t route_count, struct faults *warnings)
{
    const struct match *match = &permit->match;

    if (names_upstreams(match) || is_protocol_only(&match->by[DIM_METHOD]) || !names_anything(match))
        return;
    faults_add(warnings, permit->source->path_text, permit->line, permit->column,
               "the permit `%.*s` names no upstreams, so that it holds on all %zu routes; name those that are meant, or "
               "['*'] for all", SPAN_ARG(permit->id), route_count);
}

/* ---- all of them ---- */

void warn__wide(const struct policy *policy, size_t route_count, struct faults *warnings)
{
    uint32_t forbids = 0, permits = policy->rule_count;

    while (forbids < policy->rule_count && policy->rules[forbids].effect == EFFECT_FORBID)
        forbids++;
    while (permits > 0 && policy->rules[permits - 1].effect == EFFECT_PERMIT)
        permits--;
    for (uint32_t i = permits; i < policy->rule_count; i++) {
        const struct rule *permit = &policy->rules[i];

        if ((uint64_t)forbids * policy->rule_count <= PAIRS_MAX)
            warn_covered(policy, permit, warnings);
        if (is_bounded(permit) && !permit->monitor &&
            (uint64_t)(policy->rule_count - permits) * (policy->rule_count - permits) <= PAIRS_MAX)
            warn_swallowed(policy, permits, permit, warnings);
        if (route_count > 1 && !permit->monitor)
            warn_everywhere(permit, route_count, warnings);
    }
}
