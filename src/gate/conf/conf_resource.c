/* SPDX-License-Identifier: Apache-2.0 */
/* A route as a protected resource: the URL that agents know, what the gate or the server behind says of it, and whose tokens it
 * takes. */
#include "conf/conf_priv.h"
#include "base/ascii.h"
#include "http/authority.h"

#include <string.h>

#define MAX_SCOPES 64
#define WELL_KNOWN SPAN_LIT("/.well-known/oauth-protected-resource")

/* Whether the route lets its metadata through, where clients look for it: behind the well-known name, its own path. */
static bool passes_metadata(const struct proxy_route *route)
{
    struct span path = span_part(route->public_url, route->public_path_at, SIZE_MAX);

    for (size_t i = 0; i < route->pass_count; i++) {
        const struct proxy_pass *pass = &route->pass[i];
        struct span rest = span_part(pass->path, WELL_KNOWN.len, SIZE_MAX);

        if (!pass->is_post && (pass->is_wild ? span_starts_with(WELL_KNOWN, pass->path) || span_is_empty(rest)
                                             : span_starts_with(pass->path, WELL_KNOWN) && span_equals(rest, path)))
            return true;
    }
    return false;
}

/* Takes the URL as the one by which agents know the route, where it can be. Returns: whether it can. */
static bool take_url(struct proxy_route *route, struct span url)
{
    size_t scheme = span_starts_with(url, SPAN_LIT("https://")) ? 8 : span_starts_with(url, SPAN_LIT("http://")) ? 7 : 0;
    struct span rest = span_part(url, scheme, SIZE_MAX), path = span_part(rest, span_find(rest, '/'), SIZE_MAX);
    struct http_authority authority;

    if (scheme == 0 || !http_authority_read(span_part(rest, 0, rest.len - path.len), &authority) ||
        (path.len > 0 && !slug_path_is_fit(path)) || slug_is_in(path) != (route->slugs.count > 0))
        return false;
    route->public_url = url;
    route->public_path_at = url.len - path.len;
    return true;
}

static void read_public_url(struct conf_reader *reader, const struct yaml_node *node, struct proxy_route *route)
{
    struct span url = conf__text(reader, node);

    if (url.at != NULL && (!take_url(route, url) || route->public_path_at == url.len))
        CONF_FAULT(reader, node, "this is not the URL by which agents know the route; write "
                   "'https://gate.example.com/shop/mcp', with `%s` where the route's path has it", SLUG_MARK);
}

/* ---- the server's metadata ---- */

/* The path of the metadata of a resource at `path`: RFC 9728, 3.1. */
static struct span well_known(struct conf_reader *reader, struct span path)
{
    size_t len = WELL_KNOWN.len + (span_is(path, "/") ? 0 : path.len);
    char *text = conf__array(reader, len + 1, 1);

    if (text == NULL)
        return SPAN_NONE;
    memcpy(text, WELL_KNOWN.at, WELL_KNOWN.len);
    if (len > WELL_KNOWN.len)
        memcpy(text + WELL_KNOWN.len, path.at, path.len);
    return span_of(text, len);
}

/* The server's metadata pass under the gate's name, from where `pass` says, else from where the RFC has them. */
static void relay(struct conf_reader *reader, const struct yaml_node *node, struct proxy_route *route)
{
    struct proxy_pass *pass;
    bool has_own;

    if (span_is_empty(route->public_url)) {
        CONF_FAULT(reader, node, "`oauth: relay` puts the gate's URL in place of the server's, and that is not known; write "
                   "`public_url: 'https://gate.example.com/shop/mcp'` on the route");
        return;
    }
    has_own = route->upstream.outgoing.kind != OUTGOING_NONE;
    for (size_t i = 0; i < route->upstream.header_count; i++)
        has_own = has_own || span_equals_nocase(route->upstream.headers[i].name, SPAN_LIT("Authorization"));
    if (has_own)
        CONF_FAULT(reader, node, "`oauth: relay` sends the agent's token up, and the upstream has another one in its place; "
                   "leave one of the two out");
    if (passes_metadata(route) || (pass = conf__array(reader, route->pass_count + 1, sizeof *pass)) == NULL)
        return;
    pass->path = well_known(reader, span_part(route->public_url, route->public_path_at, SIZE_MAX));
    pass->upstream_path = well_known(reader, route->upstream.path);
    if (route->pass_count > 0)
        memcpy(pass + 1, route->pass, route->pass_count * sizeof *pass);
    route->pass = pass;
    route->pass_count++;
}

