/* SPDX-License-Identifier: Apache-2.0 */
#include "language/stray.h"

#include "base/glob.h"
#include "base/utf8.h"
#include "policy/snapshot.h"

#include <stdio.h>
#include <string.h>

#define NEAR_MAX 256    /* names among which the one that was meant is looked for, or that are told */
#define TOOLS_TOLD 4    /* of one rule */
#define NAME_SHOWN 80

struct straying {
    const struct policy *policy;
    const struct policy_route *routes;
    size_t count;
    policy_stray_fn told;
    void *context;
    /* the part of the policy that is looked at */
    const struct policy_source *source;
    const struct rule *rule;   /* NULL: a label or a redaction */
    const struct label *label;
    int line, column;
};

/* ---- upstreams ---- */

static struct span plain_head(struct span glob)
{
    size_t len = 0;

    while (len < glob.len && memchr("*?\\", glob.at[len], 3) == NULL)
        len++;
    return span_part(glob, 0, len);
}

static bool meets_route(const struct match_name *name, const struct policy_route *route)
{
    struct span known = span_text(route->name);
    struct regex_budget budget;

    switch (name->kind) {
    case NAME_LITERAL: return glob_matches(known, name->text);
    case NAME_GLOB: return glob_meets(name->text, known);
    case NAME_REGEX:
        regex_budget_init(&budget);
        if (!glob_is_literal(known)) /* of a slug, all that is certain is how the name begins */
            return regex_may_begin(name->regex, plain_head(known), name->whole, &budget) != REGEX_NO_MATCH;
        return policy_name_matches(name, false, known, &budget) != TRUTH_FALSE;
    case NAME_PROTOCOL:
    case NAME_LABEL: break;
    }
    return true;
}

static bool is_route(const struct straying *s, const struct match_name *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (meets_route(name, &s->routes[i]))
            return true;
    return false;
}

static bool is_monitored(const struct straying *s)
{
    return s->rule != NULL && s->rule->monitor;
}

static void tell_stray(const struct straying *s, bool is_lost, const char *text)
{
    struct policy_stray stray = {.policy = s->source->name, .path = s->source->path, .path_text = s->source->path_text,
                                 .line = s->line, .column = s->column, .is_lost = is_lost && !is_monitored(s)};

    (void)snprintf(stray.text, sizeof stray.text, "%s", text);
    s->told(s->context, &stray);
}

/* Writes "; did you mean `shop`?", or the names that there are. */
static void say_instead(const char *const *known, const char *what, struct span name, char *out, size_t size)
{
    const char *nearest = why_nearest(name.at, name.len, known);
    char list[200];

    why_list(known, "and", list, sizeof list);
    if (nearest != NULL)
        (void)snprintf(out, size, "; did you mean `%s`?", nearest);
    else
        (void)snprintf(out, size, "; %s %s", what, list);
}

static void say_whose(const struct straying *s, char *out, size_t size)
{
    if (s->rule != NULL)
        (void)snprintf(out, size, "the %s `%.*s`",
                       s->rule->answer != ANSWER_NONE ? answer_effect_text(s->rule->answer) : effect_text(s->rule->effect),
                       SPAN_ARG(utf8_cut(s->rule->id, NAME_SHOWN)));
    else if (s->label != NULL)
        (void)snprintf(out, size, "the label `%.*s`", SPAN_ARG(utf8_cut(s->label->name, NAME_SHOWN)));
    else
        (void)snprintf(out, size, "a redaction");
}

static void tell_upstream(const struct straying *s, const struct match_name *name, bool is_lost)
{
    static const char *const kinds[] = {[NAME_LITERAL] = "the upstream", [NAME_GLOB] = "upstreams by the glob",
                                        [NAME_REGEX] = "upstreams by the regex", [NAME_PROTOCOL] = "the upstream",
                                        [NAME_LABEL] = "the upstream"};
    const char *known[NEAR_MAX + 1] = {NULL};
    char whose[120], instead[260], text[480];

    for (size_t i = 0; i < s->count && i < NEAR_MAX; i++)
        known[i] = s->routes[i].name;
    say_whose(s, whose, sizeof whose);
    say_instead(known, s->count == 1 ? "there is" : "there are", name->text, instead, sizeof instead);
    (void)snprintf(text, sizeof text, "%s names %s `%.*s`, which no route has, and does nothing there%s", whose,
                   kinds[name->kind], SPAN_ARG(utf8_cut(name->text, NAME_SHOWN)), instead);
    tell_stray(s, is_lost, text);
}

static void look_at_upstreams(const struct straying *s, const struct names *names, bool is_lost)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (!is_route(s, &names->name[i]))
            tell_upstream(s, &names->name[i], is_lost);
}

/* A sequence that names a lost upstream always loses something: under `not` it opens a permit. */
static void look_at_sequences(const struct straying *s, const struct condition *condition)
{
    for (uint32_t i = 0; condition->kind == CONDITION_FACT && i < condition->fact->watch_count; i++)
        look_at_upstreams(s, &condition->fact->watches[i]->upstreams, true);
    for (uint32_t i = 0; condition->kind != CONDITION_LEAF && i < condition->count; i++)
        look_at_sequences(s, &condition->members[i]);
}

/* ---- tools ---- */

