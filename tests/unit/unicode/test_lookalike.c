/* SPDX-License-Identifier: Apache-2.0 */
#include "unicode/lookalike.h"
#include "fakes/cm.h"

#include <lookalike_tbl.h>

#include "base/utf8.h"

static bool look_alike(const char *a, const char *b)
{
    char first[64], second[64];
    size_t one = lookalike_skeleton(span_text(a), first, sizeof first);
    size_t two = lookalike_skeleton(span_text(b), second, sizeof second);

    return span_equals(span_of(first, one), span_of(second, two));
}

/* 2.3 */
TEST_CASE(test_skeletons)
{
    char tiny[3];

    assert_true(look_alike("send_mail", "Send_Mail"));
    assert_true(look_alike("paypal", "p\xd0\xb0yp\xd0\xb0l"));             /* Cyrillic a */
    assert_true(look_alike("COPE", "\xd0\xa1\xd0\x9e\xd0\xa0\xd0\x95"));   /* all of it Cyrillic */
    assert_true(look_alike("list", "1ist"));
    assert_true(look_alike("t0ol", "tool"));
    assert_true(look_alike("abc", "\xef\xbd\x81\xef\xbd\x82\xef\xbd\x83")); /* full width */
    assert_false(look_alike("send_mail", "send-mail"));
    assert_false(look_alike("read", "road"));
    assert_false(look_alike("\xe8\xb2\xb7", "\xe8\xb3\xa3"));
    assert_int_equal(lookalike_skeleton(SPAN_LIT("abcd"), tiny, sizeof tiny), 0);
}

/* 9.1: the table is in order, and nothing becomes longer in UTF-8, so that no room is missing. */
TEST_CASE(test_table)
{
    static const struct {
        uint32_t point;
        const char *seen;
    } looks[] = {
#define X(point, seen) {point, seen},
        LOOKALIKE_TABLE(X)
#undef X
    };
    char bytes[4];

    assert_true(sizeof looks / sizeof *looks > 1500);
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        size_t len = strlen(looks[i].seen);

        assert_true(i == 0 || looks[i - 1].point < looks[i].point);
        assert_true(looks[i].point >= 0x80 && len > 0 && len <= utf8_put(bytes, looks[i].point));
        for (size_t k = 0; k < len; k++)
            assert_in_range(looks[i].seen[k], 0x20, 0x7e);
    }
}

static void reads_as(const char *text, const char *wanted)
{
    struct buf out;

    buf_init(&out, 1 << 16);
    assert_int_equal(lookalike_plain(span_text(text), &out), CODE_OK);
    if (!span_is(buf_peek(&out), wanted))
        fail_msg("%s reads as %.*s, not %s", text, SPAN_ARG(buf_peek(&out)), wanted);
    buf_fini(&out);
}

/* 9.1: whole texts: ASCII stays, what looks like it becomes it, everything else is what NFKC says. */
TEST_CASE(test_texts)
{
    struct buf tight;

    reads_as("", "");
    reads_as("0O1lI|", "0O1lI|");
    reads_as("p\xd0\xb0y\xd1\x80\xd0\xb0l", "paypal");
    reads_as("\xd0\x86 \xd3\x8f \xe2\x88\xa3 \xd0\x9e", "I i | O");   /* by their categories */
    reads_as("\xd0\xba\xd0\xbc\xcf\x84", "kmt");                        /* by their capitals */
    reads_as("\xef\xbc\xa1\xe2\x80\x8b\xf0\x9d\x9f\x98", "A0");         /* NFKC, without format characters */
    reads_as("\xe8\xb2\xb7\xc3\xa9", "\xe8\xb2\xb7\xc3\xa9");
    buf_init(&tight, 4);
    assert_int_equal(lookalike_plain(SPAN_LIT("p\xd0\xb0ypal"), &tight), CODE_LIMIT);
    assert_true(buf_is_empty(&tight));
    buf_fini(&tight);
}

/* 2.3 */
TEST_CASE(test_scripts)
{
    assert_true(lookalike_mixes_scripts(SPAN_LIT("p\xd0\xb0ypal")));
    assert_true(lookalike_mixes_scripts(SPAN_LIT("\xce\xb1" "bc")));
    assert_false(lookalike_mixes_scripts(SPAN_LIT("\xd1\x87\xd1\x82\xd0\xb5\xd0\xbd\xd0\xb8\xd0\xb5_2")));
    assert_false(lookalike_mixes_scripts(SPAN_LIT("gr\xc3\xbc\xc3\x9f_1.x-y")));
    assert_false(lookalike_mixes_scripts(SPAN_LIT("12_-")));
}

TEST_MAIN(NULL, NULL)
