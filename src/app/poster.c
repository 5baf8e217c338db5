/* SPDX-License-Identifier: Apache-2.0 */
#include "app/poster.h"

#include "app/dialogue.h"
#include "base/log.h"
#include "crypto/secret.h"
#include "os/clock.h"
#include "os/resolve.h"
#include "os/sandbox.h"
#include "os/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define QUEUE_NOTES 64
#define WAIT_US 5000000       /* for one answer */
#define PAUSE_MIN_MS 1000
#define PAUSE_MAX_MS 60000
#define NAME_WAIT_MS 3000

struct poster {
    struct arena arena;
    struct proxy_upstream server;
    struct resolver *resolver;
    struct thread thread;
    pthread_mutex_t lock; /* what follows, up to the empty line */
    pthread_cond_t changed;
    struct span queue[QUEUE_NOTES]; /* a ring; each allocated */
    size_t first, count;
    bool stopping;

    _Atomic uint64_t posted, failed, dropped;
};

static enum code copy(struct arena *arena, struct span from, struct span *to)
{
    const char *text = arena_dup(arena, from.at, from.len);

    *to = span_of(text, from.len);
    return text != NULL ? CODE_OK : CODE_NOMEM;
}

static enum code copy_secret(struct span from, struct span *to)
{
    const char *text = secret_copy(from.at, from.len);

    *to = span_of(text, text != NULL ? from.len : 0);
    return text != NULL ? CODE_OK : CODE_NOMEM;
}

static enum code copy_server(struct poster *poster, const struct proxy_upstream *from)
{
    struct proxy_upstream *to = &poster->server;
    struct proxy_header *headers = arena_zalloc(&poster->arena, (from->header_count + 1) * sizeof *headers);
    struct span host;
    enum code code = headers != NULL ? copy(&poster->arena, span_text(from->host), &host) : CODE_NOMEM;

    *to = (struct proxy_upstream){.port = from->port, .headers = headers, .header_count = from->header_count};
    if (code == CODE_OK)
        code = copy(&poster->arena, from->path, &to->path);
    if (code == CODE_OK)
        code = copy(&poster->arena, from->authority, &to->authority);
    for (size_t i = 0; i < from->header_count && code == CODE_OK; i++) {
        code = copy(&poster->arena, from->headers[i].name, &headers[i].name);
        if (code == CODE_OK)
            code = copy_secret(from->headers[i].value, &headers[i].value);
    }
    to->host = code == CODE_OK ? host.at : NULL;
    to->tls = from->tls != NULL ? tls_ref(from->tls) : NULL;
    return code;
}

enum code poster_new(const struct proxy_upstream *server, struct poster **out, struct why *why)
{
    struct poster *poster = mem_zalloc(sizeof *poster);
    pthread_condattr_t attributes;
    enum code code;

