/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"

#include "base/hash.h"
#include "base/num.h"

#include <string.h>

#define UNTOUCHED 77

TEST_CASE(unsigned_numbers)
{
    static const struct {
        const char *text;
        enum code code;
        uint64_t value;
    } rows[] = {
        {"0", CODE_OK, 0},
        {"7", CODE_OK, 7},
        {"18446744073709551615", CODE_OK, UINT64_MAX},
        {"18446744073709551616", CODE_LIMIT, UNTOUCHED},
        {"99999999999999999999999999", CODE_LIMIT, UNTOUCHED},
        {"", CODE_INVALID, UNTOUCHED},
        {"00", CODE_INVALID, UNTOUCHED},
        {"01", CODE_INVALID, UNTOUCHED},
        {"+1", CODE_INVALID, UNTOUCHED},
        {"-1", CODE_INVALID, UNTOUCHED},
        {" 1", CODE_INVALID, UNTOUCHED},
        {"1 ", CODE_INVALID, UNTOUCHED},
        {"1.0", CODE_INVALID, UNTOUCHED},
        {"1e3", CODE_INVALID, UNTOUCHED},
        {"0x1", CODE_INVALID, UNTOUCHED},
        {"99999999999999999999999999x", CODE_INVALID, UNTOUCHED},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t value = UNTOUCHED;

        if (num_u64(span_text(rows[i].text), &value) != rows[i].code || value != rows[i].value)
            fail_msg("%s", rows[i].text);
    }
}

TEST_CASE(signed_numbers)
{
    static const struct {
        const char *text;
        enum code code;
        int64_t value;
    } rows[] = {
        {"0", CODE_OK, 0},
        {"-1", CODE_OK, -1},
        {"9223372036854775807", CODE_OK, INT64_MAX},
        {"9223372036854775808", CODE_LIMIT, UNTOUCHED},
        {"-9223372036854775808", CODE_OK, INT64_MIN},
        {"-9223372036854775809", CODE_LIMIT, UNTOUCHED},
        {"-0", CODE_INVALID, UNTOUCHED},
        {"-", CODE_INVALID, UNTOUCHED},
        {"--1", CODE_INVALID, UNTOUCHED},
        {"-01", CODE_INVALID, UNTOUCHED},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t value = UNTOUCHED;

        if (num_i64(span_text(rows[i].text), &value) != rows[i].code || value != rows[i].value)
            fail_msg("%s", rows[i].text);
    }
}

TEST_CASE(sizes_and_times)
{
    static const struct {
        const char *text;
        bool is_time;
        enum code code;
        uint64_t value;
    } rows[] = {
        {"123", false, CODE_OK, 123},
        {"123B", false, CODE_OK, 123},
        {"64 KiB", false, CODE_OK, 65536},
        {"4MiB", false, CODE_OK, 4 << 20},
        {"1 GiB", false, CODE_OK, 1 << 30},
        {"17179869184 GiB", false, CODE_LIMIT, UNTOUCHED},
        {"4MB", false, CODE_INVALID, UNTOUCHED},
        {"4 kib", false, CODE_INVALID, UNTOUCHED},
        {"4.5 MiB", false, CODE_INVALID, UNTOUCHED},
        {"MiB", false, CODE_INVALID, UNTOUCHED},
        {"-4 MiB", false, CODE_INVALID, UNTOUCHED},
        {"", false, CODE_INVALID, UNTOUCHED},
        {"250ms", true, CODE_OK, 250},
        {"10s", true, CODE_OK, 10000},
        {"5 min", true, CODE_OK, 300000},
        {"2h", true, CODE_OK, 7200000},
        {"30d", true, CODE_OK, 2592000000},
        {"10", true, CODE_INVALID, UNTOUCHED},
        {"10m", true, CODE_INVALID, UNTOUCHED},
        {"10S", true, CODE_INVALID, UNTOUCHED},
        {"999999999999999999d", true, CODE_LIMIT, UNTOUCHED},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct span text = span_text(rows[i].text);
        uint64_t value = UNTOUCHED;

        if ((rows[i].is_time ? num_duration(text, &value) : num_size(text, &value)) != rows[i].code || value != rows[i].value)
            fail_msg("%s", rows[i].text);
    }
}

TEST_CASE(hexadecimal)
{
    unsigned char bytes[4] = {9, 9, 9, 9};
    char text[8];

    num_hex("\x00\x0f\xa5\xff", 4, text);
    assert_memory_equal(text, "000fa5ff", 8);
    assert_ok(num_unhex(SPAN_LIT("000fA5Ff"), bytes, 4));
    assert_memory_equal(bytes, "\x00\x0f\xa5\xff", 4);
    assert_int_equal(num_unhex(SPAN_LIT("0011223g"), bytes, 4), CODE_INVALID);
    assert_int_equal(num_unhex(SPAN_LIT("001122"), bytes, 4), CODE_INVALID);
    assert_int_equal(num_unhex(SPAN_LIT("0011223344"), bytes, 4), CODE_INVALID);
    assert_memory_equal(bytes, "\x00\x0f\xa5\xff", 4); /* untouched */
    assert_ok(num_unhex(SPAN_NONE, bytes, 0));
}

TEST_CASE(hashes)
{
    static char text[64];
    uint64_t seen[64];

    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < 64; i++) {
        seen[i] = hash_bytes(text, i);
        assert_int_equal(seen[i], hash_span(span_of(text, i)));
        for (size_t j = 0; j < i; j++)
            assert_true(seen[i] != seen[j]);
    }
    /* Every byte counts, in every place. */
    for (size_t i = 0; i < 63; i++) {
        text[i] = 'b';
        assert_true(hash_bytes(text, 63) != seen[63]);
        text[i] = 'a';
    }
    assert_true(hash_mix(1, 2) != hash_mix(2, 1));
    assert_int_equal(hash_bytes(NULL, 0), seen[0]);
}

TEST_CASE(writes_decimals)
{
    const struct { uint64_t value; const char *text; } cases[] = {
        {0, "0"}, {7, "7"}, {10, "10"}, {200, "200"}, {UINT64_MAX, "18446744073709551615"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[NUM_TEXT_BYTES];
        size_t len = num_text(cases[i].value, out);

        assert_int_equal(len, strlen(cases[i].text));
        assert_memory_equal(out, cases[i].text, len);
    }
}

TEST_MAIN(NULL, NULL)