/* ---- the gate's own ---- */

static struct span read_scope(struct conf_reader *reader, const struct yaml_node *node)
{
    struct span scope = conf__text(reader, node);

    if (!ascii_is_all(scope, ASCII_UNQUOTED))
        CONF_FAULT(reader, node, "a scope is visible ASCII without blanks, `\"` and `\\`; write 'tools:read'");
    return scope;
}

static bool has_audience(const struct identity_source *source, struct span url)
{
    for (size_t i = 0; source->rules.audiences != NULL && source->rules.audiences[i] != NULL; i++)
        if (span_equals(span_text(source->rules.audiences[i]), url))
            return true;
    return false;
}

/* Takes: node: the source's, in which nothing lacks. */
static void read_source(struct conf_reader *reader, const struct yaml_node *node, const struct identity_source *source,
                        bool relays, struct proxy_route *route)
{
    const struct yaml_node *token = yaml_member(node, "token");
    struct proxy_resource *resource = &route->resource;

    if (source->forward != relays)
        CONF_FAULT(reader, node, "%s",
                   relays ? "`oauth: relay` sends the agent's token up; say so here, too: `forward: true`"
                          : "the agent's token is for the gate, and for no server behind it; leave `forward` out, or write "
                            "`upstream: {oauth: relay}` where it is that server's");
    if (yaml_member(token, "scopes") != NULL && resource->scope_count == 0)
        resource->scope_count = conf__texts(reader, token, "scopes", MAX_SCOPES, read_scope, &resource->scopes);
    for (size_t i = 0; source->rules.audiences[i] != NULL && span_is_empty(route->public_url); i++)
        (void)take_url(route, span_text(source->rules.audiences[i]));
    resource->dpop = resource->dpop || source->bound == IDENTITY_BOUND_KEY;
    resource->certificate = resource->certificate || source->bound == IDENTITY_BOUND_CERTIFICATE;
}

/* Takes: list: the value of `identity`. Returns: whether the route takes tokens. */
static bool read_tokens(struct conf_reader *reader, const struct yaml_node *list, bool relays, struct proxy_route *route)
{
    struct span *servers = conf__array(reader, route->identity_count, sizeof *servers);
    bool is_derived = span_is_empty(route->public_url), takes = false, is_whole = true;
    const struct yaml_node *node = list != NULL && list->type == YAML_LIST ? list->child : NULL;

    route->resource.servers = servers;
    for (size_t i = 0; node != NULL && i < route->identity_count; i++, node = node->next) {
        const struct identity_source *source = &route->identity[i];

        if (source->kind != IDENTITY_TOKEN)
            continue;
        takes = true;
        is_whole = is_whole && source->provider != NULL && source->rules.audiences != NULL; /* what lacks is told elsewhere */
        if (!is_whole || servers == NULL)
            continue;
        read_source(reader, node, source, relays, route);
        servers[route->resource.server_count++] = span_text(source->provider->rules.issuer);
        if (is_derived && !span_is_empty(route->public_url) && !has_audience(source, route->public_url))
            CONF_FAULT(reader, node, "clients learn one URL of the route, %.*s, and here its tokens are not taken; add it to "
                       "`audience`, or write `public_url`", SPAN_ARG(route->public_url));
    }
    if (takes && is_whole && span_is_empty(route->public_url))
        CONF_WARN(reader, list, "no `audience` is the URL by which agents know the route, so that clients cannot find out whom "
                  "to ask for a token; write `public_url: 'https://gate.example.com/shop/mcp'`%s",
                  route->slugs.count > 0 ? ", with `" SLUG_MARK "` where the route's path has it" : "");
    if (span_is_empty(route->public_url) || relays)
        route->resource.server_count = 0;
    return takes;
}

/* ---- a front ---- */

bool conf_is_front(const struct yaml_node *route)
{
    const struct yaml_node *oauth = yaml_member(yaml_member(route, "upstream"), "oauth");

    return oauth != NULL && span_is(oauth->text, "front");
}

