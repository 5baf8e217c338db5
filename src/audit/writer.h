/* SPDX-License-Identifier: Apache-2.0 */
/* The audit writer: one thread, the only writable connection to audit.db, group commit with synchronous=FULL.
 *
 * Threads: audit_open and audit_close on main; the rest says so itself.
 * Owns: the database, the rings, its thread.
 * Lifetime: closed after the workers have ended.
 * Errors: a failed commit is the sticky state DOWN until the writer has reopened the database by itself. */
#ifndef AUDIT_WRITER_H
#define AUDIT_WRITER_H

#include "audit/ring.h"
#include "base/why.h"

struct audit;

struct audit_conf {
    const char *path;             /* audit.db */
    unsigned rings;               /* one a worker, and one for main (the last) */
    uint64_t ring_bytes;          /* of each; 0: 2 MiB */
    uint64_t arguments_max_bytes; /* 64 KiB by default */
    int64_t lock_wait_us;         /* how long to wait for another gate's lock on the file (drain) */
    const char *node;             /* host name, recorded */
    struct span version;          /* of this build, for the start event */
};

/* Opens or makes the database (0640), takes the lock that one gate holds, writes `unknown` outcomes for permits that a
 * crash left open and the `start` (and `crash`) events, durably. Does not start the thread yet (sandbox first). */
enum code audit_open(const struct audit_conf *conf, struct audit **audit, struct why *why) MUST_USE;
enum code audit_start(struct audit *audit, struct why *why) MUST_USE; /* the thread */

struct audit_ring *audit_ring(struct audit *audit, unsigned index);

/* Called by the writer thread after each settlement that concerns the ring: poke the worker's inbox, nothing else.
 * Set before audit_start. */
void audit_on_settled(struct audit *audit, unsigned index, void (*wake)(void *context), void *context);

/* Settles everything that is in the rings, writes the `stop` event, checkpoints, ends the thread, releases the lock. */
void audit_close(struct audit **audit);

/* For status and metrics; any thread. */
struct audit_gauges {
    uint64_t last_seq, commits, rows, ring_bytes_used, wal_bytes, open_permits;
    bool down;
};
void audit_gauges(const struct audit *audit, struct audit_gauges *gauges);

#endif
