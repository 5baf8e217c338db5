/* SPDX-License-Identifier: Apache-2.0 */
/* 8.6: what a provider is asked for, and what is taken of its answers. */
#include "identity/outgoing.h"

#include "crypto/digest.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW INT64_C(1000000000000)
#define S INT64_C(1000000)

static const struct outgoing client = {.kind = OUTGOING_CLIENT, .client = "gate & co"};
static const struct outgoing exchange = {.kind = OUTGOING_EXCHANGE, .client = "gate", .audience = "https://up/mcp"};

static enum code answer(const struct outgoing *outgoing, const char *body, int64_t now_us, struct outgoing_token **token)
{
    struct why why = {""};
    enum code code = outgoing_read_answer(outgoing, span_text(body), NOW, now_us, token, &why);

    assert_true((code == CODE_OK) == (*token != NULL));
    if (code != CODE_OK && (strstr(why.text, "secret") != NULL || why.text[0] == '\0'))
        fail_msg("it says: %s", why.text);
    return code;
}

TEST_CASE(test_taken)
{
    struct outgoing_token *token;

    assert_ok(answer(&client, "{\"access_token\":\"secret-\\/+~.1==\",\"token_type\":\"bearer\",\"expires_in\":3600,\"scope\":\"a\"}",
                     NOW, &token));
    assert_int_equal(token->len, strlen("Bearer secret-/+~.1=="));
    assert_memory_equal(token->value, "Bearer secret-/+~.1==", token->len);
    assert_int_equal(token->until_us, NOW + 3595 * S);
    assert_in_range(token->renew_us, NOW + 2250 * S, NOW + 2700 * S);
    outgoing_token_unref(&token);
    assert_ok(answer(&client, "{\"access_token\":\"secret\",\"token_type\":\"Bearer\"}", NOW, &token)); /* no life said: a short one */
    assert_int_equal(token->until_us, NOW + 55 * S);
    outgoing_token_unref(&token);
    assert_ok(answer(&client, "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":99999999999999}", NOW, &token));
    assert_int_equal(token->until_us, NOW + OUTGOING_LONGEST_US - 5 * S);
    outgoing_token_unref(&token);
    assert_ok(answer(&client, "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":1}", NOW, &token));
    assert_int_equal(token->until_us, NOW + 900000);
    outgoing_token_unref(&token);
    assert_ok(answer(&exchange, "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":60,\"issued_token_type\":"
                     "\"urn:ietf:params:oauth:token-type:access_token\"}", NOW, &token));
    outgoing_token_unref(&token);
}

#define TOKEN(text) "{\"access_token\":" text ",\"token_type\":\"Bearer\",\"expires_in\":60}"

TEST_CASE(test_refused)
{
    static const char *const bodies[] = {
        "", "null", "[]", "{}", "secret", "{\"access_token\":\"secret\"}", "{\"token_type\":\"Bearer\"}", TOKEN("\"\""), TOKEN("null"),
        TOKEN("7"), TOKEN("\"secret\\r\\nX-Evil: 1\""), TOKEN("\"secret\\nx\""), TOKEN("\"secret x\""), TOKEN("\"secret\\u0000\""),
        TOKEN("\"secret,x\""), TOKEN("\"secr=et\""), TOKEN("\"===\""), TOKEN("\"secret\xc3\xa9\""), TOKEN("[\"secret\"]"),
        TOKEN("\"secret\",\"access_token\":\"secret2\""),
        "{\"access_token\":\"secret\",\"token_type\":\"DPoP\",\"expires_in\":60}",
        "{\"access_token\":\"secret\",\"token_type\":\"N_A\",\"expires_in\":60}",
        "{\"access_token\":\"secret\",\"token_type\":[\"Bearer\"],\"expires_in\":60}",
        "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":0}",
        "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":-1}",
        "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":1.5}",
        "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":1e3}",
        "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":\"60\"}",
        "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":99999999999999999999999}",
        "{\"error\":\"invalid_client\",\"error_description\":\"secret\"}",
    };
    struct outgoing_token *token;

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        if (answer(&client, bodies[i], NOW, &token) == CODE_OK)
            fail_msg("taken: %s", bodies[i]);
    assert_int_equal(answer(&client, TOKEN("\"secret\""), NOW + 55 * S, &token), CODE_INVALID); /* the answer took its time */
    assert_int_equal(answer(&exchange, TOKEN("\"secret\""), NOW, &token), CODE_INVALID);
    assert_int_equal(answer(&exchange, "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":60,\"issued_token_type\":"
                            "\"urn:ietf:params:oauth:token-type:refresh_token\"}", NOW, &token), CODE_INVALID);
}

TEST_CASE(test_large)
{
    char *body = malloc(1 << 20);
    struct outgoing_token *token;
    static const size_t sizes[] = {OUTGOING_TOKEN_BYTES_MAX, OUTGOING_TOKEN_BYTES_MAX + 1, 1000000};

    assert_non_null(body);
    for (size_t i = 0; i < 3; i++) {
        int at = snprintf(body, 1 << 20, "{\"token_type\":\"Bearer\",\"access_token\":\"");

        memset(body + at, 'a', sizes[i]);
        memcpy(body + at + sizes[i], "\"}", 3);
        assert_int_equal(answer(&client, body, NOW, &token) == CODE_OK, i == 0);
        outgoing_token_unref(&token);
    }
    free(body);
}

