/* SPDX-License-Identifier: Apache-2.0 */
/* Down: a transaction failed. Nobody knows then whether its bytes are on the disk, so nothing of it counts: its decisions are
 * denied at once, its outcomes and events stay in the rings. The way up is to open the file again and to look at its end. */
#include "audit/writer_priv.h"

#include "base/buf.h"
#include "base/lock.h"
#include "base/log.h"
#include "json/json.h"
#include "os/clock.h"
#include "os/pause.h"

#include <stdio.h>

#define BACKOFF_MIN_US 100000
#define BACKOFF_MAX_US 1000000

/* Undoes what the failed batch changed in memory. */
static void undo_permits(struct audit *audit)
{
    struct permits *permits = &audit->ledger.permits;

    audit->closing_count = 0;
    for (size_t i = 0; i < permits->size;) {
        struct permit *permit = &permits->slots[i];

        permit->closing = false;
        if (permit->seq > audit->sound.seq)
            permits_remove(permits, permit->seq); /* another permit may have moved here */
        else
            i++;
    }
}

static void count_down(struct audit_ring *ring, const struct ring_decision *decision)
{
    enum reason reason = decision->verdict == AUDIT_PERMIT ? REASON_AUDIT_DOWN : decision->reason;

    atomic_fetch_add_explicit(&ring->refused[reason], 1, memory_order_relaxed);
    if (decision->expects_outcome && !decision->is_told_later)
        atomic_fetch_add(&ring->rooms_lost, 1);
}

static void sweep_producer(struct audit *audit, struct producer *producer)
{
    uint64_t at = ring_head(producer->ring), end = ring_tail(producer->ring);
    uint64_t settled = audit_settled(producer->ring), last = settled;
    struct ring_view view;

    while (ring_next(producer->ring, &audit->scratch, &at, end, &view)) {
        if (view.kind != RING_DECISION || view.decision.ticket <= settled)
            continue;
        ring_set_seq(producer->ring, view.decision.ticket, 0);
        count_down(producer->ring, &view.decision);
        last = view.decision.ticket;
    }
    if (last == settled && !atomic_load(&producer->ring->is_lost))
        return;
    ring_settle(producer->ring, last);
    if (producer->wake != NULL)
        producer->wake(producer->context);
}

void writer__sweep(struct audit *audit)
{
    for (unsigned i = 0; i < audit->producer_count; i++)
        sweep_producer(audit, &audit->producers[i]);
}

static void wait_longer(struct audit *audit)
{
    int64_t now = clock_monotonic_us();

    audit->retry_us = now + pause_us(audit->backoff_us);
    audit->backoff_us = audit->backoff_us * 2 < BACKOFF_MAX_US ? audit->backoff_us * 2 : BACKOFF_MAX_US;
}

/* Logs one line for an outage, however many faults it has; `status` and the event say the last fault. */
static void complain(struct audit *audit, const char *text)
{
    if (strncmp(audit->down_text, text, sizeof audit->down_text - 1) == 0)
        return;
    (void)snprintf(audit->down_text, sizeof audit->down_text, "%.*s", (int)sizeof audit->down_text - 1, text);
    writer__say(audit, text);
    if (!audit->outage_is_told)
        log_error("audit", "%s; every call is denied until rows can be written again", text);
    audit->outage_is_told = true;
}

void writer__go_down(struct audit *audit, enum code code)
{
    struct why why = audit->ledger.place.fault;

    if (atomic_exchange(&audit->keeper.is_in_doubt, false))
        (void)why_set(&why, code, "%s: copying its -wal file into it failed (%s)", audit->ledger.file, code_text(code));
    else if (why.text[0] == '\0')
        (void)why_set(&why, code, "%s: %s (%s)", audit->ledger.file, db_error(audit->ledger.db), code_text(code));
    audit->sound = audit->ledger.committed;
    audit->in_doubt = audit->ledger.tip;
    audit->healed_us = 0;
    if (!atomic_load(&audit->shared.down)) {
        audit->down_text[0] = '\0';
        audit->doubt_seq = audit->sound.seq;
        audit->down_wall_us = clock_wall_us();
        audit->down_us = clock_monotonic_us();
        audit->backoff_us = BACKOFF_MIN_US;
        atomic_store(&audit->shared.down, true);
        complain(audit, why.text);
    }
    if (code == CODE_IO) { /* nobody knows what is on the disk: the -wal file is written once more when the file is opened,
                            * and then the file is left */
        atomic_store(&audit->keeper.keeps_off, true);
        ledger_doubt(&audit->ledger, "writing it failed");
    }
    if (code == CODE_BUSY) { /* nothing was written, or all of it, so that the connection can go on */
        db_rollback(audit->ledger.db);
    } else {
        ledger_close(&audit->ledger);
        atomic_fetch_add(&audit->keeper.generation, 1);
    }
    undo_permits(audit);
    writer__sweep(audit);
    wait_longer(audit);
    writer__publish(audit);
}

