/* SPDX-License-Identifier: Apache-2.0 */
/* 8.1, 8.2, 8.9: what tokens claim, and every attack on that. */
#include "fakes/token_desk.h"

/* ---- 8.2: attacks on the claims ---- */

#define WHO "\"sub\":\"bot\",\"org\":\"acme\""

TEST_CASE(test_issuer)
{
    static const char *const rows[] = {
        "\"iss\":\"" ISSUER "/\"", "\"iss\":\"HTTPS://id.example.com/realms/corp\"", "\"iss\":\"https://evil.example\"", "\"iss\":\"\"",
        "\"iss\":[\"" ISSUER "\"]", "\"iss\":null", "\"Iss\":\"" ISSUER "\"",
    };
    char claims[400];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(claims, sizeof claims, "{%s,\"aud\":\"" AUDIENCE "\"," WHO "," TIMES "}", rows[i]);
        EXPECT(judge_claims(claims), ISSUER);
    }
    /* Of another issuer nobody fetches keys. */
    EXPECT(judge_signed("{\"alg\":\"ES256\",\"kid\":\"k9\",\"typ\":\"at+jwt\"}", claims), ISSUER);
}

TEST_CASE(test_audience)
{
    static const struct { const char *aud; bool ours; } rows[] = {
        {"\"" AUDIENCE "\"", true}, {"[\"" AUDIENCE "\"]", true}, {"[\"account\",\"" AUDIENCE "\"]", true},
        {"\"https://mcp.example.com/mail/mcp\"", false}, {"\"" AUDIENCE "/\"", false}, {"[\"account\"]", false}, {"[]", false},
        {"{\"" AUDIENCE "\":1}", false}, {"[[\"" AUDIENCE "\"]]", false}, {"null", false}, {"\"" AUDIENCE " x\"", false},
        {"\"https://mcp.example.com\"", false},
    };
    char claims[400];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(claims, sizeof claims, "{\"iss\":\"" ISSUER "\",\"aud\":%s," WHO "," TIMES "}", rows[i].aud);
        if (rows[i].ours)
            EXPECT(judge_claims(claims), NONE);
        else
            EXPECT(judge_claims(claims), AUDIENCE);
    }
    EXPECT(judge_claims("{\"iss\":\"" ISSUER "\"," WHO "," TIMES "}"), AUDIENCE);
}

TEST_CASE(test_times)
{
    static const struct { const char *times; enum identity_fault fault; } rows[] = {
        {"\"exp\":1800000300", IDENTITY_FAULT_NONE},
        {"\"exp\":1799999941", IDENTITY_FAULT_NONE},           /* expired by the leeway less 1 */
        {"\"exp\":1799999940.000001", IDENTITY_FAULT_NONE},
        {"\"exp\":1799999940", IDENTITY_FAULT_EXPIRED},        /* on the instant */
        {"\"exp\":1799999939", IDENTITY_FAULT_EXPIRED},        /* by the leeway and 1 */
        {"\"exp\":1.8000003e9", IDENTITY_FAULT_NONE},
        {"\"exp\":1800000300.1234567", IDENTITY_FAULT_NONE},
        {"\"iat\":1799999000", IDENTITY_FAULT_TIMES},          /* required */
        {"\"exp\":\"1800000300\"", IDENTITY_FAULT_TIMES},
        {"\"exp\":-1800000300", IDENTITY_FAULT_TIMES},
        {"\"exp\":null", IDENTITY_FAULT_TIMES},
        {"\"exp\":1e30", IDENTITY_FAULT_TIMES},
        {"\"exp\":[1800000300]", IDENTITY_FAULT_TIMES},
        {"\"exp\":0", IDENTITY_FAULT_EXPIRED},
        {"\"exp\":1800000300,\"nbf\":1800000060", IDENTITY_FAULT_NONE},
        {"\"exp\":1800000300,\"nbf\":1800000061", IDENTITY_FAULT_EARLY},
        {"\"exp\":1800000300,\"nbf\":\"0\"", IDENTITY_FAULT_TIMES},
        {"\"exp\":1800000300,\"iat\":1800000061", IDENTITY_FAULT_EARLY},
        {"\"exp\":1800000300,\"iat\":true", IDENTITY_FAULT_TIMES},
        {"\"exp\":1800000300,\"iat\":1799913900", IDENTITY_FAULT_NONE},   /* a day */
        {"\"exp\":1800000300,\"iat\":1799913899", IDENTITY_FAULT_LIFE},
        {"\"exp\":1800086400", IDENTITY_FAULT_NONE},
        {"\"exp\":1800086401", IDENTITY_FAULT_LIFE},
    };
    char claims[400];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(claims, sizeof claims, "{" REST ",%s}", rows[i].times);
        if (judge_claims(claims) != rows[i].fault)
            fail_msg("%s: %s", rows[i].times, identity_fault_text(judge_claims(claims)));
    }
}

