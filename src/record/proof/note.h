/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints as text: C2SP signed notes (c2sp.org/signed-note, c2sp.org/tlog-checkpoint), written and read.
 *
 * Threads: any.
 * Owns: nothing; what was read borrows from its text.
 * Lifetime: that of the text.
 * Errors: CODE_INVALID for what is no such note, CODE_NOMEM. */
#ifndef PROOF_NOTE_H
#define PROOF_NOTE_H

#include "crypto/digest.h"
#include "crypto/sign.h"

#define NOTE_BYTES ((size_t)4096) /* at most */
#define NOTE_ORIGIN_BYTES 128
#define NOTE_ORIGIN "callgate/" /* a gate's own; behind it stand NOTE_ORIGIN_ID hexadecimal digits, the id of the log's first
                                 * file */
#define NOTE_ORIGIN_ID 32

/* What a checkpoint says: the log, how many rows, the root of the Merkle tree over them, and two extension lines. */
struct note {
    struct span origin;
    uint64_t size;
    unsigned char root[DIGEST_BYTES];
    int64_t time_us;         /* `time`: when the gate made it */
    bool has_tenants;        /* `tenants`: how many, and the root of the tree over their last rows */
    uint64_t tenants;
    unsigned char tenants_root[DIGEST_BYTES];
    struct span text;        /* read: what is signed */
    struct span signatures;  /* read: the lines below */
};

/* Appends the text that is signed; then note_sign the whole note. */
enum code note_write(const struct note *note, struct buf *out) MUST_USE;
enum code note_sign(struct span text, struct span name, const struct sign_key *key, struct buf *out) MUST_USE;
/* Likewise with a signature that somebody else has made. */
enum code note_seal(struct span text, struct span name, const unsigned char public[SIGN_PUBLIC_BYTES],
                    const unsigned char signature[SIGN_BYTES], struct buf *out) MUST_USE;

enum code note_read(struct span text, struct note *note) MUST_USE;

/* What stands next in a file of several notes, which may have empty lines between them. A crash in the middle of writing
 * leaves the beginning of one, with zeros where the power failed: NOTE_TORN. Whatever else is no note: NOTE_DAMAGED. */
enum note_piece { NOTE_NONE = 0, NOTE_WHOLE, NOTE_TORN, NOTE_DAMAGED };
enum note_piece note_scan(struct span *file, struct span *piece);

bool note_next(struct span *file, struct span *note); /* the next whole one. False: there is none */

/* Whether it bears a signature under its own origin, as every log signs its own. */
bool note_is_named(const struct note *note);

/* A key whose signature counts. Without a name it signs under the origin's. */
struct note_key {
    char name[NOTE_ORIGIN_BYTES];
    unsigned char public[SIGN_PUBLIC_BYTES];
};

/* Reads "name+id+key" as C2SP's tools write it (`vkey`), or PEM, or a file with both such as audit-key.pub.
 * CODE_INVALID, too, for a weak one. */
enum code note_key_read(struct span text, struct note_key *key) MUST_USE;
enum code note_key_write(struct span name, const unsigned char public[SIGN_PUBLIC_BYTES], struct buf *out) MUST_USE;

enum note_check { NOTE_FORGED = 0, NOTE_OTHER_KEY, NOTE_SIGNED };
enum note_check note_verify(const struct note *note, const struct note_key *key);

#endif
