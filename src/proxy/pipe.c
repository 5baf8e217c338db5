/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/front_priv.h"

#include "os/local.h"

#include <stdio.h>

/* A connection of a pipe: a process of this machine that stands between an agent's stdin and a server's. It has named a route
 * and handed over the way to its server; from there on it is a pair like any other. There is no network between, so that
 * neither Host nor path mean anything. */

void pipe__introduced(struct pair *pair)
{
    struct stream *back;
    uid_t uid;
    pid_t pid;

    pair->is_introduced = true;
    local_peer(pair->front.stream, &uid, &pid);
    (void)snprintf(pair->client, sizeof pair->client, "unix:uid=%u pid=%d", (unsigned)uid, (int)pid);
    if (local_take(pair->front.stream, &back) != CODE_OK) {
        pair__close(pair, REASON_MEMORY);
        return;
    }
    leg_open(&pair->back, back);
    leg_ready(&pair->back, LOOP_WRITE);
}

enum reason pipe__find(struct pair *pair)
{
    const struct proxy_conf *conf = pair->conf;
    struct span name = local_name(pair->front.stream);

    for (size_t i = 0; i < conf->route_count; i++) {
        if (!conf->routes[i].is_pipe || !span_equals(conf->routes[i].name, name))
            continue;
        pair->line.route = pair->back.stream != NULL ? &conf->routes[i] : NULL;
        return route__lead(pair, &(struct place){.route = &conf->routes[i]});
    }
    return REASON_ROUTE_UNKNOWN;
}
