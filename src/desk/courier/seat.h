/* SPDX-License-Identifier: Apache-2.0 */
/* A node's name is one live process's: the one that took its seat at the centre, until its session there has ended.
 *
 * Threads: the courier's one.
 * Owns: nothing.
 * Lifetime: that of the connection.
 * Errors: CODE_BUSY: another process is this node; CODE_IO as pg.h. */
#ifndef COURIER_SEAT_H
#define COURIER_SEAT_H

#include "fleet/member.h"
#include "pg/pg.h"

#define SEAT_INSTANCE_BYTES 16 /* random, of one process; who comes back on another session gets its seat again */

/* Asks the centre which it has, first. */
enum code seat_take(struct pg *pg, const unsigned char instance[SEAT_INSTANCE_BYTES], const char *node,
                    struct why *why) MUST_USE;

#endif
