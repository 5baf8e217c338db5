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

/* Of every 64 parts the last one also says which correlations are in them, so that looking for one asks few parts: entries of
 * kind 7, whose value is a bucket and whose `seqs` is a list of what else the correlation leaves, each with a comma before it.
 * All have four digits. */
#define PART_GROUP_PARTS 64
#define PART_GROUP_KIND 7
#define PART_BUCKETS 2560
#define PART_BUCKET_FIRST 1000
#define PART_BUCKET_PRINTS 9000
#define PART_PRINT_FIRST 1000

static inline bool part__ends_group(uint64_t part)
{
    return part % PART_GROUP_PARTS == PART_GROUP_PARTS - 1;
}

/* What a correlation leaves: bucket * PART_BUCKET_PRINTS + the rest. */
uint32_t part__print(struct span correlation);

/* What the tables say of a row. */
struct part_row {
    int64_t seq, time_us;
    struct span tenant, hash;
    bool is_decision; /* has the rest: */
    struct span correlation, tool, verdict;
};

/* A part without rows; rows of its numbers, each once; then it is sorted. Takes, to finish it: any connection, and whether to
 * write the group's entries, too, where it ends one and the other parts are there. */
enum code part__new(uint64_t number, struct part **part) MUST_USE;
enum code part__add(struct part *part, const struct part_row *row) MUST_USE;
enum code part__finish(struct part *part, struct db *db, bool group) MUST_USE;

/* Reads the rows of a finished part over any connection. Takes: whether to write the group's entries, too, where it ends one
 * and the other parts are there. */
enum code part__build(struct db *db, uint64_t number, bool group, struct part **part) MUST_USE;
void part__free(struct part **part);

/* The statement for so many rows of `lookup`. One for many stays at the end of the table, which costs half as much a row. */
#define PART_TOGETHER 16
enum code part__prepare(struct db *db, int entries, struct db_stmt **stmt) MUST_USE;

/* Inside a transaction of the writer: writes up to `max` entries more. Entries that a rollback undid are written again
 * after part__rewind.
 * Returns: CODE_OK, with *done when the part is complete. */
enum code part__write(struct part *part, struct ledger *ledger, int max, bool *done) MUST_USE;
void part__rewind(struct part *part);
uint64_t part__number(const struct part *part);
uint64_t part__end(const struct part *part); /* its last number */

/* Whether what is stored of a finished part is what its rows give. */
enum code part__matches(struct db *db, uint64_t number, bool *matches) MUST_USE;

#endif
