/* SPDX-License-Identifier: Apache-2.0 */
#include "state/state.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/num.h"
#include "crypto/parts.h"
#include "judgement/judgement.h"
#include "state/hints.h"

#include <string.h>

#define ROUNDS_MAX 8 /* evaluations of one call that each lost the race for a token */

struct gate_state {
    struct tally *tally;
    struct hints *hints;
    struct plan_uses *plans;
    struct hash_key key; /* of shares and tenants */
};

enum code gate_state_new(size_t cap_bytes, const struct hash_key *key, struct gate_state **out)
{
    struct gate_state *state = mem_zalloc(sizeof *state);

    *out = state;
    if (state == NULL)
        return CODE_NOMEM;
    if (key != NULL)
        state->key = *key;
    else
        random_bytes(&state->key, sizeof state->key);
    if (tally_new(cap_bytes, &state->tally) != CODE_OK || hints_new(&state->hints) != CODE_OK ||
        plan_uses_new(cap_bytes, &state->key, &state->plans) != CODE_OK) {
        gate_state_free(out);
        return CODE_NOMEM;
    }
    return CODE_OK;
}

void gate_state_free(struct gate_state **state)
{
    struct gate_state *gone = *state;

    *state = NULL;
    if (gone == NULL)
        return;
    tally_free(&gone->tally);
    hints_free(&gone->hints);
    plan_uses_free(&gone->plans);
    mem_free(gone);
}

void gate_state_clear(struct gate_state *state)
{
    tally_clear(state->tally);
    hints_clear(state->hints);
    plan_uses_clear(state->plans);
}

struct plan_uses *gate_state_plans(struct gate_state *state)
{
    return state->plans;
}

void gate_state_keep(struct gate_state *state, struct buf *out)
{
    tally_keep(state->tally, out);
    plan_uses_keep(state->plans, out);
}

enum code gate_state_read(struct gate_state *state, struct span kept, int64_t over_us, int64_t now_us)
{
    enum code code = tally_read(state->tally, &kept, over_us, now_us);

    if (code == CODE_OK)
        code = plan_uses_read(state->plans, &kept, over_us);
    return code == CODE_OK && kept.len > 0 ? CODE_INVALID : code;
}

void gate_state_stats(struct gate_state *state, struct tally_stats *stats)
{
    tally_stats(state->tally, stats);
}

_Static_assert(PLAN_STEPS_MAX <= UINT16_MAX && PLAN_TIMES_MAX <= UINT16_MAX, "a token has 16 bits for either");

/* ---- keys: a digest of everything that makes two countings the same ---- */

/* The room of a key is charged to whoever makes the call, also where it counts the calls of all tenants. */
static struct tally_key key_of(struct digest *digest, const struct gate_moment *moment, const struct question *question)
{
    unsigned char full[DIGEST_BYTES];
    const struct hash_key *under = &moment->state->key;
    struct tally_key key = {
        .share = share_under(under, moment->home.at != NULL ? moment->home : question->tenant, question->principal),
        .tenant = hash_under(under, question->tenant)};

    digest_final(digest, full);
    memcpy(key.bytes, full, sizeof key.bytes);
    return key;
}

/* Sessions go by their digest, as in the audit, so that what was recorded there counts for the sessions that come. */
static void add_value(struct digest *digest, const struct gate_moment *moment, const struct question *question,
                      enum policy_by by)
{
    struct span value = question_value(question, by);
    unsigned char bytes[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES];

    if (by == POLICY_BY_SESSION && value.len > 0 && !moment->is_recorded) {
        digest_of(value, bytes);
        num_hex(bytes, sizeof bytes, hex);
        value = span_of(hex, sizeof hex);
    }
    parts_add(digest, value);
}

static struct tally_key limit_key(const struct gate_moment *moment, const struct question *question,
                                  const struct policy_limit *limit)
{
    static const struct span kinds[LIMIT_KINDS] = {SPAN_LIT("limit"), SPAN_LIT("sum"), SPAN_LIT("distinct")};
    struct digest digest;

    digest_init(&digest);
    parts_add(&digest, kinds[limit->kind]);
    parts_add(&digest, limit->rule);
    if (limit->kind != LIMIT_CALLS)
        parts_add(&digest, limit->path_text); /* a budget that is raised keeps what was spent of it */
    else
        parts_add_number(&digest, limit->most);
    parts_add_number(&digest, (uint64_t)limit->per_us);
    parts_add_number(&digest, limit->by);
    if (limit->is_node)
        parts_add(&digest, SPAN_LIT("node"));
    for (enum policy_by by = POLICY_BY_TENANT; by < POLICY_BY_COUNT; by++)
        if (limit->by & UINT32_C(1) << by)
            add_value(&digest, moment, question, by);
    return key_of(&digest, moment, question);
}

