/* SPDX-License-Identifier: Apache-2.0 */
/* What a call uses of limits and of steps of plans that count over a fleet. */
#include "enforce/gate_priv.h"

#include "os/clock.h"

#include <string.h>

struct wishes *gate_wishes(const struct gate *gate)
{
    return gate->shared->wishes;
}

struct wishes *gate_wishes_of(struct gate_shared *shared)
{
    return shared->wishes;
}

bool gate_is_starting(const struct gate_shared *shared)
{
    return atomic_load_explicit(&shared->is_starting, memory_order_acquire);
}

/* This node may not know of steps that others have used. */
enum code gate_wish(const struct gate *gate, const struct call *call, struct wish **wish)
{
    struct wish_take look = {.kind = WISH_STEP};

    if (gate->shared->wishes == NULL || call->verdict.reason == REASON_UNSET)
        return CODE_OK;
    if (call_is_permit(call))
        return gate_token_wish(&call->token, wish);
    if (call->verdict.reason != REASON_PLAN_ORDER)
        return CODE_OK;
    memcpy(look.key, call->plan.digest, DIGEST_BYTES);
    return wish_add(wish, &look);
}

void gate_given(const struct gate *gate, struct call *call)
{
    gate_token_renew(&call->token, clock_monotonic_us() + gate->shared->clock_us);
}

enum code gate_hear(const struct gate *gate, const struct call *call, const struct wish *wish)
{
    return gate_state_hear(gate->shared->state, wish, call_home(call).at != NULL ? call_home(call) : call->asked.tenant,
                           clock_monotonic_us() + gate->shared->clock_us);
}

void gate_write_uses(struct gate_shared *shared, uint32_t part, struct buf *out)
{
    gate_state_write_uses(shared->state, part, clock_monotonic_us() + shared->clock_us, out);
}
