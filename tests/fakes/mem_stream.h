/* SPDX-License-Identifier: Apache-2.0 */
/* Two streams in memory, joined back to back: what one writes the other reads, in a weather that tests choose. */
#ifndef FAKES_MEM_STREAM_H
#define FAKES_MEM_STREAM_H

#include "os/stream.h"

/* How one end behaves; all zero is fair weather. */
struct mem_weather {
    size_t max_read;        /* bytes that one read gives at most; 0: as many as are there */
    size_t max_write;       /* bytes that one write takes at most; 0: as many as fit */
    bool again;             /* every second read and every second write says "would block" */
    bool as_pending;        /* readable bytes count as pending, as those that TLS has decrypted already */
    unsigned handshakes;    /* so many handshakes say IO_WANT_READ before one is done */
    const char *fault;      /* from now on everything fails with this sentence */
};

/* Takes: capacity_bytes is what each direction holds before a write would block. NULL on no memory. The bytes do not come
 * from mem_alloc, so that a test that fails the n-th allocation does not hit this fake. */
bool mem_stream_pair(struct stream **a, struct stream **b, size_t capacity_bytes);

/* Returns: the weather of this end, to be changed at will while it is open. */
struct mem_weather *mem_stream_weather(struct stream *stream);

size_t mem_stream_readable(const struct stream *stream); /* bytes that this end could read in fair weather */
size_t mem_stream_writable(const struct stream *stream); /* bytes that this end could write in fair weather */
bool mem_stream_twin_ended(const struct stream *stream); /* the other end wrote its last or is closed */
bool mem_stream_twin_closed(const struct stream *stream);

/* For scripts: all or nothing, whatever the weather of this end. */
bool mem_stream_put(struct stream *stream, const void *bytes, size_t len);
/* Returns: how many bytes were there and copied, at most len. */
size_t mem_stream_get(struct stream *stream, void *into, size_t len);

#endif
