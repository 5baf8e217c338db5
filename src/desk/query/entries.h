/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the trail in the order of its number, for programs that take over from here: decisions as they stood when
 * they were made, outcomes with who and what of their decisions, events.
 *
 * Threads: one.
 * Owns: nothing; a row's texts live during the callback.
 * Lifetime: one call.
 * Errors: enum code with a sentence; what the callback returns ends it and is returned. Rows that are not there are an
 * error, not a gap. */
#ifndef QUERY_ENTRIES_H
#define QUERY_ENTRIES_H

#include "crypto/digest.h"
#include "query/query.h"

enum entry_kind { ENTRY_DECISION = 0, ENTRY_OUTCOME, ENTRY_EVENT, ENTRY_KINDS };

/* A row's columns are those of `entry_columns`; what a kind has not, is NULL. */
typedef enum code (*entry_fn)(void *context, enum entry_kind kind, int64_t seq, const struct query_row *row);

/* The names of all columns, ended by NULL: what a table of mixed rows needs. */
const char *const *entry_columns(void);

enum { ENTRIES_EVENTS = 1, ENTRIES_WHOLE = 2 };

/* Where a reader stands. */
struct entry_place {
    int64_t seq;                      /* everything up to here is done */
    unsigned char hash[DIGEST_BYTES]; /* of that row */
    bool is_known;                    /* false: from the first row on; the hash says nothing */
};

/* Goes on behind `place` for up to 65,536 rows of one file, or the query's limit of them, and moves it; it stays where it is
 * once everything is done. Of
 * outcomes, those are given whose decisions match; events only where the query asks for nothing but tenant and time. The query
 * says nothing of outcomes.
 * Takes: wanted: ENTRIES_EVENTS; ENTRIES_WHOLE: an outcome also with how its decision was made, for one row a call.
 * Returns: CODE_DENIED where the row at `place` is another one than it was; CODE_NOT_FOUND where rows behind it are in no file
 * of the trail. */
enum code audit_entries(const struct trail *trail, const struct query *query, unsigned wanted, struct entry_place *place,
                        entry_fn row, void *context, struct why *why) MUST_USE;

/* The events about the approvals that a decision asked for or used, in their order. */
enum code audit_approvals_of(const struct trail *trail, int64_t decision, query_row_fn row, void *context, struct why *why)
    MUST_USE;

#endif