static bool concerns(const struct names *upstreams, const struct policy_route *route)
{
    bool found = !upstreams->given;

    for (uint32_t i = 0; i < upstreams->count && !found; i++)
        found = meets_route(&upstreams->name[i], route);
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
    say_whose(s, whose, sizeof whose);
    for (uint32_t i = 0, told = 0; i < tools->count && told < TOOLS_TOLD; i++) {
        bool is_listed = false;

        for (size_t r = 0; r < s->count && !is_listed; r++)
            is_listed = concerns(upstreams, &s->routes[r]) && lists(&s->routes[r], &tools->name[i]);
        if (is_listed)
            continue;
        told++;
        say_instead(known, "listed were", tools->name[i].text, instead, sizeof instead);
        (void)snprintf(text, sizeof text, "%s names the tool `%.*s`, which no server of its upstreams has listed lately%s",
                       whose, SPAN_ARG(utf8_cut(tools->name[i].text, NAME_SHOWN)), instead);
        tell_stray(s, false, text); /* a server may list other tools to somebody else */
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
    say_whose(s, whose, sizeof whose);
    say_instead(known, "they have", name, instead, sizeof instead);
    (void)snprintf(text, sizeof text, "%s asks about the argument `%.*s`, which no stored definition of its tools has%s", whose,
                   SPAN_ARG(utf8_cut(name, NAME_SHOWN)), instead);
    tell_stray(s, false, text); /* a server may take what it does not say */
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

    if (rule->when != NULL && rule->match.by[DIM_TOOL].count > 0 && take_args(s, &rule->match, known))
        look_at_conditions(s, rule->when, known);
}

/* ---- parameters ---- */

/* What is set to be an upstream is one that a route has, whatever the file does with it. */
static void look_at_parameter(struct straying *s, const struct policy_parameter *parameter)
{
    const char *known[NEAR_MAX + 1] = {NULL};
    char instead[260], text[480];

    s->line = parameter->line;
    s->column = parameter->column;
    for (size_t i = 0; i < s->count && i < NEAR_MAX; i++)
        known[i] = s->routes[i].name;
    for (uint32_t i = 0; i < parameter->text_count; i++) {
        if (policy_route_exists(s->routes, s->count, parameter->texts[i]))
            continue;
        say_instead(known, s->count == 1 ? "there is" : "there are", parameter->texts[i], instead, sizeof instead);
        (void)snprintf(text, sizeof text, "the parameter `%.*s` is the upstream `%.*s`, which no route has%s",
                       SPAN_ARG(parameter->name), SPAN_ARG(utf8_cut(parameter->texts[i], NAME_SHOWN)), instead);
        tell_stray(s, true, text);
    }
}

static void look_at_parameters(struct straying *s, const struct policy_source *source)
{
    s->source = source;
    for (uint32_t i = 0; s->count > 0 && i < source->parameter_count; i++)
        if (source->parameters[i].type == PARAMETER_UPSTREAM || source->parameters[i].of == PARAMETER_UPSTREAM)
            look_at_parameter(s, &source->parameters[i]);
}

/* ---- all of them ---- */

/* Of calls or of answers. */
static void look_at_rules(struct straying *s, const struct rule *rules, uint32_t count)
{
    for (uint32_t i = 0; s->count > 0 && i < count; i++) {
        s->rule = &rules[i];
        s->source = s->rule->source;
        s->line = s->rule->line;
        s->column = s->rule->column;
        look_at_upstreams(s, &s->rule->match.by[DIM_UPSTREAM], s->rule->effect != EFFECT_PERMIT);
        if (s->rule->when != NULL)
            look_at_sequences(s, s->rule->when);
        look_at_tools(s, &s->rule->match);
        look_at_args(s, s->rule);
    }
}

void policy_strays(const struct policy *policy, const struct policy_route *routes, size_t count, policy_stray_fn told,
                   void *context)
{
    struct straying s = {.policy = policy, .routes = routes, .count = count, .told = told, .context = context};

    look_at_rules(&s, policy->rules, policy->rule_count);
    look_at_rules(&s, policy->answers, policy->answer_count);
    s.rule = NULL;
    for (uint32_t i = 0; i < policy->source_count; i++)
        look_at_parameters(&s, &policy->sources[i]);
    for (s.label = policy->labels; count > 0 && s.label != NULL; s.label = s.label->next) {
        s.source = s.label->source;
        s.line = s.label->line;
        s.column = s.label->column;
        for (uint32_t i = 0; i < s.label->count; i++) {
            look_at_upstreams(&s, &s.label->any[i].by[DIM_UPSTREAM], true);
            look_at_tools(&s, &s.label->any[i]);
        }
    }
    for (uint32_t i = 0; count > 0 && i < policy->redaction_count; i++) {
        s.source = policy->redactions[i].source;
        s.line = policy->redactions[i].line;
        s.column = policy->redactions[i].column;
        look_at_upstreams(&s, &policy->redactions[i].match.by[DIM_UPSTREAM], true);
        look_at_tools(&s, &policy->redactions[i].match);
    }
}

bool policy_route_exists(const struct policy_route *routes, size_t count, struct span upstream)
{
    const struct match_name name = {.kind = NAME_LITERAL, .text = upstream};

    for (size_t i = 0; i < count; i++)
        if (meets_route(&name, &routes[i]))
            return true;
    return false;
}
