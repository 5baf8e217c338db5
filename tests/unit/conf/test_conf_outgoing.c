/* SPDX-License-Identifier: Apache-2.0 */
/* 8.6: `upstream: {authorization:}`: whose credential is whose is settled when the configuration is read. */
#include "conf/conf.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/callgate-outgoing-XXXXXX";
static struct faults faults, warnings;
static struct conf *conf;

static void put(const char *name, const char *text, mode_t mode)
{
    char path[200];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)unlink(path);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static enum code load(const char *before, const char *more, const char *upstream)
{
    char text[2000], path[100];

    (void)snprintf(text, sizeof text, "%sroutes: [{name: a, path: /a, upstream: {url: 'http://127.0.0.1:9/mcp', %s}%s}]\n", before,
                   upstream, more);
    put("callgate.yaml", text, 0600);
    (void)snprintf(path, sizeof path, "%s/callgate.yaml", folder);
    faults_init(&faults);
    faults_init(&warnings);
    return conf_load(path, &conf, &faults, &warnings);
}

static const char *of(const char *tenant, const char *principal)
{
    static char text[100];
    struct span value = outgoing_find(&conf->proxy->routes[0].upstream.outgoing, span_text(tenant), span_text(principal));

    (void)snprintf(text, sizeof text, "%.*s", SPAN_ARG(value));
    return value.at != NULL ? text : NULL;
}

static void assert_none(const char *tenant, const char *principal)
{
    if (of(tenant, principal) != NULL)
        fail_msg("%s of %s gets %s", principal, tenant, of(tenant, principal));
}

TEST_CASE(test_one)
{
    assert_ok(load("", "", "authorization: {file: one.token}"));
    assert_string_equal(of("acme", "bot"), "Bearer one");
    assert_string_equal(of("", ""), "Bearer one");
    conf_free(&conf);
    assert_ok(load("", "", "authorization: {file: one.token, prefix: 'Basic '}"));
    assert_string_equal(of("acme", "bot"), "Basic one");
    conf_free(&conf);
}

TEST_CASE(test_tenants)
{
    static const char *const nobodys[] = {"Acme", "acm", "acmee", "", "..", ".", "../x", "acme/../acme", "{tenant}", "hidden",
                                          ".hidden", "notes", "acme.token", "acme%00"};

    assert_ok(load("", "", "authorization: {file: 'tokens/{tenant}.token'}"));
    assert_int_equal(conf->proxy->routes[0].upstream.outgoing.count, 3);
    assert_string_equal(of("acme", "bot"), "Bearer of-acme");
    assert_string_equal(of("acme", "other"), "Bearer of-acme");
    assert_string_equal(of("globex", "bot"), "Bearer of-globex");
    assert_string_equal(of("spiffe://a", "bot"), "Bearer of-a");
    for (size_t i = 0; i < sizeof nobodys / sizeof *nobodys; i++)
        assert_none(nobodys[i], "bot");
    conf_free(&conf);
}

TEST_CASE(test_principals)
{
    assert_ok(load("", "", "authorization: {file: 'each/{tenant}/{principal}.token'}"));
    assert_string_equal(of("acme", "bot"), "Bearer acme-bot");
    assert_string_equal(of("globex", "bot"), "Bearer globex-bot");
    assert_none("acme", "other");
    assert_none("acm", "ebot");
    assert_none("acme/bot", "");
    assert_none("", "acme/bot");
    assert_none("acme", "../globex/bot");
    conf_free(&conf);
}

#define PROVIDERS "providers: [{name: corp, issuer: 'http://127.0.0.1:9/r'}, " \
    "{name: other, issuer: 'http://127.0.0.1:9/o', keys: {file: keys.json}}]\n"
#define CLIENT "client: {id: callgate, secret: {file: one.token}}"
#define TOKEN(provider) ", identity: [{token: {provider: " provider ", audience: 'https://a', principal: $.sub, tenant: acme}}]"

