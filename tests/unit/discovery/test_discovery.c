/* SPDX-License-Identifier: Apache-2.0 */
/* 5.9, 5.17, 8.3: what an upstream's challenge and metadata become under another name, whatever stands in them; what the gate says of
 * a route that takes tokens; and where tokens may stand. */
#include "fakes/cm.h"
#include "discovery/discovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URL "https://gate.example/.well-known/oauth-protected-resource/pub/shop/mcp"
#define ALONE "Bearer resource_metadata=\"" URL "\""

static const struct proxy_route route = {
    .public_url = {"https://gate.example/pub/{slug}/mcp", 35},
    .public_path_at = 20,
};

static struct exchange *made(void)
{
    struct exchange *exchange = mem_zalloc(sizeof *exchange);

    assert_non_null(exchange);
    exchange_init(exchange);
    exchange->own = exchange->call = arena_zalloc(&exchange->arena, sizeof *exchange->call);
    assert_non_null(exchange->call);
    exchange->route = &route;
    exchange->slug = SPAN_LIT("shop");
    return exchange;
}

static void drop(struct exchange *exchange)
{
    exchange_rest(exchange);
    exchange_fini(exchange);
    mem_free(exchange);
}

TEST_CASE(test_challenges)
{
    static const struct {
        const char *value, *wanted;
    } cases[] = {
        {"", ""},
        {"Bearer", "Bearer"},
        {"Bearer resource_metadata=\"https://x/y\"", "Bearer resource_metadata=\"" URL "\""},
        {"Bearer realm=\"a\", Resource_Metadata = \"x\" , error=\"e\"", "Bearer realm=\"a\", Resource_Metadata=\"" URL "\" , error=\"e\""},
        {"Bearer resource_metadata=token, a=b", "Bearer resource_metadata=\"" URL "\", a=b"},
        /* Where clients' patterns find it all the same: in quotes, in or behind another name. */
        {"Bearer realm=\"resource_metadata=x\"", ALONE}, {"Bearer realm=\"a\\\" resource_metadata=x\"", ALONE},
        {"Bearer resource_metadata=\"a\", realm=\"Resource_Metadata=x\"", ALONE}, {"Bearer xresource_metadata=\"x\"", ALONE},
        {"Bearer resource_metadatax=\"x\"", ALONE}, {"Bearer resource_metadata", ALONE}, {"Bearer resource_metadata*=x", ALONE},
        {"Bearer a=\"b\"resource_metadata=\"x\"", ALONE}, {"Bearer a=b;resource_metadata=x", ALONE},
        {"Bearer realm=\"metadata\", resource=\"x\"", "Bearer realm=\"metadata\", resource=\"x\""},
        {"Bearer resource_metadata=", "Bearer resource_metadata=\"" URL "\""},
        {"Bearer resource_metadata=\"open", "Bearer resource_metadata=\"" URL "\""},
        {"Bearer resource_metadata=\"open\\", "Bearer resource_metadata=\"" URL "\""},
        {"Bearer resource_metadata=\"a\\\"b\", c=d", "Bearer resource_metadata=\"" URL "\", c=d"},
        {"Basic, Bearer\tresource_metadata=\"a\",resource_metadata=b",
         "Basic, Bearer\tresource_metadata=\"" URL "\",resource_metadata=\"" URL "\""},
    };
    struct exchange *exchange = made();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out;
        /* Of its own size, so that a byte read too far is seen. */
        char *value = mem_dup(cases[i].value, strlen(cases[i].value));

        buf_init(&out, 4096);
        assert_ok(discovery_rewrite_challenge(exchange, span_of(value, strlen(cases[i].value)), &out));
        if (!span_is(buf_peek(&out), cases[i].wanted))
            fail_msg("%s: %.*s", cases[i].value, SPAN_ARG(buf_peek(&out)));
        buf_fini(&out);
        mem_free(value);
    }
    drop(exchange);
}

