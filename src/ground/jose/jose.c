/* SPDX-License-Identifier: Apache-2.0 */
#include "jose/jose.h"

#include "base/bug.h"
#include "base/mem.h"

#include <cjose/cjose.h>
#include <openssl/err.h>
#include <pthread.h>

#define RSA_BYTES_MIN 256
#define RSA_BYTES_MAX 1024

struct jose_key {
    cjose_jwk_t *jwk;
    size_t signature_bytes;
};

/* cjose's memory while it checks one signature. Without memory cjose goes on with NULL and crashes, so that it gets
 * enough before it begins. All of it is overwritten at the end, since it holds copies of the token. */
#define DESK_BYTES ((size_t)128 * 1024)

static _Thread_local struct {
    char *block;
    size_t used, size;
} desk;

static void *hook_alloc(size_t bytes)
{
    size_t rounded = (bytes + 15) & ~(size_t)15;
    void *at;

    if (bytes > desk.size || rounded > desk.size - desk.used)
        return mem_alloc(bytes);
    at = desk.block + desk.used;
    desk.used += rounded;
    return at;
}

static void hook_free(void *at)
{
    if (desk.block == NULL || (char *)at < desk.block || (char *)at >= desk.block + desk.size)
        mem_free(at);
}

static void *hook_resize(void *old, size_t bytes)
{
    (void)old, (void)bytes;
    BUG_ON(true); /* nothing of cjose's or jansson's calls it */
    return NULL;
}

static bool desk_open(size_t bytes)
{
    desk.block = mem_alloc(bytes);
    desk.size = desk.block != NULL ? bytes : 0;
    return desk.block != NULL;
}

static void desk_clear(void)
{
    mem_wipe(desk.block, desk.used);
    mem_free(desk.block);
    desk.block = NULL;
    desk.used = desk.size = 0;
}

/* cjose also hands the functions to OpenSSL, which must refuse them, and does so once it has allocated anything. The first
 * object makes jansson read its seed from /dev/urandom, which a sandboxed thread could not. */
static void hook_cjose(void)
{
    void *taken = OPENSSL_malloc(1);

    BUG_ON(taken == NULL);
    OPENSSL_free(taken);
    cjose_set_alloc_funcs(hook_alloc, hook_resize, hook_free);
    cjose_header_release(cjose_header_new(NULL));
}

static enum code take_key(cjose_jwk_t *jwk, size_t signature_bytes, struct jose_key **key)
{
    ERR_clear_error(); /* failures leave entries in the thread's queue, which TLS would take for its own */
    if (jwk == NULL)
        return CODE_INVALID;
    *key = mem_zalloc(sizeof **key);
    if (*key == NULL) {
        cjose_jwk_release(jwk);
        return CODE_NOMEM;
    }
    **key = (struct jose_key){jwk, signature_bytes};
    return CODE_OK;
}

static void begin(struct jose_key **key)
{
    static pthread_once_t hooked = PTHREAD_ONCE_INIT;

    *key = NULL;
    BUG_ON(pthread_once(&hooked, hook_cjose) != 0);
}

static struct span without_zeros(struct span number)
{
    while (number.len > 0 && number.at[0] == '\0')
        number = span_part(number, 1, number.len);
    return number;
}

enum code jose_key_rsa(struct span modulus, struct span exponent, struct jose_key **key)
{
    struct span n = without_zeros(modulus), e = without_zeros(exponent);
    cjose_jwk_rsa_keyspec spec = {
        .n = (uint8_t *)(uintptr_t)n.at, .nlen = n.len, .e = (uint8_t *)(uintptr_t)e.at, .elen = e.len,
    };

    begin(key);
    if (n.len < RSA_BYTES_MIN || n.len > RSA_BYTES_MAX || (n.len == RSA_BYTES_MIN && (n.at[0] & 0x80) == 0))
        return CODE_INVALID;
    if (e.len == 0 || e.len > 4 || (e.at[e.len - 1] & 1) == 0 || (e.len == 1 && e.at[0] == 1))
        return CODE_INVALID;
    return take_key(cjose_jwk_create_RSA_spec(&spec, NULL), n.len, key);
}

enum code jose_key_ec(unsigned bits, struct span x, struct span y, struct jose_key **key)
{
    cjose_jwk_ec_keyspec spec = {
        .crv = bits == 256 ? CJOSE_JWK_EC_P_256 : bits == 384 ? CJOSE_JWK_EC_P_384 : CJOSE_JWK_EC_P_521,
        .x = (uint8_t *)(uintptr_t)x.at, .xlen = x.len, .y = (uint8_t *)(uintptr_t)y.at, .ylen = y.len,
    };
    size_t half = (bits + 7) / 8;

    begin(key);
    if (x.len != half || y.len != half)
        return CODE_INVALID;
    return take_key(cjose_jwk_create_EC_spec(&spec, NULL), 2 * half, key);
}

void jose_key_free(struct jose_key **key)
{
    if (*key == NULL)
        return;
    cjose_jwk_release((*key)->jwk);
    mem_free(*key);
    *key = NULL;
}

static struct span last_part(struct span compact)
{
    struct span rest;

    (void)span_cut(compact, '.', &rest);
    (void)span_cut(rest, '.', &rest);
    return rest;
}

bool jose_is_signed(const struct jose_key *key, const char *algorithm, struct span compact)
{
    bool good = false;
    cjose_jws_t *jws;

    if (last_part(compact).len != (key->signature_bytes * 4 + 2) / 3 || !desk_open(DESK_BYTES + 8 * compact.len))
        return false;
    jws = cjose_jws_import(compact.at, compact.len, NULL);
    if (jws != NULL) {
        const char *read = cjose_header_get(cjose_jws_get_protected(jws), CJOSE_HDR_ALG, NULL);

        good = read != NULL && strcmp(read, algorithm) == 0 && cjose_jws_verify(jws, key->jwk, NULL);
    }
    cjose_jws_release(jws);
    desk_clear();
    ERR_clear_error();
    return good;
}
