/* SPDX-License-Identifier: Apache-2.0 */
#include "enforce/gate_priv.h"

#include "base/bug.h"
#include "base/lock.h"
#include "base/mem.h"
#include "crypto/secret.h"
#include "os/clock.h"
#include "judgement/judgement.h"

#define ROUNDS_MAX 4 /* evaluations of one call that each lost the race for an approval */

enum code gate_shared_new(const struct gate_shared_conf *conf, struct gate_shared **out)
{
    struct gate_shared *shared = mem_zalloc(sizeof *shared);
    unsigned char of_shares[DIGEST_BYTES];

    *out = shared;
    if (shared == NULL)
        return CODE_NOMEM;
    digest_of_two(span_of(conf->past_key, DIGEST_BYTES), SPAN_LIT("shares"), of_shares);
    memcpy(&shared->past_key, of_shares, sizeof shared->past_key);
    shared->redact_key = secret_copy(conf->redact_key, DIGEST_BYTES);
    shared->session_key = secret_copy(conf->session_key, DIGEST_BYTES);
    atomic_init(&shared->generation, 1);
    lock_init(&shared->lock);
    gate__questions_init(shared);
    shared->clock_us = clock_wall_us() - clock_monotonic_us();
    if (shared->redact_key == NULL || shared->session_key == NULL ||
        fold_new(&shared->fold) != CODE_OK || gate_state_new(GATE_STATE_BYTES, &shared->past_key, &shared->state) != CODE_OK ||
        approvals_new(conf->approval_key, &shared->approvals) != CODE_OK ||
        definitions_new(&shared->definitions) != CODE_OK || stops_new(NULL, 0, &shared->stops) != CODE_OK ||
        rule_stops_new(&shared->rule_stops) != CODE_OK || alerts_new(&shared->alerts) != CODE_OK ||
        (conf->has_fleet && wishes_new(&shared->wishes) != CODE_OK)) {
        gate_shared_free(out);
        return CODE_NOMEM;
    }
    return CODE_OK;
}

void gate_shared_free(struct gate_shared **shared)
{
    struct gate_shared *gone = *shared;

    *shared = NULL;
    if (gone == NULL)
        return;
    policy_unref(&gone->policy);
    identity_keys_unref(&gone->keys);
    stops_unref(&gone->stops);
    rule_stops_free(&gone->rule_stops);
    definition_set_unref(&gone->accepted);
    definitions_free(&gone->definitions);
    fold_free(&gone->fold);
    policy_unref(&gone->coming);
    gate_state_free(&gone->state);
    wishes_free(&gone->wishes);
    approvals_free(&gone->approvals);
    alerts_free(&gone->alerts);
    gate__questions_fini(gone);
    pthread_mutex_destroy(&gone->lock);
    secret_free(gone->redact_key, DIGEST_BYTES);
    secret_free(gone->session_key, DIGEST_BYTES);
    mem_free(gone);
}

/* Puts what workers go by from now on into its place in *shared. Returns: what stood there, the caller's. */
static void *publish(struct gate_shared *shared, void *place, void *take)
{
    void *old;

    lock_take(&shared->lock);
    memcpy(&old, place, sizeof old); /* a pointer of any type */
    memcpy(place, &take, sizeof take);
    atomic_fetch_add_explicit(&shared->generation, 1, memory_order_release);
    lock_give(&shared->lock);
    return old;
}

void gate_publish_policy(struct gate_shared *shared, struct policy *policy_take)
{
    struct policy *old = publish(shared, &shared->policy, policy_take);

    policy_unref(&old);
    gate_announce_policy(shared, NULL);
}

void gate_publish_keys(struct gate_shared *shared, struct identity_keys *keys_take)
{
    struct identity_keys *old = publish(shared, &shared->keys, keys_take);

    identity_keys_unref(&old);
}

void gate_publish_definitions(struct gate_shared *shared, struct definition_set *set_take)
{
    struct definition_set *old = publish(shared, &shared->accepted, set_take);

    definition_set_unref(&old);
}

