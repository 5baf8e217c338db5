/* SPDX-License-Identifier: Apache-2.0 */
#include "query/follow.h"

#include "files/reader.h"
#include "files/reader_open.h"
#include "rows/row.h"
#include "base/mem.h"
#include "base/num.h"
#include "query/query_priv.h"

#include <string.h>
#include <sys/stat.h>

#define WINDOW_ROWS 256 /* where looking backwards begins */

struct follow {
    char *path;
    struct db *db; /* NULL: the file is not there at the moment */
    dev_t device;
    ino_t inode;
    int64_t data_version;
    int64_t at_seq; /* told up to here */
};

/* ---- the file ---- */

static bool is_elsewhere(const struct follow *follow)
{
    struct stat there;

    return stat(follow->path, &there) != 0 || there.st_dev != follow->device || there.st_ino != follow->inode;
}

/* Looked at before and after, so that what is open is what was looked at; once more for each file that takes its place. */
static enum code enter(struct follow *follow, struct why *why)
{
    struct stat there;
    enum code code;

    do {
        db_close(&follow->db);
        if (stat(follow->path, &there) == 0) {
            follow->device = there.st_dev;
            follow->inode = there.st_ino;
        }
        code = reader_open(follow->path, &follow->db, why);
    } while (code == CODE_OK && is_elsewhere(follow));
    follow->data_version = -1;
    return code;
}

enum code follow_open(const char *path, struct follow **out, struct why *why)
{
    struct follow *follow = mem_zalloc(sizeof *follow);
    enum code code = CODE_OK;

    *out = NULL;
    if (follow != NULL)
        follow->path = mem_dup(path, strlen(path));
    if (follow == NULL || follow->path == NULL)
        code = why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
    if (code == CODE_OK)
        code = enter(follow, why);
    if (code != CODE_OK)
        follow_close(&follow);
    *out = follow;
    return code;
}

void follow_close(struct follow **follow)
{
    if (*follow == NULL)
        return;
    db_close(&(*follow)->db);
    mem_free((*follow)->path);
    mem_free(*follow);
    *follow = NULL;
}

/* ---- calls that ended ---- */

/* The numbers of the decisions whose last row is behind `after`, in the order of these rows: their own where no outcome is due,
 * else the outcome's. */
static enum code find(struct db *db, const struct query *query, int64_t after, struct buf *seqs)
{
    const struct query_shape shape = {
        .head = "d.seq FROM (SELECT seq AS at, seq AS call FROM decision WHERE expects_outcome = 0 AND seq > ?1 UNION ALL "
                "SELECT seq, decision FROM outcome WHERE seq > ?1) AS e CROSS JOIN decision AS d ON d.seq = e.call "
                "LEFT JOIN outcome AS o ON o.decision = d.seq WHERE 1",
        .order = "e.at", .after_seq = after};
    struct db_stmt *stmt = NULL;
    struct query_sql sql;
    enum code code = query__select(db, query, &shape, &sql, &stmt);

    buf_clear(seqs);
    while (db_next(&stmt, &code)) {
        int64_t seq = db_int(stmt, 0);

        code = buf_add(seqs, &seq, sizeof seq);
    }
    query__fini(&sql);
    return code;
}

static enum code tell(struct db *db, struct span seqs, size_t skip, query_row_fn row, void *context)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, QUERY_CALL, &stmt);

    for (size_t i = skip; i < seqs.len / sizeof(int64_t) && code == CODE_OK; i++) {
        int64_t seq;

        memcpy(&seq, seqs.at + i * sizeof seq, sizeof seq);
        db_bind_int(stmt, 1, seq);
        code = db_step(stmt);
        if (code == CODE_OK)
            code = query__give(stmt, NULL, row, context);
        db_reset(stmt);
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_INVALID : code;
}

/* One view of the file: where it ends, and what ended before that. */
static enum code begin(struct follow *follow, int64_t *tip)
{
    enum code code = db_exec(follow->db, "BEGIN");

    return code == CODE_OK ? db_number(follow->db, ROW_MAX_SEQ, NULL, 0, tip) : code;
}

enum code follow_last(struct follow *follow, const struct query *query, uint64_t lines, query_row_fn row, void *context,
                      struct why *why)
{
    struct buf ended;
    int64_t tip = 0;
    enum code code = begin(follow, &tip);
    size_t have = 0;

    buf_init(&ended, SIZE_MAX / 2);
    for (int64_t window = WINDOW_ROWS; code == CODE_OK && lines > 0 && have < lines; window *= 8) {
        code = find(follow->db, query, tip - window, &ended);
        have = buf_len(&ended) / sizeof(int64_t);
        if (tip - window <= 0)
            break;
    }
    if (code == CODE_OK)
        code = tell(follow->db, buf_peek(&ended), have > lines ? have - lines : 0, row, context);
    if (code != CODE_OK)
        (void)reader_why(why, code, follow->path, follow->db);
    db_rollback(follow->db);
    buf_fini(&ended);
    follow->at_seq = tip;
    return code;
}

