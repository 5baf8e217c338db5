/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf_priv.h"

#define MAX_SOURCES 8

static const char *const kinds[] = {"api_key", "bearer", "token", "certificate", "login", "none", NULL};

/* The kind that an entry names, or -1 after a fault. */
static int kind_of(struct conf_reader *reader, const struct yaml_node *node)
{
    int kind = -1, found = 0;

    for (int i = 0; kinds[i] != NULL; i++)
        if (yaml_member(node, kinds[i]) != NULL) {
            kind = i;
            found++;
        }
    if (found == 1)
        return kind;
    CONF_FAULT(reader, node, "an identity is exactly one of api_key, bearer, token, certificate, login and none; write "
               "{api_key: X-API-Key}");
    return -1;
}

static void read_none(struct conf_reader *reader, const struct yaml_node *node, struct identity_source *source)
{
    if (!conf__map(reader, node, conf__nobody, "`none`"))
        return;
    source->principal = conf__principal(reader, node, "principal", "local").at;
    source->tenant = conf__principal(reader, node, "tenant", "dev").at;
    if (yaml_member(node, "agent") != NULL)
        source->agent = conf__principal(reader, node, "agent", "desktop").at;
}

static void read_login(struct conf_reader *reader, const struct yaml_node *node, struct identity_source *source)
{
    struct why why = {""};
    const char *path;
    enum code code;

    if (!conf__map(reader, node, conf__login, "`login`"))
        return;
    source->tenant = conf__principal(reader, node, "tenant", "desk").at;
    path = conf__beside(reader, SPAN_LIT("/etc/passwd"));
    code = path != NULL ? identity_logins_read(path, reader->arena, source, &why) : CODE_NOMEM;
    reader->out_of_memory = reader->out_of_memory || code == CODE_NOMEM;
    if (code != CODE_OK && code != CODE_NOMEM)
        CONF_FAULT(reader, node, "the logins of this machine cannot be read: %s", why.text);
}

static void read_api_key(struct conf_reader *reader, const struct yaml_node *node, struct identity_source *source)
{
    struct span name = conf__header_name(reader, node);

    if (span_equals_nocase(name, SPAN_LIT("Authorization")))
        CONF_FAULT(reader, node, "a key in Authorization is `bearer: key`; write that");
    source->header = name.at;
}

static void read_source(struct conf_reader *reader, const struct yaml_node *node, struct identity_source *source)
{
    static const char *const bearers[] = {"key", NULL};
    int kind = conf__read(reader, node, conf__source, "an identity", source) ? kind_of(reader, node) : -1;

    if (kind < 0)
        return;
    source->kind = (enum identity_kind)kind;
    switch (source->kind) {
    case IDENTITY_API_KEY:
        read_api_key(reader, yaml_member(node, "api_key"), source);
        break;
    case IDENTITY_BEARER:
        (void)conf__choice(reader, node, "bearer", bearers);
        break;
    case IDENTITY_TOKEN:
        conf__token_of(reader, yaml_member(node, "token"), source);
        break;
    case IDENTITY_CERTIFICATE:
        conf__source_certificate(reader, node, source);
        break;
    case IDENTITY_LOGIN:
        read_login(reader, yaml_member(node, "login"), source);
        break;
    case IDENTITY_NONE:
        read_none(reader, yaml_member(node, "none"), source);
        break;
    }
    if (source->forward && source->kind >= IDENTITY_CERTIFICATE)
        CONF_FAULT(reader, yaml_member(node, "forward"), "there is nothing to forward of `%s`; leave `forward` out",
                   kinds[source->kind]);
}

static bool is_same(const struct identity_source *a, const struct identity_source *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == IDENTITY_TOKEN)
        return a->provider != NULL && a->provider == b->provider;
    if (a->kind == IDENTITY_CERTIFICATE && (a->header == NULL || b->header == NULL))
        return a->header == b->header;
    return (a->kind != IDENTITY_API_KEY && a->kind != IDENTITY_CERTIFICATE) ||
           (a->header != NULL && b->header != NULL && span_equals_nocase(span_text(a->header), span_text(b->header)));
}

static void use_keys(struct conf_reader *reader, struct proxy_route *route)
{
    struct identity_source *sources = conf__array(reader, 2, sizeof *sources);

    if (sources == NULL)
        return;
    sources[0] = (struct identity_source){.kind = IDENTITY_API_KEY, .header = "X-API-Key"};
    sources[1] = (struct identity_source){.kind = IDENTITY_BEARER};
    route->identity = sources;
    route->identity_count = 2;
}

void conf__identity(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    const struct yaml_node *list = conf__list(reader, map, "identity", MAX_SOURCES);
    struct identity_source *sources;
    size_t at = 0;

    if (yaml_member(map, "identity") == NULL && route->dialect != NULL && route->dialect->is_asked)
        CONF_FAULT(reader, map, "who asks `callgate hook` is not said; write identity: [{login: {tenant: desk}}]");
    if (yaml_member(map, "identity") == NULL) {
        use_keys(reader, route);
        return;
    }
    if (list == NULL)
        return;
    sources = conf__array(reader, list->count, sizeof *sources);
    if (sources == NULL)
        return;
    route->identity = sources;
    route->identity_count = list->count;
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next, at++) {
        size_t before = reader->faults->added;

        read_source(reader, node, &sources[at]);
        for (size_t i = 0; i < at && reader->faults->added == before; i++)
            if (is_same(&sources[i], &sources[at]))
                CONF_FAULT(reader, node, "this identity is listed already; leave one of the two out");
        for (size_t i = 0; i < at && reader->faults->added == before; i++)
            if (sources[at].kind == IDENTITY_TOKEN && sources[i].kind == IDENTITY_TOKEN &&
                sources[at].provider->introspect_url != NULL && sources[i].provider->introspect_url != NULL)
                CONF_FAULT(reader, node, "an opaque token does not say whose it is, and two providers of this route would be "
                           "asked about it; leave `introspect` out of one of them");
        if (sources[at].kind < IDENTITY_LOGIN && route->dialect != NULL && route->dialect->is_asked)
            CONF_FAULT(reader, node, "`callgate hook` shows no credential; write {login: {tenant: desk}}");
        if (sources[at].kind == IDENTITY_LOGIN && !conf__is_pipe(map))
            CONF_FAULT(reader, node, "a login is known of who asks at the gate's own socket, by `callgate hook`; over a "
                       "network nobody knows it, so leave it out");
        if (yaml_member(node, "none") != NULL && list->count > 1)
            CONF_FAULT(reader, node, "`none` stands alone: beside others, whoever leaves the key out would be let in; leave it "
                       "or them out");
    }
}
