/* SPDX-License-Identifier: Apache-2.0 */
#include "oauth/front.h"

#include "http/head.h"
#include "http/writer.h"
#include "json/json.h"
#include "texts/decode_text.h"

#include <string.h>

#define METADATA SPAN_LIT("/.well-known/oauth-authorization-server")
#define BODY_MAX_BYTES ((size_t)1 << 16)

static const struct {
    const char *path;
    enum oauth_step step;
} ends[] = {{"/authorize", OAUTH_AUTHORIZE}, {"/token", OAUTH_TOKEN}, {"/register", OAUTH_REGISTER}};

enum oauth_step oauth_front_step(const struct oauth_front *front, struct span path)
{
    struct span own = span_part(front->url, front->path_at, SIZE_MAX);

    if (span_starts_with(path, METADATA) && span_equals(span_part(path, METADATA.len, SIZE_MAX), own))
        return OAUTH_SERVER;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && span_starts_with(path, own); i++)
        if (span_is(span_part(path, own.len, SIZE_MAX), ends[i].path))
            return ends[i].step;
    return OAUTH_NONE;
}

/* ---- what the gate says of it ---- */

enum code oauth_front_metadata(const struct oauth_front *front, struct buf *out)
{
    static const char *const names[] = {"authorization_endpoint", "token_endpoint", "registration_endpoint"};

    buf_add_text(out, "{\"issuer\":");
    json_write_string(out, front->url);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) /* a URL that was read from a configuration needs no escapes */
        buf_addf(out, ",\"%s\":\"%.*s%s\"", names[i], SPAN_ARG(front->url), ends[i].path);
    return buf_add_text(out, ",\"response_types_supported\":[\"code\"]"
                             ",\"grant_types_supported\":[\"authorization_code\",\"refresh_token\"]"
                             ",\"code_challenge_methods_supported\":[\"S256\"]"
                             ",\"token_endpoint_auth_methods_supported\":[\"none\"]}");
}

static bool is_list_of_texts(const struct json_node *node)
{
    if (node == NULL || node->type != JSON_ARRAY || node->count == 0)
        return false;
    for (const struct json_node *child = node->child; child != NULL; child = child->next)
        if (child->type != JSON_STRING)
            return false;
    return true;
}

enum reason oauth_front_register(const struct oauth_front *front, struct span body, struct arena *arena, struct buf *out)
{
    const struct json_node *root, *redirects;
    struct json_fault fault;
    struct buf canonical;
    enum reason reason = REASON_OAUTH_REQUEST;
    enum code code;

    buf_init(&canonical, BODY_MAX_BYTES);
    code = json_read(body, &json_file_rules, &canonical, arena, &root, &fault);
    if (code == CODE_NOMEM)
        reason = REASON_MEMORY;
    redirects = code == CODE_OK && root->type == JSON_OBJECT ? json_member(root, SPAN_LIT("redirect_uris")) : NULL;
    if (is_list_of_texts(redirects)) {
        buf_add_text(out, "{\"client_id\":");
        json_write_string(out, front->client);
        buf_addf(out, ",\"redirect_uris\":%.*s", SPAN_ARG(redirects->raw));
        buf_add_text(out, ",\"token_endpoint_auth_method\":\"none\",\"response_types\":[\"code\"]"
                          ",\"grant_types\":[\"authorization_code\",\"refresh_token\"]}");
        reason = buf_code(out) == CODE_OK ? REASON_OAUTH_REGISTERED : REASON_MEMORY;
    }
    buf_fini(&canonical);
    return reason;
}

/* ---- what goes to the provider ---- */

/* A parameter that goes on. Those of a table are told apart by their place in it, so there are 32 at most. */
struct parameter {
    const char *name;
    const char *must[2]; /* its value is one of these, where there are some */
};

/* What each begins with must be there, and so must `client_id`. */
static const struct parameter of_authorize[] = {
    {"response_type", {"code", "code"}}, {.name = "client_id"}, {.name = "redirect_uri"}, {.name = "scope"}, {.name = "state"},
    {.name = "code_challenge"}, {.name = "code_challenge_method"}, {.name = "nonce"}, {.name = "prompt"},
    {.name = "login_hint"}, {.name = "domain_hint"}, {.name = "claims"}, {.name = "max_age"}, {.name = "ui_locales"},
    {.name = "acr_values"}, {.name = NULL}};
static const struct parameter of_token[] = {
    {"grant_type", {"authorization_code", "refresh_token"}}, {.name = "client_id"}, {.name = "redirect_uri"},
    {.name = "scope"}, {.name = "code"}, {.name = "code_verifier"}, {.name = "refresh_token"}, {.name = NULL}};
#define NEEDED UINT32_C(3) /* the first two of each */

/* Decodes a piece of a form where it stands. Takes: text: the form, of which it is a piece. */
static struct span decode(char *text, struct span piece)
{
    size_t at = piece.at != NULL ? (size_t)(piece.at - text) : 0;

