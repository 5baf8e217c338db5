/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of bytes that never blocks: a socket, TLS over a socket, or memory in tests.
 *
 * Threads: one.
 * Owns: what is behind it (descriptor, TLS session); closed by stream_close.
 * Lifetime: until stream_close, which the link room calls at the end of a loop turn only.
 * Errors: enum io; IO_FAIL is final, the sentence is in stream_fault. */
#ifndef OS_STREAM_H
#define OS_STREAM_H

#include <stdbool.h>
#include <stddef.h>

/* "Would block" is not an error. IO_WANT_*: call again when the descriptor is readable or writable. */
enum io { IO_FAIL = 0, IO_OK, IO_WANT_READ, IO_WANT_WRITE, IO_EOF };

struct stream;

struct stream_ops {
    /* On IO_OK *done > 0; otherwise *done is 0. `len` is never 0. */
    enum io (*read)(struct stream *stream, void *into, size_t len, size_t *done);
    enum io (*write)(struct stream *stream, const void *from, size_t len, size_t *done);
    /* Finishes a handshake where there is one; IO_OK when bytes may flow. */
    enum io (*handshake)(struct stream *stream);
    /* No more writes from us (TLS close_notify, then shutdown(2)). */
    enum io (*end)(struct stream *stream);
    /* Bytes already taken off the descriptor but not yet read: epoll will never report them. NULL: there never are any. */
    size_t (*pending)(const struct stream *stream);
    const char *(*fault)(const struct stream *stream); /* of the last IO_FAIL; never NULL */
    void (*close)(struct stream *stream);              /* frees the stream and its descriptor */
};

/* Embedded as the first member by every kind of stream. */
struct stream {
    const struct stream_ops *ops;
    int fd; /* for epoll; -1 for memory streams */
};

static inline enum io stream_read(struct stream *stream, void *into, size_t len, size_t *done)
{
    return stream->ops->read(stream, into, len, done);
}

static inline enum io stream_write(struct stream *stream, const void *from, size_t len, size_t *done)
{
    return stream->ops->write(stream, from, len, done);
}

static inline enum io stream_handshake(struct stream *stream)
{
    return stream->ops->handshake(stream);
}

static inline enum io stream_end(struct stream *stream)
{
    return stream->ops->end(stream);
}

static inline size_t stream_pending(const struct stream *stream)
{
    return stream->ops->pending != NULL ? stream->ops->pending(stream) : 0;
}

static inline const char *stream_fault(const struct stream *stream)
{
    return stream->ops->fault(stream);
}

/* Takes: NULL is fine; *stream becomes NULL. */
static inline void stream_close(struct stream **stream)
{
    if (*stream != NULL)
        (*stream)->ops->close(*stream);
    *stream = NULL;
}

#endif
