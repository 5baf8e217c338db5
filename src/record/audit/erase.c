/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/writer_priv.h"

#include "base/log.h"
#include "json/json.h"
#include "os/clock.h"
#include "os/pause.h"

#include <inttypes.h>
#include <stdio.h>

#define SLICE_ROWS 256   /* takes about a millisecond, by which a commit may be late */
#define RETRY_US 1000000
#define LOOK_US 20000    /* how often it is looked whether the finisher has ended */
#define DETAIL_BYTES ((size_t)6 * ERASE_WHY_BYTES + 160) /* JSON may need six bytes for one */

/* ---- recorded ---------------------------------------------------------------------------------------------------- */

#define OF_ERASED "SELECT e.seq, e.tenant, json_extract(e.detail, '$.before_us'), json_extract(e.detail, '$.request'), " \
                  "e.actor, d.seq IS NOT NULL, json_extract(d.detail, '$.rows'), " \
                  "json_extract(e.detail, '$.why') FROM event AS e LEFT JOIN event AS d " \
                  "ON d.kind = 'erase_done' AND d.seq > e.seq AND json_extract(d.detail, '$.erased') = e.seq " \
                  "WHERE e.kind = 'erased' AND json_extract(e.detail, '$.request') IS NOT NULL "

static void take_up(struct erasing *erasing, struct db_stmt *stmt)
{
    struct span tenant = db_text(stmt, 1);

    *erasing = (struct erasing){.phase = ERASE_LIVE, .is_resumed = true, .request = db_int(stmt, 3),
                                .what = {.seq = db_int(stmt, 0), .before_us = db_int(stmt, 2)}};
    (void)snprintf(erasing->what.tenant, sizeof erasing->what.tenant, "%.*s", SPAN_ARG(tenant));
    (void)snprintf(erasing->actor, sizeof erasing->actor, "%.*s", SPAN_ARG(db_text(stmt, 4)));
    (void)snprintf(erasing->why, sizeof erasing->why, "%.*s", SPAN_ARG(db_text(stmt, 7)));
}

enum code erase__resume(struct audit *audit)
{
    struct db_stmt *stmt;
    enum code code = db_find(audit->ledger.db, OF_ERASED "AND d.seq IS NULL ORDER BY e.seq LIMIT 1", NULL, 0, &stmt);

