/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a store is the one that a trail tells of, or an older copy. In an older copy a revoked key would be valid again,
 * and a version's number would be given to another policy.
 *
 * Each row of an append-only table of the store stands in the trail as an event with its number and its time. The newest such
 * event of each table must be the same row in the store. The event `start` repeats the numbers, so that a start need not look
 * for the last event of each kind in files of years ago.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef STORE_STORE_BEHIND_H
#define STORE_STORE_BEHIND_H

#include "base/buf.h"
#include "db/db.h"

/* The tables, and how the audit is told of their rows: `sql` gives id, tenant, actor and detail of 64 rows past ?1 at most, in
 * their order; where rows are of one audit each it has ?2, that one's mark. `time` is the member of detail that says when;
 * NULL: rows may go, or are another audit's, so that they are not compared. */
struct store_source {
    const char *table; /* the part before a slash; behind it, which of its rows */
    const char *kind;  /* of the event */
    const char *time;
    const char *sql;
};

#define STORE_SOURCES 23
extern const struct store_source store_sources[STORE_SOURCES];

/* Rows by which a store is recognised: of each source the last that a trail was told of. */
struct store_places {
    struct {
        int64_t row; /* 0: none */
        int64_t time_us;
    } at[STORE_SOURCES];
};

/* Compares. Takes: path: the store's; audit: that of an audit.db, which may not be there.
 * Returns: CODE_DENIED with a sentence where the store lacks what the trail tells of; *places is what that is. */
enum code store_is_behind(struct db *store, const char *path, const char *audit, struct store_places *places,
                          struct why *why) MUST_USE;

/* Goes on with an older store, in one transaction: revokes keys and withdraws definitions again as the trail says, gives no
 * number again that the trail knows, and has all rows of the tables that differ told to the audit again.
 * Takes: mark: the audit's in the store. Appends what was done to `out`, as members of a JSON object. */
enum code store_go_on(struct db *store, const char *audit, const char *mark, const struct store_places *places, struct buf *out,
                      struct why *why) MUST_USE;

/* Appends {"agent_key":[row, time], ...}, of what this audit was told. */
enum code store_write_places(struct db *store, const char *mark, struct buf *out, struct why *why) MUST_USE;

#endif
