/* SPDX-License-Identifier: Apache-2.0 */
/* A mark: where each tenant and each open permit stood at a checkpoint, kept in the file, so that a start reads only the rows
 * behind it. A mark is no evidence: it is believed where it gives the tenants' tree that the gate's key signed in that
 * checkpoint.
 *
 * Threads: mark__make by the notary, the others by the writer (main before its start).
 * Owns: a mark is its checkpoint's.
 * Lifetime: mark__make to checkpoint__free.
 * Errors: enum code; a mark that cannot be made is none, and says so by NULL. */
#ifndef AUDIT_MARK_PRIV_H
#define AUDIT_MARK_PRIV_H

#include "audit/notary_priv.h"

/* Makes a mark of the tenants that have rows behind `since`; 0: of all tenants. */
struct mark *mark__make(const struct tenants *tenants, uint64_t since);

/* Writes the mark, inside the transaction of its checkpoint and as its last change. */
enum code mark__put(struct ledger *ledger, const struct checkpoint *checkpoint) MUST_USE;

/* Reads the mark of the file. Sets *size: of its checkpoint; 0: there is no mark, or it is not to be believed. Whatever is
 * read because of it is read in the same transaction, since somebody may change the file meanwhile. */
enum code mark__find(struct db *db, const struct notary *notary, uint64_t *size) MUST_USE;

/* Reads permits without outcome into ledger->permits. Takes: size: as mark__find; 0: all rows since the last start are read. */
enum code mark__find_open(struct ledger *ledger, uint64_t size) MUST_USE;

#endif
