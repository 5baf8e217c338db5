/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper: a thread beside the writer for what would make commits late: checkpoints, and what of a rotation can be
 * done before and after it.
 *
 * Threads: keeper__ask_* by the writer; start and stop by main.
 * Owns: its thread, a connection that it only reads and checkpoints with.
 * Lifetime: keeper__init to keeper__fini.
 * Errors: logged; what failed is asked for again. Nothing durable depends on it. */
#ifndef AUDIT_KEEPER_PRIV_H
#define AUDIT_KEEPER_PRIV_H

#include "audit/erase_priv.h"
#include "audit/rotate_priv.h"
#include "os/thread.h"

/* The file that a rotation goes on in. READ: somebody's read keeps the WAL from being copied. */
enum keeper_next { KEEPER_NEXT_NONE = 0, KEEPER_NEXT_ASKED, KEEPER_NEXT_READY, KEEPER_NEXT_READ, KEEPER_NEXT_FAILED };

struct keeper {
    const char *path;             /* the ledger's */
    struct ring_shared *shared;   /* to wake the writer */
    pthread_mutex_t commit_lock;  /* held by the writer from BEGIN to COMMIT, by the keeper for the end of a checkpoint */
    pthread_mutex_t work_lock;    /* held while it works; by the writer during a rotation */
    struct thread thread;
    struct db *db;                /* the keeper's; NULL: to be opened */
    uint64_t generation_seen;
    int wake_fd;
    atomic_bool stopping;
    atomic_bool checkpoint_wanted;
    atomic_bool is_in_doubt;      /* a sync failed: the writer takes it as its own */
    _Atomic uint64_t generation;  /* grows when the writer has opened the database anew */
    _Atomic int next;             /* enum keeper_next */
    struct ledger ahead;          /* a connection to PATH.next, while `next` says READY. Under work_lock */
    struct ledger old;            /* one to a sealed file, to be closed. Under work_lock */
    bool is_held;                 /* the file that is to be sealed; see rotate__hold. Under work_lock */
    unsigned settle_tries;        /* left for sealed files; 0: all are settled. Under work_lock */
    struct erase_sealed erase;
    uint64_t warned_pages;
};

enum code keeper__init(struct keeper *keeper, const char *path, struct ring_shared *shared, struct why *why) MUST_USE;
enum code keeper__start(struct keeper *keeper, struct why *why) MUST_USE;
void keeper__stop(struct keeper *keeper); /* blocks until the thread has ended; fine where it was not started */
void keeper__fini(struct keeper *keeper);

void keeper__ask_checkpoint(struct keeper *keeper);
void keeper__poke(struct keeper *keeper); /* after erase.state was set */
void keeper__ask_next(struct keeper *keeper);
void keeper__ask_settle(struct keeper *keeper); /* by who holds work_lock */

#endif
