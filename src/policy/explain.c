/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy_priv.h"

#define VALUE_SHOWN 120 /* bytes of a value that are shown */
#define VALUES_SHOWN 20 /* values of one leaf that are shown */

/* The listener of a walk. After a failed line nothing more is written; the code is told at the end. */
struct trace {
    struct buf *out;
    enum code code;
    unsigned depth;
    unsigned values; /* shown of the leaf at hand */
};

#define SAY(trace, ...) \
    do { \
        if ((trace)->code == CODE_OK) \
            (trace)->code = buf_addf((trace)->out, __VA_ARGS__); \
    } while (0)

static void indent(struct trace *trace)
{
    SAY(trace, "%*s", 2 + 2 * (int)trace->depth, "");
}

void policy__trace_rule(struct trace *trace, const struct rule *rule, enum truth match, enum dimension undecided)
{
    if (trace == NULL)
        return;
    SAY(trace, "%s %.*s (%s:%d)%s: its match holds", effect_text(rule->effect), SPAN_ARG(rule->id), rule->source->path_text,
        rule->line, rule->monitor ? ", monitored" : "");
    if (match == TRUTH_UNDECIDED)
        SAY(trace, " or not: %s is undecided", policy__dimension_text[undecided]);
    SAY(trace, "\n");
    trace->depth = 0;
}

void policy__trace_applies(struct trace *trace, const struct rule *rule, enum truth truth, bool applies)
{
    if (trace == NULL)
        return;
    SAY(trace, "  => %s: the rule %s", policy__truth_text(truth), applies ? "applies" : "does not apply");
    if (truth == TRUTH_UNDECIDED)
        SAY(trace, rule->effect == EFFECT_PERMIT ? ", because an undecided permit opens nothing"
                                                 : ", because an undecided %s closes", effect_text(rule->effect));
    if (applies && rule->monitor)
        SAY(trace, ", but is only monitored");
    SAY(trace, "\n");
}

/* The label without the rule's id, which stands above. */
static struct span short_label(const struct condition *condition)
{
    struct span rest, id = span_cut(condition->label, ' ', &rest);

    return rest.len > 0 ? rest : id;
}

void policy__trace_enter(struct trace *trace, const struct condition *condition)
{
    if (trace == NULL)
        return;
    indent(trace);
    SAY(trace, "%.*s", SPAN_ARG(short_label(condition)));
    if (condition->kind == CONDITION_LEAF && condition->op_count > 0) {
        SAY(trace, " (%s, %s value", condition->opening ? "opening" : "closing", condition->every ? "every" : "any");
        for (uint32_t i = 0; i < condition->op_count; i++)
            if (condition->ops[i].kind == OP_MATCHES)
                SAY(trace, ", %s", condition->ops[i].whole ? "whole" : "anywhere");
        SAY(trace, ")");
    }
    SAY(trace, "\n");
    trace->depth++;
    trace->values = 0;
}

void policy__trace_leave(struct trace *trace, const struct condition *condition, enum truth truth)
{
    if (trace == NULL)
        return;
    (void)condition;
    if (trace->values > VALUES_SHOWN) {
        indent(trace);
        SAY(trace, "and %u values more\n", trace->values - VALUES_SHOWN);
    }
    trace->values = 0;
    indent(trace);
    SAY(trace, "= %s\n", policy__truth_text(truth));
    trace->depth--;
}

void policy__trace_value(struct trace *trace, const struct condition *leaf, const struct json_node *value, enum truth truth)
{
    struct span shown;

    if (trace == NULL || trace->values++ >= VALUES_SHOWN)
        return;
    /* Cut between code points. */
    shown = span_part(value->raw, 0, VALUE_SHOWN);
    while (shown.len > 0 && shown.len < value->raw.len && ((unsigned char)value->raw.at[shown.len] & 0xc0) == 0x80)
        shown.len--;
    indent(trace);
    if (leaf->op_count == 0)
        SAY(trace, "`%.*s` is not listed: ", SPAN_ARG(span_part(value->key, 0, VALUE_SHOWN)));
    SAY(trace, "%.*s%s: %s\n", SPAN_ARG(shown), shown.len < value->raw.len ? "..." : "", policy__truth_text(truth));
}

void policy__trace_absent(struct trace *trace, const struct condition *leaf, bool is_element)
{
    if (trace == NULL)
        return;
    indent(trace);
    SAY(trace, "%s: %s\n", is_element ? "absent in an element" : "nothing there", policy__truth_text(leaf->absent));
}

static void say_question(struct trace *trace, const struct question *q)
{
    SAY(trace, "%.*s of tenant %.*s asks %.*s", SPAN_ARG(q->principal), SPAN_ARG(q->tenant), SPAN_ARG(q->method));
    if (q->tool.len > 0)
        SAY(trace, " %.*s", SPAN_ARG(q->tool));
    if (q->answers.len > 0)
        SAY(trace, " to %.*s", SPAN_ARG(q->answers));
    SAY(trace, " of %.*s\n\n", SPAN_ARG(q->upstream));
}

static void say_verdict(struct trace *trace, const struct verdict *verdict)
{
    SAY(trace, "\nverdict: %s (%s)", verdict_text(verdict->kind), reason_name(verdict->reason));
    if (verdict->rule.at != NULL)
        SAY(trace, " by %.*s", SPAN_ARG(verdict->rule));
    if (verdict->undecided.len > 0)
        SAY(trace, "\nundecided: %.*s", SPAN_ARG(verdict->undecided));
    if (verdict->has_monitor)
        SAY(trace, "\nwere monitored rules active: %s%s%.*s", verdict_text(verdict->monitor_kind),
            verdict->monitor_rule.len > 0 ? " by " : "", SPAN_ARG(verdict->monitor_rule));
    if (verdict->redact_all)
        SAY(trace, "\nredacted in the audit: everything");
    else if (verdict->redact_count > 0)
        SAY(trace, "\nredacted in the audit: %u values", verdict->redact_count);
    SAY(trace, "\n");
}

enum code policy_explain(const struct policy *policy, const struct question *question, struct policy_scratch *scratch,
                         struct verdict *verdict, struct buf *out)
{
    struct trace trace = {.out = out};
    struct regex_budget budget;

    regex_budget_init(&budget);
    say_question(&trace, question);
    policy__judge(policy, question, &budget, scratch, &trace, verdict);
    if (policy != NULL && verdict->rule_count == 0 && verdict->reason != REASON_MEMORY)
        SAY(&trace, "no rule applies\n");
    say_verdict(&trace, verdict);
    return trace.code;
}
