/* SPDX-License-Identifier: Apache-2.0 */
/* What a verdict has to do with people: it takes their approvals, or has them asked. */
#include "enforce/gate_priv.h"

#include "base/utf8.h"
#include "os/clock.h"

bool gate__mind_approvals(struct gate *gate, struct call *call)
{
    struct verdict *verdict = &call->verdict;
    struct approvals *approvals = gate->shared->approvals;
    enum reason reason;

    if (verdict->approval_count == 0 || verdict->kind == VERDICT_DENY)
        return true;
    if (call->approvals.mark == NULL)
        call->approvals.mark = arena_alloc(call->arena, VERDICT_APPROVALS_MAX * sizeof *call->approvals.mark);
    if (call->approvals.mark == NULL)
        reason = REASON_MEMORY;
    else if (verdict->kind == VERDICT_PERMIT)
        return approvals_take(approvals, &call->asked, verdict, &call->approvals);
    else if (call->may_wait && approvals_want(approvals, &call->asked, verdict))
        return call->waits = true;
    else
        reason = approvals_note(approvals, &call->asked, call_home(call), verdict, &call->approvals);
    if (reason != REASON_UNSET) {
        verdict->kind = VERDICT_DENY;
        verdict->reason = reason;
        call->approvals.of = NULL;
    }
    return true;
}

/* Hands over the values unredacted, since a person decides by them, and names what the audit redacts. */
static void take_arguments(struct gate *gate, struct call *call, struct approval_ask *ask)
{
    struct span whole = call->asked.root != NULL ? call->asked.root->raw : SPAN_NONE;

    ask->redacted = call->redacted.at != NULL ? call->redacted : gate__redacted_text(&gate->text, call);
    ask->arguments_bytes = whole.len;
    ask->arguments = utf8_cut(whole, APPROVAL_ARGUMENTS_BYTES);
    ask->query = call->asked.query;
    ask->params = call->asked.params != NULL ? utf8_cut(call->asked.params->raw, APPROVAL_ARGUMENTS_BYTES) : SPAN_NONE;
}

static void ask_people(struct gate *gate, struct call *call)
{
    const struct question *asked = &call->asked;
    const struct verdict *verdict = &call->verdict;
    char session[2 * DIGEST_BYTES];
    struct approval_ask ask = {
        .tenant = asked->tenant, .principal = asked->principal, .agent = asked->agent, .upstream = asked->upstream,
        .method = asked->method, .tool = call->target, .via = asked->via, .client = asked->client,
        .correlation = asked->correlation, .policy_version = verdict->policy_version, .asked_us = asked->time_us,
        .target = asked->path,
        .authentication = call->who->token != NULL ? call->who->token->issuer : call->who->authentication,
    };
    bool is_due = false, is_new = false;

    for (uint32_t i = 0; i < call->approvals.count; i++) {
        is_due = is_due || call->approvals.mark[i].tells;
        is_new = is_new || (call->approvals.mark[i].tells && !call->approvals.mark[i].is_stored);
    }
    if (!is_due)
        return;
    ask.session = gate__session_hex(asked->session, session);
    if (is_new)
        take_arguments(gate, call, &ask);
    approvals_put_asks(&call->approvals, verdict, &ask);
}

void gate__settle_approvals(struct gate *gate, struct call *call)
{
    struct approval_marks *marks = &call->approvals;

    if (marks->of == NULL)
        return;
    if (call->verdict.kind == VERDICT_PERMIT && call->seq != 0)
        approvals_use(marks, call->seq, clock_wall_us());
    else if (call->verdict.kind == VERDICT_PERMIT)
        approvals_give_back(marks);
    if (call->verdict.kind == VERDICT_HOLD && call->seq != 0) {
        call->held_as = approvals_held(marks, call->seq);
        call->is_offered = call->message.opens_urls && approvals_offer(marks, &call->verdict);
        ask_people(gate, call);
    }
    marks->of = NULL;
}

void gate__drop_approvals(struct call *call)
{
    struct approval_marks *marks = &call->approvals;

    if (marks->of != NULL && call->verdict.kind == VERDICT_PERMIT) {
        if (call->ticket == 0)
            approvals_give_back(marks);
        else
            approvals_use(marks, 0, clock_wall_us());
    }
    marks->of = NULL;
}
