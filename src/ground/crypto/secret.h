/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for secrets that stay for long: apart from the heap, in no core dump, not swapped out where the system allows it,
 * overwritten when it is given back. OpenSSL keeps the private halves of its keys there too.
 *
 * Threads: secret_heap_open on main, before any key is read; the others any.
 * Owns: the one heap of secrets, for the process's life.
 * Lifetime: secret_new to secret_free.
 * Errors: NULL when it is full. Without secret_heap_open secrets stand in the ordinary heap; they are overwritten as well. */
#ifndef CRYPTO_SECRET_H
#define CRYPTO_SECRET_H

#include "base/why.h"

#include <stddef.h>

enum code secret_heap_open(struct why *why) MUST_USE;
void *secret_new(size_t bytes) MUST_USE; /* zeroed */
void *secret_copy(const void *from, size_t bytes) MUST_USE;
void secret_free(void *secret, size_t bytes); /* NULL is fine */

#endif