    return span_of(text + at, decode_percent(piece, text + at));
}

static bool is_openid(struct span scope)
{
    static const char *const known[] = {"openid", "profile", "email", "address", "phone", "offline_access"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (span_is(scope, known[i]))
            return true;
    return false;
}

static void complete(const struct oauth_front *front, struct span scopes, struct buf *out)
{
    while (!span_is_empty(scopes)) {
        struct span scope = span_cut(scopes, ' ', &scopes);

        if (span_is_empty(scope))
            continue;
        buf_add_text(out, buf_is_empty(out) ? "" : " ");
        if (!is_openid(scope) && span_find(scope, '/') == scope.len)
            buf_add_span(out, front->scopes);
        buf_add_span(out, scope);
    }
}

/* Writes one parameter that is known. */
static enum reason write_one(const struct oauth_front *front, const struct parameter *parameter, struct span value,
                             struct buf *out)
{
    struct buf scopes;

    if (parameter->must[0] != NULL && !span_is(value, parameter->must[0]) && !span_is(value, parameter->must[1]))
        return REASON_OAUTH_REQUEST;
    if (strcmp(parameter->name, "client_id") == 0 && !span_equals(value, front->client))
        return REASON_OAUTH_CLIENT;
    if (strcmp(parameter->name, "scope") != 0) {
        http_write_field(out, parameter->name, value);
        return REASON_UNSET;
    }
    buf_init(&scopes, BODY_MAX_BYTES);
    complete(front, value, &scopes);
    if (buf_fail(out, buf_code(&scopes)) == CODE_OK)
        http_write_field(out, parameter->name, buf_peek(&scopes));
    buf_fini(&scopes);
    return REASON_UNSET;
}

/* The place of a name in the table; SIZE_MAX: it is in none. Servers exist that take names in any case. */
static size_t place_of(const struct parameter *table, struct span name)
{
    for (size_t i = 0; table[i].name != NULL; i++)
        if (span_equals_nocase(span_text(table[i].name), name))
            return i;
    return SIZE_MAX;
}

/* Takes: text: of `len` bytes; decoded where it stands. */
static enum reason write_known(const struct oauth_front *front, const struct parameter *table, char *text, size_t len,
                               struct buf *form)
{
    struct span rest = span_of(text, len);
    uint32_t seen = 0;
    enum reason reason = REASON_UNSET;

    while (!span_is_empty(rest) && reason == REASON_UNSET) {
        struct span value, field = span_cut(rest, '&', &rest), name = span_cut(field, '=', &value);
        size_t place = place_of(table, decode(text, name));

        if (place == SIZE_MAX)
            continue;
        if ((seen >> place & 1) != 0)
            return REASON_OAUTH_REQUEST;
        seen |= UINT32_C(1) << place;
        reason = write_one(front, &table[place], decode(text, value), form);
    }
    return reason == REASON_UNSET && (seen & NEEDED) != NEEDED ? REASON_OAUTH_REQUEST : reason;
}

static enum reason write_form(const struct oauth_front *front, const struct parameter *table, struct span text, size_t most,
                              struct buf *out)
{
    char *plain = mem_alloc(text.len + 1); /* a form's blanks are written `+` */
    enum reason reason;
    struct buf form;

    if (plain == NULL)
        return REASON_MEMORY;
    for (size_t i = 0; i < text.len; i++)
        plain[i] = text.at[i] == '+' ? ' ' : text.at[i];
    buf_init(&form, most);
    buf_wipes(&form);
    reason = write_known(front, table, plain, text.len, &form);
    if (reason == REASON_UNSET && buf_fail(out, buf_code(&form)) == CODE_OK)
        buf_add_span(out, buf_peek(&form));
    if (reason == REASON_UNSET && buf_code(out) != CODE_OK)
        reason = buf_code(out) == CODE_LIMIT ? REASON_OAUTH_REQUEST : REASON_MEMORY;
    buf_fini(&form);
    mem_wipe(plain, text.len);
    mem_free(plain);
    return reason;
}

enum reason oauth_front_authorize(const struct oauth_front *front, struct span query, struct buf *out)
{
    bool has_query = span_find(front->authorize, '?') < front->authorize.len;
    enum reason reason;

    buf_add_span(out, front->authorize);
    buf_add_text(out, has_query ? "&" : "?");
    reason = write_form(front, of_authorize, query, HTTP_LINE_MAX_BYTES - front->authorize.len - sizeof "Location: ?", out);
    return reason == REASON_UNSET ? REASON_OAUTH_SENT : reason;
}

enum reason oauth_front_token(const struct oauth_front *front, struct span form, struct buf *out)
{
    enum reason reason = write_form(front, of_token, form, BODY_MAX_BYTES, out);

    return reason == REASON_UNSET ? REASON_PERMITTED : reason;
}
