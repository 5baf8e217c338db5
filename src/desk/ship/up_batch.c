/* SPDX-License-Identifier: Apache-2.0 */
#include "ship/up_batch.h"

#include "rows/schema.h"
#include "unicode/unicode.h"

#include <stdio.h>

#define DAY_US INT64_C(86400000000)
#define FIRST_DAY (-719162) /* 0001-01-01 */
#define LAST_DAY 2932896    /* 9999-12-31 */
#define FULL_BYTES ((size_t)8 << 20)

/* ---- tables ------------------------------------------------------------------------------------------------------- */

/* What only the gate makes is text at the centre, for whoever asks there by hand. */
static const char *const texts[] = {"answer_effect", "authentication", "direction", "verdict", "reason", "outcome", "kind"};

static enum row_kind kind_of(const char *name, struct span type)
{
    if (span_is(type, "INTEGER"))
        return ROW_INT;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(name, texts[i]) == 0)
            return ROW_TEXT;
    return ROW_BLOB;
}

/* The centre has a column `node` of its own: there it is the member, here the machine. */
static const char *name_there(enum row_table table, const char *name)
{
    return table == ROW_DECISION && strcmp(name, "node") == 0 ? "host" : name;
}

static enum code learn_column(struct up_table *table, enum row_table which, const char *name, bool is_outside, struct db *model)
{
    size_t len = strlen(table->copy);
    struct db_stmt *stmt;
    enum code code = db_find(model, "SELECT type FROM pragma_table_info(?1) WHERE name = ?2",
                             DB_VALUES(db_of_text(span_text(row_shape(which)->name)), db_of_text(span_text(name))), &stmt);

    if (code == CODE_OK) {
        table->kinds[table->count] = kind_of(name, db_text(stmt, 0));
        table->is_outside[table->count++] = is_outside;
        if (snprintf(table->copy + len, UP_COPY_BYTES - len, ", %s", name_there(which, name)) >= (int)(UP_COPY_BYTES - len))
            code = CODE_LIMIT;
    }
    db_finalize(&stmt);
    return code;
}

static enum code learn_table(struct up_table *table, enum row_table which, struct db *model)
{
    static const char end[] = ") FROM STDIN (FORMAT binary)";
    const struct row_shape *shape = row_shape(which);
    enum code code = CODE_OK;
    size_t len;

    table->count = 0;
    table->copy[0] = '\0';
    for (int i = 0; i < shape->count && code == CODE_OK; i++)
        code = learn_column(table, which, shape->columns[i], false, model);
    if (code == CODE_OK)
        code = learn_column(table, which, "hash", false, model);
    for (int i = 0; i < shape->outside && code == CODE_OK; i++)
        code = learn_column(table, which, shape->outside_columns[i], true, model);
    if (code == CODE_OK) {
        char names[UP_COPY_BYTES];

        memcpy(names, table->copy, sizeof names);
        len = (size_t)snprintf(table->copy, sizeof table->copy, "COPY callgate.%s (%s%s%s", shape->name,
                               which == ROW_FILE ? "" : "day", names + (which == ROW_FILE ? 2 : 0), end);
        code = len < sizeof table->copy ? CODE_OK : CODE_LIMIT;
    }
    return code;
}

enum code up_tables_learn(struct up_table tables[ROW_TABLES], struct why *why)
{
    struct db *model = NULL;
    enum code code = audit_schema_model(&model);

    for (enum row_table table = ROW_FILE; table < ROW_TABLES && code == CODE_OK; table++)
        code = learn_table(&tables[table], table, model);
    if (code != CODE_OK)
        (void)why_set(why, code, "the tables of the trail cannot be learnt: %s", code_text(code));
    db_close(&model);
    return code;
}

/* ---- packing ------------------------------------------------------------------------------------------------------ */

void up_batch_init(struct up_batch *batch)
{
    *batch = (struct up_batch){.first = 1};
    for (int table = 0; table < ROW_TABLES; table++)
        buf_init(&batch->rows[table], SIZE_MAX / 2);
}

void up_batch_fini(struct up_batch *batch)
{
    for (int table = 0; table < ROW_TABLES; table++)
        buf_fini(&batch->rows[table]);
}

void up_batch_clear(struct up_batch *batch, int64_t before_seq)
{
    for (int table = 0; table < ROW_TABLES; table++) {
        buf_clear(&batch->rows[table]);
        batch->counts[table] = 0;
    }
    batch->first = before_seq + 1;
    batch->last = before_seq;
    batch->has_hash = false;
    batch->day_count = batch->erased_count = 0;
}

int32_t up_day(int64_t time_us)
{
    int64_t day = time_us / DAY_US - (time_us % DAY_US < 0);

    return day < FIRST_DAY ? FIRST_DAY : day > LAST_DAY ? LAST_DAY : (int32_t)day;
}

bool up_batch_is_full(const struct up_batch *batch, size_t rows)
{
    size_t bytes = 0, count = 0;

    for (int table = ROW_DECISION; table < ROW_TABLES; table++) {
        bytes += buf_len(&batch->rows[table]);
        count += batch->counts[table];
    }
    return count >= rows || bytes >= FULL_BYTES || batch->day_count == UP_DAYS_MAX || batch->erased_count == UP_ERASED_MAX;
}