/* Each `resource_metadata` is followed by the gate's URL, wherever it stands. */
static bool points_here(struct span text)
{
    static const struct span name = {"resource_metadata", 17}, wanted = {"=\"" URL "\"", sizeof URL + 2};

    for (size_t i = 0; i + name.len <= text.len; i++)
        if (span_equals_nocase(span_part(text, i, name.len), name) &&
            !span_starts_with(span_part(text, i + name.len, SIZE_MAX), wanted))
            return false;
    return true;
}

/* Whatever comes, no name but the gate's is told after `resource_metadata=`, and nothing is read past the end. */
TEST_CASE(test_any_challenge)
{
    static const char *const words[] = {"resource_metadata", "=", "\"", "\\", ",", " ", "Bearer", "x", "https://up/", "\t"};
    struct exchange *exchange = made();
    unsigned seed = 4711;

    for (size_t n = 0; n < 20000; n++) {
        struct buf in, out;

        buf_init(&in, 4096);
        buf_init(&out, 65536);
        for (size_t i = 0; i < n % 12; i++) {
            seed = seed * 1103515245 + 12345;
            assert_ok(buf_add_text(&in, words[(seed >> 16) % (sizeof words / sizeof *words)]));
        }
        assert_ok(discovery_rewrite_challenge(exchange, buf_peek(&in), &out));
        assert_true(buf_len(&out) < 4096);
        if (!points_here(buf_peek(&out)))
            fail_msg("%.*s: %.*s", SPAN_ARG(buf_peek(&in)), SPAN_ARG(buf_peek(&out)));
        buf_fini(&in);
        buf_fini(&out);
    }
    drop(exchange);
}

TEST_CASE(test_metadata)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"{\"resource\":\"http://up/mcp\"}", "{\"resource\":\"https://gate.example/pub/shop/mcp\"}"},
        {" { \"a\" : 1.50 , \"resource\" : \"http://UP:80/\" , \"b\" : { \"resource\" : \"y\" } } ",
         "{\"a\":1.50,\"resource\":\"https://gate.example/pub/shop/mcp\",\"b\":{\"resource\":\"y\"}}"},
        {"{\"resource\":1}", NULL}, {"{\"Resource\":\"x\"}", NULL}, {"[\"resource\"]", NULL}, {"\"resource\"", NULL},
        /* 10.20: a foreign one */
        {"{\"resource\":\"https://up/mcp\"}", NULL}, {"{\"resource\":\"http://up:81/mcp\"}", NULL},
        {"{\"resource\":\"http://up/mc\"}", NULL}, {"{\"resource\":\"http://up/mcp/x\"}", NULL},
        {"{\"resource\":\"http://up/mcp?x\"}", NULL}, {"{\"resource\":\"http://up@evil/mcp\"}", NULL},
        {"{\"resource\":\"a\",\"resource\":\"b\"}", NULL}, {"{\"resource\":\"a\"", NULL}, {"", NULL},
    };
    struct proxy_route to_up = route;
    struct pair *pair = mem_zalloc(sizeof *pair);

    assert_non_null(pair);
    to_up.upstream.authority = SPAN_LIT("up");
    to_up.upstream.path = SPAN_LIT("/mcp");
    exchange_init(&pair->exchange);
    pair->exchange.route = &to_up;
    pair->exchange.slug = SPAN_LIT("shop");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out;
        enum reason reason;

        buf_init(&out, 4096);
        reason = discovery_rewrite_metadata(pair, span_text(cases[i].text), &out);
        assert_int_equal(reason, cases[i].wanted != NULL ? REASON_PERMITTED : REASON_UPSTREAM_JSON);
        assert_true(span_is(buf_peek(&out), cases[i].wanted != NULL ? cases[i].wanted : ""));
        buf_fini(&out);
    }
    exchange_fini(&pair->exchange);
    mem_free(pair);
}

