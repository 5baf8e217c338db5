/* SPDX-License-Identifier: Apache-2.0 */
/* An audit.db opened by somebody who only reads.
 *
 * Threads: one.
 * Owns: the connection is the caller's.
 * Lifetime: db_close.
 * Errors: enum code with a sentence. */
#ifndef AUDIT_READER_H
#define AUDIT_READER_H

#include "audit/trail.h"
#include "base/why.h"
#include "crypto/digest.h"
#include "db/db.h"

#include <stdbool.h>

/* Opens it, and puts our own view `call` over it, since one that somebody changed would deceive.
 * Returns: CODE_INVALID for what is no audit trail. */
enum code reader__open(const char *path, struct db **db, struct why *why) MUST_USE;

enum code reader__is_trail(struct db *db, const char *path, struct why *why) MUST_USE; /* CODE_INVALID: it is none */

/* A sentence about what the connection failed at, where there is none yet. Returns: code. */
enum code reader__why(struct why *why, enum code code, const char *path, const struct db *db);

/* Reads out of the files behind it what came of its calls that were under way when it was sealed, into a table `temp.later`.
 * Not inside a transaction. False where that cannot be: then these have no outcome. */
bool reader__later(struct db *db, const struct trail *trail, size_t file);

/* The hash of the last row of the file before this one. CODE_NOT_FOUND where there was none. */
enum code reader__previous(struct db *db, int64_t seq, unsigned char hash[DIGEST_BYTES]) MUST_USE;

/* The hash of a row, or of the file's own where `seq` is the number before its first. CODE_NOT_FOUND; CODE_INVALID for what is
 * no hash. */
enum code reader__hash(struct db *db, int64_t seq, unsigned char hash[DIGEST_BYTES]) MUST_USE;

#endif
