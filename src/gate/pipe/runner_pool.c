/* SPDX-License-Identifier: Apache-2.0 */
/* The process: which child answers whom, how many there are, and when they end. */
#include "pipe/runner_pool.h"

#include "pipe/child_priv.h"

#include "base/log.h"
#include "base/mem.h"
#include "os/process.h"
#include "os/signal.h"
#include "os/sock.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CALLER_BYTES 65                      /* a digest in hex */
#define SESSIONS_MOST 1024                   /* of a child that is shared */
#define BEAT_US INT64_C(1000000)             /* how often it is looked who is idle, and what the ended have left */
#define LOOKS_AFTER 5                        /* how many looks follow after an end */
#define FAREWELL_US INT64_C(2000000)         /* for children to end by themselves when the gate has gone */

/* A route's children. */
struct lot {
    struct list of_pool;
    char route[LOCAL_NAME_BYTES + 1];
    const struct runner_command *command; /* NULL: it is no longer in the configuration */
    struct list members;
};

/* A child with who it is for. */
struct member {
    struct list of_lot;
    struct lot *lot;
    struct pipe_child *child;
    struct runner_commands *commands;     /* the configuration whose texts it uses */
    char caller[CALLER_BYTES];            /* "": anybody's */
    bool is_modern, is_alone;             /* is_alone: one session's */
    bool is_retired;                      /* it gets no new callers */
    bool is_over;
    struct list sessions;
    size_t session_count;
};

struct session {
    struct list of_member;
    char id[SESSION_BYTES];
    char caller[CALLER_BYTES];
};

struct pool {
    struct desk desk;
    const struct runner_serve *serve;
    struct runner_shared *shared;
    struct runner_commands *commands;
    struct list lots;
    struct loop_watch watch;
    struct loop_timer beat;
    struct signals signals;
    unsigned looks;
    bool is_over;
};

/* ---- sessions ---- */

static void session_free(struct member *member, struct session *session)
{
    list_remove(&session->of_member);
    mem_free(session);
    member->session_count--;
}

static size_t sessions_of(const struct member *member, const char *caller)
{
    struct list *link, *next;
    size_t many = 0;

    LIST_EACH(link, next, &member->sessions)
        many += strcmp(LIST_ENTRY(link, struct session, of_member)->caller, caller) == 0;
    return many;
}

/* Which session ends when there are too many: the caller's oldest own, or where the caller has none, one of a
 * caller who has several. */
static struct session *session_to_end(const struct member *member, const char *caller)
{
    bool has_own = sessions_of(member, caller) > 0;
    struct list *link, *next;

    LIST_EACH(link, next, &member->sessions) {
        struct session *session = LIST_ENTRY(link, struct session, of_member);

        if (has_own ? strcmp(session->caller, caller) == 0 : sessions_of(member, session->caller) > 1)
            return session;
    }
    return LIST_ENTRY(member->sessions.next, struct session, of_member);
}

static struct session *session_new(struct member *member, const char *caller)
{
    struct session *session = mem_zalloc(sizeof *session);

    if (session == NULL)
        return NULL;
    if (member->session_count == SESSIONS_MOST)
        session_free(member, session_to_end(member, caller));
    desk__name_session(session->id);
    memcpy(session->caller, caller, sizeof session->caller);
    list_append(&member->sessions, &session->of_member);
    member->session_count++;
    return session;
}

static bool is_open(const struct member *member)
{
    return !member->is_over && member->child->state == CHILD_RUNS;
}

static struct session *session_find(const struct lot *lot, struct span id, const char *caller, struct member **of)
{
    struct list *link, *next, *one, *after;

    LIST_EACH(link, next, &lot->members) {
        struct member *member = LIST_ENTRY(link, struct member, of_lot);

        LIST_EACH(one, after, &member->sessions) {
            struct session *session = LIST_ENTRY(one, struct session, of_member);

            if (!span_is(id, session->id) || strcmp(session->caller, caller) != 0)
                continue;
            *of = member;
            return is_open(member) ? session : NULL; /* who is asked to end takes no more */
        }
    }
    return NULL;
}

/* ---- children ---- */

static void has_ended(void *context, int status)
{
    struct member *member = context;

    (void)status;
    member->is_over = true;
}

