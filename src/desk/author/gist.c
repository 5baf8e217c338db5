/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict in one sentence: the verdict, the rule with its file and line, and the value that decided. While a walk is told,
 * each rule keeps the one leaf and value that its truth hangs on; the verdict then says which rule is meant. */
#include "author/explain_priv.h"

#include "base/utf8.h"
#include "judgement/judgement.h"

#define TEXT_MAX_BYTES ((size_t)1 << 16) /* of a leaf's words */
#define VALUE_BYTES 80 /* of a value that are shown */
#define SAID_MAX_BYTES ((size_t)4 << 20)
#define AT(truth) ((unsigned)((int)(truth) + 1))

static const char *const how[] = {[AT(TRUTH_FALSE)] = "does not fit", [AT(TRUTH_UNDECIDED)] = "cannot be decided by",
                                  [AT(TRUTH_TRUE)] = "fits"};

void gist__init(struct gist *gist)
{
    for (unsigned i = 0; i < GIST_TRUTHS; i++) {
        buf_init(&gist->value[i], TEXT_MAX_BYTES);
        buf_init(&gist->leaf[i], TEXT_MAX_BYTES);
        buf_init(&gist->rule[i], TEXT_MAX_BYTES);
    }
    buf_init(&gist->used_up, TEXT_MAX_BYTES);
    buf_init(&gist->said, SAID_MAX_BYTES);
}

void gist__fini(struct gist *gist)
{
    for (unsigned i = 0; i < GIST_TRUTHS; i++) {
        buf_fini(&gist->value[i]);
        buf_fini(&gist->leaf[i]);
        buf_fini(&gist->rule[i]);
    }
    buf_fini(&gist->used_up);
    buf_fini(&gist->said);
}

/* ---- down: values decide a leaf, leaves a condition, conditions the rule ---- */

static void forget(struct buf texts[GIST_TRUTHS])
{
    for (unsigned i = 0; i < GIST_TRUTHS; i++)
        buf_clear(&texts[i]);
}

/* What is too long for its place is left out: the sentence says less then. */
static struct span text_of(const struct buf *text)
{
    return buf_code(text) == CODE_OK ? buf_peek(text) : SPAN_NONE;
}

static void say_cut(struct buf *out, struct span text)
{
    const struct span shown = utf8_cut(text, VALUE_BYTES);

    buf_addf(out, "%.*s%s", SPAN_ARG(shown), shown.len < text.len ? "..." : "");
}

/* Of several of one truth the first decides. */
static void take(struct buf *to, struct buf from[GIST_TRUTHS], enum truth truth)
{
    if (buf_len(to) == 0)
        buf_add_span(to, text_of(&from[AT(truth)]));
    forget(from);
}

/* What a leaf is to its rule: each `not` around it turns opening into closing, and its truth round. `only_args`, which has no
 * operators, stands in none. */
static enum truth to_rule(const struct gist *gist, const struct condition *leaf, enum truth truth)
{
    const bool is_own = leaf->kind == CONDITION_LEAF && leaf->op_count == 0;

    return is_own || leaf->opening == gist->is_opening ? truth : (enum truth)-truth;
}

void gist__rule(struct telling *telling, const struct rule *rule)
{
    struct gist *gist = telling->gist;

    if (gist == NULL)
        return;
    gist->is_opening = rule->effect == EFFECT_PERMIT && rule->answer == ANSWER_NONE;
    forget(gist->value);
    forget(gist->leaf);
    forget(gist->rule);
    buf_clear(&gist->used_up);
}

static void say_place(struct buf *out, const struct condition *leaf)
{
    buf_addf(out, "%s%s`", leaf->from != FROM_ARG ? policy_root_text[leaf->from] : "", leaf->from != FROM_ARG ? " " : "");
    say_cut(out, leaf->path.text);
    buf_add_byte(out, '`');
}

