/* SPDX-License-Identifier: Apache-2.0 */
/* The strict reader of event streams, over any segmentation. WHATWG HTML, 9.2.5 and 9.2.6, with refusals.
 *
 * Refused, because clients differ in them (http/README.md, "Event streams"): CR as a line end of its own, NUL, a byte
 * order mark at the beginning of a line, invalid UTF-8, an id that is not visible ASCII, an event over the limit, an unfinished
 * event at EOF.
 *
 * Threads: belongs to one thread.
 * Owns: the event that is being read; time and memory are linear in its bytes, however small the pieces.
 * Lifetime: parser->event is good from SSE_STEP_EVENT until the next call, and as long as the bytes fed stand where they stood.
 * Errors: SSE_STEP_FAULT with a reason and a static detail; it is final for the stream. */
#ifndef SSE_PARSER_H
#define SSE_PARSER_H

#include "base/buf.h"
#include "base/reason.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

#define SSE_ID_MAX_BYTES 512  /* a longer one is refused */
#define SSE_TYPE_MAX_BYTES 64 /* a longer one is cut, since no known type is as long */

enum sse_step {
    SSE_STEP_FAULT = 0,
    SSE_STEP_NEED_MORE, /* everything was consumed */
    SSE_STEP_EVENT,     /* parser->event */
    SSE_STEP_COMMENT,   /* a comment line; its text is dropped */
    SSE_STEP_PASSED     /* a piece of an event over the limit in parser->event.data; without data: its end */
};

struct sse_event {
    struct span type; /* "message" where the stream says none */
    struct span id;
    struct span data; /* lines joined by LF */
    uint64_t retry_ms;
    bool has_id;      /* an empty one resets the client's */
    bool has_retry;
    bool has_data;    /* false: an id, a retry or a type alone, which clients note and do not dispatch */
};

struct sse_parser {
    struct sse_event event;
    struct span view; /* the only line of data, where it lies in the bytes that were fed; */
    struct buf data;  /* or data that came in pieces or several lines */
    size_t max_event_bytes;
    size_t event_bytes; /* raw bytes since the last event ended */
    enum reason reason; /* of SSE_STEP_FAULT: UPSTREAM_EVENT, UPSTREAM_TOO_LARGE, MEMORY */
    const char *detail; /* of SSE_STEP_FAULT: static English; never NULL */
    uint64_t number;    /* of the retry line that is being read */
    uint16_t id_len;
    uint8_t type_len;
    uint8_t name_len;   /* of `name`, which holds no more than its size */
    uint8_t place;      /* in the line */
    uint8_t field;
    uint8_t number_state;
    uint8_t utf8_state;
    bool after_cr;
    bool is_open; /* a line of an event was read since the last one ended */
    bool passes_by; /* set by the user: an event over the limit is handed out in pieces, and is no fault */
    bool is_over;   /* such an event is being handed out */
    bool told;    /* the event was handed out and is cleared by the next call */
    char name[8]; /* this and the two below are read up to their lengths only, so that they are not cleared */
    char type[SSE_TYPE_MAX_BYTES];
    char id[SSE_ID_MAX_BYTES];
};

void sse_parser_init(struct sse_parser *parser, size_t max_event_bytes);
void sse_parser_fini(struct sse_parser *parser);

/* Begins another stream with the memory that the parser has. */
void sse_parser_begin(struct sse_parser *parser, size_t max_event_bytes);

/* Takes: in: may be empty. Returns: what happened first; *used of `in` were consumed. */
enum sse_step sse_parser_feed(struct sse_parser *parser, struct span in, size_t *used);

/* The stream has ended. Returns: NEED_MORE where it ended between events, else FAULT. */
enum sse_step sse_parser_eof(struct sse_parser *parser);

/* Gives the data's memory back on a quiet stream; does nothing within an event. An event handed out before is gone. */
void sse_parser_rest(struct sse_parser *parser);

#endif
