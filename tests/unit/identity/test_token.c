/* SPDX-License-Identifier: Apache-2.0 */
/* 8.1, 8.2: how tokens are signed and written, and every attack on that. */
#include "fakes/token_desk.h"

/* ---- what is taken ---- */

TEST_CASE(test_who_it_is)
{
    struct identity_token_rules more = rules;
    struct identity_token *token, *second;
    unsigned char digest[DIGEST_BYTES];
    struct span bytes = fake_token(ours, "ES256", HEADER, "{" REST "," TIMES ",\"scope\":\"read  write:all\",\"realm_access\":"
                                   "{\"roles\":[\"admin\",\"Dom\xc3\xa4nen-Admins\"]}}", &text);

    more.groups = path_of("$.realm_access.roles");
    EXPECT(identity_token_read(&provider, &more, keys, bytes, NOW, &token), NONE);
    digest_of(bytes, digest);
    buf_clear(&text); /* nothing of it is borrowed */
    memset(text.block, 'x', text.size);
    assert_true(span_is(token->principal, "bot") && span_is(token->tenant, "acme") && span_is(token->subject, "bot"));
    assert_true(span_is(token->issuer, ISSUER) && span_is(token->key_id, "k1"));
    assert_int_equal(token->group_count, 2);
    assert_true(span_is(token->groups[0], "admin") && span_is(token->groups[1], "Dom\xc3\xa4nen-Admins"));
    assert_int_equal(token->scope_count, 2);
    assert_true(span_is(token->scopes[0], "read") && span_is(token->scopes[1], "write:all"));
    assert_true(span_is(json_at(token->claims, "realm_access", "roles", NULL)->child->text, "admin"));
    assert_true(token->expires_us == INT64_C(1800000300) * SECOND && token->issued_us == INT64_C(1799999990) * SECOND);
    assert_memory_equal(token->sha256, digest, DIGEST_BYTES);
    assert_true(token->bound == 0 && token->held_bytes > sizeof *token);
    second = identity_token_ref(token);
    identity_token_unref(&token);
    assert_true(span_is(second->principal, "bot"));
    identity_token_unref(&second);
}

/* Every algorithm with its key, and with no other. */
TEST_CASE(test_algorithms)
{
    static const struct { const char *kind, *algorithms[4]; } rows[] = {
        {"RSA2048", {"RS256", "RS384", "RS512", NULL}}, {"RSA3072", {"PS256", "PS384", "PS512", NULL}}, {"P-256", {"ES256", NULL}},
        {"P-384", {"ES384", NULL}}, {"P-521", {"ES512", NULL}}, {"Ed25519", {"EdDSA", "Ed25519", NULL}},
    };
    struct identity_provider_rules all = provider;
    char header[100];

    all.algorithms = bits_of(identity_algorithm_names());
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fake_key *key = fake_key_make(rows[i].kind);
        struct identity_key_set *set;
        struct identity_token *token;

        buf_clear(&text);
        fake_set(key, ",\"kid\":\"k1\"", &text);
        assert_ok(identity_key_set_read(buf_peek(&text), &set, NULL));
        for (const char *const *algorithm = rows[i].algorithms; *algorithm != NULL; algorithm++) {
            snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}", *algorithm);
            (void)fake_token(key, *algorithm, header, CLAIMS, &text);
            EXPECT(identity_token_read(&all, &rules, set, buf_peek(&text), NOW, &token), NONE);
            identity_token_unref(&token);
        }
        for (const char *const *name = identity_algorithm_names(); *name != NULL; name++) {
            bool fits = (i < 2 && (*name)[0] != 'E') || strcmp(*name, rows[i].algorithms[0]) == 0 || (i == 5 && (*name)[1] == 'd');

            if (fits)
                continue;
            snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}", *name);
            (void)fake_token(key, rows[i].algorithms[0], header, CLAIMS, &text);
            EXPECT(identity_token_read(&all, &rules, set, buf_peek(&text), NOW, &token), UNKNOWN_KEY);
        }
        identity_key_set_unref(&set);
        fake_key_free(&key);
    }
}

