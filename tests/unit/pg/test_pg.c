/* SPDX-License-Identifier: Apache-2.0 */
/* A real PostgreSQL (fakes/pg_server.h). Without one here the tests are skipped. */
#include "pg/pg.h"

#include "os/clock.h"
#include "fakes/pg_server.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pg_place tester(void)
{
    return (struct pg_place){.database = pg_server.url, .user = SPAN_LIT("tester"), .password = SPAN_LIT("secret words")};
}

TEST_CASE(test_values_come_back)
{
    struct pg *pg = pg_server_open(tester());
    struct pg_rows *rows;
    struct why why = {0};

    assert_int_equal(pg_ask(pg, "SELECT $1, $2, $3, $4::text, -7::int2, true, 1.5::float8, 12::numeric AS n",
                            PG_VALUES(pg_of_int(INT64_MIN), pg_of_text(SPAN_LIT("grüße")), pg_of_bytes(span_of("a\0\xff", 3)), {0}), &rows,
                            &why), CODE_OK);
    assert_int_equal(pg_rows_count(rows), 1);
    assert_int_equal(pg_rows_columns(rows), 8);
    assert_true(pg_rows_int(rows, 0, 0) == INT64_MIN);
    assert_true(span_is(pg_rows_bytes(rows, 0, 1), "grüße"));
    assert_true(span_equals(pg_rows_bytes(rows, 0, 2), span_of("a\0\xff", 3)));
    assert_true(pg_rows_null(rows, 0, 3));
    assert_null(pg_rows_bytes(rows, 0, 3).at);
    assert_int_equal(pg_rows_int(rows, 0, 4), -7);
    assert_int_equal(pg_rows_int(rows, 0, 5), 1);
    assert_int_equal(pg_rows_type(rows, 6), PG_REAL);
    assert_int_equal(pg_rows_type(rows, 7), PG_OTHER);
    assert_string_equal(pg_rows_name(rows, 7), "n");
    assert_true(pg_rows_null(rows, 1, 0) && pg_rows_null(rows, 0, 8)); /* what is not there */
    assert_int_equal(pg_rows_int(rows, 9, 9), 0);
    pg_rows_free(&rows);
    assert_int_equal(pg_ask(pg, "SELECT current_setting('search_path')", NULL, 0, &rows, &why), CODE_OK);
    assert_true(span_is(pg_rows_bytes(rows, 0, 0), "callgate,pg_temp"));
    pg_rows_free(&rows);
    pg_close(&pg);
}

/* What a failure is called, and that the connection goes on after it. */
TEST_CASE(test_failures)
{
    static const struct { const char *sql; enum code code; const char *state; } cases[] = {
        {"INSERT INTO public.once VALUES(1)", CODE_EXISTS, "23505"},
        {"SELECT * FROM pg_authid", CODE_DENIED, "42501"},
        {"SELECT * FROM nothing", CODE_NOT_FOUND, "42P01"},
        {"SELECT callgate.nothing()", CODE_NOT_FOUND, "3F000"},
        {"SELEC", CODE_INVALID, "42601"},
        {"SELECT 1/0", CODE_INVALID, "22012"},
        {"SET statement_timeout = 50; SELECT pg_sleep(5)", CODE_IO, "57014"},
        {"BEGIN READ ONLY; INSERT INTO public.once VALUES(2)", CODE_IO, "25006"},
    };
    struct pg *pg = pg_server_open(tester());

    assert_int_equal(pg_run(pg, "CREATE TABLE public.once(a int PRIMARY KEY); INSERT INTO public.once VALUES(1)", NULL), CODE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct why why = {0};

        assert_int_equal(pg_run(pg, cases[i].sql, &why), cases[i].code);
        assert_string_equal(pg_sqlstate(pg), cases[i].state);
        assert_non_null(strstr(why.text, cases[i].state));
        pg_rollback(pg);
        assert_int_equal(pg_server_number(pg, "SELECT 3"), 3);
    }
    assert_false(pg_is_lost(pg));
    pg_close(&pg);
}

