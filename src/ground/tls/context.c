/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/tls_priv.h"

#include "base/mem.h"
#include "os/clock.h"
#include "os/file.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char alpn_http[] = "\x08http/1.1";

void tls__error_text(char *out, size_t len)
{
    unsigned long error = ERR_get_error();
    const char *text = error ? ERR_reason_error_string(error) : NULL;

    (void)snprintf(out, len, "%s", text ? text : "no reason given");
    ERR_clear_error();
}

/* ---- tickets ---- */

void tls__ticket_free(struct tls_ticket *ticket)
{
    if (ticket == NULL)
        return;
    SSL_SESSION_free(ticket->session);
    mem_free(ticket);
}

struct tls_ticket *tls__ticket_take(struct tls_context *context, const char *host)
{
    int64_t now_us = clock_wall_us();

    for (unsigned i = 0; i < TLS_TICKETS; i++) {
        struct tls_ticket *ticket = NULL;

        if (atomic_load_explicit(&context->tickets[i], memory_order_relaxed) != NULL)
            ticket = atomic_exchange(&context->tickets[i], NULL);
        if (ticket != NULL && ticket->until_us > now_us && strcmp(ticket->host, host) == 0)
            return ticket;
        tls__ticket_free(ticket); /* it is too old, or another host's: a resumed session is not verified again */
    }
    return NULL;
}

void tls__ticket_put(struct tls_context *context, const char *host, int64_t until_us, SSL_SESSION *session)
{
    struct tls_ticket *ticket = mem_alloc(sizeof *ticket + strlen(host) + 1);
    unsigned first = atomic_fetch_add_explicit(&context->kept, 1, memory_order_relaxed);

    if (ticket == NULL) {
        SSL_SESSION_free(session); /* the next handshake is a full one */
        return;
    }
    ticket->session = session;
    ticket->until_us = until_us;
    memcpy(ticket->host, host, strlen(host) + 1);
    for (unsigned i = 0; i < TLS_TICKETS && ticket != NULL; i++) {
        struct tls_ticket *none = NULL;

        if (atomic_compare_exchange_strong(&context->tickets[(first + i) % TLS_TICKETS], &none, ticket))
            ticket = NULL;
    }
    if (ticket != NULL)
        tls__ticket_free(atomic_exchange(&context->tickets[first % TLS_TICKETS], ticket));
}

/* ---- files ---- */

enum code tls__open_pem(const char *path, enum file_kind kind, struct buf *text, BIO **bio, struct why *why)
{
    enum code code;

    buf_init(text, TLS_FILE_MAX_BYTES);
    code = file_read(path, kind, TLS_FILE_MAX_BYTES, text, why);
    if (code != CODE_OK)
        return code;
    *bio = BIO_new_mem_buf(buf_is_empty(text) ? "" : buf_peek(text).at, (int)buf_len(text)); /* an empty file has no text */
    return *bio ? CODE_OK : why_set(why, CODE_NOMEM, "%s: out of memory", path);
}

void tls__close_pem(struct buf *text, BIO **bio)
{
    BIO_free(*bio);
    *bio = NULL;
    if (text->block != NULL)
        mem_wipe(text->block, text->size);
    buf_fini(text);
}

int tls__no_passphrase(char *into, int size, int writing, void *context)
{
    (void)into, (void)size, (void)writing, (void)context;
    return 0;
}

/* PEM_read_bio_PrivateKey frees the key's bytes in the ordinary heap without overwriting them. */
static EVP_PKEY *read_key(BIO *bio)
{
    unsigned char *der = NULL;
    const unsigned char *at;
    EVP_PKEY *key;
    long len;

    if (PEM_bytes_read_bio_secmem(&der, &len, NULL, PEM_STRING_EVP_PKEY, bio, tls__no_passphrase, NULL) != 1)
        return NULL;
    at = der;
    key = d2i_AutoPrivateKey(NULL, &at, len);
    OPENSSL_secure_clear_free(der, (size_t)len);
    return key;
}

static enum code load_key(SSL_CTX *ctx, const char *path, struct why *why)
{
    struct buf text;
    BIO *bio = NULL;
    EVP_PKEY *key = NULL;
    char fault[160];
    enum code code = tls__open_pem(path, FILE_SECRET, &text, &bio, why);

