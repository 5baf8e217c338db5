/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/session.h"

#include "base/ascii.h"
#include "crypto/parts.h"

#include <string.h>

#define UPSTREAM_ID_MAX_BYTES 512
#define REVISION_MAX_BYTES 32
#define OPENS_URLS "+url"
#define MAC_BYTES 43 /* 32 bytes as base64url without padding */

static bool is_visible(struct span text, size_t max_bytes)
{
    return text.len > 0 && text.len <= max_bytes && ascii_is_all(text, ASCII_VISIBLE);
}

static bool is_well_formed(const struct mcp_session *session)
{
    return is_visible(session->upstream_id, UPSTREAM_ID_MAX_BYTES) && is_visible(session->revision, REVISION_MAX_BYTES) &&
           span_find(session->revision, '.') == session->revision.len;
}

static void add_mac(const unsigned char *key, const struct mcp_session_scope *scope, const struct mcp_session *session,
                    struct buf *out)
{
    const struct span parts[] = {scope->route, scope->tenant, scope->principal, scope->agent, session->revision,
                                 session->upstream_id, scope->path, SPAN_LIT(OPENS_URLS)};
    size_t count = sizeof parts / sizeof parts[0] - !session->opens_urls;
    unsigned char sum[DIGEST_BYTES], mac[DIGEST_BYTES];

    parts_digest(parts, count, sum);
    hmac_of(span_of(key, MCP_SESSION_KEY_BYTES), span_of(sum, sizeof sum), mac);
    base64url_encode(span_of(mac, sizeof mac), out);
}

enum code mcp_session_make(const unsigned char key[MCP_SESSION_KEY_BYTES], const struct mcp_session_scope *scope,
                           const struct mcp_session *session, struct buf *out)
{
    if (!is_well_formed(session))
        return buf_fail(out, CODE_INVALID);
    buf_add_span(out, session->upstream_id);
    buf_add_byte(out, '.');
    buf_addf(out, "%.*s%s.", SPAN_ARG(session->revision), session->opens_urls ? OPENS_URLS : "");
    add_mac(key, scope, session, out);
    return buf_code(out);
}

/* Cuts at the last dot; false where there is none. */
static bool cut_last(struct span text, struct span *before, struct span *after)
{
    for (size_t i = text.len; i-- > 0;)
        if (text.at[i] == '.') {
            *before = span_part(text, 0, i);
            *after = span_part(text, i + 1, SIZE_MAX);
            return true;
        }
    return false;
}

enum code mcp_session_check(const unsigned char key[MCP_SESSION_KEY_BYTES], const struct mcp_session_scope *scope,
                            struct span id, struct mcp_session *session)
{
    struct span rest, mac;
    struct mcp_session parts;
    struct buf expected;
    enum code code;

    *session = (struct mcp_session){SPAN_NONE, SPAN_NONE, false};
    if (!cut_last(id, &rest, &mac) || mac.len != MAC_BYTES || !cut_last(rest, &parts.upstream_id, &parts.revision))
        return CODE_DENIED;
    parts.opens_urls = span_ends_with(parts.revision, SPAN_LIT(OPENS_URLS));
    parts.revision = span_part(parts.revision, 0, parts.revision.len - (parts.opens_urls ? strlen(OPENS_URLS) : 0));
    if (!is_well_formed(&parts))
        return CODE_DENIED;
    buf_init(&expected, MAC_BYTES);
    add_mac(key, scope, &parts, &expected);
    code = buf_code(&expected);
    if (code == CODE_OK)
        code = secret_equals(buf_peek(&expected), mac) ? CODE_OK : CODE_DENIED;
    if (code == CODE_OK)
        *session = parts;
    buf_fini(&expected);
    return code;
}
