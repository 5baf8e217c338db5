/* SPDX-License-Identifier: Apache-2.0 */
/* What callgate.yaml says of paths: slugs, declared paths, the URL that agents know. 5.8, 5.9, 5.17 */
#include "conf/conf.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/callgate-places-XXXXXX";
static char path[64];

static enum code load(const char *text, struct conf **conf, struct faults *faults, struct faults *warnings)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
    faults_init(faults);
    faults_init(warnings);
    return conf_load(path, conf, faults, warnings);
}

static const struct proxy_route *route_of(const struct conf *conf, const char *name)
{
    for (size_t i = 0; i < conf->proxy->route_count; i++)
        if (span_is(conf->proxy->routes[i].name, name))
            return &conf->proxy->routes[i];
    fail_msg("no route %s", name);
    return NULL;
}

TEST_CASE(test_slugs_and_passes)
{
    struct faults faults, warnings;
    struct conf *conf;
    const struct proxy_route *bare, *dojo;

    assert_ok(load("routes:\n"
                   "  - {path: '/{slug}/mcp', slugs: [search, 'shop-*'], upstream: {url: 'https://h/v/{slug}'},\n"
                   "     pass: ['GET /{slug}/llms.txt -> /x/{slug}', 'POST /register', 'GET /.well-known/*']}\n"
                   "  - {name: 'dojo-{slug}', path: '/mcp/{slug}', slugs: ['*'], upstream: {url: 'https://h/w/{slug}'}}\n",
                   &conf, &faults, &warnings));
    bare = route_of(conf, "{slug}");
    dojo = route_of(conf, "dojo-{slug}");
    assert_true(bare->slugs.count == 2 && span_is(bare->slugs.globs[1], "shop-*") && span_is(bare->upstream.path, "/v/{slug}"));
    assert_int_equal(dojo->slugs.count, 1);
    assert_true(bare->pass_count == 3 && bare->pass[1].is_post && bare->pass[2].is_wild && !bare->pass[0].is_wild);
    assert_true(span_is(bare->pass[0].upstream_path, "/x/{slug}") && span_is(bare->pass[2].path, "/.well-known"));
    conf_free(&conf);
}

#define ROUTE(key) "{name: a, path: /a, upstream: {url: 'http://[::1]/mcp'}, " key "}"

static const struct bad {
    const char *route;
    int column;
    const char *words;
} bad[] = {
    {ROUTE("pass: ['PUT /x']"), 74, "read, or posted to"},
    {ROUTE("pass: ['POST /x/*']"), 74, "to one path"},
    {ROUTE("pass: ['GET x']"), 74, "plain path"},
    {ROUTE("pass: ['GET /x*']"), 74, "plain path"},
    {ROUTE("pass: ['GET /x/* -> /y']"), 74, "plain path"},
    {ROUTE("pass: ['GET /x -> y']"), 74, "plain path"},
    {ROUTE("pass: ['GET /{slug}/x']"), 74, "plain path"},
    {ROUTE("pass: ['POST /x', 'POST /x -> /y']"), 85, "listed already"},
    {"{name: a, path: /a, upstream: {url: 'https://[::1]/mcp', certificate: a.pem, key: a.key}, "
     "pass: ['GET /y', 'POST /x']}", 117, "come with the gate's"},
    {"{name: a, path: /a, upstream: {url: 'https://[::1]/mcp', certificate: a.pem, key: a.key}, "
     "pass: ['GET /y', 'GET /x/*']}", 117, "come with the gate's"},
    {ROUTE("public_url: 'gate.example/a'"), 79, "the URL by which"},
    {ROUTE("public_url: 'https://gate.example/{slug}'"), 79, "the URL by which"},
    {ROUTE("public_url: 'https://gate.example'"), 79, "the URL by which"},
    {ROUTE("limits: {refusals: html}"), 86, "json-rpc"},
    {ROUTE("slugs: [a]"), 74, "no meaning without `{slug}`"},
    {ROUTE("unlisted: error"), 77, "the path has none"},
    /* 5.8 */
    {"{path: '/mcp/{slug}', upstream: {url: 'http://[::1]/{slug}'}}", 17, "`slugs` is missing"},
    {"{path: '/mcp/{slug}', slugs: [A], upstream: {url: 'http://[::1]/{slug}'}}", 40, "begins with a letter"},
    {"{path: '/mcp/{slug}', slugs: [a, a], upstream: {url: 'http://[::1]/{slug}'}}", 43, "twice"},
    {"{path: '/mcp/x{slug}', slugs: [a], upstream: {url: 'http://[::1]/{slug}'}}", 17, "a path begins"},
    {"{path: '/{slug}/{slug}', slugs: [a], upstream: {url: 'http://[::1]/{slug}'}}", 17, "a path begins"},
    {"{path: '/mcp/{slug}', slugs: [a], upstream: {url: 'http://[::1]/mcp'}}", 54, "all slugs would be one"},
    {"{path: '/mcp', name: a, upstream: {url: 'http://[::1]/{slug}'}}", 44, "the path none"},
    {"{path: '/mcp/{slug}', name: a, slugs: [a], upstream: {url: 'http://[::1]/{slug}'}}", 38, "one name for all"},
    {"{path: '/mcp', name: 'a{slug}', upstream: {url: 'http://[::1]/'}}", 31, "the name has a slug"},
    {"{path: '/mcp/{slug}', slugs: [a], upstream: {url: 'http://{slug}.example/'}}", 60, "its host"},
};

