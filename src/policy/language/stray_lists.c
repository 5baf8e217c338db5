/* SPDX-License-Identifier: Apache-2.0 */
/* Tools and arguments that rules name, and that no server listed. The gate compares none of them. */
#include "language/stray_priv.h"

#include "base/utf8.h"

#include <stdio.h>

#define TOOLS_TOLD 4 /* of one rule */

/* ---- tools ---- */

static bool concerns(const struct names *upstreams, const struct policy_route *route)
{
    bool found = !upstreams->given;

    for (uint32_t i = 0; i < upstreams->count && !found; i++)
        found = stray__meets(&upstreams->name[i], route);
    return found;
}

static bool lists(const struct policy_route *route, const struct match_name *name)
{
    struct regex_budget budget;

    regex_budget_init(&budget);
    for (size_t i = 0; route->tools[i] != NULL; i++)
        if (policy_name_matches(name, false, span_text(route->tools[i]), &budget) != TRUTH_FALSE)
            return true;
    return false;
}

/* Takes all tools of the routes that the rule is about. Returns: false: the tools of one route are not
 * known, or the rule is about none. */
static bool take_tools(const struct straying *s, const struct names *upstreams, const char **known)
{
    size_t count = 0;
    bool is_known = false;

    for (size_t i = 0; i < s->count; i++) {
        if (!concerns(upstreams, &s->routes[i]))
            continue;
        if (s->routes[i].tools == NULL)
            return false;
        is_known = true;
        for (size_t t = 0; s->routes[i].tools[t] != NULL && count < NEAR_MAX; t++)
            known[count++] = s->routes[i].tools[t];
    }
    return is_known;
}

static void look_at_tools(const struct straying *s, const struct match *match)
{
    const struct names *tools = &match->by[DIM_TOOL], *upstreams = &match->by[DIM_UPSTREAM];
    const char *known[NEAR_MAX + 1] = {NULL};
    char whose[120], instead[260], text[480];

    if (tools->count == 0 || !take_tools(s, upstreams, known))
        return;
    stray__say_whose(s, whose, sizeof whose);
    for (uint32_t i = 0, told = 0; i < tools->count && told < TOOLS_TOLD; i++) {
        bool is_listed = false;

        for (size_t r = 0; r < s->count && !is_listed; r++)
            is_listed = concerns(upstreams, &s->routes[r]) && lists(&s->routes[r], &tools->name[i]);
        if (is_listed)
            continue;
        told++;
        stray__say_instead(known, "listed were", tools->name[i].text, instead, sizeof instead);
        (void)snprintf(text, sizeof text, "%s names the tool `%.*s`, which no server of its upstreams has listed lately%s",
                       whose, SPAN_ARG(utf8_cut(tools->name[i].text, NAME_SHOWN)), instead);
        stray__tell(s, false, text); /* a server may list other tools to somebody else */
    }
}

/* ---- arguments ---- */

static bool is_named(const struct names *tools, const char *tool)
{
    struct regex_budget budget;
    bool found = false;

    regex_budget_init(&budget);
    for (uint32_t i = 0; i < tools->count && !found; i++)
        found = policy_name_matches(&tools->name[i], false, span_text(tool), &budget) != TRUTH_FALSE;
    return found;
}

/* Takes all arguments of the tools that the rule is about. Returns: false: those of one are not known, or it is about none. */
static bool take_args(const struct straying *s, const struct match *match, const char **known)
{
    bool is_known = false;
    size_t count = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct policy_route *route = &s->routes[i];

        if (!concerns(&match->by[DIM_UPSTREAM], route))
            continue;
        if (route->tools == NULL || route->args == NULL)
            return false;
        for (size_t t = 0; route->tools[t] != NULL; t++) {
            if (!is_named(&match->by[DIM_TOOL], route->tools[t]))
                continue;
            for (size_t a = 0; route->args[t] != NULL && route->args[t][a] != NULL && count < NEAR_MAX; a++)
                known[count++] = route->args[t][a];
            is_known = route->args[t] != NULL && count < NEAR_MAX;
            if (!is_known)
                return false;
        }
    }
    return is_known;
}

static void look_at_path(const struct straying *s, const struct path *path, const char *const *known)
{
    struct span name = path_name_at(path, 0);
    char whose[120], instead[260], text[480];

    for (size_t i = 0; name.at != NULL && known[i] != NULL; i++)
        if (span_is(name, known[i]))
            return;
    if (name.at == NULL)
        return;
    stray__say_whose(s, whose, sizeof whose);
    stray__say_instead(known, "they have", name, instead, sizeof instead);
    (void)snprintf(text, sizeof text, "%s asks about the argument `%.*s`, which no stored definition of its tools has%s", whose,
                   SPAN_ARG(utf8_cut(name, NAME_SHOWN)), instead);
    stray__tell(s, false, text); /* a server may take what it does not say */
}

static void look_at_conditions(const struct straying *s, const struct condition *condition, const char *const *known)
{
    struct straying here = *s;

    here.line = condition->line;
    if (condition->kind == CONDITION_LEAF && condition->from == FROM_ARG)
        for (const struct path *path = &condition->path; path != NULL; path = path->next)
            look_at_path(&here, path, known);
    for (uint32_t i = 0; i < condition->count; i++)
        look_at_conditions(s, &condition->members[i], known);
}

static void look_at_args(const struct straying *s, const struct rule *rule)
{
    const char *known[NEAR_MAX + 1] = {NULL};

    if (rule != NULL && rule->when != NULL && rule->match.by[DIM_TOOL].count > 0 && take_args(s, &rule->match, known))
        look_at_conditions(s, rule->when, known);
}

static void look_at_lists(const struct straying *s, const struct match *match)
{
    look_at_tools(s, match);
    look_at_args(s, s->rule);
}

void policy_strays(const struct policy *policy, const struct policy_route *routes, size_t count, policy_stray_fn told,
                   void *context)
{
    stray__look(&(struct straying){.policy = policy, .routes = routes, .count = count, .told = told, .context = context,
                                   .look_at_lists = look_at_lists});
}
