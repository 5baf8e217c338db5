/* SPDX-License-Identifier: Apache-2.0 */
#include "ship/up_trail.h"

#include "cli/trail_place.h"
#include "base/mem.h"
#include "files/reader.h"

#include <unistd.h>

enum code up_trail_init(struct up_trail *trail, const char *audit, struct why *why)
{
    *trail = (struct up_trail){.audit = audit};
    return up_tables_learn(trail->tables, why);
}

void up_trail_fini(struct up_trail *trail)
{
    trail_fini(&trail->files);
}

void up_trail_forget(struct up_trail *trail)
{
    trail_fini(&trail->files);
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

static const struct trail_file *file_of(const struct up_trail *trail, int64_t behind_seq)
{
    size_t i = 0;

    while (i + 1 < trail->files.count && trail->files.files[i].last_seq <= behind_seq)
        i++;
    return &trail->files.files[i];
}

/* Looks through the folder, where there may be years of files, once the link leads elsewhere than before, or the file of row
 * `seq` was given away. */
static enum code find_files(struct up_trail *trail, int64_t seq, struct why *why)
{
    struct stat there = {0};
    enum code code;

    if (stat(trail->audit, &there) == 0 && trail->files.count > 0 && there.st_dev == trail->live.st_dev &&
        there.st_ino == trail->live.st_ino && access(file_of(trail, seq)->path, F_OK) == 0)
        return CODE_OK;
    trail_fini(&trail->files);
    trail->live = there;
    code = trail_find(trail->audit, true, &trail->files, why);
    if (code != CODE_OK)
        trail_fini(&trail->files);
    return code;
}

static enum code open_file(const struct trail_file *file, struct db **db, struct why *why)
{
    enum code code = trail_open(file->path, db, why);

    if (code != CODE_OK)
        return code;
    db_take_tables_alone(*db);
    code = reader_is_trail(*db, file->path, why);
    if (code == CODE_OK)
        code = db_exec(*db, "BEGIN");
    if (code != CODE_OK) {
        (void)reader_why(why, code, file->path, *db);
        db_close(db);
    }
    return code;
}

/* The hash of the row at a place, or of the last row of the file before. */
static enum code hash_at(struct db *db, const struct trail_file *file, int64_t seq, struct up_place *here)
{
    enum code code = seq == file->before_seq ? reader_previous(db, seq, here->hash) : reader_hash(db, seq, here->hash);

    here->seq = seq;
    here->is_known = true;
    here->has_hash = code == CODE_OK;
    return code == CODE_NOT_FOUND || code == CODE_INVALID ? CODE_OK : code;
}

static bool is_same_row(const struct up_place *one, const struct up_place *other)
{
    return one->has_hash == other->has_hash && (!one->has_hash || memcmp(one->hash, other->hash, DIGEST_BYTES) == 0);
}

/* ---- one turn ----------------------------------------------------------------------------------------------------- */

struct reading {
    struct up_trail *trail;
    const struct trail_file *file;
    struct db *db;
    struct db_stmt *judged; /* asks for a decision's time */
    struct up_batch *batch;
    enum up_form form;
};

static enum code time_in(struct db_stmt *stmt, int64_t decision, int64_t *time_us)
{
    enum code code;

    db_bind_int(stmt, 1, decision);
    code = db_step(stmt);
    if (code == CODE_OK)
        *time_us = db_int(stmt, 0);
    db_reset(stmt);
    return code;
}

static const char decision_time[] = "SELECT time_us FROM decision WHERE seq = ?1";

/* In a file before the one at hand: the call was under way when that was sealed. */
static enum code time_before(const struct reading *reading, int64_t decision, int64_t *time_us)
{
    const struct trail_file *file = file_of(reading->trail, decision - 1);
    struct db_stmt *stmt = NULL;
    struct why why = {""};
    struct db *db = NULL;
    enum code code;

    if (decision <= file->before_seq || file == reading->file)
        return CODE_NOT_FOUND;
    code = open_file(file, &db, &why);
    if (code == CODE_OK)
        code = db_prepare(db, decision_time, &stmt);
    if (code == CODE_OK)
        code = time_in(stmt, decision, time_us);
    db_finalize(&stmt);
    db_close(&db);
    return code;
}

/* An outcome lies in its decision's day, where that is still here. */
static enum code day_of(const struct reading *reading, const struct walk_row *row, int32_t *day)
{
    static const int times[ROW_TABLES] = {[ROW_DECISION] = D_TIME, [ROW_OUTCOME] = O_TIME, [ROW_EVENT] = E_TIME};
    int64_t time_us = row->values[times[row->table]].number, decided_us = 0;
    enum code code = CODE_NOT_FOUND;

    if (row->table == ROW_OUTCOME) {
        code = time_in(reading->judged, row->values[O_DECISION].number, &decided_us);
        if (code == CODE_NOT_FOUND)
            code = time_before(reading, row->values[O_DECISION].number, &decided_us);
    }
    *day = up_day(code == CODE_OK ? decided_us : time_us);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* What the file says of itself goes with its first row. */
static enum code add_file(const struct reading *reading)
{
    struct db_stmt *stmt = NULL;
    struct walk_row row;
    enum code code = walk_file(reading->db, &stmt, &row);

    if (code == CODE_OK)
        code = up_batch_add(reading->batch, &reading->trail->tables[ROW_FILE], &row, 0, UP_WHOLE);
    db_finalize(&stmt);
    return code;
}

static enum code add_rows(const struct reading *reading, int64_t behind_seq, size_t rows)
{
    struct walk walk;
    struct walk_row row;
    enum code code = walk_init(&walk, reading->db, behind_seq + 1, INT64_MAX);
    int32_t day;

    if (code != CODE_OK)
        return code;
    while (code == CODE_OK && !up_batch_is_full(reading->batch, rows) && (code = walk_next(&walk, &row)) == CODE_OK) {
        code = day_of(reading, &row, &day);
        if (code == CODE_OK)
            code = up_batch_add(reading->batch, &reading->trail->tables[row.table], &row, day, reading->form);
    }
    walk_fini(&walk);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code read_rows(struct reading *reading, const struct up_place *place, size_t rows, enum up_found *found)
{
    enum code code;

    up_batch_clear(reading->batch, place->seq);
    code = db_prepare(reading->db, decision_time, &reading->judged);
    if (code == CODE_OK && place->seq == reading->file->before_seq)
        code = add_file(reading);
    if (code == CODE_OK)
        code = add_rows(reading, place->seq, rows);
    db_finalize(&reading->judged);
    *found = reading->batch->last >= reading->batch->first ? UP_READ : UP_DONE;
    return code;
}

/* Looks at the place first: what the centre has must be what is here. */
static enum code read_file(struct reading *reading, const struct up_place *place, size_t rows, enum up_found *found,
                           struct up_place *next, struct why *why)
{
    enum code code = open_file(reading->file, &reading->db, why);

    if (code != CODE_OK)
        return code;
    if (place->is_known) {
        code = hash_at(reading->db, reading->file, place->seq, next);
        *found = UP_OTHER;
    }
    if (code == CODE_OK && (!place->is_known || is_same_row(place, next)))
        code = read_rows(reading, place, rows, found);
    if (code != CODE_OK)
        (void)reader_why(why, code, reading->file->path, reading->db);
    db_close(&reading->db);
    return code;
}

static enum code find_gap(const struct trail_file *file, enum up_found *found, struct up_place *next, struct why *why)
{
    struct db *db;
    enum code code = open_file(file, &db, why);

    if (code != CODE_OK)
        return code;
    *found = UP_GAP;
    code = hash_at(db, file, file->before_seq, next);
    db_close(&db);
    return code;
}

enum code up_trail_read(struct up_trail *trail, const struct up_place *place, size_t rows, enum up_form form,
                        struct up_batch *batch, enum up_found *found, struct up_place *next, struct why *why)
{
    struct reading reading = {.trail = trail, .batch = batch, .form = form};
    struct up_place from = *place;
    enum code code = find_files(trail, place->is_known ? place->seq : 0, why);

    if (code != CODE_OK)
        return code;
    if (!place->is_known)
        from = (struct up_place){.seq = trail->files.files[0].before_seq};
    reading.file = file_of(trail, from.seq);
    if (from.seq < reading.file->before_seq)
        return find_gap(reading.file, found, next, why);
    code = read_file(&reading, &from, rows, found, next, why);
    if (code == CODE_OK && *found == UP_DONE && reading.file != &trail->files.files[trail->files.count - 1])
        return why_set(why, CODE_INVALID, "%s: has fewer rows than it had; `callgate audit verify` tells", reading.file->path);
    return code;
}

enum code up_trail_is_retired(const struct up_trail *trail, int64_t last, bool *is, struct why *why)
{
    int64_t to = 0;
    enum code code = trail_place_retired_to(&trail->files, &to, why);

    *is = code == CODE_OK && to >= last;
    return code;
}

static enum code ask_file(const struct trail_file *file, const char *sql, int64_t seq, int64_t *number, struct why *why)
{
    struct db *db = NULL;
    enum code code = open_file(file, &db, why);

    if (code != CODE_OK)
        return code;
    code = db_number(db, sql, DB_VALUES(db_of_int(seq)), number);
    if (code != CODE_OK)
        (void)reader_why(why, code, file->path, db);
    db_close(&db);
    return code;
}

enum code up_trail_look(struct up_trail *trail, int64_t seq, int64_t *tip, int64_t *waits_us, struct why *why)
{
    const struct trail_file *last;
    enum code code = find_files(trail, seq, why);

    *tip = *waits_us = 0;
    if (code != CODE_OK)
        return code;
    last = &trail->files.files[trail->files.count - 1];
    code = ask_file(last, ROW_MAX_SEQ " WHERE ?1 IS ?1", 0, tip, why);
    if (*tip < last->before_seq) /* it has no row yet */
        *tip = last->before_seq;
    if (code == CODE_OK && seq < *tip)
        code = ask_file(file_of(trail, seq), "SELECT time_us FROM decision WHERE seq = ?1 UNION ALL SELECT time_us FROM "
                        "outcome WHERE seq = ?1 UNION ALL SELECT time_us FROM event WHERE seq = ?1", seq + 1, waits_us, why);
    return code;
}

/* ---- checkpoints -------------------------------------------------------------------------------------------------- */

void up_mark_free(struct up_mark *mark)
{
    mem_free(mark->bytes);
    *mark = (struct up_mark){.size = 0};
}

static enum code keep_mark(struct db_stmt *stmt, struct up_mark *mark)
{
    struct span peaks = db_blob(stmt, 2), note = db_text(stmt, 3);

    mark->bytes = mem_alloc(peaks.len + note.len + 1);
    if (mark->bytes == NULL)
        return CODE_NOMEM;
    if (peaks.len > 0)
        memcpy(mark->bytes, peaks.at, peaks.len);
    if (note.len > 0)
        memcpy(mark->bytes + peaks.len, note.at, note.len);
    mark->size = db_int(stmt, 0);
    mark->time_us = db_int(stmt, 1);
    mark->peaks = span_of(mark->bytes, peaks.len);
    mark->note = span_of(mark->bytes + peaks.len, note.len);
    return CODE_OK;
}

static enum code mark_in(const struct trail_file *file, int64_t from, int64_t to, struct up_mark *mark, struct why *why)
{
    struct db_stmt *stmt = NULL;
    struct db *db = NULL;
    enum code code = open_file(file, &db, why);

    if (code != CODE_OK)
        return code;
    code = db_find(db, "SELECT size, time_us, peaks, note FROM checkpoint WHERE size >= ?1 AND size <= ?2 ORDER BY size "
                   "LIMIT 1", DB_VALUES(db_of_int(from), db_of_int(to)), &stmt);
    if (code == CODE_OK)
        code = keep_mark(stmt, mark);
    else if (code != CODE_NOT_FOUND)
        (void)reader_why(why, code, file->path, db);
    db_finalize(&stmt);
    db_close(&db);
    return code;
}

enum code up_trail_mark(struct up_trail *trail, int64_t from, int64_t to, struct up_mark *mark, struct why *why)
{
    enum code code = from <= to ? find_files(trail, from - 1, why) : CODE_NOT_FOUND;
    const struct trail_file *last, *file;

    *mark = (struct up_mark){.size = 0};
    if (code != CODE_OK)
        return code;
    last = &trail->files.files[trail->files.count - 1];
    file = file_of(trail, from - 1);
    do
        code = mark_in(file, from, to, mark, why);
    while (code == CODE_NOT_FOUND && file++ != last);
    return code;
}
