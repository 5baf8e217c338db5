/* SPDX-License-Identifier: Apache-2.0 */
#include "json/doc.h"
#include "json_help.h"

static struct doc *sample(void)
{
    struct doc *doc = doc_object(), *list, *inner;

    doc_text(doc, "text", SPAN_LIT("a\"b\\\n\x01\xe2\x80\xa8"));
    doc_text(doc, "nul", SPAN_LIT("a\0b"));
    doc_text(doc, "broken", SPAN_LIT("\xff\xc3"));
    doc_text(doc, "empty", SPAN_NONE);
    doc_int(doc, "big", INT64_MAX);
    doc_int(doc, "small", INT64_MIN);
    doc_bool(doc, "yes", true);
    doc_bool(doc, "no", false);
    doc_null(doc, "none");
    doc_json(doc, "json", SPAN_LIT("{\"a\":[1.50]}"));
    doc_json(doc, "no_json", SPAN_NONE);
    list = doc_add_array(doc, "list");
    doc_int(list, NULL, 1);
    inner = doc_add_object(list, NULL);
    doc_text(inner, "k", SPAN_LIT("v"));
    (void)doc_add_array(list, NULL);
    return doc;
}

static const char printed[] =
    "{\"text\":\"a\\\"b\\\\\\n\\u0001\\u2028\",\"nul\":\"a\xef\xbf\xbd" "b\",\"broken\":\"\xef\xbf\xbd\xef\xbf\xbd\","
    "\"empty\":\"\","
    "\"big\":9223372036854775807,\"small\":-9223372036854775808,\"yes\":true,\"no\":false,\"none\":null,"
    "\"json\":{\"a\":[1.50]},\"no_json\":null,"
    "\"list\":[1,{\"k\":\"v\"},[]]}";

TEST_CASE(prints_what_was_built)
{
    struct doc *doc = sample();
    struct buf out;

    buf_init(&out, 10000);
    assert_int_equal(doc_print(doc, &out), CODE_OK);
    assert_true(span_is(buf_peek(&out), printed));
    accept_text(printed, printed); /* what we write is canonical */
    buf_clear(&out);
    doc_free(&doc);
    assert_null(doc);
    doc_free(&doc);
    buf_fini(&out);
}

TEST_CASE(prints_within_the_cap)
{
    struct doc *doc = sample();
    struct buf out;

    buf_init(&out, sizeof printed - 2);
    assert_int_equal(doc_print(doc, &out), CODE_LIMIT);
    assert_int_equal(buf_len(&out), 0);
    doc_free(&doc);
    buf_fini(&out);
}

TEST_CASE(marks_what_could_not_be_built)
{
    struct buf out;
    enum code code;
    uint64_t n;

    for (n = 1;; n++) {
        struct doc *doc;

        buf_init(&out, 10000);
        mem_fail_at(n, 0);
        doc = sample();
        code = doc_print(doc, &out);
        mem_fail_at(0, 0);
        doc_free(&doc);
        if (code == CODE_OK) {
            assert_true(span_is(buf_peek(&out), printed));
            buf_fini(&out);
            break;
        }
        assert_int_equal(code, CODE_NOMEM);
        assert_int_equal(buf_len(&out), 0);
        buf_fini(&out);
    }
    assert_true(n > 60); /* each member's memory is ours, and may fail */
}

TEST_CASE(writes_strings)
{
    static const struct {
        struct span text;
        const char *written;
    } cases[] = {
        {{"", 0}, "\"\""},
        {{"plain text that is long enough", 30}, "\"plain text that is long enough\""},
        {{"\xc2\x85\xe2\x80\xa8\xe2\x80\xa9", 8}, "\"\\u0085\\u2028\\u2029\""},
        {{"\xed\xa0\x80", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {{"\xf0\x9f\x98", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {{"\xf0\x9f\x98\x80", 4}, "\"\xf0\x9f\x98\x80\""},
        {{"\0\x1f\x7f", 3}, "\"\xef\xbf\xbd\\u001f\x7f\""},
    };
    struct buf out;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf_init(&out, 100);
        assert_int_equal(json_write_string(&out, cases[i].text), CODE_OK);
        assert_true(span_is(buf_peek(&out), cases[i].written));
        accept_text(cases[i].written, cases[i].written);
        buf_fini(&out);
        buf_init(&out, strlen(cases[i].written) - 1);
        assert_sticks(json_write_string(&out, cases[i].text), &out, CODE_LIMIT);
        buf_fini(&out);
    }
}

TEST_MAIN(NULL, NULL)
