/* SPDX-License-Identifier: Apache-2.0 */
#include "http/name_priv.h"

#define HOP (HTTP__DROP_REQUEST | HTTP__DROP_REPLY)

struct known {
    struct span name;
    uint8_t flags;
};

/* strictness.md, HTTP: "Dropped", "Written by us" and "Singletons". */
static const struct known whole[] = {
    {SPAN_LIT("Host"), HTTP__ONCE | HTTP__DROP_REQUEST},
    {SPAN_LIT("Content-Length"), HTTP__ONCE | HOP},
    {SPAN_LIT("Content-Type"), HTTP__ONCE},
    {SPAN_LIT("Authorization"), HTTP__ONCE},
    {SPAN_LIT("X-API-Key"), HTTP__ONCE},
    {SPAN_LIT("Origin"), HTTP__ONCE},
    {SPAN_LIT("Last-Event-ID"), HTTP__ONCE},
    {SPAN_LIT("Expect"), HTTP__ONCE | HTTP__DROP_REQUEST},
    /* hop by hop */
    {SPAN_LIT("Connection"), HOP},
    {SPAN_LIT("Keep-Alive"), HOP},
    {SPAN_LIT("TE"), HOP},
    {SPAN_LIT("Trailer"), HOP},
    {SPAN_LIT("Transfer-Encoding"), HOP},
    {SPAN_LIT("Upgrade"), HOP},
    {SPAN_LIT("HTTP2-Settings"), HOP},
    /* a second opinion on method, path or client */
    {SPAN_LIT("X-HTTP-Method-Override"), HTTP__DROP_REQUEST},
    {SPAN_LIT("X-HTTP-Method"), HTTP__DROP_REQUEST},
    {SPAN_LIT("X-Method-Override"), HTTP__DROP_REQUEST},
    {SPAN_LIT("X-Original-URL"), HTTP__DROP_REQUEST},
    {SPAN_LIT("X-Rewrite-URL"), HTTP__DROP_REQUEST},
    {SPAN_LIT("Forwarded"), HTTP__DROP_REQUEST},
    {SPAN_LIT("X-Real-IP"), HTTP__DROP_REQUEST},
    {SPAN_LIT("Via"), HTTP__DROP_REQUEST},
    /* written by us with the judged values */
    {SPAN_LIT("Accept-Encoding"), HTTP__DROP_REQUEST},
    {SPAN_LIT("Mcp-Method"), HTTP__ONCE | HTTP__DROP_REQUEST | HTTP__MIRROR},
    {SPAN_LIT("Mcp-Name"), HTTP__ONCE | HTTP__DROP_REQUEST | HTTP__MIRROR},
};

static const struct known beginnings[] = {
    {SPAN_LIT("Mcp-Param-"), HTTP__ONCE | HTTP__DROP_REQUEST | HTTP__MIRROR},
    {SPAN_LIT("Mcp-"), HTTP__ONCE},
    {SPAN_LIT("Proxy-"), HOP},
    {SPAN_LIT("X-Forwarded-"), HTTP__DROP_REQUEST},
    {SPAN_LIT("Remote-"), HTTP__DROP_REQUEST},
    {SPAN_LIT("X-Remote-"), HTTP__DROP_REQUEST},
    {SPAN_LIT("X-Client-Cert"), HTTP__DROP_REQUEST},
    {SPAN_LIT("X-SSL-"), HTTP__DROP_REQUEST},
    {SPAN_LIT("X-Callgate-"), HOP},
    {SPAN_LIT("Access-Control-"), HTTP__DROP_REPLY},
};

uint8_t http__name_flags(struct span name)
{
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (span_equals_nocase(name, whole[i].name))
            return whole[i].flags;
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (span_equals_nocase(span_part(name, 0, beginnings[i].name.len), beginnings[i].name))
            return beginnings[i].flags;
    return 0;
}

#define T HTTP__TOKEN
#define V HTTP__VALUE
#define P HTTP__PATH
#define H HTTP__HOST

static const unsigned char classes[256] = {
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

    while (i + 8 <= span.len && are_visible(at + i))
        i += 8;
    return http__is_all(span_part(span, i, SIZE_MAX), HTTP__VALUE);
}

bool http__is_all(struct span span, unsigned char_class)
{
    const unsigned char *at = (const unsigned char *)span.at;
    unsigned all = char_class;
    size_t i = 0;

    for (; i + 4 <= span.len; i += 4) /* every byte of every head comes by here, more than once */
        all &= classes[at[i]] & classes[at[i + 1]] & classes[at[i + 2]] & classes[at[i + 3]];
    for (; i < span.len; i++)
        all &= classes[at[i]];
    return all == char_class;
}
