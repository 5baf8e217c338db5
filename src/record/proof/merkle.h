/* SPDX-License-Identifier: Apache-2.0 */
/* The Merkle tree of RFC 6962 and RFC 9162 over the rows' hashes: grown a leaf at a time from its peaks alone, and the proofs.
 *
 * Threads: one at a time.
 * Owns: nothing on the heap.
 * Lifetime: the caller's.
 * Errors: a proof that does not hold gives false. */
#ifndef PROOF_MERKLE_H
#define PROOF_MERKLE_H

#include "base/code.h"
#include "crypto/digest.h"

#define MERKLE_PEAKS 64
#define MERKLE_PROOF_MAX (2 * MERKLE_PEAKS)

/* peak[j] is the root over 2^j leaves where bit j of `size` is set; larger ones lie to the left. */
struct merkle {
    uint64_t size;
    unsigned char peak[MERKLE_PEAKS][DIGEST_BYTES];
};

void merkle_leaf(struct span entry, unsigned char hash[DIGEST_BYTES]); /* SHA-256(0x00 || entry) */
void merkle_node(const unsigned char left[DIGEST_BYTES], const unsigned char right[DIGEST_BYTES],
                 unsigned char hash[DIGEST_BYTES]);                    /* SHA-256(0x01 || left || right) */
void merkle_add(struct merkle *tree, const unsigned char leaf[DIGEST_BYTES]);
void merkle_root(const struct merkle *tree, unsigned char root[DIGEST_BYTES]); /* of none: SHA-256("") */

/* The peaks from the left, 32 bytes each: what a tree is made again from. `out` takes MERKLE_PEAKS * DIGEST_BYTES. */
size_t merkle_save(const struct merkle *tree, unsigned char *out);
bool merkle_load(struct merkle *tree, uint64_t size, struct span peaks); /* false: not that many */

/* A proof's hashes are roots over ranges of leaves, begin <= leaf < end. */
struct merkle_range {
    uint64_t begin, end;
};

/* Which ranges prove that leaf `index` is in the tree of `size`, in the order of the proof (RFC 6962, 2.1.1). */
size_t merkle_path(uint64_t index, uint64_t size, struct merkle_range ranges[MERKLE_PROOF_MAX]);
/* Which ranges prove that the tree of `size` goes on from that of `old` (2.1.2); 0 < old <= size. */
size_t merkle_consistency(uint64_t old, uint64_t size, struct merkle_range ranges[MERKLE_PROOF_MAX]);

/* The other side (RFC 9162, 2.1.3.2 and 2.1.4.2). */
bool merkle_is_in(const unsigned char leaf[DIGEST_BYTES], uint64_t index, uint64_t size,
                  const unsigned char (*proof)[DIGEST_BYTES], size_t count, const unsigned char root[DIGEST_BYTES]);
bool merkle_goes_on(uint64_t old, const unsigned char old_root[DIGEST_BYTES], uint64_t size,
                    const unsigned char root[DIGEST_BYTES], const unsigned char (*proof)[DIGEST_BYTES], size_t count);

#endif
