/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that moves only when a test says so, for loops in virtual time. */
#ifndef FAKES_FAKE_CLOCK_H
#define FAKES_FAKE_CLOCK_H

#include "os/loop.h"

struct fake_clock {
    int64_t now_us;
};

/* From now on the loop asks this clock and never sleeps; the clock must outlive the loop. */
void fake_clock_install(struct fake_clock *clock, struct loop *loop);

/* Moves the clock and turns the loop once, so that what is due fires. */
void fake_clock_advance(struct fake_clock *clock, struct loop *loop, int64_t us);

#endif
