/* SPDX-License-Identifier: Apache-2.0 */
/* One recorded call judged again: both guesses at what is lost, the word of a person, and what came before it.
 *
 * Threads: one.
 * Owns: its scratch and, where the policy asks the past, a state of its own.
 * Lifetime: one run.
 * Errors: CODE_NOMEM. */
#ifndef PAST_REPLAY_PRIV_H
#define PAST_REPLAY_PRIV_H

#include "state/state.h"
#include "past/replay.h"
#include "policy/answer.h"

struct rejudge {
    const struct policy *policy;
    const struct definition_set *definitions; /* that are accepted; or NULL */
    const struct recorded *recorded; /* the call at hand */
    struct policy_scratch *scratch;
    struct gate_state *state;        /* NULL: the policy asks for nothing that was */
    struct gate_moment moment;
    struct verdict low, high;        /* against a permit, and in favour of one where that was asked for */
    struct answer_verdict answer;
};

enum code rejudge__init(struct rejudge *rejudge, const struct policy *policy,
                        const struct definition_set *definitions) MUST_USE;
void rejudge__fini(struct rejudge *rejudge);

/* In recorded order where the policy asks the past. *lossy: parts are lost, and did not matter.
 * Returns: CODE_NOMEM where there was no memory to judge it. */
enum code rejudge__row(struct rejudge *rejudge, struct recorded *recorded, enum replay_fate *fate, bool *lossy) MUST_USE;

/* A statement for rejudge__answer. */
enum code rejudge__answers_prepare(struct db *db, struct db_stmt **stmt) MUST_USE;

/* After rejudge__row: what came back on the call. *answer borrows from the statement, which is to be reset after use. */
enum code rejudge__answer(struct rejudge *rejudge, struct recorded *recorded, enum replay_fate fate, struct db_stmt *row,
                          struct replay_answer *answer) MUST_USE;

#endif
