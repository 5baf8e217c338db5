/* SPDX-License-Identifier: Apache-2.0 */
/* Which function a step is: the one table of a call's way. */
#include "proxy/front_priv.h"
#include "back/back.h"

static const step_fn steps[STEP_COUNT] = {
#define STEP_FUNCTION(name, text, function, moves, about) [STEP_##name] = function,
#define STEP_NOTHING(name) 0
    STEP_TABLE(STEP_FUNCTION, STEP_NOTHING)
};

const struct lane_above front__above = {
    .steps = steps, .finish = exchange__finish, .stop = back_stop, .write_difference = proxy__write_difference};
