/* SPDX-License-Identifier: Apache-2.0 */
#include "post/poster.h"

#include "base/lock.h"
#include "base/log.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "crypto/secret.h"
#include "os/clock.h"
#include "os/pause.h"
#include "os/sandbox.h"
#include "os/sock.h"
#include "os/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define QUEUE_TEXTS 64
#define PAUSE_MIN_MS 1000
#define PAUSE_MAX_MS 60000
#define ANSWER_BYTES 512 /* a longer answer costs the connection */
#define MORE_HEADERS 3
#define CONFLICT 409
#define TOO_LARGE 413

struct text {
    struct span bytes; /* allocated */
    int64_t number;
    unsigned failed;   /* attempts */
};

struct poster {
    struct arena arena;
    struct poster_conf conf;
    struct proxy_upstream server;
    struct span url;      /* empty: it is dialled */
    struct web_header *headers; /* the configured ones, and room for those of each post */
    struct thread thread;
    pthread_mutex_t lock; /* what follows, up to the empty line */
    struct text queue[QUEUE_TEXTS]; /* a ring */
    size_t first, count;

    _Atomic uint64_t posted, failed, dropped;
    _Atomic int64_t settled;
    _Atomic int64_t failing_since_us;
    _Atomic bool is_refuted;
};

static enum code copy_secret(struct span from, struct span *to)
{
    const char *text = secret_copy(from.at, from.len);

    *to = span_of(text, text != NULL ? from.len : 0);
    return text != NULL ? CODE_OK : CODE_NOMEM;
}

static enum code copy_url(struct poster *poster, const struct proxy_upstream *from)
{
    struct buf url;
    enum code code;

    buf_init(&url, 16384);
    buf_add_text(&url, from->tls != NULL ? "https://" : "http://");
    buf_add_span(&url, from->authority);
    code = buf_add_span(&url, from->path);
    if (code == CODE_OK)
        code = arena_keep(&poster->arena, buf_peek(&url), &poster->url);
    buf_fini(&url);
    return code;
}

static struct tls_context *ref_tls(struct tls_context *tls)
{
    return tls != NULL ? tls_ref(tls) : NULL;
}

static enum code copy_server(struct poster *poster, const struct proxy_upstream *from)
{
    struct proxy_upstream *to = &poster->server;
    struct proxy_header *headers = arena_zalloc(&poster->arena, (from->header_count + 1) * sizeof *headers);
    struct span host;
    enum code code;

    poster->headers = arena_zalloc(&poster->arena, (from->header_count + MORE_HEADERS) * sizeof *poster->headers);
    code = headers != NULL && poster->headers != NULL ? arena_keep(&poster->arena, span_text(from->host), &host) : CODE_NOMEM;
    *to = (struct proxy_upstream){.port = from->port, .headers = headers, .header_count = from->header_count};
    if (code == CODE_OK)
        code = arena_keep(&poster->arena, from->command, &to->command);
    if (code == CODE_OK && poster->conf.dial == NULL)
        code = copy_url(poster, from);
    for (size_t i = 0; i < from->header_count && code == CODE_OK; i++) {
        code = arena_keep(&poster->arena, from->headers[i].name, &headers[i].name);
        if (code == CODE_OK)
            code = copy_secret(from->headers[i].value, &headers[i].value);
        poster->headers[i] = (struct web_header){headers[i].name, headers[i].value};
    }
    to->host = code == CODE_OK ? host.at : NULL;
    to->tls = ref_tls(from->tls);
    return code;
}

enum code poster_new(const struct poster_conf *conf, struct poster **out, struct why *why)
{
    struct poster *poster = mem_zalloc(sizeof *poster);
    enum code code;

