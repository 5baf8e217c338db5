/* SPDX-License-Identifier: Apache-2.0 */
/* The signer: a process that has the key of checkpoints and nothing else, so that whoever takes over the gate cannot sign
 * another past.
 *
 * The gate tells it each row's leaf. It grows the Merkle tree by itself and signs the root under the log's name, so that it
 * can sign only trees that go on from the last one. One signature may be taken back: the last one, while its rows are not
 * durable yet.
 *
 * Threads: signer_new and signer_begin on main before others are started, signer_is_gone on main; the others by one at a time
 *   (the notary's lock). signer_serve is the other process.
 * Owns: its end of the socket.
 * Lifetime: signer_new to signer_free, with which the process ends.
 * Errors: CODE_IO: the process is gone, or stays silent; CODE_DENIED: it does not sign that. */
#ifndef PROOF_SIGNER_H
#define PROOF_SIGNER_H

#include "proof/note.h"
#include "base/why.h"

struct signer;

/* Blocks: until the process has its key, or has said why not. Takes `end` in any case. */
enum code signer_new(int end, struct signer **out, struct why *why) MUST_USE;
void signer_free(struct signer **signer); /* NULL is fine */

const unsigned char *signer_public(const struct signer *signer);
bool signer_is_gone(const struct signer *signer);

/* Tells once where the log stands: its name, and the peaks of the tree that was signed last (proof/merkle.h). */
enum code signer_begin(struct signer *signer, const char *origin, uint64_t size, struct span peaks) MUST_USE;

/* Tells a leaf with which the tree is as large as `size`; a leaf that the signer knows is passed over. */
void signer_add(struct signer *signer, uint64_t size, const unsigned char leaf[DIGEST_BYTES]);

/* Takes back the leaves since the last signature, and that signature where it was tentative: others come in their place. */
void signer_rewind(struct signer *signer);

/* Tells that the rows of a tentative signature are durable, so that it cannot be taken back any more. */
void signer_keep(struct signer *signer);

/* Takes: note: all of it but its spans; `is_tentative`: its rows are not durable yet. */
enum code signer_sign(struct signer *signer, const struct note *note, bool is_tentative, unsigned char signature[SIGN_BYTES])
    MUST_USE;

/* The process: says that it has the key, or why not (key == NULL), and signs until the other end is closed. */
void signer_serve(int end, const struct sign_key *key, const struct why *why);

#endif
