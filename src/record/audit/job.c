/* SPDX-License-Identifier: Apache-2.0 */
/* What people ask of the writer: one thing at a time, handed over by a state that only one side may change. */
#include "audit/writer_priv.h"

#include "os/clock.h"

#include <stdio.h>

static enum code ask(struct audit *audit, enum audit_job_kind kind, struct span actor)
{
    struct job *job = &audit->job;

    if (atomic_load(&job->state) != JOB_NONE)
        return CODE_BUSY;
    job->kind = kind;
    job->done = (struct audit_done){.code = CODE_OK};
    (void)snprintf(job->actor, sizeof job->actor, "%.*s", SPAN_ARG(actor));
    return CODE_OK;
}

static void hand_over(struct audit *audit)
{
    atomic_store(&audit->job.state, JOB_ASKED);
    ring_wake_writer(&audit->shared, RING_DOZES);
}

enum code audit_archive(struct audit *audit, struct span actor)
{
    enum code code = ask(audit, AUDIT_JOB_ARCHIVE, actor);

    if (code == CODE_OK)
        hand_over(audit);
    return code;
}

enum code audit_erase(struct audit *audit, const struct audit_erasure *erasure)
{
    struct job *job = &audit->job;
    bool fits = erasure->tenant.len < sizeof job->tenant && erasure->why.len < sizeof job->why;
    enum code code = fits ? ask(audit, AUDIT_JOB_ERASE, erasure->actor) : CODE_LIMIT;

    if (code != CODE_OK)
        return code;
    (void)snprintf(job->tenant, sizeof job->tenant, "%.*s", SPAN_ARG(erasure->tenant));
    (void)snprintf(job->why, sizeof job->why, "%.*s", SPAN_ARG(erasure->why));
    job->before_us = erasure->before_us;
    job->request = erasure->request;
    hand_over(audit);
    return CODE_OK;
}

bool audit_job_over(struct audit *audit, struct audit_done *done)
{
    if (atomic_load(&audit->job.state) != JOB_OVER)
        return false;
    *done = audit->job.done;
    atomic_store(&audit->job.state, JOB_NONE);
    return true;
}

void writer__job_over(struct audit *audit)
{
    audit->job.done.code = CODE_OK;
    atomic_store(&audit->job.state, JOB_OVER);
}

static bool is_asked(const struct audit *audit, enum audit_job_kind kind)
{
    return atomic_load(&audit->job.state) == JOB_ASKED && audit->job.kind == kind;
}

static void want_rotation(struct audit *audit, const char *actor)
{
    if (audit->rotation.wanted)
        return;
    audit->rotation.wanted = true;
    audit->rotation.due_us = 0;
    (void)snprintf(audit->rotation.actor, sizeof audit->rotation.actor, "%s", actor);
}

void writer__watch_file(struct audit *audit)
{
    struct ledger *ledger = &audit->ledger;

    if ((uint64_t)audit->keeper.wal_pages * 4096 >= PLACE_LOG_BYTES)
        ledger_doubt(ledger, "somebody's read keeps its -wal file from shrinking");
    if (ledger->place.doubt[0] != '\0' ||
        (audit->rotate_bytes != 0 && (uint64_t)ledger->place.bytes >= audit->rotate_bytes))
        want_rotation(audit, "gate");
}

static int64_t until(int64_t due_us)
{
    int64_t left_us = due_us - clock_monotonic_us();

    return left_us > 0 ? left_us : 0;
}

/* An erasure and a rotation do not overlap: an erasure ends in the file in which it was recorded. In two phases it may wait
 * long, for somebody's read or another try; then the rotation comes first, and the erasure is recorded again in the next
 * file. */
static bool erases_first(const struct audit *audit)
{
    enum erase_phase phase = audit->erasing.phase;

    return phase != ERASE_IDLE && !(audit->rotation.wanted && (phase == ERASE_LIVE || phase == ERASE_SEALED));
}

int64_t writer__job_wait_us(const struct audit *audit)
{
    if (erases_first(audit))
        return until(audit->erasing.due_us);
    if (audit->rotation.wanted)
        return until(audit->rotation.due_us);
    return atomic_load(&audit->job.state) == JOB_ASKED ? 0 : -1;
}

static void begin_erasure(struct audit *audit)
{
    const struct job *job = &audit->job;

    audit->erasing = (struct erasing){.phase = ERASE_RECORD, .request = job->request, .what = {.before_us = job->before_us}};
    (void)snprintf(audit->erasing.what.tenant, sizeof audit->erasing.what.tenant, "%s", job->tenant);
    (void)snprintf(audit->erasing.actor, sizeof audit->erasing.actor, "%s", job->actor);
    (void)snprintf(audit->erasing.why, sizeof audit->erasing.why, "%s", job->why);
}

void writer__job_turn(struct audit *audit)
{
    bool archives = is_asked(audit, AUDIT_JOB_ARCHIVE);

    if (erases_first(audit)) {
        erase__turn(audit);
        return;
    }
    if (archives)
        want_rotation(audit, audit->job.actor);
    if (audit->rotation.wanted)
        rotate__turn(audit);
    else if (is_asked(audit, AUDIT_JOB_ERASE))
        begin_erasure(audit);
    if (archives && !audit->rotation.wanted) {
        (void)snprintf(audit->job.done.text, sizeof audit->job.done.text, "%s", audit->rotation.sealed);
        writer__job_over(audit);
    }
}
