/* SPDX-License-Identifier: Apache-2.0 */
#include "author/explain_priv.h"

/* Of the condition that was entered last; at depth 0 of the rule. NULL: none is made. */
static struct trace_level *level(struct telling *telling)
{
    return telling->rules != NULL && telling->depth < TRACE_DEPTH_MAX ? &telling->levels[telling->depth] : NULL;
}

/* What was said in telling->text. */
static void put(struct telling *telling, struct doc *doc, const char *key)
{
    enum code code = buf_code(&telling->text);

    if (code == CODE_OK)
        doc_text(doc, key, buf_peek(&telling->text));
    else
        telling->code = code;
    buf_clear(&telling->text);
}

void telling__doc_rule(struct telling *telling, const struct rule *rule, enum truth match, enum dimension undecided)
{
    struct doc *doc;

    if (telling->rules == NULL)
        return;
    doc = doc_add_object(telling->rules, NULL);
    telling->levels[0] = (struct trace_level){.self = doc};
    doc_text(doc, "rule", rule->id);
    doc_text(doc, "effect", span_text(effect_text(rule->effect)));
    doc_bool(doc, "monitor", rule->monitor);
    doc_text(doc, "file", rule->source->path);
    doc_int(doc, "line", rule->line);
    doc_text(doc, "match", span_text(policy_truth_text(match)));
    if (match == TRUTH_UNDECIDED)
        doc_text(doc, "match_undecided", span_text(policy_dimension_text[undecided]));
    if (rule->limit != NULL) {
        words_limit(&telling->text, rule->limit);
        put(telling, doc, "limit");
    }
}

/* One that does not concern the call, but nearly. */
void telling__doc_missed(struct telling *telling, const struct rule *rule, enum dimension missed)
{
    if (telling->rules == NULL)
        return;
    telling__doc_rule(telling, rule, TRUTH_FALSE, missed);
    doc_text(telling->levels[0].self, "misses_by", span_text(policy_dimension_text[missed]));
    words_names(&telling->text, &rule->match.by[missed]);
    put(telling, telling->levels[0].self, "takes");
    doc_bool(telling->levels[0].self, "applies", false);
}

void telling__doc_known(struct telling *telling, const char *key, enum policy_known known)
{
    if (telling->rules != NULL)
        doc_bool(telling->levels[0].self, key, known == POLICY_YES);
}

void telling__doc_applies(struct telling *telling, enum truth truth, bool applies)
{
    if (telling->rules == NULL)
        return;
    doc_text(telling->levels[0].self, "truth", span_text(policy_truth_text(truth)));
    doc_bool(telling->levels[0].self, "applies", applies);
}

static const char *kind_text(const struct condition *condition)
{
    switch (condition->kind) {
    case CONDITION_LEAF: return condition->op_count > 0 ? "leaf" : "only_args";
    case CONDITION_ALL: return "all";
    case CONDITION_ANY: return "any";
    case CONDITION_NOT: return "not";
    case CONDITION_FACT: return policy_fact_text[condition->fact->kind];
    }
    return "leaf";
}

static void describe_leaf(struct telling *telling, struct doc *doc, const struct condition *leaf)
{
    struct doc *ops = doc_add_array(doc, "operators"), *decode = NULL;

    doc_text(doc, "path", leaf->path.text);
    if (leaf->from != FROM_ARG)
        doc_bool(doc, leaf->from == FROM_META ? "meta" : "param", true);
    if (leaf->asks_keys)
        doc_bool(doc, "keys", true);
    for (unsigned i = 0; i < DECODER_COUNT; i++)
        if ((leaf->decoders >> i & 1) != 0) {
            if (decode == NULL)
                decode = doc_add_array(doc, "decode");
            doc_text(decode, NULL, span_text(policy_decoder_text[i]));
        }
    doc_text(doc, "polarity", leaf->opening ? SPAN_LIT("opening") : SPAN_LIT("closing"));
    doc_text(doc, "quantifier", leaf->every ? SPAN_LIT("every") : SPAN_LIT("any"));
    doc_text(doc, "absent", span_text(policy_truth_text(leaf->absent)));
    for (uint32_t i = 0; i < leaf->op_count; i++) {
        struct doc *op = doc_add_object(ops, NULL);

        doc_text(op, "operator", span_text(leaf->ops[i].operator->word));
        words_op(&telling->text, &leaf->ops[i]);
        put(telling, op, "asks");
        if (leaf->ops[i].operator->has_anchor)
            doc_text(op, "anchor", leaf->ops[i].whole ? SPAN_LIT("whole") : SPAN_LIT("anywhere"));
    }
}