TEST_CASE(test_bad_places)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct faults faults, warnings;
        struct conf *conf;
        char text[512];
        bool found = false;

        (void)snprintf(text, sizeof text, "routes: [%s]\n", bad[i].route);
        assert_int_equal(load(text, &conf, &faults, &warnings), CODE_INVALID);
        for (size_t n = 0; n < faults.count && n < FAULTS_MAX; n++)
            found = found || (faults.fault[n].column == bad[i].column && strstr(faults.fault[n].text, bad[i].words) != NULL);
        if (!found)
            fail_msg("%s\n%d: %s", text, faults.fault[0].column, faults.fault[0].text);
    }
}

#define PROVIDERS "providers: [{name: corp, issuer: 'https://id.example/corp', keys: {url: 'https://id.example/keys'}}]\n"
#define SHOP "name: shop, path: '/shop', upstream: {url: 'http://[::1]/mcp'}"
#define RELAY "name: a, path: '/a', upstream: {url: 'http://[::1]/mcp', oauth: relay}"
#define OTHER \
    "upstream: {url: 'http://[::1]/b'}, identity: [{token: {provider: corp, audience: 'https://other.example/shop', tenant: acme}}]"
#define TOKEN(more) "{token: {provider: corp, audience: 'https://gate.example/shop', tenant: acme" more "}}"

