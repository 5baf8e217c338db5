/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that sign a log's checkpoints, as its events name them.
 *
 * Threads: one fills it; then any.
 * Owns: nothing.
 * Lifetime: the caller's.
 * Errors: enum code; keys beyond KEYRING_MAX are left out, and their signatures are of an unknown key. */
#ifndef PROOF_KEYRING_H
#define PROOF_KEYRING_H

#include "proof/note.h"
#include "db/db.h"

#define KEYRING_MAX 64

struct keyring {
    struct note_key keys[KEYRING_MAX]; /* in the order in which they were added */
    uint64_t ends[KEYRING_MAX];        /* a key vouches for checkpoints up to this size; 0: for all (succession.h) */
    size_t count;
};

size_t keyring_find(const struct keyring *ring, const struct note_key *key); /* its place; ring->count: none */
void keyring_add(struct keyring *ring, const struct note_key *key);        /* fine where it is there already */
enum code keyring_read(struct keyring *ring, struct db *db) MUST_USE;      /* adds what events `checkpoint_key` name */

/* The first key that signed the note, or seems to, decides. *by: its place, where it is NOTE_SIGNED. */
enum note_check keyring_verify(const struct keyring *ring, const struct note *note, size_t *by);

#endif
