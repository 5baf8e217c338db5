/* SPDX-License-Identifier: Apache-2.0 */
/* A thread reads what rules ask of the past, however much it is, so that main goes on to take signals, to answer the admin
 * port and to follow the store. A gate that starts denies calls until all of it is read. A policy that asks for other calls
 * than the one in force comes into force when these are read. */
#include "run/serve_priv.h"

#include "base/bug.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "crypto/secret.h"
#include "os/clock.h"
#include "os/sandbox.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define AGAIN_US 5000000 /* the pause after a failure */
#define KEEP_ROWS 65536     /* the count is kept when so many rows have come, or some rows and so long after the last time */
#define KEEP_US INT64_C(60000000)
#define LOOK_MS 500

enum code serve__past_init(struct serve_past *past, const char *audit)
{
    lock_init(&past->lock);
    lock_sign_init(&past->changed);
    atomic_init(&past->stop, false);
    atomic_init(&past->hurries, false);
    atomic_init(&past->uses_plans, false);
    past->path = mem_dup(audit, strlen(audit));
    return past->path != NULL ? CODE_OK : CODE_NOMEM;
}

enum code serve__past_keeps(struct serve_past *past, const struct conf *conf, const unsigned char key[DIGEST_BYTES])
{
    char mark[STORE_MARK_BYTES], path[PATH_MAX];

    store_audit_place(conf->audit.database, mark);
    if ((size_t)snprintf(path, sizeof path, "%s.past-%s", conf->store, mark) >= sizeof path)
        return CODE_LIMIT;
    past->kept_path = mem_dup(path, strlen(path));
    past->kept_key = secret_copy(key, DIGEST_BYTES);
    return past->kept_path != NULL && past->kept_key != NULL ? CODE_OK : CODE_NOMEM;
}

static void read_past(struct serve *serve)
{
    struct serve_past *past = &serve->past;

    struct audit_gauges gauges;

    audit_gauges(serve->audit, &gauges);
    past->asked.last = gauges.last_seq;
    past->why.text[0] = '\0';
    past->code = past->coming != NULL
                     ? gate_remember_watches(serve->shared, past->coming, &past->asked, &past->remembered, &past->why)
                     : gate_remember(serve->shared, &past->asked, &past->remembered, &past->why);
    past->knows = past->code == CODE_OK;
    if (past->knows && past->coming == NULL)
        past->kept_seq = past->remembered.from;
}

/* Keeps the count where enough rows have come since the last time. Where rules ask nothing of the past, nothing is kept. */
static void keep(struct serve *serve)
{
    struct serve_past *past = &serve->past;
    struct remembering asked = {.path = past->path, .stop = &past->hurries, .now_us = clock_wall_us(),
                                .with_plans = atomic_load(&past->uses_plans),
                                .kept = {.path = past->kept_path, .key = past->kept_key}};
    int64_t now_us = clock_monotonic_us();
    struct audit_gauges gauges;
    struct why why = {""};
    enum code code;

    audit_gauges(serve->audit, &gauges);
    if (!past->knows || gauges.down || gauges.last_seq <= past->kept_seq ||
        (gauges.last_seq - past->kept_seq < KEEP_ROWS && now_us - past->kept_us < KEEP_US))
        return;
    code = gate_remember_keep(serve->shared, &asked, gauges.last_seq, &past->kept_seq, &why);
    if (code == CODE_BUSY && atomic_load(&past->hurries))
        return;
    past->kept_us = now_us;
    past->kept_seq = gauges.last_seq;
    if (code != CODE_OK && strcmp(why.text, past->kept_fault.text) != 0)
        log_warn("app", "%s; the next start reads the audit as far back as rules ask", why.text);
    past->kept_fault = why;
}

static void read_and_keep(void *context)
{
    struct serve *serve = context;
    struct serve_past *past = &serve->past;

    sandbox_narrow(SANDBOX_MAIN);
    while (thread_rest(&past->thread, LOOK_MS)) {
        bool is_asked;

        lock_take(&past->lock);
        is_asked = past->state == PAST_ASKED;
        atomic_store(&past->hurries, atomic_load(&past->stop)); /* who closes asks for it before he stops the thread */
        lock_give(&past->lock);
        if (!is_asked) {
            keep(serve);
            continue;
        }
        read_past(serve);
        lock_take(&past->lock);
        past->state = PAST_READ;
        pthread_cond_broadcast(&past->changed);
        lock_give(&past->lock);
    }
}

