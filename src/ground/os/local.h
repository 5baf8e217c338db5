/* SPDX-License-Identifier: Apache-2.0 */
/* Unix stream sockets between a gate and the pipes of its machine: listening, connecting, and the introduction.
 *
 * Who connects introduces itself with LOCAL_INTRODUCTION_BYTES bytes that name a route and tell the SHA-256 of the
 * configuration that it reads, and hands over one descriptor: an end of another stream socket, through which its server is
 * reached. After these bytes the stream is like any other.
 *
 * Threads: any; a descriptor belongs to one thread.
 * Owns: a stream the descriptor that it was made of, and the one that was handed over until local_take.
 * Lifetime: as in os/sock.h.
 * Errors: enum code; a sentence where a person configured what failed. stream_fault of the stream says what an introduction
 *   lacked. */
#ifndef OS_LOCAL_H
#define OS_LOCAL_H

#include "base/span.h"
#include "base/why.h"
#include "os/stream.h"

#include <sys/types.h>

#define LOCAL_NAME_BYTES 64
#define LOCAL_DIGEST_BYTES 32
#define LOCAL_INTRODUCTION_BYTES (16 + LOCAL_NAME_BYTES + LOCAL_DIGEST_BYTES)

/* Listens at `path`. It replaces a socket that an ended gate left behind, but never one where somebody listens, nor a file
 * of another kind.
 * Takes: key: the key of the configuration that names the place, for the error; mode: 0600: only its own user may connect.
 * The process's umask is another one meanwhile: no other thread makes files.
 * Errors: CODE_BUSY where somebody listens. */
enum code local_listen(const char *path, const char *key, mode_t mode, int *fd, struct why *why) MUST_USE;

/* Likewise, for messages of their own (datagrams), which local_post sends and local_take_handed reads. Who sends has no
 * connection: he takes no place, and one who cannot be given descriptors for want of room has sent in vain. */
enum code local_receive(const char *path, const char *key, mode_t mode, int *fd, struct why *why) MUST_USE;

/* Returns: CODE_OK; CODE_NOT_FOUND where nobody listens; CODE_BUSY where too many wait; CODE_DENIED; CODE_IO (errno). */
enum code local_connect(const char *path, int *fd) MUST_USE;

/* The user who listens where `fd` is connected to. */
enum code local_listener(int fd, uid_t *uid) MUST_USE;

/* Makes two connected ends, non-blocking, which close when another program is executed. */
enum code local_pair(int ends[2]) MUST_USE;

/* Sends these bytes in one message with descriptors, at least one and at most 253; they stay the caller's. Returns: CODE_OK,
 * CODE_BUSY where the other side has to read first, CODE_IO. */
enum code local_hand(int fd, struct span bytes, const int *handed, size_t count) MUST_USE;
/* Likewise, to who receives at `path`, waiting for room. Takes: wait_ms: for how long. Returns: as of local_connect, and
 * CODE_BUSY where there was none. */
enum code local_post(const char *path, struct span bytes, const int *handed, size_t count, int wait_ms) MUST_USE;
/* Reads such a message of `len` bytes. Returns: CODE_OK; CODE_BUSY where none is there, CODE_NOT_FOUND where the other side has
 * gone, CODE_INVALID where it is another, whose descriptors are closed. Takes: count: how many descriptors there is room for;
 * becomes how many came. */
enum code local_take_handed(int fd, void *bytes, size_t len, int *handed, size_t *count) MUST_USE;
/* Closes what a stranger has handed over, without lingering: whoever closes a lingering connection last would wait until the
 * other side has taken everything. */
void local_drop(int *fd);

/* Takes: name of at most LOCAL_NAME_BYTES; handed: stays the caller's, who closes it. */
enum code local_introduce(int fd, struct span name, const unsigned char digest[LOCAL_DIGEST_BYTES], int handed) MUST_USE;

/* The other side: makes a stream over an accepted socket, whose handshake reads the introduction. The handshake fails where
 * the socket belongs to neither this process's user nor root, unless `is_shared`. On failure here the descriptor is
 * still the caller's. */
enum code local_stream_new(int fd, bool is_shared, struct stream **stream) MUST_USE;

/* These take a stream whose handshake is done. */
struct span local_name(const struct stream *stream);
struct span local_digest(const struct stream *stream); /* LOCAL_DIGEST_BYTES */
void local_peer(const struct stream *stream, uid_t *uid, pid_t *pid);
/* Gives the descriptor that was handed over as a stream, once. */
enum code local_take(struct stream *stream, struct stream **handed) MUST_USE;

#endif