/* A key that its provider gave for one algorithm verifies no other, though it could. */
TEST_CASE(test_a_key_of_one_algorithm)
{
    static const struct { const char *algorithm, *header; } tries[] = {
        {"RS256", "{\"alg\":\"RS256\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}"},
        {"PS256", "{\"alg\":\"PS256\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}"},
    };
    struct identity_provider_rules all = provider;
    struct fake_key *key = fake_key_make("RSA2048");
    struct identity_key_set *set;
    struct identity_token *token;

    all.algorithms = bits_of(identity_algorithm_names());
    buf_clear(&text);
    fake_set(key, ",\"kid\":\"k1\",\"alg\":\"RS256\"", &text);
    assert_ok(identity_key_set_read(buf_peek(&text), &set, NULL));
    (void)fake_token(key, tries[0].algorithm, tries[0].header, CLAIMS, &text);
    EXPECT(identity_token_read(&all, &rules, set, buf_peek(&text), NOW, &token), NONE);
    identity_token_unref(&token);
    (void)fake_token(key, tries[1].algorithm, tries[1].header, CLAIMS, &text);
    EXPECT(identity_token_read(&all, &rules, set, buf_peek(&text), NOW, &token), UNKNOWN_KEY);
    identity_key_set_unref(&set);
    fake_key_free(&key);
}

TEST_CASE(test_without_a_key_id)
{
    struct fake_key *second = fake_key_make("P-256");
    struct identity_key_set *set;
    struct identity_token *token;
    struct span bytes;

    EXPECT(judge_signed("{\"alg\":\"ES256\",\"typ\":\"at+jwt\"}", CLAIMS), NONE);
    EXPECT(judge(fake_token(others, "ES256", "{\"alg\":\"ES256\",\"typ\":\"at+jwt\"}", CLAIMS, &text)), SIGNATURE);
    buf_clear(&text);
    buf_add_text(&text, "{\"keys\":[");
    fake_jwk(ours, "", &text);
    buf_add_byte(&text, ',');
    fake_jwk(second, "", &text);
    buf_add_text(&text, "]}");
    assert_ok(identity_key_set_read(buf_peek(&text), &set, NULL));
    bytes = fake_token(ours, "ES256", "{\"alg\":\"ES256\",\"typ\":\"at+jwt\"}", CLAIMS, &text);
    EXPECT(identity_token_read(&provider, &rules, set, bytes, NOW, &token), KEY_AMBIGUOUS);
    identity_key_set_unref(&set);
    fake_key_free(&second);
}

/* ---- 8.2: attacks on the signature ---- */

TEST_CASE(test_none)
{
    static const char *const names[] = {"none", "None", "NONE", "nOnE", ""};
    struct identity_provider_rules all = provider;
    char header[100];

    all.algorithms = UINT32_MAX;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct identity_token *token;

        snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}", names[i]);
        (void)fake_token(ours, "none", header, CLAIMS, &text);
        EXPECT(identity_token_read(&all, &rules, keys, buf_peek(&text), NOW, &token), ALGORITHM);
        (void)fake_token(ours, "ES256", header, CLAIMS, &text);
        EXPECT(identity_token_read(&all, &rules, keys, buf_peek(&text), NOW, &token), ALGORITHM);
    }
    EXPECT(judge(fake_token(ours, "none", HEADER, CLAIMS, &text)), SIGNATURE); /* the signature taken off */
}

/* HS256 with the RSA key as its secret: its PEM, or its JWK. */
TEST_CASE(test_symmetric)
{
    struct buf secret;

    buf_init(&secret, 10000);
    for (int form = 0; form < 2; form++) {
        for (int named = 0; named < 2; named++) {
            buf_clear(&secret);
            buf_clear(&text);
            if (form == 0)
                fake_pem(rsa, &secret);
            else
                fake_jwk(rsa, "", &secret);
            fake_sign(rsa, "HS256", buf_peek(&secret), named ? SPAN_LIT("{\"alg\":\"HS256\",\"kid\":\"k2\",\"typ\":\"at+jwt\"}")
                      : SPAN_LIT("{\"alg\":\"RS256\",\"kid\":\"k2\",\"typ\":\"at+jwt\"}"), SPAN_LIT(CLAIMS), &text);
            if (named)
                EXPECT(judge(buf_peek(&text)), ALGORITHM);
            else
                EXPECT(judge(buf_peek(&text)), SIGNATURE);
        }
    }
    buf_fini(&secret);
    assert_int_equal(identity_algorithm_bit(SPAN_LIT("HS256")), 0);
    assert_int_equal(identity_algorithm_bit(SPAN_LIT("none")), 0);
    assert_int_equal(identity_algorithm_bit(SPAN_LIT("")), 0);
}

