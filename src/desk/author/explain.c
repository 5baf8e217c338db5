/* SPDX-License-Identifier: Apache-2.0 */
/* What a walk met, told as it is met: in words, as a document, or both. Documents that are NULL take nothing (json/doc.h). */
#include "author/explain_priv.h"

#include "base/utf8.h"
#include "judgement/judgement.h"

#include <inttypes.h>

#define VALUE_SHOWN 120 /* bytes of a value that are shown */
#define VALUES_SHOWN 20 /* of one leaf */
#define MISSED_SHOWN 20 /* rules that miss the call by one part of their match */
#define TEXT_MAX ((size_t)1 << 16)

static struct telling *telling_of(struct trace *heard)
{
    return (struct telling *)heard; /* its first member */
}

static void indent(struct telling *telling)
{
    SAY(telling, "%*s", 2 + 2 * (int)telling->depth, "");
}

void telling__text(struct telling *telling, const char *before, struct doc *doc, const char *key)
{
    enum code code = buf_code(&telling->text);

    if (code != CODE_OK)
        telling->code = code;
    else
        doc_text(doc, key, buf_peek(&telling->text));
    if (code == CODE_OK && before != NULL && telling->out != NULL) {
        buf_add_text(telling->out, before);
        buf_add_span(telling->out, buf_peek(&telling->text));
    }
    buf_clear(&telling->text);
}

static void put_truth(struct doc *doc, enum truth truth)
{
    doc_text(doc, "truth", span_text(policy_truth_text(truth)));
}

/* ---- documents ---- */

/* Of the condition that was entered last; at depth 0 of the rule. */
static struct trace_level *level(struct telling *telling)
{
    return &telling->levels[telling->depth < TRACE_DEPTH_MAX ? telling->depth : TRACE_DEPTH_MAX];
}

static struct doc *add_value(struct telling *telling)
{
    struct trace_level *here = level(telling);

    if (here->values == NULL)
        here->values = doc_add_array(here->self, "values");
    return doc_add_object(here->values, NULL);
}

static struct doc *put_rule(struct telling *telling, const struct rule *rule, enum truth match)
{
    struct doc *doc = doc_add_object(telling->rules, NULL);

    doc_text(doc, "rule", rule->id);
    doc_text(doc, "effect", span_text(words_effect(rule)));
    doc_bool(doc, "monitor", rule->monitor);
    doc_bool(doc, "alert", rule->alerts);
    doc_bool(doc, "stop", rule->stops);
    doc_text(doc, "file", rule->source->path);
    doc_int(doc, "line", rule->line);
    doc_text(doc, "match", span_text(policy_truth_text(match)));
    return doc;
}

/* ---- rules ---- */

static void tell_rule(struct trace *heard, const struct rule *rule, enum truth match, enum dimension undecided)
{
    struct telling *telling = telling_of(heard);
    struct doc *doc = put_rule(telling, rule, match);

    telling->depth = 0;
    gist__rule(telling, rule);
    *level(telling) = (struct trace_level){.self = doc};
    SAY(telling, "%s %.*s (%s:%d)%s: its match holds", words_effect(rule), SPAN_ARG(rule->id), rule->source->path_text,
        rule->line, rule->monitor ? ", monitored" : "");
    if (match == TRUTH_UNDECIDED) {
        SAY(telling, " or not: %s is undecided", policy_dimension_text[undecided]);
        doc_text(doc, "match_undecided", span_text(policy_dimension_text[undecided]));
    }
    words_parameters(telling->out, doc_add_array(doc, "parameters"), rule->source);
    words_limits(&telling->text, rule->limit);
    if (rule->limit != NULL)
        telling__text(telling, "\n  ", doc, "limit");
    SAY(telling, "\n");
    words_until(telling->out, doc, rule, telling->question);
}

static void tell_applies(struct trace *heard, const struct rule *rule, enum truth truth, bool applies)
{
    struct telling *telling = telling_of(heard);
    struct doc *doc = telling->levels[0].self;

    SAY(telling, "  => %s: the rule %s", policy_truth_text(truth), applies ? "applies" : "does not apply");
    if (truth == TRUTH_UNDECIDED && rule->answer != ANSWER_NONE)
        SAY(telling, ", because what is undecided counts as met");
    else if (truth == TRUTH_UNDECIDED)
        SAY(telling, rule->effect == EFFECT_PERMIT ? ", because an undecided permit opens nothing"
                                                   : ", because an undecided %s closes", effect_text(rule->effect));
    if (applies && rule->monitor)
        SAY(telling, ", but is only monitored");
    SAY(telling, "\n");
    gist__applies(telling, rule, truth);
    put_truth(doc, truth);
    doc_bool(doc, "applies", applies);
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
    doc_bool(telling->levels[0].self, "granted", granted == POLICY_YES);
}