    if (code == CODE_OK) {
        key = read_key(bio);
        if (key == NULL || SSL_CTX_use_PrivateKey(ctx, key) != 1 || SSL_CTX_check_private_key(ctx) != 1) {
            tls__error_text(fault, sizeof fault);
            code = why_set(why, CODE_INVALID, "%s: not the unencrypted PEM key of the certificate (%s)", path, fault);
        }
    }
    EVP_PKEY_free(key);
    tls__close_pem(&text, &bio);
    return code;
}

static enum code load_chain(SSL_CTX *ctx, const char *path, struct why *why)
{
    struct buf text;
    BIO *bio = NULL;
    X509 *certificate;
    char fault[160];
    unsigned count = 0;
    enum code code = tls__open_pem(path, FILE_TRUSTED, &text, &bio, why);

    while (code == CODE_OK && (certificate = PEM_read_bio_X509(bio, NULL, tls__no_passphrase, NULL)) != NULL) {
        int done = count++ == 0 ? SSL_CTX_use_certificate(ctx, certificate) == 1
                                : SSL_CTX_add1_chain_cert(ctx, certificate) == 1;

        X509_free(certificate);
        if (!done) {
            tls__error_text(fault, sizeof fault);
            code = why_set(why, CODE_INVALID, "%s: certificate %u cannot be used (%s)", path, count, fault);
        }
    }
    if (code == CODE_OK && count == 0)
        code = why_set(why, CODE_INVALID, "%s: holds no PEM certificate", path);
    ERR_clear_error(); /* reading past the last certificate left an error */
    tls__close_pem(&text, &bio);
    return code;
}

