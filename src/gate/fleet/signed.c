/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/signed.h"

#include "base/bug.h"
#include "crypto/digest.h"

#include <string.h>

#define CONTEXT_BYTES 64

static struct span bytes_of(const char *context, struct span text, char out[CONTEXT_BYTES + DIGEST_BYTES])
{
    const size_t len = strlen(context);
    unsigned char hash[DIGEST_BYTES];

    BUG_ON(len > CONTEXT_BYTES);
    digest_of(text, hash);
    memcpy(out, context, len);
    memcpy(out + len, hash, sizeof hash);
    return span_of(out, len + sizeof hash);
}

enum code signed_make(const char *context, struct span text, const struct sign_key *key, unsigned char signature[SIGN_BYTES])
{
    char bytes[CONTEXT_BYTES + DIGEST_BYTES];

    return sign_text(key, bytes_of(context, text, bytes), signature);
}

bool signed_is_good(const char *context, struct span text, struct span signature, const unsigned char key[SIGN_PUBLIC_BYTES])
{
    char bytes[CONTEXT_BYTES + DIGEST_BYTES];

    return signature.len == SIGN_BYTES &&
           sign_is_good(key, bytes_of(context, text, bytes), (const unsigned char *)signature.at);
}
