/* SPDX-License-Identifier: Apache-2.0 */
/* Rows behind the last checkpoint: a gate that died leaves some, and whoever can write the file can write some. All that are
 * there are told; what no gate leaves there is not signed without a word. */
#include "audit/kept_priv.h"

#include <stdio.h>

/* Calls are dated when they were read, and wait for their row: an hour is more than any does, and less than a forger's
 * yesterday. A gate signs its rows every interval. One whose checkpoints fail (a file of them on a disk that hangs) may not for
 * hours, and starts again by itself all the same. */
#define OLDER_US (INT64_C(3600) * 1000000)
#define LONGER_US (24 * OLDER_US)

/* Until the `start`, a gate writes nothing else behind a `stop`; `audit_down` and `audit_up` where that had to be written
 * twice. */
static bool may_follow_stop(struct span kind)
{
    static const char *const kinds[] = {"start", "crash", "loss_accepted", "heads_damaged", "unsigned_rows", "audit_down",
                                        "audit_up"};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (span_is(kind, kinds[i]))
            return true;
    return false;
}

/* When they were decided. Outcomes and events may have waited for hours for a disk: of them no age is asked. */
struct calls {
    bool are_some;
    int64_t oldest_us, newest_us;
    int64_t stranger; /* the first row that stands behind a `stop` and is no start's; 0: none */
};

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static enum code read_unsigned(struct db *db, int64_t size, struct kept_unsigned *rows, struct calls *calls)
{
    struct db_stmt *stmt;
    bool is_stopped = false;
    enum code code = db_select(db, "SELECT seq, time_us, NULL AS kind, 1 FROM decision WHERE seq >= ?1 UNION ALL "
                               "SELECT seq, time_us, NULL, 0 FROM outcome WHERE seq >= ?1 UNION ALL "
                               "SELECT seq, time_us, kind, 0 FROM event WHERE seq >= ?1 ORDER BY 1",
                               DB_VALUES(db_of_int(size)), &stmt);

    *rows = (struct kept_unsigned){.oldest_us = INT64_MAX, .newest_us = INT64_MIN};
    *calls = (struct calls){.oldest_us = INT64_MAX, .newest_us = INT64_MIN};
    while (db_next(&stmt, &code)) {
        int64_t seq = db_int(stmt, 0), time_us = db_int(stmt, 1);
        struct span kind = db_text(stmt, 2);

        if (seq > size) {
            rows->from = rows->from == 0 ? seq : rows->from;
            rows->to = seq;
            rows->oldest_us = lesser(rows->oldest_us, time_us);
            rows->newest_us = larger(rows->newest_us, time_us);
        }
        if (seq > size && db_int(stmt, 3) == 1) {
            calls->are_some = true;
            calls->oldest_us = lesser(calls->oldest_us, time_us);
            calls->newest_us = larger(calls->newest_us, time_us);
        }
        if (is_stopped && calls->stranger == 0 && !may_follow_stop(kind))
            calls->stranger = seq;
        is_stopped = span_is(kind, "stop") || (is_stopped && !span_is(kind, "start"));
    }
    return code;
}

static const char *find_fault(const struct calls *calls, int64_t signed_us, int64_t interval_us)
{
    if (calls->stranger != 0)
        return "stand behind a `stop`, where only a start writes";
    if (calls->are_some && calls->oldest_us < signed_us - OLDER_US - interval_us)
        return "hold calls that are older than the checkpoint before them";
    if (calls->are_some && (uint64_t)calls->newest_us - (uint64_t)calls->oldest_us > (uint64_t)(LONGER_US + interval_us))
        return "hold calls of more than a day";
    return NULL;
}

/* No mark: the gate was killed before its first one, or checkpoints are new here. */
enum code kept__judge_unsigned(const struct notary *notary, const struct ledger *ledger, const struct note *mark,
                               struct kept *kept)
{
    struct kept_unsigned *rows = &kept->unsigned_rows;
    const char *fault = NULL;
    struct calls calls;
    enum code code = read_unsigned(ledger->db, (int64_t)(mark != NULL ? mark->size : ledger->begin_seq), rows, &calls);

    if (code == CODE_OK && rows->from != 0 && mark != NULL && kept->loss == NULL)
        fault = find_fault(&calls, mark->time_us, (int64_t)notary->conf.interval_ms * 1000);
    if (fault == NULL)
        return code;
    kept->loss = "unsigned";
    (void)snprintf(kept->origin, sizeof kept->origin, "%s", notary->origin);
    (void)why_set(&kept->found, CODE_INVALID, "%s: rows %lld to %lld are signed by nobody, and %s: somebody else may have "
                  "written them", ledger->path, (long long)rows->from, (long long)rows->to, fault);
    return code;
}
