/* SPDX-License-Identifier: Apache-2.0 */
#include "proof/witness.h"

#include <stdio.h>

bool witness_begin(struct witness *witness, const struct note *note, struct span peaks)
{
    struct witness begun = {.origin = ""};

    if (note->origin.len >= sizeof begun.origin || !merkle_load(&begun.tree, note->size, peaks))
        return false;
    (void)snprintf(begun.origin, sizeof begun.origin, "%.*s", SPAN_ARG(note->origin));
    merkle_root(&begun.tree, begun.root);
    if (memcmp(begun.root, note->root, DIGEST_BYTES) != 0)
        return false;
    *witness = begun;
    return true;
}

bool witness_needs(const struct witness *witness, const struct note *note, uint64_t *first)
{
    *first = witness->tree.size + 1;
    return span_is(note->origin, witness->origin) && note->size > witness->tree.size;
}

enum witness_verdict witness_check(struct witness *witness, const struct note *note, struct span hashes)
{
    struct merkle tree = witness->tree;
    unsigned char root[DIGEST_BYTES];

    if (!span_is(note->origin, witness->origin))
        return WITNESS_OTHER_LOG;
    if (note->size < tree.size)
        return WITNESS_OLDER;
    for (size_t at = 0; at + DIGEST_BYTES <= hashes.len && tree.size < note->size; at += DIGEST_BYTES) {
        unsigned char leaf[DIGEST_BYTES];

        merkle_leaf(span_part(hashes, at, DIGEST_BYTES), leaf);
        merkle_add(&tree, leaf);
    }
    merkle_root(&tree, root);
    if (tree.size != note->size || memcmp(root, note->root, DIGEST_BYTES) != 0)
        return WITNESS_FORKED;
    witness->tree = tree;
    memcpy(witness->root, root, DIGEST_BYTES);
    return WITNESS_GOES_ON;
}
