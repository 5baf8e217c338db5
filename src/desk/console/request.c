/* SPDX-License-Identifier: Apache-2.0 */
#include "console/request.h"

#include "http/writer.h"
#include "unicode/unicode.h"

#include <string.h>

/* application/x-www-form-urlencoded. Returns: at == NULL: it is none, or no text. */
static struct span decode(struct span text, struct arena *arena)
{
    struct span out = http_read_encoded(text, true, arena);

    return out.at != NULL && memchr(out.at, '\0', out.len) == NULL && unicode_is_utf8(out) ? out : SPAN_NONE;
}

static struct span find(const struct request *request, struct span name)
{
    for (size_t i = 0; i < request->count; i++)
        if (span_equals(request->fields[i].name, name))
            return request->fields[i].value;
    return SPAN_NONE;
}

bool request_read(const struct http_head *head, struct span body, struct arena *arena, struct request *request)
{
    struct span rest = head->method == HTTP_METHOD_POST ? body : http_head_query(head);
    bool is_twice;

    *request = (struct request){.head = head, .path = http_head_path(head), .query = http_head_query(head)};
    while (rest.len > 0) {
        struct span value, name = span_cut(span_cut(rest, '&', &rest), '=', &value);

        if (request->count == REQUEST_FIELDS_MAX)
            return false;
        name = decode(name, arena);
        value = decode(value, arena);
        is_twice = name.at != NULL && find(request, name).at != NULL;
        request->fields[request->count].name = name;
        request->fields[request->count++].value = value;
        if (name.at == NULL || value.at == NULL || is_twice)
            return false;
    }
    return true;
}

void request_wipe(struct request *request)
{
    for (size_t i = 0; i < request->count; i++)
        mem_wipe((void *)(uintptr_t)request->fields[i].value.at, request->fields[i].value.len); /* the arena's, and ours */
    request->count = 0;
}

struct span request_field(const struct request *request, const char *name)
{
    return find(request, span_text(name));
}

struct span request_cookie(const struct request *request, const char *name)
{
    struct span found = SPAN_NONE;

    for (struct span rest = http_head_known(request->head, HTTP_NAME_COOKIE); rest.len > 0;) {
        struct span value, one = span_cut(span_trim(span_cut(rest, ';', &rest)), '=', &value);

        if (!span_is(one, name))
            continue;
        if (found.at != NULL)
            return SPAN_NONE;
        found = value;
    }
    return found;
}
