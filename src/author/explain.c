/* SPDX-License-Identifier: Apache-2.0 */
#include "author/explain_priv.h"

#include "base/utf8.h"

#include <inttypes.h>

#define VALUE_SHOWN 120 /* bytes of a value that are shown */
#define MISSED_SHOWN 20 /* rules that miss the call by one part of their match */

#define SAY(telling, ...) \
    do { \
        if ((telling)->out != NULL) \
            buf_addf((telling)->out, __VA_ARGS__); \
    } while (0)

/* What words.c says. */
#define SAY_BY(telling, call) \
    do { \
        if ((telling)->out != NULL) \
            call; \
    } while (0)

static struct telling *telling_of(struct trace *heard)
{
    return (struct telling *)heard; /* its first member */
}

static void indent(struct telling *telling)
{
    SAY(telling, "%*s", 2 + 2 * (int)telling->depth, "");
}

static void tell_fact(struct trace *heard, struct span seen)
{
    struct telling *telling = telling_of(heard);

    indent(telling);
    SAY(telling, "%.*s\n", SPAN_ARG(seen));
    telling__doc_fact(telling, seen);
}

static void tell_rule(struct trace *heard, const struct rule *rule, enum truth match, enum dimension undecided)
{
    struct telling *telling = telling_of(heard);

    SAY(telling, "%s %.*s (%s:%d)%s: its match holds", effect_text(rule->effect), SPAN_ARG(rule->id), rule->source->path_text,
        rule->line, rule->monitor ? ", monitored" : "");
    if (match == TRUTH_UNDECIDED)
        SAY(telling, " or not: %s is undecided", policy_dimension_text[undecided]);
    SAY(telling, "\n");
    if (rule->limit != NULL) {
        SAY(telling, "  ");
        SAY_BY(telling, words_limit(telling->out, rule->limit));
        SAY(telling, "\n");
    }
    telling->depth = 0;
    telling__doc_rule(telling, rule, match, undecided);
}

static void tell_applies(struct trace *heard, const struct rule *rule, enum truth truth, bool applies)
{
    struct telling *telling = telling_of(heard);

    SAY(telling, "  => %s: the rule %s", policy_truth_text(truth), applies ? "applies" : "does not apply");
    if (truth == TRUTH_UNDECIDED)
        SAY(telling, rule->effect == EFFECT_PERMIT ? ", because an undecided permit opens nothing"
                                                 : ", because an undecided %s closes", effect_text(rule->effect));
    if (applies && rule->monitor)
        SAY(telling, ", but is only monitored");
    SAY(telling, "\n");
    telling__doc_applies(telling, truth, applies);
    if (telling->coverage != NULL)
        coverage__rule(telling->coverage, rule, applies);
}

static void tell_granted(struct trace *heard, enum policy_known granted)
{
    struct telling *telling = telling_of(heard);

    if (granted == POLICY_UNKNOWN)
        return;
    SAY(telling, granted == POLICY_YES ? "     a person has approved the call: the rule permits it\n"
                                     : "     a person has refused the call: the rule denies it\n");
    telling__doc_known(telling, "granted", granted);
}

static void tell_limit(struct trace *heard, const struct rule *rule, bool has_room)
{
    struct telling *telling = telling_of(heard);

    SAY(telling, "     limit of %" PRIu64 " calls: %s\n", rule->limit->calls,
        has_room ? "one more fits" : "used up, so the permit does not apply");
    telling__doc_known(telling, "has_room", has_room ? POLICY_YES : POLICY_NO);
}

/* The label without the rule's id, which stands above. */
struct span telling__short_label(const struct condition *condition)
{
    struct span rest, id = span_cut(condition->label, ' ', &rest);

    return rest.len > 0 ? rest : id;
}

