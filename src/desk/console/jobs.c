/* SPDX-License-Identifier: Apache-2.0 */
#include "console/jobs.h"

#include "base/lock.h"
#include "os/clock.h"
#include "os/thread.h"

#include <string.h>

#define MOMENT_MS 400
#define UNSEEN_US INT64_C(15000000) /* nobody has asked for it since: it is stopped, and its answer forgotten */
#define LEFT_US INT64_C(3000000) /* its page comes again each second */
#define JOB_BYTES ((size_t)1 << 20)

struct job {
    bool is_taken;
    struct session session; /* who has asked */
    struct arena arena; /* of the words */
    struct words words;
    struct thread thread;
    struct asking_progress progress;
    struct answer answer;
    int64_t seen_us;
    bool is_stopped, is_done;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool has_begun;
    struct job all[JOBS_MAX];
} jobs = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Keeps how far it is. Returns: whether it is to go on. */
static bool goes_on(void *context, const struct asking_progress *progress)
{
    struct job *job = context;
    bool is_wanted;

    lock_take(&jobs.lock);
    job->progress = *progress;
    is_wanted = !job->is_stopped && clock_monotonic_us() - job->seen_us < UNSEEN_US;
    lock_give(&jobs.lock);
    return is_wanted;
}

static void run(void *argument)
{
    struct job *job = argument;
    struct answer answer;

    asking_give_watched(&job->session, &job->words, goes_on, job, &answer);
    lock_take(&jobs.lock);
    job->answer = answer;
    job->is_done = true;
    pthread_cond_broadcast(&jobs.done);
    lock_give(&jobs.lock);
}

/* Takes: the lock, and a job that is done, whose answer has gone. */
static void leave(struct job *job)
{
    thread_join(&job->thread); /* it has nothing left to do */
    session_fini(&job->session);
    arena_fini(&job->arena);
    *job = (struct job){.is_taken = false};
}

static bool is_its(const struct job *job, const struct session *session, const struct words *words)
{
    bool is_same = job->is_taken && strcmp(job->session.cookie, session->cookie) == 0 && job->words.count == words->count;

    for (int i = 0; is_same && i < words->count; i++)
        is_same = strcmp(job->words.argv[i], words->argv[i]) == 0;
    return is_same;
}

/* Whether it is another of the session's, which has one at a time; one that nobody looks at is stopped for the next. */
static bool is_left(struct job *job, const struct session *session, int64_t now_us)
{
    if (!job->is_taken || strcmp(job->session.cookie, session->cookie) != 0)
        return false;
    job->is_stopped |= now_us - job->seen_us >= LEFT_US;
    job->seen_us -= job->is_done && job->is_stopped ? UNSEEN_US : 0; /* its place is free with the next look */
    return true;
}

/* The session's of these words, or else a free place; NULL: there is none. Takes: the lock. */
static struct job *find(const struct session *session, const struct words *words, int64_t now_us)
{
    struct job *found = NULL;
    bool has_another = false;

    for (size_t i = 0; i < JOBS_MAX; i++) {
        struct job *job = &jobs.all[i];

        if (job->is_done && now_us - job->seen_us >= UNSEEN_US) {
            answer_fini(&job->answer);
            leave(job);
        }
        if (!job->is_taken)
            found = found != NULL ? found : job;
        else if (is_its(job, session, words))
            return job;
        has_another = has_another || is_left(job, session, now_us);
    }
    return has_another ? NULL : found;
}

/* Takes: the lock. */
static bool begin(struct job *job, const struct session *session, const struct words *words)
{
    struct why why = {""};
    const bool is_copied = session_copy(&job->session, session);

    arena_init(&job->arena, JOB_BYTES);
    words_begin(&job->words, &job->arena);
    for (int i = 0; i < words->count; i++)
        words_add(&job->words, NULL, span_text(words->argv[i]));
    job->is_taken = true;
    if (is_copied && !words->is_short && !job->words.is_short &&
        thread_start(&job->thread, "job", run, job, &why) == CODE_OK)
        return true;
    leave(job);
    return false;
}

enum jobs_state jobs_ask(const struct session *session, const struct words *words, struct asking_progress *progress,
                         struct answer *answer)
{
    const struct timespec until = clock_after_ms(MOMENT_MS);
    enum jobs_state state = JOBS_FULL;
    struct job *job;

    lock_take(&jobs.lock);
    if (!jobs.has_begun)
        lock_sign_init(&jobs.done);
    jobs.has_begun = true;
    job = find(session, words, clock_monotonic_us());
    if (job != NULL)
        job->seen_us = clock_monotonic_us();
    if (job != NULL && (job->is_taken || begin(job, session, words))) {
        while (!job->is_done && pthread_cond_timedwait(&jobs.done, &jobs.lock, &until) == 0)
            if (!is_its(job, session, words))
                break; /* the same page has taken it, in another window */
        state = job->is_done && is_its(job, session, words) ? JOBS_DONE : JOBS_GO_ON;
        *progress = job->progress;
    }
    if (state == JOBS_DONE) {
        *answer = job->answer;
        leave(job);
    }
    lock_give(&jobs.lock);
    return state;
}

void jobs_stop(const struct session *session)
{
    lock_take(&jobs.lock);
    for (size_t i = 0; i < JOBS_MAX; i++)
        if (jobs.all[i].is_taken && strcmp(jobs.all[i].session.cookie, session->cookie) == 0)
            jobs.all[i].is_stopped = true;
    lock_give(&jobs.lock);
}
