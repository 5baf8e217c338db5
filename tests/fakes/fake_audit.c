/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_audit.h"

#include "base/bug.h"

#include <stdio.h>

static void keep(char *out, size_t size, struct span text)
{
    (void)snprintf(out, size, "%.*s", SPAN_ARG(text));
}

enum code audit_put_decision(struct audit_ring *ring, const struct audit_decision *decision, uint64_t *ticket)
{
    struct fake_decision *row = &ring->decisions[ring->decision_count];

    *ticket = 0;
    if (ring->is_down)
        return CODE_DOWN;
    if (ring->is_full || (ring->fills_at != 0 && ring->decision_count >= ring->fills_at))
        return CODE_BUSY;
    if (ring->is_folding && decision->verdict != AUDIT_PERMIT)
        return CODE_OK;
    BUG_ON(ring->decision_count == FAKE_ROWS);
    *row = (struct fake_decision){
        .verdict = decision->verdict, .reason = decision->reason, .expects_outcome = decision->expects_outcome,
        .from_server = span_is(decision->direction, "server"), .status = decision->status,
    };
    keep(row->method, FAKE_TEXT, decision->method);
    keep(row->tool, FAKE_TEXT, decision->tool);
    keep(row->tenant, FAKE_TEXT, decision->tenant);
    keep(row->correlation, FAKE_TEXT, decision->correlation);
    keep(row->arguments, FAKE_LONG, decision->arguments);
    keep(row->params, FAKE_LONG, decision->params);
    keep(row->rules, FAKE_LONG, decision->rules);
    *ticket = ++ring->decision_count;
    return CODE_OK;
}

void audit_put_result(struct audit_ring *ring, const struct audit_result *result)
{
    uint64_t ticket = result->decision ? result->decision - 100 : result->ticket;

    BUG_ON(ring->outcome_count == FAKE_ROWS || ticket == 0 || ticket > ring->decision_count);
    ring->decisions[ticket - 1].outcomes++;
    ring->outcomes[ring->outcome_count++] = (struct fake_outcome){
        .ticket = ticket, .outcome = result->outcome, .reason = result->reason, .status = result->status,
        .response_bytes = result->response_bytes, .server_requests = result->server_requests,
        .server_notifications = result->server_notifications, .server_denied = result->server_denied,
        .server_withheld = result->server_withheld, .has_digest_before = result->has_digest_before,
    };
    BUG_ON(result->has_said_room && ring->said_room == 0);
    ring->said_room -= result->has_said_room;
    keep(ring->outcomes[ring->outcome_count - 1].answer_rule, FAKE_TEXT, result->answer_rule);
    keep(ring->outcomes[ring->outcome_count - 1].answer_effect, FAKE_TEXT, result->answer_effect);
    keep(ring->outcomes[ring->outcome_count - 1].answer_found, FAKE_TEXT, result->answer_found);
    keep(ring->outcomes[ring->outcome_count - 1].answer_rules, FAKE_LONG, result->answer_rules);
    memcpy(ring->outcomes[ring->outcome_count - 1].digest_before, result->response_digest_before, DIGEST_BYTES);
    keep(ring->outcomes[ring->outcome_count - 1].answer, FAKE_LONG, result->answer);
    memcpy(ring->outcomes[ring->outcome_count - 1].response_digest, result->response_digest, DIGEST_BYTES);
}

enum code audit_put_told(struct audit_ring *ring, const struct audit_result *result)
{
    if (ring->is_full)
        return CODE_BUSY;
    audit_put_result(ring, result);
    return CODE_OK;
}

bool audit_reserve_said(struct audit_ring *ring)
{
    ring->said_room += !ring->is_full;
    return !ring->is_full;
}

enum code audit_put_event(struct audit_ring *ring, const struct audit_event *event)
{
    (void)ring, (void)event;
    return CODE_OK;
}

enum audit_fate audit_fate(const struct audit_ring *ring, uint64_t ticket, uint64_t *seq)
{
    *seq = 0;
    BUG_ON(ticket <= ring->forgotten);
    if (ticket > ring->settled)
        return AUDIT_WAITING;
    if (ring->decisions[ticket - 1].fate == AUDIT_DURABLE)
        *seq = 100 + ticket;
    return ring->decisions[ticket - 1].fate;
}

uint64_t audit_settled(const struct audit_ring *ring)
{
    return ring->settled;
}

bool audit_is_down(const struct audit_ring *ring)
{
    return ring->is_down;
}

bool fake_audit_settle(struct audit_ring *ring, enum audit_fate fate)
{
    bool waited = ring->settled < ring->decision_count;

    for (unsigned i = ring->settled; i < ring->decision_count; i++)
        ring->decisions[i].fate = fate;
    ring->settled = ring->decision_count;
    return waited;
}
