/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed files beside a database of audit_merge, so that not all of a trail is copied: what sqlite3 runs first to have both as
 * one. SQLite attaches ten databases to a connection.
 *
 * Threads: one.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: enum code with a sentence. */
#ifndef QUERY_ATTACH_H
#define QUERY_ATTACH_H

#include "files/trail.h"
#include "base/buf.h"
#include "base/why.h"

#define ATTACH_FILES 10

/* Puts the newest files that nobody writes any more and whose calls are all of the time behind the others.
 * Takes: trail: whose files change their order. Returns: how many of the last ones can be attached. */
size_t audit_attachable(struct trail *trail, int64_t since_us, int64_t until_us);

/* The statements: the files attached, and in front of each table and view of the database one over all of them.
 * Takes: path: the database that holds the rest; files: their order does not matter. */
enum code audit_attach(const char *path, const struct trail_file *files, size_t count, int64_t since_us, int64_t until_us,
                       struct buf *out, struct why *why) MUST_USE;

#endif