static void tell_limit(struct trace *heard, const struct trace_limit *seen)
{
    struct telling *telling = telling_of(heard);

    telling->has_room = seen->fits && (seen->limit->at == 0 || telling->has_room);
    gist__limit(telling, seen);
    if (seen->limit->next == NULL)
        doc_bool(telling->levels[0].self, "has_room", telling->has_room);
    if (telling->out != NULL)
        words_taken(telling->out, seen);
}

static void tell_hidden(struct trace *heard)
{
    SAY(telling_of(heard),
        "\nno rule permits a call of this tool here, so that no list shows it, and its description is denied, too\n");
}

static void tell_half(struct trace *heard, enum call_half half, enum verdict_kind kind, enum reason reason, struct span rule)
{
    struct telling *telling = telling_of(heard);

    SAY(telling, "\nthe %s's half: %s", half == HALF_PERSON ? "person" : "agent", verdict_text(kind));
    if (rule.at != NULL)
        SAY(telling, " by %.*s", SPAN_ARG(rule));
    else
        SAY(telling, " (%s)", reason_name(reason));
}

/* ---- conditions ---- */

/* The label without the rule's id, which stands above. */
struct span telling__short_label(const struct condition *condition)
{
    struct span rest, id = span_cut(condition->label, ' ', &rest);

    return rest.len > 0 ? rest : id;
}

static const char *polarity(const struct condition *condition)
{
    return condition->opening ? "opening" : "closing";
}

/* How the leaf asks; in words what it asks comes on a line of its own. */
static void tell_manner(struct telling *telling, const struct condition *leaf, struct doc *doc)
{
    struct doc *ops = doc_add_array(doc, "operators"), *decode = NULL;

    doc_text(doc, "path", leaf->path.text);
    if (leaf->from != FROM_ARG)
        doc_bool(doc, policy_root_text[leaf->from], true);
    if (leaf->asks_keys)
        doc_bool(doc, "keys", true);
    if (leaf->joined)
        doc_bool(doc, "joined", true);
    if (leaf->links)
        doc_bool(doc, "links", true);
    if (leaf->folds)
        doc_bool(doc, "ignore_case", true);
    SAY(telling, " (%s, %s %s%s", polarity(leaf), leaf->every ? "every" : "any", leaf->links ? "link" : "value",
        leaf->joined ? " and all joined" : "");
    for (uint32_t i = 0; i < leaf->op_count; i++)
        if (leaf->ops[i].operator->has_anchor)
            SAY(telling, ", %s", leaf->ops[i].whole ? "whole" : "anywhere");
    if (leaf->folds)
        SAY(telling, ", case ignored");
    for (unsigned i = 0; i < DECODER_COUNT; i++)
        if ((leaf->decoders >> i & 1) != 0) {
            SAY(telling, "%s%s", (leaf->decoders & ((1u << i) - 1)) != 0 ? ", " : ", decoded by ", policy_decoder_text[i]);
            if (decode == NULL)
                decode = doc_add_array(doc, "decode");
            doc_text(decode, NULL, span_text(policy_decoder_text[i]));
        }
    SAY(telling, ")");
    doc_text(doc, "polarity", span_text(polarity(leaf)));
    doc_text(doc, "quantifier", leaf->every ? SPAN_LIT("every") : SPAN_LIT("any"));
    doc_text(doc, "absent", span_text(policy_truth_text(leaf->absent)));
    for (uint32_t i = 0; i < leaf->op_count && telling->rules != NULL; i++) {
        struct doc *op = doc_add_object(ops, NULL);

        doc_text(op, "operator", span_text(leaf->ops[i].operator->word));
        words_op(&telling->text, &leaf->ops[i]);
        telling__text(telling, NULL, op, "asks");
        if (leaf->ops[i].operator->has_anchor)
            doc_text(op, "anchor", leaf->ops[i].whole ? SPAN_LIT("whole") : SPAN_LIT("anywhere"));
    }
}

/* What is asked, and what counts where there is nothing. */
static void say_asked(struct telling *telling, const struct condition *leaf)
{
    bool only_exists = leaf->op_count == 1 && leaf->ops[0].operator->decides_absence;

    indent(telling);
    words_variables(telling->out, level(telling)->self, leaf, telling->question);
    words_ops(&telling->text, leaf);
    telling__text(telling, "asks: ", NULL, NULL);
    SAY(telling, "%s%s\n", only_exists ? "" : "; absent: ", only_exists ? "" : policy_truth_text(leaf->absent));
}

