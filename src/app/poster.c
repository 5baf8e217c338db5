/* SPDX-License-Identifier: Apache-2.0 */
#include "app/poster.h"

#include "app/dialogue.h"
#include "base/log.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "crypto/secret.h"
#include "os/clock.h"
#include "os/sock.h"
#include "os/resolve.h"
#include "os/sandbox.h"
#include "os/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define QUEUE_TEXTS 64
#define PAUSE_MIN_MS 1000
#define PAUSE_MAX_MS 60000
#define NAME_WAIT_MS 3000

struct text {
    struct span bytes; /* allocated */
    int64_t number;
    unsigned failed;   /* attempts */
};

struct poster {
    struct arena arena;
    struct poster_conf conf;
    struct proxy_upstream server;
    struct resolver *resolver; /* NULL: it is dialled */
    struct thread thread;
    pthread_mutex_t lock; /* what follows, up to the empty line */
    pthread_cond_t changed;
    struct text queue[QUEUE_TEXTS]; /* a ring */
    size_t first, count;
    bool stopping;

    _Atomic uint64_t posted, failed, dropped;
    _Atomic int64_t settled;
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
    if (code == CODE_OK)
        code = copy(&poster->arena, from->command, &to->command);
    for (size_t i = 0; i < from->header_count && code == CODE_OK; i++) {
        code = copy(&poster->arena, from->headers[i].name, &headers[i].name);
        if (code == CODE_OK)
            code = copy_secret(from->headers[i].value, &headers[i].value);
    }
    to->host = code == CODE_OK ? host.at : NULL;
    to->tls = from->tls != NULL ? tls_ref(from->tls) : NULL;
    return code;
}

enum code poster_new(const struct poster_conf *conf, struct poster **out, struct why *why)
{
    struct poster *poster = mem_zalloc(sizeof *poster);
    pthread_condattr_t attributes;
    enum code code;

