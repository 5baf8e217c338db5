/* SPDX-License-Identifier: Apache-2.0 */
/* What the lines under a note have in common, whoever signs and what (c2sp.org/signed-note, "Signatures").
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_INVALID, CODE_NOMEM. */
#ifndef PROOF_NOTE_PRIV_H
#define PROOF_NOTE_PRIV_H

#include "proof/note.h"

#define NOTE_DASH "\xe2\x80\x94 " /* begins each line */
#define NOTE_KEY_ID_BYTES 4

/* What a key signs, as its id says. */
enum note_type { NOTE_TYPE_SIGNATURE = 1, NOTE_TYPE_COSIGNATURE = 4 };

/* The first bytes of SHA-256(name || 0x0A || type || key). */
void note__key_id(struct span name, enum note_type type, const unsigned char public[SIGN_PUBLIC_BYTES],
                  unsigned char id[NOTE_KEY_ID_BYTES]);

/* base64 of so many bytes, no more and no fewer. */
enum code note__read_bytes(struct span text, void *out, size_t len) MUST_USE;

#endif
