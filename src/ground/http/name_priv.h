/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of header names, and which characters may stand where.
 *
 * Threads: any; tables are constant.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: an unknown name has no flags. */
#ifndef HTTP_NAME_PRIV_H
#define HTTP_NAME_PRIV_H

#include "http/head.h"

enum {
    HTTP__ONCE = 1,         /* twice is refused */
    HTTP__DROP_REQUEST = 2, /* does not go upstream as it came */
    HTTP__REPLY = 4,        /* goes to the agent; nothing else of a reply does */
    HTTP__NAMED = 8,        /* Connection names it, so that it is for this connection alone */
    HTTP__MIRROR = 16       /* repeats what the body says */
};

/* Returns: the flags of a name, in any case; never NAMED. *known says which one it is. */
uint8_t http__name_flags(struct span name, enum http_name *known);

/* Character classes of RFC 9110 and RFC 3986. */
enum {
    HTTP__TOKEN = 1, /* tchar */
    HTTP__VALUE = 2, /* visible ASCII, SP, HTAB */
    HTTP__PATH = 4,  /* pchar and '/', without '%' and ';' */
    HTTP__HOST = 8   /* what a host's name may consist of: letters, digits, '-', '.', '_' */
};

extern const unsigned char http__classes[256];

static inline bool http__is_in(char c, unsigned char_class)
{
    return (http__classes[(unsigned char)c] & char_class) != 0;
}

bool http__is_all(struct span span, unsigned char_class); /* true for the empty span */

bool http__is_value(struct span span); /* as http__is_all with HTTP__VALUE, in fewer steps */

static inline bool http__is_token(struct span span)
{
    return span.len > 0 && http__is_all(span, HTTP__TOKEN);
}

static inline bool http__is_visible(struct span span) /* no blanks */
{
    for (size_t i = 0; i < span.len; i++)
        if (span.at[i] <= 0x20 || span.at[i] >= 0x7f)
            return false;
    return true;
}

#endif
