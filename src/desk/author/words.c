/* SPDX-License-Identifier: Apache-2.0 */
#include "author/words.h"

#include "base/utf8.h"
#include "os/clock.h"
#include "policy/variable.h"

#include <ctype.h>
#include <inttypes.h>

#define TEXT_SHOWN 80 /* bytes of an operand */
#define LIST_SHOWN 8  /* members of a list */
#define HELD_SHOWN 20 /* groups, or scopes */

static bool is_bare(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!isalnum((unsigned char)text.at[i]) && strchr("_-./@", text.at[i]) == NULL)
            return false;
    return text.len > 0;
}

static bool has_controls(struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.at[i];

        if (byte < ' ' || byte == 0x7f || (byte == 0xc2 && i + 1 < text.len && (unsigned char)text.at[i + 1] < 0xa0))
            return true;
    }
    return false;
}

/* What is shown of a text that may be long; say_rest ends it. */
static struct span cut_short(struct span text)
{
    return utf8_cut(text, TEXT_SHOWN);
}

static void say_rest(struct buf *out, struct span shown, struct span text)
{
    buf_add_text(out, shown.len < text.len ? "..." : "");
}

static void say_raw(struct buf *out, struct span text)
{
    buf_add_span(out, cut_short(text));
    say_rest(out, cut_short(text), text);
}

/* As YAML has it: regexes keep their backslashes in single quotes. */
void words_text(struct buf *out, struct span text)
{
    struct span shown = cut_short(text);

    if (is_bare(text) && shown.len == text.len) {
        buf_add_span(out, text);
        return;
    }
    if (has_controls(shown)) {
        json_write_string(out, shown);
    } else {
        buf_add_byte(out, '\'');
        for (size_t i = 0; i < shown.len; i++) {
            if (shown.at[i] == '\'')
                buf_add_byte(out, '\''); /* twice */
            buf_add_byte(out, shown.at[i]);
        }
        buf_add_byte(out, '\'');
    }
    say_rest(out, shown, text);
}

static void say_json(struct buf *out, const struct json_node *value)
{
    if (value->type == JSON_STRING)
        words_text(out, value->text);
    else
        say_raw(out, value->raw);
}

/* Between the members of a list, of which only the first ones are said. Returns: whether this one is. */
static bool say_next(struct buf *out, uint32_t at, uint32_t count)
{
    if (at == LIST_SHOWN)
        buf_addf(out, ", %u more", count - LIST_SHOWN);
    else if (at > 0 && at < LIST_SHOWN)
        buf_add_text(out, ", ");
    return at < LIST_SHOWN;
}

void words_op(struct buf *out, const struct op *op)
{
    buf_addf(out, "%s ", op->operator->word);
    if (op->value != NULL) {
        say_json(out, op->value);
    } else if (op->values != NULL) {
        buf_add_byte(out, '[');
        for (uint32_t i = 0; i < op->value_count && say_next(out, i, op->value_count); i++)
            say_json(out, op->values[i]);
        buf_add_byte(out, ']');
    } else if (op->written.at != NULL) {
        say_raw(out, op->written);
    } else {
        words_text(out, op->text);
    }
}

const char *words_kind(const struct condition *condition)
{
    switch (condition->kind) {
    case CONDITION_LEAF: return condition->op_count > 0 ? "leaf" : "only_args";
    case CONDITION_ALL: return "all";
    case CONDITION_ANY: return "any";
    case CONDITION_NOT: return "not";
    case CONDITION_ONE: return "one";
    case CONDITION_EACH: return "each";
    case CONDITION_FACT: return policy_fact_text[condition->fact->kind];
    }
    return "leaf";
}

void words_made(struct buf *out, const struct condition *leaf, const struct json_node *value)
{
    const char *before = "";

    for (uint32_t i = 0; i < leaf->op_count; i++) {
        const struct operator *operator = leaf->ops[i].operator;
        const struct op_guide *guide = leaf->ops[i].guide;
        void (*tell)(const struct op *, const struct json_node *, struct buf *) = guide != NULL ? guide->tell : operator->tell;

        if (tell == NULL || value->type != (operator->of_text != NULL ? JSON_STRING : JSON_ARRAY))
            continue;
        buf_addf(out, "%s%s reads ", before, operator->word);
        tell(&leaf->ops[i], value, out);
        before = "; ";
    }
}

void words_fact(struct buf *out, const struct fact *fact)
{
    buf_addf(out, "%s ", policy_fact_text[fact->kind]);
    say_raw(out, fact->written);
}

static void say_limit(struct buf *out, const struct policy_limit *limit)
{
    const char *before = " by ";

    buf_add_text(out, "limit of ");
    switch (limit->kind) {
    case LIMIT_SUM:
        policy_write_millionths(out, limit->most);
        buf_addf(out, " of the sum of %.*s", SPAN_ARG(limit->path_text));
        break;
    case LIMIT_DISTINCT:
        buf_addf(out, "%" PRIu64 " different values of %.*s", limit->most, SPAN_ARG(limit->path_text));
        break;
    case LIMIT_CALLS:
    case LIMIT_KINDS:
        buf_addf(out, "%" PRIu64 " calls", limit->most);
        break;
    }
    buf_add_text(out, " in ");
    policy_write_millionths(out, (uint64_t)limit->per_us);
    buf_add_text(out, " s");
    for (enum policy_by by = POLICY_BY_TENANT; by < POLICY_BY_COUNT; by++)
        if ((limit->by >> by & 1) != 0) {
            buf_addf(out, "%s%s", before, policy_by_text[by]);
            before = ", ";
        }
    if (limit->asks)
        buf_add_text(out, ", over it a person is asked");
}

