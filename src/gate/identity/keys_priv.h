/* SPDX-License-Identifier: Apache-2.0 */
/* Looking one key up.
 *
 * Threads: any; tables are immutable.
 * Owns: nothing.
 * Lifetime: the row is valid while the table is held.
 * Errors: NULL: no such key. */
#ifndef IDENTITY_KEYS_PRIV_H
#define IDENTITY_KEYS_PRIV_H

#include "identity/identity.h"

/* Takes: table may be NULL (no keys). */
const struct identity_key *identity__key_find(const struct identity_keys *table,
                                              const unsigned char digest[DIGEST_BYTES]);

#endif
