/* SPDX-License-Identifier: Apache-2.0 */
#include "http/head.h"

#include "base/mem.h"
#include "http/name_priv.h"

static bool is_named(const struct http_head *head, size_t index, struct span name)
{
    return head->headers[index].name.len == name.len && span_equals_nocase(http_head_name(head, index), name);
}

bool http_head_find(const struct http_head *head, struct span name, struct span *value)
{
    for (size_t i = 0; i < head->count; i++)
        if (is_named(head, i, name)) {
            if (value != NULL)
                *value = http_head_value(head, i);
            return true;
        }
    return false;
}

struct span http_head_named(const struct http_head *head, struct span name)
{
    struct span value;

    if (!http_head_find(head, name, &value))
        return SPAN_NONE;
    if (value.at == NULL)
        value.at = ""; /* present, and empty */
    return value;
}

void http_head_wipe(struct http_head *head, struct span name)
{
    for (size_t i = 0; i < head->count; i++)
        if (is_named(head, i, name))
            mem_wipe(head->bytes.block + head->headers[i].value.at, head->headers[i].value.len);
}

size_t http_head_count(const struct http_head *head, struct span name)
{
    size_t count = 0;

    for (size_t i = 0; i < head->count; i++)
        count += is_named(head, i, name);
    return count;
}

bool http_header_is_dropped(struct span name)
{
    enum http_name known;

    return (http__name_flags(name, &known) & HTTP__DROP_REQUEST) != 0;
}

bool http_head_drops(const struct http_head *head, size_t index)
{
    uint8_t flags = head->headers[index].flags;

    return (flags & HTTP__NAMED) != 0 ||
           (head->method == HTTP_METHOD_NONE ? (flags & HTTP__REPLY) == 0 : (flags & HTTP__DROP_REQUEST) != 0);
}

bool http_head_mirrors(const struct http_head *head, size_t index)
{
    return (head->headers[index].flags & HTTP__MIRROR) != 0;
}

const char *http_method_text(enum http_method method)
{
    switch (method) {
    case HTTP_METHOD_NONE: return "";
    case HTTP_METHOD_GET: return "GET";
    case HTTP_METHOD_HEAD: return "HEAD";
    case HTTP_METHOD_POST: return "POST";
    case HTTP_METHOD_DELETE: return "DELETE";
    case HTTP_METHOD_OPTIONS: return "OPTIONS";
    }
    return "";
}

const char *http_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } known[] = {
        {100, "Continue"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {203, "Non-Authoritative Information"},
        {204, "No Content"},
        {206, "Partial Content"},
        {302, "Found"},
        {303, "See Other"},
        {307, "Temporary Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {402, "Payment Required"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {426, "Upgrade Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].status == status)
            return known[i].text;
    return "Status";
}
