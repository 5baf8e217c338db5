/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of tls/ share: the context behind the public name, and OpenSSL's errors as sentences.
 *
 * Threads: as tls.h.
 * Owns: see struct tls_context.
 * Lifetime: as tls.h.
 * Errors: none of its own. */
#ifndef TLS_TLS_PRIV_H
#define TLS_TLS_PRIV_H

#include "base/buf.h"
#include "base/ref.h"
#include "os/file.h"
#include "tls/tls.h"

#include <openssl/ssl.h>
#include <stdatomic.h>

#define TLS_TICKETS 32
#define TLS_SESSION_US INT64_C(3600000000) /* how long after its certificate was verified a session may be resumed */
#define TLS_TRUST_BYTES 32
#define TLS_FILE_MAX_BYTES (16u << 20) /* revocation lists grow large */

/* A session of an upstream, to be resumed once. */
struct tls_ticket {
    SSL_SESSION *session;
    int64_t until_us; /* a connection that begins later is verified again */
    char host[];      /* NUL-terminated */
};

/* Lists and trust are set while the context is made.
 * Sessions change hands by exchanging pointers, so that workers need no lock. */
struct tls_context {
    SSL_CTX *ctx;
    bool is_server;
    bool needs_certificate;      /* a peer that shows none is not accepted */
    STACK_OF(X509_CRL) *lists;   /* of revoked certificates; NULL: there are none */
    unsigned char trust[TLS_TRUST_BYTES]; /* SHA-256 over authorities and lists: contexts with the same accept the same */
    struct span staple;          /* the OCSP response that is shown, a copy; at == NULL: there is none */
    int64_t staple_until_us;     /* its nextUpdate */
    int64_t trust_until_us;      /* when the last of the named authorities ends; 0: none is named */
    struct ref ref;
    atomic_uint kept;            /* tickets, over its life */
    _Atomic int64_t met_until_us; /* of an upstream: 0: not met yet */
    _Atomic(struct tls_ticket *) tickets[TLS_TICKETS];
};

/* Takes out a ticket of this host that may still be used; NULL: there is none. */
struct tls_ticket *tls__ticket_take(struct tls_context *context, const char *host);
void tls__ticket_put(struct tls_context *context, const char *host, int64_t until_us, SSL_SESSION *session_take);
void tls__ticket_free(struct tls_ticket *ticket);

/* What a stream knows of a certificate that was accepted: under which trust, and until when it need not be verified again. */
struct tls_accepted {
    unsigned char trust[TLS_TRUST_BYTES];
    int64_t until_us; /* the first end of a certificate in its chain, or of a list */
};

/* ---- trust.c ---- */
/* Believes the certificates of `ca` (NULL: those that the context believes already), unless one of `crls` revokes them. */
enum code tls__trust(struct tls_context *context, const char *ca, const char *const *crls, bool needs_certificate,
                     struct why *why) MUST_USE;
int64_t tls__chain_until_us(STACK_OF(X509) *chain); /* when the first of them ends; INT64_MAX: none is there */
void tls__accepted(const struct tls_context *context, STACK_OF(X509) *chain, struct tls_accepted *accepted);
/* Verifies the peer of `ssl` once more. Returns: X509_V_OK, or what is wrong with it. */
int tls__verify_again(const struct tls_context *context, SSL *ssl, struct tls_accepted *accepted);

int64_t tls__time_us(const ASN1_TIME *time); /* 0: it is none */

/* ---- ocsp.c ---- */
enum code tls__staple(struct tls_context *context, const char *path, struct why *why) MUST_USE;
bool tls__ask_staple(SSL_CTX *ctx) MUST_USE; /* asks servers for a response, and accepts none without one that says it is
                                              * good */

/* ---- names.c ---- */
bool tls__names(const X509 *certificate, struct arena *arena, struct tls_names *names) MUST_USE;

/* ---- files: on failure text and bio are still to be closed ---- */
enum code tls__open_pem(const char *path, enum file_kind kind, struct buf *text, BIO **bio, struct why *why) MUST_USE;
void tls__close_pem(struct buf *text, BIO **bio);
int tls__no_passphrase(char *into, int size, int writing, void *context); /* OpenSSL would ask for it, and nobody is there */

/* Writes the oldest error of OpenSSL's queue as text, and empties the queue. */
void tls__error_text(char *out, size_t len);

/* OpenSSL's callback: a session of the upstream that `ssl` goes to. Returns: 1: it was taken. */
int tls__new_session(SSL *ssl, SSL_SESSION *session);

#endif
