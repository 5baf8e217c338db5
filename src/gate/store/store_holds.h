/* SPDX-License-Identifier: Apache-2.0 */
/* Holds: what no erasure may take, since somebody may have to show it. Rows of the store, of which each audit on it is told.
 *
 * A hold is of a tenant, of a person (a principal) or of all, within a time or without one. It ends by a release alone, which
 * is a row of its own.
 *
 * Threads: a connection belongs to one thread at a time.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef STORE_STORE_HOLDS_H
#define STORE_STORE_HOLDS_H

#include "db/db.h"

/* The holds that were not released: id, tenant, principal, since_us, until_us, held_by, why. */
#define STORE_HOLDS_STANDING \
    "SELECT id, tenant, principal, since_us, until_us, held_by, why FROM audit_hold " \
    "WHERE id NOT IN (SELECT hold FROM audit_hold_release) ORDER BY id"

/* Whether a tenant's values of before a time may be erased. An erasure takes those of all persons of a tenant, so that a hold
 * of one person keeps all of them. CODE_DENIED with a sentence that names the hold. */
enum code store_holds_allow(struct db *db, const char *tenant, int64_t before_us, struct why *why) MUST_USE;

#endif
