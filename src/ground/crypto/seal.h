/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that somebody keeps who may neither read nor change them: AES-256-GCM.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_DENIED: sealed with another key, for another place, or changed; CODE_NOMEM. */
#ifndef CRYPTO_SEAL_H
#define CRYPTO_SEAL_H

#include "base/buf.h"
#include "base/span.h"

#define SEAL_KEY_BYTES 32

/* Appends the sealed text, 28 bytes longer. Takes: place: what it is and where it belongs; it opens with the same alone. */
enum code seal_close(const unsigned char key[SEAL_KEY_BYTES], struct span place, struct span text, struct buf *out) MUST_USE;
/* Appends the text. */
enum code seal_open(const unsigned char key[SEAL_KEY_BYTES], struct span place, struct span sealed, struct buf *out) MUST_USE;

#endif
