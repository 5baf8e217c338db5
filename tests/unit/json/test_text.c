/* SPDX-License-Identifier: Apache-2.0 */
#include "json/text.h"

#include "json_help.h"

/* 11.15: a text is read with its tree, or there is none; the densest of so many bytes has room for its tree. */
TEST_CASE(reads_or_has_none)
{
    struct json_text text;
    struct buf dense;

    assert_int_equal(json_text_read(&text, SPAN_LIT(" {\"a\" : \"b\\n\"} "), &json_file_rules, 16), CODE_OK);
    assert_true(span_is(json_member_text(text.root, "a"), "b\n"));
    assert_true(span_is(text.root->raw, "{\"a\":\"b\\n\"}"));
    json_text_fini(&text);
    assert_null(text.root);
    assert_int_equal(json_text_read(&text, SPAN_LIT("{\"a\":1,\"a\":2}"), &json_file_rules, 64), CODE_INVALID);
    assert_null(text.root);
    assert_int_equal(text.fault.kind, JSON_FAULT_DUPLICATE);
    json_text_fini(&text);
    assert_int_equal(json_text_read(&text, SPAN_LIT("[1,2,3]"), &json_file_rules, 4), CODE_LIMIT);
    assert_null(text.root);
    json_text_fini(&text);
    text = (struct json_text){.root = NULL};
    json_text_fini(&text);
    buf_init(&dense, SIZE_MAX / 2);
    buf_add_text(&dense, "[0");
    while (buf_len(&dense) < 99999)
        buf_add_text(&dense, ",0");
    buf_add_text(&dense, "]");
    assert_int_equal(json_text_read(&text, buf_peek(&dense), &json_reply_rules, buf_len(&dense)), CODE_OK);
    assert_int_equal(text.root->count, buf_len(&dense) / 2);
    json_text_fini(&text);
    buf_fini(&dense);
}

TEST_CASE(says_what_is_json)
{
    assert_true(json_text_is(SPAN_LIT("[\"a\",1e3]"), 64));
    assert_true(json_text_is(SPAN_LIT("42"), 2));
    assert_false(json_text_is(SPAN_LIT("420"), 2));
    assert_false(json_text_is(SPAN_LIT("{\"a\":"), 64));
    assert_false(json_text_is(SPAN_NONE, 64));
}

TEST_MAIN(NULL, NULL)