/* Returns: the document of the condition, below that of the one around it. */
static struct doc *enter(struct telling *telling, const struct condition *condition)
{
    struct trace_level *around = level(telling), *here;

    telling->depth++;
    telling->values = 0;
    here = level(telling);
    if (telling->depth >= TRACE_DEPTH_MAX) {
        *here = (struct trace_level){.self = NULL};
        return NULL;
    }
    if (around->members == NULL)
        around->members = doc_add_array(around->self, telling->depth == 1 ? "conditions" : "members");
    *here = (struct trace_level){.self = doc_add_object(around->members, NULL)};
    doc_text(here->self, "condition", telling__short_label(condition));
    doc_text(here->self, "kind", span_text(words_kind(condition)));
    doc_int(here->self, "line", condition->line);
    return here->self;
}

static void tell_enter(struct trace *heard, const struct condition *condition)
{
    static const char *const joined[] = {[CONDITION_ALL] = "all of these", [CONDITION_ANY] = "any of these",
                                         [CONDITION_NOT] = "not this", [CONDITION_ONE] = "exactly one of these",
                                         [CONDITION_EACH] = "this"};
    struct telling *telling = telling_of(heard);
    struct doc *doc;

    indent(telling);
    SAY(telling, "%.*s", SPAN_ARG(telling__short_label(condition)));
    doc = enter(telling, condition);
    if (condition->kind == CONDITION_FACT) {
        SAY(telling, " (%s)\n", polarity(condition));
        doc_text(doc, "polarity", span_text(polarity(condition)));
        indent(telling);
        words_fact(&telling->text, condition->fact);
        telling__text(telling, "asks: ", doc, "asks");
    } else if (condition->kind != CONDITION_LEAF) {
        SAY(telling, " (%s)", joined[condition->kind]);
    } else if (condition->op_count > 0) {
        tell_manner(telling, condition, doc);
    }
    SAY(telling, "\n");
    if (condition->kind == CONDITION_LEAF && condition->op_count > 0)
        say_asked(telling, condition);
}

static void tell_leave(struct trace *heard, const struct condition *condition, enum truth truth)
{
    struct telling *telling = telling_of(heard);
    struct doc *doc = level(telling)->self;

    if (telling->values > VALUES_SHOWN) {
        indent(telling);
        SAY(telling, "and %u values more\n", telling->values - VALUES_SHOWN);
        doc_int(doc, "values_left_out", telling->values - VALUES_SHOWN);
    }
    telling->values = 0;
    indent(telling);
    SAY(telling, "= %s\n", policy_truth_text(truth));
    put_truth(doc, truth);
    gist__leave(telling, condition, truth);
    telling->depth--;
    if (telling->coverage != NULL)
        coverage__condition(telling->coverage, condition, truth);
}

/* What was seen that is no value of the call's. */
static void tell_fact(struct trace *heard, struct span seen)
{
    struct telling *telling = telling_of(heard);

    gist__fact(telling, seen);
    if (telling->values >= VALUES_SHOWN)
        return;
    indent(telling);
    SAY(telling, "%.*s\n", SPAN_ARG(seen));
    doc_text(add_value(telling), "seen", seen);
}

/* ---- values ---- */

/* The least true one decides, and of equal ones the first. */
static void tell_op(struct trace *heard, const struct op *op, enum truth truth)
{
    struct telling *telling = telling_of(heard);

    if (truth == TRUTH_FALSE || (truth == TRUTH_UNDECIDED && telling->failed == NULL))
        telling->failed = op;
}

/* A text that is no canonical JSON yet. */
static void say_quoted(struct telling *telling, const char *before, struct span text)
{
    SAY(telling, "%s", before);
    if (telling->out != NULL)
        json_write_string(telling->out, text);
}

/* What an answer holds may be what must not be seen: it is not told here either. */
static bool is_kept_back(const struct telling *telling, const struct condition *leaf)
{
    return telling->answered != NULL && leaf->from == FROM_VALUE;
}

