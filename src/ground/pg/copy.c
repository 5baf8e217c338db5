/* SPDX-License-Identifier: Apache-2.0 */
/* COPY in its binary form: a count of columns, then each value behind its length, all big-endian. */
#include "pg/pg_priv.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 << 10)
#define DAYS_1970_TO_2000 10957 /* PostgreSQL's dates count from 2000 */

/* With its two empty fields of four bytes; the last of their zeros is the text's own end. */
static const char signature[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";

static void fail(struct pg *pg, enum code code)
{
    if (pg->copy == CODE_OK)
        pg->copy = code;
}

static void send_rows(struct pg *pg, size_t at_least)
{
    int64_t until_us = pg__until(pg->wait_ms);
    int queued;

    if (pg->copy != CODE_OK || buf_len(&pg->rows) < at_least)
        return;
    if (buf_code(&pg->rows) != CODE_OK) {
        fail(pg, buf_code(&pg->rows));
        return;
    }
    while ((queued = PQputCopyData(pg->conn, buf_peek(&pg->rows).at, (int)buf_len(&pg->rows))) == 0)
        if (pg__flush(pg, until_us) != CODE_OK)
            break;
    if (queued != 1 || pg__flush(pg, until_us) != CODE_OK)
        fail(pg, CODE_IO);
    buf_clear(&pg->rows);
}

enum code pg_copy_begin(struct pg *pg, const char *sql, struct why *why)
{
    enum code code = pg_run(pg, sql, why);

    pg->copy = code;
    buf_clear(&pg->rows);
    (void)buf_add(&pg->rows, signature, sizeof signature);
    return code;
}

static void add_length(struct pg *pg, uint32_t len)
{
    const uint32_t big = htobe32(len);

    (void)buf_add(&pg->rows, &big, sizeof big);
}

void pg_copy_row(struct pg *pg, size_t columns)
{
    const uint16_t big = htobe16((uint16_t)columns);

    send_rows(pg, CHUNK_BYTES);
    (void)buf_add(&pg->rows, &big, sizeof big);
}

void pg_copy_int(struct pg *pg, int64_t number)
{
    const uint64_t big = htobe64((uint64_t)number);

    add_length(pg, sizeof big);
    (void)buf_add(&pg->rows, &big, sizeof big);
}

void pg_copy_day(struct pg *pg, int32_t days)
{
    const uint32_t big = htobe32((uint32_t)(days - DAYS_1970_TO_2000));

    add_length(pg, sizeof big);
    (void)buf_add(&pg->rows, &big, sizeof big);
}

void pg_copy_null(struct pg *pg)
{
    add_length(pg, UINT32_MAX);
}

void pg_copy_bytes(struct pg *pg, struct span bytes)
{
    if (bytes.at == NULL) {
        pg_copy_null(pg);
        return;
    }
    if (bytes.len > INT32_MAX)
        fail(pg, CODE_LIMIT);
    add_length(pg, (uint32_t)bytes.len);
    (void)buf_add_span(&pg->rows, bytes);
}

void pg_copy_text(struct pg *pg, struct span text)
{
    pg_copy_bytes(pg, text);
}

/* The server's own refusal is told rather than that nothing could be sent to it any more. */
static enum code copy_result(struct pg *pg, uint64_t *rows, struct why *why)
{
    int64_t until_us = pg__until(pg->wait_ms);
    enum code code = pg->copy, told = CODE_OK;
    PGresult *result = NULL;

    while (told == CODE_OK && (told = pg__result(pg, until_us, &result)) == CODE_OK && result != NULL) {
        if (PQresultStatus(result) == PGRES_FATAL_ERROR && (code == CODE_OK || code == CODE_IO))
            code = pg__failed(pg, result, why);
        else if (rows != NULL && PQresultStatus(result) == PGRES_COMMAND_OK)
            *rows = strtoull(PQcmdTuples(result), NULL, 10);
        if (pg__is_copy(result)) /* no server that is one asks for more behind the end */
            told = CODE_IO;
        PQclear(result);
    }
    return told == CODE_OK ? code : pg__lose(pg, why, "rows");
}

enum code pg_copy_end(struct pg *pg, uint64_t *rows, struct why *why)
{
    static const char end[] = "\377\377";
    int64_t until_us = pg__until(pg->wait_ms);
    int queued;

    if (rows != NULL)
        *rows = 0;
    (void)buf_add(&pg->rows, end, sizeof end - 1);
    send_rows(pg, 0);
    if (pg_is_lost(pg))
        return pg__lose(pg, why, "rows");
    if (pg->copy != CODE_OK)
        (void)why_set(why, pg->copy, "rows for the database could not be made: %s", code_text(pg->copy));
    while ((queued = PQputCopyEnd(pg->conn, pg->copy == CODE_OK ? NULL : "given up")) == 0)
        if (pg__flush(pg, until_us) != CODE_OK)
            break;
    if (queued != 1 || pg__flush(pg, until_us) != CODE_OK)
        fail(pg, CODE_IO);
    buf_clear(&pg->rows);
    return copy_result(pg, rows, why);
}