    *out = poster;
    if (poster == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory to post %ss", conf->what);
    poster->conf = *conf;
    poster->conf.key = SPAN_NONE;
    poster->conf.server = NULL; /* the copy is used */
    arena_init(&poster->arena, 1 << 20);
    lock_init(&poster->lock);
    code = copy_server(poster, conf->server);
    if (code == CODE_OK && conf->key.len > 0)
        code = copy_secret(conf->key, &poster->conf.key);
    return code == CODE_OK ? code : why_set(why, code, "not enough memory to post %ss", conf->what);
}

void poster_renew(struct poster *poster, const struct proxy_upstream *server)
{
    struct tls_context *old;

    if (poster == NULL)
        return;
    lock_take(&poster->lock);
    old = poster->server.tls;
    poster->server.tls = ref_tls(server->tls);
    lock_give(&poster->lock);
    tls_unref(&old);
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

    lock_take(&poster->lock);
    if (poster->count == QUEUE_TEXTS && poster->conf.keeps_newest && bytes != NULL)
        drop(poster, take_first(poster));
    /* Where nothing may fall out, one place is kept for the text under way, which may come back. */
    fits = bytes != NULL && poster->count + !poster->conf.keeps_newest < QUEUE_TEXTS;
    if (fits)
        poster->queue[(poster->first + poster->count++) % QUEUE_TEXTS] = (struct text){span_of(bytes, text.len), number, 0};
    lock_give(&poster->lock);
    thread_poke(&poster->thread);
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

static bool is_stopping(const struct poster *poster)
{
    return atomic_load(&poster->thread.is_stopping);
}

/* Waits without the lock until the thread is poked, or most_ms (-1: however long). Returns: whether the thread is to go on. */
static bool rest(struct poster *poster, int most_ms)
{
    bool goes_on;

    lock_give(&poster->lock);
    goes_on = thread_rest(&poster->thread, most_ms);
    lock_take(&poster->lock);
    return goes_on;
}

/* Waits out the whole time, however many texts are put meanwhile, since none makes the server any better. */
static void pause_for(struct poster *poster, unsigned for_ms)
{
    int64_t until_us = clock_monotonic_us() + (int64_t)pause_ms((int)for_ms) * 1000, left_us;

    while ((left_us = until_us - clock_monotonic_us()) > 0 && rest(poster, (int)(left_us / 1000) + 1))
        continue;
}

/* Takes a text out: the oldest, or at the end the newest. It leaves the queue now, since others may be put meanwhile. */
static struct text take(struct poster *poster)
{
    while (is_stopping(poster) && poster->count > 1)
        mem_free((void *)(uintptr_t)take_first(poster).bytes.at);
    return take_first(poster);
}

static void put_back(struct poster *poster, struct text text)
{
    if (poster->count == QUEUE_TEXTS || is_stopping(poster)) {
        drop(poster, text);
        return;
    }
    poster->first = (poster->first + QUEUE_TEXTS - 1) % QUEUE_TEXTS;
    poster->queue[poster->first] = text;
    poster->count++;
}

/* ---- one post ---- */

#define SIGNATURE_BYTES (sizeof "v1=" + (size_t)2 * DIGEST_BYTES)

/* A signature over the text and the time of sending, so that the reader can see a replay. */
struct proof {
    char time[24], signature[SIGNATURE_BYTES];
};

static enum code sign(const struct poster *poster, struct span text, struct proof *proof)
{
    unsigned char mac[DIGEST_BYTES];
    struct buf signed_text;
    enum code code;

    (void)snprintf(proof->time, sizeof proof->time, "%lld", (long long)(clock_wall_us() / 1000000));
    buf_init(&signed_text, text.len + sizeof proof->time + 1);
    buf_addf(&signed_text, "%s.", proof->time);
    code = buf_add_span(&signed_text, text);
    if (code == CODE_OK)
        hmac_of(poster->conf.key, buf_peek(&signed_text), mac);
    buf_fini(&signed_text);
    if (code != CODE_OK)
        return code;
    memcpy(proof->signature, "v1=", 3);
    num_hex(mac, sizeof mac, proof->signature + 3);
    return CODE_OK;
}

/* Returns: CODE_LIMIT: it is too large for whoever takes it, however often it is sent. */
static enum code check_status(struct poster *poster, int status, struct why *why)
{
    if (status == CONFLICT)
        atomic_store(&poster->is_refuted, true);
    return status / 100 == 2 ? CODE_OK : why_set(why, status == TOO_LARGE ? CODE_LIMIT : CODE_IO, "%s answered HTTP %d",
                                                 poster->server.host, status);
}

static enum code ask_url(struct poster *poster, struct span text, struct why *why)
{
    size_t count = poster->server.header_count;
    struct web_request request = {
        .url = poster->url, .headers = poster->headers, .body = text,
        .wait_us = poster->conf.wait_us, .body_max_bytes = ANSWER_BYTES,
        .insecure = true, /* the configuration has asked for it, or it would have been refused */
    };
    struct web_answer answer = {.code = CODE_OK};
    struct proof proof;
    enum code code = poster->conf.key.len > 0 ? sign(poster, text, &proof) : CODE_OK;

    poster->headers[count++] = (struct web_header){SPAN_LIT("Content-Type"), span_text(poster->conf.media)};
    if (poster->conf.key.len > 0 && code == CODE_OK) {
        poster->headers[count++] = (struct web_header){SPAN_LIT("X-Callgate-Timestamp"), span_text(proof.time)};
        poster->headers[count++] = (struct web_header){SPAN_LIT("X-Callgate-Signature"), span_text(proof.signature)};
    }
    request.header_count = count;
    if (code != CODE_OK)
        return why_set(why, code, "not enough memory to sign it");
    lock_take(&poster->lock);
    request.tls = ref_tls(poster->server.tls);
    lock_give(&poster->lock);
    code = web_fetch(poster->conf.web, &request, &answer, why);
    tls_unref(&request.tls);
    if (answer.status != 0) /* only the status matters, however long the answer is */
        code = check_status(poster, answer.status, why);
    else if (code != CODE_OK)
        code = CODE_IO;
    web_answer_fini(&answer);
    return code;
}

static bool is_ready(int fd, short events, int64_t until_us)
{
    struct pollfd ready = {.fd = fd, .events = events};
    int64_t left_us = until_us - clock_monotonic_us();

    return left_us > 0 && poll(&ready, 1, (int)(left_us / 1000) + 1) > 0;
}

/* Returns: the status, or 0. */
static int converse(const struct poster *poster, int fd, struct span said)
{
    int64_t until_us = clock_monotonic_us() + poster->conf.wait_us;
    char answer[] = "HTTP/1.1 200";
    struct span heard = {answer, 0};
    uint64_t status = 0;
    ssize_t done;

    while (said.len > 0 && is_ready(fd, POLLOUT, until_us)) {
        done = send(fd, said.at, said.len, MSG_NOSIGNAL);
        if (done < 0 && errno != EAGAIN && errno != EINTR)
            return 0;
        said = span_part(said, done > 0 ? (size_t)done : 0, SIZE_MAX);
    }
    while (said.len == 0 && heard.len < sizeof answer - 1 && is_ready(fd, POLLIN, until_us)) {
        done = recv(fd, answer + heard.len, sizeof answer - 1 - heard.len, 0);
        if (done == 0 || (done < 0 && errno != EAGAIN && errno != EINTR))
            return 0;
        heard.len += done > 0 ? (size_t)done : 0;
    }
    return num_u64(span_part(heard, sizeof "HTTP/1.1", SIZE_MAX), &status) == CODE_OK ? (int)status : 0;
}

/* Runs a program by the process that starts commands, which answers when the program has ended. The caller is all
 * zeros: nobody. */
static enum code run_program(struct poster *poster, struct span text, struct why *why)
{
    struct buf said;
    int fd, status;
    enum code code;

    if (poster->conf.dial(poster->conf.context, poster->server.command, &fd) != CODE_OK)
        return why_set(why, CODE_IO, "the process that starts commands takes nothing");
    buf_init(&said, text.len + 512);
    buf_addf(&said, "POST / HTTP/1.1\r\nHost: command\r\nContent-Type: %s\r\nX-Callgate-Caller: %0*d\r\n"
             "Connection: close\r\nContent-Length: %zu\r\n\r\n", poster->conf.media, 2 * DIGEST_BYTES, 0, text.len);
    code = buf_add_span(&said, text);
    status = code == CODE_OK ? converse(poster, fd, buf_peek(&said)) : 0;
    buf_fini(&said);
    sock_close(&fd);
    if (code != CODE_OK)
        return why_set(why, code, "not enough memory");
    if (status == 0)
        return why_set(why, CODE_IO, "%s did not answer in time", poster->server.host);
    return check_status(poster, status, why);
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
    atomic_store(&poster->failing_since_us, 0);
    atomic_store(&poster->is_refuted, false);
    if (mood->complained)
        log_info("app", "%ss get through to %s again", poster->conf.what, poster->server.host);
    *mood = (struct mood){.pause_ms = PAUSE_MIN_MS};
}

static void try_again(struct poster *poster, struct mood *mood, struct text text, const struct why *why)
{
    text.failed++;
    atomic_fetch_add(&poster->failed, 1);
    if (atomic_load(&poster->failing_since_us) == 0)
        atomic_store(&poster->failing_since_us, clock_monotonic_us());
    if (poster->conf.tries != 0 && text.failed >= poster->conf.tries) {
        log_error("app", "%s %lld could not be posted and is given up after %u attempts: %s", poster->conf.what,
                  (long long)text.number, text.failed, why->text);
        atomic_store(&poster->settled, text.number);
        drop(poster, text);
    } else {
        if (!mood->complained)
            log_warn("app", "the next %s could not be posted: %s; trying again", poster->conf.what, why->text);
        put_back(poster, text);
    }
    mood->complained = true;
    pause_for(poster, mood->pause_ms);
    mood->pause_ms = mood->pause_ms * 2 < PAUSE_MAX_MS ? mood->pause_ms * 2 : PAUSE_MAX_MS;
}

/* Whoever has heard of no more of it than that it was too large is there, and takes what comes next. */
static void give_up(struct poster *poster, struct mood *mood, struct text text, const struct why *why)
{
    log_error("app", "%s %lld is too large to be posted, and is given up: %s", poster->conf.what, (long long)text.number,
              why->text);
    atomic_store(&poster->settled, text.number);
    atomic_store(&poster->failing_since_us, 0);
    drop(poster, text);
    *mood = (struct mood){.pause_ms = PAUSE_MIN_MS};
}

static void post_texts(void *argument)
{
    struct poster *poster = argument;
    struct mood mood = {.pause_ms = PAUSE_MIN_MS};

    sandbox_narrow(SANDBOX_POSTER);
    lock_take(&poster->lock);
    while (!is_stopping(poster) || (poster->count > 0 && poster->conf.keeps_newest)) {
        struct why why = {""};
        struct text text;
        enum code code;

        if (poster->count == 0) {
            (void)rest(poster, -1);
            continue;
        }
        text = take(poster);
        lock_give(&poster->lock);
        code = poster->conf.dial != NULL ? run_program(poster, text.bytes, &why) : ask_url(poster, text.bytes, &why);
        lock_take(&poster->lock);
        if (code == CODE_OK)
            settle(poster, &mood, text);
        else if (code == CODE_LIMIT && !poster->conf.keeps_newest) /* a checkpoint is as large as the next */
            give_up(poster, &mood, text, &why);
        else
            try_again(poster, &mood, text, &why);
    }
    lock_give(&poster->lock);
}

enum code poster_start(struct poster *poster, struct why *why)
{
    return thread_start(&poster->thread, "poster", post_texts, poster, why);
}

void poster_free(struct poster **out)
{
    struct poster *poster = *out;

    if (poster == NULL)
        return;
    thread_stop(&poster->thread);
    while (poster->count > 0)
        mem_free((void *)(uintptr_t)take_first(poster).bytes.at);
    secret_free((void *)(uintptr_t)poster->conf.key.at, poster->conf.key.len);
    proxy_upstream_fini(&poster->server);
    arena_fini(&poster->arena);
    (void)pthread_mutex_destroy(&poster->lock);
    mem_free(poster);
    *out = NULL;
}

void poster_gauges(struct poster *poster, struct poster_gauges *gauges)
{
    if (poster == NULL)
        return;
    lock_take(&poster->lock);
    gauges->waiting += poster->count;
    lock_give(&poster->lock);
    gauges->posted += atomic_load(&poster->posted);
    gauges->failed += atomic_load(&poster->failed);
    gauges->dropped += atomic_load(&poster->dropped);
    gauges->failing_since_us = atomic_load(&poster->failing_since_us);
    gauges->is_refuted = atomic_load(&poster->is_refuted);
}
