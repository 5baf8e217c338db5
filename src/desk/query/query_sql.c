/* SPDX-License-Identifier: Apache-2.0 */
/* Texts are bound, never written into the statement; what '*' and --text mean is made of them by SQL itself. */
#include "query/query_priv.h"

#include "base/ascii.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "json/json.h"

#include <inttypes.h>

#define SQL_BYTES ((size_t)16 << 10)
#define QUOTED_BYTES ((size_t)256 << 10)

/* A text for LIKE that has nothing of a pattern. */
#define LITERAL_LIKE "replace(replace(replace("
#define END_LITERAL_LIKE ", '\\', '\\\\'), '%', '\\%'), '_', '\\_')"

/* Takes: before: what stands before the parameter, after: behind it. */
static void add(struct query_sql *sql, const char *before, struct db_value value, const char *after)
{
    sql->parameter[sql->count++] = value;
    (void)buf_addf(&sql->text, "%s%c%zu%s", before, sql->is_of_centre ? '$' : '?', sql->count, after);
}

static void add_int(struct query_sql *sql, const char *before, int64_t number)
{
    if (number != 0)
        add(sql, before, db_of_int(number), "");
}

static void add_text(struct query_sql *sql, const char *column, struct span text)
{
    bool is_pattern = span_find(text, '*') < text.len;

    if (text.at == NULL)
        return;
    (void)buf_addf(&sql->text, " AND %s ", column);
    if (!is_pattern)
        add(sql, "= ", db_of_text(text), "");
    else if (sql->is_of_centre)
        add(sql, "LIKE replace(" LITERAL_LIKE, db_of_text(text), END_LITERAL_LIKE ", '*', '%')");
    else
        add(sql, "GLOB replace(replace(", db_of_text(text), ", '[', '[[]'), '?', '[?]')");
}

/* All of these among the names in a column that holds a list of them. */
static void add_members(struct query_sql *sql, const char *column, const struct option_values *names)
{
    for (size_t i = 0; names != NULL && i < names->count; i++) {
        (void)buf_addf(&sql->text, " AND EXISTS (SELECT 1 FROM json_each(%s) AS j WHERE j.type = 'text'", column);
        add_text(sql, "j.value", span_text(names->value[i]));
        (void)buf_add_byte(&sql->text, ')');
    }
}

/* Among what is told of an answer: a detector that found something, a rule that applied. Takes: decided: a column that has one
 * of them in any case, also where the list was too long for the record; or NULL. */
static void add_said(struct query_sql *sql, const char *column, const char *name, const char *decided, struct span text)
{
    if (text.at == NULL)
        return;
    (void)buf_addf(&sql->text, " AND ((1 = %d", decided != NULL);
    if (decided != NULL)
        add_text(sql, decided, text);
    (void)buf_addf(&sql->text, ") OR EXISTS (SELECT 1 FROM json_each(%s) AS j WHERE 1 = 1", column);
    add_text(sql, name, text);
    (void)buf_add_text(&sql->text, "))");
}

/* ---- free text ---- */

static void any_column_like(struct query_sql *sql, const char *const *columns, struct span text)
{
    for (; *columns != NULL; columns++) {
        (void)buf_addf(&sql->text, " OR d.%s %s '%%' || ", *columns, sql->is_of_centre ? "ILIKE" : "LIKE");
        add(sql, LITERAL_LIKE, db_of_text(text), END_LITERAL_LIKE " || '%' ESCAPE '\\'");
        sql->count--; /* every column is compared with the same parameter */
    }
    sql->count++;
}

/* In the arguments, a quote or a line's end stands as JSON writes it. */
static enum code add_free_text(struct query_sql *sql, struct span text)
{
    static const char *const in_json[] = {"arguments", "arguments_begin", "params", "rules", "monitor", "groups", "scopes",
                                          "claims", "actors", "client_says", NULL};
    static const char *const plain[] = {"tool", "via", "method", "principal", "agent", "tenant", "correlation", "upstream",
                                        "client", "rule", "agent_rule", "rule_reason", "reason", "undecided", "rpc_id",
                                        "correlation_replaced", "trace", "target", "query", "issuer", "plan", NULL};
    enum code code = json_write_string(&sql->quoted, text);

