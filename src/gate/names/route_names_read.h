/* SPDX-License-Identifier: Apache-2.0 */
/* What a configuration names, for commands that need no more of it: its upstreams, and the tools that they declare.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none; names are copied.
 * Errors: told as faults at their place; exit statuses. */
#ifndef NAMES_ROUTE_NAMES_READ_H
#define NAMES_ROUTE_NAMES_READ_H

#include "conf/conf.h"
#include "lane/route_names.h"

/* What upstreams there are. Reads nothing but the names, so that whoever may read the file and nothing else can. */
enum code route_names_read(struct conf_file *file, struct route_names *names, struct faults *faults) MUST_USE;
/* Likewise those to which people connect accounts of their own. */
enum code route_names_connected(struct conf_file *file, struct route_names *names, struct faults *faults) MUST_USE;
/* The same for a command. Returns: OPTIONS_GO, or the exit status after a sentence. */
int route_names_take(struct conf_file *file, struct route_names *names);
/* Adds strays: what is lost to `faults`, the rest to `warnings`; one of them may be both. */
void route_names_check(const struct policy *policy, const struct route_names *names, struct faults *faults,
                       struct faults *warnings);

/* Whether a route of this upstream declares the tool under `unwrap`; false where the file cannot be read. */
bool conf_unwraps(struct conf_file *file, struct span upstream, struct span tool);

#endif
