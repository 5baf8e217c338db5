/* SPDX-License-Identifier: Apache-2.0 */
/* Losses that somebody accepted: events `loss_accepted`. Checkpoints of rows that are gone are explained by them.
 *
 * Threads: one.
 * Owns: nothing.
 * Lifetime: the caller's.
 * Errors: enum code; of more than LOSSES_MAX the first count. */
#ifndef PROOF_LOSS_H
#define PROOF_LOSS_H

#include "proof/note.h"
#include "db/db.h"

#define LOSSES_MAX 32

/* The checkpoints of a log up to this size, made up to this time, may be of rows that are not there any more. */
struct loss {
    int64_t seq; /* of the event */
    uint64_t size;
    int64_t time_us;
    char origin[NOTE_ORIGIN_BYTES];
};

struct losses {
    struct loss at[LOSSES_MAX];
    size_t count;
};

/* Who starts a gate though rows are lost, and why: the start records it as the event `loss_accepted` before anything else. */
struct audit_loss {
    const char *why;   /* NULL: a loss ends the start */
    const char *actor;
    bool is_elsewhere; /* something beside the trail is lost, so that no row has to be */
};

enum code losses_read(struct losses *losses, struct db *db) MUST_USE; /* adds a file's */
const struct loss *losses_find(const struct losses *losses, const struct note *note); /* or NULL */

#endif
