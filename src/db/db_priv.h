/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of db/ share: the library's settings, its results as codes, the layer over the -wal file that gathers writes.
 *
 * Threads: registering: once; a file is its connection's.
 * Owns: what waits to be written.
 * Lifetime: the process's.
 * Errors: SQLite's results. */
#ifndef DB_DB_PRIV_H
#define DB_DB_PRIV_H

#include "base/code.h"
#include "db/db.h"

struct sqlite3;

#define DB__GATHER "callgate-gather" /* name of the layer, for sqlite3_open_v2 */

struct sqlite3 *db__handle(const struct db *db);

int db__gather_register(void);

void db__configure(void); /* before anything else is asked of SQLite; any number of times */
enum code db__code_of(int result) MUST_USE;

#endif
