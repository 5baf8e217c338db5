/* SPDX-License-Identifier: Apache-2.0 */
/* What policies may call upstreams: the names of a configuration's routes, with the globs of their slugs in them.
 *
 * Threads: main.
 * Owns: its texts.
 * Lifetime: route_names_fini, in any case.
 * Errors: CODE_NOMEM. */
#ifndef LANE_ROUTE_NAMES_H
#define LANE_ROUTE_NAMES_H

#include "base/mem.h"
#include "language/stray.h"
#include "lane/conf.h"

struct route_names {
    struct arena arena;
    struct policy_route *routes;
    size_t count, size;
};

void route_names_init(struct route_names *names);
void route_names_fini(struct route_names *names);
enum code route_names_add(struct route_names *names, struct span name) MUST_USE;
/* Takes: name: with the mark of a slug. */
enum code route_names_add_slug(struct route_names *names, struct span name, struct span glob) MUST_USE;
enum code route_names_of(const struct proxy_conf *conf, struct route_names *names) MUST_USE;

#endif
