/* SPDX-License-Identifier: Apache-2.0 */
/* 14.6: cosignatures are those of c2sp.org/tlog-cosignature, and nothing passes but what was signed. */
#include "proof/cosign.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

#define NAME "witness.example.com/w1"
#define TEXT "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
#define TIME 1679315147

/* The first key of RFC 8032, 7.1, under the name, and on the checkpoint and at the time, of the format's example: as another
 * library signs these bytes. */
#define KEY "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n"
#define LINE "\xe2\x80\x94 " NAME " fm9KqgAAAABkGFDL+TPmh4BYuAjsYRoqMJCWb/gWJaeRF/kmm5tlCr9sJ57DLErur7K0yDXc2ArN+TIuotuB/HbuL3AJsp" \
             "3bv/aNCQ==\n"
/* The line that the format itself shows, of a key that nobody knows. */
#define OTHERS "\xe2\x80\x94 " NAME " jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIU" \
               "BkBIfZ+qnA==\n"

struct signer {
    struct sign_key *key;
    struct note_key known;
};

static int setup(void **state)
{
    static struct signer signer;

    assert_int_equal(sign_key_read(SPAN_LIT(KEY), &signer.key), CODE_OK);
    (void)snprintf(signer.known.name, sizeof signer.known.name, NAME);
    assert_int_equal(sign_key_public(signer.key, signer.known.public), CODE_OK);
    *state = &signer;
    return 0;
}

static int teardown(void **state)
{
    sign_key_free(&((struct signer *)*state)->key);
    return 0;
}

TEST_CASE_WITH(test_vector, setup, teardown)
{
    struct signer *signer = *state;
    struct buf line;
    uint64_t time_s = 0;

    buf_init(&line, NOTE_BYTES);
    assert_int_equal(cosign_line(SPAN_LIT(TEXT), SPAN_LIT(NAME), signer->key, TIME, &line), CODE_OK);
    assert_true(span_is(buf_peek(&line), LINE));
    assert_int_equal(cosign_check(SPAN_LIT(TEXT), buf_peek(&line), &signer->known, &time_s), NOTE_SIGNED);
    assert_int_equal(time_s, TIME);
    assert_int_equal(cosign_line(SPAN_LIT(TEXT), SPAN_LIT(NAME), signer->key, (uint64_t)INT64_MAX + 1, &line), CODE_INVALID);
    buf_fini(&line);
}

/* Each byte of the line and of the text, one bit changed. */
TEST_CASE_WITH(test_changed, setup, teardown)
{
    struct signer *signer = *state;
    char text[] = TEXT, line[] = LINE;
    uint64_t time_s;

    for (size_t i = 0; i < sizeof text - 1; i++) {
        text[i] ^= 1;
        assert_int_equal(cosign_check(span_text(text), SPAN_LIT(LINE), &signer->known, &time_s), NOTE_FORGED);
        text[i] ^= 1;
    }
    for (size_t i = 0; i < sizeof line - 1; i++) {
        line[i] ^= 1;
        assert_int_not_equal(cosign_check(SPAN_LIT(TEXT), span_of(line, sizeof line - 1), &signer->known, &time_s), NOTE_SIGNED);
        line[i] ^= 1;
    }
}

/* Others' lines, another name for the same key, a plain signature of the same key, two lines, half a line. */
TEST_CASE_WITH(test_others, setup, teardown)
{
    struct signer *signer = *state;
    struct note_key other = signer->known;
    struct buf note;
    struct note read;
    uint64_t time_s;

    buf_init(&note, NOTE_BYTES);
    assert_int_equal(cosign_check(SPAN_LIT(TEXT), SPAN_LIT(OTHERS), &signer->known, &time_s), NOTE_OTHER_KEY);
    (void)snprintf(other.name, sizeof other.name, "witness.example.com/w2");
    assert_int_equal(cosign_check(SPAN_LIT(TEXT), SPAN_LIT(LINE), &other, &time_s), NOTE_OTHER_KEY);
    assert_int_equal(cosign_check(SPAN_LIT(TEXT), SPAN_LIT(LINE LINE), &signer->known, &time_s), NOTE_OTHER_KEY);
    assert_int_equal(cosign_check(SPAN_LIT(TEXT), SPAN_LIT("\xe2\x80\x94 " NAME " fm9K\n"), &signer->known, &time_s), NOTE_OTHER_KEY);
    assert_int_equal(cosign_check(SPAN_LIT(TEXT), SPAN_NONE, &signer->known, &time_s), NOTE_OTHER_KEY);
    assert_int_equal(note_sign(SPAN_LIT(TEXT), SPAN_LIT(NAME), signer->key, &note), CODE_OK);
    assert_int_equal(note_read(buf_peek(&note), &read), CODE_OK);
    assert_int_equal(note_verify(&read, &signer->known), NOTE_SIGNED);
    assert_int_equal(cosign_check(read.text, read.signatures, &signer->known, &time_s), NOTE_OTHER_KEY);
    buf_fini(&note);
}

/* Under a note it is one line more, which readers of notes pass over, and which is no signature of the log. */
TEST_CASE_WITH(test_under_a_note, setup, teardown)
{
    struct signer *signer = *state;
    struct note_key log = {.name = ""};
    struct buf note;
    struct note read;

    memcpy(log.public, signer->known.public, SIGN_PUBLIC_BYTES);
    buf_init(&note, NOTE_BYTES);
    buf_add_text(&note, TEXT "\n" LINE);
    assert_int_equal(note_read(buf_peek(&note), &read), CODE_OK);
    assert_int_equal(note_verify(&read, &signer->known), NOTE_OTHER_KEY);
    assert_int_equal(note_verify(&read, &log), NOTE_OTHER_KEY);
    assert_false(note_is_named(&read));
    buf_fini(&note);
}

TEST_MAIN(NULL, NULL)
