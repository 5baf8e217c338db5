/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody else writes a sealed file, but somebody may read it. A file is in WAL mode while it is changed, so that no
 * journal with the old values is left on the disk. */
#include "files/erase_sealed.h"

#include "rows/row.h"

#include <stdio.h>
#include <string.h>

#define SLICE_ROWS 4096

#define OF_SLICE(what, at, count) \
    DB_VALUES(db_of_int(at), db_of_int((at) + (count)), db_of_int((what)->seq), db_of_text(span_text((what)->tenant)), \
              db_of_int((what)->before_us))

/* Appends the condition of a slice's rows that have values outside the chain, and a NUL. */
static enum code add_condition(const struct row_shape *shape, struct buf *sql)
{
    (void)buf_add_text(sql, " WHERE seq > ?1 AND seq <= ?2 AND seq < ?3 AND tenant = ?4 AND time_us < ?5 AND (");
    for (int i = 0; i < shape->outside; i++)
        (void)buf_addf(sql, "%s%s IS NOT NULL", i == 0 ? "" : " OR ", shape->outside_columns[i]);
    return buf_add(sql, ")", 2);
}

static enum code empty_values(struct db *db, enum row_table table, const struct erase_what *what, int64_t at, int64_t count)
{
    const struct row_shape *shape = row_shape(table);
    struct buf sql;
    enum code code;

    buf_init(&sql, SIZE_MAX / 2);
    (void)buf_addf(&sql, "UPDATE %s SET ", shape->name);
    for (int i = 0; i < shape->outside; i++)
        (void)buf_addf(&sql, "%s%s = NULL", i == 0 ? "" : ", ", shape->outside_columns[i]);
    code = add_condition(shape, &sql);
    if (code == CODE_OK)
        code = db_change(db, buf_peek(&sql).at, OF_SLICE(what, at, count));
    buf_fini(&sql);
    return code;
}

enum code erase_look(struct db *db, const struct erase_what *what, int64_t at, int64_t count, bool *is_left)
{
    const struct row_shape *shape = row_shape(ROW_DECISION);
    int64_t left = 0;
    struct buf sql;
    enum code code;

    buf_init(&sql, SIZE_MAX / 2);
    (void)buf_addf(&sql, "SELECT 1 FROM %s", shape->name);
    code = add_condition(shape, &sql);
    if (code == CODE_OK)
        code = db_number(db, buf_peek(&sql).at, OF_SLICE(what, at, count), &left);
    buf_fini(&sql);
    *is_left = left != 0;
    return code;
}

enum code erase_slice(struct db *db, const struct erase_what *what, int64_t at, int64_t count, int64_t *rows)
{
    enum code code = empty_values(db, ROW_DECISION, what, at, count);

    if (code != CODE_OK)
        return code;
    *rows += db_changes(db);
    return empty_values(db, ROW_OUTCOME, what, at, count);
}

enum code erase_note(struct db *db, const struct erase_what *what)
{
    return db_change(db, ERASE_NOTE,
                     DB_VALUES(db_of_int(what->seq), db_of_text(span_text(what->tenant)), db_of_int(what->before_us)));
}

void erase_sealed_fini(struct erase_sealed *sealed)
{
    db_close(&sealed->db);
    if (sealed->has_trail)
        trail_fini(&sealed->trail);
    sealed->has_trail = false;
}

static enum code find_files(struct erase_sealed *sealed)
{
    enum code code = trail_find(sealed->live, true, &sealed->trail, &sealed->why);

    if (code != CODE_OK)
        return code;
    sealed->has_trail = true;
    sealed->file = 0;
    sealed->rows = 0;
    sealed->missing_to = sealed->trail.missing_to;
    return CODE_OK;
}

static enum code open_file(struct erase_sealed *sealed)
{
    const struct trail_file *file = &sealed->trail.files[sealed->file];
    enum code code = files_may_write(file->path, true); /* until the finisher has finished it once more */

    if (code == CODE_OK)
        code = db_open(file->path, DB_WRITE, &sealed->db, &sealed->why);
    if (code == CODE_OK) {
        db_busy_wait(sealed->db, 0);
        db_take_tables_alone(sealed->db);
        sealed->at = file->before_seq;
        code = db_exec(sealed->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
    }
    if (code == CODE_OK)
        code = erase_note(sealed->db, &sealed->what);
    return code;
}

static enum code close_file(struct erase_sealed *sealed)
{
    struct db_stmt *stmt;
    enum code code = db_find(sealed->db, "PRAGMA journal_mode = DELETE", NULL, 0, &stmt);

    if (code == CODE_OK && !span_is(db_text(stmt, 0), "delete"))
        code = CODE_BUSY;
    db_finalize(&stmt);
    if (code != CODE_OK)
        return code;
    db_close(&sealed->db);
    sealed->file++;
    return CODE_OK;
}

static enum code slice(struct erase_sealed *sealed)
{
    int64_t rows = sealed->rows;
    enum code code = db_begin(sealed->db);

    if (code == CODE_OK)
        code = erase_slice(sealed->db, &sealed->what, sealed->at, SLICE_ROWS, &rows);
    if (code == CODE_OK)
        code = db_commit(sealed->db);
    if (code != CODE_OK) {
        db_rollback(sealed->db);
        return code;
    }
    sealed->rows = rows;
    sealed->at += SLICE_ROWS;
    return CODE_OK;
}

/* A file that somebody has locked is tried again where it stands. */
void erase_sealed_step(struct erase_sealed *sealed, bool *wait)
{
    enum code code;

    sealed->why.text[0] = '\0';
    code = sealed->has_trail ? CODE_OK : find_files(sealed);
    *wait = false;
    if (code == CODE_OK && sealed->file + 1 < sealed->trail.count) {
        if (sealed->db == NULL)
            code = open_file(sealed);
        else if (sealed->at < sealed->trail.files[sealed->file].last_seq)
            code = slice(sealed);
        else
            code = close_file(sealed);
        *wait = code == CODE_BUSY;
        if (code == CODE_BUSY && sealed->db != NULL && sealed->at == sealed->trail.files[sealed->file].before_seq)
            db_close(&sealed->db);
        if (code == CODE_OK || code == CODE_BUSY)
            return;
        if (sealed->why.text[0] == '\0')
            (void)why_set(&sealed->why, code, "%s: %s", sealed->trail.files[sealed->file].path,
                          sealed->db != NULL ? db_error(sealed->db) : code_text(code));
    }
    sealed->code = code;
    erase_sealed_fini(sealed);
    atomic_store(&sealed->state, ERASE_OVER);
}
