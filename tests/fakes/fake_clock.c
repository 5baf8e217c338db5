/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_clock.h"

#include "base/bug.h"

static int64_t read_fake(void *context)
{
    return ((struct fake_clock *)context)->now_us;
}

void fake_clock_install(struct fake_clock *clock, struct loop *loop)
{
    loop_use_clock(loop, read_fake, clock);
}

void fake_clock_advance(struct fake_clock *clock, struct loop *loop, int64_t us)
{
    clock->now_us += us;
    BUG_ON(loop_turn(loop, 0) != CODE_OK);
}
