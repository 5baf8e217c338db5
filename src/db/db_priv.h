/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of db/ share: the library's settings, its results as codes, the layers over its files.
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

#define DB__GATHER "callgate-gather" /* names of layers, for sqlite3_open_v2 */
#define DB__AHEAD "callgate-ahead"

struct sqlite3 *db__handle(const struct db *db);

int db__gather_register(void);
int db__ahead_register(void); /* after it */

void db__configure(void); /* before anything else is asked of SQLite; any number of times */
enum code db__code_of(int result) MUST_USE;

#endif
