/* SPDX-License-Identifier: Apache-2.0 */
/* A file system that fails on demand, between SQLite and the real one.
 *
 * Threads: switched by the test, used by any.
 * Owns: nothing.
 * Lifetime: the process, once installed.
 * Errors: those that it was told to make. */
#ifndef FAKES_FAULT_VFS_H
#define FAKES_FAULT_VFS_H

enum fault_kind {
    FAULT_NONE = 0,
    FAULT_DISK_FULL,        /* writes: ENOSPC */
    FAULT_WRITE,            /* writes: EIO */
    FAULT_SYNC,             /* fsync: EIO; the writes before it stay readable */
    FAULT_READ              /* reads of the -wal and the main file: EIO */
};

void fault_vfs_install(void); /* before the first database is opened; all that follow go through it */

/* From the nth matching call from now on (1: the next), until set to NONE. */
void fault_vfs_set(enum fault_kind kind, int nth);

void fault_vfs_set_once(enum fault_kind kind, int nth); /* only the nth */
int fault_vfs_matched(void); /* how many matching calls there were since either */

/* What Linux does with pages that a sync could not write: they count as clean and stay readable, or are thrown away. Either way no
 * later sync writes them, unless they are written anew. What of the databases in
 * the path's folder and of their -wal files is on the disk is kept track of from their next opening on, up to 16 MiB each, and syncs of
 * other files no longer fail. */
enum fault_pages { PAGES_KEPT = 0, PAGES_DROPPED };
void fault_vfs_track(const char *path, enum fault_pages pages);

/* As if the power failed now: puts what is on the disk of all of them, and the links beside them, into the folder of `to`. */
void fault_vfs_cut_power(const char *path, const char *to);

int fault_vfs_failed(void); /* how many calls were failed since fault_vfs_set */

/* Writes to -wal files since the last sync of one; and all syncs so far. */
int fault_vfs_unsynced(void);
int fault_vfs_syncs(void);

#endif
