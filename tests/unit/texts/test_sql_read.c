/* SPDX-License-Identifier: Apache-2.0 */
/* 7.6: what a text of SQL uses, and which texts are not read. */
#include "os/clock.h"
#include "texts/sql_read.h"
#include "sql/sql.h"
#include "fakes/cm.h"

#include <stdlib.h>

#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

struct row {
    const char *text, *names; /* statements `!`, functions `()`; NULL: not read */
};

static void say(const struct sql_reading *reading, char *out, size_t size)
{
    size_t at = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < reading->count && at < size; i++) {
        const struct sql_name *name = &reading->names[i];

        at += (size_t)snprintf(out + at, size - at, "%s%.*s%s%.*s%s", i > 0 ? " " : "", SPAN_ARG(name->schema),
                               name->schema.len > 0 ? "." : "", SPAN_ARG(name->name),
                               name->kind == SQL_FUNCTION ? "()" : name->kind == SQL_STATEMENT ? "!" : "");
    }
}

static enum code read_text(struct span text, char *names, size_t size, struct why *why)
{
    struct sql_reading reading;
    struct arena arena;
    enum code code;

    arena_init(&arena, (size_t)1 << 20);
    code = sql_read(text, &arena, &reading, why);
    if (code == CODE_OK)
        say(&reading, names, size);
    arena_fini(&arena);
    return code;
}

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct why why = {""};
        char names[1024] = "";
        enum code code = read_text(span_text(rows[i].text), names, sizeof names, &why);

        if (rows[i].names == NULL ? code != CODE_UNDECIDED || why.text[0] == '\0'
                                  : code != CODE_OK || strcmp(names, rows[i].names) != 0)
            fail_msg("%s\nis %s %s%s, wanted %s", rows[i].text, code_text(code), names, why.text,
                     rows[i].names != NULL ? rows[i].names : "not read");
    }
}

#define CHECK(rows) check_rows(rows, sizeof(rows) / sizeof *(rows))

/* Real work is read. */
static const struct row work[] = {
    {"SELECT 1", "select!"},
    {"/* daily */ -- report\nSELECT count(*) FROM orders;", "select! count() orders"},
    {"(SELECT a FROM t) UNION ALL (SELECT b FROM s.u) ORDER BY 1 LIMIT 5", "select! t s.u"},
    {"select ';drop table x' as \"comment\", comment from notes where x = E'it''s\\n' or y ~ '\\d+'", "select! notes"},
    {"VALUES (1, 'a'), (2, 'b')", "select!"},
    {"TABLE t", "select! t"},
    {"select a->'b'->>'c', x::numeric(10,2)[], cast(y as text), date '2024-01-01', interval '1 day', $1 from t", "select! t"},
    {"select rank() over w, sum(a) filter (where b) over (partition by c order by d rows 1 preceding) from t window w as (order by x)",
     "select! rank() sum() t"},
    {"select case a when 1 then b else c end, coalesce(a, b), nullif(a, b), greatest(a, b), a is null, a is not true, a in (1, 2), "
     "a between 1 and 2, not a, row(1, 2), array[1, 2], a[1:2], (b).c, array(select 1), a = any(array[1])", "select! c()"},
    {"select a, count(*) from t group by grouping sets ((a), ()), rollup (b) having grouping(a) = 0", "select! count() t"},
    {"select * from t join lateral (select max(x) from u where u.id = t.id) m on true left join v using (id)", "select! t max() u v"},
    {"select a from t order by a collate \"C\" desc nulls last fetch first 3 rows with ties", "select! t"},
    {"select f(b => 1, variadic c), s.g(distinct a order by b), percentile_cont(0.5) within group (order by x)",
     "select! f() s.g() percentile_cont()"},
    {"EXPLAIN (ANALYZE, FORMAT JSON) SELECT 1", "explain! select!"},
    {"explain analyze delete from t", "explain! delete! delete_all! t"},
    {"SHOW server_version", "show!"},
    {"insert into t (a) values (f(1)) on conflict (a) do update set b = excluded.b where g() returning h()",
     "insert! t select! f() update! g() h()"},
    {"update t set (a, b) = (select 1, 2), c = default from u where exists (select 1 from v)", "update! t select! v u"},
    {"delete from only s.t using u where f(t.a) returning *", "delete! s.t u f()"},
    {"merge into t using u on t.a = u.a when matched then delete when not matched then insert values (f(u.a))", "merge! t u f()"},
    {"select 1; delete from t", "select! delete! delete_all! t"},
    {"with a as (update t set b = 1) insert into t values (1) on conflict do nothing", "insert! update! update_all! t select!"},
};

