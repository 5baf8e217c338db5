/* SPDX-License-Identifier: Apache-2.0 */
/* The strict reader of HTTP/1.1 messages, over any segmentation of the bytes, for requests and for replies.
 *
 * The gate's own scanner reads the head and takes bodies apart. Strict llhttp reads the same bytes after it, and where the
 * two differ the message is refused. What is refused is listed in http/README.md. RFC 9110, RFC 9112.
 *
 * The way of a message: feed until HEAD_DONE; decide; feed on: BODY ... BODY, MESSAGE_DONE; then http_reader_next. A
 * message without a body goes from HEAD_DONE to MESSAGE_DONE with the next feed, even of no bytes. Bytes that follow a
 * message are not consumed: they are the next one, and stay where they are.
 *
 * Threads: belongs to one thread.
 * Owns: the head's bytes, made with a message's first byte, and llhttp's state (some 100 bytes), made at the head's end.
 * Lifetime: the head is good from HEAD_DONE until http_reader_next or _rest; a body span as long as the input of its feed.
 * Errors: HTTP_STEP_FAULT, with a reason and a static detail; it is final for the connection. */
#ifndef HTTP_READER_H
#define HTTP_READER_H

#include "base/reason.h"
#include "http/head.h"

#define HTTP_INTERIM_MAX 4 /* 1xx replies before a final one */

enum http_step {
    HTTP_STEP_FAULT = 0,
    HTTP_STEP_NEED_MORE,   /* everything was consumed */
    HTTP_STEP_HEAD_DONE,   /* reader->head is whole; nothing after it was consumed */
    HTTP_STEP_BODY,        /* *body holds decoded body bytes, at least one */
    HTTP_STEP_MESSAGE_DONE
};

/* Names that a configuration adds to what is built in. Takes: spans that outlive the reader. */
struct http_names {
    const struct span *names;
    size_t count;
};

/* What requests may hold besides the fixed rules. The route is not known yet when a head is read: the lists of all
 * routes are given here together, and http_head_check is asked later with the route's own. */
struct http_rules {
    struct http_names once;        /* may not occur twice: keys, tenants, correlations, what the gate sets upstream */
    struct http_names underscored; /* names with '_' that are not refused */
    bool tokens;                  /* Authorization may be as long as an access token */
    bool plain_clients;            /* HTTP/1.0 and a missing Host are taken, for health checkers on the admin port only */
};

enum http_place {
    HTTP_PLACE_HEAD = 0,
    HTTP_PLACE_BODY, /* identity: `left` more bytes, or until EOF */
    HTTP_PLACE_CHUNK,
    HTTP_PLACE_DONE,
    HTTP_PLACE_FAULT
};

struct http_second; /* llhttp's state */

/* Invariants: reason is UNSET but in PLACE_FAULT; `second` is not NULL from the end of a head to the end of its message. */
struct http_reader {
    const struct http_rules *rules; /* NULL: nothing beyond the fixed rules */
    struct http_second *second;
    enum reason reason; /* of HTTP_STEP_FAULT */
    const char *detail; /* of HTTP_STEP_FAULT: static English, for log and audit, never sent to a peer; never NULL */
    enum http_place place;
    enum http_method asked;  /* replies: the method that is being answered */
    uint64_t left;           /* of the body, or of the chunk */
    uint64_t body_bytes;     /* decoded so far */
    uint32_t line_at;        /* HEAD: where the line that is being read begins */
    uint8_t chunk_state;
    uint8_t chunk_digits;
    uint8_t interim;         /* 1xx replies seen */
    bool is_reply;
    struct http_head head;   /* last: most of it is for headers that most messages do not have */
};

/* Takes: rules may be NULL; they are borrowed. */
void http_reader_init_request(struct http_reader *reader, const struct http_rules *rules);
void http_reader_init_reply(struct http_reader *reader);
void http_reader_fini(struct http_reader *reader);

/* Ready for the next message of the connection. Takes: asked: for replies the request's method (HEAD has no body in its
 * reply); NONE for requests. Before the first reply it must be called too. */
void http_reader_next(struct http_reader *reader, enum http_method asked);

/* As http_reader_init_reply, but keeps the reader's memory; also for the first reply on another connection. */
void http_reader_begin_reply(struct http_reader *reader, enum http_method asked);

/* Gives all memory back between two messages; the head is gone. http_reader_next before the next reply. */
void http_reader_rest(struct http_reader *reader);

/* Whether not a byte of a message was read since init or next. */
bool http_reader_is_idle(const struct http_reader *reader);

/* Takes: in: may be empty. Returns: what happened first; *used of `in` were consumed, the rest is to be fed again.
 * A reply's reason is UPSTREAM_MALFORMED whatever its fault; out of memory is MEMORY in both directions. */
enum http_step http_reader_feed(struct http_reader *reader, struct span in, size_t *used, struct span *body);

/* The peer has closed its side. Returns: MESSAGE_DONE where EOF ends a reply or the message was already done; else FAULT:
 * AGENT_DONE between requests, AGENT_GONE within one, UPSTREAM_CLOSED. */
enum http_step http_reader_eof(struct http_reader *reader);

/* Checks a request's head against its own route's lists. Returns: UNSET where nothing is wrong,
 * HTTP_HEADER_TWICE or HTTP_HEADER_NAME. */
enum reason http_head_check(const struct http_head *head, const struct http_rules *rules);

#endif
