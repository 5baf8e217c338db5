/* SPDX-License-Identifier: Apache-2.0 */
/* A traceparent, of a header or of MCP's `_meta` (W3C Trace Context, 3.2).
 *
 * Threads: any.
 * Owns: nothing; what is found lies in the text.
 * Lifetime: that of the text.
 * Errors: a text that is none as a whole is none at all: a trace id out of a broken one may be anybody's. */
#ifndef HTTP_TRACE_H
#define HTTP_TRACE_H

#include "base/span.h"

#include <stdbool.h>

#define TRACE_DIGITS 32  /* of a trace id, in lower-case hexadecimal */
#define PARENT_DIGITS 16 /* of a span's */

struct trace {
    struct span id, parent;
    bool is_sampled;
};

/* Returns: whether it is one; where not, *trace is all zeros. */
bool trace_read(struct span text, struct trace *trace);
/* Whether it is an id of so many digits, which are not all 0. */
bool trace_is_id(struct span text, size_t digits);

#endif
