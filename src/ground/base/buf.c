/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

#define SPARE_SIZE (MEM_SPARE_BYTES - 1) /* one byte is the NUL's */

void buf_wipes(struct buf *buf)
{
    buf->wipes = true;
}

static void wipe(struct buf *buf, size_t from, size_t to)
{
    if (buf->wipes && from < to)
        mem_wipe(buf->block + from, to - from);
}

void buf__give_back(struct buf *buf)
{
    wipe(buf, buf->head, buf->tail);
    if (buf->size == SPARE_SIZE)
        mem_spare_give(buf->block);
    else
        mem_free(buf->block);
    buf->block = NULL;
    buf->head = buf->tail = buf->size = 0;
}

void buf_clear(struct buf *buf)
{
    wipe(buf, buf->head, buf->tail);
    buf->head = buf->tail = 0;
    buf->code = CODE_OK;
}

void buf_borrow(struct buf *buf)
{
    if (buf->block != NULL || buf->cap_bytes < SPARE_SIZE || mem_is_walked())
        return;
    buf->block = mem_spare_new();
    buf->size = buf->block != NULL ? SPARE_SIZE : 0; /* without memory the buffer grows as others do, and then fails */
}

/* Resizes the block. A buffer that wipes leaves no copy where the block was. */
static char *resize(struct buf *buf, size_t size)
{
    char *block = buf->wipes ? mem_alloc(size) : mem_resize(buf->block, size);

    if (!buf->wipes || block == NULL)
        return block;
    if (buf->tail > 0)
        memcpy(block, buf->block, buf->tail);
    wipe(buf, 0, buf->tail);
    mem_free(buf->block);
    return block;
}

/* Makes room behind the tail: moves the bytes to the front, and where that is not enough takes a larger block. */
static __attribute__((noinline)) enum code make_room(struct buf *buf, size_t len)
{
    size_t have = buf_len(buf), size = buf->size ? buf->size : len > SPARE_SIZE / 2 ? SPARE_SIZE : 256;
    char *block;

    if (buf->head > 0) {
        memmove(buf->block, buf->block + buf->head, have);
        wipe(buf, have, buf->tail);
        buf->head = 0;
        buf->tail = have;
    }
    if (buf->size - buf->tail >= len)
        return CODE_OK;
    if (mem_is_walked())
        size = have + len; /* tests walk all allocations (mem_fail_at), so each append must be one */
    while (size < have + len)
        size = size > buf->cap_bytes / 2 ? buf->cap_bytes : size * 2;
    if (size > buf->cap_bytes)
        size = buf->cap_bytes;
    /* One more for the NUL that vsnprintf writes. */
    block = resize(buf, size + 1);
    if (block == NULL)
        return CODE_NOMEM;
    buf->block = block;
    buf->size = size;
    return CODE_OK;
}

enum code buf_reserve(struct buf *buf, size_t len, char **at)
{
    size_t have = buf_len(buf);

    BUG_ON(buf->head > buf->tail || buf->tail > buf->size);
    if (buf->code != CODE_OK)
        return buf->code;
    if (have > buf->cap_bytes || len > buf->cap_bytes - have)
        return CODE_LIMIT;
    if (buf->size - buf->tail < len) {
        enum code code = make_room(buf, len);

        if (code != CODE_OK)
            return code;
    }
    *at = buf->block ? buf->block + buf->tail : NULL;
    return CODE_OK;
}

enum code buf_fail(struct buf *buf, enum code code)
{
    if (buf->code == CODE_OK)
        buf->code = code;
    return buf->code;
}

void buf_rewind(struct buf *buf, struct buf_mark mark)
{
    buf_truncate(buf, mark.len);
    buf->code = mark.code;
}

enum code buf_settle(struct buf *buf, struct buf_mark mark)
{
    enum code code = buf->code;

    if (code != CODE_OK)
        buf_rewind(buf, mark);
    return code;
}

enum code buf_put(struct buf *buf, struct span span)
{
    struct buf_mark mark = buf_mark(buf);

    buf_add_span(buf, span);
    return buf_settle(buf, mark);
}

/* The slow part of buf_add: the block has no room, or nothing is to be added. */
static __attribute__((noinline)) enum code add_slowly(struct buf *buf, const void *bytes, size_t len)
{
    char *at;
    enum code code = buf_reserve(buf, len, &at);

    if (code != CODE_OK || len == 0)
        return buf_fail(buf, code);
    memcpy(at, bytes, len);
    buf_commit(buf, len);
    return CODE_OK;
}

enum code buf_add(struct buf *buf, const void *bytes, size_t len)
{
    if (len == 0 || !buf_has_room(buf, len))
        return add_slowly(buf, bytes, len);
    memcpy(buf->block + buf->tail, bytes, len);
    buf->tail += len;
    return CODE_OK;
}

enum code buf_add_byte(struct buf *buf, char byte)
{
    if (buf_has_room(buf, 1)) {
        buf->block[buf->tail++] = byte;
        return CODE_OK;
    }
    return buf_add(buf, &byte, 1);
}

enum code buf_addf(struct buf *buf, const char *format, ...)
{
    va_list args;
    char *at;
    int len;
    enum code code;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    code = len < 0 ? CODE_INVALID : buf_reserve(buf, (size_t)len, &at);
    if (code != CODE_OK || len == 0)
        return buf_fail(buf, code);
    va_start(args, format);
    (void)vsnprintf(at, (size_t)len + 1, format, args);
    va_end(args);
    buf_commit(buf, (size_t)len);
    return CODE_OK;
}

void buf_drop(struct buf *buf, size_t len)
{
    BUG_ON(len > buf_len(buf));
    wipe(buf, buf->head, buf->head + len);
    buf->head += len;
    if (buf->head == buf->tail)
        buf->head = buf->tail = 0;
}

void buf_truncate(struct buf *buf, size_t len)
{
    BUG_ON(len > buf_len(buf));
    wipe(buf, buf->head + len, buf->tail);
    buf->tail = buf->head + len;
}

void buf_move(struct buf *to, struct buf *from)
{
    BUG_ON(!buf_is_empty(to) || from->code != CODE_OK || from->size > to->cap_bytes);
    buf_fini(to);
    to->wipes = to->wipes || from->wipes;
    to->block = from->block;
    to->head = from->head;
    to->tail = from->tail;
    to->size = from->size;
    from->block = NULL;
    from->head = from->tail = from->size = 0;
}

#define FIT_BYTES 65536 /* a smaller block is not worth the call */

void buf_fit(struct buf *buf)
{
    char *block;

    if (buf->size - buf->tail < FIT_BYTES)
        return;
    block = resize(buf, buf->tail + 1);
    if (block == NULL)
        return; /* without memory the block stays as it is */
    buf->block = block;
    buf->size = buf->tail;
}