static void say_shown(struct buf *out, const struct condition *leaf, const struct json_node *value)
{
    const struct span shown = utf8_cut(value->raw, VALUE_BYTES);

    if (trace_is_joined(value) || leaf->asks_keys)
        json_write_string(out, shown);
    else
        buf_add_span(out, shown);
    buf_add_text(out, shown.len < value->raw.len ? "..." : "");
}

/* Takes: is_recorded: false: the value is not known. The operator that decided stands in the telling; NULL: all of them did. */
void gist__value(struct telling *telling, const struct condition *leaf, const struct json_node *value, bool is_recorded,
                 enum truth truth)
{
    struct buf *out = telling->gist != NULL ? &telling->gist->value[AT(truth)] : NULL;

    if (out == NULL || buf_len(out) > 0)
        return;
    if (leaf->op_count == 0) {
        words_text(out, value->key);
        buf_add_text(out, " is none of the arguments that it lists");
        return;
    }
    if (is_recorded)
        say_shown(out, leaf, value);
    else
        buf_add_text(out, "what is not recorded");
    buf_add_text(out, leaf->asks_keys ? ", a name in " : " of ");
    say_place(out, leaf);
    buf_addf(out, " %s ", how[AT(truth)]);
    if (telling->failed != NULL && truth != TRUTH_TRUE)
        words_op(out, telling->failed);
    else
        words_ops(out, leaf);
}

void gist__absent(struct telling *telling, const struct condition *leaf)
{
    struct buf *out = telling->gist != NULL ? &telling->gist->value[AT(leaf->absent)] : NULL;

    if (out == NULL || buf_len(out) > 0)
        return;
    say_place(out, leaf);
    buf_add_text(out, " is not there");
}

void gist__fact(struct telling *telling, struct span seen)
{
    struct buf *out = telling->gist != NULL ? &telling->gist->value[AT(TRUTH_TRUE)] : NULL;

    if (out != NULL && buf_len(out) == 0)
        say_cut(out, seen);
}

void gist__leave(struct telling *telling, const struct condition *condition, enum truth truth)
{
    struct gist *gist = telling->gist;

    if (gist == NULL)
        return;
    if (condition->kind == CONDITION_FACT) {
        struct buf *out = &gist->leaf[AT(to_rule(gist, condition, truth))];
        const bool is_first = buf_len(out) == 0;

        if (is_first) {
            words_fact(out, condition->fact);
            buf_addf(out, " is %s", policy_truth_text(truth));
        }
        for (unsigned i = 0; i < GIST_TRUTHS && is_first; i++)
            if (buf_len(&gist->value[i]) > 0)
                buf_addf(out, " (%.*s)", SPAN_ARG(text_of(&gist->value[i])));
        forget(gist->value);
    } else if (condition->kind == CONDITION_LEAF) {
        take(&gist->leaf[AT(to_rule(gist, condition, truth))], gist->value, truth);
    }
    if (telling->depth == 1)
        take(&gist->rule[AT(truth)], gist->leaf, truth);
}

void gist__limit(struct telling *telling, const struct trace_limit *seen)
{
    struct buf *out = telling->gist != NULL ? &telling->gist->used_up : NULL;

    if (out != NULL && !seen->fits && buf_len(out) == 0)
        words_taken(out, seen);
}

/* Without what makes it a line of the walk. */
static struct span one_line(struct span line)
{
    while (line.len > 0 && line.at[0] == ' ')
        line = span_part(line, 1, SIZE_MAX);
    return line.len > 0 && line.at[line.len - 1] == '\n' ? span_part(line, 0, line.len - 1) : line;
}

void gist__applies(struct telling *telling, const struct rule *rule, enum truth truth)
{
    struct gist *gist = telling->gist;
    struct gist_rule *one;
    struct span why;

    if (gist == NULL || gist->count == GIST_RULES_MAX || rule->monitor)
        return;
    one = &gist->of[gist->count];
    *one = (struct gist_rule){.rule = rule, .at = buf_len(&gist->said), .is_used_up = buf_len(&gist->used_up) > 0};
    why = one->is_used_up ? one_line(text_of(&gist->used_up)) : text_of(&gist->rule[AT(truth)]);
    one->len = buf_put(&gist->said, why) == CODE_OK ? why.len : 0;
    gist->count++;
}

