/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of rules as their authors write them, cut where they are long.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: those of `out`. */
#ifndef AUTHOR_WORDS_H
#define AUTHOR_WORDS_H

#include "policy/condition.h"
#include "policy/policy.h"

enum code words_op(struct buf *out, const struct op *op) MUST_USE;             /* "max 100" */
enum code words_fact(struct buf *out, const struct fact *fact) MUST_USE;       /* "client [...]" */
enum code words_limit(struct buf *out, const struct policy_limit *limit) MUST_USE; /* "limit of 5 calls in 60 s" */
enum code words_ops(struct buf *out, const struct condition *leaf) MUST_USE;   /* "is integer, max 100" */
enum code words_names(struct buf *out, const struct names *names) MUST_USE;    /* "[shop, 'team-*']" */
enum code words_text(struct buf *out, struct span text) MUST_USE;              /* in quotes where it needs them */

#endif
