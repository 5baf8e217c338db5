/* SPDX-License-Identifier: Apache-2.0 */
#include "courier/seat.h"

static enum code look_at_schema(struct pg *pg, struct why *why)
{
    int64_t number;
    enum code code = pg_number(pg, "SELECT number::int8 FROM callgate.schema_version", NULL, 0, &number, why);

    return code == CODE_OK ? fleet_schema_fits(number, why) : code;
}

enum code seat_take(struct pg *pg, const unsigned char instance[SEAT_INSTANCE_BYTES], const char *node, struct why *why)
{
    int64_t is_ours = 0;
    enum code code = look_at_schema(pg, why);

    if (code == CODE_OK)
        code = pg_number(pg, "SELECT callgate.seat_take($1)", PG_VALUES(pg_of_bytes(span_of(instance, SEAT_INSTANCE_BYTES))),
                         &is_ours, why);
    if (code == CODE_OK && is_ours == 0)
        code = why_set(why, CODE_BUSY, "another live process is %s at the centre: two gates have one membership, or the one "
                                       "that "
                       "was here before is not over; let the other one leave, or join by another name", node);
    return code;
}
