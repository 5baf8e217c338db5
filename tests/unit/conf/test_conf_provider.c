/* SPDX-License-Identifier: Apache-2.0 */
/* 8.1: `providers:` and `- token:` as they are read, refused and read without memory; key sets beside the store. */
#include "conf/conf.h"
#include "providers/kept_keys.h"

#include "base/mem.h"

#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/callgate-provider-XXXXXX";
static char conf_path[64];

static void put_file(const char *name, const char *text, mode_t mode)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    (void)fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

#define ROUTES "routes:\n  - {name: a, path: /a, upstream: {url: 'http://127.0.0.1:9/'}, identity: [{token: {provider: corp, "
#define END "}}]}\n"
#define PROVIDER "providers: [{name: corp, issuer: 'https://id.example.com/r'"

static const char good[] =
    "providers:\n"
    "  - {name: corp, issuer: 'https://id.example.com/r', algorithms: [ES256, EdDSA], leeway: 5s, longest: 2h,\n"
    "     keys: {url: 'https://keys.example.com:8443/set?p=1', stale: 1h},\n"
    "     introspect: {url: 'https://id.example.com/ask', client: {id: gate, secret: {file: corp.secret}}}}\n"
    "  - {name: other, issuer: 'http://127.0.0.1:9/', keys: {file: set.json}, id_token_like: true}\n"
    "routes:\n"
    "  - name: 'a-{slug}'\n    path: /a/{slug}\n    slugs: [x]\n    upstream: {url: 'http://127.0.0.1:9/{slug}'}\n"
    "    identity:\n"
    "      - bearer: key\n"
    "      - token: {provider: corp, audience: ['https://a/{slug}', urn:a], principal: $.azp, groups: $.realm_access.roles,\n"
    "                tenant: {claim: $.org, is: {a1b2: acme, c3: globex}}, require: {token_use: access, $.n.m: 7, ok: true},\n"
    "                scopes: [read], bound: dpop}\n"
    "      - {token: {provider: other, audience: 'https://a/{slug}', tenant: acme}}\n";

static enum code load(const char *text, struct conf **conf, struct faults *faults)
{
    put_file("callgate.yaml", text, 0644);
    faults_init(faults);
    return conf_load(conf_path, conf, faults, NULL);
}

static void load_good(struct conf **conf)
{
    struct faults faults;
    enum code code = load(good, conf, &faults);

    if (code != CODE_OK)
        fail_msg("%d:%d: %s", faults.fault[0].line, faults.fault[0].column, faults.fault[0].text);
}

TEST_CASE(test_what_is_read)
{
    const struct identity_provider *corp, *other;
    const struct identity_source *token;
    struct conf *conf;

    load_good(&conf);
    assert_int_equal(conf->proxy->provider_count, 2);
    corp = &conf->proxy->providers[0];
    other = &conf->proxy->providers[1];
    assert_true(corp->rules.leeway_us == 5000000 && corp->rules.longest_us == INT64_C(7200000000) &&
                corp->stale_us == INT64_C(3600000000) && other->stale_us == INT64_C(86400000000));
    assert_int_equal(corp->rules.algorithms, identity_algorithm_bit(SPAN_LIT("ES256")) | identity_algorithm_bit(SPAN_LIT("EdDSA")));
    assert_int_equal(identity_url_port(corp->keys_url), 8443);
    assert_true(span_is(corp->introspect.secret, "se cret") && strcmp(corp->introspect.id, "gate") == 0);
    assert_true(other->rules.id_token_like && other->introspect_url == NULL && strstr(other->keys_file, "/set.json") != NULL);
    assert_memory_not_equal(corp->digest, other->digest, DIGEST_BYTES);
    assert_int_equal(conf->proxy->routes[0].identity_count, 3);
    token = &conf->proxy->routes[0].identity[1];
    assert_true(token->kind == IDENTITY_TOKEN && token->provider == corp && token->has_slug && !token->forward);
    assert_int_equal(token->bound, IDENTITY_BOUND_KEY);
    assert_string_equal(token->rules.audiences[1], "urn:a");
    assert_null(token->rules.audiences[2]);
    assert_true(token->rules.tenant.table_count == 2 && strcmp(token->rules.tenant.table[1].name, "globex") == 0);
    assert_true(token->rules.require_count == 3 && strcmp(token->rules.require[2].equals, "true") == 0);
    assert_true(strcmp(token[1].rules.tenant.constant, "acme") == 0);
    assert_memory_not_equal(token[0].salt, token[1].salt, DIGEST_BYTES);
    conf_free(&conf);
}

