/* SPDX-License-Identifier: Apache-2.0 */
#include "json_help.h"

#include <time.h>

static const struct json_rules root_rules = {64, 200000, 4096, JSON_FOLD_ROOT, 0};

/* The reader works in other steps where the document's end is near. */
static struct span far_from_the_end(const char *text, char far[1000])
{
    size_t len = strlen(text);

    assert_true(len + 40 <= 1000);
    memcpy(far, text, len);
    memset(far + len, ' ', 40);
    return span_of(far, len + 40);
}

static void envelope_refuses(const char *text)
{
    char far[1000];

    refuse(span_text(text), &json_request_rules, JSON_FAULT_DUPLICATE);
    refuse(far_from_the_end(text, far), &json_request_rules, JSON_FAULT_DUPLICATE);
}

static void envelope_accepts(const char *text)
{
    char far[1000];

    accept_as(span_text(text), &json_request_rules, span_text(text));
    accept_as(far_from_the_end(text, far), &json_request_rules, span_text(text));
}

/* 1.11: twice at any depth, after unescaping, whatever the values */
TEST_CASE(refuses_duplicates)
{
    static const char *const texts[] = {
        "{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":1}", "{\"\":1,\"\":2}", "{\"a\":1,\"b\":2,\"a\":{}}", "{\"a\":1,\"\\u0061\":2}",
        "{\"/\":1,\"\\/\":2}", "{\"\\n\":1,\"\\u000a\":2}", "{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}",
        "{\"\xc2\x85\":1,\"\\u0085\":2}", "[[[{\"x\":{\"y\":[{\"a\":1,\"a\":2}]}}]]]", "{\"x\":{\"a\":1},\"y\":2,\"x\":3}",
        "{\"a\":{\"b\":1,\"c\":2},\"b\":{},\"a\":3}"};

    char far[1000];

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        refuse_text(texts[i], JSON_FAULT_DUPLICATE);
        refuse(far_from_the_end(texts[i], far), &json_file_rules, JSON_FAULT_DUPLICATE);
    }
    accept_text("{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}",
                "{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}");
    accept_text("{\"n\":1,\"N\":2}", "{\"n\":1,\"N\":2}");
    accept_text("{\"\\\\n\":1,\"\\n\":2,\"n\":3}", "{\"\\\\n\":1,\"\\n\":2,\"n\":3}");
    accept_text("{\"\xc3\xa9\":1,\"e\xcc\x81\":2}", "{\"\xc3\xa9\":1,\"e\xcc\x81\":2}"); /* no normalisation */
}

/* 1.11: the duplicate may be at any place of an object of any size */
TEST_CASE(refuses_duplicates_in_large_objects)
{
    for (size_t count = 2; count <= 40; count++)
        for (size_t twin = 0; twin + 1 < count; twin++) {
            struct buf in;

            buf_init(&in, CANON_CAP);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(buf_addf(&in, "%s\"key%zu\":[{\"key1\":0}]", i ? "," : "{", i + 1 == count ? twin : i),
                                 CODE_OK);
            assert_int_equal(buf_add_text(&in, "}"), CODE_OK);
            refuse(buf_peek(&in), &json_file_rules, JSON_FAULT_DUPLICATE);
            buf_fini(&in);
        }
}

static void many_keys(struct buf *in, size_t count)
{
    buf_init(in, CANON_CAP);
    assert_int_equal(buf_add_text(in, "{"), CODE_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(buf_addf(in, "%s\"%zx\":0", i ? "," : "", i), CODE_OK);
    }
    assert_int_equal(buf_add_text(in, "}"), CODE_OK);
}

/* 1.11: 4,096 keys an object */
TEST_CASE(bounds_keys)
{
    struct buf in;

    many_keys(&in, 4096);
    accept_as(buf_peek(&in), &json_request_rules, buf_peek(&in));
    buf_fini(&in);
    many_keys(&in, 4097);
    refuse(buf_peek(&in), &json_request_rules, JSON_FAULT_NODES);
    accept_as(buf_peek(&in), &json_reply_rules, buf_peek(&in));
    buf_fini(&in);
    many_keys(&in, 65537);
    refuse(buf_peek(&in), &json_reply_rules, JSON_FAULT_NODES);
    buf_fini(&in);
}

