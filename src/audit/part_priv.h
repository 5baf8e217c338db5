/* SPDX-License-Identifier: Apache-2.0 */
/* A part of the finding tables: the keys of 4,096 numbers, sorted, on their way into `lookup`.
 *
 * Threads: built by the keeper, handed over, written by the writer.
 * Owns: its memory.
 * Lifetime: part__build to part__free.
 * Errors: enum code; a part that cannot be built is built again later. */
#ifndef AUDIT_PART_PRIV_H
#define AUDIT_PART_PRIV_H

#include "audit/ledger_priv.h"
#include "base/mem.h"

struct part;

/* Which part a row belongs to, and where that ends. */
static inline uint64_t part__of(uint64_t seq)
{
    return (seq - 1) / LEDGER_PART_ROWS;
}

static inline uint64_t part__last(uint64_t part)
{
    return (part + 1) * LEDGER_PART_ROWS;
}

/* Reads the rows of a finished part over any connection. */
enum code part__build(struct db *db, uint64_t number, struct part **part) MUST_USE;
void part__free(struct part **part);

/* Inside a transaction of the writer: writes up to `max` entries more. Entries that a rollback undid are written again
 * after part__rewind.
 * Returns: CODE_OK, with *done when the part is complete. */
enum code part__write(struct part *part, struct ledger *ledger, int max, bool *done) MUST_USE;
void part__rewind(struct part *part);
uint64_t part__end(const struct part *part); /* its last number */

/* Whether what is stored of a finished part is what its rows give. */
enum code part__matches(struct db *db, uint64_t number, bool *matches) MUST_USE;

#endif
