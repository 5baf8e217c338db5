/* SPDX-License-Identifier: Apache-2.0 */
/* What a file of an audit says of itself: whether it is one, and the hash of a row.
 *
 * Threads: one.
 * Owns: the connection is the caller's.
 * Lifetime: db_close.
 * Errors: enum code with a sentence. */
#ifndef FILES_READER_H
#define FILES_READER_H

#include "base/why.h"
#include "crypto/digest.h"
#include "db/db.h"

#include <stdbool.h>

enum code reader_is_trail(struct db *db, const char *path, struct why *why) MUST_USE; /* CODE_INVALID: it is none */

/* A sentence about what the connection failed at, where there is none yet; none where not it failed but
 * whoever took its rows. Returns: code. */
enum code reader_why(struct why *why, enum code code, const char *path, const struct db *db);

/* The hash of the last row of the file before this one. CODE_NOT_FOUND where there was none. */
enum code reader_previous(struct db *db, int64_t seq, unsigned char hash[DIGEST_BYTES]) MUST_USE;

/* The hash of a row, or of the file's own where `seq` is the number before its first. CODE_NOT_FOUND; CODE_INVALID for what is
 * no hash. */
enum code reader_hash(struct db *db, int64_t seq, unsigned char hash[DIGEST_BYTES]) MUST_USE;

#endif
