/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"
#include "base/utf8.h"
#include "json/json_priv.h"

size_t json__growth(struct span in)
{
    static const char leads[2] = {(char)0xc2, (char)0xe2};
    size_t growth = 0;

    for (size_t i = 0; i < sizeof leads && in.len > 0; i++) {
        const char *at = in.at, *end = in.at + in.len;

        while (at < end && (at = memchr(at, leads[i], (size_t)(end - at))) != NULL) {
            size_t len = utf8_line_end((const unsigned char *)at, (const unsigned char *)end);

            growth += len ? 6 - len : 0;
            at++;
        }
    }
    return growth;
}

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* Returns: how many of eight bytes come before the first control character, quote, backslash or byte that is not ASCII. A
 * borrow of the subtraction reaches higher bytes only, so the first byte that is marked is marked rightly. */
static inline size_t plain_of(const unsigned char *at)
{
    uint64_t word, quote, backslash, marks;

    memcpy(&word, at, sizeof word);
    word = le64toh(word);
    quote = word ^ (ONES * '"');
    backslash = word ^ (ONES * '\\');
    marks = ((word - ONES * 0x20) | (quote - ONES) | (backslash - ONES) | word) & HIGHS;
    return marks == 0 ? sizeof word : (size_t)__builtin_ctzll(marks) / 8;
}

/* The bytes of a character that is not ASCII and can be copied as it stands; 0: it cannot. */
static size_t plain_character(const unsigned char *at, const unsigned char *end)
{
    return utf8_line_end(at, end) == 0 ? utf8_length(at, end) : 0;
}

/* The first byte that cannot be copied as it stands: quote, backslash, control character, separator, invalid UTF-8. */
static const unsigned char *skip_plain(const unsigned char *at, const unsigned char *end)
{
    while (at < end) {
        size_t len;

        if (end - at >= 8) {
            len = plain_of(at);
            at += len;
            if (len == 8)
                continue;
        }
        if (*at >= 0x80) {
            len = plain_character(at, end);
            if (len == 0)
                return at;
            at += len;
        } else if (*at < 0x20 || *at == '"' || *at == '\\') {
            return at;
        } else {
            at++;
        }
    }
    return at;
}

/* Returns: the character behind the backslash; 0: only the form \uXXXX can write it. */
static char short_escape(uint32_t point)
{
    static const char escapes[32] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};

    if (point < 32)
        return escapes[point];
    return point == '"' || point == '\\' ? (char)point : 0;
}

/* Writes a code point as it stands in canonical text, at most 6 bytes. Returns: how many. */
static size_t put_point(char *out, uint32_t point)
{
    static const char digits[] = "0123456789abcdef";
    char brief = short_escape(point);

    if (brief != 0) {
        out[0] = '\\';
        out[1] = brief;
        return 2;
    }
    if (point >= 0x20 && point != 0x85 && point != 0x2028 && point != 0x2029)
        return utf8_put(out, point);
    out[0] = '\\';
    out[1] = 'u';
    for (int i = 0; i < 4; i++)
        out[2 + i] = digits[point >> (12 - 4 * i) & 15];
    return 6;
}

