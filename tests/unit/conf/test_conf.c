/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf.h"

#include "base/mem.h"
#include "os/thread.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>


static char folder[] = "/tmp/callgate-conf-XXXXXX";
static char conf_path[64];

static void put_file(const char *name, const char *text, mode_t mode)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)unlink(path);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static void make_certificate(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    char path[128];
    FILE *file;

    assert_non_null(key);
    X509_set_version(certificate, 2);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC, (const unsigned char *)"gate", -1, -1,
                               0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    snprintf(path, sizeof path, "%s/gate.pem", folder);
    file = fopen(path, "w");
    assert_true(PEM_write_X509(file, certificate) == 1);
    fclose(file);
    snprintf(path, sizeof path, "%s/gate.key", folder);
    file = fopen(path, "w");
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    assert_true(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
    fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static int set_up(void **state)
{
    (void)state;
    (void)umask(022);
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(conf_path, sizeof conf_path, "%s/callgate.yaml", folder);
    make_certificate();
    put_file("shop.token", "s3cret-token\n", 0600);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"callgate.yaml", "gate.pem", "gate.key", "shop.token", "open.token", "empty.token",
                                        "two.token",     "open.key", NULL};

    (void)state;
    for (size_t i = 0; names[i] != NULL; i++) {
        char path[128];

        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

static struct conf *load(const char *text, struct faults *warnings)
{
    struct faults faults;
    struct conf *conf;
    enum code code;

    put_file("callgate.yaml", text, 0644);
    faults_init(&faults);
    if (warnings != NULL)
        faults_init(warnings);
    code = conf_load(conf_path, &conf, &faults, warnings);
    if (code != CODE_OK)
        fail_msg("%s\n%s at %d:%d: %s", text, code_text(code), faults.fault[0].line, faults.fault[0].column,
                 faults.fault[0].text);
    assert_int_equal(faults.count, 0);
    return conf;
}

static void expect_path(const char *path, const char *name)
{
    char whole[128];

    snprintf(whole, sizeof whole, "%s/%s", folder, name);
    assert_string_equal(path, whole);
}

#define LEAST "routes: [{name: a, path: /a, upstream: {url: 'http://127.0.0.1:9/mcp'}}]\n"

TEST_CASE(test_defaults)
{
    struct faults warnings;
    struct conf *conf = load(LEAST, &warnings);
    const struct proxy_route *route = conf->proxy->routes;
    char address[SOCK_TEXT_BYTES];

    assert_int_equal(warnings.count, 0);
    expect_path(conf->store, "callgate.db");
    expect_path(conf->audit.database, "audit.db");
    expect_path(conf->audit.checkpoints, "audit.db.heads");
    expect_path(conf->audit.redact_key, "redact.key");
    expect_path(conf->audit.checkpoint_key, "audit-key.pem");
    assert_int_equal(conf->audit.arguments_max_bytes, 65536);
    assert_int_equal(conf->workers, thread_cores());
    assert_int_equal(conf->drain_ms, 30000);
    assert_false(conf->admin.is_on);
    assert_int_equal(conf->proxy->listen_count, 1);
    sock_text(&conf->proxy->listens[0].address, address);
    assert_string_equal(address, "127.0.0.1:8080");
    assert_int_equal(conf->proxy->listens[0].idle_ms, 75000);
    assert_int_equal(conf->proxy->route_count, 1);
    assert_true(span_is(route->name, "a") && span_is(route->path, "/a") && !route->subtree && route->host.len == 0);
    assert_string_equal(route->revisions[0], "2024-11-05");
    assert_string_equal(route->revisions[3], "2025-11-25");
    assert_string_equal(route->revisions[4], "2026-07-28");
    assert_null(route->revisions[5]);
    assert_int_equal(route->identity_count, 2);
    assert_int_equal(route->identity[0].kind, IDENTITY_API_KEY);
    assert_string_equal(route->identity[0].header, "X-API-Key");
    assert_int_equal(route->identity[1].kind, IDENTITY_BEARER);
    assert_true(span_is(route->correlation_header, "X-Correlation-Id"));
    assert_int_equal(route->limits.body_bytes, 4 << 20);
    assert_int_equal(route->limits.per_principal_requests, 1024);
    assert_false(route->query_pass || route->strict_tool_names || route->forwarded || route->denials_sse);
    assert_int_equal(conf->name_count, 1);
    assert_string_equal(conf->names[0].host, "127.0.0.1");
    assert_int_equal(conf->names[0].port, 9);
    conf_free(&conf);
    assert_null(conf);
    conf_free(&conf);
}

static const char everything[] =
    "listen:\n"
    "  - {address: '127.0.0.1:0'}\n"
    "  - address: '0.0.0.0:8443'\n"
    "    tls: {certificate: gate.pem, key: gate.key, client_ca: gate.pem, client_certificate: required}\n"
    "    timeouts: {head: 1s, body: 2min, idle: 1500ms}\n"
    "  - {address: '[::]:8081', insecure: true}\n"
    "hosts: [MCP.example.com, '[::1]', 10.0.0.1]\n"
    "trusted_proxies: [10.0.0.0/8, '2001:db8::/32', 192.0.2.1]\n"
    "workers: 3\n"
    "store: data/callgate.db\n"
    "audit: {database: /var/lib/a.db, checkpoints: h.db, checkpoint_key: c.pem, checkpoint_interval: 250ms,\n"
    "        checkpoint_rows: 100, redact_key: r.key, arguments: 1 MiB}\n"
    "admin: {address: '127.0.0.1:9902', public: [readyz]}\n"
    "drain: 5s\n"
    "routes:\n"
    "  - name: shop\n"
    "    host: Mcp.Example.com\n"
    "    path: /shop/*\n"
    "    dialect: mcp\n"
    "    revisions: [2025-06-18, 2024-11-05]\n"
    "    transports: [streamable]\n"
    "    upstream:\n"
    "      url: https://Shop.internal:9443/mcp/\n"
    "      ca: gate.pem\n"
    "      preserve_host: true\n"
    "      headers: {Authorization: {file: shop.token, prefix: 'Bearer '}, X-Other: {file: shop.token}}\n"
    "    timeouts: {connect: 1s, head: 2s, idle: 3s}\n"
    "    identity:\n"
    "      - {api_key: X-Key, forward: true}\n"
    "      - {bearer: key}\n"
    "      - {certificate: subject}\n"
    "    tenant_header: X-Octopus-Tenant-Id\n"
    "    correlation_header: X-Octopus-Correlation-Id\n"
    "    underscore_headers: [x_legacy]\n"
    "    origins: ['http://localhost:*', 'https://app.example.com']\n"
    "    query: pass\n"
    "    tool_names: strict\n"
    "    forwarded: true\n"
    "    denials: sse\n"
    "    pass: ['GET /.well-known/oauth-protected-resource/shop/mcp', 'GET /llms.txt -> /shop/llms.txt']\n"
    "    limits: {body: 1 MiB, response: 16MiB, event: 8 MiB, per_principal_requests: 7}\n"
    "  - {name: local, path: /local, identity: [{none: {principal: me, tenant: dev}}],\n"
    "     upstream: {url: 'http://[::1]:7000'}}\n"
    "  - {name: twin, path: /twin, upstream: {url: 'https://shop.internal:9443/x'}}\n"
    "  - {name: far, path: /far, upstream: {url: 'http://far.example', insecure: true}}\n";

static const struct proxy_route *route_of(const struct conf *conf, const char *name)
{
    for (size_t i = 0; i < conf->proxy->route_count; i++)
        if (span_is(conf->proxy->routes[i].name, name))
            return &conf->proxy->routes[i];
    fail_msg("no route %s", name);
    return NULL;
}

static void check_top(const struct conf *conf, const struct faults *warnings)
{
    const struct proxy_conf *proxy = conf->proxy;

    assert_int_equal(warnings->count, 2);
    assert_int_equal(warnings->fault[0].line, 6);
    assert_non_null(strstr(warnings->fault[0].text, "plain HTTP off loopback"));
    assert_non_null(strstr(warnings->fault[1].text, "plain http to an upstream"));
    assert_int_equal(proxy->listen_count, 3);
    assert_null(proxy->listens[0].tls);
    assert_non_null(proxy->listens[1].tls);
    assert_int_equal(proxy->listens[1].head_ms, 1000);
    assert_int_equal(proxy->listens[1].body_ms, 120000);
    assert_int_equal(proxy->listens[1].idle_ms, 1500);
    assert_int_equal(proxy->host_count, 3);
    assert_true(span_is(proxy->hosts[0], "mcp.example.com"));
    assert_int_equal(proxy->trusted_proxy_count, 3);
    assert_int_equal(proxy->trusted_proxies[0].bits, 104);
    assert_int_equal(conf->workers, 3);
    expect_path(conf->store, "data/callgate.db");
    assert_string_equal(conf->audit.database, "/var/lib/a.db");
    expect_path(conf->audit.checkpoints, "h.db");
    expect_path(conf->audit.checkpoint_key, "c.pem");
    assert_true(conf->audit.checkpoint_interval_ms == 250 && conf->audit.checkpoint_rows == 100);
    assert_int_equal(conf->audit.arguments_max_bytes, 1 << 20);
    assert_true(conf->admin.is_on && conf->admin.public_readyz && !conf->admin.public_healthz && !conf->admin.public_metrics);
    assert_int_equal(sock_port(&conf->admin.address), 9902);
    assert_int_equal(conf->drain_ms, 5000);
    assert_int_equal(conf->name_count, 3);
}

TEST_CASE(test_everything)
{
    struct faults warnings;
    struct conf *conf = load(everything, &warnings);
    const struct proxy_route *shop = route_of(conf, "shop"), *local = route_of(conf, "local");

    check_top(conf, &warnings);
    assert_true(span_is(shop->host, "mcp.example.com") && span_is(shop->path, "/shop") && shop->subtree);
    assert_string_equal(shop->revisions[0], "2025-06-18");
    assert_string_equal(shop->revisions[1], "2024-11-05");
    assert_null(shop->revisions[2]);
    assert_non_null(shop->upstream.tls);
    assert_string_equal(shop->upstream.host, "shop.internal");
    assert_int_equal(shop->upstream.port, 9443);
    assert_true(span_is(shop->upstream.path, "/mcp") && span_is(shop->upstream.authority, "Shop.internal:9443"));
    assert_true(shop->upstream.preserve_host);
    assert_int_equal(shop->upstream.header_count, 2);
    assert_true(span_is(shop->upstream.headers[0].name, "Authorization"));
    assert_true(span_is(shop->upstream.headers[0].value, "Bearer s3cret-token"));
    assert_true(span_is(shop->upstream.headers[1].value, "s3cret-token"));
    assert_int_equal(shop->connect_ms, 1000);
    assert_int_equal(shop->reply_head_ms, 2000);
    assert_int_equal(shop->reply_idle_ms, 3000);
    assert_int_equal(shop->identity_count, 3);
    assert_true(shop->identity[0].forward);
    assert_string_equal(shop->identity[0].header, "X-Key");
    assert_int_equal(shop->identity[2].kind, IDENTITY_CERTIFICATE);
    assert_true(span_is(shop->tenant_header, "X-Octopus-Tenant-Id"));
    assert_true(span_is(shop->correlation_header, "X-Octopus-Correlation-Id"));
    assert_int_equal(shop->underscored_count, 1);
    assert_int_equal(shop->origin_count, 2);
    assert_true(shop->query_pass && shop->strict_tool_names && shop->forwarded && shop->denials_sse);
    assert_int_equal(shop->pass_count, 2);
    assert_true(span_is(shop->pass[1].path, "/llms.txt") && span_is(shop->pass[1].upstream_path, "/shop/llms.txt"));
    assert_true(span_equals(shop->pass[0].path, shop->pass[0].upstream_path));
    assert_int_equal(shop->limits.body_bytes, 1 << 20);
    assert_int_equal(shop->limits.per_principal_requests, 7);
    assert_int_equal(local->identity[0].kind, IDENTITY_NONE);
    assert_string_equal(local->identity[0].principal, "me");
    assert_string_equal(local->identity[0].tenant, "dev");
    assert_string_equal(local->upstream.host, "::1");
    assert_true(span_is(local->upstream.path, "/") && span_is(local->upstream.authority, "[::1]:7000"));
    conf_free(&conf);
}

/* 3.1 */
TEST_CASE(test_checkpoint_server)
{
    struct faults warnings;
    struct conf *conf = load(LEAST "audit: {checkpoints: {url: 'https://log.internal/c', ca: gate.pem}}\n", &warnings);

    assert_null(conf->audit.checkpoints);
    assert_string_equal(conf->audit.checkpoint_server.host, "log.internal");
    assert_non_null(conf->audit.checkpoint_server.tls);
    assert_true(conf->audit.checkpoint_server.port == 443 && span_is(conf->audit.checkpoint_server.path, "/c"));
    conf_free(&conf);
    conf = load(LEAST "audit: {checkpoints: 'http://127.0.0.1:99/'}\n", &warnings);
    assert_null(conf->audit.checkpoint_server.tls);
    assert_int_equal(conf->audit.checkpoint_server.port, 99);
    conf_free(&conf);
}

/* ---- faults ---- */

static const struct bad {
    const char *text;
    int line, column;
    const char *words;
} bad[] = {
    {"", 1, 1, "a configuration is a map"},
    {"[]", 1, 1, "a configuration is a map"},
    {"listen: []\n", 1, 1, "`routes` is missing"},
    {"routes: []\n", 1, 9, "at least one"},
    {"routes: 1\n", 1, 9, "at least one"},
    {LEAST "lisen: 1\n", 2, 1, "did you mean `listen`?"},
    {LEAST "zebra: 1\n", 2, 1, "knows no `zebra`"},
    {LEAST "routes: []\n", 2, 1, "twice"},
    {LEAST "workers: 0\n", 2, 10, "between 1 and 256"},
    {LEAST "workers: many\n", 2, 10, "`auto`"},
    {LEAST "drain: 30\n", 2, 8, "with its unit"},
    {LEAST "drain: 2h\n", 2, 8, "between 1ms"},
    {LEAST "store: ''\n", 2, 8, "empty text"},
    {LEAST "store: 3\n", 2, 8, "text is expected"},
    {LEAST "audit: {checkpoints: 'http://log.internal/'}\n", 2, 22, "write https"}, /* 3.1 */
    {LEAST "audit: {checkpoints: 'https://:1/'}\n", 2, 22, "its host"},
    {LEAST "audit: {checkpoints: {ca: gate.pem}}\n", 2, 22, "`url`"},
    {LEAST "audit: {checkpoints: {uri: 'https://x/'}}\n", 2, 23, "did you mean"},
    {LEAST "audit: {checkpoint_interval: 5}\n", 2, 30, "with its unit"},
    {LEAST "store: audit.db\n", 1, 1, "one file"},
    {LEAST "store: \"a\\tb\"\n", 2, 8, "control character"},
    {LEAST "hosts: ['https://a']\n", 2, 9, "no host name"},
    {LEAST "hosts: ['a:80']\n", 2, 9, "no host name"},
    {LEAST "hosts: a\n", 2, 8, "is a list"},
    {LEAST "trusted_proxies: [ten]\n", 2, 19, "ten"},
    {LEAST "audit: {databse: x}\n", 2, 9, "did you mean `database`?"},
    {LEAST "audit: x\n", 2, 8, "is a map"},
    {LEAST "audit: {arguments: 64 kB}\n", 2, 20, "is a size"},
    {LEAST "audit: {arguments: 1}\n", 2, 20, "between 1024"},
    {LEAST "admin: {public: [helthz]}\n", 2, 18, "did you mean `healthz`?"},
    {LEAST "admin: {address: here}\n", 2, 18, "here"},
    {LEAST "listen: [{address: 'localhost:80'}]\n", 2, 20, "localhost"},
    {LEAST "listen: [{address: '127.0.0.1:80'}, {address: '127.0.0.1:80'}]\n", 2, 37, "already"},
    {LEAST "listen: [{adress: '127.0.0.1:80'}]\n", 2, 11, "did you mean `address`?"},
    {LEAST "listen: [{address: '0.0.0.0:80'}]\n", 2, 10, "`insecure: true`"},
    {LEAST "listen: [{address: '127.0.0.1:80', insecure: yes}]\n", 2, 46, "true or false"},
    {LEAST "listen: [{address: '0.0.0.0:80', tls: {}}]\n", 2, 39, "`certificate` is missing"},
    {LEAST "listen: [{address: '0.0.0.0:80', tls: {certificate: none.pem, key: gate.key}}]\n", 2, 39, "none.pem"},
    {LEAST "listen: [{address: '0.0.0.0:80', tls: {certificate: gate.pem, key: gate.key, client_certificate: required}}]\n", 2,
     98, "`client_ca`"},
    {LEAST "listen: [{address: '0.0.0.0:80', tls: {certificate: gate.pem, key: gate.key}, insecure: true}]\n", 2, 89,
     "no meaning"},
    {LEAST "listen: [{address: '0.0.0.0:80', tls: {certificate: gate.pem, key: open.key}}]\n", 2, 39, "chmod"},
    {LEAST "listen: [{address: '127.0.0.1:80', timeouts: {head: 10}}]\n", 2, 53, "unit"},
    {LEAST "listen: [{address: '127.0.0.1:80', timeouts: {heads: 10s}}]\n", 2, 47, "did you mean `head`?"},
};

#define ROUTE(rest) "routes:\n- {name: a, path: /a, upstream: {url: 'http://127.0.0.1:9/mcp'},\n" rest "}\n"
#define UPSTREAM(rest) "routes:\n- {name: a, path: /a, upstream: {\n" rest "}}\n"

static const struct bad bad_routes[] = {
    {"routes: [a]\n", 1, 10, "a route is a map"},
    {"routes: [{path: /a, upstream: {url: 'http://127.0.0.1'}}]\n", 1, 10, "`name` is missing"},
    {"routes: [{name: a, upstream: {url: 'http://127.0.0.1'}}]\n", 1, 10, "`path` is missing"},
    {"routes: [{name: a, path: /a}]\n", 1, 10, "`upstream` is missing"},
    {UPSTREAM("comand: [npx]"), 3, 1, "did you mean `command`?"},
    {"routes: [{name: 'a b', path: /a, upstream: {url: 'http://127.0.0.1'}}]\n", 1, 17, "64 letters"},
    {"routes: [{name: a, path: a, upstream: {url: 'http://127.0.0.1'}}]\n", 1, 26, "begins with `/`"},
    {"routes: [{name: a, path: /a//b, upstream: {url: 'http://127.0.0.1'}}]\n", 1, 26, "begins with `/`"},
    {"routes: [{name: a, path: /a%2fb, upstream: {url: 'http://127.0.0.1'}}]\n", 1, 26, "begins with `/`"},
    {"routes: [{name: a, path: /a/../b, upstream: {url: 'http://127.0.0.1'}}]\n", 1, 26, "begins with `/`"},
    {"routes: [{name: a, path: /a;b, upstream: {url: 'http://127.0.0.1'}}]\n", 1, 26, "begins with `/`"},
    {"routes: [{name: a, path: '/a?b', upstream: {url: 'http://127.0.0.1'}}]\n", 1, 26, "begins with `/`"},
    {"routes: [{name: a, path: /a*, upstream: {url: 'http://127.0.0.1'}}]\n", 1, 26, "begins with `/`"},
    {"routes: [{name: a, path: /a//*, upstream: {url: 'http://127.0.0.1'}}]\n", 1, 26, "begins with `/`"},
    {LEAST "---\n" LEAST, 2, 1, "second document"},
    {"routes:\n- {name: a, path: /a, upstream: {url: 'http://127.0.0.1'}}\n"
     "- {name: a, path: /b, upstream: {url: 'http://127.0.0.1'}}\n", 3, 3, "named a is there already"},
    {"routes:\n- {name: a, path: /a/*, upstream: {url: 'http://127.0.0.1'}}\n"
     "- {name: b, path: /a/*, upstream: {url: 'http://127.0.0.1'}}\n", 3, 3, "same host and path"},
    {"routes:\n- {name: a, path: /a, host: X, upstream: {url: 'http://127.0.0.1'}}\n"
     "- {name: b, path: /a, host: x, upstream: {url: 'http://127.0.0.1'}}\n", 3, 3, "same host and path"},
    {ROUTE("host: 'x:80'"), 3, 7, "no host name"},
    {ROUTE("dialect: mpc"), 3, 10, "did you mean `mcp`?"},
    {ROUTE("transports: [http]"), 3, 14, "write `streamable` or `http+sse`"},
    {ROUTE("transports: []"), 3, 13, "at least one"},
    {ROUTE("transports: [http+sse, http+sse]"), 3, 24, "twice"},
    {ROUTE("transports: [http+sse], revisions: [2026-07-28]"), 3, 36, "add 2024-11-05"},
    {ROUTE("dialect: okso, revisions: [2025-06-18]"), 3, 27, "`revisions` means nothing to dialect okso; leave it out"},
    {ROUTE("revisions: [2026-07-28, 2026-07-28]"), 3, 25, "twice"},
    {ROUTE("revisions: [2025-06-19]"), 3, 13, "did you mean `2025-06-18`?"},
    {ROUTE("revisions: [2025-06-18, 2025-06-18]"), 3, 25, "twice"},
    {ROUTE("timeouts: {total: 5s}"), 3, 12, "knows no `total`"},
    {ROUTE("timeouts: {idle: 0s}"), 3, 18, "between 1ms"},
    {ROUTE("timeouts: {idle: 25h}"), 3, 18, "between 1ms"},
    {ROUTE("limits: {body: 0}"), 3, 16, "between 1024"},
    {ROUTE("limits: {body: [1]}"), 3, 16, "is a size"},
    {ROUTE("limits: {per_principal_requests: 1 KiB}"), 3, 34, "whole number"},
    {ROUTE("query: forward"), 3, 8, "`refuse` or `pass`"},
    {ROUTE("query: [pass]"), 3, 8, "one word"},
    {ROUTE("tool_names: stric"), 3, 13, "did you mean `strict`?"},
    {ROUTE("denials: xml"), 3, 10, "`json` or `sse`"},
    {ROUTE("forwarded: on"), 3, 12, "true or false"},
    {ROUTE("origins: [localhost]"), 3, 11, "scheme"},
    {ROUTE("tenant_header: Host"), 3, 16, "decided by the protocol"},
    {ROUTE("tenant_header: Mcp-Session-Id"), 3, 16, "decided by the protocol"},
    {ROUTE("tenant_header: X-Forwarded-For"), 3, 16, "decided by the protocol"},
    {ROUTE("tenant_header: X-Callgate-Tenant"), 3, 16, "decided by the protocol"},
    {ROUTE("tenant_header: 'a b'"), 3, 16, "no header name"},
    {ROUTE("tenant_header: x-correlation-ID"), 3, 16, "name two"},
    {ROUTE("underscore_headers: [X-Plain]"), 3, 22, "needs no leave"},
    {ROUTE("reply_headers: [Connection]"), 3, 17, "written by the gate"},
    {ROUTE("identity: none"), 3, 11, "is a list"},
    {ROUTE("identity: [none]"), 3, 12, "an identity is a map"},
    {ROUTE("identity: []"), 3, 11, "at least one"},
    {ROUTE("identity: [{forward: true}]"), 3, 12, "exactly one of"},
    {ROUTE("identity: [{api_key: X-API-Key, bearer: key}]"), 3, 12, "exactly one of"},
    {ROUTE("identity: [{none: {principal: a, tenant: b}}, {bearer: key}]"), 3, 12, "stands alone"},
    {ROUTE("identity: [{bearer: key}, {none: {principal: a, tenant: b}}]"), 3, 27, "stands alone"},
    {ROUTE("identity: [{none: {principal: a}}]"), 3, 19, "`tenant` is missing"},
    {ROUTE("identity: [{none: {principal: 'a b', tenant: c}}]"), 3, 31, "visible ASCII"},
    {ROUTE("identity: [{none: true}]"), 3, 19, "is a map"},
    {ROUTE("identity: [{bearer: jwt}]"), 3, 21, "write `key`"},
    {ROUTE("identity: [{bearer: key}, {bearer: key}]"), 3, 27, "already"},
    {ROUTE("identity: [{api_key: X-K}, {api_key: x-k}]"), 3, 28, "already"},
    {ROUTE("identity: [{api_key: Authorization}]"), 3, 22, "`bearer: key`"},
    {ROUTE("identity: [{certificate: subject}]"), 3, 12, "no listener asks"},
    {ROUTE("identity: [{none: {principal: a, tenant: b}, forward: true}]"), 3, 55, "nothing to forward"},
    {UPSTREAM("ur: x"), 3, 1, "did you mean `url`?"},
    {UPSTREAM("ca: x"), 2, 33, "`url` is missing"},
    {UPSTREAM("url: 'ftp://x'"), 3, 6, "http:// or https://"},
    {UPSTREAM("url: 'https://user:pw@x/'"), 3, 6, "names a user"},
    {UPSTREAM("url: 'https://x/a?b'"), 3, 6, "query"},
    {UPSTREAM("url: 'https://x/a b'"), 3, 6, "query"},
    {UPSTREAM("url: 'https://x:99999/'"), 3, 6, "its host"},
    {UPSTREAM("url: 'https:///a'"), 3, 6, "its host"},
    {UPSTREAM("url: 'http://shop.internal/mcp'"), 3, 6, "write https"},
    {UPSTREAM("url: 'http://localhost.evil/'"), 3, 6, "write https"},
    {UPSTREAM("url: 'https://x/', insecure: true"), 3, 30, "always checked"},
    {UPSTREAM("url: 'http://127.0.0.1/', ca: gate.pem"), 3, 31, "no meaning"},
    {UPSTREAM("url: 'https://x/', ca: none.pem"), 2, 33, "none.pem"},
    {UPSTREAM("url: 'https://x/', certificate: gate.pem"), 2, 33, "come together"},
    {UPSTREAM("url: 'http://[::1]/', headers: [a]"), 3, 32, "is a map"},
    {UPSTREAM("url: 'http://[::1]/', headers: {Authorization: 'Bearer x'}"), 3, 48, "a file of its own"},
    {UPSTREAM("url: 'http://[::1]/', headers: {Authorization: {prefix: x}}"), 3, 48, "exactly one of `file` and `run`"},
    {UPSTREAM("url: 'http://[::1]/', headers: {A: {run: [env], file: shop.token}}"), 3, 36, "exactly one of `file` and `run`"},
    {UPSTREAM("url: 'http://[::1]/', headers: {A: {file: shop.token, ttl: 1h}}"), 3, 60, "no meaning without `run`"},
    {UPSTREAM("url: 'http://[::1]/', headers: {A: {run: [/none/there]}}"), 3, 43, "no program /none/there"},
    {UPSTREAM("url: 'http://[::1]/', headers: {A: {run: [env, '{tenant}']}}"), 3, 42, "no agent's name"},
    {UPSTREAM("url: 'http://[::1]/', headers: {A: {run: [env], ttl: 9s}}"), 3, 36, "a longer `ttl`"},
    {UPSTREAM("url: 'http://[::1]/', headers: {A: {run: [env], env: {B: {run: [env]}}}}"), 3, 58, "or stands in a file"},
    {UPSTREAM("url: 'http://[::1]/', authorization: {run: [env], file: shop.token}"), 3, 38, "exactly one of file, run"},
    {UPSTREAM("url: 'http://[::1]/', headers: {Content-Length: {file: shop.token}}"), 3, 33, "decided by the protocol"},
    {UPSTREAM("url: 'http://[::1]/', headers: {A: {file: shop.token}, a: {file: shop.token}}"), 3, 59, "twice"},
    {UPSTREAM("url: 'http://[::1]/', headers: {A: {file: open.token}}"), 3, 43, "chmod go-rwx"},
    {UPSTREAM("url: 'http://[::1]/', headers: {A: {file: empty.token}}"), 3, 43, "one line of visible ASCII"},
    {UPSTREAM("url: 'http://[::1]/', headers: {A: {file: two.token}}"), 3, 43, "one line of visible ASCII"},
    {UPSTREAM("url: 'http://[::1]/', headers: {A: {file: none.token}}"), 3, 43, "none.token"},
    {UPSTREAM("url: 'http://[::1]/', headers: {A: {file: shop.token, prefix: \xc3\xa4}}"), 3, 63, "visible ASCII"},
};

/* Returns: 0, or 1 after having said what came instead. */
static int miss_fault(const struct bad *case_)
{
    struct faults faults;
    struct conf *conf;
    enum code code;

    put_file("callgate.yaml", case_->text, 0644);
    faults_init(&faults);
    code = conf_load(conf_path, &conf, &faults, NULL);
    if (code != CODE_INVALID)
        fail_msg("%s: %s", case_->text, code_text(code));
    assert_null(conf);
    assert_string_equal(faults.fault[0].file, conf_path);
    for (size_t i = 0; i < faults.count && i < FAULTS_MAX; i++)
        if (faults.fault[i].line == case_->line && faults.fault[i].column == case_->column &&
            strstr(faults.fault[i].text, case_->words) != NULL)
            return 0;
    print_error("%s\n`%s` at %d:%d instead of `%s` at %d:%d\n", case_->text, faults.fault[0].text,
                faults.fault[0].line, faults.fault[0].column, case_->words, case_->line, case_->column);
    return 1;
}

TEST_CASE(test_bad_configurations)
{
    int missed = 0;

    put_file("open.key", "x", 0644);
    put_file("open.token", "x", 0644);
    put_file("empty.token", "\n", 0600);
    put_file("two.token", "a\nb\n", 0600);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        missed += miss_fault(&bad[i]);
    for (size_t i = 0; i < sizeof bad_routes / sizeof *bad_routes; i++)
        missed += miss_fault(&bad_routes[i]);
    assert_int_equal(missed, 0);
}

TEST_CASE(test_many_faults_in_one_run)
{
    char text[8192] = "workers: 0\ndrain: x\nlisten: [{address: 1}]\nroutes:\n";
    struct faults faults;
    struct conf *conf;

    for (int i = 0; i < 10; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "- {name: 'r %d', path: x, upstream: {url: y}, quer: z}\n", i);
    put_file("callgate.yaml", text, 0644);
    faults_init(&faults);
    assert_int_equal(conf_load(conf_path, &conf, &faults, NULL), CODE_INVALID);
    assert_true(faults.count >= 43);
}

TEST_CASE(test_the_file_itself)
{
    struct faults faults;
    struct conf *conf;

    put_file("callgate.yaml", LEAST, 0664);
    faults_init(&faults);
    assert_int_equal(conf_load(conf_path, &conf, &faults, NULL), CODE_INVALID);
    assert_non_null(strstr(faults.fault[0].text, "chmod go-w"));
    (void)unlink(conf_path);
    faults_init(&faults);
    assert_int_equal(conf_load(conf_path, &conf, &faults, NULL), CODE_INVALID);
    assert_int_equal(faults.fault[0].line, 0);
}

TEST_CASE(test_out_of_memory)
{
    bool done = false;

    put_file("callgate.yaml", everything, 0644);
    for (uint64_t nth = 1; !done; nth++) {
        struct faults faults;
        struct conf *conf;
        enum code code;

        faults_init(&faults);
        mem_fail_at(nth, 0);
        code = conf_load(conf_path, &conf, &faults, NULL);
        done = mem_fail_count() < nth;
        mem_fail_at(0, 0);
        if (done)
            assert_int_equal(code, CODE_OK);
        else if (code != CODE_NOMEM && code != CODE_INVALID)
            fail_msg("allocation %llu: %s", (unsigned long long)nth, code_text(code));
        assert_true((conf != NULL) == (code == CODE_OK));
        conf_free(&conf);
        assert_true(nth < 2000);
    }
}

TEST_MAIN(set_up, tear_down)
