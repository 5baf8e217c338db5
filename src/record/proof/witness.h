/* SPDX-License-Identifier: Apache-2.0 */
/* A witness of another's log: it remembers the last checkpoint that it saw, and looks whether the next one goes on from it.
 *
 * The rows' hashes between two checkpoints come from whoever keeps the log. They need not be believed: a tree that is grown by
 * them from the one that was seen last has the new checkpoint's root only where that one goes on from it.
 *
 * Threads: one at a time.
 * Owns: nothing on the heap.
 * Lifetime: the caller's.
 * Errors: none; a verdict. */
#ifndef PROOF_WITNESS_H
#define PROOF_WITNESS_H

#include "proof/merkle.h"
#include "proof/note.h"

struct witness {
    char origin[NOTE_ORIGIN_BYTES]; /* of the log; empty: none was seen yet */
    struct merkle tree;             /* as the last checkpoint has it */
    unsigned char root[DIGEST_BYTES];
};

enum witness_verdict {
    WITNESS_GOES_ON = 0, /* or is the very one that was seen last */
    WITNESS_OLDER,       /* fewer rows than were seen: says nothing */
    WITNESS_FORKED,      /* as many rows as were seen, and other ones; or it does not go on from them */
    WITNESS_OTHER_LOG,   /* it is of another log */
};

/* Begins with a checkpoint that somebody vouches for. Takes: peaks: of its tree (merkle_save). False: they are not that. */
bool witness_begin(struct witness *witness, const struct note *note, struct span peaks) MUST_USE;

/* What the witness needs to check a checkpoint: the hashes of rows *first to note->size. False: none. */
bool witness_needs(const struct witness *witness, const struct note *note, uint64_t *first);

/* Takes: hashes: of the rows that witness_needs said, in their order, DIGEST_BYTES each. Where it goes on, it is the last that
 * was seen from now on; else nothing changes. Fewer hashes, or more, go on from nothing. */
enum witness_verdict witness_check(struct witness *witness, const struct note *note, struct span hashes);

#endif