/* ---- contexts ---- */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                           unsigned in_len, void *context)
{
    (void)ssl, (void)context;
    for (unsigned at = 0; at < in_len; at += 1u + in[at])
        if (in[at] == sizeof alpn_http - 2 && at + 1 + in[at] <= in_len &&
            memcmp(in + at, alpn_http, sizeof alpn_http - 1) == 0) {
            *out = in + at + 1;
            *out_len = in[at];
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static enum code new_context(const SSL_METHOD *method, bool is_server, struct tls_context **out, struct why *why)
{
    struct tls_context *context = mem_zalloc(sizeof *context);

    *out = NULL;
    if (context == NULL)
        return why_set(why, CODE_NOMEM, "out of memory for a TLS context");
    context->ctx = SSL_CTX_new(method);
    context->is_server = is_server;
    ref_init(&context->ref);
    if (context->ctx == NULL || SSL_CTX_set_min_proto_version(context->ctx, TLS1_2_VERSION) != 1) {
        SSL_CTX_free(context->ctx);
        mem_free(context);
        ERR_clear_error();
        return why_set(why, CODE_NOMEM, "OpenSSL makes no TLS context");
    }
    SSL_CTX_set_app_data(context->ctx, context);
    SSL_CTX_set_options(context->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    if (is_server) /* agents' credentials come in here */
        SSL_CTX_set_options(context->ctx, SSL_OP_CLEANSE_PLAINTEXT);
    SSL_CTX_set_mode(context->ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_clear_mode(context->ctx, SSL_MODE_AUTO_RETRY);
    *out = context;
    return CODE_OK;
}

enum code tls_server_new(const struct tls_server_conf *conf, struct tls_context **out, struct why *why)
{
    static const unsigned char sessions_of[] = "callgate";
    struct tls_context *context;
    enum code code = new_context(TLS_server_method(), true, &context, why);

    *out = NULL;
    if (code != CODE_OK)
        return code;
    SSL_CTX_set_alpn_select_cb(context->ctx, choose_protocol, NULL);
    /* Tickets carry the session, so that the server keeps none. */
    SSL_CTX_set_session_cache_mode(context->ctx, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_num_tickets(context->ctx, 1);
    if (SSL_CTX_set_session_id_context(context->ctx, sessions_of, sizeof sessions_of - 1) != 1)
        code = why_set(why, CODE_NOMEM, "OpenSSL takes no session id context");
    if (code == CODE_OK)
        code = load_chain(context->ctx, conf->certificate, why);
    if (code == CODE_OK)
        code = load_key(context->ctx, conf->key, why);
    if (code == CODE_OK && conf->ocsp != NULL)
        code = tls__staple(context, conf->ocsp, why);
    if (code == CODE_OK && conf->client_ca != NULL) {
        code = tls__trust(context, conf->client_ca, conf->client_crls, conf->client_required, why);
        /* A resumed session would bring its certificate along without showing it again; here each connection has to show it. */
        SSL_CTX_set_options(context->ctx, SSL_OP_NO_TICKET);
        (void)SSL_CTX_set_num_tickets(context->ctx, 0);
        SSL_CTX_set_verify(context->ctx,
                           SSL_VERIFY_PEER | (conf->client_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
    }
    if (code != CODE_OK)
        tls_unref(&context);
    *out = context;
    return code;
}

enum code tls_client_new(const struct tls_client_conf *conf, struct tls_context **out, struct why *why)
{
    struct tls_context *context;
    enum code code = new_context(TLS_client_method(), false, &context, why);

    *out = NULL;
    if (code != CODE_OK)
        return code;
    SSL_CTX_set_verify(context->ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_cache_mode(context->ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    if (conf->crls == NULL && !conf->needs_staple) /* a resumed session is not verified again */
        SSL_CTX_sess_set_new_cb(context->ctx, tls__new_session);
    if (SSL_CTX_set_alpn_protos(context->ctx, alpn_http, sizeof alpn_http - 1) != 0)
        code = why_set(why, CODE_NOMEM, "OpenSSL takes no protocol list");
    if (code == CODE_OK && conf->needs_staple && !tls__ask_staple(context->ctx))
        code = why_set(why, CODE_NOMEM, "OpenSSL asks for no OCSP response");
    if (code == CODE_OK && conf->ca == NULL && SSL_CTX_set_default_verify_paths(context->ctx) != 1)
        code = why_set(why, CODE_IO, "the system's certificate authorities cannot be read; name a file with `ca:`");
    if (code == CODE_OK)
        code = tls__trust(context, conf->ca, conf->crls, true, why);
    if (code == CODE_OK && conf->certificate != NULL)
        code = load_chain(context->ctx, conf->certificate, why);
    if (code == CODE_OK && conf->key != NULL)
        code = load_key(context->ctx, conf->key, why);
    if (code != CODE_OK)
        tls_unref(&context);
    *out = context;
    return code;
}

enum code tls_lend(const struct tls_context *context, void *ssl_ctx)
{
    SSL_CTX *to = ssl_ctx;
    X509 *own = SSL_CTX_get0_certificate(context->ctx);
    STACK_OF(X509) *chain = NULL;
    int done = SSL_CTX_set_min_proto_version(to, TLS1_2_VERSION) == 1;

    SSL_CTX_set1_cert_store(to, SSL_CTX_get_cert_store(context->ctx));
    SSL_CTX_set_verify(to, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_keylog_callback(to, NULL); /* else SSLKEYLOGFILE would let credentials be read on the way */
    SSL_CTX_set_options(to, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CLEANSE_PLAINTEXT);
    if (SSL_CTX_get_tlsext_status_type(context->ctx) == TLSEXT_STATUSTYPE_ocsp)
        done = done && tls__ask_staple(to);
    if (own != NULL)
        done = done && SSL_CTX_use_certificate(to, own) == 1 && SSL_CTX_get0_chain_certs(context->ctx, &chain) == 1 &&
               SSL_CTX_set1_chain(to, chain) == 1 && SSL_CTX_use_PrivateKey(to, SSL_CTX_get0_privatekey(context->ctx)) == 1;
    ERR_clear_error();
    return done ? CODE_OK : CODE_INVALID;
}

struct tls_context *tls_ref(struct tls_context *context)
{
    if (context != NULL)
        ref_take(&context->ref);
    return context;
}

void tls_unref(struct tls_context **context)
{
    struct tls_context *gone = *context;

    *context = NULL;
    if (gone == NULL || !ref_drop(&gone->ref))
        return;
    for (unsigned i = 0; i < TLS_TICKETS; i++)
        tls__ticket_free(atomic_exchange(&gone->tickets[i], NULL));
    sk_X509_CRL_pop_free(gone->lists, X509_CRL_free);
    mem_free((void *)gone->staple.at);
    SSL_CTX_free(gone->ctx);
    mem_free(gone);
}

static const char *trusted(const char *variable, const char *otherwise)
{
    const char *named = getenv(variable);

    return named != NULL ? named : otherwise;
}

const char *tls_trust_file(void)
{
    return trusted(X509_get_default_cert_file_env(), X509_get_default_cert_file());
}

const char *tls_trust_folder(void)
{
    return trusted(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());
}
