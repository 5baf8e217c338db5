/* SPDX-License-Identifier: Apache-2.0 */
/* callgate audit files: which files the trail has, and how far checkpoints cover them. */
#include "trail/cmd_audit_priv.h"

#include "args/print.h"
#include "base/mem.h"
#include "cli/table.h"
#include "files/reader.h"
#include "files/reader_open.h"

#include <sys/stat.h>

/* Of the rows that stand first and last, and of the last checkpoint. */
static const char told_sql[] =
    "SELECT (SELECT time_us FROM (SELECT seq, time_us FROM decision UNION ALL SELECT seq, time_us FROM event) "
    "WHERE seq = (SELECT seq FROM file) + 1), "
    "(SELECT max(t) FROM (SELECT (SELECT time_us FROM decision ORDER BY seq DESC LIMIT 1) AS t "
    "UNION ALL SELECT (SELECT time_us FROM event ORDER BY seq DESC LIMIT 1) "
    "UNION ALL SELECT (SELECT time_us FROM outcome ORDER BY seq DESC LIMIT 1))), "
    "(SELECT max(size) FROM checkpoint), (SELECT time_us FROM checkpoint ORDER BY size DESC LIMIT 1), "
    "EXISTS (SELECT 1 FROM event WHERE kind = 'sealed' AND seq = (SELECT max(seq) FROM event))";

static void fill_missing(struct doc *doc, const struct trail *trail, size_t at)
{
    int64_t first = 0, last = 0;
    bool is_there = !trail_gap(trail, at, &first, &last);

    print_number(doc, "missing_first", is_there ? 0 : first);
    print_number(doc, "missing_last", is_there ? 0 : last);
}

static enum code fill_file(struct doc *doc, const struct trail *trail, size_t at, struct why *why)
{
    const struct trail_file *file = &trail->files[at];
    struct db_stmt *stmt = NULL;
    struct db *db = NULL;
    struct stat there = {.st_size = 0};
    enum code code = reader_open(file->path, &db, why);

    if (code != CODE_OK)
        return code;
    code = db_find(db, told_sql, NULL, 0, &stmt);
    if (code == CODE_OK) {
        (void)stat(file->path, &there);
        doc_text(doc, "file", span_text(file->path));
        doc_bool(doc, "sealed", db_int(stmt, 4) != 0);
        doc_int(doc, "first_seq", file->before_seq + 1);
        doc_int(doc, "last_seq", file->last_seq);
        print_time(doc, "first", db_int(stmt, 0));
        print_time(doc, "last", db_int(stmt, 1));
        doc_int(doc, "bytes", there.st_size);
        print_number(doc, "checkpoint", db_int(stmt, 2)); /* the number of the last row that it covers */
        print_time(doc, "checkpoint_made", db_int(stmt, 3));
        fill_missing(doc, trail, at);
    } else {
        (void)reader_why(why, code, file->path, db);
    }
    db_finalize(&stmt);
    db_close(&db);
    return code;
}

static enum code list_files(const struct trail *trail, struct table *table, struct why *why)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < trail->count && code == CODE_OK; i++) {
        struct doc *row = doc_object();

        code = fill_file(row, trail, i, why);
        if (code == CODE_OK)
            code = table_add(table, &row);
        doc_free(&row);
    }
    return code;
}

int cmd_audit_files(const struct asked *asked)
{
    static const struct table_column columns[] = {
        {.title = "file", .least = 12}, {.title = "from", .key = "first_seq", .is_right = true, .least = TABLE_WHOLE},
        {.title = "to", .key = "last_seq", .is_right = true, .least = TABLE_WHOLE}, {.title = "first"}, {.title = "last"},
        {.title = "bytes", .is_right = true, .least = TABLE_WHOLE},
        {.title = "signed to", .key = "checkpoint", .is_right = true, .least = TABLE_WHOLE},
        {.title = "missing before", .words = "[{missing_first} to {missing_last}]", .least = TABLE_WHOLE},
    };
    struct trail trail = {0};
    struct why why = {""};
    struct table table;
    char *path = NULL;
    enum code code;
    int status = asked_trail(asked, asked_operand(asked, 0), &path);

    if (status != OPTIONS_GO)
        return status;
    code = trail_find(path, true, &trail, &why);
    status = code == CODE_OK ? trail_place_tell_missing(&trail, asked->from) : STATUS_DONE;
    TABLE_BEGIN(&table, columns, asked->json);
    if (code == CODE_OK)
        code = list_files(&trail, &table, &why);
    (void)table_end(&table);
    trail_fini(&trail);
    mem_free(path);
    return code == CODE_OK ? status : trail_place_complain(code, &why);
}
