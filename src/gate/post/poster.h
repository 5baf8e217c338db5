/* SPDX-License-Identifier: Apache-2.0 */
/* Posts texts to a URL, or to a program, on a thread of its own with a bounded queue, so that a server that is slow or away
 * holds up nobody. It posts checkpoints, each of which replaces those before it, and notifications, none of which may be lost.
 *
 * Threads: poster_put and poster_offer from any thread; the rest from main.
 * Owns: a copy of where to post, its thread, the queue.
 * Lifetime: poster_new to poster_free; what dials lives longer.
 * Errors: logged once until it works again, and counted. */
#ifndef POST_POSTER_H
#define POST_POSTER_H

#include "lane/conf.h"
#include "web/web.h"

struct poster;

struct poster_conf {
    const char *what;                    /* "checkpoint", for the log */
    const struct proxy_upstream *server; /* copied */
    const char *media;
    struct span key;                     /* signs each with HMAC-SHA256; empty: nothing does */
    bool keeps_newest;                   /* the oldest falls out of a full queue, and at the end the newest is waited for */
    unsigned tries;                      /* tries of one text; 0: any number */
    int64_t wait_us;                     /* for one answer */
    struct web *web;                     /* sends the requests */
    /* In place of `web`: makes a socket to the process that starts the program that `server` names. */
    enum code (*dial)(void *context, struct span command, int *fd);
    void *context;
};

enum code poster_new(const struct poster_conf *conf, struct poster **poster, struct why *why) MUST_USE;
enum code poster_start(struct poster *poster, struct why *why) MUST_USE;

/* What is posted from now on goes by this server's authorities, revocations and certificate, which a reload may have changed;
 * where to stays. Takes: poster: may be NULL. */
void poster_renew(struct poster *poster, const struct proxy_upstream *server);

/* Takes: context: the poster. Never blocks for the network. */
void poster_put(void *context, struct span text);
/* The same for a text with a number. Returns: false: there is no room, or no memory. */
bool poster_offer(struct poster *poster, struct span text, int64_t number);
/* The number of the last that was posted or given up; 0: none yet. */
int64_t poster_settled(struct poster *poster);

/* Blocks: for the newest one that waits or the one under way, some seconds at most. NULL is fine. */
void poster_free(struct poster **poster);

struct poster_gauges {
    uint64_t waiting, posted, failed, dropped;
    int64_t failing_since_us; /* monotonic; 0: the last attempt got through */
    bool is_refuted;          /* since then somebody answered 409: it has another history than what is posted */
};
/* adds its counts to `gauges`, and puts its state there; a NULL poster does nothing */
void poster_gauges(struct poster *poster, struct poster_gauges *gauges);

#endif