static void say_value(struct telling *telling, const struct condition *leaf, const struct json_node *value)
{
    struct span shown = utf8_cut(value->raw, VALUE_SHOWN);

    indent(telling);
    if (is_kept_back(telling, leaf)) {
        SAY(telling, "%s of %zu bytes", leaf->asks_keys ? "a name" : "a value", value->raw.len);
        return;
    }
    if (leaf->op_count == 0) {
        words_text(&telling->text, value->key);
        telling__text(telling, "`", NULL, NULL);
        SAY(telling, "` is not listed: ");
    }
    if (trace_is_link(leaf, value))
        say_quoted(telling, "the link ", shown);
    else if (trace_is_joined(value) || leaf->asks_keys)
        say_quoted(telling, trace_is_joined(value) ? "all joined: " : "the name ", shown);
    else
        SAY(telling, "%.*s", SPAN_ARG(shown));
    SAY(telling, "%s", shown.len < value->raw.len ? "..." : "");
}

/* In the document the value is JSON's text, as it was sent. */
static void tell_value(struct trace *heard, const struct condition *leaf, const struct json_node *value, enum truth truth)
{
    struct telling *telling = telling_of(heard);
    const struct question_hidden *hidden = telling->question != NULL ? telling->question->hidden : NULL;
    struct doc *doc;

    gist__value(telling, leaf, value, hidden == NULL || !question_hides(hidden, value), truth);
    if (telling->values++ < VALUES_SHOWN) {
        say_value(telling, leaf, value);
        doc = add_value(telling);
        if (leaf->op_count == 0)
            doc_text(doc, "not_listed", value->key);
        if (is_kept_back(telling, leaf))
            doc_int(doc, "bytes", (int64_t)value->raw.len);
        else
            doc_text(doc,
                     trace_is_link(leaf, value) ? "link"
                     : trace_is_joined(value)   ? "joined"
                     : leaf->asks_keys          ? "name"
                                                : "json",
                     span_part(leaf->asks_keys ? value->text : value->raw, 0, TEXT_MAX));
        if (hidden != NULL && question_hides(hidden, value)) {
            SAY(telling, " (not recorded)");
            doc_bool(doc, "recorded", false);
        }
        SAY(telling, ": %s", policy_truth_text(truth));
        put_truth(doc, truth);
        if (truth != TRUTH_TRUE && leaf->op_count > 1 && telling->failed != NULL) {
            words_op(&telling->text, telling->failed);
            telling__text(telling, " by ", doc, "by");
        }
        SAY(telling, "\n");
        if (!is_kept_back(telling, leaf))
            words_made(&telling->text, leaf, value);
        if (buf_len(&telling->text) > 0) {
            indent(telling);
            telling__text(telling, "", doc, "made");
            SAY(telling, "\n");
        }
    }
    telling->failed = NULL;
}

/* Readings stand beside the values in a document; `value` is the place there of the string that each is of. */
static void put_reading(struct telling *telling, const struct trace_reading *seen)
{
    struct trace_level *here = level(telling);
    struct doc *doc, *by;

    if (here->readings == NULL)
        here->readings = doc_add_array(here->self, "readings");
    doc = doc_add_object(here->readings, NULL);
    doc_int(doc, "value", telling->values);
    doc_text(doc, "operator", span_text(seen->op->operator->word));
    by = doc_add_array(doc, "by");
    for (size_t i = 0; i < seen->depth; i++)
        doc_text(by, NULL, span_text(policy_decoder_text[seen->chain[i]]));
    if (telling->answered == NULL)
        doc_text(doc, "text", span_part(seen->text, 0, TEXT_MAX));
    doc_int(doc, "of", seen->count);
    put_truth(doc, seen->truth);
}

static void tell_reading(struct trace *heard, const struct trace_reading *seen)
{
    struct telling *telling = telling_of(heard);
    struct span shown = utf8_cut(seen->text, VALUE_SHOWN);

    if (seen->count < 2 || telling->values >= VALUES_SHOWN)
        return;
    indent(telling);
    SAY(telling, "%s is %s on ", seen->op->operator->word, policy_truth_text(seen->truth));
    for (size_t i = 0; i < seen->depth; i++)
        SAY(telling, "%s%s", i == 0 ? "its reading by " : ", then ", policy_decoder_text[seen->chain[i]]);
    if (telling->answered == NULL)
        say_quoted(telling, seen->depth == 0 ? "the string itself " : " ", shown);
    else
        SAY(telling, seen->depth == 0 ? "the string itself" : "");
    SAY(telling, "%s, one of %u readings\n", shown.len < seen->text.len ? "..." : "", seen->count);
    put_reading(telling, seen);
}

static void tell_too_many(struct trace *heard)
{
    struct telling *telling = telling_of(heard);

    if (telling->values >= VALUES_SHOWN)
        return;
    indent(telling);
    SAY(telling, "too many or too large readings to ask them all\n");
}

