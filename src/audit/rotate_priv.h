/* SPDX-License-Identifier: Apache-2.0 */
/* Rotation: the writer seals its file, gives it another name, and goes on in a new one. At every moment the audit's path names
 * one whole file, so that a gate that is killed in between starts with either.
 *
 * Threads: rotate__prepare and rotate__settle on the keeper's, the rest where the ledger is used.
 * Owns: nothing; the files beside the audit.
 * Lifetime: one call each.
 * Errors: enum code; a rotation that cannot go on is given up, and the file goes on as if it had not been sealed. */
#ifndef AUDIT_ROTATE_PRIV_H
#define AUDIT_ROTATE_PRIV_H

#include "audit/ledger_priv.h"

struct audit;

#define ROTATE_PATH_BYTES 4200

/* Makes PATH.next: tables and no row; and a connection to it. It is not in WAL mode before it is filled. */
enum code rotate__prepare(const char *path, struct ledger *ahead) MUST_USE;
enum code rotate__sync(const char *path) MUST_USE; /* the file */
void rotate__give_up(const char *path, struct ledger *ahead); /* filled, it would be taken for what a moved file goes on in */

/* Gives the audit and its -wal file second names, PATH.keep and PATH.keep-wal, and syncs the folder: whatever a power cut
 * leaves of the changes of names that follow, the file that is replaced has one, and its -wal file is known from that of the
 * new one. Returns: false where that cannot be; names are then changed one by one, each synced. */
bool rotate__hold(const char *path) MUST_USE;
bool rotate__is_held(const char *path); /* still: the file or its -wal file may be another one since */
void rotate__let_go(const char *path); /* once it has a name of its own, or has not been replaced */

/* Takes the sealed files beside an audit out of WAL mode, so that who may only read them needs no files beside them.
 * Returns: whether somebody has one open, so that it is to be tried again. */
bool rotate__settle(const char *path) MUST_USE;

/* Before the audit is opened: what a rotation that was killed left. */
enum code rotate__tidy(const char *path, struct why *why) MUST_USE;
void rotate__tidy_name(const struct ledger *ledger); /* after it: a second name of the file */

/* "audit-1-4096.db" beside audit.db. CODE_LIMIT where that is too long. */
enum code rotate__name(const char *path, uint64_t first, uint64_t last, char name[ROTATE_PATH_BYTES]) MUST_USE;

/* One step of a rotation that is wanted, on the writer's thread while the audit is up. */
void rotate__turn(struct audit *audit);

/* Inside the first transaction of a new file. */
enum code rotate__begin(struct audit *audit) MUST_USE;

/* Inside the last transaction of a file, behind everything else. */
enum code rotate__seal(struct audit *audit) MUST_USE;

#endif
