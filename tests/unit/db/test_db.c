/* SPDX-License-Identifier: Apache-2.0 */
#include "db/db.h"

#include "base/mem.h"
#include "fakes/cm.h"
#include "fakes/folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char folder[64];
    char path[96];
};

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof *place);

    (void)snprintf(place->folder, sizeof place->folder, "/tmp/callgate-db-XXXXXX");
    if (mkdtemp(place->folder) == NULL)
        return -1;
    (void)snprintf(place->path, sizeof place->path, "%s/x.db", place->folder);
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;

    folder_remove(place->folder);
    free(place);
    return 0;
}

static struct db *make(const char *path)
{
    struct why why = {0};
    struct db *db;

    if (db_open(path, DB_CREATE, &db, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return db;
}

TEST_CASE_WITH(test_values_come_back, setup, teardown)
{
    struct place *place = *state;
    struct db *db = make(place->path);
    struct db_stmt *put, *get;

    assert_int_equal(db_exec(db, "CREATE TABLE t(i, s, b, n, r)"), CODE_OK);
    assert_int_equal(db_prepare(db, "INSERT INTO t VALUES(?, ?, ?, ?, 0.5)", &put), CODE_OK);
    db_bind_int(put, 1, INT64_MIN);
    db_bind_text(put, 2, span_of("a\0b", 3));
    db_bind_blob(put, 3, SPAN_LIT(""));
    db_bind_text(put, 4, SPAN_NONE);
    assert_int_equal(db_run(put), CODE_OK);
    assert_int_equal(db_last_id(db), 1);
    assert_int_equal(db_run(put), CODE_OK); /* bindings were cleared */
    assert_int_equal(db_prepare(db, "SELECT i, s, b, n, r, typeof(i), typeof(b) AS kind FROM t ORDER BY rowid", &get),
                     CODE_OK);
    assert_int_equal(db_step(get), CODE_OK);
    assert_int_equal(db_columns(get), 7);
    assert_string_equal(db_column_name(get, 6), "kind");
    assert_true(db_int(get, 0) == INT64_MIN);
    assert_true(span_equals(db_text(get, 1), span_of("a\0b", 3)));
    assert_true(db_blob(get, 2).at != NULL && db_blob(get, 2).len == 0);
    assert_true(db_text(get, 3).at == NULL && db_is_null(get, 3) && db_blob(get, 3).at == NULL);
    assert_true(span_is(db_text(get, 6), "blob"));
    assert_int_equal(db_step(get), CODE_OK);
    assert_true(span_is(db_text(get, 5), "null"));
    assert_int_equal(db_step(get), CODE_NOT_FOUND);
    db_finalize(&put);
    db_finalize(&get);
    db_close(&db);
    assert_null(db);
}

/* Reading the rows of a question with db_next. */
TEST_CASE_WITH(test_rows_one_after_the_other, setup, teardown)
{
    static const char *const numbers = "SELECT value FROM json_each(?1) WHERE value <> 7";
    const struct span three = SPAN_LIT("[1, 7, 2, 3]");
    struct place *place = *state;
    struct db *db = make(place->path);
    struct db_stmt *rows;
    int64_t sum = 0;
    enum code code = db_select(db, numbers, DB_VALUES(db_of_text(three)), &rows);

    while (db_next(&rows, &code))
        sum += db_int(rows, 0);
    assert_int_equal(code, CODE_OK);
    assert_int_equal(sum, 6);
    assert_null(rows); /* given back: db_close would refuse else */

    code = db_select(db, numbers, DB_VALUES(db_of_text(three)), &rows); /* what the loop says ends it */
    for (sum = 0; db_next(&rows, &code); sum++)
        code = CODE_NOMEM;
    assert_int_equal(code, CODE_NOMEM);
    assert_int_equal(sum, 1);
    assert_null(rows);

    code = db_select(db, "SELECT * FROM nowhere", NULL, 0, &rows); /* and what was before it */
    assert_false(db_next(&rows, &code));
    assert_int_not_equal(code, CODE_OK);

    code = db_select(db, numbers, DB_VALUES(db_of_text(SPAN_LIT("[1, 7, 2"))), &rows); /* and what SQLite says */
    while (db_next(&rows, &code))
        continue;
    assert_int_not_equal(code, CODE_OK);
    assert_null(rows);
    db_close(&db);
}

TEST_CASE_WITH(test_file_is_made_0640, setup, teardown)
{
    struct place *place = *state;
    mode_t old = umask(0);
    struct db *db = make(place->path);
    struct stat stat_of;
    char path[128];

    assert_int_equal(db_exec(db, "PRAGMA journal_mode=WAL; CREATE TABLE t(x)"), CODE_OK);
    assert_int_equal(stat(place->path, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0640);
    (void)snprintf(path, sizeof path, "%s-wal", place->path);
    assert_int_equal(stat(path, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0640);
    db_close(&db);
    assert_int_equal(stat(path, &stat_of), -1);
    db = make(place->path);
    db_keep_wal(db);
    assert_int_equal(db_exec(db, "CREATE TABLE u(x)"), CODE_OK);
    db_close(&db);
    assert_int_equal(stat(path, &stat_of), 0);
    (void)umask(old);
}

TEST_CASE_WITH(test_what_cannot_be_opened, setup, teardown)
{
    struct place *place = *state;
    struct why why = {0};
    struct db *db;
    char path[128];
    int fd;

    assert_int_equal(db_open(place->path, DB_READ, &db, &why), CODE_NOT_FOUND);
    assert_null(db);
    assert_int_equal(db_open(place->path, DB_WRITE, &db, &why), CODE_NOT_FOUND);
    assert_int_equal(access(place->path, F_OK), -1);
    (void)snprintf(path, sizeof path, "%s/none/x.db", place->folder);
    assert_int_equal(db_open(path, DB_CREATE, &db, &why), CODE_IO);
    assert_true(why.text[0] != '\0');
    fd = open(place->path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "this is not a database, however long it may be", 46), 46);
    (void)close(fd);
    assert_int_equal(db_open(place->path, DB_READ, &db, &why), CODE_INVALID);
    assert_null(db);
}

/* Neither it nor what SQLite reads beside it; who only reads is told nothing. */
TEST_CASE_WITH(test_others_may_write, setup, teardown)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    static const mode_t modes[] = {0660, 0642};
    static const enum db_mode kinds[] = {DB_WRITE, DB_CREATE, DB_ALONE};
    struct place *place = *state;
    struct db *db = make(place->path), *other;
    struct why why = {0};
    char path[128];

    assert_int_equal(db_exec(db, "PRAGMA journal_mode=WAL; CREATE TABLE t(x)"), CODE_OK);
    for (size_t i = 0; i < 3 * 2 * 3; i++) {
        (void)snprintf(path, sizeof path, "%s%s", place->path, ends[i % 3]);
        assert_int_equal(chmod(path, modes[i / 3 % 2]), 0);
        assert_int_equal(db_open(place->path, kinds[i / 6], &other, &why), CODE_DENIED);
        assert_null(other);
        assert_non_null(strstr(why.text, path));
        assert_non_null(strstr(why.text, "chmod go-w"));
        assert_int_equal(db_open(place->path, DB_READ, &other, &why), CODE_OK);
        db_close(&other);
        assert_int_equal(chmod(path, 0640), 0);
    }
    assert_int_equal(db_open(place->path, DB_WRITE, &other, &why), CODE_OK);
    db_close(&other);
    db_close(&db);
}

TEST_CASE_WITH(test_hardened, setup, teardown)
{
    struct place *place = *state;
    struct db *db = make(place->path);

    assert_int_equal(db_exec(db, "SELECT load_extension('x')"), CODE_IO);
    assert_int_equal(db_exec(db, "SELECT \"no such column\""), CODE_IO);
    assert_int_equal(db_exec(db, "PRAGMA writable_schema=1; CREATE TABLE t(x)"), CODE_OK);
    assert_int_equal(db_exec(db, "UPDATE sqlite_schema SET sql='' WHERE name='t'"), CODE_IO);
    assert_int_equal(db_exec(db, "CREATE TABLE p(a PRIMARY KEY); CREATE TABLE c(a REFERENCES p)"), CODE_OK);
    assert_int_equal(db_exec(db, "INSERT INTO c VALUES(1)"), CODE_IO);
    assert_true(db_error(db)[0] != '\0');
    db_close(&db);
}

TEST_CASE_WITH(test_codes, setup, teardown)
{
    struct place *place = *state;
    struct db *db = make(place->path), *other = make(place->path);
    struct db_stmt *stmt;

    assert_int_equal(db_exec(db, "CREATE TABLE t(x UNIQUE, y CHECK (y > 0)); INSERT INTO t VALUES(1, 1)"), CODE_OK);
    assert_int_equal(db_exec(db, "INSERT INTO t VALUES(1, 1)"), CODE_EXISTS);
    assert_int_equal(db_exec(db, "INSERT INTO t VALUES(2, 0)"), CODE_IO);
    assert_int_equal(db_prepare(db, "NOT SQL", &stmt), CODE_IO);
    assert_null(stmt);
    db_busy_wait(other, 1);
    assert_int_equal(db_begin(db), CODE_OK);
    assert_int_equal(db_begin(other), CODE_BUSY);
    assert_int_equal(db_exec(db, "INSERT INTO t VALUES(3, 1)"), CODE_OK);
    db_rollback(db);
    db_rollback(db); /* nothing open: nothing happens */
    assert_int_equal(db_begin(other), CODE_OK);
    assert_int_equal(db_exec(other, "INSERT INTO t VALUES(4, 1)"), CODE_OK);
    assert_int_equal(db_commit(other), CODE_OK);
    assert_int_equal(db_prepare(db, "SELECT group_concat(x) FROM t", &stmt), CODE_OK);
    assert_int_equal(db_step(stmt), CODE_OK);
    assert_true(span_is(db_text(stmt, 0), "1,4"));
    db_finalize(&stmt);
    assert_int_equal(db_exec(db, "PRAGMA max_page_count=4"), CODE_OK);
    assert_int_equal(db_exec(db, "INSERT INTO t VALUES(zeroblob(100000), 1)"), CODE_LIMIT);
    db_close(&db);
    db_close(&other);
}

static int64_t ask(const char *path, const char *sql)
{
    struct why why = {0};
    struct db *other;
    int64_t number = -1;

    assert_int_equal(db_open(path, DB_WRITE, &other, &why), CODE_OK);
    assert_int_equal(db_number(other, sql, NULL, 0, &number), CODE_OK);
    db_close(&other);
    return number;
}

/* What a connection commits is in the file for everybody; what it writes before that it reads itself. 1.25 */
TEST_CASE_WITH(test_commits, setup, teardown)
{
    struct place *place = *state;
    struct why why = {0};
    struct db *db;
    int64_t number = 0;

    assert_int_equal(db_open(place->path, DB_CREATE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -64;"
                                 "CREATE TABLE t(n INTEGER PRIMARY KEY, b BLOB)"), CODE_OK);
    for (int round = 1; round <= 40; round++) {
        assert_int_equal(db_begin(db), CODE_OK);
        /* The tenth is far larger than the cache: pages go to the -wal file before the commit. */
        assert_int_equal(db_exec(db, round == 10 ? "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 400)"
                                                   "INSERT INTO t(b) SELECT zeroblob(3000) FROM c"
                                                 : "INSERT INTO t(b) VALUES (zeroblob(100))"), CODE_OK);
        assert_int_equal(db_number(db, "SELECT count(*) FROM t WHERE length(b) >= 100", NULL, 0, &number), CODE_OK);
        assert_int_equal(number, round + (round >= 10 ? 399 : 0));
        assert_int_equal(ask(place->path, "SELECT count(*) FROM t"), number - (round == 10 ? 400 : 1));
        assert_int_equal(db_commit(db), CODE_OK);
        assert_int_equal(ask(place->path, "SELECT count(*) FROM t"), number);
        if (round % 7 == 0) /* the -wal file begins anew */
            assert_int_equal(ask(place->path, "PRAGMA wal_checkpoint(RESTART)"), 0);
    }
    assert_int_equal(db_begin(db), CODE_OK);
    assert_int_equal(db_exec(db, "DELETE FROM t"), CODE_OK);
    db_rollback(db);
    assert_int_equal(ask(place->path, "SELECT count(*) FROM t"), number);
    db_close(&db);
    assert_int_equal(ask(place->path, "SELECT count(*) FROM t"), number);
}

/* A write that fails makes the commit fail, and nobody sees anything of it. 3.9 */
TEST_CASE_WITH(test_on_a_full_disk, setup, teardown)
{
    struct place *place = *state;
    struct rlimit before, small = {.rlim_cur = 256 << 10};
    struct why why = {0};
    struct db *db;

    assert_int_equal(db_open(place->path, DB_CREATE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                                 "CREATE TABLE t(n INTEGER PRIMARY KEY, b BLOB); INSERT INTO t(b) VALUES (x'00')"), CODE_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(db_begin(db), CODE_OK);
    assert_int_equal(db_exec(db, "INSERT INTO t(b) VALUES (zeroblob(400000))"), CODE_OK);
    assert_int_not_equal(db_commit(db), CODE_OK);
    db_rollback(db);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(ask(place->path, "SELECT count(*) FROM t"), 1);
    assert_int_equal(db_exec(db, "INSERT INTO t(b) VALUES (zeroblob(400000))"), CODE_OK);
    assert_int_equal(ask(place->path, "SELECT count(*) FROM t"), 2);
    assert_int_equal(ask(place->path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
    db_close(&db);
}

/* 3.10: what a sync that failed may have left undone is done again, and changes nothing for anybody. */
TEST_CASE_WITH(test_written_once_more, setup, teardown)
{
    struct place *place = *state;
    struct why why = {0};
    struct db *db;

    assert_int_equal(db_rewrite_wal(place->path, &why), CODE_OK); /* nothing there */
    db = make(place->path);
    assert_int_equal(db_exec(db, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(b BLOB)"), CODE_OK);
    for (int round = 1; round <= 6; round++) {
        assert_int_equal(db_exec(db, "INSERT INTO t VALUES (zeroblob(70000))"), CODE_OK);
        assert_int_equal(db_rewrite_wal(place->path, &why), CODE_OK);
        if (round % 2 == 0)
            assert_int_equal(ask(place->path, "PRAGMA wal_checkpoint(PASSIVE)"), 0);
        assert_int_equal(ask(place->path, "SELECT count(*) FROM t WHERE length(b) = 70000"), round);
    }
    assert_int_equal(ask(place->path, "PRAGMA wal_checkpoint(RESTART)"), 0);
    assert_int_equal(db_exec(db, "INSERT INTO t VALUES (zeroblob(70000))"), CODE_OK); /* the -wal file begins anew */
    assert_int_equal(db_rewrite_wal(place->path, &why), CODE_OK);
    assert_int_equal(ask(place->path, "SELECT count(*) FROM t"), 7);
    assert_int_equal(ask(place->path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
    db_close(&db);
}

/* 10.31: a view that has no last row ends in its time, whoever else may stop its reader. */
TEST_CASE_WITH(test_views_end, setup, teardown)
{
    static const char endless[] = "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    struct place *place = *state;
    const atomic_bool never = false;
    const atomic_bool *stops[] = {NULL, &never};
    int64_t rows;

    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        struct db *db = make(place->path);

        assert_int_equal(db_exec(db, i == 0 ? endless : ""), CODE_OK);
        db_take_tables_alone(db);
        db_take_views(db, 50);
        db_stop_when(db, stops[i]);
        (void)alarm(20);
        assert_int_equal(db_number(db, "SELECT count(*) FROM endless", NULL, 0, &rows), CODE_BUSY);
        (void)alarm(0);
        assert_true(db_is_late(db));
        db_close(&db);
    }
}

TEST_CASE(test_out_of_memory)
{
    struct why why = {0};
    struct db *db;
    struct db_stmt *stmt;

    mem_fail_at(1, 0);
    assert_int_equal(db_open(":memory:", DB_CREATE, &db, &why), CODE_NOMEM);
    db = make(":memory:");
    mem_fail_at(1, 0);
    assert_int_equal(db_prepare(db, "SELECT 1", &stmt), CODE_NOMEM);
    mem_fail_at(0, 0);
    db_finalize(&stmt);
    db_close(&db);
    db_close(&db);
    assert_string_equal(db_error(db), "the database is not open");
}

TEST_CASE(test_too_large_a_value)
{
    struct db *db = make(":memory:");
    struct db_stmt *stmt;

    assert_int_equal(db_prepare(db, "SELECT ?", &stmt), CODE_OK);
    db_bind_text(stmt, 1, span_of("x", (size_t)1 << 40)); /* refused before it is read */
    assert_int_equal(db_step(stmt), CODE_LIMIT);
    db_reset(stmt);
    assert_int_equal(db_step(stmt), CODE_OK);
    db_finalize(&stmt);
    db_close(&db);
}

static bool is_there(const struct place *place, const char *suffix)
{
    char name[128];

    (void)snprintf(name, sizeof name, "%s%s", place->path, suffix);
    return access(name, F_OK) == 0;
}

/* 6.1: a file that nobody has open any more takes in its -wal file, whatever was copied of it before; until then it stays as it
 * is. */
TEST_CASE_WITH(test_absorbed, setup, teardown)
{
    struct place *place = *state;
    struct db *db = make(place->path), *reader;
    struct why why = {0};

    assert_int_equal(db_exec(db, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(b BLOB);"
                                 "INSERT INTO t VALUES (zeroblob(70000)); PRAGMA wal_checkpoint(PASSIVE)"), CODE_OK);
    assert_int_equal(db_open(place->path, DB_READ, &reader, &why), CODE_OK);
    db_keep_wal(db);
    assert_int_equal(db_exec(db, "INSERT INTO t VALUES (zeroblob(70000))"), CODE_OK);
    assert_int_equal(db_absorb_wal(place->path, &why), CODE_BUSY);
    db_close(&db);
    assert_int_equal(db_absorb_wal(place->path, &why), CODE_BUSY);
    assert_true(is_there(place, "-wal"));
    db_close(&reader);
    assert_int_equal(db_absorb_wal(place->path, &why), CODE_OK);
    assert_false(is_there(place, "-wal") || is_there(place, "-shm"));
    assert_int_equal(ask(place->path, "SELECT count(*) FROM t WHERE length(b) = 70000"), 2);
    assert_int_equal(db_absorb_wal(place->path, &why), CODE_OK);
    assert_int_equal(db_absorb_wal("/nowhere/t.db", &why), CODE_NOT_FOUND);
}

/* 6.1: who opens a link has the file that it named then, with that file's -wal, whatever it names later. */
TEST_CASE_WITH(test_by_a_link, setup, teardown)
{
    struct place *place = *state;
    struct db *one, *other, *reader;
    char first[128], second[128];
    struct why why = {0};

    (void)snprintf(first, sizeof first, "%s-1", place->path);
    (void)snprintf(second, sizeof second, "%s-2", place->path);
    assert_int_equal(symlink(first, place->path), 0);
    one = make(first);
    assert_int_equal(db_exec(one, "PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)"), CODE_OK);
    assert_int_equal(db_open(place->path, DB_READ, &reader, &why), CODE_OK);
    other = make(second);
    assert_int_equal(db_exec(other, "PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)"), CODE_OK);
    assert_int_equal(unlink(place->path), 0);
    assert_int_equal(symlink(second, place->path), 0);
    assert_int_equal(db_exec(one, "INSERT INTO t VALUES (1), (1)"), CODE_OK);
    assert_false(is_there(place, "-wal"));
    assert_int_equal(ask(place->path, "SELECT count(*) FROM t"), 2);
    db_close(&one);
    {
        int64_t count;

        assert_int_equal(db_number(reader, "SELECT count(*) FROM t", NULL, 0, &count), CODE_OK);
        assert_int_equal(count, 3);
    }
    db_close(&reader);
    db_close(&other);
}

static void put(const char *path, const char *suffix, const char *bytes)
{
    char name[300];
    int fd;

    (void)snprintf(name, sizeof name, "%s%s", path, suffix);
    fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, bytes, strlen(bytes)) == (ssize_t)strlen(bytes));
    (void)close(fd);
}

static long long count_in(const char *path, enum db_mode mode)
{
    struct why why = {""};
    int64_t count = -1;
    struct db *db;

    if (db_open(path, mode, &db, &why) != CODE_OK)
        return -1;
    if (db_number(db, "SELECT count(*) FROM t", NULL, 0, &count) != CODE_OK)
        count = -1;
    db_close(&db);
    return count;
}

/* 10.33: what lies beside is no part of it: rows in a -wal are read past a journal, a -wal of a file that is out of WAL mode is not
 * read, and a look at a file without one leaves nothing. */
TEST_CASE_WITH(test_past_strays, setup, teardown)
{
    struct place *place = *state;
    struct stat there;
    struct db *db = make(place->path), *look;

    assert_int_equal(db_exec(db, "PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)"), CODE_OK);
    assert_null(db_stray(place->path, &there));
    put(place->path, "-journal", "no journal of ours");
    assert_string_equal(db_stray(place->path, &there), "-journal");
    assert_int_equal(count_in(place->path, DB_PAST), 1);
    assert_int_equal(count_in(place->path, DB_LOOK), 1);
    assert_int_equal(db_exec(db, "INSERT INTO t VALUES (2)"), CODE_OK);
    assert_int_equal(count_in(place->path, DB_PAST), 2);
    db_close(&db);
    assert_true(is_there(place, "-journal"));
    put(place->path, "-journal", "");
    assert_int_equal(count_in(place->path, DB_LOOK), 2);
    assert_false(is_there(place, "-wal") || is_there(place, "-shm"));
    assert_int_equal(db_open(place->path, DB_LOOK, &look, NULL), CODE_OK);
    assert_false(db_has_changed(look));
    db = make(place->path);
    assert_int_equal(db_exec(db, "PRAGMA journal_mode = DELETE"), CODE_OK);
    db_close(&db);
    assert_true(db_has_changed(look));
    db_close(&look);
    put(place->path, "-wal", "whatever");
    assert_string_equal(db_stray(place->path, &there), "-wal");
    assert_int_equal(count_in(place->path, DB_PAST), 2);
}

/* 10.33: SQLite would wait for the other end of a FIFO: whoever writes is told, who reads the past passes it by. */
TEST_CASE_WITH(test_fifos_beside, setup, teardown)
{
    static const char *const around[] = {"-journal", "-wal", "-shm"};
    struct place *place = *state;
    struct db *db = make(place->path);
    struct stat there;

    assert_int_equal(db_exec(db, "CREATE TABLE t (a); INSERT INTO t VALUES (1)"), CODE_OK);
    db_close(&db);
    (void)alarm(20);
    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++) {
        struct why why = {""};
        char name[512];

        snprintf(name, sizeof name, "%s%s", place->path, around[i]);
        (void)unlink(name);
        assert_int_equal(mkfifo(name, 0600), 0);
        assert_int_equal(db_open(place->path, DB_WRITE, &db, &why), CODE_INVALID);
        assert_non_null(strstr(why.text, name));
        assert_int_equal(db_open(place->path, DB_READ, &db, NULL), CODE_INVALID);
        assert_true(i == 2 || strcmp(db_stray(place->path, &there), around[i]) == 0);
        assert_int_equal(count_in(place->path, DB_PAST), 1);
        assert_int_equal(unlink(name), 0);
    }
    (void)alarm(0);
}

/* 11.12: one number of all rows, by SQL in order and by values in any. */
TEST_CASE_WITH(test_marks, setup, teardown)
{
    static const struct { const char *sql; bool has; } orders[] = {
        {"VALUES (NULL, NULL), (NULL, 1), (-5, 1), (-1, 1), (0, 1), (1, 1), (1, 2), (1, 'a'), ('', 1), ('a', 1), ('a', 2)", true},
        {"VALUES ('a', 1), ('a' || char(0), 1), ('a' || char(0) || 'b', 1), ('aa', 1), ('b', 0), (x'', 1), (x'00', 1), (x'01', 1)", true},
        {"VALUES (1, 1), (1, 1)", false},
        {"VALUES (1, 2), (1, 1)", false},
        {"VALUES ('b', 1), ('a', 1)", false},
        {"VALUES ('a' || char(0) || 'b', 1), ('a', 1)", false},
        {"VALUES ('a', 1), (1, 1)", false},
        {"VALUES (1, NULL), (NULL, 1)", false},
        {"VALUES (1.5, 1)", false},
        {"VALUES (hex(zeroblob(3000)), 1)", false},
        {"SELECT 1, 1 WHERE 0", true},
    };
    struct place *place = *state;
    struct db *db = make(place->path);

    assert_int_equal(db_learn_mark(db), CODE_OK);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        uint64_t sum = 0;
        char sql[512];
        struct db_stmt *stmt;
        enum code code;

        (void)snprintf(sql, sizeof sql, "SELECT * FROM (%s)", orders[i].sql);
        assert_int_equal(db_prepare(db, sql, &stmt), CODE_OK);
        for (code = CODE_OK; db_next(&stmt, &code);) {
            const struct db_value values[] = {db_value(stmt, 0), db_value(stmt, 1)};

            if (!db_mark(values, 2, &sum))
                sum = 0; /* and there is none */
        }
        assert_int_equal(code, CODE_OK);
        (void)snprintf(sql, sizeof sql, "SELECT mark(column1, column2) FROM (SELECT 1 AS column1, 1 AS column2 WHERE 0 UNION ALL %s)",
                       orders[i].sql);
        assert_int_equal(db_find(db, sql, NULL, 0, &stmt), CODE_OK);
        if (db_is_null(stmt, 0) == orders[i].has || (orders[i].has && (uint64_t)db_int(stmt, 0) != sum))
            fail_msg("%s", orders[i].sql);
        db_finalize(&stmt);
    }
    db_close(&db);
}

TEST_MAIN(NULL, NULL)
