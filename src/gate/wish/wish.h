/* SPDX-License-Identifier: Apache-2.0 */
/* Wishes: what calls want to use of limits and of steps of plans that count over a fleet. Whoever judges a call puts one, and
 * its connection waits; one thread carries wishes to the courier, and what the centre says of them back.
 *
 * All that one wish takes is given, or none of it. A wish that nobody answers was given or not: who takes it back makes no
 * use of it, and it counts until it is over.
 *
 * Threads: any; one lock, which no call takes that wishes for nothing. A wish that is put belongs to the table until it is
 *   taken back.
 * Owns: what is put.
 * Lifetime: wishes_new to wishes_free, behind all threads that use it.
 * Errors: CODE_NOMEM; CODE_LIMIT: one takes more than WISH_TAKES_MAX. */
#ifndef WISH_WISH_H
#define WISH_WISH_H

#include "base/list.h"
#include "crypto/digest.h"
#include "os/inbox.h"

#define WISH_TAKES_MAX 64 /* of all calls of one body */

enum wish_kind { WISH_AMOUNT = 0, WISH_VALUE, WISH_STEP };

struct wish_take {
    unsigned char key[DIGEST_BYTES]; /* the limit's, and behind it the value's; of a step its plan's digest */
    uint64_t most;   /* of a step: how often it may be used */
    uint64_t amount; /* of a step: its number; 0: it is only asked what was used of the plan */
    int64_t per_us;  /* of a step: when its plan ends */
    uint64_t own;    /* of an amount: so much at least this node has used in the window, and the fleet must know */
    enum wish_kind kind;
    bool is_beyond;  /* it is taken also where there is no room; of a step: the plan's have an order */
};

enum wish_fate {
    WISH_WAITING = 0,
    WISH_GIVEN,
    WISH_FULL, /* `at` has no room */
    WISH_AWAY  /* nothing is given at the moment */
};

#define WISH_FULL_US (INT64_C(32) * 86400 * 1000000) /* no window is longer */
#define WISH_STEPS_MAX 256 /* of a plan */
struct wish_used { /* a step, from 1, and how often it was used */
    uint16_t step, times;
};

struct wish_answer {
    uint64_t ticket;
    enum wish_fate fate;
    uint32_t at;        /* FULL: which of the takes; of a step `used` says why */
    int64_t wait_us;    /* FULL: for so long, at most WISH_FULL_US */
    uint64_t taken;     /* FULL: what the limit's window holds */
    uint32_t count;     /* of `used`: of the plan of the wish's last step that was asked */
    struct wish_used used[WISH_STEPS_MAX];
};

struct wish {
    struct list link;
    struct inbox *inbox; /* whom to wake; NULL: nobody */
    int64_t put_us;
    uint32_t count;
    size_t room;
    struct wish_take *takes;
    struct wish_answer answer;
};

/* What a node knows that it used itself, for a centre that may lack it: of an amount how much, of a step how often it was
 * used. */
struct wish_told {
    struct wish_take take; /* of a step, `most` is its number */
    int64_t age_us;
};

struct wishes;

enum code wishes_new(struct wishes **wishes) MUST_USE;
void wishes_free(struct wishes **wishes);

/* Adds to a wish that is not put yet. Takes: *wish: NULL: it is made. */
enum code wish_add(struct wish **wish, const struct wish_take *take) MUST_USE;
void wishes_put(struct wishes *wishes, struct wish *wish, struct inbox *inbox);
bool wish_is_put(const struct wish *wish);
#define WISH_WAIT_US INT64_C(1000000) /* what is not answered by then is AWAY, */
#define WISH_SEEN_US INT64_C(500000)  /* which is seen by then */
enum wish_fate wishes_fate(struct wishes *wishes, const struct wish *wish);
void wishes_drop(struct wishes *wishes, struct wish **wish); /* takes it back, if it was put, and frees it; *wish may be NULL */

/* ---- for the thread that carries them ---- */

/* `work` is called, from any thread, when something was put. */
void wishes_carry(struct wishes *wishes, void (*work)(void *context), void *context);
/* The next that was not sent. Returns: how many takes it has; 0: there is none. */
uint32_t wishes_next(struct wishes *wishes, uint64_t *ticket, struct wish_take takes[WISH_TAKES_MAX]);
void wishes_answer(struct wishes *wishes, const struct wish_answer *answer);

#endif
