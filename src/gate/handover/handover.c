/* SPDX-License-Identifier: Apache-2.0 */
#include "handover/handover.h"

#include "audit/writer.h"
#include "base/log.h"
#include "base/mem.h"
#include "files/files.h"
#include "os/clock.h"
#include "os/local.h"
#include "os/service.h"
#include "os/signal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LOCK_PAUSE_MS 50
#define TAKE_PAUSE_MS 2 /* calls wait for the lock then */
#define LOG_GAP_US INT64_C(60000000) /* a command may come as often as it likes, and is not to fill the log */

/* ---- to the next gate ---- */

static enum code hand_sockets(const struct handover *handover, int to)
{
    const struct handover_conf *conf = &handover->conf;
    struct service_sockets sockets = {.count = 0};
    struct handover_offer offer = {.magic = HANDOVER_MAGIC, .version = CALLGATE_VERSION, .pid = (uint32_t)getpid(),
                                   .drain_ms = conf->drain_ms, .linger_ms = conf->linger_ms};
    struct proxy_gauges gauges;
    enum code code = CODE_OK;

    proxy_gauges(conf->proxy, &gauges);
    offer.connections = gauges.connections;
    offer.in_flight = gauges.in_flight;
    offer.streams = gauges.streams;
    proxy_sockets(conf->proxy, &sockets);
    if (conf->admin != -1 && sockets.count < SERVICE_SOCKETS_MAX)
        sockets.fds[sockets.count++] = conf->admin;
    offer.sockets = (uint32_t)sockets.count;
    for (size_t at = 0; at < sockets.count && code == CODE_OK; at += HANDOVER_SOCKETS) {
        size_t left = sockets.count - at;

        code = local_hand(to, span_of((const char *)&offer, sizeof offer), sockets.fds + at,
                          left < HANDOVER_SOCKETS ? left : HANDOVER_SOCKETS);
    }
    return code;
}

/* Goes on as if nobody had asked: calls wait in the sockets, which this process still has. */
static void serve_again(struct handover *handover)
{
    log_warn("app", "process %" PRIu32 ", which was to take over, has ended; serving on", handover->heir);
    handover->asker = -1; /* not closed: a worker may be writing to it */
    handover->heir = 0;
    handover_pause(handover, false);
    handover->conf.again(handover->conf.context);
}

static void asked(void *context, unsigned ready)
{
    struct handover *handover = context;
    struct handover_request request;
    ssize_t got = recv(handover->asker, &request, sizeof request, MSG_DONTWAIT);

    (void)ready;
    if (got == -1 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got == (ssize_t)sizeof request && handover->heir == 0) {
        log_info("app", "process %" PRIu32 " takes over", request.pid);
        handover->heir = request.pid;
        handover->conf.begin(handover->conf.context);
        return;
    }
    loop_watch_remove(handover->conf.loop, &handover->asked); /* whoever asked has gone */
    if (handover->heir == 0)
        sock_close(&handover->asker);
    else
        serve_again(handover);
}

static void forget(struct handover *handover)
{
    if (handover->asker != -1)
        loop_watch_remove(handover->conf.loop, &handover->asked);
    sock_close(&handover->asker);
}

static char *place_of(const char *audit, const char *behind)
{
    size_t size = strlen(audit) + strlen(behind) + 1;
    char *path = mem_alloc(size);

    if (path != NULL)
        (void)snprintf(path, size, "%s%s", audit, behind);
    return path;
}

/* Whether the descriptor is the audit's lock, opened to be written. */
static bool is_lock(const struct handover *handover, int fd)
{
    char *path = place_of(handover->audit, FILES_LOCK);
    struct stat shown, own;
    bool is_it = path != NULL && fstat(fd, &shown) == 0 && stat(path, &own) == 0 && shown.st_dev == own.st_dev &&
                 shown.st_ino == own.st_ino && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;

    mem_free(path);
    return is_it;
}

static void log_refused(struct handover *handover, enum code code)
{
    int64_t now_us = loop_now_us(handover->conf.loop);

    if (handover->told_us != 0 && now_us - handover->told_us < LOG_GAP_US)
        return;
    handover->told_us = now_us;
    log_warn("app", "somebody asked for the listening sockets and did not get them: %s", code_text(code));
}

