/* SPDX-License-Identifier: Apache-2.0 */
/* 1.24: what a statement keeps of one row for the next one never gets into another row: rows that resemble the one before them in some
 * columns only, in length, in kind or not at all are stored as they were given, each under its own hash. */
#include "rows/insert.h"

#include "rows/schema.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

#define ROWS 600
#define COLUMNS (ROW_COLUMNS_MAX + 1 + OUTSIDE_COUNT)
#define TEXT_BYTES 400

struct table {
    enum row_table number;
    int columns;
    enum row_kind kind[COLUMNS];
    bool may_be_null[COLUMNS];
};

/* The row's values, and the bytes that they point to. */
struct row {
    struct row_value values[COLUMNS];
    unsigned char hash[DIGEST_BYTES];
    char bytes[COLUMNS][TEXT_BYTES];
};

static struct db *new_file(void)
{
    struct db *db;
    struct why why;

    assert_int_equal(db_open(":memory:", DB_CREATE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, audit_schema), CODE_OK);
    return db;
}

/* All columns in the order of an insert. */
static struct db_stmt *select_rows(struct db *db, enum row_table number)
{
    struct db_stmt *stmt;
    struct buf sql;

    buf_init(&sql, 4096);
    assert_int_equal(row_add_select(&sql, number), CODE_OK);
    assert_int_equal(buf_add(&sql, "ORDER BY seq", sizeof "ORDER BY seq"), CODE_OK);
    assert_int_equal(db_prepare(db, buf_peek(&sql).at, &stmt), CODE_OK);
    buf_fini(&sql);
    return stmt;
}

static void learn_columns(struct db *db, enum row_table number, struct table *table)
{
    struct db_stmt *rows = select_rows(db, number), *stmt;
    char sql[128];

    *table = (struct table){.number = number};
    (void)snprintf(sql, sizeof sql, "SELECT type, \"notnull\" OR pk FROM pragma_table_info('%s') WHERE name = ?",
                   row_shape(number)->name);
    assert_int_equal(db_prepare(db, sql, &stmt), CODE_OK);
    for (; table->columns < db_columns(rows); table->columns++) {
        struct span type;

        db_bind_text(stmt, 1, span_text(db_column_name(rows, table->columns)));
        assert_int_equal(db_step(stmt), CODE_OK);
        type = db_text(stmt, 0);
        table->kind[table->columns] = span_is(type, "INTEGER") ? ROW_INT : span_is(type, "TEXT") ? ROW_TEXT : ROW_BLOB;
        table->may_be_null[table->columns] = db_int(stmt, 1) == 0;
        db_reset(stmt);
    }
    db_finalize(&stmt);
    db_finalize(&rows);
    assert_int_equal(table->columns, row_shape(number)->count + 1 + row_shape(number)->outside);
}

static struct row_value value_of(const struct table *table, int64_t seq, int column, char bytes[TEXT_BYTES])
{
    static const size_t lengths[] = {5, 5, 5, 0, 64, 119, 120, 121, 122, TEXT_BYTES};
    uint32_t any = (uint32_t)(seq * 64 + column) * 2654435761u >> 12;
    size_t len = lengths[any % 10];
    bool all_null = seq % 7 == 0, all_alike = seq % 7 == 3 || seq % 7 == 4;

    if (table->may_be_null[column] && (all_null || (!all_alike && any % 3 == 0)))
        return row_null();
    if (table->kind[column] == ROW_INT)
        return row_int(all_alike ? 1 : (int64_t)(any % 4));
    if (all_alike)
        len = 5;
    memset(bytes, all_alike ? 'a' : 'a' + (int)(any % 3), len);
    return (struct row_value){.kind = table->kind[column], .bytes = span_of(bytes, len)};
}

static void fill(const struct table *table, int64_t seq, struct row *row)
{
    static const unsigned char zeros[DIGEST_BYTES];
    int hash = row_shape(table->number)->count;

    for (int i = 0; i < table->columns; i++)
        row->values[i] = value_of(table, seq, i, row->bytes[i]);
    row->values[0] = row_int(seq);
    if (table->number == ROW_OUTCOME)
        row->values[O_DECISION] = row_int(seq); /* is there once only */
    row_hash(table->number, row->values, zeros, row->hash);
    row->values[hash] = row_blob(row->hash, DIGEST_BYTES);
}

static void expect_rows(struct db *db, const struct table *table)
{
    static struct row row;
    struct db_stmt *stmt = select_rows(db, table->number);

    for (int64_t seq = 1; seq <= ROWS; seq++) {
        assert_int_equal(db_step(stmt), CODE_OK);
        fill(table, seq, &row);
        for (int i = 0; i < table->columns; i++) {
            struct row_value got = row_read(stmt, i);

            assert_int_equal(got.kind, row.values[i].kind);
            assert_true(got.number == row.values[i].number);
            assert_true(span_equals(got.bytes, row.values[i].bytes));
        }
    }
    assert_int_equal(db_step(stmt), CODE_NOT_FOUND);
    db_finalize(&stmt);
}

static enum code put(struct insert *insert, const struct table *table, struct row *row)
{
    int hash = row_shape(table->number)->count;
    enum code code = insert_row(insert, row->values, row->hash, row->values + hash + 1);

    memset(row, 'x', sizeof *row); /* nobody points to it any more */
    return code;
}

TEST_CASE(test_rows_are_their_own)
{
    static struct row row;

    for (int number = ROW_DECISION; number < ROW_TABLES; number++) {
        struct db *db = new_file();
        struct insert *insert;
        struct table table;

        learn_columns(db, (enum row_table)number, &table);
        assert_int_equal(insert_new(db, table.number, &insert), CODE_OK);
        for (int64_t seq = 1; seq <= ROWS; seq++) {
            fill(&table, seq, &row);
            assert_int_equal(put(insert, &table, &row), CODE_OK);
        }
        expect_rows(db, &table);
        insert_free(&insert);
        db_close(&db);
    }
}

/* After a failure nothing is known of what the parameters hold. */
TEST_CASE(test_rows_after_one_that_failed)
{
    static struct row row;
    struct db *db = new_file();
    struct insert *insert;
    struct table table;

    learn_columns(db, ROW_DECISION, &table);
    assert_int_equal(insert_new(db, ROW_DECISION, &insert), CODE_OK);
    for (int64_t seq = 1; seq <= ROWS; seq++) {
        fill(&table, seq, &row);
        if (seq % 3 == 0) {
            row.values[0] = row_int(seq - 1);
            assert_int_equal(put(insert, &table, &row), CODE_EXISTS);
            fill(&table, seq, &row);
        }
        assert_int_equal(put(insert, &table, &row), CODE_OK);
    }
    expect_rows(db, &table);
    insert_free(&insert);
    db_close(&db);
}

TEST_MAIN(NULL, NULL)
