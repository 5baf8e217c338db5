/* SPDX-License-Identifier: Apache-2.0 */
#include "language/stray_priv.h"

#include "base/glob.h"
#include "base/utf8.h"
#include "policy/snapshot.h"

#include <stdio.h>
#include <string.h>

/* ---- upstreams ---- */

static struct span plain_head(struct span glob)
{
    size_t len = 0;

    while (len < glob.len && memchr("*?\\", glob.at[len], 3) == NULL)
        len++;
    return span_part(glob, 0, len);
}

bool stray__meets(const struct match_name *name, const struct policy_route *route)
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
        if (stray__meets(name, &s->routes[i]))
            return true;
    return false;
}

static bool is_monitored(const struct straying *s)
{
    return s->rule != NULL && s->rule->monitor;
}

void stray__tell(const struct straying *s, bool is_lost, const char *text)
{
    struct policy_stray stray = {.policy = s->source->name, .path = s->source->path, .path_text = s->source->path_text,
                                 .line = s->line, .column = s->column, .is_lost = is_lost && !is_monitored(s)};

    (void)snprintf(stray.text, sizeof stray.text, "%s", text);
    s->told(s->context, &stray);
}

/* Writes "; did you mean `shop`?", or the names that there are. */
void stray__say_instead(const char *const *known, const char *what, struct span name, char *out, size_t size)
{
    const char *nearest = why_nearest(name.at, name.len, known);
    char list[200];

    why_list(known, "and", list, sizeof list);
    if (nearest != NULL)
        (void)snprintf(out, size, "; did you mean `%s`?", nearest);
    else
        (void)snprintf(out, size, "; %s %s", what, list);
}

void stray__say_whose(const struct straying *s, char *out, size_t size)
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
    stray__say_whose(s, whose, sizeof whose);
    stray__say_instead(known, s->count == 1 ? "there is" : "there are", name->text, instead, sizeof instead);
    (void)snprintf(text, sizeof text, "%s names %s `%.*s`, which no route has, and does nothing there%s", whose,
                   kinds[name->kind], SPAN_ARG(utf8_cut(name->text, NAME_SHOWN)), instead);
    stray__tell(s, is_lost, text);
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

/* Looks at what a rule, label or redaction names. */
static void look_at_match(const struct straying *s, const struct match *match, bool is_lost)
{
    look_at_upstreams(s, &match->by[DIM_UPSTREAM], is_lost);
    if (s->rule != NULL && s->rule->when != NULL)
        look_at_sequences(s, s->rule->when);
    if (s->look_at_lists != NULL)
        s->look_at_lists(s, match);
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
        stray__say_instead(known, s->count == 1 ? "there is" : "there are", parameter->texts[i], instead, sizeof instead);
        (void)snprintf(text, sizeof text, "the parameter `%.*s` is the upstream `%.*s`, which no route has%s",
                       SPAN_ARG(parameter->name), SPAN_ARG(utf8_cut(parameter->texts[i], NAME_SHOWN)), instead);
        stray__tell(s, true, text);
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
        look_at_match(s, &s->rule->match, s->rule->effect != EFFECT_PERMIT);
    }
}

void stray__look(struct straying *s)
{
    const struct policy *policy = s->policy;

    look_at_rules(s, policy->rules, policy->rule_count);
    look_at_rules(s, policy->answers, policy->answer_count);
    s->rule = NULL;
    for (uint32_t i = 0; i < policy->source_count; i++)
        look_at_parameters(s, &policy->sources[i]);
    for (s->label = policy->labels; s->count > 0 && s->label != NULL; s->label = s->label->next) {
        s->source = s->label->source;
        s->line = s->label->line;
        s->column = s->label->column;
        for (uint32_t i = 0; i < s->label->count; i++)
            look_at_match(s, &s->label->any[i], true);
    }
    for (uint32_t i = 0; s->count > 0 && i < policy->redaction_count; i++) {
        s->source = policy->redactions[i].source;
        s->line = policy->redactions[i].line;
        s->column = policy->redactions[i].column;
        look_at_match(s, &policy->redactions[i].match, true);
    }
}

void policy_stray_upstreams(const struct policy *policy, const struct policy_route *routes, size_t count, policy_stray_fn told,
                            void *context)
{
    stray__look(&(struct straying){.policy = policy, .routes = routes, .count = count, .told = told, .context = context});
}

bool policy_route_exists(const struct policy_route *routes, size_t count, struct span upstream)
{
    const struct match_name name = {.kind = NAME_LITERAL, .text = upstream};

    for (size_t i = 0; i < count; i++)
        if (stray__meets(&name, &routes[i]))
            return true;
    return false;
}
