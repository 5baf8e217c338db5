/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/mem_stream.h"

#include <stdlib.h>
#include <string.h>

/* One direction, a ring. */
struct mem_way {
    char *bytes;
    size_t size;
    size_t head;
    size_t len;
    bool ended;
};

struct mem_pair;

struct mem_stream {
    struct stream stream;
    struct mem_weather weather;
    struct mem_pair *pair;
    struct mem_way *in;
    struct mem_way *out;
    bool open;
    bool read_again;  /* the next read says "would block" */
    bool write_again;
};

struct mem_pair {
    struct mem_stream end[2];
    struct mem_way way[2];
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t way_take(struct mem_way *way, char *into, size_t len)
{
    len = smaller(len, way->len);
    for (size_t i = 0; i < len; i++)
        into[i] = way->bytes[(way->head + i) % way->size];
    way->head = (way->head + len) % way->size;
    way->len -= len;
    return len;
}

static size_t way_add(struct mem_way *way, const char *from, size_t len)
{
    len = smaller(len, way->size - way->len);
    for (size_t i = 0; i < len; i++)
        way->bytes[(way->head + way->len + i) % way->size] = from[i];
    way->len += len;
    return len;
}

static struct mem_stream *twin_of(const struct mem_stream *mem)
{
    return &mem->pair->end[mem == &mem->pair->end[0]];
}

static enum io mem_read(struct stream *stream, void *into, size_t len, size_t *done)
{
    struct mem_stream *mem = (struct mem_stream *)stream;

    *done = 0;
    if (mem->weather.fault)
        return IO_FAIL;
    if (mem->in->len == 0)
        return mem->in->ended ? IO_EOF : IO_WANT_READ;
    mem->read_again = !mem->read_again;
    if (mem->weather.again && !mem->read_again)
        return IO_WANT_READ;
    if (mem->weather.max_read)
        len = smaller(len, mem->weather.max_read);
    *done = way_take(mem->in, into, len);
    return IO_OK;
}

static enum io mem_write(struct stream *stream, const void *from, size_t len, size_t *done)
{
    struct mem_stream *mem = (struct mem_stream *)stream;

    *done = 0;
    if (!mem->weather.fault && !twin_of(mem)->open)
        mem->weather.fault = "Broken pipe";
    if (mem->weather.fault || mem->out->ended)
        return IO_FAIL;
    mem->write_again = !mem->write_again;
    if (mem->weather.again && !mem->write_again)
        return IO_WANT_WRITE;
    if (mem->weather.max_write)
        len = smaller(len, mem->weather.max_write);
    *done = way_add(mem->out, from, len);
    return *done > 0 ? IO_OK : IO_WANT_WRITE;
}

static enum io mem_handshake(struct stream *stream)
{
    struct mem_stream *mem = (struct mem_stream *)stream;

    if (mem->weather.fault)
        return IO_FAIL;
    if (mem->weather.handshakes == 0)
        return IO_OK;
    mem->weather.handshakes--;
    return IO_WANT_READ;
}

static enum io mem_end(struct stream *stream)
{
    ((struct mem_stream *)stream)->out->ended = true;
    return IO_OK;
}

static size_t mem_pending(const struct stream *stream)
{
    const struct mem_stream *mem = (const struct mem_stream *)stream;

    return mem->weather.as_pending ? mem->in->len : 0;
}

static const char *mem_fault(const struct stream *stream)
{
    const struct mem_stream *mem = (const struct mem_stream *)stream;

    return mem->weather.fault ? mem->weather.fault : "Broken pipe";
}

static void mem_close(struct stream *stream)
{
    struct mem_stream *mem = (struct mem_stream *)stream;
    struct mem_pair *pair = mem->pair;

    mem->open = false;
    mem->out->ended = true;
    if (twin_of(mem)->open)
        return;
    free(pair->way[0].bytes);
    free(pair->way[1].bytes);
    free(pair);
}

static const struct stream_ops mem_ops = {
    .read = mem_read,
    .write = mem_write,
    .handshake = mem_handshake,
    .end = mem_end,
    .pending = mem_pending,
    .fault = mem_fault,
    .close = mem_close,
};

bool mem_stream_pair(struct stream **a, struct stream **b, size_t capacity_bytes)
{
    struct mem_pair *pair = calloc(1, sizeof *pair);

    *a = *b = NULL;
    if (!pair)
        return false;
    for (int i = 0; i < 2; i++) {
        pair->way[i].bytes = malloc(capacity_bytes);
        pair->way[i].size = capacity_bytes;
        pair->end[i] = (struct mem_stream){
            .stream = {.ops = &mem_ops, .fd = -1}, .pair = pair, .in = &pair->way[i], .out = &pair->way[!i], .open = true};
    }
    if (!pair->way[0].bytes || !pair->way[1].bytes) {
        free(pair->way[0].bytes);
        free(pair->way[1].bytes);
        free(pair);
        return false;
    }
    *a = &pair->end[0].stream;
    *b = &pair->end[1].stream;
    return true;
}

struct mem_weather *mem_stream_weather(struct stream *stream)
{
    return &((struct mem_stream *)stream)->weather;
}

size_t mem_stream_readable(const struct stream *stream)
{
    return ((const struct mem_stream *)stream)->in->len;
}

size_t mem_stream_writable(const struct stream *stream)
{
    const struct mem_way *out = ((const struct mem_stream *)stream)->out;

    return out->size - out->len;
}

bool mem_stream_twin_ended(const struct stream *stream)
{
    return ((const struct mem_stream *)stream)->in->ended;
}

bool mem_stream_twin_closed(const struct stream *stream)
{
    return !twin_of((const struct mem_stream *)stream)->open;
}

bool mem_stream_put(struct stream *stream, const void *bytes, size_t len)
{
    struct mem_way *out = ((struct mem_stream *)stream)->out;

    return len <= out->size - out->len && way_add(out, bytes, len) == len;
}

size_t mem_stream_get(struct stream *stream, void *into, size_t len)
{
    return way_take(((struct mem_stream *)stream)->in, into, len);
}
