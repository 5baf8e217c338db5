/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/sign.h"

#include "base/num.h"
#include "fakes/cm.h"

#include <string.h>

/* RFC 8032, 7.1, test 2. */
TEST_CASE(test_rfc8032)
{
    unsigned char key[SIGN_PUBLIC_BYTES], signature[SIGN_BYTES];

    assert_int_equal(num_unhex(SPAN_LIT("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"), key, sizeof key),
                     CODE_OK);
    assert_int_equal(num_unhex(SPAN_LIT("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                                        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
                               signature, sizeof signature), CODE_OK);
    assert_true(sign_is_good(key, SPAN_LIT("r"), signature));
    assert_false(sign_is_good(key, SPAN_LIT("s"), signature));
    signature[63] ^= 0x80;
    assert_false(sign_is_good(key, SPAN_LIT("r"), signature));
}

TEST_CASE(test_make_sign_check)
{
    unsigned char public[SIGN_PUBLIC_BYTES], again[SIGN_PUBLIC_BYTES], signature[SIGN_BYTES];
    struct sign_key *key;
    struct buf pem;

    buf_init(&pem, 4096);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), &key), CODE_OK);
    assert_int_equal(sign_key_public(key, public), CODE_OK);
    assert_int_equal(sign_text(key, SPAN_LIT("a note\n"), signature), CODE_OK);
    assert_true(sign_is_good(public, SPAN_LIT("a note\n"), signature));
    assert_false(sign_is_good(public, SPAN_LIT("a note"), signature));
    buf_clear(&pem);
    assert_int_equal(buf_add_text(&pem, "a line before it\n"), CODE_OK);
    assert_int_equal(sign_public_write(public, &pem), CODE_OK);
    assert_int_equal(sign_public_read(buf_peek(&pem), again), CODE_OK);
    assert_memory_equal(public, again, sizeof public);
    sign_key_free(&key);
    assert_null(key);
    buf_fini(&pem);
}

/* 8.7: under the point (0, 1) the signature (R = the same, S = 0) is good for any text. */
TEST_CASE(test_weak_keys)
{
    static const char *const weak[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    };
    unsigned char key[SIGN_PUBLIC_BYTES], signature[SIGN_BYTES] = {1};

    for (size_t i = 0; i < sizeof weak / sizeof *weak; i++) {
        assert_int_equal(num_unhex(span_text(weak[i]), key, sizeof key), CODE_OK);
        assert_true(sign_public_is_weak(key));
    }
    assert_int_equal(num_unhex(span_text(weak[2]), key, sizeof key), CODE_OK);
    assert_false(sign_is_good(key, SPAN_LIT("whatever it says"), signature)); /* OpenSSL says that it is */
    assert_int_equal(num_unhex(SPAN_LIT("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"), key, sizeof key),
                     CODE_OK);
    assert_false(sign_public_is_weak(key));
}

TEST_CASE(test_no_key)
{
    static const char rsa[] = "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAL\n-----END PUBLIC KEY-----\n";
    unsigned char public[SIGN_PUBLIC_BYTES];
    struct sign_key *key;

    assert_int_equal(sign_key_read(SPAN_LIT("nothing"), &key), CODE_INVALID);
    assert_int_equal(sign_key_read(SPAN_NONE, &key), CODE_INVALID); /* an empty file */
    assert_null(key);
    assert_int_equal(sign_public_read(SPAN_LIT("nothing"), public), CODE_INVALID);
    assert_int_equal(sign_public_read(span_text(rsa), public), CODE_INVALID);
}

TEST_MAIN(NULL, NULL)
