/* SPDX-License-Identifier: Apache-2.0 */
/* Workers take stretches of numbers, read and judge them by themselves, and wait for their turn to tell: so the order is
 * that of the record, whatever the machine does. Each statement is short, so that a gate that is writing can go on folding
 * its write-ahead log back.
 *
 * A policy with limits or sequences is judged by one worker, call after call, and from so long before the range that what
 * its first calls ask for is known; all calls are then looked at, whatever tenant or tool is meant. */
#include "past/replay_priv.h"

#include "base/lock.h"
#include "os/thread.h"

#include <stdatomic.h>

#define STRETCH 4096 /* numbers; outcomes and events have some of them */
#define TOLD_MAX_BYTES ((size_t)1 << 30)

/* The rows of one file. */
struct piece {
    const char *path;
    int64_t first, last;
    int64_t before; /* stretches of earlier pieces */
};

struct run {
    const struct replay_conf *conf;
    struct recorded_range range; /* what is read */
    bool in_order;
    struct piece *pieces;
    int64_t stretches;
    atomic_int_fast64_t next; /* stretch to be taken */
    pthread_mutex_t lock;     /* of all below */
    pthread_cond_t turned;
    int64_t turn;             /* stretch to be told */
    enum code code;           /* the first failure ends all */
    struct why why;
    struct replay_sum *sum;
};

struct told {
    struct told *next;
    struct replay_call call;
};

struct replayer {
    struct run *run;
    struct thread thread;
    const struct piece *piece; /* whose file is open; or NULL */
    struct db *db;
    struct db_stmt *stmt, *answers;
    struct why why;
    struct recorded recorded;
    struct rejudge rejudge;
    struct arena arena; /* what is to be told of a stretch */
    struct told *first, **last;
    struct replay_sum sum; /* of a stretch */
};

/* ---- one call ---- */

static bool is_text(struct span wanted, struct span text)
{
    return wanted.at == NULL || span_equals(wanted, text);
}

/* What is read for what it leaves behind alone is not counted. */
static bool is_meant(const struct replayer *replayer)
{
    const struct recorded_range *range = &replayer->run->conf->range;
    const struct recorded *recorded = &replayer->recorded;
    int64_t time_us = recorded->question.time_us;

    return (range->since_us == 0 || time_us >= range->since_us) && is_text(range->tenant, recorded->question.tenant) &&
           is_text(range->upstream, recorded->question.upstream) && is_text(range->tool, recorded->target) &&
           (!range->permitted || recorded->verdict == VERDICT_PERMIT);
}

static void count(struct replayer *replayer, enum replay_fate fate, const struct replay_answer *answer)
{
    const struct recorded *recorded = &replayer->recorded;
    struct replay_sum *sum = &replayer->sum;
    int64_t time_us = recorded->question.time_us;

    sum->calls++;
    sum->fates[fate]++;
    if (fate == REPLAY_UNKNOWN)
        sum->lacks[recorded->unaskable ? RECORDED_WHOLE : recorded->lack]++;
    if (fate == REPLAY_NO_QUESTION && recorded->kind == RECORDED_UNJUDGED)
        sum->unjudged++;
    else if (fate == REPLAY_NO_QUESTION)
        sum->refused++;
    sum->answers[answer->fate]++;
    sum->answer_lacks[answer->lack] += answer->fate == REPLAY_UNKNOWN;
    if (sum->first_us == 0 || time_us < sum->first_us)
        sum->first_us = time_us;
    if (time_us > sum->last_us)
        sum->last_us = time_us;
}

/* The row is read over before its stretch has its turn; texts of the policy stay. */
static enum code keep(struct replayer *replayer, enum replay_fate fate, const struct replay_answer *answer, bool same_version)
{
    const struct recorded *recorded = &replayer->recorded;
    const struct question *question = &recorded->question;
    const struct verdict *now = &replayer->rejudge.low;
    struct told *told = arena_zalloc(&replayer->arena, sizeof *told);
    enum code code;

