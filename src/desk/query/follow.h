/* SPDX-License-Identifier: Apache-2.0 */
/* Follows an audit.db that grows: each call once, when it has ended.
 *
 * A denial has ended when it is recorded, a permitted call when its outcome is. A rotation is followed: what is left in the
 * sealed file first, then the new one.
 *
 * Threads: one.
 * Owns: a connection that is idle between calls, so that it holds up no checkpoint.
 * Lifetime: follow_open to follow_close.
 * Errors: enum code with a sentence. */
#ifndef QUERY_FOLLOW_H
#define QUERY_FOLLOW_H

#include "query/query.h"

struct follow;

enum code follow_open(const char *path, struct follow **follow, struct why *why) MUST_USE;
void follow_close(struct follow **follow);

/* The newest `lines` matching calls of the file, those that ended last at the end; what comes after is follow_next's.
 * To be called first, also with 0 lines. */
enum code follow_last(struct follow *follow, const struct query *query, uint64_t lines, query_row_fn row, void *context,
                      struct why *why) MUST_USE;

/* Those that ended since. Costs next to nothing where nobody has written. */
enum code follow_next(struct follow *follow, const struct query *query, query_row_fn row, void *context, struct why *why)
    MUST_USE;

#endif