/* What is said of calls, or to a server with the gate's own credential, has no meaning where people log in. */
static void allow(struct conf_reader *reader, const struct yaml_node *map, const char *const *names)
{
    for (const struct yaml_node *node = map->child; node != NULL; node = node->next) {
        size_t at = 0;

        while (names[at] != NULL && !span_is(node->key, names[at]))
            at++;
        if (names[at] == NULL)
            CONF_FAULT(reader, node, "`%.*s` has no meaning for `oauth: front`, where people log in and nobody calls; leave it "
                       "out", SPAN_ARG(node->key));
    }
}

/* The URL by which clients know it, without a slash at its end, and where its paths are. */
static void place_front(struct proxy_route *route)
{
    struct oauth_front *front = &route->front;

    front->url = route->public_url;
    front->path_at = route->public_path_at;
    if (span_ends_with(front->url, SPAN_LIT("/")))
        front->url.len--;
    route->path = front->url.len > front->path_at ? span_part(front->url, front->path_at, SIZE_MAX) : SPAN_LIT("/");
    route->public_url = SPAN_NONE; /* it is no resource */
}

static void read_front(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    static const char *const of_route[] = {"name", "upstream", "public_url", "origins", "timeouts", "limits", NULL};
    static const char *const of_upstream[] = {"url", "ca", "crl", "ocsp", "insecure", "oauth", "client", NULL};
    const struct yaml_node *upstream = yaml_member(map, "upstream"), *authorize, *prefix;
    const struct yaml_node *client = conf__need(reader, upstream, "client", "{provider: corp, id: ID, authorize: URL}");
    const struct identity_provider *provider;
    struct oauth_front *front = &route->front;

    allow(reader, map, of_route);
    allow(reader, upstream, of_upstream);
    if (conf__need(reader, map, "public_url", "'https://gate.example.com/login'") != NULL)
        place_front(route);
    if (client == NULL || !conf__map(reader, client, conf__front, "`client`"))
        return;
    provider = conf__provider_of(reader, client);
    front->issuer = provider != NULL ? span_text(provider->rules.issuer) : SPAN_NONE;
    front->client = conf__text_of(reader, client, "id");
    (void)conf__need(reader, client, "id", "8f1c…, as the provider calls it");
    authorize = conf__need(reader, client, "authorize", "'https://id.example.com/authorize'");
    front->authorize = authorize != NULL ? span_text(conf__provider_url(reader, authorize)) : SPAN_NONE;
    prefix = yaml_member(client, "scope_prefix");
    front->scopes = prefix != NULL ? read_scope(reader, prefix) : SPAN_NONE;
    if (prefix != NULL && !span_ends_with(front->scopes, SPAN_LIT("/")))
        CONF_FAULT(reader, prefix, "what stands before a scope ends with `/`; write 'api://ID/'");
}

void conf__resource(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    static const char *const words[] = {"relay", "front", NULL};
    const struct yaml_node *oauth = yaml_member(yaml_member(map, "upstream"), "oauth");
    const struct yaml_node *url = yaml_member(map, "public_url"), *step_up = yaml_member(map, "step_up");
    bool takes_tokens;

    if (url != NULL)
        read_public_url(reader, url, route);
    if (oauth != NULL && conf__word(reader, oauth, "oauth", words) == 1) {
        read_front(reader, map, route);
        return;
    }
    if (yaml_member(yaml_member(map, "upstream"), "client") != NULL)
        CONF_FAULT(reader, yaml_member(yaml_member(map, "upstream"), "client"), "`client` has no meaning without `oauth: "
                   "front`; write that beside it, or leave it out");
    takes_tokens = read_tokens(reader, yaml_member(map, "identity"), oauth != NULL, route);
    if (oauth != NULL)
        relay(reader, oauth, route);
    if (url != NULL && !span_is_empty(route->public_url) && route->resource.server_count == 0 && !passes_metadata(route))
        CONF_WARN(reader, url, "clients look for the metadata of this URL where nothing passes; write `upstream: {oauth: "
                  "relay}`, or `pass: ['GET /.well-known/oauth-protected-resource%.*s']`, with ` -> ` and the server's path "
                  "where that is another", SPAN_ARG(span_part(route->public_url, route->public_path_at, SIZE_MAX)));
    if (step_up != NULL && !takes_tokens)
        CONF_FAULT(reader, step_up, "`step_up` tells which scope a token lacks, and no agent shows a token here; leave it "
                   "out, or take tokens: `identity: [{token: {provider: NAME, ...}}]`");
}
