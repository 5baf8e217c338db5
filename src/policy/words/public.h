/* SPDX-License-Identifier: Apache-2.0 */
/* What leads out into the internet: addresses that can be reached everywhere, and names that do not lead inside. Both are lists
 * of policies/words/public.yaml, which is in the program. A name is judged as it is written: nobody asks DNS.
 *
 * Threads: immutable once made.
 * Owns: nothing; it lives in the arena that was handed in.
 * Lifetime: the arena's.
 * Errors: making it: CODE_NOMEM alone, since a test reads the lists. */
#ifndef WORDS_PUBLIC_H
#define WORDS_PUBLIC_H

#include "base/mem.h"
#include "texts/address.h"

struct public_space;

enum code public_space_make(struct arena *arena, const struct public_space **space) MUST_USE;

bool public_holds_address(const struct public_space *space, const struct address *address);

/* Takes: a name in lower case. */
bool public_holds_name(const struct public_space *space, struct span name);

/* How many entries a question may be compared with. */
uint32_t public_entries(const struct public_space *space);

#endif
