/* SPDX-License-Identifier: Apache-2.0 */
/* Erasures that every node of a fleet is to do: each node makes of them requests to its own audit.
 *
 * Threads: a connection belongs to one thread at a time.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef STORE_STORE_ERASURES_H
#define STORE_STORE_ERASURES_H

#include "store/store_audit.h"

#define STORE_ERASURES "fleet_erasure" /* their table */

/* Within the caller's transaction. Takes: request: of kind erase. CODE_DENIED with a sentence: a hold keeps what would be
 * erased. */
enum code store_erasure_add(struct db *db, const struct store_audit_request *request, struct why *why) MUST_USE;

/* Asks the audit that is marked so for each that it was not asked for yet. Whether a hold keeps it looks who does it. */
enum code store_erasures_ask(struct db *db, const char *mark, struct why *why) MUST_USE;

#endif
