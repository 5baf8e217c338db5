/* SPDX-License-Identifier: Apache-2.0 */
#include "os/local.h"

#include "base/bug.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/sock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 4096
#define MAGIC "callgate-pipe-2" /* with its NUL 16 bytes */
#define HANDED_MAX 253          /* the kernel's most for one message; where there is less room it closes the rest */

static bool set_path(struct sockaddr_un *address, const char *path)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    return snprintf(address->sun_path, sizeof address->sun_path, "%s", path) < (int)sizeof address->sun_path;
}

static int local_socket(int type)
{
    return socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static enum code connect_as(int type, const char *path, int *out)
{
    struct sockaddr_un address;
    int fd, error;

    *out = -1;
    if (!set_path(&address, path) || (fd = local_socket(type)) == -1)
        return CODE_IO;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        *out = fd;
        return CODE_OK;
    }
    error = errno;
    close(fd);
    errno = error;
    return error == ENOENT || error == ECONNREFUSED ? CODE_NOT_FOUND
           : error == EAGAIN                        ? CODE_BUSY
           : error == EACCES || error == EPERM      ? CODE_DENIED : CODE_IO;
}

enum code local_connect(const char *path, int *out)
{
    return connect_as(SOCK_STREAM, path, out);
}

enum code local_listener(int fd, uid_t *uid)
{
    struct ucred peer;
    socklen_t len = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
        return CODE_IO;
    *uid = peer.uid;
    return CODE_OK;
}

/* Returns: whether the place is free now. */
static enum code clear_place(int type, const char *path, const char *key, struct why *why)
{
    struct stat found;
    int fd;

    if (lstat(path, &found) != 0)
        return CODE_OK; /* where rights are missing, bind reports it */
    if (!S_ISSOCK(found.st_mode))
        return why_set(why, CODE_EXISTS, "%s is there and is no socket; name another place with `%s: {socket: FILE}`", path,
                       key);
    if (connect_as(type, path, &fd) != CODE_NOT_FOUND) {
        sock_close(&fd);
        return why_set(why, CODE_BUSY, "somebody listens on %s already; does another gate run?", path);
    }
    if (unlink(path) != 0 && errno != ENOENT)
        return why_set(why, CODE_IO, "%s cannot be replaced: %s", path, strerror(errno));
    return CODE_OK;
}

static enum code listen_as(int type, const char *path, const char *key, mode_t mode, int *out, struct why *why)
{
    struct sockaddr_un address;
    enum code code = clear_place(type, path, key, why);
    mode_t mask;
    int fd;

    *out = -1;
    if (code != CODE_OK)
        return code;
    if (!set_path(&address, path))
        return why_set(why, CODE_INVALID, "%s is longer than a socket's path may be (%zu bytes); name another place with "
                       "`%s: {socket: FILE}`", path, sizeof address.sun_path - 1, key);
    fd = local_socket(type);
    /* bind gives the name the descriptor's mode, so that others than it says can connect at no time. */
    mask = umask((mode_t)(0777 & ~mode));
    if (fd == -1 || fchmod(fd, mode) != 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        (type == SOCK_STREAM && listen(fd, BACKLOG) != 0)) {
        code = why_set(why, CODE_IO, "%s cannot be listened on: %s", path, strerror(errno));
        sock_close(&fd);
    }
    (void)umask(mask);
    *out = fd;
    return code;
}

enum code local_listen(const char *path, const char *key, mode_t mode, int *out, struct why *why)
{
    return listen_as(SOCK_STREAM, path, key, mode, out, why);
}

enum code local_receive(const char *path, const char *key, mode_t mode, int *out, struct why *why)
{
    return listen_as(SOCK_DGRAM, path, key, mode, out, why);
}

enum code local_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0 ? CODE_OK : CODE_IO;
}

/* ---- the introduction ---- */

void local_drop(int *fd)
{
    const struct linger none = {0};

    if (*fd != -1)
        (void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    sock_close(fd);
}

enum code local_hand(int fd, struct span bytes, const int *handed, size_t count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(HANDED_MAX * sizeof(int))];
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)bytes.at, bytes.len};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = (unsigned)CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message);

    BUG_ON(count == 0 || count > HANDED_MAX);
    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SCM_RIGHTS;
    cmsg->cmsg_len = (unsigned)CMSG_LEN(count * sizeof(int)); /* a size_t, or by musl a socklen_t */
    memcpy(CMSG_DATA(cmsg), handed, count * sizeof(int));
    if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes.len)
        return CODE_OK;
    return errno == EAGAIN || errno == ETOOMANYREFS ? CODE_BUSY : CODE_IO;
}