TEST_CASE(test_names)
{
    static const struct { const char *who; enum identity_fault fault; } rows[] = {
        {"\"sub\":\"spiffe://example.org/ns/prod/sa/bot\",\"org\":\"acme\"", IDENTITY_FAULT_NONE},
        {"\"sub\":\"auth0|5f7c\",\"org\":[\"acme\"]", IDENTITY_FAULT_NONE},
        {"\"sub\":\"alice+x@example.com\",\"org\":\"acme\"", IDENTITY_FAULT_NONE},
        {"\"org\":\"acme\"", IDENTITY_FAULT_PRINCIPAL},
        {"\"sub\":\"\",\"org\":\"acme\"", IDENTITY_FAULT_PRINCIPAL},
        {"\"sub\":\"a b\",\"org\":\"acme\"", IDENTITY_FAULT_PRINCIPAL},
        {"\"sub\":\"a\\nb\",\"org\":\"acme\"", IDENTITY_FAULT_PRINCIPAL},
        {"\"sub\":\"b\\u00f6t\",\"org\":\"acme\"", IDENTITY_FAULT_PRINCIPAL},
        {"\"sub\":7,\"org\":\"acme\"", IDENTITY_FAULT_PRINCIPAL},
        {"\"sub\":[\"a\",\"b\"],\"org\":\"acme\"", IDENTITY_FAULT_PRINCIPAL},
        {"\"sub\":{\"a\":\"b\"},\"org\":\"acme\"", IDENTITY_FAULT_PRINCIPAL},
        {"\"sub\":\"bot\"", IDENTITY_FAULT_TENANT},
        {"\"sub\":\"bot\",\"org\":[\"acme\",\"umbrella\"]", IDENTITY_FAULT_TENANT},
        {"\"sub\":\"bot\",\"org\":[]", IDENTITY_FAULT_TENANT},
        {"\"sub\":\"bot\",\"org\":null", IDENTITY_FAULT_TENANT},
        {"\"sub\":\"bot\",\"org\":\"a\\u202eb\"", IDENTITY_FAULT_TENANT},
    };
    static const struct identity_rename table[] = {{"a1b2", "acme"}, {"c3 d4", "umbrella"}};
    struct identity_token_rules more = rules;
    struct identity_token *token;
    char claims[800], long_name[258];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(claims, sizeof claims, "{\"iss\":\"" ISSUER "\",\"aud\":\"" AUDIENCE "\",%s," TIMES "}", rows[i].who);
        if (judge_claims(claims) != rows[i].fault)
            fail_msg("%s: %s", rows[i].who, identity_fault_text(judge_claims(claims)));
    }
    memset(long_name, 'p', 257);
    long_name[257] = '\0';
    for (int len = 257; len >= 256; len--) {
        snprintf(claims, sizeof claims, "{\"iss\":\"" ISSUER "\",\"aud\":\"" AUDIENCE "\",\"sub\":\"%.*s\",\"org\":\"%.128s\"," TIMES "}",
                 len, long_name, long_name);
        assert_int_equal(judge_claims(claims), len == 256 ? IDENTITY_FAULT_NONE : IDENTITY_FAULT_PRINCIPAL);
    }
    more.tenant = (struct identity_naming){.claim = path_of("$.org"), .table = table, .table_count = 2};
    for (int known = 0; known < 2; known++) {
        snprintf(claims, sizeof claims, "{\"iss\":\"" ISSUER "\",\"aud\":\"" AUDIENCE "\",\"sub\":\"bot\",\"org\":\"%s\"," TIMES "}",
                 known ? "c3 d4" : "acme");
        (void)fake_token(ours, "ES256", HEADER, claims, &text);
        if (!known) {
            EXPECT(identity_token_read(&provider, &more, keys, buf_peek(&text), NOW, &token), TENANT_TABLE);
            continue;
        }
        EXPECT(identity_token_read(&provider, &more, keys, buf_peek(&text), NOW, &token), NONE);
        assert_true(span_is(token->tenant, "umbrella"));
        identity_token_unref(&token);
    }
    more.tenant = (struct identity_naming){.constant = "fixed"};
    EXPECT(identity_token_read(&provider, &more, keys, buf_peek(&text), NOW, &token), NONE);
    assert_true(span_is(token->tenant, "fixed"));
    identity_token_unref(&token);
}

