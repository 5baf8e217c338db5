/* SPDX-License-Identifier: Apache-2.0 */
/* A provider's key set in jwks-NAME.json beside the store. The gate writes it whenever a new set is in force. It is read at a
 * start, when the provider may be away, and by commands without a network.
 *
 * Threads: any; the gate alone writes.
 * Owns: nothing.
 * Lifetime: what is read lies in the caller's buffer.
 * Errors: enum code with a sentence; CODE_NOT_FOUND: there is none; CODE_INVALID: another issuer's, older than the provider's
 *   `stale`, or no such file. */
#ifndef PROVIDERS_KEPT_KEYS_H
#define PROVIDERS_KEPT_KEYS_H

#include "identity/provider.h"

enum code kept_keys_write(const char *store, const struct identity_provider *provider, struct span set, int64_t fetched_us,
                          struct why *why) MUST_USE;
/* Takes: text: empty. *set: the set's JSON, in it; *fetched_us: when the gate had it from the provider. */
enum code kept_keys_read(const char *store, const struct identity_provider *provider, int64_t now_us, struct buf *text,
                         struct span *set, int64_t *fetched_us, struct why *why) MUST_USE;

#endif
