/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/query_priv.h"

#include "audit/part_priv.h"
#include "json/json.h"

#include <stdlib.h>

#define SQL_BYTES ((size_t)16 << 10)
#define PATTERN_BYTES ((size_t)256 << 10)

/* ---- pieces ---- */

static enum code bind_text(struct query_sql *sql, struct span text)
{
    sql->parameter[sql->count].kind = PARAMETER_TEXT;
    sql->parameter[sql->count++].bytes = text;
    return buf_addf(&sql->text, "?%d", sql->count);
}

static enum code bind_int(struct query_sql *sql, int64_t number)
{
    sql->parameter[sql->count].kind = PARAMETER_INT;
    sql->parameter[sql->count++].number = number;
    return buf_addf(&sql->text, "?%d", sql->count);
}

static enum code add_int(struct query_sql *sql, const char *before, int64_t number)
{
    enum code code = buf_add_text(&sql->text, before);

    return code == CODE_OK ? bind_int(sql, number) : code;
}

static bool is_pattern(struct span text)
{
    return span_find(text, '*') < text.len;
}

/* Bytes into `patterns`, whose block must not move once a span points into it: room for all was made at the beginning. */
static enum code add_pattern(struct query_sql *sql, struct span text, const char *special, char open, char close)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < text.len && code == CODE_OK; i++) {
        bool quoted = text.at[i] != '\0' && strchr(special, text.at[i]) != NULL;

        if (quoted)
            code = buf_add_byte(&sql->patterns, open);
        if (code == CODE_OK)
            code = buf_add_byte(&sql->patterns, text.at[i]);
        if (code == CODE_OK && quoted && close != '\0')
            code = buf_add_byte(&sql->patterns, close);
    }
    return code;
}

static struct span pattern_from(const struct query_sql *sql, size_t begin)
{
    return span_part(buf_peek(&sql->patterns), begin, SIZE_MAX);
}

static enum code add_text(struct query_sql *sql, const char *column, struct span text)
{
    size_t begin = buf_len(&sql->patterns);
    enum code code = buf_addf(&sql->text, " AND %s %s ", column, is_pattern(text) ? "GLOB" : "=");

    if (code != CODE_OK || !is_pattern(text))
        return code == CODE_OK ? bind_text(sql, text) : code;
    code = add_pattern(sql, text, "?[", '[', ']');
    return code == CODE_OK ? bind_text(sql, pattern_from(sql, begin)) : code;
}

/* ---- free text ---- */

static enum code like(struct query_sql *sql, struct span text, struct span *out)
{
    size_t begin = buf_len(&sql->patterns);
    enum code code = buf_add_byte(&sql->patterns, '%');

    if (code == CODE_OK)
        code = add_pattern(sql, text, "%_\\", '\\', '\0');
    if (code == CODE_OK)
        code = buf_add_byte(&sql->patterns, '%');
    *out = pattern_from(sql, begin);
    return code;
}

static enum code any_column_like(struct query_sql *sql, const char *const *columns, struct span pattern, const char *before)
{
    enum code code = CODE_OK;

    for (; *columns != NULL && code == CODE_OK; columns++) {
        code = buf_addf(&sql->text, "%sd.%s LIKE ", before, *columns);
        if (code == CODE_OK)
            code = bind_text(sql, pattern);
        if (code == CODE_OK)
            code = buf_add_text(&sql->text, " ESCAPE '\\'");
        sql->count--; /* every column is compared with the same parameter */
        before = " OR ";
    }
    sql->count++;
    return code;
}

/* In the arguments, a quote or a line's end stands as JSON writes it. */
static enum code add_free_text(struct query_sql *sql, struct span text)
{
    static const char *const in_json[] = {"arguments", "arguments_begin", "params", "rules", "monitor", NULL};
    static const char *const plain[] = {"tool", "method", "principal", "tenant", "correlation", "upstream", "client", "rule",
                                        "rule_reason", "reason", "undecided", "rpc_id", "correlation_replaced", "trace",
                                        "target", "query", NULL};
    struct span pattern;
    struct buf quoted;
    enum code code = buf_add_text(&sql->text, " AND (");

