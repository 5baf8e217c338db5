/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the store as JSON: what a command has written, all that a store has, and with the numbers that are next. */
#include "store/store_fleet_priv.h"

#include "base/mem.h"
#include "base/num.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define INT(called) {called, DB_INT, false, FLEET_NONE}
#define MAYBE_INT(called) {called, DB_INT, true, FLEET_NONE}
#define NUMBER(called, table) {called, DB_INT, false, FLEET_##table}
#define TEXT(called) {called, DB_TEXT, false, FLEET_NONE}
#define MAYBE_TEXT(called) {called, DB_TEXT, true, FLEET_NONE}
#define BLOB(called) {called, DB_BLOB, false, FLEET_NONE}

const struct store__table store__fleet[FLEET_TABLES] = {
    [FLEET_POLICY_VERSION] = {"policy_version", true, false, NULL, NULL,
        {NUMBER("version", POLICY_VERSION), INT("created_us"), TEXT("author"), MAYBE_TEXT("message"), TEXT("hash"),
         INT("failing_tests"), MAYBE_TEXT("despite")}},
    [FLEET_POLICY_FILE] = {"policy_file", false, false, NULL, NULL,
        {NUMBER("version", POLICY_VERSION), TEXT("name"), TEXT("path"), TEXT("text"), TEXT("sha256")}},
    [FLEET_POLICY_ACTIVATION] = {"policy_activation", false, false, NULL, NULL,
        {NUMBER("version", POLICY_VERSION), INT("activated_us"), TEXT("activated_by"), MAYBE_TEXT("message")}},
    [FLEET_AGENT_KEY] = {"agent_key", true, false, NULL, NULL,
        {NUMBER("id", AGENT_KEY), BLOB("digest"), TEXT("principal"), TEXT("tenant"), MAYBE_TEXT("agent"),
         MAYBE_INT("expires_us"), MAYBE_TEXT("note"), MAYBE_TEXT("roles"), INT("made_us"), TEXT("made_by")}},
    [FLEET_AGENT_KEY_CLAIM] = {"agent_key_claim", false, false, NULL, NULL, {NUMBER("key", AGENT_KEY), TEXT("glob")}},
    [FLEET_AGENT_KEY_REVOCATION] = {"agent_key_revocation", false, false, "key IS ?1", NULL,
        {NUMBER("key", AGENT_KEY), INT("revoked_us"), TEXT("revoked_by"), MAYBE_TEXT("why")}},
    [FLEET_DEFINITION] = {"definition", false, true, "upstream IS ?2 AND tool IS ?3 AND digest IS ?4",
        "id IN (SELECT definition FROM definition_word WHERE rowid > ?1)",
        {NUMBER("id", DEFINITION), TEXT("upstream"), TEXT("tool"), TEXT("digest"), TEXT("share"), INT("bytes"),
         MAYBE_TEXT("before"), INT("told_us"), TEXT("body")}},
    [FLEET_DEFINITION_WORD] = {"definition_word", false, false, NULL, NULL,
        {NUMBER("definition", DEFINITION), INT("accepted"), INT("given_us"), TEXT("given_by"), TEXT("login"), TEXT("why")}},
    [FLEET_AUDIT_HOLD] = {"audit_hold", true, false, NULL, NULL,
        {NUMBER("id", AUDIT_HOLD), MAYBE_TEXT("tenant"), MAYBE_TEXT("principal"), MAYBE_INT("since_us"),
         MAYBE_INT("until_us"), INT("held_us"), TEXT("held_by"), TEXT("why")}},
    [FLEET_AUDIT_HOLD_RELEASE] = {"audit_hold_release", false, false, "hold IS ?1", NULL,
        {NUMBER("hold", AUDIT_HOLD), INT("released_us"), TEXT("released_by"), TEXT("why")}},
    [FLEET_STOP] = {"stop", false, false, "mark IS ?1", NULL,
        {TEXT("mark"), MAYBE_TEXT("tenant"), MAYBE_TEXT("principal"), MAYBE_TEXT("agent"), MAYBE_TEXT("upstream"),
         MAYBE_TEXT("tool"), MAYBE_TEXT("session"), MAYBE_INT("until_us"), INT("made_us"), TEXT("made_by"), MAYBE_TEXT("rule"),
         TEXT("why")}},
    [FLEET_STOP_END] = {"stop_end", false, false, "mark IS ?1", NULL,
        {TEXT("mark"), INT("ended_us"), TEXT("ended_by"), TEXT("why")}},
    [FLEET_ERASURE] = {"fleet_erasure", false, false, NULL, NULL,
        {TEXT("tenant"), INT("before_us"), INT("asked_us"), TEXT("asked_by"), TEXT("why")}},
};

