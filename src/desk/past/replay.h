/* SPDX-License-Identifier: Apache-2.0 */
/* A policy over recorded calls: which verdicts would have been others. By the same evaluation as at the gate.
 *
 * Threads: replay_run from one; it reads and judges on several, and tells what it finds on one at a time, in recorded order.
 * Owns: nothing; what is told is lent for the call.
 * Lifetime: one run.
 * Errors: enum code with a sentence; what the listener returns ends the run and is returned. */
#ifndef PAST_REPLAY_H
#define PAST_REPLAY_H

#include "files/trail.h"
#include "past/recorded.h"
#include "policy/answer.h"

enum replay_fate {
    REPLAY_UNKNOWN = 0, /* the verdict depends on what the record does not hold */
    REPLAY_SAME,
    REPLAY_OTHER_RULE,  /* the same verdict, decided by another rule or for another reason */
    REPLAY_FLIPS,
    REPLAY_NO_QUESTION, /* no policy was asked then */
    REPLAY_FATES
};

/* Verdict, reason and rule, then and now. */
struct replay_verdict {
    enum verdict_kind kind;
    struct span reason;
    struct span rule; /* at == NULL: none */
};

/* What rules for answers did to what came back, and would do. */
struct replay_answer {
    enum replay_fate fate; /* NO_QUESTION: nothing came that a rule concerned then or concerns now */
    enum recorded_lack lack; /* of an unknown one; WHOLE: something else than the answer */
    enum answer_effect was, is;
    struct span was_rule, is_rule; /* at == NULL: none */
};

struct replay_call {
    uint64_t seq;
    int64_t time_us;
    struct span tenant, principal, agent, upstream, method, target, path;
    enum replay_fate fate;
    enum recorded_lack lack;
    struct replay_verdict was, is; /* `is` of an unknown one: against a permit */
    struct replay_answer answer;
    bool approved;                 /* it passed then because a person had said so */
    bool same_version;             /* judged then by the version that is replayed */
};

typedef enum code (*replay_fn)(void *context, const struct replay_call *call);

struct replay_conf {
    const struct trail *trail;   /* its paths are asked */
    const struct policy *policy; /* its version number is compared with the recorded one where it is not 0 */
    const struct definition_set *definitions; /* that people accept, for `arguments: by_schema`; or NULL */
    struct recorded_range range;
    unsigned threads;      /* at least 1 */
    replay_fn tell;        /* of every call that flips, or whose answer does, or that is unknown; NULL: none */
    bool tell_all;         /* of every call; slower */
    void (*progress)(void *context, uint64_t done, uint64_t total); /* rows looked at; NULL: none */
    void *context;
};

struct replay_sum {
    uint64_t fates[REPLAY_FATES];
    uint64_t lacks[RECORDED_LACKS];  /* of unknown ones: [WHOLE] lack something else than arguments */
    uint64_t refused, unjudged;      /* of those without a question */
    uint64_t lossy;                  /* calls with lost parts that could be judged all the same */
    uint64_t answers[REPLAY_FATES];  /* of calls that are permitted then and now */
    uint64_t answer_lacks[RECORDED_LACKS];
    uint64_t same_version_flips;
    uint64_t calls;                  /* all */
    int64_t first_us, last_us;       /* of the calls; 0: there were none */
};

enum code replay_run(const struct replay_conf *conf, struct replay_sum *sum, struct why *why) MUST_USE;

#endif
