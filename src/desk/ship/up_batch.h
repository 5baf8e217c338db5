/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one turn, read from the trail and not yet sent: packed, so that no file of the trail is held open while a database is
 * slow. A value that its column cannot take, which no gate writes but who changed a file may have, goes as NULL.
 *
 * Threads: one.
 * Owns: its bytes.
 * Lifetime: up_batch_init to up_batch_fini; up_batch_clear between two turns.
 * Errors: enum code. */
#ifndef SHIP_UP_BATCH_H
#define SHIP_UP_BATCH_H

#include "base/buf.h"
#include "base/why.h"
#include "crypto/digest.h"
#include "pg/pg.h"
#include "rows/row.h"
#include "rows/walk.h"

#define UP_VALUES_MAX (ROW_COLUMNS_MAX + 1 + ROW_OUTSIDE_MAX)
#define UP_COPY_BYTES 4096
#define UP_DAYS_MAX 64
#define UP_ERASED_MAX 64

/* A table at the centre. */
struct up_table {
    char copy[UP_COPY_BYTES];                /* COPY callgate.decision (day, seq, ...) FROM STDIN (FORMAT binary) */
    size_t count;                            /* its values: the chained ones, the hash, what is outside */
    enum row_kind kinds[UP_VALUES_MAX];      /* what each takes: ROW_INT; ROW_BLOB: any bytes; ROW_TEXT: UTF-8 without NUL */
};

/* What the tables of the trail have, by the trail's own schema. */
enum code up_tables_learn(struct up_table tables[ROW_TABLES], struct why *why) MUST_USE;

struct up_batch {
    struct buf rows[ROW_TABLES];
    size_t counts[ROW_TABLES];
    int64_t first, last;              /* numbers; last < first: it has none */
    unsigned char hash[DIGEST_BYTES]; /* the last one's */
    bool has_hash;                    /* false: it has none of that length, in a file that somebody changed */
    int32_t days[UP_DAYS_MAX];        /* in which they lie: days since 1970 */
    size_t day_count;
    struct { int32_t day; int64_t seq; } erased[UP_ERASED_MAX]; /* events `erased` among them */
    size_t erased_count;
};

void up_batch_init(struct up_batch *batch);
void up_batch_fini(struct up_batch *batch);
void up_batch_clear(struct up_batch *batch, int64_t before_seq);

/* The day in whose partition a row of that time lies: within the years 1 to 9999, whatever the clock was. */
int32_t up_day(int64_t time_us);

/* How a row goes: `digests`: without what is outside the chain; `hollow`: with its number and hash alone. */
enum up_form { UP_WHOLE = 0, UP_DIGESTS, UP_HOLLOW };
/* Takes: day: of the partition; ROW_FILE has none. */
enum code up_batch_add(struct up_batch *batch, const struct up_table *table, const struct walk_row *row, int32_t day,
                       enum up_form form) MUST_USE;
bool up_batch_is_full(const struct up_batch *batch, size_t rows); /* no further row should come in: so many, or so large */

/* Sends all of one table; the caller has begun the COPY and ends it. */
void up_batch_send(const struct up_batch *batch, enum row_table table, const struct up_table *at, struct pg *pg);

#endif
