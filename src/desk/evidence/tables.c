/* SPDX-License-Identifier: Apache-2.0 */
/* The tables and views around the chain prove nothing, but an auditor looks through them: a view that leaves rows out or
 * an index that does not find them deceives as well as a changed row. */
#include "evidence/verify_priv.h"

#include "rows/schema.h"

#include <stdio.h>

static void tell(void *context, const char *field, struct span name, const char *fault)
{
    verify__fault(context, 0, "schema", field, "%.*s %s", SPAN_ARG(name), fault);
}

enum code verify__schema(struct verifier *verifier)
{
    return audit_differences(verifier->db, tell, verifier);
}

/* ---- indices ------------------------------------------------------------------------------------------------------ */

static bool is_ok(struct db *db, const char *sql)
{
    struct db_stmt *stmt;
    bool is = db_find(db, sql, NULL, 0, &stmt) == CODE_OK && span_is(db_text(stmt, 0), "ok");

    db_finalize(&stmt);
    return is;
}

static bool note_column(struct verify_index *index, struct span name)
{
    const struct row_shape *shape = row_shape(index->table);
    int at = 0;

    while (at < shape->count && !span_is(name, shape->columns[at]))
        at++;
    if (at == shape->count || index->count == VERIFY_INDEX_COLUMNS)
        return false;
    index->columns[index->count++] = at;
    return true;
}

static enum code find_indices_of(struct verifier *verifier, enum row_table table)
{
    struct db_stmt *stmt;
    enum code code = db_select(verifier->db, "SELECT i.name, i.\"unique\", c.name FROM pragma_index_list(?) i, "
                               "pragma_index_info(i.name) c ORDER BY i.seq, c.seqno",
                               DB_VALUES(db_of_text(span_text(row_shape(table)->name))), &stmt);

    while (db_next(&stmt, &code)) {
        struct verify_index *index = verifier->index_count > 0 ? &verifier->indices[verifier->index_count - 1] : NULL;

        if (index == NULL || index->table != table || !span_is(db_text(stmt, 0), index->name)) {
            if (verifier->index_count == VERIFY_INDICES_MAX || db_text(stmt, 0).len >= sizeof index->name) {
                verifier->has_other_indices = true;
                continue;
            }
            index = &verifier->indices[verifier->index_count++];
            *index = (struct verify_index){.table = table, .is_unique = db_int(stmt, 1) != 0};
            (void)snprintf(index->name, sizeof index->name, "%.*s", SPAN_ARG(db_text(stmt, 0)));
        }
        verifier->has_other_indices |= !note_column(index, db_text(stmt, 2));
    }
    return code;
}

enum code verify__find_indices(struct verifier *verifier)
{
    enum code code = find_indices_of(verifier, ROW_DECISION);

    if (code == CODE_OK)
        code = find_indices_of(verifier, ROW_OUTCOME);
    verifier->has_other_indices |= code == CODE_IO; /* a damaged page, which SQLite names later */
    return code == CODE_IO ? CODE_OK : code;
}

static struct db_value value_of(const struct row_value *value)
{
    static const enum db_type types[] = {[ROW_NULL] = DB_NULL, [ROW_INT] = DB_INT, [ROW_TEXT] = DB_TEXT, [ROW_BLOB] = DB_BLOB,
                                         [ROW_FOREIGN] = DB_REAL};

    return (struct db_value){types[value->kind], value->number, value->bytes};
}

void verify__note_entries(struct verifier *verifier, const struct walk_row *row)
{
    for (size_t i = 0; i < verifier->index_count; i++) {
        struct verify_index *index = &verifier->indices[i];
        struct db_value entry[VERIFY_INDEX_COLUMNS + 1];

        if (index->table != row->table)
            continue;
        for (int k = 0; k < index->count; k++)
            entry[k] = value_of(&row->values[index->columns[k]]);
        entry[index->count] = db_of_int(row->seq);
        index->has_no_sum |= !db_mark(entry, (size_t)index->count + 1, &index->sum);
    }
}

static bool has_all_rows(struct db *db, const struct verify_index *index)
{
    const struct row_shape *shape = row_shape(index->table);
    struct db_stmt *stmt = NULL;
    struct buf sql, columns;
    bool has = !index->has_no_sum;

    buf_init(&sql, 1024);
    buf_init(&columns, 512);
    for (int i = 0; i < index->count; i++)
        buf_addf(&columns, "%s%s", i > 0 ? ", " : "", shape->columns[index->columns[i]]);
    buf_addf(&sql, "SELECT mark(%.*s, seq), ", SPAN_ARG(buf_peek(&columns)));
    if (index->is_unique)
        buf_addf(&sql, "mark(%.*s) IS NOT NULL", SPAN_ARG(buf_peek(&columns)));
    else
        buf_add_text(&sql, "1");
    buf_addf(&sql, " FROM %s INDEXED BY %s", shape->name, index->name);
    has = has && buf_add_byte(&sql, '\0') == CODE_OK && buf_code(&columns) == CODE_OK &&
          db_find(db, buf_peek(&sql).at, NULL, 0, &stmt) == CODE_OK && !db_is_null(stmt, 0) &&
          (uint64_t)db_int(stmt, 0) == index->sum && db_int(stmt, 1) == 1;
    db_finalize(&stmt);
    buf_fini(&columns);
    buf_fini(&sql);
    return has;
}

/* All pages, and what the rows that were read come to beside what each index of theirs does. In the two other tables that have
 * one SQLite searches for each row. */
static bool are_surely_right(struct verifier *verifier)
{
    struct db *db = verifier->db;
    bool right = verifier->faults[VERIFY_SCHEMA].count == 0 && !verifier->has_other_indices && db_learn_mark(db) == CODE_OK &&
                 is_ok(db, "PRAGMA quick_check(1)") && is_ok(db, "PRAGMA integrity_check(tenant_start)") &&
                 is_ok(db, "PRAGMA integrity_check(tenant_head)");

    for (size_t i = 0; i < verifier->index_count && right; i++)
        right = has_all_rows(db, &verifier->indices[i]);
    return right;
}

/* Each row in each index, each entry of an index a row, all where a search finds them, and no decision with two outcomes. Where
 * that is not plain, SQLite looks for what is wrong, row by row, and says it. */
enum code verify__indices(struct verifier *verifier)
{
    struct db_stmt *stmt = NULL;
    enum code code = CODE_OK;

    if (are_surely_right(verifier))
        return CODE_OK;
    code = db_find(verifier->db, "PRAGMA integrity_check(1)", NULL, 0, &stmt);
    if (code == CODE_OK && !span_is(db_text(stmt, 0), "ok"))
        verify__fault(verifier, 0, "index", "entry", "%.*s", SPAN_ARG(db_text(stmt, 0)));
    db_finalize(&stmt);
    return code;
}

/* Where somebody has dropped these tables, the rest can still be judged. */
enum code verify__has_checkpoints(struct db *db, bool *has)
{
    int64_t tables;
    enum code code = db_number(db, "SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view') AND name IN "
                               "('checkpoint', 'tenant_start')", NULL, 0, &tables);

    *has = tables == 2;
    return code;
}
