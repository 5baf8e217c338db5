/* SPDX-License-Identifier: Apache-2.0 */
#include "os/sock.h"

#include "base/mem.h"
#include "base/num.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BACKLOG 4096

/* ---- addresses ---- */

enum code sock_parse_ip(struct span text, uint16_t port, struct sock_address *out)
{
    char copy[INET6_ADDRSTRLEN + 1];
    struct sock_address address;

    if (text.len >= 2 && text.at[0] == '[' && text.at[text.len - 1] == ']') {
        text = span_part(text, 1, text.len - 2);
        if (span_find(text, ':') == text.len)
            return CODE_INVALID; /* brackets are for IPv6 */
    }
    if (text.len == 0 || text.len >= sizeof copy || span_find(text, '\0') < text.len)
        return CODE_INVALID;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    memset(&address, 0, sizeof address);
    if (inet_pton(AF_INET, copy, &address.v4.sin_addr) == 1) {
        address.v4.sin_family = AF_INET;
        address.v4.sin_port = htons(port);
        address.len = sizeof address.v4;
    } else {
        memset(&address, 0, sizeof address);
        if (inet_pton(AF_INET6, copy, &address.v6.sin6_addr) != 1)
            return CODE_INVALID;
        address.v6.sin6_family = AF_INET6;
        address.v6.sin6_port = htons(port);
        address.len = sizeof address.v6;
    }
    *out = address;
    return CODE_OK;
}

/* Where the port begins: after the last colon, which must follow a bracket where there are several. */
static bool split_port(struct span text, struct span *ip, struct span *port)
{
    size_t colon = text.len;

    while (colon > 0 && text.at[colon - 1] != ':')
        colon--;
    if (colon == 0)
        return false;
    *ip = span_part(text, 0, colon - 1);
    *port = span_part(text, colon, text.len);
    return span_find(*ip, ':') == ip->len || (ip->at[0] == '[' && ip->at[ip->len - 1] == ']');
}

enum code sock_parse(struct span text, struct sock_address *out, struct why *why)
{
    struct span ip, port;
    uint64_t number;

    if (!split_port(text, &ip, &port) || num_u64(port, &number) != CODE_OK || number > UINT16_MAX ||
        sock_parse_ip(ip, (uint16_t)number, out) != CODE_OK)
        return why_set(why, CODE_INVALID, "\"%.*s\" is not an address with a port; write 127.0.0.1:8080 or [::1]:8080",
                       SPAN_ARG(span_part(text, 0, 200)));
    return CODE_OK;
}

/* The 16 bytes under which addresses of both families compare. */
static void bytes_of(const struct sock_address *address, unsigned char out[16])
{
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

    memset(out, 0, 16);
    if (address->any.sa_family == AF_INET6) {
        memcpy(out, &address->v6.sin6_addr, 16);
    } else if (address->any.sa_family == AF_INET) {
        memcpy(out, mapped, sizeof mapped);
        memcpy(out + sizeof mapped, &address->v4.sin_addr, 4);
    }
}

void sock_ip_text(const struct sock_address *address, char out[SOCK_TEXT_BYTES])
{
    out[0] = '\0';
    if (address->any.sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &address->v4.sin_addr, out, SOCK_TEXT_BYTES);
    else if (address->any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&address->v6.sin6_addr))
        (void)inet_ntop(AF_INET, &address->v6.sin6_addr.s6_addr[12], out, SOCK_TEXT_BYTES);
    else if (address->any.sa_family == AF_INET6)
        (void)inet_ntop(AF_INET6, &address->v6.sin6_addr, out, SOCK_TEXT_BYTES);
}

void sock_text(const struct sock_address *address, char out[SOCK_TEXT_BYTES])
{
    char ip[SOCK_TEXT_BYTES];

    sock_ip_text(address, ip);
    (void)snprintf(out, SOCK_TEXT_BYTES, strchr(ip, ':') ? "[%.48s]:%u" : "%.48s:%u", ip, sock_port(address));
}

uint16_t sock_port(const struct sock_address *address)
{
    if (address->any.sa_family == AF_INET6)
        return ntohs(address->v6.sin6_port);
    return address->any.sa_family == AF_INET ? ntohs(address->v4.sin_port) : 0;
}

bool sock_is_loopback(const struct sock_address *address)
{
    static const unsigned char one[16] = {[15] = 1};
    unsigned char bytes[16];

    if (address->any.sa_family != AF_INET && address->any.sa_family != AF_INET6)
        return false;
    bytes_of(address, bytes);
    return memcmp(bytes, one, sizeof one) == 0 ||
           (bytes[10] == 0xff && bytes[11] == 0xff && bytes[12] == 127 && bytes[0] == 0 &&
            memcmp(bytes, bytes + 1, 9) == 0);
}

bool sock_host_is_loopback(struct span host)
{
    struct sock_address address;

    if (sock_parse_ip(host, 1, &address) == CODE_OK)
        return sock_is_loopback(&address);
    return span_equals_nocase(host, SPAN_LIT("localhost"));
}