/* What is counted is kept beside the store. There a value that was erased from the audit must not be one to guess at, so that
 * its digest is made under the state's key; and nobody sees that two principals had the same. */
static void hide_value(const struct gate_moment *moment, const struct policy_value *value, struct tally_take *take)
{
    const struct hash_key *under = &moment->state->key;
    const struct span parts[] = {
        SPAN_LIT("value"), span_of((const char *)under, sizeof *under), span_of((const char *)take->key.bytes, TALLY_KEY_BYTES),
        span_of((const char *)value->bytes, sizeof value->bytes)};
    unsigned char full[DIGEST_BYTES];

    parts_digest(parts, sizeof parts / sizeof parts[0], full);
    memcpy(take->value.bytes, full, sizeof take->value.bytes);
}

static struct tally_take take_of(const struct gate_moment *moment, const struct question *question,
                                 const struct policy_limit *limit, const struct policy_amount *amount)
{
    struct tally_take take = {.key = limit_key(moment, question, limit), .most = limit->most, .amount = amount->number,
                              .per_us = limit->per_us, .of_values = limit->kind == LIMIT_DISTINCT,
                              .of_fleet = !limit->is_node};

    if (take.of_values)
        hide_value(moment, &amount->value, &take);
    return take;
}

/* A session is one of a principal and an agent on a route; a correlation goes through all that a tenant's agents do. */
static struct tally_key watch_key(const struct gate_moment *moment, const struct question *question,
                                  const struct policy_watch *watch, enum policy_by by)
{
    struct digest digest;

    digest_init(&digest);
    parts_add(&digest, SPAN_LIT("watch"));
    parts_add(&digest, watch->key);
    parts_add_number(&digest, by);
    parts_add(&digest, question->tenant);
    if (by == POLICY_BY_SESSION) {
        parts_add(&digest, question->principal);
        parts_add(&digest, question->agent);
        parts_add(&digest, question->upstream);
    }
    add_value(&digest, moment, question, by);
    return key_of(&digest, moment, question);
}

/* ---- what evaluation asks ---- */

static enum policy_known ask_room(void *context, const struct question *question, const struct policy_limit *limit,
                                  const struct policy_amount *amount, struct policy_room *room)
{
    struct gate_moment *moment = context;
    struct tally_take take = take_of(moment, question, limit, amount);
    enum policy_known known;

    take.is_any = amount->is_lost;
    known = tally_has_room(moment->state->tally, &take, moment->now_us, room);

    moment->is_full = moment->is_full || known == POLICY_UNKNOWN;
    return known;
}

/* Without a session nobody knows what was called before in it. */
static enum policy_known ask_called(void *context, const struct question *question, const struct policy_watch *watch,
                                    enum policy_by by, int64_t within_us)
{
    const struct gate_moment *moment = context;
    struct tally_key key;

    if (question_value(question, by).len == 0)
        return POLICY_UNKNOWN;
    key = watch_key(moment, question, watch, by);
    return tally_was_noted(moment->state->tally, &key, moment->now_us, within_us);
}

static enum policy_known ask_granted(void *context, const struct question *question, struct span rule, struct span rule_hash)
{
    const struct gate_moment *moment = context;

    if (moment->granted != NULL)
        return moment->granted(moment->recorded, rule);
    return moment->approvals != NULL ? approvals_known(moment->approvals, question, rule, rule_hash) : POLICY_UNKNOWN;
}

static enum policy_known ask_hint(void *context, const struct question *question, enum policy_hint hint)
{
    const struct gate_moment *moment = context;

    return hints_ask(moment->state->hints, question->upstream, question->tool, hint);
}

static const struct policy_schema *ask_schema(void *context, const struct question *question, uint32_t at)
{
    const struct gate_moment *moment = context;

    (void)question;
    return at == 0 && moment->definition != NULL ? moment->definition->schema : NULL;
}

