/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a provider's keys without a network: for commands, which ask nobody.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence; CODE_NOT_FOUND: nobody has kept any. */
#ifndef PEOPLE_KNOWN_KEYS_H
#define PEOPLE_KNOWN_KEYS_H

#include "identity/provider.h"

/* The set of the file that is named, of the one that the configuration names, or the one that the gate has kept beside its
 * store. Takes: named: NULL where none is. Returns: CODE_OK with *set, the caller's, and *fetched_us: now, of a file. */
enum code known_keys_read(const char *store, const struct identity_provider *provider, const char *named, int64_t now_us,
                          struct identity_key_set **set, int64_t *fetched_us, struct why *why) MUST_USE;

#endif
