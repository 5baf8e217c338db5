/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs of possession (DPoP, RFC 9449): who shows a token that is bound to a key proves for each request that he has it.
 *
 * Threads: identity_proof_check any; a table of used proofs is shared, one short lock a shard.
 * Owns: the table its entries.
 * Lifetime: identity_proofs_new to identity_proofs_free.
 * Errors: enum identity_fault; no I/O, no clock. */
#ifndef IDENTITY_PROOF_H
#define IDENTITY_PROOF_H

#include "base/shares.h"
#include "identity/token.h"

#define IDENTITY_PROOF_BYTES_MAX 8192

#define IDENTITY_PROOF_LEEWAY_US (INT64_C(60) * 1000000) /* how old a proof may be, and how far ahead */

struct identity_proofs; /* remembers used proofs for as long as they could be used again */

enum code identity_proofs_new(int64_t now_us, struct identity_proofs **proofs) MUST_USE;
void identity_proofs_free(struct identity_proofs **proofs);

struct identity_proof_request {
    struct span proof;       /* the header DPoP's value; at == NULL: absent */
    struct span method;
    struct span url;         /* of the request as the agent wrote it: scheme, host, path */
    struct span token;       /* its bytes as they came */
    bool by_dpop;            /* the scheme in Authorization was DPoP, not Bearer */
    int64_t now_us;
};

/* Checks what a token's `cnf.jkt` asks; also that the proof was not used. A token that is bound to no key passes where the
 * scheme was Bearer, with a *key of 0. Sets *key to the proof's, for identity_proof_use. */
enum identity_fault identity_proof_check(const struct identity_token *token, const struct identity_proof_request *request,
                                         struct identity_proofs *proofs, uint64_t *key) MUST_USE;

/* Uses a proof up; its key is not 0. Returns: NONE, for the first use while the proof is valid; PROOF_REPLAYED;
 * PROOF_SHARE: whoever shows it has used as many as is his share (base/shares.h); MEMORY. */
enum identity_fault identity_proof_use(struct identity_proofs *proofs, uint64_t key, struct share whose, int64_t now_us)
    MUST_USE;

#endif
