/* SPDX-License-Identifier: Apache-2.0 */
/* What goes over the socket between a gate and its courier: messages, each whole, that begin with their kind. The program
 * callgate-courier is found beside the gate's, is started before that confines itself, and again whenever it has ended.
 *
 * Gate and courier may be of two builds, where one is replaced while the other runs: a kind keeps its number.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef FLEET_COURIER_END_H
#define FLEET_COURIER_END_H

#include "wish/wish.h"

#define FLEET_FD 3 /* the courier's end */
#define FLEET_WORD "courier" /* the first word of its command line */
#define FLEET_TRIAL "trial" /* the last: it reads its files, says whether they are good, and ends */

enum fleet_kind {
    FLEET_BEGUN = 0, /* the courier has read its files, or `text` says why not: struct fleet_message */
    FLEET_ANSWER,    /* the courier's: struct fleet_answer */
    FLEET_TELL,      /* the courier's: the centre lacks uses; the gate is to say which it knows: struct fleet_message */
    FLEET_WISH,      /* the gate's: struct fleet_wish, as far as it has takes */
    FLEET_TOLD,      /* the gate's: struct fleet_told, as far as it has uses */
    FLEET_LAST,      /* the gate's: it has recorded the last row, and signed it; back: that is at the centre, or stays: struct
                      * fleet_message */
    FLEET_IN_FORCE   /* the gate's, whenever that is another, and to a courier that begins: struct fleet_in_force */
};

struct fleet_message {
    enum fleet_kind kind;
    char text[512];
};

struct fleet_answer {
    enum fleet_kind kind;
    struct wish_answer answer;
};

struct fleet_wish {
    enum fleet_kind kind;
    uint32_t count;
    uint64_t ticket;
    struct wish_take takes[WISH_TAKES_MAX];
};

/* By what all workers judge a call that comes now. */
struct fleet_in_force {
    enum fleet_kind kind;
    int64_t change;  /* the fleet's: it and all before it; 0: none, or the gate cannot judge yet */
    int64_t version; /* of the policy; 0: none */
};

#define FLEET_TOLD_MAX 64
struct fleet_told {
    enum fleet_kind kind;
    uint32_t count;
    bool begins, ends; /* the first, the last of what is told */
    struct wish_told uses[FLEET_TOLD_MAX];
};

/* Whether so many bytes are a whole one of so many members, each of them so large, behind `head` bytes. */
static inline bool fleet_is_whole(size_t got, size_t head, uint32_t count, size_t each, uint32_t most)
{
    return got >= head && count <= most && got == head + count * each;
}

#endif