/* What is called has a name, in whatever form it is written. */
static const struct row called[] = {
    {"select extract(year from d), d at time zone 'utc', a like b escape c, position(a in b), trim(a), overlay(a placing b from 1)",
     "select! pg_catalog.extract() pg_catalog.timezone() pg_catalog.like_escape() pg_catalog.position() pg_catalog.btrim() "
     "pg_catalog.overlay()"},
    {"select current_user, user, session_user, current_date, current_time(3), localtimestamp, current_catalog, current_schema",
     "select! current_user() user() session_user() current_date() current_time() localtimestamp() current_catalog() "
     "current_schema()"},
    {"select 'pg_authid'::regclass, x::s.money, cast(1 as pg_catalog.xid), y::public.text", "select! regclass() s.money() pg_catalog.xid() "
     "public.text()"},
    {"select * from generate_series(1, 2), rows from (f(1) as (a s.d), g()) with ordinality, current_user as u",
     "select! generate_series() f() s.d() g() current_user()"},
    {"select * from t tablesample s.sys(f(1)) repeatable (g())", "select! s.sys() t f() g()"},
    {"select a from t where b in (select f(c) from u) order by g(d) limit h() offset i()", "select! t f() u g() i() h()"},
    {"select U&\"\\0070g_sleep\"(1), U&\"d!0062link\" uescape '!' (1) from U&\"p!0067_authid\" uescape '!'",
     "select! pg_sleep() dblink() pg_authid"},
    {"select U&\"p\\0067_sleep\"(1) from u&\"\\0074\"", "select! pg_sleep() t"},
    {"select pg_catalog/**/./**/\"pg_sleep\"(1)", "select! pg_catalog.pg_sleep()"},
    /* A field of a value is a function of it where it has no such field. */
    {"select ('/etc/passwd'::text).pg_read_file, (a.b).\"F\".g from a", "select! pg_read_file() F() g() a"},
    {"select (f(1)).*, (a)[1], a.b, s.a.b from a", "select! f() a"},
    {"select f.pg_read_file from unnest(array['x']) f", "select! pg_read_file() unnest()"},
    {"select f.pg_sleep from cast(1 as float8) f", "select! pg_sleep()"},
    {"select lower.pg_read_file, x.a from pg_catalog.lower('x'), x", "select! pg_read_file() pg_catalog.lower() x"},
    {"select 1 from coalesce('x'::text)", NULL},
    {"select 1 from a join (b cross join f() g) on (select g.h)", "select! a b f() h()"},
    {"select (select g.h from a where g.i), g.j from f() g, f() k where k.g", "select! h() a i() j() f() g()"},
    {"select 1 from (select 1 from f() g) h where g.i", "select! f()"},
    {"update a set b = 1 from f() g where a.c returning g.h", "update! a f() h()"},
    {"delete from a using f() g where g.h", "delete! a f() h()"},
    {"merge into a using f() g on g.h when matched then do nothing", "merge! a f() h()"},
    /* A column is none: named, or by the row; but a function with a name for what it returns has that instead. */
    {"select g.h, g.i from f() as g(h, i)", "select! f()"},
    {"select d.d, u.u from generate_series(1, 2) d, unnest(a) u", "select! generate_series() unnest()"},
    {"select d.d from generate_series(1, 2) d(e)", "select! d() generate_series()"},
    {"select f.f from jsonb_array_elements_text('[]') f", "select! f() jsonb_array_elements_text()"},
    {"select g.h, i.j from f() as g(h int), k() with ordinality i", "select! f() k()"},
    {"SELECT PG_SLEEP(1), \"Lower\"(a)", "select! pg_sleep() Lower()"},
    {"select $$ pg_sleep(1) $$, $a$ ' $a$, f($1)", "select! f()"},
};

