/* SPDX-License-Identifier: Apache-2.0 */
/* 15.5: what a route declares of its server's messages. */
#include "conf/conf.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/callgate-declared-XXXXXX";
static char path[64];

static enum code load(const char *route, struct conf **conf, struct faults *faults)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fprintf(file, "routes: [{name: a, path: /a, upstream: {url: 'http://127.0.0.1:9/mcp'}%s}]\n", route) > 0);
    fclose(file);
    faults_init(faults);
    return conf_load(path, conf, faults, NULL);
}

static void refuses(const char *route, const char *sentence)
{
    struct faults faults;
    struct conf *conf;

    if (load(route, &conf, &faults) == CODE_OK)
        fail_msg("%s was taken", route);
    if (faults.count == 0 || strstr(faults.fault[0].text, sentence) == NULL)
        fail_msg("%s: %s", route, faults.count > 0 ? faults.fault[0].text : "");
}

TEST_CASE(reads_methods)
{
    const struct mcp_method *method;
    struct faults faults;
    struct conf *conf;

    assert_ok(load(", methods: [{name: acme/files/read, thing: $.at}, {name: acme/files, list: '$.files[*].at'}]", &conf, &faults));
    assert_int_equal(conf->proxy->routes[0].methods.count, 2);
    method = mcp_method_find(SPAN_LIT("acme/files/read"), &conf->proxy->routes[0].methods);
    assert_true(span_is(method->thing, "at") && method->about == MCP_ABOUT_RESOURCE && method->lists == MCP_LISTS_NOTHING);
    method = mcp_method_find(SPAN_LIT("acme/files"), &conf->proxy->routes[0].methods);
    assert_true(span_is(method->list, "files") && span_is(method->key, "at") && method->about == MCP_ABOUT_NOTHING);
    conf_free(&conf);
    assert_ok(load("", &conf, &faults));
    assert_null(mcp_method_find(SPAN_LIT("acme/files"), &conf->proxy->routes[0].methods));
    conf_free(&conf);
}