/* What is asked, and what counts where there is nothing. */
static void say_asked(struct telling *telling, const struct condition *leaf)
{
    bool only_exists = leaf->op_count == 1 && leaf->ops[0].operator->decides_absence;

    indent(telling);
    SAY(telling, "asks: ");
    SAY_BY(telling, words_ops(telling->out, leaf));
    SAY(telling, "%s%s\n", only_exists ? "" : "; absent: ", only_exists ? "" : policy_truth_text(leaf->absent));
}

static void tell_enter(struct trace *heard, const struct condition *condition)
{
    struct telling *telling = telling_of(heard);
    bool asks = condition->kind == CONDITION_LEAF && condition->op_count > 0;

    indent(telling);
    SAY(telling, "%.*s", SPAN_ARG(telling__short_label(condition)));
    if (asks) {
        SAY(telling, " (%s, %s value", condition->opening ? "opening" : "closing", condition->every ? "every" : "any");
        for (uint32_t i = 0; i < condition->op_count; i++)
            if (condition->ops[i].operator->has_anchor)
                SAY(telling, ", %s", condition->ops[i].whole ? "whole" : "anywhere");
        for (unsigned i = 0; i < DECODER_COUNT; i++)
            if ((condition->decoders >> i & 1) != 0)
                SAY(telling, "%s%s", (condition->decoders & ((1u << i) - 1)) != 0 ? ", " : ", decoded by ",
                    policy_decoder_text[i]);
        SAY(telling, ")");
    } else if (condition->kind == CONDITION_FACT) {
        SAY(telling, " (%s)", condition->opening ? "opening" : "closing");
    } else if (condition->kind != CONDITION_LEAF) {
        SAY(telling, " (%s)", condition->kind == CONDITION_NOT ? "not this" : condition->kind == CONDITION_ANY ? "any of these"
                                                                                                            : "all of these");
    }
    SAY(telling, "\n");
    telling->depth++;
    telling->values = 0;
    if (asks)
        say_asked(telling, condition);
    if (condition->kind == CONDITION_FACT) {
        indent(telling);
        SAY(telling, "asks: ");
        SAY_BY(telling, words_fact(telling->out, condition->fact));
        SAY(telling, "\n");
    }
    telling__doc_enter(telling, condition);
}

static void tell_leave(struct trace *heard, const struct condition *condition, enum truth truth)
{
    struct telling *telling = telling_of(heard);

    if (telling->values > TRACE_VALUES_SHOWN) {
        indent(telling);
        SAY(telling, "and %u values more\n", telling->values - TRACE_VALUES_SHOWN);
    }
    telling->values = 0;
    indent(telling);
    SAY(telling, "= %s\n", policy_truth_text(truth));
    telling__doc_leave(telling, truth);
    telling->depth--;
    if (telling->coverage != NULL)
        coverage__condition(telling->coverage, condition, truth);
}

/* The least true one decides, and of equal ones the first. */
static void tell_op(struct trace *heard, const struct op *op, enum truth truth)
{
    struct telling *telling = telling_of(heard);

    if (truth == TRUTH_FALSE || (truth == TRUTH_UNDECIDED && telling->failed == NULL))
        telling->failed = op;
}

const struct op *telling__blame(const struct telling *telling, const struct condition *leaf, enum truth truth)
{
    return truth != TRUTH_TRUE && leaf->op_count > 1 ? telling->failed : NULL;
}

/* A text that is no canonical JSON yet. */
static void say_quoted(struct telling *telling, const char *before, struct span text)
{
    SAY(telling, "%s", before);
    SAY_BY(telling, json_write_string(telling->out, text));
}

static void say_value(struct telling *telling, const struct condition *leaf, const struct json_node *value)
{
    struct span shown = utf8_cut(value->raw, VALUE_SHOWN);

    indent(telling);
    if (leaf->op_count == 0) {
        SAY(telling, "`");
        SAY_BY(telling, words_text(telling->out, value->key));
        SAY(telling, "` is not listed: ");
    }
    if (leaf->asks_keys)
        say_quoted(telling, "the name ", shown);
    else
        SAY(telling, "%.*s", SPAN_ARG(shown));
    SAY(telling, "%s", shown.len < value->raw.len ? "..." : "");
    if (telling->question != NULL && telling->question->hidden != NULL && question_hides(telling->question->hidden, value))
        SAY(telling, " (not recorded)");
}

