/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/discovery.h"

#include "oauth/spread.h"

#include "base/ascii.h"
#include "http/authority.h"
#include "identity/key_set.h"
#include "json/json.h"

#include <string.h>

/* Tells clients whom to ask for a token: challenges, the metadata of a protected resource (RFC 9728), and refusals that an
 * OAuth client can read (RFC 6749, 5.2). */

#define METADATA SPAN_LIT("/.well-known/oauth-protected-resource")
#define SCOPES_MAX_BYTES 1024

/* A path that leads nowhere, or where its route's upstream is. */
static const struct proxy_pass passes[] = {
    [OAUTH_RESOURCE] = {.oauth = OAUTH_RESOURCE},
    [OAUTH_SERVER] = {.oauth = OAUTH_SERVER},
    [OAUTH_AUTHORIZE] = {.oauth = OAUTH_AUTHORIZE},
    [OAUTH_TOKEN] = {.oauth = OAUTH_TOKEN, .is_post = true},
    [OAUTH_REGISTER] = {.oauth = OAUTH_REGISTER, .is_post = true},
};

/* ---- the URL that agents know ---- */

/* The path of the URL by which agents know the route. Takes: of_metadata: the part of it that follows the well-known path
 * in the URL of the metadata. RFC 9728, 3.1. */
static struct span public_path(const struct proxy_route *route, bool of_metadata)
{
    struct span path = span_part(route->public_url, route->public_path_at, SIZE_MAX);

    return of_metadata && span_is(path, "/") ? SPAN_NONE : path;
}

/* Writes the URL by which agents know the route. Takes: before: what to put between its origin and its path. */
static enum code write_public(const struct exchange *exchange, struct span before, struct buf *out)
{
    const struct proxy_route *route = exchange->route;
    char path[HTTP_LINE_MAX_BYTES];
    size_t len = slug_put(public_path(route, before.len > 0), exchange->slug, path, sizeof path);

    if (len == SIZE_MAX)
        return buf_fail(out, CODE_LIMIT);
    buf_add_span(out, span_part(route->public_url, 0, route->public_path_at));
    buf_add_span(out, before);
    return buf_add_span(out, span_of(path, len));
}

enum code discovery_public_url(const struct exchange *exchange, struct buf *out)
{
    return write_public(exchange, SPAN_NONE, out);
}

static enum code write_pointer(const struct exchange *exchange, struct buf *out)
{
    buf_add_text(out, "=\"");
    write_public(exchange, METADATA, out);
    return buf_add_text(out, "\"");
}

/* ---- challenges ---- */

static bool takes_tokens(const struct proxy_route *route)
{
    for (size_t i = 0; i < route->identity_count; i++)
        if (route->identity[i].kind == IDENTITY_TOKEN)
            return true;
    return false;
}

bool discovery_is_spread(const struct proxy_route *route, const struct http_head *head)
{
    return takes_tokens(route) && spread_is_found(head);
}

/* RFC 6749, 3.3: visible ASCII without quote and backslash. Claims and rules may hold any text, but a header only this. */
static bool is_scope(struct span scope)
{
    return scope.len > 0 && ascii_is_all(scope, ASCII_UNQUOTED);
}

/* Adds a scope to the list unless it is there already, or the list would be longer than clients can be expected to send on. */
static void add_scope(struct span scope, struct buf *list)
{
    struct span told;

    if (buf_code(list) != CODE_OK || !is_scope(scope) || buf_len(list) + scope.len >= SCOPES_MAX_BYTES)
        return;
    told = buf_peek(list);
    while (!span_is_empty(told))
        if (span_equals(span_cut(told, ' ', &told), scope))
            return;
    buf_add_text(list, buf_is_empty(list) ? "" : " ");
    buf_add_span(list, scope);
}

/* Finds the scope where a token lacks nothing else and the client can do something about it: a batch, a stream and an
 * answer on the stream of HTTP+SSE have no status of their own that could say it. */
