/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger: audit.db as the writer sees it. Appends rows to the chain inside transactions and knows where it ends.
 *
 * Threads: one at a time: main before the writer is started and after it has ended, else the writer.
 * Owns: the connection, its statements, the tenants' heads, the open permits.
 * Lifetime: ledger__init to ledger__fini; ledger__close and ledger__open in between, any number of times.
 * Errors: enum code. After a failed append or commit nothing is known any more: ledger__close, ledger__open. */
#ifndef AUDIT_LEDGER_PRIV_H
#define AUDIT_LEDGER_PRIV_H

#include "audit/heads.h"
#include "audit/insert_priv.h"
#include "audit/ring_priv.h"
#include "audit/row.h"
#include "base/buf.h"
#include "base/why.h"

#include <sys/types.h>

#define LEDGER_BUSY_WAIT_MS 250

struct ledger_tip {
    uint64_t seq;
    unsigned char hash[DIGEST_BYTES];
};

struct ledger {
    char *path;
    char *node;
    dev_t device;  /* where the file was when it was opened first, with `inode`; 0 before that */
    ino_t inode;
    struct db *db; /* NULL: closed; from here to `tip` everything is the connection's */
    struct insert *insert[ROW_TABLES];
    struct db_stmt *begin, *commit, *find_head;
    struct db_stmt *put_checkpoint;
    struct ledger_tip tip;       /* with what the open transaction appended */
    struct ledger_tip committed;
    uint64_t begin_seq;          /* number before the file's first row */
    bool is_open_ended;          /* at opening: the last row was no `stop` event */
    int64_t migrated_from;       /* at opening: the schema that the file had; 0: this build's */
    struct heads heads;
    struct permits permits;
    bool keeps_leaves;           /* somebody wants them: */
    struct buf leaves;           /* of each row of the transaction: length of the tenant or UINT32_MAX, hash, tenant */
    uint64_t leaf_count;
};

enum code ledger__init(struct ledger *ledger, const char *path, const char *node) MUST_USE;
void ledger__fini(struct ledger *ledger);

/* Opens the database (CREATE: makes it where it is missing) and checks that its end is as it was written.
 * Returns: CODE_INVALID where the end is broken or the file is not ours, CODE_DENIED for a newer schema. */
enum code ledger__open(struct ledger *ledger, enum db_mode mode, int64_t time_us, struct why *why) MUST_USE;
void ledger__close(struct ledger *ledger);

/* The connection and the statements of the file that a rotation goes on in, while that file is PATH.next. Nothing else of
 * `ahead` is used. ledger__goes_on: it was filled and is PATH now; the chain goes on at `tip`, and the connection that was the
 * ledger's is that of `ahead`, to be closed. */
enum code ledger__open_ahead(struct ledger *ahead, const char *next) MUST_USE;
enum code ledger__goes_on(struct ledger *ledger, struct ledger *ahead, const unsigned char file_hash[DIGEST_BYTES]) MUST_USE;

/* Whether the path still names the file that was opened: what is written to one that was moved nobody finds. */
bool ledger__is_in_place(const struct ledger *ledger);
void ledger__remember_place(struct ledger *ledger); /* where it was not known */
uint64_t ledger__bytes(const struct ledger *ledger); /* of the file; 0 where it is not there */
#define LEDGER_GONE "is not the file that was written until now: put it back, or restart the gate"

enum code ledger__begin(struct ledger *ledger) MUST_USE;
enum code ledger__commit(struct ledger *ledger) MUST_USE;

/* Appends. A decision that expects an outcome becomes an open permit; an outcome's permit is marked `closing`. */
enum code ledger__decision(struct ledger *ledger, const struct ring_decision *decision, const struct span *texts,
                           uint64_t *seq) MUST_USE;
enum code ledger__outcome(struct ledger *ledger, uint64_t decision, const struct audit_result *result) MUST_USE;
enum code ledger__event(struct ledger *ledger, const struct audit_event *event) MUST_USE;

/* Outcomes for every open permit: `unknown` after a crash. Inside a transaction. */
enum code ledger__close_permits(struct ledger *ledger, enum audit_outcome outcome, enum reason reason, int64_t time_us)
    MUST_USE;

/* Reads the permits without outcome since the last start into ledger->permits. */
enum code ledger__find_open(struct ledger *ledger) MUST_USE;

#endif