static void tell_value(struct trace *heard, const struct condition *leaf, const struct json_node *value, enum truth truth)
{
    struct telling *telling = telling_of(heard);
    const struct op *blamed = telling__blame(telling, leaf, truth);

    if (telling->values++ < TRACE_VALUES_SHOWN) {
        say_value(telling, leaf, value);
        SAY(telling, ": %s", policy_truth_text(truth));
        if (blamed != NULL) {
            SAY(telling, " by ");
            SAY_BY(telling, words_op(telling->out, blamed));
        }
        SAY(telling, "\n");
        telling__doc_value(telling, leaf, value, truth);
    }
    telling->failed = NULL;
}

static void tell_reading(struct trace *heard, const struct trace_reading *seen)
{
    struct telling *telling = telling_of(heard);
    struct span shown = utf8_cut(seen->text, VALUE_SHOWN);

    if (seen->count < 2 || telling->values >= TRACE_VALUES_SHOWN)
        return;
    indent(telling);
    SAY(telling, "%s is %s on ", seen->op->operator->word, policy_truth_text(seen->truth));
    for (size_t i = 0; i < seen->depth; i++)
        SAY(telling, "%s%s", i == 0 ? "its reading by " : ", then ", policy_decoder_text[seen->chain[i]]);
    say_quoted(telling, seen->depth == 0 ? "the string itself " : " ", shown);
    SAY(telling, "%s, one of %u readings\n", shown.len < seen->text.len ? "..." : "", seen->count);
    telling__doc_reading(telling, seen);
}

static void tell_too_many(struct trace *heard)
{
    struct telling *telling = telling_of(heard);

    if (telling->values >= TRACE_VALUES_SHOWN)
        return;
    indent(telling);
    SAY(telling, "too many or too large readings to ask them all\n");
}

static void tell_absent(struct trace *heard, const struct condition *leaf, bool is_element)
{
    struct telling *telling = telling_of(heard);

    indent(telling);
    SAY(telling, "%s: %s\n", is_element ? "absent in an element" : "nothing there", policy_truth_text(leaf->absent));
    telling__doc_absent(telling, leaf, is_element);
}

/* Agents choose some of them: a terminal must not be steered. */
static void say_name(struct telling *telling, const char *before, struct span name)
{
    if (name.len == 0)
        return;
    SAY(telling, "%s", before);
    SAY_BY(telling, words_text(telling->out, name));
}