    *out = poster;
    if (poster == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory to post checkpoints");
    arena_init(&poster->arena, 1 << 20);
    (void)pthread_mutex_init(&poster->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&poster->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    code = copy_server(poster, server);
    return code == CODE_OK ? code : why_set(why, code, "not enough memory to post checkpoints");
}

void poster_put(void *context, struct span note)
{
    struct poster *poster = context;
    char *text = mem_dup(note.at, note.len);

    (void)pthread_mutex_lock(&poster->lock);
    if (text == NULL || poster->count == QUEUE_NOTES)
        atomic_fetch_add(&poster->dropped, 1);
    if (poster->count == QUEUE_NOTES) {
        mem_free((void *)(uintptr_t)poster->queue[poster->first].at);
        poster->first = (poster->first + 1) % QUEUE_NOTES;
        poster->count--;
    }
    if (text != NULL)
        poster->queue[(poster->first + poster->count++) % QUEUE_NOTES] = span_of(text, note.len);
    (void)pthread_cond_signal(&poster->changed);
    (void)pthread_mutex_unlock(&poster->lock);
}

static enum code post(struct poster *poster, struct span note, struct why *why)
{
    struct resolve_table *names = resolver_table(poster->resolver);
    const struct proxy_upstream *server = &poster->server;
    size_t count;
    const struct sock_address *address = resolve_find(names, span_text(server->host), server->port, &count);
    struct dialogue dialogue;
    enum code code = why_set(why, CODE_IO, "%s cannot be resolved", server->host);

    for (size_t i = 0; i < count && code != CODE_OK; i++) {
        dialogue_init(&dialogue, server, &address[i]);
        dialogue.wait_us = WAIT_US;
        code = dialogue_send(&dialogue, "text/plain; charset=utf-8", note, why);
        dialogue_fini(&dialogue);
    }
    resolve_table_unref(&names);
    return code;
}

/* Holding the lock. */
static void pause_for(struct poster *poster, unsigned pause_ms)
{
    int64_t until_us = clock_monotonic_us() + (int64_t)pause_ms * 1000;
    const struct timespec until = {.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};

    while (!poster->stopping && pthread_cond_timedwait(&poster->changed, &poster->lock, &until) == 0)
        continue; /* a further note does not make the server any better */
}

/* The oldest, or at the end the newest. Another may be put meanwhile, so it is taken out first. */
static struct span take(struct poster *poster)
{
    struct span note;

    while (poster->stopping && poster->count > 1) {
        mem_free((void *)(uintptr_t)poster->queue[poster->first].at);
        poster->first = (poster->first + 1) % QUEUE_NOTES;
        poster->count--;
    }
    note = poster->queue[poster->first];
    poster->first = (poster->first + 1) % QUEUE_NOTES;
    poster->count--;
    return note;
}

static void put_back(struct poster *poster, struct span note)
{
    if (poster->count == QUEUE_NOTES || poster->stopping) {
        atomic_fetch_add(&poster->dropped, 1);
        mem_free((void *)(uintptr_t)note.at);
        return;
    }
    poster->first = (poster->first + QUEUE_NOTES - 1) % QUEUE_NOTES;
    poster->queue[poster->first] = note;
    poster->count++;
}

static void run(void *argument)
{
    struct poster *poster = argument;
    unsigned pause_ms = PAUSE_MIN_MS;
    bool complained = false;

    sandbox_narrow(SANDBOX_POSTER);
    (void)resolver_wait(poster->resolver, NAME_WAIT_MS);
    (void)pthread_mutex_lock(&poster->lock);
    while (!poster->stopping || poster->count > 0) {
        struct why why = {""};
        struct span note;
        enum code code;

        if (poster->count == 0) {
            (void)pthread_cond_wait(&poster->changed, &poster->lock);
            continue;
        }
        note = take(poster);
        (void)pthread_mutex_unlock(&poster->lock);
        code = post(poster, note, &why);
        (void)pthread_mutex_lock(&poster->lock);
        if (code == CODE_OK) {
            mem_free((void *)(uintptr_t)note.at);
            atomic_fetch_add(&poster->posted, 1);
            if (complained)
                log_info("app", "checkpoints get through to %s again", poster->server.host);
            complained = false;
            pause_ms = PAUSE_MIN_MS;
            continue;
        }
        atomic_fetch_add(&poster->failed, 1);
        if (!complained)
            log_warn("app", "a checkpoint could not be posted: %s; trying again", why.text);
        complained = true;
        put_back(poster, note);
        pause_for(poster, pause_ms);
        pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
    }
    (void)pthread_mutex_unlock(&poster->lock);
}

enum code poster_start(struct poster *poster, struct why *why)
{
    const struct resolver_conf how = {0};
    struct resolve_name name = {.port = poster->server.port};
    enum code code;

    (void)snprintf(name.host, sizeof name.host, "%s", poster->server.host);
    code = resolver_new(&poster->resolver, &how, &name, 1, why);
    return code == CODE_OK ? thread_start(&poster->thread, "poster", run, poster, why) : code;
}

void poster_free(struct poster **out)
{
    struct poster *poster = *out;

    if (poster == NULL)
        return;
    (void)pthread_mutex_lock(&poster->lock);
    poster->stopping = true;
    (void)pthread_cond_broadcast(&poster->changed);
    (void)pthread_mutex_unlock(&poster->lock);
    thread_join(&poster->thread);
    resolver_free(&poster->resolver);
    for (; poster->count > 0; poster->count--, poster->first = (poster->first + 1) % QUEUE_NOTES)
        mem_free((void *)(uintptr_t)poster->queue[poster->first].at);
    proxy_upstream_fini(&poster->server);
    arena_fini(&poster->arena);
    (void)pthread_cond_destroy(&poster->changed);
    (void)pthread_mutex_destroy(&poster->lock);
    mem_free(poster);
    *out = NULL;
}

void poster_gauges(struct poster *poster, struct poster_gauges *gauges)
{
    *gauges = (struct poster_gauges){0};
    if (poster == NULL)
        return;
    (void)pthread_mutex_lock(&poster->lock);
    gauges->waiting = poster->count;
    (void)pthread_mutex_unlock(&poster->lock);
    gauges->posted = atomic_load(&poster->posted);
    gauges->failed = atomic_load(&poster->failed);
    gauges->dropped = atomic_load(&poster->dropped);
}
