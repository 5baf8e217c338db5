/* SPDX-License-Identifier: Apache-2.0 */
/* This node's checkpoints on their way to the centre: each once its rows are there, with one signature more, by the node's own
 * key, so that nobody else can put one there in its name.
 *
 * Threads: the courier's one.
 * Owns: nothing but what it remembers.
 * Lifetime: marks_init; there is nothing to free but what up_trail has.
 * Errors: enum code with a sentence, as of pg/pg.h. */
#ifndef COURIER_MARKS_H
#define COURIER_MARKS_H

#include "ship/up_trail.h"
#include "crypto/sign.h"
#include "proof/note.h"

struct marks {
    char name[NOTE_ORIGIN_BYTES]; /* under which this node signs */
    const struct sign_key *key;   /* borrowed */
    struct up_trail trail;
    int64_t last;                 /* size of the last one that the centre has */
    bool is_placed;               /* that was asked since the connection was made */
    bool is_forked;               /* the centre's last one is none of ours */
};

/* A node's name as it stands under checkpoints: callgate/FLEET/NODE. */
void marks_name(struct span fleet, struct span node, char out[NOTE_ORIGIN_BYTES]);

/* Takes: audit, key: borrowed until marks_fini. */
enum code marks_init(struct marks *marks, const char *audit, struct span fleet, struct span node, const struct sign_key *key,
                     struct why *why) MUST_USE;
void marks_fini(struct marks *marks);
void marks_anew(struct marks *marks); /* the connection is another one */

/* Ships those over rows that are at the centre. Takes: shipped_seq: up to which that is. *more: call again at once. */
enum code marks_turn(struct marks *marks, struct pg *pg, int64_t shipped_seq, bool *more, struct why *why) MUST_USE;

#endif
