/* SPDX-License-Identifier: Apache-2.0 */
/* A call that somebody wants explained: from a file, from options, from a policy's tests, from the audit; and its verdict.
 *
 * Threads: main.
 * Owns: what the question points to, once it is made.
 * Lifetime: explain_call_init to explain_call_fini; the question of a test lives as long as its policy.
 * Errors: exit statuses, told on stderr. */
#ifndef TRAIL_EXPLAIN_CALL_H
#define TRAIL_EXPLAIN_CALL_H

#include "cli/asked.h"
#include "state/definition_set.h"
#include "files/trail.h"
#include "past/recall.h"
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
    struct policy_answer answered; /* --result */
    struct arena answer_arena;
    struct buf answer_text;
    /* once it is judged */
    struct policy_scratch *scratch;
    struct verdict *verdict;
    struct recall recall; /* of a recorded call: what came before it */
};

void explain_call_init(struct explain_call *call, const struct asked *asked);
void explain_call_fini(struct explain_call *call);

/* Everything but --test, which needs its policy. Returns: OPTIONS_GO, or the exit status after a sentence. */
int explain_call_make(struct explain_call *call);

/* --result: what comes back, as `answer:` of a test or as a JSON-RPC message. Returns: as above. */
int explain_call_answer(struct explain_call *call);

/* A recorded call, out of its file of the trail at `path`. */
enum code explain_call_find(struct explain_call *call, const struct trail *trail, const char *path, uint64_t seq,
                            struct why *why) MUST_USE;

/* Why no policy was asked about it, in words; NULL: one was. */
const char *explain_call_unasked(const struct recorded *recorded);

/* The version that judged a recorded call, and the definitions that people accept now. The version must be the very text that
 * judged: another store's of the same number would explain what never happened. *policy stays NULL where none was active. */
enum code explain_call_policy(const struct asked *asked, const struct recorded *recorded, struct policy **policy,
                              struct definition_set **definitions, struct why *why) MUST_USE;

/* --test. */
int explain_call_of_test(struct explain_call *call, const struct policy *policy);

/* Judges the call, and puts the verdict and the walk to it into the document, with what makes it doubtful. Takes: policy: NULL
 * where none is active. */
enum code explain_call_judge(struct explain_call *call, const struct policy *policy, const struct definition_set *definitions,
                             struct doc *doc, struct why *why) MUST_USE;

/* Words (told.h) for the doubts, behind `before`. Takes: of: the document's name and a point, or nothing. */
#define EXPLAIN_CALL_DOUBT(before, of)                                                                                  \
    "[" before "the verdict hangs on what the record lost: it could as well be {" of "otherwise}\n]"                   \
    "[" before "the record says {" of "recorded_otherwise}: approvals, `_meta` and what servers said of their tools are " \
    "not in it\n]"

#endif