    *out = poster;
    if (poster == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory to post %ss", conf->what);
    poster->conf = *conf;
    poster->conf.key = SPAN_NONE;
    poster->conf.server = NULL; /* the copy is used */
    arena_init(&poster->arena, 1 << 20);
    (void)pthread_mutex_init(&poster->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&poster->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    code = copy_server(poster, conf->server);
    if (code == CODE_OK && conf->key.len > 0)
        code = copy_secret(conf->key, &poster->conf.key);
    return code == CODE_OK ? code : why_set(why, code, "not enough memory to post %ss", conf->what);
}

/* ---- the queue, under its lock ---- */

static struct text take_first(struct poster *poster)
{
    struct text text = poster->queue[poster->first];

    poster->first = (poster->first + 1) % QUEUE_TEXTS;
    poster->count--;
    return text;
}

static void drop(struct poster *poster, struct text text)
{
    mem_free((void *)(uintptr_t)text.bytes.at);
    atomic_fetch_add(&poster->dropped, 1);
}

static bool add(struct poster *poster, struct span text, int64_t number)
{
    char *bytes = mem_dup(text.at, text.len);
    bool fits;

    (void)pthread_mutex_lock(&poster->lock);
    if (poster->count == QUEUE_TEXTS && poster->conf.keeps_newest && bytes != NULL)
        drop(poster, take_first(poster));
    /* Of what must not fall out, the one under way has a place to come back to. */
    fits = bytes != NULL && poster->count + !poster->conf.keeps_newest < QUEUE_TEXTS;
    if (fits)
        poster->queue[(poster->first + poster->count++) % QUEUE_TEXTS] = (struct text){span_of(bytes, text.len), number, 0};
    (void)pthread_cond_signal(&poster->changed);
    (void)pthread_mutex_unlock(&poster->lock);
    if (!fits)
        mem_free(bytes);
    return fits;
}

void poster_put(void *context, struct span text)
{
    struct poster *poster = context;

    if (!add(poster, text, 0))
        atomic_fetch_add(&poster->dropped, 1);
}

bool poster_offer(struct poster *poster, struct span text, int64_t number)
{
    return add(poster, text, number);
}

int64_t poster_settled(struct poster *poster)
{
    return atomic_load(&poster->settled);
}

/* Holding the lock. */
static void pause_for(struct poster *poster, unsigned pause_ms)
{
    int64_t until_us = clock_monotonic_us() + (int64_t)pause_ms * 1000;
    const struct timespec until = {.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};

    while (!poster->stopping && pthread_cond_timedwait(&poster->changed, &poster->lock, &until) == 0)
        continue; /* a further text does not make the server any better */
}

/* The oldest, or at the end the newest. Another may be put meanwhile, so it is taken out first. */
static struct text take(struct poster *poster)
{
    while (poster->stopping && poster->count > 1)
        mem_free((void *)(uintptr_t)take_first(poster).bytes.at);
    return take_first(poster);
}

static void put_back(struct poster *poster, struct text text)
{
    if (poster->count == QUEUE_TEXTS || poster->stopping) {
        drop(poster, text);
        return;
    }
    poster->first = (poster->first + QUEUE_TEXTS - 1) % QUEUE_TEXTS;
    poster->queue[poster->first] = text;
    poster->count++;
}

/* ---- one post ---- */

#define MORE_HEADERS 3
#define SIGNATURE_BYTES (sizeof "v1=" + (size_t)2 * DIGEST_BYTES)

/* When it was sent is signed with it, so that who reads it sees a replay. */
struct proof {
    struct proxy_header headers[MORE_HEADERS];
    size_t count;
    char time[24], signature[SIGNATURE_BYTES], caller[(size_t)2 * DIGEST_BYTES];
};

static enum code sign(const struct poster *poster, struct span text, struct proof *proof)
{
    int len = snprintf(proof->time, sizeof proof->time, "%lld", (long long)(clock_wall_us() / 1000000));
    unsigned char mac[DIGEST_BYTES];
    struct buf signed_text;
    enum code code;

    buf_init(&signed_text, text.len + sizeof proof->time + 1);
    buf_addf(&signed_text, "%s.", proof->time);
    code = buf_add_span(&signed_text, text);
    if (code == CODE_OK)
        code = hmac_of(poster->conf.key, buf_peek(&signed_text), mac);
    buf_fini(&signed_text);
    if (code != CODE_OK)
        return code;
    memcpy(proof->signature, "v1=", 3);
    num_hex(mac, sizeof mac, proof->signature + 3);
    proof->headers[0] = (struct proxy_header){SPAN_LIT("X-Callgate-Timestamp"), span_of(proof->time, (size_t)len)};
    proof->headers[1] = (struct proxy_header){SPAN_LIT("X-Callgate-Signature"), span_of(proof->signature, SIGNATURE_BYTES - 1)};
    proof->count = 2;
    return CODE_OK;
}

static enum code send_to(struct poster *poster, const struct sock_address *address, int connected, struct span text,
                         struct why *why)
{
    const struct sock_address nowhere = {0};
    struct proof proof = {.count = 0};
    struct dialogue dialogue;
    enum code code = poster->conf.key.len > 0 ? sign(poster, text, &proof) : CODE_OK;

    if (connected > 0) { /* who starts commands asks for whom: for nobody's call */
        memset(proof.caller, '0', sizeof proof.caller);
        proof.headers[proof.count++] = (struct proxy_header){SPAN_LIT("X-Callgate-Caller"),
                                                             span_of(proof.caller, sizeof proof.caller)};
    }
    dialogue_init(&dialogue, &poster->server, address != NULL ? address : &nowhere);
    dialogue.wait_us = poster->conf.wait_us;
    dialogue.connected = connected;
    dialogue.more = proof.headers;
    dialogue.more_count = proof.count;
    if (code == CODE_OK)
        code = dialogue_send(&dialogue, poster->conf.media, text, why);
    else
        why_set(why, code, "not enough memory to sign it");
    dialogue_fini(&dialogue);
    return code;
}

static enum code dial(struct poster *poster, struct span text, struct why *why)
{
    int fd;

    if (poster->conf.dial(poster->conf.context, poster->server.command, &fd) != CODE_OK)
        return why_set(why, CODE_IO, "the process that starts commands takes nothing");
    return send_to(poster, NULL, fd, text, why);
}

static enum code post(struct poster *poster, struct span text, struct why *why)
{
    const struct proxy_upstream *server = &poster->server;
    struct resolve_table *names;
    const struct sock_address *address;
    size_t count;
    enum code code;

    if (poster->conf.dial != NULL)
        return dial(poster, text, why);
    names = resolver_table(poster->resolver);
    address = resolve_find(names, span_text(server->host), server->port, &count);
    code = why_set(why, CODE_IO, "%s cannot be resolved", server->host);
    for (size_t i = 0; i < count && code != CODE_OK; i++)
        code = send_to(poster, &address[i], 0, text, why);
    resolve_table_unref(&names);
    return code;
}

/* ---- the thread ---- */

struct mood {
    unsigned pause_ms;
    bool complained;
};

static void settle(struct poster *poster, struct mood *mood, struct text text)
{
    mem_free((void *)(uintptr_t)text.bytes.at);
    atomic_fetch_add(&poster->posted, 1);
    atomic_store(&poster->settled, text.number);
    if (mood->complained)
        log_info("app", "%ss get through to %s again", poster->conf.what, poster->server.host);
    *mood = (struct mood){.pause_ms = PAUSE_MIN_MS};
}

static void try_again(struct poster *poster, struct mood *mood, struct text text, const struct why *why)
{
    text.failed++;
    atomic_fetch_add(&poster->failed, 1);
    if (poster->conf.tries != 0 && text.failed >= poster->conf.tries) {
        log_error("app", "%s %lld could not be posted and is given up after %u attempts: %s", poster->conf.what,
                  (long long)text.number, text.failed, why->text);
        atomic_store(&poster->settled, text.number);
        drop(poster, text);
    } else {
        if (!mood->complained)
            log_warn("app", "a %s could not be posted: %s; trying again", poster->conf.what, why->text);
        put_back(poster, text);
    }
    mood->complained = true;
    pause_for(poster, mood->pause_ms);
    mood->pause_ms = mood->pause_ms * 2 < PAUSE_MAX_MS ? mood->pause_ms * 2 : PAUSE_MAX_MS;
}

static void run(void *argument)
{
    struct poster *poster = argument;
    struct mood mood = {.pause_ms = PAUSE_MIN_MS};

    sandbox_narrow(SANDBOX_POSTER);
    if (poster->resolver != NULL)
        (void)resolver_wait(poster->resolver, NAME_WAIT_MS);
    (void)pthread_mutex_lock(&poster->lock);
    while (!poster->stopping || (poster->count > 0 && poster->conf.keeps_newest)) {
        struct why why = {""};
        struct text text;
        enum code code;

        if (poster->count == 0) {
            (void)pthread_cond_wait(&poster->changed, &poster->lock);
            continue;
        }
        text = take(poster);
        (void)pthread_mutex_unlock(&poster->lock);
        code = post(poster, text.bytes, &why);
        (void)pthread_mutex_lock(&poster->lock);
        if (code == CODE_OK)
            settle(poster, &mood, text);
        else
            try_again(poster, &mood, text, &why);
    }
    (void)pthread_mutex_unlock(&poster->lock);
}

enum code poster_start(struct poster *poster, struct why *why)
{
    const struct resolver_conf how = {0};
    struct resolve_name name = {.port = poster->server.port};
    enum code code = CODE_OK;

    if (poster->conf.dial == NULL) {
        (void)snprintf(name.host, sizeof name.host, "%s", poster->server.host);
        code = resolver_new(&poster->resolver, &how, &name, 1, why);
    }
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
    while (poster->count > 0)
        mem_free((void *)(uintptr_t)take_first(poster).bytes.at);
    secret_free((void *)(uintptr_t)poster->conf.key.at, poster->conf.key.len);
    proxy_upstream_fini(&poster->server);
    arena_fini(&poster->arena);
    (void)pthread_cond_destroy(&poster->changed);
    (void)pthread_mutex_destroy(&poster->lock);
    mem_free(poster);
    *out = NULL;
}

void poster_gauges(struct poster *poster, struct poster_gauges *gauges)
{
    if (poster == NULL)
        return;
    (void)pthread_mutex_lock(&poster->lock);
    gauges->waiting += poster->count;
    (void)pthread_mutex_unlock(&poster->lock);
    gauges->posted += atomic_load(&poster->posted);
    gauges->failed += atomic_load(&poster->failed);
    gauges->dropped += atomic_load(&poster->dropped);
}
