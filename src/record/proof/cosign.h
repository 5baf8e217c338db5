/* SPDX-License-Identifier: Apache-2.0 */
/* Cosignatures: a witness's word, on a checkpoint of another log, that it goes on from the one that the witness saw last
 * (c2sp.org/tlog-cosignature, "Format" and "Ed25519 signed message", cosignature/v1).
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_INVALID for a time that the format does not hold, CODE_NOMEM. */
#ifndef PROOF_COSIGN_H
#define PROOF_COSIGN_H

#include "proof/note.h"

/* Appends a line to be put under a note: a dash, `name`, and base64 of the key's id, the time and the signature.
 * Takes: text: of the note, as note_read gives it; time_s: Unix seconds, when the witness looked; 0 to INT64_MAX. */
enum code cosign_line(struct span text, struct span name, const struct sign_key *key, uint64_t time_s, struct buf *line)
    MUST_USE;

/* Whether a line is the cosignature of the note's text by that key under that name. NOTE_OTHER_KEY: it is somebody else's, or
 * none. Gives: *time_s, where it is NOTE_SIGNED. */
enum note_check cosign_check(struct span text, struct span line, const struct note_key *key, uint64_t *time_s);

#endif