static const char *form_of(const struct outgoing *outgoing, const struct outgoing_wish *wish, const char *secret, bool is_basic)
{
    static char text[2000];
    struct buf form, basic;

    buf_init(&form, 100000);
    buf_init(&basic, 100000);
    assert_ok(outgoing_write_request(outgoing, wish, span_text(secret), &form, &basic));
    (void)snprintf(text, sizeof text, "%.*s", SPAN_ARG(buf_peek(is_basic ? &basic : &form)));
    buf_fini(&form);
    buf_fini(&basic);
    return text;
}

TEST_CASE(test_forms)
{
    struct outgoing posted = {.kind = OUTGOING_CLIENT, .client = "of-{tenant}-x", .per_tenant = true, .is_posted = true, .scopes = "a b:c",
                              .resource = "https://up/mcp?x=1&y"};
    const struct outgoing_wish wish = {.tenant = SPAN_LIT("acme"), .subject = SPAN_LIT("alice"), .token = SPAN_LIT("a.b-c_d+/=")};
    struct outgoing_wish none = {.tenant = SPAN_NONE};

    assert_string_equal(form_of(&client, &none, "s:e c", false), "grant_type=client_credentials");
    /* base64 of "gate%20%26%20co:s%3Ae%20c" */
    assert_string_equal(form_of(&client, &none, "s:e c", true), "Basic Z2F0ZSUyMCUyNiUyMGNvOnMlM0FlJTIwYw==");
    assert_string_equal(form_of(&posted, &wish, "s&x=", false), "grant_type=client_credentials&scope=a%20b%3Ac&resource=https%3A%2F%2Fup"
                        "%2Fmcp%3Fx%3D1%26y&client_id=of-acme-x&client_secret=s%26x%3D");
    assert_string_equal(form_of(&posted, &wish, "s", true), "");
    assert_string_equal(form_of(&exchange, &wish, "s", false), "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange"
                        "&subject_token=a.b-c_d%2B%2F%3D&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
                        "&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
                        "&audience=https%3A%2F%2Fup%2Fmcp");
}

TEST_CASE(test_wishes)
{
    struct outgoing_wish wish = {.until_us = 7, .tenant = SPAN_LIT("acme"), .subject = SPAN_LIT("alice"), .token = SPAN_LIT("tok")}, read;
    struct buf buf;

    buf_init(&buf, 1000);
    memset(wish.outgoing, 9, sizeof wish.outgoing);
    assert_ok(outgoing_pack(&wish, &buf));
    assert_true(outgoing_unpack(buf_peek(&buf), &read));
    assert_memory_equal(read.outgoing, wish.outgoing, sizeof wish.outgoing);
    assert_int_equal(read.until_us, 7);
    assert_true(span_is(read.tenant, "acme") && span_is(read.subject, "alice") && span_is(read.token, "tok"));
    assert_false(outgoing_unpack(span_part(buf_peek(&buf), 1, SIZE_MAX), &read));
    assert_false(outgoing_unpack(SPAN_NONE, &read));
    buf_fini(&buf);
}

/* Whatever decides about the answer makes another key. */
TEST_CASE(test_keys)
{
    struct outgoing others[9], base = {.kind = OUTGOING_CLIENT, .client = "gate", .per_tenant = true};
    const struct span parts[][3] = {{SPAN_LIT("s"), SPAN_LIT("t"), SPAN_LIT("k")}, {SPAN_LIT("st"), SPAN_LIT(""), SPAN_LIT("k")},
                                    {SPAN_LIT("s"), SPAN_LIT(""), SPAN_LIT("tk")}, {SPAN_LIT("s"), SPAN_LIT("t"), SPAN_LIT("")}};
    struct lookup_key keys[9 * 4];
    size_t count = 0;

    for (size_t i = 0; i < 9; i++)
        others[i] = base;
    others[1].kind = OUTGOING_EXCHANGE;
    others[2].client = "other";
    others[3].scopes = "";
    others[4].audience = "a";
    others[5].resource = "a";
    others[6].token_url = "a";
    others[7].takes_opaque = true;
    others[8].file = "others/{tenant}.secret";
    for (size_t i = 0; i < 9; i++) {
        outgoing_seal(&others[i], "https://issuer");
        for (size_t n = 0; n < 4; n++)
            outgoing_key(&others[i], parts[n][0], parts[n][1], parts[n][2], &keys[count++]);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < i; n++)
            assert_memory_not_equal(keys[i].digest, keys[n].digest, DIGEST_BYTES);
}

TEST_CASE(test_shorten)
{
    struct outgoing_token token = {.renew_us = 70, .until_us = 100};

    outgoing_token_shorten(&token, 200);
    assert_true(token.renew_us == 70 && token.until_us == 100);
    outgoing_token_shorten(&token, 90);
    assert_true(token.renew_us == 70 && token.until_us == 90);
    outgoing_token_shorten(&token, 10);
    assert_true(token.renew_us == 10 && token.until_us == 10);
}

TEST_CASE(test_errors)
{
    char error[64];

    outgoing_read_error(SPAN_LIT("{\"error\":\"invalid_client\",\"error_description\":\"secret\"}"), error);
    assert_string_equal(error, "invalid_client");
    outgoing_read_error(SPAN_LIT("{\"error\":\"in\\nvalid\"}"), error);
    assert_string_equal(error, "");
    outgoing_read_error(SPAN_LIT("{\"error\":\"invalid_grant \"}"), error);
    assert_string_equal(error, "");
    outgoing_read_error(SPAN_LIT("<html>"), error);
    assert_string_equal(error, "");
    outgoing_read_error(SPAN_LIT("{\"error\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}"), error);
    assert_string_equal(error, "");
}

TEST_MAIN(NULL, NULL)