/* The batch that was given up is in the file after all, and on the disk since the file was opened again. Its outcomes and
 * events are passed over, so that they are not written twice. */
static void pass_over_batch(struct audit *audit)
{
    for (unsigned i = 0; i < audit->producer_count; i++) {
        struct producer *producer = &audit->producers[i];
        uint64_t at = ring_head(producer->ring);
        struct ring_view view;

        while (at < producer->end && ring_next(producer->ring, &audit->scratch, &at, producer->end, &view)) {
            if (view.kind != RING_RESULT)
                producer->pressing++;
            else if (writer__decision_of(producer, &view.result) != 0)
                permits_remove(&audit->ledger.permits, writer__decision_of(producer, &view.result));
            else
                /* writer__sweep counted the room as lost, and the outcome took it */
                atomic_fetch_sub(&producer->ring->rooms_lost, 1);
        }
        (void)ring_release(producer->ring, producer->end);
    }
}

enum code writer__empty_wal(struct audit *audit)
{
    int64_t is_busy = 0;
    enum code code = db_number(audit->ledger.db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, 0, &is_busy);

    return code == CODE_OK && is_busy != 0 ? CODE_BUSY : code;
}

static bool same_tip(const struct ledger_tip *a, const struct ledger_tip *b)
{
    return a->seq == b->seq && memcmp(a->hash, b->hash, DIGEST_BYTES) == 0;
}

static enum code look_at_tail(struct audit *audit, struct why *why)
{
    if (same_tip(&audit->ledger.tip, &audit->sound))
        return CODE_OK;
    if (!same_tip(&audit->ledger.tip, &audit->in_doubt))
        return why_set(why, CODE_INVALID, "%s: its end is not what was written last (row %llu expected, %llu found)",
                       audit->ledger.file, (unsigned long long)audit->sound.seq, (unsigned long long)audit->ledger.tip.seq);
    pass_over_batch(audit);
    audit->sound = audit->ledger.tip;
    return CODE_OK;
}

static uint64_t refused_in_all(const struct audit *audit, enum reason reason)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < audit->producer_count; i++)
        sum += atomic_load(&audit->producers[i].ring->refused[reason]);
    return sum;
}

enum code writer__describe_denied(const struct audit *audit, uint64_t counts[REASON_COUNT], struct buf *out)
{
    enum code code = buf_add_text(out, "\"denied\":{");
    bool first = true;

    for (int i = 0; i < REASON_COUNT && code == CODE_OK; i++) {
        counts[i] = refused_in_all(audit, (enum reason)i);
        if (counts[i] == 0)
            continue;
        code = buf_addf(out, "%s\"%s\":%llu", first ? "" : ",", reason_name((enum reason)i),
                        (unsigned long long)counts[i]);
        first = false;
    }
    return code == CODE_OK ? buf_add_byte(out, '}') : code;
}

/* Takes off what the event told; what was refused while it was being written stays for the next one. */
static void take_counts(struct audit *audit, uint64_t counts[REASON_COUNT])
{
    for (unsigned i = 0; i < audit->producer_count; i++)
        for (int r = 0; r < REASON_COUNT && counts[r] > 0; r++) {
            uint64_t here = atomic_load(&audit->producers[i].ring->refused[r]);
            uint64_t less = here < counts[r] ? here : counts[r];

            atomic_fetch_sub(&audit->producers[i].ring->refused[r], less);
            counts[r] -= less;
        }
}

/* Ends the permits that turned up with a batch that was given up, since their calls were denied. */
static enum code close_denied(struct audit *audit)
{
    struct audit_result result = {.time_us = clock_wall_us(), .outcome = OUTCOME_NOT_SENT, .reason = REASON_AUDIT_DOWN,
                                  .upstream_us = -1};
    struct permits *permits = &audit->ledger.permits;
    enum code code = ledger_find_open(&audit->ledger, audit->doubt_seq);

