/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/front_priv.h"

#include "os/local.h"

#include <stdio.h>
#include <unistd.h>

/* A connection of a pipe: a process of this machine that stands between an agent and a server on stdio. The pipe names a
 * route and hands over a socket to its server; from then on it is a pair like any other. There is no network between, so
 * neither Host nor path mean anything. */

#define LOOK_WAIT_US INT64_C(15000000)

void pipe__introduced(struct pair *pair)
{
    struct stream *back;
    uid_t uid;
    pid_t pid;

    pair->is_introduced = true;
    local_peer(pair->front.stream, &uid, &pid);
    pair->peer_uid = uid;
    (void)snprintf(pair->client, sizeof pair->client, "unix:uid=%u pid=%d", (unsigned)uid, (int)pid);
    if (local_take(pair->front.stream, &back) != CODE_OK) {
        pair_close(pair, REASON_MEMORY);
        return;
    }
    leg_open(&pair->back, back);
    leg_ready(&pair->back, LOOP_WRITE);
}

/* Whether the pipe has to wait. Where it has read another configuration than the one that runs, main looks at the gate's
 * own file first. Nothing that a pipe says names a file. */
bool pipe__waits(struct pair *pair)
{
    struct lane *lane = pair->lane;
    bool has_looked;

    if (pair->is_settled)
        return false;
    has_looked = pair->look != 0 && proxy__has_looked(lane, pair->look);
    lane_adopt(lane, pair);
    pair->is_agreed = span_equals(local_digest(pair->front.stream), span_of((const char *)pair->conf->digest, DIGEST_BYTES));
    if (!pair->is_agreed && pair->look == 0) {
        pair->look = proxy__ask_look(lane);
        pair_deadline(pair, LOOK_WAIT_US);
    }
    if (!pair->is_agreed && pair->look != 0 && !has_looked && !pair->timed_out && lane->way == LANE_SERVES &&
        !pair->front.is_eof && !pair->front.is_broken) {
        if (!list_is_linked(&pair->waits))
            list_append(&lane->stuck, &pair->waits);
        return true;
    }
    pair_stop_waiting(pair);
    pair->is_settled = true;
    pair->timed_out = false;
    pair->deadline_us = 0;
    return false;
}

/* Other users of this machine may ask whether they may call something, each as who he is. They have no way to servers here. */
static bool may_come(const struct pair *pair, const struct proxy_route *route)
{
    bool knows_all = route->dialect->is_asked && route->identity_count > 0 && route->identity[0].kind != IDENTITY_NONE;

    return knows_all || pair->peer_uid == 0 || pair->peer_uid == geteuid();
}

enum reason pipe__find(struct pair *pair)
{
    const struct proxy_conf *conf = pair->conf;
    struct span name = local_name(pair->front.stream);
    enum reason reason = REASON_ROUTE_UNKNOWN;

    for (size_t i = 0; i < conf->route_count; i++) {
        if (!conf->routes[i].is_pipe || !span_equals(conf->routes[i].name, name) ||
            !may_come(pair, &conf->routes[i]))
            continue;
        pair->line.route = pair->back.stream != NULL ? &conf->routes[i] : NULL;
        reason = route__lead(pair, &(struct place){.route = &conf->routes[i]});
        break;
    }
    return pair->is_agreed ? reason : REASON_CONFIGURATION_DIFFERS;
}