/* 1.11: the envelope and params, where readers that ignore case would see one key twice */
TEST_CASE(folds_the_envelope)
{
    envelope_refuses("{\"method\":1,\"Method\":2}");
    envelope_refuses("{\"params\":1,\"param\xc5\xbf\":2}");
    envelope_refuses("{\"param\xc5\xbf\":1,\"PARAMS\":2}");
    envelope_refuses("{\"k\":1,\"\xe2\x84\xaa\":2}");
    envelope_refuses("{\"k\":1,\"\\u212a\":2}");
    envelope_refuses("{\"K\":1,\"\xe2\x84\xaa\":2}");
    envelope_refuses("{\"params\":{\"name\":1,\"NAME\":2}}");
    envelope_refuses("{\"params\":{\"task\":1,\"ta\xc5\xbfk\":2}}");
    envelope_refuses("{\"p\\u0061rams\":{\"name\":1,\"Name\":2}}");
    envelope_accepts("{\"a\":{\"n\":1,\"N\":2},\"params\":{\"x\":{\"n\":1,\"N\":2}}}");
    envelope_accepts("[{\"params\":{\"n\":1,\"N\":2}}]");
    accept_text("{\"method\":1,\"Method\":2}", "{\"method\":1,\"Method\":2}");
    accept_as(SPAN_LIT("{\"k\":1,\"K\":2}"), &json_reply_rules, SPAN_LIT("{\"k\":1,\"K\":2}"));
}

/* 1.11: arguments, where n and N are two, but s and U+017F are not */
TEST_CASE(folds_arguments_beyond_ascii_only)
{
    envelope_accepts("{\"params\":{\"arguments\":{\"n\":1,\"N\":2}}}");
    envelope_accepts("{\"params\":{\"arguments\":{\"abc\":1,\"ABC\":2,\"Abc\":3,\"aBc\":4,\"abC\":5,\"ABc\":6,\"aBC\":7,"
                     "\"AbC\":8,\"x\":9,\"X\":10}}}");
    envelope_refuses("{\"params\":{\"arguments\":{\"n\":1,\"n\":2}}}");
    envelope_refuses("{\"params\":{\"arguments\":{\"s\":1,\"\xc5\xbf\":2}}}");
    envelope_refuses("{\"params\":{\"arguments\":{\"S\":1,\"\xc5\xbf\":2}}}");
    envelope_refuses("{\"params\":{\"arguments\":{\"S\":1,\"s\":2,\"\xc5\xbf\":2}}}");
    envelope_refuses("{\"params\":{\"arguments\":{\"To\xe2\x84\xaa\":1,\"toK\":2}}}");
    envelope_refuses("{\"params\":{\"arguments\":{\"\\u017fq\":1,\"sq\":2}}}");
    envelope_accepts("{\"params\":{\"arguments\":{\"\xc5\xbf\":1,\"\xe2\x84\xaa\":2}}}");
    envelope_accepts("{\"params\":{\"arguments\":{\"x\":{\"s\":1,\"\xc5\xbf\":2}}}}"); /* at the top of arguments only */
    envelope_accepts("{\"params\":{\"other\":{\"s\":1,\"\xc5\xbf\":2}}}");
    refuse(SPAN_LIT("{\"s\":1,\"\xc5\xbf\":2}"), &root_rules, JSON_FAULT_DUPLICATE);
    accept_as(SPAN_LIT("{\"s\":1,\"S\":2,\"params\":{\"s\":1,\"S\":2}}"), &root_rules,
              SPAN_LIT("{\"s\":1,\"S\":2,\"params\":{\"s\":1,\"S\":2}}"));
}