    buf_init(&quoted, PATTERN_BYTES);
    if (code == CODE_OK)
        code = like(sql, text, &pattern);
    if (code == CODE_OK)
        code = any_column_like(sql, plain, pattern, "");
    if (code == CODE_OK)
        code = json_write_string(&quoted, text);
    if (code == CODE_OK)
        code = like(sql, span_part(buf_peek(&quoted), 1, buf_len(&quoted) - 2), &pattern);
    if (code == CODE_OK)
        code = any_column_like(sql, in_json, pattern, " OR ");
    buf_fini(&quoted);
    return code == CODE_OK ? buf_add_byte(&sql->text, ')') : code;
}

/* ---- the statement ---- */

static enum code add_filters(struct query_sql *sql, const struct query *query, bool next)
{
    const struct { const char *column; struct span text; } texts[] = {
        {"d.tenant", query->tenant}, {"d.correlation", query->correlation}, {"d.principal", query->principal},
        {"d.tool", query->tool}, {"d.method", query->method}, {"d.upstream", query->upstream}, {"d.verdict", query->verdict},
        {"d.reason", query->reason}, {"d.rule", query->rule}, {"d.client", query->client},
        {next ? "coalesce(o.outcome, k.outcome)" : "o.outcome", query->outcome},
    };
    enum code code = CODE_OK;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && code == CODE_OK; i++)
        if (texts[i].text.at != NULL)
            code = add_text(sql, texts[i].column, texts[i].text);
    if (code == CODE_OK && query->session.at != NULL) {
        code = buf_add_text(&sql->text, " AND d.session = ");
        if (code == CODE_OK)
            code = bind_text(sql, query->session);
        sql->parameter[sql->count - 1].kind = PARAMETER_BLOB;
    }
    if (code == CODE_OK && query->status != 0)
        code = add_int(sql, next ? " AND coalesce(o.status, k.status, d.status) = " : " AND coalesce(o.status, d.status) = ",
                       query->status);
    if (code == CODE_OK && query->policy_version != 0)
        code = add_int(sql, " AND d.policy_version = ", query->policy_version);
    if (code == CODE_OK && query->since_us != 0)
        code = add_int(sql, " AND d.time_us >= ", query->since_us);
    if (code == CODE_OK && query->until_us != 0)
        code = add_int(sql, " AND d.time_us < ", query->until_us);
    if (code == CODE_OK && query->after_seq != 0)
        code = add_int(sql, " AND d.seq > ", query->after_seq);
    return code == CODE_OK && query->text.at != NULL ? add_free_text(sql, query->text) : code;
}

/* What the finding tables are asked for; kinds NULL: nothing but time. */
struct finding {
    const char *kinds;
    struct span value;
};

static bool is_found_by(struct span text)
{
    return text.at != NULL && !is_pattern(text);
}

static struct finding finding_of(const struct query *query)
{
    if (is_found_by(query->correlation))
        return (struct finding){"1", query->correlation};
    if (is_found_by(query->tool))
        return (struct finding){span_is(query->verdict, "deny") ? "3" : span_is(query->verdict, "hold") ? "4" :
                                span_is(query->verdict, "permit") ? "5" : "3, 4, 5", query->tool};
    if (is_found_by(query->tenant))
        return (struct finding){"2", query->tenant};
    return (struct finding){NULL, SPAN_NONE};
}

static bool uses_parts(const struct query *query)
{
    return finding_of(query).kinds != NULL || query->since_us != 0 || query->until_us != 0;
}

