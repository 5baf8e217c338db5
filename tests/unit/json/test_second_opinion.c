/* SPDX-License-Identifier: Apache-2.0 */
#include "json_help.h"
#include "second_opinion.h"

static void agree_on(struct span in, const struct json_rules *rules)
{
    struct document d;

    read_doc(&d, in, rules);
    assert_int_equal(d.code, CODE_OK);
    assert_true(second_opinion_agrees(buf_peek(&d.canon), d.root));
    free_doc(&d);
}

/* 1.11: cJSON over the canonical bytes sees the same document */
TEST_CASE(agrees_on_documents)
{
    static const char *const texts[] = {
        "null", " true", "false ", "0", "-0", "19.99", "1e1", "1.7976931348623157e308", "5e-324", "\"\"",
        "\"\\u0041\\ud83d\\ude00\"",
        "\"\\u0085\\u2028\\u2029 \\b\\f\\n\\r\\t \\\" \\\\ \\/ \\u0001\"", "[]", "{}",
        "[[],[[]],{}]", "{\"\":\"\",\"a\\nb\":{\"\\\"\":[1,2,3]}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
        "\"arguments\":{\"text\":\"caf\\u00e9 \xe6\xbc\xa2\"}}}",
        "{\"A\":1,\"a\":2}", "[ 1 , 2 , { \"k\" : [ null , true , false ] } ]", "\"\x7f\"", "9007199254740993"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        agree_on(span_text(texts[i]), &json_reply_rules);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static void make_value(struct buf *out, uint32_t *seed, unsigned depth)
{
    static const char *const scalars[] = {"null", "true", "false", "0", "-1", "3.25", "1e5", "-2.5E-3", "123456789", "\"\"",
                                          "\"a\"", "\"\\n\\\"\"", "\"\\u00e9\xe2\x82\xac\"", "\"\\ud83d\\ude00\\u2028\""};
    uint32_t kind = next_random(seed) % (depth < 6 ? 4 : 2), count = next_random(seed) % 12;

    if (kind < 2) {
        assert_int_equal(buf_add_text(out, scalars[next_random(seed) % 14]), CODE_OK);
        return;
    }
    assert_int_equal(buf_add_text(out, kind == 2 ? "[ " : "{\n"), CODE_OK);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(buf_add_text(out, i ? " , " : ""), CODE_OK);
        if (kind == 3)
            assert_int_equal(buf_addf(out, "\"k%u\\u000%u\" :", i, 1 + next_random(seed) % 9), CODE_OK);
        make_value(out, seed, depth + 1);
    }
    assert_int_equal(buf_add_text(out, kind == 2 ? " ]" : "\t}"), CODE_OK);
}

/* 1.11 */
TEST_CASE(agrees_on_random_documents)
{
    uint32_t seed = 20261120;

    for (int i = 0; i < 300; i++) {
        struct buf in;

        buf_init(&in, CANON_CAP);
        make_value(&in, &seed, 0);
        agree_on(buf_peek(&in), &json_reply_rules);
        buf_fini(&in);
    }
}

TEST_MAIN(NULL, NULL)
