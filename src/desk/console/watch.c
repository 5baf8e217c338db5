/* SPDX-License-Identifier: Apache-2.0 */
#include "console/watch.h"

#include "base/lock.h"
#include "console/asking.h"
#include "os/clock.h"
#include "os/thread.h"
#include "conf/conf.h"

#define WANTED_US INT64_C(30000000) /* who watches asks more often */
#define PAUSE_MS 2000
#define SOME_US INT64_C(30000000) /* who may see some may wait for what the stream does not tell: he looks as often himself */
#define SOME_MARKS UINT64_C(1000000000)
#define WORDS_BYTES ((size_t)4096)
#define SEES_ALL (PEOPLE_BIT(PEOPLE_APPROVERS) | PEOPLE_BIT(PEOPLE_ADMINS))

static struct {
    pthread_mutex_t lock;
    struct thread thread;
    uint64_t mark;
    int64_t wanted_us;
    struct session session; /* of who watches */
    bool has_one, sees_all, has_ended, is_another; /* has_ended: that login's stream has; is_another: than the stream has */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_wanted(void)
{
    return clock_monotonic_us() - watch.wanted_us < WANTED_US;
}

/* Each of its bytes is a held call's, or a decided one's: that there are more of them is all that is told. */
static bool goes_on(void *context, const struct asking_progress *progress)
{
    size_t *seen = context;
    bool is_on;

    lock_take(&watch.lock);
    watch.mark += progress->bytes != *seen;
    *seen = progress->bytes;
    is_on = is_wanted() && !watch.is_another;
    lock_give(&watch.lock);
    return is_on;
}

static void follow(const struct session *session)
{
    struct words words;
    struct answer answer;
    struct arena arena;
    size_t seen = 0;

    arena_init(&arena, WORDS_BYTES);
    words_begin(&words, &arena);
    words_add_all(&words, "approvals list --json --follow --all");
    asking_give_watched(session, &words, goes_on, &seen, &answer);
    answer_fini(&answer);
    arena_fini(&arena);
}

static void run(void *nothing)
{
    (void)nothing;
    do {
        struct session session;
        bool is_on;

        lock_take(&watch.lock);
        is_on = watch.has_one && is_wanted();
        watch.is_another = false;
        is_on = session_copy(&session, &watch.session) && is_on;
        lock_give(&watch.lock);
        if (is_on)
            follow(&session);
        session_fini(&session);
        lock_take(&watch.lock);
        watch.has_ended = true; /* whoever asks next may be the one */
        lock_give(&watch.lock);
    } while (thread_rest(&watch.thread, PAUSE_MS));
}

/* Takes: the lock. Who sees all takes the place of who sees some, so that nobody waits for what another may not see. */
static void take_login(const struct session *session)
{
    const bool sees_all = (session->roles & SEES_ALL) != 0;

    if (watch.has_one && !watch.has_ended && is_wanted() && (watch.sees_all || !sees_all))
        return;
    if (watch.has_one)
        session_fini(&watch.session);
    watch.has_one = session_copy(&watch.session, session);
    if (!watch.has_one) /* without the login it would be the account's */
        session_fini(&watch.session);
    watch.sees_all = sees_all;
    watch.is_another = true;
    watch.has_ended = false;
}

uint64_t watch_mark(const struct session *session)
{
    struct why why = {""};
    uint64_t mark;

    lock_take(&watch.lock);
    take_login(session);
    watch.wanted_us = clock_monotonic_us();
    if (!watch.thread.started)
        (void)!thread_start(&watch.thread, "watch", run, NULL, &why);
    else
        thread_poke(&watch.thread);
    mark = watch.mark;
    lock_give(&watch.lock);
    return (session->roles & SEES_ALL) != 0 ? mark : mark + (uint64_t)(clock_monotonic_us() / SOME_US) * SOME_MARKS;
}

void watch_decided(void)
{
    lock_take(&watch.lock);
    watch.mark++;
    lock_give(&watch.lock);
}
