/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/witness_memory.h"

#include "os/clock.h"

#include <string.h>

enum code witness_memory_load(struct db *store, struct span node, struct witness *witness, struct why *why)
{
    struct db_stmt *stmt = NULL;
    struct note note = {.size = 0};
    enum code code = db_find(store, "SELECT origin, size, root, peaks FROM fleet_witness WHERE node = ?",
                             DB_VALUES(db_of_text(node)),
                             &stmt);

    if (code == CODE_OK && db_blob(stmt, 2).len == DIGEST_BYTES) {
        note = (struct note){.origin = db_text(stmt, 0), .size = (uint64_t)db_int(stmt, 1)};
        memcpy(note.root, db_blob(stmt, 2).at, DIGEST_BYTES);
    }
    if (code == CODE_OK && !witness_begin(witness, &note, db_blob(stmt, 3)))
        code = CODE_NOT_FOUND;
    db_finalize(&stmt);
    return code == CODE_OK || code == CODE_NOT_FOUND ? code : db_why(why, code, store, "reading what was seen of another node");
}

enum code witness_memory_save(struct db *store, struct span node, const struct witness *witness, struct why *why)
{
    unsigned char peaks[MERKLE_PEAKS * DIGEST_BYTES];
    size_t len = merkle_save(&witness->tree, peaks);
    enum code code = db_change(store, "INSERT INTO fleet_witness (node, origin, size, root, peaks) VALUES (?1, ?2, ?3, ?4, ?5) "
                               "ON CONFLICT (node) DO UPDATE SET origin = excluded.origin, size = excluded.size, root = "
                               "excluded.root, "
                               "peaks = excluded.peaks",
                               DB_VALUES(db_of_text(node), db_of_text(span_text(witness->origin)),
                                         db_of_int((int64_t)witness->tree.size), db_of_blob(span_of(witness->root,
                                                                                                    DIGEST_BYTES)),
                                         db_of_blob(span_of(peaks, len))));

    return db_why(why, code, store, "writing what was seen of another node");
}

enum code witness_memory_fork(struct db *store, struct span node, struct span told_by, int64_t seq, struct span what,
                              struct why *why)
{
    enum code code = db_change(store, "INSERT INTO fleet_fork (node, told_by, seq, what, heard_us) SELECT ?1, ?2, ?3, ?4, ?5 "
                               "WHERE NOT EXISTS (SELECT 1 FROM fleet_fork WHERE node = ?1 AND told_by = ?2 AND seq = ?3)",
                               DB_VALUES(db_of_text(node), db_of_text(told_by), db_of_int(seq),
                                         db_of_text(what.at != NULL ? what : SPAN_LIT("")), db_of_int(clock_wall_us())));

    return db_why(why, code, store, "noting that a node is forked");
}

enum code witness_memory_is_forked(struct db *store, struct span node, bool *is, struct why *why)
{
    int64_t forks = 0;
    enum code code = db_number(store, "SELECT 1 FROM fleet_fork WHERE node = ?", DB_VALUES(db_of_text(node)), &forks);

    *is = forks != 0;
    return db_why(why, code, store, "reading what is known of the fleet");
}
