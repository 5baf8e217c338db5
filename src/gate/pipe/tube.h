/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor with what was read from it and what is to be written to it: a process's stdin, stdout and stderr, a connection.
 *
 * Its handler only reads, writes and arms the timer `stirs`. The user acts on what was read when that timer calls, once a turn
 * and outside of all handlers.
 *
 * Threads: its loop's.
 * Owns: the descriptor and the buffers.
 * Lifetime: tube_close in `stirred` or outside of the loop, not within a handler.
 * Errors: is_broken; nothing is lost that was read before. */
#ifndef PIPE_TUBE_H
#define PIPE_TUBE_H

#include "base/buf.h"
#include "os/loop.h"

#include <stdbool.h>

struct tube {
    struct loop *loop;
    struct loop_watch watch;
    struct loop_timer *stirs; /* its user's, armed for now */
    struct buf in, out;
    int fd;          /* -1: closed */
    bool is_paused;  /* nothing is read */
    bool is_eof;     /* nothing more comes */
    bool is_broken;  /* nothing more goes, either */
};

/* Takes: fd, made non-blocking. in_bytes: the most that lies unread; a full one stops reading. */
void tube_open(struct tube *tube, struct loop *loop, int fd, size_t in_bytes, struct loop_timer *stirs);
void tube_close(struct tube *tube); /* callable twice, and on a zeroed one */

/* Writes what it can, and tells the loop what to wait for. Call it after each change of the buffers. */
void tube_settle(struct tube *tube);

#endif
