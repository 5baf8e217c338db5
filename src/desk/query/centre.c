/* SPDX-License-Identifier: Apache-2.0 */
#include "query/centre_priv.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>

#define WAIT_MS 600000
#define PIECE "4096"  /* rows that are fetched at a time */
#define COLUMNS_MAX 96
#define NUMBER_BYTES 24
#define SQL_BYTES ((size_t)32 << 10)

/* Nothing is written; each day is joined with its own outcomes; all rows of a question are wanted, not the first ones soon. */
#define SETTINGS \
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; " \
    "SET search_path = callgate_audit, pg_temp; SET timezone = 'UTC'; SET enable_partitionwise_join = on; " \
    "SET enable_partitionwise_aggregate = on; SET jit = off; SET cursor_tuple_fraction = 1.0; SET work_mem = '64MB'"

enum code centre_open(const struct pg_place *place, struct centre **out, struct why *why)
{
    struct pg_place reading = *place;
    struct centre *centre = mem_zalloc(sizeof *centre);
    enum code code;

    *out = NULL;
    if (centre == NULL)
        return why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
    reading.wait_ms = WAIT_MS;
    reading.is_any = true;
    code = pg_open(&reading, "callgate audit", &centre->pg, why);
    if (code == CODE_OK)
        code = pg_run(centre->pg, SETTINGS, why);
    *out = centre;
    if (code != CODE_OK)
        centre_close(out);
    return code;
}

void centre_close(struct centre **centre)
{
    if (*centre == NULL)
        return;
    pg_close(&(*centre)->pg);
    mem_free(*centre);
    *centre = NULL;
}

/* ---- a statement ---- */

enum code centre__begin(struct centre *centre, struct why *why)
{
    return pg_begin(centre->pg, why);
}

void centre__leave(struct centre *centre)
{
    pg_rollback(centre->pg);
}

static struct pg_value value_of(const struct db_value *value)
{
    return value->type == DB_INT    ? pg_of_int(value->number)
           : value->type == DB_TEXT ? pg_of_text(value->bytes)
                                    : pg_of_bytes(value->bytes);
}

static enum code declare(struct centre *centre, const char *name, const struct query_sql *written, struct why *why)
{
    struct pg_value values[QUERY_PARAMETERS_MAX];
    struct buf sql;
    enum code code;

    for (size_t i = 0; i < written->count; i++)
        values[i] = value_of(&written->parameter[i]);
    buf_init(&sql, SQL_BYTES);
    buf_addf(&sql, "DECLARE %s NO SCROLL CURSOR FOR ", name);
    buf_add_span(&sql, buf_peek(&written->text)); /* with its NUL */
    code = buf_code(&sql);
    if (code == CODE_OK)
        code = pg_ask(centre->pg, buf_peek(&sql).at, values, written->count, NULL, why);
    buf_fini(&sql);
    return code;
}

enum code centre__ask(struct centre *centre, const char *name, const struct query *query, const struct query_shape *shape,
                      struct centre_rows *rows, struct why *why)
{
    struct query_sql written;
    enum code code = query__write(query, shape, &written);

    *rows = (struct centre_rows){.centre = centre, .name = name};
    if (code == CODE_OK)
        code = declare(centre, name, &written, why);
    else
        (void)why_set(why, code, "what is asked is too long");
    query__fini(&written);
    return code;
}

enum code centre__next(struct centre_rows *rows, struct why *why)
{
    char fetch[64];
    enum code code;

    rows->at++;
    if (rows->piece != NULL && rows->at < pg_rows_count(rows->piece))
        return CODE_OK;
    pg_rows_free(&rows->piece);
    rows->at = 0;
    (void)snprintf(fetch, sizeof fetch, "FETCH " PIECE " FROM %s", rows->name);
    code = pg_ask(rows->centre->pg, fetch, NULL, 0, &rows->piece, why);
    return code == CODE_OK && pg_rows_count(rows->piece) == 0 ? CODE_NOT_FOUND : code;
}

void centre__end(struct centre_rows *rows)
{
    pg_rows_free(&rows->piece);
}

enum code centre__give(const struct pg_rows *piece, size_t at, size_t behind, query_row_fn row, void *context)
{
    const char *names[COLUMNS_MAX];
    struct query_value values[COLUMNS_MAX];
    char numbers[COLUMNS_MAX][NUMBER_BYTES];
    size_t count = pg_rows_columns(piece) - behind;

    count = count < COLUMNS_MAX ? count : COLUMNS_MAX;
    for (size_t i = 0; i < count; i++) {
        names[i] = pg_rows_name(piece, i);
        values[i] = (struct query_value){.text = SPAN_NONE, .is_number = pg_rows_type(piece, i) == PG_INT};
        if (pg_rows_null(piece, at, i))
            values[i].is_number = false;
        else if (values[i].is_number)
            values[i].text = span_of(numbers[i], (size_t)snprintf(numbers[i], NUMBER_BYTES, "%" PRId64,
                                                                  pg_rows_int(piece, at, i)));
        else
            values[i].text = pg_rows_bytes(piece, at, i);
    }
    return row(context, &(struct query_row){(int)count, names, values});
}

/* ---- calls ---- */

static const char *name_of(const char *column)
{
    return strcmp(column, "node") == 0 ? "host" : column;
}

static const char *const *with_node(const char *names[COLUMNS_MAX + 1], const char *const *columns)
{
    names[0] = "node";
    for (size_t i = 0; i + 1 < COLUMNS_MAX && columns[i] != NULL; i++)
        names[i + 1] = name_of(columns[i]);
    return names;
}