void words_limits(struct buf *out, const struct policy_limit *first)
{
    for (const struct policy_limit *limit = first; limit != NULL; limit = limit->next) {
        buf_add_text(out, limit == first ? "" : "; ");
        say_limit(out, limit);
    }
}

static void say_value(struct buf *out, const struct trace_limit *seen)
{
    if (seen->room.has_value)
        buf_addf(out, "a value that calls had before, one of %" PRIu64, seen->room.taken);
    else
        buf_addf(out, "a new value, beside %" PRIu64 " of %" PRIu64, seen->room.taken, seen->limit->most);
    buf_add_text(out, seen->fits ? ", fits" : ", does not fit");
}

void words_taken(struct buf *out, const struct trace_limit *seen)
{
    const struct policy_limit *limit = seen->limit;
    bool is_sum = limit->kind == LIMIT_SUM;

    buf_add_text(out, "     ");
    say_limit(out, limit);
    buf_add_text(out, ": ");
    if (seen->known == TRUTH_FALSE) {
        buf_add_text(out, is_sum ? "a value is absent, or lost" : "there is not one value to count, or it is lost");
    } else if (seen->known == TRUTH_UNDECIDED) {
        buf_add_text(out, is_sum ? "the sum cannot be counted exactly" : "the value is redacted, or too large to be counted");
    } else if (is_sum) {
        policy_write_millionths(out, seen->amount.number);
        buf_add_text(out, seen->fits ? " fits" : " does not fit");
    } else if (limit->kind == LIMIT_DISTINCT) {
        say_value(out, seen);
    } else {
        buf_add_text(out, seen->fits ? "one more fits" : "used up");
    }
    buf_add_text(out, seen->fits || (seen->known == TRUTH_TRUE && limit->asks) ? "\n" : ", so the permit does not apply\n");
}

void words_until(struct buf *out, struct doc *doc, const struct rule *rule, const struct question *question)
{
    static const char *const says[] = {": it has ended", ": the time of the call is not known", ""};
    char time[CLOCK_TEXT_BYTES];

    if (rule->until_us == 0)
        return;
    clock_text(rule->until_us, time);
    doc_text(doc, "until", span_text(time));
    if (out != NULL)
        buf_addf(out, "  until %.19sZ%s\n", time, question != NULL ? says[rule_lasts(rule, question) - TRUTH_FALSE] : "");
}

void words_ops(struct buf *out, const struct condition *leaf)
{
    for (uint32_t i = 0; i < leaf->op_count; i++) {
        buf_add_text(out, i > 0 ? ", " : "");
        words_op(out, &leaf->ops[i]);
    }
}

void words_variables(struct buf *out, struct doc *doc, const struct condition *leaf, const struct question *question)
{
    bool varies = false;
    struct buf asks;

    for (uint32_t i = 0; i < leaf->op_count && question != NULL; i++)
        varies |= leaf->ops[i].varies;
    buf_init(&asks, SIZE_MAX / 2);
    words_ops(&asks, leaf);
    doc = varies ? doc_add_object(doc, "variables") : NULL;
    for (const struct span *variable = policy_variables; varies && variable->len > 0; variable++) {
        struct span said = variable_value(question, *variable), text = buf_peek(&asks);

        if (memmem(text.at, text.len, variable->at, variable->len) == NULL)
            continue;
        doc_text(doc, variable->at, said);
        if (out != NULL) {
            buf_addf(out, "%s is ", variable->at);
            words_text(out, said);
            buf_add_text(out, "; ");
        }
    }
    buf_fini(&asks);
}

static void say_name(struct buf *out, const struct match_name *name)
{
    if (name->kind == NAME_REGEX)
        buf_add_text(out, "{regex: ");
    words_text(out, name->text);
    if (name->kind == NAME_REGEX)
        buf_addf(out, ", anchor: %s}", name->whole ? "whole" : "anywhere");
}

void words_held(struct buf *out, const char *before, const struct question *question, enum dimension dimension)
{
    struct held held = question_held(question, dimension);
    bool has_more = question_hides_name(question, dimension);

    for (uint32_t i = 0; i < held.count && i < HELD_SHOWN; i++) {
        buf_add_text(out, i > 0 ? ", " : before);
        words_text(out, held.name[i]);
    }
    if (held.count > HELD_SHOWN)
        buf_addf(out, " and %u more", held.count - HELD_SHOWN);
    if (has_more)
        buf_addf(out, "%s some that were not recorded", held.count > 0 ? " and" : before);
}

void words_parameters(struct buf *out, struct doc *list, const struct policy_source *source)
{
    for (uint32_t i = 0; i < source->parameter_count; i++) {
        const struct policy_parameter *parameter = &source->parameters[i];
        struct doc *one = doc_add_object(list, NULL);

        doc_text(one, "parameter", parameter->name);
        doc_json(one, "value", parameter->json);
        doc_bool(one, "set", parameter->is_set);
        if (out != NULL)
            buf_addf(out, "%s%.*s: %.*s", i > 0 ? ", " : "\n  with ", SPAN_ARG(parameter->name),
                     SPAN_ARG(utf8_cut(parameter->json, TEXT_SHOWN)));
    }
}

const char *words_effect(const struct rule *rule)
{
    return rule->answer != ANSWER_NONE ? answer_effect_text(rule->answer) : effect_text(rule->effect);
}

void words_names(struct buf *out, const struct names *names)
{
    buf_add_text(out, names->given ? "[" : "all");
    for (uint32_t i = 0; i < names->count && say_next(out, i, names->count); i++)
        say_name(out, &names->name[i]);
    buf_add_text(out, names->given ? "]" : "");
}
