/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around a walk that is told: who asks what before it, and the verdict behind it. */
#include "author/explain_priv.h"

/* Agents choose some of them: a terminal must not be steered. */
static void say_name(struct telling *telling, const char *before, struct span name)
{
    if (name.len == 0)
        return;
    words_text(&telling->text, name);
    telling__text(telling, before, NULL, NULL);
}

void telling__question(struct telling *telling, const struct question *q)
{
    say_name(telling, "", q->principal);
    say_name(telling, " of tenant ", q->tenant);
    say_name(telling, " by the agent ", q->agent);
    if (question_needs_agent(q))
        SAY(telling, q->agent.len > 0 ? ", which is judged," : " by an unknown agent, which is judged,");
    words_held(&telling->text, " in the groups ", q, DIM_GROUP);
    words_held(&telling->text, " with the scopes ", q, DIM_SCOPE);
    telling__text(telling, "", NULL, NULL);
    say_name(telling, " asks ", q->method);
    say_name(telling, " ", q->tool);
    say_name(telling, " about the tool ", q->shown);
    say_name(telling, " ", q->resource);
    say_name(telling, " ", q->prompt);
    say_name(telling, " to ", q->answers);
    say_name(telling, " of ", q->upstream);
    say_name(telling, " at ", q->path);
    say_name(telling, " with the query ", q->query);
    SAY(telling, "\n\n");
}

/* Meaning 1 and 2, where it takes a word. */
static void say_others(struct telling *telling, const struct verdict *verdict)
{
    unsigned others = 0;

    for (uint32_t i = 0; i < verdict->rule_count && i < VERDICT_RULES_MAX; i++) {
        const struct verdict_rule *rule = &verdict->rules[i];

        if (rule->monitor || span_equals(rule->id, verdict->rule))
            continue;
        SAY(telling, "%s%s %.*s", others++ == 0 ? "\nalso applying: " : ", ", effect_text(rule->effect), SPAN_ARG(rule->id));
    }
    if (others > 0)
        SAY(telling, "\n(forbid beats require_approval beats permit; of one effect the smallest id decides)");
}

void telling__verdict(struct telling *telling, const struct verdict *verdict)
{
    SAY(telling, "\nverdict: %s (%s)", verdict_text(verdict->kind), reason_name(verdict->reason));
    if (verdict->rule.at != NULL)
        SAY(telling, " by %.*s", SPAN_ARG(verdict->rule));
    if (verdict->stops)
        SAY(telling, "\nit stops whose call this is, for a while");
    if (verdict->alerts)
        SAY(telling, "\nwhom `alerts` names is told of it");
    if (verdict->undecided.len > 0)
        SAY(telling, "\nundecided: %.*s", SPAN_ARG(verdict->undecided));
    if (verdict->has_monitor)
        SAY(telling, "\nwere monitored rules active: %s%s%.*s", verdict_text(verdict->monitor_kind),
            verdict->monitor_rule.len > 0 ? " by " : "", SPAN_ARG(verdict->monitor_rule));
    say_others(telling, verdict);
    if (verdict->redact_all)
        SAY(telling, "\nredacted in the audit: everything");
    else if (verdict->redact_count + verdict->redact_param_count > 0)
        SAY(telling, "\nredacted in the audit: %u values", verdict->redact_count + verdict->redact_param_count);
    if (verdict->redact_query && !verdict->redact_all)
        SAY(telling, "\nredacted in the audit: the query");
    SAY(telling, "\n");
}
