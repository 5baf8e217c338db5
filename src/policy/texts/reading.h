/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and URIs that readers take in more than one way: the one place that knows which, for all that asks of them (`under`,
 * `url`, resources and labels by URI, variables, what `policy learn` writes).
 *
 * Threads: any.
 * Owns: nothing; what is given points into the text.
 * Lifetime: none.
 * Errors: none. Linear in the text. */
#ifndef TEXTS_READING_H
#define TEXTS_READING_H

#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

/* What in a row of steps is read in different ways. Escapes (`%2e`) count as what they stand for. */
enum reading_doubt {
    READING_DOT = 1,    /* a step `.` */
    READING_CLIMBS = 2, /* a step `..` */
    READING_EMPTY = 4,  /* a separator right behind another */
    READING_LOOSE = 8,  /* readers see other steps: an escaped dot or separator, `?`, `#`, `;`, or `//` before a `..` */
    READING_ESCAPE = 16, /* any `%` */
    READING_ODD = 32,   /* a backslash, a control character (category Cc), no UTF-8, or white space at the end */
};

/* Takes: any bytes. Returns: of enum reading_doubt, those that are there. */
unsigned reading_of_steps(struct span text);

/* A URL in its parts, as far as every reader finds them. */
struct url_parts {
    struct span scheme;
    bool has_authority;
    bool has_userinfo;
    struct span host;
    struct span port; /* empty: none */
    struct span rest; /* behind the authority; without one, behind the scheme */
};

bool reading_is_scheme(struct span text); /* RFC 3986, 3.1 */

/* Labels of letters, digits and what is in `more`, with single dots between them. */
bool reading_is_name(struct span text, const char *more);

/* RFC 1035, 2.3.1: labels of letters, digits and inner hyphens, as mail has them. */
bool reading_is_domain(struct span text);

/* Whether some client takes the name for an IPv4 address: 2130706433, 127.1, 0x7f.1. */
bool reading_ends_in_number(struct span name);

/* Returns: the default port of the schemes that every client knows and that need a host (WHATWG URL, special schemes); 0: of
 * another one. */
uint64_t reading_usual_port(struct span scheme);

/* Returns: false: it has no scheme. */
bool reading_split(struct span text, struct url_parts *url);

/* LANGUAGE.md lists what gives a URI several readings. A rule is asked about each reading. */
#define READING_URI_MAX 8192 /* bytes: a longer URI counts as one of many readings, since each rule would have to read it */

enum reading_count { READING_ONE = 0, READING_TWO, READING_MANY };

struct uri_readings {
    size_t len;
    char usual[READING_URI_MAX]; /* of READING_TWO the second reading: the URI in its usual form */
};

/* How many readings the URI has. */
enum reading_count reading_of_uri(struct span uri, struct uri_readings *readings);

#endif
