/* SPDX-License-Identifier: Apache-2.0 */
/* Our own, because OpenSSL's decoder skips blanks and takes several spellings of one value. */
#include "crypto/digest.h"

enum code base64url_encode(struct span bytes, struct buf *out)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t whole = bytes.len / 3, rest = bytes.len % 3, len;
    const unsigned char *from = (const unsigned char *)bytes.at;
    enum code code;
    char *at;

    if (bytes.len > SIZE_MAX / 2)
        return CODE_LIMIT;
    len = whole * 4 + (rest == 0 ? 0 : rest + 1);
    code = buf_reserve(out, len, &at);
    if (code != CODE_OK)
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
    }
    buf_commit(out, len);
    return CODE_OK;
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

/* Without padding. */
static enum code decode(struct span text, struct buf *out)
{
    size_t rest = text.len % 4, len = text.len / 4 * 3 + (rest == 0 ? 0 : rest - 1), written = 0;
    unsigned held = 0, bits = 0;
    enum code code;
    char *at;

    if (rest == 1)
        return CODE_INVALID;
    code = buf_reserve(out, len, &at);
    if (code != CODE_OK)
        return code;
    for (size_t i = 0; i < text.len; i++) {
        int value = value_of(text.at[i]);

        if (value < 0)
            return CODE_INVALID; /* what was reserved is not committed */
        held = held << 6 | (unsigned)value;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            at[written++] = (char)(held >> bits & 0xff);
        }
    }
    if ((held & ((1u << bits) - 1)) != 0) /* bits that no encoder sets: a second spelling */
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
    return decode(text, out);
}