void gate_state_learn(struct gate_state *state, struct span home, struct span upstream, bool is_minted, struct span tool,
                      const enum policy_known said[POLICY_HINT_COUNT])
{
    hints_learn(state->hints, home, upstream, is_minted, tool, said);
}

void gate_state_listed(struct gate_state *state, struct buf *out)
{
    hints_listed(state->hints, out);
}

struct policy_state gate_moment_view(struct gate_moment *moment)
{
    static const struct policy_past past = {.has_room = ask_room, .was_called = ask_called, .is_granted = ask_granted,
                                            .hint = ask_hint, .schema_of = ask_schema};

    return (struct policy_state){&past, moment};
}

/* ---- what becomes of a verdict ---- */

static void let_go(struct gate_token *token)
{
    mem_free(token->takes);
    *token = (struct gate_token){.state = NULL};
}

enum taking {
    TAKING_NOW,
    TAKING_PAST,   /* the call was permitted before, so it counts whatever the limits say */
    TAKING_WATCHED /* of a monitored permit, which counts at this node alone */
};

/* A value that a person let by takes no place, now as then. */
static void add_takes(const struct gate_moment *moment, const struct question *question, const struct verdict_spent *spent,
                      enum taking taking, struct tally_take takes[TALLY_TAKES_MAX], uint16_t *count)
{
    for (const struct policy_limit *limit = spent->limit; limit != NULL; limit = limit->next) {
        struct tally_take *one = &takes[(*count)++];
        struct policy_amount amount = {.number = spent->amount[limit->at]};

        if (limit->kind == LIMIT_DISTINCT)
            amount.value = spent->values[limit->at];
        *one = take_of(moment, question, limit, &amount);
        one->beyond = spent->beyond && limit->asks;
        one->is_past = taking == TAKING_PAST && !(one->beyond && one->of_values);
        one->of_fleet = one->of_fleet && taking != TAKING_WATCHED;
    }
}

/* All that the permits of both halves count, or nothing. */
static enum code take(const struct gate_moment *moment, const struct question *question, const struct verdict_spent *spent,
                      enum taking taking, struct tally_take takes[TALLY_TAKES_MAX], uint16_t *count)
{
    *count = 0;
    for (unsigned i = 0; i < HALF_COUNT; i++)
        add_takes(moment, question, &spent[i], taking, takes, count);
    return tally_take(moment->state->tally, takes, *count, moment->now_us);
}

static enum code take_limits(const struct gate_moment *moment, const struct question *question,
                             const struct verdict_spent *spent, struct gate_token *token)
{
    enum code code = CODE_NOMEM;

    token->takes = mem_alloc(TALLY_TAKES_MAX * sizeof *token->takes);
    if (token->takes != NULL)
        code = take(moment, question, spent, TAKING_NOW, token->takes, &token->count);
    if (code == CODE_OK)
        token->state = moment->state;
    else
        let_go(token);
    return code;
}

/* A monitored limit counts what would have been permitted, so that one can see what it would do. It changes nothing. */
static void watch_limits(const struct gate_moment *moment, const struct question *question, const struct verdict *verdict,
                         struct gate_token *token)
{
    struct gate_token watched = {.takes = mem_alloc(TALLY_TAKES_MAX * sizeof *watched.takes)};

    for (unsigned i = 0; i < HALF_COUNT && watched.takes != NULL; i++)
        if (verdict->monitor_spent[i] != NULL)
            add_takes(moment, question, verdict->monitor_spent[i], TAKING_WATCHED, watched.takes, &watched.count);
    if (watched.count > 0 && tally_take(moment->state->tally, watched.takes, watched.count, moment->now_us) == CODE_OK)
        watched.state = moment->state;
    if (gate_token_join(token, &watched) != CODE_OK)
        gate_token_give_back(&watched);
}

/* Takes the plan's step beside what the limits took; without a step, what the limits took is given back. */
static enum code take_step(const struct gate_moment *moment, uint32_t found, struct gate_token *token)
{
    enum code code = CODE_OK;
    uint32_t step;

