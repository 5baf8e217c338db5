/* SPDX-License-Identifier: Apache-2.0 */
/* 3.1: the Merkle tree against the published vectors, and its proofs of every leaf and every pair of sizes. */
#include "proof/merkle.h"

#include "base/num.h"
#include "fakes/cm.h"

#include <string.h>

#define LEAVES 70

static unsigned char leaves[LEAVES][DIGEST_BYTES];

/* The tree by its definition, not by its peaks. */
static void root_of(uint64_t begin, uint64_t end, unsigned char root[DIGEST_BYTES])
{
    unsigned char left[DIGEST_BYTES], right[DIGEST_BYTES];
    uint64_t half = 1;

    if (end == begin) {
        digest_of(SPAN_NONE, root);
        return;
    }
    if (end - begin == 1) {
        memcpy(root, leaves[begin], DIGEST_BYTES);
        return;
    }
    while (half * 2 < end - begin)
        half *= 2;
    root_of(begin, begin + half, left);
    root_of(begin + half, end, right);
    merkle_node(left, right, root);
}

/* The leaves and roots that implementations of RFC 6962 share. */
TEST_CASE(test_vectors)
{
    static const char *const entries[] = {"", "00", "10", "2021", "3031", "40414243", "5051525354555657",
                                          "606162636465666768696a6b6c6d6e6f"};
    static const char *const roots[] = {
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    };
    struct merkle tree = {0};

    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        unsigned char entry[16], leaf[DIGEST_BYTES], root[DIGEST_BYTES];
        char hex[2 * DIGEST_BYTES + 1] = {0};

        assert_int_equal(num_unhex(span_text(entries[i]), entry, strlen(entries[i]) / 2), CODE_OK);
        merkle_leaf(span_of(entry, strlen(entries[i]) / 2), leaf);
        merkle_add(&tree, leaf);
        merkle_root(&tree, root);
        num_hex(root, sizeof root, hex);
        assert_string_equal(hex, roots[i]);
    }
}

static void make_leaves(void)
{
    for (int i = 0; i < LEAVES; i++)
        merkle_leaf(span_of(&i, sizeof i), leaves[i]);
}

TEST_CASE(test_peaks)
{
    unsigned char root[DIGEST_BYTES], other[DIGEST_BYTES], saved[MERKLE_PEAKS * DIGEST_BYTES];
    struct merkle tree = {0}, again;

    make_leaves();
    for (uint64_t size = 0; size < LEAVES; size++) {
        merkle_root(&tree, root);
        root_of(0, size, other);
        assert_memory_equal(root, other, DIGEST_BYTES);
        assert_true(merkle_load(&again, size, span_of(saved, merkle_save(&tree, saved))));
        merkle_root(&again, other);
        assert_memory_equal(root, other, DIGEST_BYTES);
        assert_false(merkle_load(&again, size + 1, span_of(saved, merkle_save(&tree, saved))) &&
                     __builtin_popcountll(size) != __builtin_popcountll(size + 1));
        merkle_add(&tree, leaves[size]);
    }
}

static size_t prove(const struct merkle_range *ranges, size_t count, unsigned char proof[][DIGEST_BYTES])
{
    for (size_t i = 0; i < count; i++)
        root_of(ranges[i].begin, ranges[i].end, proof[i]);
    return count;
}

TEST_CASE(test_inclusion)
{
    struct merkle_range ranges[MERKLE_PROOF_MAX];
    unsigned char proof[MERKLE_PROOF_MAX][DIGEST_BYTES], root[DIGEST_BYTES];

    make_leaves();
    for (uint64_t size = 1; size <= LEAVES; size++)
        for (uint64_t index = 0; index < size; index++) {
            size_t count = prove(ranges, merkle_path(index, size, ranges), proof);

            root_of(0, size, root);
            assert_true(merkle_is_in(leaves[index], index, size, proof, count, root));
            assert_false(size > 1 && merkle_is_in(leaves[(index + 1) % size], index, size, proof, count, root));
            assert_false(merkle_is_in(leaves[index], index + 1, size, proof, count, root));
            assert_false(count > 0 && merkle_is_in(leaves[index], index, size, proof, count - 1, root));
            root[0] ^= 1;
            assert_false(merkle_is_in(leaves[index], index, size, proof, count, root));
        }
}

TEST_CASE(test_consistency)
{
    struct merkle_range ranges[MERKLE_PROOF_MAX];
    unsigned char proof[MERKLE_PROOF_MAX][DIGEST_BYTES], root[DIGEST_BYTES], old_root[DIGEST_BYTES];

    make_leaves();
    for (uint64_t size = 1; size <= LEAVES; size++)
        for (uint64_t old = 1; old <= size; old++) {
            size_t count = prove(ranges, merkle_consistency(old, size, ranges), proof);

            root_of(0, size, root);
            root_of(0, old, old_root);
            assert_true(merkle_goes_on(old, old_root, size, root, proof, count));
            assert_false(count > 0 && merkle_goes_on(old, old_root, size, root, proof, count - 1));
            assert_false(old > 1 && merkle_goes_on(old - 1, old_root, size, root, proof, count));
            old_root[3] ^= 1;
            assert_false(merkle_goes_on(old, old_root, size, root, proof, count));
        }
    assert_false(merkle_goes_on(0, root, 1, root, proof, 0));
    assert_true(merkle_goes_on(5, root, 5, root, proof, 0));
    assert_false(merkle_goes_on(5, root, 5, root, proof, 1)); /* nothing that is not looked at */
}

TEST_MAIN(NULL, NULL)
