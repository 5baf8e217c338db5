/* SPDX-License-Identifier: Apache-2.0 */
#include "courier/seat.h"

static enum code look_at_schema(struct pg *pg, struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(pg, "SELECT number::int8 FROM callgate.schema_version", NULL, 0, &rows, why);

    if (code == CODE_OK)
        code = fleet_schema_fits(pg_rows_int(rows, 0, 0), why);
    pg_rows_free(&rows);
    return code;
}

enum code seat_take(struct pg *pg, const unsigned char instance[SEAT_INSTANCE_BYTES], const char *node, struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = look_at_schema(pg, why);

    if (code == CODE_OK)
        code = pg_ask(pg, "SELECT callgate.seat_take($1)", PG_VALUES(pg_of_bytes(span_of(instance, SEAT_INSTANCE_BYTES))),
                      &rows, why);

    if (code == CODE_OK && pg_rows_int(rows, 0, 0) == 0)
        code = why_set(why, CODE_BUSY, "another live process is %s at the centre: two gates have one membership, or the one "
                                       "that "
                       "was here before is not over; let the other one leave, or join by another name", node);
    pg_rows_free(&rows);
    return code;
}
