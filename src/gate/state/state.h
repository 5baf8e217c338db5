/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy may ask of the past: limits and their tokens, tools already called, what servers say of their tools. The gate
 * has one for all its workers; tests, explain and replay make one of their own and say the time themselves.
 *
 * A gate that starts learns it again from the audit (remember.h); files beside the store save it most of the reading. A rule
 * keeps its count through a reload as long as its id and its limit are the same words; a sum also where its bound changes.
 *
 * Threads: any; a struct gate_moment belongs to one.
 * Owns: copies of what it was told.
 * Lifetime: gate_state_new to gate_state_free.
 * Errors: no room closes: a limit that cannot be counted counts as used up, a call that cannot be noted makes what asks for it
 *   undecided (state/tally.h). */
#ifndef STATE_STATE_H
#define STATE_STATE_H

#include "state/approvals.h"
#include "state/definition_set.h"
#include "state/plan_uses.h"
#include "state/tally.h"
#include "wish/wish.h"
#include "judgement/judgement.h"

#define GATE_STATE_BYTES ((size_t)64 << 20) /* of limits and sequences, and as much of plans */

struct gate_state;
struct recorded;

/* Takes: key: names shares in what gate_state_keep writes; NULL: nothing is kept. */
enum code gate_state_new(size_t cap_bytes, const struct hash_key *key, struct gate_state **state) MUST_USE;
void gate_state_free(struct gate_state **state);
void gate_state_clear(struct gate_state *state); /* nothing happened yet */

/* Writes limits, sequences and steps of plans as bytes, and reads them into an empty state that has the same key.
 * Takes: over_us, now_us: as tally_read.
 * Returns: CODE_INVALID: these are no such bytes; CODE_NOMEM. Then it is to be cleared. */
void gate_state_keep(struct gate_state *state, struct buf *out);
enum code gate_state_read(struct gate_state *state, struct span kept, int64_t over_us, int64_t now_us) MUST_USE;

/* The state as it is at one time. Takes: now_us: microseconds that never run backwards, from any beginning. */
struct gate_moment {
    struct gate_state *state;
    int64_t now_us;
    struct span home; /* the credential's own tenant, who is charged; at == NULL: the question's, which a record has */
    const struct definition *definition; /* of the tool that is called, as it was accepted; NULL: it was not */
    struct approvals *approvals; /* NULL: nobody can approve anything, unless `granted` says so */
    const struct recorded *recorded; /* where the question was read from it, for `granted` */
    /* whether a person's word was recorded there; NULL: approvals are asked */
    enum policy_known (*granted)(const struct recorded *recorded, struct span rule);
    const struct plan *plan;     /* that the call shows, and that is its principal's and in its time; NULL: none */
    struct plan_fit fit;         /* which of its steps the call is */
    bool is_full;                /* a limit could not be asked for lack of room */
    uint32_t step;               /* judged: the one that it uses where it is permitted; 0: none */
    bool is_recorded;            /* the question was read from the audit, which keeps a session's digest, not the session */
};

/* For question.state; asks, and changes nothing. Lifetime: the moment's. */
struct policy_state gate_moment_view(struct gate_moment *moment);

/* What was taken for a call: of all limits of its permits, of those of monitored ones, and a step of its plan. `takes` is its
 * own until it is spent or given back. */
struct gate_token {
    struct gate_state *state; /* NULL: nothing */
    struct tally_take *takes; /* few permits have limits */
    int64_t ends_us; /* when the step's plan ends */
    uint16_t count;  /* of takes */
    uint16_t step;   /* 0: none */
    uint16_t times;  /* how often that may be used */
    unsigned char plan[DIGEST_BYTES];
    bool is_ordered; /* the plan's steps have an order */
};

/* Judges by the state at this moment, and takes what a permit's limits ask for: *token. Where others took the last of it
 * between the question and the taking, it judges again, and after some rounds denies.
 * Takes: question: its `state`, and of a moment with a plan its `plan`, are the moment's from then on; timed: as
 * policy_eval. A verdict that is cut takes nothing. */
void gate_state_judge(struct gate_moment *moment, const struct policy *policy, struct question *question, bool timed,
                      struct policy_scratch *scratch, struct verdict *verdict, struct gate_token *token);
void gate_token_spend(struct gate_token *token);     /* the call goes on */
void gate_token_give_back(struct gate_token *token); /* it does not */
/* Adds what was taken for another, whose token has no step and is empty then. CODE_NOMEM: nothing was done. */
enum code gate_token_join(struct gate_token *token, struct gate_token *other) MUST_USE;

/* The fleet has given it by now: here, too, it is taken at that time. */
void gate_token_renew(struct gate_token *token, int64_t now_us);
/* Adds what of it counts over a fleet. CODE_LIMIT, CODE_NOMEM: not all of it. */
enum code gate_token_wish(const struct gate_token *token, struct wish **wish) MUST_USE;
/* Takes in why a wish was not given, so that who judges anew goes by it: which limit has no room, what was used of a plan. Of a
 * wish that was given, too, what was used. Takes: tenant: who is charged for what is known of a plan. */
enum code gate_state_hear(struct gate_state *state, const struct wish *wish, struct span tenant, int64_t now_us) MUST_USE;
/* Appends what this node has used of what counts over a fleet, of one of TALLY_PARTS parts, each a struct wish_told. */
void gate_state_write_uses(struct gate_state *state, uint32_t part, int64_t now_us, struct buf *out);

/* Counts a call that the limits' rules permitted and whose token nobody holds any more, whether or not there is room. */
void gate_state_count(const struct gate_moment *moment, const struct question *question,
                      const struct verdict_spent spent[HALF_COUNT]);

/* Notes a call that was permitted and goes on, for whoever watches its tool, or a rule that it met. */
void gate_state_note(const struct gate_moment *moment, const struct policy *policy, const struct question *question,
                     const struct policy_met *met);
/* Says that calls happened of which nobody knows whose they were: for keep_us, what was called before is unknown. */
void gate_state_doubt(const struct gate_moment *moment, int64_t keep_us);
struct policy_met gate_met(const struct verdict *verdict);

struct plan_uses *gate_state_plans(struct gate_state *state);

/* Learns what an upstream says of a tool in a tools/list that passes. */
void gate_state_learn(struct gate_state *state, struct span home, struct span upstream, bool is_minted, struct span tool,
                      const enum policy_known said[POLICY_HINT_COUNT]);

/* As hints_listed. */
void gate_state_listed(struct gate_state *state, struct buf *out);

void gate_state_stats(struct gate_state *state, struct tally_stats *stats);

#endif
