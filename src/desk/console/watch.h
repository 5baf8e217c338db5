/* SPDX-License-Identifier: Apache-2.0 */
/* One stream of held calls for all who watch: whether something has come or was decided, and nothing of what it is. It goes
 * on while somebody asks, as the person who may see most of those who do.
 *
 * Threads: any; one more from the first question on.
 * Owns: the stream, with a copy of the person's login.
 * Lifetime: the process's.
 * Errors: none; what is not there is looked for again. */
#ifndef CONSOLE_WATCH_H
#define CONSOLE_WATCH_H

#include "console/sessions.h"

/* A number that is another one once a call came to wait, or one was decided, here or elsewhere. */
uint64_t watch_mark(const struct session *session);
void watch_decided(void);

#endif
