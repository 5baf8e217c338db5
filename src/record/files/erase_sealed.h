/* SPDX-License-Identifier: Apache-2.0 */
/* Erasure of a tenant's argument values: what is emptied in any file, and the finisher's part, which are the sealed files.
 *
 * Threads: erase_sealed_step on the finisher's.
 * Owns: struct erase_sealed: its trail and connection.
 * Lifetime: erase_sealed_fini.
 * Errors: enum code. */
#ifndef FILES_ERASE_SEALED_H
#define FILES_ERASE_SEALED_H

#include "files/files.h"
#include "files/trail.h"
#include "db/db.h"

#include <stdatomic.h>

#define ERASE_TENANT_BYTES 1024

struct erase_what {
    char tenant[ERASE_TENANT_BYTES];
    int64_t before_us;
    int64_t seq;       /* of the event that records the erasure */
};

enum erase_state { ERASE_NONE = 0, ERASE_ASKED, ERASE_OVER };

/* The finisher's part of an erasure. */
struct erase_sealed {
    _Atomic int state;    /* enum erase_state; the rest is the finisher's while it is ERASE_ASKED */
    struct erase_what what;
    char live[FILES_PATH_BYTES]; /* the live file, in which the writer has erased */
    struct trail trail;
    bool has_trail;
    size_t file;
    struct db *db;        /* of that file; NULL: to be opened */
    int64_t at;
    int64_t rows, missing_to;
    enum code code;
    struct why why;       /* why it failed */
};

/* Opens a file, erases one slice in it, or closes it. Call it again while the state is ERASE_ASKED; where *wait is set, after
 * a pause. */
void erase_sealed_step(struct erase_sealed *sealed, bool *wait);
void erase_sealed_fini(struct erase_sealed *sealed);

/* Empties the values of up to `count` numbers behind `at`, in a transaction of the caller's. *rows: grows by the decisions that
 * had some. */
enum code erase_slice(struct db *db, const struct erase_what *what, int64_t at, int64_t count, int64_t *rows) MUST_USE;
/* *is_left: whether decisions of that slice still have values. */
enum code erase_look(struct db *db, const struct erase_what *what, int64_t at, int64_t count, bool *is_left) MUST_USE;
#define ERASE_NOTE "INSERT OR IGNORE INTO erasure VALUES (?1, ?2, ?3)"
enum code erase_note(struct db *db, const struct erase_what *what) MUST_USE;

#endif
