/* SPDX-License-Identifier: Apache-2.0 */
#include "query/query_priv.h"

#include "files/reader.h"
#include "files/reader_open.h"

#define COLUMNS_MAX 80
#define PART_ROWS 32768 /* of a file without an index that helps */

/* As schema/audit.sql has them; tests/unit/query/test_query.c holds the two together. */
static const char *const columns[] = {
    "seq", "time", "tenant", "principal", "correlation", "upstream", "dialect", "method", "tool", "arguments", "verdict",
    "reason", "rule", "policy_version", "outcome", "status", "latency_us", "outcome_reason", "error_code", "response_bytes",
    "upstream_us", "server_requests", "server_notifications", "server_denied", "outcome_seq", "rule_reason", "rules",
    "undecided", "monitor", "judge_us", "authentication", "client", "session", "node", "direction", "protocol_version",
    "rpc_id", "trace", "correlation_replaced", "arguments_bytes", "arguments_cut", "arguments_redacted", "arguments_begin",
    "body_bytes", "query_bytes", "policy_hash", "expects_outcome", "time_us", "target", "query", "params", "params_bytes",
    "answer", "answer_bytes", QUERY_LATER_OF_DECISION(QUERY_NAME) QUERY_LATER_OF_OUTCOME(QUERY_NAME) NULL,
};

const char *const *audit_columns(void)
{
    return columns;
}

struct span query_value(const struct query_row *row, const char *name)
{
    for (int i = 0; i < row->count; i++)
        if (strcmp(row->names[i], name) == 0)
            return row->values[i].text;
    return SPAN_NONE;
}

static const struct span *only; /* tenants; NULL: all */
static size_t only_count;

void audit_restrict(const struct span *tenants, size_t count)
{
    only = tenants;
    only_count = count < AUDIT_TENANTS_MAX ? count : AUDIT_TENANTS_MAX;
}

bool audit_is_restricted(void)
{
    return only != NULL;
}

const struct span *query__tenants(size_t *count)
{
    *count = only_count;
    return only;
}

bool audit_may_see(struct span tenant)
{
    bool is_among = only == NULL;

    for (size_t i = 0; i < only_count && tenant.at != NULL; i++)
        is_among = is_among || span_equals(only[i], tenant);
    return is_among;
}

static struct query_value read_value(struct db_stmt *stmt, int column)
{
    bool is_number = db_type(stmt, column) == DB_INT;

    return (struct query_value){db_text(stmt, column), is_number};
}

enum code query__give(struct db_stmt *stmt, struct db_stmt *overlay, query_row_fn row, void *context)
{
    const char *names[COLUMNS_MAX];
    struct query_value values[COLUMNS_MAX];
    int count = db_columns(stmt) < COLUMNS_MAX ? db_columns(stmt) : COLUMNS_MAX;

    for (int i = 0; i < count; i++) {
        names[i] = db_column_name(stmt, i);
        values[i] = read_value(stmt, i);
        for (int at = 0; overlay != NULL && at < db_columns(overlay); at++)
            if (strcmp(names[i], db_column_name(overlay, at)) == 0)
                values[i] = read_value(overlay, at);
    }
    if (!audit_may_see(query_value(&(struct query_row){count, names, values}, "tenant")))
        return CODE_OK; /* the statements leave others out already; this is for one that forgets to */
    return row(context, &(struct query_row){count, names, values});
}

/* ---- numbers found, and told ---- */

struct found {
    size_t file;
    int64_t seq;
};

struct asking {
    const struct trail *trail;
    const struct query *query;
    query_row_fn row;
    void *context;
    struct db *db;        /* the file that is open */
    struct db_stmt *tell; /* on it */
    size_t file;
    bool has_indices;     /* it is sealed and finished */
    bool has_later;       /* it has a table `temp.later` */
    uint64_t count;       /* of rows found so far */
    struct db *later_db;  /* a later file, where outcomes of calls may be that were open when this one was sealed */
    struct db_stmt *later;
    size_t later_file;
    bool more;
    bool keep;            /* QUERY_NEWEST_FORWARD: found now, told later */
    struct buf kept;      /* struct found */
};

static void leave_later(struct asking *asking)
{
    db_finalize(&asking->later);
    db_close(&asking->later_db);
    asking->later_file = 0;
}

static enum code enter_later(struct asking *asking, size_t file)
{
    struct why passed = {""};
    enum code code;

