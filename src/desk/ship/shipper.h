/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that ship the trail (ship/up.h) and look after the centre's days, each with a connection of its own: what they
 * wait for holds up no beat, no change and no question of the gate's.
 *
 * Threads: the courier's, but for the two of its own.
 * Owns: both threads, their connections and what they have read.
 * Lifetime: shipper_start to shipper_stop.
 * Errors: enum code with a sentence; later ones are logged, and told in the report. */
#ifndef SHIP_SHIPPER_H
#define SHIP_SHIPPER_H

#include "ship/up.h"

struct shipper;

struct shipper_conf {
    struct pg_place place; /* what it points to must live on, and so must `audit` */
    const char *name;      /* the node's */
    const char *audit;
    bool digests;          /* as up_new takes it */
    int64_t shipped_seq;
};

struct shipper_report {
    struct up_figures figures;
    struct why problem; /* why nothing is shipped at the moment; "": it is */
};

enum code shipper_start(const struct shipper_conf *conf, struct shipper **out, struct why *why) MUST_USE;
/* Ships on the caller's thread what is left of the trail, after its own has ended. Returns: up to which row all is at the
 * centre; -1: that thread waits for the database, and ships on. */
int64_t shipper_finish(struct shipper *shipper);
/* Returns: false: a thread waits for the database, and all is as it was; the process may end all the same. NULL is fine. */
bool shipper_stop(struct shipper **shipper) MUST_USE;
void shipper_report(struct shipper *shipper, struct shipper_report *out);

#endif
