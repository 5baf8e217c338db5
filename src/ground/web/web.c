/* SPDX-License-Identifier: Apache-2.0 */
#include "web/web_priv.h"

#include "base/lock.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/sandbox.h"
#include "os/thread.h"

#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define JOBS_MAX 256
#define JOBS_EACH_MAX 64          /* to one server, so that one that hangs leaves room for the others */
#define NAMES_MAX 64
#define POOL_CONNECTIONS 16
#define SERVER_CONNECTIONS 8
#define POOL_IDLE_US (INT64_C(60) * 1000000)
#define NAMES_LOOK_MS 50
#define IDLE_MS 60000

struct web {
    struct web_proxy proxy;
    CURLM *multi;
    int poked;                    /* an eventfd, since other threads may write to one under their filters */
    struct thread thread;
    pthread_mutex_t lock;         /* over the list of jobs, and what other threads may set of a job */
    struct list jobs;
    size_t job_count;
    bool stopping;

    struct resolver *resolver;    /* from here on all belongs to the room's thread */
    struct resolve_name names[NAMES_MAX];
    int64_t named_us[NAMES_MAX];  /* when each was last asked for */
    size_t name_count;
    struct list pools;
    struct tls_context *system;   /* for requests that believe the system's authorities; NULL: none was made yet */
};

static void poke(void *context)
{
    const struct web *web = context;
    const uint64_t one = 1;

    (void)!write(web->poked, &one, sizeof one); /* a full counter wakes the thread too */
}

/* ---- names ---- */

static size_t find_name(const struct web *web, const struct resolve_name *name)
{
    size_t at = 0;

    while (at < web->name_count && (web->names[at].port != name->port || strcmp(web->names[at].host, name->host) != 0))
        at++;
    return at;
}

/* Has a name resolved. Where there are too many, the one that was asked for longest ago makes room. */
static void want_name(struct web *web, const struct resolve_name *name, int64_t now_us)
{
    size_t at = find_name(web, name), oldest = 0;

    if (at == web->name_count) {
        for (size_t i = 1; i < web->name_count; i++)
            if (web->named_us[i] < web->named_us[oldest])
                oldest = i;
        at = web->name_count < NAMES_MAX ? web->name_count++ : oldest;
        web->names[at] = *name;
        if (resolver_set(web->resolver, web->names, web->name_count) != CODE_OK)
            web->names[at].port = 0; /* no request has port 0, so that the next one sets the name anew */
    }
    web->named_us[at] = now_us;
}

/* ---- pools ---- */

static void drop_pool(struct web_pool *pool)
{
    list_remove(&pool->link);
    (void)web__curl.share_cleanup(pool->share);
    tls_unref(&pool->tls);
    mem_free(pool);
}

static void drop_idle_pools(struct web *web, int64_t now_us)
{
    struct list *link, *following;

    LIST_EACH(link, following, &web->pools) {
        struct web_pool *pool = LIST_ENTRY(link, struct web_pool, link);

        if (pool->jobs == 0 && now_us - pool->used_us >= POOL_IDLE_US)
            drop_pool(pool);
    }
}

static struct web_pool *find_pool(struct web *web, struct tls_context *tls)
{
    struct list *link, *following;
    struct web_pool *pool;

    LIST_EACH(link, following, &web->pools)
        if (LIST_ENTRY(link, struct web_pool, link)->tls == tls)
            return LIST_ENTRY(link, struct web_pool, link);
    pool = mem_zalloc(sizeof *pool);
    if (pool == NULL)
        return NULL;
    pool->share = web__curl.share_init();
    if (pool->share == NULL || web__curl.share_setopt(pool->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT) != CURLSHE_OK) {
        (void)web__curl.share_cleanup(pool->share);
        mem_free(pool);
        return NULL;
    }
    pool->tls = tls_ref(tls);
    list_append(&web->pools, &pool->link);
    return pool;
}

/* ---- the thread: a job waits for its time and for addresses, runs, and is over ---- */

static void end(struct web *web, struct web_job *job, struct list *over)
{
    if (job->pool != NULL) {
        job->pool->jobs--;
        job->pool->used_us = clock_monotonic_us();
    }
    if (job->easy != NULL) {
        (void)web__curl.multi_remove_handle(web->multi, job->easy);
        web__curl.easy_cleanup(job->easy); /* before its pool can go */
        job->easy = NULL;
    }
    list_remove(&job->link);
    web->job_count--;
    list_append(over, &job->link);
}

static void fail(struct web *web, struct web_job *job, enum code code, const char *what, struct list *over)
{
    job->answer.code = why_set(&job->answer.why, code, "%s%s%s", job->next.host, what,
                               job->by_proxy ? ", which HTTPS_PROXY names as the proxy" : "");
    end(web, job, over);
}

/* Leaves the job's own TLS context, or gives it the one that believes the system's authorities. */
static enum code choose_tls(struct web *web, struct web_job *job)
{
    const struct tls_client_conf conf = {.ca = NULL};
    enum code code = CODE_OK;

