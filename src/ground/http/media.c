/* SPDX-License-Identifier: Apache-2.0 */
#include "http/media.h"

#include "http/name_priv.h"

/* Cuts at the first `byte` outside quoted strings. */
static struct span cut_unquoted(struct span span, char byte, struct span *rest)
{
    struct span plain = span_cut(span, byte, rest);
    bool quoted = false;

    if (plain.len == span.len || span_find(plain, '"') == plain.len)
        return plain;
    for (size_t i = 0; i < span.len; i++) {
        if (quoted && span.at[i] == '\\')
            i++;
        else if (span.at[i] == '"')
            quoted = !quoted;
        else if (!quoted && span.at[i] == byte) {
            *rest = span_part(span, i + 1, SIZE_MAX);
            return span_part(span, 0, i);
        }
    }
    *rest = SPAN_NONE;
    return span;
}

static bool is_type(struct span type)
{
    struct span subtype;
    struct span main_type = span_cut(type, '/', &subtype);

    return http__is_token(main_type) && http__is_token(subtype);
}

static struct span unquoted(struct span value)
{
    if (value.len >= 2 && value.at[0] == '"' && value.at[value.len - 1] == '"')
        return span_part(value, 1, value.len - 2);
    return value;
}

/* Whether every parameter is a charset among those that say UTF-8, and at most one of it. */
static bool parameters_are_good(struct span rest, bool has_rest, bool ascii_too)
{
    bool seen = false;

    while (has_rest) {
        struct span parameter, value, name;
        size_t before = rest.len;

        parameter = cut_unquoted(rest, ';', &rest);
        has_rest = parameter.len < before;
        name = span_cut(span_trim(parameter), '=', &value);
        if (!span_equals_nocase(name, SPAN_LIT("charset")) || seen)
            return false;
        value = unquoted(value);
        if (!span_equals_nocase(value, SPAN_LIT("utf-8")) &&
            !(ascii_too && span_equals_nocase(value, SPAN_LIT("us-ascii"))))
            return false;
        seen = true;
    }
    return true;
}

enum http_media http_media_type(struct span value)
{
    struct span rest, type;
    bool has_rest;

    if (span_is(value, "application/json")) /* nearly always */
        return HTTP_MEDIA_JSON;
    type = span_trim(cut_unquoted(value, ';', &rest));
    has_rest = span_find(value, ';') < value.len;
    if (span_equals_nocase(type, SPAN_LIT("application/json")))
        return parameters_are_good(rest, has_rest, false) ? HTTP_MEDIA_JSON : HTTP_MEDIA_OTHER;
    if (span_equals_nocase(type, SPAN_LIT("text/event-stream")))
        return parameters_are_good(rest, has_rest, false) ? HTTP_MEDIA_SSE : HTTP_MEDIA_OTHER;
    if (is_type(type) && span_equals_nocase(span_part(type, 0, 5), SPAN_LIT("text/")))
        return parameters_are_good(rest, has_rest, true) ? HTTP_MEDIA_TEXT : HTTP_MEDIA_OTHER;
    return HTTP_MEDIA_OTHER;
}

enum http_media http_media_of(const struct http_head *head)
{
    struct span value = http_head_known(head, HTTP_NAME_CONTENT_TYPE);

    return value.at != NULL ? http_media_type(value) : HTTP_MEDIA_NONE;
}

bool http_body_is_encoded(const struct http_head *head)
{
    for (size_t i = 0; i < head->count && http_head_has(head, HTTP_NAME_CONTENT_ENCODING); i++)
        if (head->headers[i].known == HTTP_NAME_CONTENT_ENCODING &&
            !span_equals_nocase(http_head_value(head, i), SPAN_LIT("identity")))
            return true;
    return false;
}

/* RFC 9110, 12.4.2: "0", "0.", "0.0", "0.00", "0.000" mean: not that one. */
static bool weight_is_zero(struct span rest)
{
    while (rest.len > 0) {
        struct span value;
        struct span name = span_trim(span_cut(span_trim(cut_unquoted(rest, ';', &rest)), '=', &value));

        if (!span_equals_nocase(name, SPAN_LIT("q")))
            continue;
        value = span_trim(value);
        if (value.len == 0 || value.at[0] != '0')
            return false;
        for (size_t i = 1; i < value.len; i++)
            if (value.at[i] != (i == 1 ? '.' : '0'))
                return false;
        return true;
    }
    return false;
}

static void add_accepted(struct http_accept *accept, struct span rest)
{
    if (span_is(rest, "application/json, text/event-stream")) { /* as nearly all clients of MCP say it */
        accept->json = accept->sse = true;
        return;
    }
    while (rest.len > 0) {
        struct span parameters;
        struct span member = cut_unquoted(rest, ',', &rest);
        struct span type = span_trim(cut_unquoted(member, ';', &parameters));

        if (weight_is_zero(parameters))
            continue;
        if (span_equals_nocase(type, SPAN_LIT("application/json")) || span_equals_nocase(type, SPAN_LIT("application/*")))
            accept->json = true;
        else if (span_equals_nocase(type, SPAN_LIT("text/event-stream")))
            accept->sse = true;
        else if (span_equals_nocase(type, SPAN_LIT("*/*")))
            accept->any = true;
    }
}

struct http_accept http_accept_of(const struct http_head *head)
{
    struct http_accept accept = {.is_absent = true};

    for (size_t i = 0; i < head->count; i++)
        if (head->headers[i].known == HTTP_NAME_ACCEPT) {
            accept.is_absent = false;
            add_accepted(&accept, http_head_value(head, i));
        }
    return accept;
}
