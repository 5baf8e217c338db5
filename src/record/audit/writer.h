/* SPDX-License-Identifier: Apache-2.0 */
/* The audit writer: one thread, the only connection that writes rows, group commit with synchronous=FULL.
 *
 * Threads: audit_open and audit_close on main; the rest says so itself.
 * Owns: the database, the rings, its thread, and the keeper, the finisher and the notary with theirs.
 * Lifetime: closed after the workers have ended.
 * Errors: a failed commit is the sticky state DOWN until the writer has reopened the database by itself. */
#ifndef AUDIT_WRITER_H
#define AUDIT_WRITER_H

#include "audit/checkpoints.h"
#include "proof/loss.h"
#include "rows/ring.h"
#include "base/why.h"

struct audit;

struct audit_conf {
    const char *path;             /* audit.db */
    unsigned rings;               /* one for each worker, and one for main (the last) */
    uint64_t ring_bytes;          /* of each; 2 MiB at least */
    uint64_t arguments_max_bytes; /* 64 KiB by default */
    const char *node;             /* host name, recorded */
    struct span version;          /* of this build, for the start event */
    struct audit_checkpoints checkpoints;
    struct span confined;         /* for the start event: a JSON list, and further members; empty: not said */
    uint64_t rotate_bytes;        /* a file of this size is sealed, and the audit goes on in another; 0: never */
    int lock_fd_take;             /* the lock, as audit_hold has taken it; 0: it is taken here */
    struct audit_loss loss;       /* a loss that a person accepted; where nothing is lost, that is an error, too */
};

/* Opens or makes the database (0640), takes the lock that one gate holds, compares it with its own file of checkpoints, writes
 * `unknown` outcomes for permits that a crash left open and the `start` (and `crash`) events, durably. Does not start the
 * thread yet (sandbox first). CODE_INVALID where rows are lost that a checkpoint covers. */
enum code audit_open(const struct audit_conf *conf, struct audit **audit, struct why *why) MUST_USE;
enum code audit_start(struct audit *audit, struct why *why) MUST_USE; /* the threads */

struct audit_ring *audit_ring(struct audit *audit, unsigned index);

/* Called by the writer thread after each settlement that concerns the ring: poke the worker's inbox, nothing else.
 * Set before audit_start. */
void audit_on_settled(struct audit *audit, unsigned index, void (*wake)(void *context), void *context);

/* The key's public half under this log's name, "name+id+key" (C2SP's vkey), for people and audit-key.pub. CODE_NOT_FOUND
 * where there are no checkpoints. */
enum code audit_checkpoint_key(const struct audit *audit, struct buf *out) MUST_USE;

/* Asks the writer to seal the file and to go on in another one. Calls go on meanwhile, but for a few syncs. On main, after
 * audit_start.
 * Returns: CODE_BUSY what was asked before is not over, or audit_job_over was not called since. */
enum code audit_archive(struct audit *audit, struct span actor) MUST_USE;

/* Asks the writer to erase the argument values of a tenant's decisions before a time, in this file and in the sealed ones
 * beside it. An event `erased` of the tenant, with why, is on disk first. An erasure that was begun goes on by itself at the
 * next start.
 * Takes: request: a request that the file knows already is not recorded twice; 0: none. CODE_LIMIT: a tenant's name or a
 * reason is too long. */
struct audit_erasure {
    struct span tenant, actor, why;
    int64_t before_us;
    int64_t request;
};
enum code audit_erase(struct audit *audit, const struct audit_erasure *erasure) MUST_USE;
int64_t audit_goes_on_erasing(const struct audit *audit); /* the request that the last run had begun; 0: none. Any thread */

/* Whether what was asked is over. Returns true once. */
struct audit_done {
    enum code code;
    char text[4200]; /* archive: the sealed file's path; erase: what was done */
};
bool audit_job_over(struct audit *audit, struct audit_done *done);

/* Settles everything that is in the rings, writes the `stop` event, checkpoints, ends the thread, releases the lock. */
void audit_close(struct audit **audit);

/* Holds the audit's lock as a gate does, until *fd is closed, so that no gate writes it meanwhile. CODE_BUSY: a gate
 * holds it. */
enum code audit_hold(const char *path, int *fd, struct why *why) MUST_USE;

/* For another process: whether a gate that writes this audit says that it cannot, and why. Any thread. */
bool audit_is_said_down(const char *path, char *text, size_t size);

/* For status and metrics; any thread. */
struct audit_gauges {
    uint64_t last_seq, commits, rows, ring_bytes_used, wal_bytes, open_permits;
    uint64_t signed_seq;          /* rows that the last checkpoint covers */
    uint64_t checkpoint_failures; /* checkpoints that could not be appended to their file */
    enum checkpoint_fault checkpoint_fault;
    int64_t checkpoint_us;        /* when the last one was made, since 1970; 0: none since the start */
    int64_t unsigned_since_us;    /* monotonic: since when rows wait for one that is in its file; 0: none do */
    uint64_t rotations;           /* since the start */
    uint64_t answers_lost;        /* kept empty for want of room in a ring */
    bool down;
};
void audit_gauges(const struct audit *audit, struct audit_gauges *gauges);

#endif
