/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf_priv.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "http/authority.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_AUDIENCES 8
#define MAX_REQUIRED 16
#define MAX_TENANTS 1024
#define NAME_BYTES_MAX 64

/* ---- URLs ---- */

const char *conf__provider_url(struct conf_reader *reader, const struct yaml_node *node)
{
    struct span text = conf__text(reader, node);
    struct http_authority authority;
    bool is_tls;
    const char *fault = text.at != NULL ? identity_url_split(text, &authority, &is_tls) : NULL;

    if (fault != NULL)
        CONF_FAULT(reader, node, "`%.*s` is no URL of a provider: %s; write 'https://id.example.com/PATH'", SPAN_ARG(text),
                   fault);
    return fault == NULL ? text.at : NULL;
}

/* ---- a provider ---- */

/* The name has plain characters alone, since it is part of a file's name. */
static const char *read_name(struct conf_reader *reader, const struct yaml_node *map)
{
    const struct yaml_node *node = conf__need(reader, map, "name", "corp");
    struct span name = node != NULL ? conf__text(reader, node) : SPAN_NONE;

    if (name.len > NAME_BYTES_MAX || !ascii_is_all(name, "a-zA-Z0-9_-")) {
        CONF_FAULT(reader, node, "a provider's name is 1 to %d letters, digits, `-` and `_`; write `name: corp`",
                   NAME_BYTES_MAX);
        return NULL;
    }
    for (size_t i = 0; name.at != NULL && reader->proxy != NULL && i < reader->proxy->provider_count; i++)
        if (reader->proxy->providers[i].rules.name != NULL && span_is(name, reader->proxy->providers[i].rules.name))
            CONF_FAULT(reader, node, "two providers are named %s; give each its own name", name.at);
    return name.at;
}

static uint32_t read_algorithms(struct conf_reader *reader, const struct yaml_node *map)
{
    const struct yaml_node *list = conf__list(reader, map, "algorithms", 16);
    const char *const *names = identity_algorithm_names();
    uint32_t bits = 0;

    if (yaml_member(map, "algorithms") == NULL)
        return identity_algorithm_bit(SPAN_LIT("RS256")) | identity_algorithm_bit(SPAN_LIT("PS256")) |
               identity_algorithm_bit(SPAN_LIT("ES256"));
    for (const struct yaml_node *node = list != NULL ? list->child : NULL; node != NULL; node = node->next) {
        uint32_t bit = node->type == YAML_STRING ? identity_algorithm_bit(node->text) : 0;

        if (bit == 0 && (span_starts_with(node->text, SPAN_LIT("HS")) || span_is(node->text, "none")))
            CONF_FAULT(reader, node, "with `%.*s` whoever can check a token can make one; write what the provider signs with, "
                       "as RS256, PS256 or ES256", SPAN_ARG(node->text));
        else if (bit == 0)
            (void)conf__word(reader, node, "algorithms", names);
        bits |= bit;
    }
    return bits;
}

static void read_keys(struct conf_reader *reader, const struct yaml_node *map, struct identity_provider *provider)
{
    const struct yaml_node *keys = yaml_member(map, "keys"), *url = keys != NULL ? yaml_member(keys, "url") : NULL;

    if (keys == NULL)
        return;
    provider->keys_url = url != NULL ? conf__provider_url(reader, url) : NULL;
    provider->keys_file = conf__path(reader, keys, "file", NULL);
    if (provider->keys_url != NULL && provider->keys_file != NULL)
        CONF_FAULT(reader, keys, "a provider's keys are in a file or at a URL; leave one of the two out");
    else if (provider->keys_file != NULL && access(provider->keys_file, R_OK) != 0)
        CONF_WARN(reader, keys, "%s cannot be read: %s; until it can, the provider's tokens let nobody in", provider->keys_file,
                  strerror(errno));
}