/* Another issuer's key under the same kid; an algorithm that the key does not fit; one that the provider does not have. */
TEST_CASE(test_other_keys)
{
    EXPECT(judge(fake_token(others, "ES256", HEADER, CLAIMS, &text)), SIGNATURE);
    EXPECT(judge(fake_token(ours, "ES256", "{\"alg\":\"ES256\",\"kid\":\"k2\",\"typ\":\"at+jwt\"}", CLAIMS, &text)), UNKNOWN_KEY);
    EXPECT(judge(fake_token(rsa, "RS256", "{\"alg\":\"RS256\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}", CLAIMS, &text)), UNKNOWN_KEY);
    EXPECT(judge(fake_token(rsa, "RS512", "{\"alg\":\"RS512\",\"kid\":\"k2\",\"typ\":\"at+jwt\"}", CLAIMS, &text)), ALGORITHM);
    EXPECT(judge(fake_token(rsa, "RS256", "{\"alg\":\"PS256\",\"kid\":\"k2\",\"typ\":\"at+jwt\"}", CLAIMS, &text)), SIGNATURE);
    EXPECT(judge(fake_token(rsa, "PS256", "{\"alg\":\"RS256\",\"kid\":\"k2\",\"typ\":\"at+jwt\"}", CLAIMS, &text)), SIGNATURE);
    EXPECT(judge(fake_token(ours, "ES256", "{\"alg\":\"ES256\",\"kid\":\"K1\",\"typ\":\"at+jwt\"}", CLAIMS, &text)), UNKNOWN_KEY);
}

/* Keys that a header brings along are no keys. */
TEST_CASE(test_keys_in_the_header)
{
    static const char *const rows[] = {
        "\"jku\":\"https://evil.example/keys\"", "\"x5u\":\"https://evil.example/cert\"", "\"x5c\":[\"MIIB\"]", "a jwk",
        "\"jku\":5,\"x5u\":{},\"x5c\":null",
    };
    struct buf jwk, header;

    buf_init(&jwk, 10000);
    buf_init(&header, 20000);
    fake_jwk(others, "", &jwk);
    buf_add_byte(&jwk, '\0');
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int known = 0; known < 2; known++) {
            buf_clear(&header);
            buf_addf(&header, "{\"alg\":\"ES256\",\"typ\":\"at+jwt\",\"kid\":\"%s\",", known ? "k1" : "k9");
            if (i == 3)
                buf_addf(&header, "\"jwk\":%s", buf_peek(&jwk).at);
            else
                buf_add_text(&header, rows[i]);
            buf_add(&header, "}", 2);
            (void)fake_token(others, "ES256", buf_peek(&header).at, CLAIMS, &text);
            if (known)
                EXPECT(judge(buf_peek(&text)), SIGNATURE);
            else
                EXPECT(judge(buf_peek(&text)), UNKNOWN_KEY);
            if (known)
                EXPECT(judge_signed(buf_peek(&header).at, CLAIMS), NONE); /* ignored, not refused */
        }
    }
    buf_fini(&jwk);
    buf_fini(&header);
}

TEST_CASE(test_key_removed)
{
    struct identity_key_set *fewer, *none = NULL;
    struct identity_token *token;
    struct span bytes;

    buf_clear(&text);
    fake_set(rsa, ",\"kid\":\"k2\"", &text);
    assert_ok(identity_key_set_read(buf_peek(&text), &fewer, NULL));
    bytes = fake_token(ours, "ES256", HEADER, CLAIMS, &text);
    EXPECT(identity_token_read(&provider, &rules, fewer, bytes, NOW, &token), UNKNOWN_KEY);
    EXPECT(identity_token_read(&provider, &rules, none, bytes, NOW, &token), UNKNOWN_KEY);
    assert_true(identity_key_set_has(keys, SPAN_LIT("k1"), NULL) && !identity_key_set_has(fewer, SPAN_LIT("k1"), NULL));
    assert_true(identity_key_set_has(fewer, SPAN_NONE, NULL) && !identity_key_set_has(none, SPAN_NONE, NULL));
    identity_key_set_unref(&fewer);
}

