/* SPDX-License-Identifier: Apache-2.0 */
/* Whose certificates are believed: authorities and revocation lists, at the handshake and as long as a connection lasts. */
#include "tls/tls_priv.h"

#include "os/clock.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

int64_t tls__time_us(const ASN1_TIME *time)
{
    struct tm parts;

    return ASN1_TIME_to_tm(time, &parts) == 1 ? (int64_t)timegm(&parts) * 1000000 : 0;
}

/* ---- files ---- */

/* Adds a file to the context's trust, which is a hash over all files in the order in which they were read. */
static enum code note_trust(struct tls_context *context, const struct buf *text, const char *path, struct why *why)
{
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    struct span bytes = buf_peek(text);
    bool done = hash != NULL && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(hash, context->trust, sizeof context->trust) == 1 &&
                EVP_DigestUpdate(hash, bytes.at, bytes.len) == 1 && EVP_DigestFinal_ex(hash, context->trust, NULL) == 1;

    EVP_MD_CTX_free(hash);
    return done ? CODE_OK : why_set(why, CODE_NOMEM, "%s: out of memory", path);
}

/* Trusts the certificates of a file; a server also names them when it asks for the agent's. */
static enum code load_ca(struct tls_context *context, const char *path, struct why *why)
{
    SSL_CTX *ctx = context->ctx;
    struct buf text;
    BIO *bio = NULL;
    X509 *certificate;
    unsigned count = 0;
    enum code code = tls__open_pem(path, FILE_TRUSTED, &text, &bio, why);

    if (code == CODE_OK)
        code = note_trust(context, &text, path, why);
    while (code == CODE_OK && (certificate = PEM_read_bio_X509(bio, NULL, tls__no_passphrase, NULL)) != NULL) {
        count++;
        if (tls__time_us(X509_get0_notAfter(certificate)) > context->trust_until_us)
            context->trust_until_us = tls__time_us(X509_get0_notAfter(certificate));
        if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), certificate) != 1 ||
            (context->is_server && SSL_CTX_add_client_CA(ctx, certificate) != 1))
            code = why_set(why, CODE_NOMEM, "%s: certificate %u cannot be kept", path, count);
        X509_free(certificate);
    }
    if (code == CODE_OK && count == 0)
        code = why_set(why, CODE_INVALID, "%s: holds no PEM certificate", path);
    ERR_clear_error();
    tls__close_pem(&text, &bio);
    return code;
}

static enum code keep_list(struct tls_context *context, X509_CRL *list, const char *path, struct why *why)
{
    if (X509_CRL_get0_nextUpdate(list) == NULL)
        return why_set(why, CODE_INVALID, "%s: a list that does not say when the next one comes (nextUpdate), so that nobody "
                       "can tell whether it is old; have it issued with one", path);
    if (X509_STORE_add_crl(SSL_CTX_get_cert_store(context->ctx), list) != 1 || X509_CRL_up_ref(list) != 1)
        return why_set(why, CODE_NOMEM, "%s: a list cannot be kept", path);
    if (sk_X509_CRL_push(context->lists, list) > 0)
        return CODE_OK;
    X509_CRL_free(list);
    return why_set(why, CODE_NOMEM, "%s: out of memory", path);
}

/* One list in DER, or any number in PEM. */
static enum code load_crl(struct tls_context *context, const char *path, struct why *why)
{
    struct buf text;
    BIO *bio = NULL;
    X509_CRL *list;
    unsigned count = 0;
    bool is_der;
    enum code code = tls__open_pem(path, FILE_TRUSTED, &text, &bio, why);

    if (code == CODE_OK)
        code = note_trust(context, &text, path, why);
    is_der = code == CODE_OK && span_starts_with(buf_peek(&text), SPAN_LIT("\x30")); /* a SEQUENCE; PEM is text */
    while (code == CODE_OK && (list = is_der ? d2i_X509_CRL_bio(bio, NULL)
                                             : PEM_read_bio_X509_CRL(bio, NULL, tls__no_passphrase, NULL)) != NULL) {
        count++;
        code = keep_list(context, list, path, why);
        X509_CRL_free(list);
    }
    /* A list that cannot be read must not go missing behind others that can. */
    if (code == CODE_OK && (count == 0 || (is_der ? BIO_pending(bio) > 0
                                                  : ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)))
        code = why_set(why, CODE_INVALID, "%s: place %u is no certificate revocation list in PEM or DER", path, count + 1);
    ERR_clear_error();
    tls__close_pem(&text, &bio);
    return code;
}

/* An authority without a list would accept nobody, which the start had better say. */
static enum code check_authorities(const struct tls_context *context, struct why *why)
{
    const STACK_OF(X509_NAME) *names = SSL_CTX_get_client_CA_list(context->ctx);

    for (int i = 0; i < sk_X509_NAME_num(names); i++) {
        const X509_NAME *name = sk_X509_NAME_value(names, i);
        char text[200];
        int at = 0;

        while (at < sk_X509_CRL_num(context->lists) &&
               X509_NAME_cmp(X509_CRL_get_issuer(sk_X509_CRL_value(context->lists, at)), name) != 0)
            at++;
        if (at == sk_X509_CRL_num(context->lists))
            return why_set(why, CODE_INVALID, "`client_crl` has no list of the authority %s in `client_ca`, so none of its "
                           "certificates could be accepted; add its list, which may be empty",
                           X509_NAME_oneline(name, text, sizeof text));
    }
    return CODE_OK;
}

