/* SPDX-License-Identifier: Apache-2.0 */
/* TLS 1.2 and 1.3 over a socket, as a stream (os/stream.h), for both sides of the gate. The only room that knows OpenSSL's
 * connections.
 *
 * Threads: a context is immutable after it was made and shared by all; a stream belongs to one thread.
 * Owns: a context its certificate, key and sessions; a stream its socket and a reference to its context.
 * Lifetime: contexts are counted (tls_ref, tls_unref); texts of a stream live as long as the stream.
 * Errors: contexts: enum code with a sentence naming the file; streams: IO_FAIL, the sentence in stream_fault.
 *
 * Only http/1.1 is offered and taken in ALPN. No renegotiation, no compression, no early data. Upstream certificates and host
 * names are always checked. Sessions are resumed: those of agents by tickets under a key of the context, those with upstreams
 * by sessions of the same context and host name. A resumed session is not verified again, so a context, which never changes,
 * keeps one for an hour after its full handshake at most and no longer than the certificates of its chain are good, and keeps
 * none where client certificates or revocation lists are asked for. A ticket of TLS 1.3 is used once. With lists, each
 * certificate of a chain needs a list of its issuer that has not run out (RFC 5280, 6.3): where one is missing or too old,
 * the certificate is not accepted. An idle stream holds no buffers (SSL_MODE_RELEASE_BUFFERS). */
#ifndef TLS_TLS_H
#define TLS_TLS_H

#include "base/mem.h"
#include "base/span.h"
#include "base/why.h"
#include "os/stream.h"

struct tls_context;

/* Paths of PEM files. Their permissions are checked: a key must not be readable by others (os/file.h). */
struct tls_server_conf {
    const char *certificate; /* with its chain */
    const char *key;
    const char *client_ca;   /* NULL: client certificates are not asked for */
    const char *const *client_crls; /* PEM or DER, NULL at the end; NULL: revocation is not asked */
    const char *ocsp;        /* DER, or NULL: the authority's OCSP response about `certificate`, shown until it runs out */
    bool client_required;    /* a handshake without one fails */
};

struct tls_client_conf {
    const char *ca;          /* NULL: the system's */
    const char *const *crls; /* as client_crls */
    bool needs_staple;       /* a server is accepted only with an OCSP response that it is good (RFC 6066, 8) */
    const char *certificate; /* the gate's own, or NULL */
    const char *key;
};

enum code tls_server_new(const struct tls_server_conf *conf, struct tls_context **context, struct why *why) MUST_USE;
enum code tls_client_new(const struct tls_client_conf *conf, struct tls_context **context, struct why *why) MUST_USE;
struct tls_context *tls_ref(struct tls_context *context);
void tls_unref(struct tls_context **context); /* NULL is fine */

/* A stream over an accepted socket. Nothing is read yet: stream_handshake goes first. On failure `fd` stays the caller's. */
enum code tls_accept(struct tls_context *context, int fd, struct stream **stream) MUST_USE;

/* A stream over a connecting socket. Takes: host: the name or literal address that the certificate must carry; names are
 * sent as server name. */
enum code tls_connect(struct tls_context *context, int fd, const char *host, struct stream **stream) MUST_USE;

/* One kind of subjectAltName (RFC 5280, 4.2.1.6), with the bytes as they stand there, which may be any. */
struct tls_name {
    struct span text; /* the first of this kind; at == NULL: there is none, or no memory */
    unsigned count;
};

struct tls_names {
    struct span subject; /* RFC 4514; at == NULL: none that can be written */
    struct tls_name uri, dns, email;
    unsigned char digest[32]; /* SHA-256 of the certificate, which RFC 8705, 3.1 calls x5t#S256 */
};

/* Reads the names of one certificate in DER, or of the first in a PEM text, whoever signed it and whenever it ends. Texts
 * go into the arena.
 * Returns: false: it cannot be read. */
bool tls_names_read(struct span der, struct arena *arena, struct tls_names *names) MUST_USE;
bool tls_names_read_pem(struct span pem, struct arena *arena, struct tls_names *names) MUST_USE;

/* For a library that connects by itself: gives its SSL_CTX the authorities, lists and certificate of a client context. */
enum code tls_lend(const struct tls_context *context, void *ssl_ctx) MUST_USE;

/* Where OpenSSL looks for authorities when no `ca:` is named; SSL_CERT_FILE and SSL_CERT_DIR may change it. */
const char *tls_trust_file(void);
const char *tls_trust_folder(void);

/* After the handshake. Takes: a stream made here. */
struct span tls_server_name(const struct stream *stream);  /* what the agent asked for; empty: nothing */
const struct tls_names *tls_peer_names(const struct stream *stream); /* of a verified certificate; NULL: none */
bool tls_is_resumed(const struct stream *stream);

/* Whether `context`, which may be newer than the one the stream was made with, would accept the peer's certificate now: it
 * has not ended and is not revoked. It may be asked often: the certificate is verified again only where something can have
 * changed. Where it is false, stream_fault has the reason. Takes: a stream made here, after its handshake. */
bool tls_peer_holds(struct stream *stream, const struct tls_context *context);
bool tls_asks_certificate(const struct tls_context *context);
/* When the first certificate ends, in microseconds since 1970; INT64_MAX: there is none. tls_shown_until_us: of the
 * certificates that are shown to the peer. tls_met_until_us: of an upstream's, up to its authority, as the last full
 * handshake met them. tls_trust_until_us: the last of the authorities that a `ca` names, since a file that holds the next one,
 * too, outlives the first; what a chain rests on is met. */
int64_t tls_shown_until_us(const struct tls_context *context);
/* The times of the gate's own certificate alone, since a chain may hold one that has ended and that no peer needs. Returns:
 * whether there is one. */
bool tls_shown_times(const struct tls_context *context, int64_t *from_us, int64_t *until_us);
int64_t tls_met_until_us(const struct tls_context *context);
int64_t tls_trust_until_us(const struct tls_context *context);
int64_t tls_staple_until_us(const struct tls_context *context); /* likewise, of the OCSP response that is shown */
int64_t tls_lists_until_us(const struct tls_context *context); /* when the first list runs out; INT64_MAX: there is none */

/* Whether the socket below was connected, so that a failure was TLS's. */
bool tls_is_connected(const struct stream *stream);

#endif
