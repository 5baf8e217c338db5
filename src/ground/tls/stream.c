/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/tls_priv.h"

#include "base/bug.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/sock.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#define NAMES_MAX_BYTES 65536
#define RECORDS_A_READ 16

struct tls_stream {
    struct stream stream; /* first */
    struct tls_context *context;
    SSL *ssl;
    char *host;           /* of a client: what the certificate must carry */
    size_t blocked_len;   /* of a write that must be repeated with the same length; 0: there is none */
    bool is_connecting;
    bool is_shaken;
    bool has_failed;      /* OpenSSL forbids any further call but SSL_free */
    struct tls_names *names; /* of the peer's certificate, once somebody has asked for them */
    struct tls_accepted accepted; /* the peer's certificate, where it showed one */
    char fault[200];
};

static struct tls_stream *tls_of(struct stream *stream)
{
    return (struct tls_stream *)stream;
}

/* What a full handshake has verified holds for the sessions that come of it, and for those that come of these. */
static void note_verified(struct tls_stream *tls)
{
    int64_t latest_us = clock_wall_us() + TLS_SESSION_US;

    if (SSL_session_reused(tls->ssl))
        return;
    tls__accepted(tls->context, SSL_get0_verified_chain(tls->ssl), &tls->accepted);
    atomic_store_explicit(&tls->context->met_until_us, tls__chain_until_us(SSL_get0_verified_chain(tls->ssl)),
                          memory_order_relaxed);
    if (tls->accepted.until_us > latest_us)
        tls->accepted.until_us = latest_us;
}

/* TLS 1.2 brings a session within the handshake; 1.3 brings it when the server likes, even hours later. */
int tls__new_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls_stream *tls = SSL_get_app_data(ssl);

    if (!tls->is_shaken)
        note_verified(tls);
    tls__ticket_put(tls->context, tls->host, tls->accepted.until_us, session);
    return 1;
}

/* A ticket of TLS 1.3 is used once (RFC 8446, C.4), and its server sends another; a session of 1.2 can be used again. */
static void keep_session(struct tls_stream *tls)
{
    if (tls->host != NULL && SSL_session_reused(tls->ssl) && SSL_version(tls->ssl) < TLS1_3_VERSION)
        (void)tls__new_session(tls->ssl, SSL_get1_session(tls->ssl));
}

static enum io fail(struct tls_stream *tls, const char *what)
{
    char text[120];
    long verified = SSL_get_verify_result(tls->ssl);

    tls->has_failed = true;
    tls__error_text(text, sizeof text);
    if (verified != X509_V_OK)
        (void)snprintf(tls->fault, sizeof tls->fault, "%s: the certificate is not acceptable: %s", what,
                       X509_verify_cert_error_string(verified));
    else
        (void)snprintf(tls->fault, sizeof tls->fault, "%s: %s", what, text);
    return IO_FAIL;
}

/* What the result of an SSL_* call means that did not succeed. The error queue was empty before the call. */
static enum io meaning(struct tls_stream *tls, int result, const char *what)
{
    int error = errno;

    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return IO_WANT_READ;
    case SSL_ERROR_WANT_WRITE:
        return IO_WANT_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return IO_EOF;
    case SSL_ERROR_SYSCALL:
        tls->has_failed = true;
        (void)snprintf(tls->fault, sizeof tls->fault, "%s: %s", what, strerror(error));
        ERR_clear_error();
        return IO_FAIL;
    default:
        return fail(tls, what);
    }
}

/* A peer may do without ALPN, but not choose another protocol, since only HTTP/1.1 is spoken here. */
static bool protocol_is_ours(const struct tls_stream *tls)
{
    const unsigned char *name;
    unsigned len;

    SSL_get0_alpn_selected(tls->ssl, &name, &len);
    return len == 0 || (len == 8 && memcmp(name, "http/1.1", 8) == 0);
}

static enum io tls_handshake(struct stream *stream)
{
    struct tls_stream *tls = tls_of(stream);
    int result;

