/* SPDX-License-Identifier: Apache-2.0 */
/* The last row of every tenant, and the Merkle tree over these that a checkpoint binds: schema/audit-format.md, "Heads of
 * tenants".
 *
 * Threads: one at a time.
 * Owns: its map and lists.
 * Lifetime: tenants_init to tenants_fini.
 * Errors: CODE_NOMEM; CODE_LIMIT past TENANTS_MAX, from where on there is no tree. */
#ifndef PROOF_TENANTS_H
#define PROOF_TENANTS_H

#include "rows/heads.h"
#include "proof/merkle.h"

#define TENANTS_MAX ((size_t)1 << 20) /* 150 MB of them */

struct tenants {
    struct heads heads;   /* `known`: its leaf is right */
    struct head **sorted; /* by name, in byte order */
    unsigned char (*leaf)[DIGEST_BYTES];
    size_t listed;        /* how many of the heads are in `sorted` */
};

enum code tenants_init(struct tenants *tenants) MUST_USE;
void tenants_fini(struct tenants *tenants);

/* Sets a later row of the tenant; a row that is not later changes nothing. */
enum code tenants_set(struct tenants *tenants, struct span tenant, uint64_t seq, const unsigned char hash[DIGEST_BYTES])
    MUST_USE;

/* Brings sorted[] and leaf[] up to date, and gives the root over the leaves. */
enum code tenants_root(struct tenants *tenants, unsigned char root[DIGEST_BYTES]) MUST_USE;

/* The leaf of one tenant. */
void tenants_leaf(struct span tenant, uint64_t seq, const unsigned char hash[DIGEST_BYTES],
                  unsigned char leaf[DIGEST_BYTES]);

#endif
