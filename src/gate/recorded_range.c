/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/recorded_range.h"

static int64_t since_of(const struct recorded_range *range)
{
    return range->since_us != 0 ? range->since_us : INT64_MIN;
}

static int64_t until_of(const struct recorded_range *range)
{
    return range->until_us != 0 ? range->until_us : INT64_MAX;
}

/* Finished parts know their times; what is above the last one may hold anything. A clock may have jumped, so that only parts
 * before the first and behind the last that overlap are left out. */
enum code recorded_range_bounds(struct db *db, const struct recorded_range *range, int64_t *first, int64_t *last)
{
    struct db_stmt *stmt;
    enum code code =
        db_prepare(db, "SELECT (SELECT min(first_seq) FROM part WHERE last_us >= ?1 AND first_us < ?2), "
                       "(SELECT coalesce(max(last_seq), 0) + 1 FROM part), "
                       "(SELECT min(seq) FROM decision), (SELECT max(seq) FROM decision)", &stmt);

    *first = 1;
    *last = 0;
    if (code != CODE_OK)
        return code;
    db_bind_int(stmt, 1, since_of(range));
    db_bind_int(stmt, 2, until_of(range));
    code = db_step(stmt);
    if (code == CODE_OK && !db_is_null(stmt, 3)) {
        *first = db_is_null(stmt, 0) ? db_int(stmt, 1) : db_int(stmt, 0);
        if (*first < db_int(stmt, 2))
            *first = db_int(stmt, 2);
        *last = db_int(stmt, 3);
        if (range->last_seq > 0 && range->last_seq < *last)
            *last = range->last_seq;
    }
    db_finalize(&stmt);
    return code;
}
