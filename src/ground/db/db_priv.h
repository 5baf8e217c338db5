/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of db/ share: the settings of SQLite, its results as codes, and the layer that gathers what a COMMIT writes.
 *
 * Threads: any; a gather's where its connection is.
 * Owns: nothing.
 * Lifetime: the process's.
 * Errors: SQLite's results. */
#ifndef DB_DB_PRIV_H
#define DB_DB_PRIV_H

#include "base/code.h"
#include "db/db.h"

struct sqlite3;
struct sqlite3_stmt;
struct sqlite3_value;

struct db_stmt {
    struct sqlite3_stmt *handle;
    struct sqlite3 *db;
    int fault; /* of a bind that failed; the next step reports it */
};

void db__configure(void); /* to call before anything else of SQLite; it may be called again */
enum code db__code_of(int result) MUST_USE;
struct sqlite3 *db__handle(struct db *db);
struct db_value db__value_of(struct sqlite3_value *value);

/* What waits to be written into a -wal file. It is smaller than 128 KiB, because SQLite's unix layer counts a write modulo 128
 * KiB and would report one of exactly that size as a full disk. */
struct gather {
    int64_t begin;
    size_t len;
    int fault; /* SQLite's, of the first write of this COMMIT that failed */
    unsigned char bytes[(size_t)124 << 10];
};

/* past.c: SQLite's own file system, but for what db_stray names. */
#define DB__PAST_VFS "callgate-past"
void db__past_register(void); /* once */
bool db__is_without_wal(const char *path);
/* Follows a link first, since the files that belong to a database stand beside what the link leads to. */
bool db__stat_beside(const char *path, const char *suffix, struct stat *there);

/* A connection opened with this file system: between the two, what it writes into its -wal file goes through `gather`.
 * NULL: it goes into the file at once. */
#define DB__GATHER_VFS "callgate-gather"
void db__gather_register(void); /* once */
void db__gather_begin(struct db *db, struct gather *gather);
void db__gather_end(struct db *db, struct gather *gather, bool is_committed);

#endif
