/* SPDX-License-Identifier: Apache-2.0 */
/* Erasure of a tenant's argument values: recorded first, then done in slices, in the live file by the writer between its
 * batches and in sealed ones by the finisher; then the WAL is emptied, which held them too. One that a crash ended goes on at
 * the next start, since the event that ends it is missing.
 *
 * Threads: erase__turn and erase__resume where the ledger is used; erase__sealed_step on the finisher's.
 * Owns: struct erase_sealed: its trail and connection.
 * Lifetime: erase__sealed_fini.
 * Errors: enum code; the audit's own go through writer__go_down, and the erasure goes on when it is up again. */
#ifndef AUDIT_ERASE_PRIV_H
#define AUDIT_ERASE_PRIV_H

#include "audit/files_priv.h"
#include "audit/trail.h"
#include "db/db.h"

#include <stdatomic.h>

struct audit;

#define ERASE_TENANT_BYTES 1024

struct erase_what {
    char tenant[ERASE_TENANT_BYTES];
    int64_t before_us;
    int64_t seq;       /* of the event that records it */
};

enum erase_state { ERASE_NONE = 0, ERASE_ASKED, ERASE_OVER };

/* What the finisher does of it. */
struct erase_sealed {
    _Atomic int state;    /* enum erase_state; the rest is the finisher's while it is ERASE_ASKED */
    struct erase_what what;
    char live[FILES_PATH_BYTES]; /* the file that the writer has done */
    struct trail trail;
    bool has_trail;
    size_t file;
    struct db *db;        /* of that file; NULL: to be opened */
    int64_t at;
    int64_t rows, missing_to;
    enum code code;
    char text[300];       /* why it failed */
};

/* One slice; again while the state is ERASE_ASKED, with *wait after a while. */
void erase__sealed_step(struct erase_sealed *sealed, bool *wait);
void erase__sealed_fini(struct erase_sealed *sealed);

/* The writer's part. */
enum erase_phase { ERASE_IDLE = 0, ERASE_RECORD, ERASE_LIVE, ERASE_SEALED, ERASE_WAL, ERASE_END };

struct erasing {
    enum erase_phase phase;
    struct erase_what what;
    int64_t request;      /* the store's; 0: none */
    char actor[256];
    bool is_resumed;      /* nobody waits for it */
    int64_t at, rows, due_us;
    char waits_for[64];
};

void erase__turn(struct audit *audit);
enum code erase__resume(struct audit *audit) MUST_USE; /* takes up one that was recorded and not ended, if there is one */

/* Empties the values of up to `count` numbers behind `at`, in a transaction of the caller's. */
enum code erase__slice(struct db *db, const struct erase_what *what, int64_t at, int64_t count, int64_t *rows) MUST_USE;
#define ERASE_NOTE "INSERT OR IGNORE INTO erasure VALUES (?1, ?2, ?3)"
enum code erase__note(struct db *db, const struct erase_what *what) MUST_USE;

#endif