static void tell_absent(struct trace *heard, const struct condition *leaf, bool is_element)
{
    struct telling *telling = telling_of(heard);
    struct doc *doc = add_value(telling);

    gist__absent(telling, leaf);
    indent(telling);
    SAY(telling, "%s: %s\n", is_element ? "absent in an element" : "nothing there", policy_truth_text(leaf->absent));
    doc_text(doc, "absent", is_element ? SPAN_LIT("in an element") : SPAN_LIT("nothing there"));
    put_truth(doc, leaf->absent);
}

/* ---- what misses ---- */

static void tell_missed(struct telling *telling, const struct rule *rule, enum dimension missed)
{
    struct doc *doc = put_rule(telling, rule, TRUTH_FALSE);

    gist__missed(telling, rule, policy_dimension_text[missed]);
    words_limits(&telling->text, rule->limit);
    if (rule->limit != NULL)
        telling__text(telling, NULL, doc, "limit");
    SAY(telling, "%s %.*s (%s:%d): its match misses by %s", words_effect(rule), SPAN_ARG(rule->id),
        rule->source->path_text, rule->line, policy_dimension_text[missed]);
    doc_text(doc, "misses", span_text(policy_dimension_text[missed]));
    words_names(&telling->text, &rule->match.by[missed]);
    telling__text(telling, " ", doc, "takes");
    doc_bool(doc, "applies", false);
    SAY(telling, "\n");
}

void telling__missed(struct telling *telling, const struct rule *rules, uint32_t rule_count, const struct question *question)
{
    struct regex_budget budget;
    unsigned told = 0;

    regex_budget_init(&budget);
    for (uint32_t i = 0; i < rule_count && !budget.spent && told <= MISSED_SHOWN; i++) {
        const struct rule *rule = &rules[i];
        enum dimension missed = DIM_COUNT;
        unsigned count = 0;

        for (enum dimension d = DIM_TENANT; d < DIM_COUNT; d++)
            if (policy_names_match(&rule->match.by[d], d, rule->match.opening, question, &budget) == TRUTH_FALSE &&
                (d != DIM_SCOPE || missed != DIM_GROUP)) { /* who shows no token misses both at once */
                missed = d;
                count++;
            }
        if (count != 1)
            continue;
        if (told++ == MISSED_SHOWN) {
            SAY(telling, "and more rules that miss the call by one part of their match\n");
            return;
        }
        tell_missed(telling, rule, missed);
    }
}

static void explain(const struct policy *policy, const struct question *question, struct policy_scratch *scratch,
                    struct telling *telling, struct verdict *verdict)
{
    struct regex_budget budget;

    regex_budget_init(&budget);
    telling->question = question;
    telling__question(telling, question);
    policy_judge(policy, question, &budget, scratch, &telling->heard, verdict);
    if (policy != NULL && verdict->rule_count == 0 && verdict->reason != REASON_MEMORY)
        SAY(telling, "no rule applies\n");
    if (policy != NULL)
        telling__missed(telling, policy->rules, policy->rule_count, question);
    telling__verdict(telling, verdict);
    if (policy != NULL)
        telling__left_out(telling, policy, question);
}

struct telling telling_to(struct buf *out, struct doc *rules, struct doc *answer, struct coverage *coverage)
{
    struct telling telling = {
        .heard = {.rule = tell_rule, .limit = tell_limit, .applies = tell_applies, .found = telling__found,
                  .granted = tell_granted,
                  .hidden = tell_hidden, .half = tell_half,
                  .enter = tell_enter, .leave = tell_leave, .fact = tell_fact, .op = tell_op,
                  .reading = tell_reading, .too_many = tell_too_many, .value = tell_value, .absent = tell_absent},
        .out = out, .rules = rules, .answer = answer, .coverage = coverage};

    buf_init(&telling.text, TEXT_MAX);
    return telling;
}

enum code explain_verdict(const struct policy *policy, const struct question *question, struct policy_scratch *scratch,
                          struct verdict *verdict, const struct explain_to *to)
{
    struct telling telling = telling_to(to->words, to->rules, to->redacted, NULL);
    struct gist gist = {.count = 0};

    gist__init(&gist);
    telling.gist = to->gist != NULL ? &gist : NULL;
    explain(policy, question, scratch, &telling, verdict);
    if (to->gist != NULL && telling.code == CODE_OK)
        gist__say(&gist, verdict, to->gist_of.at != NULL ? to->gist_of : verdict->rule, to->gist);
    gist__fini(&gist);
    buf_fini(&telling.text);
    if (telling.code == CODE_OK && to->gist != NULL)
        telling.code = buf_code(to->gist);
    return telling.code == CODE_OK && to->words != NULL ? buf_code(to->words) : telling.code;
}
