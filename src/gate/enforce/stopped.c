/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that people have stopped: judged before any rule, and again while they are under way. */
#include "enforce/answer.h"
#include "enforce/gate_priv.h"

#include "base/lock.h"
#include "crypto/digest.h"

#include <inttypes.h>
#include <stdio.h>

void gate_publish_stops(struct gate_shared *shared, struct stops *stops_take)
{
    struct stops *old;

    lock_take(&shared->lock);
    old = shared->stops;
    shared->stops = stops_take;
    atomic_fetch_add_explicit(&shared->generation, 1, memory_order_release);
    lock_give(&shared->lock);
    stops_unref(&old);
}

/* What ends something, or is answered by the gate itself, stays open: nobody is kept from giving up. */
static bool is_ending(const struct question *asked)
{
    return span_is(asked->method, "notifications/cancelled") || span_is(asked->method, "tasks/cancel") ||
           span_is(asked->method, "session/end");
}

static const struct stop *find_stop(const struct stops *stops, const struct question *asked, int64_t now_us)
{
    struct span by[STOP_BY_COUNT] = {[STOP_TENANT] = asked->tenant, [STOP_PRINCIPAL] = asked->principal,
                                     [STOP_AGENT] = asked->agent, [STOP_UPSTREAM] = asked->upstream,
                                     [STOP_TOOL] = asked->tool};
    unsigned char session[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES];
    const struct stop *found;

    if (asked->session.len > 0 && stops_name_sessions(stops)) {
        digest_of(asked->session, session);
        num_hex(session, sizeof session, hex);
        by[STOP_SESSION] = span_of(hex, sizeof hex);
    }
    found = stops_find(stops, by, now_us);
    if (found != NULL || asked->via.len == 0)
        return found;
    by[STOP_TOOL] = asked->via; /* who stops a tool that calls others stops what it would call */
    return stops_find(stops, by, now_us);
}

enum reason gate_stopped(struct gate *gate, const struct call *call, int64_t now_us, const struct stop **stop)
{
    *stop = NULL;
    gate__follow(gate);
    if ((gate->stops != NULL && stops_are_none(gate->stops)) || is_ending(&call->asked))
        return REASON_UNSET;
    if (gate->stops == NULL)
        return REASON_STOPS_UNKNOWN;
    *stop = find_stop(gate->stops, &call->asked, now_us);
    return *stop != NULL ? REASON_STOPPED : REASON_UNSET;
}

enum reason gate__stop(struct gate *gate, struct call *call)
{
    const struct stop *stop;
    enum reason reason = gate_stopped(gate, call, call->asked.time_us, &stop);
    char text[48];
    int len;

    if (stop == NULL)
        return reason;
    len = snprintf(text, sizeof text, "stop %" PRId64, stop->id);
    call->verdict.rule_reason = span_of(text, (size_t)len);
    if (!gate_keep_text(call->arena, &call->verdict.rule_reason))
        call->verdict.rule_reason = SPAN_NONE;
    return reason;
}

struct stops *gate_stops_of(struct gate *gate)
{
    gate__follow(gate);
    return gate->stops;
}