    if (told == NULL)
        return CODE_NOMEM;
    told->call = (struct replay_call){
        .seq = recorded->seq, .time_us = question->time_us, .fate = fate, .lack = recorded->lack, .same_version = same_version,
        .was = {.kind = recorded->verdict}, .answer = *answer, .approved = recorded->approved,
    };
    if (recorded->kind == RECORDED_JUDGED && !recorded->unaskable)
        told->call.is = (struct replay_verdict){.kind = now->kind, .reason = span_text(reason_name(now->reason)),
                                                .rule = now->rule};
    code = arena_keep(&replayer->arena, question->tenant, &told->call.tenant);
    if (code == CODE_OK)
        code = arena_keep(&replayer->arena, question->principal, &told->call.principal);
    if (code == CODE_OK)
        code = arena_keep(&replayer->arena, question->agent, &told->call.agent);
    if (code == CODE_OK)
        code = arena_keep(&replayer->arena, question->upstream, &told->call.upstream);
    if (code == CODE_OK)
        code = arena_keep(&replayer->arena, question->method, &told->call.method);
    if (code == CODE_OK)
        code = arena_keep(&replayer->arena, recorded->target, &told->call.target);
    if (code == CODE_OK)
        code = arena_keep(&replayer->arena, question->path, &told->call.path);
    if (code == CODE_OK)
        code = arena_keep(&replayer->arena, recorded->reason_text, &told->call.was.reason);
    if (code == CODE_OK)
        code = arena_keep(&replayer->arena, recorded->rule, &told->call.was.rule);
    if (code == CODE_OK)
        code = arena_keep(&replayer->arena, answer->was_rule, &told->call.answer.was_rule);
    *replayer->last = told;
    replayer->last = &told->next;
    return code;
}

static enum code note(struct replayer *replayer, enum replay_fate fate)
{
    const struct replay_conf *conf = replayer->run->conf;
    uint64_t version = policy_version(conf->policy);
    bool same_version = version != 0 && replayer->recorded.policy_version == version;
    struct replay_answer answer;
    enum code code = rejudge__answer(&replayer->rejudge, &replayer->recorded, fate, replayer->answers, &answer);

    if (code == CODE_OK) {
        count(replayer, fate, &answer);
        replayer->sum.same_version_flips += fate == REPLAY_FLIPS && same_version;
        if (conf->tell != NULL &&
            (conf->tell_all || fate == REPLAY_FLIPS || fate == REPLAY_UNKNOWN || answer.fate == REPLAY_FLIPS))
            code = keep(replayer, fate, &answer, same_version);
    }
    db_reset(replayer->answers);
    return code;
}

static enum code replay_row(struct replayer *replayer)
{
    enum code code = recorded_read(&replayer->recorded, replayer->db, replayer->stmt);
    enum replay_fate fate;
    bool lossy;

    if (code == CODE_OK)
        code = rejudge__row(&replayer->rejudge, &replayer->recorded, &fate, &lossy);
    if (code != CODE_OK || (replayer->run->in_order && !is_meant(replayer)))
        return code;
    replayer->sum.lossy += lossy;
    return note(replayer, fate);
}

/* ---- a stretch ---- */

static void close_piece(struct replayer *replayer)
{
    db_finalize(&replayer->stmt);
    db_finalize(&replayer->answers);
    db_close(&replayer->db);
    replayer->piece = NULL;
}

static enum code open_piece(struct replayer *replayer, const struct piece *piece)
{
    enum code code;

    if (replayer->piece == piece)
        return CODE_OK;
    close_piece(replayer);
    code = trail_open(piece->path, &replayer->db, &replayer->why);
    if (code != CODE_OK)
        return code;
    replayer->piece = piece;
    code = rejudge__answers_prepare(replayer->db, &replayer->answers);
    return code != CODE_OK ? code : recorded_range_prepare(replayer->db, &replayer->run->range, &replayer->stmt);
}

