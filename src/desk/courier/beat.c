/* SPDX-License-Identifier: Apache-2.0 */
/* What a node tells of itself each second, for the people who look at all nodes. */
#include "courier/courier.h"

#include "base/num.h"

enum code courier_beat(struct courier *courier, struct why *why)
{
    const struct fleet_state *state = &courier->state;
    char hex[2 * DIGEST_BYTES];

    courier->told_change = atomic_load(&courier->in_force.change);
    courier->told_version = atomic_load(&courier->in_force.version);
    num_hex(courier->conf->proxy->digest, DIGEST_BYTES, hex);
    return pg_ask(courier->pg, "SELECT callgate.beat($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
                  PG_VALUES(pg_of_bytes(SPAN_LIT(CALLGATE_VERSION)), pg_of_bytes(span_of(hex, sizeof hex)),
                            pg_of_int(clock_wall_us()), pg_of_int(courier->told_change), pg_of_int(courier->told_version),
                            pg_of_int(state->behind), pg_of_int((int64_t)courier->conf->fleet.stale_ms * 1000),
                            pg_of_int(state->shipped_seq), pg_of_int(state->lag_rows), pg_of_int(state->lag_us),
                            pg_of_bytes(span_text(state->problem))),
                  NULL, why);
}

bool courier_judges_anew(struct courier *courier)
{
    return atomic_load(&courier->in_force.change) != courier->told_change ||
           atomic_load(&courier->in_force.version) != courier->told_version;
}
