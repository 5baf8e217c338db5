/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf_priv.h"
#include "os/clock.h"
#include "regex/regex.h"

static struct regex *tenant_regex(struct conf_reader *reader, const struct yaml_node *node)
{
    struct span pattern = conf__text(reader, node);
    struct regex *regex;
    struct why why = {""};
    const char *example;
    size_t offset;
    enum code code;

    if (pattern.at == NULL)
        return NULL;
    code = regex_compile(pattern, &regex, &offset, &why);
    if (code == CODE_NOMEM) {
        reader->out_of_memory = true;
        return NULL;
    }
    if (code != CODE_OK) {
        CONF_FAULT(reader, node, "the regex is not valid at byte %zu: %s", offset, why.text);
        return NULL;
    }
    if (!regex_has_group(regex, "tenant"))
        CONF_FAULT(reader, node, "the regex does not say what the tenant is; put it into a group: (?<tenant>[a-z]+)");
    else if (!regex_is_affordable(regex, true, &example))
        CONF_FAULT(reader, node, "the regex takes ever longer on %s; make what repeats shorter or possessive", example);
    return regex;
}

static void read_tenant(struct conf_reader *reader, const struct yaml_node *map, struct identity_source *source)
{
    const struct yaml_node *node = yaml_member(map, "tenant"), *uri;

    if (node == NULL)
        return;
    if (node->type != YAML_MAP) {
        source->tenant = conf__principal(reader, map, "tenant", "acme").at;
        return;
    }
    if (!conf__map(reader, node, conf__certificate_tenant, "`tenant`"))
        return;
    uri = yaml_member(node, "uri");
    if (node->count != 1 || (uri == NULL && !conf__bool(reader, node, "o")))
        CONF_FAULT(reader, node, "`tenant` is a constant, {o: true}, or {uri: "
                   "'spiffe://(?<tenant>[a-z]+)\\.example\\.org/.*'}");
    else if (uri != NULL)
        source->tenant_regex = tenant_regex(reader, uri);
}

const char *conf__certificate_from(struct conf_reader *reader, const struct yaml_node *map)
{
    static const char *const headers[] = {"X-Forwarded-Client-Cert", "Client-Cert", NULL};
    const char *header = yaml_member(map, "from") != NULL ? headers[conf__choice(reader, map, "from", headers)] : NULL;

    if (header != NULL && reader->proxy->trusted_proxy_count == 0)
        CONF_FAULT(reader, map, "nobody may hand on a certificate while no proxy is trusted; name its address in "
                   "`trusted_proxies`, or leave `from` out");
    if (header == NULL && !reader->has_client_ca)
        CONF_FAULT(reader, map, "no listener asks for client certificates; give one `tls: {client_ca: agents-ca.pem}`");
    return header;
}

void conf__source_certificate(struct conf_reader *reader, const struct yaml_node *source_node, struct identity_source *source)
{
    const struct yaml_node *node = yaml_member(source_node, "certificate");
    bool is_map = node->type == YAML_MAP;

    if (is_map && conf__read(reader, node, conf__certificate, "`certificate`", source))
        read_tenant(reader, node, source);
    else if (!is_map && !span_is(conf__text(reader, node), "subject"))
        CONF_FAULT(reader, node, "`certificate` is `subject` (CN and O), or says which names count; write {certificate: "
                   "{principal: uri, tenant: {o: true}}}");
    source->header = conf__certificate_from(reader, is_map ? node : source_node);
}

/* ---- of ours: whether they are in their time ---- */

/* Returns: NULL: it is, or nothing is shown; else what is wrong with it, and from or until when. */
static const char *out_of_time(const struct tls_context *tls, int64_t now_us, int64_t *at_us)
{
    int64_t from_us, until_us;

    if (tls == NULL || !tls_shown_times(tls, &from_us, &until_us) || (from_us <= now_us && until_us > now_us))
        return NULL;
    *at_us = from_us > now_us ? from_us : until_us;
    return from_us > now_us ? "is not valid before" : "ended at";
}

static void hold_one(struct faults *faults, const struct conf *conf, struct span whose, const struct tls_context *tls,
                     const struct tls_context *old)
{
    int64_t now_us = clock_wall_us(), at_us = 0;
    const char *wrong = out_of_time(tls, now_us, &at_us);
    char at[CLOCK_TEXT_BYTES];
    int64_t unasked;

    if (wrong == NULL || (old != NULL && out_of_time(old, now_us, &unasked) != NULL))
        return;
    clock_text(at_us, at);
    faults_add(faults, conf->path, 0, 0, "the certificate of %.*s %s %.19sZ: whoever checks it ends the connection; put one "
               "that is valid now in its place", SPAN_ARG(whose), wrong, at);
}

static const struct tls_context *old_of(const struct conf *old, const struct proxy_route *route)
{
    for (size_t i = 0; old != NULL && i < old->proxy->route_count; i++)
        if (span_equals(old->proxy->routes[i].name, route->name))
            return old->proxy->routes[i].upstream.tls;
    return NULL;
}

bool conf_certificates_hold(const struct conf *conf, const struct conf *old, struct faults *faults)
{
    size_t before = faults->added;

    for (size_t i = 0; i < conf->proxy->listen_count; i++) {
        const struct proxy_listen *listen = &conf->proxy->listens[i];
        char address[SOCK_TEXT_BYTES];

        if (listen->tls == NULL)
            continue;
        sock_text(&listen->address, address);
        hold_one(faults, conf, span_text(address), listen->tls, old != NULL ? old->proxy->listens[i].tls : NULL);
    }
    for (size_t i = 0; i < conf->proxy->route_count; i++) {
        const struct proxy_route *route = &conf->proxy->routes[i];

        hold_one(faults, conf, route->name, route->upstream.tls, old_of(old, route));
    }
    return faults->added == before;
}

/* ---- when they end ---- */

struct telling {
    void (*told)(void *context, const char *side, struct span name, int64_t until_us);
    void *context;
};

static void put_end(const struct telling *telling, const char *side, struct span name, int64_t until_us)
{
    if (until_us != INT64_MAX)
        telling->told(telling->context, side, name, until_us);
}

static void put_ends(const struct telling *telling, struct span name, const struct tls_context *tls)
{
    if (tls == NULL)
        return;
    put_end(telling, "client", name, tls_shown_until_us(tls));
    put_end(telling, "upstream", name, tls_met_until_us(tls));
    put_end(telling, "ca", name, tls_trust_until_us(tls));
}

void conf_certificates_each(const struct conf *conf,
                            void (*told)(void *context, const char *side, struct span name, int64_t until_us), void *context)
{
    const struct telling telling = {told, context};
    const struct proxy_conf *proxy = conf->proxy;

    for (size_t i = 0; i < proxy->listen_count; i++) {
        char address[SOCK_TEXT_BYTES];

        sock_text(&proxy->listens[i].address, address);
        if (proxy->listens[i].tls == NULL)
            continue;
        put_end(&telling, "listener", span_text(address), tls_shown_until_us(proxy->listens[i].tls));
        put_end(&telling, "client_ca", span_text(address), tls_trust_until_us(proxy->listens[i].tls));
    }
    for (size_t i = 0; i < proxy->route_count; i++)
        put_ends(&telling, proxy->routes[i].name, proxy->routes[i].upstream.tls);
    put_ends(&telling, SPAN_LIT("(checkpoints)"), conf->audit.checkpoint_server.tls);
    put_ends(&telling, SPAN_LIT("(notify)"), conf->notify.server.tls);
    put_ends(&telling, SPAN_LIT("(alerts)"), conf->alerts.to.server.tls);
}
