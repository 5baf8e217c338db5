/* SPDX-License-Identifier: Apache-2.0 */
/* What answers a batch, taken apart: each message whole and canonical, with its id, or nothing at all. */
#include "fakes/cm.h"

#include "mcp/batch.h"

static struct mcp_part parts[MCP_BATCH_PARTS_MAX];
static size_t count;
static bool is_array;

static enum reason split(const char *text, struct buf *out)
{
    struct json_fault fault = {0};

    buf_init(out, 1 << 20);
    return mcp_batch_split(span_text(text), out, parts, MCP_BATCH_PARTS_MAX, &count, &is_array, &fault);
}

TEST_CASE(takes_apart) /* 5.4 */
{
    struct buf out;

    assert_int_equal(split(" [ {\"id\" : 1, \"result\":{\"id\":7,\"method\":\"x\"}} ,{\"method\":\"a\",\"id\":\"b\"},{}]", &out),
                     REASON_PERMITTED);
    assert_int_equal(count, 3);
    assert_true(is_array);
    assert_true(span_is(parts[0].body, "{\"id\":1,\"result\":{\"id\":7,\"method\":\"x\"}}")); /* its own id, not one deeper */
    assert_true(span_is(parts[0].id, "1") && parts[0].is_response);
    assert_true(span_is(parts[1].id, "\"b\"") && !parts[1].is_response);
    assert_true(span_is_empty(parts[2].id) && span_is(parts[2].body, "{}"));
    buf_fini(&out);
    assert_int_equal(split("{\"result\":[{\"id\":2}],\"id\":3}", &out), REASON_PERMITTED);
    assert_int_equal(count, 1);
    assert_false(is_array);
    assert_true(span_is(parts[0].id, "3"));
    buf_fini(&out);
}

TEST_CASE(refuses) /* 5.4 */
{
    static const char *const texts[] = {"[]", "[1]", "[[{}]]", "[{},null]", "[{}", "7", "\"a\"", "[{}]x", "[{\"id\":1,\"id\":2}]"};
    struct buf out;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(split(texts[i], &out), i == 8 ? REASON_UPSTREAM_DUPLICATE : REASON_UPSTREAM_JSON);
        buf_fini(&out);
    }
}

TEST_CASE(is_bounded) /* 5.4 */
{
    static char text[4 * MCP_BATCH_PARTS_MAX + 16];
    struct buf out;
    size_t len = 0;

    text[len++] = '[';
    for (int i = 0; i < MCP_BATCH_PARTS_MAX; i++, len += 3)
        memcpy(text + len, i > 0 ? ",{}" : " {}", 3);
    memcpy(text + len, "]", 2);
    assert_int_equal(split(text, &out), REASON_PERMITTED);
    assert_int_equal(count, MCP_BATCH_PARTS_MAX);
    buf_fini(&out);
    memcpy(text + len, ",{}]", 5);
    assert_int_equal(split(text, &out), REASON_UPSTREAM_JSON);
    buf_fini(&out);
}

TEST_MAIN(NULL, NULL)
