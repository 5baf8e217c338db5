/* SPDX-License-Identifier: Apache-2.0 */
/* Notices what others do to the live file, its -wal and -shm files and the link: behind every commit, before anybody is told of
 * the commit. The kernel tells that something was done (inotify(7)), which costs a commit one call; then all is looked at.
 *
 * Threads: where the ledger is used.
 * Owns: the descriptor by which the kernel tells.
 * Lifetime: the ledger's; the descriptor's from place__remember to place__forget.
 * Errors: enum code; what was found stands in place.fault, for people. */
#ifndef LEDGER_PLACE_H
#define LEDGER_PLACE_H

#include "base/why.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PLACE_LOG_BYTES ((uint64_t)64 << 20) /* of a -wal file that somebody's read keeps from shrinking; when it gets
                                              * larger, the file is left */

enum place_part { PLACE_FILE = 0, PLACE_WAL, PLACE_SHM, PLACE_PARTS };

struct place {
    struct { dev_t device; ino_t inode; } at[PLACE_PARTS]; /* inode 0: not known yet */
    int64_t schema;     /* SQLite's count of changes of the file's schema */
    int64_t version;    /* a number that SQLite changes where another connection has written */
    off_t bytes;        /* of the file, which the gate never makes smaller */
    bool is_watched;    /* by watch_fd; else all is looked at behind each commit */
    bool is_sound;      /* all was as it should be at looked_us, and nothing was told since */
    int watch_fd;
    int64_t looked_us;
    bool is_changed;    /* somebody else's schema: it is left before anything but its seal is written */
    bool is_other;      /* also a table that rows go into: nothing is written into it any more */
    bool log_is_lost;   /* each commit is copied into the file at once, until that is left */
    char doubt[96];     /* why the file is to be left; empty: it is not */
    struct why fault;   /* of the last check that failed */
};

#define PLACE_GONE "is not the file that was written until now: put it back, or restart the gate"

#endif
