/* SPDX-License-Identifier: Apache-2.0 */
/* Posts checkpoints to a URL, on a thread of its own with a bounded queue, so that a server that is slow or away holds up
 * nobody: what does not get through is tried again, and the oldest falls out of a full queue, since each checkpoint says all
 * that the ones before it said.
 *
 * Threads: poster_put from any thread; the rest from main.
 * Owns: a copy of where to post, its thread, the queue.
 * Lifetime: poster_new to poster_free.
 * Errors: logged once until it works again, and counted. */
#ifndef APP_POSTER_H
#define APP_POSTER_H

#include "proxy/conf.h"

struct poster;

enum code poster_new(const struct proxy_upstream *server, struct poster **poster, struct why *why) MUST_USE;
enum code poster_start(struct poster *poster, struct why *why) MUST_USE;

/* Takes: context: the poster. Never blocks for the network. */
void poster_put(void *context, struct span note);

/* Blocks: for the newest one that waits, some seconds at most. NULL is fine. */
void poster_free(struct poster **poster);

struct poster_gauges {
    uint64_t waiting, posted, failed, dropped;
};
void poster_gauges(struct poster *poster, struct poster_gauges *gauges); /* NULL: zeros */

#endif