/* A name of WITH is no table where it is in sight, and nowhere else. */
static const struct row with[] = {
    {"with a as (select 1) select * from a", "select!"},
    {"with a as (select * from a) select * from a", "select! a"},
    {"with recursive a as (select * from b), b as (select * from a) select * from a", "select!"},
    {"with a as (select * from b), b as (select * from a) select * from b", "select! b"},
    {"with a as (select 1) select * from public.a", "select! public.a"},
    {"select * from (with a as (select 1) select * from a) q, a", "select! a"},
    {"(with a as (select 1) select 1) union select * from a", "select! a"},
    {"with a as (select 1) select (select 1 from a) union select 1 from a, (with a as (select 1 from b) select 1 from a) q", "select! b"},
    {"with a as (select 1) insert into a select * from a", "insert! select! a"},
    {"with a as (select 1) delete from a using a as b", "delete! delete_all! select! a"},
    {"with a as (delete from t returning *) select * from a", "select! delete! delete_all! t"},
    {"with a as (select 1) select 1; select 1 from a", "select! a"},
    {"with \"A\" as (select 1) select 1 from a, \"A\"", "select! a"},
};

static const struct row writing[] = {
    {"select a into temp b from c", "select! select_into! b c"},
    {"select 1 from t for update of t skip locked", "select! select_for_update! t"},
    {"select 1 from (select 1 from t for share) q", "select! select_for_update! t"},
    {"create table t as select 1", NULL},
    {"explain create table t as select 1", NULL},
    {"explain execute p", NULL},
    {"copy t to program 'x'", NULL},
    {"copy (select 1) to stdout", NULL},
    {"do $$ begin end $$", NULL},
    {"call f()", NULL},
    {"set role x", NULL},
    {"reset all", NULL},
    {"begin", NULL},
    {"commit; drop table t", NULL},
    {"select 1; commit; drop table t", NULL},
    {"declare c cursor for select 1", NULL},
    {"fetch all from c", NULL},
    {"prepare p as delete from t", NULL},
    {"execute p", NULL},
    {"lock t", NULL},
    {"listen a", NULL},
    {"notify a, 'b'", NULL},
    {"vacuum", NULL},
    {"load 'x'", NULL},
    {"truncate t", NULL},
    {"refresh materialized view v", NULL},
    {"delete from t where current of c", NULL},
};

static const struct row unread[] = {
    {"", NULL},
    {" -- nothing\n", NULL},
    {";", NULL},
    {"select", "select!"},
    {"hello", NULL},
    {"5", NULL},
    {"select * from a.b.c", NULL},
    {"select a.b.c.f()", NULL},
    {"select 1 operator(public.+) 2", NULL},
    {"select 1 operator(pg_catalog.+) 2", "select!"},
    {"select 1 from t order by a using operator(s.<)", NULL},
    {"select 1 where 1 operator(s.=) any (select 1)", NULL},
    {"select xmlelement(name a)", NULL},
    {"select a::t.c % type", "select! t.c()"},
    {"select 1 \\gexec", NULL},
    {"\\copy t to 'x'", NULL},
    {"select 'a' /* /* */", NULL},
    {"select 1 /*! union select 2 */", "select!"},
    /* where standard_conforming_strings is off, the quote behind the backslash ends nothing: no parser is asked, wherever it stands */
    {"select '\\' , pg_sleep(1) -- '", NULL},
    {"select '\\', '; delete from t --'", NULL},
    {"select '\\'' from a; --' from b", NULL},
    {"select '\\'", NULL},
    {"select E'\\'' from a", NULL},
    {"select 1 -- it\\'s", NULL},
    {"select '\\d+\\\\x' from a", "select! a"},
    {"select E'\xe4\xbd\xa0\\' , pg_sleep(60) --'", NULL}, /* 0xa0 0x5c is a character of GBK's */
    {"select E'\xe4\xbd\xa0 \\n' , pg_sleep(60) --'", "select! pg_sleep()"},
    {"select U&'\\0061' from a", "select! a"},
};