TEST_CASE(test_require)
{
    static const struct { const char *more; bool holds; } rows[] = {
        {",\"token_use\":\"access\",\"mfa\":true,\"acr\":2", true}, {",\"token_use\":\"access\",\"mfa\":\"true\",\"acr\":\"2\"", true},
        {",\"token_use\":\"id\",\"mfa\":true,\"acr\":2", false},    {",\"mfa\":true,\"acr\":2", false},
        {",\"token_use\":[\"access\"],\"mfa\":true,\"acr\":2", false}, {",\"token_use\":\"access\",\"mfa\":false,\"acr\":2", false},
        {",\"token_use\":\"access\",\"mfa\":true,\"acr\":20", false}, {"", false},
    };
    struct identity_require require[] = {{path_of("$.token_use"), "access"}, {path_of("$['mfa']"), "true"}, {path_of("$.acr"), "2"}};
    struct identity_token_rules more = rules;
    struct identity_token *token;
    char claims[400];

    more.require = require;
    more.require_count = 3;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(claims, sizeof claims, "{" REST "," TIMES "%s}", rows[i].more);
        (void)fake_token(ours, "ES256", HEADER, claims, &text);
        assert_int_equal(identity_token_read(&provider, &more, keys, buf_peek(&text), NOW, &token),
                         rows[i].holds ? IDENTITY_FAULT_NONE : IDENTITY_FAULT_REQUIRED);
        identity_token_unref(&token);
    }
}

TEST_CASE(test_groups_and_scopes)
{
    static const struct { const char *more; enum identity_fault fault; size_t groups, scopes; } rows[] = {
        {"\"x\":1", IDENTITY_FAULT_NONE, 0, 0},
        {"\"groups\":null", IDENTITY_FAULT_NONE, 0, 0},
        {"\"groups\":[]", IDENTITY_FAULT_NONE, 0, 0},
        {"\"groups\":\"one\"", IDENTITY_FAULT_NONE, 1, 0},
        {"\"groups\":[\"a\",\"b c\",\"d\"]", IDENTITY_FAULT_NONE, 3, 0},
        {"\"groups\":[\"a\",7]", IDENTITY_FAULT_GROUPS, 0, 0},
        {"\"groups\":[\"a\",[\"b\"]]", IDENTITY_FAULT_GROUPS, 0, 0},
        {"\"groups\":{\"a\":true}", IDENTITY_FAULT_GROUPS, 0, 0},
        {"\"groups\":[\"\"]", IDENTITY_FAULT_GROUPS, 0, 0},
        {"\"groups\":[\"a\\u0001\"]", IDENTITY_FAULT_GROUPS, 0, 0},
        {"\"groups\":[\"\\u202eadmin\"]", IDENTITY_FAULT_GROUPS, 0, 0},
        {"\"groups\":[\"a\"],\"_claim_names\":{\"groups\":\"src1\"}", IDENTITY_FAULT_GROUPS_ELSEWHERE, 0, 0},
        {"\"_claim_names\":{\"groups\":\"src1\"}", IDENTITY_FAULT_GROUPS_ELSEWHERE, 0, 0},
        {"\"hasgroups\":true", IDENTITY_FAULT_GROUPS_ELSEWHERE, 0, 0},
        {"\"_claim_names\":{\"address\":\"src1\"}", IDENTITY_FAULT_NONE, 0, 0},
        {"\"scope\":\"a b  c \"", IDENTITY_FAULT_NONE, 0, 3},
        {"\"scope\":\"\"", IDENTITY_FAULT_NONE, 0, 0},
        {"\"scope\":\"a\"", IDENTITY_FAULT_NONE, 0, 1},
        {"\"scp\":[\"a\",\"b\"]", IDENTITY_FAULT_NONE, 0, 2},
        {"\"scp\":\"a b\"", IDENTITY_FAULT_NONE, 0, 2},
        {"\"scope\":\"a\",\"scp\":[\"b\",\"c\"]", IDENTITY_FAULT_NONE, 0, 1},
        {"\"scope\":7", IDENTITY_FAULT_SCOPES, 0, 0},
        {"\"scope\":\"a\\tb\"", IDENTITY_FAULT_SCOPES, 0, 0},
        {"\"scope\":\"a\\\"b\"", IDENTITY_FAULT_SCOPES, 0, 0},
        {"\"scp\":[\"a b\"]", IDENTITY_FAULT_SCOPES, 0, 0},
        {"\"scp\":[\"a\",null]", IDENTITY_FAULT_SCOPES, 0, 0},
    };
    struct identity_token_rules more = rules;
    char claims[400];

    more.groups = path_of("$.groups");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct identity_token *token;

        snprintf(claims, sizeof claims, "{" REST "," TIMES ",%s}", rows[i].more);
        (void)fake_token(ours, "ES256", HEADER, claims, &text);
        if (identity_token_read(&provider, &more, keys, buf_peek(&text), NOW, &token) != rows[i].fault)
            fail_msg("%s", rows[i].more);
        if (token != NULL)
            assert_true(token->group_count == rows[i].groups && token->scope_count == rows[i].scopes);
        identity_token_unref(&token);
    }
}

