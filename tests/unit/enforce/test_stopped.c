/* SPDX-License-Identifier: Apache-2.0 */
/* 15.8: nobody knows what people have stopped, or somebody does. */
#include "fakes/cm.h"
#include "unit/enforce/call_help.h"

#include "state/stops.h"

static enum reason stopped(struct gate *gate, const char *method, const char *tool)
{
    struct call call = {.asked = {.tenant = SPAN_LIT("acme"), .upstream = SPAN_LIT("shop"), .method = span_text(method),
                                  .tool = span_text(tool)}};
    const struct stop *stop;
    enum reason reason = gate_stopped(gate, &call, 1, &stop);

    assert_int_equal(stop != NULL, reason == REASON_STOPPED);
    return reason;
}

/* What was not published, or could not be read, stops all but what ends something; a set stops what it names. */
TEST_CASE(test_unknown)
{
    struct gate_shared_conf conf = {.redact_key = "redact", .session_key = "session"};
    struct stop of_tool = {.id = 1, .by = {[STOP_TOOL] = SPAN_LIT("send")}};
    struct gate_shared *shared;
    struct stops *stops;
    struct gate *gate;

    assert_ok(gate_shared_new(&conf, &shared));
    assert_ok(gate_new(shared, NULL, &gate));
    gate_publish_stops(shared, NULL);
    assert_int_equal(stopped(gate, "tools/call", "send"), REASON_STOPS_UNKNOWN);
    assert_int_equal(stopped(gate, "notifications/cancelled", ""), REASON_UNSET);
    assert_ok(stops_new(&of_tool, 1, &stops));
    gate_publish_stops(shared, stops);
    assert_int_equal(stopped(gate, "tools/call", "send"), REASON_STOPPED);
    assert_int_equal(stopped(gate, "tools/call", "read"), REASON_UNSET);
    assert_int_equal(stopped(gate, "tasks/cancel", "send"), REASON_UNSET);
    gate_free(&gate);
    gate_shared_free(&shared);
}

TEST_MAIN(NULL, NULL)
