/* SPDX-License-Identifier: Apache-2.0 */
/* Group commit. Records stay in their rings until their transaction is durable, so that a failed one has lost nothing:
 * its outcomes and events are taken again. */
#include "audit/writer_priv.h"

#include "base/lock.h"
#include "os/clock.h"

#define CHECKPOINT_PAGES 2000 /* 8 MiB; a page that many commits write is copied once */
#define LOAD_DECISIONS 16 /* in a commit: calls come so fast that they fill the processors, or nearly */

static enum code take_decision(struct audit *audit, struct producer *producer, const struct ring_view *view)
{
    uint64_t ticket = view->decision.ticket, seq;
    enum code code;

    producer->taken++;
    if (ticket <= audit_settled(producer->ring)) /* failed while the audit was down */
        return CODE_OK;
    code = ledger_decision(&audit->ledger, &view->decision, view->text, &seq);
    if (code != CODE_OK)
        return code;
    ring_set_seq(producer->ring, ticket, seq);
    producer->ticket = ticket;
    audit->decisions++;
    audit->rows++;
    return CODE_OK;
}

static enum code take_result(struct audit *audit, struct producer *producer, const struct audit_result *result)
{
    uint64_t decision = writer__decision_of(producer, result);
    const struct permit *permit;
    enum code code;

    if (decision == 0) { /* its decision failed, and the sweep counted its room as lost; but the outcome has used that room */
        producer->rooms_back++;
        return CODE_OK;
    }
    permit = permits_find(&audit->ledger.permits, decision);
    if (permit == NULL || permit->closing) { /* it would fail every batch, so it is passed over, and other rows are written */
        if (!result->is_told) /* who tells later may be too late */
            ring_break(&audit->shared, "an outcome is of no open permit");
        return CODE_OK;
    }
    code = ledger_outcome(&audit->ledger, decision, result);
    if (code != CODE_OK)
        return code;
    audit->closing[audit->closing_count++] = decision;
    audit->rows++;
    return CODE_OK;
}

static enum code take_event(struct audit *audit, struct producer *producer, const struct ring_view *view)
{
    const struct audit_event event = {
        .time_us = view->event_time_us,
#define TEXT(NAME, name) .name = view->text[EVENT_##NAME],
        EVENT_TABLE(ROW_SKIP, ROW_SKIP, TEXT, TEXT)
#undef TEXT
    };

    producer->taken++;
    audit->rows++;
    return ledger_event(&audit->ledger, &event);
}

static enum code take_records(struct audit *audit, struct producer *producer)
{
    uint64_t end = ring_tail(producer->ring);
    struct ring_view view;
    enum code code = CODE_OK;

    while (code == CODE_OK && audit->rows < BATCH_ROWS &&
           ring_next(producer->ring, &audit->scratch, &producer->end, end, &view)) {
        switch (view.kind) {
        case RING_DECISION:
            code = take_decision(audit, producer, &view);
            break;
        case RING_RESULT:
            code = take_result(audit, producer, &view.result);
            break;
        case RING_EVENT:
            code = take_event(audit, producer, &view);
            break;
        }
    }
    return code;
}

static enum code write_batch(struct audit *audit)
{
    enum code code = ledger_begin(&audit->ledger);

    if (code == CODE_OK)
        code = rotate__begin(audit);
    for (unsigned i = 0; i < audit->producer_count && code == CODE_OK; i++)
        code = take_records(audit, &audit->producers[(audit->producer_first + i) % audit->producer_count]);
    if (code == CODE_OK)
        code = writer__checkpoint(audit);
    if (code == CODE_OK && audit->rotation.seals)
        code = rotate__seal(audit);
    if (code == CODE_OK)
        code = ledger_commit(&audit->ledger);
    return code;
}

/* Tells each producer once what became of its records. */
static void settle(struct audit *audit)
{
    for (unsigned i = 0; i < audit->closing_count; i++)
        permits_remove(&audit->ledger.permits, audit->closing[i]);
    for (unsigned i = 0; i < audit->producer_count; i++) {
        struct producer *producer = &audit->producers[i];
        bool wakes = atomic_load(&producer->ring->is_lost);

        producer->pressing = wakes ? ring_pressing(producer->ring) : producer->pressing + producer->taken;
        atomic_fetch_sub(&producer->ring->rooms_lost, producer->rooms_back); /* only now, since a failed batch is taken again */
        if (producer->ticket > audit_settled(producer->ring)) {
            ring_settle(producer->ring, producer->ticket);
            wakes = true;
        }
        if (producer->end != ring_head(producer->ring))
            wakes = ring_release(producer->ring, producer->end) || wakes;
        if (wakes && producer->wake != NULL)
            producer->wake(producer->context);
    }
}

/* Called while commit_lock is held. In doubt the keeper is left out: the writer copies each commit by itself, and the -wal file
 * that a new connection finds may be another one, which would be copied into the file. */
static void ask_keeper(struct audit *audit)
{
    bool in_doubt = audit->ledger.place.doubt[0] != '\0';
    int pages = in_doubt ? 0 : db_wal_pages(audit->ledger.db);

    if (pages < atomic_exchange(&audit->keeper.wal_pages, pages)) /* the WAL has begun anew */
        audit->checkpoint_pages = CHECKPOINT_PAGES;
    if (!in_doubt && pages >= audit->checkpoint_pages) {
        audit->checkpoint_pages = pages + CHECKPOINT_PAGES;
        keeper_ask_checkpoint(&audit->keeper);
    }
}

/* Whether nobody knows what is on the disk since the keeper could not copy. Where the -wal file was taken away, a new
 * connection of the keeper's found another one, which the index does not fit: then only the writer's connection still has the
 * rows of the lost one, and stays open until they are copied. */
static bool is_in_doubt(struct audit *audit)
{
    if (!atomic_load(&audit->keeper.is_in_doubt))
        return false;
    (void)!ledger_check_place(&audit->ledger); /* the batch asks again, and goes by what it says */
    if (!audit->ledger.place.log_is_lost)
        return true;
    atomic_store(&audit->keeper.is_in_doubt, false);
    return false;
}

bool writer__batch(struct audit *audit)
{
    enum code code;

    if (is_in_doubt(audit)) {
        writer__go_down(audit, CODE_IO);
        return false;
    }
    audit->closing_count = audit->decisions = audit->rows = 0;
    for (unsigned i = 0; i < audit->producer_count; i++) {
        audit->producers[i].end = ring_head(audit->producers[i].ring);
        audit->producers[i].ticket = audit->producers[i].taken = audit->producers[i].rooms_back = 0;
    }
    lock_take(&audit->keeper.commit_lock);
    code = write_batch(audit);
    if (code == CODE_OK)
        ask_keeper(audit);
    lock_give(&audit->keeper.commit_lock);
    if (code != CODE_OK) {
        writer__go_down(audit, code);
        return false;
    }
    settle(audit);
    audit->rotation.begins = false;
    writer__committed(audit);
    audit->producer_first = (audit->producer_first + 1) % audit->producer_count;
    audit->pace_x8 = audit->pace_x8 - audit->pace_x8 / 8 + audit->decisions;
    audit->committed_us = clock_monotonic_us();
    if (audit->pace_x8 / 8 >= LOAD_DECISIONS)
        atomic_store_explicit(&audit->finisher.loaded_us, audit->committed_us, memory_order_relaxed);
    writer__watch_file(audit);
    writer__publish(audit);
    return true;
}
