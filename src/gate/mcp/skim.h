/* SPDX-License-Identifier: Apache-2.0 */
/* A line that is too long to be kept, read for whom it concerns: the id of each JSON-RPC message in it, wherever among
 * the members that stands.
 *
 * Threads: any.
 * Owns: nothing; some 1.5 KiB, however long the line.
 * Lifetime: zeroed at the begin of a line.
 * Errors: what is no JSON has no message, or one without an id. */
#ifndef MCP_SKIM_H
#define MCP_SKIM_H

#include "base/code.h"
#include "base/span.h"

#include <stdbool.h>

#define SKIM_TEXT_MAX 768 /* of a key or an id as JSON: 128 characters, each of which may be an escape */

enum skim_step { SKIM_MORE = 0, SKIM_MESSAGE, SKIM_END };

struct skim_text {
    char at[SKIM_TEXT_MAX];
    size_t len; /* more than SKIM_TEXT_MAX: it is too long to be one */
};

struct skim {
    unsigned depth, members; /* members: the depth of a message's members; 0: before the first */
    bool in_string, is_escaped, is_id;
    struct skim_text word;   /* the key or value under way */
    struct skim_text id;     /* of the last message, as it was written: a string or a number; empty: none */
    bool has_method;
};

/* Takes bytes off `bytes`. Returns: MESSAGE: behind one, whose id and method `skim` has; END: behind the line's end. */
enum skim_step skim_feed(struct skim *skim, struct span *bytes) MUST_USE;

static inline struct span skim_id(const struct skim *skim)
{
    return span_of(skim->id.at, skim->id.len);
}

#endif