void gate_publish_stops(struct gate_shared *shared, struct stops *stops_take)
{
    struct stops *old = publish(shared, &shared->stops, stops_take);

    stops_unref(&old);
}

void gate_hold_back(struct gate_shared *shared, bool is_starting)
{
    atomic_store_explicit(&shared->is_starting, is_starting, memory_order_release);
}

void gate_withhold(struct gate_shared *shared, enum reason reason)
{
    atomic_store_explicit(&shared->withheld, (int)reason, memory_order_release);
}

struct gate_state *gate_state_of(struct gate_shared *shared)
{
    return shared->state;
}

struct approvals *gate_approvals(struct gate_shared *shared)
{
    return shared->approvals;
}

struct alerts *gate_alerts(struct gate_shared *shared)
{
    return shared->alerts;
}

/* Takes: policy: the caller's reference, or NULL. Returns: NULL where there is no policy, or no memory; then the
 * reference is given back. */
static struct gate_snapshot *hold(struct policy *policy)
{
    struct gate_snapshot *held = policy != NULL ? mem_alloc(sizeof *held) : NULL;

    if (held == NULL) {
        policy_unref(&policy);
        return NULL;
    }
    held->policy = policy;
    ref_init(&held->ref);
    return held;
}

static void let_go(struct gate_snapshot **held)
{
    struct gate_snapshot *gone = *held;

    *held = NULL;
    if (gone == NULL || !ref_drop(&gone->ref))
        return;
    policy_unref(&gone->policy);
    mem_free(gone);
}

enum code gate_new(struct gate_shared *shared, struct audit_ring *ring, struct gate **out)
{
    struct gate *gate = mem_zalloc(sizeof *gate);
    enum code code;

    *out = gate;
    if (gate == NULL)
        return CODE_NOMEM;
    gate->shared = shared;
    gate->ring = ring;
    arena_init(&gate->plans.arena, (size_t)4 << 20);
    buf_init(&gate->plans.text, (size_t)1 << 20);
    code = gate__record_text_init(&gate->text);
    if (code == CODE_OK)
        code = policy_scratch_new(&gate->scratch);
    if (code != CODE_OK)
        gate_free(out);
    return code;
}

enum code gate_beside(const struct gate *gate, struct gate **beside)
{
    return gate_new(gate->shared, gate->ring, beside);
}

void gate_free(struct gate **gate)
{
    struct gate *gone = *gate;

    *gate = NULL;
    if (gone == NULL)
        return;
    let_go(&gone->held);
    identity_keys_unref(&gone->keys);
    stops_unref(&gone->stops);
    definition_set_unref(&gone->accepted);
    policy_scratch_free(&gone->scratch);
    gate__record_text_fini(&gone->text);
    arena_fini(&gone->plans.arena);
    buf_fini(&gone->plans.text);
    mem_free(gone);
}

bool gate__is_current(const struct gate *gate)
{
    return atomic_load_explicit(&gate->shared->generation, memory_order_acquire) == gate->generation;
}

struct policy *gate_policy(struct gate_shared *shared)
{
    struct policy *policy;

    lock_take(&shared->lock);
    policy = shared->policy != NULL ? policy_ref(shared->policy) : NULL;
    lock_give(&shared->lock);
    return policy;
}

