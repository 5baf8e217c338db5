/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `callgate upgrade` share: what the gate that runs hands over, and a program whose words are read.
 *
 * Threads: main.
 * Owns: the sockets of an offer, until its end.
 * Lifetime: an offer is its holder's.
 * Errors: enum code with a sentence. */
#ifndef SETUP_UPGRADE_H
#define SETUP_UPGRADE_H

#include "base/buf.h"
#include "base/why.h"
#include "conf/conf.h"
#include "os/service.h"
#include "handover/handover.h"

struct upgrade_offer {
    int gate; /* the connection to it; -1: none runs */
    struct handover_offer said;
    struct service_sockets sockets;
};

/* Runs a program to its end, and appends what it prints. Takes: words: NULL-terminated. Returns: its exit status; -1 where it
 * could not be started, or a signal ended it. */
int upgrade_run(const char *const *words, struct buf *out);

/* Says what would change. Returns: an exit status. */
int upgrade_check(const struct conf *conf, const char *program, const struct upgrade_offer *offer, bool as_json);

#endif
