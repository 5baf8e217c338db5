/* SPDX-License-Identifier: Apache-2.0 */
/* What a service manager hands over, which are listening sockets (LISTEN_FDS), and what it wants to hear,
 * which are sd_notify(3) lines.
 *
 * Threads: the main thread, before others are started; service_notify from any later on.
 * Owns: nothing; inherited descriptors are the caller's.
 * Lifetime: none.
 * Errors: CODE_INVALID with a sentence when what was handed over is not a listening TCP socket. */
#ifndef OS_SERVICE_H
#define OS_SERVICE_H

#include "base/why.h"

#include <stddef.h>

/* Takes the sockets that LISTEN_PID and LISTEN_FDS name, made non-blocking and close-on-exec, and removes these
 * variables so that no child takes them again. *count is 0 when nothing was handed over. */
enum code service_listeners(int *fds, size_t max, size_t *count, struct why *why) MUST_USE;

/* Sends "READY=1", "STOPPING=1", "RELOADING=1\nMONOTONIC_USEC=..." and the like to NOTIFY_SOCKET; without it, nothing. */
void service_notify(const char *text);

#endif
