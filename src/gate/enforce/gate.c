/* SPDX-License-Identifier: Apache-2.0 */
#include "enforce/answer.h"
#include "enforce/gate_priv.h"

#include "base/bug.h"
#include "base/mem.h"
#include "crypto/secret.h"
#include "os/clock.h"
#include "judgement/judgement.h"

#define ROUNDS_MAX 4 /* evaluations of one call that each lost the race for an approval */

enum code gate_shared_new(const struct gate_shared_conf *conf, struct gate_shared **out)
{
    struct gate_shared *shared = mem_zalloc(sizeof *shared);

    *out = shared;
    if (shared == NULL)
        return CODE_NOMEM;
    shared->redact_key = secret_copy(conf->redact_key, DIGEST_BYTES);
    shared->session_key = secret_copy(conf->session_key, DIGEST_BYTES);
    atomic_init(&shared->generation, 1);
    BUG_ON(pthread_mutex_init(&shared->lock, NULL) != 0);
    gate__questions_init(shared);
    shared->clock_us = clock_wall_us() - clock_monotonic_us();
    if (shared->redact_key == NULL || shared->session_key == NULL ||
        fold_new(&shared->fold) != CODE_OK || gate_state_new(GATE_STATE_BYTES, &shared->state) != CODE_OK ||
        approvals_new(conf->approval_key, &shared->approvals) != CODE_OK ||
        definitions_new(&shared->definitions) != CODE_OK) {
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
    definition_set_unref(&gone->accepted);
    definitions_free(&gone->definitions);
    fold_free(&gone->fold);
    policy_unref(&gone->coming);
    gate_state_free(&gone->state);
    approvals_free(&gone->approvals);
    gate__questions_fini(gone);
    pthread_mutex_destroy(&gone->lock);
    secret_free(gone->redact_key, DIGEST_BYTES);
    secret_free(gone->session_key, DIGEST_BYTES);
    mem_free(gone);
}

static void lock(struct gate_shared *shared)
{
    BUG_ON(pthread_mutex_lock(&shared->lock) != 0);
}

static void unlock(struct gate_shared *shared)
{
    BUG_ON(pthread_mutex_unlock(&shared->lock) != 0);
}

void gate_publish_policy(struct gate_shared *shared, struct policy *policy_take)
{
    struct policy *old;

    lock(shared);
    old = shared->policy;
    shared->policy = policy_take;
    atomic_fetch_add_explicit(&shared->generation, 1, memory_order_release);
    unlock(shared);
    policy_unref(&old);
    gate_announce_policy(shared, NULL);
}

void gate_hold_back(struct gate_shared *shared, bool is_starting)
{
    atomic_store_explicit(&shared->is_starting, is_starting, memory_order_release);
}

void gate_publish_keys(struct gate_shared *shared, struct identity_keys *keys_take)
{
    struct identity_keys *old;

    lock(shared);
    old = shared->keys;
    shared->keys = keys_take;
    atomic_fetch_add_explicit(&shared->generation, 1, memory_order_release);
    unlock(shared);
    identity_keys_unref(&old);
}

void gate_publish_definitions(struct gate_shared *shared, struct definition_set *set_take)
{
    struct definition_set *old;

    lock(shared);
    old = shared->accepted;
    shared->accepted = set_take;
    atomic_fetch_add_explicit(&shared->generation, 1, memory_order_release);
    unlock(shared);
    definition_set_unref(&old);
}

struct gate_state *gate_state_of(struct gate_shared *shared)
{
    return shared->state;
}

struct approvals *gate_approvals(struct gate_shared *shared)
{
    return shared->approvals;
}

/* Takes: policy_take NULL: none. Returns: NULL where there is no policy or, with the policy given back, no memory. */
static struct gate_snapshot *hold(struct policy *policy)
{
    struct gate_snapshot *held = policy != NULL ? mem_alloc(sizeof *held) : NULL;