/* Whose metadata a declared path asks for: a slug must be known, and of a wildcard the rest must be the route's own URL. */
TEST_CASE(test_whose_metadata)
{
    static const struct span globs[] = {{"shop", 4}, {"x-*", 3}};
    static const struct {
        const char *path, *slug, *found;
        bool is_wild, is_own;
    } cases[] = {
        {"/pub/shop/mcp", "shop", "shop", false, true}, {"/else", "shop", "shop", false, true}, {"/pub/shop/mcp", "", "", false, false},
        {"/pub/shop/mcp", "", "shop", true, true}, {"/pub/x-1/mcp", "", "x-1", true, true}, {"/pub/other/mcp", "", "", true, false},
        {"/pub/shop/mcp", "x-1", "x-1", true, false}, {"/pub/shop/mcp/", "", "", true, false}, {"/shop/mcp", "", "", true, false},
        {"", "", "", true, false}, {"x", "", "", true, false},
    };
    struct proxy_route own = route;
    struct span slug = SPAN_NONE;

    own.slugs = (struct slug_list){globs, 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct proxy_pass pass = {.is_wild = cases[i].is_wild};
        char path[128];

        (void)snprintf(path, sizeof path, "/.well-known/oauth-protected-resource%s", cases[i].path);
        slug = span_text(cases[i].slug);
        if (discovery_is_own(&own, &pass, span_text(path), &slug) != cases[i].is_own || !span_is(slug, cases[i].found))
            fail_msg("case %zu: %.*s", i, SPAN_ARG(slug));
    }
    own.slugs.count = 0;
    own.public_url = SPAN_LIT("https://gate.example/a");
    for (int wild = 0; wild < 2; wild++) {
        struct proxy_pass pass = {.is_wild = wild == 1};

        slug = SPAN_NONE;
        assert_true(discovery_is_own(&own, &pass, SPAN_LIT("/.well-known/oauth-protected-resource"), &slug));
        assert_true(discovery_is_own(&own, &pass, SPAN_LIT("/.well-known/oauth-protected-resource/a"), &slug));
        assert_true(discovery_is_own(&own, &pass, SPAN_LIT("/.well-known/oauth-protected-resource/b"), &slug) == (wild == 0));
        assert_true(discovery_is_own(&own, &pass, SPAN_LIT("/.well-known/other/b"), &slug));
    }
}

TEST_CASE(test_own_challenge)
{
    static const struct identity_source all[] = {{.kind = IDENTITY_API_KEY, .header = "X-Key"}, {.kind = IDENTITY_CERTIFICATE},
                                                 {.kind = IDENTITY_BEARER}};
    struct proxy_route taken = {.identity = all, .identity_count = 3};
    struct exchange *exchange = made();
    struct buf out;

    buf_init(&out, 4096);
    exchange->route = &taken;
    assert_ok(discovery_challenge(exchange, REASON_CREDENTIAL_MISSING, &out));
    assert_true(span_is(buf_peek(&out), "WWW-Authenticate: Bearer realm=\"callgate\", ApiKey realm=\"callgate\", "
                                        "header=\"X-Key\", Certificate realm=\"callgate\"\r\n"));
    assert_true(span_is(discovery_say(exchange), "Send it as X-Key or as a client certificate or as Authorization: Bearer."));
    buf_clear(&out);
    taken.identity_count = 1;
    assert_ok(discovery_challenge(exchange, REASON_CREDENTIAL_WRONG, &out));
    assert_true(span_is(buf_peek(&out), "WWW-Authenticate: ApiKey realm=\"callgate\", header=\"X-Key\"\r\n"));
    buf_clear(&out);
    taken.identity_count = 0;
    assert_ok(discovery_challenge(exchange, REASON_CREDENTIAL_WRONG, &out));
    assert_true(buf_is_empty(&out));
    buf_fini(&out);
    drop(exchange);
}

/* ---- 8.3: the route as a protected resource ---- */

static const struct identity_source tokens[] = {{.kind = IDENTITY_API_KEY, .header = "X-Key"}, {.kind = IDENTITY_TOKEN},
                                                {.kind = IDENTITY_BEARER}};
static struct span servers[] = {{"https://id.example/realms/\"corp", 31}, {"https://other.example", 21}};
static const struct span scopes[] = {{"tools:read", 10}, {"a\"b", 3}, {"tools:read", 10}, {"c", 1}, {"d\r\nSet-Cookie: e", 17}};

static struct proxy_route protected_route(void)
{
    struct proxy_route own = route;