    if (code != CODE_OK)
        return code;
    (void)buf_add_text(&sql->text, " AND (1 = 0");
    any_column_like(sql, plain, text);
    any_column_like(sql, in_json, span_part(buf_peek(&sql->quoted), 1, buf_len(&sql->quoted) - 2));
    return buf_add_byte(&sql->text, ')');
}

/* ---- the statement ---- */

/* At the centre a session is its digest as text, and days that are not asked for are not opened. */
static void add_session_and_time(struct query_sql *sql, const struct query *query, const char *session)
{
    if (query->session.at != NULL && sql->is_of_centre) {
        num_hex((const unsigned char *)query->session.at, DIGEST_BYTES, sql->session);
        (void)buf_addf(&sql->text, " AND %s", session != NULL ? session : "d.session");
        add(sql, " = ", db_of_text(span_of(sql->session, sizeof sql->session)), "");
    } else if (query->session.at != NULL) {
        add(sql, " AND d.session = ", db_of_blob(query->session), "");
    }
    add_int(sql, " AND d.time_us >= ", query->since_us);
    add_int(sql, " AND d.time_us < ", query->until_us);
    if (sql->is_of_centre && query->since_us != 0)
        add(sql, " AND d.day >= date(", db_of_int(query->since_us), " / 1000000, 'unixepoch')");
    if (sql->is_of_centre && query->until_us != 0)
        add(sql, " AND d.day <= date(", db_of_int(query->until_us), " / 1000000, 'unixepoch')");
}

static enum code add_filters(struct query_sql *sql, const struct query *query, const struct query_shape *shape)
{
    const enum query_of of = shape->of;
    const struct { const char *column; struct span text; } texts[] = {
        {"d.tenant", query->tenant}, {"d.correlation", query->correlation}, {"d.principal", query->principal},
        {"d.agent", query->agent}, {"d.via", query->via},
        {"d.tool", query->tool}, {"d.method", query->method}, {"d.upstream", query->upstream}, {"d.verdict", query->verdict},
        {"d.reason", query->reason}, {"d.rule", query->rule}, {"d.client", query->client},
        {QUERY_OUTCOME(of, "outcome"), query->outcome}, {QUERY_OUTCOME(of, "answer_effect"), query->answer},
        {"d.node", query->node},
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        add_text(sql, texts[i].column, texts[i].text);
    add_members(sql, "d.groups", query->groups);
    add_members(sql, "d.scopes", query->scopes);
    add_said(sql, QUERY_OUTCOME(of, "answer_found"), "j.key", NULL, query->detector);
    add_said(sql, QUERY_OUTCOME(of, "answer_rules"), "json_extract(CASE j.type WHEN 'object' THEN j.value END, '$.id')",
             QUERY_OUTCOME(of, "answer_rule"), query->answer_rule);
    add_int(sql, of == QUERY_OF_CENTRE  ? " AND d.status = "
                 : of == QUERY_OF_FILES ? " AND coalesce(o.status, k.status, d.status) = "
                                        : " AND coalesce(o.status, d.status) = ", query->status);
    add_int(sql, " AND d.policy_version = ", query->policy_version);
    add_session_and_time(sql, query, shape->session);
    add_int(sql, " AND d.seq > ", query->after_seq);
    add_int(sql, " AND d.seq < ", query->before_seq);
    return query->text.at != NULL ? add_free_text(sql, query->text) : CODE_OK;
}

bool query__asks_outcome(const struct query *query)
{
    return query->outcome.at != NULL || query->status != 0 || query->answer.at != NULL || query->answer_rule.at != NULL ||
           query->detector.at != NULL;
}

const char *query__head(const struct query *query, bool has_later)
{
    return !query__asks_outcome(query) ? "d.seq" QUERY_DECISIONS " WHERE 1 = 1"
           : has_later                 ? "d.seq" QUERY_OUTCOMES_LATER " WHERE 1 = 1"
                                       : "d.seq" QUERY_OUTCOMES " WHERE 1 = 1";
}

void query__fini(struct query_sql *sql)
{
    buf_fini(&sql->text);
    buf_fini(&sql->quoted);
}

/* Takes: *sql: which is the caller's to end in any case. */
static enum code write_statement(const struct query *query, const struct query_shape *shape, struct query_sql *sql)
{
    size_t tenant_count;
    const struct span *tenants = query__tenants(&tenant_count);
    enum code code;

