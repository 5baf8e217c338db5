/* SPDX-License-Identifier: Apache-2.0 */
/* Routes for pipes, `pipe:`, and what `callgate pipe` reads of a configuration. 5.11 */
#include "fakes/cm.h"

#include "conf/conf.h"
#include "mcp/dialect.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUTE "{name: files, dialect: mcp, identity: [{none: {principal: me, tenant: desk}}]}"
#define WEB "{name: web, path: /w, dialect: mcp, upstream: {url: 'http://127.0.0.1:1/m'}, identity: [{api_key: K}]}"

static char path[] = "/tmp/callgate-conf-XXXXXX";

static enum code load(const char *text, struct conf **conf, struct faults *faults)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    (void)fclose(file);
    faults_init(faults);
    return conf_load(path, conf, faults, NULL);
}

static struct conf *good(const char *text)
{
    struct faults faults;
    struct conf *conf;

    if (load(text, &conf, &faults) != CODE_OK)
        fail_msg("%s at %d:%d", faults.fault[0].text, faults.fault[0].line, faults.fault[0].column);
    return conf;
}

static void bad(const char *text, const char *part)
{
    struct faults faults;
    struct conf *conf;

    assert_int_equal(load(text, &conf, &faults), CODE_INVALID);
    if (strstr(faults.fault[0].text, part) == NULL)
        fail_msg("%s: %s", text, faults.fault[0].text);
}

TEST_CASE(a_pipe_needs_no_listener)
{
    struct conf *conf = good("routes: [" ROUTE "]\n");

    assert_int_equal(conf->proxy->listen_count, 1);
    assert_string_equal(conf->proxy->listens[0].socket, "/tmp/callgate.sock");
    assert_true(conf->proxy->routes[0].is_pipe);
    assert_null(conf->proxy->routes[0].upstream.host);
    assert_int_equal(conf->name_count, 0);
    assert_int_equal(conf->pipe.linger_ms, 10000);
    conf_free(&conf);
    conf = good("pipe: {socket: /run/s, linger: 2s}\nroutes: [" ROUTE ", {name: b, dialect: okso}, " WEB "]\n");
    assert_int_equal(conf->proxy->listen_count, 2); /* loopback, since one route is for the network */
    assert_null(conf->proxy->listens[0].socket);
    assert_string_equal(conf->proxy->listens[1].socket, "/run/s");
    assert_int_equal(conf->pipe.linger_ms, 2000);
    assert_false(conf->proxy->routes[0].is_pipe); /* those with a path come first */
    assert_true(conf->proxy->routes[1].is_pipe && conf->proxy->routes[2].is_pipe);
    conf_free(&conf);
    conf = good("routes: [{name: files}]\n"); /* 10.25: its dialect is mcp, as everywhere */
    assert_true(conf->proxy->routes[0].is_pipe && strcmp(conf->proxy->routes[0].dialect->name, "mcp") == 0);
    conf_free(&conf);
    conf = good("routes: [" WEB "]\n");
    assert_int_equal(conf->proxy->listen_count, 1);
    assert_null(conf->proxy->listens[0].socket);
    conf_free(&conf);
}

TEST_CASE(faults_of_pipes)
{
    bad("routes: [{name: files, dialect: mcp, host: a.example}]\n", "`host` has no meaning");
    bad("routes: [{name: files, dialect: mcp, pass: ['GET /x']}]\n", "`pass` has no meaning");
    bad("routes: [{name: files, dialect: mcp, path: /x}]\n", "upstream");
    bad("routes: [{name: files, dialect: mcp, upstream: {url: 'http://127.0.0.1:1/'}}]\n", "path");
    bad("routes: [" ROUTE ", " ROUTE "]\n", "named files is there already");
    bad("pipe: {sock: x}\nroutes: [" ROUTE "]\n", "sock");
    bad("pipe: {socket: /012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
        "01234567890123456789}\nroutes: [" ROUTE "]\n", "longer than 107 bytes");
}

#define HOOK "{name: claude-code, dialect: hook, identity: [{login: {tenant: desk}}]}"

