/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows may match is asked of the finding tables first: parts whose times overlap, in them the rows of one value, and
 * what is above the last part. SQLite then filters these few. */
#include "audit/query.h"

#include "base/buf.h"
#include "db/db.h"

#define COLUMNS_MAX 64
#define SQL_BYTES 4096

/* Parameters: the same in every statement. */
#define CANDIDATES_BY(kinds, value) \
    "SELECT j.value FROM part AS p CROSS JOIN lookup AS l ON l.part = p.part AND l.kind IN (" kinds ") AND l.value = " value \
    " CROSS JOIN json_each(l.seqs) AS j WHERE p.last_us >= ?8 AND p.first_us < ?9"
#define CANDIDATES_IN_TIME \
    "SELECT d.seq FROM part AS p CROSS JOIN decision AS d ON d.seq BETWEEN p.first_seq AND p.last_seq " \
    "WHERE p.last_us >= ?8 AND p.first_us < ?9"
#define CANDIDATES_TAIL " UNION ALL SELECT seq FROM decision WHERE seq > (SELECT coalesce(max(last_seq), 0) FROM part)"

static const char *candidates(const struct query *query)
{
    if (query->correlation.at != NULL)
        return CANDIDATES_BY("1", "?2") CANDIDATES_TAIL;
    if (query->tool.at != NULL && span_is(query->verdict, "deny"))
        return CANDIDATES_BY("3", "?4") CANDIDATES_TAIL;
    if (query->tool.at != NULL && span_is(query->verdict, "hold"))
        return CANDIDATES_BY("4", "?4") CANDIDATES_TAIL;
    if (query->tool.at != NULL)
        return CANDIDATES_BY("3, 4, 5", "?4") CANDIDATES_TAIL;
    if (query->tenant.at != NULL)
        return CANDIDATES_BY("2", "?1") CANDIDATES_TAIL;
    if (query->since_us != 0 || query->until_us != 0)
        return CANDIDATES_IN_TIME CANDIDATES_TAIL;
    return NULL;
}

static enum code write_sql(const struct query *query, struct buf *sql)
{
    static const char *const filters[] = {"tenant", "correlation", "principal", "tool", "verdict", "rule", "reason"};
    const struct span texts[] = {query->tenant, query->correlation, query->principal, query->tool, query->verdict,
                                 query->rule, query->reason};
    const char *among = candidates(query);
    enum code code = buf_add_text(sql, "SELECT seq FROM call WHERE time_us >= ?8 AND time_us < ?9");

    for (size_t i = 0; i < sizeof filters / sizeof filters[0] && code == CODE_OK; i++)
        if (texts[i].at != NULL)
            code = buf_addf(sql, " AND %s = ?%zu", filters[i], i + 1);
    if (code == CODE_OK && among != NULL)
        code = buf_addf(sql, " AND seq IN (%s)", among);
    /* The newest are chosen, then told in their order. */
    if (code == CODE_OK)
        code = buf_add_text(sql, " ORDER BY seq DESC LIMIT ?10");
    return code == CODE_OK ? buf_add(sql, "", 1) : code;
}

static void bind_all(struct db_stmt *stmt, const struct query *query)
{
    const struct span texts[] = {query->tenant, query->correlation, query->principal, query->tool, query->verdict,
                                 query->rule, query->reason};

    for (int i = 0; i < 7; i++)
        db_bind_text(stmt, i + 1, texts[i]);
    db_bind_int(stmt, 8, query->since_us != 0 ? query->since_us : INT64_MIN);
    db_bind_int(stmt, 9, query->until_us != 0 ? query->until_us : INT64_MAX);
    db_bind_int(stmt, 10, query->limit != 0 ? (int64_t)query->limit + 1 : -1); /* one more tells that there are more */
}

static enum code prepare(struct db *db, const struct query *query, struct db_stmt **stmt)
{
    struct buf sql;
    enum code code;

    buf_init(&sql, SQL_BYTES);
    code = write_sql(query, &sql);
    if (code == CODE_OK)
        code = db_prepare(db, buf_peek(&sql).at, stmt);
    buf_fini(&sql);
    return code;
}

static enum code give_row(struct db_stmt *stmt, query_row_fn row, void *context)
{
    const char *names[COLUMNS_MAX];
    struct query_value values[COLUMNS_MAX];
    int count = db_columns(stmt) < COLUMNS_MAX ? db_columns(stmt) : COLUMNS_MAX;

    for (int i = 0; i < count; i++) {
        names[i] = db_column_name(stmt, i);
        values[i].is_number = db_type(stmt, i) == DB_INT;
        values[i].text = db_text(stmt, i);
    }
    return row(context, &(struct query_row){count, names, values});
}

/* Newest first is how they are found; the numbers are kept to go through them the other way round. */
static enum code collect(struct db_stmt *stmt, uint64_t limit, struct buf *seqs, bool *more)
{
    enum code code;

    *more = false;
    while ((code = db_step(stmt)) == CODE_OK) {
        int64_t seq = db_int(stmt, 0);

        if (limit != 0 && buf_len(seqs) / sizeof seq == limit) {
            *more = true;
            return CODE_OK;
        }
        code = buf_add(seqs, &seq, sizeof seq);
        if (code != CODE_OK)
            return code;
    }
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code tell(struct db *db, struct span seqs, query_row_fn row, void *context)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "SELECT * FROM call WHERE seq = ?", &stmt);

    for (size_t left = seqs.len / sizeof(int64_t); left > 0 && code == CODE_OK; left--) {
        int64_t seq;

        memcpy(&seq, seqs.at + (left - 1) * sizeof seq, sizeof seq);
        db_bind_int(stmt, 1, seq);
        code = db_step(stmt);
        if (code == CODE_OK)
            code = give_row(stmt, row, context);
        db_reset(stmt);
    }
    db_finalize(&stmt);
    return code;
}

enum code audit_query(const char *path, const struct query *query, query_row_fn row, void *context, bool *more,
                      struct why *why)
{
    struct db *db;
    struct db_stmt *stmt = NULL;
    struct buf seqs;
    enum code code = db_open(path, DB_READ, &db, why);

    *more = false;
    if (code != CODE_OK)
        return code;
    buf_init(&seqs, SIZE_MAX / 2);
    code = db_exec(db, "BEGIN"); /* one view of a file that may be growing */
    if (code == CODE_OK)
        code = prepare(db, query, &stmt);
    if (code == CODE_OK) {
        bind_all(stmt, query);
        code = collect(stmt, query->limit, &seqs, more);
    }
    db_finalize(&stmt);
    if (code == CODE_OK)
        code = tell(db, buf_peek(&seqs), row, context);
    if (code != CODE_OK && why->text[0] == '\0')
        (void)why_set(why, code, "%s: %s", path, code == CODE_NOMEM ? "out of memory" : db_error(db));
    db_rollback(db);
    buf_fini(&seqs);
    db_close(&db);
    return code;
}
