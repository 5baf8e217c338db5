/* SPDX-License-Identifier: Apache-2.0 */
/* 13.6: what is no traceparent as a whole gives no trace. */
#include "fakes/cm.h"

#include "http/trace.h"

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

TEST_CASE(a_whole_one_is_read)
{
    struct trace trace;

    assert_true(trace_read(SPAN_LIT("00-" ID "-" PARENT "-01"), &trace));
    assert_true(span_is(trace.id, ID) && span_is(trace.parent, PARENT) && trace.is_sampled);
    assert_true(trace_read(SPAN_LIT("00-" ID "-" PARENT "-02"), &trace));
    assert_false(trace.is_sampled);
    assert_true(trace_read(SPAN_LIT("cc-" ID "-" PARENT "-01-what will be"), &trace)); /* of a later version what is known */
    assert_true(span_is(trace.id, ID));
}

TEST_CASE(a_broken_one_is_none)
{
    static const char *const broken[] = {
        "", "00", "00-" ID, "00-" ID "-" PARENT, "00-" ID "-" PARENT "-0", "00-" ID "-" PARENT "-0g", "00-" ID "-" PARENT "-0A",
        "00-" ID "-" PARENT "-01-", "00-" ID "-" PARENT "-01x", "ff-" ID "-" PARENT "-01", "0G-" ID "-" PARENT "-01",
        "cc-" ID "-" PARENT "-01x", "00_" ID "-" PARENT "-01", "00-" ID "_" PARENT "-01", "00-" ID "-" PARENT "_01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01", "00-00000000000000000000000000000000-" PARENT "-01",
        "00-" ID "-0000000000000000-01", "00-" ID "-00F067aa0ba902b7-01",
    };
    struct trace trace;

    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        assert_false(trace_read(span_text(broken[i]), &trace));
        assert_null(trace.id.at);
    }
    assert_false(trace_read(SPAN_NONE, &trace));
}

TEST_MAIN(NULL, NULL)
