/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"
#include "crypto/secret.h"
#include "lane/conf.h"

#include <string.h>

static const char *const revisions[] = {"2025-06-18", NULL};

static struct proxy_route route(const char *name, const char *host, const char *path, bool subtree)
{
    return (struct proxy_route){
        .name = span_text(name), .host = span_text(host), .path = span_text(path), .subtree = subtree, .revisions = revisions,
        .upstream = {.host = "up", .port = 80, .path = SPAN_LIT("/"), .authority = SPAN_LIT("up")},
    };
}

static enum code seal(struct proxy_route *routes, size_t count, struct proxy_conf **out, struct why *why)
{
    static struct proxy_listen listen;
    struct proxy_conf *conf = proxy_conf_new();

    assert_non_null(conf);
    listen = (struct proxy_listen){0};
    conf->listens = &listen;
    conf->listen_count = 1;
    conf->routes = routes;
    conf->route_count = count;
    *out = conf;
    return proxy_conf_seal(conf, why);
}

TEST_CASE(test_order) /* of routes: exact before subtree, longer before shorter, with host before without */
{
    static const char *const wanted[] = {"host-exact", "host-subtree", "exact-long", "exact-short", "subtree-long", "subtree"};
    struct proxy_route routes[] = {
        route("subtree", "", "/a", true),          route("exact-short", "", "/a", false),
        route("host-subtree", "h", "/a", true),    route("subtree-long", "", "/a/b", true),
        route("exact-long", "", "/a/b", false),    route("host-exact", "h", "/a", false),
    };
    struct proxy_conf *conf;
    struct why why = {""};

    assert_ok(seal(routes, 6, &conf, &why));
    for (size_t i = 0; i < 6; i++)
        assert_true(span_is(conf->routes[i].name, wanted[i]));
    assert_true(conf->has_hosts);
    proxy_conf_unref(&conf);
    assert_null(conf);
}

TEST_CASE(test_defaults)
{
    struct proxy_route routes[] = {route("one", "", "/a", false)};
    struct proxy_conf *conf;
    struct why why;

    routes[0].tenant_header = SPAN_LIT("X-Tenant");
    assert_ok(seal(routes, 1, &conf, &why));
    assert_int_equal(conf->routes[0].limits.body_bytes, 4 << 20);
    assert_int_equal(conf->routes[0].limits.response_bytes, 8 << 20);
    assert_int_equal(conf->routes[0].limits.event_bytes, 8 << 20);
    assert_int_equal(conf->routes[0].limits.per_principal_requests, 1024);
    assert_int_equal(conf->routes[0].connect_ms, 5000);
    assert_int_equal(conf->routes[0].reply_head_ms, 60000);
    assert_int_equal(conf->routes[0].reply_idle_ms, 300000);
    assert_int_equal(conf->listens[0].head_ms, 10000);
    assert_int_equal(conf->listens[0].body_ms, 30000);
    assert_int_equal(conf->listens[0].idle_ms, 75000);
    assert_int_equal(conf->listens[0].read_rate, 8192);
    assert_int_equal(conf->memory_bytes, 1 << 30);
    assert_int_equal(conf->connections_per_address, 256);
    assert_true(span_is(conf->routes[0].correlation_header, "X-Correlation-Id"));
    assert_int_equal(conf->routes[0].rules.once.count, 2);
    assert_int_equal(conf->rules.once.count, 2);
    assert_false(conf->has_hosts);
    proxy_conf_unref(&conf);
}

TEST_CASE(test_refused)
{
    struct proxy_route twins[] = {route("one", "h", "/a", false), route("two", "h", "/a", false)};
    struct proxy_route odd[] = {route("odd", "", "a", false)};
    struct proxy_conf *conf;
    struct why why;

    assert_int_equal(seal(twins, 2, &conf, &why), CODE_INVALID);
    assert_non_null(strstr(why.text, "one"));
    assert_non_null(strstr(why.text, "two"));
    proxy_conf_unref(&conf);
    assert_int_equal(seal(odd, 1, &conf, &why), CODE_INVALID);
    proxy_conf_unref(&conf);
    assert_int_equal(seal(odd, 0, &conf, &why), CODE_INVALID);
    proxy_conf_unref(&conf);
}

