/* SPDX-License-Identifier: Apache-2.0 */
/* 9.4: a call that goes up while a version is taken is noted for that one, too: whoever reads the record for it need not see what
 * is written behind his back. */
#include "fakes/cm.h"
#include "enforce/gate.h"
#include "os/clock.h"
#include "language/language.h"

#include <stdio.h>

static struct policy *compile(const char *rule)
{
    char text[512] = "";
    struct policy_file file = {.path = SPAN_LIT("t.yaml")};
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    snprintf(text, sizeof text, "policy: t\nrules:\n  - {id: all, effect: permit}\n%s", rule);
    file.text = span_text(text);
    if (policy_compile(&file, 1, 1, &policy, &faults, NULL) != CODE_OK)
        fail_msg("%d: %s", faults.fault[0].line, faults.fault[0].text);
    return policy;
}

static enum verdict_kind judged(struct gate *gate, const char *tool, bool goes_up)
{
    struct call call = {
        .asked = {.time_us = clock_wall_us(), .tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot"), .upstream = SPAN_LIT("shop"),
                  .method = SPAN_LIT("tools/call"), .tool = span_text(tool), .correlation = SPAN_LIT("c")},
        .read_us = clock_monotonic_us(), .target = span_text(tool),
    };
    enum verdict_kind kind;

    gate_judge(gate, &call);
    kind = call.verdict.kind;
    call.seq = 1;
    if (goes_up)
        gate_settle(gate, &call);
    gate_let_go(&call);
    return kind;
}

TEST_CASE(test_announced)
{
    struct gate_shared_conf conf = {.redact_key = "redact", .session_key = "session"};
    struct policy *coming = compile("  - {id: leak, effect: forbid, match: {tools: [send]}, "
                                    "when: [{session: {called: [read], within: 10min}}]}\n");
    struct gate_shared *shared;
    struct gate *gate;

    assert_ok(gate_shared_new(&conf, &shared));
    assert_ok(gate_new(shared, NULL, &gate));
    gate_publish_policy(shared, compile(""));
    assert_int_equal(judged(gate, "send", true), VERDICT_PERMIT);
    gate_announce_policy(shared, coming);
    assert_int_equal(judged(gate, "read", true), VERDICT_PERMIT);
    assert_int_equal(judged(gate, "send", false), VERDICT_PERMIT);
    gate_publish_policy(shared, coming);
    assert_int_equal(judged(gate, "send", false), VERDICT_DENY);
    gate_free(&gate);
    gate_shared_free(&shared);
}

TEST_MAIN(NULL, NULL)