TEST_CASE(test_what_is_refused)
{
    static const struct { const char *text, *words; } bad[] = {
        {ROUTES "audience: u, tenant: t" END, "there are no `providers`"},
        {PROVIDER "}]\n" ROUTES "audience: u" END, "`tenant` is missing"},
        {PROVIDER "}]\n" ROUTES "tenant: t" END, "`audience` is missing"},
        {PROVIDER "}]\n" ROUTES "audience: u, tenant: 'a b'" END, "visible ASCII"},
        {PROVIDER "}]\n" ROUTES "audience: u, tenant: '$.a[*]'" END, "$"},
        {PROVIDER "}]\n" ROUTES "audience: u, tenant: {claim: $.o}" END, "`is` is missing"},
        {PROVIDER "}]\n" ROUTES "audience: u, tenant: t, require: {a: [1]}" END, "one text, number"},
        {PROVIDER "}]\n" ROUTES "audience: u, tenant: t, bound: mtls" END, "`bound` knows no `mtls`"},
        {PROVIDER "}]\n" ROUTES "audience: u, tenant: t, principle: $.sub" END, "did you mean `principal`?"},
        {PROVIDER ", longest: 59s}]\n" ROUTES "audience: u, tenant: t" END, "`longest` is between 60s and 2592000s"},
        {PROVIDER "}, {name: corp, issuer: 'https://b'}]\n" ROUTES "audience: u, tenant: t" END, "two providers are named corp"},
        {"providers: [{name: corp}]\n" ROUTES "audience: u, tenant: t" END, "`issuer` is missing"},
        {"providers: [{name: corp, issuer: 'http://10.0.0.1/'}]\n" ROUTES "audience: u, tenant: t" END, "plain http"},
        {"providers: [{name: corp, issuer: 'https://u@h/'}]\n" ROUTES "audience: u, tenant: t" END, "its host"},
        {"providers: [{name: corp, issuer: 'https://h/#x'}]\n" ROUTES "audience: u, tenant: t" END, "a fragment"},
        {PROVIDER ", introspect: {url: 'https://i/'}}]\n" ROUTES "audience: u, tenant: t" END, "`client` is missing"},
        {PROVIDER ", introspect: {url: 'https://i/', client: {id: a, secret: {file: open.secret}}}}]\n" ROUTES
         "audience: u, tenant: t" END, "open.secret"},
        {PROVIDER "}]\n" ROUTES "audience: u, tenant: t}}, {token: {provider: corp, audience: v, tenant: t" END, "listed already"},
    };
    int missed = 0;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct faults faults;
        struct conf *conf;
        bool is_told = false;

        assert_int_equal(load(bad[i].text, &conf, &faults), CODE_INVALID);
        for (size_t j = 0; j < faults.count && j < FAULTS_MAX; j++)
            is_told = is_told || strstr(faults.fault[j].text, bad[i].words) != NULL;
        if (!is_told)
            print_error("%s\nsays not \"%s\" but \"%s\"\n", bad[i].text, bad[i].words, faults.fault[0].text);
        missed += !is_told;
    }
    assert_int_equal(missed, 0);
}

TEST_CASE(test_out_of_memory)
{
    bool done = false;

    put_file("callgate.yaml", good, 0644);
    for (uint64_t nth = 1; !done; nth++) {
        struct faults faults;
        struct conf *conf;
        enum code code;

        faults_init(&faults);
        mem_fail_at(nth, 0);
        code = conf_load(conf_path, &conf, &faults, NULL);
        done = mem_fail_count() < nth;
        mem_fail_at(0, 0);
        assert_true((conf != NULL) == (code == CODE_OK) && (!done || code == CODE_OK));
        if (!done && code != CODE_NOMEM && code != CODE_INVALID)
            fail_msg("allocation %llu: %s", (unsigned long long)nth, code_text(code));
        conf_free(&conf);
    }
}

static enum code read_kept(const struct identity_provider *provider, int64_t now_us, struct span *set, struct buf *text)
{
    struct why why;
    int64_t fetched_us;

    buf_clear(text);
    return kept_keys_read(conf_path, provider, now_us, text, set, &fetched_us, &why);
}

TEST_CASE(test_kept_sets)
{
    struct identity_provider provider = {.rules = {.name = "corp", .issuer = "https://id.example.com"}, .stale_us = 1000};
    struct identity_provider other = {.rules = {.name = "corp", .issuer = "https://evil.example.com"}, .stale_us = 1000};
    int64_t then_us = INT64_C(1800000000000000);
    struct span set;
    struct why why;
    struct buf text;

    buf_init(&text, SIZE_MAX / 2);
    identity_provider_seal(&provider);
    identity_provider_seal(&other);
    assert_int_equal(read_kept(&provider, then_us, &set, &text), CODE_NOT_FOUND);
    assert_ok(kept_keys_write(conf_path, &provider, SPAN_LIT("{\"keys\":[]}"), then_us, &why));
    assert_ok(read_kept(&provider, then_us + 999, &set, &text));
    assert_true(span_is(set, "{\"keys\":[]}"));
    assert_int_equal(read_kept(&provider, then_us + 1000, &set, &text), CODE_INVALID);
    assert_int_equal(read_kept(&provider, then_us - 1001, &set, &text), CODE_INVALID); /* from days to come */
    assert_int_equal(read_kept(&other, then_us, &set, &text), CODE_INVALID);
    put_file("jwks-corp.json", "{\"fetched\":\"1800000000000000\"", 0600);
    assert_int_equal(read_kept(&provider, then_us, &set, &text), CODE_INVALID);
    buf_fini(&text);
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(conf_path, sizeof conf_path, "%s/callgate.yaml", folder);
    put_file("corp.secret", "se cret\n", 0600);
    put_file("open.secret", "x\n", 0644);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const files[] = {"callgate.yaml", "corp.secret", "open.secret", "jwks-corp.json"};
    char path[128];

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

TEST_MAIN(set_up, tear_down)
