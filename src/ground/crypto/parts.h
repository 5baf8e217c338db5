/* SPDX-License-Identifier: Apache-2.0 */
/* A digest of parts: each stands behind its length, so that no two lists of parts are the same bytes.
 *
 * What others compute too has bytes of its own, which its paper names: leaves and rows (proof/merkle.h, rows/row.h), an
 * argument of a plan (state/plan.h), a key's thumbprint (identity/key_set.c).
 *
 * Threads: as a struct digest.
 * Owns: nothing.
 * Lifetime: between digest_init and digest_final.
 * Errors: none. */
#ifndef CRYPTO_PARTS_H
#define CRYPTO_PARTS_H

#include "crypto/digest.h"

#include <endian.h>

static inline void parts_add_number(struct digest *digest, uint64_t number)
{
    const uint64_t big = htobe64(number);

    digest_add(digest, &big, sizeof big);
}

/* What is absent (at == NULL) is an empty part. */
static inline void parts_add(struct digest *digest, struct span part)
{
    parts_add_number(digest, part.len);
    digest_add(digest, part.at, part.len);
}

/* What is absent is a part of a length that none has. */
static inline void parts_add_maybe(struct digest *digest, struct span part)
{
    if (part.at != NULL)
        parts_add(digest, part);
    else
        parts_add_number(digest, UINT64_MAX);
}

/* Of all of them. */
static inline void parts_digest(const struct span *parts, size_t count, unsigned char out[DIGEST_BYTES])
{
    struct digest digest;

    digest_init(&digest);
    for (size_t i = 0; i < count; i++)
        parts_add(&digest, parts[i]);
    digest_final(&digest, out);
}

#endif