/* 5.8: no two routes give one name to two upstreams, and a slug stands behind an exact path. */
TEST_CASE(test_slugs)
{
    static const struct span few[] = {{"search", 6}, {"shop-*", 6}}, other[] = {{"shop-1", 6}};
    struct proxy_route routes[] = {route("dojo-{slug}", "", "/mcp/{slug}", false), route("one", "", "/mcp/search", false)};
    struct proxy_route turned[] = {route("one", "", "/mcp/search", false), route("dojo-{slug}", "", "/mcp/{slug}", false)};
    struct proxy_route clash[] = {route("{slug}", "", "/mcp/{slug}", false), route("search", "", "/x", false)};
    struct proxy_route globbed[] = {route("{slug}", "", "/mcp/{slug}", false), route("shop-admin", "", "/x", false)};
    struct proxy_route both[] = {route("{slug}", "", "/mcp/{slug}", false), route("{slug}", "h", "/mcp/{slug}", false)};
    struct proxy_conf *conf;
    struct why why = {""};

    routes[0].slugs = turned[1].slugs = clash[0].slugs = globbed[0].slugs = both[0].slugs = (struct slug_list){few, 2};
    both[1].slugs = (struct slug_list){other, 1};
    assert_ok(seal(routes, 2, &conf, &why));
    assert_true(span_is(conf->routes[0].name, "one"));
    proxy_conf_unref(&conf);
    assert_ok(seal(turned, 2, &conf, &why));
    assert_true(span_is(conf->routes[0].name, "one"));
    proxy_conf_unref(&conf);
    assert_int_equal(seal(clash, 2, &conf, &why), CODE_INVALID);
    assert_non_null(strstr(why.text, "the name search"));
    proxy_conf_unref(&conf);
    assert_int_equal(seal(globbed, 2, &conf, &why), CODE_INVALID);
    assert_non_null(strstr(why.text, "shop-admin"));
    proxy_conf_unref(&conf);
    assert_int_equal(seal(both, 2, &conf, &why), CODE_INVALID);
    assert_non_null(strstr(why.text, "shop-1"));
    proxy_conf_unref(&conf);
}

/* 5.17: a declared POST never leads to where calls are judged, whichever route judges them. */
TEST_CASE(test_posts)
{
    struct proxy_pass pass = {.path = SPAN_LIT("/register"), .upstream_path = SPAN_LIT("/MCP/"), .is_post = true};
    struct proxy_route routes[] = {route("one", "", "/a", false), route("two", "", "/b", false)};
    struct proxy_conf *conf;
    struct why why = {""};

    routes[0].pass = &pass;
    routes[0].pass_count = 1;
    routes[1].upstream.path = SPAN_LIT("/mcp");
    assert_int_equal(seal(routes, 2, &conf, &why), CODE_INVALID);
    assert_non_null(strstr(why.text, "past the policy"));
    proxy_conf_unref(&conf);
    pass.upstream_path = SPAN_LIT("/register");
    assert_ok(seal(routes, 2, &conf, &why));
    proxy_conf_unref(&conf);
}

/* 5.17: a server is one by whichever of its names; and no POST is declared to where a server of HTTP+SSE wants its calls. */
TEST_CASE(test_servers)
{
    static const struct {
        const char *one, *other;
        bool are_one;
    } names[] = {
        {"shop.example", "shop.example", true}, {"shop.example", "shop.example.", true}, {"shop.example", "shop.example2", false},
        {"localhost", "127.0.0.1", true}, {"::1", "127.0.0.2", true}, {"localhost", "10.0.0.1", false},
        {"10.0.0.1", "10.0.0.2", false},
    };
    static const struct {
        const char *path;
        bool is_declared;
    } paths[] = {
        {"/messages", true}, {"/Messages//", true}, {"/%6dessages", true}, {"/messages;a", true}, {"/x//messages", true},
        {"/messages2", false}, {"/messages/x", false}, {"/", false},
    };
    struct proxy_pass pass = {.path = SPAN_LIT("/said"), .upstream_path = SPAN_LIT("/messages"), .is_post = true};
    struct proxy_route routes[] = {route("one", "", "/a", false), route("two", "", "/b", false)};
    struct proxy_conf *conf;
    struct why why = {""};

    routes[0].pass = &pass;
    routes[0].pass_count = 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        routes[0].upstream.host = names[i].one;
        routes[1].upstream.host = names[i].other;
        routes[1].upstream.path = SPAN_LIT("/messages");
        assert_int_equal(seal(routes, 2, &conf, &why), names[i].are_one ? CODE_INVALID : CODE_OK);
        proxy_conf_unref(&conf);
        routes[1].upstream.path = SPAN_LIT("/sse");
        assert_ok(seal(routes, 2, &conf, &why));
        for (size_t n = 0; n < sizeof paths / sizeof *paths; n++)
            assert_int_equal(proxy_conf_declares(conf, &routes[1].upstream, span_text(paths[n].path)),
                             names[i].are_one && paths[n].is_declared);
        proxy_conf_unref(&conf);
    }
}

