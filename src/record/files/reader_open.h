/* SPDX-License-Identifier: Apache-2.0 */
/* An audit.db opened by somebody who only reads.
 *
 * Threads: one.
 * Owns: the connection is the caller's.
 * Lifetime: db_close.
 * Errors: enum code with a sentence. */
#ifndef FILES_READER_OPEN_H
#define FILES_READER_OPEN_H

#include "files/trail.h"

/* Opens it and hides its view `call` behind the program's own, since somebody may have changed the file's.
 * Returns: CODE_INVALID for what is no audit trail. */
enum code reader_open(const char *path, struct db **db, struct why *why) MUST_USE;

/* Reads the outcomes that later files hold of this file's calls into a table `temp.later`: those calls were under way when
 * it was sealed. Not inside a transaction. False: it failed, and these calls have no outcome. */
bool reader_later(struct db *db, const struct trail *trail, size_t file);

#endif
