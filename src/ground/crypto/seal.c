/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/seal.h"

#include "crypto/digest.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#define NONCE_BYTES 12
#define TAG_BYTES 16

/* The nonce stands before the text, the tag behind it. A random nonce is good for four thousand million texts of one key. */
enum code seal_close(const unsigned char key[SEAL_KEY_BYTES], struct span place, struct span text, struct buf *out)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    size_t whole = NONCE_BYTES + text.len + TAG_BYTES;
    unsigned char *to;
    char *at;
    int len = 0, rest = 0;
    bool is_good = context != NULL && text.len <= INT_MAX && place.len <= INT_MAX && buf_reserve(out, whole, &at) == CODE_OK;

    if (is_good) {
        to = (unsigned char *)at;
        random_bytes(to, NONCE_BYTES);
        is_good = EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), NULL, key, to) == 1 &&
                  EVP_EncryptUpdate(context, NULL, &len, (const unsigned char *)place.at, (int)place.len) == 1 &&
                  EVP_EncryptUpdate(context, to + NONCE_BYTES, &len, (const unsigned char *)text.at, (int)text.len) == 1 &&
                  EVP_EncryptFinal_ex(context, to + NONCE_BYTES + len, &rest) == 1 &&
                  EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, to + NONCE_BYTES + text.len) == 1;
    }
    if (is_good)
        buf_commit(out, whole);
    EVP_CIPHER_CTX_free(context);
    ERR_clear_error();
    return is_good ? CODE_OK : CODE_NOMEM;
}

enum code seal_open(const unsigned char key[SEAL_KEY_BYTES], struct span place, struct span sealed, struct buf *out)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    const unsigned char *from = (const unsigned char *)sealed.at;
    size_t text = sealed.len >= NONCE_BYTES + TAG_BYTES ? sealed.len - NONCE_BYTES - TAG_BYTES : 0;
    char *at;
    int len = 0, rest = 0;
    enum code code = context == NULL ? CODE_NOMEM : sealed.len < NONCE_BYTES + TAG_BYTES || sealed.len > INT_MAX ? CODE_DENIED
                                                                                                                 : CODE_OK;

    if (code == CODE_OK)
        code = buf_reserve(out, text + TAG_BYTES, &at);
    if (code == CODE_OK &&
        (EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), NULL, key, from) != 1 ||
         EVP_DecryptUpdate(context, NULL, &len, (const unsigned char *)place.at, (int)place.len) != 1 ||
         EVP_DecryptUpdate(context, (unsigned char *)at, &len, from + NONCE_BYTES, (int)text) != 1 ||
         EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, (void *)(uintptr_t)(from + NONCE_BYTES + text)) != 1 ||
         EVP_DecryptFinal_ex(context, (unsigned char *)at + len, &rest) != 1))
        code = CODE_DENIED;
    if (code == CODE_OK)
        buf_commit(out, text);
    EVP_CIPHER_CTX_free(context);
    ERR_clear_error();
    return code;
}
