/* SPDX-License-Identifier: Apache-2.0 */
#include "query/centre_priv.h"
#include "query/stats_priv.h"

#define OF_CALL(column) "d." column

static enum code take(struct stats *stats, const struct query *query, const struct centre_rows *rows)
{
    struct stats_call call = {.time_us = pg_rows_int(rows->piece, rows->at, STATS_TIME),
                              .has_latency = !pg_rows_null(rows->piece, rows->at, STATS_LATENCY),
                              .latency_us = pg_rows_int(rows->piece, rows->at, STATS_LATENCY),
                              .expects_outcome = pg_rows_int(rows->piece, rows->at, STATS_EXPECTS) == 1};

    for (size_t by = 0; by < STATS_BYS; by++)
        call.name[by] = pg_rows_bytes(rows->piece, rows->at, by);
    return stats__take(stats, query, &call);
}

enum code centre_stats(struct centre *centre, const struct query *query, unsigned bys, struct stats **stats, struct why *why)
{
    const struct query_shape shape = {.head = STATS_CALLS(OF_CALL, "d.latency_us") " FROM call AS d WHERE 1 = 1",
                                      .order = query->limit != 0 ? "d.time_us DESC" : NULL, .of = QUERY_OF_CENTRE};
    struct centre_rows rows = {.piece = NULL};
    enum code code = stats__begin(bys, stats, why);

    if (code == CODE_OK)
        code = centre__begin(centre, why);
    if (code == CODE_OK)
        code = centre__ask(centre, "counted", query, &shape, &rows, why);
    while (code == CODE_OK && !stats__is_enough(*stats, query) && (code = centre__next(&rows, why)) == CODE_OK)
        code = take(*stats, query, &rows);
    centre__end(&rows);
    centre__leave(centre);
    return stats__end(stats, code == CODE_NOT_FOUND ? CODE_OK : code, why);
}