enum code serve__start_past(struct serve *serve, struct why *why)
{
    return thread_start(&serve->past.thread, "past", read_and_keep, serve, why);
}

/* Returns: whether it has been read by then. */
static bool wait_for(struct serve_past *past, unsigned wait_ms)
{
    struct timespec until = clock_after_ms(wait_ms);
    bool is_read;

    lock_take(&past->lock);
    while (past->thread.started && past->state == PAST_ASKED)
        if (pthread_cond_timedwait(&past->changed, &past->lock, &until) != 0)
            break;
    is_read = past->state == PAST_READ;
    lock_give(&past->lock);
    return is_read;
}

static void forget(struct serve *serve)
{
    struct serve_past *past = &serve->past;

    if (past->coming != NULL)
        gate_announce_policy(serve->shared, NULL);
    policy_unref(&past->coming);
    lock_take(&past->lock);
    past->state = PAST_IDLE;
    lock_give(&past->lock);
}

/* Ends the reading that is under way, within a row. */
static void halt(struct serve *serve)
{
    struct serve_past *past = &serve->past;

    atomic_store(&past->stop, true);
    lock_take(&past->lock);
    while (past->thread.started && past->state == PAST_ASKED)
        BUG_ON(pthread_cond_wait(&past->changed, &past->lock) != 0);
    lock_give(&past->lock);
    atomic_store(&past->stop, false);
    forget(serve);
}

static bool uses_plans(const struct conf *conf)
{
    for (size_t i = 0; i < conf->proxy->route_count; i++)
        if (conf->proxy->routes[i].plan_keys.count > 0)
            return true;
    return false;
}

/* Takes: coming: NULL: for the version that is published. */
static void ask(struct serve *serve, struct policy *coming)
{
    struct serve_past *past = &serve->past;

    past->coming = coming;
    past->has_failed = false;
    past->asked = (struct remembering){.path = past->path, .stop = &past->stop, .now_us = clock_wall_us(),
                                       .with_plans = uses_plans(serve->conf),
                                       .kept = {.path = past->kept_path, .key = past->kept_key}};
    atomic_store(&past->uses_plans, past->asked.with_plans);
    past->began_us = clock_monotonic_us();
    lock_take(&past->lock);
    atomic_store(&past->hurries, true);
    past->state = PAST_ASKED;
    lock_give(&past->lock);
    thread_poke(&past->thread);
}

void serve__take_version(struct serve *serve, uint64_t version, struct policy *policy)
{
    struct serve_past *past = &serve->past;
    bool knows_past = serve->policy_active != 0 && !past->is_starting;
    struct policy *now = gate_policy(serve->shared);
    bool waits = knows_past && policy != NULL && !policy_watches_all_of(now, policy);

    halt(serve);
    past->is_starting = policy != NULL && !knows_past;
    if (waits) {
        gate_announce_policy(serve->shared, policy);
        past->coming_version = version;
        ask(serve, policy);
    } else {
        gate_hold_back(serve->shared, past->is_starting);
        serve__put_in_force(serve, version, policy);
    }
    if (past->is_starting)
        ask(serve, NULL);
    policy_unref(&now);
    serve__mind_past(serve, PAST_WAIT_MS);
}

bool serve__has_version(struct serve *serve, uint64_t version)
{
    struct serve_past *past = &serve->past;

    if (past->coming != NULL && past->coming_version != version && version == serve->policy_active)
        halt(serve);
    return version == serve->policy_active || (past->coming != NULL && past->coming_version == version);
}

