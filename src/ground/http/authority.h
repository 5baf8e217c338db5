/* SPDX-License-Identifier: Apache-2.0 */
/* The values of Host and Origin, taken apart. RFC 3986, 3.2; RFC 6454, 7.
 *
 * Threads: any; nothing here has state.
 * Owns: nothing.
 * Lifetime: the parts point into the value.
 * Errors: false for anything but the exact form: no user, no path, no empty name, no odd characters. */
#ifndef HTTP_AUTHORITY_H
#define HTTP_AUTHORITY_H

#include "base/span.h"

struct http_authority {
    struct span name; /* as written, in any case; an IPv6 address keeps its brackets */
    struct span port; /* digits, 1..65535 without leading zeros; empty where there is none */
};

/* "name", "name:8080", "127.0.0.1", "[::1]:8080". */
bool http_authority_read(struct span value, struct http_authority *out);

static inline struct span http_without_query(struct span url) /* for logs, since queries hold codes, states and sessions */
{
    url = span_part(url, 0, span_find(url, '?'));
    return span_part(url, 0, span_find(url, '#'));
}

struct http_origin {
    struct span scheme; /* "http", "https" ... */
    struct http_authority authority;
};

/* "https://name:8443". "null" and lists are false. */
bool http_origin_read(struct span value, struct http_origin *out);

#endif
