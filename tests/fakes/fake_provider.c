/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_provider.h"

#include "base/mem.h"
#include "base/num.h"
#include "crypto/digest.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>

struct fake_key {
    EVP_PKEY *pkey;
    const char *curve; /* of JOSE; NULL: RSA */
    size_t half;       /* EC: bytes of a coordinate */
};

static void need(bool done, const char *what)
{
    if (done)
        return;
    fprintf(stderr, "fake provider: %s\n", what);
    abort();
}

struct fake_key *fake_key_make(const char *kind)
{
    struct fake_key *key = mem_zalloc(sizeof *key);
    int64_t bits = 0;

    need(key != NULL && (kind[0] != 'R' || num_i64(span_text(kind + 3), &bits) == CODE_OK), kind);
    if (strncmp(kind, "RSA", 3) == 0) {
        key->pkey = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)bits);
    } else if (strcmp(kind, "Ed25519") == 0) {
        key->pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
        key->curve = "Ed25519";
    } else {
        key->pkey = EVP_PKEY_Q_keygen(NULL, NULL, "EC", kind);
        key->curve = kind[2] == '2' ? "P-256" : kind[2] == '3' ? "P-384" : "P-521";
        key->half = kind[2] == '2' ? 32 : kind[2] == '3' ? 48 : 66;
    }
    need(key->pkey != NULL, kind);
    return key;
}

void fake_key_free(struct fake_key **key)
{
    if (*key == NULL)
        return;
    EVP_PKEY_free((*key)->pkey);
    mem_free(*key);
    *key = NULL;
}

static void add_number(const struct fake_key *key, const char *name, const char *param, size_t width, struct buf *out)
{
    unsigned char bytes[2048];
    BIGNUM *number = NULL;
    int len;

    need(EVP_PKEY_get_bn_param(key->pkey, param, &number) == 1, param);
    len = BN_bn2binpad(number, bytes, (int)(width > 0 ? width : (size_t)BN_num_bytes(number)));
    need(len > 0, param);
    buf_addf(out, ",\"%s\":\"", name);
    base64url_encode(span_of(bytes, (size_t)len), out);
    buf_add_byte(out, '"');
    BN_free(number);
}

void fake_jwk(const struct fake_key *key, const char *more, struct buf *out)
{
    if (key->curve == NULL) {
        buf_add_text(out, "{\"kty\":\"RSA\"");
        add_number(key, "n", OSSL_PKEY_PARAM_RSA_N, 0, out);
        add_number(key, "e", OSSL_PKEY_PARAM_RSA_E, 0, out);
    } else if (key->half == 0) {
        unsigned char bytes[32];
        size_t len = sizeof bytes;

        need(EVP_PKEY_get_raw_public_key(key->pkey, bytes, &len) == 1, "a raw key");
        buf_add_text(out, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"");
        base64url_encode(span_of(bytes, len), out);
        buf_add_byte(out, '"');
    } else {
        buf_addf(out, "{\"kty\":\"EC\",\"crv\":\"%s\"", key->curve);
        add_number(key, "x", OSSL_PKEY_PARAM_EC_PUB_X, key->half, out);
        add_number(key, "y", OSSL_PKEY_PARAM_EC_PUB_Y, key->half, out);
    }
    buf_addf(out, "%s}", more);
    need(buf_code(out) == CODE_OK, "room for a JWK");
}

void fake_set(const struct fake_key *key, const char *more, struct buf *out)
{
    buf_add_text(out, "{\"keys\":[");
    fake_jwk(key, more, out);
    buf_add_text(out, "]}");
    need(buf_code(out) == CODE_OK, "room for a set");
}

/* OpenSSL writes DER, JOSE two numbers. */
static size_t flatten(const struct fake_key *key, unsigned char *signature, size_t len)
{
    const unsigned char *from = signature;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &from, (long)len);
    unsigned char flat[132];

    need(pair != NULL && BN_bn2binpad(ECDSA_SIG_get0_r(pair), flat, (int)key->half) > 0 &&
         BN_bn2binpad(ECDSA_SIG_get0_s(pair), flat + key->half, (int)key->half) > 0, "an ECDSA signature");
    ECDSA_SIG_free(pair);
    memcpy(signature, flat, 2 * key->half);
    return 2 * key->half;
}

static size_t sign(const struct fake_key *key, const char *algorithm, struct span text, unsigned char signature[2048])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY_CTX *how = NULL;
    const char *digest = algorithm[0] == 'E' && algorithm[1] == 'd' ? NULL : algorithm[2] == '2' ? "SHA256"
                         : algorithm[2] == '3' ? "SHA384" : "SHA512";
    size_t len = 2048;

    need(context != NULL && EVP_DigestSignInit_ex(context, &how, digest, NULL, NULL, key->pkey, NULL) == 1, algorithm);
    if (algorithm[0] == 'P')
        need(EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING) == 1 &&
             EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_DIGEST) == 1, "PSS");
    need(EVP_DigestSign(context, signature, &len, (const unsigned char *)text.at, text.len) == 1, "a signature");
    EVP_MD_CTX_free(context);
    return algorithm[0] == 'E' && algorithm[1] == 'S' ? flatten(key, signature, len) : len;
}

void fake_sign(const struct fake_key *key, const char *algorithm, struct span secret, struct span header, struct span claims,
               struct buf *out)
{
    unsigned char signature[2048];
    size_t begin = buf_len(out), len = 0;
    struct span text;

    base64url_encode(header, out);
    buf_add_byte(out, '.');
    base64url_encode(claims, out);
    need(buf_code(out) == CODE_OK, "room for a token");
    text = span_part(buf_peek(out), begin, SIZE_MAX);
    if (strcmp(algorithm, "HS256") == 0) {
        hmac_of(secret, text, signature);
        len = DIGEST_BYTES;
    } else if (strcmp(algorithm, "none") != 0) {
        len = sign(key, algorithm, text, signature);
    }
    buf_add_byte(out, '.');
    base64url_encode(span_of(signature, len), out);
    need(buf_code(out) == CODE_OK, "room for a token");
}

struct span fake_token(const struct fake_key *key, const char *algorithm, const char *header, const char *claims,
                       struct buf *out)
{
    buf_clear(out);
    fake_sign(key, algorithm, SPAN_NONE, span_text(header), span_text(claims), out);
    return buf_peek(out);
}

void fake_pem(const struct fake_key *key, struct buf *out)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *at;
    long len;

    need(bio != NULL && PEM_write_bio_PUBKEY(bio, key->pkey) == 1, "a PEM");
    len = BIO_get_mem_data(bio, &at);
    buf_add(out, at, (size_t)len);
    need(buf_code(out) == CODE_OK, "room for a PEM");
    BIO_free(bio);
}
