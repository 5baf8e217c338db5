/* SPDX-License-Identifier: Apache-2.0 */
/* One answer of several servers' answers: of initialize and server/discover the union of what they can do, of a list all that
 * they list, under one cursor.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: those of the buffer. */
#ifndef JOIN_MERGE_H
#define JOIN_MERGE_H

#include "join/name.h"

struct join_part {
    struct span server;
    const struct json_node *result; /* NULL: this server has not answered, or with an error */
    bool is_asked;                  /* false: the list had no page of it left */
};

/* What a list is called in its result; NULL: the method is none that lists. */
const char *join_list_of(struct span method);

/* Appends the result of a list, whose parts have the agent's names. Takes: budget: names of tools and prompts over it are left
 * out, and said; missing: how many were asked and have not answered. */
struct join_list {
    const char *list;
    const struct join_part *parts;
    size_t count;
    uint32_t budget;
    bool is_modern;
};
enum code join_merge_list(const struct join_list *list, struct buf *out) MUST_USE;

/* The cursor of this server in one that join_merge_list has made. Returns: CODE_NOT_FOUND: it has no further page;
 * CODE_INVALID: no cursor of ours. */
enum code join_cursor_of(struct span cursor, struct span server, struct buf *out) MUST_USE;

/* Appends the result of initialize (version) or server/discover (version empty: the revisions that all of them support). */
enum code join_merge_greeting(const struct join_part *parts, size_t count, struct span name, struct span version,
                              struct buf *out) MUST_USE;

/* Appends the filter that is acknowledged where each part is a filter: what one of them has. */
enum code join_merge_union(const struct join_part *parts, size_t count, struct buf *out) MUST_USE;

/* What a server says that it can do, as bits: which lists and calls it is asked for. */
enum { JOIN_TOOLS = 1, JOIN_PROMPTS = 2, JOIN_RESOURCES = 4, JOIN_LOGGING = 8, JOIN_COMPLETIONS = 16, JOIN_TASKS = 32,
       JOIN_SKILLS = 64 };
unsigned join_offers(const struct json_node *capabilities);
unsigned join_needs(struct span method); /* 0: any server is asked */

#endif