void discovery_look_for_scope(struct exchange *exchange, struct gate *gate)
{
    const struct call *call = exchange->call;
    const struct verdict *verdict = &call->verdict;
    struct span scope;

    if (verdict->kind != VERDICT_DENY || (verdict->reason != REASON_NO_RULE && verdict->reason != REASON_NO_AGENT_RULE) ||
        exchange->route == NULL || !exchange->route->step_up || exchange->identity.kind != IDENTITY_TOKEN ||
        call->message.kind != MCP_REQUEST || exchange_answers_by_stream(exchange))
        return;
    scope = gate_lacking_scope(gate, call);
    if (is_scope(scope))
        exchange->lacking = span_of(arena_dup(&exchange->arena, scope.at, scope.len), scope.len);
}

bool discovery_steps_up(const struct exchange *exchange, enum reason reason)
{
    return exchange->lacking.at != NULL && reason == exchange->call->verdict.reason;
}

/* Writes the scopes to ask for: the route's, or, where one is missing, that one and then those that the token has, since
 * some clients ask for exactly what they read here. */
static void write_scopes(const struct exchange *exchange, bool steps_up, struct buf *out)
{
    const struct proxy_resource *resource = &exchange->route->resource;
    const struct question *asked = &exchange->call->asked;
    struct buf list;

    buf_init(&list, 2 * SCOPES_MAX_BYTES);
    if (steps_up)
        add_scope(exchange->lacking, &list);
    for (size_t i = 0; i < (steps_up ? asked->scope_count : resource->scope_count); i++)
        add_scope(steps_up ? asked->scopes[i] : resource->scopes[i], &list);
    if (buf_fail(out, buf_code(&list)) == CODE_OK && !buf_is_empty(&list))
        buf_addf(out, ", scope=\"%.*s\"", SPAN_ARG(buf_peek(&list)));
    buf_fini(&list);
}

/* Writes the algorithms by which proofs may be signed. */
static void write_algorithms(const char *before, const char *between, const char *behind, struct buf *out)
{
    for (const char *const *name = identity_algorithm_names(); *name != NULL; name++)
        buf_addf(out, "%s%s", name == identity_algorithm_names() ? before : between, *name);
    buf_add_text(out, behind);
}

/* RFC 6750, 3, RFC 9728, 5.1, RFC 9449, 7.1. */
static void write_token_challenge(const struct exchange *exchange, enum reason reason, struct buf *out)
{
    const struct proxy_route *route = exchange->route;
    bool steps_up = discovery_steps_up(exchange, reason);
    bool was_shown = reason == REASON_CREDENTIAL_WRONG && span_is(exchange->identity.authentication, "token");

    buf_add_text(out, route->resource.dpop ? "DPoP " : "Bearer ");
    if (span_is_empty(route->public_url)) {
        buf_add_text(out, "realm=\"callgate\"");
    } else {
        buf_add_text(out, "resource_metadata");
        write_pointer(exchange, out);
    }
    if (steps_up || was_shown)
        buf_addf(out, ", error=\"%s\"", steps_up ? "insufficient_scope" : "invalid_token");
    write_scopes(exchange, steps_up, out);
    if (route->resource.dpop)
        write_algorithms(", algs=\"", " ", "\"", out);
}

static void challenge(const struct identity_source *source, struct buf *out)
{
    switch (source->kind) {
    case IDENTITY_BEARER:
        buf_add_text(out, "Bearer realm=\"callgate\"");
        break;
    case IDENTITY_API_KEY:
        buf_addf(out, "ApiKey realm=\"callgate\", header=\"%s\"", source->header);
        break;
    case IDENTITY_CERTIFICATE:
        buf_add_text(out, "Certificate realm=\"callgate\"");
        break;
    case IDENTITY_TOKEN: /* write_token_challenge has written it before, for all providers */
    case IDENTITY_LOGIN: /* the kernel has said it already */
    case IDENTITY_NONE:
        break;
    }
}

/* Writes a challenge only for what the route takes, since a client that is asked for a bearer token goes and registers for
 * one. The bearer's comes first, since clients read the first. */
