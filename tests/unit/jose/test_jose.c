/* SPDX-License-Identifier: Apache-2.0 */
/* 8.1: what the library would take, and this room does not. */
#include "jose/jose.h"

#include "base/mem.h"
#include "crypto/digest.h"
#include "fakes/cm.h"
#include "fakes/fake_provider.h"
#include "json/json.h"

#include <stdio.h>

static struct buf jwk, first, second, token;

static struct span decoded(const char *name, struct buf *out)
{
    static struct buf canonical;
    struct arena arena;
    const struct json_node *root;
    struct json_fault fault;

    buf_init(&canonical, 10000);
    arena_init(&arena, 100000);
    buf_clear(out);
    assert_ok(json_read(buf_peek(&jwk), &json_file_rules, &canonical, &arena, &root, &fault));
    assert_ok(base64url_decode(json_member(root, span_text(name))->text, out));
    arena_fini(&arena);
    buf_fini(&canonical);
    return buf_peek(out);
}

static int set_up(void **state)
{
    (void)state;
    buf_init(&jwk, 10000);
    buf_init(&first, 10000);
    buf_init(&second, 10000);
    buf_init(&token, 100000);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_fini(&jwk);
    buf_fini(&first);
    buf_fini(&second);
    buf_fini(&token);
    return 0;
}

/* The caller says which algorithm; a header that names another one to the library is none. */
TEST_CASE(test_the_caller_chooses)
{
    struct fake_key *rsa = fake_key_make("RSA2048");
    struct jose_key *key;
    struct span text;

    buf_clear(&jwk);
    fake_jwk(rsa, "", &jwk);
    assert_ok(jose_key_rsa(decoded("n", &first), decoded("e", &second), &key));
    text = fake_token(rsa, "RS256", "{\"alg\":\"RS256\"}", "{}", &token);
    assert_true(jose_is_signed(key, "RS256", text));
    assert_false(jose_is_signed(key, "PS256", text));
    assert_false(jose_is_signed(key, "RS384", text));
    assert_false(jose_is_signed(key, "none", text));
    assert_false(jose_is_signed(key, "", text));
    text = fake_token(rsa, "RS256", "{\"alg\":\"none\"}", "{}", &token);
    assert_false(jose_is_signed(key, "none", text));
    assert_false(jose_is_signed(key, "RS256", text));
    jose_key_free(&key);
    jose_key_free(&key);
    fake_key_free(&rsa);
}

/* A signature that begins with a zero is as good without it for the library. */
TEST_CASE(test_short_signatures)
{
    struct fake_key *rsa = fake_key_make("RSA2048");
    struct jose_key *key;
    char claims[40];
    bool met = false;

    buf_clear(&jwk);
    fake_jwk(rsa, "", &jwk);
    assert_ok(jose_key_rsa(decoded("n", &first), decoded("e", &second), &key));
    for (int i = 0; i < 4000 && !met; i++) {
        struct span text, rest, part, signed_text;

        snprintf(claims, sizeof claims, "{\"n\":%d}", i);
        text = fake_token(rsa, "PS256", "{\"alg\":\"PS256\"}", claims, &token);
        (void)span_cut(text, '.', &rest);
        (void)span_cut(rest, '.', &part);
        signed_text = span_part(text, 0, text.len - part.len);
        buf_clear(&first);
        assert_ok(base64url_decode(part, &first));
        if (buf_peek(&first).at[0] != '\0')
            continue;
        met = true;
        assert_true(jose_is_signed(key, "PS256", text));
        buf_clear(&second);
        buf_add_span(&second, signed_text);
        base64url_encode(span_part(buf_peek(&first), 1, SIZE_MAX), &second);
        assert_false(jose_is_signed(key, "PS256", buf_peek(&second)));
    }
    assert_true(met);
    jose_key_free(&key);
    fake_key_free(&rsa);
}

TEST_CASE(test_keys)
{
    struct fake_key *curve = fake_key_make("P-256");
    struct jose_key *key;
    char large[1025];

    buf_clear(&jwk);
    fake_jwk(curve, "", &jwk);
    assert_int_equal(jose_key_ec(384, decoded("x", &first), decoded("y", &second), &key), CODE_INVALID);
    assert_int_equal(jose_key_ec(256, decoded("x", &first), decoded("x", &second), &key), CODE_INVALID); /* off the curve */
    assert_null(key);
    memset(large, 0xff, sizeof large);
    assert_int_equal(jose_key_rsa(span_of(large, 1025), span_of("\1\0\1", 3), &key), CODE_INVALID);
    assert_int_equal(jose_key_rsa(span_of(large, 255), span_of("\1\0\1", 3), &key), CODE_INVALID);
    assert_int_equal(jose_key_rsa(SPAN_NONE, span_of("\1\0\1", 3), &key), CODE_INVALID);
    (void)decoded("x", &first);
    (void)decoded("y", &second);
    for (uint64_t nth = 1; nth <= 3; nth++) { /* which of the library's faults is memory it does not say */
        mem_fail_at(nth, 0);
        assert_true(jose_key_ec(256, buf_peek(&first), buf_peek(&second), &key) != CODE_OK);
        mem_fail_at(0, 0);
        assert_null(key);
    }
    assert_ok(jose_key_ec(256, buf_peek(&first), buf_peek(&second), &key));
    jose_key_free(&key);
    fake_key_free(&curve);
}

TEST_MAIN(set_up, tear_down)