void gate__follow(struct gate *gate)
{
    struct gate_shared *shared = gate->shared;
    struct gate_snapshot *held;
    struct identity_keys *keys;
    struct stops *stops;
    struct definition_set *accepted;
    struct policy *policy;
    uint64_t generation;

    if (gate__is_current(gate))
        return;
    keys = gate->keys;
    stops = gate->stops;
    accepted = gate->accepted;
    lock_take(&shared->lock);
    generation = atomic_load_explicit(&shared->generation, memory_order_relaxed);
    policy = shared->policy != NULL ? policy_ref(shared->policy) : NULL;
    gate->keys = identity_keys_ref(shared->keys);
    gate->stops = stops_ref(shared->stops);
    gate->accepted = definition_set_ref(shared->accepted);
    lock_give(&shared->lock);
    identity_keys_unref(&keys);
    stops_unref(&stops);
    definition_set_unref(&accepted);
    held = hold(policy);
    if (held != NULL || policy == NULL)
        gate->generation = generation; /* without memory the number stays old: all is denied, and the next call tries again */
    let_go(&gate->held);
    gate->held = held;
    gate->policy = held != NULL ? held->policy : NULL;
}

struct identity_keys *gate_keys(struct gate *gate)
{
    gate__follow(gate);
    return gate->keys;
}

void gate_tick(struct gate_shared *shared, struct audit_ring *ring, int64_t now_us, int64_t time_us, bool all)
{
    fold_tick(shared->fold, ring, now_us, time_us, all);
}

const unsigned char *gate_session_key(const struct gate *gate)
{
    return gate->shared->session_key;
}

/* A second check behind the evaluation: kind and reason must agree, and where it came to no end all values are redacted. */
static void make_consistent(struct verdict *verdict)
{
    bool permits = verdict->kind == VERDICT_PERMIT;

    if (permits != (verdict->reason == REASON_PERMITTED)) {
        verdict->kind = VERDICT_DENY;
        verdict->reason = REASON_INTERNAL;
    }
    if (verdict->reason == REASON_NO_POLICY || verdict->reason == REASON_MEMORY || verdict->reason == REASON_INTERNAL)
        verdict->redact_all = true;
}

struct gate_moment gate__moment_of(const struct gate *gate, const struct call *call)
{
    return (struct gate_moment){
        /* A server's message is never approved: nobody could make the server send it again. */
        .state = gate->shared->state, .approvals = call->within != NULL ? NULL : gate->shared->approvals,
        .now_us = call->read_us + gate->shared->clock_us, .home = call_home(call),
    };
}

/* No policy was asked, so nobody knows what is to be redacted: all is. */
static void settle_unjudged(enum reason refused, struct verdict *verdict)
{
    verdict->reason = refused;
    verdict->redact_all = true;
    if (refused == REASON_PERMITTED)
        verdict->kind = VERDICT_PERMIT;
}

/* Another call may take the same approval between the evaluation and the taking. Then this call is judged again, and held. */
static void evaluate(struct gate *gate, struct call *call, struct gate_moment *moment)
{
    bool settled = false;

    if (gate->policy != NULL && policy_holds(gate->policy) && call->within == NULL &&
        gate__bound_text(&gate->text, gate->policy, &call->asked) != CODE_OK) {
        call->verdict.reason = REASON_MEMORY;
        make_consistent(&call->verdict);
        return;
    }
    for (unsigned round = 0; round < ROUNDS_MAX && !settled; round++) {
        gate_token_give_back(&call->token);
        gate_state_judge(moment, gate->policy, &call->asked, true, gate->scratch, &call->verdict, &call->token);
        if (call->verdict.is_cut)
            return;
        make_consistent(&call->verdict);
        settled = call->within != NULL || gate__mind_approvals(gate, call);
    }
    if (!settled) {
        gate_token_give_back(&call->token);
        call->verdict.kind = VERDICT_HOLD;
        call->verdict.reason = REASON_APPROVAL_REQUIRED;
    }
    call->plan.step = moment->step;
}

/* What the evaluation borrowed (the past, the plan, texts of this gate) is cleared behind it, since it is valid no longer. */
static void ask_policy(struct gate *gate, struct call *call)
{
    struct question *asked = &call->asked;
    struct gate_moment moment = gate__moment_of(gate, call);
    enum reason refused = gate__plan(gate, call, &moment);

    gate__find_definition(gate, call);
    moment.definition = gate__accepted(gate, call);
    if (refused != REASON_UNSET)
        settle_unjudged(refused, &call->verdict);
    else
        evaluate(gate, call, &moment);
    asked->state = (struct policy_state){.past = NULL};
    asked->plan = (struct question_plan){.step = 0};
    asked->bound = SPAN_NONE;
    asked->bound_has_root = false;
    gate__mind_definition(gate, call);
}