/* 8.9: a realm as Keycloak has them: nested roles, the tenant in `org`, 8 KB with hundreds of groups. */
TEST_CASE(test_a_large_realm)
{
    struct identity_token_rules more = rules;
    struct identity_token *token;
    struct buf claims;

    buf_init(&claims, 20000);
    buf_add_text(&claims, "{" REST "," TIMES ",\"typ\":\"Bearer\",\"azp\":\"agent\",\"allowed-origins\":[\"/*\"],\"resource_access\":"
                 "{\"account\":{\"roles\":[\"manage-account\"]}},\"https://acme.com/groups\":[\"finance\"],\"realm_access\":{\"roles\":[");
    for (int i = 0; i < 400; i++)
        buf_addf(&claims, "%s\"role-number-%04d\"", i ? "," : "", i);
    buf_add(&claims, "]}}", 4);
    more.groups = path_of("$.realm_access.roles");
    (void)fake_token(ours, "ES256", HEADER, buf_peek(&claims).at, &text);
    assert_true(buf_len(&text) > 8192);
    EXPECT(identity_token_read(&provider, &more, keys, buf_peek(&text), NOW, &token), NONE);
    assert_int_equal(token->group_count, 400);
    assert_true(span_is(token->groups[399], "role-number-0399"));
    identity_token_unref(&token);
    more.groups = path_of("$['https://acme.com/groups']");
    EXPECT(identity_token_read(&provider, &more, keys, buf_peek(&text), NOW, &token), NONE);
    assert_true(token->group_count == 1 && span_is(token->groups[0], "finance"));
    identity_token_unref(&token);
    buf_fini(&claims);
}

TEST_CASE(test_paths)
{
    static const struct { const char *path; unsigned count; } rows[] = {
        {"$.sub", 1}, {"$.a.b_c.d1", 3}, {"$['a']", 1}, {"$[\"a b\"].c['d.e']", 3}, {"$['https://acme.com/groups']", 1},
        {"$.a.b.c.d.e.f.g.h", 8}, {"$.\xc3\xa4", 1},
        {"$", 0}, {"", 0}, {"sub", 0}, {"$.", 0}, {"$..a", 0}, {"$.a.", 0}, {"$[a]", 0}, {"$['a", 0}, {"$['a'", 0}, {"$['']", 0},
        {"$['a\\u0062']", 0}, {"$.*", 0}, {"$.a[*]", 0}, {"$.a[0]", 0}, {"$.a b", 0}, {"$.a.b.c.d.e.f.g.h.i", 0}, {"$['a'x]", 0},
        {"$ .a", 0}, {"$.a-b", 0},
    };
    struct identity_path path;
    struct why why;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        why.text[0] = '\0';
        assert_int_equal(identity_path_read(rows[i].path, &path, &why), rows[i].count > 0 ? CODE_OK : CODE_INVALID);
        if (rows[i].count > 0)
            assert_int_equal(path.count, rows[i].count);
        else
            assert_true(why.text[0] != '\0');
    }
    assert_ok(identity_path_read("$[\"a b\"].c['d.e']", &path, NULL));
    assert_true(span_is(path.steps[0], "a b") && span_is(path.steps[1], "c") && span_is(path.steps[2], "d.e"));
}

