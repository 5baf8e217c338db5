/* SPDX-License-Identifier: Apache-2.0 */
/* The writer from inside: what its files share.
 *
 * Threads: the writer's, but for what audit/writer.h says of main and the atomics.
 * Owns: struct audit.
 * Lifetime: audit_open to audit_close.
 * Errors: a failed batch goes through writer__go_down; nothing else is lost. */
#ifndef AUDIT_WRITER_PRIV_H
#define AUDIT_WRITER_PRIV_H

#include "audit/erase_priv.h"
#include "files/finisher.h"
#include "files/keeper.h"
#include "ledger/ledger.h"
#include "audit/notary_priv.h"
#include "audit/rotate_priv.h"
#include "audit/writer.h"
#include "base/buf.h"

#define BATCH_ROWS 2048 /* in one commit */

/* A ring as the writer sees it. */
struct producer {
    struct audit_ring *ring;
    void (*wake)(void *context);
    void *context;
    uint64_t end;      /* behind the last record of the batch */
    uint64_t ticket;   /* last one in the batch */
    uint64_t pressing; /* decisions and events taken so far */
    uint64_t taken;    /* of these, in the batch */
    uint64_t rooms_back; /* of outcomes in the batch whose decisions failed */
};

enum audit_job_kind { AUDIT_JOB_ARCHIVE = 0, AUDIT_JOB_ERASE };
enum job_state { JOB_NONE = 0, JOB_ASKED /* the writer's */, JOB_OVER /* main's again */ };

struct job {
    _Atomic int state; /* enum job_state */
    enum audit_job_kind kind;
    char actor[256];
    char tenant[ERASE_TENANT_BYTES], why[ERASE_WHY_BYTES]; /* erase */
    int64_t before_us, request;
    struct audit_done done;
};

struct rotation {
    bool wanted;
    bool seals;                 /* the next batch ends the file */
    struct checkpoint *checkpoint; /* over a file that is not sealed durably yet, or NULL */
    int64_t due_us, since_us;   /* the next try; since when it is tried */
    char actor[256];
    char sealed[FILES_PATH_BYTES];
    char unsealed[96];          /* why that one could not be ended by an event; empty: it is */
    bool begins;                /* the new file's first events are due */
    char waits_for[64];         /* what was logged last */
};

struct audit {
    struct ring_shared shared;
    struct producer *producers;
    unsigned producer_count, producer_first; /* producer_first: the producer that a batch begins with, each in turn */
    struct ring_scratch scratch;
    struct ledger ledger;
    struct keeper keeper;
    struct finisher finisher;
    struct notary notary;
    struct checkpoint *checkpoint; /* that is being written, or NULL */
    struct why *damage;            /* of the file of checkpoints, likewise */
    uint64_t started_seq;          /* the last row that the start wrote */
    uint64_t checkpoint_event_seq; /* size that the last event `checkpoint` names */
    int64_t checkpoint_event_us;   /* monotonic: when it was written */
    bool names_checkpoint;         /* the transaction under way holds such an event */
    struct job job;
    struct rotation rotation;
    struct erasing erasing;
    int64_t resumed_request; /* set once, by the start: erasing.request */
    uint64_t rotate_bytes;
    struct thread thread;
    char *version, *confined; /* for the start event */
    int lock_fd;
    atomic_bool stopping;

    /* the batch */
    uint64_t closing[BATCH_ROWS]; /* permits whose outcomes are in it */
    unsigned closing_count, decisions, rows;
    unsigned pace_x8;          /* decisions a commit, moving average of eight */
    int64_t committed_us;      /* monotonic, of the last commit */
    int64_t empty_us;          /* when the rings were last seen empty */
    int checkpoint_pages;      /* WAL pages at which the next checkpoint is due */

    /* down */
    struct ledger_tip sound;   /* the last tip that is known to be durable */
    struct ledger_tip in_doubt; /* what the failed batch would have made it */
    uint64_t doubt_seq;        /* permits above it were denied, so that they are ended if they turn up */
    int64_t down_wall_us, down_us, retry_us, backoff_us;
    char down_text[300];
    bool outage_is_told;  /* told in the log. It ends when rows were written for ten seconds, so that a disk that fails now
                           * and then is one outage */
    int64_t healed_us;    /* since when rows are written again and the log does not say so yet; 0: it does */

    _Atomic uint64_t rotations, last_seq, commits, rows_total, wal_bytes, open_permits;
};

/* batch.c: one transaction of everything that is in the rings. False: the writer is down now. */
bool writer__batch(struct audit *audit);

/* The row of the decision that a result is of; 0: the decision failed. */
static inline uint64_t writer__decision_of(const struct producer *producer, const struct audit_result *result)
{
    return result->decision != 0 ? result->decision : ring_seq(producer->ring, result->ticket);
}


/* job.c: on the writer's thread while the audit is up. wait_us: until something is to be done; -1: nothing is asked. */
int64_t writer__job_wait_us(const struct audit *audit);
void writer__job_turn(struct audit *audit);
void writer__job_over(struct audit *audit);
void writer__watch_file(struct audit *audit); /* behind a commit: wants a rotation where the file is full or in doubt */

/* lock.c */
enum code writer__take_lock(struct audit *audit, int fd_take, struct why *why) MUST_USE; /* 0: takes it itself */
void writer__say(const struct audit *audit, const char *text); /* why it is down, for audit_is_said_down; "" when it is up */

/* recovery.c */
void writer__go_down(struct audit *audit, enum code code);
void writer__sweep(struct audit *audit);   /* while down: fails the decisions that slipped into the rings */
bool writer__recover(struct audit *audit); /* true: up again */
enum code writer__empty_wal(struct audit *audit) MUST_USE; /* CODE_BUSY: somebody reads */

/* Appends `"denied":{...}`: what was refused without a row since the last `audit_up`, by reason. */
enum code writer__describe_denied(const struct audit *audit, uint64_t counts[REASON_COUNT], struct buf *out) MUST_USE;

/* A further event by the gate itself, inside a transaction. */
enum code writer__event(struct audit *audit, const char *kind, int64_t time_us, struct span detail) MUST_USE;

void writer__publish(struct audit *audit); /* the gauges */

/* notarize.c. Inside a transaction: puts the checkpoint that the notary has ready. writer__committed: tells the
 * notary what the commit holds. */
enum code writer__checkpoint(struct audit *audit) MUST_USE;
/* part of the first: records damage that the notary found in its file */
enum code writer__put_damage(struct audit *audit) MUST_USE;
/* a checkpoint over all rows of the transaction; the notary is seized */
enum code writer__checkpoint_last(struct audit *audit) MUST_USE;
void writer__checkpoint_settled(struct audit *audit, bool is_durable); /* ends what checkpoint_last began, after the commit */
enum code writer__put_checkpoint(struct ledger *ledger, const struct checkpoint *checkpoint) MUST_USE;
void writer__committed(struct audit *audit);
void writer__push_leaves(struct audit *audit, uint64_t own); /* after any other commit; own: events about checkpoints */

/* At the start, inside the transaction: records the key that signs from now on, and the last checkpoint. */
enum code writer__checkpoint_start(struct audit *audit, int64_t time_us) MUST_USE;
enum code writer__checkpoint_end(struct audit *audit) MUST_USE; /* after the notary has ended: puts its last checkpoint */

#endif
