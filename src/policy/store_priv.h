/* SPDX-License-Identifier: Apache-2.0 */
/* What the store's files share.
 *
 * Threads: that of the connection.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: enum code with a sentence. */
#ifndef POLICY_STORE_PRIV_H
#define POLICY_STORE_PRIV_H

#include "policy/store.h"

/* "doing failed: " and the connection's own sentence. Returns: code. */
enum code policy__store_why(struct why *why, enum code code, const struct db *db, const char *doing);

#endif
