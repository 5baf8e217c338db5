/* SPDX-License-Identifier: Apache-2.0 */
/* Rotation: the writer ends its file with an event `sealed` and goes on in a new one, between two commits. Killed at any step,
 * a gate starts with either: the new file counts from the moment at which the link names it.
 *
 * Threads: where the ledger is used.
 * Owns: nothing.
 * Lifetime: one call each.
 * Errors: enum code; a rotation that cannot go on is given up, and the file goes on as if it had not been sealed. */
#ifndef AUDIT_ROTATE_PRIV_H
#define AUDIT_ROTATE_PRIV_H

#include "base/why.h"

struct audit;
struct buf;
struct db;

/* Adds the digest of what a file begins with in the tables tenant_start and permit_start, in base64. Its event `continued` has
 * that as `begins`. */
enum code rotate__digest_begin(struct db *db, struct buf *out) MUST_USE;

/* One step of a rotation that is wanted, on the writer's thread while the audit is up. */
void rotate__turn(struct audit *audit);

/* Leaves a file with place.is_changed before anything else is written into it, while no row is in doubt: sealed where it takes
 * an event, else as it is, which the next file's first event tells. The caller tells the finisher. CODE_BUSY: later. */
enum code rotate__leave(struct audit *audit, struct why *why) MUST_USE;

/* Inside the first transaction of a new file. */
enum code rotate__begin(struct audit *audit) MUST_USE;

/* Inside the last transaction of a file, behind everything else. */
enum code rotate__seal(struct audit *audit) MUST_USE;

#endif
