/* SPDX-License-Identifier: Apache-2.0 */
/* What others do to the live file, its -wal and -shm files and the link: seen behind every commit, before anybody is told of
 * it. The kernel tells that something was done (inotify(7)), which costs a commit one call; then all is looked at.
 *
 * Threads: where the ledger is used.
 * Owns: the descriptor by which the kernel tells.
 * Lifetime: the ledger's; the descriptor's from place__remember to place__forget.
 * Errors: enum code; what was found stands in place.fault, for people. */
#ifndef AUDIT_PLACE_PRIV_H
#define AUDIT_PLACE_PRIV_H

#include "base/why.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ledger;

#define PLACE_LOG_BYTES ((uint64_t)64 << 20) /* of a -wal file that a read keeps from shrinking: the file is left */

enum place_part { PLACE_FILE = 0, PLACE_WAL, PLACE_SHM, PLACE_PARTS };

struct place {
    struct { dev_t device; ino_t inode; } at[PLACE_PARTS]; /* inode 0: not known yet */
    int64_t schema;     /* SQLite's count of changes of the file's schema */
    int64_t version;    /* and what it changes for this connection where another one has written */
    off_t bytes;        /* of the file; it never gets smaller by us */
    bool is_watched;    /* by watch_fd; else all is looked at behind each commit */
    bool is_sound;      /* all was as it should be at looked_us, and nothing was told since */
    int watch_fd;
    int64_t looked_us;
    bool log_is_lost;   /* each commit is copied into the file at once, until that is left */
    char doubt[96];     /* why the file is to be left; empty: it is not */
    struct why fault;   /* of the last check that failed */
};

bool place__is_known(const struct ledger *ledger);
void place__remember(struct ledger *ledger); /* of the connection that was just opened */
void place__forget(struct place *place);     /* once it is closed; the rest is known of the next one */
void place__clear(struct ledger *ledger);    /* once the file was left: what lies where its lost -wal file was is not its own */

/* Before it is opened: whether the file is the one that was written until now. SQLite would take a -wal file for that of any
 * database of its name, and spoil both. */
enum code place__expect(const struct ledger *ledger, struct why *why) MUST_USE;

/* Behind a commit. CODE_NOT_FOUND: the file is not in its place, CODE_IO: it was cut or overwritten; what was committed counts
 * for nothing then. CODE_BUSY: its -wal file is gone, and somebody's read keeps it from being copied: ask again, on this
 * connection. */
enum code place__check(struct ledger *ledger) MUST_USE;

/* What the file says of itself, its tables and what else stands in its schema, against the gate's. What is another one is a
 * reason to leave the file; CODE_INVALID: a table that rows go into. */
enum code place__check_schema(struct ledger *ledger) MUST_USE;

/* Whether another connection has written the file since the last transaction; what it wrote, inside one. CODE_INVALID: rows
 * behind the last one, whose numbers are not used twice, or other tables. */
bool place__is_written_by_others(const struct ledger *ledger);
enum code place__check_others(struct ledger *ledger) MUST_USE;

#define PLACE_GONE "is not the file that was written until now: put it back, or restart the gate"

#endif
