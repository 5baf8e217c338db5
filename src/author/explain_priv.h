/* SPDX-License-Identifier: Apache-2.0 */
/* The listener that explains a walk and counts what it met.
 *
 * Threads: one.
 * Owns: nothing.
 * Lifetime: one walk.
 * Errors: after a failed line nothing more is written; the code is told at the end. */
#ifndef AUTHOR_EXPLAIN_PRIV_H
#define AUTHOR_EXPLAIN_PRIV_H

#include "author/coverage.h"
#include "author/explain.h"
#include "author/words.h"
#include "policy/snapshot.h"
#include "policy/trace.h"
#include "policy/walk.h"

#define TRACE_DEPTH_MAX 64 /* conditions in each other; more are not in documents */

/* The documents of a rule or condition; the lists are made with their first member. */
struct trace_level {
    struct doc *self, *members, *values, *readings;
};

struct telling {
    struct trace heard;
    struct buf *out;           /* words; NULL: none */
    struct doc *rules;         /* the same as a document, an array; NULL: none */
    struct doc *answer;        /* paths of the answer that are redacted, an array; NULL: none */
    struct coverage *coverage; /* what the walk met is counted there; NULL: nowhere */
    const struct question *question;
    struct buf text;           /* what words.c says for a document */
    enum code code;            /* of a document */
    unsigned depth;
    unsigned values;           /* shown of the leaf at hand */
    const struct op *failed;   /* the operator that decided the value at hand */
    struct trace_level levels[TRACE_DEPTH_MAX]; /* the rule, and the conditions down to the one at hand */
};

#define DOC_TEXT_MAX ((size_t)1 << 16)
#define TRACE_VALUES_SHOWN 20 /* of one leaf */

/* Takes: out, rules, answer, coverage: as the members. */
struct telling telling_to(struct buf *out, struct doc *rules, struct doc *answer, struct coverage *coverage);

/* Why a value of a leaf was false or undecided, for people; NULL: the leaf's only operator. */
const struct op *telling__blame(const struct telling *telling, const struct condition *leaf, enum truth truth);
struct span telling__short_label(const struct condition *condition); /* without the rule's id */

/* explain_doc.c: the same walk as a document. */
void telling__doc_rule(struct telling *telling, const struct rule *rule, enum truth match, enum dimension undecided);
void telling__doc_missed(struct telling *telling, const struct rule *rule, enum dimension missed);
void telling__doc_known(struct telling *telling, const char *key, enum policy_known known);
void telling__doc_applies(struct telling *telling, enum truth truth, bool applies);
void telling__doc_enter(struct telling *telling, const struct condition *condition);
void telling__doc_leave(struct telling *telling, enum truth truth);
void telling__doc_value(struct telling *telling, const struct condition *leaf, const struct json_node *value, enum truth truth);
void telling__doc_reading(struct telling *telling, const struct trace_reading *seen);
void telling__doc_fact(struct telling *telling, struct span seen);
void telling__doc_absent(struct telling *telling, const struct condition *leaf, bool is_element);

/* coverage.c */
void coverage__rule(struct coverage *coverage, const struct rule *rule, bool applies);
void coverage__condition(struct coverage *coverage, const struct condition *condition, enum truth truth);

#endif