/* The last who may take over counts, so that one who hangs keeps nobody out. Takes: way: his stream, which is kept. */
static void expect(struct handover *handover, int way)
{
    if (handover->asker != -1) /* or he could get the lock before the other, who gets the idle connections */
        (void)send(handover->asker, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    forget(handover);
    handover->asker = way;
    loop_watch_init(&handover->asked, way, asked, handover);
    if (loop_watch_begin(handover->conf.loop, &handover->asked, LOOP_READ) != CODE_OK)
        sock_close(&handover->asker);
}

/* Reads one message, whoever sent it: the next one is another turn's, so that many hold nobody else up. */
static void shown(void *context, unsigned ready)
{
    struct handover *handover = context;
    char magic[sizeof HANDOVER_MAGIC] = "";
    int fds[2] = {-1, -1}; /* the lock, and the stream */
    size_t count = 2;
    bool looks;
    enum code code = local_take_handed(handover->listener, magic, sizeof magic, fds, &count);

    (void)ready;
    if (code == CODE_BUSY)
        return;
    looks = memcmp(magic, HANDOVER_LOOKS, sizeof magic) == 0;
    if (code == CODE_OK && ((!looks && memcmp(magic, HANDOVER_MAGIC, sizeof magic) != 0) || count != 2 ||
                            !is_lock(handover, fds[0])))
        code = CODE_DENIED;
    if (code == CODE_OK)
        code = hand_sockets(handover, fds[1]);
    if (code != CODE_OK)
        log_refused(handover, code);
    local_drop(&fds[0]);
    if (code == CODE_OK && !looks)
        expect(handover, fds[1]);
    else
        local_drop(&fds[1]);
}

static enum code listen_there(struct handover *handover, struct why *why)
{
    char *path = place_of(handover->audit, FILES_HANDOVER);
    enum code code;

    if (path == NULL)
        return CODE_NOMEM;
    code = strlen(path) < sizeof ((struct sockaddr_un *)NULL)->sun_path
               ? local_receive(path, "audit", 0600, &handover->listener, why)
               : why_set(why, CODE_LIMIT, "%s is longer than a socket's path may be", path);
    mem_free(path);
    if (code != CODE_OK)
        return code;
    loop_watch_init(&handover->listening, handover->listener, shown, handover);
    return loop_watch_begin(handover->conf.loop, &handover->listening, LOOP_READ);
}

void handover_offer(struct handover *handover, const struct handover_conf *conf)
{
    struct why why = {""};
    enum code code;

    handover->conf = *conf;
    handover->audit = mem_dup(conf->audit, strlen(conf->audit)); /* a reload frees the configuration that said it */
    code = handover->audit != NULL ? listen_there(handover, &why) : CODE_NOMEM;
    if (code == CODE_OK)
        return;
    log_warn("app", "`callgate upgrade` will not find this gate: %s", why.text[0] != '\0' ? why.text : code_text(code));
    sock_close(&handover->listener);
}

void handover_pause(struct handover *handover, bool pauses)
{
    if (handover->listener == -1)
        return;
    loop_watch_want(handover->conf.loop, &handover->listening, pauses ? 0 : LOOP_READ);
    if (handover->heir == 0) /* who asks later takes over nothing from who was told to end: that would cut its calls off */
        forget(handover);
}

void handover_end(struct handover *handover)
{
    char *path = handover->listener != -1 ? place_of(handover->audit, FILES_HANDOVER) : NULL, text[32];

    if (handover->listener != -1)
        loop_watch_remove(handover->conf.loop, &handover->listening);
    sock_close(&handover->listener);
    if (path != NULL)
        (void)unlink(path); /* once the audit's lock is given it is the next gate's */
    mem_free(path);
    (void)snprintf(text, sizeof text, "MAINPID=%" PRIu32, handover->heir);
    if (handover->heir != 0)
        service_notify(text);
}

int handover_heir(const struct handover *handover)
{
    return handover->heir != 0 ? handover->asker : -1;
}

/* ---- from the gate before ---- */

static bool lives(int before)
{
    char byte;

    return before > 0 && recv(before, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == -1 && errno == EAGAIN;
}

/* Whether somebody else came to take over: one byte alone says so. */
static bool is_displaced(int before)
{
    char bytes[2];

    return before > 0 && recv(before, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT) == 1;
}

/* Keeps what has come; what there is no room for is closed, as it would have been without this gate. */
static void keep_idle(struct handover *handover)
{
    struct sock_address address;
    size_t count = 1;
    int fd;

    while (handover->before > 0 && !is_displaced(handover->before) &&
           local_take_handed(handover->before, &address, sizeof address, &fd, &count) == CODE_OK) {
        count = 1;
        if (handover->idle_count == handover->idle_max) {
            sock_close(&fd);
            continue;
        }
        handover->idle_at[handover->idle_count] = address;
        handover->idle[handover->idle_count++] = fd;
    }
}

static void say_that_it_waits(const struct handover *handover, const char *audit, uint64_t drain_ms)
{
    const struct handover_request request = {.pid = (uint32_t)getpid()};

    if (handover->before > 0 && send(handover->before, &request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request)
        log_info("app", "taking over from the gate that writes %s", audit);
    else
        log_warn("app", "%s is written by another gate: waiting for its end, for at most %" PRIu64 " s", audit,
                 drain_ms / 1000);
}

static enum code make_room(struct handover *handover)
{
    handover->idle_max = sock_descriptor_limit() / 2;
    handover->idle = mem_array(handover->idle_max, sizeof *handover->idle);
    handover->idle_at = mem_array(handover->idle_max, sizeof *handover->idle_at);
    return handover->idle != NULL && handover->idle_at != NULL ? CODE_OK : CODE_NOMEM;
}

enum code handover_take_lock(struct handover *handover, const char *audit, uint64_t drain_ms, int *lock_fd, bool *is_called_off,
                             struct why *why)
{
    const struct timespec pause = {.tv_nsec = (handover->before > 0 ? TAKE_PAUSE_MS : LOCK_PAUSE_MS) * 1000000L};
    int64_t wait_us = (int64_t)drain_ms * 1000, until_us = clock_monotonic_us() + wait_us;
    bool is_told = false;
    enum code code = handover->before > 0 ? make_room(handover) : CODE_OK;

    if (code != CODE_OK)
        return code;
    while ((code = is_displaced(handover->before)
                       ? why_set(why, CODE_DENIED, "%s: another upgrade has begun and takes over", audit)
                       : audit_hold(audit, lock_fd, why)) == CODE_BUSY && clock_monotonic_us() < until_us) {
        if (!is_told)
            say_that_it_waits(handover, audit, drain_ms);
        is_told = true;
        keep_idle(handover);
        if (lives(handover->before))
            until_us = clock_monotonic_us() + wait_us;
        *is_called_off = signal_is_waiting(SIGTERM) || signal_is_waiting(SIGINT);
        if (*is_called_off)
            return why_set(why, CODE_BUSY, "%s: stopped while another gate still wrote it", audit);
        (void)nanosleep(&pause, NULL);
    }
    return code;
}

void handover_adopt(struct handover *handover, struct proxy *proxy)
{
    keep_idle(handover);
    proxy_adopt(proxy, handover->idle, handover->idle_at, handover->idle_count);
    handover->idle_count = 0;
    handover_fini(handover);
}

/* ---- life ---- */

void handover_init(struct handover *handover, int before_take)
{
    *handover = (struct handover){.before = before_take, .listener = -1, .asker = -1};
}

void handover_fini(struct handover *handover)
{
    while (handover->idle_count > 0)
        sock_close(&handover->idle[--handover->idle_count]);
    mem_free(handover->idle);
    mem_free(handover->idle_at);
    mem_free(handover->audit);
    handover->audit = NULL;
    handover->idle = NULL;
    handover->idle_at = NULL;
    if (handover->before > 0)
        sock_close(&handover->before);
    handover->before = 0;
}
