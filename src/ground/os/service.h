/* SPDX-License-Identifier: Apache-2.0 */
/* What a service manager, or `callgate upgrade`, hands over, which are listening sockets (LISTEN_FDS), and what a manager
 * wants to hear, which are sd_notify(3) lines.
 *
 * Threads: the main thread, before others are started; service_notify from any later on.
 * Owns: the sockets, until service_close.
 * Lifetime: none.
 * Errors: CODE_INVALID with a sentence when what was handed over is no listening socket of TCP or of this machine. */
#ifndef OS_SERVICE_H
#define OS_SERVICE_H

#include "base/why.h"
#include "os/sock.h"

#include <stddef.h>

#define SERVICE_SOCKETS_MAX 1024

struct service_sockets {
    size_t count; /* 0: nothing was handed over */
    int fds[SERVICE_SOCKETS_MAX];
};

/* Takes the sockets that LISTEN_PID and LISTEN_FDS name, made non-blocking and close-on-exec, and removes these
 * variables so that no child takes them again. */
enum code service_listeners(struct service_sockets *sockets, struct why *why) MUST_USE;
void service_close(struct service_sockets *sockets);

/* How many of them listen at this address or, where `path` is not NULL, there. Takes: nth: which of these is duplicated into
 * *fd; it is -1 where there are not so many, or no descriptor is left. */
size_t service_at(const struct service_sockets *sockets, const struct sock_address *address, const char *path, size_t nth,
                  int *fd);

/* Sends "READY=1", "STOPPING=1", "RELOADING=1\nMONOTONIC_USEC=..." and the like to NOTIFY_SOCKET; without it, nothing. */
void service_notify(const char *text);

#endif
