/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of rules as their authors write them, cut where they are long.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: `out` remembers them. */
#ifndef AUTHOR_WORDS_H
#define AUTHOR_WORDS_H

#include "json/doc.h"
#include "policy/condition.h"
#include "policy/policy.h"
#include "policy/rule.h"
#include "policy/trace.h"

void words_op(struct buf *out, const struct op *op);             /* "max 100" */
const char *words_kind(const struct condition *condition); /* "leaf", "any" ... */
/* What the leaf's operators made of the value's text; nothing where there is nothing to tell. */
void words_made(struct buf *out, const struct condition *leaf, const struct json_node *value);
void words_fact(struct buf *out, const struct fact *fact);       /* "client [...]" */
void words_limits(struct buf *out, const struct policy_limit *first); /* "limit of 5 calls in 60 s" */
void words_taken(struct buf *out, const struct trace_limit *seen); /* what a call made of one, in a line */
/* A line of when the rule ends, and whether it has: "  until 2026-12-31T17:00:00Z: it has ended". Takes: as words_variables. */
void words_until(struct buf *out, struct doc *doc, const struct rule *rule, const struct question *question);
void words_ops(struct buf *out, const struct condition *leaf);   /* "is integer, max 100" */
/* What the leaf's variables stand for in the call: "{principal} is bob; ". Takes: out, doc: NULL takes nothing. */
void words_variables(struct buf *out, struct doc *doc, const struct condition *leaf, const struct question *question);
/* The values that the rule's file was given, or has by default: "  with root: "/srv"". Takes: as words_variables. */
void words_parameters(struct buf *out, struct doc *list, const struct policy_source *source);
const char *words_effect(const struct rule *rule);           /* "forbid", or "redact" of a rule for answers */
void words_names(struct buf *out, const struct names *names);    /* "[shop, 'team-*']" */
/* What of a dimension from DIM_HELD on who asks has: " in the groups a, b and 300 more"; nothing where it has none. */
void words_held(struct buf *out, const char *before, const struct question *question, enum dimension dimension);
void words_text(struct buf *out, struct span text);              /* in quotes where it needs them */

#endif
