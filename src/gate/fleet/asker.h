/* SPDX-License-Identifier: Apache-2.0 */
/* The thread between the workers' wishes and the courier: it sends what was wished, hands answers in, and tells what this node
 * has used where the centre lacks it. It alone reads the gate's end of that socket.
 *
 * Threads: asker_new, asker_run and asker_free from main; the rest is its own.
 * Owns: its thread; the socket is borrowed, and closed by its owner behind asker_free.
 * Lifetime: asker_new, before the process is confined, to asker_free, when no worker is left.
 * Errors: a courier that has ended: wishes stay unanswered until it is started again; its end: for good. */
#ifndef FLEET_ASKER_H
#define FLEET_ASKER_H

#include "base/why.h"
#include "enforce/gate.h"

struct asker;

/* Takes: shared: of a gate with a fleet; fd: the gate's end. */
enum code asker_new(struct gate_shared *shared, int fd, struct asker **asker, struct why *why) MUST_USE;
enum code asker_run(struct asker *asker, struct why *why) MUST_USE; /* once it is confined */
void asker_free(struct asker **asker); /* NULL is fine */

/* Whether the courier was started again since this was asked last: it knows nothing of what it was told. Threads: any. */
bool asker_begins_anew(struct asker *asker);

/* What the courier has said of itself, for people; nothing where it begins for the first time. Takes: got: of recv. */
void asker_hear(const void *message, long got, struct why *why);

#endif
