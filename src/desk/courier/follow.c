/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around the way downwards in the courier's turn: what was refused is told to the audit, and what somebody asks
 * here is seen soon. */
#include "courier/courier.h"

#include "base/log.h"
#include "store/store.h"
#include "store/store_fleet.h"

#include <string.h>

#define REFUSED_US INT64_C(60000000) /* a centre may show another thing each second; the trail is told once a minute */

void courier_note_refused(struct courier *courier, enum code code, const struct why *why)
{
    const int64_t now_us = clock_monotonic_us();
    struct why unkept;

    if ((code != CODE_INVALID && code != CODE_DENIED && code != CODE_EXISTS) ||
        (courier->refused_us != 0 &&
         (now_us - courier->refused_us < REFUSED_US || strcmp(courier->refused.text, why->text) == 0)))
        return;
    courier->refused = *why;
    courier->refused_us = now_us;
    if (store_fleet_refuse(courier->store, courier->state.change, span_text(why->text), clock_wall_us(), &unkept) != CODE_OK)
        log_warn("fleet", "%s", unkept.text);
}

bool courier_is_asked(struct courier *courier)
{
    struct why why;
    int64_t version, last = 0;

    if (store_data_version(courier->store, &version, &why) != CODE_OK || version == courier->store_seen)
        return false;
    courier->store_seen = version;
    if (db_number(courier->store, "SELECT coalesce(max(id), 0) FROM fleet_outbox", &last) != CODE_OK ||
        last <= courier->asked_last)
        return false;
    courier->asked_last = last;
    return true;
}