/* 8.3: a route is a protected resource under one URL; tokens go up where that is said twice. */
TEST_CASE(test_resources)
{
    static const struct {
        const char *routes, *words; /* words NULL: it is fine */
    } cases[] = {
        {"{" SHOP ", identity: [" TOKEN(", scopes: ['a:b', c]") "], step_up: true}", NULL},
        {"{" SHOP ", identity: [" TOKEN(", scopes: ['a b']") "]}", "a scope is"},
        {"{" SHOP ", identity: [" TOKEN(", scopes: ['a\\']") "]}", "a scope is"},
        {"{" SHOP ", step_up: true}", "no agent shows a token"},
        {"{name: p, dialect: mcp, public_url: 'https://gate.example/a'}", "no meaning"},
        {"{name: a, path: '/a', upstream: {url: 'http://[::1]/mcp', oauth: pass}}", "relay"},
        {"{" RELAY "}", "public_url"},
        {"{" RELAY ", public_url: 'https://gate.example/a'}", NULL},
        {"{" RELAY ", public_url: 'https://gate.example/a', identity: [" TOKEN("") "]}", "forward: true"},
        {"{" SHOP ", identity: [{token: {provider: corp, audience: 'https://gate.example/shop', tenant: acme}, forward: true}]}",
         "oauth: relay"},
        {"{" SHOP ", identity: [" TOKEN("") ", {token: {provider: corp, audience: [other], tenant: acme, principal: $.name}}]}",
         "add it to"},
        {"{" SHOP ", identity: [" TOKEN("") "]}, {name: b, path: '/b', " OTHER "}", "at one path"},
        {"{" SHOP ", host: a.example, identity: [" TOKEN("") "]}, {name: b, path: '/b', host: b.example, " OTHER "}", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct faults faults, warnings;
        struct conf *conf = NULL;
        char text[1024];
        bool found = cases[i].words == NULL;

        (void)snprintf(text, sizeof text, PROVIDERS "routes: [%s]\n", cases[i].routes);
        if (load(text, &conf, &faults, &warnings) != (found ? CODE_OK : CODE_INVALID))
            fail_msg("%s: %s", cases[i].routes, faults.fault[0].text);
        for (size_t n = 0; n < faults.count && n < FAULTS_MAX && !found; n++)
            found = strstr(faults.fault[n].text, cases[i].words) != NULL;
        if (!found)
            fail_msg("%s: %s", cases[i].routes, faults.fault[0].text);
        if (conf != NULL)
            conf_free(&conf);
    }
}

/* What a route's own metadata are made of. */
TEST_CASE(test_resource)
{
    struct faults faults, warnings;
    const struct proxy_route *route;
    struct conf *conf;

    assert_ok(load(PROVIDERS "routes: [{" SHOP ", identity: [" TOKEN(", scopes: ['a:b', c], bound: dpop") "]}]\n", &conf, &faults,
                   &warnings));
    route = &conf->proxy->routes[0];
    assert_true(span_is(route->public_url, "https://gate.example/shop") && route->public_path_at == 20);
    assert_true(route->resource.server_count == 1 && span_is(route->resource.servers[0], "https://id.example/corp"));
    assert_true(route->resource.scope_count == 2 && span_is(route->resource.scopes[0], "a:b"));
    assert_true(route->resource.dpop && !route->resource.certificate);
    conf_free(&conf);
    assert_ok(load("routes: [{name: a, path: '/a', upstream: {url: 'http://[::1]/', oauth: relay}, public_url: "
                   "'https://gate.example/a', pass: ['GET /x']}]\n", &conf, &faults, &warnings));
    route = &conf->proxy->routes[0];
    assert_true(route->pass_count == 2 && span_is(route->pass[0].path, "/.well-known/oauth-protected-resource/a") &&
                span_is(route->pass[0].upstream_path, "/.well-known/oauth-protected-resource") && span_is(route->pass[1].path, "/x"));
    assert_int_equal(warnings.count, 0);
    conf_free(&conf);
}

/* 5.9: a URL that agents know is of use where they find its metadata. */
TEST_CASE(test_public_url)
{
    static const struct {
        const char *key;
        size_t warnings;
    } cases[] = {
        {"public_url: 'https://gate.example/a'", 1},
        {"public_url: 'https://gate.example/a', pass: ['GET /.well-known/oauth-protected-resource/a -> /x']", 0},
        {"public_url: 'https://gate.example/a', pass: ['GET /.well-known/*']", 0},
        {"public_url: 'https://gate.example/a', pass: ['POST /.well-known/oauth-protected-resource/a']", 1},
        {"limits: {refusals: plain}", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct faults faults, warnings;
        struct conf *conf;
        char text[512];

        (void)snprintf(text, sizeof text, "routes: [{name: a, path: /a, upstream: {url: 'http://[::1]/mcp'}, %s}]\n", cases[i].key);
        assert_ok(load(text, &conf, &faults, &warnings));
        assert_int_equal(warnings.count, cases[i].warnings);
        assert_int_equal(conf->proxy->routes[0].public_path_at, i < 4 ? strlen("https://gate.example") : 0);
        assert_int_equal(conf->proxy->routes[0].limits.is_plain, i == 4);
        conf_free(&conf);
    }
}

/* 5.14: a configuration of 0.2.0 means what it meant; what came since is off, and the dialect is MCP in every revision. */
TEST_CASE(test_before)
{
    static const char *const of_before[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
    struct faults faults, warnings;
    struct conf *conf;
    const struct proxy_route *shop, *tree;

    assert_ok(load("hosts: [mcp.example.com]\n"
                   "routes:\n"
                   "  - {name: shop, path: /shop/mcp, upstream: {url: 'https://h:9443/mcp'}, identity: [{api_key: X-API-Key}],\n"
                   "     pass: ['GET /.well-known/oauth-protected-resource/shop/mcp', 'GET /llms.txt -> /shop/llms.txt',\n"
                   "            'GET /alias -> /mcp'], limits: {rate: 5/s}}\n"
                   "  - {name: tree, host: h, path: /*, dialect: mcp, revisions: [2025-06-18], transports: [streamable],\n"
                   "     upstream: {url: 'https://h/x/'}}\n",
                   &conf, &faults, &warnings));
    shop = route_of(conf, "shop");
    tree = route_of(conf, "tree");
    assert_int_equal(warnings.count, 0);
    assert_true(shop->dialect == &dialect_mcp && tree->dialect == &dialect_mcp);
    for (size_t i = 0; i < sizeof of_before / sizeof *of_before; i++)
        assert_true(mcp_revision_is_listed(shop->revisions, span_text(of_before[i])));
    assert_string_equal(tree->revisions[0], "2025-06-18");
    assert_null(tree->revisions[1]);
    assert_false(shop->is_pipe || tree->is_pipe || shop->http_sse || tree->http_sse || shop->limits.is_plain);
    assert_true(shop->slugs.count == 0 && tree->slugs.count == 0 && span_is_empty(shop->public_url));
    assert_true(span_is_empty(shop->upstream.command));
    assert_int_equal(shop->pass_count, 3);
    for (size_t i = 0; i < shop->pass_count; i++)
        assert_false(shop->pass[i].is_post || shop->pass[i].is_wild);
    assert_true(tree->subtree && span_is_empty(tree->path) && span_is(tree->upstream.path, "/x"));
    assert_true(span_is(shop->upstream.path, "/mcp") && shop->upstream.port == 9443);
    conf_free(&conf);
}

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(path, sizeof path, "%s/callgate.yaml", folder);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    return unlink(path) + rmdir(folder);
}

TEST_MAIN(make_folder, drop_folder)