/* What one call was that had begun in a file before this one. */
struct carried {
    int64_t seq;
    query_row_fn row;
    void *context;
};

static enum code tell_carried(void *context, const struct query_row *row)
{
    const struct carried *carried = context;
    int64_t seq;

    if (num_i64(query_value(row, "seq"), &seq) != CODE_OK || seq != carried->seq)
        return CODE_OK; /* the first one behind it that matches */
    return carried->row(carried->context, row);
}

/* Outcomes of calls that were under way when the file before was sealed: their decisions are there. */
static enum code read_carried(struct follow *follow, const struct query *query, int64_t after, query_row_fn row, void *context,
                              struct why *why)
{
    struct db_stmt *stmt;
    struct trail trail = {0};
    enum code code = db_select(follow->db, "SELECT decision FROM outcome WHERE seq > ?1 AND "
                               "decision <= (SELECT seq FROM file) ORDER BY seq", DB_VALUES(db_of_int(after)), &stmt);

    while (db_next(&stmt, &code)) {
        struct carried carried = {db_int(stmt, 0), row, context};
        struct query one = *query;
        bool more;

        one.after_seq = carried.seq - 1;
        one.limit = 1;
        one.order = QUERY_OLDEST_FIRST;
        code = trail.count == 0 ? trail_find(follow->path, true, &trail, why) : CODE_OK;
        if (code == CODE_OK)
            code = audit_query(&trail, &one, tell_carried, &carried, &more, why);
    }
    trail_fini(&trail);
    return code;
}

static enum code read_on(struct follow *follow, const struct query *query, query_row_fn row, void *context, struct why *why)
{
    struct buf ended;
    int64_t tip = follow->at_seq;
    enum code code = begin(follow, &tip);

    buf_init(&ended, SIZE_MAX / 2);
    if (code == CODE_OK && tip > follow->at_seq)
        code = find(follow->db, query, follow->at_seq, &ended);
    if (code == CODE_OK)
        code = tell(follow->db, buf_peek(&ended), 0, row, context);
    if (code == CODE_OK && tip > follow->at_seq)
        code = read_carried(follow, query, follow->at_seq, row, context, why);
    if (code != CODE_OK)
        (void)reader_why(why, code, follow->path, follow->db);
    db_rollback(follow->db);
    buf_fini(&ended);
    if (code == CODE_OK && tip > follow->at_seq)
        follow->at_seq = tip;
    return code;
}

/* Files that were sealed between two looks. */
static enum code read_between(struct follow *follow, const struct query *query, query_row_fn row, void *context,
                              struct why *why)
{
    struct db *live = follow->db;
    struct trail trail;
    enum code code = trail_find(follow->path, true, &trail, why);

    for (size_t i = 0; i + 1 < trail.count && code == CODE_OK; i++) {
        if (trail.files[i].last_seq <= follow->at_seq)
            continue;
        code = reader_open(trail.files[i].path, &follow->db, why);
        if (code == CODE_OK)
            code = read_on(follow, query, row, context, why);
        if (follow->db != live)
            db_close(&follow->db);
        follow->db = live;
    }
    trail_fini(&trail);
    return code;
}

/* The file was moved: its rest, then whatever stands in its place. Between the two there may be nothing for a moment. */
static enum code change_file(struct follow *follow, const struct query *query, query_row_fn row, void *context,
                             struct why *why)
{
    struct why absent = {""};
    int64_t before_seq = 0;
    enum code code = follow->db != NULL ? read_on(follow, query, row, context, why) : CODE_OK;

    db_close(&follow->db);
    if (code != CODE_OK)
        return code;
    code = enter(follow, &absent);
    if (code != CODE_OK)
        return code == CODE_NOMEM ? why_set(why, code, "%s", absent.text) : CODE_OK;
    code = db_number(follow->db, "SELECT seq FROM file", NULL, 0, &before_seq);
    if (code == CODE_OK && before_seq > follow->at_seq)
        return read_between(follow, query, row, context, why);
    if (before_seq < follow->at_seq) /* another trail */
        follow->at_seq = before_seq;
    return code == CODE_OK ? code : reader_why(why, code, follow->path, follow->db);
}

enum code follow_next(struct follow *follow, const struct query *query, query_row_fn row, void *context, struct why *why)
{
    int64_t version = 0;
    enum code code = CODE_OK;

    if (follow->db == NULL || is_elsewhere(follow))
        code = change_file(follow, query, row, context, why);
    if (code != CODE_OK || follow->db == NULL)
        return code;
    code = db_number(follow->db, "PRAGMA data_version", NULL, 0, &version);
    if (code != CODE_OK)
        return reader_why(why, code, follow->path, follow->db);
    if (version == follow->data_version)
        return CODE_OK;
    follow->data_version = version;
    return read_on(follow, query, row, context, why);
}
