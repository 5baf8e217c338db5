/* SPDX-License-Identifier: Apache-2.0 */
/* Writes HTTP/1.1 heads and chunks anew, and never anything that would break them. RFC 9112.
 *
 * Threads: any; the buffer's.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_INVALID for a name or value that is not allowed on the wire, and the buffer's own. They stick in it. */
#ifndef HTTP_WRITER_H
#define HTTP_WRITER_H

#include "base/buf.h"
#include "base/mem.h"
#include "http/head.h"

/* "POST /mcp?a=b HTTP/1.1". Takes: path begins with '/'; query only where has_query. */
enum code http_write_request(struct buf *out, enum http_method method, struct span path, bool has_query,
                             struct span query);

/* "HTTP/1.1 200 OK". Takes: status 100..599. */
enum code http_write_status(struct buf *out, int status);

/* Takes: name: a token; value: visible ASCII, SP and HTAB, no blanks at its ends; may be empty. */
enum code http_write_header(struct buf *out, struct span name, struct span value);

/* Writes a header whose name is a literal of the program. Takes: begin: "Name: ", whose bytes are not checked; value:
 * as above. */
enum code http_write_line(struct buf *out, struct span begin, struct span value);
enum code http_write_line_u64(struct buf *out, struct span begin, uint64_t value);

/* Headers that do not go on, besides those that http_head_drops names. */
struct http_except {
    uint64_t known;           /* HTTP_EXCEPT(HOST) | HTTP_EXCEPT(ACCEPT) ... */
    const struct span *names; /* those of a configuration */
    size_t count;
};

#define HTTP_EXCEPT(name) (UINT64_C(1) << HTTP_NAME_##name)
_Static_assert(HTTP_NAME_COUNT <= 64, "struct http_except has a bit for each known name");

/* Writes every header of `head` that may pass (http_head_drops) and is not among `except`, unchanged and in order. */
enum code http_write_passing(struct buf *out, const struct http_head *head, const struct http_except *except);

/* The empty line. */
enum code http_write_head_end(struct buf *out);

/* One chunk around `bytes`; nothing where they are empty, since an empty chunk would end the body. */
enum code http_write_chunk(struct buf *out, struct span bytes);
enum code http_write_last_chunk(struct buf *out);

/* application/x-www-form-urlencoded: characters that do not surely stand for themselves are written in hexadecimal. */
void http_write_encoded(struct buf *out, struct span text);
/* And read: `%` and two hexadecimal digits as the byte, and in a form `+` as a blank. Returns: at == NULL: it is none, or no
 * memory. */
struct span http_read_encoded(struct span text, bool is_form, struct arena *arena);
void http_write_field(struct buf *form, const char *name, struct span value); /* at == NULL: none */

/* Whether http_write_header would take it. */
bool http_name_is_writable(struct span name);
bool http_value_is_writable(struct span value);

#endif
