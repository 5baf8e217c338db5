/* SPDX-License-Identifier: Apache-2.0 */
/* What others do to the live file, its -wal and -shm files and the link: seen behind every commit, before anybody is told of
 * it. The kernel tells that something was done (inotify(7)), which costs a commit one call; then all is looked at.
 *
 * Threads: where the ledger is used.
 * Owns: the descriptor by which the kernel tells.
 * Lifetime: the ledger's; the descriptor's from place__remember to place__forget.
 * Errors: enum code; what was found stands in place.fault, for people. */
#ifndef LEDGER_LEDGER_PLACE_PRIV_H
#define LEDGER_LEDGER_PLACE_PRIV_H

#include "ledger/ledger.h"

bool place__is_known(const struct ledger *ledger);
void place__remember(struct ledger *ledger); /* of the connection that was just opened */
void place__forget(struct place *place);     /* once it is closed; the rest is known of the next one */
void place__clear(struct ledger *ledger);    /* once the file was left: what lies where its lost -wal file was is not its own */

/* Before it is opened: whether the file is the one that was written until now. SQLite would take a -wal file for that of any
 * database of its name, and spoil both. */
enum code place__expect(const struct ledger *ledger, struct why *why) MUST_USE;

/* What the file says of itself, its tables and what else stands in its schema, against the gate's: place.is_changed and
 * place.is_other, with place.fault. What is another one is a reason to leave the file. */
enum code place__check_schema(struct ledger *ledger) MUST_USE;

#endif
