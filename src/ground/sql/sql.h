/* SPDX-License-Identifier: Apache-2.0 */
/* PostgreSQL's own parser, of version 15, 16 or 17. This room uses libpg_query; texts/sql_read.h says what its trees mean.
 *
 * Threads: any, with a stack of 8 MiB (os/thread.h). The library keeps its state by thread.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_UNDECIDED with a reason; CODE_NOMEM. */
#ifndef SQL_SQL_H
#define SQL_SQL_H

#include "base/buf.h"
#include "base/why.h"

#include <stdbool.h>

#define SQL_MAX_BYTES ((size_t)32 << 10) /* 2 MiB of stack, and 8 ms, at the worst: test_sql_read.c has the worst */

/* Appends the parse tree as JSON. A refusal by the parser proves nothing, since another version or a server with other settings
 * may read the text. So texts that versions are known to read differently are refused before the parser is asked, and no text
 * passes because the parser refuses it.
 * Takes: text: valid UTF-8. Returns: CODE_OK; CODE_UNDECIDED: it is not parsed; CODE_NOMEM. */
enum code sql_parse(struct span text, struct buf *tree, struct why *why) MUST_USE;

/* The library behind this room and its version, for people. Threads: main. */
const char *sql_library(void);

#endif
