/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/secret.h"

#include <openssl/crypto.h>
#include <string.h>

#define HEAP_BYTES ((size_t)1 << 20) /* some hundred private keys and credentials; a reload holds the old ones and the new */
#define LEAST_BYTES 32

enum code secret_heap_open(struct why *why)
{
    /* A result of 2 is taken, too: the heap may be swapped out, as RLIMIT_MEMLOCK limits what cannot. */
    if (CRYPTO_secure_malloc_initialized() == 1 || CRYPTO_secure_malloc_init(HEAP_BYTES, LEAST_BYTES) != 0)
        return CODE_OK;
    return why_set(why, CODE_NOMEM, "there is no memory for %zu KiB of secrets", HEAP_BYTES >> 10);
}

void *secret_new(size_t bytes)
{
    return OPENSSL_secure_zalloc(bytes > 0 ? bytes : 1);
}

void *secret_copy(const void *from, size_t bytes)
{
    void *copy = secret_new(bytes);

    if (copy != NULL && bytes > 0)
        memcpy(copy, from, bytes);
    return copy;
}

void secret_free(void *secret, size_t bytes)
{
    OPENSSL_secure_clear_free(secret, bytes);
}
