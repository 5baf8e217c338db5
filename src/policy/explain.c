/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy_priv.h"

#include "base/utf8.h"
#include "json/doc.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define VALUE_SHOWN 120 /* bytes of a value that are shown */
#define MISSED_SHOWN 20 /* rules that miss the call by one part of their match */

#define SAY(trace, ...) \
    do { \
        if ((trace)->out != NULL && (trace)->code == CODE_OK) \
            (trace)->code = buf_addf((trace)->out, __VA_ARGS__); \
    } while (0)

/* What words.c says. */
#define SAY_BY(trace, call) \
    do { \
        if ((trace)->out != NULL && (trace)->code == CODE_OK) \
            (trace)->code = (call); \
    } while (0)

static void indent(struct trace *trace)
{
    SAY(trace, "%*s", 2 + 2 * (int)trace->depth, "");
}

void policy__trace_fact(struct trace *trace, const char *format, ...)
{
    char text[512];
    va_list args;

    if (trace == NULL)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    indent(trace);
    SAY(trace, "%s\n", text);
    policy__doc_fact(trace, span_text(text));
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
    if (rule->limit != NULL) {
        SAY(trace, "  ");
        SAY_BY(trace, policy__say_limit(trace->out, rule->limit));
        SAY(trace, "\n");
    }
    trace->depth = 0;
    policy__doc_rule(trace, rule, match, undecided);
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
    policy__doc_applies(trace, truth, applies);
    if (trace->coverage != NULL)
        policy__cover_rule(trace->coverage, rule, applies);
}

void policy__trace_granted(struct trace *trace, enum policy_known granted)
{
    if (trace == NULL || granted == POLICY_UNKNOWN)
        return;
    SAY(trace, granted == POLICY_YES ? "     a person has approved the call: the rule permits it\n"
                                     : "     a person has refused the call: the rule denies it\n");
    policy__doc_known(trace, "granted", granted);
}

void policy__trace_limit(struct trace *trace, const struct rule *rule, bool has_room)
{
    if (trace == NULL)
        return;
    SAY(trace, "     limit of %" PRIu64 " calls: %s\n", rule->limit->calls,
        has_room ? "one more fits" : "used up, so the permit does not apply");
    policy__doc_known(trace, "has_room", has_room ? POLICY_YES : POLICY_NO);
}

/* The label without the rule's id, which stands above. */
struct span policy__short_label(const struct condition *condition)
{
    struct span rest, id = span_cut(condition->label, ' ', &rest);

    return rest.len > 0 ? rest : id;
}

/* What is asked, and what counts where there is nothing. */
static void say_asked(struct trace *trace, const struct condition *leaf)
{
    bool only_exists = leaf->op_count == 1 && leaf->ops[0].kind == OP_EXISTS;

    indent(trace);
    SAY(trace, "asks: ");
    SAY_BY(trace, policy__say_ops(trace->out, leaf));
    SAY(trace, "%s%s\n", only_exists ? "" : "; absent: ", only_exists ? "" : policy__truth_text(leaf->absent));
}

void policy__trace_enter(struct trace *trace, const struct condition *condition)
{
    bool asks = condition->kind == CONDITION_LEAF && condition->op_count > 0;

    if (trace == NULL)
        return;
    indent(trace);
    SAY(trace, "%.*s", SPAN_ARG(policy__short_label(condition)));
    if (asks) {
        SAY(trace, " (%s, %s value", condition->opening ? "opening" : "closing", condition->every ? "every" : "any");
        for (uint32_t i = 0; i < condition->op_count; i++)
            if (condition->ops[i].kind == OP_MATCHES)
                SAY(trace, ", %s", condition->ops[i].whole ? "whole" : "anywhere");
        for (unsigned i = 0; i < DECODER_COUNT; i++)
            if ((condition->decoders >> i & 1) != 0)
                SAY(trace, "%s%s", (condition->decoders & ((1u << i) - 1)) != 0 ? ", " : ", decoded by ",
                    policy__decoder_text[i]);
        SAY(trace, ")");
    } else if (condition->kind == CONDITION_FACT) {
        SAY(trace, " (%s)", condition->opening ? "opening" : "closing");
    } else if (condition->kind != CONDITION_LEAF) {
        SAY(trace, " (%s)", condition->kind == CONDITION_NOT ? "not this" : condition->kind == CONDITION_ANY ? "any of these"
                                                                                                            : "all of these");
    }
    SAY(trace, "\n");
    trace->depth++;
    trace->values = 0;
    if (asks)
        say_asked(trace, condition);
    if (condition->kind == CONDITION_FACT) {
        indent(trace);
        SAY(trace, "asks: ");
        SAY_BY(trace, policy__say_fact(trace->out, condition->fact));
        SAY(trace, "\n");
    }
    policy__doc_enter(trace, condition);
}

