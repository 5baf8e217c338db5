/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that never block: addresses, listening, accepting, connecting, and the plain stream over one.
 *
 * Threads: any; a descriptor belongs to one thread.
 * Owns: nothing but what sock_stream_new took.
 * Lifetime: descriptors belong to the caller until a stream takes them.
 * Errors: enum code; a sentence where a person configured what failed. */
#ifndef OS_SOCK_H
#define OS_SOCK_H

#include "base/span.h"
#include "base/why.h"
#include "os/stream.h"

#include <netinet/in.h>
#include <sys/socket.h>

/* An IPv4 or IPv6 address with a port. Zeroed: none. */
struct sock_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t len;
};

/* "[0123:4567:89ab:cdef:0123:4567:89ab:cdef%4294967295]:65535" with its NUL. */
#define SOCK_TEXT_BYTES 64

/* "127.0.0.1:8080" or "[::1]:8080": numbers only, no names; port 0 lets the kernel choose. */
enum code sock_parse(struct span text, struct sock_address *out, struct why *why) MUST_USE;

/* A literal address without a port ("127.0.0.1", "::1", "[::1]"). CODE_INVALID for a name. */
enum code sock_parse_ip(struct span text, uint16_t port, struct sock_address *out) MUST_USE;

void sock_text(const struct sock_address *address, char out[SOCK_TEXT_BYTES]);    /* with the port */
void sock_ip_text(const struct sock_address *address, char out[SOCK_TEXT_BYTES]); /* without; IPv4 in IPv6 as IPv4 */
uint16_t sock_port(const struct sock_address *address);
/* Who an address belongs to: an IPv4 address (as ::ffff:a.b.c.d), or the /64 of an IPv6 one, in which a machine may choose. */
void sock_network(const struct sock_address *address, unsigned char out[16]);
bool sock_is_loopback(const struct sock_address *address);
bool sock_host_is_loopback(struct span host); /* `localhost` or such an address; IPv6 without brackets */
bool sock_equals(const struct sock_address *a, const struct sock_address *b);

/* A network, "10.0.0.0/8"; an address alone is a network of one. Bits after the prefix must be zero. */
struct sock_net {
    unsigned char bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
    unsigned bits;
};

enum code sock_net_parse(struct span text, struct sock_net *out, struct why *why) MUST_USE;
bool sock_net_holds(const struct sock_net *net, const struct sock_address *address);

/* A listening socket with SO_REUSEPORT, so that each worker has its own on the same address. */
enum code sock_listen(const struct sock_address *address, int *fd, struct why *why) MUST_USE;
/* One that no other program of the same user can have, too. */
enum code sock_listen_alone(const struct sock_address *address, int *fd, struct why *why) MUST_USE;

/* The address that a socket is bound to. */
enum code sock_local(int fd, struct sock_address *out) MUST_USE;

/* Returns: CODE_OK; CODE_BUSY when nobody waits; CODE_LIMIT when descriptors or memory are used up (pause the listener);
 * CODE_IO when the listener itself is broken. Connections that died in the queue are passed over. */
enum code sock_accept(int listener, int *fd, struct sock_address *peer) MUST_USE;

/* Begins to connect; stream_handshake says when it is done. CODE_LIMIT without descriptors, CODE_IO where the system
 * knows at once that it cannot be reached (errno says why). */
enum code sock_connect(const struct sock_address *address, int *fd) MUST_USE;

/* Returns: CODE_OK connected, CODE_BUSY not yet, CODE_IO failed (errno says why). For a stream of one's own over a
 * connecting socket. */
enum code sock_connect_state(int fd) MUST_USE;

/* A plain stream over a socket, accepted or connecting. On failure the descriptor is still the caller's. */
enum code sock_stream_new(int fd, struct stream **stream) MUST_USE;

void sock_close(int *fd); /* -1 is fine; *fd becomes -1 */

/* How many descriptors this process may have open, after raising the soft limit to the hard one. */
size_t sock_descriptor_limit(void);
void sock_descriptor_limit_restore(void); /* for a program of others: as it was; some count up to it */

#endif