    own.identity = tokens;
    own.identity_count = 3;
    own.resource = (struct proxy_resource){.servers = servers, .server_count = 2, .scopes = scopes, .scope_count = 5};
    return own;
}

static void expect_challenge(const struct exchange *exchange, enum reason reason, const char *wanted)
{
    struct buf out;

    buf_init(&out, 8192);
    assert_ok(discovery_challenge(exchange, reason, &out));
    if (!span_is(buf_peek(&out), wanted))
        fail_msg("%.*s", SPAN_ARG(buf_peek(&out)));
    buf_fini(&out);
}

/* What is no scope token is not told, whoever wrote it; what was wrong only of who showed a token. */
TEST_CASE(test_token_challenge)
{
    struct proxy_route own = protected_route();
    struct exchange *exchange = made();

    exchange->route = &own;
    expect_challenge(exchange, REASON_CREDENTIAL_MISSING, "WWW-Authenticate: Bearer resource_metadata=\"" URL "\", scope=\"tools:read c\", "
                                                          "ApiKey realm=\"callgate\", header=\"X-Key\"\r\n");
    exchange->identity.authentication = SPAN_LIT("api_key");
    expect_challenge(exchange, REASON_CREDENTIAL_WRONG, "WWW-Authenticate: Bearer resource_metadata=\"" URL "\", scope=\"tools:read c\", "
                                                        "ApiKey realm=\"callgate\", header=\"X-Key\"\r\n");
    exchange->identity.authentication = SPAN_LIT("token");
    own.identity_count = 2;
    own.identity = tokens + 1;
    expect_challenge(exchange, REASON_CREDENTIAL_WRONG, "WWW-Authenticate: Bearer resource_metadata=\"" URL "\", error=\"invalid_token\", "
                                                        "scope=\"tools:read c\"\r\n");
    own.public_url = SPAN_NONE;
    own.resource.scope_count = 0;
    expect_challenge(exchange, REASON_CREDENTIAL_MISSING, "WWW-Authenticate: Bearer realm=\"callgate\"\r\n");
    own.resource.dpop = true;
    expect_challenge(exchange, REASON_CREDENTIAL_MISSING, "WWW-Authenticate: DPoP realm=\"callgate\", algs=\"RS256 RS384 RS512 PS256 PS384 "
                                                          "PS512 ES256 ES384 ES512 EdDSA Ed25519\"\r\n");
    drop(exchange);
}

/* A denial says the scope that is missing and those that are there, once each, and no other word. */
TEST_CASE(test_step_up)
{
    static const struct span has[] = {{"mine", 4}, {"tools:write", 11}, {"x\"y", 3}};
    struct proxy_route own = protected_route();
    struct exchange *exchange = made();

    exchange->route = &own;
    exchange->call->verdict.reason = REASON_NO_RULE;
    exchange->call->asked.scopes = has;
    exchange->call->asked.scope_count = 3;
    assert_false(discovery_steps_up(exchange, REASON_NO_RULE));
    exchange->lacking = SPAN_LIT("tools:write");
    assert_true(discovery_steps_up(exchange, REASON_NO_RULE));
    assert_false(discovery_steps_up(exchange, REASON_UPSTREAM_SILENT));
    expect_challenge(exchange, REASON_NO_RULE, "WWW-Authenticate: Bearer resource_metadata=\"" URL "\", error=\"insufficient_scope\", "
                                               "scope=\"tools:write mine\"\r\n");
    drop(exchange);
}

