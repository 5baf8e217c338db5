/* SPDX-License-Identifier: Apache-2.0 */
#include "http/name_priv.h"

struct known {
    struct span name;
    uint8_t flags;
};

static const struct known whole[HTTP_NAME_COUNT] = {
#define KNOWN_ROW(name, text, flags) [HTTP_NAME_##name] = {SPAN_LIT(text), flags},
    HTTP_NAME_TABLE(KNOWN_ROW)
#undef KNOWN_ROW
};

/* Where in the table the names of each length begin. */
static const uint8_t begin_of[] = {
    [2] = HTTP_NAME_TE,
    [3] = HTTP_NAME_VIA,
    [4] = HTTP_NAME_HOST,
    [5] = HTTP_NAME_ALLOW,
    [6] = HTTP_NAME_ACCEPT,
    [7] = HTTP_NAME_TRAILER,
    [8] = HTTP_NAME_LOCATION,
    [9] = HTTP_NAME_X_API_KEY,
    [10] = HTTP_NAME_CONNECTION,
    [11] = HTTP_NAME_TRACEPARENT,
    [12] = HTTP_NAME_CONTENT_TYPE,
    [13] = HTTP_NAME_AUTHORIZATION,
    [14] = HTTP_NAME_CONTENT_LENGTH,
    [15] = HTTP_NAME_ACCEPT_ENCODING,
    [16] = HTTP_NAME_CONTENT_ENCODING,
    [17] = HTTP_NAME_TRANSFER_ENCODING,
    [20] = HTTP_NAME_MCP_PROTOCOL_VERSION,
    [22] = HTTP_NAME_X_HTTP_METHOD_OVERRIDE,
};

static const struct known beginnings[] = {
#define BEGINNING_ROW(text, flags) {SPAN_LIT(text), flags},
    HTTP_BEGINNING_TABLE(BEGINNING_ROW)
};

static enum http_name find_whole(struct span name)
{
    size_t i = name.len < sizeof begin_of ? begin_of[name.len] : HTTP_NAME_OTHER;

    for (; i != HTTP_NAME_OTHER && i < HTTP_NAME_COUNT && whole[i].name.len == name.len; i++)
        if (span_equals_nocase(name, whole[i].name))
            return (enum http_name)i;
    return HTTP_NAME_OTHER;
}

uint8_t http__name_flags(struct span name, enum http_name *known)
{
    *known = find_whole(name);
    if (*known != HTTP_NAME_OTHER)
        return whole[*known].flags;
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (span_equals_nocase(span_part(name, 0, beginnings[i].name.len), beginnings[i].name))
            return beginnings[i].flags;
    return 0;
}

#define T HTTP__TOKEN
#define V HTTP__VALUE
#define P HTTP__PATH
#define H HTTP__HOST

const unsigned char http__classes[256] = {
    ['\t'] = V,
    [' '] = V,
    ['!'] = T | V | P,
    ['"'] = V,
    ['#'] = T | V,
    ['$'] = T | V | P,
    ['%'] = T | V,
    ['&'] = T | V | P,
    ['\''] = T | V | P,
    ['('] = V | P,
    [')'] = V | P,
    ['*'] = T | V | P,
    ['+'] = T | V | P,
    [','] = V | P,
    ['-'] = T | V | P | H,
    ['.'] = T | V | P | H,
    ['/'] = V | P,
    ['0' ... '9'] = T | V | P | H,
    [':'] = V | P,
    [';'] = V,
    ['<'] = V,
    ['='] = V | P,
    ['>'] = V,
    ['?'] = V,
    ['@'] = V | P,
    ['A' ... 'Z'] = T | V | P | H,
    ['['] = V,
    ['\\'] = V,
    [']'] = V,
    ['^'] = T | V,
    ['_'] = T | V | P | H,
    ['`'] = T | V,
    ['a' ... 'z'] = T | V | P | H,
    ['{'] = V,
    ['|'] = T | V,
    ['}'] = V,
    ['~'] = T | V | P,
};

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* Whether each of eight bytes is from SP to '~', which all may stand in a value. */
static bool are_visible(const unsigned char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return (((word - ONES * ' ') | (word + ONES) | word) & HIGHS) == 0;
}

bool http__is_value(struct span span)
{
    const unsigned char *at = (const unsigned char *)span.at;
    size_t i = 0;

    while (i + 8 < span.len && are_visible(at + i))
        i += 8;
    /* the last eight bytes, some of them for the second time */
    if (i + 8 >= span.len && span.len >= 8 && are_visible(at + span.len - 8))
        return true;
    return http__is_all(span_part(span, i, SIZE_MAX), HTTP__VALUE);
}

bool http__is_all(struct span span, unsigned char_class)
{
    const unsigned char *at = (const unsigned char *)span.at;
    unsigned all = char_class;
    size_t i = 0;

    for (; i + 4 <= span.len; i += 4) /* four at a time, since every byte of every head is looked at here, more than once */
        all &= http__classes[at[i]] & http__classes[at[i + 1]] & http__classes[at[i + 2]] & http__classes[at[i + 3]];
    for (; i < span.len; i++)
        all &= http__classes[at[i]];
    return all == char_class;
}
