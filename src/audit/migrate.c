/* SPDX-License-Identifier: Apache-2.0 */
/* What a step has to say in SQL is only what cannot be read off schema/audit.sql: things to drop, and values to carry over.
 * What is new there, columns too, is made from its own text, so that a file that was brought up is like a new one letter by
 * letter, which `audit verify` checks. */
#include "audit/schema.h"

#include "audit/row.h"

#include <stdio.h>

/* steps[n] leads from version n + 1 to n + 2: what goes. What comes is read off audit.sql, columns too. Never edited once
 * released, only added; each has its test in tests/unit/audit/test_migrate.c. */
static const char *const steps[AUDIT_SCHEMA_VERSION - 1] = {
    "", /* 2: views that a database of millions of rows answers */
    "", /* 3: the target, other members of params, answers */
    /* 4: ordinary indices, once a file is sealed, instead of tables by which rows were found */
    "DROP VIEW by_correlation; DROP VIEW by_tenant; DROP VIEW by_tool; DROP VIEW IF EXISTS lookup_print; DROP TABLE lookup;"
    "DROP TABLE part; DROP TABLE tenant_head;",
    "", /* 5: groups, scopes and claims of who asks, and the plan */
    "", /* 6: what rules did to answers, and which definition of a tool was meant */
};

enum code audit__columns(struct db *db, const char *schema, const char *table, struct buf *names)
{
    struct db_stmt *stmt;
    enum code code = db_find(db, "SELECT ' ' || group_concat(name, ' ') || ' ' FROM pragma_table_info(?1, ?2)",
                             DB_VALUES(db_of_text(span_text(table)), db_of_text(span_text(schema))), &stmt);

    buf_clear(names);
    if (code == CODE_OK)
        code = buf_add_span(names, db_text(stmt, 0));
    db_finalize(&stmt);
    return code == CODE_OK ? buf_add_byte(names, '\0') : code;
}

bool audit__is_column(const struct buf *names, const char *column)
{
    char wanted[64];

    (void)snprintf(wanted, sizeof wanted, " %s ", column);
    return strstr(buf_peek(names).at, wanted) != NULL;
}

/* Appends ", NULL AS name" for each of the columns that are not among the names. */
static int add_lacking(const struct buf *names, const char *const *columns, int count, struct buf *sql)
{
    int lacking = 0;

    for (int i = 0; i < count; i++)
        if (!audit__is_column(names, columns[i])) {
            (void)buf_addf(sql, ", NULL AS %s", columns[i]);
            lacking++;
        }
    return lacking;
}

enum code audit__complete(struct db *db)
{
    enum code code = CODE_OK;
    struct buf sql, names;

    buf_init(&sql, SIZE_MAX / 2);
    buf_init(&names, SIZE_MAX / 2);
    for (int table = ROW_DECISION; table < ROW_TABLES && code == CODE_OK; table++) {
        const struct row_shape *shape = row__shape(table);
        int lacking;

        code = audit__columns(db, "main", shape->name, &names);
        if (code != CODE_OK)
            break;
        buf_clear(&sql);
        (void)buf_addf(&sql, "CREATE TEMP VIEW %s AS SELECT *", shape->name);
        lacking = add_lacking(&names, shape->columns, shape->count, &sql) +
                  add_lacking(&names, shape->outside_columns, shape->outside, &sql);
        (void)buf_addf(&sql, " FROM main.%s", shape->name);
        code = buf_add_byte(&sql, '\0');
        if (code == CODE_OK && lacking > 0)
            code = db_exec(db, buf_peek(&sql).at);
    }
    buf_fini(&names);
    buf_fini(&sql);
    return code;
}

enum code audit__schema_model(int64_t version, struct db **model)
{
    const char *text = audit__schema_of(version);
    enum code code;

    *model = NULL;
    if (text == NULL)
        return CODE_NOT_FOUND;
    code = db_open(":memory:", DB_CREATE, model, NULL);
    if (code == CODE_OK)
        code = db_exec(*model, text);
    if (code != CODE_OK)
        db_close(model);
    return code;
}

static enum code drop(struct db *db, const char *type, struct span name)
{
    char sql[160];

    (void)snprintf(sql, sizeof sql, "DROP %s %.*s", type, SPAN_ARG(name));
    return db_exec(db, sql);
}

/* One object of the new version: made where it is missing, made anew where it differs and holds no rows. */
static enum code renew(struct db *db, struct db_stmt *find, struct db_stmt *wanted)
{
    struct span type = db_text(wanted, 0), name = db_text(wanted, 1), sql = db_text(wanted, 2);
    bool is_table = span_is(type, "table") || span_is(type, "index"), same;
    enum code code;