static void pack_number(struct buf *out, int64_t number)
{
    (void)buf_add(out, &number, sizeof number);
}

/* A text that PostgreSQL would refuse, shown as text_of shows it there. */
static void pack_escaped(struct buf *out, struct span text)
{
    struct buf escaped;

    buf_init(&escaped, SIZE_MAX / 2);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.at[i];

        if (byte == '\\')
            (void)buf_add(&escaped, "\\\\", 2);
        else if (byte == 0 || byte >= 128)
            (void)buf_addf(&escaped, "\\%03o", byte);
        else
            (void)buf_add_byte(&escaped, (char)byte);
    }
    if (buf_code(&escaped) != CODE_OK) {
        (void)buf_fail(out, buf_code(&escaped));
    } else {
        pack_number(out, (int64_t)buf_len(&escaped));
        (void)buf_add_span(out, buf_peek(&escaped));
    }
    buf_fini(&escaped);
}

static bool is_text_there(struct span text)
{
    return unicode_is_utf8(text) && (text.len == 0 || memchr(text.at, '\0', text.len) == NULL);
}

static void pack_value(struct buf *out, enum row_kind wanted, const struct row_value *value)
{
    bool is_number = value->kind == ROW_INT, is_bytes = value->kind == ROW_TEXT || value->kind == ROW_BLOB;

    if (wanted == ROW_INT ? !is_number : !is_bytes) {
        (void)buf_add_byte(out, ROW_NULL);
        return;
    }
    (void)buf_add_byte(out, (char)wanted);
    if (is_number) {
        pack_number(out, value->number);
    } else if (wanted == ROW_TEXT && !is_text_there(value->bytes)) {
        pack_escaped(out, value->bytes);
    } else {
        pack_number(out, (int64_t)value->bytes.len);
        (void)buf_add_span(out, value->bytes);
    }
}

static const struct row_value *value_at(const struct walk_row *row, size_t at)
{
    size_t chained = (size_t)row_shape(row->table)->count;

    return at < chained ? &row->values[at] : at == chained ? &row->hash : &row->outside[at - chained - 1];
}

static void note_row(struct up_batch *batch, const struct walk_row *row, int32_t day)
{
    size_t i = 0;

    batch->last = row->seq;
    batch->has_hash = row->hash.bytes.len == DIGEST_BYTES;
    if (batch->has_hash)
        memcpy(batch->hash, row->hash.bytes.at, DIGEST_BYTES);
    while (i < batch->day_count && batch->days[i] != day)
        i++;
    if (i == batch->day_count)
        batch->days[batch->day_count++] = day;
    if (row->table == ROW_EVENT && span_is(row->values[E_KIND].bytes, "erased")) {
        batch->erased[batch->erased_count].day = day;
        batch->erased[batch->erased_count++].seq = row->seq;
    }
}

enum code up_batch_add(struct up_batch *batch, const struct up_table *table, const struct walk_row *row, int32_t day,
                       enum up_form form)
{
    struct buf *out = &batch->rows[row->table];
    size_t hash_at = (size_t)row_shape(row->table)->count;

    BUG_ON(row->table != ROW_FILE && up_batch_is_full(batch, SIZE_MAX) && batch->last >= batch->first);
    if (row->table != ROW_FILE)
        pack_number(out, day);
    for (size_t i = 0; i < table->count; i++)
        if ((table->is_outside[i] && form == UP_DIGESTS) || (form == UP_HOLLOW && i != 0 && i != hash_at))
            (void)buf_add_byte(out, ROW_NULL);
        else
            pack_value(out, table->kinds[i], value_at(row, i));
    batch->counts[row->table]++;
    if (row->table != ROW_FILE)
        note_row(batch, row, day);
    return buf_code(out);
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

static int64_t take_number(struct span *from)
{
    int64_t number;

    memcpy(&number, from->at, sizeof number);
    *from = span_part(*from, sizeof number, from->len);
    return number;
}

static void send_value(struct span *from, struct pg *pg)
{
    enum row_kind kind = (enum row_kind)from->at[0];
    struct span bytes;
    int64_t number;

    *from = span_part(*from, 1, from->len);
    if (kind == ROW_NULL) {
        pg_copy_null(pg);
        return;
    }
    number = take_number(from);
    if (kind == ROW_INT) {
        pg_copy_int(pg, number);
        return;
    }
    bytes = span_part(*from, 0, (size_t)number);
    *from = span_part(*from, (size_t)number, from->len);
    if (kind == ROW_TEXT)
        pg_copy_text(pg, bytes);
    else
        pg_copy_bytes(pg, bytes);
}

void up_batch_send(const struct up_batch *batch, enum row_table table, const struct up_table *at, struct pg *pg)
{
    struct span from = buf_peek(&batch->rows[table]);
    bool has_day = table != ROW_FILE;

    for (size_t i = 0; i < batch->counts[table]; i++) {
        pg_copy_row(pg, at->count + has_day);
        if (has_day)
            pg_copy_day(pg, (int32_t)take_number(&from));
        for (size_t value = 0; value < at->count; value++)
            send_value(&from, pg);
    }
}
