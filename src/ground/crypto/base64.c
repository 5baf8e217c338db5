/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 is written here, because OpenSSL's decoder skips blanks and takes several spellings of one value. */
#include "crypto/digest.h"

static enum code encode(struct span bytes, const char alphabet[65], bool pads, struct buf *out)
{
    size_t whole = bytes.len / 3, rest = bytes.len % 3, len;
    const unsigned char *from = (const unsigned char *)bytes.at;
    enum code code;
    char *at;

    if (bytes.len > SIZE_MAX / 2)
        return buf_fail(out, CODE_LIMIT);
    len = whole * 4 + (rest == 0 ? 0 : pads ? 4 : rest + 1);
    code = buf_reserve(out, len, &at);
    if (buf_fail(out, code) != CODE_OK)
        return code;
    for (size_t i = 0; i < whole; i++, from += 3) {
        *at++ = alphabet[from[0] >> 2];
        *at++ = alphabet[(from[0] & 3) << 4 | from[1] >> 4];
        *at++ = alphabet[(from[1] & 15) << 2 | from[2] >> 6];
        *at++ = alphabet[from[2] & 63];
    }
    if (rest > 0) {
        *at++ = alphabet[from[0] >> 2];
        *at++ = alphabet[(from[0] & 3) << 4 | (rest == 2 ? from[1] >> 4 : 0)];
        if (rest == 2)
            *at++ = alphabet[(from[1] & 15) << 2];
        for (; pads && rest < 3; rest++)
            *at++ = '=';
    }
    buf_commit(out, len);
    return CODE_OK;
}

enum code base64_encode(struct span bytes, struct buf *out)
{
    return encode(bytes, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", true, out);
}

enum code base64url_encode(struct span bytes, struct buf *out)
{
    return encode(bytes, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", false, out);
}

#define NONE_16 -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
#define NONE_64 NONE_16, NONE_16, NONE_16, NONE_16

const signed char base64_values[256] = {
    NONE_16, NONE_16,
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 62, -1, 62, -1, 63,
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, -1, -1, -1, -1, -1, -1,
    -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, -1, -1, -1, -1, 63,
    -1, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
    41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, -1, -1, -1, -1, -1,
    NONE_64, NONE_64,
};

static int value_of(char c)
{
    return c == '-' || c == '_' ? -1 : base64_value(c);
}

static int url_value_of(char c)
{
    return c == '+' || c == '/' ? -1 : base64_value(c);
}

/* Takes: letters: how many of the text are; what is none is passed over where it is loose. */
static enum code decode(struct span text, size_t letters, int (*value_in)(char c), bool is_loose, struct buf *out)
{
    size_t rest = letters % 4, len = letters / 4 * 3 + (rest == 0 ? 0 : rest - 1), written = 0;
    unsigned held = 0, bits = 0;
    enum code code;
    char *at;

    if (rest == 1)
        return CODE_INVALID;
    code = buf_reserve(out, len, &at);
    if (code != CODE_OK)
        return code;
    for (size_t i = 0; i < text.len; i++) {
        int value = value_in(text.at[i]);

        if (value < 0 && is_loose)
            continue;
        if (value < 0)
            return CODE_INVALID; /* the reserved bytes are not committed */
        held = held << 6 | (unsigned)value;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            at[written++] = (char)(held >> bits & 0xff);
        }
    }
    if (!is_loose && (held & ((1u << bits) - 1)) != 0) /* bits that no encoder sets: a second spelling */
        return CODE_INVALID;
    buf_commit(out, len);
    return CODE_OK;
}

enum code base64_decode(struct span text, struct buf *out)
{
    if (text.len % 4 != 0)
        return CODE_INVALID;
    for (int i = 0; i < 2 && text.len > 0 && text.at[text.len - 1] == '='; i++)
        text.len--;
    return decode(text, text.len, value_of, false, out);
}

enum code base64url_decode(struct span text, struct buf *out)
{
    return decode(text, text.len, url_value_of, false, out);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_loose(struct span text, size_t *letters)
{
    size_t pads = 0;

    *letters = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (is_blank(text.at[i]))
            continue;
        if (text.at[i] == '=')
            pads++;
        else if (pads > 0 || base64_value(text.at[i]) < 0)
            return false;
        else
            *letters += 1;
    }
    return *letters % 4 != 1 && (pads == 0 || (pads < 3 && (*letters + pads) % 4 == 0));
}

enum code base64_decode_loose(struct span text, struct buf *out)
{
    size_t letters;

    return is_loose(text, &letters) ? decode(text, letters, base64_value, true, out) : CODE_INVALID;
}