TEST_CASE(test_own_metadata)
{
    static const char *const wanted[] = {
        "{\"resource\":\"https://gate.example/pub/shop/mcp\",\"authorization_servers\":[\"https://id.example/realms/\\\"corp\","
        "\"https://other.example\"],\"bearer_methods_supported\":[\"header\"]}",
        "{\"resource\":\"https://gate.example/pub/shop/mcp\",\"authorization_servers\":[\"https://id.example/realms/\\\"corp\"],"
        "\"scopes_supported\":[\"tools:read\"],\"bearer_methods_supported\":[\"header\"],\"dpop_bound_access_tokens_required\":true,"
        "\"dpop_signing_alg_values_supported\":[\"RS256\",\"RS384\",\"RS512\",\"PS256\",\"PS384\",\"PS512\",\"ES256\",\"ES384\",\"ES512\","
        "\"EdDSA\",\"Ed25519\"],\"tls_client_certificate_bound_access_tokens\":true}"};
    struct proxy_route own = protected_route();
    struct exchange *exchange = made();

    exchange->route = &own;
    own.resource.scope_count = 0;
    for (int i = 0; i < 2; i++) {
        struct buf out;

        buf_init(&out, 8192);
        assert_ok(discovery_write_metadata(exchange, &out));
        if (!span_is(buf_peek(&out), wanted[i]))
            fail_msg("%.*s", SPAN_ARG(buf_peek(&out)));
        buf_fini(&out);
        own.resource = (struct proxy_resource){.servers = servers, .server_count = 1, .scopes = scopes, .scope_count = 1,
                                               .dpop = true, .certificate = true};
    }
    drop(exchange);
}

/* Whatever lacks memory, an answer that is not whole is none. */
TEST_CASE(test_each_append)
{
    static const struct span has[] = {{"mine", 4}, {"other", 5}};
    struct proxy_route own = protected_route();
    struct exchange *exchange = made();

    own.resource.dpop = true;
    exchange->route = &own;
    exchange->call->verdict.reason = REASON_NO_RULE;
    exchange->call->asked.scopes = has;
    exchange->call->asked.scope_count = 2;
    exchange->lacking = SPAN_LIT("tools:write");
    for (int what = 0; what < 3; what++)
        for (uint64_t nth = 1, count = 2; nth < count; nth++) {
            struct buf out;
            enum code code;

            buf_init(&out, 8192);
            mem_fail_at(nth, nth % 2 == 0);
            code = what == 0   ? discovery_write_metadata(exchange, &out)
                   : what == 1 ? discovery_challenge(exchange, REASON_NO_RULE, &out)
                               : discovery_challenge(exchange, REASON_CREDENTIAL_MISSING, &out);
            count = nth == 1 ? 200 : count;
            mem_fail_at(0, 0);
            assert_true(code == CODE_OK || code == CODE_NOMEM);
            buf_fini(&out);
        }
    drop(exchange);
}

