/* SPDX-License-Identifier: Apache-2.0 */
#include "judgement/judge_priv.h"
#include "policy/snapshot.h"
#include "policy/walk.h"
#include "policy/trace.h"

#include "base/ascii.h"
#include "base/glob.h"
#include "os/clock.h"

#include <stdarg.h>
#include <stdio.h>


/* Tells the trace, if there is one, what was seen. */
static void PRINTF_LIKE(2, 3) saw(const struct rule_walk *walk, const char *format, ...)
{
    char text[512];
    va_list args;

    if (walk->trace == NULL)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    walk->trace->fact(walk->trace, span_text(text));
}

/* ---- during ---- */

static bool is_on(const struct fact *fact, int weekday)
{
    return (fact->days >> (weekday % 7) & 1) != 0;
}

/* Hours past midnight belong to the day on which they begin. */
static bool holds_at(const struct fact *fact, int weekday, int minute)
{
    for (uint32_t i = 0; i < fact->count; i++) {
        const struct hours *hours = &fact->hours[i];

        if (hours->from < hours->to) {
            if (is_on(fact, weekday) && minute >= hours->from && minute < hours->to)
                return true;
        } else if ((is_on(fact, weekday) && minute >= hours->from) || (is_on(fact, weekday + 6) && minute < hours->to)) {
            return true;
        }
    }
    return false;
}

static bool is_dated(const struct fact *fact, int64_t local_s)
{
    for (uint32_t i = 0; i < fact->date_count; i++)
        if (local_s >= fact->dates[i].from_s && local_s < fact->dates[i].to_s)
            return true;
    return fact->date_count == 0;
}

static enum truth during_truth(struct rule_walk *walk, const struct fact *fact)
{
    static const char *const names[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
    int64_t time_s = walk->question->time_us / 1000000, local_s;
    char date[CLOCK_TEXT_BYTES];
    int weekday, minute;

    if (walk->question->time_us <= 0) {
        saw(walk, "the time of the call is not known");
        return TRUTH_UNDECIDED;
    }
    zone_clock(fact->zone, time_s, &weekday, &minute);
    local_s = time_s + zone_offset_s(fact->zone, time_s);
    if (walk->trace != NULL)
        clock_text(local_s * 1000000, date);
    saw(walk, "%s %.10s %02d:%02d in %.*s", names[weekday], date, minute / 60, minute % 60, SPAN_ARG(fact->zone_name));
    return truth_of(is_dated(fact, local_s) && holds_at(fact, weekday, minute));
}

/* ---- session ---- */

static enum truth truth_known(enum policy_known known)
{
    return known == POLICY_UNKNOWN ? TRUTH_UNDECIDED : truth_of(known == POLICY_YES);
}

static void saw_before(const struct rule_walk *walk, const struct watch *watch, enum policy_by by, enum policy_known known)
{
    const char *answer = known == POLICY_YES ? "yes" : known == POLICY_NO ? "no" : "not known";

    if (watch->label != NULL)
        saw(walk, "`%.*s` before, by %s: %s", SPAN_ARG(span_part(watch->label->name, 0, 80)), policy_by_text[by], answer);
    else
        saw(walk, "%s before, by %s: %s", watch->rules.given ? "met" : "called", policy_by_text[by], answer);
}

/* Asks by each of `by` that the call has. An agent whose protocol has no sessions has its correlation. */
static enum truth watch_truth(struct rule_walk *walk, const struct fact *fact, const struct watch *watch, bool *asked)
{
    const struct policy_state *state = &walk->question->state;
    enum truth truth = TRUTH_FALSE;

    for (enum policy_by by = POLICY_BY_TENANT; by < POLICY_BY_COUNT; by++) {
        enum policy_known known = POLICY_NO;

        if (!(fact->by & UINT32_C(1) << by) || question_value(walk->question, by).len == 0)
            continue;
        *asked = true;
        if (state->past != NULL && state->past->was_called != NULL)
            known = state->past->was_called(state->context, walk->question, &watch->view, by, fact->within_us);
        saw_before(walk, watch, by, known);
        truth = truth_or(truth, truth_known(known));
    }
    return truth;
}

static enum truth session_truth(struct rule_walk *walk, const struct fact *fact)
{
    enum truth truth = fact->every ? TRUTH_TRUE : TRUTH_FALSE;
    bool asked = false;

    for (uint32_t i = 0; i < fact->watch_count; i++) {
        enum truth one = watch_truth(walk, fact, fact->watches[i], &asked);

        truth = fact->every ? truth_and(truth, one) : truth_or(truth, one);
    }
    if (!asked)
        saw(walk, "the call belongs to nothing that is asked for");
    return asked ? truth : TRUTH_UNDECIDED;
}

static enum truth client_truth(struct rule_walk *walk, const struct fact *fact)
{
    struct span client = walk->question->client;

    if (client.len == 0)
        saw(walk, "the client's address is not known");
    else
        saw(walk, "the client is %.*s", SPAN_ARG(client));
    return address_in_ranges(fact->ranges, fact->count, client);
}

/* ---- annotations ---- */

static enum truth annotations_truth(struct rule_walk *walk, const struct fact *fact)
{
    const struct policy_state *state = &walk->question->state;
    enum truth all = TRUTH_TRUE;

