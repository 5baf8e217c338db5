/* SPDX-License-Identifier: Apache-2.0 */
/* Erasure of a tenant's argument values. It is recorded first, then done in slices: in the live file by the writer between
 * its batches, in sealed files by the finisher. Then the WAL is emptied, which held the values, too. An erasure that a crash
 * ended goes on at the next start, since the event that ends it is missing.
 *
 * Threads: where the ledger is used.
 * Owns: nothing.
 * Lifetime: the audit's.
 * Errors: enum code; the audit's own go through writer__go_down, and the erasure goes on when it is up again. */
#ifndef AUDIT_ERASE_PRIV_H
#define AUDIT_ERASE_PRIV_H

#include "files/erase_sealed.h"

struct audit;

#define ERASE_WHY_BYTES 4096 /* a thousand characters */

enum erase_phase { ERASE_IDLE = 0, ERASE_RECORD, ERASE_LIVE, ERASE_SEALED, ERASE_WAL, ERASE_END };

struct erasing {
    enum erase_phase phase;
    struct erase_what what;
    int64_t request;      /* number of the request in the store; 0: none */
    char actor[256], why[ERASE_WHY_BYTES];
    bool is_resumed;      /* nobody waits for it */
    int64_t at, rows, due_us;
    int64_t in_doubt;     /* decisions of the slice at `at`, whose commit failed: nobody knows yet whether it is on the disk */
};

void erase__turn(struct audit *audit);
enum code erase__resume(struct audit *audit) MUST_USE; /* takes up one that was recorded and not ended, if there is one */

/* Once the file is open again, and before it is left: counts the slice whose commit failed, if it is there after all. */
enum code erase__settle(struct audit *audit) MUST_USE;

#endif