static void count(struct pool *pool, int64_t more)
{
    atomic_fetch_add(&pool->shared->children, (unsigned long long)more);
    atomic_fetch_add(more > 0 ? &pool->shared->starts : &pool->shared->ends, 1);
}

static void member_free(struct pool *pool, struct member *member)
{
    if (member->child != NULL)
        count(pool, -1);
    pipe_child_free(&member->child);
    while (!list_is_empty(&member->sessions))
        session_free(member, LIST_ENTRY(member->sessions.next, struct session, of_member));
    list_remove(&member->of_lot);
    runner_commands_unref(&member->commands);
    mem_free(member);
}

static struct member *member_new(struct pool *pool, struct lot *lot, bool is_alone)
{
    const struct runner_command *command = lot->command;
    struct member *member = mem_zalloc(sizeof *member);
    struct pipe_child_conf conf = {
        .loop = pool->desk.loop, .kind = command->kind, .name = lot->route, .argv = command->argv,
        .environment = command->environment, .values = command->values, .value_count = command->value_count,
        .words = pool->commands, .folder = command->folder, .memory_bytes = command->memory_bytes,
        .cage = command->is_free || pool->commands->cage.count == 0 ? NULL : &pool->commands->cage,
        .line_bytes = command->line_bytes, .is_shared = !is_alone,
        .refuses_questions = command->per == RUNNER_GATE, .is_told = command->is_told, .ended = has_ended, .context = member,
    };
    struct why why = {""};

    if (member == NULL)
        return NULL;
    member->lot = lot;
    member->is_alone = is_alone;
    member->commands = pool->commands;
    ref_take(&member->commands->ref);
    list_init(&member->sessions);
    list_append(&lot->members, &member->of_lot);
    if (child__start(&pool->desk, &conf, &member->child, &why) == CODE_OK) {
        count(pool, 1);
        return member;
    }
    log_line(LOG_ERROR, &(struct log_about){.room = "pipe", .upstream = lot->route}, "%s", why.text);
    member_free(pool, member);
    return NULL;
}

/* Whether somebody waits for its answer. */
static bool is_busy(const struct member *member)
{
    struct list *link, *next;

    LIST_EACH(link, next, &member->child->asks)
        if (LIST_ENTRY(link, struct ask, of_child)->talk != NULL)
            return true;
    return member->child->runs > 0;
}

static void retire(struct member *member)
{
    member->is_retired = true;
    pipe_child_end(member->child);
}

static uint32_t children_of(const struct lot *lot, const char *caller)
{
    struct list *link, *next;
    uint32_t many = 0;

    LIST_EACH(link, next, &lot->members) {
        const struct member *member = LIST_ENTRY(link, struct member, of_lot);

        many += is_open(member) && strcmp(member->caller, caller) == 0;
    }
    return many;
}

/* Whether `member` ends rather than `other`: the caller's own children first, then those of callers who have more than the
 * caller. So nobody drives out others' children by keeping her own at work. */
static bool goes_before(const struct member *member, const struct member *other, const char *caller, uint32_t own)
{
    bool is_own = strcmp(member->caller, caller) == 0, other_is_own = other != NULL && strcmp(other->caller, caller) == 0;

    if (!is_own && (other_is_own || children_of(member->lot, member->caller) <= own))
        return false;
    return other == NULL || is_own != other_is_own || member->child->used_us < other->child->used_us;
}

/* Counts children that were asked to end and have not. Where these are as many as may run, they are killed. */
static uint32_t hurry_ending(const struct lot *lot)
{
    struct list *link, *next;
    uint32_t ending = 0;

    LIST_EACH(link, next, &lot->members)
        ending += LIST_ENTRY(link, struct member, of_lot)->child->state == CHILD_ENDS;
    if (ending >= lot->command->most)
        LIST_EACH(link, next, &lot->members)
            if (LIST_ENTRY(link, struct member, of_lot)->child->state == CHILD_ENDS)
                pipe_child_signal(LIST_ENTRY(link, struct member, of_lot)->child, SIGKILL);
    return ending;
}