    for (enum policy_hint hint = POLICY_READ_ONLY; hint < POLICY_HINT_COUNT; hint++) {
        enum policy_known known = POLICY_UNKNOWN;

        if (!fact->asks[hint])
            continue;
        if (state->past != NULL && state->past->hint != NULL)
            known = state->past->hint(state->context, walk->question, hint);
        saw(walk, "%s: %s", policy_hint_text[hint],
            known == POLICY_YES ? "true" : known == POLICY_NO ? "false" : "the server has not said");
        if (known == POLICY_UNKNOWN && walk->question->hidden != NULL && walk->question->hidden->hints)
            all = truth_and(all, walk_guess(walk, fact->opening));
        else if (known == POLICY_UNKNOWN)
            all = truth_and(all, fact->absent);
        else
            all = truth_and(all, truth_of((known == POLICY_YES) == fact->wants[hint]));
    }
    return all;
}

/* ---- plan ---- */

static enum truth plan_truth(struct rule_walk *walk)
{
    const struct question_plan *plan = &walk->question->plan;

    if (plan->step > 0)
        saw(walk, "the call is step %u of its plan", plan->step);
    else
        saw(walk, "%s", reason_text(plan->why != REASON_UNSET ? plan->why : REASON_PLAN_REQUIRED));
    walk->unplanned |= plan->step == 0;
    return truth_of(plan->step > 0);
}

/* ---- of answers ---- */

static enum truth size_truth(struct rule_walk *walk, const struct fact *fact)
{
    const struct json_node *root = walk->answer->root;
    size_t bytes = root != NULL ? root->raw.len : 0;

    saw(walk, "the answer has %zu bytes, the most are %llu", bytes, (unsigned long long)fact->most);
    return truth_of(bytes > fact->most);
}

#define MEDIA_TYPE_BYTES 256

/* A media type without its parameters, in lower case (RFC 9110, 8.3.1). */
static enum truth is_media(struct rule_walk *walk, const struct fact *fact, struct span type)
{
    char text[MEDIA_TYPE_BYTES];
    size_t len = span_find(type, ';');

    while (len > 0 && (type.at[len - 1] == ' ' || type.at[len - 1] == '\t'))
        len--;
    if (len == 0 || len > sizeof text)
        return TRUTH_UNDECIDED;
    (void)ascii_lower_all(span_part(type, 0, len), text);
    for (uint32_t i = 0; i < fact->count; i++)
        if (glob_matches(fact->globs[i], span_of(text, len))) {
            saw(walk, "the answer holds %.*s", (int)len, text);
            return TRUTH_TRUE;
        }
    return TRUTH_FALSE;
}

/* What a block of the answer says of its type. Undecided: it must have a type and says none. */
static enum truth block_truth(struct rule_walk *walk, const struct fact *fact, const struct json_node *block)
{
    const struct json_node *type = json_member(block, SPAN_LIT("mimeType"));
    struct span kind = json_member_text(block, "type");

    if (type != NULL)
        return type->type == JSON_STRING ? is_media(walk, fact, type->text) : TRUTH_UNDECIDED;
    return json_member(block, SPAN_LIT("blob")) != NULL || span_is(kind, "image") || span_is(kind, "audio") ? TRUTH_UNDECIDED
                                                                                                            : TRUTH_FALSE;
}

/* Blocks stand at many places, as in `content`, `contents`, `messages[*].content`, `content[*].resource`, so that all is looked
 * through but `structuredContent` and `_meta`: these hold no blocks, but data of the tool. */
static enum truth media_truth(struct rule_walk *walk, const struct fact *fact, const struct json_node *node)
{
    enum truth truth = node->type == JSON_OBJECT ? block_truth(walk, fact, node) : TRUTH_FALSE;

    for (const struct json_node *child = node->child; child != NULL && truth != TRUTH_TRUE; child = child->next) {
        if (!walk_charge(walk, 1))
            return TRUTH_UNDECIDED;
        if ((child->type == JSON_OBJECT || child->type == JSON_ARRAY) && !span_is(child->key, "structuredContent") &&
            !span_is(child->key, "_meta"))
            truth = truth_or(truth, media_truth(walk, fact, child));
    }
    return truth;
}

enum truth eval__fact(struct rule_walk *walk, const struct fact *fact)
{
    switch (fact->kind) {
    case FACT_DURING: return during_truth(walk, fact);
    case FACT_SESSION: return session_truth(walk, fact);
    case FACT_CLIENT: return client_truth(walk, fact);
    case FACT_ANNOTATIONS: return annotations_truth(walk, fact);
    case FACT_PLAN: return plan_truth(walk);
    case FACT_SIZE: return size_truth(walk, fact);
    case FACT_MEDIA: return walk->answer->root != NULL ? media_truth(walk, fact, walk->answer->root) : TRUTH_FALSE;
    case FACT_COUNT: break;
    }
    return TRUTH_UNDECIDED;
}
