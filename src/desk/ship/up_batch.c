/* SPDX-License-Identifier: Apache-2.0 */
#include "ship/up_batch.h"

#include "centre/centre_rows.h"
#include "unicode/unicode.h"

#include <stdio.h>

#define DAY_US INT64_C(86400000000)
#define FIRST_DAY (-719162) /* 0001-01-01 */
#define LAST_DAY 2932896    /* 9999-12-31 */
#define FULL_BYTES ((size_t)8 << 20)

/* ---- tables ------------------------------------------------------------------------------------------------------- */

/* What only the gate makes is text at the centre, for whoever asks there by hand. */
static const char *const texts[] = {"answer_effect", "authentication", "direction", "verdict", "reason", "outcome", "kind"};

static bool is_text(const char *name)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(name, texts[i]) == 0)
            return true;
    return false;
}

static enum code take_table(struct up_table *table, enum row_table which, const struct centre_columns *columns)
{
    const struct row_shape *shape = row_shape(which);
    int len = snprintf(table->copy, sizeof table->copy, "COPY callgate.%s (%s%s) FROM STDIN (FORMAT binary)", shape->name,
                       which == ROW_FILE ? "" : "day, ", columns->names);

    table->count = columns->count;
    for (size_t i = 0; i < table->count; i++) {
        const char *name = i < (size_t)shape->count  ? shape->columns[i]
                           : i == (size_t)shape->count ? "hash"
                                                       : shape->outside_columns[i - (size_t)shape->count - 1];

        table->kinds[i] = columns->kinds[i] == ROW_INT ? ROW_INT : is_text(name) ? ROW_TEXT : ROW_BLOB;
    }
    return (size_t)len < sizeof table->copy ? CODE_OK : CODE_LIMIT;
}

enum code up_tables_learn(struct up_table tables[ROW_TABLES], struct why *why)
{
    struct centre_columns columns[ROW_TABLES];
    enum code code = centre_columns_learn(columns, why);

    for (enum row_table table = ROW_FILE; table < ROW_TABLES && code == CODE_OK; table++)
        code = take_table(&tables[table], table, &columns[table]);
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
        if ((i > hash_at && form == UP_DIGESTS) || (form == UP_HOLLOW && i != 0 && i != hash_at))
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
