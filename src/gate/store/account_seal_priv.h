/* SPDX-License-Identifier: Apache-2.0 */
/* How what belongs to an account is sealed.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef STORE_ACCOUNT_SEAL_PRIV_H
#define STORE_ACCOUNT_SEAL_PRIV_H

#include "crypto/digest.h"
#include "store/account_keys.h"
#include "store/store_accounts.h"

/* What it is, which is part of the place that it is bound to. */
#define ACCOUNT__TOKEN "callgate account token 1"
#define ACCOUNT__PROOF "callgate account proof 1"
#define ACCOUNT__TOKEN_BYTES ((size_t)65536)

void account__place(const char *what, const struct store_account *account, unsigned char place[DIGEST_BYTES]);
/* By the first key of the file, which is read, or made. Within the transaction that keeps it. */
enum code account__seal(const char *store, const unsigned char place[DIGEST_BYTES], struct span text,
                        char name[ACCOUNT_KEY_NAME_BYTES], struct buf *sealed, struct why *why) MUST_USE;
/* CODE_DENIED: it does not open. */
enum code account__open(const struct account_keys *keys, const unsigned char place[DIGEST_BYTES], struct span name,
                        struct span sealed, struct buf *text, struct why *why) MUST_USE;

#endif
