/* SPDX-License-Identifier: Apache-2.0 */
/* Going on as another user than root, for good.
 *
 * Threads: main, before others are started.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_NOT_FOUND, CODE_DENIED, CODE_IO, with a sentence. */
#ifndef OS_USER_H
#define OS_USER_H

#include "base/why.h"

#include <stdbool.h>
#include <sys/types.h>

bool user_is_root(void);
bool user_is(const char *name, uid_t uid); /* false: there is no such user, too */

/* Takes over the user's ids and groups; of root's rights only that to open ports below 1024 is left. Nothing changes where the
 * process is that user already. */
enum code user_become(const char *name, struct why *why) MUST_USE;

/* Gives up what is left, once the ports are open. Root itself keeps what it has. */
enum code user_drop_rights(struct why *why) MUST_USE;

#endif
