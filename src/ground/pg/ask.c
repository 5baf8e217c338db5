/* SPDX-License-Identifier: Apache-2.0 */
/* Statements and their rows; transactions; notices. All go without blocking on the library's side, so that a server that stops
 * in the middle of an answer holds nobody. */
#include "base/mem.h"
#include "pg/pg_priv.h"

#include <ctype.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

/* Of pg_type.dat, which never change. */
enum { OID_BOOL = 16, OID_BYTEA = 17, OID_INT8 = 20, OID_INT2 = 21, OID_INT4 = 23, OID_TEXT = 25, OID_FLOAT4 = 700,
       OID_FLOAT8 = 701, OID_VARCHAR = 1043, OID_NAME = 19, OID_UNKNOWN = 705 };

enum code pg__flush(struct pg *pg, int64_t until_us)
{
    int left;

    while ((left = PQflush(pg->conn)) > 0)
        if (pg__wait(pg->conn, true, until_us) != CODE_OK || PQconsumeInput(pg->conn) == 0)
            return CODE_IO;
    return left == 0 ? CODE_OK : CODE_IO;
}

enum code pg__result(struct pg *pg, int64_t until_us, PGresult **result)
{
    while (PQisBusy(pg->conn) != 0)
        if (pg__wait(pg->conn, false, until_us) != CODE_OK || PQconsumeInput(pg->conn) == 0)
            return CODE_IO;
    *result = PQgetResult(pg->conn);
    return CODE_OK;
}

/* While a COPY is under way the library gives the same result again and again. */
bool pg__is_copy(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

/* The last result of a statement, once the server is ready for the next. *last may be NULL with CODE_OK: it said nothing. */
static enum code last_result(struct pg *pg, int64_t until_us, PGresult **last)
{
    enum code code = pg__flush(pg, until_us);
    PGresult *result = NULL;

    *last = NULL;
    while (code == CODE_OK && (code = pg__result(pg, until_us, &result)) == CODE_OK && result != NULL) {
        PQclear(*last);
        *last = result;
        if (pg__is_copy(result))
            break;
    }
    if (code != CODE_OK) {
        PQclear(*last);
        *last = NULL;
    }
    return code;
}

static enum code finish(struct pg *pg, bool is_sent, struct pg_rows **out, struct why *why)
{
    int64_t until_us = pg__until(pg->wait_ms);
    PGresult *result = NULL;
    enum code code = CODE_OK;

    if (!is_sent || last_result(pg, until_us, &result) != CODE_OK || result == NULL)
        return pg__lose(pg, why, "a question");
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK &&
        PQresultStatus(result) != PGRES_COPY_IN)
        code = pg__failed(pg, result, why);
    if (code == CODE_OK && out != NULL) {
        *out = mem_alloc(sizeof **out);
        code = *out != NULL ? CODE_OK : why_set(why, CODE_NOMEM, "not enough memory for the database's rows");
    }
    if (code == CODE_OK && out != NULL)
        **out = (struct pg_rows){.result = result};
    else
        PQclear(result);
    return code;
}

enum code pg_ask(struct pg *pg, const char *sql, const struct pg_value *values, size_t count, struct pg_rows **out,
                 struct why *why)
{
    Oid types[PG_VALUES_MAX] = {0};
    const char *at[PG_VALUES_MAX] = {0};
    int lengths[PG_VALUES_MAX] = {0}, formats[PG_VALUES_MAX] = {0};
    int64_t numbers[PG_VALUES_MAX];
    bool is_sent;

    BUG_ON(count > PG_VALUES_MAX);
    if (out != NULL)
        *out = NULL;
    pg->state[0] = '\0';
    if (pg_is_lost(pg))
        return pg__lose(pg, why, "a question");
    for (size_t i = 0; i < count; i++) {
        const struct pg_value *value = &values[i];

        formats[i] = 1;
        if (value->type == PG_INT) {
            numbers[i] = (int64_t)htobe64((uint64_t)value->number);
            types[i] = OID_INT8, at[i] = (const char *)&numbers[i], lengths[i] = sizeof numbers[i];
        } else if (value->type != PG_NULL) {
            if (value->bytes.len > INT32_MAX)
                return why_set(why, CODE_LIMIT, "a value for the database is larger than 2 GiB");
            types[i] = value->type == PG_TEXT ? OID_TEXT : OID_BYTEA;
            at[i] = value->bytes.at, lengths[i] = (int)value->bytes.len;
        }
    }
    is_sent = PQsendQueryParams(pg->conn, sql, (int)count, types, at, lengths, formats, 1) == 1;
    return finish(pg, is_sent, out, why);
}

enum code pg_number(struct pg *pg, const char *sql, const struct pg_value *values, size_t count, int64_t *number,
                    struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(pg, sql, values, count, &rows, why);

    *number = pg_rows_int(rows, 0, 0);
    pg_rows_free(&rows);
    return code;
}

enum code pg_run(struct pg *pg, const char *sql, struct why *why)
{
    pg->state[0] = '\0';
    if (pg_is_lost(pg))
        return pg__lose(pg, why, "a statement");
    return finish(pg, PQsendQuery(pg->conn, sql) == 1, NULL, why);
}

