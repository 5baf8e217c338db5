/* SPDX-License-Identifier: Apache-2.0 */
/* The call that `policy explain` is asked about: from a file, from options, from a policy's tests, from the audit.
 *
 * Threads: main.
 * Owns: what the question points to, once it is made.
 * Lifetime: explain_call_init to explain_call_fini; the question of a test lives as long as its policy.
 * Errors: exit statuses, told on stderr. */
#ifndef TRAIL_EXPLAIN_CALL_H
#define TRAIL_EXPLAIN_CALL_H

#include "cli/asked.h"
#include "state/definition_set.h"
#include "past/recorded.h"
#include "policy/answer.h"

struct explain_call {
    const struct asked *asked;
    /* what they became */
    struct question question;
    struct policy *holder;
    struct buf text;
    struct recorded recorded;
    bool is_recorded;
    char *trail; /* recorded: the audit in which it was found */
    struct policy_answer answered; /* --answer */
    struct arena answer_arena;
    struct buf answer_text;
};

void explain_call_init(struct explain_call *call, const struct asked *asked);
void explain_call_fini(struct explain_call *call);

/* Everything but --test, which needs its policy. Returns: OPTIONS_GO, or the exit status after a sentence. */
int explain_call_make(struct explain_call *call);

/* --answer: what comes back, as `answer:` of a test or as a JSON-RPC message. Returns: as above. */
int explain_call_answer(struct explain_call *call);

/* The version that judged a recorded call, and the definitions that people accept now. The version must be the very text that
 * judged: another store's of the same number would explain what never happened. *policy stays NULL where none was active. */
enum code explain_call_policy(const struct asked *asked, const struct recorded *recorded, struct policy **policy,
                              struct definition_set **definitions, struct why *why) MUST_USE;

/* --test. */
int explain_call_of_test(struct explain_call *call, const struct policy *policy);

#endif
