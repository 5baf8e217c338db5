/* SPDX-License-Identifier: Apache-2.0 */
#include "proof/merkle.h"

void merkle_leaf(struct span entry, unsigned char hash[DIGEST_BYTES])
{
    digest_of_two(span_of("\0", 1), entry, hash);
}

void merkle_node(const unsigned char left[DIGEST_BYTES], const unsigned char right[DIGEST_BYTES],
                 unsigned char hash[DIGEST_BYTES])
{
    unsigned char both[1 + 2 * DIGEST_BYTES];

    both[0] = 1;
    memcpy(both + 1, left, DIGEST_BYTES);
    memcpy(both + 1 + DIGEST_BYTES, right, DIGEST_BYTES);
    digest_of(span_of(both, sizeof both), hash);
}

void merkle_add(struct merkle *tree, const unsigned char leaf[DIGEST_BYTES])
{
    unsigned char hash[DIGEST_BYTES];
    int level = 0;

    memcpy(hash, leaf, DIGEST_BYTES);
    for (; (tree->size >> level & 1) != 0; level++)
        merkle_node(tree->peak[level], hash, hash);
    memcpy(tree->peak[level], hash, DIGEST_BYTES);
    tree->size++;
}

void merkle_root(const struct merkle *tree, unsigned char root[DIGEST_BYTES])
{
    bool some = false;

    if (tree->size == 0)
        digest_of(SPAN_NONE, root);
    for (int level = 0; level < MERKLE_PEAKS; level++) {
        if ((tree->size >> level & 1) == 0)
            continue;
        if (some)
            merkle_node(tree->peak[level], root, root);
        else
            memcpy(root, tree->peak[level], DIGEST_BYTES);
        some = true;
    }
}

size_t merkle_save(const struct merkle *tree, unsigned char *out)
{
    size_t len = 0;

    for (int level = MERKLE_PEAKS - 1; level >= 0; level--)
        if ((tree->size >> level & 1) != 0) {
            memcpy(out + len, tree->peak[level], DIGEST_BYTES);
            len += DIGEST_BYTES;
        }
    return len;
}

bool merkle_load(struct merkle *tree, uint64_t size, struct span peaks)
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