void policy__trace_leave(struct trace *trace, const struct condition *condition, enum truth truth)
{
    if (trace == NULL)
        return;
    if (trace->values > TRACE_VALUES_SHOWN) {
        indent(trace);
        SAY(trace, "and %u values more\n", trace->values - TRACE_VALUES_SHOWN);
    }
    trace->values = 0;
    indent(trace);
    SAY(trace, "= %s\n", policy__truth_text(truth));
    policy__doc_leave(trace, truth);
    trace->depth--;
    if (trace->coverage != NULL)
        policy__cover_condition(trace->coverage, condition, truth);
}

/* The least true one decides, and of equal ones the first. */
void policy__trace_op(struct trace *trace, const struct op *op, enum truth truth)
{
    if (trace != NULL && (truth == TRUTH_FALSE || (truth == TRUTH_UNDECIDED && trace->failed == NULL)))
        trace->failed = op;
}

const struct op *policy__trace_blame(const struct trace *trace, const struct condition *leaf, enum truth truth)
{
    return truth != TRUTH_TRUE && leaf->op_count > 1 ? trace->failed : NULL;
}

/* A text that is no canonical JSON yet. */
static void say_quoted(struct trace *trace, const char *before, struct span text)
{
    SAY(trace, "%s", before);
    SAY_BY(trace, json_write_string(trace->out, text));
}

static void say_value(struct trace *trace, const struct condition *leaf, const struct json_node *value)
{
    struct span shown = utf8_cut(value->raw, VALUE_SHOWN);

    indent(trace);
    if (leaf->op_count == 0) {
        SAY(trace, "`");
        SAY_BY(trace, policy__say_text(trace->out, value->key));
        SAY(trace, "` is not listed: ");
    }
    if (leaf->asks_keys)
        say_quoted(trace, "the name ", shown);
    else
        SAY(trace, "%.*s", SPAN_ARG(shown));
    SAY(trace, "%s", shown.len < value->raw.len ? "..." : "");
    if (trace->question != NULL && trace->question->hidden != NULL && question_hides(trace->question->hidden, value))
        SAY(trace, " (not recorded)");
}

void policy__trace_value(struct trace *trace, const struct condition *leaf, const struct json_node *value, enum truth truth)
{
    const struct op *blamed;

    if (trace == NULL)
        return;
    blamed = policy__trace_blame(trace, leaf, truth);
    if (trace->values++ < TRACE_VALUES_SHOWN) {
        say_value(trace, leaf, value);
        SAY(trace, ": %s", policy__truth_text(truth));
        if (blamed != NULL) {
            SAY(trace, " by ");
            SAY_BY(trace, policy__say_op(trace->out, blamed));
        }
        SAY(trace, "\n");
        policy__doc_value(trace, leaf, value, truth);
    }
    trace->failed = NULL;
}

void policy__trace_reading(struct trace *trace, const struct trace_reading *seen)
{
    struct span shown = utf8_cut(seen->text, VALUE_SHOWN);

    if (seen->count < 2 || trace->values >= TRACE_VALUES_SHOWN)
        return;
    indent(trace);
    SAY(trace, "%s is %s on ", policy__op_text[seen->op->kind], policy__truth_text(seen->truth));
    for (size_t i = 0; i < seen->depth; i++)
        SAY(trace, "%s%s", i == 0 ? "its reading by " : ", then ", policy__decoder_text[seen->chain[i]]);
    say_quoted(trace, seen->depth == 0 ? "the string itself " : " ", shown);
    SAY(trace, "%s, one of %u readings\n", shown.len < seen->text.len ? "..." : "", seen->count);
    policy__doc_reading(trace, seen);
}

void policy__trace_too_many(struct trace *trace)
{
    if (trace == NULL || trace->values >= TRACE_VALUES_SHOWN)
        return;
    indent(trace);
    SAY(trace, "too many or too large readings to ask them all\n");
}

void policy__trace_absent(struct trace *trace, const struct condition *leaf, bool is_element)
{
    if (trace == NULL)
        return;
    indent(trace);
    SAY(trace, "%s: %s\n", is_element ? "absent in an element" : "nothing there", policy__truth_text(leaf->absent));
    policy__doc_absent(trace, leaf, is_element);
}

/* Agents choose some of them: a terminal must not be steered. */
static void say_name(struct trace *trace, const char *before, struct span name)
{
    if (name.len == 0)
        return;
    SAY(trace, "%s", before);
    SAY_BY(trace, policy__say_text(trace->out, name));
}

static void say_question(struct trace *trace, const struct question *q)
{
    say_name(trace, "", q->principal);
    say_name(trace, " of tenant ", q->tenant);
    say_name(trace, " asks ", q->method);
    say_name(trace, " ", q->tool);
    say_name(trace, " about the tool ", q->shown);
    say_name(trace, " ", q->resource);
    say_name(trace, " ", q->prompt);
    say_name(trace, " to ", q->answers);
    say_name(trace, " of ", q->upstream);
    say_name(trace, " at ", q->path);
    say_name(trace, " with the query ", q->query);
    SAY(trace, "\n\n");
}

