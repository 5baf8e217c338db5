/* SPDX-License-Identifier: Apache-2.0 */
/* 14.7, P212: any numbers and any text as a row of the centre's about limits and steps of plans: what the courier makes of it is a whole
 * answer, and a gate that goes by it gives nobody more than it did. Five numbers of eight bytes each, then the text. */
#include "base/bug.h"
#include "base/mem.h"
#include "state/state.h"
#include "uses/uses.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define NOW (INT64_C(1700000000) * 1000000)
#define HOUR (INT64_C(3600) * 1000000)

static struct gate_state *state;
static struct wish *wish;

static void open_once(void)
{
    struct wish_take takes[3] = {{.kind = WISH_AMOUNT, .most = 9, .amount = 2, .per_us = HOUR},
                                 {.kind = WISH_VALUE, .most = 9, .amount = 1, .per_us = HOUR},
                                 {.kind = WISH_STEP, .most = 2, .amount = 1, .per_us = NOW + HOUR}};

    if (state != NULL)
        return;
    BUG_ON(gate_state_new(GATE_STATE_BYTES, NULL, &state) != CODE_OK);
    for (size_t i = 0; i < 3; i++)
        BUG_ON(wish_add(&wish, &takes[i]) != CODE_OK);
}

static void go_by(const struct wish_answer *answer)
{
    const struct wish_answer none = {.fate = WISH_FULL, .at = 2};
    struct buf told;

    wish->answer = *answer;
    BUG_ON(gate_state_hear(state, wish, SPAN_LIT("acme"), NOW) != CODE_OK);
    wish->answer = none; /* an older word takes nothing back */
    BUG_ON(gate_state_hear(state, wish, SPAN_LIT("acme"), NOW) != CODE_OK);
    buf_init(&told, (size_t)1 << 20);
    for (uint32_t part = 0; part < TALLY_PARTS; part++)
        gate_state_write_uses(state, part, NOW, &told);
    BUG_ON(buf_len(&told) % sizeof(struct wish_told) != 0 || buf_code(&told) != CODE_OK);
    buf_fini(&told);
    plan_uses_clear(gate_state_plans(state));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct wish_answer answer;
    int64_t numbers[USES_NUMBERS];

    if (len < sizeof numbers)
        return 0;
    open_once();
    memcpy(numbers, bytes, sizeof numbers);
    uses_read_answer(numbers, span_of(bytes + sizeof numbers, len - sizeof numbers), &answer);
    BUG_ON(answer.fate == WISH_WAITING || answer.count > WISH_STEPS_MAX);
    BUG_ON(answer.wait_us < 0 || answer.wait_us > WISH_FULL_US);
    for (uint32_t i = 0; i < answer.count; i++)
        BUG_ON(answer.used[i].step == 0 || answer.used[i].step > WISH_STEPS_MAX);
    go_by(&answer);
    return 0;
}
