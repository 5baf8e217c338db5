/* SPDX-License-Identifier: Apache-2.0 */
#include "files/files_live.h"
#include "audit/writer_priv.h"

#include "audit/kept_priv.h"
#include "audit/mark_priv.h"

#include "base/bug.h"
#include "base/log.h"
#include "base/mem.h"
#include "json/json.h"
#include "os/clock.h"
#include "os/park.h"
#include "os/sandbox.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES ((uint64_t)2 << 20)
#define ARGUMENTS_BYTES ((uint64_t)64 << 10)
#define RESULTS_WAIT_US 10000   /* how long outcomes wait for somebody else's commit */
#define LOOK_US 1000000         /* at the files, while nobody calls */
#define HEALED_US INT64_C(10000000) /* rows were written for so long: the outage is over */
#define STOPPING_NAP_NS 10000000
#define LAST_TRIES_US 2000000   /* how long a closing gate goes on trying to write */

/* ---- the thread -------------------------------------------------------------------------------------------------- */

/* What waits in the rings. Outcomes alone start no commit, so that a single caller pays for one sync and not two. */
enum work { WORK_NONE = 0, WORK_RESULTS, WORK_NOW };

static enum work look(const struct audit *audit)
{
    enum work work = WORK_NONE;

    for (unsigned i = 0; i < audit->producer_count; i++) {
        const struct producer *producer = &audit->producers[i];
        uint64_t used = ring_tail(producer->ring) - ring_head(producer->ring);

        if (ring_pressing(producer->ring) != producer->pressing || ring_is_pressed(producer->ring))
            return WORK_NOW;
        if (used > 0)
            work = WORK_RESULTS;
    }
    return work;
}

static void doze(struct audit *audit, enum ring_sleep depth, int64_t timeout_us)
{
    enum work work;

    atomic_store(&audit->shared.sleeps, depth);
    work = look(audit);
    if (!atomic_load(&audit->stopping) && work != WORK_NOW && (depth == RING_DOZES || work == WORK_NONE))
        park_sleep(&audit->shared.sleeps, (int)depth, timeout_us);
    atomic_store(&audit->shared.sleeps, RING_AWAKE);
}

/* With many callers, "as soon as possible" means many small commits, and each costs a sync and a checkpointed page: a
 * short pause collects more. Callers that are few would only wait. Measured: performance figures in tests/bench. */
static void pace(struct audit *audit, int64_t began_us)
{
    unsigned decisions = audit->pace_x8 / 8;
    int64_t want_us = decisions < 8 ? 0 : decisions < 32 ? 250 : 500;
    int64_t left_us = began_us + want_us - clock_monotonic_us();
    struct timespec pause = {.tv_nsec = left_us * 1000};

    if (left_us > 20 && !atomic_load(&audit->stopping))
        (void)nanosleep(&pause, NULL);
}

static void batch_and_pace(struct audit *audit)
{
    int64_t began_us = clock_monotonic_us();

    if (writer__batch(audit))
        pace(audit, began_us);
}

static void down_turn(struct audit *audit)
{
    int64_t wait_us = audit->retry_us - clock_monotonic_us();

    if (wait_us <= 0) {
        (void)writer__recover(audit);
        return;
    }
    atomic_store(&audit->shared.sleeps, RING_DOZES);
    writer__sweep(audit); /* after saying so: what slips in later wakes us */
    if (atomic_load(&audit->stopping)) /* whoever said so may have come before */
        (void)nanosleep(&(struct timespec){.tv_nsec = STOPPING_NAP_NS}, NULL);
    else
        park_sleep(&audit->shared.sleeps, RING_DOZES, wait_us);
    atomic_store(&audit->shared.sleeps, RING_AWAKE);
}

static bool has_idle_work(const struct audit *audit)
{
    return atomic_load(&audit->notary.ready) != NULL || atomic_load(&audit->notary.damage) != NULL ||
           atomic_load(&audit->keeper.is_in_doubt);
}

/* Whether somebody did something to the files while nobody called. */
static bool is_disturbed(struct audit *audit)
{
    return ledger_check_place(&audit->ledger) != CODE_OK || ledger_is_written_by_others(&audit->ledger) ||
           (audit->ledger.place.doubt[0] != '\0' && !audit->rotation.wanted);
}

static void log_healed(struct audit *audit, int64_t now_us)
{
    if (audit->healed_us == 0 || now_us - audit->healed_us < HEALED_US)
        return;
    log_info("audit", "%s: rows can be written again", audit->ledger.path);
    audit->outage_is_told = false;
    audit->healed_us = 0;
}