    if (asking->later_file == file)
        return CODE_OK;
    leave_later(asking);
    code = reader_open(asking->trail->files[file].path, &asking->later_db, &passed);
    if (code == CODE_OK)
        code = db_prepare(asking->later_db, "SELECT outcome, status, latency_us, reason AS outcome_reason, error_code, "
                          "response_bytes, upstream_us, server_requests, server_notifications, server_denied, "
                          "seq AS outcome_seq, answer, answer_bytes" QUERY_LATER_OF_OUTCOME(QUERY_NEXT)
                          " FROM outcome WHERE decision = ?", &asking->later);
    if (code == CODE_OK)
        asking->later_file = file;
    return code;
}

/* *overlay: the outcome of a call that was under way when its file was sealed, or NULL. */
static enum code find_later(struct asking *asking, int64_t seq, struct db_stmt **overlay)
{
    enum code code = CODE_OK;

    *overlay = NULL;
    for (size_t file = asking->file + 1; file < asking->trail->count && code == CODE_OK && *overlay == NULL; file++) {
        code = enter_later(asking, file);
        if (code != CODE_OK)
            break;
        db_reset(asking->later);
        db_bind_int(asking->later, 1, seq);
        code = db_step(asking->later);
        if (code == CODE_OK)
            *overlay = asking->later;
        else if (code == CODE_NOT_FOUND)
            code = CODE_OK;
    }
    return code;
}

static bool is_open(struct db_stmt *call)
{
    bool expects = false, has = false;

    for (int i = 0; i < db_columns(call); i++) {
        expects = expects || (strcmp(db_column_name(call, i), "expects_outcome") == 0 && db_int(call, i) == 1);
        has = has || (strcmp(db_column_name(call, i), "outcome_seq") == 0 && !db_is_null(call, i));
    }
    return expects && !has;
}

static enum code tell(struct asking *asking, int64_t seq)
{
    struct db_stmt *overlay = NULL;
    enum code code;

    db_bind_int(asking->tell, 1, seq);
    code = db_step(asking->tell);
    if (code == CODE_OK && asking->file + 1 < asking->trail->count && is_open(asking->tell))
        code = find_later(asking, seq, &overlay);
    if (code == CODE_OK)
        code = query__give(asking->tell, overlay, asking->row, asking->context);
    db_reset(asking->tell);
    return code == CODE_NOT_FOUND ? CODE_INVALID : code;
}

static enum code take(struct asking *asking, int64_t seq)
{
    const struct found found = {asking->file, seq};

    if (asking->query->limit != 0 && asking->count == asking->query->limit) {
        asking->more = true;
        return CODE_OK;
    }
    asking->count++;
    return asking->keep ? buf_add(&asking->kept, &found, sizeof found) : tell(asking, found.seq);
}

static void leave_file(struct asking *asking)
{
    db_finalize(&asking->tell);
    if (asking->db != NULL)
        db_rollback(asking->db);
    db_close(&asking->db);
}

static enum code enter_file(struct asking *asking, size_t file, struct why *why)
{
    const char *path = asking->trail->files[file].path;
    int64_t indices = 0;
    enum code code;

    leave_file(asking);
    asking->file = file;
    code = reader_open(path, &asking->db, why);
    if (code == CODE_OK)
        code = db_number(asking->db, "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = 'decision_time'",
                         NULL, 0, &indices);
    asking->has_indices = indices > 0;
    asking->has_later = code == CODE_OK && query__asks_outcome(asking->query) &&
                        file + 1 < asking->trail->count && reader_later(asking->db, asking->trail, file);
    if (code == CODE_OK)
        code = db_exec(asking->db, "BEGIN"); /* one view of a file that may be growing */
    if (code == CODE_OK)
        code = db_prepare(asking->db, QUERY_CALL, &asking->tell);
    return code;
}

static bool is_exact(struct span text)
{
    return text.at != NULL && span_find(text, '*') == text.len;
}

/* An index of a sealed file leads to few rows, which are sorted; else the table is gone through in its order, until there are
 * enough. */
static const char *order_of(const struct query *query, bool has_indices, bool newest_first)
{
    if (!has_indices)
        return newest_first ? "d.seq DESC" : "d.seq";
    if (query->since_us != 0 || query->until_us != 0 || is_exact(query->correlation) || is_exact(query->tenant) ||
        is_exact(query->tool) || is_exact(query->principal) || is_exact(query->rule) || query->session.at != NULL)
        return newest_first ? "+d.seq DESC" : "+d.seq";
    return newest_first ? "d.seq DESC" : "d.seq";
}