enum code discovery_challenge(const struct exchange *exchange, enum reason reason, struct buf *out)
{
    const struct proxy_route *route = exchange->route;
    bool has_tokens = takes_tokens(route);
    size_t empty = buf_len(out);

    if (has_tokens) {
        buf_add_text(out, "WWW-Authenticate: ");
        write_token_challenge(exchange, reason, out);
    }
    for (size_t i = 0; i < 2 * route->identity_count && reason_status(reason) == 401; i++) {
        const struct identity_source *source = &route->identity[i % route->identity_count];

        if ((source->kind == IDENTITY_BEARER) != (i < route->identity_count) || source->kind == IDENTITY_TOKEN ||
            (source->kind == IDENTITY_BEARER && has_tokens))
            continue;
        buf_add_text(out, buf_len(out) == empty ? "WWW-Authenticate: " : ", ");
        challenge(source, out);
    }
    return buf_len(out) > empty ? buf_add_text(out, "\r\n") : buf_code(out);
}

/* A sentence for who sent no credential: where one belongs. Returns: empty also without memory. */
struct span discovery_say(struct exchange *exchange)
{
    const struct proxy_route *route = exchange->route;
    struct buf text;
    char *kept = NULL;
    size_t len;

    buf_init(&text, 4096);
    for (size_t i = 0; i < route->identity_count; i++) {
        const struct identity_source *source = &route->identity[i];
        const char *name = source->kind == IDENTITY_API_KEY       ? source->header
                           : source->kind == IDENTITY_CERTIFICATE ? "a client certificate"
                                                                  : "Authorization: Bearer";

        if (buf_addf(&text, "%s%s", i == 0 ? "Send it as " : " or as ", name) != CODE_OK)
            break;
    }
    len = buf_len(&text);
    if (buf_add_text(&text, ".") == CODE_OK)
        kept = arena_dup(&exchange->arena, buf_peek(&text).at, ++len);
    buf_fini(&text);
    return span_of(kept, kept != NULL ? len : 0);
}

/* ---- refusals ---- */

bool discovery_is_asked(const struct pair *pair)
{
    static const char *const ends[] = {"/authorize", "/token", "/register"};
    const struct exchange *exchange = &pair->exchange;
    struct span path = http_head_path(&pair->asks.head);

    if (exchange->route != NULL && exchange->pass == NULL)
        return false;
    if (exchange->pass != NULL && exchange->pass->oauth != OAUTH_NONE)
        return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (span_is(path, ends[i]))
            return true;
    return span_starts_with(path, SPAN_LIT("/.well-known/"));
}

/* Reads the host of a URL, between its scheme and its path. */
static bool read_host(struct span url, struct span scheme, struct http_authority *host)
{
    struct span text = span_part(url, scheme.len, SIZE_MAX);

    for (const char *end = "/?#"; *end != '\0'; end++)
        text = span_part(text, 0, span_find(text, *end));
    return span_equals_nocase(span_part(url, 0, scheme.len), scheme) && http_authority_read(text, host);
}

/* RFC 8252, 7.3: whether it is the person's own machine, where the client listens. */
static bool is_loopback(struct span name)
{
    return span_equals_nocase(name, SPAN_LIT("localhost")) || span_is(name, "[::1]") || span_is(name, "127.0.0.1");
}

/* Whether a redirect goes where a person's browser consents, or from there back to the client, which listens on loopback. Other
 * places would hand out an address behind the gate. */
bool discovery_may_redirect(const struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    struct span location = http_head_known(&pair->answers.head, HTTP_NAME_LOCATION);
    struct http_authority there, behind;

    if (exchange->pass == NULL || exchange->pass->oauth != OAUTH_NONE ||
        !http_authority_read(exchange->route->upstream.authority, &behind))
        return false;
    if (read_host(location, SPAN_LIT("http://"), &there))
        return is_loopback(there.name) && !span_is_empty(there.port) &&
               (!span_equals(there.port, behind.port) || !is_loopback(behind.name));
    return exchange->method == HTTP_METHOD_GET && span_is(http_head_path(&pair->asks.head), "/authorize") &&
           read_host(location, SPAN_LIT("https://"), &there) && !span_equals_nocase(there.name, behind.name);
}

