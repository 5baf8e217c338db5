/* SPDX-License-Identifier: Apache-2.0 */
/* What a verdict has to do with people: the approvals that it takes, what it has them asked. */
#include "enforce/gate_priv.h"

#include "base/utf8.h"
#include "os/clock.h"

bool gate__mind_approvals(struct gate *gate, const struct question *question, struct span home, struct gate_decision *decision)
{
    struct verdict *verdict = &decision->verdict;
    struct approvals *approvals = gate->shared->approvals;
    enum reason reason;

    if (verdict->approval_count == 0 || verdict->kind == VERDICT_DENY)
        return true;
    if (verdict->kind == VERDICT_PERMIT)
        return approvals_take(approvals, question, verdict, &decision->approvals);
    reason = approvals_note(approvals, question, home, verdict, &decision->approvals);
    if (reason != REASON_UNSET) {
        verdict->kind = VERDICT_DENY;
        verdict->reason = reason;
        decision->approvals.of = NULL;
    }
    return true;
}

/* The values themselves: a person decides by them, and is told what of them the audit keeps to itself. */
static void take_arguments(struct gate *gate, const struct gate_message *message, struct gate_decision *decision,
                           struct approval_ask *ask)
{
    struct span whole = message->root != NULL ? message->root->raw : SPAN_NONE;

    gate__renew(gate, message, decision);
    ask->redacted = gate__redacted_text(&gate->text, message, &decision->verdict);
    ask->arguments_bytes = whole.len;
    ask->arguments = utf8_cut(whole, APPROVAL_ARGUMENTS_BYTES);
    ask->query = message->query;
    ask->params = message->params != NULL ? utf8_cut(message->params->raw, APPROVAL_ARGUMENTS_BYTES) : SPAN_NONE;
}

static void tell(struct gate *gate, const struct gate_message *message, struct gate_decision *decision)
{
    const struct verdict *verdict = &decision->verdict;
    struct approval_ask ask = {
        .tenant = message->tenant, .principal = message->principal, .upstream = message->upstream, .method = message->method,
        .tool = message->target, .client = message->client, .correlation = message->correlation,
        .policy_version = verdict->policy_version, .asked_us = message->time_us,
        .target = message->path, .authentication = message->authentication,
    };
    bool is_due = false, is_new = false;

    for (uint32_t i = 0; i < decision->approvals.count; i++) {
        is_due = is_due || decision->approvals.mark[i].tells;
        is_new = is_new || (decision->approvals.mark[i].tells && !decision->approvals.mark[i].is_stored);
    }
    if (!is_due)
        return;
    if (is_new)
        take_arguments(gate, message, decision, &ask);
    approvals_tell(&decision->approvals, verdict, &ask);
}

void gate__settle_approvals(struct gate *gate, const struct gate_message *message, struct gate_decision *decision,
                            uint64_t seq)
{
    struct approval_marks *marks = &decision->approvals;

    if (marks->of == NULL)
        return;
    if (decision->verdict.kind == VERDICT_PERMIT && seq != 0)
        approvals_use(marks, seq, clock_wall_us());
    else if (decision->verdict.kind == VERDICT_PERMIT)
        approvals_give_back(marks);
    if (decision->verdict.kind == VERDICT_HOLD && seq != 0) {
        decision->asked = approvals_held(marks, seq);
        tell(gate, message, decision);
    }
    marks->of = NULL;
}

void gate__drop_approvals(struct gate_decision *decision)
{
    struct approval_marks *marks = &decision->approvals;

    if (marks->of != NULL && decision->verdict.kind == VERDICT_PERMIT) {
        if (decision->ticket == 0)
            approvals_give_back(marks);
        else
            approvals_use(marks, 0, clock_wall_us());
    }
    marks->of = NULL;
}