static const struct piece *piece_of(const struct run *run, int64_t stretch)
{
    const struct piece *piece = &run->pieces[run->conf->trail->count - 1];

    while (piece->before > stretch || piece->first > piece->last)
        piece--;
    return piece;
}

static enum code replay_rows(struct replayer *replayer, int64_t from, int64_t to)
{
    enum code code;

    recorded_range_bind(replayer->stmt, &replayer->run->range, from, to);
    while ((code = db_step(replayer->stmt)) == CODE_OK) {
        code = replay_row(replayer);
        if (code != CODE_OK)
            break;
    }
    db_reset(replayer->stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code replay_stretch(struct replayer *replayer, int64_t stretch)
{
    const struct piece *piece = piece_of(replayer->run, stretch);
    int64_t from = piece->first + (stretch - piece->before) * STRETCH;
    int64_t to = from + STRETCH - 1 < piece->last ? from + STRETCH - 1 : piece->last;
    enum code code;

    arena_reset(&replayer->arena);
    replayer->first = NULL;
    replayer->last = &replayer->first;
    replayer->sum = (struct replay_sum){0};
    code = open_piece(replayer, piece);
    if (code == CODE_OK)
        code = replay_rows(replayer, from, to);
    if (code != CODE_OK && replayer->why.text[0] == '\0')
        (void)why_set(&replayer->why, code, "%s: %s", piece->path,
                      code == CODE_NOMEM ? "not enough memory" : db_error(replayer->db));
    return code;
}

static void add_sum(struct replay_sum *sum, const struct replay_sum *more)
{
    for (int i = 0; i < REPLAY_FATES; i++) {
        sum->fates[i] += more->fates[i];
        sum->answers[i] += more->answers[i];
    }
    for (int i = 0; i < RECORDED_LACKS; i++) {
        sum->lacks[i] += more->lacks[i];
        sum->answer_lacks[i] += more->answer_lacks[i];
    }
    sum->refused += more->refused;
    sum->unjudged += more->unjudged;
    sum->lossy += more->lossy;
    sum->same_version_flips += more->same_version_flips;
    sum->calls += more->calls;
    if (more->calls > 0 && (sum->first_us == 0 || more->first_us < sum->first_us))
        sum->first_us = more->first_us;
    if (more->last_us > sum->last_us)
        sum->last_us = more->last_us;
}

static void fail(struct run *run, enum code code, const struct why *why)
{
    if (run->code != CODE_OK || code == CODE_OK)
        return;
    run->code = code;
    if (why != NULL)
        run->why = *why;
}

/* Under the lock, in order. Returns: false when the run has ended. */
static bool tell_stretch(struct replayer *replayer, int64_t stretch, enum code code)
{
    struct run *run = replayer->run;
    const struct replay_conf *conf = run->conf;

    lock_take(&run->lock);
    while (run->turn != stretch && run->code == CODE_OK)
        pthread_cond_wait(&run->turned, &run->lock);
    fail(run, code, &replayer->why);
    for (const struct told *told = replayer->first; told != NULL && run->code == CODE_OK; told = told->next)
        fail(run, conf->tell(conf->context, &told->call), NULL);
    if (run->code == CODE_OK) {
        add_sum(run->sum, &replayer->sum);
        run->turn++;
        if (conf->progress != NULL)
            conf->progress(conf->context, (uint64_t)run->turn * STRETCH, (uint64_t)run->stretches * STRETCH);
    }
    code = run->code;
    pthread_cond_broadcast(&run->turned);
    lock_give(&run->lock);
    return code == CODE_OK;
}

static void replay_stretches(void *argument)
{
    struct replayer *replayer = argument;
    struct run *run = replayer->run;
    int64_t stretch;

    while ((stretch = atomic_fetch_add(&run->next, 1)) < run->stretches)
        if (!tell_stretch(replayer, stretch, replay_stretch(replayer, stretch)))
            return;
}

/* ---- a run ---- */

static enum code open_replayer(struct replayer *replayer, struct run *run)
{
    replayer->run = run;
    recorded_init(&replayer->recorded);
    arena_init(&replayer->arena, TOLD_MAX_BYTES);
    return rejudge__init(&replayer->rejudge, run->conf->policy, run->conf->definitions);
}

static void close_replayer(struct replayer *replayer)
{
    close_piece(replayer);
    rejudge__fini(&replayer->rejudge);
    recorded_fini(&replayer->recorded);
    arena_fini(&replayer->arena);
}

/* The last one works on the caller's thread. */
static enum code run_all(struct run *run, struct replayer *replayers, unsigned count, struct why *why)
{
    enum code code = CODE_OK;

    for (unsigned i = 0; i + 1 < count && code == CODE_OK; i++)
        code = thread_start(&replayers[i].thread, "replay", replay_stretches, &replayers[i], why);
    if (code == CODE_OK) {
        replay_stretches(&replayers[count - 1]);
    } else {
        lock_take(&run->lock);
        fail(run, code, why);
        pthread_cond_broadcast(&run->turned);
        lock_give(&run->lock);
    }
    for (unsigned i = 0; i + 1 < count; i++)
        thread_join(&replayers[i].thread);
    *why = run->why;
    return run->code;
}

static void choose_order(struct run *run)
{
    int64_t memory_us = policy_memory_us(run->conf->policy);

    run->range = run->conf->range;
    run->in_order = memory_us > 0;
    if (!run->in_order)
        return;
    run->range = (struct recorded_range){.until_us = run->conf->range.until_us, .last_seq = run->conf->range.last_seq};
    if (run->conf->range.since_us > memory_us)
        run->range.since_us = run->conf->range.since_us - memory_us;
}

static enum code find_pieces(struct run *run, struct why *why)
{
    run->pieces = mem_array(run->conf->trail->count, sizeof *run->pieces);
    if (run->pieces == NULL)
        return CODE_NOMEM;
    for (size_t i = 0; i < run->conf->trail->count; i++) {
        struct piece *piece = &run->pieces[i];
        struct db *db;
        enum code code = db_open(run->conf->trail->files[i].path, DB_PAST, &db, why);

        if (code != CODE_OK)
            return code;
        *piece = (struct piece){.path = run->conf->trail->files[i].path, .before = run->stretches};
        code = recorded_range_bounds(db, &run->range, &piece->first, &piece->last);
        if (code != CODE_OK)
            (void)why_set(why, code, "%s: %s", piece->path, db_error(db));
        db_close(&db);
        if (code != CODE_OK)
            return code;
        if (piece->first <= piece->last)
            run->stretches += (piece->last - piece->first) / STRETCH + 1;
    }
    return CODE_OK;
}

enum code replay_run(const struct replay_conf *conf, struct replay_sum *sum, struct why *why)
{
    struct run run = {.conf = conf, .sum = sum, .lock = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER};
    unsigned count, opened = 0;
    struct replayer *replayers;
    enum code code;

    *sum = (struct replay_sum){0};
    choose_order(&run);
    count = run.in_order || conf->threads == 0 ? 1 : conf->threads;
    replayers = mem_array(count, sizeof *replayers);
    code = replayers != NULL ? find_pieces(&run, why) : CODE_NOMEM;
    while (opened < count && code == CODE_OK)
        code = open_replayer(&replayers[opened++], &run);
    if (code == CODE_OK && run.stretches > 0)
        code = run_all(&run, replayers, count, why);
    for (unsigned i = 0; i < opened; i++)
        close_replayer(&replayers[i]);
    mem_free(replayers);
    mem_free(run.pieces);
    pthread_mutex_destroy(&run.lock);
    pthread_cond_destroy(&run.turned);
    return code;
}
