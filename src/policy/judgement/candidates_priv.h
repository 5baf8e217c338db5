/* SPDX-License-Identifier: Apache-2.0 */
/* The rules and redactions that concern a call. They are found once for each kind of call, then remembered.
 *
 * Threads: a scratch belongs to one thread; the index is immutable.
 * Owns: a scratch owns what it remembers.
 * Lifetime: candidates: until the scratch is used again.
 * Errors: CODE_NOMEM. */
#ifndef JUDGEMENT_CANDIDATES_PRIV_H
#define JUDGEMENT_CANDIDATES_PRIV_H

#include "policy/snapshot.h"

/* Rules or redactions whose `match` is not false, ascending. */
struct rule_candidate {
    uint32_t at;
    enum truth match;
    enum dimension undecided;
};

struct candidates {
    const struct rule_candidate *rules, *redactions; /* rules: of policy.rules, or of policy.answers */
    uint32_t rule_count, redaction_count;
    bool spent, monitor_spent; /* comparing the names of `match` used up the budget: of enforced rules, of monitored ones */
    bool guessed;              /* a rule asked for groups or scopes that the record has lost */
};

struct cache_entry;

struct policy_scratch {
    struct arena arena;    /* of one verdict */
    struct arena readings; /* of one value */
    struct cache_entry **cache;
    size_t cache_bytes;
};

/* Remembers what it found by names: the result is a function of the snapshot, and of the names, groups and scopes in the
 * question.
 * Takes: answer: NULL: of a call; else rules for answers are found, and no redactions. Only the answer's method and
 * of_unknown are read. */
enum code eval__candidates(const struct policy *policy, const struct question *question, const struct policy_answer *answer,
                           struct policy_scratch *scratch, struct candidates *candidates) MUST_USE;

/* eval.c: what a verdict says of a rule whose match is undecided, "rule-id: match.tools". Without memory it is the id alone. */
struct span eval__match_label(struct policy_scratch *scratch, const struct rule *rule, enum dimension dimension,
                              bool *no_memory);

/* redact.c: writes the redactions into the verdict. Takes: candidates: of this call. */
enum code eval__redact(const struct policy *policy, const struct candidates *candidates, const struct question *question,
                       struct policy_scratch *scratch, struct verdict *verdict) MUST_USE;

#endif