bool sock_equals(const struct sock_address *a, const struct sock_address *b)
{
    unsigned char a_bytes[16], b_bytes[16];

    bytes_of(a, a_bytes);
    bytes_of(b, b_bytes);
    return a->any.sa_family == b->any.sa_family && sock_port(a) == sock_port(b) &&
           memcmp(a_bytes, b_bytes, sizeof a_bytes) == 0;
}

/* Whether all bits of the 128 from `bit` on are zero. */
static bool is_zero_from(const unsigned char bytes[16], unsigned bit)
{
    for (; bit < 128; bit++)
        if (bytes[bit / 8] & (0x80u >> (bit % 8)))
            return false;
    return true;
}

enum code sock_net_parse(struct span text, struct sock_net *out, struct why *why)
{
    struct span rest;
    struct span ip = span_cut(text, '/', &rest);
    struct sock_address address;
    unsigned width;
    uint64_t bits;

    if (sock_parse_ip(ip, 0, &address) != CODE_OK)
        goto invalid;
    width = address.any.sa_family == AF_INET ? 32 : 128;
    bits = width;
    if (ip.len < text.len && (num_u64(rest, &bits) != CODE_OK || bits > width))
        goto invalid;
    bytes_of(&address, out->bytes);
    out->bits = 128 - width + (unsigned)bits;
    if (!is_zero_from(out->bytes, out->bits))
        return why_set(why, CODE_INVALID, "\"%.*s\" has bits set after its prefix; write the network's own address",
                       SPAN_ARG(span_part(text, 0, 200)));
    return CODE_OK;
invalid:
    return why_set(why, CODE_INVALID, "\"%.*s\" is not a network; write 10.0.0.0/8 or fd00::/8",
                   SPAN_ARG(span_part(text, 0, 200)));
}

bool sock_net_holds(const struct sock_net *net, const struct sock_address *address)
{
    unsigned char bytes[16];

    if (address->any.sa_family != AF_INET && address->any.sa_family != AF_INET6)
        return false;
    bytes_of(address, bytes);
    for (unsigned i = 0; i < 16; i++)
        bytes[i] ^= net->bytes[i];
    for (unsigned bit = 0; bit < net->bits; bit++)
        if (bytes[bit / 8] & (0x80u >> (bit % 8)))
            return false;
    return true;
}

void sock_network(const struct sock_address *address, unsigned char out[16])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

    memset(out, 0, 16);
    if (address->any.sa_family != AF_INET && address->any.sa_family != AF_INET6)
        return;
    bytes_of(address, out);
    if (memcmp(out, mapped, sizeof mapped) != 0)
        memset(out + 8, 0, 8);
}

/* ---- listening, accepting, connecting ---- */

#define UNSENT_MAX_BYTES 131072 /* of a reply in the kernel, before it goes out */

static bool set_number(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

static bool set_option(int fd, int level, int option)
{
    return set_number(fd, level, option, 1);
}

static enum code listen_at(const struct sock_address *address, bool is_shared, int *out, struct why *why)
{
    char text[SOCK_TEXT_BYTES];
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    *out = -1;
    sock_text(address, text);
    if (fd == -1)
        return why_set(why, CODE_IO, "%s: no socket: %s", text, strerror(errno));
    if (!set_option(fd, SOL_SOCKET, SO_REUSEADDR) ||
        (is_shared && !set_option(fd, SOL_SOCKET, SO_REUSEPORT)) ||
        (address->any.sa_family == AF_INET6 && !set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY)) ||
        bind(fd, &address->any, address->len) == -1 || listen(fd, BACKLOG) == -1) {
        enum code code = why_set(why, CODE_IO, "%s cannot be listened on: %s; is another program there?", text,
                                 strerror(errno));

        close(fd);
        return code;
    }
    *out = fd;
    return CODE_OK;
}

enum code sock_listen(const struct sock_address *address, int *out, struct why *why)
{
    return listen_at(address, true, out, why);
}

enum code sock_listen_alone(const struct sock_address *address, int *out, struct why *why)
{
    return listen_at(address, false, out, why);
}

enum code sock_local(int fd, struct sock_address *out)
{
    memset(out, 0, sizeof *out);
    out->len = sizeof out->v6;
    return getsockname(fd, &out->any, &out->len) == 0 ? CODE_OK : CODE_IO;
}

/* Errors of one connection, or of the network behind it, which accept(2) reports in its place. */
static bool is_passing(int error)
{
    switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case EPERM: /* a firewall said no */
    case ETIMEDOUT:
        return true;
    default:
        return false;
    }
}

