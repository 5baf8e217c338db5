/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper: a thread beside the writer that copies the live file's -wal file into it.
 *
 * Threads: keeper_ask_checkpoint and keeper_follow by the writer; start and stop by main.
 * Owns: its thread, a connection that it only reads and checkpoints with.
 * Lifetime: keeper_init to keeper_fini.
 * Errors: logged; what failed is asked for again. Nothing durable depends on it. */
#ifndef FILES_KEEPER_H
#define FILES_KEEPER_H

#include "files/files.h"
#include "rows/ring_drain.h"
#include "os/thread.h"

struct keeper {
    struct ring_shared *shared;   /* to wake the writer */
    pthread_mutex_t commit_lock;  /* held by the writer from BEGIN to COMMIT, by the keeper for the end of a checkpoint */
    struct thread thread;
    char file[FILES_PATH_BYTES];  /* the live one. Under commit_lock */
    struct db *db;                /* the keeper's; NULL: to be opened */
    struct why why;               /* what it could not be opened for; the keeper's */
    uint64_t generation_seen;
    atomic_int wal_pages;         /* what the -wal file holds after the writer's last commit; set while commit_lock is held */
    int copied;                   /* what it held when all of it was copied last; the keeper's */
    atomic_bool checkpoint_wanted;
    atomic_bool is_in_doubt;      /* a sync failed: the writer acts as if its own had */
    atomic_bool keeps_off;        /* the file is in doubt: what its -wal file holds must stay there until it is finished */
    _Atomic uint64_t generation;  /* grows when the writer has opened a database */
};

void keeper_init(struct keeper *keeper, const char *file, struct ring_shared *shared);
enum code keeper_start(struct keeper *keeper, struct why *why) MUST_USE;
void keeper_stop(struct keeper *keeper); /* blocks until the thread has ended; fine where it was not started */
void keeper_fini(struct keeper *keeper);

void keeper_ask_checkpoint(struct keeper *keeper);
void keeper_follow(struct keeper *keeper, const char *file); /* tells that the writer goes on in this file */

#endif