TEST_CASE(test_transactions)
{
    struct pg *pg = pg_server_open(tester());
    struct why why = {0};
    bool unknown = true;

    pg_server_ask(pg, "CREATE TABLE public.t(a int)");
    assert_int_equal(pg_begin(pg, &why), CODE_OK);
    pg_server_ask(pg, "INSERT INTO public.t VALUES(1)");
    assert_int_equal(pg_commit(pg, &unknown, &why), CODE_OK);
    assert_false(unknown);
    assert_int_equal(pg_begin(pg, &why), CODE_OK);
    pg_server_ask(pg, "INSERT INTO public.t VALUES(2)");
    assert_int_equal(pg_ask(pg, "SELECT 1/0", NULL, 0, NULL, &why), CODE_INVALID);
    assert_int_equal(pg_commit(pg, &unknown, &why), CODE_INVALID); /* the server rolls back, and calls that a success */
    assert_false(unknown);
    assert_int_equal(pg_begin(pg, &why), CODE_OK);
    pg_server_ask(pg, "INSERT INTO public.t VALUES(3)");
    pg_rollback(pg);
    pg_rollback(pg);
    assert_int_equal(pg_server_number(pg, "SELECT count(*) FROM public.t"), 1);
    pg_close(&pg);
}

/* Every byte in every column, and more than a chunk. */
TEST_CASE(test_copy)
{
    struct pg *pg = pg_server_open(tester());
    struct why why = {0};
    unsigned char all[256];
    uint64_t rows;

    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (unsigned char)i;
    pg_server_ask(pg, "CREATE TABLE public.c(a bigint, d date, t text, b bytea, n text)");
    assert_int_equal(pg_copy_begin(pg, "COPY public.c FROM STDIN (FORMAT binary)", &why), CODE_OK);
    for (int64_t i = 0; i < 10000; i++) {
        pg_copy_row(pg, 5);
        pg_copy_int(pg, i);
        pg_copy_day(pg, 20786);
        pg_copy_text(pg, SPAN_LIT("permit"));
        pg_copy_bytes(pg, span_of(all, sizeof all));
        pg_copy_null(pg);
    }
    assert_int_equal(pg_copy_end(pg, &rows, &why), CODE_OK);
    assert_int_equal(rows, 10000);
    assert_int_equal(pg_server_number(pg, "SELECT count(*) FROM public.c WHERE d = '2026-11-29' AND t = 'permit' AND n IS NULL "
                                "AND length(b) = 256"), 10000);
    assert_int_equal(pg_server_number(pg, "SELECT get_byte(b, 200) FROM public.c WHERE a = 7"), 200);

    /* a row that the server refuses: none of all counts, its sentence is told, and the connection goes on */
    assert_int_equal(pg_copy_begin(pg, "COPY public.c FROM STDIN (FORMAT binary)", &why), CODE_OK);
    for (int64_t i = 0; i < 10000; i++) {
        pg_copy_row(pg, 5);
        pg_copy_int(pg, i);
        pg_copy_day(pg, 20786);
        pg_copy_text(pg, i == 5 ? SPAN_LIT("\xff") : SPAN_LIT("deny"));
        pg_copy_bytes(pg, SPAN_NONE);
        pg_copy_text(pg, SPAN_NONE);
    }
    assert_int_equal(pg_copy_end(pg, &rows, &why), CODE_INVALID);
    assert_string_equal(pg_sqlstate(pg), "22021");
    assert_int_equal(pg_server_number(pg, "SELECT count(*) FROM public.c"), 10000);
    pg_close(&pg);
}

TEST_CASE(test_notices)
{
    struct pg *pg = pg_server_open(tester()), *other = pg_server_open(tester());
    struct why why = {0};
    bool is_notified = true;

    assert_int_equal(pg_listen(pg, "callgate_change", &why), CODE_OK);
    assert_int_equal(pg_notified(pg, &is_notified, &why), CODE_OK);
    assert_false(is_notified);
    pg_server_ask(other, "NOTIFY callgate_change");
    for (int i = 0; i < 6000 && !is_notified; i++) {
        usleep(10000);
        assert_int_equal(pg_notified(pg, &is_notified, &why), CODE_OK);
    }
    assert_true(is_notified);
    assert_true(pg_socket(pg) >= 0);
    pg_close(&pg);
    pg_close(&other);
}

