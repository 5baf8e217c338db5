/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger: the live file of audit.db as the writer sees it. Appends rows to the chain inside transactions and knows
 * where it ends.
 *
 * Threads: one at a time: main before the writer is started and after it has ended, else the writer.
 * Owns: the connection, its statements, the tenants' heads, the open permits.
 * Lifetime: ledger_init to ledger_fini; ledger_close and ledger_open in between, any number of times.
 * Errors: enum code. After a failed append or commit nothing is known any more: ledger_close, ledger_open. */
#ifndef LEDGER_LEDGER_H
#define LEDGER_LEDGER_H

#include "files/files.h"
#include "rows/heads.h"
#include "rows/insert.h"
#include "ledger/place.h"
#include "rows/ring_drain.h"
#include "rows/row.h"
#include "base/buf.h"
#include "base/why.h"

#define LEDGER_BUSY_WAIT_MS 250

struct ledger_tip {
    uint64_t seq;
    unsigned char hash[DIGEST_BYTES];
};

struct ledger {
    char *path;    /* audit.db: the link */
    char *node;
    char file[FILES_PATH_BYTES]; /* the file that the link names; empty: there is none yet. All members from here to `tip`
                                  * are about this file */
    struct place place;
    struct db *db; /* NULL: closed */
    struct insert *insert[ROW_TABLES];
    struct db_stmt *find_head, *ask_version;
    struct db_stmt *put_checkpoint;
    struct ledger_tip tip;       /* with what the open transaction appended */
    struct ledger_tip committed;
    uint64_t begin_seq;          /* number before the file's first row */
    bool is_open_ended;          /* at opening: the last row was no `stop` event */
    struct heads heads;
    struct permits permits;
    bool keeps_leaves;           /* the notary wants them */
    struct buf leaves;           /* for each row of the transaction: length of the tenant or UINT32_MAX, hash, tenant */
    uint64_t leaf_count;
};

#define LEDGER_EVENT_LEAF_BYTES (sizeof(uint32_t) + DIGEST_BYTES) /* of `leaves`: an event has no tenant */

enum code ledger_init(struct ledger *ledger, const char *path, const char *node) MUST_USE;
void ledger_fini(struct ledger *ledger);

/* Opens the database (CREATE: makes it where it is missing) and checks that its end is as it was written.
 * Returns: CODE_INVALID where the end is broken or the file is not ours, CODE_DENIED for another version of the tables. */
enum code ledger_open(struct ledger *ledger, enum db_mode mode, int64_t time_us, struct why *why) MUST_USE;
void ledger_close(struct ledger *ledger);

/* Reads the heads of all tenants that have rows in this file; its table tenant_start has the heads of the others. Called after
 * the first opening; a later ledger_open, while every call is denied, reads them by itself.
 * Takes: known: the heads are right up to this row; marked: the table tenant_head is right up to this row; 0: not at all. */
enum code ledger_read_heads(struct ledger *ledger, uint64_t known, uint64_t marked) MUST_USE;

/* ledger_make: makes the file in which a rotation goes on behind `tip`, as FILES_NEXT, with its tables and its own row, and
 * leaves a transaction open for what else it begins with. ledger_made: ends it, gives the file its name once all of it is on
 * the disk, and opens it. ledger_goes_on: the ledger goes on in that file and closes the one before.
 * Takes: next: its path is the ledger's; its `file` is what is to be removed where one of them fails. */
enum code ledger_make(struct ledger *next, const struct ledger *ledger, int64_t time_us) MUST_USE;
enum code ledger_made(struct ledger *next, int64_t time_us) MUST_USE;
void ledger_goes_on(struct ledger *ledger, struct ledger *next);

/* Inside a transaction: application_id and user_version as the gate has them, whatever somebody made of them. */
enum code ledger_put_numbers(struct ledger *ledger) MUST_USE;

/* Says why the file is to be left for a new one as soon as possible; the first reason stays. */
void ledger_doubt(struct ledger *ledger, const char *why);

enum code ledger_begin(struct ledger *ledger) MUST_USE;
/* Commits. CODE_OK: what was written is durable, and lies where readers look for it. CODE_NOT_FOUND: the file is not where it
 * was; CODE_BUSY: it must be asked once more, by ledger_check_place. */
enum code ledger_commit(struct ledger *ledger) MUST_USE;

/* Appends. A decision that expects an outcome becomes an open permit; an outcome's permit is marked `closing`. */
enum code ledger_decision(struct ledger *ledger, const struct ring_decision *decision, const struct span *texts,
                          uint64_t *seq) MUST_USE;
enum code ledger_outcome(struct ledger *ledger, uint64_t decision, const struct audit_result *result) MUST_USE;
enum code ledger_event(struct ledger *ledger, const struct audit_event *event) MUST_USE;

/* Outcomes for every open permit: `unknown` after a crash. Inside a transaction. */
enum code ledger_close_permits(struct ledger *ledger, enum reason reason, int64_t time_us) MUST_USE;

/* Reads the permits without outcome since the last start, and behind the row `after`, into ledger->permits. */
enum code ledger_find_open(struct ledger *ledger, uint64_t after) MUST_USE;

/* Called behind a commit. CODE_NOT_FOUND: the file is not in its place, CODE_IO: it was cut or overwritten; what was committed
 * counts for nothing then. CODE_BUSY: its -wal file is gone, and somebody's read keeps it from being copied: ask again, on
 * this connection. */
enum code ledger_check_place(struct ledger *ledger) MUST_USE;

/* ledger_is_written_by_others: whether another connection has written the file since the last transaction.
 * ledger_check_others looks, inside a transaction, at what it wrote. CODE_INVALID: it wrote rows behind the last one, whose
 * numbers cannot be used twice, or changed a table. */
bool ledger_is_written_by_others(const struct ledger *ledger);
enum code ledger_check_others(struct ledger *ledger) MUST_USE;

#endif