    db_bind_text(find, 1, name);
    code = db_step(find);
    same = code == CODE_OK && (is_table || span_equals(db_text(find, 0), sql));
    db_reset(find);
    if (code != CODE_OK && code != CODE_NOT_FOUND)
        return code;
    if (same)
        return CODE_OK;
    if (code == CODE_OK)
        code = drop(db, span_is(type, "view") ? "VIEW" : "TRIGGER", name);
    else
        code = CODE_OK;
    return code == CODE_OK ? db_exec(db, sql.at) : code; /* SQLite ends its texts with NUL */
}

/* Columns that later versions have appended, in their order; what SQLite makes of these words is the same in a new file. */
static enum code add_columns(struct db *db, struct db *model, const char *table)
{
    struct db_stmt *wanted = NULL;
    struct buf names;
    enum code code;

    buf_init(&names, SIZE_MAX / 2);
    code = audit__columns(db, "main", table, &names);
    if (code == CODE_OK)
        code = db_find(model, "SELECT name, type FROM pragma_table_info(?1)", DB_VALUES(db_of_text(span_text(table))), &wanted);
    for (; code == CODE_OK; code = db_step(wanted)) {
        struct span name = db_text(wanted, 0), type = db_text(wanted, 1);
        char sql[160];

        if (audit__is_column(&names, name.at)) /* SQLite ends its texts with NUL */
            continue;
        (void)snprintf(sql, sizeof sql, "ALTER TABLE %s ADD COLUMN %.*s %.*s", table, SPAN_ARG(name), SPAN_ARG(type));
        code = db_exec(db, sql);
        if (code != CODE_OK)
            break;
    }
    db_finalize(&wanted);
    buf_fini(&names);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code renew_all(struct db *db)
{
    struct db_stmt *wanted = NULL, *find = NULL;
    struct db *model;
    enum code code = audit__schema_model(AUDIT_SCHEMA_VERSION, &model);

    if (code != CODE_OK)
        return code;
    for (int table = ROW_DECISION; table < ROW_TABLES && code == CODE_OK; table++)
        code = add_columns(db, model, row__shape((enum row_table)table)->name);
    if (code == CODE_OK)
        code = db_prepare(model, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL "
                      "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid", &wanted);
    if (code == CODE_OK)
        code = db_prepare(db, "SELECT sql FROM sqlite_schema WHERE name = ?", &find);
    while (code == CODE_OK && (code = db_step(wanted)) == CODE_OK) {
        code = renew(db, find, wanted);
        if (code != CODE_OK)
            break;
    }
    db_finalize(&find);
    db_finalize(&wanted);
    db_close(&model);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code bring_up(struct db *db, int64_t *from)
{
    char pragma[64];
    enum code code = db_number(db, "PRAGMA user_version", from);

    for (int64_t at = *from; code == CODE_OK && at < AUDIT_SCHEMA_VERSION; at++)
        code = at >= 1 ? db_exec(db, steps[at - 1]) : CODE_INVALID;
    if (code == CODE_OK && *from < AUDIT_SCHEMA_VERSION)
        code = renew_all(db);
    (void)snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", AUDIT_SCHEMA_VERSION);
    return code == CODE_OK ? db_exec(db, pragma) : code;
}

/* Rows and their tables are the same in all versions. */
static void say_writer(struct db *db, char *out, size_t size)
{
    struct db_stmt *stmt = NULL;

    out[0] = '\0';
    if (db_prepare(db, "SELECT json_extract(detail, '$.version') FROM event WHERE kind = 'start' AND json_valid(detail) "
                   "ORDER BY seq DESC LIMIT 1", &stmt) == CODE_OK && db_step(stmt) == CODE_OK && !db_is_null(stmt, 0))
        (void)snprintf(out, size, ", %.*s", SPAN_ARG(db_text(stmt, 0)));
    db_finalize(&stmt);
}

enum code audit__refuse_newer(struct db *db, const char *path, struct why *why)
{
    int64_t version;
    char writer[64];
    enum code code = db_number(db, "PRAGMA user_version", &version);

    if (code != CODE_OK)
        return why_set(why, code, "%s: %s", path, db_error(db));
    if (version <= AUDIT_SCHEMA_VERSION)
        return CODE_OK;
    say_writer(db, writer, sizeof writer);
    return why_set(why, CODE_DENIED, "%s: was written by a newer callgate%s (schema %lld, this one, " CALLGATE_VERSION
                   ", knows %d); use that", path, writer, (long long)version, AUDIT_SCHEMA_VERSION);
}

enum code audit__migrate(struct db *db, int64_t *from)
{
    enum code code = db_begin(db);

    *from = 0;
    if (code == CODE_OK)
        code = bring_up(db, from);
    if (code == CODE_OK)
        code = db_commit(db);
    if (code != CODE_OK)
        db_rollback(db);
    return code;
}
