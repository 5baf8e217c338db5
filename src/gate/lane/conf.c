/* SPDX-License-Identifier: Apache-2.0 */
#include "lane/conf.h"

#include "base/bug.h"
#include "base/glob.h"
#include "crypto/secret.h"

#include <stdlib.h>
#include <string.h>

#define CONF_ARENA_BYTES (16 * 1024 * 1024)


struct proxy_conf *proxy_conf_new(void)
{
    struct proxy_conf *conf = mem_zalloc(sizeof *conf);

    if (conf == NULL)
        return NULL;
    arena_init(&conf->arena, CONF_ARENA_BYTES);
    ref_init(&conf->ref);
    return conf;
}

struct proxy_conf *proxy_conf_ref(struct proxy_conf *conf)
{
    ref_take(&conf->ref);
    return conf;
}

void proxy_upstream_fini(struct proxy_upstream *upstream)
{
    tls_unref(&upstream->tls);
    for (size_t i = 0; i < upstream->header_count; i++) {
        secret_free((void *)(uintptr_t)upstream->headers[i].value.at, upstream->headers[i].value.len);
        if (upstream->headers[i].program != NULL)
            outgoing_fini(upstream->headers[i].program);
    }
    upstream->header_count = 0;
    outgoing_fini(&upstream->outgoing);
}

void proxy_conf_unref(struct proxy_conf **conf)
{
    struct proxy_conf *gone = *conf;

    *conf = NULL;
    if (gone == NULL || !ref_drop(&gone->ref))
        return;
    for (size_t i = 0; i < gone->listen_count; i++)
        tls_unref(&gone->listens[i].tls);
    for (size_t i = 0; i < gone->route_count; i++) {
        for (size_t j = 0; j < gone->routes[i].identity_count; j++) {
            struct regex *regex = gone->routes[i].identity[j].tenant_regex;

            regex_free(&regex);
        }
        proxy_upstream_fini(&gone->routes[i].upstream);
    }
    for (size_t i = 0; i < gone->provider_count; i++)
        identity_provider_fini(&gone->providers[i]);
    arena_fini(&gone->arena);
    mem_free(gone);
}

