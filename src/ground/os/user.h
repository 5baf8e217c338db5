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
bool user_is(const char *name, uid_t uid); /* also false where there is no such user */

/* Takes over the user's ids and groups, and keeps only root's right to open ports below 1024. Nothing changes where the
 * process is that user already. */
enum code user_become(const char *name, struct why *why) MUST_USE;

/* Gives up that right, too, once the ports are open. A process that stays root keeps what it has. */
enum code user_drop_rights(struct why *why) MUST_USE;

#endif
