/* SPDX-License-Identifier: Apache-2.0 */
/* The header names that the gate knows: those that it asks for, those that have a rule, and the commonest others, so that
 * most lines of most heads are recognised at once. Sorted by length, which is how http/name.c looks a name up.
 *
 * The flags are those of http/name_priv.h; http/README.md, "HTTP".
 *
 * Threads: any; a table.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: none. */
#ifndef HTTP_NAME_TBL_H
#define HTTP_NAME_TBL_H

#define HTTP_NAME_TABLE(X)                                                                   \
    X(TE, "TE", HTTP__DROP_REQUEST)                                                                   \
    X(VIA, "Via", HTTP__DROP_REQUEST)                                                        \
    X(HOST, "Host", HTTP__ONCE | HTTP__DROP_REQUEST)                                         \
    X(DATE, "Date", HTTP__REPLY)                                                             \
    X(VARY, "Vary", HTTP__REPLY)                                                             \
    X(ALLOW, "Allow", HTTP__REPLY)                                                           \
    X(ACCEPT, "Accept", 0)                                                                   \
    X(COOKIE, "Cookie", HTTP__ONCE)                                                          \
    X(ORIGIN, "Origin", HTTP__ONCE)                                                          \
    X(SERVER, "Server", HTTP__REPLY)                                                         \
    X(EXPECT, "Expect", HTTP__ONCE | HTTP__DROP_REQUEST)                                     \
    X(TRAILER, "Trailer", HTTP__DROP_REQUEST)                                                         \
    X(UPGRADE, "Upgrade", HTTP__DROP_REQUEST)                                                         \
    X(LOCATION, "Location", 0)                                                               \
    X(MCP_NAME, "Mcp-Name", HTTP__ONCE | HTTP__DROP_REQUEST | HTTP__MIRROR)                  \
    X(X_API_KEY, "X-API-Key", HTTP__ONCE)                                                    \
    X(FORWARDED, "Forwarded", HTTP__DROP_REQUEST)                                            \
    X(X_REAL_IP, "X-Real-IP", HTTP__DROP_REQUEST)                                            \
    X(CONNECTION, "Connection", HTTP__DROP_REQUEST)                                                   \
    X(USER_AGENT, "User-Agent", 0)                                                           \
    X(KEEP_ALIVE, "Keep-Alive", HTTP__DROP_REQUEST)                                                   \
    X(MCP_METHOD, "Mcp-Method", HTTP__ONCE | HTTP__DROP_REQUEST | HTTP__MIRROR)              \
    X(TRACEPARENT, "traceparent", HTTP__ONCE | HTTP__REPLY)                                  \
    X(RETRY_AFTER, "Retry-After", HTTP__REPLY)                                               \
    X(CONTENT_TYPE, "Content-Type", HTTP__ONCE | HTTP__REPLY)                                \
    X(AUTHORIZATION, "Authorization", HTTP__ONCE)                                            \
    X(CACHE_CONTROL, "Cache-Control", HTTP__REPLY)                                           \
    X(LAST_EVENT_ID, "Last-Event-ID", HTTP__ONCE | HTTP__REPLY)                              \
    X(X_HTTP_METHOD, "X-HTTP-Method", HTTP__DROP_REQUEST)                                    \
    X(X_REWRITE_URL, "X-Rewrite-URL", HTTP__DROP_REQUEST)                                    \
    X(CONTENT_LENGTH, "Content-Length", HTTP__ONCE | HTTP__DROP_REQUEST)                              \
    X(MCP_SESSION_ID, "Mcp-Session-Id", HTTP__ONCE | HTTP__REPLY)                            \
    X(HTTP2_SETTINGS, "HTTP2-Settings", HTTP__DROP_REQUEST)                                           \
    X(X_ORIGINAL_URL, "X-Original-URL", HTTP__DROP_REQUEST)                                  \
    X(ACCEPT_ENCODING, "Accept-Encoding", HTTP__DROP_REQUEST)                                \
    X(X_FORWARDED_FOR, "X-Forwarded-For", HTTP__DROP_REQUEST)                                \
    X(CONTENT_ENCODING, "Content-Encoding", HTTP__REPLY)                                     \
    X(WWW_AUTHENTICATE, "WWW-Authenticate", HTTP__REPLY)                                     \
    X(X_CORRELATION_ID, "X-Correlation-Id", HTTP__REPLY)                                     \
    X(TRANSFER_ENCODING, "Transfer-Encoding", HTTP__DROP_REQUEST)                                     \
    X(X_METHOD_OVERRIDE, "X-Method-Override", HTTP__DROP_REQUEST)                            \
    X(MCP_PROTOCOL_VERSION, "MCP-Protocol-Version", HTTP__ONCE | HTTP__REPLY)                \
    X(X_HTTP_METHOD_OVERRIDE, "X-HTTP-Method-Override", HTTP__DROP_REQUEST)

/* Names by how they begin; the first that fits counts. Client-Cert: RFC 9440, also Client-Cert-Chain. Headers of replies
 * say how long and in which form the content is good, when to ask again, to what it belongs, and what a page may do. */
#define HTTP_BEGINNING_TABLE(X)                                                              \
    X("Mcp-Param-", HTTP__ONCE | HTTP__DROP_REQUEST | HTTP__MIRROR)                          \
    X("Mcp-", HTTP__ONCE | HTTP__REPLY)                                                      \
    X("Proxy-Authorization", HTTP__ONCE | HTTP__DROP_REQUEST)                                \
    X("Proxy-", HTTP__DROP_REQUEST)                                                          \
    X("X-Forwarded-", HTTP__DROP_REQUEST)                                                    \
    X("Remote-", HTTP__DROP_REQUEST)                                                         \
    X("X-Remote-", HTTP__DROP_REQUEST)                                                       \
    X("X-Client-Cert", HTTP__DROP_REQUEST)                                                   \
    X("Client-Cert", HTTP__DROP_REQUEST)                                                     \
    X("X-SSL-", HTTP__DROP_REQUEST)                                                          \
    X("X-Callgate-", HTTP__DROP_REQUEST)                                                     \
    X("X-RateLimit-", HTTP__REPLY)                                                           \
    X("RateLimit", HTTP__REPLY)                                                              \
    X("X-Accel-Buffering", HTTP__REPLY)                                                      \
    X("X-Request-Id", HTTP__REPLY)                                                           \
    X("tracestate", HTTP__REPLY)                                                             \
    X("traceresponse", HTTP__REPLY)                                                          \
    X("Server-Timing", HTTP__REPLY)                                                          \
    X("DPoP-Nonce", HTTP__REPLY)                                                             \
    X("ETag", HTTP__REPLY)                                                                   \
    X("Last-Modified", HTTP__REPLY)                                                          \
    X("Expires", HTTP__REPLY)                                                                \
    X("Pragma", HTTP__REPLY)                                                                 \
    X("Age", HTTP__REPLY)                                                                    \
    X("Accept-Ranges", HTTP__REPLY)                                                          \
    X("Content-Range", HTTP__REPLY)                                                          \
    X("Content-Language", HTTP__REPLY)                                                       \
    X("Content-Disposition", HTTP__REPLY)                                                    \
    X("Content-Security-Policy", HTTP__REPLY)                                                \
    X("X-Content-Type-Options", HTTP__REPLY)                                                 \
    X("X-Frame-Options", HTTP__REPLY)                                                        \
    X("Referrer-Policy", HTTP__REPLY)                                                        \
    X("Deprecation", HTTP__REPLY)                                                            \
    X("Sunset", HTTP__REPLY)

#endif