size_t pg_rows_count(const struct pg_rows *rows)
{
    return rows != NULL ? (size_t)PQntuples(rows->result) : 0;
}

size_t pg_rows_columns(const struct pg_rows *rows)
{
    return (size_t)PQnfields(rows->result);
}

const char *pg_rows_name(const struct pg_rows *rows, size_t column)
{
    return column < pg_rows_columns(rows) ? PQfname(rows->result, (int)column) : "";
}

enum pg_type pg_rows_type(const struct pg_rows *rows, size_t column)
{
    switch (column < pg_rows_columns(rows) ? PQftype(rows->result, (int)column) : 0) {
    case OID_BOOL:
    case OID_INT2:
    case OID_INT4:
    case OID_INT8:
        return PG_INT;
    case OID_BYTEA:
        return PG_BYTES;
    case OID_FLOAT4:
    case OID_FLOAT8:
        return PG_REAL;
    case OID_TEXT:
    case OID_VARCHAR:
    case OID_NAME:
    case OID_UNKNOWN:
        return PG_TEXT;
    default:
        return PG_OTHER;
    }
}

bool pg_rows_null(const struct pg_rows *rows, size_t row, size_t column)
{
    return row >= pg_rows_count(rows) || column >= pg_rows_columns(rows) ||
           PQgetisnull(rows->result, (int)row, (int)column) != 0;
}

struct span pg_rows_bytes(const struct pg_rows *rows, size_t row, size_t column)
{
    if (pg_rows_null(rows, row, column))
        return SPAN_NONE;
    return span_of(PQgetvalue(rows->result, (int)row, (int)column), (size_t)PQgetlength(rows->result, (int)row, (int)column));
}

int64_t pg_rows_int(const struct pg_rows *rows, size_t row, size_t column)
{
    struct span value = pg_rows_bytes(rows, row, column);
    uint64_t number = value.len > 0 && value.len < 8 && (value.at[0] & 0x80) != 0 ? UINT64_MAX : 0;

    if (value.at == NULL || pg_rows_type(rows, column) != PG_INT || value.len > 8)
        return 0;
    for (size_t i = 0; i < value.len; i++)
        number = number << 8 | (unsigned char)value.at[i];
    return (int64_t)number;
}

void pg_rows_free(struct pg_rows **rows)
{
    if (*rows == NULL)
        return;
    PQclear((*rows)->result);
    mem_free(*rows);
    *rows = NULL;
}

enum code pg_begin(struct pg *pg, struct why *why)
{
    return pg_run(pg, "BEGIN", why);
}

/* A transaction in which something failed is rolled back by its COMMIT, which succeeds. */
enum code pg_commit(struct pg *pg, bool *unknown, struct why *why)
{
    int64_t until_us = pg__until(pg->wait_ms);
    bool is_sent = !pg_is_lost(pg) && PQsendQuery(pg->conn, "COMMIT") == 1;
    PGresult *result = NULL;
    enum code code = is_sent ? last_result(pg, until_us, &result) : CODE_IO;

    if (unknown != NULL)
        *unknown = is_sent && (code != CODE_OK || result == NULL ||
                               (PQresultStatus(result) != PGRES_COMMAND_OK && PQstatus(pg->conn) == CONNECTION_BAD));
    if (code != CODE_OK || result == NULL)
        return pg__lose(pg, why, "a commit");
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        code = pg__failed(pg, result, why);
    else if (strcmp(PQcmdStatus(result), "COMMIT") != 0)
        code = why_set(why, CODE_INVALID, "%s: the transaction had failed before its commit", pg->server);
    PQclear(result);
    return code;
}

void pg_rollback(struct pg *pg)
{
    if (!pg_is_lost(pg) && PQtransactionStatus(pg->conn) != PQTRANS_IDLE && pg_run(pg, "ROLLBACK", NULL) != CODE_OK)
        pg->is_lost = true; /* a session in an unknown transaction is of no use */
}

enum code pg_listen(struct pg *pg, const char *channel, struct why *why)
{
    char sql[80];

    for (const char *at = channel; *at != '\0'; at++)
        BUG_ON(!islower((unsigned char)*at) && *at != '_');
    (void)snprintf(sql, sizeof sql, "LISTEN %s", channel);
    return pg_run(pg, sql, why);
}

enum code pg_notified(struct pg *pg, bool *is_notified, struct why *why)
{
    PGnotify *notice;

    *is_notified = false;
    if (pg_is_lost(pg) || PQconsumeInput(pg->conn) == 0)
        return pg__lose(pg, why, "a wait for notices");
    while ((notice = PQnotifies(pg->conn)) != NULL) {
        *is_notified = true;
        PQfreemem(notice);
    }
    return CODE_OK;
}

enum code pg_quote_text(struct span text, char *out, size_t size)
{
    size_t len = 0;

    if (text.len > 0 && memchr(text.at, '\0', text.len) != NULL)
        return CODE_INVALID;
    if (2 * text.len + 4 > size)
        return CODE_LIMIT;
    out[len++] = 'E'; /* means the same whatever standard_conforming_strings says */
    out[len++] = '\'';
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '\'' || text.at[i] == '\\')
            out[len++] = text.at[i];
        out[len++] = text.at[i];
    }
    out[len++] = '\'';
    out[len] = '\0';
    return CODE_OK;
}
