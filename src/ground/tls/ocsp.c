/* SPDX-License-Identifier: Apache-2.0 */
/* OCSP responses in the handshake (RFC 6066, 8; RFC 6960): the gate's own, which it has as a file, and those of upstreams. */
#include "tls/tls_priv.h"

#include "base/mem.h"
#include "os/clock.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <string.h>

#define SKEW_S 300

/* What a response says of one certificate. */
struct word {
    int status; /* V_OCSP_CERTSTATUS_ */
    const ASN1_GENERALIZEDTIME *from, *until;
};

/* Takes: issuer: NULL: the serial number alone counts. */
static bool find_word(OCSP_BASICRESP *basic, const X509 *certificate, const X509 *issuer, struct word *word)
{
    for (int i = 0; i < OCSP_resp_count(basic); i++) {
        OCSP_SINGLERESP *single = OCSP_resp_get0(basic, i);
        const OCSP_CERTID *id = OCSP_SINGLERESP_get0_id(single);
        ASN1_OBJECT *hash;
        ASN1_INTEGER *serial;
        bool is_it;

        if (OCSP_id_get0_info(NULL, &hash, NULL, &serial, (OCSP_CERTID *)id) != 1)
            continue;
        is_it = ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(certificate)) == 0;
        if (is_it && issuer != NULL) {
            OCSP_CERTID *own = OCSP_cert_to_id(EVP_get_digestbyobj(hash), certificate, issuer);

            is_it = own != NULL && OCSP_id_cmp(own, id) == 0;
            OCSP_CERTID_free(own);
        }
        if (!is_it)
            continue;
        word->status = OCSP_single_get0_status(single, NULL, NULL, (ASN1_GENERALIZEDTIME **)&word->from,
                                               (ASN1_GENERALIZEDTIME **)&word->until);
        return true;
    }
    return false;
}

/* ---- the gate's own ---- */

/* A response that has run out is not shown: some agents do without one, and no agent takes an old one. */
static int show(SSL *ssl, void *at)
{
    const struct tls_context *context = at;
    unsigned char *copy;

    if (clock_wall_us() >= context->staple_until_us)
        return SSL_TLSEXT_ERR_NOACK;
    copy = OPENSSL_memdup(context->staple.at, context->staple.len);
    if (copy == NULL || SSL_set_tlsext_status_ocsp_resp(ssl, copy, (long)context->staple.len) != 1) {
        OPENSSL_free(copy);
        return SSL_TLSEXT_ERR_NOACK;
    }
    return SSL_TLSEXT_ERR_OK;
}

static enum code check_own(struct tls_context *context, OCSP_BASICRESP *basic, const char *path, struct why *why)
{
    X509 *own = SSL_CTX_get0_certificate(context->ctx);
    struct word word;

    if (!find_word(basic, own, NULL, &word))
        return why_set(why, CODE_INVALID, "%s: says nothing of the gate's certificate; ask its authority again", path);
    if (word.status != V_OCSP_CERTSTATUS_GOOD)
        return why_set(why, CODE_INVALID, "%s: says that the gate's certificate is not good; have it issued anew", path);
    if (word.until == NULL)
        return why_set(why, CODE_INVALID, "%s: does not say when the next one comes (nextUpdate), so that nobody can tell "
                       "whether it is old", path);
    context->staple_until_us = tls__time_us(word.until);
    return CODE_OK;
}

enum code tls__staple(struct tls_context *context, const char *path, struct why *why)
{
    struct buf text;
    BIO *bio = NULL;
    OCSP_RESPONSE *response = NULL;
    OCSP_BASICRESP *basic = NULL;
    enum code code = tls__open_pem(path, FILE_TRUSTED, &text, &bio, why);

    if (code == CODE_OK) {
        response = d2i_OCSP_RESPONSE_bio(bio, NULL);
        if (response != NULL && OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL)
            basic = OCSP_response_get1_basic(response);
        code = basic != NULL ? check_own(context, basic, path, why)
                             : why_set(why, CODE_INVALID, "%s: is no successful OCSP response in DER; fetch one with openssl "
                                       "ocsp -respout", path);
    }
    if (code == CODE_OK) {
        context->staple.at = mem_dup(buf_peek(&text).at, buf_len(&text));
        context->staple.len = buf_len(&text);
        if (context->staple.at == NULL || SSL_CTX_set_tlsext_status_cb(context->ctx, show) != 1 ||
            SSL_CTX_set_tlsext_status_arg(context->ctx, context) != 1)
            code = why_set(why, CODE_NOMEM, "%s: out of memory", path);
    }
    OCSP_BASICRESP_free(basic);
    OCSP_RESPONSE_free(response);
    ERR_clear_error();
    tls__close_pem(&text, &bio);
    return code;
}

int64_t tls_staple_until_us(const struct tls_context *context)
{
    return context->staple.at != NULL ? context->staple_until_us : INT64_MAX;
}

/* ---- an upstream's ---- */

/* Returns: X509_V_OK, or what is wrong. */
static int judge(SSL *ssl, OCSP_BASICRESP *basic)
{
    STACK_OF(X509) *chain = SSL_get0_verified_chain(ssl);
    struct word word;

    if (sk_X509_num(chain) < 2 ||
        OCSP_basic_verify(basic, chain, SSL_CTX_get_cert_store(SSL_get_SSL_CTX(ssl)), 0) != 1 ||
        !find_word(basic, sk_X509_value(chain, 0), sk_X509_value(chain, 1), &word))
        return X509_V_ERR_OCSP_VERIFY_FAILED;
    if (word.status == V_OCSP_CERTSTATUS_REVOKED)
        return X509_V_ERR_CERT_REVOKED;
    if (word.status != V_OCSP_CERTSTATUS_GOOD || word.until == NULL ||
        OCSP_check_validity((ASN1_GENERALIZEDTIME *)word.from, (ASN1_GENERALIZEDTIME *)word.until, SKEW_S, -1) != 1)
        return X509_V_ERR_OCSP_CERT_UNKNOWN;
    return X509_V_OK;
}

static int look(SSL *ssl, void *unused)
{
    const unsigned char *bytes = NULL;
    long len = SSL_get_tlsext_status_ocsp_resp(ssl, &bytes);
    OCSP_RESPONSE *response = NULL;
    OCSP_BASICRESP *basic = NULL;
    int verified = X509_V_ERR_OCSP_VERIFY_NEEDED; /* the upstream sent none */

    (void)unused;
    if (SSL_session_reused(ssl)) /* no session is kept where a response is needed (tls_client_new), so that this cannot be */
        return 0;
    if (bytes != NULL && len > 0)
        response = d2i_OCSP_RESPONSE(NULL, &bytes, len);
    if (response != NULL && OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL)
        basic = OCSP_response_get1_basic(response);
    if (basic != NULL)
        verified = judge(ssl, basic);
    OCSP_BASICRESP_free(basic);
    OCSP_RESPONSE_free(response);
    if (verified != X509_V_OK)
        SSL_set_verify_result(ssl, verified);
    return verified == X509_V_OK;
}

bool tls__ask_staple(SSL_CTX *ctx)
{
    return SSL_CTX_set_tlsext_status_type(ctx, TLSEXT_STATUSTYPE_ocsp) == 1 && SSL_CTX_set_tlsext_status_cb(ctx, look) == 1;
}
