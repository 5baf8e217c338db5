/* SPDX-License-Identifier: Apache-2.0 */
/* The admin port: /healthz, /readyz, /metrics, on the main thread, for operators and their machines. Takes HTTP/1.0 and
 * any Host; GET and HEAD only; no other path exists.
 *
 * Threads: the loop's that was handed in (main's).
 * Owns: its listener and connections.
 * Lifetime: admin_close ends all connections at once.
 * Errors: enum code with a sentence at opening; afterwards a connection ends quietly. */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "base/buf.h"
#include "base/why.h"
#include "os/loop.h"
#include "os/service.h"

struct admin;

struct admin_conf {
    struct sock_address address; /* port 0: the kernel chooses */
    bool healthz, readyz, metrics; /* which paths exist */
    /* Appends why the gate is not ready, one sentence a line; nothing when it is. */
    enum code (*unready)(void *context, struct buf *out);
    /* Likewise what is worth a word though it is ready. */
    enum code (*note)(void *context, struct buf *out);
    /* Appends the text of /metrics. */
    enum code (*measure)(void *context, struct buf *out);
    void *context;
    const struct service_sockets *inherited; /* its socket may be among these */
};

enum code admin_open(const struct admin_conf *conf, struct loop *loop, struct admin **admin, struct why *why) MUST_USE;
void admin_close(struct admin **admin);

int admin_socket(const struct admin *admin); /* it stays the admin's */
void admin_address(const struct admin *admin, struct sock_address *address);

/* After each loop_turn: drives and reaps the connections. */
void admin_settle(struct admin *admin);

#endif
