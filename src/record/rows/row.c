/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/row.h"

#include "base/buf.h"
#include "base/bug.h"

#include <endian.h>

#define ROW_NAME(NAME, name, ...) #name,
static const char *const file_columns[] = {ROW_FILE_COLUMNS(ROW_NAME)};
static const char *const decision_columns[] = {
    DECISION_TABLE(ROW_NAME, ROW_NAME, ROW_NAME, ROW_NAME, ROW_NAME, ROW_NAME, ROW_NAME)};
static const char *const outcome_columns[] = {OUTCOME_TABLE(ROW_NAME, ROW_NAME, ROW_NAME, ROW_NAME)};
static const char *const event_columns[] = {EVENT_TABLE(ROW_NAME, ROW_NAME, ROW_NAME, ROW_NAME)};

static const char *const decision_outside[] = {DECISION_OUTSIDE_TABLE(ROW_NAME, ROW_NAME)};
static const char *const outcome_outside[] = {OUTCOME_OUTSIDE_TABLE(ROW_NAME, ROW_NAME)};

static const struct row_shape shapes[ROW_TABLES] = {
    [ROW_FILE] = {"file", 'F', F_COUNT, file_columns, 0, NULL},
    [ROW_DECISION] = {"decision", 'D', D_COUNT, decision_columns, OUTSIDE_COUNT, decision_outside},
    [ROW_OUTCOME] = {"outcome", 'O', O_COUNT, outcome_columns, ANSWER_COUNT, outcome_outside},
    [ROW_EVENT] = {"event", 'E', E_COUNT, event_columns, 0, NULL},
};

const struct row_shape *row_shape(enum row_table table)
{
    BUG_ON((unsigned)table >= ROW_TABLES);
    return &shapes[table];
}

/* Canonical bytes are gathered here first, since one call of the digest for many small fields costs half. */
struct sink {
    struct digest digest;
    struct buf *out; /* takes the bytes; NULL: the digest takes them */
    enum code code;
    size_t len;
    unsigned char bytes[1024];
};

static void sink_out(struct sink *sink, const void *bytes, size_t len)
{
    if (sink->out == NULL)
        digest_add(&sink->digest, bytes, len);
    else if (sink->code == CODE_OK)
        sink->code = buf_add(sink->out, bytes, len);
}

static void sink_flush(struct sink *sink)
{
    sink_out(sink, sink->bytes, sink->len);
    sink->len = 0;
}

static void sink_number(struct sink *sink, uint64_t number)
{
    uint64_t big = htobe64(number);

    memcpy(sink->bytes + sink->len, &big, sizeof big);
    sink->len += sizeof big;
}

static void sink_len(struct sink *sink, size_t len)
{
    uint32_t big = htobe32((uint32_t)len);

    memcpy(sink->bytes + sink->len, &big, sizeof big);
    sink->len += sizeof big;
}

static void sink_value(struct sink *sink, const struct row_value *value)
{
    if (sizeof sink->bytes - sink->len < 16)
        sink_flush(sink);
    sink->bytes[sink->len++] = (unsigned char)value->kind;
    switch (value->kind) {
    case ROW_NULL:
    case ROW_FOREIGN:
        return;
    case ROW_INT:
        sink_number(sink, (uint64_t)value->number);
        return;
    case ROW_TEXT:
    case ROW_BLOB:
        break;
    }
    sink_len(sink, value->bytes.len);
    if (value->bytes.len > sizeof sink->bytes - sink->len) {
        sink_flush(sink);
        if (value->bytes.len > sizeof sink->bytes) {
            sink_out(sink, value->bytes.at, value->bytes.len);
            return;
        }
    }
    if (value->bytes.len > 0)
        memcpy(sink->bytes + sink->len, value->bytes.at, value->bytes.len);
    sink->len += value->bytes.len;
}

static void sink_row(struct sink *sink, enum row_table table, const struct row_value *values)
{
    const struct row_shape *shape = row_shape(table);
    int count = shape->count;

    /* NULLs at the end are left out: a column that a later format adds changes no row that lacks it. */
    while (count > 0 && values[count - 1].kind == ROW_NULL)
        count--;
    sink->bytes[sink->len++] = (unsigned char)shape->tag;
    for (int i = 0; i < count; i++)
        sink_value(sink, &values[i]);
    sink_flush(sink);
}

void row_hash(enum row_table table, const struct row_value *values, const unsigned char previous[DIGEST_BYTES],
              unsigned char hash[DIGEST_BYTES])
{
    struct sink sink;

    sink.out = NULL;
    digest_init(&sink.digest);
    memcpy(sink.bytes, previous, DIGEST_BYTES);
    sink.len = DIGEST_BYTES;
    sink_row(&sink, table, values);
    digest_final(&sink.digest, hash);
}

enum code row_bytes(enum row_table table, const struct row_value *values, struct buf *out)
{
    struct sink sink;

    sink.out = out;
    sink.code = CODE_OK;
    sink.len = 0;
    sink_row(&sink, table, values);
    return sink.code;
}

static void add_columns(struct buf *sql, const struct row_shape *shape)
{
    for (int i = 0; i < shape->count; i++)
        buf_addf(sql, "%s, ", shape->columns[i]);
    buf_add_text(sql, "hash");
    for (int i = 0; i < shape->outside; i++)
        buf_addf(sql, ", %s", shape->outside_columns[i]);
}

enum code row_add_select(struct buf *sql, enum row_table table)
{
    const struct row_shape *shape = row_shape(table);

    buf_add_text(sql, "SELECT ");
    add_columns(sql, shape);
    return buf_addf(sql, " FROM %s ", shape->name);
}

enum code row_prepare_insert(struct db *db, enum row_table table, struct db_stmt **stmt)
{
    const struct row_shape *shape = row_shape(table);
    struct buf sql;
    enum code code;

    *stmt = NULL;
    buf_init(&sql, 4096);
    buf_addf(&sql, "INSERT INTO %s (", shape->name);
    add_columns(&sql, shape);
    buf_add_text(&sql, ") VALUES (?");
    for (int i = 0; i < shape->count + shape->outside; i++) /* one more than these: the hash */
        buf_add_text(&sql, ", ?");
    code = buf_add(&sql, ")", 2);
    if (code == CODE_OK)
        code = db_prepare(db, buf_peek(&sql).at, stmt);
    buf_fini(&sql);
    return code;
}

void row_bind(struct db_stmt *stmt, int at, const struct row_value *value)
{
    switch (value->kind) {
    case ROW_NULL:
    case ROW_FOREIGN:
        db_bind_null(stmt, at);
        return;
    case ROW_INT:
        db_bind_int(stmt, at, value->number);
        return;
    case ROW_TEXT:
        db_bind_text(stmt, at, value->bytes);
        return;
    case ROW_BLOB:
        break;
    }
    db_bind_blob(stmt, at, value->bytes);
}

struct row_value row_read(struct db_stmt *stmt, int column)
{
    struct db_value value = db_value(stmt, column);

    switch (value.type) {
    case DB_INT:
        return row_int(value.number);
    case DB_TEXT:
        return row_text(value.bytes);
    case DB_BLOB:
        return (struct row_value){.kind = ROW_BLOB, .bytes = value.bytes};
    case DB_REAL:
        return (struct row_value){.kind = ROW_FOREIGN};
    case DB_NULL:
        break;
    }
    return row_null();
}