/* ---- what it is bound to ---- */

TEST_CASE(test_bound)
{
    static const char *const refused[] = {"{}", "[]", "\"x\"", "null", "{\"kid\":\"a\"}", "{\"jwk\":{}}", "{\"jkt\":7}",
                                          "{\"jkt\":\"AAAA\"}",
                                          "{\"x5t#S256\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"}",
                                          "{\"jkt\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\",\"jku\":\"x\"}"};
    unsigned char certificate[DIGEST_BYTES] = {0};
    struct identity_token *token;
    char claims[500];

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        snprintf(claims, sizeof claims, "{" REST "," TIMES ",\"cnf\":%s}", refused[i]);
        EXPECT(judge_claims(claims), CONFIRMATION);
    }
    (void)fake_token(ours, "ES256", HEADER, "{" REST "," TIMES ",\"cnf\":{\"x5t#S256\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}}",
                     &text);
    EXPECT(identity_token_read(&provider, &rules, keys, buf_peek(&text), NOW, &token), NONE);
    assert_int_equal(token->bound, IDENTITY_BOUND_CERTIFICATE);
    EXPECT(identity_token_check_certificate(token, NULL), CERTIFICATE_MISSING);
    EXPECT(identity_token_check_certificate(token, certificate), NONE);
    certificate[31] = 1;
    EXPECT(identity_token_check_certificate(token, certificate), CERTIFICATE_OTHER);
    identity_token_unref(&token);
    (void)fake_token(ours, "ES256", HEADER, CLAIMS, &text);
    EXPECT(identity_token_read(&provider, &rules, keys, buf_peek(&text), NOW, &token), NONE);
    EXPECT(identity_token_check_certificate(token, NULL), NONE);
    identity_token_unref(&token);
}

/* ---- opaque tokens ---- */

TEST_CASE(test_introspected)
{
    static const struct { const char *answer; enum identity_fault fault; int64_t expires; } rows[] = {
        {"{\"active\":true," REST ",\"exp\":1800000030}", IDENTITY_FAULT_NONE, 1800000030},
        {"{\"active\":true," REST ",\"exp\":1800009999,\"scope\":\"a b\",\"token_type\":\"bearer\"}", IDENTITY_FAULT_NONE, 1800000060},
        {"{\"active\":true,\"aud\":\"" AUDIENCE "\"," WHO "}", IDENTITY_FAULT_NONE, 1800000060},
        {"{\"active\":true," REST ",\"exp\":1899999999}", IDENTITY_FAULT_NONE, 1800000060},
        {"{\"active\":true," REST ",\"exp\":1799999939}", IDENTITY_FAULT_EXPIRED, 0},
        {"{\"active\":true," REST ",\"exp\":\"x\"}", IDENTITY_FAULT_TIMES, 0},
        {"{\"active\":false}", IDENTITY_FAULT_INACTIVE, 0},
        {"{\"active\":\"true\"," REST "}", IDENTITY_FAULT_INACTIVE, 0},
        {"{" REST "}", IDENTITY_FAULT_INACTIVE, 0},
        {"{\"active\":true,\"active\":false," REST "}", IDENTITY_FAULT_CLAIMS, 0},
        {"{\"active\":true," WHO "}", IDENTITY_FAULT_AUDIENCE, 0},
        {"{\"active\":true,\"iss\":\"https://evil.example\",\"aud\":\"" AUDIENCE "\"," WHO "}", IDENTITY_FAULT_ISSUER, 0},
        {"{\"active\":true," REST ",\"token_type\":\"refresh_token\"}", IDENTITY_FAULT_TYPE, 0},
        {"{\"active\":true," REST ",\"token_type\":7}", IDENTITY_FAULT_TYPE, 0},
        {"{\"active\":true," REST ",\"typ\":\"Refresh\"}", IDENTITY_FAULT_ID_TOKEN, 0},
        {"{\"active\":true," REST ",\"cnf\":{\"kid\":\"x\"}}", IDENTITY_FAULT_CONFIRMATION, 0},
        {"[true]", IDENTITY_FAULT_CLAIMS, 0}, {"", IDENTITY_FAULT_CLAIMS, 0}, {"true", IDENTITY_FAULT_CLAIMS, 0},
    };
    unsigned char digest[DIGEST_BYTES];

    digest_of(SPAN_LIT("opaque"), digest);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct identity_token *token;

        if (identity_token_introspected(&provider, &rules, SPAN_LIT("opaque"), span_text(rows[i].answer), NOW, &token) != rows[i].fault)
            fail_msg("%s", rows[i].answer);
        assert_true((token != NULL) == (rows[i].fault == IDENTITY_FAULT_NONE));
        if (token == NULL)
            continue;
        assert_true(span_is(token->principal, "bot") && token->expires_us == rows[i].expires * SECOND);
        assert_memory_equal(token->sha256, digest, DIGEST_BYTES);
        identity_token_unref(&token);
    }
}