static void read_client(struct conf_reader *reader, const struct yaml_node *map, struct identity_client *client)
{
    const struct yaml_node *node = conf__need(reader, map, "client", "{id: callgate, secret: {file: corp.secret}}");
    const struct yaml_node *secret;

    if (node == NULL || !conf__map(reader, node, conf__client, "`client`"))
        return;
    (void)conf__need(reader, node, "id", "callgate");
    client->id = conf__text_of(reader, node, "id").at;
    secret = conf__need(reader, node, "secret", "{file: corp.secret}");
    if (secret != NULL)
        client->secret = conf__secret_of(reader, secret, "corp.secret");
}

static void read_introspect(struct conf_reader *reader, const struct yaml_node *map, struct identity_provider *provider)
{
    const struct yaml_node *node = yaml_member(map, "introspect"), *url;

    if (node == NULL || !conf__map(reader, node, conf__introspect, "`introspect`"))
        return;
    url = conf__need(reader, node, "url", "'https://id.example.com/introspect'");
    provider->introspect_url = url != NULL ? conf__provider_url(reader, url) : NULL;
}

void conf__provider_tls(struct conf_reader *reader, const struct yaml_node *map, struct identity_provider *provider)
{
    struct tls_client_conf conf = {.ca = conf__path(reader, map, "ca", NULL)};
    struct why why = {""};
    enum code code = conf.ca != NULL ? tls_client_new(&conf, &provider->tls, &why) : CODE_OK;

    if (code == CODE_NOMEM)
        reader->out_of_memory = true;
    else if (code != CODE_OK)
        CONF_FAULT(reader, yaml_member(map, "ca"), "%s", why.text);
}

void conf__provider_rules(struct conf_reader *reader, const struct yaml_node *map, struct identity_provider *provider)
{
    struct conf_provider written = {.id_token_like = false};
    const struct yaml_node *issuer;

    if (!conf__read(reader, map, conf__provider, "a provider", &written))
        return;
    provider->rules.name = read_name(reader, map);
    issuer = conf__need(reader, map, "issuer", "'https://id.example.com/realms/corp'");
    provider->rules.issuer = issuer != NULL ? conf__provider_url(reader, issuer) : NULL;
    if (provider->rules.issuer != NULL && span_text(provider->rules.issuer).len > IDENTITY_ISSUER_BYTES_MAX)
        CONF_FAULT(reader, issuer, "an issuer has at most %d bytes", IDENTITY_ISSUER_BYTES_MAX);
    provider->rules.algorithms = read_algorithms(reader, map);
    provider->rules.leeway_us = (int64_t)written.leeway_ms * 1000;
    provider->rules.longest_us = (int64_t)written.longest_ms * 1000;
    provider->rules.id_token_like = written.id_token_like;
    provider->stale_us = (int64_t)written.keys.stale_ms * 1000;
    read_keys(reader, map, provider);
    read_introspect(reader, map, provider);
    identity_provider_seal(provider);
}

static void read_provider(struct conf_reader *reader, const struct yaml_node *map, struct identity_provider *provider)
{
    conf__provider_rules(reader, map, provider);
    conf__provider_tls(reader, map, provider);
    if (yaml_member(map, "introspect") != NULL && yaml_member(map, "introspect")->type == YAML_MAP)
        read_client(reader, yaml_member(map, "introspect"), &provider->introspect);
}

void conf__providers(struct conf_reader *reader, const struct yaml_node *root)
{
    const struct yaml_node *list = conf__list(reader, root, "providers", IDENTITY_PROVIDERS_MAX);
    struct proxy_conf *proxy = reader->proxy;

    proxy->providers = list != NULL ? conf__array(reader, list->count, sizeof *proxy->providers) : NULL;
    for (const struct yaml_node *node = proxy->providers != NULL ? list->child : NULL; node != NULL; node = node->next) {
        struct identity_provider *provider = &proxy->providers[proxy->provider_count];

        read_provider(reader, node, provider);
        proxy->provider_count++;
    }
}

