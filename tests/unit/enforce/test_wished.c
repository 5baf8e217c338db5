/* SPDX-License-Identifier: Apache-2.0 */
/* 14.7: what a fleet gave counts here from when it was given, not from when its call came. */
#include "fakes/cm.h"
#include "unit/enforce/call_help.h"

#include "language/language.h"
#include "os/clock.h"
#include "state/tally.h"

#include <string.h>

#define WAITED_US INT64_C(30000000)

static struct policy *compile(void)
{
    struct policy_file file = {SPAN_LIT("t.yaml"), SPAN_LIT("policy: t\nrules:\n  - {id: all, effect: permit, match: {tools: [send]}, "
                                                            "limit: {calls: 3, per: minute, by: [principal]}}\n")};
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    if (policy_compile(&file, 1, 1, &policy, &faults, NULL) != CODE_OK)
        fail_msg("%d: %s", faults.fault[0].line, faults.fault[0].text);
    return policy;
}

/* Returns: how old the one use is that this node would tell the centre of. */
static int64_t age_us(struct gate_shared *shared)
{
    struct wish_told told;
    struct buf out;

    buf_init(&out, 1 << 20);
    for (uint32_t part = 0; part < TALLY_PARTS; part++)
        gate_write_uses(shared, part, &out);
    assert_int_equal(buf_peek(&out).len, sizeof told);
    memcpy(&told, buf_peek(&out).at, sizeof told);
    buf_fini(&out);
    return told.age_us;
}

TEST_CASE(test_given)
{
    struct gate_shared_conf conf = {.redact_key = "redact", .session_key = "session", .has_fleet = true};
    struct call call = {
        .asked = {.time_us = clock_wall_us(), .tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot"), .upstream = SPAN_LIT("shop"),
                  .method = SPAN_LIT("tools/call"), .tool = SPAN_LIT("send")},
        .read_us = clock_monotonic_us() - WAITED_US, .target = SPAN_LIT("send"),
    };
    struct gate_shared *shared;
    struct gate *gate;

    assert_ok(gate_shared_new(&conf, &shared));
    assert_ok(gate_new(shared, NULL, &gate));
    gate_publish_policy(shared, compile());
    gate_judge(gate, &call);
    assert_int_equal(call.verdict.kind, VERDICT_PERMIT);
    assert_in_range(age_us(shared), WAITED_US / 2, 2 * WAITED_US);
    gate_given(gate, &call);
    assert_in_range(age_us(shared), 0, WAITED_US / 2 - 1);
    gate_let_go(&call);
    gate_free(&gate);
    gate_shared_free(&shared);
}

TEST_MAIN(NULL, NULL)