/* Of which paths the gate makes metadata. */
TEST_CASE(test_where_metadata_are)
{
    static const struct span globs[] = {{"shop", 4}};
    static const struct {
        const char *url, *rest;
        bool subtree, has_slugs, is_made;
    } cases[] = {
        {"https://g/{slug}/mcp", "/shop/mcp", false, true, true}, {"https://g/{slug}/mcp", "/other/mcp", false, true, false},
        {"https://g/{slug}/mcp", "", false, true, false}, {"https://g/mcp", "/mcp", false, false, true},
        {"https://g/mcp", "/mcp/x", false, false, false}, {"https://g/mcp", "/mcp/x/y", true, false, true},
        {"https://g/mcp", "/mcpx", true, false, false}, {"https://g/mcp", "/MCP", false, false, false},
        {"https://g/", "", false, false, true},
        {"https://g/", "/", false, false, false}, {"https://g", "", false, false, true}, {"https://g", "/x", false, false, false},
        {"https://g", "/x", true, false, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct proxy_route own = protected_route();
        struct span slug;
        char path[128];

        own.public_url = span_text(cases[i].url);
        own.public_path_at = own.public_url.len < 9 ? own.public_url.len : 9;
        own.subtree = cases[i].subtree;
        own.slugs = (struct slug_list){globs, cases[i].has_slugs ? 1 : 0};
        (void)snprintf(path, sizeof path, "/.well-known/oauth-protected-resource%s", cases[i].rest);
        if ((discovery_find(&own, span_text(path), &slug) != NULL) != cases[i].is_made)
            fail_msg("%s: %s", cases[i].url, path);
        assert_null(discovery_find(&own, span_part(span_text(path), 1, SIZE_MAX), &slug));
        own.resource.server_count = 0;
        assert_null(discovery_find(&own, span_text(path), &slug));
    }
}

/* RFC 6750, 2: a token has one place, however another spells its own. */
TEST_CASE(test_spread)
{
    static const struct {
        const char *target, *lines;
        bool is_spread;
    } cases[] = {
        {"/mcp", "Authorization: Bearer abcdefgh12\r\n", false}, {"/mcp", "", false}, {"/mcp", "X-A: Bearer\r\n", false},
        {"/mcp", "Authorization: Bearer abcdefgh12\r\nX-Forwarded-Access-Token: abcdefgh12\r\n", true},
        {"/mcp", "Authorization: Bearer abcdefgh12\r\nCookie: t=abcdefgh12; a=b\r\n", true},
        {"/mcp", "Authorization: Bearer   abcdefgh12\r\nProxy-Authorization: Bearer abcdefgh12\r\n", true},
        {"/mcp", "Authorization: Bearer short\r\nX-A: short\r\n", false},
        {"/mcp?a=abcdefgh12", "Authorization: Bearer abcdefgh12\r\n", true}, {"/mcp?a=b", "Authorization: Bearer abcdefgh12\r\n", false},
        {"/mcp?access_token=x", "", true}, {"/mcp?a=b&ACCESS_token=x", "", true}, {"/mcp?a=b;access%5ftoken=x", "", true},
        {"/mcp?%61ccess_token", "", true}, {"/mcp?access_tokens=x", "", false}, {"/mcp?a=access_token", "", false},
        {"/mcp?access_toke", "", false}, {"/mcp?xaccess_token=x", "", false}, {"/mcp?access%5", "", false}, {"/mcp?", "", false},
        {"/mcp?a=%61bcdefgh%312", "Authorization: Bearer abcdefgh12\r\n", true},
        {"/mcp?a=b%2", "Authorization: Bearer abcdefgh12\r\n", false},
        {"/mcp?x=abcde%2Bfgh%3D%3d", "Authorization: Bearer abcde+fgh==\r\n", true},
        {"/mcp?x=%61bcdefgh%31", "Authorization: Bearer abcdefgh12\r\n", false},
        /* 10.7: several rounds of escapes, in names, values and headers; more than four are more than anybody means */
        {"/mcp?%2561ccess%255ftoken=x", "", true}, {"/mcp?a%2526access_token%253Dx", "", true}, {"/mcp?%%36%31ccess_token=x", "", true},
        {"/mcp?%252525252561", "", true}, {"/mcp?a=%25252561", "", false}, {"/mcp?a=100%25", "", false},
        {"/mcp?a=%2561bcdefgh%253%32", "Authorization: Bearer abcdefgh12\r\n", false},
        {"/mcp?a=%2561bcdefgh%2531%252532", "Authorization: Bearer abcdefgh12\r\n", true},
        {"/mcp", "Authorization: Bearer abcdefgh12\r\nX-Other: a%2562cdefgh12\r\nX-Y: %2561bcdefgh12\r\n", true},
        {"/mcp", "Authorization: Bearer abcde/fgh\r\nCookie: t=abcde%2Ffgh\r\n", true},
        {"/mcp/abcdefgh12/x", "Authorization: Bearer abcdefgh12\r\n", true},
        {"/mcp/abcdefgh", "Authorization: Bearer abcdefgh12\r\n", false},
        {"/mcp?a&access_token", "", true}, {"/mcp?;;access_token=x", "", true},
    };
    struct proxy_route own = protected_route();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_reader reader;
        struct span body;
        size_t used;
        char text[512];

        (void)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n", cases[i].target, cases[i].lines);
        http_reader_init_request(&reader, NULL);
        assert_int_equal(http_reader_feed(&reader, span_text(text), &used, &body), HTTP_STEP_HEAD_DONE);
        own.identity_count = 3;
        if (discovery_is_spread(&own, &reader.head) != cases[i].is_spread)
            fail_msg("%s %s", cases[i].target, cases[i].lines);
        own.identity_count = 1;
        assert_false(discovery_is_spread(&own, &reader.head));
        http_reader_fini(&reader);
    }
}

TEST_MAIN(NULL, NULL)