    if (held == NULL)
        policy_unref(&policy);
    else
        *held = (struct gate_snapshot){.policy = policy, .users = 1};
    return held;
}

static void let_go(struct gate_snapshot **held)
{
    struct gate_snapshot *gone = *held;

    *held = NULL;
    if (gone == NULL || atomic_fetch_sub_explicit(&gone->users, 1, memory_order_acq_rel) > 1)
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

    lock(shared);
    policy = shared->policy != NULL ? policy_ref(shared->policy) : NULL;
    unlock(shared);
    return policy;
}

void gate__follow(struct gate *gate)
{
    struct gate_shared *shared = gate->shared;
    struct gate_snapshot *held;
    struct identity_keys *keys;
    struct definition_set *accepted;
    struct policy *policy;
    uint64_t generation;

    if (gate__is_current(gate))
        return;
    keys = gate->keys;
    accepted = gate->accepted;
    lock(shared);
    generation = atomic_load_explicit(&shared->generation, memory_order_relaxed);
    policy = shared->policy != NULL ? policy_ref(shared->policy) : NULL;
    gate->keys = identity_keys_ref(shared->keys);
    gate->accepted = definition_set_ref(shared->accepted);
    unlock(shared);
    identity_keys_unref(&keys);
    definition_set_unref(&accepted);
    held = hold(policy);
    if (held != NULL || policy == NULL)
        gate->generation = generation; /* else there was no memory: without a policy all is denied, and this is tried again */
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

/* Belt and braces around the evaluation: kind and reason must agree, and where it came to no end nothing is recorded open. */
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

struct gate_moment gate__moment_of(const struct gate *gate, const struct gate_message *message)
{
    return (struct gate_moment){
        /* Nobody can make a server ask again: its messages are held for good. */
        .state = gate->shared->state, .approvals = message->from_server ? NULL : gate->shared->approvals,
        .now_us = message->read_us + gate->shared->clock_us, .home = message->home,
    };
}

/* What was never asked of a policy cannot say what its redactions are. */
static void settle_unjudged(enum reason refused, struct verdict *verdict)
{
    verdict->reason = refused;
    verdict->redact_all = true;
    if (refused == REASON_PERMITTED)
        verdict->kind = VERDICT_PERMIT;
}

/* Every use of the scratch spoils what an earlier evaluation left in it. Where another call took the approval between the
 * question and the taking, it is judged again: the one that came too late is held. */
static void evaluate(struct gate *gate, const struct gate_message *message, struct gate_decision *decision)
{
    struct question question = gate__question_of(message);
    struct gate_moment moment = gate__moment_of(gate, message);
    enum reason refused = gate__plan(gate, message, &moment, decision);
    bool settled = false;

    gate__find_definition(gate, message, decision);
    moment.definition = gate__accepted(gate, message, decision);
    if (refused != REASON_UNSET) {
        settle_unjudged(refused, &decision->verdict);
        return;
    }
    if (gate->policy != NULL && !message->from_server &&
        gate__bound_text(&gate->text, gate->policy, &question) != CODE_OK) {
        decision->verdict.reason = REASON_MEMORY;
        make_consistent(&decision->verdict);
        return;
    }
    for (unsigned round = 0; round < ROUNDS_MAX && !settled; round++) {
        gate_token_give_back(&decision->token);
        gate->serial++;
        gate_state_judge(&moment, gate->policy, &question, true, gate->scratch, &decision->verdict, &decision->token);
        make_consistent(&decision->verdict);
        settled = message->from_server || gate__mind_approvals(gate, &question, message->home, decision);
    }
    if (!settled) {
        decision->verdict.kind = VERDICT_HOLD;
        decision->verdict.reason = REASON_APPROVAL_REQUIRED;
    }
    decision->plan.step = moment.step;
}

/* Refusals cost whoever provokes them nothing, so they are counted when there are many. */
static bool folds(struct gate *gate, const struct gate_message *message, const struct verdict *verdict)
{
    /* By the tenant that a credential is of, since callers choose among those that it may act for. */
    const struct fold_call call = {.reason = verdict->reason, .tenant = message->home, .principal = message->principal,
                                   .tool = message->tool, .rule = verdict->rule};
    struct fold *fold = gate->shared->fold;
    int64_t now_us = clock_monotonic_us();

    if (verdict->kind != VERDICT_DENY)
        return false;
    if (message->principal.at == NULL)
        return message->refused != REASON_UNSET && fold_takes(fold, call.reason, message->client, now_us, message->time_us);
    return fold_takes_call(fold, &call, call.reason == REASON_REQUEST_RATE ? FOLD_ROWS_A_SECOND : FOLD_DENIALS_A_SECOND,
                           now_us, message->time_us);
}

void gate_decision_init(struct gate_decision *decision)
{
    /* All but the long lists, which their counts guard. */
    memset(decision, 0, offsetof(struct gate_decision, approvals.mark));
    decision->token.state = NULL;
    decision->plan.is_known = decision->has_definition = false;
    memset(&decision->verdict, 0, offsetof(struct verdict, rules));
}

void gate_judge(struct gate *gate, const struct gate_message *message, struct gate_decision *decision)
{
    int64_t began_us = clock_monotonic_us();

    gate_decision_init(decision);
    gate__follow(gate);
    decision->policy = gate->policy;
    decision->held = gate->held;
    if (gate->held != NULL)
        atomic_fetch_add_explicit(&gate->held->users, 1, memory_order_relaxed);
    if (message->refused != REASON_UNSET) {
        settle_unjudged(message->refused, &decision->verdict);
    } else if (atomic_load_explicit(&gate->shared->is_starting, memory_order_acquire)) {
        settle_unjudged(REASON_STARTING, &decision->verdict);
    } else {
        evaluate(gate, message, decision);
        gate__mind_definition(gate, message, decision);
    }
    decision->by = gate;
    decision->serial = gate->serial;
    if (gate->policy != NULL && decision->verdict.policy_version == 0) {
        decision->verdict.policy_version = policy_version(gate->policy);
        decision->verdict.policy_hash = policy_hash(gate->policy);
    }
    decision->judge_us = clock_monotonic_us() - began_us;
}

/* The scratch has been used since: the values to redact are looked for again. The verdict itself stands, and
 * redactions are found whatever the clock says, so that a busy machine changes nothing of them. */
static __attribute__((noinline)) void redact_again(struct gate *gate, const struct gate_message *message,
                                                   struct gate_decision *decision)
{
    struct verdict *verdict = &decision->verdict;
    struct question question = gate__question_of(message);
    struct gate_moment moment = gate__moment_of(gate, message);
    struct verdict again;

    moment.definition = gate__accepted(gate, message, decision);
    question.state = gate_moment_view(&moment);
    question.plan.step = decision->plan.is_known ? decision->plan.step : 0;
    gate->serial++;
    policy_eval(decision->policy, &question, true, gate->scratch, &again);
    make_consistent(&again);
    verdict->redact = again.redact;
    verdict->redact_count = again.redact_count;
    verdict->redact_params = again.redact_params;
    verdict->redact_param_count = again.redact_param_count;
    verdict->redact_query = verdict->redact_query || again.redact_query;
    verdict->redact_all = verdict->redact_all || again.redact_all;
    /* Its text may have been the scratch's; under what happened since, another rule may be the one that decides. */
    verdict->undecided = span_equals(again.rule, verdict->rule) ? again.undecided : SPAN_NONE;
    decision->by = gate;
    decision->serial = gate->serial;
}

/* Whether something of it lay in the scratch of the evaluation, which is another's now. */
static bool is_spoilt(const struct gate *gate, const struct gate_decision *decision)
{
    const struct verdict *verdict = &decision->verdict;

    return (decision->by != gate || decision->serial != gate->serial) &&
           (verdict->redact_count > 0 || verdict->redact_param_count > 0 || verdict->undecided.len > 0);
}

void gate__renew(struct gate *gate, const struct gate_message *message, struct gate_decision *decision)
{
    if (message->refused == REASON_UNSET && is_spoilt(gate, decision))
        redact_again(gate, message, decision);
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

static void fill_record(struct gate *gate, const struct gate_message *message, struct gate_decision *decision,
                        int status, struct audit_decision *record)
{
    const struct verdict *verdict = &decision->verdict;
    bool permits = verdict->kind == VERDICT_PERMIT, redacted;
    struct span arguments;

    gate__renew(gate, message, decision);
    arguments = gate__arguments_text(&gate->text, gate->shared->redact_key, message->root, verdict, &redacted);
    *record = (struct audit_decision){
        .time_us = message->time_us,
        .tenant = message->tenant, .principal = message->principal, .authentication = message->authentication,
        .client = message->client, .session = message->session, .issuer = message->issuer, .token_key = message->token_key,
        .api_key = message->api_key,
        .correlation = message->correlation, .correlation_replaced = message->correlation_replaced,
        .trace = message->trace, .upstream = message->upstream, .dialect = message->dialect,
        .protocol_version = message->protocol_version,
        .direction = message->from_server ? SPAN_LIT("server") : SPAN_LIT("agent"),
        .method = message->method, .tool = message->target, .rpc_id = message->rpc_id,
        .body = message->body,
        .target = message->path.at == NULL && message->query.len > 0 ? SPAN_LIT("") : message->path,
        .verdict = recorded_verdict(verdict->kind), .reason = verdict->reason, .rule = verdict->rule,
        .rule_reason = verdict->rule_reason, .undecided = verdict->undecided,
        .policy_version = verdict->policy_version, .policy_hash = verdict->policy_hash,
        .judge_us = decision->judge_us, .status = permits ? 0 : status,
        .latency_us = permits ? 0 : clock_monotonic_us() - message->began_us,
        .expects_outcome = permits && message->expects_outcome, .arguments = arguments,
    };
    record->definition = gate__definition_text(&gate->text, decision);
    gate__plan_texts(&gate->text, &decision->plan, record);
    record->params = gate__params_text(&gate->text, gate->shared->redact_key, message->params, verdict, &redacted);
    record->query = gate__query_text(&gate->text, gate->shared->redact_key, message->query, verdict, &redacted);
    record->arguments_redacted = redacted;
    record->groups = gate__held_text(&gate->text.groups, message->groups, message->group_count);
    record->scopes = gate__held_text(&gate->text.scopes, message->scopes, message->scope_count);
    record->claims = gate__claims_text(&gate->text, decision->policy, message->claims);
    record->rules = gate__rules_text(&gate->text, verdict, &decision->approvals);
    record->monitor = gate__monitor_text(&gate->text, verdict);
}

enum code gate_record(struct gate *gate, const struct gate_message *message, struct gate_decision *decision, int status)
{
    struct audit_decision record;
    enum code code;

    decision->folded = folds(gate, message, &decision->verdict);
    if (decision->folded)
        return CODE_OK;
    code = gate__tell_plan(gate, message, decision);
    if (code != CODE_OK)
        return code;
    fill_record(gate, message, decision, status, &record);
    return audit_put_decision(gate->ring, &record, &decision->ticket);
}

void gate_settle(struct gate *gate, const struct gate_message *message, struct gate_decision *decision, uint64_t seq)
{
    /* Before a byte of the call goes up, so before anybody can know what it says. */
    if (seq != 0 && decision->verdict.kind == VERDICT_PERMIT) {
        struct policy_met met = gate_met(&decision->verdict);

        gate__note(gate, message, decision->policy, &met, false);
    }
    if (seq != 0)
        gate_token_spend(&decision->token);
    else
        gate_token_give_back(&decision->token);
    gate__settle_approvals(gate, message, decision, seq);
}

void gate_revoke(struct gate_decision *decision, enum reason reason)
{
    BUG_ON(decision->ticket != 0);
    gate_token_give_back(&decision->token);
    gate__drop_approvals(decision);
    decision->approvals.count = 0;
    decision->verdict.kind = VERDICT_DENY;
    decision->verdict.reason = reason;
}

bool gate_join(struct gate_decision *decision, struct gate_decision *other, struct gate_token *token)
{
    struct approval_marks *to = &decision->approvals, *from = &other->approvals;

    if (from->of != NULL && to->of != NULL && to->count + from->count > VERDICT_APPROVALS_MAX)
        return false;
    for (uint32_t i = 0; from->of != NULL && to->of != NULL && i < from->count; i++)
        to->mark[to->count++] = from->mark[i];
    if (from->of != NULL && to->of == NULL)
        *to = *from;
    from->of = NULL;
    *token = other->token;
    other->token.state = NULL;
    gate_decision_fini(other);
    return true;
}

void gate_pass(struct gate_decision *decision)
{
    gate_token_spend(&decision->token);
}

enum audit_fate gate_fate(const struct gate *gate, uint64_t ticket, uint64_t *seq)
{
    return audit_fate(gate->ring, ticket, seq);
}

void gate_outcome(struct gate *gate, const struct audit_result *result)
{
    audit_put_result(gate->ring, result);
}

void gate_decision_fini(struct gate_decision *decision)
{
    if (decision->ticket != 0) /* recorded, and its fate unknown: it counts, as it would after a restart */
        gate_token_spend(&decision->token);
    gate_token_give_back(&decision->token);
    gate__drop_approvals(decision);
    let_go(&decision->held);
    decision->policy = NULL;
}

struct span gate_lacking_scope(struct gate *gate, const struct gate_message *message, const struct gate_decision *decision)
{
    struct question question = gate__question_of(message);
    struct gate_moment moment = gate__moment_of(gate, message);

    moment.definition = gate__accepted(gate, message, decision);
    question.state = gate_moment_view(&moment);
    gate->serial++;
    return policy_lacking_scope(decision->policy, &question, gate->scratch);
}

bool gate_may_see(struct gate *gate, const struct gate_message *message, struct span method, struct span target,
                  bool is_template)
{
    struct question question = gate__question_of(message);

    question.method = method;
    question.tool = question.prompt = question.resource = SPAN_NONE;
    gate_aim(&question, target);
    question.any_resource = is_template;
    question.any_scope = message->may_step_up;
    question.root = NULL;
    gate__follow(gate);
    gate->serial++;
    return policy_could_permit(gate->policy, &question, gate->scratch);
}

bool gate_passes(struct gate *gate, const struct gate_message *message, const struct gate_came *came,
                 struct gate_passing *passing)
{
    struct span method = came->method;
    struct question question;

    gate__follow(gate);
    if (gate->policy == NULL || method.len > sizeof passing->method)
        return false;
    if (passing->generation == gate->generation && span_equals(span_of(passing->method, passing->method_len), method))
        return passing->passes;
    question = gate__question_of(message);
    question.method = method;
    question.answers = question.tool = question.prompt = question.resource = question.shown = question.query = SPAN_NONE;
    question.root = question.meta = question.params = NULL;
    gate->serial++;
    passing->passes = policy_permits_all(gate->policy, &question, gate->scratch) && !gate_weighs(gate, message, NULL, came);
    passing->generation = gate->generation;
    passing->method_len = (uint8_t)method.len;
    memcpy(passing->method, method.at, method.len);
    return passing->passes;
}