TEST_CASE(test_grants)
{
    const struct outgoing *outgoing;

    assert_ok(load(PROVIDERS, "", "authorization: {client_credentials: {provider: corp, " CLIENT ", scopes: [a, 'b:c'], audience: x}}"));
    outgoing = &conf->proxy->routes[0].upstream.outgoing;
    assert_int_equal(outgoing->kind, OUTGOING_CLIENT);
    assert_string_equal(outgoing->scopes, "a b:c");
    assert_string_equal(outgoing->client, "callgate");
    assert_ptr_equal(outgoing->provider, &conf->proxy->providers[0]);
    assert_false(outgoing->is_posted);
    assert_string_equal(of("acme", "bot"), "one");
    conf_free(&conf);
    assert_ok(load(PROVIDERS, "", "authorization: {client_credentials: {provider: other, url: 'http://localhost:8/t', "
                   "client: {id: 'c-{tenant}', method: post, secret: {file: 'tokens/{tenant}.token'}}}}"));
    outgoing = &conf->proxy->routes[0].upstream.outgoing;
    assert_true(outgoing->is_posted && outgoing->per_tenant);
    assert_string_equal(outgoing->token_url, "http://localhost:8/t");
    assert_string_equal(of("acme", "bot"), "of-acme");
    assert_none("initech", "bot");
    conf_free(&conf);
    assert_ok(load(PROVIDERS, TOKEN("corp"), "authorization: {exchange: {provider: corp, " CLIENT ", resource: 'https://up', "
                   "opaque: true}}"));
    outgoing = &conf->proxy->routes[0].upstream.outgoing;
    assert_int_equal(outgoing->kind, OUTGOING_EXCHANGE);
    assert_true(outgoing->takes_opaque);
    conf_free(&conf);
}

TEST_CASE(test_empty)
{
    assert_ok(load("", "", "authorization: {file: 'tokens/{tenant}.other'}"));
    assert_int_equal(warnings.count, 1);
    assert_non_null(strstr(warnings.fault[0].text, "denied until"));
    assert_none("acme", "bot");
    conf_free(&conf);
}

