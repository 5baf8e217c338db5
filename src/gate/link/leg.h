/* SPDX-License-Identifier: Apache-2.0 */
/* A leg: one stream with its two buffers. The only place where bytes are read from a peer and written to one.
 *
 * Its handler fills `in`, drains `out`, and stirs its connection; it decides nothing. The connection takes from `in` with
 * buf_drop and appends to `out`, then calls leg_drain and, at the end of its step, leg_settle, which works out what the
 * loop should wait for from the state of the buffers: a full `in` stops reading, a filled `out` asks for writing.
 *
 * Threads: its worker's.
 * Owns: its stream and buffers.
 * Lifetime: embedded in its connection, which is freed by worker_reap only; leg_drop gives the stream up before.
 * Errors: is_broken with stream_fault's sentence; nothing is lost that was read before. */
#ifndef LINK_LEG_H
#define LINK_LEG_H

#include "base/buf.h"
#include "link/worker.h"
#include "os/stream.h"

/* What one read asks of a stream: little at first, since most messages are small and most connections idle; twice as
 * much after each read that brought all it asked for. */
#define LEG_READ_MIN_BYTES 4096
#define LEG_READ_MAX_BYTES 65536

/* Invariants: stream == NULL: not ready, nothing watched. is_broken: no read or write is tried any more. */
struct leg {
    struct worker *worker;
    struct connection *connection;
    struct stream *stream;
    struct loop_watch watch;
    struct buf in;
    struct buf out;
    struct span rest;       /* of its connection's: goes out behind `out`, and stays where it is until then */
    uint64_t read_bytes;    /* over the stream's life */
    uint64_t written_bytes;
    size_t read_size;       /* what the next read asks for */
    unsigned wanted;        /* LOOP_READ, LOOP_WRITE: what was worked out last; tests play the loop by it */
    bool is_ready;          /* connected, handshake done */
    bool is_eof;            /* the peer sends no more */
    bool is_broken;
    bool is_ended;          /* we send no more */
    bool write_blocked;     /* the last write could not take all */
    bool reads_on_write;    /* TLS: reading waits for the socket to take bytes */
    bool writes_on_read;    /* TLS: writing waits for the socket to bring bytes */
    bool may_pend;          /* the stream may hold bytes that no event will report */
    unsigned handshake_wants;
};

void leg_init(struct leg *leg, struct worker *worker, struct connection *connection, size_t in_cap_bytes,
              size_t out_cap_bytes);

static inline size_t leg_unsent(const struct leg *leg)
{
    return buf_len(&leg->out) + leg->rest.len;
}

/* Takes the stream and begins its handshake. The leg must be without one. */
void leg_open(struct leg *leg, struct stream *stream_take);

struct stream *leg_take(struct leg *leg) MUST_USE; /* hands the stream over, which nobody watches then; NULL: there is none */
void leg_drop(struct leg *leg);  /* gives the stream up (closed at the end of the turn) and empties the buffers */
void leg_fini(struct leg *leg);  /* by the connection's free: closes at once */
void leg_rest(struct leg *leg);  /* gives empty buffers back */

/* What the loop calls; tests with memory streams call it themselves. */
void leg_ready(struct leg *leg, unsigned ready);

void leg_fill(struct leg *leg);  /* reads as much as one turn may */
void leg_drain(struct leg *leg); /* writes what `out` and `rest` hold */
void leg_end(struct leg *leg);   /* no more writes, once nothing is unsent */
void leg_settle(struct leg *leg);

/* Bytes wait inside the stream that no event will report, and there is room for them: leg_fill now. */
bool leg_has_pending(const struct leg *leg);

#endif