TEST_CASE(a_route_for_hooks) /* 15.7 */
{
    struct conf *conf = good("pipe: {shared: true}\nroutes: [" HOOK ", " ROUTE ", " WEB "]\n");
    const struct identity_source *login = NULL;
    struct conf_pipe_route route;
    struct faults faults;

    assert_true(conf->proxy->listens[1].is_shared);
    for (size_t i = 0; i < conf->proxy->route_count; i++)
        if (conf->proxy->routes[i].dialect->is_asked)
            login = conf->proxy->routes[i].identity;
    assert_non_null(login);
    assert_true(login->kind == IDENTITY_LOGIN && login->login_count > 0);
    assert_true(login->logins[0].uid == 0 && strcmp(login->logins[0].name, "root") == 0);
    conf_free(&conf);
    faults_init(&faults);
    assert_int_equal(conf_pipe_route(path, "claude-code", true, &route, &faults), CODE_OK);
    assert_true(route.pipe.is_shared && span_is(route.name, "claude-code") && route.server_count == 2);
    assert_true(span_is(route.servers[0], "files") && span_is(route.servers[1], "web"));
    arena_fini(&route.arena);
    assert_int_equal(conf_pipe_route(path, NULL, false, &route, &faults), CODE_OK); /* of a pipe it is none */
    assert_true(span_is(route.name, "files"));
    arena_fini(&route.arena);
    assert_int_equal(conf_pipe_route(path, "files", true, &route, &faults), CODE_INVALID);
    assert_non_null(strstr(faults.fault[0].text, "there is no route for hooks named files"));
    arena_fini(&route.arena);
    assert_int_equal(load("routes: [" HOOK ", {name: login, public_url: 'https://gate.example/login', upstream: {url: "
                          "'https://id.example/token', oauth: front}}]\n", &conf, &faults), CODE_INVALID);
    faults_init(&faults);
    assert_int_equal(conf_pipe_route(path, "claude-code", true, &route, &faults), CODE_OK);
    assert_int_equal(route.server_count, 0); /* where people log in nothing is judged */
    arena_fini(&route.arena);
    bad("routes: [{name: h, dialect: hook}]\n", "who asks `callgate hook` is not said");
    bad("routes: [{name: h, dialect: hook, identity: [{bearer: key}]}]\n", "shows no credential");
    bad("routes: [{name: h, dialect: hook, path: /x, identity: [{login: {tenant: d}}], upstream: {url: 'http://127.0.0.1:1/'}}]\n",
        "nothing goes up");
    bad("routes: [{name: w, path: /w, upstream: {url: 'http://127.0.0.1:1/m'}, identity: [{login: {tenant: d}}]}]\n",
        "over a network nobody knows it");
    bad("routes: [{name: h, dialect: hook, identity: [{login: {}}]}]\n", "tenant");
}

TEST_CASE(what_a_pipe_reads)
{
    struct conf_pipe_route route;
    struct conf *conf = good("routes: [" WEB ", " ROUTE ", {name: keyed, dialect: okso, limits: {body: 1 MiB}},\n"
                             "  {name: borne, dialect: mcp, identity: [{bearer: key}]}]\n");
    struct faults faults;

    conf_free(&conf);
    faults_init(&faults);
    assert_int_equal(conf_pipe_route(path, "files", false, &route, &faults), CODE_OK);
    assert_true(span_is(route.name, "files") && strcmp(route.dialect->name, "mcp") == 0 && span_is_empty(route.key_header));
    assert_int_equal(route.line_bytes, 4 << 20);
    arena_fini(&route.arena);
    assert_int_equal(conf_pipe_route(path, "keyed", false, &route, &faults), CODE_OK);
    assert_true(span_is(route.key_header, "X-API-Key") && strcmp(route.dialect->name, "okso") == 0);
    assert_int_equal(route.line_bytes, 1 << 20);
    arena_fini(&route.arena);
    assert_int_equal(conf_pipe_route(path, "borne", false, &route, &faults), CODE_OK);
    assert_true(span_is(route.key_header, "Authorization"));
    assert_string_equal(route.key_prefix, "Bearer ");
    arena_fini(&route.arena);
    assert_int_equal(conf_pipe_route(path, "web", false, &route, &faults), CODE_INVALID); /* it is for the network */
    arena_fini(&route.arena);
    assert_int_equal(conf_pipe_route(path, NULL, false, &route, &faults), CODE_INVALID);
    assert_non_null(strstr(faults.fault[1].text, "several routes"));
    arena_fini(&route.arena);
    assert_int_equal(conf_pipe_route("/nonexistent/callgate.yaml", NULL, false, &route, &faults), CODE_INVALID);
    arena_fini(&route.arena);
}

static int setup(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 || fchmod(fd, 0644) != 0 || close(fd) != 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

TEST_MAIN(setup, teardown)
