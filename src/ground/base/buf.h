/* SPDX-License-Identifier: Apache-2.0 */
/* A growable byte queue with a cap: append at the tail, take from the head.
 *
 * Threads: belongs to one thread.
 * Owns: its block.
 * Lifetime: spans from buf_peek are valid until the buffer next changes.
 * Errors: CODE_LIMIT past the cap, CODE_NOMEM. The first append that fails sticks: further ones add nothing and return the
 *   same, so that a chain of appends asks once, at its end, with buf_code. A buffer that failed lacks bytes, so it is a bug to
 *   read it before buf_clear, buf_fini or buf_rewind has forgotten the failure. Code that goes on after a failure, such as a
 *   queue, appends with buf_put or sets a mark. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/bug.h"
#include "base/code.h"
#include "base/span.h"

#include <stdint.h>

/* Invariants: head <= tail <= size <= cap; block == NULL exactly when size == 0; the block has one byte more. Where it wipes,
 * nothing that was ever in it stands outside of [head, tail). */
struct buf {
    char *block;
    size_t head;
    size_t tail;
    size_t size;
    size_t cap_bytes;
    enum code code; /* of the first append that failed */
    bool wipes;
};

static inline void buf_init(struct buf *buf, size_t cap_bytes)
{
    *buf = (struct buf){.cap_bytes = cap_bytes};
}

void buf_wipes(struct buf *buf);  /* from now on bytes that leave it are overwritten where they stood; for credentials */
void buf_clear(struct buf *buf);  /* empties, keeps the block, forgets a failure */
void buf_borrow(struct buf *buf); /* gives a buffer without a block a spare one (base/mem.h) or a new one that becomes one; for
                                   * what ends with the turn */

void buf__give_back(struct buf *buf);

/* Gives the block back; the cap stays, so it may be used again. Most have none. */
static inline void buf_fini(struct buf *buf)
{
    if (buf->block != NULL)
        buf__give_back(buf);
    buf->code = CODE_OK;
}

static inline size_t buf_len(const struct buf *buf)
{
    return buf->tail - buf->head;
}

static inline bool buf_is_empty(const struct buf *buf)
{
    return buf->tail == buf->head;
}

static inline size_t buf_room(const struct buf *buf) /* bytes that may still be appended under the cap */
{
    return buf->cap_bytes - buf_len(buf);
}

static inline struct span buf_peek(const struct buf *buf)
{
    BUG_ON(buf->code != CODE_OK);
    return (struct span){buf->block ? buf->block + buf->head : NULL, buf->tail - buf->head};
}

/* Whether so many bytes fit into the block as it is. */
static inline bool buf_has_room(const struct buf *buf, size_t len)
{
    return buf->code == CODE_OK && len <= buf->size - buf->tail && buf_len(buf) + len <= buf->cap_bytes;
}

enum code buf_add(struct buf *buf, const void *bytes, size_t len);
enum code buf_add_byte(struct buf *buf, char byte);
enum code buf_addf(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);

static inline enum code buf_add_span(struct buf *buf, struct span span)
{
    return buf_add(buf, span.at, span.len);
}

static inline enum code buf_add_text(struct buf *buf, const char *text)
{
    return buf_add(buf, text, strlen(text));
}

/* Whether all appends were made. Ask before you read the buffer. */
static inline MUST_USE enum code buf_code(const struct buf *buf)
{
    return buf->code;
}

/* Marks the buffer with a failure of the caller's own, as if an append had failed; CODE_OK marks nothing.
 * Returns: as buf_code. */
enum code buf_fail(struct buf *buf, enum code code);

/* Where a chain of appends begins that may be taken back. */
struct buf_mark {
    size_t len;
    enum code code;
};

static inline struct buf_mark buf_mark(const struct buf *buf)
{
    return (struct buf_mark){.len = buf_len(buf), .code = buf->code};
}

/* takes back all appends since the mark, and a failure */
void buf_rewind(struct buf *buf, struct buf_mark mark);
/* likewise, but only where an append since the mark has failed */
enum code buf_settle(struct buf *buf, struct buf_mark mark) MUST_USE;
/* appends; a failure changes nothing and does not stick */
enum code buf_put(struct buf *buf, struct span span) MUST_USE;

/* Room for exactly `len` further bytes: *at points to it; buf_commit says how many were written. A failure changes nothing. */
enum code buf_reserve(struct buf *buf, size_t len, char **at) MUST_USE;
static inline void buf_commit(struct buf *buf, size_t len)
{
    BUG_ON(len > buf->size - buf->tail);
    buf->tail += len;
}

/* Drops `len` bytes from the head. */
void buf_drop(struct buf *buf, size_t len);

/* The bytes of `from` become those of `to`, without a copy; `from` is empty then. Each keeps its cap, and where `from` wipes,
 * both do from now on. Takes: `to` empty; a cap that the bytes of `from` fit; no failure. */
void buf_move(struct buf *to, struct buf *from);

/* Gives back room behind the tail where it is much; for bytes that stay for long. */
void buf_fit(struct buf *buf);

/* Cuts the buffer to its first `len` bytes; a failure stays. */
void buf_truncate(struct buf *buf, size_t len);

#endif
