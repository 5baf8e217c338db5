/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf_priv.h"
#include "declared/declared.h"
#include "join/name.h"
#include "rows/record.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/num.h"
#include "os/file.h"

#define MAX_ROUTES 4096
#define MAX_LIST 256

static void read_name(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    const struct yaml_node *path = yaml_member(map, "path"), *node = yaml_member(map, "name");
    struct span rest, mark;

    if (node == NULL && path != NULL && slug_is_in(path->text)) {
        route->name = SPAN_LIT(SLUG_MARK);
        return;
    }
    node = conf__need(reader, map, "name", "shop");
    route->name = rest = node != NULL ? conf__text(reader, node) : SPAN_NONE;
    for (size_t i = 0; i < rest.len; i++) {
        mark = span_part(rest, i, sizeof SLUG_MARK - 1);
        if (span_is(mark, SLUG_MARK) && !slug_is_in(span_part(rest, 0, i + sizeof SLUG_MARK - 2))) {
            i += mark.len - 1;
            continue;
        }
        if (!ascii_is_of(rest.at[i], "a-zA-Z0-9_.-") || rest.len > 64) {
            CONF_FAULT(reader, node, "a route's name is 1 to 64 letters, digits, `_`, `-` and `.`; write such a one");
            return;
        }
    }
}

static void read_place(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    const struct yaml_node *host = yaml_member(map, "host"), *node = conf__need(reader, map, "path", "/shop/mcp");
    struct span path = node != NULL ? conf__text(reader, node) : SPAN_NONE;

    if (host != NULL)
        route->host = conf__host(reader, host);
    if (path.at == NULL)
        return;
    route->subtree = span_ends_with(path, SPAN_LIT("/*"));
    if (route->subtree)
        path.len -= 2;
    route->path = path;
    if ((!slug_path_is_fit(path) && !(route->subtree && path.len == 0)) || span_find(path, '*') < path.len ||
        (route->subtree && span_ends_with(path, SPAN_LIT("/"))))
        CONF_FAULT(reader, node, "a path begins with `/` and holds no `%%`, `..`, `//`, `;`, `\\`, query or blank, and `*` "
                   "only as a last `/*` and `" SLUG_MARK "` as one whole segment; write /shop/mcp, /shop/* or /mcp/" SLUG_MARK);
}

const struct dialect *conf__dialect(struct conf_reader *reader, const struct yaml_node *route)
{
    const char *names[DIALECTS_MAX + 1] = {NULL};

    for (size_t i = 0; dialects[i] != NULL; i++)
        names[i] = dialects[i]->name;
    return dialects[conf__choice(reader, route, "dialect", names)];
}

static void read_dialect(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    const struct yaml_node *path = yaml_member(map, "path"), *command = yaml_member(yaml_member(map, "upstream"), "command");

    route->dialect = conf__dialect(reader, map);
    if (route->dialect->is_asked && !route->is_pipe) {
        CONF_FAULT(reader, map, "nothing goes up from a route of dialect %s; leave `path`, `upstream` and `servers` out",
                   route->dialect->name);
        return;
    }
    if (route->dialect->is_plain && !route->dialect->is_run_once && !route->dialect->is_asked &&
        (route->is_pipe || command != NULL)) {
        CONF_FAULT(reader, command != NULL ? command : map, "no command speaks dialect %s, which is HTTP's alone; give the "
                   "route a `path` and an `upstream` with a `url`", route->dialect->name);
        return;
    }
    for (const char *const *key = route->dialect->foreign; key != NULL && *key != NULL; key++) {
        const struct yaml_node *of_limits = yaml_member(yaml_member(map, "limits"), *key);
        const struct yaml_node *found = of_limits != NULL ? of_limits : yaml_member(map, *key);

        if (found != NULL)
            CONF_FAULT(reader, found, "`%s` means nothing to dialect %s; leave it out", *key, route->dialect->name);
    }
    if (route->dialect->is_plain && route->subtree != route->dialect->is_subtree)
        CONF_FAULT(reader, path != NULL ? path : map, route->dialect->is_subtree
                   ? "dialect %s says in the path which tool is called; write a subtree, as /shop/*"
                   : "dialect %s says nothing in the path; write one without `/*`, as /shop", route->dialect->name);
}

static void read_transports(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    static const char *const transports[] = {"streamable", "http+sse", NULL};
    const struct yaml_node *list = conf__list(reader, map, "transports", 4);
    bool is_named[2] = {list == NULL, false};

    for (const struct yaml_node *node = list != NULL ? list->child : NULL; node != NULL; node = node->next) {
        size_t at = conf__word(reader, node, "transports", transports);

        if (is_named[at] && span_is(node->text, transports[at]))
            CONF_FAULT(reader, node, "transport %s is listed twice; leave one out", transports[at]);
        is_named[at] = true;
    }
    route->http_sse = is_named[1];
    route->http_sse_only = !is_named[0];
}

