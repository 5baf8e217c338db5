/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/leaves.h"

#include <stdio.h>

static enum code step(struct leaves *leaves, int table)
{
    enum code code = db_step(leaves->stmt[table]);

    leaves->has[table] = code == CODE_OK;
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

enum code leaves__init(struct leaves *leaves, struct db *db, int64_t first, int64_t last)
{
    enum code code = CODE_OK;

    *leaves = (struct leaves){.given = ROW_FILE};
    for (int table = ROW_DECISION; table < ROW_TABLES && code == CODE_OK; table++) {
        char sql[112];

        (void)snprintf(sql, sizeof sql, "SELECT seq, hash, tenant FROM %s WHERE seq BETWEEN ? AND ? ORDER BY seq",
                       row__shape((enum row_table)table)->name);
        code = db_select(db, sql, DB_VALUES(db_of_int(first), db_of_int(last)), &leaves->stmt[table]);
        if (code == CODE_OK)
            code = step(leaves, table);
    }
    if (code != CODE_OK)
        leaves__fini(leaves);
    return code;
}

enum code leaves__next(struct leaves *leaves, struct leaf *leaf)
{
    enum row_table lowest = ROW_FILE;

    if (leaves->given != ROW_FILE) { /* moves on only now, since what was given out was borrowed from the statement */
        enum code code = step(leaves, leaves->given);

        leaves->given = ROW_FILE;
        if (code != CODE_OK)
            return code;
    }
    for (int table = ROW_DECISION; table < ROW_TABLES; table++)
        if (leaves->has[table] &&
            (lowest == ROW_FILE || db_int(leaves->stmt[table], 0) < db_int(leaves->stmt[lowest], 0)))
            lowest = (enum row_table)table;
    if (lowest == ROW_FILE)
        return CODE_NOT_FOUND;
    *leaf = (struct leaf){db_int(leaves->stmt[lowest], 0), db_blob(leaves->stmt[lowest], 1), db_text(leaves->stmt[lowest], 2)};
    leaves->given = lowest;
    return CODE_OK;
}

void leaves__fini(struct leaves *leaves)
{
    for (int table = 0; table < ROW_TABLES; table++)
        db_finalize(&leaves->stmt[table]);
}