enum code local_post(const char *path, struct span bytes, const int *handed, size_t count, int wait_ms)
{
    const int64_t until_us = clock_monotonic_us() + (int64_t)wait_ms * 1000;
    struct pollfd room = {.events = POLLOUT};
    enum code code = connect_as(SOCK_DGRAM, path, &room.fd);
    int error;

    if (code != CODE_OK)
        return code;
    while ((code = local_hand(room.fd, bytes, handed, count)) == CODE_BUSY && clock_monotonic_us() < until_us)
        (void)poll(&room, 1, 100); /* others take the room, too, and descriptors under way have a limit that no socket tells */
    error = errno;
    sock_close(&room.fd);
    errno = error;
    return code;
}

enum code local_take_handed(int fd, void *bytes, size_t len, int *handed, size_t *count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(HANDED_MAX * sizeof(int))];
    } control;
    struct iovec part = {bytes, len};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control};
    const size_t room = *count;
    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *cmsg = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    size_t came = cmsg != NULL && cmsg->cmsg_type == SCM_RIGHTS ? (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

    *count = 0;
    if (got <= 0)
        return got == 0 ? CODE_NOT_FOUND : errno == EAGAIN || errno == EINTR ? CODE_BUSY : CODE_IO;
    for (size_t i = 0; i < came; i++) {
        int one;

        memcpy(&one, CMSG_DATA(cmsg) + i * sizeof one, sizeof one);
        if (i < room)
            handed[(*count)++] = one;
        else
            local_drop(&one);
    }
    if (got == (ssize_t)len && came > 0 && came <= room && (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == 0)
        return CODE_OK;
    while (*count > 0)
        local_drop(&handed[--*count]);
    return CODE_INVALID;
}

enum code local_introduce(int fd, struct span name, const unsigned char digest[LOCAL_DIGEST_BYTES], int handed)
{
    char bytes[LOCAL_INTRODUCTION_BYTES] = MAGIC;

    BUG_ON(name.len > LOCAL_NAME_BYTES);
    memcpy(bytes + 16, name.at, name.len);
    memcpy(bytes + 16 + LOCAL_NAME_BYTES, digest, LOCAL_DIGEST_BYTES);
    return local_hand(fd, span_of(bytes, sizeof bytes), &handed, 1);
}

struct local_stream {
    struct stream stream;
    struct stream *plain; /* over the same descriptor */
    const char *fault;    /* NULL: the fault is the plain stream's */
    char bytes[LOCAL_INTRODUCTION_BYTES];
    size_t filled;
    int handed;           /* -1: none, or taken */
    bool is_introduced;
    bool is_shared;       /* anybody may come */
    struct ucred peer;
};

static enum io fail(struct local_stream *local, const char *fault)
{
    local->fault = fault;
    return IO_FAIL;
}

/* Takes the descriptors that came with a message, which this process has to close. Keeps the first. Returns: false: there
 * were more. */
static bool keep_handed(struct local_stream *local, struct msghdr *message)
{
    bool is_fine = (message->msg_flags & MSG_CTRUNC) == 0;

    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(message); cmsg != NULL; cmsg = CMSG_NXTHDR(message, cmsg)) {
        if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; at + sizeof(int) <= cmsg->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int fd;

            memcpy(&fd, CMSG_DATA(cmsg) + at, sizeof fd);
            if (local->handed == -1 && !local->is_introduced) {
                local->handed = fd;
                continue;
            }
            local_drop(&fd);
            is_fine = false;
        }
    }
    return is_fine;
}

/* Whether the descriptor is an end of a Unix stream socket. A file, a terminal, an epoll or a listening socket is read and
 * written in another way, or not at all. This process must not hold the other end, too, since it would wait for itself for
 * ever. */
static bool is_stream_end(int fd)
{
    int domain = 0, type = 0, listens = 1;
    socklen_t len = sizeof domain;
    struct ucred maker = {.pid = 0};
    struct sockaddr_un peer;
    socklen_t peer_len = sizeof peer, maker_len = sizeof maker;

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens == 0 &&
           getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 &&
           getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &maker, &maker_len) == 0 && maker.pid != getpid();
}

static enum io check(struct local_stream *local)
{
    if (memcmp(local->bytes, MAGIC, sizeof MAGIC) != 0)
        return fail(local, "the introduction is not of this version");
    if (local->handed == -1)
        return fail(local, "no descriptor was handed over");
    if (!is_stream_end(local->handed))
        return fail(local, "what was handed over is no end of a Unix stream socket");
    local->is_introduced = true;
    return IO_OK;
}