    if (tls->is_shaken)
        return IO_OK;
    if (tls->is_connecting) {
        enum code code = sock_connect_state(stream->fd);

        if (code == CODE_BUSY)
            return IO_WANT_WRITE;
        if (code != CODE_OK) {
            (void)snprintf(tls->fault, sizeof tls->fault, "connecting: %s", strerror(errno));
            return IO_FAIL;
        }
        tls->is_connecting = false;
    }
    ERR_clear_error();
    errno = 0;
    result = SSL_do_handshake(tls->ssl);
    if (result != 1) {
        enum io io = meaning(tls, result, "TLS handshake");

        if (io != IO_EOF)
            return io;
        (void)snprintf(tls->fault, sizeof tls->fault, "TLS handshake: the peer closed the connection");
        return IO_FAIL;
    }
    if (!protocol_is_ours(tls)) {
        (void)snprintf(tls->fault, sizeof tls->fault, "TLS handshake: the peer chose a protocol other than http/1.1");
        return IO_FAIL;
    }
    if (tls->host != NULL)
        note_verified(tls);
    tls->is_shaken = true;
    keep_session(tls);
    if (tls->context->is_server && SSL_get0_peer_certificate(tls->ssl) != NULL)
        tls__accepted(tls->context, SSL_get0_verified_chain(tls->ssl), &tls->accepted);
    return IO_OK;
}

/* Records that hold no data (tickets, new keys) come without end where a peer wants it: OpenSSL returns after each
 * (SSL_MODE_AUTO_RETRY is off), and after a few of them the rest waits for the next turn. */
static enum io tls_read(struct stream *stream, void *into, size_t len, size_t *done)
{
    struct tls_stream *tls = tls_of(stream);
    BIO *bio = SSL_get_rbio(tls->ssl);
    enum io io = IO_WANT_READ;

    *done = 0;
    for (int i = 0; i < RECORDS_A_READ && io == IO_WANT_READ; i++) {
        uint64_t before = BIO_number_read(bio);
        int result;

        ERR_clear_error();
        errno = 0;
        result = SSL_read(tls->ssl, into, len > INT_MAX ? INT_MAX : (int)len);
        if (result > 0) {
            *done = (size_t)result;
            return IO_OK;
        }
        io = meaning(tls, result, "TLS read");
        if (BIO_number_read(bio) == before)
            break;
    }
    return io;
}

static enum io tls_write(struct stream *stream, const void *from, size_t len, size_t *done)
{
    struct tls_stream *tls = tls_of(stream);
    size_t now = len > INT_MAX ? INT_MAX : len;
    enum io io;
    int result;

    *done = 0;
    if (tls->blocked_len != 0) {
        BUG_ON(len < tls->blocked_len); /* nobody may offer less after a write that has to be repeated */
        now = tls->blocked_len;
    }
    ERR_clear_error();
    errno = 0;
    result = SSL_write(tls->ssl, from, (int)now);
    if (result > 0) {
        tls->blocked_len = 0;
        *done = (size_t)result;
        return IO_OK;
    }
    io = meaning(tls, result, "TLS write");
    tls->blocked_len = io == IO_WANT_READ || io == IO_WANT_WRITE ? now : 0;
    return io == IO_EOF ? IO_FAIL : io;
}

/* Sends close_notify and does not wait for the peer's. Without it OpenSSL would also forget the session. */
static void say_goodbye(struct tls_stream *tls)
{
    if (!tls->is_shaken || tls->has_failed)
        return;
    ERR_clear_error();
    if (SSL_shutdown(tls->ssl) < 0)
        SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); /* the socket is full, and nobody waits for it */
    ERR_clear_error();
}

static enum io tls_end(struct stream *stream)
{
    say_goodbye(tls_of(stream));
    (void)shutdown(stream->fd, SHUT_WR);
    return IO_OK;
}

static size_t tls_pending(const struct stream *stream)
{
    return (size_t)SSL_pending(((const struct tls_stream *)stream)->ssl);
}

static const char *tls_fault(const struct stream *stream)
{
    return ((const struct tls_stream *)stream)->fault;
}

static void tls_free(struct tls_stream *tls)
{
    ERR_clear_error();
    SSL_free(tls->ssl);
    mem_free(tls->names);
    mem_free(tls->host);
    tls_unref(&tls->context);
    mem_free(tls);
}

static void tls_close(struct stream *stream)
{
    struct tls_stream *tls = tls_of(stream);
    int fd = stream->fd;

    say_goodbye(tls);
    tls_free(tls);
    sock_close(&fd);
}

static const struct stream_ops tls_ops = {
    .read = tls_read,
    .write = tls_write,
    .handshake = tls_handshake,
    .end = tls_end,
    .pending = tls_pending,
    .fault = tls_fault,
    .close = tls_close,
};

static struct tls_stream *new_stream(struct tls_context *context, int fd)
{
    struct tls_stream *tls = mem_zalloc(sizeof *tls);

    if (tls == NULL)
        return NULL;
    tls->stream.ops = &tls_ops;
    tls->stream.fd = fd;
    tls->context = tls_ref(context);
    tls->ssl = SSL_new(context->ctx);
    if (tls->ssl == NULL || SSL_set_fd(tls->ssl, fd) != 1) {
        tls_free(tls);
        return NULL;
    }
    SSL_set_app_data(tls->ssl, tls);
    return tls;
}

