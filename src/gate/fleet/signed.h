/* SPDX-License-Identifier: Apache-2.0 */
/* What a node of a fleet signs: the SHA-256 of a text, behind words that say of which kind it is and that nothing else which
 * the key signs begins with. So a signature of one kind is none of another, and a text is verified before any of it is read.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code of the library's. */
#ifndef FLEET_SIGNED_H
#define FLEET_SIGNED_H

#include "base/span.h"
#include "crypto/sign.h"

/* Takes: context: those words, 64 bytes at most. */
enum code signed_make(const char *context, struct span text, const struct sign_key *key,
                      unsigned char signature[SIGN_BYTES]) MUST_USE;
bool signed_is_good(const char *context, struct span text, struct span signature, const unsigned char key[SIGN_PUBLIC_BYTES]);

#endif