/* ---- read off ---- */

static void write_value(struct buf *out, const struct store__column *column, struct db_stmt *stmt, int at)
{
    struct span blob;
    char hex[2 * DIGEST_BYTES];

    if (db_is_null(stmt, at)) {
        (void)buf_add_text(out, "null");
    } else if (column->type == DB_INT) {
        (void)buf_addf(out, "%" PRId64, db_int(stmt, at));
    } else if (column->type == DB_TEXT) {
        (void)json_write_string(out, db_text(stmt, at));
    } else {
        blob = db_blob(stmt, at);
        if (blob.len > DIGEST_BYTES) {
            (void)buf_fail(out, CODE_INVALID);
            return;
        }
        num_hex(blob.at, blob.len, hex);
        (void)buf_addf(out, "\"%.*s\"", (int)(2 * blob.len), hex);
    }
}

/* Takes: stmt: its first column is the row's number in the file, then come the table's. */
static void write_row(struct buf *out, const struct store__table *table, struct db_stmt *stmt)
{
    for (int i = 0; table->column[i].name != NULL; i++) {
        (void)buf_addf(out, "%s\"%s\":", i == 0 ? "{" : ",", table->column[i].name);
        write_value(out, &table->column[i], stmt, i + 1);
    }
    (void)buf_add_byte(out, '}');
}

static void begin_list(struct buf *out, const char *name, size_t rows)
{
    (void)buf_addf(out, "%s\"%s\":[", rows == 0 ? "{" : ",", name);
}

static enum code select_rows(struct db *db, const struct store__table *table, int64_t behind, struct db_stmt **stmt)
{
    char sql[512];
    size_t at = (size_t)snprintf(sql, sizeof sql, "SELECT rowid");

    for (int i = 0; table->column[i].name != NULL; i++)
        at += (size_t)snprintf(sql + at, sizeof sql - at, ", %s", table->column[i].name);
    (void)snprintf(sql + at, sizeof sql - at, " FROM %s WHERE %s ORDER BY rowid", table->name,
                   table->among != NULL ? table->among : "rowid > ?1");
    return db_select(db, sql, DB_VALUES(db_of_int(behind)), stmt);
}

static enum code last_row(struct db *db, const struct store__table *table, int64_t *row)
{
    char sql[96];

    (void)snprintf(sql, sizeof sql, "SELECT coalesce(max(rowid), 0) FROM %s",
                   table->among != NULL ? store__fleet[FLEET_DEFINITION_WORD].name : table->name);
    return db_number(db, sql, NULL, 0, row);
}

static enum code write_new(struct db *db, struct db *was, const struct store__table *table, struct buf *out, size_t *rows)
{
    struct db_stmt *stmt = NULL;
    int64_t last;
    size_t here = 0;
    enum code code = last_row(was, table, &last);

    if (code == CODE_OK)
        code = select_rows(db, table, last, &stmt);
    while (stmt != NULL && db_next(&stmt, &code)) {
        if (here++ == 0)
            begin_list(out, table->name, *rows);
        else
            (void)buf_add_byte(out, ',');
        write_row(out, table, stmt);
    }
    if (here > 0)
        (void)buf_add_byte(out, ']');
    *rows += here;
    return code != CODE_OK ? code : buf_code(out);
}

enum code store_fleet_rows(struct db *db, struct db *was, struct buf *out, size_t *rows, struct why *why)
{
    enum code code = CODE_OK;