/* 10.42: what PostgreSQL's versions read differently is read by none of their parsers. */
static const struct row versions[] = {
    {"select 0x1F", NULL},
    {"select 0b1, 0o7", NULL},
    {"select 1_000", NULL},
    {"select 1from t", NULL},
    {"select $1a", NULL},
    {"select float(0x18) '1'", NULL},
    {"select 1.5e3, 1e5, .5, 2., $1, a1, t.b2_3c, '0x1F', '1_000', \"0x1\", $$0x1$$, $t1$ $$ 0x1 $t1$ -- 0x1\n/* 0x1 /* 0x2 */ 0x3 */",
     "select!"},
    {"select '2024-01-01T00:00:00Z', E'1a\\n0x1', 'it''s 0x1'", "select!"},
    {"select 'a' 0x1", NULL},
    {"select $a$ 0x1 $a$, 0x1", NULL},
    {"select 1 $1a$ 0x1 $1a$", NULL},
    {"select /* 'a */ 0x1 -- '", NULL},
    {"select 1 from (select 1)", NULL},
    {"select 1 from (select 1) a", "select!"},
    {"select a at local from t", NULL},
    {"select a At/**/-- b\nLOCAL from t", NULL},
    {"select a at time zone 'utc', local from t", "select! pg_catalog.timezone() t"},
    {"merge into t using u on t.a = u.a when not matched by source then delete", NULL},
    {"merge into t using u on t.a = u.a when not matched by target then insert values (1)", NULL},
    {"merge into t using u on t.a = u.a when matched then do nothing returning f()", NULL},
    {"select json_object('{a,1}')", NULL},
    {"select json_build_object('a', 1), x::json, json, \"json_array\"(1), \"system_user\" from \"json_value\"",
     "select! json_build_object() json_array() json_value"},
    {"select System_User", NULL},
    {"select a.json_value from a", NULL},
    {"select json /* a */ (a) from t", NULL},
    {"select json_object('a': 1)", NULL},
    {"select json_array(1)", NULL},
    {"select json(a), json_scalar(1) from t", NULL},
    {"select json_serialize(a) from t", NULL},
    {"select json_value(a, '$.b') from t", NULL},
    {"select merge_action()", NULL},
    {"select a is json from t", NULL},
    {"select * from json_table('[]', '$[*]' columns (a int))", NULL},
};

TEST_CASE(test_versions)
{
    CHECK(versions);
}

TEST_CASE(test_work)
{
    CHECK(work);
}

TEST_CASE(test_called)
{
    CHECK(called);
}

TEST_CASE(test_with)
{
    CHECK(with);
}

TEST_CASE(test_writing)
{
    CHECK(writing);
}

TEST_CASE(test_unread)
{
    struct why why;
    char names[64];

    CHECK(unread);
    assert_int_equal(read_text(SPAN_LIT("select 1\0; drop table t"), names, sizeof names, &why), CODE_UNDECIDED);
}

/* ---- bounds ---- */

/* `head`, then `unit` as often as fits, then `tail`. */
static struct span filled(char *text, size_t size, const char *head, const char *unit, const char *tail)
{
    size_t at = strlen(head), step = strlen(unit), end = strlen(tail);

    memcpy(text, head, at);
    for (; at + step + end <= size; at += step)
        memcpy(text + at, unit, step);
    memcpy(text + at, tail, end);
    return span_of(text, at + end);
}

static const char *const worst[][3] = {
    {"select 1", "+1", ""}, {"select 1", "<a ", ""}, {"select ", "+", "1"}, {"select ", "(", "1"}, {"select array", "[", ""},
    {"select ", "not ", "true"}, {"select 1", "::int", ""}, {"select 1", " union select 1", ""},
    {"select 1 from a", " join b on 1=1", ""}, {"select 1 from a", ",a", ""}, {"select 1 where 1 in (1", ",1", ")"},
    {"select ", "(select ", "1"}, {"select ", "case when ", "1"}, {"select 1", " isnull", ""}, {"select 1", " collate a", ""},
    {"select ", "- ", "1"}, {"", "select 1;", ""}, {"", ";", ""}, {"", "/*", "*/"}, {"select ", "$a", "1"}, {"select a", ".a", ""},
    {"select a", "[1]", ""}, {"select ", "f(", "1"}, {"select E'", "\\x41", "'"}, {"select '", "\\\\", "'"}, {"select ", "a", ""},
    {"select 1", " and 1", ""}, {"select ", "!", "1"}, {"select 1", "=-", " 1"}, {"select ", "1", ""}, {"select 1 from ", "\"", ""},
    {"select 'a'", "\n'a'", ""}, {"select f(", "a=>1,", "1)"}, {"with a as (", "with a as (", ""}, {"select 1 from a", ",(select 1)b", ""},
    {"select ", "*****************************************************************************************************************"
                "*********************************************************************************************** ", "1"},
    {"insert into t values (1)", ",(1)", ""}, {"select 1 from t group by cube(a", ",a", ")"}, {"select $1", "||f($1)", ""},
    {"select 1 from f() a", ",f() a", ""},
    {"select ", "a.a,", "1 from f() a(a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a)"},
};