void gist__missed(struct telling *telling, const struct rule *rule, const char *by)
{
    struct gist *gist = telling->gist;

    if (gist != NULL && gist->missed == NULL && rule->effect == EFFECT_PERMIT && !rule->monitor) {
        gist->missed = rule;
        gist->missed_by = by;
    }
}

/* ---- up: the sentence ---- */

static void say_rule(struct buf *out, const struct rule *rule)
{
    buf_addf(out, "%.*s (%s:%d)", SPAN_ARG(rule->id), rule->source->path_text, rule->line);
}

static const struct gist_rule *named(const struct gist *gist, struct span id)
{
    for (size_t i = 0; i < gist->count; i++)
        if (span_equals(gist->of[i].rule->id, id))
            return &gist->of[i];
    return NULL;
}

/* The one that an author would look at who wonders why nothing permits the call. Takes: is_used_up: by its limits; halves: it
 * gives one of these. */
static const struct gist_rule *nearest(const struct gist *gist, bool is_used_up, unsigned halves)
{
    for (size_t i = 0; i < gist->count; i++)
        if (gist->of[i].is_used_up == is_used_up && gist->of[i].rule->effect == EFFECT_PERMIT &&
            (gist->of[i].rule->halves & halves))
            return &gist->of[i];
    return NULL;
}

static void say_why(struct buf *out, const struct gist *gist, const struct gist_rule *rule, const char *before)
{
    const struct span why = rule != NULL ? span_part(buf_peek(&gist->said), rule->at, rule->len) : SPAN_NONE;

    if (why.len > 0)
        buf_addf(out, "%s%.*s", before, SPAN_ARG(why));
}

void gist__say(const struct gist *gist, const struct verdict *verdict, struct span about, struct buf *out)
{
    const bool is_used_up = about.at == NULL && verdict->reason == REASON_RATE_LIMITED;
    const bool is_agents = verdict->reason == REASON_NO_AGENT_RULE;
    const struct gist_rule *rule =
        about.at != NULL ? named(gist, about) : nearest(gist, is_used_up, is_agents ? 1U << HALF_AGENT : HALVES_BOTH);

    if (about.at == NULL || rule == NULL || span_equals(about, verdict->rule))
        buf_addf(out, "%s (%s)", verdict_text(verdict->kind), reason_name(verdict->reason));
    else /* another one decides by now */
        buf_add_text(out, words_effect(rule->rule));
    if (about.at != NULL || (is_used_up && rule != NULL)) {
        buf_add_text(out, " by rule ");
        if (rule != NULL)
            say_rule(out, rule->rule);
        else
            buf_add_span(out, about);
        say_why(out, gist, rule, ": ");
        if (rule != NULL && verdict->kind == VERDICT_HOLD && rule->rule->people.approvers.len > 0) {
            buf_add_text(out, "; to be decided by ");
            approvers_text(rule->rule->people.approvers, out);
        }
    } else if (verdict->reason == REASON_AGENT_UNKNOWN) {
        buf_add_text(out, ": the route judges which agent acts, and nothing says which");
    } else if (is_agents && rule == NULL) {
        buf_add_text(out, ": no rule permits it to this agent");
    } else if (rule != NULL) {
        buf_addf(out, ": no rule permits it%s; nearest is ", is_agents ? " to this agent" : "");
        say_rule(out, rule->rule);
        say_why(out, gist, rule, ", but ");
    } else if (gist->missed != NULL) {
        buf_add_text(out, ": no rule permits it; ");
        say_rule(out, gist->missed);
        buf_addf(out, " and its like are about other %s", gist->missed_by);
    } else if (verdict->reason == REASON_NO_RULE || verdict->reason == REASON_METHOD_UNKNOWN) {
        buf_add_text(out, ": no rule is about it");
    }
}
