/* SPDX-License-Identifier: Apache-2.0 */
/* What policies may call upstreams: the names of a configuration's routes, with the globs of their slugs in them.
 *
 * Threads: main.
 * Owns: its texts.
 * Lifetime: route_names_fini, in any case.
 * Errors: CODE_NOMEM; faults of the configuration. */
#ifndef CONF_ROUTE_NAMES_H
#define CONF_ROUTE_NAMES_H

#include "args/command.h"
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
/* Reads nothing but the names out of the file, so that whoever may read the file and nothing else can. */
struct conf_file;
enum code route_names_read(struct conf_file *file, struct route_names *names, struct faults *faults) MUST_USE;

/* The same for a command. Returns: OPTIONS_GO, or the exit status after a sentence. */
int route_names_take(struct conf_file *file, struct route_names *names);

/* Adds strays: what is lost to `faults`, the rest to `warnings`; one of them may be both. */
void route_names_check(const struct policy *policy, const struct route_names *names, struct faults *faults,
                       struct faults *warnings);

#endif