static void read_revisions(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    const struct yaml_node *list = conf__list(reader, map, "revisions", 16);
    const char *const *known = route->dialect->revisions;
    const char **revisions;
    bool has_sessions = false;
    size_t count = 0;

    route->revisions = known;
    if (list == NULL || known[0] == NULL) /* of a dialect without any, `revisions` is told as foreign */
        return;
    revisions = conf__array(reader, list->count + 1, sizeof *revisions);
    if (revisions == NULL)
        return;
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next) {
        size_t at = conf__word(reader, node, "revisions", known);

        for (size_t i = 0; i < count; i++)
            if (revisions[i] == known[at]) {
                CONF_FAULT(reader, node, "revision %s is listed twice; leave one out", known[at]);
                break;
            }
        revisions[count++] = known[at];
        has_sessions |= !mcp_revision_is_modern(span_text(known[at]));
    }
    route->revisions = revisions;
    if (route->http_sse && !has_sessions)
        CONF_FAULT(reader, list, "none of these revisions is spoken over http+sse; add 2024-11-05, or take http+sse out of "
                   "`transports`");
}

#define RATE_MAX 1000000

/* '200/s', '10/min', '5/h': requests in a time. */
static void read_rate(struct conf_reader *reader, const struct yaml_node *node, uint32_t burst, struct rate *rate)
{
    static const char *const units[] = {"s", "min", "h", NULL};
    static const int64_t unit_ns[] = {INT64_C(1000000000), INT64_C(60000000000), INT64_C(3600000000000)};
    struct span unit, count = span_cut(node->text, '/', &unit);
    uint64_t requests = 0;
    size_t at = 0;

    while (units[at] != NULL && !span_is(unit, units[at]))
        at++;
    if (units[at] == NULL || num_u64(count, &requests) != CODE_OK || requests == 0 || requests > RATE_MAX) {
        CONF_FAULT(reader, node, "a rate is up to 1000000 requests in a second, minute or hour; write 200/s, 10/min or 5/h");
        return;
    }
    *rate = (struct rate){.interval_ns = unit_ns[at] / (int64_t)requests, .burst = burst != 0 ? burst : 2 * (uint32_t)requests};
}

/* One rate for each principal, each tenant and each address alike, or one of its own for some of the three. */
static void read_rates(struct conf_reader *reader, const struct yaml_node *map, struct proxy_limits *limits)
{
    struct rate *const rates[] = {&limits->principal_rate, &limits->tenant_rate, &limits->address_rate};
    const struct yaml_node *node = yaml_member(map, "rate");
    uint32_t burst = conf__number(reader, map, "burst", RATE_MAX);

    if (node == NULL && yaml_member(map, "burst") != NULL)
        CONF_FAULT(reader, yaml_member(map, "burst"), "`burst` has no meaning without `rate`; write `rate: 200/s` beside it");
    if (node == NULL || (node->type == YAML_MAP && !conf__map(reader, node, conf__rates, "`rate`")))
        return;
    for (size_t i = 0; i < 3; i++) {
        const struct yaml_node *one = node->type == YAML_MAP ? yaml_member(node, conf__rates[i].name) : node;

        if (one != NULL && (node->type == YAML_MAP || i == 0))
            read_rate(reader, one, burst, rates[i]);
        else if (one != NULL)
            *rates[i] = *rates[0];
    }
}

static struct span read_underscored(struct conf_reader *reader, const struct yaml_node *node)
{
    struct span name = conf__header_name(reader, node);

    if (name.len > 0 && span_find(name, '_') == name.len)
        CONF_FAULT(reader, node, "%.*s has no `_` and needs no leave; take it out", SPAN_ARG(name));
    return name;
}

static void read_header_names(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    const struct yaml_node *tenant = yaml_member(map, "tenant_header"), *correlation = yaml_member(map, "correlation_header");

    if (span_equals_nocase(proxy_tenant_header(route), proxy_correlation_header(route)))
        CONF_FAULT(reader, tenant != NULL ? tenant : correlation,
                   "the tenant and the correlation cannot come in one header; name two");
    route->underscored_count = conf__texts(reader, map, "underscore_headers", MAX_LIST, read_underscored, &route->underscored);
    route->reply_header_count = conf__texts(reader, map, "reply_headers", MAX_LIST, conf__header_name, &route->reply_headers);
}

