/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/digest.h"

#include "base/num.h"
#include "fakes/cm.h"

#include <string.h>

static void expect_hex(const unsigned char digest[DIGEST_BYTES], const char *hex)
{
    char text[2 * DIGEST_BYTES + 1] = {0};

    num_hex(digest, DIGEST_BYTES, text);
    assert_string_equal(text, hex);
}

/* FIPS 180-4's own examples. */
TEST_CASE(test_sha256_vectors)
{
    unsigned char out[DIGEST_BYTES];
    struct digest digest;

    digest_of(SPAN_LIT("abc"), out);
    expect_hex(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_of(SPAN_NONE, out);
    expect_hex(out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest_init(&digest);
    for (int i = 0; i < 1000000; i++)
        digest_add(&digest, "a", 1);
    digest_final(&digest, out);
    expect_hex(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE(test_sha256_pieces_make_no_difference)
{
    char bytes[300];
    unsigned char whole[DIGEST_BYTES], pieces[DIGEST_BYTES];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    digest_of(span_of(bytes, sizeof bytes), whole);
    for (size_t cut = 0; cut <= sizeof bytes; cut++) {
        struct digest digest;

        digest_init(&digest);
        digest_add(&digest, bytes, cut);
        digest_add(&digest, bytes + cut, sizeof bytes - cut);
        digest_final(&digest, pieces);
        assert_memory_equal(whole, pieces, DIGEST_BYTES);
    }
}

/* RFC 4231, cases 1, 2, 3, 6 and 7: short, block-filling and over-long keys. */
TEST_CASE(test_hmac_vectors)
{
    unsigned char out[DIGEST_BYTES];
    char key[131], bytes[50];

    memset(key, 0x0b, 20);
    hmac_of(span_of(key, 20), SPAN_LIT("Hi There"), out);
    expect_hex(out, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    hmac_of(SPAN_LIT("Jefe"), SPAN_LIT("what do ya want for nothing?"), out);
    expect_hex(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    memset(bytes, 0xdd, sizeof bytes);
    hmac_of(span_of(key, 20), span_of(bytes, 50), out);
    expect_hex(out, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    hmac_of(span_of(key, 131), SPAN_LIT("Test Using Larger Than Block-Size Key - Hash Key First"), out);
    expect_hex(out, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    hmac_of(span_of(key, 131),
            SPAN_LIT("This is a test using a larger than block-size key and a larger than block-size "
                     "data. The key needs to be hashed before being used by the HMAC algorithm."),
            out);
    expect_hex(out, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST_CASE(test_random_differs)
{
    unsigned char a[32] = {0}, b[32] = {0}, zero[32] = {0};

    random_bytes(a, sizeof a);
    random_bytes(b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
    assert_memory_not_equal(a, zero, sizeof a);
}

TEST_CASE(test_secret_equals)
{
    assert_true(secret_equals(SPAN_LIT("abc"), SPAN_LIT("abc")));
    assert_false(secret_equals(SPAN_LIT("abc"), SPAN_LIT("abd")));
    assert_false(secret_equals(SPAN_LIT("abc"), SPAN_LIT("ab")));
    assert_false(secret_equals(SPAN_LIT("abc"), SPAN_NONE));
    assert_true(secret_equals(SPAN_NONE, SPAN_LIT("")));
}

/* Of any two lengths, around the ends of blocks and of what is hashed at once. */
TEST_CASE(two_as_one_behind_the_other)
{
    unsigned char bytes[1300], pieces[DIGEST_BYTES], whole[DIGEST_BYTES];
    struct digest digest;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    for (size_t first = 0; first <= 80; first += 16)
        for (size_t len = first; len <= sizeof bytes; len++) {
            digest_init(&digest);
            digest_add(&digest, bytes, len);
            digest_final(&digest, pieces);
            digest_of_two(span_of(bytes, first), span_of(bytes + first, len - first), whole);
            assert_memory_equal(whole, pieces, DIGEST_BYTES);
        }
}

TEST_MAIN(NULL, NULL)
