/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of checkpoints that follow each other: an event `checkpoint_key` may hold a checkpoint with a line `keys OLD NEW`,
 * signed with both. Whoever trusts one of them trusts the other by it: the new key without an end, the old one up to that
 * checkpoint. Nobody without both keys can make such a checkpoint, even if he can write the file.
 *
 * Threads: one.
 * Owns: nothing.
 * Lifetime: the caller's.
 * Errors: enum code; of more than SUCCESSIONS_MAX the first count. */
#ifndef PROOF_SUCCESSION_H
#define PROOF_SUCCESSION_H

#include "proof/keyring.h"

#define SUCCESSIONS_MAX 64

struct succession {
    struct note_key before, after;
    uint64_t size; /* the checkpoint's, as its origin and root */
    char origin[NOTE_ORIGIN_BYTES];
    unsigned char root[DIGEST_BYTES];
};

struct successions {
    struct succession at[SUCCESSIONS_MAX];
    size_t count;
};

/* Writes the checkpoint `note` again, with a line that names both keys and signed with both: the `note` of an event. */
enum code succession_write(const struct note *note, const struct sign_key *before, const struct sign_key *after,
                           struct buf *out) MUST_USE;

/* CODE_INVALID: it is none that both keys signed. */
enum code succession_read(struct span text, struct succession *out) MUST_USE;

enum code successions_read(struct successions *successions, struct db *db) MUST_USE; /* adds a file's */

/* Adds the keys that follow from those in the ring. Only a key without an end can hand over to a new one, so that whoever got
 * hold of a replaced key cannot name a successor. */
void successions_follow(const struct successions *successions, struct keyring *ring);

#endif