static struct span read_origin(struct conf_reader *reader, const struct yaml_node *node)
{
    struct span text = conf__text(reader, node);

    if (text.len > 0 && !span_is(text, "*") && memmem(text.at, text.len, "://", 3) == NULL)
        CONF_FAULT(reader, node, "an origin has a scheme; write 'http://localhost:*' or 'https://app.example.com'");
    return text;
}

#define PLAN_FILE_BYTES ((size_t)1 << 20)

static void read_plan(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    const struct yaml_node *keys = yaml_member(map, "keys");
    const char *path = conf__path(reader, keys, "file", NULL);
    struct why why = {""};
    struct buf text;
    enum code code;

    if (map == NULL || !conf__read(reader, map, conf__plan, "`plan`", route))
        return;
    if (span_is_empty(route->plan_header))
        route->plan_header = SPAN_LIT(PLAN_HEADER);
    if (span_equals_nocase(route->plan_header, proxy_tenant_header(route)) ||
        span_equals_nocase(route->plan_header, proxy_correlation_header(route)))
        CONF_FAULT(reader, map, "a plan cannot come in the header of the tenant or the correlation; name another `header`");
    if (keys != NULL && !conf__map(reader, keys, conf__plan_keys, "`keys`"))
        return;
    if (path == NULL) {
        CONF_FAULT(reader, map, "`plan` has no `keys: {file: ...}`; name the file with the keys by which plans "
                   "are signed");
        return;
    }
    buf_init(&text, PLAN_FILE_BYTES);
    code = file_read(path, FILE_TRUSTED, PLAN_FILE_BYTES, &text, &why);
    if (code == CODE_OK) {
        code = plan_keys_read(buf_peek(&text), reader->arena, &route->plan_keys, &why);
        if (code != CODE_OK && code != CODE_NOMEM)
            CONF_FAULT(reader, keys, "%s: %s", path, why.text);
    } else if (code != CODE_NOMEM) {
        CONF_FAULT(reader, keys, "%s", why.text);
    }
    reader->out_of_memory |= code == CODE_NOMEM;
    buf_fini(&text);
}

/* Faults of a server that are mended instead of refused. */
static void read_lenient(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    static const char *const faults[] = {"error_null", "id_type", NULL};
    const struct yaml_node *list = conf__list(reader, map, "lenient", 4);

    for (const struct yaml_node *node = list != NULL ? list->child : NULL; node != NULL; node = node->next)
        route->lenient |= 1U << conf__word(reader, node, "lenient", faults);
}

static void read_methods(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    const struct yaml_node *list = conf__list(reader, map, "methods", MAX_LIST);
    struct mcp_method *methods = list != NULL ? conf__array(reader, list->count, sizeof *methods) : NULL;
    struct declared_reader declared = {reader->arena, yaml_file(reader->tree), reader->faults, false};

    route->methods.of = methods;
    for (const struct yaml_node *node = methods != NULL ? list->child : NULL; node != NULL; node = node->next)
        if (conf__map(reader, node, conf__method, "a method") &&
            declared_method_read(&declared, node, &route->methods, &methods[route->methods.count]))
            route->methods.count++;
    reader->out_of_memory |= declared.out_of_memory;
}

static void read_unwraps(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    const struct yaml_node *list = conf__list(reader, map, "unwrap", MAX_LIST);
    struct declared_unwrap *unwraps = list != NULL ? conf__array(reader, list->count, sizeof *unwraps) : NULL;
    struct declared_reader declared = {reader->arena, yaml_file(reader->tree), reader->faults, false};

    route->unwraps.of = unwraps;
    for (const struct yaml_node *node = unwraps != NULL ? list->child : NULL; node != NULL; node = node->next)
        if (conf__map(reader, node, conf__unwrap, "a tool of `unwrap`") &&
            declared_unwrap_read(&declared, node, &route->unwraps, &unwraps[route->unwraps.count]))
            route->unwraps.count++;
    if (list != NULL && route->http_sse)
        CONF_FAULT(reader, list, "over http+sse nobody knows which answer belongs to which call; take it out of `transports`");
    reader->out_of_memory |= declared.out_of_memory;
}

static struct span read_domain(struct conf_reader *reader, const struct yaml_node *node)
{
    struct span domain = conf__text(reader, node);

    if (domain.at != NULL && !declared_domain_is_fit(domain))
        CONF_FAULT(reader, node, "`%.*s` is no place that a page could reach; write it with its scheme and without a path, as "
                   "'https://api.example.com' or 'wss://*.example.com:8443'", SPAN_ARG(domain));
    return domain;
}