/* Four hexadecimal digits, or -1. */
static int32_t hex_unit(const unsigned char *at, const unsigned char *end)
{
    int32_t unit = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = num_hex_digit((char)at[i]);

        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* At the `u` of \uXXXX; leaves `at` behind the last digit, also of a pair. */
static bool read_unit(struct json__reader *r, uint32_t *point)
{
    const unsigned char *begin = r->at - 1;
    int32_t high = hex_unit(r->at + 1, r->end), low;

    if (high < 0)
        return json__fail(r, JSON_FAULT_STRING, begin, "\\u needs four hexadecimal digits");
    if (high == 0)
        return json__fail(r, JSON_FAULT_STRING, begin, "\\u0000 is not accepted");
    r->at += 5;
    *point = (uint32_t)high;
    if (high < 0xd800 || high > 0xdfff)
        return true;
    if (high > 0xdbff || r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
        return json__fail(r, JSON_FAULT_STRING, begin, "half a surrogate pair");
    low = hex_unit(r->at + 2, r->end);
    if (low < 0xdc00 || low > 0xdfff)
        return json__fail(r, JSON_FAULT_STRING, begin, "half a surrogate pair");
    r->at += 6;
    *point = 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
    return true;
}

/* At the backslash. */
static bool read_escape(struct json__reader *r, uint32_t *point)
{
    static const char points[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                     ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};

    r->at++;
    if (r->at == r->end)
        return json__fail(r, JSON_FAULT_SYNTAX, r->at, "the document ends inside a string");
    if (*r->at == 'u')
        return read_unit(r, point);
    if (points[*r->at] == 0)
        return json__fail(r, JSON_FAULT_STRING, r->at - 1, "an unknown escape");
    *point = (uint32_t)points[*r->at];
    r->at++;
    return true;
}

/* At a byte that skip_plain stopped at, but the closing quote: writes what stands for it. */
static bool read_special(struct json__reader *r, bool *escaped)
{
    char written[8];
    uint32_t point;
    size_t len;

    if (r->at == r->end)
        return json__fail(r, JSON_FAULT_SYNTAX, r->at, "the document ends inside a string");
    if (*r->at < 0x20)
        return json__fail(r, JSON_FAULT_STRING, r->at, "a control character in a string");
    if (*r->at == '\\') {
        if (!read_escape(r, &point))
            return false;
    } else {
        len = utf8_line_end(r->at, r->end);
        if (len == 0)
            return json__fail(r, JSON_FAULT_UTF8, r->at, "invalid UTF-8");
        point = len == 2 ? 0x85 : 0x2000u + (r->at[2] & 0x3fu);
        r->at += len;
    }
    len = put_point(written, point);
    *escaped |= written[0] == '\\';
    return json__emit(r, written, len);
}

#define STEP 16
#define CHARACTER_MAX 4 /* bytes of UTF-8 */
typedef signed char step_bytes __attribute__((vector_size(STEP)));

/* Copies 16 bytes. Returns: how many come before the first that may not be one to copy: a quote, a backslash, a control
 * character, or what is not ASCII, which as a signed number is below 0. */
static inline size_t copy_step(const unsigned char *at, char *out)
{
    step_bytes bytes, stops;
    uint64_t half[2];

    memcpy(&bytes, at, STEP);
    memcpy(out, &bytes, STEP);
    stops = (bytes == '"') | (bytes == '\\') | (bytes < 0x20);
    memcpy(half, &stops, STEP);
    if (half[0] != 0)
        return (size_t)__builtin_ctzll(le64toh(half[0])) / 8;
    return half[1] != 0 ? STEP / 2 + (size_t)__builtin_ctzll(le64toh(half[1])) / 8 : STEP;
}

/* Whether a whole step may be written. Where the document is made canonical in place, the bytes that a step writes too much
 * must not change what is read next. They do not where nothing was left out yet, because they are the same bytes, nor where
 * so much was left out that they lie before it. */
static inline bool may_step(const struct json__reader *r, const unsigned char *at, const char *out)
{
    return r->end - at >= STEP && r->out_end - out >= STEP + CHARACTER_MAX && (uintptr_t)at - (uintptr_t)out - 1 >= STEP - 1;
}

/* How much can be copied of what a step stopped at: a character, or an escape that is canonical. 0: neither. */
static inline size_t copyable(const unsigned char *at, const unsigned char *end, bool *escaped)
{
    static const bool brief[256] = {['"'] = true, ['\\'] = true, ['b'] = true, ['f'] = true,
                                    ['n'] = true, ['r'] = true,  ['t'] = true};

    if (*at >= 0x80)
        return plain_character(at, end);
    if (*at != '\\' || end - at < 2 || !brief[at[1]])
        return 0;
    *escaped = true;
    return 2;
}

/* Copies up to what cannot stay as it is, and up to the closing quote. Whole steps may write more than they copy. */
static inline bool copy_plain(struct json__reader *r, bool *escaped)
{
    const unsigned char *at = r->at, *run;
    char *out = r->out;

    while (may_step(r, at, out)) {
        size_t len = copy_step(at, out);

        at += len;
        out += len;
        if (len == STEP)
            continue;
        len = *at == '"' ? 0 : copyable(at, r->end, escaped);
        if (len == 0) {
            r->at = at;
            r->out = out;
            return true;
        }
        memmove(out, at, len);
        at += len;
        out += len;
    }
    run = at;
    r->at = skip_plain(run, r->end);
    r->out = out;
    return json__emit(r, run, (size_t)(r->at - run));
}

/* Reads a string from behind its opening quote. It is apart so that short strings need not save its registers. */
static __attribute__((noinline)) bool read_long(struct json__reader *r, struct json__slice *slice)
{
    for (;;) {
        if (!copy_plain(r, &slice->escaped))
            return false;
        if (r->at < r->end && *r->at == '"')
            break;
        if (!read_special(r, &slice->escaped))
            return false;
    }
    slice->end = json__offset(r);
    r->at++;
    return json__emit_byte(r, '"');
}

/* Most strings are names and short words, which one step copies. */
bool json__read_string(struct json__reader *r, struct json__slice *slice)
{
    const unsigned char *at = r->at + 1;
    char *out = r->out;
    size_t len;

    slice->begin = json__offset(r) + 1;
    slice->escaped = slice->brief = false;
    if (may_step(r, at, out + 1)) {
        len = copy_step(at, out + 1);
        if (len < STEP && at[len] == '"') {
            out[0] = out[len + 1] = '"';
            slice->end = slice->begin + len;
            slice->brief = true;
            r->at = at + len + 1;
            r->out = out + len + 2;
            return true;
        }
    }
    r->at = at;
    return json__emit_byte(r, '"') && read_long(r, slice);
}

size_t json__unescape(struct span text, char *out)
{
    const unsigned char *at = (const unsigned char *)text.at, *end = at + text.len;
    char *begin = out;

    while (at < end) {
        const unsigned char *escape = memchr(at, '\\', (size_t)(end - at));
        size_t run = (size_t)((escape ? escape : end) - at);

        memcpy(out, at, run);
        out += run;
        at += run;
        if (escape == NULL)
            break;
        if (at[1] == 'u') {
            out += utf8_put(out, (uint32_t)hex_unit(at + 2, end));
            at += 6;
        } else {
            static const char points[128] = {['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'};

            *out++ = points[at[1]] ? points[at[1]] : (char)at[1];
            at += 2;
        }
    }
    return (size_t)(out - begin);
}

/* What json_write_string writes for the byte or separator at `at`; *step says how much of the input it stands for. */
static size_t put_special(const unsigned char *at, const unsigned char *end, char *out, size_t *step)
{
    size_t separator = utf8_line_end(at, end);

    *step = separator ? separator : 1;
    if (separator != 0)
        return put_point(out, separator == 2 ? 0x85 : 0x2000u + (at[2] & 0x3fu));
    /* The reader refuses NUL in every spelling, so NUL is replaced as broken UTF-8 is. */
    return put_point(out, *at >= 0x80 || *at == 0 ? 0xfffd : *at);
}

enum code json_write_string(struct buf *out, struct span text)
{
    const unsigned char *at = (const unsigned char *)(text.len ? text.at : ""), *end = at + text.len;

    buf_add_byte(out, '"');
    while (at < end) {
        const unsigned char *run = at;
        char written[8];
        size_t len, step;

        at = skip_plain(run, end);
        buf_add(out, run, (size_t)(at - run));
        if (at == end)
            break;
        len = put_special(at, end, written, &step);
        at += step;
        buf_add(out, written, len);
    }
    return buf_add_byte(out, '"');
}