/* Each bit of each byte, each byte left out, each put in twice: no other text passes. */
TEST_CASE(test_every_byte)
{
    static const char *const algorithms[] = {"ES256", "RS256", "PS256"};
    struct buf changed;

    buf_init(&changed, 10000);
    for (int kind = 0; kind < 3; kind++) {
        char header[100];
        struct span token;

        snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"%s\",\"typ\":\"at+jwt\"}", algorithms[kind], kind ? "k2" : "k1");
        token = fake_token(kind ? rsa : ours, algorithms[kind], header, CLAIMS, &text);
        EXPECT(judge(token), NONE);
        for (size_t i = 0; i <= token.len; i++) {
            for (int how = 0; how < 12; how++) {
                buf_clear(&changed);
                buf_add_span(&changed, token);
                if (how < 8 && i < token.len)
                    changed.block[changed.head + i] ^= (char)(1 << how);
                else if (how == 8)
                    buf_truncate(&changed, i < token.len ? i : 0);
                else
                    buf_clear(&changed), buf_add(&changed, token.at, i), buf_add_byte(&changed, ".=A"[how % 3]),
                        buf_add_span(&changed, span_part(token, i, SIZE_MAX));
                if (!span_equals(buf_peek(&changed), token) && judge(buf_peek(&changed)) == IDENTITY_FAULT_NONE)
                    fail_msg("%s: changed at %zu by %d it passes", algorithms[kind], i, how);
            }
        }
    }
    buf_fini(&changed);
}

/* ECDSA's second signature (n - s) is as good as the first: a token has several texts whoever has its key. The cache and what is
 * recorded go by the text, so that each is judged by itself. What must not be: one of another length, or with other bits at its end. */
TEST_CASE(test_signature_forms)
{
    struct buf changed;
    struct span token;

    buf_init(&changed, 10000);
    for (int tries = 0; tries < 40; tries++) {
        token = fake_token(ours, "ES256", HEADER, CLAIMS, &text);
        for (int how = 0; how < 3; how++) {
            struct span rest, claims, header = span_cut(token, '.', &rest), signature = (claims = span_cut(rest, '.', &rest), rest);
            struct buf raw;

            buf_init(&raw, 100);
            assert_ok(base64url_decode(signature, &raw));
            buf_clear(&changed);
            buf_addf(&changed, "%.*s.%.*s.", SPAN_ARG(header), SPAN_ARG(claims));
            if (how == 0) { /* both numbers a byte longer */
                char longer[66] = {0};

                memcpy(longer + 1, buf_peek(&raw).at, 32);
                memcpy(longer + 34, buf_peek(&raw).at + 32, 32);
                base64url_encode(span_of(longer, 66), &changed);
            } else if (how == 1) { /* zeros in place of it */
                base64url_encode(span_of((char[64]){0}, 64), &changed);
            } else { /* nothing of it but a byte more */
                buf_add_byte(&raw, '\0');
                base64url_encode(buf_peek(&raw), &changed);
            }
            EXPECT(judge(buf_peek(&changed)), SIGNATURE);
            buf_fini(&raw);
        }
    }
    buf_fini(&changed);
}

/* ---- 8.2: attacks on the form ---- */