/* A list may be empty: then nothing is left. */
static size_t read_allowed(struct conf_reader *reader, const struct yaml_node *map, const char *key,
                           struct span (*one)(struct conf_reader *, const struct yaml_node *), const struct span **texts)
{
    const struct yaml_node *list = yaml_member(map, key);

    if (list != NULL && list->type == YAML_LIST && list->count == 0)
        return 0;
    return conf__texts(reader, map, key, MAX_LIST, one, texts);
}

static void read_apps(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    const struct yaml_node *node = yaml_member(map, "apps");
    struct declared_apps *apps = &route->apps;

    if (node == NULL || !conf__map(reader, node, conf__apps, "`apps`"))
        return;
    apps->is_on = true;
    apps->domain_count = read_allowed(reader, node, "domains", read_domain, &apps->domains);
    apps->permission_count = read_allowed(reader, node, "permissions", conf__text, &apps->permissions);
}

static void read_audit(struct conf_reader *reader, const struct yaml_node *route, struct proxy_route *out)
{
    const struct yaml_node *map = yaml_member(route, "audit");

    if (map != NULL && conf__map(reader, map, conf__route_audit, "a route's `audit`"))
        out->answer_bytes = (uint32_t)conf__size(reader, map, "answers", 1, AUDIT_ANSWER_BYTES);
}

bool conf__is_pipe(const struct yaml_node *route)
{
    return yaml_member(route, "path") == NULL && yaml_member(route, "upstream") == NULL &&
           yaml_member(route, "servers") == NULL;
}

