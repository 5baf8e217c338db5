/* SPDX-License-Identifier: Apache-2.0 */
/* Where each tenant and each open permit stood at a checkpoint, kept in the file: a start reads the rows behind it alone.
 * It is no evidence: of tenants it is believed where the tree that it gives is the one that our key signed in that checkpoint,
 * of open permits where a row that our key has signed since names the list.
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

/* Inside the transaction of its checkpoint, as its last change. Takes: lists: with the list of open permits, and an event that
 * names it; without them a start reads for itself what is open. */
enum code mark__put(struct ledger *ledger, const struct checkpoint *checkpoint, bool lists) MUST_USE;

/* Reads the mark of the file. Sets *size: of its checkpoint; 0: there is no mark, or it is not to be believed. Whatever is
 * read because of it is read in the same transaction, since somebody may change the file meanwhile. */
enum code mark__find(struct db *db, const struct notary *notary, uint64_t *size) MUST_USE;

/* Permits without outcome, into ledger->permits. Takes: size: as mark__find. *behind: rows behind this one were read, and the
 * list taken for those before it; 0: nothing vouches for it, and all rows since the last start were read. */
enum code mark__find_open(struct ledger *ledger, const struct notary *notary, uint64_t size, uint64_t *behind) MUST_USE;

#endif
