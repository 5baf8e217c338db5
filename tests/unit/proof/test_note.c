/* SPDX-License-Identifier: Apache-2.0 */
/* 3.1: checkpoints are signed notes that others' tools read, and nothing but the signed text passes. */
#include "proof/note.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

#define OTHERS "\xe2\x80\x94 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJ" \
               "nAM=\n"
#define ROOT "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="

struct signer {
    struct sign_key *key;
    struct note_key known;
    struct buf note;
};

static int setup(void **state)
{
    static struct signer signer;
    struct buf pem;

    buf_init(&pem, 4096);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), &signer.key), CODE_OK);
    signer.known = (struct note_key){.name = ""};
    assert_int_equal(sign_key_public(signer.key, signer.known.public), CODE_OK);
    buf_init(&signer.note, NOTE_BYTES);
    buf_fini(&pem);
    *state = &signer;
    return 0;
}

static int teardown(void **state)
{
    struct signer *signer = *state;

    sign_key_free(&signer->key);
    buf_fini(&signer->note);
    return 0;
}

static void sign(struct signer *signer, uint64_t size)
{
    struct note note = {.origin = SPAN_LIT("example.com/log"), .size = size, .root = {1, 2, 3}, .time_us = 17,
                        .has_tenants = true, .tenants = 2, .tenants_root = {4}};
    struct buf text;

    buf_init(&text, NOTE_BYTES);
    assert_int_equal(note_write(&note, &text), CODE_OK);
    buf_clear(&signer->note);
    assert_int_equal(note_sign(buf_peek(&text), note.origin, signer->key, &signer->note), CODE_OK);
    buf_fini(&text);
}

TEST_CASE_WITH(test_round, setup, teardown)
{
    struct signer *signer = *state;
    struct note note;

    sign(signer, 42);
    assert_int_equal(note_read(buf_peek(&signer->note), &note), CODE_OK);
    assert_true(span_is(note.origin, "example.com/log") && note.size == 42 && note.time_us == 17);
    assert_true(note.has_tenants && note.tenants == 2 && note.tenants_root[0] == 4 && note.root[2] == 3);
    assert_int_equal(note_verify(&note, &signer->known), NOTE_SIGNED);
}

/* The note and the key that the documentation of Go's sumdb/note shows. */
TEST_CASE_WITH(test_of_others, setup, teardown)
{
    static const char text[] = "If you think cryptography is the answer to your problem,\n"
                               "then you don't know what your problem is.\n\n"
                               "\xe2\x80\x94 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfq"
                               "dngotpRZb6KE6RyyBwJnAM=\n";
    static const char body[] = "If you think cryptography is the answer to your problem,\n"
                               "then you don't know what your problem is.\n";
    struct note note = {.text = span_text(body), .signatures = span_part(span_text(text), sizeof body, SIZE_MAX)};
    struct note_key key;

    assert_int_equal(note_key_read(SPAN_LIT("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW\n"), &key),
                     CODE_OK);
    assert_int_equal(note_verify(&note, &key), NOTE_SIGNED);
    note.text.len--;
    assert_int_equal(note_verify(&note, &key), NOTE_FORGED);
    assert_int_equal(note_key_read(SPAN_LIT("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
                                            "-----END PUBLIC KEY-----\n"), &key), CODE_INVALID); /* 10.5: anybody signs under it */
    assert_int_equal(note_key_read(SPAN_LIT("PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"), &key),
                     CODE_INVALID);
}

/* Whichever byte of the whole note is changed: it is no note, not by this key, or forged. */
TEST_CASE_WITH(test_every_byte, setup, teardown)
{
    struct signer *signer = *state;
    struct buf copy;

    sign(signer, 42);
    buf_init(&copy, NOTE_BYTES);
    for (size_t i = 0; i < buf_len(&signer->note) - 1; i++) { /* but the last newline */
        struct note note;

        buf_clear(&copy);
        assert_int_equal(buf_add_span(&copy, buf_peek(&signer->note)), CODE_OK);
        copy.block[copy.head + i] ^= 1;
        if (note_read(buf_peek(&copy), &note) == CODE_OK)
            assert_int_not_equal(note_verify(&note, &signer->known), NOTE_SIGNED);
    }
    buf_fini(&copy);
}