/* The parts that may hold a correlation: those of each group that says so, or says nothing, and those behind the last group. */
static enum code add_candidates(struct query_sql *sql, struct span correlation)
{
    static const char before[] = "(SELECT part FROM part WHERE part >= (SELECT (max(part) + 1) / 64 * 64 FROM part) UNION ALL "
                                 "SELECT h.part FROM part AS g CROSS JOIN part AS h ON h.part BETWEEN g.part - 63 AND g.part "
                                 "WHERE g.part % 64 = 63 AND (EXISTS (SELECT 1 FROM lookup AS f WHERE f.part = g.part "
                                 "AND f.kind = 7 AND f.value = ";
    static const char after[] = ")) OR NOT EXISTS (SELECT 1 FROM lookup AS f WHERE f.part = g.part AND f.kind = 7))) AS c "
                                "CROSS JOIN part AS p ON p.part = c.part CROSS JOIN ";
    uint32_t print = part__print(correlation);
    size_t len = num_text(PART_BUCKET_FIRST + print / PART_BUCKET_PRINTS, sql->bucket);
    enum code code = buf_add_text(&sql->text, before);

    if (code == CODE_OK)
        code = bind_text(sql, span_of(sql->bucket, len));
    sql->print[0] = ',';
    len = num_text(PART_PRINT_FIRST + print % PART_BUCKET_PRINTS, sql->print + 1);
    if (code == CODE_OK)
        code = buf_add_text(&sql->text, " AND instr(f.seqs, ");
    if (code == CODE_OK)
        code = bind_text(sql, span_of(sql->print, len + 1));
    return code == CODE_OK ? buf_add_text(&sql->text, after) : code;
}

static enum code add_parts(struct query_sql *sql, const struct query *query)
{
    struct finding finding = finding_of(query);
    enum code code = is_found_by(query->correlation) ? add_candidates(sql, query->correlation)
                                                     : buf_add_text(&sql->text, "part AS p CROSS JOIN ");

    if (code == CODE_OK && finding.kinds != NULL) {
        code = buf_addf(&sql->text, "lookup AS l ON l.part = p.part AND l.kind IN (%s) AND l.value = ", finding.kinds);
        if (code == CODE_OK)
            code = bind_text(sql, finding.value);
        if (code == CODE_OK)
            code = buf_add_text(&sql->text, " CROSS JOIN json_each(l.seqs) AS j CROSS JOIN decision AS d ON d.seq = j.value");
    } else if (code == CODE_OK) {
        code = buf_add_text(&sql->text, "decision AS d ON d.seq BETWEEN p.first_seq AND p.last_seq");
    }
    return code;
}

static enum code add_part_bounds(struct query_sql *sql, const struct query *query)
{
    enum code code = CODE_OK;

    if (query->since_us != 0)
        code = add_int(sql, " AND p.last_us >= ", query->since_us);
    if (code == CODE_OK && query->until_us != 0)
        code = add_int(sql, " AND p.first_us < ", query->until_us);
    return code == CODE_OK && query->after_seq != 0 ? add_int(sql, " AND p.last_seq > ", query->after_seq) : code;
}

/* What lies behind after_seq is all that is read, and sorted. */
static enum code add_ended(struct query_sql *sql, int64_t after_seq)
{
    enum code code = add_int(sql, "(SELECT seq AS at, seq AS call FROM decision WHERE expects_outcome = 0 AND seq > ",
                             after_seq);

    if (code == CODE_OK)
        code = add_int(sql, " UNION ALL SELECT seq, decision FROM outcome WHERE seq > ", after_seq);
    return code == CODE_OK ? buf_add_text(&sql->text, ") AS e CROSS JOIN decision AS d ON d.seq = e.call") : code;
}

static enum code add_source(struct query_sql *sql, const struct query *query, const struct query_shape *shape,
                            enum query_part part)
{
    switch (part) {
    case QUERY_INDEXED:
        return add_parts(sql, query);
    case QUERY_ENDED:
        return add_ended(sql, shape->after_seq);
    case QUERY_WHOLE:
    case QUERY_TAIL:
        break;
    }
    return buf_add_text(&sql->text, "decision AS d");
}

static enum code add_order(struct query_sql *sql, const struct query_shape *shape, enum query_part part)
{
    if (shape->columns != NULL)
        return CODE_OK;
    return buf_addf(&sql->text, " ORDER BY %s%s", part == QUERY_INDEXED ? "p.part" : part == QUERY_ENDED ? "e.at" : "d.seq",
                    shape->newest_first ? " DESC" : "");
}

