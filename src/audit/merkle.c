/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/merkle.h"

#include "base/bug.h"

void merkle__leaf(struct span entry, unsigned char hash[DIGEST_BYTES])
{
    struct digest digest;

    digest_init(&digest);
    digest_add(&digest, "\0", 1);
    digest_add(&digest, entry.at, entry.len);
    digest_final(&digest, hash);
}

void merkle__node(const unsigned char left[DIGEST_BYTES], const unsigned char right[DIGEST_BYTES],
                  unsigned char hash[DIGEST_BYTES])
{
    unsigned char both[1 + 2 * DIGEST_BYTES];

    both[0] = 1;
    memcpy(both + 1, left, DIGEST_BYTES);
    memcpy(both + 1 + DIGEST_BYTES, right, DIGEST_BYTES);
    digest_of(span_of(both, sizeof both), hash);
}

void merkle__add(struct merkle *tree, const unsigned char leaf[DIGEST_BYTES])
{
    unsigned char hash[DIGEST_BYTES];
    int level = 0;

    memcpy(hash, leaf, DIGEST_BYTES);
    for (; (tree->size >> level & 1) != 0; level++)
        merkle__node(tree->peak[level], hash, hash);
    memcpy(tree->peak[level], hash, DIGEST_BYTES);
    tree->size++;
}

void merkle__root(const struct merkle *tree, unsigned char root[DIGEST_BYTES])
{
    bool some = false;

    if (tree->size == 0)
        digest_of(SPAN_NONE, root);
    for (int level = 0; level < MERKLE_PEAKS; level++) {
        if ((tree->size >> level & 1) == 0)
            continue;
        if (some)
            merkle__node(tree->peak[level], root, root);
        else
            memcpy(root, tree->peak[level], DIGEST_BYTES);
        some = true;
    }
}

size_t merkle__save(const struct merkle *tree, unsigned char *out)
{
    size_t len = 0;

    for (int level = MERKLE_PEAKS - 1; level >= 0; level--)
        if ((tree->size >> level & 1) != 0) {
            memcpy(out + len, tree->peak[level], DIGEST_BYTES);
            len += DIGEST_BYTES;
        }
    return len;
}

bool merkle__load(struct merkle *tree, uint64_t size, struct span peaks)
{
    size_t at = 0;

    *tree = (struct merkle){.size = size};
    if (peaks.len != (size_t)__builtin_popcountll(size) * DIGEST_BYTES)
        return false;
    for (int level = MERKLE_PEAKS - 1; level >= 0; level--)
        if ((size >> level & 1) != 0) {
            memcpy(tree->peak[level], peaks.at + at, DIGEST_BYTES);
            at += DIGEST_BYTES;
        }
    return true;
}

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

size_t merkle__path(uint64_t index, uint64_t size, struct merkle_range ranges[MERKLE_PROOF_MAX])
{
    uint64_t begin = 0, end = size;
    size_t count = 0;

    BUG_ON(index >= size);
    while (end - begin > 1) { /* from the root down: the other half each time */
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

size_t merkle__consistency(uint64_t old, uint64_t size, struct merkle_range ranges[MERKLE_PROOF_MAX])
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
    if (begin > 0) /* else the old root is it, and is known */
        ranges[count++] = (struct merkle_range){begin, end};
    reverse(ranges, count);
    return count;
}

bool merkle__is_in(const unsigned char leaf[DIGEST_BYTES], uint64_t index, uint64_t size,
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
            merkle__node(proof[i], hash, hash);
            for (; (at & 1) == 0 && at != 0; at >>= 1)
                last >>= 1;
        } else {
            merkle__node(hash, proof[i], hash);
        }
        at >>= 1;
        last >>= 1;
    }
    return last == 0 && memcmp(hash, root, DIGEST_BYTES) == 0;
}

bool merkle__goes_on(uint64_t old, const unsigned char old_root[DIGEST_BYTES], uint64_t size,
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
            merkle__node(proof[next], left, left);
            merkle__node(proof[next], right, right);
            for (; (at & 1) == 0 && at != 0; at >>= 1)
                last >>= 1;
        } else {
            merkle__node(right, proof[next], right);
        }
        at >>= 1;
        last >>= 1;
    }
    return last == 0 && memcmp(left, old_root, DIGEST_BYTES) == 0 && memcmp(right, root, DIGEST_BYTES) == 0;
}
