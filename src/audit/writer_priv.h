/* SPDX-License-Identifier: Apache-2.0 */
/* The writer from inside: what its files share.
 *
 * Threads: the writer's, but for what audit/writer.h says of main and the atomics.
 * Owns: struct audit.
 * Lifetime: audit_open to audit_close.
 * Errors: a failed batch goes through writer__go_down; nothing else is lost. */
#ifndef AUDIT_WRITER_PRIV_H
#define AUDIT_WRITER_PRIV_H

#include "audit/keeper_priv.h"
#include "audit/ledger_priv.h"
#include "audit/writer.h"
#include "base/buf.h"

#define BATCH_ROWS 2048 /* in one commit */

/* A ring as the writer sees it. */
struct lane {
    struct audit_ring *ring;
    void (*wake)(void *context);
    void *context;
    uint64_t end;      /* behind the last record of the batch, or of what was swept while down */
    uint64_t ticket;   /* last one in the batch */
    uint64_t pressing; /* decisions and events taken so far */
    uint64_t taken;    /* of these, in the batch */
    uint64_t rooms_back; /* of outcomes in the batch whose decisions failed */
};

struct audit {
    struct ring_shared shared;
    struct lane *lanes;
    unsigned lane_count, lane_first; /* first: takes turns */
    struct ring_scratch scratch;
    struct ledger ledger;
    struct keeper keeper;
    struct part *part;       /* index part that is being written, or NULL */
    struct thread thread;
    char *version;
    int lock_fd;
    atomic_bool stopping;

    /* the batch */
    uint64_t closing[BATCH_ROWS]; /* permits whose outcomes are in it */
    unsigned closing_count, decisions, rows;
    unsigned pace_x8;          /* decisions a commit, moving average of eight */
    int64_t committed_us;      /* monotonic, of the last commit */
    int64_t empty_us;          /* when the rings were last seen empty */
    int checkpoint_pages;      /* WAL pages at which the next checkpoint is due */
    int wal_pages;

    /* down */
    struct ledger_tip sound;   /* the last tip that is known to be durable */
    struct ledger_tip in_doubt; /* what the failed batch would have made it */
    uint64_t doubt_seq;        /* permits above it were denied, should they turn up */
    int64_t down_wall_us, down_us, retry_us, backoff_us;
    char down_text[300];

    _Atomic uint64_t last_seq, commits, rows_total, wal_bytes, open_permits;
};

/* batch.c: one transaction of everything that is in the rings. False: the writer is down now. */
bool writer__batch(struct audit *audit);

/* recovery.c */
void writer__go_down(struct audit *audit, enum code code);
void writer__sweep(struct audit *audit);   /* while down: fails the decisions that slipped into the rings */
bool writer__recover(struct audit *audit); /* true: up again */

/* Appends `"denied":{...}`: what was refused without a row since the last `audit_up`, by reason. */
enum code writer__describe_denied(const struct audit *audit, uint64_t counts[REASON_COUNT], struct buf *out) MUST_USE;

/* A further event by the gate itself, inside a transaction. */
enum code writer__event(struct audit *audit, const char *kind, int64_t time_us, struct span detail) MUST_USE;

void writer__publish(struct audit *audit); /* the gauges */

#endif