/* Makes room for one more child: where there are too many, the one that was idle longest ends, but none that works. */
static bool make_room(struct lot *lot, const char *caller)
{
    uint32_t open = 0, own = children_of(lot, caller), most = lot->command->most;
    struct member *idlest = NULL;
    struct list *link, *next;

    LIST_EACH(link, next, &lot->members)
        open += is_open(LIST_ENTRY(link, struct member, of_lot));
    if (hurry_ending(lot) >= 2 * most)
        return false;
    if (open < most)
        return true;
    LIST_EACH(link, next, &lot->members) {
        struct member *member = LIST_ENTRY(link, struct member, of_lot);

        if (is_open(member) && !is_busy(member) && goes_before(member, idlest, caller, own))
            idlest = member;
    }
    if (idlest == NULL)
        return false;
    log_line(LOG_INFO, &(struct log_about){.room = "pipe", .upstream = lot->route},
             "%u children are the most (`most:`): the one that was idle longest is ended", most);
    retire(idlest);
    return true;
}

/* Finds a child that many may use, of this caller and this era. */
static struct member *find_shared(const struct lot *lot, const char *caller, bool is_modern)
{
    struct list *link, *next;

    LIST_EACH(link, next, &lot->members) {
        struct member *member = LIST_ENTRY(link, struct member, of_lot);

        if (is_open(member) && !member->is_retired && !member->is_alone && member->is_modern == is_modern &&
            strcmp(member->caller, caller) == 0)
            return member;
    }
    return NULL;
}

static void refuse(struct choice *choice, int status, const char *text)
{
    choice->child = NULL;
    choice->status = status;
    choice->text = text;
}

/* ---- who answers ---- */

static void choose_in_session(const struct lot *lot, const struct request *request, struct span id, const char *caller,
                              struct choice *choice)
{
    struct member *member = NULL;
    struct session *session = session_find(lot, id, caller, &member);

    if (session == NULL) {
        refuse(choice, 404, "the session is not known; initialize anew");
        return;
    }
    choice->child = member->child;
    memcpy(choice->session, session->id, sizeof choice->session);
    if (request->head->method != HTTP_METHOD_DELETE)
        return;
    session_free(member, session);
    if (member->is_alone)
        retire(member);
}

static void choose_new(struct pool *pool, struct lot *lot, const struct request *request, const char *caller,
                       struct choice *choice)
{
    enum runner_per per = lot->command->per;
    bool is_alone = per == RUNNER_SESSION && !request->is_modern && lot->command->kind == PIPE_LINES;
    const char *whose = per == RUNNER_GATE || lot->command->kind == PIPE_ONCE ? "" : caller;
    struct member *member = is_alone ? NULL : find_shared(lot, whose, request->is_modern);
    struct session *session;
    bool is_full = member != NULL ? member->child->runs >= lot->command->most : !make_room(lot, whose);

    if (is_full) {
        atomic_fetch_add(&pool->shared->refused, 1);
        refuse(choice, 503, "too many children of this route are at work");
        return;
    }
    if (member == NULL && (member = member_new(pool, lot, is_alone)) == NULL)
        return;
    member->is_modern = request->is_modern;
    memcpy(member->caller, whose, strlen(whose) + 1);
    choice->child = member->child;
    if (!request->is_initialize)
        return;
    session = session_new(member, caller);
    if (session == NULL)
        refuse(choice, 503, "out of memory");
    else
        memcpy(choice->session, session->id, sizeof choice->session);
}

static void choose(void *context, const struct request *request, struct choice *choice)
{
    struct pool *pool = context;
    struct lot *lot = request->tag;
    struct span id = http_head_known(request->head, HTTP_NAME_MCP_SESSION_ID), value = SPAN_NONE;
    char caller[CALLER_BYTES] = "";

    (void)http_head_find(request->head, SPAN_LIT("X-Callgate-Caller"), &value);
    if (value.len != sizeof caller - 1) {
        refuse(choice, 400, "nobody is named as the caller");
        return;
    }
    memcpy(caller, value.at, value.len);
    if (!span_is_empty(id) && !request->is_initialize)
        choose_in_session(lot, request, id, caller, choice);
    else if (lot->command == NULL)
        refuse(choice, 502, "the configuration names no such command any more");
    else if (request->is_initialize || request->is_modern || lot->command->kind == PIPE_ONCE)
        choose_new(pool, lot, request, caller, choice);
    else
        refuse(choice, 400, "a session is missing; initialize first");
}

/* ---- the configuration ---- */