/* The numbers of the matching decisions of the file, in order. Takes: query: what is asked, or a part of it. */
static enum code find(struct asking *asking, const struct query *query, const char *order)
{
    const struct query_shape shape = {.head = query__head(query, asking->has_later), .order = order,
                                      .of = asking->has_later ? QUERY_OF_FILES : QUERY_OF_FILE};
    struct db_stmt *stmt = NULL;
    struct query_sql sql;
    enum code code = query__select(asking->db, query, &shape, &sql, &stmt);

    while (code == CODE_OK && !asking->more && (code = db_step(stmt)) == CODE_OK)
        code = take(asking, db_int(stmt, 0));
    db_finalize(&stmt);
    query__fini(&sql);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* A table that is gone through from its end takes time: a part after the other, so that it is told how far that is. */
static enum code find_in_parts(struct asking *asking)
{
    const struct query *query = asking->query;
    const struct trail_file *file = &asking->trail->files[asking->file];
    const int64_t lowest = query->after_seq > file->before_seq ? query->after_seq : file->before_seq;
    struct query part = *query;
    enum code code;

    part.after_seq = query->before_seq != 0 && query->before_seq <= file->last_seq ? query->before_seq - 1 : file->last_seq;
    do {
        part.after_seq = part.after_seq - lowest > PART_ROWS ? part.after_seq - PART_ROWS : lowest;
        code = find(asking, &part, "d.seq DESC");
        if (code == CODE_OK)
            query->looked(query->context, part.after_seq + 1);
        part.before_seq = part.after_seq + 1;
    } while (code == CODE_OK && !asking->more && part.after_seq > lowest);
    return code;
}

static enum code find_in_file(struct asking *asking, bool newest_first)
{
    const char *order = order_of(asking->query, asking->has_indices, newest_first);

    return asking->query->looked != NULL && strcmp(order, "d.seq DESC") == 0 ? find_in_parts(asking)
                                                                            : find(asking, asking->query, order);
}

static enum code find_all(struct asking *asking, bool newest_first, struct why *why)
{
    size_t count = asking->trail->count;
    enum code code = CODE_OK;

    for (size_t i = 0; i < count && code == CODE_OK && !asking->more; i++) {
        size_t file = newest_first ? count - 1 - i : i;

        if ((asking->query->after_seq >= asking->trail->files[file].last_seq && file + 1 < count) ||
            (asking->query->before_seq != 0 && asking->query->before_seq <= asking->trail->files[file].before_seq) ||
            !trail_file_reaches(&asking->trail->files[file], asking->query->since_us, asking->query->until_us))
            continue;
        code = enter_file(asking, file, why);
        if (code == CODE_OK)
            code = find_in_file(asking, newest_first);
        if (code == CODE_OK && newest_first && asking->query->looked != NULL)
            asking->query->looked(asking->query->context, asking->trail->files[file].before_seq + 1);
    }
    return code;
}

/* Newest first is how they were found. */
static enum code tell_kept(struct asking *asking, struct why *why)
{
    struct span kept = buf_peek(&asking->kept);
    enum code code = CODE_OK;

    for (size_t left = kept.len / sizeof(struct found); left > 0 && code == CODE_OK; left--) {
        struct found found;

        memcpy(&found, kept.at + (left - 1) * sizeof found, sizeof found);
        if (found.file != asking->file)
            code = enter_file(asking, found.file, why);
        if (code == CODE_OK)
            code = tell(asking, found.seq);
    }
    return code;
}

enum code audit_query(const struct trail *trail, const struct query *query, query_row_fn row, void *context, bool *more,
                      struct why *why)
{
    struct asking asking = {.trail = trail, .query = query, .row = row, .context = context};
    enum code code;

    asking.keep = query->order == QUERY_NEWEST_FORWARD && query->limit != 0;
    buf_init(&asking.kept, SIZE_MAX / 2);
    code = find_all(&asking, asking.keep || query->order == QUERY_NEWEST_FIRST, why);
    if (code == CODE_OK && asking.keep)
        code = tell_kept(&asking, why);
    if (code != CODE_OK && why->text[0] == '\0')
        (void)reader_why(why, code, trail->files[asking.file].path, asking.db);
    leave_file(&asking);
    leave_later(&asking);
    buf_fini(&asking.kept);
    *more = asking.more;
    return code;
}