    if (found == 0)
        return CODE_OK;
    code = plan_uses_take(moment->state->plans, moment->plan, moment->home.at != NULL ? moment->home : moment->plan->tenant,
                          &moment->fit, moment->now_us, &step);
    if (code != CODE_OK) {
        gate_token_give_back(token);
        return code;
    }
    token->state = moment->state;
    token->step = (uint16_t)step;
    token->times = (uint16_t)moment->plan->step[step - 1].times;
    token->ends_us = moment->plan->expires_us;
    token->is_ordered = moment->plan->is_strict;
    memcpy(token->plan, moment->plan->digest, DIGEST_BYTES);
    return CODE_OK;
}

void gate_state_count(const struct gate_moment *moment, const struct question *question,
                      const struct verdict_spent spent[HALF_COUNT])
{
    struct tally_take takes[TALLY_TAKES_MAX];
    uint16_t count;

    (void)take(moment, question, spent, TAKING_PAST, takes, &count);
}

static void deny(struct verdict *verdict, enum reason reason)
{
    verdict->kind = VERDICT_DENY;
    verdict->reason = reason;
    verdict->rule = verdict->rule_reason = verdict->say = SPAN_NONE;
    verdict->agent_rule.len = 0;
    verdict->spent[HALF_PERSON].limit = verdict->spent[HALF_AGENT].limit = NULL;
    verdict->wait_us = 1000000;
}

void gate_state_judge(struct gate_moment *moment, const struct policy *policy, struct question *question, bool timed,
                      struct policy_scratch *scratch, struct verdict *verdict, struct gate_token *token)
{
    enum code code = CODE_OK;

    question->state = gate_moment_view(moment);
    *token = (struct gate_token){.state = NULL};
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        if (moment->plan != NULL)
            question->plan.step = plan_uses_find(moment->state->plans, moment->plan, &moment->fit, &question->plan.why);
        moment->is_full = false;
        policy_eval(policy, question, timed, scratch, verdict);
        if (verdict->is_cut)
            return; /* nothing is taken for it */
        if (verdict->reason == REASON_RATE_LIMITED && moment->is_full)
            verdict->reason = REASON_STATE_SHARE;
        code = CODE_OK;
        if (verdict->kind == VERDICT_PERMIT &&
            (verdict->spent[HALF_PERSON].limit != NULL || verdict->spent[HALF_AGENT].limit != NULL))
            code = take_limits(moment, question, verdict->spent, token);
        if (verdict->kind == VERDICT_PERMIT && moment->plan != NULL && code == CODE_OK)
            code = take_step(moment, question->plan.step, token);
        if (code == CODE_OK)
            break;
    }
    /* The step that was taken may be a later one than was found, since another call may have used that. */
    moment->step = token->state != NULL && token->step != 0 ? token->step : question->plan.step;
    if (code != CODE_OK)
        deny(verdict, code == CODE_LIMIT ? REASON_RATE_LIMITED : REASON_STATE_SHARE);
    if (verdict->monitor_spent[HALF_PERSON] != NULL || verdict->monitor_spent[HALF_AGENT] != NULL)
        watch_limits(moment, question, verdict, token);
}

void gate_token_spend(struct gate_token *token)
{
    if (token->state != NULL && token->step != 0 && token->is_ordered)
        plan_uses_settle(token->state->plans, token->plan);
    let_go(token);
}

void gate_token_give_back(struct gate_token *token)
{
    for (uint16_t i = 0; token->state != NULL && i < token->count; i++)
        tally_give_back(token->state->tally, &token->takes[i]);
    if (token->state != NULL && token->step != 0)
        plan_uses_give_back(token->state->plans, token->plan, token->step);
    let_go(token);
}

enum code gate_token_join(struct gate_token *token, struct gate_token *other)
{
    uint16_t count = other->state != NULL ? other->count : 0;
    struct tally_take *takes = count > 0 ? mem_resize(token->takes, ((size_t)token->count + count) * sizeof *takes) : NULL;

    if (count > 0 && takes == NULL)
        return CODE_NOMEM;
    for (uint16_t i = 0; i < count; i++)
        takes[token->count++] = other->takes[i];
    if (count > 0) {
        token->takes = takes;
        token->state = other->state;
    }
    let_go(other);
    return CODE_OK;
}

/* ---- what counts over a fleet ---- */

