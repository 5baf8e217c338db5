/* SPDX-License-Identifier: Apache-2.0 */
/* The parsed head of one HTTP/1.1 request or reply: start line, headers, framing.
 *
 * Threads: belongs to one thread.
 * Owns: a copy of the head's bytes; everything else in it is an offset into them.
 * Lifetime: spans live until the reader that filled the head goes on to the next message (or rests).
 * Errors: none of its own; http/reader.h fills it and says what was refused. */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include "base/buf.h"
#include "base/span.h"
#include "http/name_tbl.h"

#include <stdbool.h>
#include <stdint.h>

#define HTTP_HEAD_MAX_BYTES 16384 /* start line to the empty line, both included */
#define HTTP_LINE_MAX_BYTES 8192  /* without its CRLF */
#define HTTP_TOKEN_HEAD_MAX_BYTES 32768 /* likewise where access tokens are taken */
#define HTTP_TOKEN_LINE_MAX_BYTES 16448 /* of the Authorization line there, since a token may have 16 KiB */
#define HTTP_HEADERS_MAX 64
#define HTTP_QUERY_MAX_BYTES 2048 /* for routes that let a query pass; the reader does not check it */

/* Every method that is spoken here; the reader refuses all others. HTTP_METHOD_NONE: a reply. */
enum http_method {
    HTTP_METHOD_NONE = 0,
    HTTP_METHOD_GET,
    HTTP_METHOD_HEAD, /* for declared pass-through paths only; the route decides */
    HTTP_METHOD_POST,
    HTTP_METHOD_DELETE,
    HTTP_METHOD_OPTIONS
};

enum http_framing {
    HTTP_FRAMING_NONE = 0,       /* no body */
    HTTP_FRAMING_CONTENT_LENGTH, /* content_length bytes, 0 among them */
    HTTP_FRAMING_CHUNKED,
    HTTP_FRAMING_UNTIL_EOF       /* replies only */
};

/* The names that are known, in whatever case they are written. OTHER: any name that http/name_tbl.h does not list. */
enum http_name {
    HTTP_NAME_OTHER = 0,
#define HTTP_NAME_NUMBER(name, text, flags) HTTP_NAME_##name,
    HTTP_NAME_TABLE(HTTP_NAME_NUMBER)
#undef HTTP_NAME_NUMBER
    HTTP_NAME_COUNT
};

/* A piece of the head's bytes. */
struct http_piece {
    uint16_t at;
    uint16_t len;
};

struct http_header {
    struct http_piece name;  /* as received */
    struct http_piece value; /* without blanks at both ends */
    uint8_t flags;           /* what the room knows of the name */
    uint8_t known;           /* enum http_name */
};

struct http_head {
    struct buf bytes; /* nothing is dropped from its front, so that offsets stay true */
    enum http_method method;
    int status; /* of a reply; 0 for requests */
    int minor;  /* of HTTP/1.x: 1; 0 only in replies, and where http_rules.plain_clients says so */
    struct http_piece method_text;
    struct http_piece path;
    struct http_piece query; /* after the '?' */
    struct http_piece host_name; /* what Host says, without a port; empty where there is none */
    bool has_query;          /* "/mcp?" has one, an empty one */
    enum http_framing framing;
    uint64_t content_length;
    bool keep_alive;      /* this message lets the connection live on */
    bool expect_continue; /* the agent waits for a 100 from the gate before it sends the body */
    uint16_t count;
    uint8_t first[HTTP_NAME_COUNT]; /* of each known name: one more than the first header's index; 0: there is none */
    struct http_header headers[HTTP_HEADERS_MAX];
};

static inline struct span http_head_text(const struct http_head *head, struct http_piece piece)
{
    return head->bytes.block ? span_of(head->bytes.block + piece.at, piece.len) : SPAN_NONE;
}

static inline struct span http_head_path(const struct http_head *head)
{
    return http_head_text(head, head->path);
}

static inline struct span http_head_query(const struct http_head *head)
{
    return http_head_text(head, head->query);
}

static inline struct span http_head_name(const struct http_head *head, size_t index) /* index < head->count */
{
    return http_head_text(head, head->headers[index].name);
}

static inline struct span http_head_value(const struct http_head *head, size_t index)
{
    return http_head_text(head, head->headers[index].value);
}

static inline bool http_head_has(const struct http_head *head, enum http_name name) /* not OTHER */
{
    return head->first[name] != 0;
}

/* The first header of a known name. Returns: at == NULL: there is none. */
static inline struct span http_head_known(const struct http_head *head, enum http_name name)
{
    return http_head_has(head, name) ? http_head_value(head, (size_t)head->first[name] - 1) : SPAN_NONE;
}

/* Finds a header by a name that a configuration adds. Names are compared without regard to ASCII case.
 * Returns: whether there is one; *value is the first. Takes: value may be NULL. */
bool http_head_find(const struct http_head *head, struct span name, struct span *value);

/* Likewise. Returns: at == NULL: there is none; else it may be empty. */
struct span http_head_named(const struct http_head *head, struct span name);

size_t http_head_count(const struct http_head *head, struct span name);

/* Overwrites the values of all headers of that name where they stand, for a credential that nobody asks for any more. */
void http_head_wipe(struct http_head *head, struct span name);

/* Whether the header at `index` does not go on. That is so for a header that Connection names, in a reply for each that
 * is not known to be for agents, in a request for hop-by-hop headers and those that only the gate may write
 * (http/README.md). Host, Content-Length, Expect, Accept-Encoding, Mcp-Method, Mcp-Name and Mcp-Param-* are dropped
 * from requests too: they are written anew. The caller knows the tenant, correlation and credential headers. */
bool http_head_drops(const struct http_head *head, size_t index);

/* The same list for requests by name alone, without what Connection names. */
bool http_header_is_dropped(struct span name);

/* Whether the header repeats what the body says: Mcp-Method, Mcp-Name, Mcp-Param-*. */
bool http_head_mirrors(const struct http_head *head, size_t index);

/* Returns: "GET" ...; "" for NONE. */
const char *http_method_text(enum http_method method);

/* RFC 9112's standard phrase for a status that the gate may send; "Status" for others. */
const char *http_status_text(int status);

#endif