static void say_question(struct telling *telling, const struct question *q)
{
    say_name(telling, "", q->principal);
    say_name(telling, " of tenant ", q->tenant);
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

static void tell_hidden(struct trace *heard)
{
    struct telling *telling = telling_of(heard);

    SAY(telling, "\nno rule permits a call of this tool here, so that no list shows it, and its description is denied, too\n");
}

static void say_verdict(struct telling *telling, const struct verdict *verdict)
{
    SAY(telling, "\nverdict: %s (%s)", verdict_text(verdict->kind), reason_name(verdict->reason));
    if (verdict->rule.at != NULL)
        SAY(telling, " by %.*s", SPAN_ARG(verdict->rule));
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

/* Rules that concern the call but for one part of their match: what an author looks for who wonders where a rule is. */
static void say_missed(struct telling *telling, const struct policy *policy, const struct question *question)
{
    struct regex_budget budget;
    unsigned told = 0;

    regex_budget_init(&budget);
    for (uint32_t i = 0; i < policy->rule_count && !budget.spent && told <= MISSED_SHOWN; i++) {
        const struct rule *rule = &policy->rules[i];
        enum dimension missed = DIM_COUNT;
        unsigned count = 0;

        for (enum dimension d = DIM_TENANT; d < DIM_COUNT; d++)
            if (policy_names_match(&rule->match.by[d], d, rule->match.opening, question, &budget) == TRUTH_FALSE) {
                missed = d;
                count++;
            }
        if (count != 1)
            continue;
        if (told++ == MISSED_SHOWN) {
            SAY(telling, "and more rules that miss the call by one part of their match\n");
            return;
        }
        SAY(telling, "%s %.*s (%s:%d): its match misses by %s ", effect_text(rule->effect), SPAN_ARG(rule->id),
            rule->source->path_text, rule->line, policy_dimension_text[missed]);
        SAY_BY(telling, words_names(telling->out, &rule->match.by[missed]));
        SAY(telling, "\n");
        telling__doc_missed(telling, rule, missed);
    }
}

/* What of the answer a route that keeps answers leaves out; which values these are, nobody knows before it is there. */
static void say_answer(struct telling *telling, const struct policy *policy, const struct question *question)
{
    struct regex_budget budget;
    enum dimension undecided;
    unsigned told = 0;

    regex_budget_init(&budget);
    for (uint32_t i = 0; i < policy->redaction_count; i++) {
        const struct redaction *redaction = &policy->redactions[i];
        enum truth match = redaction->of[REDACT_ANSWER].count == 0
                               ? TRUTH_FALSE
                               : policy_match(&redaction->match, question, &budget, &undecided);

        for (uint32_t p = 0; p < redaction->of[REDACT_ANSWER].count && match != TRUTH_FALSE; p++) {
            struct span path = match == TRUTH_UNDECIDED ? SPAN_LIT("$") : redaction->of[REDACT_ANSWER].path[p].text;

            SAY(telling, "%s%.*s", told++ == 0 ? "redacted in the audit, of the answer: " : ", ", SPAN_ARG(path));
            if (telling->answer != NULL)
                doc_text(telling->answer, NULL, path);
        }
    }
    SAY(telling, "%s", told > 0 ? "\n" : "");
}

static void explain(const struct policy *policy, const struct question *question, struct policy_scratch *scratch,
                    struct telling *telling, struct verdict *verdict)
{
    struct regex_budget budget;

    regex_budget_init(&budget);
    telling->question = question;
    say_question(telling, question);
    policy_judge(policy, question, &budget, scratch, &telling->heard, verdict);
    if (policy != NULL && verdict->rule_count == 0 && verdict->reason != REASON_MEMORY)
        SAY(telling, "no rule applies\n");
    if (policy != NULL)
        say_missed(telling, policy, question);
    say_verdict(telling, verdict);
    if (policy != NULL)
        say_answer(telling, policy, question);
}

struct telling telling_to(struct buf *out, struct doc *rules, struct doc *answer, struct coverage *coverage)
{
    return (struct telling){
        .heard = {.rule = tell_rule, .limit = tell_limit, .applies = tell_applies, .granted = tell_granted,
                  .hidden = tell_hidden, .enter = tell_enter, .leave = tell_leave, .fact = tell_fact, .op = tell_op,
                  .reading = tell_reading, .too_many = tell_too_many, .value = tell_value, .absent = tell_absent},
        .out = out, .rules = rules, .answer = answer, .coverage = coverage};
}

enum code explain_text(const struct policy *policy, const struct question *question, struct policy_scratch *scratch,
                       struct verdict *verdict, struct buf *out)
{
    struct telling telling = telling_to(out, NULL, NULL, NULL);

    explain(policy, question, scratch, &telling, verdict);
    return buf_code(out);
}

enum code explain_doc(const struct policy *policy, const struct question *question, struct policy_scratch *scratch,
                      struct verdict *verdict, struct doc *rules, struct doc *answer)
{
    struct telling telling = telling_to(NULL, rules, answer, NULL);

    buf_init(&telling.text, DOC_TEXT_MAX);
    explain(policy, question, scratch, &telling, verdict);
    buf_fini(&telling.text);
    return telling.code;
}
