/* SPDX-License-Identifier: Apache-2.0 */
/* The header names that the gate knows: those that it asks for, those of which it keeps a rule, and the commonest others, so
 * that most lines of most heads are recognised at once. Sorted by length, which is how http/name.c looks a name up.
 *
 * The flags are those of http/name_priv.h; src/http/README.md, "HTTP".
 *
 * Threads: any; a table.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: none. */
#ifndef HTTP_NAME_TBL_H
#define HTTP_NAME_TBL_H

#define HTTP_NAME_TABLE(X)                                                                   \
    X(TE, "TE", HTTP__HOP)                                                                   \
    X(VIA, "Via", HTTP__DROP_REQUEST)                                                        \
    X(HOST, "Host", HTTP__ONCE | HTTP__DROP_REQUEST)                                         \
    X(DATE, "Date", 0)                                                                       \
    X(VARY, "Vary", 0)                                                                       \
    X(ALLOW, "Allow", 0)                                                                     \
    X(ACCEPT, "Accept", 0)                                                                   \
    X(COOKIE, "Cookie", HTTP__ONCE)                                                          \
    X(ORIGIN, "Origin", HTTP__ONCE)                                                          \
    X(SERVER, "Server", 0)                                                                   \
    X(EXPECT, "Expect", HTTP__ONCE | HTTP__DROP_REQUEST)                                     \
    X(TRAILER, "Trailer", HTTP__HOP)                                                         \
    X(UPGRADE, "Upgrade", HTTP__HOP)                                                         \
    X(LOCATION, "Location", 0)                                                               \
    X(MCP_NAME, "Mcp-Name", HTTP__ONCE | HTTP__DROP_REQUEST | HTTP__MIRROR)                  \
    X(X_API_KEY, "X-API-Key", HTTP__ONCE)                                                    \
    X(FORWARDED, "Forwarded", HTTP__DROP_REQUEST)                                            \
    X(X_REAL_IP, "X-Real-IP", HTTP__DROP_REQUEST)                                            \
    X(CONNECTION, "Connection", HTTP__HOP)                                                   \
    X(USER_AGENT, "User-Agent", 0)                                                           \
    X(KEEP_ALIVE, "Keep-Alive", HTTP__HOP)                                                   \
    X(MCP_METHOD, "Mcp-Method", HTTP__ONCE | HTTP__DROP_REQUEST | HTTP__MIRROR)              \
    X(TRACEPARENT, "traceparent", HTTP__ONCE)                                                \
    X(RETRY_AFTER, "Retry-After", 0)                                                         \
    X(CONTENT_TYPE, "Content-Type", HTTP__ONCE)                                              \
    X(AUTHORIZATION, "Authorization", HTTP__ONCE)                                            \
    X(CACHE_CONTROL, "Cache-Control", 0)                                                     \
    X(LAST_EVENT_ID, "Last-Event-ID", HTTP__ONCE)                                            \
    X(X_HTTP_METHOD, "X-HTTP-Method", HTTP__DROP_REQUEST)                                    \
    X(X_REWRITE_URL, "X-Rewrite-URL", HTTP__DROP_REQUEST)                                    \
    X(CONTENT_LENGTH, "Content-Length", HTTP__ONCE | HTTP__HOP)                              \
    X(MCP_SESSION_ID, "Mcp-Session-Id", HTTP__ONCE)                                          \
    X(HTTP2_SETTINGS, "HTTP2-Settings", HTTP__HOP)                                           \
    X(X_ORIGINAL_URL, "X-Original-URL", HTTP__DROP_REQUEST)                                  \
    X(ACCEPT_ENCODING, "Accept-Encoding", HTTP__DROP_REQUEST)                                \
    X(X_FORWARDED_FOR, "X-Forwarded-For", HTTP__DROP_REQUEST)                                \
    X(CONTENT_ENCODING, "Content-Encoding", 0)                                               \
    X(WWW_AUTHENTICATE, "WWW-Authenticate", 0)                                               \
    X(X_CORRELATION_ID, "X-Correlation-Id", 0)                                               \
    X(TRANSFER_ENCODING, "Transfer-Encoding", HTTP__HOP)                                     \
    X(X_METHOD_OVERRIDE, "X-Method-Override", HTTP__DROP_REQUEST)                            \
    X(MCP_PROTOCOL_VERSION, "MCP-Protocol-Version", HTTP__ONCE)                              \
    X(X_HTTP_METHOD_OVERRIDE, "X-HTTP-Method-Override", HTTP__DROP_REQUEST)

#endif