static void log_remembered(const struct serve_past *past)
{
    const struct remembered *remembered = &past->remembered;
    char until[CLOCK_TEXT_BYTES];

    if (remembered->from > 0)
        log_info("app", "what was called up to row %" PRIu64 " was counted and kept before", remembered->from);
    if (remembered->rows > 0)
        log_info("app", "%" PRIu64 " recorded calls count for limits and sequences, of %" PRIu64 " permits and answers that "
                 "were read in %" PRId64 " ms", remembered->calls, remembered->rows,
                 (clock_monotonic_us() - past->began_us) / 1000);
    if (remembered->steps > 0)
        log_info("app", "%" PRIu64 " recorded calls were steps of plans", remembered->steps);
    if (remembered->lacks_room)
        log_warn("app", "there is no room for all plans that were used within a day: plans of then use no more steps");
    clock_text(remembered->gap_us, until);
    if (remembered->gap_us != 0)
        log_warn("app", "files of the audit from before %s are not beside it, and rules ask for calls of then: limits count "
                 "without them, sequences are undecided as long as they reach there, plans of then use no more steps", until);
}

/* Puts the waiting version in force. What could not be read stays unknown for as long as its rules reach back. */
static void take_coming(struct serve *serve)
{
    struct serve_past *past = &serve->past;
    struct policy *policy = policy_ref(past->coming);

    if (past->code != CODE_OK) {
        struct gate_moment moment = {.state = gate_state_of(serve->shared), .now_us = past->asked.now_us};

        log_warn("app", "%s; rules that ask for earlier calls are undecided", past->why.text);
        gate_state_doubt(&moment, policy_memory_us(policy));
    }
    serve__put_in_force(serve, past->coming_version, policy);
    forget(serve);
}

static void end_start(struct serve *serve)
{
    struct serve_past *past = &serve->past;

    forget(serve);
    past->has_failed = past->code != CODE_OK;
    if (past->has_failed) {
        if (strcmp(past->told.text, past->why.text) != 0)
            log_error("app", "%s; calls are denied (`starting`) until it can be read, or the file is taken away",
                      past->why.text);
        past->told = past->why;
        past->again_us = clock_monotonic_us() + AGAIN_US;
        return;
    }
    past->told.text[0] = '\0';
    past->is_starting = false;
    gate_hold_back(serve->shared, false);
    if (past->is_told)
        log_info("app", "calls are judged from here on");
    past->is_told = false;
}

void serve__mind_past(struct serve *serve, unsigned wait_ms)
{
    struct serve_past *past = &serve->past;

    if (wait_for(past, wait_ms)) {
        if (past->code == CODE_OK)
            log_remembered(past);
        if (past->coming != NULL)
            take_coming(serve);
        else
            end_start(serve);
    }
    if (!past->is_starting || !past->thread.started)
        return;
    if (!past->is_told)
        log_info("app", "calls are denied (`starting`) until the audit is read as far back as limits and sequences reach");
    past->is_told = true;
    if (past->has_failed && clock_monotonic_us() >= past->again_us)
        ask(serve, NULL);
}

enum code serve__remember_plans(struct serve *serve, const struct conf *fresh, struct why *why)
{
    const struct remembering asked = {.path = fresh->audit.database, .now_us = clock_wall_us()};
    struct serve_past read = {.began_us = clock_monotonic_us()};
    enum code code;

    if (serve->policy_active == 0 || serve->past.is_starting || !uses_plans(fresh))
        return CODE_OK; /* it is read with the rest */
    atomic_store(&serve->past.uses_plans, true);
    code = gate_remember_plans(serve->shared, &asked, &read.remembered, why);
    if (code == CODE_OK)
        log_remembered(&read);
    return code;
}

void serve__past_reloaded(struct serve *serve)
{
    struct serve_past *past = &serve->past;

    if (!past->is_starting || past->asked.with_plans == uses_plans(serve->conf))
        return;
    halt(serve);
    ask(serve, NULL);
}

void serve__close_past(struct serve *serve)
{
    struct serve_past *past = &serve->past;

    atomic_store(&past->stop, true);
    lock_take(&past->lock);
    atomic_store(&past->hurries, true);
    lock_give(&past->lock);
    thread_stop(&past->thread);
    policy_unref(&past->coming);
    mem_free(past->path);
    mem_free(past->kept_path);
    secret_free(past->kept_key, DIGEST_BYTES);
    past->path = past->kept_path = NULL;
    past->kept_key = NULL;
    (void)pthread_cond_destroy(&past->changed);
    (void)pthread_mutex_destroy(&past->lock);
}