static enum code begin(struct query_sql *sql)
{
    char *room;
    enum code code;

    sql->count = 0;
    buf_init(&sql->text, SQL_BYTES);
    buf_init(&sql->patterns, PATTERN_BYTES);
    code = buf_reserve(&sql->patterns, PATTERN_BYTES, &room);
    return code == CODE_OK ? buf_add_text(&sql->text, "SELECT ") : code;
}

enum code query__write(struct query_sql *sql, const struct query *query, const struct query_shape *shape,
                       enum query_part part)
{
    bool outcome = shape->outcome || query->outcome.at != NULL || query->status != 0;
    enum code code = begin(sql);

    if (code == CODE_OK)
        code = buf_addf(&sql->text, "%s FROM ",
                        shape->columns != NULL ? shape->columns : part == QUERY_INDEXED ? "p.part, d.seq" : "0, d.seq");
    if (code == CODE_OK)
        code = add_source(sql, query, shape, part);
    if (code == CODE_OK && outcome)
        code = buf_add_text(&sql->text, " LEFT JOIN main.outcome AS o ON o.decision = d.seq");
    if (code == CODE_OK && outcome && shape->next)
        code = buf_add_text(&sql->text, " LEFT JOIN next.outcome AS k ON k.decision = d.seq");
    if (code == CODE_OK)
        code = buf_add_text(&sql->text, part == QUERY_TAIL
                            ? " WHERE d.seq > coalesce((SELECT last_seq FROM part ORDER BY part DESC LIMIT 1), 0)"
                            : " WHERE 1");
    if (code == CODE_OK && part == QUERY_INDEXED)
        code = add_part_bounds(sql, query);
    if (code == CODE_OK)
        code = add_filters(sql, query, shape->next);
    if (code == CODE_OK)
        code = add_order(sql, shape, part);
    return code == CODE_OK ? buf_add_byte(&sql->text, '\0') : code;
}

void query__fini(struct query_sql *sql)
{
    buf_fini(&sql->text);
    buf_fini(&sql->patterns);
}

/* ---- running it ---- */

static enum code start(struct db *db, const struct query_sql *sql, struct db_stmt **stmt)
{
    enum code code = db_prepare(db, buf_peek(&sql->text).at, stmt);

    if (code != CODE_OK)
        return code;
    for (int i = 0; i < sql->count; i++)
        switch (sql->parameter[i].kind) {
        case PARAMETER_INT:
            db_bind_int(*stmt, i + 1, sql->parameter[i].number);
            break;
        case PARAMETER_TEXT:
            db_bind_text(*stmt, i + 1, sql->parameter[i].bytes);
            break;
        case PARAMETER_BLOB:
            db_bind_blob(*stmt, i + 1, sql->parameter[i].bytes);
            break;
        }
    return CODE_OK;
}

enum code query__select(struct db *db, const struct query *query, const char *head, int64_t after_seq, const char *order_by,
                        struct query_sql *sql, struct db_stmt **stmt)
{
    enum code code = begin(sql);

    if (code == CODE_OK)
        code = add_int(sql, head, after_seq);
    if (code == CODE_OK)
        code = add_filters(sql, query, false);
    if (code == CODE_OK)
        code = buf_addf(&sql->text, " ORDER BY %s", order_by);
    if (code == CODE_OK)
        code = buf_add_byte(&sql->text, '\0');
    return code == CODE_OK ? start(db, sql, stmt) : code;
}

/* In what order statements go over a file; returns how many. */
static int plan(const struct query *query, bool newest_first, enum query_part parts[2])
{
    parts[0] = uses_parts(query) ? newest_first ? QUERY_TAIL : QUERY_INDEXED : QUERY_WHOLE;
    parts[1] = newest_first ? QUERY_INDEXED : QUERY_TAIL;
    return uses_parts(query) ? 2 : 1;
}

struct ordering {
    query__seq_fn each;
    void *context;
    bool newest_first, enough;
    int64_t part;
    struct buf seqs; /* of the part that is being read */
};

