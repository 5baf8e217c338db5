/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of db/ share: the library's settings, its results as codes.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: the process's.
 * Errors: SQLite's results. */
#ifndef DB_DB_PRIV_H
#define DB_DB_PRIV_H

#include "base/code.h"
#include "db/db.h"

struct sqlite3;

void db__configure(void); /* before anything else is asked of SQLite; any number of times */
enum code db__code_of(int result) MUST_USE;
struct sqlite3 *db__handle(struct db *db);

#endif
