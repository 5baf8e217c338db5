/* SPDX-License-Identifier: Apache-2.0 */
/* Media types as this gate needs them: what a Content-Type says, and what an Accept takes. RFC 9110, 8.3 and 12.5.1.
 *
 * Threads: any; nothing here has state.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: what cannot be read is HTTP_MEDIA_OTHER. */
#ifndef HTTP_MEDIA_H
#define HTTP_MEDIA_H

#include "http/head.h"

enum http_media {
    HTTP_MEDIA_OTHER = 0, /* another type, a malformed one, or one of these with parameters that the gate does not take */
    HTTP_MEDIA_NONE,      /* no Content-Type at all */
    HTTP_MEDIA_JSON,      /* application/json, no parameter but charset=utf-8 */
    HTTP_MEDIA_SSE,       /* text/event-stream, no parameter but charset=utf-8 */
    HTTP_MEDIA_TEXT       /* any other text type, no charset but utf-8 or us-ascii; for error replies */
};

/* Type, parameter names and the charset are compared without regard to case; charset="utf-8" in quotes is the same. */
enum http_media http_media_type(struct span value);

/* The head's Content-Type. */
enum http_media http_media_of(const struct http_head *head);

/* Whether the head has a Content-Encoding other than identity. */
bool http_body_is_encoded(const struct http_head *head);

struct http_accept {
    bool is_absent; /* no Accept at all: no error, JSON */
    bool json;      /* application/json or application/<star> */
    bool sse;       /* text/event-stream */
    bool any;       /* <star>/<star> */
};

/* Over all Accept lines; members with q=0 do not count. */
struct http_accept http_accept_of(const struct http_head *head);

/* mcp/README.md, "How no is said":
 * as SSE where text/event-stream is named and neither application/json nor everything is. */
static inline bool http_accept_wants_sse(struct http_accept accept)
{
    return accept.sse && !accept.json && !accept.any;
}

#endif