/* The codes of RFC 6749, 5.2 and 4.1.2.1. The texts of reasons need no escapes. */
enum code discovery_refuse(enum reason reason, int status, struct buf *out)
{
    const char *error = status == 401 || reason == REASON_OAUTH_CLIENT ? "invalid_client"
                        : status == 403                  ? "access_denied"
                        : status == 429 || status == 503 ? "temporarily_unavailable"
                        : status >= 500                  ? "server_error"
                                                         : "invalid_request";

    return buf_addf(out, "{\"error\":\"%s\",\"error_description\":\"%s\"}", error, reason_text(reason));
}

/* ---- an upstream's challenge, with the gate's URL in it ---- */

/* The length of a parameter's value: in quotes, or up to a comma or blank. */
static size_t value_len(struct span text)
{
    size_t at = 0;

    if (text.len > 0 && text.at[0] == '"') {
        for (at = 1; at < text.len && text.at[at] != '"'; at++)
            at += text.at[at] == '\\';
        return at < text.len ? at + 1 : text.len;
    }
    while (at < text.len && text.at[at] != ',' && text.at[at] != ' ' && text.at[at] != '\t')
        at++;
    return at;
}

/* The length of `name`, `=` and the blanks around it; 0: the text does not begin so. */
static size_t name_len(struct span text, struct span name)
{
    size_t at = name.len;

    if (!span_equals_nocase(span_part(text, 0, name.len), name))
        return 0;
    while (at < text.len && (text.at[at] == ' ' || text.at[at] == '\t'))
        at++;
    if (at == text.len || text.at[at++] != '=')
        return 0;
    while (at < text.len && (text.at[at] == ' ' || text.at[at] == '\t'))
        at++;
    return at;
}

static bool mentions(struct span text, struct span name)
{
    for (size_t i = 0; i + name.len <= text.len; i++)
        if (span_equals_nocase(span_part(text, i, name.len), name))
            return true;
    return false;
}

/* Writes an upstream's challenge with the gate's URL in `resource_metadata`. Clients look for that parameter with a
 * pattern, not with a parser. So a challenge that has the name anywhere else, in quotes or as a part of another name, is
 * replaced whole. */
enum code discovery_rewrite_challenge(const struct exchange *exchange, struct span value, struct buf *out)
{
    struct span name = SPAN_LIT("resource_metadata");
    size_t before = buf_len(out);
    bool begins = true, is_odd = false; /* `begins`: a parameter may begin here; `is_odd`: the name is in another place, too */

    while (!span_is_empty(value)) {
        size_t named = begins ? name_len(value, name) : 0;
        size_t len = named > 0 ? named : value.at[0] == '"' ? value_len(value) : 1;

        is_odd = is_odd || (named == 0 && mentions(span_part(value, 0, len > 1 ? len : name.len), name));
        buf_add_span(out, span_part(value, 0, named > 0 ? name.len : len));
        begins = value.at[0] == ' ' || value.at[0] == ',' || value.at[0] == '\t';
        value = span_part(value, len, SIZE_MAX);
        if (named == 0)
            continue;
        value = span_part(value, value_len(value), SIZE_MAX);
        write_pointer(exchange, out);
    }
    if (!is_odd)
        return buf_code(out);
    buf_truncate(out, before);
    buf_add_text(out, "Bearer resource_metadata");
    return write_pointer(exchange, out);
}

/* ---- metadata that the gate makes ---- */

/* Whether the gate makes the metadata at this path. A subtree has one set for all below it. *slug: set where it is so. */
static bool is_made(const struct proxy_route *route, struct span path, struct span *slug)
{
    struct span rest;

    return route->resource.server_count > 0 && span_starts_with(path, METADATA) &&
           slug_matches_below(&route->slugs, public_path(route, true), span_part(path, METADATA.len, SIZE_MAX), slug, &rest) &&
           (span_is_empty(rest) || route->subtree);
}

