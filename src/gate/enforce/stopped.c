/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that people have stopped: judged before any rule, and again while they are under way. */
#include "enforce/answer.h"
#include "enforce/gate_priv.h"

#include "base/lock.h"
#include "crypto/digest.h"

#include <inttypes.h>
#include <stdio.h>

/* What ends something, or is answered by the gate itself, stays open: nobody is kept from giving up. */
static bool is_ending(const struct question *asked)
{
    return span_is(asked->method, "notifications/cancelled") || span_is(asked->method, "tasks/cancel") ||
           span_is(asked->method, "session/end");
}

struct span gate__session_hex(struct span session, char hex[2 * DIGEST_BYTES])
{
    unsigned char digest[DIGEST_BYTES];

    if (session.len == 0)
        return SPAN_NONE;
    digest_of(session, digest);
    num_hex(digest, sizeof digest, hex);
    return span_of(hex, 2 * DIGEST_BYTES);
}

static const struct stop *find_stop(const struct stops *stops, const struct question *asked, int64_t now_us)
{
    struct span by[STOP_BY_COUNT] = {[STOP_TENANT] = asked->tenant, [STOP_PRINCIPAL] = asked->principal,
                                     [STOP_AGENT] = asked->agent, [STOP_UPSTREAM] = asked->upstream,
                                     [STOP_TOOL] = asked->tool};
    char hex[2 * DIGEST_BYTES];
    const struct stop *found;

    if (stops_name_sessions(stops))
        by[STOP_SESSION] = gate__session_hex(asked->session, hex);
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

size_t gate_stops_count(struct gate_shared *shared, int64_t now_us)
{
    size_t count;

    lock_take(&shared->lock);
    count = stops_count(shared->stops, now_us);
    lock_give(&shared->lock);
    return count;
}

struct rule_stops *gate_rule_stops(struct gate_shared *shared)
{
    return shared->rule_stops;
}

/* Who has no agent or session has none that could be stopped. */
void gate__stop_by_rule(struct gate *gate, const struct call *call, struct span rule, const int64_t *lasts_us)
{
    const struct question *asked = &call->asked;
    char hex[2 * DIGEST_BYTES];
    const struct {
        enum stop_by by;
        struct span name;
    } of[VERDICT_STOPS] = {
        [VERDICT_STOP_SESSION] = {STOP_SESSION, gate__session_hex(asked->session, hex)},
        [VERDICT_STOP_PRINCIPAL] = {STOP_PRINCIPAL, asked->principal},
        [VERDICT_STOP_AGENT] = {STOP_AGENT, asked->agent},
    };

    for (int stop = 0; lasts_us != NULL && stop < VERDICT_STOPS; stop++)
        if (lasts_us[stop] > 0 && of[stop].name.len > 0)
            rule_stops_put(gate->shared->rule_stops, &(struct rule_stop){of[stop].by, rule, asked->tenant, of[stop].name,
                                                                         lasts_us[stop], asked->time_us});
}

struct stops *gate_stops_of(struct gate *gate)
{
    gate__follow(gate);
    return gate->stops;
}