/* Whether the refusal is only counted. A refusal costs its cause nothing, so many get no rows of their own. */
static bool folds(struct gate *gate, const struct call *call)
{
    /* The credential's own tenant counts, since callers choose among those that it may act for. */
    const struct fold_call one = {.reason = call->verdict.reason, .tenant = call_home(call), .rule = call->verdict.rule,
                                  .principal = call->asked.principal, .tool = call->asked.tool};
    struct fold *fold = gate->shared->fold;
    int64_t now_us = clock_monotonic_us(), time_us = call->asked.time_us;

    if (one.principal.at == NULL)
        return call->refused != REASON_UNSET && fold_takes(fold, one.reason, call->asked.client, now_us, time_us);
    return fold_takes_call(fold, &one, one.reason == REASON_REQUEST_RATE ? FOLD_ROWS_A_SECOND : FOLD_DENIALS_A_SECOND,
                           now_us, time_us);
}

void gate_judge(struct gate *gate, struct call *call)
{
    enum reason stopped, withheld;

    gate__follow(gate);
    call->policy = gate->policy;
    call->held = gate->held;
    if (gate->held != NULL)
        ref_take(&gate->held->ref);
    if ((call->refused == REASON_UNSET || call->refused == REASON_PERMITTED) && !call->is_join && !call->is_report &&
        (stopped = gate__stop(gate, call)) != REASON_UNSET) {
        settle_unjudged(stopped, &call->verdict);
    } else if (call->refused != REASON_UNSET || call->is_join) {
        settle_unjudged(call->refused != REASON_UNSET ? call->refused : REASON_PERMITTED, &call->verdict);
    } else if (atomic_load_explicit(&gate->shared->is_starting, memory_order_acquire)) {
        settle_unjudged(REASON_STARTING, &call->verdict);
    } else if ((withheld = (enum reason)atomic_load_explicit(&gate->shared->withheld, memory_order_acquire)) != REASON_UNSET) {
        settle_unjudged(withheld, &call->verdict);
    } else {
        ask_policy(gate, call);
    }
    if (!call->verdict.is_cut)
        gate__keep_redacted(gate, call);
    if (gate->policy != NULL && call->verdict.policy_version == 0) {
        call->verdict.policy_version = policy_version(gate->policy);
        call->verdict.policy_hash = policy_hash(gate->policy);
    }
    call->judge_us = clock_monotonic_us() - call->read_us;
}

static enum audit_verdict recorded_verdict(enum verdict_kind kind)
{
    switch (kind) {
    case VERDICT_PERMIT:
        return AUDIT_PERMIT;
    case VERDICT_HOLD:
        return AUDIT_HOLD;
    case VERDICT_DENY:
        break;
    }
    return AUDIT_DENY;
}