const struct proxy_pass *discovery_find(const struct proxy_route *route, struct span path, struct span *slug)
{
    enum oauth_step step;

    *slug = SPAN_NONE;
    if (span_is_empty(route->front.client))
        step = is_made(route, path, slug) ? OAUTH_RESOURCE : OAUTH_NONE;
    else
        step = oauth_front_step(&route->front, path);
    return step != OAUTH_NONE ? &passes[step] : NULL;
}

static enum oauth_step step_of(const struct exchange *exchange)
{
    return exchange->pass != NULL ? exchange->pass->oauth : OAUTH_NONE;
}

bool discovery_is_told_to_all(const struct exchange *exchange)
{
    return step_of(exchange) == OAUTH_RESOURCE || step_of(exchange) == OAUTH_SERVER;
}

bool discovery_is_answered(const struct exchange *exchange)
{
    return step_of(exchange) != OAUTH_NONE && step_of(exchange) != OAUTH_TOKEN;
}

static void write_list(const char *name, const struct span *texts, size_t count, struct buf *out)
{
    buf_addf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        buf_add_text(out, i > 0 ? "," : "");
        json_write_string(out, texts[i]);
    }
    buf_add_text(out, "]");
}

/* RFC 9728, 2. */
enum code discovery_write_metadata(const struct exchange *exchange, struct buf *out)
{
    const struct proxy_resource *resource = &exchange->route->resource;
    struct buf url;

    buf_init(&url, 2 * HTTP_LINE_MAX_BYTES);
    write_public(exchange, SPAN_NONE, &url);
    buf_add_text(out, "{\"resource\":");
    if (buf_fail(out, buf_code(&url)) == CODE_OK)
        json_write_string(out, buf_peek(&url));
    buf_fini(&url);
    write_list("authorization_servers", resource->servers, resource->server_count, out);
    if (resource->scope_count > 0)
        write_list("scopes_supported", resource->scopes, resource->scope_count, out);
    buf_add_text(out, ",\"bearer_methods_supported\":[\"header\"]");
    if (resource->dpop) {
        buf_add_text(out, ",\"dpop_bound_access_tokens_required\":true");
        write_algorithms(",\"dpop_signing_alg_values_supported\":[\"", "\",\"", "\"]", out);
    }
    if (resource->certificate)
        buf_add_text(out, ",\"tls_client_certificate_bound_access_tokens\":true");
    return buf_add_text(out, "}");
}

enum reason discovery_write(struct pair *pair, struct span body, struct buf *out)
{
    struct exchange *exchange = &pair->exchange;
    const struct oauth_front *front = &exchange->route->front;
    enum code code;

    if (step_of(exchange) == OAUTH_AUTHORIZE)
        return oauth_front_authorize(front, http_head_query(&pair->asks.head), out);
    if (step_of(exchange) == OAUTH_REGISTER)
        return oauth_front_register(front, body, &exchange->arena, out);
    code = step_of(exchange) == OAUTH_SERVER ? oauth_front_metadata(front, out) : discovery_write_metadata(exchange, out);
    return code == CODE_OK ? REASON_METADATA : REASON_MEMORY;
}

/* ---- metadata that the upstream makes ---- */

/* Whether a declared path asks for the route's own metadata, or for no metadata. Another's may not be asked for, since
 * `resource` becomes the route's URL whatever it was. Takes: slug: the declared path's; set to the one below a wildcard. */
bool discovery_is_own(const struct proxy_route *route, const struct proxy_pass *pass, struct span path, struct span *slug)
{
    struct span url = public_path(route, true), found, rest = span_part(path, METADATA.len, SIZE_MAX);

    if (span_is_empty(route->public_url) || !span_starts_with(path, METADATA))
        return true;
    if (!pass->is_wild || span_is_empty(rest))
        return route->slugs.count == 0 || !span_is_empty(*slug);
    if (!slug_matches(&route->slugs, url, rest, &found) || (!span_is_empty(*slug) && !span_equals(*slug, found)))
        return false;
    *slug = found;
    return true;
}

