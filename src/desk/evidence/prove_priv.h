/* SPDX-License-Identifier: Apache-2.0 */
/* A proof in the making: what the files that write proofs share.
 *
 * Threads: one.
 * Owns: the connection and the checkpoint's note.
 * Lifetime: prove__open to prove__close, also where opening failed.
 * Errors: enum code with a sentence. */
#ifndef EVIDENCE_PROVE_PRIV_H
#define EVIDENCE_PROVE_PRIV_H

#include "proof/merkle.h"
#include "rows/walk.h"
#include "evidence/prove.h"

struct prover {
    const char *path;
    struct db *db;
    struct why *why;
    struct merkle start;  /* before the file's first row */
    struct buf note;      /* the checkpoint */
    struct note read;
};

enum code prove__open(struct prover *prover, const char *path, uint64_t size, struct why *why) MUST_USE;
void prove__close(struct prover *prover);
enum code prove__fail(const struct prover *prover, enum code code) MUST_USE; /* with a sentence, where there is none yet */

enum code prove__add_hash(struct buf *out, const unsigned char hash[DIGEST_BYTES]); /* a line */

#endif
