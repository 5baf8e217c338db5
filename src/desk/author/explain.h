/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict explained: the gate's own walk, listened to.
 *
 * Threads: any one.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_NOMEM, and what `out` says. */
#ifndef AUTHOR_EXPLAIN_H
#define AUTHOR_EXPLAIN_H

#include "json/doc.h"
#include "policy/answer.h"
#include "judgement/judgement.h"

/* Where it goes; each may be NULL: nowhere. */
struct explain_to {
    struct buf *words;
    struct buf *gist;     /* of a call, one sentence: the verdict, the rule with its file and line, the value that decided */
    struct span gist_of;  /* the rule that it is about; at == NULL: the one that decides */
    struct doc *rules;    /* an array: an object for each candidate, with its conditions in it, and for each rule that
                           * misses the call by one part of its match ("match": "false") */
    struct doc *redacted; /* of a call, an array: the paths of its answer that the audit does not keep */
    struct doc *found;    /* of an answer, an array: which rule found what, where */
};

/* Candidates, each condition, the value that it saw, polarity, quantifier, anchoring, what decided. */
enum code explain_verdict(const struct policy *policy, const struct question *question, struct policy_scratch *scratch,
                          struct verdict *verdict, const struct explain_to *to) MUST_USE;

/* What becomes of an answer. Of what it holds nothing is told but where something was found: it may be a secret. */
enum code explain_answer(const struct policy *policy, const struct question *question, const struct policy_answer *answer,
                         struct policy_scratch *scratch, struct answer_verdict *verdict, const struct explain_to *to) MUST_USE;

#endif