TEST_CASE_WITH(test_keys, setup, teardown)
{
    struct signer *signer = *state;
    struct note_key key;
    struct note note;
    struct buf text;

    sign(signer, 1);
    assert_int_equal(note_read(buf_peek(&signer->note), &note), CODE_OK);
    buf_init(&text, 4096);
    assert_int_equal(note_key_write(SPAN_LIT("example.com/log"), signer->known.public, &text), CODE_OK);
    assert_int_equal(note_key_read(buf_peek(&text), &key), CODE_OK);
    assert_string_equal(key.name, "example.com/log");
    assert_int_equal(note_verify(&note, &key), NOTE_SIGNED);
    key.name[0] = 'E';
    assert_int_equal(note_verify(&note, &key), NOTE_OTHER_KEY);
    buf_clear(&text);
    assert_int_equal(sign_public_write(signer->known.public, &text), CODE_OK);
    assert_int_equal(note_key_read(buf_peek(&text), &key), CODE_OK);
    assert_int_equal(note_verify(&note, &key), NOTE_SIGNED);
    key.public[5] ^= 1;
    assert_int_equal(note_verify(&note, &key), NOTE_OTHER_KEY);
    buf_fini(&text);
}

TEST_CASE_WITH(test_no_notes, setup, teardown)
{
    static const char *const wrong[] = {
        "", "\n", "\n\n", "a\n1\n" ROOT "\n", "a\n1\n" ROOT "\n\n", "a\n01\n" ROOT "\n\n" OTHERS,
        "a\n1\n" ROOT "x\n\n" OTHERS, "\n1\n" ROOT "\n\n" OTHERS, "a\n-1\n" ROOT "\n\n" OTHERS,
        "a\n1\n" ROOT "\ntenants 1\n\n" OTHERS, "a\n1\n\n" OTHERS, "a\n1\n" ROOT "\n\n\n" OTHERS,
        "a\n1\n" ROOT "\n\nmore\n\n" OTHERS,
        "a\n1\n" ROOT "\n\n\xe2\x80\x94 PeterNeumann x08go/ZJkuBS9UG/\n",
    };
    char text[NOTE_BYTES + 400], filler[NOTE_BYTES];
    struct span file, one;
    struct note note;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (note_read(span_text(wrong[i]), &note) != CODE_INVALID)
            fail_msg("taken for a note: %s", wrong[i]);
    memset(filler, 'a', sizeof filler);
    (void)snprintf(text, sizeof text, "%.*s\n1\n" ROOT "\n\n" OTHERS, (int)NOTE_ORIGIN_BYTES - 1, filler);
    assert_int_equal(note_read(span_text(text), &note), CODE_OK);
    (void)snprintf(text, sizeof text, "%.*s\n1\n" ROOT "\n\n" OTHERS, (int)NOTE_ORIGIN_BYTES, filler);
    assert_int_equal(note_read(span_text(text), &note), CODE_INVALID);
    (void)snprintf(text, sizeof text, "a\n1\n" ROOT "\n%.*s\n\n" OTHERS, (int)NOTE_BYTES - 1, filler);
    assert_int_equal(note_read(span_text(text), &note), CODE_INVALID);
    file = span_part(SPAN_LIT("a\n1\n" ROOT "\n\n" OTHERS), 0, sizeof "a\n1\n" ROOT "\n\n" OTHERS - 2);
    assert_false(note_next(&file, &one)); /* torn at its very end */
    assert_int_equal(note_read(SPAN_LIT("a\n1\n" ROOT "\nwhat others say\n\n" OTHERS), &note), CODE_OK);
}

/* Several in a file, a torn one among them. */
TEST_CASE_WITH(test_file, setup, teardown)
{
    struct signer *signer = *state;
    struct span rest, one;
    struct note note;
    struct buf file;
    uint64_t sizes = 0;

    buf_init(&file, 65536);
    assert_int_equal(buf_add_text(&file, "\n\n"), CODE_OK);
    for (uint64_t size = 1; size < 6; size++) {
        size_t torn = size == 3 ? buf_len(&signer->note) - 30 : size == 4 ? 20 : 0; /* in the text; in the signature */

        sign(signer, size);
        assert_int_equal(buf_add_span(&file, span_part(buf_peek(&signer->note), 0, buf_len(&signer->note) - torn)), CODE_OK);
        assert_int_equal(buf_add_text(&file, size == 2 ? "" : "\n\n"), CODE_OK);
    }
    rest = buf_peek(&file);
    while (note_next(&rest, &one)) {
        if (note_read(one, &note) != CODE_OK)
            continue;
        assert_int_equal(note_verify(&note, &signer->known), NOTE_SIGNED);
        sizes = sizes * 10 + note.size;
    }
    assert_int_equal(sizes, 125);
    buf_fini(&file);
}

TEST_MAIN(NULL, NULL)