TEST_CASE(test_forms)
{
    static const char *const texts[] = {
        "", ".", "..", "...", "a", "a.b", "a.b.c", ".eyJ9.", "{}.{}.{}", "eyJhbGciOiJFUzI1NiJ9.e30", "eyJhbGciOiJFUzI1NiJ9.e30.a.b.c",
        "eyJhbGciOiJFUzI1NiJ9..e30", " eyJhbGciOiJFUzI1NiJ9.e30.AA", "eyJhbGciOiJFUzI1NiJ9.e30.AA ", "eyJhbGciOiJFUzI1NiJ9.e30.AA\n",
        "eyJhbGciOiJFUzI1NiJ9.e30=.AA", "eyJhbGciOiJFUzI1NiJ9.e31.AA", "eyJhbGciOiJFUzI1NiJ9.e30.A", "eyJhbGciOiJFUzI1NiJ9.e3+.AA",
        "{\"protected\":\"eyJhbGciOiJFUzI1NiJ9\",\"payload\":\"e30\",\"signature\":\"AA\"}",
    };
    struct identity_token_hint hint;
    struct buf large;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_true(judge(span_text(texts[i])) != IDENTITY_FAULT_NONE);
    assert_true(judge(span_of("eyJhbGciOiJFUzI1NiJ9.e30.AA\0", 28)) != IDENTITY_FAULT_NONE);
    buf_init(&large, 40000);
    buf_add_text(&large, "{" REST "," TIMES ",\"more\":\"");
    while (buf_len(&large) < 11900)
        buf_add_byte(&large, 'x');
    buf_add(&large, "\"}", 3);
    EXPECT(judge_claims(buf_peek(&large).at), NONE);
    assert_true(buf_len(&text) > 15900 && buf_len(&text) <= IDENTITY_TOKEN_BYTES_MAX);
    buf_truncate(&large, buf_len(&large) - 3);
    while (buf_len(&large) < 12500)
        buf_add_byte(&large, 'x');
    buf_add(&large, "\"}", 3);
    EXPECT(judge_claims(buf_peek(&large).at), SIZE);
    assert_true(identity_token_looks(buf_peek(&text), &hint));
    buf_fini(&large);
}

/* What another reader would take in another way is none. */
TEST_CASE(test_readings)
{
    static const char *const headers[] = {
        "{\"alg\":\"ES256\",\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}",
        "{\"alg\":\"none\",\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}",
        "{\"alg\":\"ES256\",\"\\u0061lg\":\"none\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}",
        "{\"alg\":\"ES256\\u0000\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}", "{\"alg\":[\"ES256\"],\"kid\":\"k1\",\"typ\":\"at+jwt\"}",
        "{\"kid\":\"k1\",\"typ\":\"at+jwt\"}", "[\"ES256\"]", "\"ES256\"", "{\"alg\":\"ES256\"}x", "\xef\xbb\xbf{\"alg\":\"ES256\"}",
    };
    static const char *const claims[] = {
        "{\"sub\":\"admin\"," REST "," TIMES "}", "{" REST "," TIMES ",\"sub\":\"admin\"}", "{" REST "," TIMES ",\"s\\u0075b\":\"admin\"}",
        "{" REST "," TIMES ",\"x\":\"\\u0000\"}", "{" REST "," TIMES ",\"x\\u0000\":1}", "{" REST "," TIMES ",\"x\":{\"a\":1,\"a\":2}}",
        "{" REST "," TIMES "} ,", "[{" REST "," TIMES "}]", "{" REST "," TIMES ",\"x\":\"\xff\"}", "{" REST "," TIMES ",\"x\":01}",
        "{" REST "," TIMES ",\"x\":\"\\ud800\"}", "{" REST "," TIMES ",}", "{'sub':1}", "null", "",
    };
    struct span nul = SPAN_LIT("{" REST "," TIMES ",\"x\":\"\0\"}"), behind = SPAN_LIT("{" REST "," TIMES "}\0");

    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        EXPECT(judge_signed(headers[i], CLAIMS), HEADER);
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++)
        EXPECT(judge_claims(claims[i]), CLAIMS);
    buf_clear(&text);
    fake_sign(ours, "ES256", SPAN_NONE, SPAN_LIT(HEADER), nul, &text);
    EXPECT(judge(buf_peek(&text)), CLAIMS);
    buf_clear(&text);
    fake_sign(ours, "ES256", SPAN_NONE, SPAN_LIT(HEADER), behind, &text);
    EXPECT(judge(buf_peek(&text)), CLAIMS);
    EXPECT(judge_claims("{ " REST ",\n" TIMES "\t}"), NONE);
}

TEST_CASE(test_header_members)
{
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"at+jwt\",\"crit\":[\"exp\"],\"exp\":1}", CLAIMS), CRITICAL);
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"at+jwt\",\"crit\":[\"b64\"],\"b64\":false}", CLAIMS), CRITICAL);
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"at+jwt\",\"crit\":[]}", CLAIMS), CRITICAL);
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":7,\"typ\":\"at+jwt\"}", CLAIMS), KEY_ID);
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"\",\"typ\":\"at+jwt\"}", CLAIMS), KEY_ID);
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k1\\n\",\"typ\":\"at+jwt\"}", CLAIMS), KEY_ID);
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"application/AT+JWT\"}", CLAIMS), NONE);
}