static void fill_record(struct gate *gate, const struct call *call, int status, struct audit_decision *record)
{
    const struct verdict *verdict = &call->verdict;
    const unsigned char *key = gate->shared->redact_key;
    bool permits = verdict->kind == VERDICT_PERMIT, redacted = call->arguments.at != NULL || call->params.at != NULL;
    const struct question *asked = &call->asked;
    /* without a principal the credential was not accepted */
    const struct identity *who = asked->principal.at != NULL ? call->who : NULL;
    const struct identity_token *token = who != NULL ? who->token : NULL;

    *record = (struct audit_decision){
        .time_us = asked->time_us, .tenant = asked->tenant, .principal = asked->principal, .client = asked->client,
        .authentication = who != NULL ? who->authentication : SPAN_NONE, .issuer = token != NULL ? token->issuer : SPAN_NONE,
        .token_key = token != NULL ? token->key_id : SPAN_NONE, .api_key = call->who != NULL ? call->who->key_id : 0,
        .agent = asked->agent, .agent_from = who != NULL ? who->agent_from : SPAN_NONE,
        .actors = who != NULL ? who->actors : SPAN_NONE,
        .session = asked->session, .correlation = asked->correlation, .correlation_replaced = call->correlation_replaced,
        .trace = call->trace, .upstream = asked->upstream, .dialect = call->dialect, .protocol_version = call->protocol_version,
        .direction = call->within != NULL ? SPAN_LIT("server") : SPAN_LIT("agent"),
        .method = asked->method, .tool = call->target,
        .via = asked->via.len > 0 ? asked->via : SPAN_NONE, .rpc_id = call->message.id, .body = call->body,
        .target = asked->path.at == NULL && asked->query.len > 0 ? SPAN_LIT("") : asked->path,
        .verdict = recorded_verdict(verdict->kind), .reason = verdict->reason, .rule = verdict->rule,
        .rule_reason = verdict->rule_reason, .undecided = verdict->undecided,
        .policy_version = verdict->policy_version, .policy_hash = verdict->policy_hash,
        .judge_us = call->judge_us, .status = permits ? 0 : status,
        .latency_us = permits ? 0 : clock_monotonic_us() - call->began_us,
        .expects_outcome = permits && call->expects_outcome, .is_told_later = call->is_own,
        .arguments = call->arguments, .params = call->params,
    };
    if (question_needs_agent(asked)) /* also of a call that no policy was asked about: whoever asks one again has to know */
        record->agent_rule = verdict->agent_rule.at != NULL ? verdict->agent_rule : SPAN_LIT("");
    record->definition = gate__definition_text(&gate->text, call);
    gate__plan_texts(&gate->text, &call->plan, record);
    if (record->arguments.at == NULL)
        record->arguments = gate__arguments_text(&gate->text, key, asked->root, verdict, &redacted);
    if (record->params.at == NULL)
        record->params = gate__params_text(&gate->text, key, asked->params, verdict, &redacted);
    record->query = gate__query_text(&gate->text, key, asked->query, verdict, &redacted);
    record->arguments_redacted = redacted;
    record->groups = gate__held_text(&gate->text.groups, asked->groups, asked->group_count);
    record->scopes = gate__held_text(&gate->text.scopes, asked->scopes, asked->scope_count);
    record->claims = gate__claims_text(&gate->text, call->policy, asked->claims);
    record->client_says = gate__client_text(&gate->text, call, redacted);
    record->rules = gate__rules_text(&gate->text, verdict, &call->approvals);
    record->monitor = gate__monitor_text(&gate->text, verdict);
}

enum code gate_record(struct gate *gate, struct call *call, int status)
{
    struct audit_decision record;
    enum code code;

    call->folded = call->verdict.kind == VERDICT_DENY ? folds(gate, call) : call->is_join || call->is_report;
    if (call->folded)
        return CODE_OK;
    code = gate__record_plan(gate, call);
    if (code != CODE_OK)
        return code;
    fill_record(gate, call, status, &record);
    return audit_put_decision(gate->ring, &record, &call->ticket);
}

static void besides(struct gate *gate, const struct call *call, struct span rule, uint64_t seq)
{
    struct policy_besides does = policy_besides_of(call->policy, rule);
    const struct alert_denial denial = {
        .rule = rule, .tenant = call_home(call), .reason = does.reason, .correlation = call->asked.correlation, .seq = seq,
        .policy_version = call->verdict.policy_version,
    };

    if (does.alerts)
        alerts_deny(gate->shared->alerts, &denial, clock_monotonic_us(), call->asked.time_us);
    gate__stop_by_rule(gate, call, rule, does.stops_us);
}

