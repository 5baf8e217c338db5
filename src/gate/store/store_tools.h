/* SPDX-License-Identifier: Apache-2.0 */
/* The tools that servers listed to agents of the running gate, for whoever writes policies: rows of the store.
 *
 * Threads: that of the connection.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef STORE_STORE_TOOLS_H
#define STORE_STORE_TOOLS_H

#include "lane/route_names.h"
#include "db/db.h"

/* Takes: listed: "upstream NUL tool NUL" for each tool of some upstreams, which take the place of all that was there of
 * these. */
enum code store_tools_put(struct db *db, struct span listed, struct why *why) MUST_USE;

/* Gives the routes the tools that were listed behind them; those of which nothing is known keep NULL. */
enum code store_tools_take(struct db *db, struct route_names *names, struct why *why) MUST_USE;

#endif