/* What speaks of a network has no meaning where there is none. */
static void check_pipe(struct conf_reader *reader, const struct yaml_node *map)
{
    static const char *const others[] = {"host", "slugs", "unlisted", "transports", "origins", "query", "forwarded",
                                         "underscore_headers", "pass", "public_url", "plan"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (yaml_member(map, others[i]) != NULL)
            CONF_FAULT(reader, yaml_member(map, others[i]), "`%s` has no meaning for `callgate pipe` and `callgate hook`, and "
                       "this route is for them alone: it has neither `path` nor `upstream`; leave it out, or write "
                       "both", others[i]);
}

/* ---- a joined endpoint ---- */

/* What is said of one server belongs to its own route. */
static void read_servers(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    static const char *const others[] = {"upstream", "slugs", "unlisted", "dialect", "transports", "timeouts", "agent", "plan",
                                         "underscore_headers", "reply_headers", "query", "params", "methods", "unwrap", "apps",
                                         "meta", "tool_names", "definitions", "forwarded", "deceptive", "lenient", "audit",
                                         "pass", "step_up"};

    route->server_count = conf__texts(reader, map, "servers", JOIN_SERVERS_MAX, conf__text, &route->servers);
    route->upstream = (struct proxy_upstream){.path = SPAN_LIT("/"), .authority = SPAN_LIT("join"),
                                               .preserve_host = true};
    route->deceptive = (struct mcp_deceptive){MCP_PASS, MCP_PASS, MCP_PASS, MCP_PASS, MCP_PASS};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (yaml_member(map, others[i]) != NULL)
            CONF_FAULT(reader, yaml_member(map, others[i]), "`%s` has no meaning beside `servers`: it belongs to the routes of "
                       "the servers; write it there", others[i]);
    if (route->subtree)
        CONF_FAULT(reader, yaml_member(map, "path"), "the path of `servers` leads to one endpoint; write it without `/*`");
}

static const struct proxy_route *find_named(const struct proxy_conf *proxy, struct span name)
{
    for (size_t i = 0; i < proxy->route_count; i++)
        if (span_equals(proxy->routes[i].name, name))
            return &proxy->routes[i];
    return NULL;
}

/* Why a route cannot be one of `servers`; NULL: it can. */
static const char *misfit(const struct proxy_route *server)
{
    if (!join_name_is_fit(server->name))
        return "its name would stand in URIs and names of tools, so it begins with a letter and has up to 32 letters, digits, "
               "`.` and `-`; give the route such a name";
    if (server->server_count > 0)
        return "it is such an endpoint itself; name its servers";
    if (!span_is_empty(server->front.client))
        return "people log in there, and nobody calls it; take it out";
    if (server->is_pipe || server->slugs.count > 0 || server->subtree)
        return "it is a route for pipes, for a subtree or with slugs, which is not one server; write a route for the one that "
               "is meant";
    if (server->dialect != dialects[0] || server->http_sse_only)
        return "it speaks another dialect, or HTTP+SSE alone; such a server has only its own route";
    if (server->plan_keys.count > 0)
        return "it takes plans, which name one server; its calls go over its own route";
    return server->upstream.outgoing.kind != OUTGOING_EXCHANGE
               ? NULL : "it exchanges the token of its own agents, which is none of this endpoint; its calls go over its own "
                        "route";
}

static void check_servers(struct conf_reader *reader, const struct yaml_node *map, const struct proxy_route *route)
{
    const struct yaml_node *node = yaml_member(map, "servers") != NULL ? yaml_member(map, "servers")->child : NULL;

    for (size_t i = 0; i < route->server_count && node != NULL; i++, node = node->next) {
        const struct proxy_route *server = find_named(reader->proxy, route->servers[i]);
        const char *why = server != NULL ? misfit(server)
                                         : "there is no route of that name; write one, or take it out of the list";

        for (size_t n = 0; n < i && why == NULL; n++)
            why = span_equals(route->servers[n], route->servers[i]) ? "it is listed twice; leave one out" : NULL;
        if (why != NULL)
            CONF_FAULT(reader, node, "%.*s cannot be one of `servers`: %s", SPAN_ARG(route->servers[i]), why);
    }
}

static void read_route(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    if (!conf__read(reader, map, conf__route, "a route", route))
        return;
    read_name(reader, map, route);
    route->is_pipe = conf__is_pipe(map);
    if (route->is_pipe)
        check_pipe(reader, map);
    else if (!conf_is_front(map))
        read_place(reader, map, route);
    read_dialect(reader, map, route);
    read_transports(reader, map, route);
    read_revisions(reader, map, route);
    if (yaml_member(map, "servers") != NULL)
        read_servers(reader, map, route);
    else if (route->is_pipe)
        route->upstream = (struct proxy_upstream){.path = SPAN_LIT("/"), .authority = SPAN_LIT("pipe")};
    else if (yaml_member(map, "upstream") != NULL && yaml_member(yaml_member(map, "upstream"), "command") != NULL)
        conf__command(reader, yaml_member(map, "upstream"), map, route);
    else
        conf__upstream(reader, map, route);
    if (yaml_member(map, "limits") != NULL)
        read_rates(reader, yaml_member(map, "limits"), &route->limits);
    conf__identity(reader, map, route);
    conf__check_authorization(reader, map, route);
    read_header_names(reader, map, route);
    read_plan(reader, yaml_member(map, "plan"), route);
    route->origin_count = conf__texts(reader, map, "origins", MAX_LIST, read_origin, &route->origins);
    route->param_count = conf__texts(reader, map, "params", MAX_LIST, conf__text, &route->params);
    read_methods(reader, map, route);
    read_unwraps(reader, map, route);
    read_apps(reader, map, route);
    read_lenient(reader, map, route);
    read_audit(reader, map, route);
    conf__slugs(reader, map, route);
    conf__pass(reader, map, route);
    conf__resource(reader, map, route);
}

static void check_twins(struct conf_reader *reader, const struct yaml_node *node, const struct proxy_route *routes, size_t at)
{
    const struct proxy_route *route = &routes[at];

    for (const struct proxy_route *other = routes; other < route; other++) {
        if (route->name.len > 0 && route->slugs.count == 0 && span_equals(other->name, route->name))
            CONF_FAULT(reader, node, "a route named %.*s is there already; policies need one name for one upstream",
                       SPAN_ARG(route->name));
        if (route->path.at != NULL && other->path.at != NULL && other->subtree == route->subtree &&
            span_equals(other->path, route->path) && span_equals(other->host, route->host))
            CONF_FAULT(reader, node, "the route %.*s has the same host and path; give one of the two another",
                       SPAN_ARG(other->name));
    }
}

void conf__routes(struct conf_reader *reader, const struct yaml_node *root)
{
    struct proxy_conf *proxy = reader->proxy;
    const struct yaml_node *list = conf__list(reader, root, "routes", MAX_ROUTES);
    size_t at = 0;

    if (yaml_member(root, "routes") == NULL)
        CONF_FAULT(reader, root, "`routes` is missing; write at least one route: name, path and upstream");
    if (list == NULL)
        return;
    proxy->routes = conf__array(reader, list->count, sizeof *proxy->routes);
    if (proxy->routes == NULL)
        return;
    proxy->route_count = list->count;
    for (const struct yaml_node *node = list->child; node != NULL && !reader->out_of_memory; node = node->next, at++) {
        read_route(reader, node, &proxy->routes[at]);
        check_twins(reader, node, proxy->routes, at);
    }
    at = 0;
    for (const struct yaml_node *node = list->child; node != NULL && !reader->out_of_memory; node = node->next, at++)
        check_servers(reader, node, &proxy->routes[at]);
}