/* 8.2: an ID token, a logout token, a proof. */
TEST_CASE(test_types)
{
    static const char *const never[] = {"dpop+jwt", "logout+jwt", "secevent+jwt", "id_token+JWT", "xat+jwt", "+jwt",
                                        "application/dpop+jwt"};
    static const char *const marks[] = {"\"nonce\":\"n\"", "\"at_hash\":\"h\"", "\"c_hash\":\"h\"", "\"events\":{}", "\"typ\":\"ID\"",
                                        "\"typ\":\"Refresh\"", "\"typ\":\"Offline\"", "\"token_use\":\"id\"", "\"nonce\":null"};
    char header[200], claims[400];

    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k1\"}", CLAIMS), TYPE);
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"JWT\"}", CLAIMS), TYPE);
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":5}", CLAIMS), TYPE);
    provider.id_token_like = true;
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k1\"}", CLAIMS), NONE);
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"JWT\"}", CLAIMS), NONE);
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"application/okta-internal-at+jwt\"}", CLAIMS), NONE);
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":[]}", CLAIMS), TYPE);
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        snprintf(header, sizeof header, "{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"%s\"}", never[i]);
        EXPECT(judge_signed(header, CLAIMS), TYPE);
    }
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        snprintf(claims, sizeof claims, "{" REST "," TIMES ",%s}", marks[i]);
        EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"JWT\"}", claims), ID_TOKEN);
        EXPECT(judge_signed(HEADER, claims), NONE); /* what says that it is an access token is one */
    }
    provider.id_token_like = false;
}

/* The most that the library has to read in a header: it has memory for that before it begins, since it would crash otherwise. */
TEST_CASE(test_the_largest_headers)
{
    static const char *const parts[] = {"{}", "[]", "1", "\"\\u00e4\"", "[[[[[]]]]]"};
    struct identity_token *token;
    struct buf header;

    buf_init(&header, 40000);
    for (int form = 0; form < 6; form++) {
        buf_clear(&header);
        buf_add_text(&header, "{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"at+jwt\"");
        if (form < 5)
            buf_add_text(&header, ",\"x\":[0");
        for (int i = 0; i < (form == 4 ? 20 : form == 5 ? 60 : 120); i++)
            if (form < 5)
                buf_addf(&header, ",%s", parts[form]);
            else
                buf_addf(&header, ",\"a long name of a member %d\":\"%0160d\"", i, i);
        buf_add(&header, form < 5 ? "]}" : "}", form < 5 ? 3 : 2);
        (void)fake_token(ours, "ES256", buf_peek(&header).at, "{\"iss\":\"" ISSUER "\"}", &text);
        for (uint64_t nth = 1; nth < 40; nth++) {
            mem_fail_at(nth, 1);
            assert_true(identity_token_read(&provider, &rules, keys, buf_peek(&text), NOW, &token) != IDENTITY_FAULT_NONE);
            mem_fail_at(0, 0);
            assert_null(token);
        }
        EXPECT(judge(buf_peek(&text)), AUDIENCE); /* so it was signed */
    }
    buf_fini(&header);
}

/* Whatever allocation fails, nobody is let in, and nothing is lost. */
TEST_CASE(test_memory)
{
    struct identity_token_rules more = rules;
    struct identity_token *token;
    uint64_t needed;

    more.groups = path_of("$.groups");
    (void)fake_token(ours, "ES256", HEADER, "{" REST "," TIMES ",\"groups\":[\"a\"],\"scope\":\"b c\"}", &text);
    EXPECT(identity_token_read(&provider, &more, keys, buf_peek(&text), NOW, &token), NONE);
    identity_token_unref(&token);
    mem_fail_at(1000000, 0);
    EXPECT(identity_token_read(&provider, &more, keys, buf_peek(&text), NOW, &token), NONE);
    identity_token_unref(&token);
    needed = mem_fail_count();
    assert_true(needed > 5);
    for (uint64_t nth = 1; nth <= needed; nth++) {
        mem_fail_at(nth, 0);
        assert_true(identity_token_read(&provider, &more, keys, buf_peek(&text), NOW, &token) != IDENTITY_FAULT_NONE);
        mem_fail_at(0, 0);
        assert_null(token);
    }
}

TEST_MAIN(set_up, tear_down)
