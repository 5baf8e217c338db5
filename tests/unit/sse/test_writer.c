/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"
#include "fakes/sse_script.h"

#include "base/mem.h"
#include "sse/writer.h"

static void writes(const struct buf *out, const char *text)
{
    if (!span_is(buf_peek(out), text))
        fail_msg("%.*s", SPAN_ARG(buf_peek(out)));
}

/* 1.13: re-emitted in one form */
TEST_CASE(messages)
{
    struct sse_event event = {.type = SPAN_LIT("x"), .id = SPAN_LIT("a-1"), .has_id = true,
        .has_retry = true, .retry_ms = 1500};
    struct buf out;

    buf_init(&out, 4096);
    assert_ok(sse_write_message(&out, NULL, SPAN_LIT("{}")));
    writes(&out, "event: message\ndata: {}\n\n");
    buf_clear(&out);
    assert_ok(sse_write_message(&out, &event, SPAN_LIT("{\"a\":1}")));
    writes(&out, "event: message\nid: a-1\nretry: 1500\ndata: {\"a\":1}\n\n");
    buf_clear(&out);
    assert_ok(sse_write_message_begin(&out, &event));
    assert_ok(buf_add_text(&out, "[]"));
    assert_ok(sse_write_message_end(&out));
    writes(&out, "event: message\nid: a-1\nretry: 1500\ndata: []\n\n");
    buf_fini(&out);
}

/* 1.13 */
TEST_CASE(priming_and_comments)
{
    struct sse_event event = {.id = SPAN_LIT("7"), .has_id = true, .has_data = true};
    struct buf out;

    buf_init(&out, 4096);
    assert_ok(sse_write_priming(&out, &event));
    writes(&out, "id: 7\ndata:\n\n");
    buf_clear(&out);
    event.has_data = event.has_id = false;
    event.has_retry = true;
    event.retry_ms = 0;
    assert_ok(sse_write_priming(&out, &event));
    writes(&out, "retry: 0\n\n");
    buf_clear(&out);
    event.has_retry = false;
    assert_ok(sse_write_priming(&out, &event));
    writes(&out, "");
    assert_ok(sse_write_comment(&out));
    writes(&out, ":\n\n");
    buf_fini(&out);
}

/* 1.13 */
TEST_CASE(nothing_that_breaks_an_event_is_written)
{
    static const struct span bad_ids[] = {SPAN_LIT("a\nb"), SPAN_LIT("a b"), SPAN_LIT("\r"), SPAN_LIT("\0"),
        SPAN_LIT("\xc3\xa9")};
    struct buf out;

    buf_init(&out, 4096);
    for (size_t i = 0; i < sizeof bad_ids / sizeof bad_ids[0]; i++) {
        struct sse_event event = {.id = bad_ids[i], .has_id = true, .has_data = true};

        assert_sticks(sse_write_message(&out, &event, SPAN_LIT("{}")), &out, CODE_INVALID);
        assert_sticks(sse_write_priming(&out, &event), &out, CODE_INVALID);
    }
    assert_sticks(sse_write_message(&out, NULL, SPAN_LIT("{\n}")), &out, CODE_INVALID);
    assert_sticks(sse_write_message(&out, NULL, SPAN_LIT("{}\r")), &out, CODE_INVALID);
    buf_fini(&out);
}

/* 1.13: what is written reads back as the same */
TEST_CASE(reads_back)
{
    const struct sse_event event = {.id = SPAN_LIT("e/1"), .has_id = true, .has_retry = true,
        .retry_ms = 2147483647, .has_data = true};
    struct sse_script script;
    struct buf out;

    buf_init(&out, 4096);
    assert_ok(sse_write_priming(&out, &event));
    assert_ok(sse_write_comment(&out));
    assert_ok(sse_write_message(&out, &event, SPAN_LIT("{\"gr\xc3\xbc\xc3\x9f\":1}")));
    sse_script_read(&script, buf_peek(&out), 4096, 0);
    assert_int_equal(script.end, SSE_STEP_NEED_MORE);
    writes(&script.text, "event type=message id=e/1 retry=2147483647 data=\ncomment\n"
                         "event type=message id=e/1 retry=2147483647 data={\"gr\xc3\xbc\xc3\x9f\":1}\n");
    sse_script_fini(&script);
    buf_fini(&out);
}

TEST_CASE(nothing_is_half_written)
{
    const struct sse_event event = {.id = SPAN_LIT("7"), .has_id = true, .has_retry = true, .has_data = true};
    struct buf out;

    for (size_t cap = 0; cap < 24; cap++) {
        buf_init(&out, cap);
        assert_sticks(sse_write_message(&out, &event, SPAN_LIT("{}")), &out, CODE_LIMIT);
        if (cap < 22)
            assert_sticks(sse_write_priming(&out, &event), &out, CODE_LIMIT);
        buf_fini(&out);
    }
    buf_init(&out, 4096);
    mem_fail_at(1, 1);
    assert_sticks(sse_write_message(&out, NULL, SPAN_LIT("{}")), &out, CODE_NOMEM);
    assert_sticks(sse_write_comment(&out), &out, CODE_NOMEM);
    mem_fail_at(0, 0);
    buf_fini(&out);
}

TEST_MAIN(NULL, NULL)