enum code tls__trust(struct tls_context *context, const char *ca, const char *const *crls, bool needs_certificate,
                     struct why *why)
{
    enum code code = ca != NULL ? load_ca(context, ca, why) : CODE_OK;

    context->needs_certificate = needs_certificate;
    if (code != CODE_OK || crls == NULL)
        return code;
    context->lists = sk_X509_CRL_new_null();
    if (context->lists == NULL ||
        X509_STORE_set_flags(SSL_CTX_get_cert_store(context->ctx), X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) != 1)
        return why_set(why, CODE_NOMEM, "out of memory for revocation lists");
    for (; *crls != NULL && code == CODE_OK; crls++)
        code = load_crl(context, *crls, why);
    return code == CODE_OK && context->is_server ? check_authorities(context, why) : code;
}

/* ---- while a connection lasts ---- */

bool tls_asks_certificate(const struct tls_context *context)
{
    return (SSL_CTX_get_verify_mode(context->ctx) & SSL_VERIFY_PEER) != 0;
}

int64_t tls_lists_until_us(const struct tls_context *context)
{
    int64_t first = INT64_MAX;

    for (int i = 0; i < sk_X509_CRL_num(context->lists); i++) {
        int64_t until = tls__time_us(X509_CRL_get0_nextUpdate(sk_X509_CRL_value(context->lists, i)));

        first = until < first ? until : first;
    }
    return first;
}

int64_t tls__chain_until_us(STACK_OF(X509) *chain)
{
    int64_t first = INT64_MAX;

    for (int i = 0; i < sk_X509_num(chain); i++) {
        int64_t until = tls__time_us(X509_get0_notAfter(sk_X509_value(chain, i)));

        first = until < first ? until : first;
    }
    return first;
}

int64_t tls_shown_until_us(const struct tls_context *context)
{
    X509 *own = SSL_CTX_get0_certificate(context->ctx);
    STACK_OF(X509) *chain = NULL;
    int64_t first, until;

    (void)SSL_CTX_get0_chain_certs(context->ctx, &chain);
    first = tls__chain_until_us(chain);
    until = own != NULL ? tls__time_us(X509_get0_notAfter(own)) : INT64_MAX;
    return until < first ? until : first;
}

bool tls_shown_times(const struct tls_context *context, int64_t *from_us, int64_t *until_us)
{
    X509 *own = SSL_CTX_get0_certificate(context->ctx);

    if (own == NULL)
        return false;
    *from_us = tls__time_us(X509_get0_notBefore(own));
    *until_us = tls__time_us(X509_get0_notAfter(own));
    return true;
}

int64_t tls_met_until_us(const struct tls_context *context)
{
    int64_t until = atomic_load_explicit(&context->met_until_us, memory_order_relaxed);

    return until != 0 ? until : INT64_MAX;
}

int64_t tls_trust_until_us(const struct tls_context *context)
{
    return context->trust_until_us != 0 ? context->trust_until_us : INT64_MAX;
}

void tls__accepted(const struct tls_context *context, STACK_OF(X509) *chain, struct tls_accepted *accepted)
{
    int64_t now = clock_wall_us();

    memcpy(accepted->trust, context->trust, sizeof accepted->trust);
    accepted->until_us = tls__chain_until_us(chain);
    for (int i = 0; i < sk_X509_CRL_num(context->lists); i++) {
        int64_t until = tls__time_us(X509_CRL_get0_nextUpdate(sk_X509_CRL_value(context->lists, i)));

        if (until > now && until < accepted->until_us) /* a list that has run out already was not needed */
            accepted->until_us = until;
    }
}

/* Verifies as OpenSSL does in a handshake, with the chain that the peer sent in its own. */
int tls__verify_again(const struct tls_context *context, SSL *ssl, struct tls_accepted *accepted)
{
    X509_STORE_CTX *question = X509_STORE_CTX_new();
    int verified = X509_V_ERR_OUT_OF_MEM;

    if (question != NULL && X509_STORE_CTX_init(question, SSL_CTX_get_cert_store(context->ctx), SSL_get0_peer_certificate(ssl),
                                                SSL_get_peer_cert_chain(ssl)) == 1 &&
        X509_STORE_CTX_set_default(question, "ssl_client") == 1 &&
        X509_VERIFY_PARAM_set1(X509_STORE_CTX_get0_param(question), SSL_CTX_get0_param(context->ctx)) == 1) {
        bool holds;

        X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(question), SSL_CTX_get_security_level(context->ctx));
        holds = X509_verify_cert(question) == 1;

        verified = X509_STORE_CTX_get_error(question);
        if (holds)
            tls__accepted(context, X509_STORE_CTX_get0_chain(question), accepted);
        if (holds != (verified == X509_V_OK))
            verified = X509_V_ERR_UNSPECIFIED;
    }
    X509_STORE_CTX_free(question);
    ERR_clear_error();
    return verified;
}
