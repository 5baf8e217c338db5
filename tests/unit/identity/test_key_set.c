/* SPDX-License-Identifier: Apache-2.0 */
/* 8.1: which keys of a provider's set are taken. */
#include "identity/key_set.h"

#include "base/mem.h"
#include "fakes/cm.h"
#include "fakes/fake_provider.h"

#include <stdio.h>

static struct buf text;

static enum code read_text(const char *set, struct why *why)
{
    struct identity_key_set *made;
    enum code code = identity_key_set_read(span_text(set), &made, why);

    assert_true((made != NULL) == (code == CODE_OK));
    identity_key_set_unref(&made);
    return code;
}

/* Whether a set of this key alone, with these members, can check anything. */
static bool takes(const char *kind, const char *more)
{
    struct fake_key *key = fake_key_make(kind);
    struct identity_key_set *set;
    struct why why;

    buf_clear(&text);
    fake_set(key, more, &text);
    fake_key_free(&key);
    if (identity_key_set_read(buf_peek(&text), &set, &why) != CODE_OK)
        return false;
    identity_key_set_unref(&set);
    return true;
}

TEST_CASE(test_kinds)
{
    assert_true(takes("RSA2048", "") && takes("RSA2056", "") && takes("P-256", "") && takes("P-384", "") && takes("P-521", ""));
    assert_true(takes("Ed25519", ""));
    assert_false(takes("RSA1024", ""));
    assert_false(takes("RSA2040", ""));
    assert_false(takes("RSA2047", ""));
}

TEST_CASE(test_uses)
{
    assert_true(takes("P-256", ",\"use\":\"sig\",\"alg\":\"ES256\",\"key_ops\":[\"verify\"],\"x5c\":[\"x\"],\"kid\":\"a\""));
    assert_true(takes("P-256", ",\"key_ops\":[\"sign\",\"verify\"]"));
    assert_false(takes("P-256", ",\"use\":\"enc\""));
    assert_false(takes("P-256", ",\"use\":5"));
    assert_false(takes("P-256", ",\"alg\":\"ECDH-ES\""));
    assert_false(takes("P-256", ",\"alg\":\"ES384\""));
    assert_false(takes("P-256", ",\"alg\":\"RS256\""));
    assert_false(takes("P-256", ",\"alg\":\"HS256\""));
    assert_false(takes("P-256", ",\"alg\":\"none\""));
    assert_false(takes("P-256", ",\"alg\":null"));
    assert_false(takes("P-256", ",\"key_ops\":[\"sign\"]"));
    assert_false(takes("P-256", ",\"key_ops\":[]"));
    assert_false(takes("P-256", ",\"key_ops\":\"verify\""));
    assert_false(takes("P-256", ",\"d\":\"AAAA\""));
    assert_false(takes("RSA2048", ",\"p\":\"AAAA\""));
    assert_false(takes("RSA2048", ",\"k\":\"AAAA\""));
    assert_false(takes("P-256", ",\"kid\":7"));
}

/* One character of a coordinate or a modulus changed, as JSON or as base64url: a point off the curve, an even modulus, ... is no key, or
 * another one; nothing crashes. */
TEST_CASE(test_points)
{
    static const char *const rows[] = {
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
        "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}",
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"__________________________________________8\","
        "\"y\":\"__________________________________________8\"}]}",
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}]}", "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\"}]}",
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"secp256k1\",\"x\":\"AA\",\"y\":\"AA\"}]}", "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"X25519\","
        "\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}", "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}]}",
        /* 10.5: Ed25519: the point (0, 1), under which anybody signs, one of order 4, and the first in a second spelling */
        "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}",
        "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}",
        "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"7v_______________________________________38\"}]}",
        "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"\",\"e\":\"AQAB\"}]}", "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"}]}",
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":5,\"y\":[]}]}", "{\"keys\":[{\"kty\":[\"RSA\"]}]}",
        "{\"keys\":[7,null,[],\"a\"]}",
        "{\"keys\":[]}", "{\"keys\":{}}", "{}", "[]", "\"\"", "", "{\"keys\":[{\"kty\":\"RSA\"}],\"keys\":[]}", "not json",
    };
    struct why why;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        why.text[0] = '\0';
        assert_int_equal(read_text(rows[i], &why), CODE_INVALID);
        assert_true(why.text[0] != '\0');
    }
}

