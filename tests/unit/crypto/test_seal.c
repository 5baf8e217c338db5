/* SPDX-License-Identifier: Apache-2.0 */
/* 14.4: what lies sealed at a fleet's centre. */
#include "crypto/seal.h"
#include "crypto/digest.h"

#include "fakes/cm.h"

#include <string.h>

static unsigned char key[SEAL_KEY_BYTES], other_key[SEAL_KEY_BYTES];

static enum code opened(const unsigned char with[SEAL_KEY_BYTES], struct span place, struct span sealed, struct span expected)
{
    struct buf text;
    enum code code;

    buf_init(&text, 4096);
    code = seal_open(with, place, sealed, &text);
    assert_true(code != CODE_OK || span_equals(buf_peek(&text), expected));
    assert_true(code == CODE_OK || buf_is_empty(&text));
    buf_fini(&text);
    return code;
}

TEST_CASE(it_opens_in_its_place_alone)
{
    static const struct span texts[] = {SPAN_LIT(""), SPAN_LIT("x"), SPAN_LIT("{\"number\":1}")};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct buf sealed, twice;

        buf_init(&sealed, 4096);
        buf_init(&twice, 4096);
        assert_ok(seal_close(key, SPAN_LIT("here"), texts[i], &sealed));
        assert_ok(seal_close(key, SPAN_LIT("here"), texts[i], &twice));
        assert_int_equal(buf_len(&sealed), texts[i].len + 28);
        assert_false(span_equals(buf_peek(&sealed), buf_peek(&twice)));
        assert_int_equal(opened(key, SPAN_LIT("here"), buf_peek(&sealed), texts[i]), CODE_OK);
        assert_int_equal(opened(key, SPAN_LIT("there"), buf_peek(&sealed), texts[i]), CODE_DENIED);
        assert_int_equal(opened(other_key, SPAN_LIT("here"), buf_peek(&sealed), texts[i]), CODE_DENIED);
        buf_fini(&sealed);
        buf_fini(&twice);
    }
}

/* Each byte counts, and none may be missing. */
TEST_CASE(nothing_that_was_changed_opens)
{
    const struct span text = SPAN_LIT("a held call's arguments");
    struct buf sealed;
    char copy[128];
    struct span whole;

    buf_init(&sealed, 4096);
    assert_ok(seal_close(key, SPAN_LIT("here"), text, &sealed));
    whole = buf_peek(&sealed);
    for (size_t i = 0; i < whole.len; i++) {
        memcpy(copy, whole.at, whole.len);
        copy[i] ^= 1;
        assert_int_equal(opened(key, SPAN_LIT("here"), span_of(copy, whole.len), text), CODE_DENIED);
        assert_int_equal(opened(key, SPAN_LIT("here"), span_part(whole, 0, i), text), CODE_DENIED);
    }
    buf_fini(&sealed);
}

int main(void)
{
    random_bytes(key, sizeof key);
    random_bytes(other_key, sizeof other_key);
    return tests_run(NULL, NULL);
}