static const struct runner_command *command_of(const struct runner_commands *commands, const char *route)
{
    for (size_t i = 0; i < commands->count; i++)
        if (strcmp(commands->commands[i].route, route) == 0)
            return &commands->commands[i];
    return NULL;
}

static bool same_words(const char *const *a, const char *const *b)
{
    while (*a != NULL && *b != NULL && strcmp(*a, *b) == 0) {
        a++;
        b++;
    }
    return *a == *b; /* the same where both end */
}

static bool same_command(const struct runner_command *a, const struct runner_command *b)
{
    bool is_same = a->value_count == b->value_count &&
                   (a->folder == NULL || b->folder == NULL ? a->folder == b->folder : strcmp(a->folder, b->folder) == 0);

    for (size_t i = 0; is_same && i < a->value_count; i++)
        is_same = a->values[i].at == b->values[i].at && same_command(a->values[i].program, b->values[i].program);
    return is_same && a->kind == b->kind && a->per == b->per && a->memory_bytes == b->memory_bytes &&
           a->line_bytes == b->line_bytes && same_words(a->argv, b->argv) && same_words(a->environment, b->environment);
}

static struct lot *lot_of(struct pool *pool, const char *route)
{
    struct list *link, *next;
    struct lot *lot;

    LIST_EACH(link, next, &pool->lots)
        if (strcmp(LIST_ENTRY(link, struct lot, of_pool)->route, route) == 0)
            return LIST_ENTRY(link, struct lot, of_pool);
    lot = mem_zalloc(sizeof *lot);
    if (lot == NULL)
        return NULL;
    (void)snprintf(lot->route, sizeof lot->route, "%s", route);
    lot->command = command_of(pool->commands, route);
    list_init(&lot->members);
    list_append(&pool->lots, &lot->of_pool);
    return lot;
}

/* Takes a new configuration. Children of commands that have changed get no new callers, and end when nobody needs them,
 * so that sessions can go on. */
static void reload(struct pool *pool)
{
    struct runner_commands *fresh = pool->serve->load(pool->serve->context), *old = pool->commands;
    struct list *link, *next, *one, *after;

    if (fresh == NULL)
        return;
    LIST_EACH(link, next, &pool->lots) {
        struct lot *lot = LIST_ENTRY(link, struct lot, of_pool);
        const struct runner_command *now = command_of(fresh, lot->route);
        bool stays = lot->command != NULL && now != NULL && same_command(lot->command, now);

        LIST_EACH(one, after, &lot->members)
            LIST_ENTRY(one, struct member, of_lot)->is_retired |= !stays;
        lot->command = now;
    }
    pool->commands = fresh;
    runner_commands_unref(&old);
}

/* ---- what is over ---- */

static void end_idle(struct pool *pool, struct member *member)
{
    const struct runner_command *command = member->lot->command;
    int64_t idle_us = command != NULL ? (int64_t)command->idle_ms * 1000 : 0;

    if (!is_open(member) || is_busy(member))
        return;
    if (loop_now_us(pool->desk.loop) - member->child->used_us >= idle_us || (member->is_retired && member->session_count == 0))
        retire(member);
}

/* Waits for processes that a child has left to this one, and kills them after a child's end. Nobody knows whose they were. */
static void mind_strays(struct pool *pool)
{
    struct list *link, *next;
    pid_t known[1024];
    size_t many = 0;

    LIST_EACH(link, next, &pool->desk.children) {
        const struct pipe_child *child = LIST_ENTRY(link, struct pipe_child, of_desk);

        if (many == sizeof known / sizeof known[0])
            return; /* nobody knows whose the others are; they end with their groups */
        if (child->pid > 0)
            known[many++] = child->pid;
    }
    if (pool->looks > 0) {
        pool->looks--;
        process_kill_strays(known, many);
    }
    process_reap_strays(known, many);
}

static void beat(void *context)
{
    struct pool *pool = context;
    struct list *link, *next, *one, *after;

    LIST_EACH(link, next, &pool->lots)
        LIST_EACH(one, after, &LIST_ENTRY(link, struct lot, of_pool)->members) {
            struct member *member = LIST_ENTRY(one, struct member, of_lot);

            if (member->is_over) {
                member_free(pool, member);
                pool->looks = LOOKS_AFTER;
            } else {
                end_idle(pool, member);
            }
        }
    if (pool->desk.run_has_ended)
        pool->looks = LOOKS_AFTER;
    pool->desk.run_has_ended = false;
    mind_strays(pool);
    if (loop_timer_arm(pool->desk.loop, &pool->beat, BEAT_US) != CODE_OK)
        pool->is_over = true; /* nobody would look after the children */
}