    if (!job->is_tls || job->tls != NULL)
        return CODE_OK;
    if (web->system == NULL)
        code = tls_client_new(&conf, &web->system, &job->answer.why);
    job->tls = code == CODE_OK ? tls_ref(web->system) : NULL;
    return code;
}

static void launch(struct web *web, struct web_job *job, const struct sock_address *addresses, size_t count, int64_t now_us,
                   struct list *over)
{
    enum code code = choose_tls(web, job);

    job->pool = code == CODE_OK ? find_pool(web, job->is_tls ? job->tls : NULL) : NULL;
    if (job->pool == NULL) {
        fail(web, job, CODE_NOMEM, ": no TLS, or no memory, to ask with", over);
        return;
    }
    job->pool->jobs++;
    if (web__job_prepare(job, &web->proxy, addresses, count, now_us) != CODE_OK ||
        web__curl.multi_add_handle(web->multi, job->easy) != CURLM_OK)
        fail(web, job, CODE_NOMEM, ": not enough memory to ask", over);
}

/* Returns: whether an address is awaited. */
static bool look_at(struct web *web, struct web_job *job, int64_t now_us, struct list *over)
{
    struct resolve_table *names;
    const struct sock_address *addresses;
    size_t count;
    bool is_asked;

    want_name(web, &job->next, now_us);
    is_asked = resolver_wait(web->resolver, 0); /* asked before the table is taken, so that the table then has the answer */
    names = resolver_table(web->resolver);
    addresses = resolve_find(names, span_text(job->next.host), job->next.port, &count);
    if (count > 0)
        launch(web, job, addresses, count, now_us, over);
    else if (is_asked || now_us >= job->until_us)
        fail(web, job, CODE_IO, " cannot be resolved", over);
    resolve_table_unref(&names);
    return count == 0 && !is_asked;
}

/* Returns: milliseconds after which to look again. */
static int take_turn(struct web *web, struct list *over)
{
    int64_t now_us = clock_monotonic_us(), next_us = now_us + (int64_t)IDLE_MS * 1000;
    struct list *link, *following;

    lock_take(&web->lock);
    LIST_EACH(link, following, &web->jobs) {
        struct web_job *job = LIST_ENTRY(link, struct web_job, link);

        if (job->is_cancelled || web->stopping)
            fail(web, job, CODE_DOWN, " is not asked any more", over);
        else if (job->easy != NULL)
            continue;
        else if (job->begin_us > now_us)
            next_us = job->begin_us < next_us ? job->begin_us : next_us;
        else if (look_at(web, job, now_us, over) && now_us + NAMES_LOOK_MS * 1000 < next_us)
            next_us = now_us + NAMES_LOOK_MS * 1000;
    }
    lock_give(&web->lock);
    drop_idle_pools(web, now_us);
    return (int)((next_us - now_us) / 1000) + 1;
}

static void take_results(struct web *web, struct list *over)
{
    const CURLMsg *result;
    int left;

    while ((result = web__curl.multi_info_read(web->multi, &left)) != NULL) {
        CURLcode code = result->data.result;
        struct web_job *job = NULL;

        if (result->msg != CURLMSG_DONE || web__curl.easy_getinfo(result->easy_handle, CURLINFO_PRIVATE, &job) != CURLE_OK)
            continue;
        web__job_settle(job, code);
        lock_take(&web->lock);
        end(web, job, over);
        lock_give(&web->lock);
    }
}

static CURLM *new_multi(void)
{
    CURLM *multi = web__curl.multi_init();

    if (multi != NULL && (web__curl.multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)POOL_CONNECTIONS) != CURLM_OK ||
                          web__curl.multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)SERVER_CONNECTIONS) != CURLM_OK)) {
        (void)web__curl.multi_cleanup(multi);
        multi = NULL;
    }
    return multi;
}

/* From 8.18 on a multi handle keeps the buffer that the last answer was read into, and a token may stand in that. So the handle
 * is made anew as soon as no request uses it; the connections last, because the pools own them. */
static void forget_answers(struct web *web, const struct list *over)
{
    struct list *link, *following;
    CURLM *fresh;

    if (list_is_empty(over))
        return;
    lock_take(&web->lock);
    LIST_EACH(link, following, &web->jobs)
        if (LIST_ENTRY(link, struct web_job, link)->easy != NULL)
            break;
    lock_give(&web->lock);
    if (link != &web->jobs || (fresh = new_multi()) == NULL) /* without memory the next request does it */
        return;
    (void)web__curl.multi_cleanup(web->multi);
    web->multi = fresh;
}

/* Calls `done` without the lock, since it may begin another request. */
static void call_done(struct list *over)
{
    struct list *link, *following;

    LIST_EACH(link, following, over) {
        struct web_job *job = LIST_ENTRY(link, struct web_job, link);

        list_remove(link);
        job->done(job->context, &job->answer);
        web__job_free(job);
    }
}

