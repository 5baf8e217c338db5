/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/sign.h"

#include "base/mem.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <string.h>

struct sign_key {
    EVP_PKEY *pkey;
};

/* Empties OpenSSL's error queue of the thread: TLS would take what a failure left there for its own. */
static enum code clean(enum code code)
{
    ERR_clear_error();
    return code;
}

static enum code take_text(BIO *bio, struct buf *out)
{
    char *at;
    long len = BIO_get_mem_data(bio, &at);

    return len > 0 ? buf_add(out, at, (size_t)len) : CODE_NOMEM;
}

enum code sign_key_make(struct buf *pem)
{
    EVP_PKEY *pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    BIO *bio = BIO_new(BIO_s_secmem());
    enum code code = CODE_NOMEM;

    if (pkey != NULL && bio != NULL && PEM_write_bio_PKCS8PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL) == 1)
        code = take_text(bio, pem);
    BIO_free(bio);
    EVP_PKEY_free(pkey);
    return clean(code);
}

enum code sign_key_read(struct span pem, struct sign_key **key)
{
    BIO *bio = pem.len <= INT32_MAX ? BIO_new_mem_buf(pem.len > 0 ? pem.at : "", (int)pem.len) : NULL;
    struct sign_key *made = mem_zalloc(sizeof *made);

    *key = NULL;
    if (bio == NULL || made == NULL) {
        BIO_free(bio);
        mem_free(made);
        return clean(CODE_NOMEM);
    }
    made->pkey = PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)(uintptr_t)""); /* never asks for a pass phrase */
    BIO_free(bio);
    if (made->pkey == NULL || EVP_PKEY_get_id(made->pkey) != EVP_PKEY_ED25519) {
        sign_key_free(&made);
        return clean(CODE_INVALID);
    }
    *key = made;
    return CODE_OK;
}

enum code sign_key_of_seed(const unsigned char seed[SIGN_SEED_BYTES], struct sign_key **key)
{
    struct sign_key *made = mem_zalloc(sizeof *made);

    *key = NULL;
    if (made == NULL)
        return CODE_NOMEM;
    made->pkey = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, SIGN_SEED_BYTES);
    if (made->pkey == NULL) {
        sign_key_free(&made);
        return clean(CODE_NOMEM);
    }
    *key = made;
    return CODE_OK;
}

void sign_key_free(struct sign_key **key)
{
    if (*key == NULL)
        return;
    EVP_PKEY_free((*key)->pkey);
    mem_free(*key);
    *key = NULL;
}

enum code sign_key_public(const struct sign_key *key, unsigned char out[SIGN_PUBLIC_BYTES])
{
    size_t len = SIGN_PUBLIC_BYTES;

    return EVP_PKEY_get_raw_public_key(key->pkey, out, &len) == 1 && len == SIGN_PUBLIC_BYTES ? CODE_OK : clean(CODE_INVALID);
}

enum code sign_text(const struct sign_key *key, struct span text, unsigned char out[SIGN_BYTES])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t len = SIGN_BYTES;
    bool done = context != NULL && EVP_DigestSignInit(context, NULL, NULL, NULL, key->pkey) == 1 &&
                EVP_DigestSign(context, out, &len, (const unsigned char *)text.at, text.len) == 1 && len == SIGN_BYTES;

    EVP_MD_CTX_free(context);
    return clean(done ? CODE_OK : CODE_NOMEM);
}

enum code sign_public_write(const unsigned char key[SIGN_PUBLIC_BYTES], struct buf *pem)
{
    EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, SIGN_PUBLIC_BYTES);
    BIO *bio = BIO_new(BIO_s_mem());
    enum code code = CODE_NOMEM;

    if (pkey != NULL && bio != NULL && PEM_write_bio_PUBKEY(bio, pkey) == 1)
        code = take_text(bio, pem);
    BIO_free(bio);
    EVP_PKEY_free(pkey);
    return clean(code);
}

enum code sign_public_read(struct span pem, unsigned char key[SIGN_PUBLIC_BYTES])
{
    BIO *bio = pem.len <= INT32_MAX ? BIO_new_mem_buf(pem.at, (int)pem.len) : NULL;
    EVP_PKEY *pkey = bio != NULL ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;
    size_t len = SIGN_PUBLIC_BYTES;
    bool done = pkey != NULL && EVP_PKEY_get_id(pkey) == EVP_PKEY_ED25519 &&
                EVP_PKEY_get_raw_public_key(pkey, key, &len) == 1;

    BIO_free(bio);
    EVP_PKEY_free(pkey);
    return clean(done ? CODE_OK : CODE_INVALID);
}

/* The five y of the eight points whose order divides 8; the sign of x is not looked at. */
bool sign_public_is_weak(const unsigned char key[SIGN_PUBLIC_BYTES])
{
    static const unsigned char small[][SIGN_PUBLIC_BYTES] = {
        {0},
        {1},
        {0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
         0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05},
        {0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
         0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a},
        {0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
         0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
    };
    unsigned char y[SIGN_PUBLIC_BYTES];
    size_t high = 1;

    memcpy(y, key, sizeof y);
    y[sizeof y - 1] &= 0x7f;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (memcmp(y, small[i], sizeof y) == 0)
            return true;
    while (high < sizeof y - 1 && y[high] == 0xff)
        high++;
    /* a number from the field's order on is a second spelling, since it is read modulo that */
    return high == sizeof y - 1 && y[high] == 0x7f && y[0] >= 0xed;
}

bool sign_is_good(const unsigned char key[SIGN_PUBLIC_BYTES], struct span text, const unsigned char signature[SIGN_BYTES])
{
    EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, SIGN_PUBLIC_BYTES);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good = !sign_public_is_weak(key) && pkey != NULL && context != NULL && /* OpenSSL takes any point */
                EVP_DigestVerifyInit(context, NULL, NULL, NULL, pkey) == 1 &&
                EVP_DigestVerify(context, signature, SIGN_BYTES, (const unsigned char *)text.at, text.len) == 1;

    EVP_MD_CTX_free(context);
    EVP_PKEY_free(pkey);
    ERR_clear_error();
    return good;
}
