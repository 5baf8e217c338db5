/* SPDX-License-Identifier: Apache-2.0 */
/* schema/audit.sql inside the program, what it was in earlier versions, and how a file of those is brought up.
 *
 * Threads: any; a migration belongs to the thread of its connection.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: enum code; a failed migration has changed nothing. */
#ifndef AUDIT_SCHEMA_H
#define AUDIT_SCHEMA_H

#include "base/buf.h"
#include "base/code.h"
#include "db/db.h"

#include <stdint.h>

#define AUDIT_APPLICATION_ID 0x43474155 /* "CGAU" */
#define AUDIT_SCHEMA_VERSION 6          /* user_version; the rows' format stays 1 */

extern const char audit__schema[];

/* The whole text of a version; NULL for one that never was. */
const char *audit__schema_of(int64_t version);

/* CODE_DENIED for a file of a version that only a newer callgate knows; the sentence says which one wrote it last. */
enum code audit__refuse_newer(struct db *db, const char *path, struct why *why) MUST_USE;

/* Lets an older file be asked for all columns that there are today: temporary views stand before its tables, in which what they
 * lack is NULL. For readers; inserts and updates need the tables. */
enum code audit__complete(struct db *db) MUST_USE;

/* The names of a table's columns in a schema ("main", or one that is attached), each between blanks, and NUL; whether one is
 * among them. */
enum code audit__columns(struct db *db, const char *schema, const char *table, struct buf *names) MUST_USE;
bool audit__is_column(const struct buf *names, const char *column);

/* An empty database in memory with the tables of `version`, to compare with. CODE_NOT_FOUND for one that never was. */
enum code audit__schema_model(int64_t version, struct db **model) MUST_USE;

/* Brings an older file to AUDIT_SCHEMA_VERSION, step by step, in one transaction. Rows of the chain stay as they are, and so
 * do the columns of their tables, behind which others may come: views, triggers and tables that only help to find rows may
 * change.
 * Takes: *from, which is set to the version that was found. */
enum code audit__migrate(struct db *db, int64_t *from) MUST_USE;

#endif
