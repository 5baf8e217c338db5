/* SPDX-License-Identifier: Apache-2.0 */
/* accounts.key: by what the store seals the tokens of people's accounts. It lies beside the store and not in it, so that a copy
 * of the store alone opens none of them.
 *
 * A line of 64 hexadecimal digits a key. The first seals; the others open what was sealed before it came, and are there while
 * tokens are sealed anew (`callgate connect rekey`). Whoever seals or turns reads the file within the store's transaction, so
 * that a key is taken out only when nothing is sealed by it.
 *
 * Threads: any.
 * Owns: nothing; keys lie where the caller has them, who wipes them (account_keys_wipe).
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef STORE_ACCOUNT_KEYS_H
#define STORE_ACCOUNT_KEYS_H

#include "crypto/seal.h"
#include "base/why.h"

#define ACCOUNT_KEYS_FILE "accounts.key" /* beside the store */
#define ACCOUNT_KEYS_MAX 4
#define ACCOUNT_KEY_NAME_BYTES 17 /* 16 hexadecimal digits of the key's SHA-256, with a NUL */

struct account_keys {
    unsigned char key[ACCOUNT_KEYS_MAX][SEAL_KEY_BYTES];
    char name[ACCOUNT_KEYS_MAX][ACCOUNT_KEY_NAME_BYTES];
    size_t count;
};

/* Takes: store: the store's path; may_make: a file that is not there is made, with one key. */
enum code account_keys_read(const char *store, bool may_make, struct account_keys *keys, struct why *why) MUST_USE;
/* Puts a new key before the others, of which there are fewer than ACCOUNT_KEYS_MAX; durably. */
enum code account_keys_turn(const char *store, struct account_keys *keys, struct why *why) MUST_USE;
/* Leaves the first alone, durably. */
enum code account_keys_drop_old(const char *store, struct account_keys *keys, struct why *why) MUST_USE;
/* Returns: NULL: there is none of that name. */
const unsigned char *account_keys_find(const struct account_keys *keys, struct span name);
void account_keys_wipe(struct account_keys *keys);

#endif
