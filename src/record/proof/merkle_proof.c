/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs that a row is in a tree, and that a tree goes on from an older one. */
#include "proof/merkle.h"

#include "base/bug.h"

/* The largest power of two below `count`, which is 2 at least. */
static uint64_t split_of(uint64_t count)
{
    return (uint64_t)1 << (63 - __builtin_clzll(count - 1));
}

static void reverse(struct merkle_range *ranges, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct merkle_range range = ranges[i];

        ranges[i] = ranges[count - 1 - i];
        ranges[count - 1 - i] = range;
    }
}

size_t merkle_path(uint64_t index, uint64_t size, struct merkle_range ranges[MERKLE_PROOF_MAX])
{
    uint64_t begin = 0, end = size;
    size_t count = 0;

    BUG_ON(index >= size);
    while (end - begin > 1) { /* from the root down; the half without the leaf is a range of the proof */
        uint64_t middle = begin + split_of(end - begin);

        if (index < middle) {
            ranges[count++] = (struct merkle_range){middle, end};
            end = middle;
        } else {
            ranges[count++] = (struct merkle_range){begin, middle};
            begin = middle;
        }
    }
    reverse(ranges, count);
    return count;
}

size_t merkle_consistency(uint64_t old, uint64_t size, struct merkle_range ranges[MERKLE_PROOF_MAX])
{
    uint64_t begin = 0, end = size;
    size_t count = 0;

    BUG_ON(old == 0 || old > size);
    while (end != old) {
        uint64_t middle = begin + split_of(end - begin);

        if (old <= middle) {
            ranges[count++] = (struct merkle_range){middle, end};
            end = middle;
        } else {
            ranges[count++] = (struct merkle_range){begin, middle};
            begin = middle;
        }
    }
    if (begin > 0) /* else this range is the old tree itself, whose root is known */
        ranges[count++] = (struct merkle_range){begin, end};
    reverse(ranges, count);
    return count;
}

bool merkle_is_in(const unsigned char leaf[DIGEST_BYTES], uint64_t index, uint64_t size,
                  const unsigned char (*proof)[DIGEST_BYTES], size_t count, const unsigned char root[DIGEST_BYTES])
{
    unsigned char hash[DIGEST_BYTES];
    uint64_t at = index, last = size - 1;

    if (index >= size)
        return false;
    memcpy(hash, leaf, DIGEST_BYTES);
    for (size_t i = 0; i < count; i++) {
        if (last == 0)
            return false;
        if ((at & 1) != 0 || at == last) {
            merkle_node(proof[i], hash, hash);
            for (; (at & 1) == 0 && at != 0; at >>= 1)
                last >>= 1;
        } else {
            merkle_node(hash, proof[i], hash);
        }
        at >>= 1;
        last >>= 1;
    }
    return last == 0 && memcmp(hash, root, DIGEST_BYTES) == 0;
}

bool merkle_goes_on(uint64_t old, const unsigned char old_root[DIGEST_BYTES], uint64_t size,
                    const unsigned char root[DIGEST_BYTES], const unsigned char (*proof)[DIGEST_BYTES], size_t count)
{
    bool whole = old != 0 && (old & (old - 1)) == 0; /* the old root is itself the first hash */
    unsigned char left[DIGEST_BYTES], right[DIGEST_BYTES];
    uint64_t at = old - 1, last = size - 1;
    size_t next = 0;

    if (old == 0 || old > size)
        return false;
    if (old == size)
        return count == 0 && memcmp(old_root, root, DIGEST_BYTES) == 0;
    if (count == 0)
        return false;
    memcpy(left, whole ? old_root : proof[next++], DIGEST_BYTES);
    memcpy(right, left, DIGEST_BYTES);
    for (; (at & 1) != 0; at >>= 1)
        last >>= 1;
    for (; next < count; next++) {
        if (last == 0)
            return false;
        if ((at & 1) != 0 || at == last) {
            merkle_node(proof[next], left, left);
            merkle_node(proof[next], right, right);
            for (; (at & 1) == 0 && at != 0; at >>= 1)
                last >>= 1;
        } else {
            merkle_node(right, proof[next], right);
        }
        at >>= 1;
        last >>= 1;
    }
    return last == 0 && memcmp(left, old_root, DIGEST_BYTES) == 0 && memcmp(right, root, DIGEST_BYTES) == 0;
}