enum code tls_accept(struct tls_context *context, int fd, struct stream **stream)
{
    struct tls_stream *tls;

    *stream = NULL;
    BUG_ON(!context->is_server);
    tls = new_stream(context, fd);
    if (tls == NULL)
        return CODE_NOMEM;
    SSL_set_accept_state(tls->ssl);
    *stream = &tls->stream;
    return CODE_OK;
}

/* The name or address that the certificate must carry; only a name is sent as server name (RFC 6066, 3). */
static bool expect_host(struct tls_stream *tls)
{
    struct sock_address literal;

    if (sock_parse_ip(span_text(tls->host), 0, &literal) == CODE_OK)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->ssl), tls->host) == 1;
    SSL_set_hostflags(tls->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(tls->ssl, tls->host) == 1 && SSL_set_tlsext_host_name(tls->ssl, tls->host) == 1;
}

enum code tls_connect(struct tls_context *context, int fd, const char *host, struct stream **stream)
{
    struct tls_stream *tls;
    struct tls_ticket *ticket;

    *stream = NULL;
    BUG_ON(context->is_server);
    tls = new_stream(context, fd);
    if (tls == NULL)
        return CODE_NOMEM;
    tls->is_connecting = true;
    tls->host = mem_dup(host, strlen(host));
    SSL_set_connect_state(tls->ssl);
    if (tls->host == NULL || !expect_host(tls)) {
        tls_free(tls);
        return CODE_NOMEM;
    }
    ticket = tls__ticket_take(context, host);
    if (ticket != NULL && SSL_set_session(tls->ssl, ticket->session) == 1) /* without it the handshake is a full one */
        tls->accepted.until_us = ticket->until_us;
    tls__ticket_free(ticket);
    *stream = &tls->stream;
    return CODE_OK;
}

struct span tls_server_name(const struct stream *stream)
{
    return span_text(SSL_get_servername(((const struct tls_stream *)stream)->ssl, TLSEXT_NAMETYPE_host_name));
}

static char *move_text(struct span *text, char *at)
{
    if (text->at == NULL)
        return at;
    memcpy(at, text->at, text->len);
    text->at = at;
    return at + text->len;
}

/* Copies the names into one block of just their size, since a connection keeps them as long as it lasts. */
static struct tls_names *keep_names(const struct tls_names *names)
{
    struct tls_names *kept =
        mem_alloc(sizeof *kept + names->subject.len + names->uri.text.len + names->dns.text.len + names->email.text.len);

    if (kept == NULL)
        return NULL;
    *kept = *names;
    (void)move_text(&kept->email.text, move_text(&kept->dns.text, move_text(&kept->uri.text,
                    move_text(&kept->subject, (char *)(kept + 1)))));
    return kept;
}

const struct tls_names *tls_peer_names(const struct stream *stream)
{
    struct tls_stream *tls = tls_of((struct stream *)stream);
    struct tls_names names;
    struct arena arena;
    X509 *certificate;

    if (tls->names == NULL && SSL_get_verify_result(tls->ssl) == X509_V_OK &&
        (certificate = SSL_get0_peer_certificate(tls->ssl)) != NULL) {
        arena_init(&arena, NAMES_MAX_BYTES);
        if (tls__names(certificate, &arena, &names))
            tls->names = keep_names(&names);
        arena_fini(&arena);
    }
    ERR_clear_error();
    return tls->names;
}

bool tls_peer_holds(struct stream *stream, const struct tls_context *context)
{
    struct tls_stream *tls = tls_of(stream);
    int verified;

    if (SSL_get0_peer_certificate(tls->ssl) == NULL) {
        (void)snprintf(tls->fault, sizeof tls->fault, "a client certificate is required");
        return !context->needs_certificate;
    }
    if (memcmp(tls->accepted.trust, context->trust, TLS_TRUST_BYTES) == 0 && clock_wall_us() < tls->accepted.until_us)
        return true;
    verified = tls__verify_again(context, tls->ssl, &tls->accepted);
    if (verified != X509_V_OK)
        (void)snprintf(tls->fault, sizeof tls->fault, "the certificate is not acceptable any more: %s",
                       X509_verify_cert_error_string(verified));
    return verified == X509_V_OK;
}

bool tls_is_resumed(const struct stream *stream)
{
    return SSL_session_reused(((const struct tls_stream *)stream)->ssl) == 1;
}

bool tls_is_connected(const struct stream *stream)
{
    return !((const struct tls_stream *)stream)->is_connecting;
}