static int by_number(const void *left, const void *right)
{
    int64_t a, b;

    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

/* SQLite cannot sort within a part alone when json_each stands in between, and sorting all would read all. */
static enum code end_part(struct ordering *ordering)
{
    struct span seqs = buf_peek(&ordering->seqs);
    size_t count = seqs.len / sizeof(int64_t);
    enum code code = CODE_OK;

    if (count > 1)
        qsort(ordering->seqs.block + ordering->seqs.head, count, sizeof(int64_t), by_number);
    for (size_t i = 0; i < count && code == CODE_OK && !ordering->enough; i++) {
        int64_t seq;

        memcpy(&seq, seqs.at + (ordering->newest_first ? count - 1 - i : i) * sizeof seq, sizeof seq);
        code = ordering->each(ordering->context, seq, &ordering->enough);
    }
    buf_clear(&ordering->seqs);
    return code;
}

static enum code run_ordered(struct db_stmt *stmt, enum query_part part, struct ordering *ordering)
{
    enum code code = CODE_OK;

    ordering->part = -1;
    while (!ordering->enough && (code = db_step(stmt)) == CODE_OK) {
        int64_t number = db_int(stmt, 0), seq = db_int(stmt, 1);

        if (part != QUERY_INDEXED) {
            code = ordering->each(ordering->context, seq, &ordering->enough);
        } else {
            if (number != ordering->part)
                code = end_part(ordering);
            ordering->part = number;
            if (code == CODE_OK)
                code = buf_add(&ordering->seqs, &seq, sizeof seq);
        }
        if (code != CODE_OK)
            return code;
    }
    if (code == CODE_NOT_FOUND)
        code = CODE_OK;
    return code == CODE_OK && !ordering->enough ? end_part(ordering) : code;
}

static enum code order(struct db *db, const struct query *query, const struct query_shape *shape, enum query_part part,
                       struct ordering *ordering)
{
    struct db_stmt *stmt = NULL;
    struct query_sql sql;
    enum code code = query__write(&sql, query, shape, part);

    if (code == CODE_OK)
        code = start(db, &sql, &stmt);
    if (code == CODE_OK)
        code = run_ordered(stmt, part, ordering);
    db_finalize(&stmt);
    query__fini(&sql);
    return code;
}

enum code query__seqs(struct db *db, const struct query *query, bool newest_first, bool next, query__seq_fn each, void *context)
{
    const struct query_shape shape = {.newest_first = newest_first, .next = next};
    struct ordering ordering = {.each = each, .context = context, .newest_first = newest_first};
    enum query_part parts[2];
    int count = plan(query, newest_first, parts);
    enum code code = CODE_OK;

    buf_init(&ordering.seqs, SIZE_MAX / 2);
    for (int i = 0; i < count && code == CODE_OK && !ordering.enough; i++)
        code = order(db, query, &shape, parts[i], &ordering);
    buf_fini(&ordering.seqs);
    return code;
}

enum code query__ended(struct db *db, const struct query *query, int64_t after_seq, query__seq_fn each, void *context)
{
    const struct query_shape shape = {.after_seq = after_seq};
    struct ordering ordering = {.each = each, .context = context};

    return order(db, query, &shape, QUERY_ENDED, &ordering);
}

enum code query__rows(struct db *db, const struct query *query, const struct query_shape *shape, query__row_fn each,
                      void *context)
{
    enum query_part parts[2];
    int count = plan(query, false, parts);
    enum code code = CODE_OK;

    for (int i = 0; i < count && code == CODE_OK; i++) {
        struct db_stmt *stmt = NULL;
        struct query_sql sql;

        code = query__write(&sql, query, shape, parts[i]);
        if (code == CODE_OK)
            code = start(db, &sql, &stmt);
        while (code == CODE_OK && (code = db_step(stmt)) == CODE_OK) {
            code = each(context, stmt);
            if (code == CODE_NOT_FOUND) /* a callback's own end is no end of rows */
                code = CODE_INVALID;
        }
        if (code == CODE_NOT_FOUND)
            code = CODE_OK;
        db_finalize(&stmt);
        query__fini(&sql);
    }
    return code;
}
