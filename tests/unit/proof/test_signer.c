/* SPDX-License-Identifier: Apache-2.0 */
/* Who signs signs what goes on from what it has signed, and nothing else, whatever the gate's end says. 4.15 */
#include "fakes/cm.h"
#include "fakes/fake_signer.h"

#include "proof/merkle.h"
#include "proof/signer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ORIGIN "callgate/test"

struct bench {
    struct sign_key *key;
    struct note_key known;
    struct fake_signer fake;
    struct signer *signer;
    struct merkle tree;
};

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct buf pem;

    buf_init(&pem, 4096);
    assert_ok(sign_key_make(&pem));
    assert_ok(sign_key_read(buf_peek(&pem), &bench->key));
    assert_ok(sign_key_public(bench->key, bench->known.public));
    buf_fini(&pem);
    bench->signer = fake_signer_start(&bench->fake, bench->key);
    assert_memory_equal(signer_public(bench->signer), bench->known.public, SIGN_PUBLIC_BYTES);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    fake_signer_stop(&bench->fake);
    sign_key_free(&bench->key);
    free(bench);
    return 0;
}

static void leaf_of(uint64_t number, unsigned char leaf[DIGEST_BYTES])
{
    merkle_leaf(span_of(&number, sizeof number), leaf);
}

/* Leaves `from`, from + 1 ... are what stands at the places behind the tree's end. */
static void grow(struct bench *bench, uint64_t from, uint64_t count)
{
    unsigned char leaf[DIGEST_BYTES];

    for (uint64_t i = 0; i < count; i++) {
        leaf_of(from + i, leaf);
        merkle_add(&bench->tree, leaf);
        signer_add(bench->signer, bench->tree.size, leaf);
    }
}

static enum code begin(struct bench *bench)
{
    unsigned char peaks[MERKLE_PEAKS * DIGEST_BYTES];

    return signer_begin(bench->signer, ORIGIN, bench->tree.size, span_of(peaks, merkle_save(&bench->tree, peaks)));
}

/* What the gate says its tree is; a signature that comes is a good one. */
static enum code sign(struct bench *bench, bool is_tentative)
{
    struct note note = {.origin = SPAN_LIT(ORIGIN), .size = bench->tree.size, .time_us = 5};
    struct note read;
    unsigned char signature[SIGN_BYTES];
    struct buf text, whole;
    enum code code;

    merkle_root(&bench->tree, note.root);
    code = signer_sign(bench->signer, &note, is_tentative, signature);
    if (code != CODE_OK)
        return code;
    buf_init(&text, NOTE_BYTES);
    buf_init(&whole, NOTE_BYTES);
    assert_ok(note_write(&note, &text));
    assert_ok(note_seal(buf_peek(&text), note.origin, bench->known.public, signature, &whole));
    assert_ok(note_read(buf_peek(&whole), &read));
    assert_int_equal(note_verify(&read, &bench->known), NOTE_SIGNED);
    buf_fini(&text);
    buf_fini(&whole);
    return code;
}

TEST_CASE_WITH(it_signs_what_grows, setup, teardown)
{
    struct bench *bench = *state;

    assert_ok(begin(bench));
    assert_int_equal(sign(bench, false), CODE_DENIED); /* of nothing */
    grow(bench, 1, 3);
    assert_ok(sign(bench, false));
    assert_ok(sign(bench, false)); /* the same again, as where the first was not taken */
    grow(bench, 4, 2000); /* over several messages */
    assert_ok(sign(bench, false));
    assert_false(signer_is_gone(bench->signer));
}

TEST_CASE_WITH(it_goes_on_from_where_the_log_stands, setup, teardown)
{
    struct bench *bench = *state;
    unsigned char leaf[DIGEST_BYTES];

    for (uint64_t i = 1; i <= 1000; i++) {
        leaf_of(i, leaf);
        merkle_add(&bench->tree, leaf);
    }
    assert_ok(begin(bench));
    grow(bench, 1001, 1);
    assert_ok(sign(bench, false));
}