const struct identity_provider *conf__provider_of(struct conf_reader *reader, const struct yaml_node *map)
{
    const struct yaml_node *node = conf__need(reader, map, "provider", "corp");
    const struct proxy_conf *proxy = reader->proxy;
    const char *names[IDENTITY_PROVIDERS_MAX + 1] = {NULL};
    size_t count = 0, at;

    for (size_t i = 0; i < proxy->provider_count; i++)
        if (proxy->providers[i].rules.name != NULL)
            names[count++] = proxy->providers[i].rules.name;
    if (node != NULL && count == 0)
        CONF_FAULT(reader, node, "there are no `providers`; write `providers: [{name: %.*s, issuer: 'https://…'}]` beside "
                   "`routes`", SPAN_ARG(node->text));
    if (node == NULL || count == 0)
        return NULL;
    at = conf__word(reader, node, "provider", names);
    for (size_t i = 0; i < proxy->provider_count; i++)
        if (proxy->providers[i].rules.name == names[at] && span_is(node->text, names[at]))
            return &proxy->providers[i];
    return NULL;
}

/* ---- `- token:` ---- */

static void read_path(struct conf_reader *reader, const struct yaml_node *node, struct span text, struct identity_path *path)
{
    struct why why = {""};

    if (text.at != NULL && identity_path_read(text.at, path, &why) != CODE_OK)
        CONF_FAULT(reader, node, "%s", why.text);
}

/* `$.a.b`, or the bare name of a claim. */
static struct span as_path(struct conf_reader *reader, struct span name)
{
    char text[512];

    if (name.len == 0 || name.at[0] == '$')
        return conf__copy(reader, name);
    (void)snprintf(text, sizeof text, "$['%.*s']", SPAN_ARG(name));
    return conf__copy(reader, span_text(text));
}

static void read_tenant_table(struct conf_reader *reader, const struct yaml_node *map, struct identity_naming *tenant)
{
    const struct yaml_node *claim, *is;
    struct identity_rename *table;

    if (!conf__map(reader, map, conf__tenant, "`tenant`"))
        return;
    claim = conf__need(reader, map, "claim", "$.org");
    is = conf__need(reader, map, "is", "{a1b2: acme}");
    if (claim != NULL)
        read_path(reader, claim, conf__text(reader, claim), &tenant->claim);
    if (is == NULL)
        return;
    if (is->type != YAML_MAP || is->count == 0 || is->count > MAX_TENANTS) {
        CONF_FAULT(reader, is, "`is` is a map of 1 to %d values of the claim; write {a1b2: acme}", MAX_TENANTS);
        return;
    }
    table = conf__array(reader, is->count, sizeof *table);
    tenant->table = table;
    for (const struct yaml_node *line = table != NULL ? is->child : NULL; line != NULL; line = line->next) {
        struct span name = conf__text(reader, line);

        if (name.at != NULL && !identity_name_is_good(name, 128))
            CONF_FAULT(reader, line, "a tenant is 1 to 128 visible ASCII characters");
        table[tenant->table_count++] = (struct identity_rename){conf__copy(reader, line->key).at, name.at};
    }
}

void conf__tenant_of(struct conf_reader *reader, const struct yaml_node *map, struct identity_naming *tenant)
{
    const struct yaml_node *node = conf__need(reader, map, "tenant", "$.org");
    struct span text;

    if (node == NULL)
        return;
    if (node->type == YAML_MAP) {
        read_tenant_table(reader, node, tenant);
        return;
    }
    text = conf__text(reader, node);
    if (text.at != NULL && text.at[0] == '$')
        read_path(reader, node, text, &tenant->claim);
    else if (text.at != NULL && !identity_name_is_good(text, 128))
        CONF_FAULT(reader, node, "a tenant is 1 to 128 visible ASCII characters, or where in the claims it is; write '$.org'");
    else
        tenant->constant = text.at;
}

