/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs out of an audit.db, for people who do not get the file: that a row is in a checkpoint, that one checkpoint goes on
 * from another, that a tenant's rows are all it had. And the other side: checking such a proof.
 *
 * Threads: one.
 * Owns: nothing; a proof is text in the caller's buffer.
 * Lifetime: one call.
 * Errors: enum code with a sentence; CODE_NOT_FOUND for a row or checkpoint that is not there. */
#ifndef EVIDENCE_PROVE_H
#define EVIDENCE_PROVE_H

#include "proof/keyring.h"
#include "base/why.h"

#define PROOF_ROW "c2sp.org/tlog-proof@v1"
#define PROOF_CONSISTENCY "callgate/consistency-proof@v1"
#define PROOF_TENANT "callgate/tenant-proof@v1"    /* from the tenant's first row on */
#define PROOF_TENANT_ON "callgate/tenant-proof@v2" /* from where it stood when the file began that continues another */

/* Takes: size: which checkpoint, by the rows that it covers; 0: the last one. */
enum code audit_prove_row(const char *path, uint64_t seq, uint64_t size, struct buf *out, struct why *why) MUST_USE;

/* Takes: old: a whole note; size as above. */
enum code audit_prove_consistency(const char *path, struct span old, uint64_t size, struct buf *out, struct why *why) MUST_USE;

/* The database's own note over so many rows. */
enum code audit_find_checkpoint(const char *path, uint64_t size, struct buf *note, struct why *why) MUST_USE;

/* With every row of the tenant in this file up to the checkpoint, a JSON line each. `put` takes the text piece by piece. */
typedef enum code (*prove_put_fn)(void *context, struct span text);
enum code audit_prove_tenant(const char *path, struct span tenant, uint64_t size, prove_put_fn put, void *context,
                             struct why *why) MUST_USE;

struct proof_report {
    char what[512];    /* what is proven, as a sentence; empty: nothing */
    char fault[256];   /* why not; empty: it holds */
    uint64_t rows;     /* of a tenant */
    bool is_signed;    /* with the key that was given */
};

bool audit_is_proof(struct span text);
/* Takes: keys: one of them must have signed each checkpoint; NULL: signatures are not judged. tenant: whose proof it must be;
 * at == NULL: whosever it is. */
enum code audit_check_proof(struct span text, const struct keyring *keys, struct span tenant, struct proof_report *report)
    MUST_USE;

#endif