TEST_CASE(test_agents) /* a route that judges them has to be able to know one */
{
    static const struct identity_path claim = {.count = 1};
    static const struct span servers[] = {{"part", 4}};
    const struct {
        struct identity_source source;
        bool is_good;
    } cases[] = {
        {{.kind = IDENTITY_NONE}, false}, {{.kind = IDENTITY_NONE, .agent = "desk"}, true},
        {{.kind = IDENTITY_LOGIN}, false}, {{.kind = IDENTITY_CERTIFICATE}, false}, {{.kind = IDENTITY_TOKEN}, false},
        {{.kind = IDENTITY_TOKEN, .rules = {.agent = claim}}, true},
        {{.kind = IDENTITY_TOKEN, .agent_by_certificate = true}, true}, {{.kind = IDENTITY_API_KEY}, true},
        {{.kind = IDENTITY_BEARER}, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int joined = 0; joined < 2; joined++) {
            const struct identity_source knows_none = {.kind = IDENTITY_NONE};
            struct proxy_route routes[] = {route("part", "", "/a", false), route("all", "", "/b", false)};
            struct proxy_conf *conf;
            struct why why = {""};
            bool is_sealed;

            routes[0].agent_judged = true;
            routes[0].identity = joined ? &knows_none : &cases[i].source;
            routes[1].identity = &cases[i].source;
            routes[0].identity_count = routes[1].identity_count = 1;
            routes[1].servers = joined ? servers : NULL;
            routes[1].server_count = joined ? 1 : 0;
            is_sealed = seal(routes, 2, &conf, &why) == CODE_OK;
            assert_int_equal(is_sealed, cases[i].is_good);
            assert_true(is_sealed || strstr(why.text, "route part: it judges the agent") != NULL);
            proxy_conf_unref(&conf);
        }
}

TEST_CASE(test_what_comes_once) /* 4.13: keys, tenants, correlations, and what is set upstream, by their names */
{
    static const struct identity_source sources[] = {{.kind = IDENTITY_API_KEY, .header = "X-Agent-Key"},
                                                     {.kind = IDENTITY_API_KEY, .header = "x-tenant"},
                                                     {.kind = IDENTITY_BEARER}};
    static const char *const wanted[] = {"X-Correlation-Id", "X-Tenant", "X-Agent-Key", "X-Upstream-Token"};
    struct proxy_header header = {.name = SPAN_LIT("X-Upstream-Token")};
    struct proxy_route routes[] = {route("one", "", "/a", false), route("two", "", "/b", false)};
    struct proxy_conf *conf;
    struct why why;

    routes[0].tenant_header = SPAN_LIT("X-Tenant");
    routes[0].identity = sources;
    routes[0].identity_count = 3;
    routes[0].upstream.headers = &header;
    routes[0].upstream.header_count = 1;
    assert_ok(seal(routes, 2, &conf, &why));
    assert_int_equal(conf->routes[0].rules.once.count, 4);
    assert_int_equal(conf->rules.once.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(span_is(conf->rules.once.names[i], wanted[i]));
    assert_int_equal(conf->routes[1].rules.once.count, 1);
    proxy_conf_unref(&conf);
}

TEST_CASE(test_secrets_are_wiped) /* 1.10 */
{
    struct proxy_route routes[] = {route("one", "", "/a", false)};
    static const char text[] = "Bearer s3cr3t";
    struct proxy_header header = {.name = SPAN_LIT("Authorization")};
    struct proxy_conf *conf;
    struct why why;

    assert_ok(secret_heap_open(&why)); /* which stays readable when they are gone */
    header.value = span_of(secret_copy(text, sizeof text - 1), sizeof text - 1);
    assert_non_null(header.value.at);
    routes[0].upstream.headers = &header;
    routes[0].upstream.header_count = 1;
    assert_ok(seal(routes, 1, &conf, &why));
    proxy_conf_unref(&conf);
    assert_null(memmem(header.value.at, header.value.len, "s3cr3t", 6));
}

TEST_CASE(test_contexts_are_given_back) /* 4.21: whose keys go with their last user */
{
    struct proxy_route routes[] = {route("one", "", "/a", false)};
    struct proxy_listen *listen;
    struct proxy_conf *conf;
    struct why why;

    assert_ok(seal(routes, 1, &conf, &why));
    listen = conf->listens;
    assert_ok(tls_client_new(&(struct tls_client_conf){0}, &listen->tls, &why));
    proxy_conf_unref(&conf);
    assert_null(listen->tls);
}

TEST_MAIN(NULL, NULL)