static enum io receive(struct local_stream *local, void *into, size_t len, size_t *done)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(HANDED_MAX * sizeof(int))];
    } control;
    struct iovec part = {into, len};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control};
    ssize_t n;

    do {
        n = recvmsg(local->stream.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n == -1 && errno == EINTR);
    *done = n > 0 ? (size_t)n : 0;
    if (n == -1)
        return errno == EAGAIN ? IO_WANT_READ : fail(local, strerror(errno));
    if (!keep_handed(local, &message))
        return fail(local, "more than one descriptor was handed over");
    return n == 0 ? IO_EOF : IO_OK;
}

static enum io local_handshake(struct stream *stream)
{
    struct local_stream *local = (struct local_stream *)stream;
    enum io io = IO_OK;
    size_t done;

    if (local->is_introduced)
        return IO_OK;
    if (!local->is_shared && local->peer.uid != 0 && local->peer.uid != geteuid())
        return fail(local, "the socket belongs to another user");
    while (io == IO_OK && local->filled < sizeof local->bytes) {
        io = receive(local, local->bytes + local->filled, sizeof local->bytes - local->filled, &done);
        local->filled += done;
    }
    return io == IO_OK ? check(local) : io;
}

static enum io local_read(struct stream *stream, void *into, size_t len, size_t *done)
{
    enum io io = receive((struct local_stream *)stream, into, len, done);

    *done = io == IO_OK ? *done : 0;
    return io;
}

static enum io local_write(struct stream *stream, const void *from, size_t len, size_t *done)
{
    return stream_write(((struct local_stream *)stream)->plain, from, len, done);
}

static enum io local_end(struct stream *stream)
{
    return stream_end(((struct local_stream *)stream)->plain);
}

static const char *local_fault(const struct stream *stream)
{
    const struct local_stream *local = (const struct local_stream *)stream;

    return local->fault != NULL ? local->fault : stream_fault(local->plain);
}

static void local_close(struct stream *stream)
{
    struct local_stream *local = (struct local_stream *)stream;
    char rest[4096];
    size_t done;

    /* Bytes that nobody has read may bring descriptors, too, which have to be closed. */
    (void)shutdown(stream->fd, SHUT_RDWR);
    local->is_introduced = true;
    do
        (void)receive(local, rest, sizeof rest, &done);
    while (done > 0);
    local_drop(&local->handed);
    stream_close(&local->plain);
    mem_free(local);
}

static const struct stream_ops local_ops = {
    .read = local_read,
    .write = local_write,
    .handshake = local_handshake,
    .end = local_end,
    .fault = local_fault,
    .close = local_close,
};

static enum code make(int fd, struct local_stream **out)
{
    struct local_stream *local = *out = mem_zalloc(sizeof *local);
    enum code code = local != NULL ? sock_stream_new(fd, &local->plain) : CODE_NOMEM;

    if (code != CODE_OK) {
        mem_free(local);
        return code;
    }
    local->stream.ops = &local_ops;
    local->stream.fd = fd;
    local->handed = -1;
    return CODE_OK;
}

enum code local_stream_new(int fd, bool is_shared, struct stream **out)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    struct local_stream *local;
    enum code code = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? make(fd, &local) : CODE_IO;

    *out = NULL;
    if (code != CODE_OK)
        return code;
    local->peer = peer;
    local->is_shared = is_shared;
    *out = &local->stream;
    return CODE_OK;
}

/* ---- who it is ---- */

static const struct local_stream *introduced(const struct stream *stream)
{
    const struct local_stream *local = (const struct local_stream *)stream;

    BUG_ON(stream->ops != &local_ops || !local->is_introduced);
    return local;
}

struct span local_name(const struct stream *stream)
{
    const char *name = introduced(stream)->bytes + 16;

    return span_of(name, strnlen(name, LOCAL_NAME_BYTES));
}

struct span local_digest(const struct stream *stream)
{
    return span_of(introduced(stream)->bytes + 16 + LOCAL_NAME_BYTES, LOCAL_DIGEST_BYTES);
}

void local_peer(const struct stream *stream, uid_t *uid, pid_t *pid)
{
    *uid = introduced(stream)->peer.uid;
    *pid = introduced(stream)->peer.pid;
}

enum code local_take(struct stream *stream, struct stream **handed)
{
    struct local_stream *local = (struct local_stream *)stream, *way;
    enum code code;

    BUG_ON(introduced(stream)->handed == -1);
    code = make(local->handed, &way);
    if (code != CODE_OK)
        return code;
    way->is_introduced = true;
    local->handed = -1;
    *handed = &way->stream;
    return CODE_OK;
}
