/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of web/ share: a request under way, the pool of connections that it may use, and the proxy.
 *
 * Threads: a job belongs to its maker until it stands in the list of `struct web`, then to the room's thread.
 * Owns: a job owns its request, its answer and its libcurl handle.
 * Lifetime: web__job_new to web__job_free.
 * Errors: as web.h. */
#ifndef WEB_WEB_PRIV_H
#define WEB_WEB_PRIV_H

#include "base/list.h"
#include "os/resolve.h"
#include "web/web.h"

#include <curl/curl.h>

/* ---- library.c: what this room asks of libcurl, X(name). NULL until web__load has returned CODE_OK ---- */
#define WEB_CURL_TABLE(X)                                                                                                      \
    X(easy_cleanup) X(easy_getinfo) X(easy_init) X(easy_setopt) X(easy_strerror) X(free) X(global_init_mem)                   \
    X(multi_add_handle) X(multi_cleanup) X(multi_info_read) X(multi_init) X(multi_perform) X(multi_poll)                      \
    X(multi_remove_handle) X(multi_setopt) X(share_cleanup) X(share_init) X(share_setopt) X(slist_append) X(slist_free_all)   \
    X(url) X(url_cleanup) X(url_get) X(url_set) X(version)
#define WEB_CURL_MEMBER(name) __typeof__(curl_##name) *name;
extern struct web_curl {
    WEB_CURL_TABLE(WEB_CURL_MEMBER)
} web__curl;
enum code web__load(struct why *why) MUST_USE; /* once; before the process confines itself */

/* ---- memory.c: libcurl's memory, which is wiped when it is freed, and bounded ---- */
void web__memory_init(void);

/* ---- proxy.c: what the environment says ---- */
struct web_proxy {
    char *url;             /* NULL: there is none */
    struct resolve_name at;
    const char *except;    /* NO_PROXY */
    bool is_wrong;         /* HTTPS_PROXY is set to what cannot be used */
};

void web__proxy_read(struct web_proxy *proxy);
/* Whether requests to that host over TLS go by the proxy. */
bool web__proxy_serves(const struct web_proxy *proxy, const char *host);
/* Takes a URL apart as libcurl will. Returns: false: it is no URL, or has a user although not `with_user`. */
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
    struct resolve_name to, next;  /* `to`: the server; `next`: whose address is connected to, the server or the proxy */
    bool is_tls, by_proxy, is_cancelled, has_head;
    struct tls_context *tls;       /* counted */
    struct curl_slist *headers, *addresses;
    char *body;                    /* NULL: a GET */
    size_t body_len, head_bytes;   /* of the request's body; of the answer's heads */
    int64_t begin_us, until_us;    /* monotonic */
    CURL *easy;                    /* NULL: the job waits for its time or for addresses */
    struct web_pool *pool;
    enum code refused;             /* why take_head or take_body ended the transfer, with `error` */
    char error[CURL_ERROR_SIZE];
    struct web_answer answer;
    web_part_fn part;
    bool is_enough;                /* `part` said so */
    web_done_fn done;
    void *context, *part_context;
};

enum code web__job_new(const struct web_request *request, const struct web_proxy *proxy, struct web_job **job,
                       struct why *why) MUST_USE;
void web__job_free(struct web_job *job);
/* Makes the transfer, which the caller then adds to a multi handle. */
enum code web__job_prepare(struct web_job *job, const struct web_proxy *proxy, const struct sock_address *addresses,
                           size_t count, int64_t now_us) MUST_USE;
/* Fills in the answer from the transfer's result. */
void web__job_settle(struct web_job *job, CURLcode code);

#endif
