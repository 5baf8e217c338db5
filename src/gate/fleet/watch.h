/* SPDX-License-Identifier: Apache-2.0 */
/* A gate that is of a fleet: its courier, and whether calls may go on by what that has heard of the centre.
 *
 * Threads: main.
 * Owns: its end of the socket to the courier.
 * Lifetime: fleet_watch_init to fleet_watch_fini. The courier ends with the gate.
 * Errors: enum code with a sentence; what cannot be read of the store leaves what was known before, which gets older. */
#ifndef FLEET_WATCH_H
#define FLEET_WATCH_H

#include "base/buf.h"
#include "base/reason.h"
#include "fleet/courier_end.h"
#include "fleet/fleet_state.h"

struct asker;
struct conf;
struct gate_shared;

struct fleet_watch {
    bool is_on;
    int64_t stale_us;
    char start[CLOCK_START_BYTES];
    struct fleet_state state;  /* as it was read last */
    bool is_read;
    int64_t age_us, spent_us;  /* of the last beat, now; as the store was told last */
    enum reason reason;        /* by which calls are denied; REASON_UNSET: they are judged */
    int64_t taken;             /* the fleet's change up to which main went by the store when it looked last */
    struct fleet_in_force in_force;
    bool is_sent;              /* the courier knows that */
    int courier;               /* -1: there is none */
    struct asker *asker;       /* what reads it; NULL: nobody yet */
};

/* Before the process is confined. */
void fleet_watch_init(struct fleet_watch *watch, const struct conf *conf);
/* Starts the courier, where the configuration names a fleet, and waits until it has read its files. */
enum code fleet_watch_start(struct fleet_watch *watch, const struct conf *conf, struct why *why) MUST_USE;
/* Whether a courier would get on with what the configuration names; changes nothing, and asks no centre. */
enum code fleet_watch_check(const struct conf *conf, struct why *why) MUST_USE;
/* Prepares that wishes of the workers reach the centre; once the process is confined, they do, until fleet_watch_hush, when
 * there are no workers any more. */
enum code fleet_watch_ask(struct fleet_watch *watch, struct gate_shared *shared, struct why *why) MUST_USE;
enum code fleet_watch_run(const struct fleet_watch *watch, struct why *why) MUST_USE;
void fleet_watch_hush(struct fleet_watch *watch);
/* The audit is closed: has the courier bring what it recorded last. Blocks: up to three seconds, where the centre is slow. */
void fleet_watch_end(struct fleet_watch *watch);
void fleet_watch_fini(struct fleet_watch *watch);

/* Looks at the store and the clock. Takes: is_followed: main goes by all that the store had a moment ago. Where it could not,
 * or the courier has taken a change since, calls that are denied stay so: what was decided does not count here yet.
 * Returns: by which reason all calls are denied from now on; REASON_UNSET: by none. */
enum reason fleet_watch_look(struct fleet_watch *watch, struct db *store, bool is_followed);

/* Has the courier know that all up to the change `taken` is in force now, with this version of the policy. */
void fleet_watch_send(struct fleet_watch *watch, uint64_t version);

/* Says why, for people; nothing where calls are judged. */
void fleet_watch_say(const struct fleet_watch *watch, struct buf *out);
/* Says how long rows wait for the centre; nothing where that is a moment. */
void fleet_watch_note(const struct fleet_watch *watch, struct buf *out);
void fleet_watch_measure(const struct fleet_watch *watch, struct buf *out); /* metrics */

#endif
