/* SPDX-License-Identifier: Apache-2.0 */
/* PostgreSQL's own parser, of version 15, 16 or 17. libpg_query lives here; what its trees mean is said in texts/sql_read.h.
 *
 * Threads: any, with a stack of 8 MiB (os/thread.h). What the library keeps is kept by thread.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_UNDECIDED with a reason; CODE_NOMEM. */
#ifndef SQL_SQL_H
#define SQL_SQL_H

#include "base/buf.h"
#include "base/why.h"

#include <stdbool.h>

#define SQL_MAX_BYTES ((size_t)32 << 10) /* 2 MiB of stack, and 8 ms, at the worst: test_sql_read.c has the worst */

/* Appends the parse tree as JSON. What the parser refuses proves nothing: another version, or a server of other settings, may
 * read it. So what they are known to read differently is refused before it is asked, and no text passes because it refuses one.
 * Takes: text: valid UTF-8. Returns: CODE_OK; CODE_UNDECIDED: it is not parsed; CODE_NOMEM. */
enum code sql_parse(struct span text, struct buf *tree, struct why *why) MUST_USE;

/* The library behind this room and its version, for people. Threads: main. */
const char *sql_library(void);

#endif
