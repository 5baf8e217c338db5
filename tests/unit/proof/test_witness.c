/* SPDX-License-Identifier: Apache-2.0 */
/* 14.6: a witness takes every checkpoint that goes on from the last, and no other. */
#include "proof/witness.h"
#include "fakes/cm.h"

#include <string.h>

#define ROWS 40

static unsigned char rows[ROWS][DIGEST_BYTES];
static struct note notes[ROWS + 1];
static unsigned char peaks[ROWS + 1][MERKLE_PEAKS * DIGEST_BYTES];
static size_t peaks_len[ROWS + 1];

static int setup(void **state)
{
    struct merkle tree = {0};

    (void)state;
    for (unsigned i = 0; i <= ROWS; i++) {
        notes[i] = (struct note){.origin = SPAN_LIT("callgate/log"), .size = i};
        merkle_root(&tree, notes[i].root);
        peaks_len[i] = merkle_save(&tree, peaks[i]);
        if (i < ROWS) {
            unsigned char leaf[DIGEST_BYTES];

            digest_of(span_of(&i, sizeof i), rows[i]);
            merkle_leaf(span_of(rows[i], DIGEST_BYTES), leaf);
            merkle_add(&tree, leaf);
        }
    }
    return 0;
}

static struct span between(unsigned old, unsigned size)
{
    return span_of(rows[old], (size_t)(size - old) * DIGEST_BYTES);
}

static void begin(struct witness *witness, unsigned at)
{
    assert_true(witness_begin(witness, &notes[at], span_of(peaks[at], peaks_len[at])));
}

TEST_CASE(test_goes_on)
{
    struct witness witness;
    uint64_t first;

    for (unsigned old = 0; old <= ROWS; old++)
        for (unsigned size = old; size <= ROWS; size++) {
            begin(&witness, old);
            assert_int_equal(witness_needs(&witness, &notes[size], &first), size > old);
            assert_int_equal(first, old + 1);
            assert_int_equal(witness_check(&witness, &notes[size], between(old, size)), WITNESS_GOES_ON);
            assert_int_equal(witness.tree.size, size);
            assert_memory_equal(witness.root, notes[size].root, DIGEST_BYTES);
        }
}

/* A row changed, left out, put in, or two in the other order; another root over as many rows. Nothing is forgotten by it. */
TEST_CASE(test_forked)
{
    struct witness witness;
    struct note other = notes[ROWS];
    unsigned char changed[ROWS][DIGEST_BYTES];

    begin(&witness, 11);
    for (unsigned i = 11; i < ROWS; i++) {
        memcpy(changed, rows, sizeof rows);
        changed[i][7] ^= 1;
        assert_int_equal(witness_check(&witness, &notes[ROWS], span_of(changed[11], (ROWS - 11) * DIGEST_BYTES)), WITNESS_FORKED);
    }
    memcpy(changed, rows, sizeof rows);
    memcpy(changed[20], rows[21], DIGEST_BYTES);
    memcpy(changed[21], rows[20], DIGEST_BYTES);
    assert_int_equal(witness_check(&witness, &notes[ROWS], span_of(changed[11], (ROWS - 11) * DIGEST_BYTES)), WITNESS_FORKED);
    assert_int_equal(witness_check(&witness, &notes[ROWS], between(11, ROWS - 1)), WITNESS_FORKED);
    assert_int_equal(witness_check(&witness, &notes[ROWS], between(12, ROWS)), WITNESS_FORKED);
    assert_int_equal(witness_check(&witness, &notes[ROWS], SPAN_NONE), WITNESS_FORKED);
    other.root[0] ^= 1;
    assert_int_equal(witness_check(&witness, &other, between(11, ROWS)), WITNESS_FORKED);
    other = notes[11];
    other.root[0] ^= 1;
    assert_int_equal(witness_check(&witness, &other, SPAN_NONE), WITNESS_FORKED);
    assert_int_equal(witness_check(&witness, &notes[10], SPAN_NONE), WITNESS_OLDER);
    other = notes[ROWS];
    other.origin = SPAN_LIT("callgate/other");
    assert_int_equal(witness_check(&witness, &other, between(11, ROWS)), WITNESS_OTHER_LOG);
    assert_int_equal(witness_check(&witness, &notes[ROWS], between(11, ROWS)), WITNESS_GOES_ON);
}

TEST_CASE(test_begin)
{
    struct witness witness;

    for (unsigned at = 1; at <= ROWS; at++) {
        assert_false(witness_begin(&witness, &notes[at], span_of(peaks[at - 1], peaks_len[at - 1])));
        assert_false(witness_begin(&witness, &notes[at], span_of(peaks[at], peaks_len[at] - 1)));
        peaks[at][3] ^= 4;
        assert_false(witness_begin(&witness, &notes[at], span_of(peaks[at], peaks_len[at])));
        peaks[at][3] ^= 4;
    }
}

TEST_MAIN(setup, NULL)
