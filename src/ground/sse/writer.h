/* SPDX-License-Identifier: Apache-2.0 */
/* Writes event streams anew: one form for every client, whatever the server's was.
 *
 * Threads: any; the buffer's.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_INVALID for an id that is not visible ASCII or data with a line end; the buffer's own. They stick in it. */
#ifndef SSE_WRITER_H
#define SSE_WRITER_H

#include "base/buf.h"
#include "base/span.h"
#include "sse/parser.h"

/* `event: message`, `id:` and `retry:` where the event has them, and one `data:` line of canonical JSON.
 * Takes: event: NULL where there is neither id nor retry. */
enum code sse_write_message(struct buf *out, const struct sse_event *event, struct span json);

/* The same in two steps, for JSON that is written straight into `out` between them: it must have no line end. */
enum code sse_write_message_begin(struct buf *out, const struct sse_event *event);
enum code sse_write_message_end(struct buf *out);

/* An event of another type with one line of data. Takes: type: a word of the program's; data: without a line end. */
enum code sse_write_typed(struct buf *out, struct span type, struct span data);

/* An event without a message: its `id:` and `retry:`, and an empty `data:` where it has data. */
enum code sse_write_priming(struct buf *out, const struct sse_event *event);

/* A comment, which keeps a quiet stream alive. */
enum code sse_write_comment(struct buf *out);

#endif
