/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of checkpoints that follow each other: an event `checkpoint_key` may hold a checkpoint with a line `keys OLD NEW`,
 * signed with both. Who trusts either trusts the other by it: the new one as far as it signs, the old one up to that
 * checkpoint. Nobody without both can make one, whoever can write the file.
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
    uint64_t size; /* of the checkpoint; likewise: */
    char origin[NOTE_ORIGIN_BYTES];
    unsigned char root[DIGEST_BYTES];
};

struct successions {
    struct succession at[SUCCESSIONS_MAX];
    size_t count;
};

/* The checkpoint `note` over again, with both keys in it and signed with both: for an event's `note`. */
enum code succession_write(const struct note *note, const struct sign_key *before, const struct sign_key *after,
                           struct buf *out) MUST_USE;

/* CODE_INVALID: it is none that both keys signed. */
enum code succession_read(struct span text, struct succession *out) MUST_USE;

enum code successions_read(struct successions *successions, struct db *db) MUST_USE; /* adds a file's */

/* Adds what follows from the keys that are there. Only a key without an end hands over to others: who got hold of one that was
 * replaced makes himself no successor. */
void successions_follow(const struct successions *successions, struct keyring *ring);

#endif
