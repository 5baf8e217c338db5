/* SPDX-License-Identifier: Apache-2.0 */
/* 5.9, 5.17: what an upstream's challenge and metadata become under another name, whatever stands in them. */
#include "fakes/cm.h"
#include "proxy/proxy_priv.h"

#include <stdlib.h>
#include <string.h>

#define URL "https://gate.example/.well-known/oauth-protected-resource/pub/shop/mcp"

static const struct proxy_route route = {
    .public_url = {"https://gate.example/pub/{slug}/mcp", 35},
    .public_path_at = 20,
};

static struct exchange *made(void)
{
    struct exchange *exchange = mem_zalloc(sizeof *exchange);

    assert_non_null(exchange);
    exchange__init(exchange);
    exchange->route = &route;
    exchange->slug = SPAN_LIT("shop");
    return exchange;
}

static void drop(struct exchange *exchange)
{
    exchange__fini(exchange);
    mem_free(exchange);
}

static void test_challenges(void **state)
{
    static const struct {
        const char *value, *wanted;
    } cases[] = {
        {"", ""},
        {"Bearer", "Bearer"},
        {"Bearer resource_metadata=\"https://x/y\"", "Bearer resource_metadata=\"" URL "\""},
        {"Bearer realm=\"a\", Resource_Metadata = \"x\" , error=\"e\"", "Bearer realm=\"a\", Resource_Metadata=\"" URL "\" , error=\"e\""},
        {"Bearer resource_metadata=token, a=b", "Bearer resource_metadata=\"" URL "\", a=b"},
        {"Bearer realm=\"resource_metadata=x\"", "Bearer realm=\"resource_metadata=x\""},
        {"Bearer realm=\"a\\\" resource_metadata=x\"", "Bearer realm=\"a\\\" resource_metadata=x\""},
        {"Bearer xresource_metadata=\"x\"", "Bearer xresource_metadata=\"x\""},
        {"Bearer resource_metadatax=\"x\"", "Bearer resource_metadatax=\"x\""},
        {"Bearer resource_metadata", "Bearer resource_metadata"},
        {"Bearer resource_metadata=", "Bearer resource_metadata=\"" URL "\""},
        {"Bearer resource_metadata=\"open", "Bearer resource_metadata=\"" URL "\""},
        {"Bearer resource_metadata=\"open\\", "Bearer resource_metadata=\"" URL "\""},
        {"Bearer resource_metadata=\"a\\\"b\", c=d", "Bearer resource_metadata=\"" URL "\", c=d"},
        {"Basic, Bearer\tresource_metadata=\"a\",resource_metadata=b",
         "Basic, Bearer\tresource_metadata=\"" URL "\",resource_metadata=\"" URL "\""},
    };
    struct exchange *exchange = made();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out;
        /* Of its own size, so that a byte read too far is seen. */
        char *value = mem_dup(cases[i].value, strlen(cases[i].value));

        buf_init(&out, 4096);
        assert_ok(discovery__rewrite_challenge(exchange, span_of(value, strlen(cases[i].value)), &out));
        if (!span_is(buf_peek(&out), cases[i].wanted))
            fail_msg("%s: %.*s", cases[i].value, SPAN_ARG(buf_peek(&out)));
        buf_fini(&out);
        mem_free(value);
    }
    drop(exchange);
}

/* Whatever comes, no name but the gate's is told after `resource_metadata=`, and nothing is read past the end. */
static void test_any_challenge(void **state)
{
    static const char *const words[] = {"resource_metadata", "=", "\"", "\\", ",", " ", "Bearer", "x", "https://up/", "\t"};
    struct exchange *exchange = made();
    unsigned seed = 4711;

    (void)state;
    for (size_t n = 0; n < 20000; n++) {
        struct buf in, out;

        buf_init(&in, 4096);
        buf_init(&out, 65536);
        for (size_t i = 0; i < n % 12; i++) {
            seed = seed * 1103515245 + 12345;
            assert_ok(buf_add_text(&in, words[(seed >> 16) % (sizeof words / sizeof *words)]));
        }
        assert_ok(discovery__rewrite_challenge(exchange, buf_peek(&in), &out));
        assert_true(buf_len(&out) < 4096);
        buf_fini(&in);
        buf_fini(&out);
    }
    drop(exchange);
}

static void test_metadata(void **state)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"{\"resource\":\"https://up/mcp\"}", "{\"resource\":\"https://gate.example/pub/shop/mcp\"}"},
        {" { \"a\" : 1.50 , \"resource\" : \"x\" , \"b\" : { \"resource\" : \"y\" } } ",
         "{\"a\":1.50,\"resource\":\"https://gate.example/pub/shop/mcp\",\"b\":{\"resource\":\"y\"}}"},
        {"{\"resource\":1}", NULL}, {"{\"Resource\":\"x\"}", NULL}, {"[\"resource\"]", NULL}, {"\"resource\"", NULL},
        {"{\"resource\":\"a\",\"resource\":\"b\"}", NULL}, {"{\"resource\":\"a\"", NULL}, {"", NULL},
    };
    struct exchange *exchange = made();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out;
        enum reason reason;

        buf_init(&out, 4096);
        reason = discovery__rewrite_metadata(exchange, span_text(cases[i].text), &out);
        assert_int_equal(reason, cases[i].wanted != NULL ? REASON_PERMITTED : REASON_UPSTREAM_JSON);
        assert_true(span_is(buf_peek(&out), cases[i].wanted != NULL ? cases[i].wanted : ""));
        buf_fini(&out);
    }
    drop(exchange);
}

static void test_own_challenge(void **state)
{
    static const struct identity_source all[] = {{.kind = IDENTITY_API_KEY, .header = "X-Key"}, {.kind = IDENTITY_CERTIFICATE},
                                                 {.kind = IDENTITY_BEARER}};
    struct proxy_route taken = {.identity = all, .identity_count = 3};
    struct exchange *exchange = made();
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    assert_ok(discovery__challenge(&taken, &out));
    assert_true(span_is(buf_peek(&out), "WWW-Authenticate: Bearer realm=\"callgate\", ApiKey realm=\"callgate\", "
                                        "header=\"X-Key\", Certificate realm=\"callgate\"\r\n"));
    exchange->route = &taken;
    assert_true(span_is(discovery__say(exchange), "Send it as X-Key or as a client certificate or as Authorization: Bearer."));
    buf_clear(&out);
    taken.identity_count = 1;
    assert_ok(discovery__challenge(&taken, &out));
    assert_true(span_is(buf_peek(&out), "WWW-Authenticate: ApiKey realm=\"callgate\", header=\"X-Key\"\r\n"));
    buf_clear(&out);
    taken.identity_count = 0;
    assert_ok(discovery__challenge(&taken, &out));
    assert_true(buf_is_empty(&out));
    buf_fini(&out);
    drop(exchange);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_challenges), cmocka_unit_test(test_any_challenge), cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_own_challenge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