    if (code == CODE_OK) {
        take_up(&audit->erasing, stmt);
        audit->erasing.at = (int64_t)audit->ledger.begin_seq;
        audit->resumed_request = audit->erasing.request;
        log_info("audit", "%s: goes on erasing values of tenant %s, as recorded in row %" PRId64, audit->ledger.path,
                 audit->erasing.what.tenant, audit->erasing.what.seq);
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

int64_t audit_goes_on_erasing(const struct audit *audit)
{
    return audit->resumed_request;
}

/* A request that this file knows already is not recorded twice. Returns: CODE_NOT_FOUND where it does not. */
static enum code find_recorded(struct audit *audit, bool *is_done)
{
    struct erasing *erasing = &audit->erasing;
    struct db_stmt *stmt;
    enum code code;

    if (erasing->request == 0)
        return CODE_NOT_FOUND;
    code = db_find(audit->ledger.db, OF_ERASED "AND json_extract(e.detail, '$.request') = ?1",
                   DB_VALUES(db_of_int(erasing->request)), &stmt);
    if (code == CODE_OK) {
        erasing->what.seq = db_int(stmt, 0);
        *is_done = db_int(stmt, 5) != 0;
        erasing->rows = db_int(stmt, 6);
    }
    db_finalize(&stmt);
    return code;
}

static enum code put_event(struct audit *audit, const char *kind, struct span detail)
{
    struct erasing *erasing = &audit->erasing;
    const struct audit_event event = {
        .time_us = clock_wall_us(), .kind = span_text(kind), .tenant = span_text(erasing->what.tenant),
        .actor = span_text(erasing->actor), .detail = detail,
    };
    enum code code = ledger_begin(&audit->ledger);

    if (code == CODE_OK)
        code = rotate__begin(audit);
    if (code == CODE_OK)
        code = ledger_event(&audit->ledger, &event);
    if (code == CODE_OK && erasing->phase == ERASE_RECORD) {
        erasing->what.seq = (int64_t)audit->ledger.tip.seq;
        code = erase_note(audit->ledger.db, &erasing->what);
    }
    if (code == CODE_OK)
        code = ledger_commit(&audit->ledger);
    if (code == CODE_OK) {
        audit->rotation.begins = false;
        audit->rows = 1;
        writer__push_leaves(audit, 0);
        writer__publish(audit);
    }
    return code;
}

/* ---- the phases -------------------------------------------------------------------------------------------------- */

static enum code put_erased(struct audit *audit)
{
    const struct erasing *erasing = &audit->erasing;
    struct buf detail;
    enum code code;

    buf_init(&detail, DETAIL_BYTES);
    (void)buf_addf(&detail, "{\"before_us\":%" PRId64 ",\"request\":%" PRId64 ",\"why\":", erasing->what.before_us,
                   erasing->request);
    (void)json_write_string(&detail, span_text(erasing->why));
    code = buf_add_byte(&detail, '}');
    if (code == CODE_OK)
        code = put_event(audit, "erased", buf_peek(&detail));
    buf_fini(&detail);
    return code;
}

static enum code record(struct audit *audit)
{
    struct erasing *erasing = &audit->erasing;
    bool is_done = false;
    enum code code = find_recorded(audit, &is_done);

    if (code == CODE_NOT_FOUND)
        code = put_erased(audit);
    erasing->at = (int64_t)audit->ledger.begin_seq;
    if (code == CODE_OK)
        erasing->phase = is_done ? ERASE_IDLE : ERASE_LIVE;
    return code;
}

static void ask_finisher(struct audit *audit)
{
    struct erase_sealed *sealed = &audit->finisher.erase;

    if (atomic_load(&sealed->state) != ERASE_NONE) /* it is still at what was asked before a rotation */
        return;
    sealed->what = audit->erasing.what;
    (void)snprintf(sealed->live, sizeof sealed->live, "%s", audit->ledger.file);
    atomic_store(&sealed->state, ERASE_ASKED);
    finisher_poke(&audit->finisher);
}

static enum code live_slice(struct audit *audit)
{
    struct erasing *erasing = &audit->erasing;
    int64_t began_us = clock_monotonic_us(), rows = erasing->rows;
    enum code code = ledger_begin(&audit->ledger);

    if (code == CODE_OK)
        code = erase_slice(audit->ledger.db, &erasing->what, erasing->at, SLICE_ROWS, &rows);
    erasing->in_doubt = code == CODE_OK ? rows - erasing->rows : 0;
    if (code == CODE_OK)
        code = ledger_commit(&audit->ledger);
    if (code != CODE_OK)
        return code;
    erasing->in_doubt = 0;
    erasing->rows = rows; /* a slice that is not committed is erased again */
    erasing->at += SLICE_ROWS;
    erasing->due_us = 2 * clock_monotonic_us() - began_us; /* then the calls have the writer alone for as long again */
    if (erasing->at >= erasing->what.seq) {
        erasing->phase = ERASE_SEALED;
        ask_finisher(audit);
    }
    return CODE_OK;
}

enum code erase__settle(struct audit *audit)
{
    struct erasing *erasing = &audit->erasing;
    bool is_left = true;
    enum code code = CODE_OK;

    if (erasing->in_doubt > 0)
        code = erase_look(audit->ledger.db, &erasing->what, erasing->at, SLICE_ROWS, &is_left);
    if (code != CODE_OK)
        return code;
    if (!is_left)
        erasing->rows += erasing->in_doubt;
    erasing->in_doubt = 0;
    return CODE_OK;
}

static void await_finisher(struct audit *audit)
{
    struct erase_sealed *sealed = &audit->finisher.erase;
    struct erasing *erasing = &audit->erasing;

    erasing->due_us = clock_monotonic_us() + LOOK_US;
    if (atomic_load(&sealed->state) != ERASE_OVER)
        return;
    atomic_store(&sealed->state, ERASE_NONE);
    erasing->rows += sealed->rows;
    erasing->phase = ERASE_WAL;
    erasing->due_us = 0;
    if (sealed->code == CODE_OK)
        return;
    log_error("audit", "%s: erasing values of tenant %s in sealed files: %s; it is tried again", audit->ledger.path,
              erasing->what.tenant, sealed->why.text);
    erasing->phase = ERASE_LIVE; /* what is erased already is passed over */
    erasing->due_us = clock_monotonic_us() + pause_us(60 * RETRY_US);
}

/* The values may still stand in the WAL, from when they were written. */
static enum code empty_wal(struct audit *audit)
{
    struct erasing *erasing = &audit->erasing;
    enum code code;

    if (audit->ledger.place.doubt[0] != '\0') { /* the file is left at once, and its -wal file goes when it is finished */
        erasing->phase = ERASE_END;
        return CODE_OK;
    }
    db_busy_wait(audit->ledger.db, 0); /* the keeper may copy the WAL now, and somebody may read it */
    code = writer__empty_wal(audit);
    db_busy_wait(audit->ledger.db, LEDGER_BUSY_WAIT_MS);
    if (code == CODE_BUSY) {
        erasing->due_us = clock_monotonic_us() + pause_us(RETRY_US);
        return CODE_OK;
    }
    audit->keeper.wal_pages = audit->checkpoint_pages = 0;
    erasing->phase = ERASE_END;
    return code;
}

static enum code end(struct audit *audit)
{
    struct erasing *erasing = &audit->erasing;
    char detail[160];
    enum code code;

    (void)snprintf(detail, sizeof detail, "{\"erased\":%" PRId64 ",\"missing_to\":%" PRId64 ",\"rows\":%" PRId64 "}",
                   erasing->what.seq, audit->finisher.erase.missing_to, erasing->rows);
    code = put_event(audit, "erase_done", span_text(detail));
    if (code == CODE_OK)
        erasing->phase = ERASE_IDLE;
    return code;
}

static void finish(struct audit *audit)
{
    struct erasing *erasing = &audit->erasing;
    int64_t missing_to = audit->finisher.erase.missing_to;

    log_info("audit", "%s: erased the values of %" PRId64 " calls of tenant %s", audit->ledger.path, erasing->rows,
             erasing->what.tenant);
    if (!erasing->is_resumed) {
        int len = snprintf(audit->job.done.text, sizeof audit->job.done.text, "the values of %" PRId64 " calls were erased, as "
                           "recorded in row %" PRId64, erasing->rows, erasing->what.seq);

        if (missing_to > 0)
            (void)snprintf(audit->job.done.text + len, sizeof audit->job.done.text - (size_t)len, "; rows 1 to %" PRId64
                           " are in files that are not beside the audit: put them there and ask again", missing_to);
        writer__job_over(audit);
    }
    *erasing = (struct erasing){.phase = ERASE_IDLE};
}

void erase__turn(struct audit *audit)
{
    struct erasing *erasing = &audit->erasing;
    enum code code = CODE_OK;

    switch (erasing->phase) {
    case ERASE_RECORD:
        code = record(audit);
        break;
    case ERASE_LIVE:
        code = live_slice(audit);
        break;
    case ERASE_SEALED:
        await_finisher(audit);
        break;
    case ERASE_WAL:
        code = empty_wal(audit);
        break;
    case ERASE_END:
        code = end(audit);
        break;
    case ERASE_IDLE:
        break;
    }
    if (code != CODE_OK) /* it goes on where it was when the audit is up again */
        writer__go_down(audit, code);
    else if (erasing->phase == ERASE_IDLE)
        finish(audit);
}
