/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl's memory. Requests hold credentials and answers hold tokens; libcurl copies both into buffers that it frees as they
 * are. So these functions overwrite each block before they free it. The length that this takes stands before each block; it
 * also counts for the sum over all blocks, which is bounded. */
#include "web/web_priv.h"

#include "base/mem.h"

#include <stdatomic.h>
#include <string.h>

#define ALL_MAX_BYTES ((size_t)64 << 20)
#define LEAD_BYTES 16 /* keeps what follows aligned for anything */

static atomic_size_t held;

static void *give(size_t bytes)
{
    char *block = NULL;

    if (bytes > ALL_MAX_BYTES || atomic_fetch_add(&held, bytes) + bytes > ALL_MAX_BYTES ||
        (block = mem_alloc(LEAD_BYTES + bytes)) == NULL) {
        if (bytes <= ALL_MAX_BYTES)
            atomic_fetch_sub(&held, bytes);
        return NULL;
    }
    memcpy(block, &bytes, sizeof bytes);
    return block + LEAD_BYTES;
}

static size_t size_of(const void *block)
{
    size_t bytes;

    memcpy(&bytes, (const char *)block - LEAD_BYTES, sizeof bytes);
    return bytes;
}

static void take_back(void *block)
{
    if (block == NULL)
        return;
    atomic_fetch_sub(&held, size_of(block));
    mem_wipe(block, size_of(block));
    mem_free((char *)block - LEAD_BYTES);
}

static void *resize(void *block, size_t bytes)
{
    void *larger = give(bytes);

    if (larger == NULL || block == NULL)
        return larger;
    memcpy(larger, block, size_of(block) < bytes ? size_of(block) : bytes);
    take_back(block);
    return larger;
}

static char *copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *made = give(bytes);

    return made != NULL ? memcpy(made, text, bytes) : NULL;
}

static void *give_zeroed(size_t count, size_t each)
{
    size_t bytes;
    void *block = __builtin_mul_overflow(count, each, &bytes) ? NULL : give(bytes);

    return block != NULL ? memset(block, 0, bytes) : NULL;
}

void web__memory_init(void)
{
    /* Where this fails for lack of memory, every handle fails later and reports it. */
    (void)web__curl.global_init_mem(CURL_GLOBAL_DEFAULT, give, take_back, resize, copy, give_zeroed);
}
