/* SPDX-License-Identifier: Apache-2.0 */
/* Rows behind the last checkpoint: a gate that died leaves some, and whoever can write the file can add some. The start
 * records all of them; where there are some that no gate leaves, it does not sign them without a person's word. */
#include "audit/kept_priv.h"

#include <stdio.h>

/* Whether a gate writes such an event between a `stop` and the next `start`. `audit_down` and `audit_up` come there when
 * the `stop` had to be written twice. */
static bool may_follow_stop(struct span kind)
{
    static const char *const kinds[] = {"start", "crash", "loss_accepted", "heads_damaged", "unsigned_rows", "audit_down",
                                        "audit_up"};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (span_is(kind, kinds[i]))
            return true;
    return false;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* *stranger: the first row between a `stop` and a `start` that no gate writes there; 0: none. */
static enum code read_unsigned(struct db *db, int64_t size, struct kept_unsigned *rows, int64_t *stranger)
{
    struct db_stmt *stmt;
    bool is_stopped = false;
    enum code code = db_select(db, "SELECT seq, time_us, NULL AS kind FROM decision WHERE seq >= ?1 UNION ALL "
                               "SELECT seq, time_us, NULL FROM outcome WHERE seq >= ?1 UNION ALL "
                               "SELECT seq, time_us, kind FROM event WHERE seq >= ?1 ORDER BY 1",
                               DB_VALUES(db_of_int(size)), &stmt);

    *rows = (struct kept_unsigned){.oldest_us = INT64_MAX, .newest_us = INT64_MIN};
    *stranger = 0;
    while (db_next(&stmt, &code)) {
        int64_t seq = db_int(stmt, 0), time_us = db_int(stmt, 1);
        struct span kind = db_text(stmt, 2);

        if (seq > size) {
            rows->from = rows->from == 0 ? seq : rows->from;
            rows->to = seq;
            rows->oldest_us = lesser(rows->oldest_us, time_us);
            rows->newest_us = larger(rows->newest_us, time_us);
        }
        if (is_stopped && *stranger == 0 && !may_follow_stop(kind))
            *stranger = seq;
        is_stopped = span_is(kind, "stop") || (is_stopped && !span_is(kind, "start"));
    }
    return code;
}

/* Without a mark the gate was killed before its first checkpoint, or checkpoints are new here. The rows' times are recorded
 * and not judged, since a clock may be set back between two rows. */
enum code kept__check_unsigned(const struct notary *notary, const struct ledger *ledger, const struct note *mark,
                               struct kept *kept)
{
    struct kept_unsigned *rows = &kept->unsigned_rows;
    int64_t stranger;
    enum code code = read_unsigned(ledger->db, (int64_t)(mark != NULL ? mark->size : ledger->begin_seq), rows, &stranger);

    if (code != CODE_OK || stranger == 0 || mark == NULL || kept->loss != NULL)
        return code;
    kept->loss = "unsigned";
    (void)snprintf(kept->origin, sizeof kept->origin, "%s", notary->origin);
    (void)why_set(&kept->found, CODE_INVALID, "%s: rows %lld to %lld are signed by nobody, and row %lld stands behind a "
                  "`stop`, where only a start writes: somebody else may have written it", ledger->path, (long long)rows->from,
                  (long long)rows->to, (long long)stranger);
    return code;
}
