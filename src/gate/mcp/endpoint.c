/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/endpoint.h"

#include "base/ascii.h"

/* What no client's library writes in another way when it comes in a query (RFC 3986 without the apostrophe). */
static bool is_plain(struct span text)
{
    return text.len > 0 && ascii_is_all(text, "a-zA-Z0-9._~!$&()*+,;=:@/?%-");
}

static struct span cut_query(struct span text)
{
    return span_part(text, 0, span_find(text, '?'));
}

/* One or two dots, each as such or as %2e: URL parsers read them alike. */
static bool is_dots(struct span segment)
{
    size_t dots = 0;

    for (; segment.len > 0; dots++) {
        size_t len = segment.at[0] == '.' ? 1 : span_equals_nocase(span_part(segment, 0, 3), SPAN_LIT("%2e")) ? 3 : 0;

        if (len == 0)
            return false;
        segment = span_part(segment, len, SIZE_MAX);
    }
    return dots == 1 || dots == 2;
}

/* Segments that a server would take away, so that another path is asked than stands there. */
static bool has_dots(struct span path)
{
    while (path.len > 0) {
        struct span segment = span_cut(path, '/', &path);

        if (is_dots(segment))
            return true;
    }
    return false;
}

/* scheme://authority/path: cut to its path. Returns: CODE_OK too where it is relative. */
static enum code cut_origin(struct span *reference, const struct mcp_endpoint_base *base)
{
    struct span scheme = base->is_tls ? SPAN_LIT("https://") : SPAN_LIT("http://"), rest;
    size_t end = 0;

    if (span_starts_with(*reference, SPAN_LIT("//")))
        return CODE_DENIED;
    if (span_find(cut_query(*reference), ':') == cut_query(*reference).len)
        return CODE_OK;
    if (reference->len < scheme.len || !span_equals_nocase(span_part(*reference, 0, scheme.len), scheme))
        return CODE_DENIED;
    rest = span_part(*reference, scheme.len, SIZE_MAX);
    while (end < rest.len && rest.at[end] != '/' && rest.at[end] != '?')
        end++;
    if (!span_equals_nocase(span_part(rest, 0, end), base->authority))
        return CODE_DENIED;
    *reference = span_part(rest, end, SIZE_MAX);
    return reference->len > 0 && reference->at[0] == '/' ? CODE_OK : CODE_INVALID;
}

/* What a relative reference stands behind: nothing, the whole path, or the path to its last '/'. */
static struct span base_of(struct span reference, struct span path)
{
    size_t end = path.len;

    if (reference.at[0] == '/')
        return SPAN_NONE;
    if (reference.at[0] == '?')
        return path;
    while (end > 0 && path.at[end - 1] != '/')
        end--;
    return span_part(path, 0, end);
}

enum code mcp_endpoint_resolve(struct span reference, const struct mcp_endpoint_base *base, struct buf *out)
{
    size_t before = buf_len(out);
    struct span text;

    if (!is_plain(reference) || reference.len > MCP_ENDPOINT_MAX_BYTES)
        return buf_fail(out, CODE_INVALID);
    if (buf_fail(out, cut_origin(&reference, base)) != CODE_OK) /* nothing may be left of it */
        return buf_code(out);
    buf_add_span(out, base_of(reference, base->path));
    if (buf_add_span(out, reference) != CODE_OK)
        return buf_code(out);
    text = span_part(buf_peek(out), before, SIZE_MAX);
    if (text.len > MCP_ENDPOINT_MAX_BYTES || text.at[0] != '/' || span_starts_with(text, SPAN_LIT("//")) ||
        has_dots(cut_query(text)))
        buf_fail(out, CODE_INVALID);
    return buf_code(out);
}
