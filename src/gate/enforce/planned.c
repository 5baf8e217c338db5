/* SPDX-License-Identifier: Apache-2.0 */
/* What a judgement has to do with the plan that a call shows: whether it counts, and that its text is recorded. */
#include "enforce/gate_priv.h"

#include "base/log.h"
#include "base/num.h"
#include "judgement/judgement.h"
#include "policy/match.h"

/* Keeps the plan that was read last, because an agent's calls mostly follow each other and reading costs tens of digests. */
static enum code read_plan(struct gate *gate, const struct call *call, struct why *why)
{
    struct plan_reader *plans = &gate->plans;
    unsigned char digest[DIGEST_BYTES];
    enum code code;

    digest_of(call->shown_plan, digest);
    if (plans->is_read && memcmp(plans->shown, digest, DIGEST_BYTES) == 0)
        return CODE_OK;
    arena_reset(&plans->arena);
    buf_clear(&plans->text);
    code = plan_read(call->shown_plan, &plans->text, &plans->arena, &plans->plan, why);
    plans->is_read = code == CODE_OK;
    memcpy(plans->shown, digest, DIGEST_BYTES);
    return code;
}

/* Remembers which plans were verified, because a signature costs a hundred times what a digest does and an
 * agent shows its plan with each call. */
static enum code verify(struct plan_reader *plans, const struct call *call, struct why *why)
{
    const struct plan_key *key = plan_key_of(&plans->plan, call->plan_keys);
    unsigned char digest[DIGEST_BYTES], *seen;
    enum code code;

    if (key == NULL)
        return why_set(why, CODE_NOT_FOUND, "the route has no key `%.*s`", SPAN_ARG(plans->plan.key));
    digest_of_two(span_of(key->key, sizeof key->key), call->shown_plan, digest);
    seen = plans->seen[digest[0]];
    if (memcmp(seen, digest, DIGEST_BYTES) == 0)
        return CODE_OK;
    code = plan_verify(&plans->plan, call->plan_keys);
    if (code == CODE_OK)
        memcpy(seen, digest, DIGEST_BYTES);
    return code == CODE_OK ? code : why_set(why, code, "the signature is not that of key `%.*s`", SPAN_ARG(key->id));
}

/* Asks both clocks, so that neither lets a plan begin too early or last too long: the machine's may be set back, and the
 * monotonic one stands still while the machine sleeps. */
static bool is_its_time(const struct plan *plan, const struct gate_moment *moment, int64_t time_us)
{
    int64_t first_us = time_us < moment->now_us ? time_us : moment->now_us;
    int64_t last_us = time_us < moment->now_us ? moment->now_us : time_us;

    return first_us >= plan->not_before_us - PLAN_LEEWAY_US && last_us < plan->expires_us;
}

enum reason gate__plan(struct gate *gate, struct call *call, struct gate_moment *moment)
{
    const struct plan *plan = &gate->plans.plan;
    struct why why = {""};
    enum code code;

    if (call->plan_keys == NULL || call->shown_plan.at == NULL || call->within != NULL)
        return REASON_UNSET;
    code = read_plan(gate, call, &why);
    if (code == CODE_OK)
        code = verify(&gate->plans, call, &why);
    if (code != CODE_OK && code != CODE_NOMEM)
        log_debug("gate", "%.*s: a plan is refused: %s", SPAN_ARG(call->asked.client), why.text);
    if (code != CODE_OK)
        return code == CODE_NOMEM ? REASON_MEMORY : REASON_PLAN_INVALID;
    call->plan.is_known = true;
    call->plan.step = 0;
    memcpy(call->plan.digest, plan->digest, DIGEST_BYTES);
    if (!span_equals(plan->principal, call->asked.principal) || !span_equals(plan->tenant, call->asked.tenant))
        return REASON_PLAN_FOREIGN;
    if (!is_its_time(plan, moment, call->asked.time_us))
        return REASON_PLAN_ENDED;
    moment->plan = plan;
    if (span_is(call->asked.method, "tools/call") &&
        plan_find(plan, call->asked.upstream, call->asked.tool, call->asked.root, &moment->fit) != CODE_OK)
        return REASON_MEMORY;
    return REASON_UNSET;
}

void gate__plan_texts(struct record_text *text, const struct call_plan *plan, struct audit_decision *record)
{
    if (!plan->is_known)
        return;
    num_hex(plan->digest, DIGEST_BYTES, text->plan);
    record->plan = span_of(text->plan, sizeof text->plan);
    if (plan->step != 0)
        record->plan_step = span_of(text->plan_step, num_text(plan->step, text->plan_step));
}

/* ---- the plan's text, as it may be recorded ---- */

/* Writes {"a":V,...}: the arguments for which the step plans a value. */
static enum code write_values(const struct plan_step *step, struct buf *out)
{
    char before = '{';

    for (const struct json_node *argument = step->arguments->child; argument != NULL; argument = argument->next) {
        const struct json_node *value = json_member(argument, SPAN_LIT("value"));

        if (value == NULL)
            continue;
        buf_add_byte(out, before);
        before = ',';
        json_write_string(out, argument->key);
        buf_add_byte(out, ':');
        buf_add_span(out, value->raw);
    }
    return before == ',' ? buf_add_byte(out, '}') : buf_add_text(out, "{}");
}