bool discovery_is_metadata(const struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    struct span path = http_head_path(&pair->asks.head);

    return !span_is_empty(exchange->route->public_url) && exchange->pass != NULL && !exchange->pass->is_post &&
           span_starts_with(path, METADATA) && pair->answers.head.status / 100 == 2 && exchange->method == HTTP_METHOD_GET;
}

static struct span port_of(const struct http_authority *host, bool is_tls)
{
    return !span_is_empty(host->port) ? host->port : is_tls ? SPAN_LIT("443") : SPAN_LIT("80");
}

/* Whether `resource` is the gate's URL, the server's own, or one above that, which clients also accept without a gate. At a
 * foreign URL clients must stop, so the gate may not replace it. RFC 9728, 3.3. */
static bool is_own_url(const struct pair *pair, struct span resource, struct span public_url)
{
    const struct exchange *exchange = &pair->exchange;
    const struct proxy_upstream *upstream = &exchange->route->upstream;
    struct span scheme = upstream->tls != NULL ? SPAN_LIT("https://") : SPAN_LIT("http://"), path, own;
    struct http_authority there, here;
    char text[HTTP_LINE_MAX_BYTES];
    size_t len = slug_put(upstream->path, exchange->slug, text, sizeof text);

    if (span_equals(resource, public_url))
        return true;
    if (len == SIZE_MAX || !read_host(resource, scheme, &there) ||
        !http_authority_read(upstream->preserve_host ? http_head_known(&pair->asks.head, HTTP_NAME_HOST) : upstream->authority,
                             &here) ||
        !span_equals_nocase(there.name, here.name) ||
        !span_equals(port_of(&there, upstream->tls != NULL), port_of(&here, upstream->tls != NULL)))
        return false;
    path = span_part(resource, scheme.len, SIZE_MAX);
    path = span_part(path, span_find(path, '/'), SIZE_MAX);
    own = span_of(text, len);
    while (span_ends_with(path, SPAN_LIT("/")))
        path.len--;
    while (span_ends_with(own, SPAN_LIT("/")))
        own.len--;
    if (exchange->route->subtree && path.len > own.len)
        return span_starts_with(path, own) && path.at[own.len] == '/' && span_find(path, '?') == path.len;
    return span_starts_with(own, path) && (own.len == path.len || own.at[path.len] == '/');
}

enum reason discovery_rewrite_metadata(struct pair *pair, struct span raw, struct buf *out)
{
    struct exchange *exchange = &pair->exchange;
    const struct json_node *root, *resource;
    struct json_fault fault;
    struct buf url;
    size_t at;

    buf_clear(&exchange->event);
    exchange->event.cap_bytes = ERROR_BODY_MAX;
    if (json_read(raw, &json_file_rules, &exchange->event, &exchange->event_arena, &root, &fault) != CODE_OK ||
        root->type != JSON_OBJECT)
        return REASON_UPSTREAM_JSON;
    resource = json_member(root, SPAN_LIT("resource"));
    if (resource == NULL || resource->type != JSON_STRING)
        return REASON_UPSTREAM_JSON;
    buf_init(&url, 2 * HTTP_LINE_MAX_BYTES);
    at = (size_t)(resource->raw.at - root->raw.at);
    if (buf_fail(out, write_public(exchange, SPAN_NONE, &url)) == CODE_OK &&
        !is_own_url(pair, resource->text, buf_peek(&url))) {
        buf_fini(&url);
        exchange->fault.text = "its `resource` is not the upstream's URL: clients stop there, and so does the gate";
        return REASON_UPSTREAM_JSON;
    }
    if (buf_code(out) == CODE_OK) {
        buf_add_span(out, span_part(root->raw, 0, at));
        json_write_string(out, buf_peek(&url));
        buf_add_span(out, span_part(root->raw, at + resource->raw.len, SIZE_MAX));
    }
    buf_fini(&url);
    return buf_code(out) == CODE_OK ? REASON_PERMITTED : REASON_MEMORY;
}
