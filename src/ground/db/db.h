/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite, opened as the program needs it: trusted_schema off, defensive, no extensions, foreign keys on, a busy timeout.
 *
 * Threads: a db belongs to one thread at a time (opened NOMUTEX).
 * Owns: the connection; prepared statements belong to their db_stmt holder and are finalised before db_close.
 * Lifetime: db_close.
 * Errors: enum code; db_error gives SQLite's sentence. CODE_BUSY for a lock, CODE_LIMIT for a full disk, CODE_EXISTS for a
 *   broken uniqueness, CODE_IO otherwise. */
#ifndef DB_DB_H
#define DB_DB_H

#include "base/span.h"
#include "base/why.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct db;
struct db_stmt;

/* PAST: to read a database that is only ever changed in WAL mode, as if what db_stray names were not there. LOOK: likewise,
 * for a moment: a database without a -wal file is taken as one that does not change, so that no file is left beside it; ask
 * db_has_changed afterwards. CREATE: to write, and make the file (0640) where it is missing. ALONE: to write while nobody else
 * has it open; its -wal file is read anew from the beginning, whatever its -shm file notes of it. */
enum db_mode { DB_READ = 0, DB_PAST, DB_LOOK, DB_WRITE, DB_CREATE, DB_ALONE };

/* What SQLite would roll into a database that is only ever changed in WAL mode, or read in its place, and is no part of it: a
 * -journal, of which our own undo nothing but the mode, or the -wal or -shm of a file that is out of that mode, or what bears
 * their names and is no file. Returns: how its name ends, with *there; NULL: nothing. */
const char *db_stray(const char *path, struct stat *there);
/* Whether a file that was opened as one that does not change has changed: then what was read may be partly
 * of the old and partly of the new file. */
bool db_has_changed(const struct db *db);
/* Whether another file, or none, stands where it was opened. */
bool db_has_moved(const struct db *db);

/* Takes: a path; ":memory:" is a database that dies with its connection.
 * Returns: CODE_NOT_FOUND where there is no such file (but for CREATE); CODE_INVALID for what is no file or no database;
 * CODE_DENIED as db_check_modes for who would write; CODE_BUSY where somebody has it open (ALONE, at once). */
enum code db_open(const char *path, enum db_mode mode, struct db **db, struct why *why) MUST_USE;
void db_close(struct db **db);

/* CODE_DENIED where group or others may write a database, or what SQLite reads beside it: what somebody else wrote must become
 * no policy, no key and no row of the trail. No such file: CODE_OK. */
enum code db_check_modes(const char *path, struct why *why) MUST_USE;

/* Writes what the -wal file of a database holds over itself and syncs it: what can be read of it afterwards is on the disk,
 * also where an earlier sync had failed. Only while nobody else writes the database. No such file: CODE_OK. Blocks. */
enum code db_rewrite_wal(const char *path, struct why *why) MUST_USE;

/* Copies all of a database's -wal file into it, takes it out of WAL mode and syncs it. CODE_BUSY: somebody has it open.
 * Blocks. */
enum code db_absorb_wal(const char *path, struct why *why) MUST_USE;
/* Writes all of a database, as it is at one moment, into a new file (0640), also while others write the database.
 * CODE_EXISTS where `path` is there; a copy that failed is removed. Blocks. */
enum code db_copy(struct db *from, const char *path, struct why *why) MUST_USE;
const char *db_error(const struct db *db);
/* Whether what was done last failed; a database that is not open has. */
bool db_has_failed(const struct db *db);
/* Whether what failed last was refused by the tables themselves, a reference to no row or a check: CODE_IO, and yet no
 * disk's. */
bool db_is_refused(const struct db *db);
/* Writes "DOING failed: " and that sentence, unless nothing failed. Takes: db: NULL where it is not open. Returns: code. */
enum code db_why(struct why *why, enum code code, const struct db *db, const char *doing);

/* How long a statement waits for another connection's lock; 5 seconds at first. */
void db_busy_wait(struct db *db, int wait_ms);

/* Ends a statement that runs once *stop is set: it fails with CODE_BUSY. NULL: none does. */
void db_stop_when(struct db *db, const atomic_bool *stop);

/* Leaves the -wal and -shm files in place and as they are at db_close, so that a reader without write permission in the folder
 * can still open a database in WAL mode, and closing costs no sync. */
void db_keep_wal(struct db *db);

/* Switches automatic checkpoints off and counts instead: db_wal_pages says how many pages the -wal file held after this
 * connection's last commit; 0 before the first. */
void db_watch_wal(struct db *db);
int db_wal_pages(const struct db *db);

/* From here on each commit is synced before it counts, and goes into the -wal file in a few large writes in place of two small
 * ones a page. Takes 124 KiB. */
enum code db_gather_wal(struct db *db) MUST_USE;

/* The path of its -wal file, beside the file that a link leads to, whether there is one or not. The
 * connection owns the text. */
const char *db_wal_path(const struct db *db);

/* Runs SQL text without results; several statements are allowed. */
enum code db_exec(struct db *db, const char *sql) MUST_USE;

/* From here on only tables are read and written: a query of a view of the file is refused with CODE_IO, and no trigger of
 * the file runs, whoever has put them there. */
void db_take_tables_alone(struct db *db);
/* Takes that back for views, to read through those that stand where tables were. Every statement ends, with CODE_BUSY, once so
 * long has passed: a view may have no last row. */