/* ---- the process ---- */

static void hear_gate(void *context, unsigned ready)
{
    struct pool *pool = context;
    struct runner_message message;
    enum runner_got got;
    int handed;

    (void)ready;
    while ((got = runner_receive(pool->serve->end, &message, &handed)) == RUNNER_MESSAGE) {
        struct lot *lot;

        message.route[sizeof message.route - 1] = '\0';
        if (message.kind == RUNNER_RELOAD)
            reload(pool);
        lot = handed >= 0 && message.kind == RUNNER_CONNECT ? lot_of(pool, message.route) : NULL;
        if (lot == NULL)
            sock_close(&handed);
        else if (lot->command != NULL && lot->command->kind == PIPE_VALUE)
            value__serve(&pool->desk, lot->command, pool->commands, handed);
        else if (desk__serve(&pool->desk, handed, lot) != CODE_OK)
            log_warn("pipe", "out of memory: a connection to a command is closed");
    }
    if (got == RUNNER_OVER)
        pool->is_over = true;
}

static void guard_died(void *context, int signo)
{
    struct pool *pool = context;

    (void)signo;
    pool->is_over = true;
}

static enum code open_pool(struct pool *pool, struct why *why)
{
    static const int signos[] = {SIGTERM, 0};
    struct loop *loop;
    enum code code = loop_new(&loop);

    if (code != CODE_OK)
        return why_set(why, code, "%s", code_text(code));
    desk__init(&pool->desk, loop, choose, pool);
    list_init(&pool->lots);
    loop_watch_init(&pool->watch, pool->serve->end, hear_gate, pool);
    loop_timer_init(&pool->beat, beat, pool);
    code = loop_watch_begin(loop, &pool->watch, LOOP_READ);
    if (code == CODE_OK)
        code = loop_timer_arm(loop, &pool->beat, BEAT_US);
    return code == CODE_OK ? signals_init(&pool->signals, loop, signos, guard_died, pool, why)
                           : why_set(why, code, "%s", code_text(code));
}

/* Asks children to end, and waits until they have, or FAREWELL_US: the caller kills the rest. Gives all of the pool's back, so
 * that what a sanitizer says of this process's end is a leak. */
static void bid_farewell(struct pool *pool)
{
    int64_t until = loop_now_us(pool->desk.loop) + FAREWELL_US;
    struct list *link, *next, *one, *after;
    bool any = true;

    loop_watch_remove(pool->desk.loop, &pool->watch);
    LIST_EACH(link, next, &pool->desk.children)
        pipe_child_end(LIST_ENTRY(link, struct pipe_child, of_desk));
    while (any && loop_now_us(pool->desk.loop) < until && loop_turn(pool->desk.loop, BEAT_US / 10) == CODE_OK) {
        any = false;
        LIST_EACH(link, next, &pool->desk.children)
            any = any || !pipe_child_is_over(LIST_ENTRY(link, struct pipe_child, of_desk));
    }
    LIST_EACH(link, next, &pool->lots) {
        LIST_EACH(one, after, &LIST_ENTRY(link, struct lot, of_pool)->members)
            member_free(pool, LIST_ENTRY(one, struct member, of_lot));
        mem_free(LIST_ENTRY(link, struct lot, of_pool));
    }
    runner_commands_unref(&pool->commands);
    desk__fini(&pool->desk);
    loop_free(&pool->desk.loop);
}

void runner_serve(const struct runner_serve *serve)
{
    struct pool pool = {.serve = serve, .shared = serve->shared, .commands = serve->commands_take};
    struct why why = {""};
    enum code code = open_pool(&pool, &why);

    (void)sock_descriptor_limit(); /* four a child, so that those of one route do not use up another's */
    while (code == CODE_OK && !pool.is_over)
        code = loop_turn(pool.desk.loop, -1);
    if (code != CODE_OK)
        log_error("pipe", "the process that starts commands ends: %s", why.text[0] != '\0' ? why.text : code_text(code));
    else
        bid_farewell(&pool);
    process_kill_all();
}