TEST_CASE(refuses_others)
{
    refuses(", methods: [{name: resources/read, thing: $.at}]", "is known already");
    refuses(", methods: [{name: skills/get, thing: $.at}]", "is known already");
    refuses(", methods: [{name: a/b, thing: $.at}, {name: a/b, list: '$.c[*].d'}]", "there twice");
    refuses(", methods: [{name: a/b}]", "neither `thing` nor `list`");
    refuses(", methods: [{thing: $.at}]", "a method has a `name`");
    refuses(", methods: [{name: files, thing: $.at}]", "a method has a `name`");
    refuses(", methods: [{name: /files, thing: $.at}]", "a method has a `name`");
    refuses(", methods: [{name: 'a/b c', thing: $.at}]", "a method has a `name`");
    refuses(", methods: [{name: a/b, thing: uri}]", "`thing` is the member");
    refuses(", methods: [{name: a/b, thing: $.a.b}]", "`thing` is the member");
    refuses(", methods: [{name: a/b, thing: '$.a[0]'}]", "`thing` is the member");
    refuses(", methods: [{name: a/b, list: $.a.b}]", "`list` is a list");
    refuses(", methods: [{name: a/b, list: '$.a[*]'}]", "`list` is a list");
    refuses(", methods: [{name: a/b, list: '$[*].a'}]", "`list` is a list");
    refuses(", methods: [{name: a/b, list: '$.a[*].b[*].c'}]", "`list` is a list");
    refuses(", methods: [{name: a/b, uri: $.a}]", "uri");
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

TEST_CASE(reads_unwraps) /* 15.4 */
{
    const struct declared_unwrap *unwrap;
    struct faults faults;
    struct conf *conf;

    assert_ok(load(", unwrap: [{tool: c, name: $.a.b, arguments: $.p, server: $.s, besides: [x, y]}, {tool: f, lists: '$.t[*]'}]", &conf,
                   &faults));
    unwrap = declared_unwrap_find(&conf->proxy->routes[0].unwraps, SPAN_LIT("c"));
    assert_true(unwrap->name.count == 2 && span_is(unwrap->name.step[1], "b") && unwrap->arguments.count == 1);
    assert_true(unwrap->server.count == 1 && unwrap->beside_count == 2 && span_is(unwrap->besides[1], "y"));
    unwrap = declared_unwrap_find(&conf->proxy->routes[0].unwraps, SPAN_LIT("f"));
    assert_true(unwrap->name.count == 0 && unwrap->list_count == 1 && unwrap->lists[0].path.count == 1 && unwrap->lists[0].key.len == 0);
    assert_null(declared_unwrap_find(&conf->proxy->routes[0].unwraps, SPAN_LIT("g")));
    conf_free(&conf);
    assert_ok(load(", unwrap: [{tool: f, lists: ['$[*].n', '$.r.t[*].n'], server: $.s}]", &conf, &faults));
    unwrap = declared_unwrap_find(&conf->proxy->routes[0].unwraps, SPAN_LIT("f"));
    assert_true(unwrap->list_count == 2 && unwrap->lists[0].path.count == 0 && unwrap->lists[1].path.count == 2);
    assert_true(span_is(unwrap->lists[1].key, "n") && unwrap->server.count == 1);
    assert_true(declared_unwrap_is_like(&conf->proxy->routes[0].unwraps, SPAN_LIT("F")));
    assert_false(declared_unwrap_is_like(&conf->proxy->routes[0].unwraps, SPAN_LIT("g")));
    conf_free(&conf);
    refuses(", unwrap: [{tool: f, lists: []}]", "one place or up to");
    refuses(", unwrap: [{tool: f, lists: ['$[*]', '$[*]', '$[*]', '$[*]', '$[*]']}]", "one place or up to");
    refuses(", unwrap: [{tool: f, lists: ['$[*]', 'x[*]']}]", "`lists` is where");
    refuses(", unwrap: [{name: $.a}]", "`tool` is the tool");
    refuses(", unwrap: [{tool: c}]", "say one of the two");
    refuses(", unwrap: [{tool: c, name: $.a, lists: '$.t[*]'}]", "say one of the two");
    refuses(", unwrap: [{tool: c, arguments: $.a, lists: '$.t[*]'}]", "say one of the two");
    refuses(", unwrap: [{tool: c, name: '$.a[0]'}]", "`name` leads");
    refuses(", unwrap: [{tool: c, name: $.a}, {tool: c, name: $.b}]", "there twice");
    refuses(", unwrap: [{tool: c, lists: $.t}]", "`lists` is where");
    refuses(", transports: [streamable, http+sse], unwrap: [{tool: c, name: $.a}]", "over http+sse");
}

TEST_CASE(reads_apps) /* 15.6 */
{
    const struct declared_apps *apps;
    struct faults faults;
    struct conf *conf;

    assert_ok(load(", apps: {domains: ['https://*.a.example', 'wss://b:1'], permissions: []}", &conf, &faults));
    apps = &conf->proxy->routes[0].apps;
    assert_true(apps->is_on && apps->domain_count == 2 && apps->permission_count == 0 && span_is(apps->domains[1], "wss://b:1"));
    conf_free(&conf);
    assert_ok(load("", &conf, &faults));
    assert_false(conf->proxy->routes[0].apps.is_on);
    conf_free(&conf);
    refuses(", apps: {domains: [a.example]}", "is no place");
    refuses(", apps: {domains: ['https://a.example/']}", "is no place");
    refuses(", apps: {domains: ['https://a.example/x']}", "is no place");
    refuses(", apps: {domains: ['https://*']}", "is no place");
    refuses(", apps: {domains: ['https://a.*.example']}", "is no place");
    refuses(", apps: {domains: ['https://a:x']}", "is no place");
    refuses(", apps: {domains: ['data:']}", "is no place");
    refuses(", apps: {domains: 'https://a.example'}", "list");
    refuses(", apps: {domain: ['https://a.example']}", "domain");
    refuses(", apps: [1]", "apps");
}

TEST_MAIN(begin, end)
