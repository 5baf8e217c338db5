/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the console: read, answered, and over. A page asks the gate as the person who is logged in, puts what it says
 * into a document, and shows that in HTML.
 *
 * Threads: one a visit.
 * Owns: all of the visit.
 * Lifetime: visit_serve's.
 * Errors: answers with a status and a sentence. */
#ifndef CONSOLE_VISIT_H
#define CONSOLE_VISIT_H

#include "cli/commands.h"
#include "console/asking.h"
#include "console/request.h"
#include "console/sessions.h"
#include "http/reader.h"
#include "json/doc.h"
#include "os/sock.h"
#include "os/stream.h"
#include "tls/tls.h"

#define VISIT_HOSTS_MAX 4
#define VISIT_ORIGIN_BYTES 288
#define VISIT_ENDED "/login?ended=1"

struct visit;
struct shape;

/* What the console is, for all visits. */
struct visit_conf {
    struct tls_context *tls; /* NULL: on loopback alone */
    char cookie[32];         /* its name */
    char hosts[VISIT_HOSTS_MAX][272]; /* what Host may be */
    size_t host_count;
    bool has_fleet;          /* there is a page of its nodes */
    unsigned places;   /* visits at once; 0: nobody else waits */
    struct span login; /* what who runs the console shows, with a NUL; at == NULL: the account */
    void (*answer)(struct visit *visit); /* a request whose Host, and of a change whose Origin and token, are good */
};

struct visit {
    const struct visit_conf *conf;
    struct stream *stream;
    uint64_t address; /* a hash of whose address it comes from */
    char from[SOCK_TEXT_BYTES];
    int64_t until_us;
    int64_t crowded_us; /* until when, where others wait for the place */
    struct http_reader reader;
    struct buf in, form, out;
    struct request request;
    struct arena arena;
    struct session session;
    bool is_known; /* somebody is logged in */
    bool has_ended; /* somebody was, whose login the gate takes no more */
    bool is_answered;
    int status; /* of the page, where it is no usual one; 0: it is */
    const char *goes_on; /* the page's Refresh. "1": it is asked for once more, soon; "0; url=URL": what comes next; NULL: it
                          * stays */
    const struct shape *shape; /* of a page that is one */
    struct buf cookies; /* the head's lines that set some */
    struct doc *view;
};

/* Takes the socket. Blocks: some seconds, and as long as the gate takes. */
void visit_serve(const struct visit_conf *conf, int fd_take, const struct sock_address *peer);

/* ---- for pages ---- */

/* Whether one of the person's roles may give this command; "audit query". */
bool visit_may(const struct visit *visit, const char *command);

/* Asks as the person. Returns: false where there is an answer to the browser already: the login is over, or not good for
 * that, or no gate is there. *answer is the caller's in any case. */
bool visit_ask(struct visit *visit, struct words *words, struct answer *answer);

/* Likewise, but what says how far it is (--progress) is stopped after a moment, with what is there by then. */
bool visit_ask_briefly(struct visit *visit, struct words *words, struct answer *answer);

/* Likewise, for what takes its time: where it is not there in a moment the page says how far it is, and comes again. */
bool visit_ask_slowly(struct visit *visit, struct words *words, struct answer *answer);

/* Why the gate has not done it. */
const char *visit_said(struct visit *visit, const struct answer *answer);

/* Each answers; the first counts. */
void visit_show(struct visit *visit, int status, const char *title, const char *page); /* page: words as told.h has them */
void visit_fault(struct visit *visit, int status, const char *sentence);
void visit_go(struct visit *visit, const char *where); /* 303 */
/* Takes: file: as which a browser keeps it; or NULL. */
void visit_give(struct visit *visit, const char *type, const char *file, struct span bytes);
/* Begins or ends the session in the browser, with the answer that follows. Takes: cookie "": it ends. */
void visit_set_cookie(struct visit *visit, const char *cookie);
/* Likewise what it keeps of something that has begun at a provider's page. Takes: of: the end of its name. */
#define VISIT_LOGIN "-login"
#define VISIT_CONNECT "-connect"
void visit_set_begun(struct visit *visit, const char *of, const char *cookie);
struct span visit_begun_cookie(const struct visit *visit, const char *of);

/* "https://gate.example.com", as the browser calls the console. */
void visit_origin(const struct visit *visit, char out[VISIT_ORIGIN_BYTES]);

/* Asks the gate who *session is, by what it shows. Takes: looks_on: that he begins to look on is noted in the trail. Returns:
 * false, with a sentence in the answer. */
bool visit_who(struct session *session, bool looks_on, struct answer *answer);

#endif
