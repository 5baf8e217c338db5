/* SPDX-License-Identifier: Apache-2.0 */
/* How a gate stands in its fleet, by what its courier has written. */
#include "setup/cmd_status_priv.h"

#include "fleet/fleet_state.h"

#include <inttypes.h>

static void tell_problem(struct report *report, const struct fleet_state *state)
{
    if (state->problem[0] != '\0')
        find(report, "fleet", false, "%s", state->problem);
}

static void tell_age(struct report *report, const struct conf *conf, const struct fleet_state *state)
{
    char start[CLOCK_START_BYTES];
    int64_t age_us;

    clock_start_name(start);
    age_us = fleet_state_age(state, clock_wall_us(), clock_up_us(), start);
    if (age_us == FLEET_NEVER)
        find(report, "fleet", false, "the centre was not heard of yet: calls are denied, reason fleet_stale");
    else if (age_us > (int64_t)conf->fleet.stale_ms * 1000)
        find(report, "fleet", false, "the centre was last heard of %" PRId64 " s ago: calls are denied, reason fleet_stale",
             age_us / 1000000);
    else
        find(report, "fleet", true, "the centre was heard of %" PRId64 " s ago, change %" PRId64 " is in force, the trail is "
             "there up to row %" PRId64 ", %" PRId64
             " wait", age_us / 1000000, state->change, state->shipped_seq, state->lag_rows);
}

void cmd_status__fleet(struct report *report, const struct conf *conf, struct db *store)
{
    struct fleet_state state;
    struct why why = {""};

    if (conf->fleet.membership == NULL || store == NULL)
        return;
    if (fleet_state_load(store, &state, &why) != CODE_OK) {
        find(report, "fleet", false, "%s", why.text);
        return;
    }
    tell_age(report, conf, &state);
    tell_problem(report, &state);
    if (state.forked != 0)
        find(report, "fleet", false, "the centre has another record of this node: calls are denied, reason fleet_forked; find "
             "out who has copied it, then `callgate fleet rejoin`");
    if (state.behind != 0)
        find(report, "fleet", false, "policy version %" PRId64 " of the fleet cannot be taken here: calls are denied, reason "
             "fleet_behind; upgrade this node, or load one that it knows", state.behind);
}
