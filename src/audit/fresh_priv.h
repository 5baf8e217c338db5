/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the finding tables whose rows are being appended: gathered on the way, so that nobody reads them back.
 *
 * It is a shortcut. Where a row of it is missing (it was rolled back, or no memory was left) it is dropped, and part__build
 * reads the rows of the file.
 *
 * Threads: where the ledger is used.
 * Owns: its parts.
 * Lifetime: from zero to fresh__drop.
 * Errors: none. */
#ifndef AUDIT_FRESH_PRIV_H
#define AUDIT_FRESH_PRIV_H

#include <stdint.h>

struct part;
struct part_row;

struct fresh {
    struct part *filling;
    uint64_t next;      /* the number that it waits for */
    struct part *whole; /* the one before, until somebody takes it */
};

void fresh__add(struct fresh *fresh, const struct part_row *row); /* a row that was appended, perhaps not committed yet */

/* Returns: the part of that number, all of whose rows are committed; NULL where it is not here. Whoever takes it owns it. */
struct part *fresh__take(struct fresh *fresh, uint64_t number);

void fresh__drop(struct fresh *fresh);

#endif
