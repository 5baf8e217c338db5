/* SPDX-License-Identifier: Apache-2.0 */
/* What a text of SQL uses: its statements, tables and functions, as PostgreSQL's own parser reads them.
 *
 * The reading is by allow-list: a kind of node, or a member of one, that the walk does not know makes the whole text unread, so
 * that nothing can be missed. What servers, by version or setting, read differently is refused before (sql/sql.c).
 *
 * What a raw parse cannot tell: a column `t.f` of a table may be a function of one argument, t's row; a view, a rule, a
 * trigger, an operator or a type's own functions may do anything. That is up to who made them on the server.
 *
 * Threads: as sql/sql.h.
 * Owns: nothing; names live in the arena that was handed in.
 * Lifetime: the arena's.
 * Errors: CODE_UNDECIDED with a reason for a text that is not read; CODE_NOMEM. */
#ifndef TEXTS_SQL_READ_H
#define TEXTS_SQL_READ_H

#include "base/mem.h"
#include "base/span.h"
#include "base/why.h"

#include <stdint.h>

enum sql_kind {
    SQL_STATEMENT = 0, /* a word of sql_statement_text */
    SQL_TABLE,         /* any relation: a view, a sequence; a name of WITH is none where it is in sight */
    SQL_FUNCTION       /* what is called, or may be: also a field of a value, a column that the row of a function in FROM may
                        * lack, TABLESAMPLE's method, current_user and its like, and a type that is no plain one where a value
                        * is cast to it, since a cast is a call */
};

struct sql_name {
    enum sql_kind kind;
    struct span schema; /* empty: none was written */
    struct span name;   /* as PostgreSQL reads it: folded to lower case where it is not quoted, U& decoded, cut at 63 bytes */
};

/* Each name once, in the order of the text's tree. */
struct sql_reading {
    struct sql_name *names;
    uint32_t count;
};

/* Every word that a reading has for a statement, NULL at the end. Other statements are not read. What a CTE or EXPLAIN holds
 * counts as if it stood alone. */
extern const char *const sql_statement_text[];

/* Takes: valid UTF-8. Returns: CODE_OK; CODE_UNDECIDED: not read, *why says what for; CODE_NOMEM. */
enum code sql_read(struct span text, struct arena *arena, struct sql_reading *reading, struct why *why) MUST_USE;

#endif