    *rows = 0;
    for (size_t i = 0; i < FLEET_TABLES && code == CODE_OK; i++)
        code = write_new(db, was, &store__fleet[i], out, rows);
    if (code == CODE_OK && *rows > 0)
        code = buf_add_byte(out, '}');
    if (code == CODE_LIMIT)
        return why_set(why, code, "that is more than one change of a fleet holds (%zu MiB); do it in several steps",
                       STORE_FLEET_ROWS_BYTES >> 20);
    return db_why(why, code, db, "reading what is to be told to the fleet");
}

/* ---- all of it ---- */

#define PIECE_ROWS 500
#define PIECE_BYTES ((size_t)1 << 20)

/* Table by table: what refers to a row stands behind it, in the same piece or in a later one. */
enum code store_fleet_piece(struct db *db, struct store_fleet_from *from, struct buf *out, size_t *rows, struct why *why)
{
    enum code code = CODE_OK;

    *rows = 0;
    for (; from->table < FLEET_TABLES && code == CODE_OK; from->table++, from->row = 0) {
        struct db_stmt *stmt = NULL;
        size_t here = 0;
        /* A definition goes with the words on it, so both in one piece. */
        bool is_apart = store__fleet[from->table].among == NULL && from->table != FLEET_DEFINITION_WORD;

        code = select_rows(db, &store__fleet[from->table], from->row, &stmt);
        while (stmt != NULL && db_next(&stmt, &code)) {
            if (here++ == 0)
                begin_list(out, store__fleet[from->table].name, *rows);
            else
                (void)buf_add_byte(out, ',');
            write_row(out, &store__fleet[from->table], stmt);
            from->row = db_int(stmt, 0);
            ++*rows;
            if (is_apart && (*rows >= PIECE_ROWS || buf_len(out) >= PIECE_BYTES || buf_code(out) != CODE_OK)) {
                db_finalize(&stmt);
                (void)buf_add_text(out, "]}");
                return buf_code(out) == CODE_OK ? CODE_OK : why_set(why, buf_code(out), "a row of %s is too large for a change",
                                                                    store__fleet[from->table].name);
            }
        }
        if (here > 0)
            (void)buf_add_byte(out, ']');
    }
    if (code == CODE_OK && *rows > 0)
        code = buf_add_byte(out, '}');
    return db_why(why, code, db, "reading the store for the fleet");
}

enum code store_fleet_has_own(struct db *db, bool *has, struct why *why)
{
    int64_t is = 0;
    enum code code = db_number(db, "SELECT EXISTS (SELECT 1 FROM policy_version) OR EXISTS (SELECT 1 FROM agent_key) OR "
                               "EXISTS (SELECT 1 FROM definition_word) OR EXISTS (SELECT 1 FROM audit_hold)", NULL, 0, &is);

    *has = is != 0;
    return db_why(why, code, db, "reading the store");
}

/* ---- with the numbers that are next ---- */

struct moved {
    enum store__fleet_table table;
    int64_t was, is;
};

struct numbering {
    struct moved *moved;
    size_t count;
    struct buf *out;
};

static int64_t number_of(const struct json_node *value)
{
    int64_t number = 0;

    return value != NULL && value->type == JSON_NUMBER && num_i64(value->raw, &number) == CODE_OK ? number : 0;
}

static int64_t moved_to(const struct numbering *numbering, enum store__fleet_table table, int64_t was)
{
    for (size_t i = 0; i < numbering->count; i++)
        if (numbering->moved[i].table == table && numbering->moved[i].was == was)
            return numbering->moved[i].is;
    return was;
}

static enum code give_numbers(struct db *db, enum store__fleet_table table, const struct json_node *list,
                              struct numbering *numbering, int64_t *first)
{
    const struct store__column *column = &store__fleet[table].column[0];
    char sql[96];
    int64_t last = 0;
    enum code code;

    (void)snprintf(sql, sizeof sql, "SELECT coalesce(max(%s), 0) FROM %s", column->name, store__fleet[table].name);
    code = db_number(db, sql, NULL, 0, &last);
    for (const struct json_node *row = list->child; row != NULL && code == CODE_OK; row = row->next) {
        const int64_t was = number_of(json_member(row, span_text(column->name)));

        numbering->moved[numbering->count++] = (struct moved){table, was, ++last};
        if (*first == 0)
            *first = last;
    }
    return code;
}

