/* SPDX-License-Identifier: Apache-2.0 */
/* Group commit. Records stay in their rings until their transaction is durable, so that a failed one has lost nothing:
 * its outcomes and events are taken again. */
#include "audit/writer_priv.h"

#include "base/lock.h"
#include "os/clock.h"

#define CHECKPOINT_PAGES 2000 /* 8 MiB; a page that many commits write is copied once */
#define LOAD_DECISIONS 16 /* in a commit: calls come so fast that they fill the processors, or nearly */

static enum code take_decision(struct audit *audit, struct lane *lane, const struct ring_view *view)
{
    uint64_t ticket = view->decision.ticket, seq;
    enum code code;

    lane->taken++;
    if (ticket <= audit_settled(lane->ring)) /* failed while the audit was down */
        return CODE_OK;
    code = ledger_decision(&audit->ledger, &view->decision, view->text, &seq);
    if (code != CODE_OK)
        return code;
    ring_set_seq(lane->ring, ticket, seq);
    lane->ticket = ticket;
    audit->decisions++;
    audit->rows++;
    return CODE_OK;
}

static enum code take_result(struct audit *audit, struct lane *lane, const struct audit_result *result)
{
    uint64_t decision = writer__decision_of(lane, result);
    const struct permit *permit;
    enum code code;

    if (decision == 0) { /* its decision failed, and the sweep counted its room as lost; but the outcome has used that room */
        lane->rooms_back++;
        return CODE_OK;
    }
    permit = permits_find(&audit->ledger.permits, decision);
    if (permit == NULL || permit->closing) { /* it would fail every batch, so it is passed over, and other rows are written */
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

static enum code take_event(struct audit *audit, struct lane *lane, const struct ring_view *view)
{
    const struct audit_event event = {
        .time_us = view->event_time_us,
#define TEXT(NAME, name) .name = view->text[EVENT_##NAME],
        EVENT_TABLE(ROW_SKIP, ROW_SKIP, TEXT, TEXT)
#undef TEXT
    };

    lane->taken++;
    audit->rows++;
    return ledger_event(&audit->ledger, &event);
}

static enum code take_lane(struct audit *audit, struct lane *lane)
{
    uint64_t end = ring_tail(lane->ring);
    struct ring_view view;
    enum code code = CODE_OK;

    while (code == CODE_OK && audit->rows < BATCH_ROWS &&
           ring_next(lane->ring, &audit->scratch, &lane->end, end, &view)) {
        switch (view.kind) {
        case RING_DECISION:
            code = take_decision(audit, lane, &view);
            break;
        case RING_RESULT:
            code = take_result(audit, lane, &view.result);
            break;
        case RING_EVENT:
            code = take_event(audit, lane, &view);
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
    for (unsigned i = 0; i < audit->lane_count && code == CODE_OK; i++)
        code = take_lane(audit, &audit->lanes[(audit->lane_first + i) % audit->lane_count]);
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
    for (unsigned i = 0; i < audit->lane_count; i++) {
        struct lane *lane = &audit->lanes[i];
        bool wakes = atomic_load(&lane->ring->is_lost);

        lane->pressing = wakes ? ring_pressing(lane->ring) : lane->pressing + lane->taken;
        atomic_fetch_sub(&lane->ring->rooms_lost, lane->rooms_back); /* only now, since a failed batch is taken again */
        if (lane->ticket > audit_settled(lane->ring)) {
            ring_settle(lane->ring, lane->ticket);
            wakes = true;
        }
        if (lane->end != ring_head(lane->ring))
            wakes = ring_release(lane->ring, lane->end) || wakes;
        if (wakes && lane->wake != NULL)
            lane->wake(lane->context);
    }
}

static void ask_keeper(struct audit *audit)
{
    int pages = db_wal_pages(audit->ledger.db);

    if (pages < audit->wal_pages) /* the WAL has begun anew */
        audit->checkpoint_pages = CHECKPOINT_PAGES;
    audit->wal_pages = pages;
    if (audit->ledger.place.doubt[0] != '\0')
        return; /* the -wal file that a new connection finds may be another one, and would be copied into the file */
    if (pages >= audit->checkpoint_pages) {
        audit->checkpoint_pages = pages + CHECKPOINT_PAGES;
        keeper_ask_checkpoint(&audit->keeper);
    }
}

bool writer__batch(struct audit *audit)
{
    enum code code;

    if (atomic_load(&audit->keeper.is_in_doubt)) {
        writer__go_down(audit, CODE_IO);
        return false;
    }
    audit->closing_count = audit->decisions = audit->rows = 0;
    for (unsigned i = 0; i < audit->lane_count; i++) {
        audit->lanes[i].end = ring_head(audit->lanes[i].ring);
        audit->lanes[i].ticket = audit->lanes[i].taken = audit->lanes[i].rooms_back = 0;
    }
    lock_take(&audit->keeper.commit_lock);
    code = write_batch(audit);
    lock_give(&audit->keeper.commit_lock);
    if (code != CODE_OK) {
        writer__go_down(audit, code);
        return false;
    }
    settle(audit);
    audit->rotation.begins = false;
    writer__committed(audit);
    audit->lane_first = (audit->lane_first + 1) % audit->lane_count;
    audit->pace_x8 = audit->pace_x8 - audit->pace_x8 / 8 + audit->decisions;
    audit->committed_us = clock_monotonic_us();
    if (audit->pace_x8 / 8 >= LOAD_DECISIONS)
        atomic_store_explicit(&audit->finisher.loaded_us, audit->committed_us, memory_order_relaxed);
    ask_keeper(audit);
    writer__watch_file(audit);
    writer__publish(audit);
    return true;
}