static void refused(struct pg_place place, enum code code, const char *words)
{
    struct why why = {0};
    struct pg *pg;

    if (pg_open(&place, "callgate test", &pg, &why) != code || strstr(why.text, words) == NULL)
        fail_msg("wanted %d, \"%s\": %s", code, words, why.text);
    assert_null(pg);
    assert_null(strstr(why.text, "secret words"));
}

TEST_CASE(test_who_is_not_let_in)
{
    struct pg_place place = tester();
    char url[512];

    place.password = SPAN_LIT("other words");
    refused(place, CODE_DENIED, "28P01");
    place = tester();
    place.user = SPAN_LIT("nobody");
    refused(place, CODE_DENIED, "28P01");
    place = tester();
    (void)snprintf(url, sizeof url, "postgresql://127.0.0.1:%s/other?sslmode=verify-full&sslrootcert=%s", pg_server.port, pg_server.root);
    place.database = url;
    refused(place, CODE_NOT_FOUND, "3D000");
    (void)snprintf(url, sizeof url, "postgresql://127.0.0.2:%s/callgate?sslmode=verify-full&sslrootcert=%s", pg_server.port,
     pg_server.root);
    refused(place, CODE_IO, "127.0.0.2"); /* it listens at one address */
    (void)snprintf(url, sizeof url, "postgresql://other.example:%s/callgate?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert=%s",
                   pg_server.port, pg_server.root);
    refused(place, CODE_DENIED, "must prove its name");
    (void)snprintf(url, sizeof url, "postgresql://127.0.0.2:%s,localhost:%s/callgate?sslmode=verify-full&sslrootcert=%s",
                   pg_server.port, pg_server.port, pg_server.root);
    struct pg *pg = pg_server_open(place); /* the second of two hosts */
    pg_close(&pg);
}

/* A server that hangs holds nobody longer than was said; one that is gone is told at once. */
TEST_CASE(test_who_does_not_answer)
{
    struct pg_place place = tester();
    struct pg *pg;
    struct why why = {0};
    int64_t begun_us;
    bool unknown = false;

    place.wait_ms = 1500; /* a busy machine's server needs some of it for what it does answer */
    pg = pg_server_open(place);
    pg_server_ask(pg, "CREATE TABLE public.late(a int)");
    assert_int_equal(pg_begin(pg, &why), CODE_OK);
    pg_server_ask(pg, "INSERT INTO public.late VALUES(1)");
    pg_server_tell("pause");
    begun_us = clock_monotonic_us();
    assert_int_equal(pg_commit(pg, &unknown, &why), CODE_IO);
    assert_true(unknown);
    assert_true(clock_monotonic_us() - begun_us >= 2400000);
    assert_true(pg_is_lost(pg));
    assert_int_equal(pg_socket(pg), -1);
    assert_int_equal(pg_ask(pg, "SELECT 1", NULL, 0, NULL, &why), CODE_IO);
    pg_server_tell("resume");
    pg_close(&pg);
    pg = pg_server_open(place);
    pg_server_tell("kill");
    assert_int_equal(pg_ask(pg, "SELECT 1", NULL, 0, NULL, &why), CODE_IO);
    assert_true(pg_is_lost(pg));
    assert_int_equal(pg_commit(pg, &unknown, &why), CODE_IO);
    assert_false(unknown); /* it was never sent */
    pg_close(&pg);
    refused(place, CODE_IO, "refused");
    pg_server_tell("start");
    pg = pg_server_open(place);
    pg_close(&pg);
}

int main(void)
{
    if (!pg_server_is_there())
        return 0;
    return tests_run(pg_server_start, pg_server_finish);
}
