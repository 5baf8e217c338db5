/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON-RPC message, read for what a converter has to know: its kind, and the places in its canonical bytes that must be
 * written anew. Nothing is judged here.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: places are offsets into the canonical bytes.
 * Errors: CODE_INVALID where it is no JSON-RPC message; LIMIT and NOMEM as json/json.h. */
#ifndef PIPE_LINE_H
#define PIPE_LINE_H

#include "base/buf.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

enum line_kind { LINE_NONE = 0, LINE_REQUEST, LINE_NOTIFICATION, LINE_RESPONSE, LINE_BATCH };

struct line_place {
    size_t begin, end; /* begin == end: it is not there */
};

struct line {
    enum line_kind kind;
    struct line_place id;
    struct line_place method;       /* with its quotes */
    struct line_place token;        /* params._meta.progressToken; of notifications/progress params.progressToken */
    struct line_place subscription; /* params or result: _meta["io.modelcontextprotocol/subscriptionId"] */
    struct line_place cancels;      /* params.requestId */
    struct line_place capabilities; /* params.capabilities */
    struct line_place code;         /* error.code */
    bool is_modern;                 /* params._meta names a protocol version */
};

/* Appends the canonical bytes of a message, which have no line end, to `out`, which is empty. Of a batch only that it is one
 * is read; line_member takes it apart. */
enum code line_read(struct span text, struct buf *out, struct line *line) MUST_USE;

/* The next member of a batch. Takes: at: 0 at first. Returns: false at the end. */
bool line_member(struct span batch, size_t *at, struct span *member);

static inline struct span line_text(struct span canonical, struct line_place place)
{
    return span_part(canonical, place.begin, place.end - place.begin);
}

bool line_method_is(struct span canonical, const struct line *line, const char *method);

struct line_edit {
    struct line_place place;
    struct span text;
};

/* Appends `canonical` with the texts of `edits` in their places, where the message has these. */
enum code line_write(struct span canonical, struct line_edit *edits, size_t count, struct buf *out) MUST_USE;

#endif
