/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/asker.h"

#include "base/log.h"
#include "base/mem.h"
#include "fleet/courier_end.h"
#include "os/clock.h"
#include "os/sandbox.h"
#include "os/thread.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#define SEND_WAIT_MS 1000

struct asker {
    struct gate_shared *shared;
    struct wishes *wishes;
    struct loop *loop;
    struct inbox inbox;       /* something was wished, or it is to stop */
    struct loop_watch watch;
    struct thread thread;
    int fd;
    bool is_over, has_inbox;
    atomic_bool begins_anew;
    struct fleet_wish wish;   /* that is sent next */
    struct fleet_told told;
};

/* ---- wishes ---- */

/* Where the socket is full, the rest waits until there is room. */
static void send_wishes(struct asker *asker)
{
    struct fleet_wish *wish = &asker->wish;

    while (wish->count > 0 || (wish->count = wishes_next(asker->wishes, &wish->ticket, wish->takes)) > 0) {
        size_t bytes = offsetof(struct fleet_wish, takes) + wish->count * sizeof wish->takes[0];

        wish->kind = FLEET_WISH;
        if (send(asker->fd, wish, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EAGAIN) {
            loop_watch_want(asker->loop, &asker->watch, LOOP_READ | LOOP_WRITE);
            return;
        }
        wish->count = 0;
    }
    loop_watch_want(asker->loop, &asker->watch, LOOP_READ);
}

/* ---- what this node has used ---- */

static bool send_told(struct asker *asker, bool ends)
{
    struct fleet_told *told = &asker->told;
    struct pollfd room = {.fd = asker->fd, .events = POLLOUT};
    bool is_sent;

    told->kind = FLEET_TOLD;
    told->ends = ends;
    is_sent = poll(&room, 1, SEND_WAIT_MS) == 1 &&
              send(asker->fd, told, offsetof(struct fleet_told, uses) + told->count * sizeof told->uses[0],
                   MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
    told->begins = false;
    told->count = 0;
    return is_sent;
}

static bool send_part(struct asker *asker, uint32_t part, struct buf *known)
{
    bool goes_on = true;

    buf_clear(known);
    gate_write_uses(asker->shared, part, known);
    goes_on = buf_code(known) == CODE_OK;
    for (size_t at = 0; goes_on && at < buf_len(known); at += sizeof(struct wish_told)) {
        memcpy(&asker->told.uses[asker->told.count++], buf_peek(known).at + at, sizeof(struct wish_told));
        if (asker->told.count == FLEET_TOLD_MAX)
            goes_on = send_told(asker, false);
    }
    return goes_on;
}

/* A gate that does not know yet what was called before is asked again. */
static void send_uses(struct asker *asker)
{
    struct buf known;
    bool goes_on = !gate_is_starting(asker->shared);

    buf_init(&known, SIZE_MAX / 2);
    asker->told.begins = true;
    asker->told.count = 0;
    for (uint32_t part = 0; goes_on && part < TALLY_PARTS; part++)
        goes_on = send_part(asker, part, &known);
    if (goes_on && send_told(asker, true))
        log_info("fleet", "the centre lacked what this node has used of limits: it was told");
    buf_fini(&known);
}

/* ---- what the courier says ---- */

/* What is no message is the sentence of a process that could not become the courier. */
void asker_hear(const void *bytes, long got, struct why *why)
{
    const struct fleet_message *message = bytes;
    bool is_whole = got == (long)sizeof *message && message->kind == FLEET_BEGUN;

    if (got <= 0)
        (void)why_set(why, CODE_IO, "the process between this gate and its fleet did not begin");
    else if (!is_whole || message->text[0] != '\0')
        (void)why_set(why, CODE_INVALID, "%.*s", is_whole ? (int)sizeof message->text - 1 : (int)got - 1,
                      is_whole ? message->text : (const char *)bytes);
}

static void hear_other(struct asker *asker, const void *message, long got)
{
    struct why fault = {""};

    asker_hear(message, got, &fault);
    if (fault.text[0] != '\0') {
        log_error("fleet", "%s", fault.text);
        return;
    }
    log_warn("fleet", "the process between this gate and its fleet had ended, and was started again");
    atomic_store(&asker->begins_anew, true);
}

bool asker_begins_anew(struct asker *asker)
{
    return atomic_exchange(&asker->begins_anew, false);
}

static void readable(void *context, unsigned ready)
{
    struct asker *asker = context;
    union {
        enum fleet_kind kind;
        struct fleet_message message;
        struct fleet_answer answer;
    } said;
    ssize_t got = 0;

    if (ready & LOOP_WRITE)
        send_wishes(asker);
    while (!asker->is_over && (got = recv(asker->fd, &said, sizeof said, MSG_DONTWAIT)) > 0) {
        if (got == (ssize_t)sizeof said.answer && said.kind == FLEET_ANSWER && said.answer.answer.count <= WISH_STEPS_MAX)
            wishes_answer(asker->wishes, &said.answer.answer);
        else if (got == (ssize_t)sizeof said.message && said.kind == FLEET_TELL)
            send_uses(asker);
        else
            hear_other(asker, &said, got);
    }
    if (got != 0 || asker->is_over)
        return;
    hear_other(asker, &said, 0);
    loop_watch_remove(asker->loop, &asker->watch);
    asker->is_over = true;
}

static void poked(void *context)
{
    struct asker *asker = context;

    if (!asker->is_over)
        send_wishes(asker);
}

static void wished(void *context)
{
    struct asker *asker = context;

    inbox_poke(&asker->inbox);
}

static void carry(void *argument)
{
    struct asker *asker = argument;

    sandbox_narrow(SANDBOX_MAIN);
    while (!atomic_load(&asker->thread.is_stopping) && loop_turn(asker->loop, -1) == CODE_OK)
        ;
}

/* ---- life ---- */

enum code asker_new(struct gate_shared *shared, int fd, struct asker **out, struct why *why)
{
    struct asker *asker = mem_zalloc(sizeof *asker);
    enum code code = asker != NULL ? loop_new(&asker->loop) : CODE_NOMEM;

    *out = asker;
    if (code == CODE_OK) {
        asker->shared = shared;
        asker->wishes = gate_wishes_of(shared);
        asker->fd = fd;
        loop_watch_init(&asker->watch, fd, readable, asker);
        code = inbox_init(&asker->inbox, asker->loop, poked, asker);
        asker->has_inbox = code == CODE_OK;
    }
    if (code == CODE_OK)
        code = loop_watch_begin(asker->loop, &asker->watch, LOOP_READ);
    if (code != CODE_OK)
        return why_set(why, code, "the gate cannot ask its fleet: %s", code_text(code));
    wishes_carry(asker->wishes, wished, asker);
    return CODE_OK;
}

enum code asker_run(struct asker *asker, struct why *why)
{
    return thread_start(&asker->thread, "asker", carry, asker, why);
}

void asker_free(struct asker **asker)
{
    struct asker *gone = *asker;

    *asker = NULL;
    if (gone == NULL)
        return;
    atomic_store(&gone->thread.is_stopping, true);
    if (gone->has_inbox)
        inbox_poke(&gone->inbox);
    thread_join(&gone->thread);
    if (gone->has_inbox)
        inbox_fini(&gone->inbox);
    if (gone->loop != NULL && !gone->is_over)
        loop_watch_remove(gone->loop, &gone->watch);
    if (gone->loop != NULL)
        loop_free(&gone->loop);
    mem_free(gone);
}