/* Meaning 1 and 2, where it takes a word. */
static void say_others(struct trace *trace, const struct verdict *verdict)
{
    unsigned others = 0;

    for (uint32_t i = 0; i < verdict->rule_count && i < VERDICT_RULES_MAX; i++) {
        const struct verdict_rule *rule = &verdict->rules[i];

        if (rule->monitor || span_equals(rule->id, verdict->rule))
            continue;
        SAY(trace, "%s%s %.*s", others++ == 0 ? "\nalso applying: " : ", ", effect_text(rule->effect), SPAN_ARG(rule->id));
    }
    if (others > 0)
        SAY(trace, "\n(forbid beats require_approval beats permit; of one effect the smallest id decides)");
}

void policy__trace_hidden(struct trace *trace)
{
    SAY(trace, "\nno rule permits a call of this tool here, so that no list shows it, and its description is denied, too\n");
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
    say_others(trace, verdict);
    if (verdict->redact_all)
        SAY(trace, "\nredacted in the audit: everything");
    else if (verdict->redact_count + verdict->redact_param_count > 0)
        SAY(trace, "\nredacted in the audit: %u values", verdict->redact_count + verdict->redact_param_count);
    if (verdict->redact_query && !verdict->redact_all)
        SAY(trace, "\nredacted in the audit: the query");
    SAY(trace, "\n");
}

/* Rules that concern the call but for one part of their match: what an author looks for who wonders where a rule is. */
static void say_missed(struct trace *trace, const struct policy *policy, const struct question *question)
{
    struct regex_budget budget;
    unsigned told = 0;

    regex_budget_init(&budget);
    for (uint32_t i = 0; i < policy->rule_count && !budget.spent && told <= MISSED_SHOWN; i++) {
        const struct rule *rule = &policy->rules[i];
        enum dimension missed = DIM_COUNT;
        unsigned count = 0;

        for (enum dimension d = DIM_TENANT; d < DIM_COUNT; d++)
            if (policy__names_match(&rule->match.by[d], d, rule->match.opening, question, &budget) == TRUTH_FALSE) {
                missed = d;
                count++;
            }
        if (count != 1)
            continue;
        if (told++ == MISSED_SHOWN) {
            SAY(trace, "and more rules that miss the call by one part of their match\n");
            return;
        }
        SAY(trace, "%s %.*s (%s:%d): its match misses by %s ", effect_text(rule->effect), SPAN_ARG(rule->id),
            rule->source->path_text, rule->line, policy__dimension_text[missed]);
        SAY_BY(trace, policy__say_names(trace->out, &rule->match.by[missed]));
        SAY(trace, "\n");
        policy__doc_missed(trace, rule, missed);
    }
}

/* What of the answer a route that keeps answers leaves out; which values these are, nobody knows before it is there. */
static void say_answer(struct trace *trace, const struct policy *policy, const struct question *question)
{
    struct regex_budget budget;
    enum dimension undecided;
    unsigned told = 0;

    regex_budget_init(&budget);
    for (uint32_t i = 0; i < policy->redaction_count; i++) {
        const struct redaction *redaction = &policy->redactions[i];
        enum truth match = redaction->of[REDACT_ANSWER].count == 0
                               ? TRUTH_FALSE
                               : policy__match(&redaction->match, question, &budget, &undecided);

        for (uint32_t p = 0; p < redaction->of[REDACT_ANSWER].count && match != TRUTH_FALSE; p++) {
            struct span path = match == TRUTH_UNDECIDED ? SPAN_LIT("$") : redaction->of[REDACT_ANSWER].path[p].text;

            SAY(trace, "%s%.*s", told++ == 0 ? "redacted in the audit, of the answer: " : ", ", SPAN_ARG(path));
            if (trace->answer != NULL)
                doc_text(trace->answer, NULL, path);
        }
    }
    SAY(trace, "%s", told > 0 ? "\n" : "");
}

static void explain(const struct policy *policy, const struct question *question, struct policy_scratch *scratch,
                    struct trace *trace, struct verdict *verdict)
{
    struct regex_budget budget;

    regex_budget_init(&budget);
    trace->question = question;
    say_question(trace, question);
    policy__judge(policy, question, &budget, scratch, trace, verdict);
    if (policy != NULL && verdict->rule_count == 0 && verdict->reason != REASON_MEMORY)
        SAY(trace, "no rule applies\n");
    if (policy != NULL)
        say_missed(trace, policy, question);
    say_verdict(trace, verdict);
    if (policy != NULL)
        say_answer(trace, policy, question);
}

enum code policy_explain(const struct policy *policy, const struct question *question, struct policy_scratch *scratch,
                         struct verdict *verdict, struct buf *out)
{
    struct trace trace = {.out = out};

    explain(policy, question, scratch, &trace, verdict);
    return trace.code;
}

enum code policy_explain_doc(const struct policy *policy, const struct question *question, struct policy_scratch *scratch,
                             struct verdict *verdict, struct doc *rules, struct doc *answer)
{
    struct trace trace = {.rules = rules, .answer = answer};

    explain(policy, question, scratch, &trace, verdict);
    return trace.code;
}