static void describe_fact(struct telling *telling, struct doc *doc, const struct condition *condition)
{
    doc_text(doc, "polarity", condition->opening ? SPAN_LIT("opening") : SPAN_LIT("closing"));
    words_fact(&telling->text, condition->fact);
    put(telling, doc, "asks");
}

/* The depth counts the condition already. */
void telling__doc_enter(struct telling *telling, const struct condition *condition)
{
    struct trace_level *here = level(telling), *around;

    if (here == NULL)
        return;
    around = here - 1;
    if (around->members == NULL)
        around->members = doc_add_array(around->self, telling->depth == 1 ? "conditions" : "members");
    *here = (struct trace_level){.self = doc_add_object(around->members, NULL)};
    doc_text(here->self, "condition", telling__short_label(condition));
    doc_text(here->self, "kind", span_text(kind_text(condition)));
    doc_int(here->self, "line", condition->line);
    if (condition->kind == CONDITION_LEAF && condition->op_count > 0)
        describe_leaf(telling, here->self, condition);
    if (condition->kind == CONDITION_FACT)
        describe_fact(telling, here->self, condition);
}

void telling__doc_leave(struct telling *telling, enum truth truth)
{
    struct trace_level *here = level(telling);

    if (here == NULL)
        return;
    if (telling->values > TRACE_VALUES_SHOWN)
        doc_int(here->self, "values_left_out", telling->values - TRACE_VALUES_SHOWN);
    doc_text(here->self, "truth", span_text(policy_truth_text(truth)));
}

static struct doc *add_value(struct trace_level *here)
{
    if (here->values == NULL)
        here->values = doc_add_array(here->self, "values");
    return doc_add_object(here->values, NULL);
}

/* The value is JSON's text, as it was sent. */
void telling__doc_value(struct telling *telling, const struct condition *leaf, const struct json_node *value, enum truth truth)
{
    struct trace_level *here = level(telling);
    const struct op *blamed = telling__blame(telling, leaf, truth);
    struct doc *doc;

    if (here == NULL)
        return;
    doc = add_value(here);
    if (leaf->op_count == 0)
        doc_text(doc, "not_listed", value->key);
    if (leaf->asks_keys)
        doc_text(doc, "name", span_part(value->text, 0, DOC_TEXT_MAX));
    else
        doc_text(doc, "json", span_part(value->raw, 0, DOC_TEXT_MAX));
    if (telling->question != NULL && telling->question->hidden != NULL && question_hides(telling->question->hidden, value))
        doc_bool(doc, "recorded", false);
    doc_text(doc, "truth", span_text(policy_truth_text(truth)));
    if (blamed != NULL) {
        words_op(&telling->text, blamed);
        put(telling, doc, "by");
    }
}

/* Readings stand beside the values; `value` is the place there of the string that each is of. */
void telling__doc_reading(struct telling *telling, const struct trace_reading *seen)
{
    struct trace_level *here = level(telling);
    struct doc *doc, *by;

    if (here == NULL)
        return;
    if (here->readings == NULL)
        here->readings = doc_add_array(here->self, "readings");
    doc = doc_add_object(here->readings, NULL);
    doc_int(doc, "value", telling->values);
    doc_text(doc, "operator", span_text(seen->op->operator->word));
    by = doc_add_array(doc, "by");
    for (size_t i = 0; i < seen->depth; i++)
        doc_text(by, NULL, span_text(policy_decoder_text[seen->chain[i]]));
    doc_text(doc, "text", span_part(seen->text, 0, DOC_TEXT_MAX));
    doc_int(doc, "of", seen->count);
    doc_text(doc, "truth", span_text(policy_truth_text(seen->truth)));
}

/* What was seen that is no value of the call's. */
void telling__doc_fact(struct telling *telling, struct span seen)
{
    struct trace_level *here = level(telling);

    if (here != NULL)
        doc_text(add_value(here), "seen", seen);
}

void telling__doc_absent(struct telling *telling, const struct condition *leaf, bool is_element)
{
    struct trace_level *here = level(telling);
    struct doc *doc;

    if (here == NULL)
        return;
    doc = add_value(here);
    doc_text(doc, "absent", is_element ? SPAN_LIT("in an element") : SPAN_LIT("nothing there"));
    doc_text(doc, "truth", span_text(policy_truth_text(leaf->absent)));
}