void gate_token_renew(struct gate_token *token, int64_t now_us)
{
    for (uint32_t i = 0; token->state != NULL && i < token->count; i++) {
        struct tally_take *take = &token->takes[i];

        if (!take->of_fleet || take->taken_us == INT64_MIN)
            continue;
        tally_give_back(token->state->tally, take);
        take->is_past = true; /* whoever came meanwhile */
        if (tally_take(token->state->tally, take, 1, now_us) != CODE_OK)
            take->taken_us = INT64_MIN;
    }
}

enum code gate_token_wish(const struct gate_token *token, struct wish **wish)
{
    enum code code = CODE_OK;

    for (uint32_t i = 0; token->state != NULL && i < token->count && code == CODE_OK; i++) {
        const struct tally_take *take = &token->takes[i];
        struct wish_take one = {.kind = take->of_values ? WISH_VALUE : WISH_AMOUNT, .most = take->most, .amount = take->amount,
                                .per_us = take->per_us, .is_beyond = take->beyond};

        if (take->of_fleet && !take->of_values)
            one.own = tally_settled(token->state->tally, take);
        memcpy(one.key, take->key.bytes, TALLY_KEY_BYTES);
        memcpy(one.key + TALLY_KEY_BYTES, &take->value, sizeof take->value);
        if (take->of_fleet)
            code = wish_add(wish, &one);
    }
    if (token->state != NULL && token->step != 0 && code == CODE_OK) {
        struct wish_take one = {.kind = WISH_STEP, .most = token->times, .amount = token->step, .per_us = token->ends_us,
                                .is_beyond = token->is_ordered};

        memcpy(one.key, token->plan, DIGEST_BYTES);
        code = wish_add(wish, &one);
    }
    return code;
}

enum code gate_state_hear(struct gate_state *state, const struct wish *wish, struct span tenant, int64_t now_us)
{
    const struct wish_answer *answer = &wish->answer;
    const struct wish_take *at = &wish->takes[answer->at < wish->count ? answer->at : 0];
    struct tally_take take = {.amount = at->amount, .of_values = at->kind == WISH_VALUE};

    memcpy(take.key.bytes, at->key, TALLY_KEY_BYTES);
    memcpy(&take.value, at->key + TALLY_KEY_BYTES, sizeof take.value);
    if (answer->fate == WISH_FULL && at->kind != WISH_STEP)
        tally_refuse(state->tally, &take, now_us, answer->wait_us, answer->taken);
    for (uint32_t i = 0; i < wish->count && answer->fate == WISH_GIVEN; i++)
        if (wish->takes[i].kind == WISH_STEP)
            at = &wish->takes[i]; /* the last one, of which it is told what was used */
    if (at->kind != WISH_STEP)
        return CODE_OK;
    return plan_uses_learn(state->plans, at->key, tenant, answer->used, answer->count, now_us);
}

void gate_state_write_uses(struct gate_state *state, uint32_t part, int64_t now_us, struct buf *out)
{
    tally_write_uses(state->tally, part, now_us, out);
    plan_uses_write(state->plans, part, now_us, out);
}

/* ---- notes ---- */

struct noting {
    const struct gate_moment *moment;
    const struct question *question;
};

static void note_watch(void *context, const struct policy_watch *watch, bool is_sure)
{
    const struct noting *noting = context;

    for (enum policy_by by = POLICY_BY_TENANT; by < POLICY_BY_COUNT; by++) {
        struct tally_key key;

        if (!(watch->by & UINT32_C(1) << by) || question_value(noting->question, by).len == 0)
            continue;
        key = watch_key(noting->moment, noting->question, watch, by);
        (is_sure ? tally_note : tally_doubt)(noting->moment->state->tally, &key, noting->moment->now_us, watch->longest_us);
    }
}

void gate_state_doubt(const struct gate_moment *moment, int64_t keep_us)
{
    tally_doubt_all(moment->state->tally, moment->now_us, keep_us);
}

struct policy_met gate_met(const struct verdict *verdict)
{
    return (struct policy_met){verdict->rules, verdict->rule_count, {verdict->rule, verdict->agent_rule}};
}

void gate_state_note(const struct gate_moment *moment, const struct policy *policy, const struct question *question,
                     const struct policy_met *met)
{
    struct noting noting = {moment, question};

    if (policy != NULL)
        policy_each_watch(policy, question, met, note_watch, &noting);
}
