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

/* Opens it, and puts our own view `call` over it, since one that somebody changed would deceive.
 * Returns: CODE_INVALID for what is no audit trail. */
enum code reader_open(const char *path, struct db **db, struct why *why) MUST_USE;

/* Reads out of the files behind it what came of its calls that were under way when it was sealed, into a table `temp.later`.
 * Not inside a transaction. False where that cannot be: then these have no outcome. */
bool reader_later(struct db *db, const struct trail *trail, size_t file);

#endif