    for (size_t i = 0; i < permits->size && code == CODE_OK; i++)
        if (permits->slots[i].seq > audit->doubt_seq && !permits->slots[i].closing)
            code = ledger_outcome(&audit->ledger, permits->slots[i].seq, &result);
    return code;
}

static enum code write_down_and_up(struct audit *audit, struct buf *text, uint64_t counts[REASON_COUNT])
{
    enum code code = ledger_begin(&audit->ledger);

    if (code == CODE_OK)
        code = rotate__begin(audit);
    if (code == CODE_OK)
        code = buf_add_text(text, "{\"error\":");
    if (code == CODE_OK)
        code = json_write_string(text, span_text(audit->down_text));
    if (code == CODE_OK)
        code = buf_add_byte(text, '}');
    if (code == CODE_OK)
        code = writer__event(audit, "audit_down", audit->down_wall_us, buf_peek(text));
    if (code == CODE_OK && audit->sound.seq > audit->doubt_seq)
        code = close_denied(audit);
    buf_clear(text);
    if (code == CODE_OK)
        code = buf_addf(text, "{\"down_us\":%lld,", (long long)(clock_monotonic_us() - audit->down_us));
    if (code == CODE_OK)
        code = writer__describe_denied(audit, counts, text);
    if (code == CODE_OK)
        code = buf_add_byte(text, '}');
    if (code == CODE_OK)
        code = writer__event(audit, "audit_up", clock_wall_us(), buf_peek(text));
    if (code == CODE_OK)
        code = ledger_commit(&audit->ledger);
    return code;
}

static enum code leave_changed(struct audit *audit, struct why *why)
{
    enum code code = audit->sound.seq > audit->doubt_seq ? ledger_find_open(&audit->ledger, audit->doubt_seq) : CODE_OK;

    if (code == CODE_OK)
        code = rotate__leave(audit, why);
    if (code != CODE_OK)
        return code;
    log_info("audit", "%s: was left; the audit goes on in %s", files_base(audit->rotation.sealed),
             files_base(audit->ledger.file));
    audit->sound = audit->ledger.committed;
    finisher_follow(&audit->finisher, audit->ledger.file);
    return CODE_OK;
}

bool writer__recover(struct audit *audit)
{
    uint64_t counts[REASON_COUNT];
    struct why why = {0};
    struct buf text;
    enum code code;

    atomic_store(&audit->keeper.is_in_doubt, false);
    if (audit->ledger.db != NULL) {
        code = ledger_check_place(&audit->ledger);
        why = audit->ledger.place.fault;
        audit->ledger.committed = audit->ledger.tip;
    } else { /* never makes a file: a missing one may have been moved, with its -wal file or without */
        code = ledger_open(&audit->ledger, DB_WRITE, clock_wall_us(), &why);
    }
    if (code == CODE_OK)
        code = look_at_tail(audit, &why);
    if (code == CODE_OK && (code = erase__settle(audit)) != CODE_OK)
        (void)why_set(&why, code, "%s: %s", audit->ledger.file, db_error(audit->ledger.db));
    for (unsigned i = 0; code == CODE_OK && i < audit->producer_count; i++) /* no batch is in doubt any more */
        audit->producers[i].end = ring_head(audit->producers[i].ring);
    if (code == CODE_OK && audit->ledger.place.is_changed)
        code = leave_changed(audit, &why);
    if (code != CODE_OK) {
        if (code != CODE_BUSY)
            ledger_close(&audit->ledger);
        complain(audit, why.text);
        wait_longer(audit);
        return false;
    }
    buf_init(&text, AUDIT_JSON_BYTES);
    lock_take(&audit->keeper.commit_lock);
    code = write_down_and_up(audit, &text, counts);
    audit->keeper.wal_pages = audit->checkpoint_pages = 0;
    lock_give(&audit->keeper.commit_lock);
    buf_fini(&text);
    if (code != CODE_OK) {
        writer__go_down(audit, code);
        return false;
    }
    audit->rotation.begins = false;
    permits_drop_closed(&audit->ledger.permits);
    notary__distrust(&audit->notary); /* the notary may have read rows that were in doubt and are gone */
    writer__push_leaves(audit, 0);
    take_counts(audit, counts);
    writer__sweep(audit);
    atomic_store(&audit->shared.down, false);
    writer__say(audit, "");
    audit->committed_us = clock_monotonic_us();
    audit->healed_us = audit->committed_us;
    writer__publish(audit);
    return true;
}