/* A person's login: an ID token, and nothing that says it is something else. */
TEST_CASE(test_login)
{
    static const struct { const char *header, *more; enum identity_fault fault; } rows[] = {
        {"{\"alg\":\"ES256\",\"kid\":\"k1\"}", "\"nonce\":\"n\",\"at_hash\":\"h\"", IDENTITY_FAULT_NONE},
        {"{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"JWT\"}", "\"typ\":\"ID\",\"azp\":\"" AUDIENCE "\"", IDENTITY_FAULT_NONE},
        {"{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"JWT\"}", "\"token_use\":\"id\"", IDENTITY_FAULT_NONE},
        {"{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"JWT\"}", "\"azp\":\"other\"", IDENTITY_FAULT_AUDIENCE},
        {"{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"JWT\"}", "\"typ\":\"Bearer\"", IDENTITY_FAULT_LOGIN},
        {"{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"JWT\"}", "\"token_use\":\"access\"", IDENTITY_FAULT_LOGIN},
        {"{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"JWT\"}", "\"act\":{\"sub\":\"agent\"}", IDENTITY_FAULT_LOGIN},
        {"{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"JWT\"}", "\"events\":{}", IDENTITY_FAULT_LOGIN},
        {HEADER, "\"x\":1", IDENTITY_FAULT_LOGIN},
        {"{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"dpop+jwt\"}", "\"x\":1", IDENTITY_FAULT_LOGIN},
    };
    struct identity_token_rules login = rules;
    char claims[400];

    login.is_login = true;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct identity_token *token;

        snprintf(claims, sizeof claims, "{" REST "," TIMES ",%s}", rows[i].more);
        (void)fake_token(ours, "ES256", rows[i].header, claims, &text);
        if (identity_token_read(&provider, &login, keys, buf_peek(&text), NOW, &token) != rows[i].fault)
            fail_msg("%s %s", rows[i].header, rows[i].more);
        identity_token_unref(&token);
    }
}

TEST_CASE(test_what_it_looks_like)
{
    struct identity_token_hint hint;

    assert_true(identity_token_looks(fake_token(ours, "ES256", HEADER, CLAIMS, &text), &hint));
    assert_string_equal(hint.issuer, ISSUER);
    assert_string_equal(hint.key_id, "k1");
    assert_true(identity_token_looks(fake_token(ours, "none", "{\"alg\":\"none\"}", CLAIMS, &text), &hint));
    assert_string_equal(hint.key_id, "");
    assert_true(identity_token_looks(SPAN_LIT("eyJ4.e30."), &hint)); /* a wrong one is none for introspection */
    assert_string_equal(hint.issuer, "");
    assert_false(identity_token_looks(SPAN_LIT("cg_abcdefghijklmnopqrstuvwxyz"), &hint));
    assert_false(identity_token_looks(SPAN_LIT("abc.def.ghi"), &hint));
    assert_false(identity_token_looks(SPAN_LIT("v2.local.eyJ"), &hint));
    assert_false(identity_token_looks(SPAN_LIT("abc.def"), &hint));
    assert_false(identity_token_looks(SPAN_NONE, &hint));
}

TEST_MAIN(set_up, tear_down)