void db_take_views(struct db *db, int within_ms);
bool db_is_late(const struct db *db); /* whether that time has passed */

/* BEGIN IMMEDIATE / COMMIT / ROLLBACK. */
enum code db_begin(struct db *db) MUST_USE;
enum code db_commit(struct db *db) MUST_USE;
void db_rollback(struct db *db);

/* From here on a db_commit keeps nothing yet: its transaction stays open, a later db_begin goes on in it, and what was written
 * can be read on this connection alone. db_rollback takes all of it back; false ends this, and db_commit keeps it. */
void db_hold_back(struct db *db, bool holds);

enum code db_prepare(struct db *db, const char *sql, struct db_stmt **stmt) MUST_USE;
void db_finalize(struct db_stmt **stmt);

/* Parameters count from 1, as SQLite's do. Spans must live until db_reset (they are not copied). */
void db_bind_int(struct db_stmt *stmt, int at, int64_t value);
void db_bind_text(struct db_stmt *stmt, int at, struct span value);  /* where value.at is NULL it binds NULL */
void db_bind_blob(struct db_stmt *stmt, int at, struct span value);  /* likewise */
void db_bind_null(struct db_stmt *stmt, int at);

/* What a parameter is bound to. DB_VALUES(...) makes the two arguments `values` and `count` of some. */
enum db_type { DB_NULL = 0, DB_INT, DB_REAL, DB_TEXT, DB_BLOB };
struct db_value {
    enum db_type type; /* but for DB_REAL */
    int64_t number;
    struct span bytes; /* at == NULL binds NULL */
};
#define DB_VALUES(...) \
    (const struct db_value[]){__VA_ARGS__}, sizeof((const struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value)

static inline struct db_value db_of_int(int64_t number)
{
    return (struct db_value){.type = DB_INT, .number = number};
}

static inline struct db_value db_of_text(struct span text)
{
    return (struct db_value){.type = DB_TEXT, .bytes = text};
}

static inline struct db_value db_of_blob(struct span blob)
{
    return (struct db_value){.type = DB_BLOB, .bytes = blob};
}

/* Prepares and binds: the caller steps and finalises. *stmt is NULL where it fails. */
enum code db_select(struct db *db, const char *sql, const struct db_value *values, size_t count,
                    struct db_stmt **stmt) MUST_USE;
/* The same, and steps to the first row; CODE_NOT_FOUND: there is none. */
enum code db_find(struct db *db, const char *sql, const struct db_value *values, size_t count, struct db_stmt **stmt) MUST_USE;
/* Runs a statement that gives no rows, once. */
enum code db_change(struct db *db, const char *sql, const struct db_value *values, size_t count) MUST_USE;

/* CODE_OK: a row is there; CODE_NOT_FOUND: done; anything else: failed. */
enum code db_step(struct db_stmt *stmt) MUST_USE;
/* For loops: steps where *code is CODE_OK. Returns: whether a row is there. Where none is, the statement is finalised, and
 * *code is CODE_OK, or what failed before, in the loop or here. A loop that sets CODE_NOT_FOUND ends without a failure; a
 * `break` leaves the statement to the caller. */
bool db_next(struct db_stmt **stmt, enum code *code);
/* Runs to the end, expects no row, resets. */
enum code db_run(struct db_stmt *stmt) MUST_USE;
/* Likewise an INSERT of one row, whose bindings stay for the next run: each span must live until its parameter is bound anew or
 * cleared, and its bytes may change between two runs. CODE_IO where it made none, whatever kept it from that. */
enum code db_insert_again(struct db_stmt *stmt) MUST_USE;
void db_reset(struct db_stmt *stmt); /* and clears the bindings */

/* Columns count from 0. Spans are valid until the next step or reset. NULL gives 0 or a span with at == NULL. */
int64_t db_int(struct db_stmt *stmt, int column);
struct span db_text(struct db_stmt *stmt, int column);
struct span db_blob(struct db_stmt *stmt, int column);
bool db_is_null(struct db_stmt *stmt, int column);
enum db_type db_type(struct db_stmt *stmt, int column); /* as stored, before any conversion */
struct db_value db_value(struct db_stmt *stmt, int column); /* all at once, as stored; of a DB_REAL its type alone */
int db_columns(struct db_stmt *stmt);
const char *db_column_name(struct db_stmt *stmt, int column);

/* Adds a row's hash to *sum. The same rows have the same sum in any order, and other rows another one but for one chance in
 * 2^64. The hash is this process's own, so no sum may be stored. Returns: false: a value has no hash. */
bool db_mark(const struct db_value *values, size_t count, uint64_t *sum) MUST_USE;
/* From here on SQL has the aggregate mark(...), that sum of all rows; NULL where one has none, or is not above the last. */
enum code db_learn_mark(struct db *db) MUST_USE;

/* The first column of a query's first row; NULL and no row give 0. */
enum code db_number(struct db *db, const char *sql, const struct db_value *values, size_t count, int64_t *number) MUST_USE;

int64_t db_last_id(struct db *db);
int64_t db_changes(const struct db *db); /* how many rows the last INSERT, UPDATE or DELETE has changed */

/* The library behind this room and its version, for people. Threads: main. */
const char *db_library(void);

#endif