/* RSA exponents: 1 signs everything, even ones nothing. */
TEST_CASE(test_exponents)
{
    static const struct { const char *e; bool good; } rows[] = {
        {"AQAB", true}, {"Aw", true}, {"AAEAAQ", true}, {"_____w", true}, {"AQ", false}, {"AAAB", false}, {"Ag", false}, {"", false},
        {"AQAAAAE", false}, {"AQ==", false}, {"AQ/B", false},
    };
    struct fake_key *key = fake_key_make("RSA2048");
    struct buf changed;

    buf_init(&changed, 10000);
    buf_clear(&text);
    fake_set(key, "", &text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct span set = buf_peek(&text);
        size_t at = set.len - strlen("\"AQAB\"}]}");

        buf_clear(&changed);
        buf_add(&changed, set.at, at);
        buf_addf(&changed, "\"%s\"}]}", rows[i].e);
        assert_true(span_starts_with(span_part(set, at, SIZE_MAX), SPAN_LIT("\"AQAB\"")));
        buf_add_byte(&changed, '\0');
        assert_int_equal(read_text(buf_peek(&changed).at, NULL), rows[i].good ? CODE_OK : CODE_INVALID);
    }
    buf_fini(&changed);
    fake_key_free(&key);
}

/* What we take stands beside what we do not: Keycloak's sets have a key for encryption. */
TEST_CASE(test_others_are_passed_over)
{
    struct fake_key *key = fake_key_make("P-256"), *other = fake_key_make("RSA2048");
    struct identity_key_set *set, *second;

    buf_clear(&text);
    buf_add_text(&text, "{\"keys\":[{\"kty\":\"new\",\"x\":1},");
    fake_jwk(other, ",\"use\":\"enc\",\"alg\":\"RSA-OAEP\",\"kid\":\"enc\"", &text);
    buf_add_byte(&text, ',');
    fake_jwk(key, ",\"use\":\"sig\",\"kid\":\"sig\"", &text);
    buf_add_text(&text, "],\"more\":true}");
    assert_ok(identity_key_set_read(buf_peek(&text), &set, NULL));
    buf_clear(&text);
    memset(text.block, 'x', text.size);
    assert_int_equal(identity_key_set_count(set), 1);
    assert_int_equal(identity_key_set_passed_over(set), 2);
    assert_true(identity_key_set_has(set, SPAN_LIT("sig"), NULL) && !identity_key_set_has(set, SPAN_LIT("enc"), NULL));
    second = identity_key_set_ref(set);
    identity_key_set_unref(&set);
    assert_true(identity_key_set_has(second, SPAN_LIT("sig"), NULL));
    identity_key_set_unref(&second);
    identity_key_set_unref(&second);
    fake_key_free(&key);
    fake_key_free(&other);
}

TEST_CASE(test_limits)
{
    struct fake_key *key = fake_key_make("Ed25519");
    struct identity_key_set *set;
    struct why why;
    uint64_t needed;

    for (int count = 256; count <= 257; count++) {
        buf_clear(&text);
        buf_add_text(&text, "{\"keys\":[");
        for (int i = 0; i < count; i++) {
            if (i > 0)
                buf_add_byte(&text, ',');
            fake_jwk(key, "", &text);
        }
        buf_add_text(&text, "]}");
        assert_int_equal(identity_key_set_read(buf_peek(&text), &set, &why), count > 256 ? CODE_LIMIT : CODE_OK);
        identity_key_set_unref(&set);
    }
    buf_clear(&text);
    fake_set(key, ",\"kid\":\"a\"", &text);
    mem_fail_at(1000000, 0);
    assert_ok(identity_key_set_read(buf_peek(&text), &set, &why));
    needed = mem_fail_count();
    identity_key_set_unref(&set);
    for (uint64_t nth = 1; nth <= needed; nth++) {
        mem_fail_at(nth, 0);
        assert_true(identity_key_set_read(buf_peek(&text), &set, &why) != CODE_OK);
        mem_fail_at(0, 0);
        assert_null(set);
    }
    buf_clear(&text);
    buf_add_text(&text, "{\"keys\":[],\"x\":\"");
    while (buf_len(&text) <= IDENTITY_KEY_SET_BYTES_MAX)
        buf_add_byte(&text, 'x');
    buf_add_text(&text, "\"}");
    assert_int_equal(identity_key_set_read(buf_peek(&text), &set, &why), CODE_LIMIT);
    fake_key_free(&key);
}

static int set_up(void **state)
{
    (void)state;
    buf_init(&text, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_fini(&text);
    return 0;
}

TEST_MAIN(set_up, tear_down)
