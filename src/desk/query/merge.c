/* SPDX-License-Identifier: Apache-2.0 */
/* One database that whoever has it can keep, join and index; attach.h leaves sealed files where they are. */
#include "query/merge.h"

#include "rows/indices.h"
#include "files/reader_open.h"
#include "rows/row.h"
#include "rows/schema.h"

#include <stdio.h>

struct merging {
    struct db *out;
    struct db_stmt *put[ROW_TABLES], *has; /* has: whether a decision was copied */
    int64_t since_us, until_us;
    bool reaches; /* the file that is read may hold calls of the time */
    bool is_part; /* other files are attached */
    struct merged *merged;
};

/* Outcomes of calls that were under way when a file was sealed are in one behind it. */
static const char *where(const struct merging *merging, enum row_table table)
{
    if (table == ROW_FILE)
        return "";
    if (table == ROW_OUTCOME)
        return merging->reaches ? "ORDER BY seq" : "WHERE decision <= (SELECT seq FROM file) ORDER BY seq";
    return merging->reaches || table == ROW_EVENT ? "WHERE time_us >= ? AND time_us < ? ORDER BY +seq" : NULL;
}

/* Takes: before: the last number in front of the file. */
static enum code is_wanted(struct merging *merging, enum row_table table, int64_t before, struct db_stmt *get, bool *wanted)
{
    enum code code;

    *wanted = table != ROW_OUTCOME || (merging->is_part && db_int(get, O_DECISION) <= before);
    if (*wanted)
        return CODE_OK;
    db_bind_int(merging->has, 1, db_int(get, O_DECISION));
    code = db_step(merging->has);
    *wanted = code == CODE_OK;
    db_reset(merging->has);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code copy_rows(struct merging *merging, enum row_table table, int64_t before, struct db_stmt *get)
{
    const struct row_shape *shape = row_shape(table);
    struct db_stmt *put = merging->put[table];
    bool wanted;
    enum code code;

    while ((code = db_step(get)) == CODE_OK) {
        code = is_wanted(merging, table, before, get, &wanted);
        if (code == CODE_OK && wanted) {
            for (int i = 0; i < shape->count + 1 + shape->outside; i++) {
                struct row_value value = row_read(get, i);

                row_bind(put, i + 1, &value);
            }
            code = db_run(put);
            merging->merged->rows += table != ROW_FILE;
        }
        if (code != CODE_OK)
            return code;
    }
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code copy_table(struct merging *merging, struct db *db, enum row_table table, int64_t before)
{
    const char *condition = where(merging, table);
    struct db_stmt *get = NULL;
    struct buf sql;
    enum code code;

    if (condition == NULL)
        return CODE_OK;
    buf_init(&sql, 8192);
    row_add_select(&sql, table);
    buf_add_text(&sql, condition);
    code = buf_add_byte(&sql, '\0');
    if (code == CODE_OK)
        code = db_prepare(db, buf_peek(&sql).at, &get);
    if (code == CODE_OK && (table == ROW_DECISION || table == ROW_EVENT)) {
        db_bind_int(get, 1, merging->since_us);
        db_bind_int(get, 2, merging->until_us);
    }
    if (code == CODE_OK)
        code = copy_rows(merging, table, before, get);
    db_finalize(&get);
    buf_fini(&sql);
    return code;
}

/* Whether a file has a call or an event of the time, or stands behind one that has. */
static enum code is_of_the_time(const struct merging *merging, struct db *db, bool *is)
{
    int64_t has_event = 0;
    enum code code;

    *is = merging->reaches || merging->is_part || merging->merged->files > 0;
    if (*is)
        return CODE_OK;
    code = db_number(db, "SELECT 1 FROM event WHERE time_us >= ? AND time_us < ?",
                     DB_VALUES(db_of_int(merging->since_us), db_of_int(merging->until_us)), &has_event);
    *is = has_event != 0;
    return code;
}

static enum code copy_file(struct merging *merging, const struct trail_file *file, struct why *why)
{
    const char *path = file->path;
    bool wanted = false;
    struct db *db = NULL;
    enum code code = reader_open(path, &db, why);

    if (code == CODE_OK)
        code = is_of_the_time(merging, db, &wanted);
    for (int table = ROW_FILE; table < ROW_TABLES && code == CODE_OK && wanted; table++) {
        code = copy_table(merging, db, (enum row_table)table, file->before_seq);
        if (code != CODE_OK && why->text[0] == '\0')
            (void)why_set(why, code, "%s, table %s: %s; %s", path, row_shape((enum row_table)table)->name, db_error(db),
                          db_error(merging->out));
    }
    db_close(&db);
    merging->merged->files += wanted;
    return code;
}

/* It dies with a power cut, and so needs no journal on the disk; OFF is refused to a connection as db_open makes it. */
static enum code begin(struct merging *merging)
{
    char settings[128];
    enum code code;

    (void)snprintf(settings, sizeof settings, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; "
                   "PRAGMA application_id = %d; BEGIN", AUDIT_EXPORT_ID);
    code = db_exec(merging->out, settings);

    if (code == CODE_OK)
        code = db_exec(merging->out, audit_schema);
    for (int table = ROW_FILE; table < ROW_TABLES && code == CODE_OK; table++)
        code = row_prepare_insert(merging->out, (enum row_table)table, &merging->put[table]);
    return code == CODE_OK ? db_prepare(merging->out, "SELECT 1 FROM decision WHERE seq = ?", &merging->has) : code;
}

static enum code end(struct merging *merging)
{
    enum code code = db_exec(merging->out, audit_indices);

    if (code == CODE_OK)
        code = db_exec(merging->out, "ANALYZE");
    return code == CODE_OK ? db_commit(merging->out) : code;
}

enum code audit_merge(const struct trail *trail, size_t attached, const char *path, int64_t since_us, int64_t until_us,
                      struct merged *merged, struct why *why)
{
    struct merging merging = {.since_us = since_us != 0 ? since_us : INT64_MIN,
                              .until_us = until_us != 0 ? until_us : INT64_MAX, .is_part = attached > 0,
                              .merged = merged};
    enum code code = db_open(path, DB_CREATE, &merging.out, why);

    *merged = (struct merged){0};
    if (code != CODE_OK)
        return code;
    code = begin(&merging);
    for (size_t i = 0; i < trail->count - attached && code == CODE_OK; i++) {
        merging.reaches = trail_file_reaches(&trail->files[i], since_us, until_us);
        code = copy_file(&merging, &trail->files[i], why);
    }
    if (code == CODE_OK)
        code = end(&merging);
    if (code != CODE_OK && why->text[0] == '\0')
        (void)why_set(why, code, "%s: %s", path, db_error(merging.out));
    for (int table = 0; table < ROW_TABLES; table++)
        db_finalize(&merging.put[table]);
    db_finalize(&merging.has);
    db_close(&merging.out);
    return code;
}