TEST_CASE(test_bad)
{
    static const struct {
        const char *more, *upstream, *words;
    } cases[] = {
        {"", "authorization: one.token", "is a map"},
        {"", "authorization: {file: none.token}", "none.token"},
        {"", "authorization: {file: open.token}", "open.token"},
        {"", "authorization: {file: two.token}", "one line"},
        {"", "authorization: {file: one.token, prefix: \"B\\u00e9 \"}", "visible ASCII"},
        {"", "authorization: {prefix: 'Bearer '}", "exactly one of"},
        {"", "authorization: {file: one.token, scopes: [a]}", "scopes"},
        {"", "authorization: {file: 'tokens/{principal}.token'}", "two tenants may have principals of one name"},
        {"", "authorization: {file: 'tokens/{tenant}{tenant}.token'}", "once"},
        {"", "authorization: {file: '{tenant}/a.token'}", "once"},
        {"", "authorization: {file: 'tokens/{tenant}{principal}.token'}", "once"},
        {"", "authorization: {file: 'tokens/{principal}/{tenant}.token'}", "once"},
        {"", "authorization: {file: 'tokens/{user}.token'}", "once"},
        {"", "authorization: {file: 'nowhere/{tenant}.token'}", "cannot be looked through"},
        {"", "authorization: {file: 'odd/{tenant}.token'}", "rename it"},
        {"", "authorization: {file: 'loose/{tenant}.token'}", "acme.token"},
        {"", "authorization: {file: one.token}, headers: {authorization: {file: one.token}}", "exactly one goes up"},
        {"", "authorization: {file: one.token, exchange: {provider: corp}}", "exactly one of"},
        {"", "authorization: {prefix: 'B ', client_credentials: {provider: corp, " CLIENT "}}", "`prefix` has no meaning"},
        {"", "authorization: {client_credentials: {provider: crop, " CLIENT "}}", "did you mean `corp`"},
        {"", "authorization: {client_credentials: {provider: corp}}", "`client` is missing"},
        {"", "authorization: {client_credentials: {provider: other, " CLIENT "}}", "token endpoint"},
        {"", "authorization: {client_credentials: {provider: corp, client: {id: a}}}", "`secret` is missing"},
        {"", "authorization: {client_credentials: {provider: corp, client: {id: a, secret: one}}}", "is a map"},
        {"", "authorization: {client_credentials: {provider: corp, client: {id: a, secret: {file: open.token}}}}", "open.token"},
        {"", "authorization: {client_credentials: {provider: corp, client: {id: 'a-{tenant}', secret: {file: one.token}}}}",
         "the secret's file names it, too"},
        {"", "authorization: {client_credentials: {provider: corp, client: {id: a, secret: {file: 'each/{tenant}/{principal}.token'}}}}",
         "each tenant's"},
        {"", "authorization: {client_credentials: {provider: corp, " CLIENT ", scopes: ['a b']}}", "a scope is"},
        {"", "authorization: {client_credentials: {provider: corp, " CLIENT ", url: 'http://id.example.com/t'}}", "plain http"},
        {"", "authorization: {client_credentials: {provider: corp, " CLIENT ", opaque: true}}", "opaque"},
        {TOKEN("corp"), "authorization: {exchange: {provider: corp, " CLIENT "}}", "is for nobody"},
        {TOKEN("other"), "authorization: {exchange: {provider: corp, " CLIENT ", resource: 'https://up'}}", "of the same provider"},
        {"", "authorization: {exchange: {provider: corp, " CLIENT ", resource: 'https://up'}}", "of the same provider"},
        {", identity: [{bearer: key, forward: true}]", "authorization: {file: one.token}", "exactly one goes up"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(load(PROVIDERS, cases[i].more, cases[i].upstream), CODE_INVALID);
        if (strstr(faults.fault[0].text, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].upstream, faults.fault[0].text);
        for (size_t n = 0; n < faults.count && n < FAULTS_MAX; n++)
            assert_null(strstr(faults.fault[n].text, "of-loose")); /* no secret in a fault */
    }
}

TEST_CASE(test_command)
{
    char path[100];

    put("callgate.yaml", "routes: [{name: a, path: /a, upstream: {command: [sh], authorization: {file: one.token}}}]\n", 0600);
    (void)snprintf(path, sizeof path, "%s/callgate.yaml", folder);
    faults_init(&faults);
    assert_int_equal(conf_load(path, &conf, &faults, NULL), CODE_INVALID);
    assert_non_null(strstr(faults.fault[0].text, "env: {TOKEN:"));
}

static int begin(void **state)
{
    static const char *const folders[] = {"tokens", "each", "each/acme", "each/globex", "odd", "loose"};
    char path[200];

    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, folders[i]);
        if (mkdir(path, 0700) != 0)
            return -1;
    }
    put("keys.json", "{}", 0600);
    put("one.token", "one\n", 0600);
    put("two.token", "one\ntwo\n", 0600);
    put("open.token", "one\n", 0644);
    put("tokens/acme.token", "of-acme\n", 0600);
    put("tokens/globex.token", "of-globex", 0600);
    put("tokens/spiffe:%2F%2Fa.token", "of-a", 0600);
    put("tokens/.hidden.token", "of-hidden", 0600);
    put("tokens/notes", "of-notes", 0644);
    put("each/acme/bot.token", "acme-bot", 0600);
    put("each/globex/bot.token", "globex-bot", 0600);
    put("odd/a b.token", "of-odd", 0600);
    put("loose/acme.token", "of-loose", 0644);
    return 0;
}

static int end(void **state)
{
    static const char *const all[] = {"callgate.yaml", "keys.json", "one.token", "two.token", "open.token", "tokens/acme.token",
                                      "tokens/globex.token", "tokens/spiffe:%2F%2Fa.token", "tokens/.hidden.token", "tokens/notes",
                                      "each/acme/bot.token", "each/globex/bot.token", "odd/a b.token", "loose/acme.token", "loose",
                                      "odd", "each/globex", "each/acme", "each", "tokens"};
    char path[200];

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, all[i]);
        (void)remove(path);
    }
    return rmdir(folder);
}

TEST_MAIN(begin, end)
