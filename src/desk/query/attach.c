/* SPDX-License-Identifier: Apache-2.0 */
#include "query/attach.h"

#include "db/db.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Who asks holds up nobody: a finished file is written by an erasure alone, which waits for one statement at most. */
static bool is_attachable(const struct trail_file *file, int64_t since_us, int64_t until_us)
{
    struct stat there;

    return stat(file->path, &there) == 0 && (there.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0 &&
           db_stray(file->path, &there) == NULL && file->first_us != INT64_MIN && file->first_us >= since_us &&
           (until_us == 0 || file->last_us < until_us);
}

size_t audit_attachable(struct trail *trail, int64_t since_us, int64_t until_us)
{
    size_t count = 0;

    for (size_t i = trail->count - 1; i-- > 0 && count < ATTACH_FILES;) {
        struct trail_file file = trail->files[i];

        if (!is_attachable(&file, since_us, until_us))
            continue;
        count++;
        memmove(&trail->files[i], &trail->files[i + 1], (trail->count - count - i) * sizeof file);
        trail->files[trail->count - count] = file;
    }
    return count;
}

/* As a URI within a text of SQL. */
static void add_uri(struct buf *out, const char *path)
{
    buf_add_text(out, "'file:");
    for (; *path != '\0'; path++) {
        if (strchr("%?#", *path) != NULL)
            buf_addf(out, "%%%02x", (unsigned char)*path);
        else
            buf_addf(out, *path == '\'' ? "''" : "%c", *path);
    }
    buf_add_text(out, "?mode=ro'");
}

static enum code add_files(struct buf *out, const struct trail_file *files, size_t count, struct why *why)
{
    for (size_t i = 0; i < count; i++) {
        char path[PATH_MAX]; /* a URI has no folder that it begins in */

        if (realpath(files[i].path, path) == NULL)
            return why_set(why, CODE_IO, "%s cannot be found any more", files[i].path);
        buf_add_text(out, "ATTACH ");
        add_uri(out, path);
        buf_addf(out, " AS f%zu;\n", i + 1);
    }
    return CODE_OK;
}

static void add_place(struct buf *out, size_t place)
{
    if (place == 0)
        buf_add_text(out, "main");
    else
        buf_addf(out, "f%zu", place);
}

/* Takes: more: behind each table's name but the database's own; NULL: nothing. */
static void add_table(struct buf *out, const char *table, size_t count, const char *more)
{
    buf_addf(out, "CREATE TEMP VIEW %s AS ", table);
    for (size_t place = 0; place <= count; place++) {
        buf_add_text(out, place > 0 ? " UNION ALL SELECT * FROM " : "SELECT * FROM ");
        add_place(out, place);
        buf_addf(out, ".%s%s", table, place > 0 && more != NULL ? more : "");
    }
    buf_add_text(out, ";\n");
}

/* What came of calls that were under way when their file was sealed: a few rows, which no index joins to the files before. */
static void add_carried(struct buf *out, size_t count)
{
    buf_add_text(out, "CREATE TEMP TABLE carried_outcome AS SELECT * FROM (SELECT * FROM main.outcome AS o WHERE NOT EXISTS "
                      "(SELECT 1 FROM main.decision AS d WHERE d.seq = o.decision)");
    for (size_t i = 1; i <= count; i++)
        buf_addf(out, " UNION ALL SELECT * FROM f%zu.outcome WHERE decision <= (SELECT seq FROM f%zu.file)", i, i);
    buf_add_text(out, ") AS o WHERE EXISTS (SELECT 1 FROM decision AS d WHERE d.seq = o.decision);\n"
                      "CREATE INDEX temp.carried_decision ON carried_outcome(decision);\nCREATE TEMP VIEW outcome AS ");
    for (size_t place = 0; place <= count; place++) {
        buf_add_text(out, "SELECT * FROM ");
        add_place(out, place);
        buf_add_text(out, ".outcome WHERE decision ");
        if (place > 0)
            buf_addf(out, "> (SELECT seq FROM f%zu.file)", place);
        else
            buf_add_text(out, "IN (SELECT seq FROM main.decision)");
        buf_add_text(out, " UNION ALL ");
    }
    buf_add_text(out, "SELECT * FROM temp.carried_outcome;\n");
}

/* The view `call` file by file, so that an index of each finds what is asked for. */
static enum code add_call(struct buf *out, struct span sql, size_t count)
{
    const struct span joined = SPAN_LIT("FROM decision AS d LEFT JOIN outcome AS o ON o.decision = d.seq");
    const struct span named = SPAN_LIT("CREATE VIEW call AS");
    struct span columns;

    if (!span_starts_with(sql, named) || !span_ends_with(sql, joined))
        return CODE_INVALID;
    columns = span_part(sql, named.len, sql.len - named.len - joined.len);
    buf_add_text(out, "CREATE TEMP VIEW call AS ");
    for (size_t place = 0; place <= count; place++) {
        buf_add_text(out, place > 0 ? " UNION ALL " : "");
        buf_add_span(out, columns);
        buf_add_text(out, "FROM ");
        add_place(out, place);
        buf_add_text(out, ".decision AS d LEFT JOIN ");
        add_place(out, place);
        buf_add_text(out, ".outcome AS o ON o.decision = d.seq WHERE d.seq NOT IN (SELECT decision FROM temp.carried_outcome) "
                          "UNION ALL ");
        buf_add_span(out, columns);
        buf_add_text(out, "FROM temp.carried_outcome AS o CROSS JOIN ");
        add_place(out, place);
        buf_add_text(out, ".decision AS d ON d.seq = o.decision");
    }
    return buf_add_text(out, ";\n");
}

static enum code add_views(struct buf *out, struct db *db, size_t count)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_prepare(db, "SELECT name, sql FROM sqlite_schema WHERE type = 'view'", &stmt);

    while (db_next(&stmt, &code)) {
        if (span_is(db_text(stmt, 0), "call")) {
            code = add_call(out, db_text(stmt, 1), count);
            continue;
        }
        buf_add_text(out, "CREATE TEMP");
        buf_add_span(out, span_part(db_text(stmt, 1), sizeof "CREATE" - 1, SIZE_MAX));
        code = buf_add_text(out, ";\n");
    }
    return code;
}

enum code audit_attach(const char *path, const struct trail_file *files, size_t count, int64_t since_us, int64_t until_us,
                       struct buf *out, struct why *why)
{
    char of_the_time[96] = "";
    struct db *db = NULL;
    enum code code = add_files(out, files, count, why);

    if (since_us != 0 || until_us != 0)
        (void)snprintf(of_the_time, sizeof of_the_time, " WHERE time_us >= %" PRId64 " AND time_us < %" PRId64, since_us,
                       until_us != 0 ? until_us : INT64_MAX);
    add_table(out, "file", count, NULL);
    add_table(out, "decision", count, NULL);
    add_table(out, "event", count, of_the_time);
    add_carried(out, count);
    if (code == CODE_OK)
        code = db_open(path, DB_READ, &db, why);
    if (code == CODE_OK)
        code = add_views(out, db, count);
    if (code != CODE_OK && why->text[0] == '\0')
        (void)why_set(why, code, "%s: its views cannot be put over several files", path);
    db_close(&db);
    return code == CODE_OK ? buf_code(out) : code;
}