static void set_default(uint32_t *value, uint32_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

static void set_default_u64(uint64_t *value, uint64_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

static struct span header_of(struct span configured, const char *of_dialect, struct span otherwise)
{
    if (!span_is_empty(configured))
        return configured;
    return of_dialect != NULL ? span_text(of_dialect) : otherwise;
}

struct span proxy_correlation_header(const struct proxy_route *route)
{
    return header_of(route->correlation_header, route->dialect->correlation_header, PROXY_DEFAULT_CORRELATION);
}

struct span proxy_tenant_header(const struct proxy_route *route)
{
    return header_of(route->tenant_header, route->dialect->tenant_header, SPAN_NONE);
}

static void set_most(uint32_t *value, uint32_t other)
{
    if (*value < other)
        *value = other;
}

/* A joined endpoint waits as long as the slowest of its servers may take, with a session begun anew before the call. */
static void wait_for_servers(const struct proxy_conf *conf, struct proxy_route *route)
{
    for (size_t i = 0; i < conf->route_count; i++)
        for (size_t n = 0; n < route->server_count; n++) {
            const struct proxy_route *server = &conf->routes[i];

            if (!span_equals(server->name, route->servers[n]))
                continue;
            set_most(&route->reply_head_ms, 2 * (server->connect_ms + server->reply_head_ms));
            set_most(&route->reply_idle_ms, server->connect_ms + server->reply_idle_ms);
        }
}

#define JOINED_BYTES (UINT64_C(1) << 30) /* what a joined endpoint says was bounded on the routes of its servers */

static void fill_in(struct proxy_conf *conf)
{
    for (size_t i = 0; i < conf->listen_count; i++) {
        set_default(&conf->listens[i].head_ms, 10 * 1000);
        set_default(&conf->listens[i].body_ms, 30 * 1000);
        set_default(&conf->listens[i].idle_ms, 75 * 1000);
        set_default_u64(&conf->listens[i].read_rate, 8 << 10);
    }
    set_default_u64(&conf->memory_bytes, UINT64_C(1) << 30);
    set_default(&conf->connections_per_address, 256);
    conf->has_hosts = conf->host_count > 0;
    for (size_t i = 0; i < conf->route_count; i++) {
        struct proxy_route *route = &conf->routes[i];

        if (route->dialect == NULL)
            route->dialect = dialects[0];
        set_default(&route->connect_ms, 5 * 1000);
        set_default(&route->reply_head_ms, route->dialect->reply_ms != 0 ? route->dialect->reply_ms : 60 * 1000);
        set_default(&route->reply_idle_ms, route->dialect->reply_ms != 0 ? route->dialect->reply_ms : 5 * 60 * 1000);
        set_default_u64(&route->limits.body_bytes, 4 << 20);
        if (route->server_count > 0)
            route->limits.response_bytes = route->limits.event_bytes = JOINED_BYTES;
        set_default_u64(&route->limits.response_bytes,
                        route->dialect->response_bytes != 0 ? route->dialect->response_bytes : 8 << 20);
        set_default_u64(&route->limits.event_bytes, 8 << 20);
        set_default(&route->limits.per_principal_requests, 1024);
        route->correlation_header = proxy_correlation_header(route);
        route->tenant_header = proxy_tenant_header(route);
        conf->has_hosts = conf->has_hosts || !span_is_empty(route->host);
        conf->has_fronts = conf->has_fronts || !span_is_empty(route->front.client);
    }
    for (size_t i = 0; i < conf->route_count; i++)
        wait_for_servers(conf, &conf->routes[i]);
}

/* Routes for pipes, which have only names, come last. A route with a host comes before one without, an exact path before one
 * with a slug before a subtree, a longer before a shorter; then bytes decide, so that twins are neighbours. */
static int compare_routes(const void *left, const void *right)
{
    const struct proxy_route *a = left, *b = right;
    int order = (int)a->is_pipe - (int)b->is_pipe;

    if (order == 0 && a->is_pipe)
        return span_compare(a->name, b->name);
    if (order == 0)
        order = (int)span_is_empty(a->host) - (int)span_is_empty(b->host);
    if (order == 0)
        order = (int)a->subtree - (int)b->subtree;
    if (order == 0)
        order = (int)(a->slugs.count > 0) - (int)(b->slugs.count > 0);
    if (order == 0 && a->path.len != b->path.len)
        order = a->path.len > b->path.len ? -1 : 1;
    if (order == 0)
        order = span_compare(a->path, b->path);
    return order != 0 ? order : span_compare(a->host, b->host);
}

static enum code check_routes(const struct proxy_conf *conf, struct why *why)
{
    for (size_t i = 0; i < conf->route_count; i++) {
        const struct proxy_route *route = &conf->routes[i];

        if (!route->is_pipe && !span_starts_with(route->path, SPAN_LIT("/")) && !(route->subtree && span_is_empty(route->path)))
            return why_set(why, CODE_INVALID, "route %.*s: its path must begin with '/'", SPAN_ARG(route->name));
        if (route->revisions == NULL || (route->revisions[0] == NULL && route->dialect->revisions[0] != NULL))
            return why_set(why, CODE_INVALID, "route %.*s: it names no revision", SPAN_ARG(route->name));
        if ((route->upstream.host == NULL && !route->is_pipe && route->server_count == 0) ||
            span_is_empty(route->upstream.authority))
            return why_set(why, CODE_INVALID, "route %.*s: its upstream has no host", SPAN_ARG(route->name));
        if (i > 0 && compare_routes(route - 1, route) == 0)
            return why_set(why, CODE_INVALID, "routes %.*s and %.*s take the same path; give one another path or host",
                           SPAN_ARG(route[-1].name), SPAN_ARG(route->name));
    }
    return CODE_OK;
}

/* ---- declared paths ---- */

/* The upstream's host name without a dot at its end. */
static struct span bare_host(const struct proxy_upstream *upstream)
{
    struct span host = span_text(upstream->host);

    return span_part(host, 0, host.len - (span_ends_with(host, SPAN_LIT(".")) ? 1 : 0));
}

/* Whether two upstreams are one server, by their lower-case names. Only this machine's different names are known. */
static bool is_one_server(const struct proxy_upstream *a, const struct proxy_upstream *b)
{
    if (a->host == NULL || b->host == NULL || a->port != b->port)
        return false;
    return span_equals(bare_host(a), bare_host(b)) ||
           (sock_host_is_loopback(bare_host(a)) && sock_host_is_loopback(bare_host(b)));
}

bool proxy_conf_judges(const struct proxy_conf *conf, const struct proxy_upstream *server, struct span path)
{
    for (size_t i = 0; i < conf->route_count; i++)
        if (span_is_empty(conf->routes[i].front.client) && is_one_server(&conf->routes[i].upstream, server) &&
            slug_resembles(conf->routes[i].upstream.path, path, conf->routes[i].subtree))
            return true;
    return false;
}

bool proxy_conf_trusts(const struct proxy_conf *conf, const struct sock_address *address)
{
    for (size_t i = 0; i < conf->trusted_proxy_count; i++)
        if (sock_net_holds(&conf->trusted_proxies[i], address))
            return true;
    return false;
}

bool proxy_conf_declares(const struct proxy_conf *conf, const struct proxy_upstream *server, struct span path)
{
    bool is_plain = span_find(path, '%') == path.len && span_find(path, ';') == path.len &&
                    memmem(path.at, path.len, "//", 2) == NULL;

    for (size_t i = 0; i < conf->route_count; i++)
        for (size_t n = 0; n < conf->routes[i].pass_count; n++) {
            const struct proxy_pass *pass = &conf->routes[i].pass[n];

            if (pass->is_post && is_one_server(&conf->routes[i].upstream, server) &&
                (!is_plain || slug_resembles(pass->upstream_path, path, false)))
                return true;
        }
    return false;
}

static enum code check_passes(const struct proxy_conf *conf, struct why *why)
{
    for (size_t i = 0; i < conf->route_count; i++)
        for (size_t n = 0; n < conf->routes[i].pass_count; n++) {
            const struct proxy_route *route = &conf->routes[i];
            const struct proxy_pass *pass = &route->pass[n];

            if (pass->is_post && proxy_conf_judges(conf, &route->upstream, pass->upstream_path))
                return why_set(why, CODE_INVALID, "route %.*s: its `pass` leads POST to %.*s, where calls are judged; nothing "
                               "gets there past the policy: name another path", SPAN_ARG(route->name),
                               SPAN_ARG(pass->upstream_path));
        }
    return CODE_OK;
}

/* ---- names of upstreams ---- */

/* What a policy may write for an upstream: a route's name, or that name with a slug of the route filled in. */
struct upstream_name {
    struct span glob;
    const struct proxy_route *route;
    bool is_literal;
};

static int compare_names(const void *left, const void *right)
{
    const struct upstream_name *a = left, *b = right;

    return span_compare(a->glob, b->glob);
}

static struct upstream_name *list_names(struct proxy_conf *conf, size_t *count)
{
    struct upstream_name *names;
    size_t most = 0;

    for (size_t i = 0; i < conf->route_count; i++)
        most += conf->routes[i].slugs.count > 0 ? conf->routes[i].slugs.count : 1;
    names = mem_alloc(most * sizeof *names);
    *count = 0;
    for (size_t i = 0; i < conf->route_count && names != NULL; i++) {
        const struct proxy_route *route = &conf->routes[i];
        size_t own = route->slugs.count > 0 ? route->slugs.count : 1;

        for (size_t n = 0; n < own; n++) {
            struct span slug = route->slugs.count > 0 ? route->slugs.globs[n] : SPAN_NONE;
            size_t size = route->name.len + slug.len;
            char *text = arena_alloc(&conf->arena, size + 1);

            if (text == NULL) {
                mem_free(names);
                return NULL;
            }
            names[*count] = (struct upstream_name){span_of(text, slug_put(route->name, slug, text, size)), route, false};
            names[*count].is_literal = glob_is_literal(names[*count].glob);
            ++*count;
        }
    }
    return names;
}

static enum code say_clash(struct why *why, const struct upstream_name *a, const struct upstream_name *b)
{
    return why_set(why, CODE_INVALID, "routes %.*s and %.*s both give an upstream the name %.*s, and a policy could not tell "
                   "them apart; give one a name of its own kind, as in `name: 'other-{slug}'`",
                   SPAN_ARG(a->route->name), SPAN_ARG(b->route->name), SPAN_ARG(a->is_literal ? a->glob : b->glob));
}

/* Refuses names that two routes may share, whatever slug comes, since a rule for one upstream would hold for the other.
 * Equal names are neighbours when sorted; each name with a glob is compared with all. */
static enum code check_names(struct proxy_conf *conf, struct why *why)
{
    size_t count;
    struct upstream_name *names = list_names(conf, &count);
    enum code code = CODE_OK;

    if (names == NULL)
        return why_set(why, CODE_NOMEM, "out of memory for the configuration");
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count && code == CODE_OK; i++) {
        if (i > 0 && span_equals(names[i - 1].glob, names[i].glob) && names[i - 1].route != names[i].route)
            code = say_clash(why, &names[i - 1], &names[i]);
        for (size_t n = 0; n < count && code == CODE_OK && !names[i].is_literal; n++)
            if (names[n].route != names[i].route && glob_meets(names[i].glob, names[n].glob))
                code = say_clash(why, &names[n], &names[i]);
    }
    mem_free(names);
    return code;
}

static bool add_name(struct span *names, size_t *count, struct span name)
{
    for (size_t i = 0; i < *count; i++)
        if (span_equals_nocase(names[i], name))
            return false;
    names[(*count)++] = name;
    return true;
}

/* Lists headers that may come only once, because they mean something to the gate: of two credentials or tenants, another reader
 * might take the other one. */
static enum code list_once(struct proxy_conf *conf, struct proxy_route *route, struct http_names *once)
{
    size_t most = 3 + route->identity_count + route->upstream.header_count;
    struct span *own = arena_alloc(&conf->arena, most * sizeof *own);

    *once = (struct http_names){own, 0};
    if (own == NULL)
        return CODE_NOMEM;
    (void)add_name(own, &once->count, route->correlation_header);
    if (!span_is_empty(route->tenant_header))
        (void)add_name(own, &once->count, route->tenant_header);
    if (!span_is_empty(route->plan_header))
        (void)add_name(own, &once->count, route->plan_header);
    for (size_t i = 0; i < route->identity_count; i++)
        if (route->identity[i].header != NULL)
            (void)add_name(own, &once->count, span_text(route->identity[i].header));
    for (size_t i = 0; i < route->upstream.header_count; i++)
        (void)add_name(own, &once->count, route->upstream.headers[i].name);
    return CODE_OK;
}

/* Makes each route's rules for heads, and their union, which a reader applies before the route is known. */
static enum code make_rules(struct proxy_conf *conf)
{
    size_t underscored = 0, singular = 0;
    struct span *once, *names;

    for (size_t i = 0; i < conf->route_count; i++) {
        struct proxy_route *route = &conf->routes[i];

        if (list_once(conf, route, &route->rules.once) != CODE_OK)
            return CODE_NOMEM;
        route->rules.underscored = (struct http_names){route->underscored, route->underscored_count};
        underscored += route->underscored_count;
        singular += route->rules.once.count;
    }
    once = arena_alloc(&conf->arena, (singular + 1) * sizeof *once);
    names = arena_alloc(&conf->arena, (underscored + 1) * sizeof *names);
    if (once == NULL || names == NULL)
        return CODE_NOMEM;
    conf->rules = (struct http_rules){.once.names = once, .underscored.names = names};
    for (size_t i = 0; i < conf->route_count; i++) {
        const struct http_rules *own = &conf->routes[i].rules;

        for (size_t n = 0; n < conf->routes[i].identity_count; n++)
            conf->rules.tokens |= conf->routes[i].identity[n].kind == IDENTITY_TOKEN;
        for (size_t n = 0; n < own->once.count; n++)
            (void)add_name(once, &conf->rules.once.count, own->once.names[n]);
        for (size_t n = 0; n < own->underscored.count; n++)
            (void)add_name(names, &conf->rules.underscored.count, own->underscored.names[n]);
    }
    return CODE_OK;
}

/* Refuses two routes whose metadata are at one path, since a route without a host is found by its path alone. */
static enum code check_resources(const struct proxy_conf *conf, struct why *why)
{
    for (size_t i = 0; i < conf->route_count; i++)
        for (size_t n = 0; n < i; n++) {
            const struct proxy_route *a = &conf->routes[n], *b = &conf->routes[i];
            bool meet = span_is_empty(a->host) || span_is_empty(b->host) || span_equals(a->host, b->host);
            bool tell = a->resource.server_count > 0 && b->resource.server_count > 0;

            if (meet && tell && !span_equals(a->public_url, b->public_url) &&
                span_equals(span_part(a->public_url, a->public_path_at, SIZE_MAX),
                            span_part(b->public_url, b->public_path_at, SIZE_MAX)))
                return why_set(why, CODE_INVALID, "routes %.*s and %.*s are known as %.*s and %.*s, whose metadata stand at "
                               "one path; give both a `host`, or one another path", SPAN_ARG(a->name), SPAN_ARG(b->name),
                               SPAN_ARG(a->public_url), SPAN_ARG(b->public_url));
        }
    return CODE_OK;
}

/* Whether something that the route asks for may say which agent acts. Of keys anyone may, also one that is made later. */
static bool may_know_agents(const struct proxy_route *route)
{
    bool may = false;

    for (size_t i = 0; i < route->identity_count && !may; i++) {
        const struct identity_source *source = &route->identity[i];

        may = source->kind == IDENTITY_API_KEY || source->kind == IDENTITY_BEARER || source->agent != NULL ||
              source->agent_by_certificate || source->rules.agent.count > 0;
    }
    return may;
}

/* A route that judges agents and can know none would deny each call. An endpoint of many servers may know them for it. */
static enum code check_agents(const struct proxy_conf *conf, struct why *why)
{
    for (size_t i = 0; i < conf->route_count; i++) {
        const struct proxy_route *route = &conf->routes[i];
        bool may = !route->agent_judged || may_know_agents(route);

        for (size_t n = 0; n < conf->route_count && !may; n++)
            for (size_t j = 0; j < conf->routes[n].server_count && !may; j++)
                may = span_equals(conf->routes[n].servers[j], route->name) && may_know_agents(&conf->routes[n]);
        if (!may)
            return why_set(why, CODE_INVALID, "route %.*s: it judges the agent (`agent: judged`), and none of its `identity` "
                           "can say which one acts, so that every call would be denied; write `agent` there, as in {token: "
                           "{provider: NAME, agent: $.azp}} or {none: {agent: desktop}}, take keys, or leave `agent: judged` "
                           "out", SPAN_ARG(route->name));
    }
    return CODE_OK;
}

/* Has the metadata of routes lead to the fronts of their providers. */
static enum code lead_to_fronts(const struct proxy_conf *conf, struct why *why)
{
    for (size_t i = 0; i < conf->route_count; i++) {
        const struct oauth_front *front = &conf->routes[i].front;
        bool has_led = span_is_empty(front->client);

        for (size_t n = 0; n < conf->route_count; n++)
            for (size_t j = 0; j < conf->routes[n].resource.server_count && !span_is_empty(front->client); j++) {
                struct span *server = &conf->routes[n].resource.servers[j];

                if (!span_equals(*server, front->issuer))
                    continue;
                *server = front->url;
                has_led = true;
            }
        if (!has_led)
            return why_set(why, CODE_INVALID, "route %.*s: no client is led here, since no route with a URL for clients takes "
                           "tokens of its provider, or another front has them; take it out, or write `public_url` there",
                           SPAN_ARG(conf->routes[i].name));
    }
    return CODE_OK;
}

static void add_fetched(struct proxy_conf *conf, struct proxy_fetched *all, const struct proxy_route *route,
                        const struct outgoing *outgoing)
{
    if (outgoing != NULL && outgoing->health != NULL)
        all[conf->fetched_count++] = (struct proxy_fetched){route, outgoing};
}

/* Lists what is fetched, once routes have their places. */
static enum code list_fetched(struct proxy_conf *conf)
{
    size_t most = conf->route_count;
    struct proxy_fetched *all;

    for (size_t i = 0; i < conf->route_count; i++)
        most += conf->routes[i].upstream.header_count;
    all = arena_zalloc(&conf->arena, most * sizeof *all);
    for (size_t i = 0; all != NULL && i < conf->route_count; i++) {
        const struct proxy_upstream *upstream = &conf->routes[i].upstream;

        add_fetched(conf, all, &conf->routes[i], &upstream->outgoing);
        for (size_t j = 0; j < upstream->header_count; j++)
            add_fetched(conf, all, &conf->routes[i], upstream->headers[j].program);
    }
    conf->fetched = all;
    return all != NULL ? CODE_OK : CODE_NOMEM;
}

enum code proxy_conf_seal(struct proxy_conf *conf, struct why *why)
{
    enum code code;

    if (conf->route_count == 0 || conf->listen_count == 0)
        return why_set(why, CODE_INVALID, "the proxy needs at least one listener and one route");
    fill_in(conf);
    qsort(conf->routes, conf->route_count, sizeof *conf->routes, compare_routes);
    code = check_routes(conf, why);
    if (code == CODE_OK)
        code = check_passes(conf, why);
    if (code == CODE_OK)
        code = check_names(conf, why);
    if (code == CODE_OK)
        code = check_agents(conf, why);
    if (code == CODE_OK)
        code = check_resources(conf, why);
    if (code == CODE_OK)
        code = lead_to_fronts(conf, why);
    if (code != CODE_OK)
        return code;
    return make_rules(conf) == CODE_OK && list_fetched(conf) == CODE_OK
               ? CODE_OK : why_set(why, CODE_NOMEM, "out of memory for the configuration");
}