static void write_numbered(const struct numbering *numbering, const struct store__table *table, const struct json_node *row)
{
    for (int i = 0; table->column[i].name != NULL; i++) {
        const struct store__column *column = &table->column[i];
        const struct json_node *value = json_member(row, span_text(column->name));

        (void)buf_addf(numbering->out, "%s\"%s\":", i == 0 ? "{" : ",", column->name);
        if (value == NULL)
            (void)buf_fail(numbering->out, CODE_INVALID);
        else if (column->of != FLEET_NONE)
            (void)buf_addf(numbering->out, "%" PRId64, moved_to(numbering, column->of, number_of(value)));
        else
            (void)buf_add_span(numbering->out, value->raw);
    }
    (void)buf_add_byte(numbering->out, '}');
}

static void write_list(const struct numbering *numbering, const struct store__table *table, const struct json_node *list,
                       size_t *rows)
{
    begin_list(numbering->out, table->name, *rows);
    for (const struct json_node *row = list->child; row != NULL; row = row->next, ++*rows) {
        if (row != list->child)
            (void)buf_add_byte(numbering->out, ',');
        write_numbered(numbering, table, row);
    }
    (void)buf_add_byte(numbering->out, ']');
}

static bool is_meant(enum store_fleet_part part, size_t table)
{
    return part == STORE_FLEET_ALL || (part == STORE_FLEET_ACTIVE) == (table == FLEET_POLICY_ACTIVATION);
}

static size_t count_rows(const struct json_node *rows)
{
    size_t count = 1; /* the caller's own */

    for (const struct json_node *list = rows->child; list != NULL; list = list->next)
        count += list->count;
    return count;
}

enum code store_fleet_number(struct db *db, const struct json_node *rows, struct store_fleet_number *number, struct buf *out,
                             struct why *why)
{
    struct numbering numbering = {.out = out, .moved = mem_array(count_rows(rows), sizeof(struct moved))};
    enum code code = numbering.moved != NULL ? CODE_OK : CODE_NOMEM;

    number->first = 0;
    number->rows = 0;
    if (number->was != 0 && code == CODE_OK)
        numbering.moved[numbering.count++] = (struct moved){FLEET_POLICY_VERSION, number->was, number->is};
    for (size_t i = 0; i < FLEET_TABLES && code == CODE_OK; i++) {
        const struct json_node *list = json_member(rows, span_text(store__fleet[i].name));

        if (list == NULL || list->type != JSON_ARRAY || list->count == 0 || !is_meant(number->part, i))
            continue;
        if (store__fleet[i].is_numbered)
            code = give_numbers(db, (enum store__fleet_table)i, list, &numbering, &number->first);
        if (code == CODE_OK)
            write_list(&numbering, &store__fleet[i], list, &number->rows);
    }
    if (code == CODE_OK && number->rows > 0)
        code = buf_add_byte(out, '}');
    mem_free(numbering.moved);
    if (code == CODE_INVALID)
        return why_set(why, code, "what was asked for the fleet is no row of the store");
    return db_why(why, code, db, "numbering what goes to the fleet");
}

int64_t store_fleet_version(const struct json_node *rows, enum store_fleet_part part)
{
    const struct json_node *list = json_member(rows, span_text(store__fleet[part == STORE_FLEET_ACTIVE ? FLEET_POLICY_ACTIVATION
                                                                                      : FLEET_POLICY_VERSION].name));

    return list != NULL && list->child != NULL ? number_of(json_member(list->child, SPAN_LIT("version"))) : 0;
}

int64_t store_fleet_first(const struct json_node *rows)
{
    for (size_t i = 0; i < FLEET_TABLES; i++) {
        const struct json_node *list = json_member(rows, span_text(store__fleet[i].name));

        if (store__fleet[i].is_numbered && list != NULL && list->child != NULL)
            return number_of(json_member(list->child, span_text(store__fleet[i].column[0].name)));
    }
    return 0;
}
