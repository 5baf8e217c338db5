/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/query_priv.h"

#include "json/json.h"

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

void query__fini(struct query_sql *sql)
{
    buf_fini(&sql->text);
    buf_fini(&sql->patterns);
}

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

enum code query__select(struct db *db, const struct query *query, const struct query_shape *shape, struct query_sql *sql,
                        struct db_stmt **stmt)
{
    char *room;
    enum code code;

    sql->count = 0;
    buf_init(&sql->text, SQL_BYTES);
    buf_init(&sql->patterns, PATTERN_BYTES);
    code = buf_reserve(&sql->patterns, PATTERN_BYTES, &room);
    if (strstr(shape->head, "?1") != NULL) {
        sql->parameter[sql->count].kind = PARAMETER_INT;
        sql->parameter[sql->count++].number = shape->after_seq;
    }
    if (code == CODE_OK)
        code = buf_addf(&sql->text, "SELECT %s", shape->head);
    if (code == CODE_OK)
        code = add_filters(sql, query, shape->next);
    if (code == CODE_OK && shape->order != NULL)
        code = buf_addf(&sql->text, " ORDER BY %s", shape->order);
    if (code == CODE_OK)
        code = buf_add_byte(&sql->text, '\0');
    return code == CODE_OK ? start(db, sql, stmt) : code;
}