static void read_require(struct conf_reader *reader, const struct yaml_node *map, struct identity_token_rules *rules)
{
    const struct yaml_node *node = yaml_member(map, "require");
    struct identity_require *all;

    if (node == NULL)
        return;
    if (node->type != YAML_MAP || node->count == 0 || node->count > MAX_REQUIRED) {
        CONF_FAULT(reader, node, "`require` is a map of 1 to %d claims; write {token_use: access}", MAX_REQUIRED);
        return;
    }
    all = conf__array(reader, node->count, sizeof *all);
    rules->require = all;
    for (const struct yaml_node *one = all != NULL ? node->child : NULL; one != NULL; one = one->next) {
        struct identity_require *required = &all[rules->require_count++];

        if (one->type == YAML_MAP || one->type == YAML_LIST || one->type == YAML_NULL)
            CONF_FAULT(reader, one, "a claim is required to be one text, number, true or false");
        else if (one->type == YAML_BOOL)
            required->equals = one->truth ? "true" : "false";
        else
            required->equals = conf__copy(reader, one->text).at;
        read_path(reader, one, as_path(reader, one->key), &required->claim);
    }
}

static void read_audiences(struct conf_reader *reader, const struct yaml_node *map, struct identity_source *source)
{
    const struct yaml_node *node = conf__need(reader, map, "audience", "'https://mcp.example.com/shop/mcp'");
    bool is_list = node != NULL && node->type == YAML_LIST;
    const struct yaml_node *list = is_list ? conf__list(reader, map, "audience", MAX_AUDIENCES) : NULL;
    const char **all = conf__array(reader, MAX_AUDIENCES + 1, sizeof *all);
    size_t count = 0;

    if (node == NULL || all == NULL || (is_list && list == NULL))
        return;
    for (const struct yaml_node *one = list != NULL ? list->child : node; one != NULL; one = list != NULL ? one->next : NULL) {
        struct span text = conf__text(reader, one);

        source->has_slug = source->has_slug || slug_is_in(text);
        if (text.at != NULL)
            all[count++] = text.at;
    }
    source->rules.audiences = all;
}

/* A path, or the certificate that is shown beside the token. */
static void read_agent(struct conf_reader *reader, const struct yaml_node *map, struct identity_source *source)
{
    static const char *const names[] = {"cn", "uri", "dns", "email", NULL}; /* in the order of enum identity_name */
    const struct yaml_node *node = yaml_member(map, "agent");

    if (node == NULL)
        return;
    if (node->type != YAML_MAP) {
        read_path(reader, node, conf__text(reader, node), &source->rules.agent);
        return;
    }
    if (!conf__map(reader, node, conf__agent_by, "`agent`"))
        return;
    source->agent_by_certificate = true;
    if (yaml_member(node, "certificate") != NULL)
        source->name = (enum identity_name)conf__choice(reader, node, "certificate", names);
    else
        CONF_FAULT(reader, node, "`agent` is where in the claims it says which program acts, or a certificate beside the "
                   "token; write $.azp, or {certificate: uri}");
    source->handed_on = conf__certificate_from(reader, node);
}

void conf__token_of(struct conf_reader *reader, const struct yaml_node *map, struct identity_source *source)
{
    static const char *const bounds[] = {"dpop", "certificate", NULL};
    const struct yaml_node *groups, *principal;
    struct identity_token_rules *rules = &source->rules;

    if (!conf__map(reader, map, conf__token, "`token`"))
        return;
    source->provider = conf__provider_of(reader, map);
    read_audiences(reader, map, source);
    principal = yaml_member(map, "principal");
    read_path(reader, principal, principal != NULL ? conf__text(reader, principal) : conf__copy(reader, SPAN_LIT("$.sub")),
              &rules->principal.claim);
    conf__tenant_of(reader, map, &rules->tenant);
    read_agent(reader, map, source);
    groups = yaml_member(map, "groups");
    if (groups != NULL)
        read_path(reader, groups, conf__text(reader, groups), &rules->groups);
    read_require(reader, map, rules);
    if (yaml_member(map, "bound") != NULL)
        source->bound = conf__choice(reader, map, "bound", bounds) == 0 ? IDENTITY_BOUND_KEY : IDENTITY_BOUND_CERTIFICATE;
    source->header = "DPoP";
    random_bytes(source->salt, sizeof source->salt);
}