/* The same with more keys than are compared in pairs. */
TEST_CASE(folds_large_objects)
{
    static const struct {
        const char *begin, *end;
        bool refused;
    } cases[] = {
        {"{\"method\":0,", ",\"METHOD\":0}", true},
        {"{\"params\":{\"task\":0,", ",\"ta\xc5\xbf\xe2\x84\xaa\":0}}", true},
        {"{\"params\":{\"arguments\":{\"task\":0,", ",\"ta\xc5\xbf\xe2\x84\xaa\":0}}}", true},
        {"{\"params\":{\"arguments\":{\"ta\xc5\xbf\xe2\x84\xaa\":0,", ",\"task\":0}}}", true},
        {"{\"params\":{\"arguments\":{\"task\":0,\"TASK\":0,", ",\"Ta\xc5\xbfK\":0}}}", true},
        {"{\"params\":{\"arguments\":{\"task\":0,", ",\"task\":0}}}", true},
        {"{\"params\":{\"arguments\":{\"task\":0,", ",\"TASK\":0,\"Task\":0}}}", false},
        {"{\"params\":{\"x\":{\"task\":0,", ",\"TASK\":0,\"ta\xc5\xbfk\":0}}}", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];

        snprintf(text, sizeof text, "%s\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0%s", cases[i].begin,
                 cases[i].end);
        if (cases[i].refused)
            envelope_refuses(text);
        else
            envelope_accepts(text);
    }
}

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Of a few runs the quickest, so that what the machine does beside them does not count. Takes the text. */
static double cost_of(struct buf *in, const struct json_rules *rules)
{
    double least = 0;

    for (int run = 0; run < 5; run++) {
        double begin = cpu_seconds(), took;

        accept_as(buf_peek(in), rules, buf_peek(in));
        took = cpu_seconds() - begin;
        least = run == 0 || took < least ? took : least;
    }
    buf_fini(in);
    return least;
}

static double cost_of_keys(unsigned count)
{
    struct buf in;

    many_keys(&in, count);
    return cost_of(&in, &json_reply_rules);
}

/* Of the first `count` spellings of one word. */
static double cost_of_spellings(unsigned count)
{
    struct buf in;

    buf_init(&in, CANON_CAP);
    assert_int_equal(buf_add_text(&in, "{\"params\":{\"arguments\":{"), CODE_OK);
    for (unsigned i = 0; i < count; i++) {
        char word[] = "abcdefghijkl";

        for (unsigned bit = 0; bit < 12; bit++)
            if (i >> bit & 1)
                word[bit] = (char)(word[bit] - 32);
        assert_int_equal(buf_addf(&in, "%s\"%s\":0", i ? "," : "", word), CODE_OK);
    }
    assert_int_equal(buf_add_text(&in, "}}}"), CODE_OK);
    return cost_of(&in, &json_request_rules);
}

/* 1.11: never pairwise: 32,768 keys, and 4,096 spellings of one word, cost what their bytes cost. Pairwise, sixteen times as
 * many would cost 256 times as much. */
TEST_CASE(takes_linear_time)
{
    assert_true(cost_of_keys(32768) < 64 * cost_of_keys(2048));
    assert_true(cost_of_spellings(4096) < 64 * cost_of_spellings(256));
}

static double cost_of_objects(unsigned keys_of_first)
{
    struct buf big, in;

    many_keys(&big, keys_of_first);
    buf_init(&in, CANON_CAP);
    assert_int_equal(buf_add_text(&in, "["), CODE_OK);
    assert_int_equal(buf_add_span(&in, buf_peek(&big)), CODE_OK);
    buf_fini(&big);
    for (int i = 0; i < 30000; i++)
        assert_int_equal(buf_add_text(&in, ",{"
                                           "\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0}"),
                         CODE_OK);
    assert_int_equal(buf_add_text(&in, "]"), CODE_OK);
    return cost_of(&in, &json_reply_rules);
}

/* One object with many keys must not make every later one dear. */
TEST_CASE(clears_only_what_it_uses)
{
    assert_true(cost_of_objects(65536) < 8 * cost_of_objects(16));
}

TEST_MAIN(NULL, NULL)