static void run_web(void *argument)
{
    struct web *web = argument;
    struct curl_waitfd poked = {.fd = web->poked, .events = CURL_WAIT_POLLIN};
    bool stopping = false;
    struct list over;

    sandbox_narrow(SANDBOX_POSTER);
    list_init(&over);
    while (!stopping) {
        uint64_t count;
        int wait_ms, running;

        lock_take(&web->lock);
        stopping = web->stopping;
        lock_give(&web->lock);
        wait_ms = take_turn(web, &over);
        (void)web__curl.multi_perform(web->multi, &running);
        take_results(web, &over);
        forget_answers(web, &over);
        call_done(&over);
        if (!stopping && web__curl.multi_poll(web->multi, &poked, 1, wait_ms, NULL) == CURLM_OK)
            (void)!read(web->poked, &count, sizeof count);
    }
    while (!list_is_empty(&web->pools)) /* closed on this thread, since closing writes to sockets */
        drop_pool(LIST_ENTRY(web->pools.next, struct web_pool, link));
}

/* ---- for everybody ---- */

static size_t count_to(const struct web *web, const struct resolve_name *to)
{
    struct list *link, *following;
    size_t count = 0;

    LIST_EACH(link, following, &web->jobs) {
        const struct web_job *job = LIST_ENTRY(link, struct web_job, link);

        count += job->to.port == to->port && strcmp(job->to.host, to->host) == 0;
    }
    return count;
}

enum code web_begin(struct web *web, const struct web_request *request, struct why *why)
{
    struct web_job *job;
    size_t share = request->yields ? 2 : 1;
    enum code code = web__job_new(request, &web->proxy, &job, why);

    if (code == CODE_OK) {
        lock_take(&web->lock);
        if (web->stopping)
            code = why_set(why, CODE_DOWN, "nothing is asked any more");
        else if (web->job_count >= JOBS_MAX / share || count_to(web, &job->to) >= JOBS_EACH_MAX / share)
            code = why_set(why, CODE_BUSY, "%s: too many requests are under way", job->to.host);
        if (code == CODE_OK) {
            list_append(&web->jobs, &job->link);
            web->job_count++;
        }
        lock_give(&web->lock);
    }
    if (code == CODE_OK)
        poke(web);
    else
        web__job_free(job);
    return code;
}

void web_cancel(struct web *web, const void *context)
{
    struct list *link, *following;

    lock_take(&web->lock);
    LIST_EACH(link, following, &web->jobs) {
        struct web_job *job = LIST_ENTRY(link, struct web_job, link);

        job->is_cancelled = job->is_cancelled || job->context == context;
    }
    lock_give(&web->lock);
    poke(web);
}

struct fetch {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done;
    struct web_answer *answer;
};

static void wake(void *context, struct web_answer *answer)
{
    struct fetch *fetch = context;

    lock_take(&fetch->lock);
    *fetch->answer = *answer;
    buf_init(&answer->head, 0); /* the caller of web_fetch owns head and body now */
    buf_init(&answer->body, 0);
    fetch->is_done = true;
    (void)pthread_cond_signal(&fetch->done);
    lock_give(&fetch->lock);
}

enum code web_fetch(struct web *web, const struct web_request *request, struct web_answer *answer, struct why *why)
{
    struct fetch fetch = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER, .answer = answer};
    struct web_request own = *request;
    enum code code;

    *answer = (struct web_answer){.code = CODE_DOWN};
    own.done = wake;
    own.context = &fetch;
    code = web_begin(web, &own, why);
    lock_take(&fetch.lock);
    while (code == CODE_OK && !fetch.is_done)
        (void)pthread_cond_wait(&fetch.done, &fetch.lock);
    lock_give(&fetch.lock);
    if (code == CODE_OK && answer->code != CODE_OK)
        code = why_set(why, answer->code, "%s", answer->why.text);
    return code;
}

enum code web_new(struct web **out, struct why *why)
{
    enum code code = web__load(why);
    struct web *web = code == CODE_OK ? mem_zalloc(sizeof *web) : NULL;

    *out = web;
    if (code != CODE_OK)
        return code;
    if (web == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory for requests of our own");
    list_init(&web->jobs);
    list_init(&web->pools);
    lock_init(&web->lock);
    web__proxy_read(&web->proxy);
    web->poked = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    web->multi = new_multi();
    if (web->poked < 0 || web->multi == NULL)
        return why_set(why, CODE_NOMEM, "libcurl makes no handle for requests of our own");
    return CODE_OK;
}

enum code web_start(struct web *web, struct why *why)
{
    const struct resolver_conf conf = {.changed = poke, .context = web};
    enum code code = resolver_new(&web->resolver, &conf, NULL, 0, why);

    return code == CODE_OK ? thread_start(&web->thread, "web", run_web, web, why) : code;
}

void web_free(struct web **out)
{
    struct web *web = *out;
    struct list over;

    if (web == NULL)
        return;
    lock_take(&web->lock);
    web->stopping = true;
    lock_give(&web->lock);
    poke(web);
    thread_join(&web->thread);
    list_init(&over);
    (void)take_turn(web, &over); /* ends the jobs of a thread that never ran */
    call_done(&over);
    resolver_free(&web->resolver);
    (void)web__curl.multi_cleanup(web->multi);
    tls_unref(&web->system);
    sock_close(&web->poked);
    mem_free(web->proxy.url);
    (void)pthread_mutex_destroy(&web->lock);
    mem_free(web);
    *out = NULL;
}
