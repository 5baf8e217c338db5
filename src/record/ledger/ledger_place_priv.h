/* SPDX-License-Identifier: Apache-2.0 */
/* What opening.c asks of ledger_place.c.
 *
 * Threads: where the ledger is used.
 * Owns: nothing.
 * Lifetime: the watch lasts from place__remember to place__forget.
 * Errors: enum code; the sentence stands in place.fault. */
#ifndef LEDGER_LEDGER_PLACE_PRIV_H
#define LEDGER_LEDGER_PLACE_PRIV_H

#include "ledger/ledger.h"

bool place__is_known(const struct ledger *ledger);
void place__remember(struct ledger *ledger); /* remembers where the file of the newly opened connection lies */
void place__forget(struct place *place);     /* call it once the connection is closed; what else is known stays for the next
                                              * one */
void place__clear(struct ledger *ledger);    /* call it once all is in the file: what lies in the place of its lost -wal file
                                              * is not its own */

/* Called before the file is opened: whether it is the one that was written until now. SQLite would take a -wal file for that
 * of any database of its name, and spoil both. */
enum code place__expect(const struct ledger *ledger, struct why *why) MUST_USE;

/* What the file says of itself, its tables and what else stands in its schema, against the gate's: place.is_changed and
 * place.is_other, with place.fault. What is another one is a reason to leave the file. */
enum code place__check_schema(struct ledger *ledger) MUST_USE;

#endif
