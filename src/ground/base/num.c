/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"

#include "base/ascii.h"

enum code num_u64(struct span text, uint64_t *out)
{
    uint64_t value = 0;

    if (text.len == 0 || (text.len > 1 && text.at[0] == '0') || !ascii_is_all(text, "0-9"))
        return CODE_INVALID;
    for (size_t i = 0; i < text.len; i++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(text.at[i] - '0'), &value))
            return CODE_LIMIT;
    *out = value;
    return CODE_OK;
}

enum code num_i64(struct span text, int64_t *out)
{
    bool negative = text.len > 0 && text.at[0] == '-';
    uint64_t magnitude;
    enum code code = num_u64(negative ? span_part(text, 1, SIZE_MAX) : text, &magnitude);

    if (code != CODE_OK)
        return code;
    if (negative && magnitude == 0)
        return CODE_INVALID;
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return CODE_LIMIT;
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return CODE_OK;
}

struct unit {
    const char *name;
    uint64_t factor;
};

static enum code with_unit(struct span text, const struct unit *units, uint64_t *out)
{
    size_t digits = 0;
    struct span unit;
    uint64_t value;
    enum code code;

    while (digits < text.len && ascii_is_digit(text.at[digits]))
        digits++;
    unit = span_trim(span_part(text, digits, SIZE_MAX));
    code = num_u64(span_part(text, 0, digits), &value);
    if (code != CODE_OK)
        return code;
    for (; units->name != NULL; units++)
        if (span_is(unit, units->name)) {
            if (__builtin_mul_overflow(value, units->factor, &value))
                return CODE_LIMIT;
            *out = value;
            return CODE_OK;
        }
    return CODE_INVALID;
}

enum code num_size(struct span text, uint64_t *bytes)
{
    static const struct unit units[] = {{"", 1},          {"B", 1},           {"KiB", 1 << 10},
                                        {"MiB", 1 << 20}, {"GiB", 1ull << 30}, {NULL, 0}};

    return with_unit(text, units, bytes);
}

enum code num_duration(struct span text, uint64_t *ms)
{
    static const struct unit units[] = {{"ms", 1},       {"s", 1000},      {"min", 60000},
                                        {"h", 3600000},  {"d", 86400000},  {NULL, 0}};

    return with_unit(text, units, ms);
}

size_t num_text(uint64_t value, char out[NUM_TEXT_BYTES])
{
    char backwards[NUM_TEXT_BYTES];
    size_t len = 0;

    do {
        backwards[len++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (size_t i = 0; i < len; i++)
        out[i] = backwards[len - 1 - i];
    return len;
}

void num_hex(const void *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *at = bytes;

    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[at[i] >> 4];
        out[2 * i + 1] = digits[at[i] & 15];
    }
}

/* The digit's value and one more; 0: none. */
static const unsigned char hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

int num_hex_digit(char c)
{
    return hex_digits[(unsigned char)c] - 1;
}

enum code num_unhex(struct span text, void *bytes, size_t len)
{
    unsigned char *out = bytes;

    if (text.len != 2 * len)
        return CODE_INVALID;
    for (size_t i = 0; i < text.len; i++)
        if (num_hex_digit(text.at[i]) < 0)
            return CODE_INVALID;
    for (size_t i = 0; i < len; i++)
        out[i] = (unsigned char)(num_hex_digit(text.at[2 * i]) << 4 | num_hex_digit(text.at[2 * i + 1]));
    return CODE_OK;
}
