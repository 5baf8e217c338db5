/* SPDX-License-Identifier: Apache-2.0 */
/* schema/audit.sql inside the program, and whether a file has its tables.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: enum code. */
#ifndef ROWS_SCHEMA_H
#define ROWS_SCHEMA_H

#include "base/why.h"
#include "db/db.h"

#include <stdint.h>

#define AUDIT_APPLICATION_ID 0x43474155 /* "CGAU" */
#define AUDIT_EXPORT_ID 0x43474158      /* "CGAX": a copy of rows of many files, which is no evidence */
#define AUDIT_SCHEMA_VERSION 1          /* user_version */

extern const char audit_schema[], audit_indices[]; /* schema/audit.sql, schema/indices.sql */

/* Lets views be read that somebody put in a table's place: a reader tells that fault. Reading ends after AUDIT_VIEWS_MS, since
 * a view may have no last row. */
#define AUDIT_VIEWS_MS 60000
enum code audit_take_views(struct db *db) MUST_USE;

/* CODE_DENIED for a file of another version of the tables; the sentence says which program wrote it last, since that one reads
 * and verifies it. */
enum code audit_refuse_other(struct db *db, const char *path, struct why *why) MUST_USE;

/* An empty database in memory with the gate's tables, to compare with. */
enum code audit_schema_model(struct db **model) MUST_USE;

/* Compares a file's head and schema with what the gate makes. Tells of each difference: "encoding", "application_id",
 * "user_version" or "object", the object's name and what is wrong with it. Indices of a sealed file may be there or not. */
typedef void (*audit_difference)(void *context, const char *field, struct span name, const char *fault);
enum code audit_differences(struct db *db, audit_difference tell, void *context) MUST_USE;

#endif