const char *const *centre_columns(void)
{
    static const char *names[COLUMNS_MAX + 1];

    return with_node(names, audit_columns());
}

const char *const *centre_entry_columns(void)
{
    static const char *names[COLUMNS_MAX + 1];

    return with_node(names, entry_columns());
}

void centre__write_columns(struct buf *out)
{
    for (const char *const *name = centre_columns(); *name != NULL; name++)
        buf_addf(out, "%sd.%s", name == centre_columns() ? "" : ", ", *name);
}

/* The newest are looked for from the end, node by node, unless an index leads to few rows. */
static bool is_found_by_index(const struct query *query)
{
    return query->since_us != 0 || query->until_us != 0 || query->correlation.at != NULL || query->tenant.at != NULL ||
           query->tool.at != NULL || query->principal.at != NULL || query->rule.at != NULL || query->session.at != NULL;
}

#define BY_TIME " ORDER BY time_us, node, seq"
#define BY_TIME_BACK " ORDER BY time_us DESC, node DESC, seq DESC"

/* Writes: the newest `limit` and one more, told in the order that is asked for, each with how many there are. */
static void write_newest(struct buf *head, struct buf *order, const struct query *query)
{
    bool walks = !is_found_by_index(query);

    buf_add_text(head, "found.*, count(*) OVER () FROM (SELECT ");
    buf_add_text(head, walks ? "d.* FROM node AS n CROSS JOIN LATERAL (SELECT " : "");
    centre__write_columns(head);
    buf_add_text(head, walks ? " FROM call AS d WHERE d.node = n.node" : " FROM call AS d WHERE 1 = 1");
    if (walks)
        buf_addf(order, "d.seq DESC LIMIT %" PRIu64 ") AS d" BY_TIME_BACK, query->limit + 1);
    else
        buf_add_text(order, BY_TIME_BACK + sizeof " ORDER BY" - 1);
    buf_addf(order, " LIMIT %" PRIu64 ") AS found%s", query->limit + 1,
             query->order == QUERY_NEWEST_FIRST ? BY_TIME_BACK : BY_TIME);
}

static void write_all(struct buf *head, struct buf *order, const struct query *query)
{
    centre__write_columns(head);
    buf_add_text(head, ", 0::bigint FROM call AS d WHERE 1 = 1");
    buf_add_text(order, (query->order == QUERY_NEWEST_FIRST ? BY_TIME_BACK : BY_TIME) + sizeof " ORDER BY" - 1);
    if (query->limit != 0)
        buf_addf(order, " LIMIT %" PRIu64, query->limit + 1);
}

static enum code tell(struct centre_rows *rows, const struct query *query, query_row_fn row, void *context, bool *more,
                      struct why *why)
{
    const bool drops_first = query->limit != 0 && query->order == QUERY_NEWEST_FORWARD;
    uint64_t told = 0;
    enum code code;

    while ((code = centre__next(rows, why)) == CODE_OK) {
        int64_t found = pg_rows_int(rows->piece, rows->at, pg_rows_columns(rows->piece) - 1);

        if (drops_first && !*more && told == 0 && (uint64_t)found > query->limit) {
            *more = true; /* the first is the oldest, and one too many */
            continue;
        }
        if (query->limit != 0 && told++ == query->limit) {
            *more = true;
            return CODE_OK;
        }
        code = centre__give(rows->piece, rows->at, 1, row, context);
        if (code != CODE_OK)
            return code;
    }
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

enum code centre_query(struct centre *centre, const struct query *query, query_row_fn row, void *context, bool *more,
                       struct why *why)
{
    struct query_shape shape = {.of = QUERY_OF_CENTRE};
    struct centre_rows rows = {.piece = NULL};
    struct buf head, order;
    enum code code;

    *more = false;
    buf_init(&head, SQL_BYTES);
    buf_init(&order, SQL_BYTES);
    if (query->limit != 0 && query->order != QUERY_OLDEST_FIRST)
        write_newest(&head, &order, query);
    else
        write_all(&head, &order, query);
    buf_add_byte(&head, '\0');
    buf_add_byte(&order, '\0');
    code = buf_code(&head) == CODE_OK ? buf_code(&order) : buf_code(&head);
    shape.head = code == CODE_OK ? buf_peek(&head).at : NULL;
    shape.order = code == CODE_OK ? buf_peek(&order).at : NULL;
    if (code == CODE_OK)
        code = centre__begin(centre, why);
    if (code == CODE_OK)
        code = centre__ask(centre, "calls", query, &shape, &rows, why);
    if (code == CODE_OK)
        code = tell(&rows, query, row, context, more, why);
    centre__end(&rows);
    centre__leave(centre);
    buf_fini(&head);
    buf_fini(&order);
    return code;
}

/* ---- nodes ---- */

enum code centre_nodes(struct centre *centre, centre_node_fn each, void *context, struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(centre->pg, "SELECT node FROM node ORDER BY node", NULL, 0, &rows, why);

    for (size_t i = 0; i < pg_rows_count(rows) && code == CODE_OK; i++)
        code = each(context, pg_rows_bytes(rows, i, 0));
    pg_rows_free(&rows);
    return code;
}

enum code centre__tip(struct centre *centre, struct span node, int64_t *tip, struct why *why)
{
    return pg_number(centre->pg, "SELECT coalesce(max(seq), 0) FROM node WHERE node = $1", PG_VALUES(pg_of_text(node)), tip,
                     why);
}