TEST_CASE_WITH(it_signs_no_other_past, setup, teardown)
{
    struct bench *bench = *state;
    struct merkle at_ten;

    assert_ok(begin(bench));
    grow(bench, 1, 10);
    assert_ok(sign(bench, false));
    at_ten = bench->tree;
    grow(bench, 11, 10);
    assert_ok(sign(bench, false));
    bench->tree = at_ten; /* a shorter one */
    assert_int_equal(sign(bench, false), CODE_DENIED);
    grow(bench, 500, 20); /* ten others behind the tenth: of these it is told only from the twenty-first on */
    assert_int_equal(sign(bench, false), CODE_DENIED);
    signer_rewind(bench->signer);
    bench->tree = at_ten;
    grow(bench, 500, 20);
    assert_int_equal(sign(bench, false), CODE_DENIED);
    signer_rewind(bench->signer);
    bench->tree = at_ten;
    grow(bench, 11, 11); /* those that it knows, and one more */
    assert_ok(sign(bench, false));
    assert_int_equal(begin(bench), CODE_OK); /* once is enough: it hangs up */
    assert_int_equal(sign(bench, false), CODE_IO);
    assert_true(signer_is_gone(bench->signer));
}

TEST_CASE_WITH(what_was_not_durable_comes_again, setup, teardown)
{
    struct bench *bench = *state;
    struct merkle at_ten;

    assert_ok(begin(bench));
    grow(bench, 1, 10);
    assert_ok(sign(bench, false));
    at_ten = bench->tree;
    grow(bench, 11, 5);
    assert_ok(sign(bench, true));
    signer_rewind(bench->signer); /* the commit failed: other rows stand there */
    bench->tree = at_ten;
    grow(bench, 700, 2);
    assert_ok(sign(bench, false));
    signer_rewind(bench->signer); /* and that one stays */
    bench->tree = at_ten;
    grow(bench, 800, 9);
    assert_int_equal(sign(bench, false), CODE_DENIED);
    signer_rewind(bench->signer);
    bench->tree = at_ten;
    grow(bench, 700, 9);
    assert_ok(sign(bench, true));
    grow(bench, 709, 1);
    assert_ok(sign(bench, true));
    signer_rewind(bench->signer); /* one step, not two */
    signer_rewind(bench->signer);
    bench->tree = at_ten;
    grow(bench, 900, 30);
    assert_int_equal(sign(bench, false), CODE_DENIED);
}

/* A rotation's checkpoint, whose rows are in the sealed file: whoever takes the gate over then cannot sign others in their place, and
 * a gate that opens its file anew goes on behind it. */
TEST_CASE_WITH(what_is_durable_stays, setup, teardown)
{
    struct bench *bench = *state;
    struct merkle at_ten, at_fifteen;

    assert_ok(begin(bench));
    grow(bench, 1, 10);
    assert_ok(sign(bench, false));
    at_ten = bench->tree;
    grow(bench, 11, 5);
    assert_ok(sign(bench, true));
    signer_keep(bench->signer);
    at_fifteen = bench->tree;
    signer_rewind(bench->signer);
    bench->tree = at_ten;
    grow(bench, 700, 9);
    assert_int_equal(sign(bench, false), CODE_DENIED);
    signer_rewind(bench->signer);
    bench->tree = at_fifteen;
    grow(bench, 16, 3);
    assert_ok(sign(bench, false));
}

TEST_CASE_WITH(it_begins_with_a_beginning, setup, teardown)
{
    struct bench *bench = *state;

    grow(bench, 1, 3);
    assert_int_equal(sign(bench, false), CODE_IO);
}

TEST_CASE(without_a_key_it_says_why)
{
    const struct why why = {"the key is gone"};
    struct signer *signer;
    struct why said = {""};
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    signer_serve(ends[1], NULL, &why);
    (void)close(ends[1]);
    assert_int_not_equal(signer_new(ends[0], &signer, &said), CODE_OK);
    assert_null(signer);
    assert_string_equal(said.text, "the key is gone");
}

TEST_MAIN(NULL, NULL)
