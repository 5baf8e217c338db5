/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's own requests over HTTPS: key sets, tokens, checkpoints, notifications. Calls never go this way. This room uses
 * libcurl.
 *
 * One thread drives them all: connections are used again, HTTP/2 is spoken where the server does, HTTPS_PROXY and NO_PROXY of
 * the environment are followed (never to this machine itself, and never for plain http). Certificate and name of a server are
 * always checked. No redirect is followed: a status of 300 to 399 is an answer like any other. No compression is asked for, and
 * none is taken. A connection serves requests of one tls_context alone, so that none goes out under the certificate of another.
 * Names are resolved by a thread of their own (os/resolve.h). What libcurl holds of requests and answers is wiped when it is
 * freed.
 *
 * Threads: web_begin, web_fetch and web_cancel from any; the rest from main. `done` runs on the room's own thread: short, never
 *   blocking; it may call web_begin and web_cancel.
 * Owns: its threads, connections and requests.
 * Lifetime: web_new before the process confines itself, web_start after; web_free ends what is under way.
 * Errors: enum code with a sentence, in which no header, body, path or query stands. */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "base/buf.h"
#include "base/why.h"
#include "tls/tls.h"

struct web;

struct web_header {
    struct span name, value;
};

struct web_answer {
    enum code code;        /* CODE_OK: all of it came, whatever its status; CODE_DENIED: the server is not who it should be;
                            * CODE_LIMIT: the answer is too large; CODE_DOWN: it was cancelled; CODE_IO, CODE_INVALID,
                            * CODE_NOMEM */
    struct why why;        /* where it is not CODE_OK */
    int status;            /* HTTP's, also where the body did not come whole; 0: no whole head came */
    struct buf head, body; /* both wiped */
};

typedef void (*web_done_fn)(void *context, struct web_answer *answer); /* `done` may move the body out of the answer */
/* Takes a piece of the body; the answer already has head and status. Runs on the room's own thread. Returns: false: enough,
 * which ends the request as if all of it had come. */
typedef bool (*web_part_fn)(void *context, const struct web_answer *answer, struct span part);

/* All is copied. */
struct web_request {
    struct span url;           /* https; http to this machine, or where `insecure` says so */
    const struct web_header *headers;
    size_t header_count;
    struct span body;          /* at != NULL: a POST of it; otherwise a GET */
    struct tls_context *tls;   /* which authorities to believe, and which certificate to show; NULL: the system's, and none */
    bool insecure;
    bool yields;               /* agents decide how many such requests there are, so they may use only half of the places */
    int64_t pause_us;          /* it begins after so long */
    int64_t wait_us;           /* for all of it, names and connection included; 0: 10 s */
    size_t body_max_bytes;     /* of the answer; 0: 1 MiB */
    web_part_fn part;          /* takes the body as it comes, in place of answer->body; NULL: none does */
    void *part_context;
    web_done_fn done;          /* called once, where web_begin returned CODE_OK */
    void *context;
};

/* Reads HTTPS_PROXY and NO_PROXY; a proxy that makes no sense fails each request that needs it. */
enum code web_new(struct web **web, struct why *why) MUST_USE;
enum code web_start(struct web *web, struct why *why) MUST_USE;
void web_free(struct web **web); /* NULL is fine */

/* Returns: CODE_INVALID: such a request cannot be made; CODE_BUSY: too many are under way, to that server or in all; CODE_DOWN:
 * the room is being freed; CODE_NOMEM. */
enum code web_begin(struct web *web, const struct web_request *request, struct why *why) MUST_USE;
/* Soon ends all requests that have this context, with CODE_DOWN. */
void web_cancel(struct web *web, const void *context);

/* Begins and blocks until it is done; `done` and `context` are not used. Returns: answer->code; the answer is the caller's. */
enum code web_fetch(struct web *web, const struct web_request *request, struct web_answer *answer, struct why *why) MUST_USE;
void web_answer_fini(struct web_answer *answer); /* zeroed is fine */

/* The first header of that name, without spaces around; empty: none. */
struct span web_answer_header(const struct web_answer *answer, const char *name);
/* Whether its Content-Type is `media`, whatever its parameters. */
bool web_answer_is(const struct web_answer *answer, const char *media);

/* Permits to ask for names. Likewise. */
enum code web_permit_names(unsigned parts) MUST_USE;
/* Permits what this room reads and asks by itself, but for the proxy: names, authorities. Before the process confines itself.
 * Takes: parts: which of its other threads look at authorities, too. */
enum code web_permit(unsigned parts) MUST_USE;

/* The port of the proxy that the environment names, which the sandbox must permit; 0: there is none. */
uint16_t web_proxy_port(void);

/* The library behind this room and its version, for people. Threads: main. */
const char *web_library(void);

#endif