/* Every forbid that applied denies, and so does the rule that is named. */
void gate_alert(struct gate *gate, const struct call *call, uint64_t seq)
{
    const struct verdict *verdict = &call->verdict;

    if (verdict->kind != VERDICT_DENY || (!verdict->alerts && !verdict->stops) || (seq == 0 && !call->folded))
        return;
    for (uint32_t i = 0; i < verdict->rule_count && i < VERDICT_RULES_MAX; i++) {
        const struct verdict_rule *rule = &verdict->rules[i];

        if (!rule->monitor && (rule->effect == EFFECT_FORBID || span_equals(rule->id, verdict->rule)))
            besides(gate, call, rule->id, seq);
    }
}

void gate_settle(struct gate *gate, struct call *call)
{
    bool is_durable = call->seq != 0;

    gate_alert(gate, call, call->seq);

    /* Noted before a byte of the call goes up, so that no later call can be judged without it. */
    if (is_durable && call_is_permit(call)) {
        struct policy_met met = gate_met(&call->verdict);

        gate__note(gate, call, call->policy, &met, false);
    }
    if (is_durable)
        gate_token_spend(&call->token);
    else
        gate_token_give_back(&call->token);
    gate__settle_approvals(gate, call);
}

void gate_revoke(struct call *call, enum reason reason)
{
    BUG_ON(call->ticket != 0);
    gate_token_give_back(&call->token);
    gate__drop_approvals(call);
    call->approvals.count = 0;
    call->verdict.kind = VERDICT_DENY;
    call->verdict.reason = reason;
}

enum code gate_join(struct call *call, struct call *other)
{
    struct approval_marks *to = &call->approvals, *from = &other->approvals;

    if (from->of != NULL && to->of != NULL && to->count + from->count > VERDICT_APPROVALS_MAX)
        return CODE_LIMIT;
    if (gate_token_join(&call->token, &other->token) != CODE_OK)
        return CODE_NOMEM;
    for (uint32_t i = 0; from->of != NULL && to->of != NULL && i < from->count; i++)
        to->mark[to->count++] = from->mark[i];
    if (from->of != NULL && to->of == NULL)
        *to = *from;
    from->of = NULL;
    gate_let_go(other);
    return CODE_OK;
}

void gate_stand_for(struct call *call, struct call *item)
{
    size_t judged = offsetof(struct call, policy);

    gate_let_go(call);
    call->asked = item->asked;
    call->target = item->target;
    call->refused = item->refused;
    memcpy((char *)call + judged, (char *)item + judged, sizeof *call - judged);
}

void gate_pass(struct call *call)
{
    gate_token_spend(&call->token);
}

enum audit_fate gate_fate(const struct gate *gate, uint64_t ticket, uint64_t *seq)
{
    return audit_fate(gate->ring, ticket, seq);
}

void gate_outcome(struct gate *gate, const struct audit_result *result)
{
    audit_put_result(gate->ring, result);
}

void gate_let_go(struct call *call)
{
    if (call->ticket != 0) /* recorded, but its fate is unknown: it counts, as it would after a restart */
        gate_token_spend(&call->token);
    gate_token_give_back(&call->token);
    gate__drop_approvals(call);
    let_go(&call->held);
    call_unjudge(call);
}

struct span gate_lacking_scope(struct gate *gate, const struct call *call)
{
    struct question question = call->asked;
    struct gate_moment moment = gate__moment_of(gate, call);

    moment.definition = gate__accepted(gate, call);
    question.state = gate_moment_view(&moment);
    return policy_lacking_scope(call->policy, &question, gate->scratch);
}

bool gate_may_see(struct gate *gate, const struct call *call, struct span method, struct span target, bool is_template)
{
    struct question question = call->asked;

    question.method = method;
    question.tool = question.prompt = question.resource = SPAN_NONE;
    call_aim(&question, target);
    question.any_resource = is_template;
    question.any_scope = call->may_step_up;
    question.root = NULL;
    gate__follow(gate);
    if (call->is_join)
        return true;
    return policy_could_permit(gate->policy, &question, gate->scratch);
}