/* What the header says of the worst: 2 MiB of stack; time is told in the tests' own way, with room for a busy machine. */
static void *read_worst(void *slowest_us)
{
    char *text = malloc(SQL_MAX_BYTES), names[65536];

    for (size_t i = 0; i < sizeof worst / sizeof *worst; i++) {
        struct span one = filled(text, SQL_MAX_BYTES, worst[i][0], worst[i][1], worst[i][2]);
        int64_t before = clock_thread_cpu_us(), took;
        struct why why;

        (void)read_text(one, names, sizeof names, &why);
        took = clock_thread_cpu_us() - before;
        if (took > *(int64_t *)slowest_us)
            *(int64_t *)slowest_us = took;
    }
    free(text);
    mem_spare_drop();
    return NULL;
}

TEST_CASE(test_worst)
{
    int64_t slowest_us = 0;
    pthread_attr_t attributes;
    pthread_t thread;

    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)4 << 20), 0);
    assert_int_equal(pthread_create(&thread, &attributes, read_worst, &slowest_us), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    print_message("slowest: %lld us\n", (long long)slowest_us);
    assert_true(slowest_us < 500000 || getenv("CALLGATE_VALGRIND") != NULL); /* which takes twenty times as long */
}

TEST_CASE(test_length)
{
    char *text = malloc(SQL_MAX_BYTES + 1), names[4096];
    struct why why;

    memset(text, ' ', SQL_MAX_BYTES + 1);
    memcpy(text, "select 1", 8);
    assert_int_equal(read_text(span_of(text, SQL_MAX_BYTES), names, sizeof names, &why), CODE_OK);
    assert_int_equal(read_text(span_of(text, SQL_MAX_BYTES + 1), names, sizeof names, &why), CODE_UNDECIDED);
    free(text);
}

TEST_CASE(test_names_are_bounded)
{
    char text[8192] = "select 1", names[8192];
    size_t at = strlen(text);
    struct why why;

    for (int i = 0; i < 255; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, ",f%d()", i);
    assert_int_equal(read_text(span_of(text, at), names, sizeof names, &why), CODE_OK);
    at += (size_t)snprintf(text + at, sizeof text - at, ",g()");
    assert_int_equal(read_text(span_of(text, at), names, sizeof names, &why), CODE_UNDECIDED);
}

/* `unit` as often as may be in sight at once, and once more. */
static void check_bound(const char *head, const char *unit, const char *tail, size_t most)
{
    char text[8192], names[64];
    struct why why;

    for (size_t count = most; count <= most + 1; count++) {
        size_t size = strlen(head) + count * strlen(unit) + strlen(tail);

        assert_true(size <= sizeof text);
        assert_int_equal(read_text(filled(text, size, head, unit, tail), names, sizeof names, &why),
                         count == most ? CODE_OK : CODE_UNDECIDED);
    }
}

TEST_CASE(test_what_is_in_sight_is_bounded)
{
    check_bound("select 1 from f() a(b)", ",f()", "", 126);
    check_bound("with a as (select)", ",b as (select)", " select", 255);
    check_bound("with recursive a as (select)", ",b as (select)", " select", 127);
}

/* The library may be built to put a pipe in the place of stderr while it reads, whatever other threads log. */
TEST_CASE(test_descriptors)
{
    struct rlimit before, none;
    struct why why = {""};
    char names[64];
    enum code code;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    code = read_text(SPAN_LIT("select 1"), names, sizeof names, &why);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (code != CODE_OK)
        fail_msg("%s; build libpg_query with -DDEBUG", why.text);
}

TEST_CASE(test_memory)
{
    struct why why;
    char names[256];
    enum code code = CODE_NOMEM;

    for (uint64_t nth = 1; code == CODE_NOMEM; nth++) {
        mem_fail_at(nth, 1);
        code = read_text(SPAN_LIT("with a as (select '\\d', f(current_user)) select * from a, b"), names, sizeof names, &why);
        mem_fail_at(0, 0);
        assert_true(nth < 1000);
    }
    assert_int_equal(code, CODE_OK);
    assert_string_equal(names, "select! f() current_user() b");
}

/* Threads that begin at once, and end, as workers and judges do. */
static void *read_some(void *unused)
{
    (void)unused;
    check_rows(with, sizeof with / sizeof *with);
    check_rows(unread, sizeof unread / sizeof *unread);
    mem_spare_drop();
    return NULL;
}

TEST_CASE(test_threads)
{
    pthread_t threads[8];

    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_some, NULL), 0);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(span_starts_with(span_text(sql_library()), SPAN_LIT("libpg_query")));
}

TEST_MAIN(NULL, NULL)
