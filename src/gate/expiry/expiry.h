/* SPDX-License-Identifier: Apache-2.0 */
/* Which certificates of a configuration end when: ours, and those by which the gate believes others.
 *
 * Threads: any, while nobody else reads the configuration anew.
 * Owns: nothing.
 * Lifetime: none of its own.
 * Errors: told as faults of the configuration's file. */
#ifndef EXPIRY_EXPIRY_H
#define EXPIRY_EXPIRY_H

#include "conf/conf.h"

/* Adds a fault for each certificate of ours, a listener's or one that an upstream is shown, that has ended or has not begun.
 * Takes: old: tell only of those in whose place the old configuration shows one that is in its time, so that taking the new
 * one would close what is open; NULL: tell of all.
 * Returns: whether it added none. */
bool expiry_hold(const struct conf *conf, const struct conf *old, struct faults *faults);
/* Tells of each certificate by which connections are made, as far as this process knows it, when it ends. side: "listener" and
 * "client_ca" of a listener's address; "client" (ours), "upstream" (its, as last met) and "ca" of a route, or of what the gate
 * itself asks: "(checkpoints)", "(notify)", "(alerts)". */
void expiry_each(const struct conf *conf, void (*told)(void *context, const char *side, struct span name, int64_t until_us),
                 void *context);

#endif
