/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL 3.0 deprecates the low-level calls, but its EVP layer looks the algorithm up for every digest: 0.30 microseconds
 * against 0.08 over 100 bytes, 0.98 against 0.18 for an HMAC. The low-level calls are part of the stable ABI. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "crypto/digest.h"

#include "base/bug.h"
#include "base/mem.h"

#include <endian.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>

#define BLOCK_BYTES 64 /* of SHA-256 */
#define SHORT_BYTES 1024 /* with the padding */
#define PADDED(len) (((len) + 9 + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES)

_Static_assert(sizeof(SHA256_CTX) <= sizeof(struct digest), "struct digest holds OpenSSL's context");
_Static_assert(_Alignof(SHA256_CTX) <= _Alignof(struct digest), "and aligns it");
_Static_assert(DIGEST_BYTES == SHA256_DIGEST_LENGTH, "SHA-256");

static SHA256_CTX *sha(struct digest *digest)
{
    return (SHA256_CTX *)(void *)digest->state;
}

void digest_init(struct digest *digest)
{
    BUG_ON(SHA256_Init(sha(digest)) != 1);
}

void digest_add(struct digest *digest, const void *bytes, size_t len)
{
    if (len > 0)
        BUG_ON(SHA256_Update(sha(digest), bytes, len) != 1);
}

void digest_final(struct digest *digest, unsigned char out[DIGEST_BYTES])
{
    BUG_ON(SHA256_Final(out, sha(digest)) != 1);
}

static void copy_to(unsigned char *to, struct span bytes)
{
    if (bytes.len > 0)
        memcpy(to, bytes.at, bytes.len);
}

/* The padding of FIPS 180-4 is put behind the bytes here, so that OpenSSL hashes all blocks in one call and copies nothing.
 * This saves a tenth of a short digest. */
static void digest_short(struct span first, struct span second, unsigned char out[DIGEST_BYTES])
{
    unsigned char blocks[SHORT_BYTES];
    size_t len = first.len + second.len, padded = PADDED(len);
    uint64_t bits = htobe64((uint64_t)len * 8);
    SHA256_CTX sha;

    copy_to(blocks, first);
    copy_to(blocks + first.len, second);
    blocks[len] = 0x80;
    memset(blocks + len + 1, 0, padded - len - 1 - sizeof bits);
    memcpy(blocks + padded - sizeof bits, &bits, sizeof bits);
    BUG_ON(SHA256_Init(&sha) != 1 || SHA256_Update(&sha, blocks, padded) != 1);
    for (size_t i = 0; i < DIGEST_BYTES / sizeof(uint32_t); i++) {
        uint32_t word = htobe32(sha.h[i]);

        memcpy(out + i * sizeof word, &word, sizeof word);
    }
    mem_wipe(blocks, len); /* it may have been a key */
}

void digest_of_two(struct span first, struct span second, unsigned char out[DIGEST_BYTES])
{
    struct digest digest;

    if (first.len < SHORT_BYTES && second.len < SHORT_BYTES && PADDED(first.len + second.len) <= SHORT_BYTES) {
        digest_short(first, second, out);
        return;
    }
    digest_init(&digest);
    digest_add(&digest, first.at, first.len);
    digest_add(&digest, second.at, second.len);
    digest_final(&digest, out);
}

void digest_of(struct span bytes, unsigned char out[DIGEST_BYTES])
{
    digest_of_two(bytes, SPAN_NONE, out);
}

void hmac_of(struct span key, struct span bytes, unsigned char out[DIGEST_BYTES])
{
    unsigned char pad[BLOCK_BYTES] = {0};
    struct digest digest;

    if (key.len > BLOCK_BYTES)
        digest_of(key, pad);
    else if (key.len > 0)
        memcpy(pad, key.at, key.len);
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        pad[i] ^= 0x36;
    digest_init(&digest);
    digest_add(&digest, pad, sizeof pad);
    digest_add(&digest, bytes.at, bytes.len);
    digest_final(&digest, out);
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    digest_init(&digest);
    digest_add(&digest, pad, sizeof pad);
    digest_add(&digest, out, DIGEST_BYTES);
    digest_final(&digest, out);
    mem_wipe(pad, sizeof pad);
    mem_wipe(&digest, sizeof digest);
}

void random_bytes(void *out, size_t len)
{
    unsigned char *at = out;

    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);

        if (got < 0 && errno == EINTR)
            continue;
        BUG_ON(got <= 0);
        at += got;
        len -= (size_t)got;
    }
}

bool secret_equals(struct span a, struct span b)
{
    return a.len == b.len && (a.len == 0 || CRYPTO_memcmp(a.at, b.at, a.len) == 0);
}
