/* SPDX-License-Identifier: Apache-2.0 */
/* Workers take files in their order and verify each by itself. What a file shares with the one before it is judged when that
 * one was told: so each waits for its turn, and the first that is not told yet never does. */
#include "evidence/verify_trail.h"

#include "base/lock.h"
#include "base/mem.h"
#include "os/thread.h"

struct run {
    const struct verify_trail_conf *conf;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t turned;
    size_t next;          /* file to be taken */
    size_t turn;          /* to be told */
    uint64_t done, total; /* rows of all files */
    atomic_bool is_over;  /* those that are not told yet are not wanted */
};

struct worker {
    struct run *run;
    struct thread thread;
    size_t at;      /* its file */
    bool has_turn;
    uint64_t done;  /* rows of it */
};

/* Files on both sides of rows that are missing know nothing of each other. */
static bool is_behind_gap(const struct trail *trail, size_t at)
{
    int64_t first, last;

    return trail_gap(trail, at, &first, &last) && last >= first;
}

static enum code await_turn(void *context)
{
    struct worker *worker = context;
    struct run *run = worker->run;

    lock_take(&run->lock);
    while (run->turn != worker->at && !run->is_over)
        pthread_cond_wait(&run->turned, &run->lock);
    worker->has_turn = !run->is_over;
    lock_give(&run->lock);
    if (!worker->has_turn)
        return CODE_BUSY;
    if (is_behind_gap(run->conf->trail, worker->at))
        verify_sequence_forget(run->conf->each.sequence);
    return CODE_OK;
}

static bool has_moved(void *context)
{
    const struct verify_conf *each = &((struct worker *)context)->run->conf->each;

    return each->has_moved(each->context);
}

static void note_progress(void *context, uint64_t done, uint64_t total)
{
    struct worker *worker = context;
    struct run *run = worker->run;
    const struct verify_conf *each = &run->conf->each;

    (void)total;
    lock_take(&run->lock);
    run->done += done - worker->done;
    worker->done = done;
    each->progress(each->context, run->done, run->total);
    lock_give(&run->lock);
}

static struct verify_conf conf_of(struct worker *worker)
{
    const struct verify_trail_conf *all = worker->run->conf;
    struct verify_conf conf = all->each;

    conf.follows = worker->at > 0 && !is_behind_gap(all->trail, worker->at);
    conf.ends_trail = worker->at + 1 == all->trail->count;
    conf.path = conf.ends_trail ? all->live : all->trail->files[worker->at].path;
    conf.has_moved = conf.ends_trail && conf.has_moved != NULL ? has_moved : NULL;
    conf.progress = conf.progress != NULL ? note_progress : NULL;
    conf.await_before = await_turn;
    conf.context = worker;
    conf.stop = &worker->run->is_over;
    return conf;
}

static bool take_file(struct worker *worker)
{
    struct run *run = worker->run;
    bool is_taken;

    lock_take(&run->lock);
    is_taken = run->next < run->conf->trail->count && !run->is_over;
    if (is_taken)
        worker->at = run->next++;
    lock_give(&run->lock);
    worker->has_turn = false;
    worker->done = 0;
    return is_taken;
}

static void verify_files(void *argument)
{
    struct worker *worker = argument;
    struct run *run = worker->run;

    while (take_file(worker)) {
        const struct verify_conf conf = conf_of(worker);
        struct verify_report report;
        struct why why = {""};
        enum code code = audit_verify(&conf, &report, &why);

        if (!worker->has_turn && await_turn(worker) != CODE_OK)
            return;
        lock_take(&run->lock);
        run->is_over = !run->conf->tell(run->conf->each.context, &conf, worker->at, code, &report, &why);
        run->turn++;
        pthread_cond_broadcast(&run->turned);
        lock_give(&run->lock);
    }
}

/* The last one works on the caller's thread. */
static enum code run_all(struct run *run, struct worker *workers, size_t count, struct why *why)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < count; i++)
        workers[i].run = run;
    for (size_t i = 0; i + 1 < count && code == CODE_OK; i++)
        code = thread_start(&workers[i].thread, "verify", verify_files, &workers[i], why);
    if (code != CODE_OK) {
        lock_take(&run->lock);
        run->is_over = true;
        pthread_cond_broadcast(&run->turned);
        lock_give(&run->lock);
    } else {
        verify_files(&workers[count - 1]);
    }
    for (size_t i = 0; i + 1 < count; i++)
        thread_join(&workers[i].thread);
    return code;
}

enum code verify_trail(const struct verify_trail_conf *conf, struct why *why)
{
    const struct trail *trail = conf->trail;
    size_t files = trail->count > conf->from ? trail->count - conf->from : 0;
    size_t count = conf->threads < files ? conf->threads : files;
    struct run run = {.conf = conf, .lock = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER, .next = conf->from,
                      .turn = conf->from};
    struct worker *workers = mem_array(count + 1, sizeof *workers);
    enum code code = workers != NULL ? CODE_OK : why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));

    for (size_t i = conf->from; i < trail->count; i++)
        run.total += (uint64_t)(trail->files[i].last_seq - trail->files[i].before_seq);
    if (code == CODE_OK && count > 0)
        code = run_all(&run, workers, count, why);
    mem_free(workers);
    pthread_mutex_destroy(&run.lock);
    pthread_cond_destroy(&run.turned);
    return code;
}
