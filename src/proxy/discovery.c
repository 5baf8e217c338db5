/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/front_priv.h"
#include "proxy/reply_priv.h"

#include "http/authority.h"
#include "json/json.h"

#include <string.h>

/* How clients find out whom to ask for a token: challenges, the metadata of a protected resource (RFC 9728), and refusals that
 * an OAuth client can read (RFC 6749, 5.2). */

#define METADATA SPAN_LIT("/.well-known/oauth-protected-resource")

/* ---- challenges ---- */

static enum code challenge(const struct identity_source *source, struct buf *out)
{
    switch (source->kind) {
    case IDENTITY_BEARER:
    case IDENTITY_TOKEN:
        return buf_add_text(out, "Bearer realm=\"callgate\"");
    case IDENTITY_API_KEY:
        return buf_addf(out, "ApiKey realm=\"callgate\", header=\"%s\"", source->header);
    case IDENTITY_CERTIFICATE:
        return buf_add_text(out, "Certificate realm=\"callgate\"");
    case IDENTITY_NONE:
        break;
    }
    return CODE_OK;
}

/* Only what the route takes, since who is asked for a bearer token goes and registers for one; and that first, since clients
 * read the first. */
enum code discovery__challenge(const struct proxy_route *route, struct buf *out)
{
    size_t empty = buf_len(out);

    for (size_t i = 0; i < 2 * route->identity_count; i++) {
        const struct identity_source *source = &route->identity[i % route->identity_count];

        if ((source->kind == IDENTITY_BEARER) != (i < route->identity_count))
            continue;
        buf_add_text(out, buf_len(out) == empty ? "WWW-Authenticate: " : ", ");
        challenge(source, out);
    }
    return buf_len(out) > empty ? buf_add_text(out, "\r\n") : buf_code(out);
}

/* Where a credential belongs, for who sent none. Returns: empty without memory, too. */
struct span discovery__say(struct exchange *exchange)
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

bool discovery__is_asked(const struct pair *pair)
{
    static const char *const ends[] = {"/authorize", "/token", "/register"};
    const struct exchange *exchange = &pair->exchange;
    struct span path = http_head_path(&pair->asks.head);

    if (exchange->route != NULL && exchange->pass == NULL)
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (span_is(path, ends[i]))
            return true;
    return span_starts_with(path, SPAN_LIT("/.well-known/"));
}

/* Where a person's browser goes to say yes: an answer of the declared /authorize is nothing else. No place but one that any
 * browser can reach, so that no address behind the gate is handed out. */
bool discovery__may_redirect(const struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    struct span scheme = SPAN_LIT("https://"), location = http_head_known(&pair->answers.head, HTTP_NAME_LOCATION);
    struct span host = span_part(location, scheme.len, SIZE_MAX);
    struct http_authority there, behind;

    for (const char *end = "/?#"; *end != '\0'; end++)
        host = span_part(host, 0, span_find(host, *end));
    return exchange->pass != NULL && exchange->method == HTTP_METHOD_GET &&
           span_is(http_head_path(&pair->asks.head), "/authorize") && span_starts_with(location, scheme) &&
           http_authority_read(host, &there) && http_authority_read(exchange->route->upstream.authority, &behind) &&
           !span_equals_nocase(there.name, behind.name);
}

/* The codes of RFC 6749, 5.2 and 4.1.2.1. The texts of reasons need no escapes. */
enum code discovery__refuse(enum reason reason, int status, struct buf *out)
{
    const char *error = status == 401                    ? "invalid_client"
                        : status == 403                  ? "access_denied"
                        : status == 429 || status == 503 ? "temporarily_unavailable"
                        : status >= 500                  ? "server_error"
                                                         : "invalid_request";

    return buf_addf(out, "{\"error\":\"%s\",\"error_description\":\"%s\"}", error, reason_text(reason));
}

/* ---- another name than the upstream's ---- */

/* The URL by which agents know the route, from its scheme on. Takes: before: what comes between its origin and its path. */
static enum code write_public(const struct exchange *exchange, struct span before, struct buf *out)
{
    const struct proxy_route *route = exchange->route;
    char path[HTTP_LINE_MAX_BYTES];
    size_t len = slug_put(span_part(route->public_url, route->public_path_at, SIZE_MAX), exchange->slug, path, sizeof path);

    if (len == SIZE_MAX)
        return buf_fail(out, CODE_LIMIT);
    buf_add_span(out, span_part(route->public_url, 0, route->public_path_at));
    buf_add_span(out, before);
    return buf_add_span(out, span_of(path, len));
}

/* What a parameter's value takes: in quotes, or up to a comma or blank. */
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

/* The length of `name`, `=` and the blanks around that; 0: it does not begin so. */
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

static enum code write_pointer(const struct exchange *exchange, struct buf *out)
{
    buf_add_text(out, "=\"");
    write_public(exchange, METADATA, out);
    return buf_add_text(out, "\"");
}

/* Clients look for the parameter with a pattern, not with a parser: a challenge that has its name in any other place, in
 * quotes or as a part of another's, is replaced whole. */
enum code discovery__rewrite_challenge(const struct exchange *exchange, struct span value, struct buf *out)
{
    struct span name = SPAN_LIT("resource_metadata");
    size_t before = buf_len(out);
    bool begins = true, is_odd = false; /* a parameter may begin here; the name stands elsewhere, too */

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

/* Whether a declared path asks for the route's own metadata, or for none: `resource` becomes the route's URL, whatever stood
 * there. Takes: slug: the declared path's; set to that which stands below a wildcard. */
bool discovery__is_own(const struct proxy_route *route, const struct proxy_pass *pass, struct span path, struct span *slug)
{
    struct span url = span_part(route->public_url, route->public_path_at, SIZE_MAX), found;
    struct span rest = span_part(path, METADATA.len, SIZE_MAX);

    if (span_is_empty(route->public_url) || !span_starts_with(path, METADATA))
        return true;
    if (!pass->is_wild || span_is_empty(rest))
        return route->slugs.count == 0 || !span_is_empty(*slug);
    if (!slug_matches(&route->slugs, url, rest, &found) || (!span_is_empty(*slug) && !span_equals(*slug, found)))
        return false;
    *slug = found;
    return true;
}

bool discovery__is_metadata(const struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    struct span path = http_head_path(&pair->asks.head);

    return !span_is_empty(exchange->route->public_url) && exchange->pass != NULL && !exchange->pass->is_post &&
           span_starts_with(path, METADATA) && pair->answers.head.status / 100 == 2 && exchange->method == HTTP_METHOD_GET;
}

enum reason discovery__rewrite_metadata(struct exchange *exchange, struct span raw, struct buf *out)
{
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
    if (buf_fail(out, write_public(exchange, SPAN_NONE, &url)) == CODE_OK) {
        buf_add_span(out, span_part(root->raw, 0, at));
        json_write_string(out, buf_peek(&url));
        buf_add_span(out, span_part(root->raw, at + resource->raw.len, SIZE_MAX));
    }
    buf_fini(&url);
    return buf_code(out) == CODE_OK ? REASON_PERMITTED : REASON_MEMORY;
}
