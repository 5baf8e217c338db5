/* SPDX-License-Identifier: Apache-2.0 */
/* What callgate.yaml says of how much anybody may take, and what a dialect says where it is silent. */
#include "conf/conf.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/callgate-limits-XXXXXX";
static char path[64];

static enum code load(const char *text, struct conf **conf, struct faults *faults)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
    faults_init(faults);
    return conf_load(path, conf, faults, NULL);
}

#define ROUTE "routes: [{name: a, path: /a, upstream: {url: 'http://127.0.0.1:9/mcp'}"
#define LEAST ROUTE "}]\n"

TEST_CASE(test_defaults) /* 4.8, 4.12 */
{
    struct faults faults;
    struct conf *conf;

    assert_ok(load(LEAST, &conf, &faults));
    assert_int_equal(conf->proxy->listens[0].read_rate, 8192);
    assert_int_equal(conf->proxy->memory_bytes, 1 << 30);
    assert_int_equal(conf->proxy->connections_per_address, 256);
    assert_int_equal(conf->proxy->routes[0].limits.principal_rate.interval_ns, 0);
    conf_free(&conf);
}

TEST_CASE(test_limits) /* 4.8, 4.12 */
{
    struct faults faults;
    struct conf *conf;

    assert_ok(load("limits: {memory: 64 MiB, connections_per_address: 9}\n"
                   "listen: [{address: '127.0.0.1:0', read_rate: 100 KiB}]\n" LEAST, &conf, &faults));
    assert_int_equal(conf->proxy->listens[0].read_rate, 100 << 10);
    assert_int_equal(conf->proxy->memory_bytes, 64 << 20);
    assert_int_equal(conf->proxy->connections_per_address, 9);
    conf_free(&conf);
}

static bool is_rate(const struct rate *rate, int64_t interval_ns, uint32_t burst)
{
    return rate->interval_ns == interval_ns && rate->burst == burst;
}

TEST_CASE(test_rates) /* 4.12 */
{
    struct faults faults;
    struct conf *conf;
    const struct proxy_limits *limits;

    assert_ok(load(ROUTE ", limits: {rate: 200/s}}]\n", &conf, &faults));
    limits = &conf->proxy->routes[0].limits;
    assert_true(is_rate(&limits->principal_rate, 5000000, 400) && is_rate(&limits->tenant_rate, 5000000, 400) &&
                is_rate(&limits->address_rate, 5000000, 400));
    conf_free(&conf);
    assert_ok(load(ROUTE ", limits: {rate: {principal: 6/min, address: 10/h}, burst: 3}}]\n", &conf, &faults));
    limits = &conf->proxy->routes[0].limits;
    assert_true(is_rate(&limits->principal_rate, INT64_C(10000000000), 3) && is_rate(&limits->tenant_rate, 0, 0) &&
                is_rate(&limits->address_rate, INT64_C(360000000000), 3));
    conf_free(&conf);
}

TEST_CASE(test_dialects) /* 5.7, 5.10 */
{
    const struct proxy_route *route;
    struct faults faults;
    struct conf *conf;

    assert_ok(load("routes:\n- {name: a, path: '/a/*', dialect: octopus, upstream: {url: 'http://127.0.0.1:9'}}\n"
                   "- {name: b, path: /b, dialect: okso, upstream: {url: 'http://127.0.0.1:9/b'}, tenant_header: X-T,\n"
                   "  timeouts: {head: 90s}, limits: {response: 9 MiB}}\n", &conf, &faults));
    for (size_t i = 0; i < 2; i++) {
        bool is_octopus = span_is(conf->proxy->routes[i].name, "a");

        route = &conf->proxy->routes[i];
        assert_string_equal(route->dialect->name, is_octopus ? "octopus" : "okso");
        assert_int_equal(route->reply_head_ms, is_octopus ? 30000 : 90000);
        assert_int_equal(route->reply_idle_ms, is_octopus ? 30000 : 300000);
        assert_int_equal(route->limits.response_bytes, is_octopus ? 4000000 : 9 << 20);
        assert_true(span_is(route->tenant_header, is_octopus ? "X-Octopus-Tenant-Id" : "X-T"));
        assert_true(span_is(route->correlation_header, is_octopus ? "X-Octopus-Correlation-Id" : "X-Correlation-Id"));
    }
    conf_free(&conf);
}

TEST_CASE(test_bad_limits) /* 4.8, 4.12 */
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"limits: {memory: 1 MiB}\n" LEAST, "memory"},
        {"limits: {connections_per_address: 0}\n" LEAST, "connections_per_address"},
        {"limits: {connections: 5}\n" LEAST, "connections"},
        {"limits: 5\n" LEAST, "limits"},
        {ROUTE ", limits: {rate: 5}}]\n", "200/s"},
        {ROUTE ", limits: {rate: 0/s}}]\n", "200/s"},
        {ROUTE ", limits: {rate: 5/d}}]\n", "200/s"},
        {ROUTE ", limits: {rate: -5/s}}]\n", "200/s"},
        {ROUTE ", limits: {rate: 1000001/s}}]\n", "200/s"},
        {ROUTE ", limits: {rate: {session: 5/s}}}]\n", "session"},
        {ROUTE ", limits: {rate: [5/s]}}]\n", "200/s"},
        {ROUTE ", limits: {rate: 5/s, burst: 0}}]\n", "burst"},
        {ROUTE ", limits: {burst: 5}}]\n", "without `rate`"},
        {"listen: [{address: '127.0.0.1:0', read_rate: 0}]\n" LEAST, "read_rate"},
        /* 5.7, 5.10 */
        {ROUTE ", dialect: octopus}]\n", "write a subtree"},
        {"routes: [{name: a, dialect: octopus}]\n", "no command speaks dialect octopus"},
        {"routes: [{name: a, path: '/a/*', dialect: octopus, upstream: {command: [x]}}]\n", "no command speaks dialect octopus"},
        {ROUTE ", dialect: okso, limits: {refusals: plain}}]\n", "`refusals` means nothing to dialect okso"},
        {ROUTE ", dialect: okso, revisions: [2025-06-18]}]\n", "`revisions` means nothing to dialect okso"},
        {ROUTE ", dialect: okso, query: pass}]\n", "`query` means nothing"},
        {"routes: [{name: a, path: '/a/*', dialect: octopus, tool_names: strict, upstream: {url: 'http://127.0.0.1'}}]\n",
         "`tool_names` means nothing"},
        {"routes: [{name: a, path: '/a/*', dialect: okso, upstream: {url: 'http://127.0.0.1'}}]\n", "without `/*`"},
        {ROUTE ", dialect: okso, tenant_header: X-Correlation-Id}]\n", "name two"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct faults faults;
        struct conf *conf;

        assert_int_equal(load(cases[i].text, &conf, &faults), CODE_INVALID);
        if (strstr(faults.fault[0].text, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].text, faults.fault[0].text);
    }
}

static int begin(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(path, sizeof path, "%s/callgate.yaml", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

TEST_MAIN(begin, end)
