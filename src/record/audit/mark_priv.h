/* SPDX-License-Identifier: Apache-2.0 */
/* Where each tenant and each open permit stood at a checkpoint, kept in the file: a start reads the rows behind it alone.
 * It is no evidence, and is believed where the tenants' tree that it gives is the one that our key signed in that checkpoint.
 *
 * Threads: mark__make by the notary, the others by the writer (main before its start).
 * Owns: a mark is its checkpoint's.
 * Lifetime: mark__make to checkpoint__free.
 * Errors: enum code; a mark that cannot be made is none, and says so by NULL. */
#ifndef AUDIT_MARK_PRIV_H
#define AUDIT_MARK_PRIV_H

#include "audit/notary_priv.h"

/* The last rows of the tenants that have moved behind the row `since`; 0: of all. */
struct mark *mark__make(const struct tenants *tenants, uint64_t since);

/* Inside the transaction of its checkpoint, as its last change. */
enum code mark__put(struct ledger *ledger, const struct checkpoint *checkpoint) MUST_USE;

/* Reads what stands in the file. *size: of its checkpoint; 0: there is none, or it is not to be believed. What follows from it
 * is read in the same transaction, since somebody may change the file meanwhile. */
enum code mark__find(struct db *db, const struct notary *notary, uint64_t *size) MUST_USE;

/* Permits without outcome, into ledger->permits. Takes: size: as mark__find; 0: all rows since the last start are read. */
enum code mark__find_open(struct ledger *ledger, uint64_t size) MUST_USE;

#endif
