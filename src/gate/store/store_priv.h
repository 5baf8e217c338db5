/* SPDX-License-Identifier: Apache-2.0 */
/* How a store comes to the tables that this build knows: by numbered steps.
 *
 * Threads: a connection belongs to one thread at a time.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: enum code with a sentence. */
#ifndef STORE_STORE_PRIV_H
#define STORE_STORE_PRIV_H

#include "store/store.h"

extern const char store_schema[]; /* schema/store.sql */

/* Runs the steps that the store lacks under one lock, after a copy of it as it was: "callgate.db.step-N", for the build that
 * knows N steps.
 * Takes: all: `count` steps, each a text of SQL; may_write: false refuses a store that lacks any. */
enum code store__settle(struct db *db, const char *path, bool may_write, const char *const *all, int64_t count,
                        struct why *why) MUST_USE;

#endif
