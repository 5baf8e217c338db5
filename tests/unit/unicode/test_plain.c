/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "base/utf8.h"
#include "unicode/unicode.h"
#include "fakes/cm.h"

#include <stdlib.h>


/* 2.1: NFKC without what readers pass over. */
TEST_CASE(test_texts)
{
    static const struct {
        const char *text, *plain;
    } rows[] = {
        {"", ""},
        {"drop table", "drop table"},
        {"\xef\xbd\x84\xef\xbd\x92\xef\xbd\x8f\xef\xbd\x90", "drop"},       /* full width */
        {"d\xe2\x80\x8br\xc2\xado\xe2\x81\xa0p", "drop"},                   /* zero width space, soft hyphen, word joiner */
        {"\xe2\x80\xae" "drop", "drop"},                                    /* right-to-left override */
        {"\xf3\xa0\x81\xa4" "drop", "drop"},                                /* a tag */
        {"\xf0\x9d\x90\x9dro\xf0\x9d\x90\xa9", "drop"},                     /* mathematical letters */
        {"e\xcc\x81", "\xc3\xa9"},
        {"e\xe2\x80\x8d\xcc\x81", "\xc3\xa9"},                              /* what stands between goes before it is composed */
        {"\xc3\xa9", "\xc3\xa9"},
        {"a\xcc\x81\xcc\xa3", "\xe1\xba\xa1\xcc\x81"},                      /* marks in their order */
        {"x\xef\xac\x81y", "xfiy"},
        {"\xc5\xbf", "s"},                                                  /* long s */
        {"\xe2\x84\xaa", "K"},                                              /* Kelvin */
        {"1\xc2\xa0" "2", "1 2"},
        {"\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", "\xed\x95\x9c"},           /* Hangul */
        {"\xd0\xb4", "\xd0\xb4"},                                           /* look-alikes stay what they are */
        {"\xe2\x80\x8b", ""},
        /* 10.6: Default_Ignorable_Code_Point, which is no format character: fillers, selectors, what is not assigned */
        {"4\xef\xb8\x8f" "1\xcd\x8f" "1\xe3\x85\xa4" "1\xef\xbe\xa0" "7\xe1\x85\x9f" "2\xe1\xa0\x8b" "5\xe2\x81\xa5" "0\xef\xbf\xb0" "3"
         "\xf3\xa0\x84\x80" "6\xf3\xa0\x82\x80" "9", "41117250369"},
    };
    struct buf out;

    buf_init(&out, 1 << 16);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        buf_clear(&out);
        assert_int_equal(unicode_plain(span_text(rows[i].text), &out), CODE_OK);
        if (!span_is(buf_peek(&out), rows[i].plain))
            fail_msg("%s became %.*s", rows[i].text, SPAN_ARG(buf_peek(&out)));
    }
    buf_fini(&out);
}

/* 12.3: NFKC and full case folding, of what is plain already. */
TEST_CASE(test_folded)
{
    static const struct {
        const char *text, *folded;
    } rows[] = {
        {"", ""},
        {"Drop TABLE 1", "drop table 1"},
        {"stra\xc3\x9f" "e STRASSE", "strasse strasse"},
        {"\xe1\xba\x9e", "ss"},                                 /* the capital of it */
        {"\xc3\x89" "E\xcc\x81", "\xc3\xa9\xc3\xa9"},
        {"\xce\xa3\xcf\x82\xcf\x83", "\xcf\x83\xcf\x83\xcf\x83"}, /* sigma in its three forms */
        {"\xef\xac\x80", "ff"},
        {"\xe2\x84\xaa", "k"},
        {"X\xcc\xa3\xcc\x87", "\xe1\xba\x8b\xcc\xa3"},     /* marks in their order, the letter composed */
    };
    struct buf plain, out;

    buf_init(&plain, 1 << 16);
    buf_init(&out, 1 << 16);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        buf_clear(&plain);
        buf_clear(&out);
        assert_int_equal(unicode_plain(span_text(rows[i].text), &plain), CODE_OK);
        assert_int_equal(unicode_fold(buf_peek(&plain), &out), CODE_OK);
        if (!span_is(buf_peek(&out), rows[i].folded))
            fail_msg("%s became %.*s", rows[i].text, SPAN_ARG(buf_peek(&out)));
    }
    buf_fini(&plain);
    buf_fini(&out);
}

TEST_CASE(test_characters)
{
    static const uint32_t word[] = {'a', 'Z', '0', 0xe4, 0x301, 0x661, 0x4e2d};
    static const uint32_t other[] = {'_', ' ', 0x2460, 0x3164, 0x115f, 0xfe0f, 0x34f, 0x16fe4, 0x200d};

    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        assert_true(unicode_is_of_word(word[i]));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_false(unicode_is_of_word(other[i]));
    assert_true(unicode_is_blank(' ') && unicode_is_blank(0xa0) && unicode_is_blank(0x3000) && unicode_is_blank(0xfeff));
    assert_false(unicode_is_blank('a') || unicode_is_blank(0x200b) || unicode_is_blank('\t'));
}

/* Half a million marks on one letter take as long as half a million letters: two classes, the higher one first. */
TEST_CASE(test_heaps)
{
    size_t len = (size_t)1 << 20, at = 1;
    char *text = malloc(len);
    struct buf out;

    assert_non_null(text);
    text[0] = 'q';
    while (at + 4 <= len) {
        memcpy(text + at, "\xcc\x81\xcc\xa3", 4); /* above, then below */
        at += 4;
    }
    buf_init(&out, 8 << 20);
    assert_int_equal(unicode_plain(span_of(text, at), &out), CODE_OK);
    assert_int_equal(buf_len(&out), at);
    assert_memory_equal(buf_peek(&out).at, "q\xcc\xa3\xcc\xa3", 5);
    assert_memory_equal(buf_peek(&out).at + at - 4, "\xcc\x81\xcc\x81", 4);
    buf_fini(&out);
    free(text);
}

TEST_CASE(test_bounds)
{
    size_t len = 3 << 20;
    char *text = malloc(len);
    struct buf out;

    assert_non_null(text);
    for (size_t i = 0; i < len; i += 3)
        memcpy(text + i, "\xe3\x83\x84", 3);
    buf_init(&out, 8 << 20);
    assert_int_equal(unicode_plain(span_of(text, len), &out), CODE_LIMIT);
    assert_int_equal(buf_len(&out), 0);
    assert_int_equal(unicode_plain(span_of(text, len / 2), &out), CODE_OK);
    buf_fini(&out);
    buf_init(&out, 4);
    assert_int_equal(unicode_plain(span_of(text, 6), &out), CODE_LIMIT);
    for (unsigned nth = 1; nth <= 3; nth++) {
        static const char marks[] = "a\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81"
                                    "\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81";

        buf_fini(&out);
        buf_init(&out, 1 << 10);
        mem_fail_at(nth, 0);
        assert_int_equal(unicode_plain(span_text(marks), &out), CODE_NOMEM);
        mem_fail_at(0, 0);
    }
    assert_int_equal(unicode_plain(SPAN_LIT("a\xff"), &out), CODE_INVALID);
    assert_int_equal(buf_len(&out), 0);
    buf_fini(&out);
    free(text);
}

TEST_MAIN(NULL, NULL)
