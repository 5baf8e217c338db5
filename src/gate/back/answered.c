/* SPDX-License-Identifier: Apache-2.0 */
/* What comes back, as rules for answers see it, and what the outcome of the call says of these rules. */
#include "back/reply_priv.h"

/* Whether the message belongs to a task, and so names a task and not the call that began it. */
static bool is_of_tasks(const struct mcp_message *message, const struct mcp_reply *reply)
{
    return span_starts_with(message->method, SPAN_LIT("tasks/")) ||
           span_starts_with(reply->method, SPAN_LIT("notifications/tasks"));
}

struct gate_came answered__came(const struct exchange *exchange, const struct mcp_reply *reply, bool is_own)
{
    const struct mcp_message *message = &exchange->call->message;
    bool of_unknown = is_own ? exchange->mailbox != NULL
                             : message->kind != MCP_REQUEST || message->lasts || exchange->batch != NULL;

    return (struct gate_came){
        .body = reply->body,
        .root = reply->kind == MCP_RESPONSE ? reply->outcome : reply->params,
        .method = reply->method,
        .of_unknown = of_unknown || is_of_tasks(message, reply),
    };
}

/* ---- noting ---- */

static bool add_found(struct arena *arena, struct answered *all, const struct answer_found *found)
{
    uint32_t i = 0;

    while (i < all->found_count && !span_equals(all->found[i].name, found->name))
        i++;
    if (i == ANSWERED_MAX)
        return true;
    if (i == all->found_count) {
        all->found[i] = (struct answer_found){.name = found->name};
        if (!gate_keep_text(arena, &all->found[i].name))
            return false;
        all->found_count++;
    }
    all->found[i].count += found->count;
    return true;
}

static bool add_rule(struct arena *arena, struct answered *all, const struct answer_rule *rule)
{
    uint32_t i = 0;

    while (i < all->rule_count && !span_equals(all->rules[i].id, rule->id))
        i++;
    all->has_more_rules |= i == ANSWERED_MAX;
    if (i == ANSWERED_MAX)
        return true;
    if (i == all->rule_count) {
        all->rules[i] = *rule;
        if (!gate_keep_text(arena, &all->rules[i].id))
            return false;
        all->rule_count++;
    }
    if (rule->effect > all->rules[i].effect)
        all->rules[i].effect = rule->effect;
    return true;
}

static bool add(struct arena *arena, struct answered *all, const struct gate_weighed *weighed)
{
    for (uint32_t i = 0; i < weighed->found_count; i++)
        if (!add_found(arena, all, &weighed->found[i]))
            return false;
    for (uint32_t i = 0; i < weighed->rule_count; i++)
        if (!add_rule(arena, all, &weighed->rules[i]))
            return false;
    if (weighed->effect <= all->effect)
        return true;
    all->effect = weighed->effect;
    all->rule = weighed->rule;
    all->undecided = weighed->undecided;
    return gate_keep_text(arena, &all->rule) && gate_keep_text(arena, &all->undecided);
}

enum reason answered__note(struct pair *pair, const struct gate_weighed *weighed, struct span body, bool is_own)
{
    struct exchange *exchange = &pair->exchange;
    /* HTTP+SSE: the call that is answered has its outcome already, so the stream's outcome says it. */
    struct call *call = exchange->batch != NULL && is_own ? exchange->call : exchange->calls;

    if ((weighed->rule_count == 0 && weighed->effect == ANSWER_NONE) || !call->owes_outcome)
        return REASON_UNSET;
    if (call->answered == NULL) {
        struct answered *answered = arena_zalloc(&exchange->arena, sizeof *answered);

        if (answered == NULL)
            return REASON_MEMORY;
        if (!gate_reserve_said(pair->lane->gate))
            return REASON_AUDIT_FULL;
        digest_init(&answered->before);
        call->answered = answered;
    }
    gauge_add(&pair->lane->gauges.answers[weighed->effect], 1);
    if (weighed->effect > ANSWER_FLAG) {
        digest_add(&call->answered->before, body.at, body.len);
        call->answered->is_changed = true;
    }
    return add(&exchange->arena, call->answered, weighed) ? REASON_UNSET : REASON_MEMORY;
}

/* ---- the outcome ---- */

/* Without memory a list is left out, but not that there was an effect. */
static struct span found_text(const struct answered *answered, struct buf *out)
{
    size_t before = buf_len(out);

    for (uint32_t i = 0; i < answered->found_count; i++) {
        buf_add_byte(out, i == 0 ? '{' : ',');
        json_write_string(out, answered->found[i].name);
        buf_addf(out, ":%llu", (unsigned long long)answered->found[i].count);
    }
    if (answered->found_count == 0 || buf_add_byte(out, '}') != CODE_OK)
        return SPAN_NONE;
    return span_part(buf_peek(out), before, SIZE_MAX);
}

static struct span rules_text(const struct answered *answered, struct buf *out)
{
    size_t before = buf_len(out);

    if (answered->has_more_rules) /* else who asks later would take these rules for all that were met */
        return SPAN_LIT("\"too long\"");
    for (uint32_t i = 0; i < answered->rule_count; i++) {
        const struct answer_rule *rule = &answered->rules[i];

        buf_add_text(out, i == 0 ? "[{\"id\":" : ",{\"id\":");
        json_write_string(out, rule->id);
        buf_addf(out, ",\"effect\":\"%s\"%s}", answer_effect_text(rule->effect), rule->monitor ? ",\"monitor\":true" : "");
    }
    if (answered->rule_count == 0 || buf_add_byte(out, ']') != CODE_OK)
        return SPAN_NONE;
    return span_part(buf_peek(out), before, SIZE_MAX);
}

void answered_write(struct answered *answered, struct audit_result *result, struct buf texts[2])
{
    result->has_said_room = true;
    if (answered->effect != ANSWER_NONE)
        result->answer_effect = span_text(answer_effect_text(answered->effect));
    result->answer_rule = answered->rule.len > 0 ? answered->rule : SPAN_NONE;
    result->answer_undecided = answered->undecided.len > 0 ? answered->undecided : SPAN_NONE;
    result->answer_found = found_text(answered, &texts[0]);
    result->answer_rules = rules_text(answered, &texts[1]);
    result->has_digest_before = answered->is_changed;
    digest_final(&answered->before, result->response_digest_before);
}
