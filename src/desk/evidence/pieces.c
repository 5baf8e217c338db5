/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/pieces.h"

#include "rows/schema.h"
#include "evidence/verify_priv.h"

/* The trail's own, as far as the verifier asks of them. */
#define TABLES "CREATE TABLE checkpoint (size INTEGER PRIMARY KEY, time_us, peaks, note); " \
               "CREATE TABLE tenant_start (tenant, seq, hash); " \
               "CREATE TABLE permit_start (decision, tenant); " \
               "CREATE TABLE erasure (seq, tenant, before_us); " \
               "CREATE TABLE kept (seq, hash, tenant); " \
               "CREATE INDEX event_seq ON event (seq); CREATE INDEX kept_seq ON kept (seq);"

static enum code make_table(struct db *db, enum row_table table)
{
    const struct row_shape *shape = row_shape(table);
    struct buf sql;
    enum code code;

    buf_init(&sql, 4096);
    buf_addf(&sql, "CREATE TABLE %s (", shape->name);
    for (int i = 0; i < shape->count; i++)
        buf_addf(&sql, "%s, ", shape->columns[i]);
    for (int i = 0; i < shape->outside; i++)
        buf_addf(&sql, "%s, ", shape->outside_columns[i]);
    code = buf_add(&sql, "hash)", sizeof "hash)");
    if (code == CODE_OK)
        code = db_exec(db, buf_peek(&sql).at);
    buf_fini(&sql);
    return code;
}

enum code pieces_init(struct pieces *pieces)
{
    enum code code;

    *pieces = (struct pieces){.db = NULL};
    code = db_open(":memory:", DB_CREATE, &pieces->db, NULL);
    for (enum row_table table = ROW_FILE; table < ROW_TABLES && code == CODE_OK; table++)
        code = make_table(pieces->db, table);
    if (code == CODE_OK)
        code = db_exec(pieces->db, TABLES);
    for (enum row_table table = ROW_FILE; table < ROW_TABLES && code == CODE_OK; table++)
        code = row_prepare_insert(pieces->db, table, &pieces->insert[table]);
    return code;
}

void pieces_fini(struct pieces *pieces)
{
    for (enum row_table table = ROW_FILE; table < ROW_TABLES; table++)
        db_finalize(&pieces->insert[table]);
    if (pieces->db != NULL)
        db_close(&pieces->db);
}

enum code pieces_put(struct pieces *pieces, const struct walk_row *row)
{
    const struct row_shape *shape = row_shape(row->table);
    struct db_stmt *stmt = pieces->insert[row->table];

    for (int i = 0; i < shape->count; i++)
        row_bind(stmt, i + 1, &row->values[i]);
    row_bind(stmt, shape->count + 1, &row->hash);
    for (int i = 0; i < shape->outside; i++)
        row_bind(stmt, shape->count + 2 + i, &row->outside[i]);
    return db_run(stmt);
}

enum code pieces_put_mark(struct pieces *pieces, int64_t size, int64_t time_us, struct span peaks, struct span note)
{
    return db_change(pieces->db, "INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?)",
                     DB_VALUES(db_of_int(size), db_of_int(time_us), db_of_blob(peaks), db_of_text(note)));
}

enum code pieces_put_kept(struct pieces *pieces, int64_t seq, struct span hash, struct span tenant)
{
    return db_change(pieces->db, "INSERT INTO kept VALUES (?, ?, ?)",
                     DB_VALUES(db_of_int(seq), db_of_blob(hash), db_of_text(tenant)));
}

static enum code put_heads(struct pieces *pieces, const struct heads *heads)
{
    struct head **list = mem_array(heads->count + 1, sizeof *list);
    enum code code = list != NULL ? CODE_OK : CODE_NOMEM;

    if (code == CODE_OK)
        heads_list(heads, list);
    for (size_t i = 0; i < heads->count && code == CODE_OK; i++)
        if (list[i]->known)
            code = db_change(pieces->db, "INSERT INTO tenant_start VALUES (?, ?, ?)",
                             DB_VALUES(db_of_text(span_of(list[i]->tenant, list[i]->len)), db_of_int((int64_t)list[i]->seq),
                                       db_of_blob(span_of(list[i]->hash, DIGEST_BYTES))));
    mem_free(list);
    return code;
}

enum code pieces_continue(struct pieces *pieces, const struct verify_sequence *sequence)
{
    const struct permits *permits = &sequence->standing.permits;
    enum code code = CODE_OK;

    if (!sequence->has_before)
        return CODE_OK;
    for (size_t i = 0; i < permits->size && code == CODE_OK; i++) {
        const struct permit *permit = &permits->slots[i];

        if (permit->seq != 0)
            code = db_change(pieces->db, "INSERT INTO permit_start VALUES (?, ?)",
                             DB_VALUES(db_of_int((int64_t)permit->seq),
                                       db_of_text(permit->head != NULL ? span_of(permit->head->tenant, permit->head->len)
                                                                       : SPAN_NONE)));
    }
    return code == CODE_OK ? put_heads(pieces, &sequence->standing.heads) : code;
}
