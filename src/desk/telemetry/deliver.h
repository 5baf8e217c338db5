/* SPDX-License-Identifier: Apache-2.0 */
/* Sends batches to a collector, as OTLP over HTTP has it: a body that is too large is parted, one that is refused for now comes
 * again later, as late as Retry-After says, and what a collector says it did not take is counted and told.
 *
 * Threads: one.
 * Owns: nothing.
 * Lifetime: deliver_init to the end of the room `web` that it asks.
 * Errors: CODE_NOMEM; all else is waited out. */
#ifndef TELEMETRY_DELIVER_H
#define TELEMETRY_DELIVER_H

#include "conf/conf.h"
#include "telemetry/otlp.h"
#include "web/web.h"

#define DELIVER_HEADERS_MAX 40

struct deliver {
    struct web *web;
    const struct proxy_upstream *server;
    const char *node;
    void (*rest)(void *context, int64_t us); /* waits so long, and does meanwhile what is due */
    void *context;
    struct buf url, body;
    struct web_header headers[DELIVER_HEADERS_MAX];
    uint64_t taken[OTLP_SIGNALS], refused[OTLP_SIGNALS]; /* items; refused: a collector would not have them, and never will */
    uint64_t rejected;                                   /* spans, points and records of bodies that were taken all the same */
    uint64_t failed;                                     /* requests that came to nothing */
    bool has_complained[OTLP_SIGNALS];
};

void deliver_init(struct deliver *deliver, struct web *web, const struct proxy_upstream *server, const char *node);
void deliver_fini(struct deliver *deliver);

/* Returns once all items were taken or refused for good. */
enum code deliver_all(struct deliver *deliver, enum otlp_signal signal, const struct otlp_batch *batch) MUST_USE;
/* Asks once; what is not taken is not sent again. For what a later batch says as well. */
enum code deliver_once(struct deliver *deliver, enum otlp_signal signal, const struct otlp_batch *batch) MUST_USE;

#endif
