/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of tls/ share: the context behind the public name, and OpenSSL's errors as sentences.
 *
 * Threads: as tls.h.
 * Owns: see struct tls_context.
 * Lifetime: as tls.h.
 * Errors: none of its own. */
#ifndef TLS_TLS_PRIV_H
#define TLS_TLS_PRIV_H

#include "tls/tls.h"

#include <openssl/ssl.h>
#include <stdatomic.h>

#define TLS_TICKETS 16

/* The last session of a host, to be resumed once: a TLS 1.3 ticket should not be used twice. */
struct tls_ticket {
    SSL_SESSION *session;
    char host[]; /* NUL-terminated */
};

/* Sessions change hands by exchanging pointers, so that workers need no lock. */
struct tls_context {
    SSL_CTX *ctx;
    bool is_server;
    atomic_uint refs;
    _Atomic(struct tls_ticket *) tickets[TLS_TICKETS];
};

/* The ticket of this host, taken out; or NULL. */
struct tls_ticket *tls__ticket_take(struct tls_context *context, const char *host);
void tls__ticket_put(struct tls_context *context, const char *host, SSL_SESSION *session_take);
void tls__ticket_free(struct tls_ticket *ticket);

/* The oldest error of OpenSSL's queue as text, and an empty queue. */
void tls__error_text(char *out, size_t len);

/* The stream that an SSL belongs to asks for the host that it was made with. */
const char *tls__host_of(const SSL *ssl);

#endif