    sql->count = 0;
    sql->is_of_centre = shape->of == QUERY_OF_CENTRE;
    buf_init(&sql->text, SQL_BYTES);
    buf_init(&sql->quoted, QUOTED_BYTES);
    if (strstr(shape->head, "?1") != NULL || strstr(shape->head, "$1") != NULL)
        sql->parameter[sql->count++] = db_of_int(shape->after_seq);
    if (strstr(shape->head, "$2") != NULL) {
        sql->parameter[sql->count++] = db_of_text(shape->node);
        sql->parameter[sql->count++] = db_of_int(shape->upto);
    }
    (void)buf_addf(&sql->text, "SELECT %s", shape->head);
    if (tenants != NULL)
        (void)buf_addf(&sql->text, " AND %s IN (NULL", shape->tenant != NULL ? shape->tenant : "d.tenant");
    for (size_t i = 0; i < tenant_count; i++)
        add(sql, ", ", db_of_text(tenants[i]), "");
    if (tenants != NULL)
        (void)buf_add_byte(&sql->text, ')');
    code = add_filters(sql, query, shape);
    if (shape->order != NULL)
        (void)buf_addf(&sql->text, " ORDER BY %s", shape->order);
    return code == CODE_OK ? buf_code(&sql->text) : code;
}

enum code query__write(const struct query *query, const struct query_shape *shape, struct query_sql *sql)
{
    enum code code = write_statement(query, shape, sql);

    return code == CODE_OK ? buf_add_byte(&sql->text, '\0') : code;
}

enum code query__select(struct db *db, const struct query *query, const struct query_shape *shape, struct query_sql *sql,
                        struct db_stmt **stmt)
{
    enum code code = query__write(query, shape, sql);

    return code == CODE_OK ? db_select(db, buf_peek(&sql->text).at, sql->parameter, sql->count, stmt) : code;
}

/* ---- for people ---- */

static void add_literal(struct buf *out, const struct db_value *value)
{
    char hex[2 * DIGEST_BYTES];

    if (value->type == DB_INT) {
        (void)buf_addf(out, "%" PRId64, value->number);
    } else if (value->type == DB_BLOB) {
        num_hex((const unsigned char *)value->bytes.at, DIGEST_BYTES, hex); /* the only one: a session's digest */
        (void)buf_addf(out, "x'%.*s'", (int)sizeof hex, hex);
    } else {
        struct span rest = value->bytes;

        (void)buf_add_byte(out, '\'');
        while (rest.len > 0) {
            size_t part = span_find(rest, '\'');

            (void)buf_add_span(out, span_part(rest, 0, part));
            (void)buf_add_text(out, part < rest.len ? "''" : "");
            rest = span_part(rest, part + 1, SIZE_MAX);
        }
        (void)buf_add_byte(out, '\'');
    }
}

/* The statement's own texts have no question mark but in parameters and in one quoted character. */
enum code audit_query_sql(const struct query *query, struct buf *out)
{
    const struct query_shape shape = {.head = query__head(query, false),
                                      .order = query->order == QUERY_OLDEST_FIRST ? "d.seq" : "d.seq DESC"};
    struct query_sql sql;
    enum code code = write_statement(query, &shape, &sql);
    struct span text = buf_peek(&sql.text);

    (void)buf_add_text(out, "SELECT * FROM call WHERE seq IN (");
    while (code == CODE_OK && text.len > 0) {
        size_t len = 0, at = span_find(text, '?'), number = 0;

        while (at + 1 + len < text.len && ascii_is_digit(text.at[at + 1 + len]))
            number = 10 * number + (size_t)(text.at[at + 1 + len++] - '0');
        (void)buf_add_span(out, span_part(text, 0, len > 0 ? at : at + 1));
        if (len > 0)
            add_literal(out, &sql.parameter[number - 1]);
        text = span_part(text, at + 1 + len, SIZE_MAX);
    }
    if (query->limit != 0)
        (void)buf_addf(out, " LIMIT %" PRIu64, query->limit);
    (void)buf_addf(out, ") ORDER BY seq%s;\n", query->order == QUERY_OLDEST_FIRST ? "" : " DESC");
    query__fini(&sql);
    return code == CODE_OK ? buf_code(out) : code;
}