/* Whether the policy would redact something of such a call, or nobody can say. The question is asked for the principal to whom
 * the plan was given, not for who shows it now, with unknown agent, groups, scopes and path. Overwrites the scratch. */
static bool is_redacted(struct gate *gate, const struct call *call, const struct plan_step *step)
{
    static const struct question_hidden unknown = {
        .names = 1U << DIM_AGENT | 1U << DIM_GROUP | 1U << DIM_SCOPE | 1U << DIM_PATH | 1U << DIM_QUERY};
    const struct plan *plan = &gate->plans.plan;
    struct question question = {
        .tenant = plan->tenant, .principal = plan->principal, .upstream = step->upstream, .tool = step->tool,
        .method = SPAN_LIT("tools/call"), .time_us = call->asked.time_us, .hidden = &unknown,
    };
    struct verdict verdict = {.redact_all = true};
    struct json_fault fault;
    struct buf text, canonical;

    buf_init(&text, AUDIT_JSON_BYTES);
    buf_init(&canonical, AUDIT_JSON_BYTES);
    if (write_values(step, &text) == CODE_OK && json_read(buf_peek(&text), &json_file_rules, &canonical, &gate->plans.arena,
                                                          &question.root, &fault) == CODE_OK) {
        policy_eval(call->policy, &question, true, gate->scratch, &verdict);
    }
    buf_fini(&text);
    buf_fini(&canonical);
    return verdict.redact_all || verdict.redact_count > 0;
}

/* Writes the step's arguments with each value replaced by its digest. */
static enum code write_digests(const struct plan *plan, const struct plan_step *step, struct buf *out)
{
    char before = '{';

    for (const struct json_node *argument = step->arguments->child; argument != NULL; argument = argument->next) {
        const struct json_node *value = json_member(argument, SPAN_LIT("value"));
        unsigned char digest[DIGEST_BYTES];
        char hex[2 * DIGEST_BYTES];

        buf_add_byte(out, before);
        before = ',';
        json_write_string(out, argument->key);
        buf_add_byte(out, ':');
        if (value == NULL) {
            buf_add_span(out, argument->raw);
            continue;
        }
        buf_fail(out, plan_argument_digest(plan->id, value, digest));
        num_hex(digest, sizeof digest, hex);
        buf_addf(out, "{\"digest\":\"%.*s\"%s}", (int)sizeof hex, hex,
                 json_member(argument, SPAN_LIT("optional")) != NULL ? ",\"optional\":true" : "");
    }
    return buf_add_byte(out, '}');
}

/* Writes the plan and redacts its steps, which are in order. *is_whole: the result is what was signed. */
static void write_plan(struct gate *gate, const struct call *call, struct buf *out, bool *is_whole)
{
    const struct plan *plan = &gate->plans.plan;
    const char *at = plan->root->raw.at, *end = at + plan->root->raw.len;

    *is_whole = true;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct json_node *arguments = plan->step[i].arguments;

        if (arguments->type != JSON_OBJECT || arguments->count == 0 || !is_redacted(gate, call, &plan->step[i]))
            continue;
        *is_whole = false;
        buf_add(out, at, (size_t)(arguments->raw.at - at));
        (void)write_digests(plan, &plan->step[i], out);
        at = arguments->raw.at + arguments->raw.len;
    }
    buf_add(out, at, (size_t)(end - at));
}

/* {"digest":...,"plan":{...},"signature":...}: the canonical form of `plan` is what was signed, unless it is redacted. */
static enum code put_event(struct gate *gate, const struct call *call)
{
    const struct plan *plan = &gate->plans.plan;
    char hex[2 * DIGEST_BYTES];
    struct buf detail;
    bool is_whole;
    enum code code;

    num_hex(plan->digest, DIGEST_BYTES, hex);
    buf_init(&detail, AUDIT_JSON_BYTES);
    buf_addf(&detail, "{\"digest\":\"%.*s\",\"plan\":", (int)sizeof hex, hex);
    write_plan(gate, call, &detail, &is_whole);
    buf_add_text(&detail, ",\"signature\":\"");
    base64url_encode(span_of(plan->signature, SIGN_BYTES), &detail);
    code = buf_add_text(&detail, is_whole ? "\"}" : "\",\"redacted\":true}");
    if (code == CODE_OK)
        code = audit_put_event(gate->ring, &(struct audit_event){
            .time_us = call->asked.time_us, .kind = SPAN_LIT("plan"), .tenant = plan->tenant, .actor = plan->issuer,
            .detail = buf_peek(&detail)});
    buf_fini(&detail);
    return code;
}

enum code gate__record_plan(struct gate *gate, const struct call *call)
{
    struct plan_uses *uses = gate_state_plans(gate->shared->state);
    struct why why;
    enum code code;

    if (!call->plan.is_known || plan_uses_is_told(uses, call->plan.digest))
        return CODE_OK;
    code = read_plan(gate, call, &why);
    if (code == CODE_OK)
        code = put_event(gate, call);
    if (code == CODE_OK)
        plan_uses_told(uses, &gate->plans.plan, call_home(call).at != NULL ? call_home(call) : call->asked.tenant,
                       call->read_us + gate->shared->clock_us);
    return code;
}
