/* SPDX-License-Identifier: Apache-2.0 */
/* What a certificate calls its holder: subject, alternative names, the certificate's own digest. */
#include "tls/tls_priv.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#define SUBJECT_MAX_BYTES 1024
#define CERTIFICATE_MAX_BYTES 16384

/* A subject that cannot be written whole counts as none, since half a name could be another's. */
static struct span subject_text(const X509 *certificate, struct arena *arena)
{
    BIO *bio = BIO_new(BIO_s_mem());
    struct span text = SPAN_NONE;
    char *at;
    long len;

    if (bio == NULL)
        return text;
    /* RFC 2253's flags are RFC 4514's, but for octets above 127, which stay UTF-8. */
    if (X509_NAME_print_ex(bio, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >= 0 &&
        (len = BIO_get_mem_data(bio, &at)) > 0 && len <= SUBJECT_MAX_BYTES && memchr(at, '\0', (size_t)len) == NULL)
        text = span_of(arena_dup(arena, at, (size_t)len), (size_t)len);
    BIO_free(bio);
    return text.at != NULL ? text : SPAN_NONE;
}

static void note(struct tls_name *name, const ASN1_IA5STRING *value, struct arena *arena)
{
    size_t len = (size_t)ASN1_STRING_length(value);

    if (name->count++ > 0)
        return;
    name->text = span_of(arena_dup(arena, ASN1_STRING_get0_data(value), len), len);
}

static bool read_alternatives(const X509 *certificate, struct arena *arena, struct tls_names *names)
{
    int problem;
    GENERAL_NAMES *list = X509_get_ext_d2i(certificate, NID_subject_alt_name, &problem, NULL);

    for (int i = 0; i < sk_GENERAL_NAME_num(list); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(list, i);

        if (name->type == GEN_URI)
            note(&names->uri, name->d.uniformResourceIdentifier, arena);
        else if (name->type == GEN_DNS)
            note(&names->dns, name->d.dNSName, arena);
        else if (name->type == GEN_EMAIL)
            note(&names->email, name->d.rfc822Name, arena);
    }
    GENERAL_NAMES_free(list);
    return list != NULL || problem == -1; /* -1: there are none; else there are some that cannot be read */
}

bool tls__names(const X509 *certificate, struct arena *arena, struct tls_names *names)
{
    bool done;

    *names = (struct tls_names){0};
    names->subject = subject_text(certificate, arena);
    done = read_alternatives(certificate, arena, names) && X509_digest(certificate, EVP_sha256(), names->digest, NULL) == 1;
    ERR_clear_error();
    return done;
}

bool tls_names_read(struct span der, struct arena *arena, struct tls_names *names)
{
    const unsigned char *at = (const unsigned char *)der.at;
    X509 *certificate = der.len > 0 && der.len <= CERTIFICATE_MAX_BYTES ? d2i_X509(NULL, &at, (long)der.len) : NULL;
    bool done = certificate != NULL && at == (const unsigned char *)der.at + der.len && tls__names(certificate, arena, names);

    X509_free(certificate);
    ERR_clear_error();
    return done;
}

bool tls_names_read_pem(struct span pem, struct arena *arena, struct tls_names *names)
{
    BIO *bio = pem.len <= 4 * CERTIFICATE_MAX_BYTES ? BIO_new_mem_buf(pem.at, (int)pem.len) : NULL;
    X509 *certificate = bio != NULL ? PEM_read_bio_X509(bio, NULL, tls__no_passphrase, NULL) : NULL;
    bool done = certificate != NULL && tls__names(certificate, arena, names);

    X509_free(certificate);
    BIO_free(bio);
    ERR_clear_error();
    return done;
}