static void up_turn(struct audit *audit)
{
    int64_t now = clock_monotonic_us(), wait_us = writer__job_wait_us(audit);
    enum work work = look(audit);

    if (audit_is_down(audit->producers[0].ring))
        writer__say(audit, "it was asked for what no sound program asks for: the log says what; start the gate again");
    log_healed(audit, now);
    if (work == WORK_NONE)
        audit->empty_us = now;
    if (wait_us == 0) {
        writer__job_turn(audit);
        work = look(audit);
        wait_us = writer__job_wait_us(audit);
    }
    if (atomic_load(&audit->shared.down))
        return;
    if (work == WORK_NOW || (work == WORK_RESULTS && now - audit->empty_us >= RESULTS_WAIT_US))
        batch_and_pace(audit);
    else if (work == WORK_RESULTS)
        doze(audit, RING_DOZES, RESULTS_WAIT_US - (now - audit->empty_us));
    else if (has_idle_work(audit))
        (void)writer__batch(audit); /* nothing else is to be done, so that the checkpoint is written */
    else if (now - audit->committed_us < RESULTS_WAIT_US)
        doze(audit, RING_DOZES, RESULTS_WAIT_US - (now - audit->committed_us));
    else if (is_disturbed(audit))
        (void)writer__batch(audit);
    else
        doze(audit, RING_SLEEPS, wait_us >= 0 && wait_us < LOOK_US ? wait_us : LOOK_US);
}

static enum code write_stop(struct audit *audit, bool is_signed)
{
    uint64_t counts[REASON_COUNT];
    struct buf text;
    enum code code = ledger_begin(&audit->ledger);

    buf_init(&text, AUDIT_JSON_BYTES);
    if (code == CODE_OK)
        code = writer__put_damage(audit);
    if (code == CODE_OK) /* none, unless a worker ended without telling */
        code = ledger_close_permits(&audit->ledger, REASON_INTERNAL, clock_wall_us());
    if (code == CODE_OK)
        code = buf_add_byte(&text, '{');
    if (code == CODE_OK)
        code = writer__describe_denied(audit, counts, &text);
    if (code == CODE_OK)
        code = buf_add_byte(&text, '}');
    if (code == CODE_OK)
        code = writer__event(audit, "stop", clock_wall_us(), buf_peek(&text));
    if (code == CODE_OK && is_signed)
        code = writer__checkpoint_last(audit);
    if (code == CODE_OK)
        code = ledger_commit(&audit->ledger);
    buf_fini(&text);
    return code;
}

/* `stop` and the checkpoint over it are one commit, so that a kill cannot come between them: a `stop` that no checkpoint
 * covers looks forged. A notary that cannot be seized in time signs the `stop` later, by itself. */
static enum code write_signed_stop(struct audit *audit, int64_t until_us)
{
    bool seized = notary__seize(&audit->notary);
    enum code code;

    while (!seized && audit->notary.thread.started && clock_monotonic_us() < until_us) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        seized = notary__seize(&audit->notary);
    }
    code = write_stop(audit, seized && audit->notary.is_on);
    writer__checkpoint_settled(audit, code == CODE_OK);
    if (seized)
        notary__release(&audit->notary);
    return code;
}

/* Writes what is left in the rings, then the `stop`. */
static void finish(struct audit *audit)
{
    int64_t until_us = clock_monotonic_us() + LAST_TRIES_US;
    enum code code = CODE_DOWN;

    while (code != CODE_OK && clock_monotonic_us() < until_us) {
        if (atomic_load(&audit->shared.down)) {
            down_turn(audit);
            continue;
        }
        while (look(audit) != WORK_NONE && writer__batch(audit))
            continue;
        if (atomic_load(&audit->shared.down))
            continue;
        notary__look(&audit->notary); /* damage done to its file after this is only logged */
        code = write_signed_stop(audit, until_us);
        if (code != CODE_OK)
            writer__go_down(audit, code);
        else
            writer__push_leaves(audit, 0);
    }
    if (code != CODE_OK)
        log_error("audit", "%s: the last rows could not be written; outcomes are found open at the next start",
                  audit->ledger.path);
}

