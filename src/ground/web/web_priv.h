/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of web/ share: a request under way, the pool of connections that it may use, and the proxy.
 *
 * Threads: a job is its maker's until it stands in the list of `struct web`, then the room's thread's.
 * Owns: a job all that hangs on it.
 * Lifetime: web__job_new to web__job_free.
 * Errors: as web.h. */
#ifndef WEB_WEB_PRIV_H
#define WEB_WEB_PRIV_H

#include "base/list.h"
#include "os/resolve.h"
#include "web/web.h"

#include <curl/curl.h>

/* ---- memory.c: libcurl's, wiped when it is given back, and bounded ---- */
void web__memory_init(void);

/* ---- proxy.c: what the environment says ---- */
struct web_proxy {
    char *url;             /* NULL: there is none */
    struct resolve_name at;
    const char *except;    /* NO_PROXY */
    bool is_wrong;         /* there is one that is not understood */
};

void web__proxy_read(struct web_proxy *proxy);
/* Whether requests to that host over TLS go by the proxy. */
bool web__proxy_serves(const struct web_proxy *proxy, const char *host);
/* Takes apart as libcurl will. Returns: false: it is no URL, or has a user where `plain`. */
bool web__url_read(const char *url, bool with_user, bool *is_tls, struct resolve_name *to);

/* ---- pools: connections under one tls_context ---- */
struct web_pool {
    struct list link;
    struct tls_context *tls; /* counted; NULL: plain */
    CURLSH *share;
    unsigned jobs;
    int64_t used_us;
};

/* ---- job.c ---- */
struct web_job {
    struct list link;
    char *url;
    struct resolve_name to, next;  /* the server; whose address is connected to: it or the proxy */
    bool is_tls, by_proxy, is_cancelled, has_head;
    struct tls_context *tls;       /* counted */
    struct curl_slist *headers, *addresses;
    char *body;                    /* NULL: a GET */
    size_t body_len, head_bytes;   /* of the question; of the answer */
    int64_t begin_us, until_us;    /* monotonic */
    CURL *easy;                    /* NULL: it waits */
    struct web_pool *pool;
    enum code refused;             /* by what is read: and why */
    char error[CURL_ERROR_SIZE];
    struct web_answer answer;
    web_part_fn part;
    bool is_enough;                /* said that */
    web_done_fn done;
    void *context, *part_context;
};

enum code web__job_new(const struct web_request *request, const struct web_proxy *proxy, struct web_job **job,
                       struct why *why) MUST_USE;
void web__job_free(struct web_job *job);
/* Makes the transfer, which then belongs into a multi handle. */
enum code web__job_prepare(struct web_job *job, const struct web_proxy *proxy, const struct sock_address *addresses,
                           size_t count, int64_t now_us) MUST_USE;
/* What came of it: fills in the answer. */
void web__job_settle(struct web_job *job, CURLcode code);

#endif
