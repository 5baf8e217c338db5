/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/digest.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "fakes/cm.h"

static void expect(const struct buf *buf, struct span want)
{
    assert_true(span_equals(buf_peek(buf), want));
}

/* RFC 4648, section 10. */
TEST_CASE(test_vectors)
{
    static const struct { const char *plain, *padded, *bare; } rows[] = {
        {"", "", ""},                 {"f", "Zg==", "Zg"},           {"fo", "Zm8=", "Zm8"},
        {"foo", "Zm9v", "Zm9v"},      {"foob", "Zm9vYg==", "Zm9vYg"}, {"fooba", "Zm9vYmE=", "Zm9vYmE"},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
    };
    struct buf buf;

    buf_init(&buf, 100);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(base64url_encode(span_text(rows[i].plain), &buf), CODE_OK);
        expect(&buf, span_text(rows[i].bare));
        buf_clear(&buf);
        assert_int_equal(base64url_decode(span_text(rows[i].bare), &buf), CODE_OK);
        expect(&buf, span_text(rows[i].plain));
        buf_clear(&buf);
        assert_int_equal(base64_encode(span_text(rows[i].plain), &buf), CODE_OK);
        expect(&buf, span_text(rows[i].padded));
        buf_clear(&buf);
        assert_int_equal(base64_decode(span_text(rows[i].padded), &buf), CODE_OK);
        expect(&buf, span_text(rows[i].plain));
        buf_clear(&buf);
    }
    buf_fini(&buf);
}

/* The other alphabet, padded. */
static void to_standard(struct buf *text)
{
    while (buf_len(text) % 4 != 0)
        assert_int_equal(buf_add_byte(text, '='), CODE_OK);
    for (size_t i = text->head; i < text->tail; i++)
        text->block[i] = text->block[i] == '-' ? '+' : text->block[i] == '_' ? '/' : text->block[i];
}

TEST_CASE(test_every_byte_comes_back)
{
    char bytes[256];
    struct buf text, back;

    buf_init(&text, 1000);
    buf_init(&back, 1000);
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)(255 - i);
    for (size_t len = 0; len <= 256; len++) {
        buf_clear(&text);
        buf_clear(&back);
        assert_int_equal(base64url_encode(span_of(bytes, len), &text), CODE_OK);
        assert_int_equal(span_find(buf_peek(&text), '='), buf_len(&text));
        to_standard(&text);
        assert_int_equal(base64_decode(buf_peek(&text), &back), CODE_OK);
        expect(&back, span_of(bytes, len));
    }
    buf_fini(&text);
    buf_fini(&back);
}

/* One value has one spelling; what fails appends nothing. */
TEST_CASE(test_other_spellings_are_refused)
{
    static const char *const padded[] = {"Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zg==Zg==", "Z===", "====", "=", "Zm 9v",
                                         "Zm9v\n", "Zm-_", "Zm8=\n\n\n\n", "Z"};
    static const char *const bare[] = {"Zg==", "Zg=", "Zh", "Zm9", "Z", "=", "Zm+v", "Zm/v", "Zm 9v", "Zm9v\n", "Zm9v.", "Zm9v\x80"};
    struct buf buf;

    buf_init(&buf, 100);
    for (size_t i = 0; i < sizeof padded / sizeof padded[0]; i++)
        assert_int_equal(base64_decode(span_text(padded[i]), &buf), CODE_INVALID);
    for (size_t i = 0; i < sizeof bare / sizeof bare[0]; i++)
        assert_int_equal(base64url_decode(span_text(bare[i]), &buf), CODE_INVALID);
    assert_int_equal(base64_decode(span_of("Zm9v\0", 5), &buf), CODE_INVALID);
    assert_int_equal(base64url_decode(span_of("Zm9v\0", 5), &buf), CODE_INVALID);
    assert_int_equal(buf_len(&buf), 0);
    buf_fini(&buf);
}

/* 2.1: `decode: [base64]` reads what some decoder reads. NULL: nothing. */
TEST_CASE(test_loose)
{
    static const struct {
        const char *text, *bytes;
    } rows[] = {
        {"Zm9vYg==", "foob"}, {"Zm9vYg", "foob"},   {"Zm9vYmE=", "fooba"}, {"Zm9vYmE", "fooba"}, {"Zm9v", "foo"},
        {"Pz8/", "???"},      {"Pz8_", "???"},      {"fn5-", "~~~"},       {"fn5+", "~~~"},      {"fn5-Pz8/", "~~~???"},
        {"Zm 9v\r\nYg ==\t", "foob"},              {"Zh==", "f"},         {"Zg", "f"},
        {"Zg=", NULL},        {"Zg===", NULL},      {"Z", NULL},           {"Z===", NULL},       {"Zg==Zg==", NULL},
        {"Zm9v=", NULL},      {"Zm9v====", NULL},   {"====", NULL},        {"=", NULL},          {"", ""},
        {" ", ""},            {"Zm9v.", NULL},      {"Zm\x0b" "9v", NULL}, {"Zm9\xc3\xa9", NULL},
    };
    struct buf buf;

    buf_init(&buf, 100);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        buf_clear(&buf);
        assert_int_equal(base64_decode_loose(span_text(rows[i].text), &buf), rows[i].bytes ? CODE_OK : CODE_INVALID);
        if (!span_is(buf_peek(&buf), rows[i].bytes ? rows[i].bytes : ""))
            fail_msg("%s gave %.*s", rows[i].text, SPAN_ARG(buf_peek(&buf)));
    }
    mem_fail_at(1, 0);
    buf_fini(&buf);
    buf_init(&buf, 3);
    assert_int_equal(base64_decode_loose(SPAN_LIT("Zm9v"), &buf), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(base64_decode_loose(SPAN_LIT("Zm9vYg"), &buf), CODE_LIMIT);
    buf_fini(&buf);
}

TEST_CASE(test_limits)
{
    struct buf buf;

    buf_init(&buf, 3);
    assert_sticks(base64url_encode(SPAN_LIT("foo"), &buf), &buf, CODE_LIMIT);
    assert_int_equal(base64_decode(SPAN_LIT("Zm9vYg=="), &buf), CODE_LIMIT);
    mem_fail_at(1, 1);
    assert_int_equal(base64_decode(SPAN_LIT("Zm9v"), &buf), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(base64_decode(SPAN_LIT("Zm9v"), &buf), CODE_OK);
    buf_fini(&buf);
}

TEST_MAIN(NULL, NULL)
