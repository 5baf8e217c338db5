/* SPDX-License-Identifier: Apache-2.0 */
#include "enforce/recorded_range.h"

static int64_t since_of(const struct recorded_range *range)
{
    return range->since_us != 0 ? range->since_us : INT64_MIN;
}

static int64_t until_of(const struct recorded_range *range)
{
    return range->until_us != 0 ? range->until_us : INT64_MAX;
}

/* A sealed file has an index of times; of the file that is being written all rows are read. */
enum code recorded_range_bounds(struct db *db, const struct recorded_range *range, int64_t *first, int64_t *last)
{
    struct db_stmt *stmt;
    enum code code = db_find(db, "SELECT min(seq), max(seq) FROM decision WHERE time_us >= ? AND time_us < ?",
                             DB_VALUES(db_of_int(since_of(range)), db_of_int(until_of(range))), &stmt);

    *first = 1;
    *last = 0;
    if (code == CODE_OK && !db_is_null(stmt, 0)) {
        *first = db_int(stmt, 0);
        *last = db_int(stmt, 1);
        if (range->last_seq > 0 && range->last_seq < *last)
            *last = range->last_seq;
    }
    db_finalize(&stmt);
    return code;
}
