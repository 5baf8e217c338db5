/* SPDX-License-Identifier: Apache-2.0 */
/* A trail that is read from elsewhere than its files: of one of them all but decisions and outcomes, as a database in memory.
 * The verifier takes it in the file's place (verify.h, `source`), and decisions and outcomes as they come.
 *
 * Its tables have a file's columns and none of its rules, so that whatever somebody changed elsewhere finds room, and is told
 * as the fault that it is.
 *
 * Threads: one.
 * Owns: the database.
 * Lifetime: pieces_init to pieces_fini; a verifier borrows the database meanwhile.
 * Errors: enum code. */
#ifndef EVIDENCE_PIECES_H
#define EVIDENCE_PIECES_H

#include "evidence/verify.h"
#include "rows/walk.h"

struct pieces {
    struct db *db;
    struct db_stmt *insert[ROW_TABLES];
};

enum code pieces_init(struct pieces *pieces) MUST_USE; /* pieces_fini in any case */
void pieces_fini(struct pieces *pieces);

/* A row of any of the four tables. */
enum code pieces_put(struct pieces *pieces, const struct walk_row *row) MUST_USE;
enum code pieces_put_mark(struct pieces *pieces, int64_t size, int64_t time_us, struct span peaks, struct span note) MUST_USE;
/* A row that is not there any more, and whose hash was kept. */
enum code pieces_put_kept(struct pieces *pieces, int64_t seq, struct span hash, struct span tenant) MUST_USE;

/* What a file says of how the one before it ended, which stands nowhere else: where its tenants stood, and which permits had no
 * outcome. Takes: sequence: in which the file before was verified. */
enum code pieces_continue(struct pieces *pieces, const struct verify_sequence *sequence) MUST_USE;

#endif
