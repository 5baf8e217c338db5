/* SPDX-License-Identifier: Apache-2.0 */
/* A draft of least-privilege permits out of recorded calls: for each upstream and tool what its arguments looked like.
 *
 * What is drafted permits every call that was learned from, as far as the record still holds it, and no call that differs from
 * all of them by another argument, another type, a value outside of what was seen, another tool, tenant or principal. Values
 * that are lost get no condition: none is invented. What a person approved call by call does not become a standing permit.
 * The text depends on the calls alone, not on their order beyond which come first.
 *
 * Threads: one.
 * Owns: a learn owns all that it has seen, within fixed bounds.
 * Lifetime: learn_new to learn_free.
 * Errors: CODE_NOMEM. What is beyond the bounds is counted and said in the draft. */
#ifndef PAST_LEARN_H
#define PAST_LEARN_H

#include "base/buf.h"
#include "base/why.h"
#include "past/replay.h"

struct learn;

enum code learn_new(struct learn **learn) MUST_USE;
void learn_free(struct learn **learn);

/* Before the first call: definitions that are accepted, whose schemas bind drafted permits of their tools where all calls fit
 * them; they live as long. */
void learn_bind(struct learn *learn, const struct definition_set *definitions);

/* Takes: a recorded call; what was not permitted by a policy is passed over. */
enum code learn_add(struct learn *learn, const struct recorded *recorded) MUST_USE;

struct learn_sum {
    uint64_t calls;   /* learned from */
    uint64_t rules;   /* in the draft */
    uint64_t left_out; /* calls of tools that got no rule: too few, nothing of them recorded, too many tools,
                        * and those that a person approved */
};

/* Appends a policy file of that name. Tools with fewer calls than min_calls get no rule. */
enum code learn_write(struct learn *learn, struct span name, uint64_t min_calls, struct buf *out,
                      struct learn_sum *sum) MUST_USE;

/* learn_add for every call of the range in the trail, the oldest first. *range is narrowed to what was there when it began.
 * Takes: progress: as of replay_conf; NULL: none. */
enum code learn_read(struct learn *learn, const struct trail *trail, struct recorded_range *range,
                     void (*progress)(void *context, uint64_t done, uint64_t total), void *context,
                     struct why *why) MUST_USE;

struct learn_proof {
    uint64_t permitted;    /* calls that the draft permits */
    uint64_t unknown;      /* that depend on what the record lost */
    uint64_t unasked;      /* that depend on what no record holds: `_meta`, a definition that nobody has accepted */
    uint64_t answers;      /* whose answer rules had changed, which a draft does not */
    uint64_t left_out;     /* that the draft has no rule for, and says so */
    uint64_t denied;       /* that it should have permitted: a fault of ours */
    uint64_t first_denied; /* seq of the first of these */
    uint64_t tests, failed_tests;
};

/* Compiles the draft, runs its tests and replays it over what was learned from. CODE_INVALID with faults where it does not
 * compile. Takes: conf: files, range and threads. */
enum code learn_prove(const struct learn *learn, struct span text, const struct replay_conf *conf, struct learn_proof *proof,
                      struct faults *faults, struct why *why) MUST_USE;

/* Whether the draft has a rule for this kind of call. After learn_write. */
bool learn_drafted(const struct learn *learn, struct span upstream, struct span method, struct span target,
                   struct span path);

#endif