static void run_writer(void *argument)
{
    struct audit *audit = argument;

    sandbox_narrow(SANDBOX_WRITER);
    thread_ask_short_slices(); /* all calls wait for this thread: on a busy machine it is worth a third of the rate */
    (void)prctl(PR_SET_TIMERSLACK, 1000); /* nanoseconds; the default of 50 microseconds would blur the pacing */
    while (!atomic_load(&audit->stopping)) {
        if (atomic_load(&audit->shared.down))
            down_turn(audit);
        else
            up_turn(audit);
    }
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

enum code writer__event(struct audit *audit, const char *kind, int64_t time_us, struct span detail)
{
    const struct audit_event event = {
        .time_us = time_us, .kind = span_text(kind), .actor = SPAN_LIT("gate"), .detail = detail,
    };

    return ledger_event(&audit->ledger, &event);
}

static enum code describe_start(const struct audit *audit, struct buf *out)
{
    enum code code = buf_add_text(out, "{\"node\":");

    if (code == CODE_OK)
        code = json_write_string(out, span_text(audit->ledger.node));
    if (code == CODE_OK)
        code = buf_add_text(out, ",\"version\":");
    if (code == CODE_OK)
        code = json_write_string(out, span_text(audit->version));
    if (code == CODE_OK && audit->confined[0] != '\0')
        code = buf_addf(out, ",\"confined\":%s", audit->confined);
    return code == CODE_OK ? buf_addf(out, ",\"pid\":%d}", (int)getpid()) : code;
}

/* Records what the last run left open, then that this one begins. */
static enum code write_start(struct audit *audit, const struct kept *kept, const struct audit_loss *accepted)
{
    struct ledger *ledger = &audit->ledger;
    int64_t now = clock_wall_us();
    struct buf text;
    enum code code;

    buf_init(&text, AUDIT_JSON_BYTES);
    code = ledger_begin(ledger);
    if (code == CODE_OK)
        code = rotate__begin(audit);
    if (code == CODE_OK)
        code = kept__record(ledger, kept, accepted, now);
    if (code == CODE_OK && ledger->is_open_ended) {
        code = buf_addf(&text, "{\"last_seq\":%llu,\"open_permits\":%zu}", (unsigned long long)ledger->tip.seq,
                        ledger->permits.count);
        if (code == CODE_OK)
            code = writer__event(audit, "crash", now, buf_peek(&text));
        if (code == CODE_OK)
            code = ledger_close_permits(ledger, REASON_GATE_DIED, now);
        buf_clear(&text);
    }
    if (code == CODE_OK)
        code = describe_start(audit, &text);
    if (code == CODE_OK)
        code = writer__event(audit, "start", now, buf_peek(&text));
    if (code == CODE_OK && !audit->rotation.begins)
        code = writer__checkpoint_start(audit, now);
    if (code == CODE_OK && kept->loss != NULL) /* the next start believes the event only where it is signed */
        code = writer__checkpoint_last(audit);
    if (code == CODE_OK)
        code = ledger_commit(ledger);
    writer__checkpoint_settled(audit, code == CODE_OK);
    audit->rotation.begins = audit->rotation.begins && code != CODE_OK;
    audit->started_seq = ledger->committed.seq;
    buf_fini(&text);
    return code;
}

/* What the last run left under way, which goes on in a file that can be written. */
static enum code take_over(struct audit *audit, struct why *why)
{
    struct ledger *ledger = &audit->ledger;
    uint64_t behind;
    enum code code = CODE_OK;

    if (ledger->is_open_ended)
        code = mark__find_open(ledger, &audit->notary, atomic_load(&audit->notary.marked), &behind);
    if (code == CODE_OK)
        code = erase__resume(audit);
    return code == CODE_OK && ledger->place.is_changed ? rotate__leave(audit, why) : code;
}

static enum code make_producers(struct audit *audit, const struct audit_conf *conf)
{
    audit->producer_count = conf->rings;
    audit->producers = mem_array(conf->rings, sizeof audit->producers[0]);
    audit->scratch.size = ring_record_max(&audit->shared);
    audit->scratch.bytes = mem_alloc(audit->scratch.size);
    if (audit->producers == NULL || audit->scratch.bytes == NULL)
        return CODE_NOMEM;
    for (unsigned i = 0; i < conf->rings; i++) {
        enum code code = ring_new(&audit->shared, conf->ring_bytes > RING_BYTES ? conf->ring_bytes : RING_BYTES,
                                  &audit->producers[i].ring);

        if (code != CODE_OK)
            return code;
    }
    return CODE_OK;
}

static enum code make(struct audit *audit, const struct audit_conf *conf)
{
    enum code code = ledger_init(&audit->ledger, conf->path, conf->node != NULL ? conf->node : "");

    if (code == CODE_OK) {
        audit->version = mem_dup(conf->version.at, conf->version.len);
        audit->confined = mem_dup(conf->confined.at, conf->confined.len);
        audit->shared.arguments_max_bytes = conf->arguments_max_bytes != 0 ? conf->arguments_max_bytes : ARGUMENTS_BYTES;
        code = audit->version == NULL || audit->confined == NULL ? CODE_NOMEM : CODE_OK;
    }
    if (code == CODE_OK)
        code = make_producers(audit, conf);
    return code;
}

static void give_back(struct audit *audit)
{
    notary__fini(&audit->notary);
    checkpoint__free(audit->checkpoint);
    mem_free(audit->damage);
    ledger_fini(&audit->ledger);
    for (unsigned i = 0; audit->producers != NULL && i < audit->producer_count; i++)
        ring_free(&audit->producers[i].ring);
    mem_free(audit->producers);
    mem_free(audit->scratch.bytes);
    mem_free(audit->version);
    mem_free(audit->confined);
    if (audit->lock_fd >= 0)
        (void)close(audit->lock_fd); /* and the lock with it */
    mem_free(audit);
}

/* A loss ends the start unless a person accepts it. A person cannot accept a loss beforehand, either. */
static enum code look_for_loss(const struct audit *audit, const struct audit_loss *accepted, struct kept *kept, struct why *why)
{
    enum code code = kept__compare(&audit->notary, &audit->ledger, kept, why);

    if (code != CODE_OK || (kept->loss != NULL) == (accepted->why != NULL) || (kept->loss == NULL && accepted->is_elsewhere))
        return code;
    if (kept->loss == NULL)
        return why_set(why, CODE_INVALID, "%s: nothing that its checkpoints cover is lost; start without --despite-loss",
                       audit->ledger.path);
    return why_set(why, CODE_INVALID, "%s; put the newest file and its -wal file back, or `callgate serve "
                   "--despite-loss --why TEXT` records the loss and goes on", kept->found.text);
}

/* Reads the tenants' heads, from the mark on where the gate's key signed what the mark says; else from the file's beginning. */
static enum code know_heads(struct audit *audit, struct why *why)
{
    struct ledger *ledger = &audit->ledger;
    uint64_t marked = 0;
    enum code code = db_exec(ledger->db, "BEGIN");

    if (code == CODE_OK && audit->notary.is_on)
        code = mark__find(ledger->db, &audit->notary, &marked);
    if (code == CODE_OK)
        code = ledger_read_heads(ledger, 0, marked);
    if (code != CODE_OK)
        (void)why_set(why, code, "%s: %s", ledger->file, db_error(ledger->db));
    db_rollback(ledger->db);
    atomic_store(&audit->notary.marked, marked);
    return code;
}

enum code audit_open(const struct audit_conf *conf, struct audit **out, struct why *why)
{
    struct audit *audit = mem_zalloc(sizeof *audit);
    struct kept kept;
    enum code code;

    BUG_ON(conf->rings == 0);
    *out = NULL;
    if (audit == NULL)
        return why_set(why, CODE_NOMEM, "%s: %s", conf->path, code_text(CODE_NOMEM));
    why->text[0] = '\0';
    audit->lock_fd = -1;
    audit->rotate_bytes = conf->rotate_bytes;
    code = make(audit, conf);
    if (code == CODE_OK)
        code = writer__take_lock(audit, conf->lock_fd_take, why);
    if (code == CODE_OK)
        code = files_begin_live(conf->path, audit->ledger.file, why);
    if (code == CODE_OK)
        code = ledger_open(&audit->ledger, DB_CREATE, clock_wall_us(), why);
    if (code == CODE_OK)
        code = notary__init(&audit->notary, &conf->checkpoints, &audit->ledger, &audit->shared, why);
    if (code == CODE_OK)
        keeper_init(&audit->keeper, audit->ledger.file, &audit->shared);
    if (code == CODE_OK)
        code = know_heads(audit, why);
    if (code == CODE_OK)
        code = look_for_loss(audit, &conf->loss, &kept, why);
    if (code == CODE_OK) {
        audit->notary.left.is_told = kept.damage.text[0] != '\0';
        notary__look(&audit->notary);
        audit->ledger.keeps_leaves = audit->notary.is_on;
        code = take_over(audit, why);
        if (code == CODE_OK)
            code = write_start(audit, &kept, &conf->loss);
        if (code != CODE_OK && code != CODE_NOMEM && why->text[0] == '\0')
            (void)why_set(why, code, "%s: %s", conf->path, db_error(audit->ledger.db));
    }
    if (code != CODE_OK) {
        if (why->text[0] == '\0')
            (void)why_set(why, code, "%s: %s", conf->path, code_text(code));
        if (audit->keeper.shared != NULL)
            keeper_fini(&audit->keeper);
        give_back(audit);
        return code;
    }
    finisher_init(&audit->finisher, audit->ledger.path, audit->ledger.file);
    permits_drop_closed(&audit->ledger.permits);
    writer__push_leaves(audit, 0);
    writer__publish(audit);
    *out = audit;
    return CODE_OK;
}

enum code audit_start(struct audit *audit, struct why *why)
{
    enum code code = keeper_start(&audit->keeper, why);

    if (code == CODE_OK)
        code = finisher_start(&audit->finisher, why);
    if (code == CODE_OK)
        code = notary__start(&audit->notary, why);
    return code == CODE_OK ? thread_start(&audit->thread, "audit-writer", run_writer, audit, why) : code;
}

struct audit_ring *audit_ring(struct audit *audit, unsigned index)
{
    BUG_ON(index >= audit->producer_count);
    return audit->producers[index].ring;
}

void audit_on_settled(struct audit *audit, unsigned index, void (*wake)(void *context), void *context)
{
    BUG_ON(index >= audit->producer_count || audit->thread.started);
    audit->producers[index].wake = wake;
    audit->producers[index].context = context;
}

void audit_close(struct audit **out)
{
    struct audit *audit = *out;

    if (audit == NULL)
        return;
    atomic_store(&audit->stopping, true);
    ring_wake_writer(&audit->shared, RING_DOZES);
    thread_join(&audit->thread);
    finish(audit);
    notary__stop(&audit->notary);
    if (writer__checkpoint_end(audit) != CODE_OK)
        log_info("audit", "%s: the last checkpoint could not be kept in it", audit->ledger.path);
    keeper_stop(&audit->keeper);
    keeper_fini(&audit->keeper);
    finisher_stop(&audit->finisher);
    finisher_fini(&audit->finisher);
    if (audit->ledger.db != NULL && audit->ledger.place.doubt[0] == '\0' &&
        db_exec(audit->ledger.db, "PRAGMA wal_checkpoint(TRUNCATE)") != CODE_OK)
        log_info("audit", "%s: the last rows stay in its -wal file, since somebody reads it", audit->ledger.path);
    give_back(audit);
    *out = NULL;
}

void writer__publish(struct audit *audit)
{
    atomic_store_explicit(&audit->last_seq, audit->ledger.committed.seq, memory_order_relaxed);
    atomic_store_explicit(&audit->open_permits, audit->ledger.permits.count, memory_order_relaxed);
    atomic_store_explicit(&audit->wal_bytes, (uint64_t)audit->keeper.wal_pages * 4096, memory_order_relaxed);
    if (audit->ledger.db == NULL)
        return;
    atomic_fetch_add_explicit(&audit->commits, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&audit->rows_total, audit->rows, memory_order_relaxed);
}

void audit_gauges(const struct audit *audit, struct audit_gauges *gauges)
{
    *gauges = (struct audit_gauges){
        .last_seq = atomic_load_explicit(&audit->last_seq, memory_order_relaxed),
        .commits = atomic_load_explicit(&audit->commits, memory_order_relaxed),
        .rows = atomic_load_explicit(&audit->rows_total, memory_order_relaxed),
        .wal_bytes = atomic_load_explicit(&audit->wal_bytes, memory_order_relaxed),
        .open_permits = atomic_load_explicit(&audit->open_permits, memory_order_relaxed),
        .down = audit_is_down(audit->producers[0].ring),
        .signed_seq = atomic_load(&audit->notary.signed_size),
        .checkpoint_failures = atomic_load(&audit->notary.failures),
        .checkpoint_fault = (enum checkpoint_fault)atomic_load(&audit->notary.fault),
        .checkpoint_us = atomic_load(&audit->notary.signed_us),
        .unsigned_since_us = atomic_load(&audit->notary.unsigned_since_us),
        .rotations = atomic_load(&audit->rotations),
    };
    for (unsigned i = 0; i < audit->producer_count; i++) {
        const struct audit_ring *ring = audit->producers[i].ring;

        gauges->ring_bytes_used += ring_tail(ring) - ring_head(ring);
        gauges->answers_lost += atomic_load_explicit(&ring->answers_lost, memory_order_relaxed);
    }
}