enum code sock_accept(int listener, int *out, struct sock_address *peer)
{
    /* Bounded, so that a flood of dead connections does not keep the loop here. */
    for (int tries = 0; tries < 16; tries++) {
        int fd;

        memset(peer, 0, sizeof *peer);
        peer->len = sizeof peer->v6;
        fd = accept4(listener, &peer->any, &peer->len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd != -1) {
            /* Whole answers are written at once; waiting for more of them only delays. It may fail on a dead connection. */
            (void)set_option(fd, IPPROTO_TCP, TCP_NODELAY);
            /* Else the kernel takes megabytes for a slow reader: nobody counts them, and the reader looks quick. */
            (void)set_number(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_MAX_BYTES);
            *out = fd;
            return CODE_OK;
        }
        *out = -1;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            return CODE_LIMIT;
        if (errno == EAGAIN)
            return CODE_BUSY;
        if (!is_passing(errno))
            return CODE_IO;
    }
    return CODE_BUSY;
}

enum code sock_connect(const struct sock_address *address, int *out)
{
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error;

    *out = -1;
    if (fd == -1)
        return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM ? CODE_LIMIT : CODE_IO;
    if (set_option(fd, IPPROTO_TCP, TCP_NODELAY) &&
        (connect(fd, &address->any, address->len) == 0 || errno == EINPROGRESS || errno == EINTR)) {
        *out = fd;
        return CODE_OK;
    }
    error = errno;
    close(fd);
    errno = error;
    return CODE_IO;
}

enum code sock_connect_state(int fd)
{
    int error = 0;
    socklen_t len = sizeof error;
    struct sock_address peer;

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
        return CODE_IO;
    if (error != 0) {
        errno = error;
        return CODE_IO;
    }
    peer.len = sizeof peer.v6;
    if (getpeername(fd, &peer.any, &peer.len) == 0)
        return CODE_OK;
    return errno == ENOTCONN ? CODE_BUSY : CODE_IO;
}

void sock_close(int *fd)
{
    if (*fd != -1)
        close(*fd);
    *fd = -1;
}

static rlim_t first_limit; /* 0: nothing was raised */

void sock_descriptor_limit_restore(void)
{
    struct rlimit limit;

    if (first_limit == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = first_limit;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* nothing refuses a lower limit */
}

size_t sock_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
        return 1024;
    if (limit.rlim_cur < limit.rlim_max) {
        struct rlimit raised = {limit.rlim_max, limit.rlim_max};

        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) {
            first_limit = limit.rlim_cur;
            limit = raised;
        }
    }
    return limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : (size_t)limit.rlim_cur;
}

/* ---- the plain stream ---- */

struct sock_stream {
    struct stream stream;
    bool connected;
    int error; /* errno of the failure */
};

static enum io fail(struct sock_stream *sock, int error)
{
    sock->error = error;
    return IO_FAIL;
}

static enum io plain_read(struct stream *stream, void *into, size_t len, size_t *done)
{
    struct sock_stream *sock = (struct sock_stream *)stream;
    ssize_t n;

    *done = 0;
    do {
        n = recv(stream->fd, into, len, MSG_DONTWAIT); /* MSG_DONTWAIT, since the descriptor may have come as a blocking one */
    } while (n == -1 && errno == EINTR);
    if (n == 0)
        return IO_EOF;
    if (n == -1)
        return errno == EAGAIN ? IO_WANT_READ : fail(sock, errno);
    *done = (size_t)n;
    return IO_OK;
}

static enum io plain_write(struct stream *stream, const void *from, size_t len, size_t *done)
{
    struct sock_stream *sock = (struct sock_stream *)stream;
    ssize_t n;

    *done = 0;
    do {
        n = send(stream->fd, from, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n == -1 && errno == EINTR);
    if (n == -1)
        return errno == EAGAIN ? IO_WANT_WRITE : fail(sock, errno);
    *done = (size_t)n;
    return IO_OK;
}

static enum io plain_handshake(struct stream *stream)
{
    struct sock_stream *sock = (struct sock_stream *)stream;
    enum code code;

    if (sock->connected)
        return IO_OK;
    code = sock_connect_state(stream->fd);
    if (code == CODE_BUSY)
        return IO_WANT_WRITE;
    if (code != CODE_OK)
        return fail(sock, errno);
    sock->connected = true;
    return IO_OK;
}

static enum io plain_end(struct stream *stream)
{
    /* A connection that is gone takes no more writes, either. */
    if (shutdown(stream->fd, SHUT_WR) == -1 && errno != ENOTCONN)
        return fail((struct sock_stream *)stream, errno);
    return IO_OK;
}

static const char *plain_fault(const struct stream *stream)
{
    return strerror(((const struct sock_stream *)stream)->error);
}

static void plain_close(struct stream *stream)
{
    close(stream->fd);
    mem_free(stream);
}

static const struct stream_ops plain_ops = {
    .read = plain_read,
    .write = plain_write,
    .handshake = plain_handshake,
    .end = plain_end,
    .fault = plain_fault,
    .close = plain_close,
};

enum code sock_stream_new(int fd, struct stream **out)
{
    struct sock_stream *sock = mem_zalloc(sizeof *sock);

    *out = NULL;
    if (sock == NULL)
        return CODE_NOMEM;
    sock->stream.ops = &plain_ops;
    sock->stream.fd = fd;
    *out = &sock->stream;
    return CODE_OK;
}
