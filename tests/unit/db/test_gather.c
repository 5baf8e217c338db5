/* SPDX-License-Identifier: Apache-2.0 */
/* 11.11: what one COMMIT writes into a -wal file goes in few writes, in the order in which SQLite writes it; what is read back, rolled
 * back, larger than the buffer or refused by the disk is as it would be without. */
#include "db/db.h"

#include "fakes/fault_vfs.h"
#include "fakes/folder.h"
#include "os/file.h"
#include "fakes/cm.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct place {
    char folder[64], path[96], after[64];
    struct db *db;
};

static struct db *open_db(const char *path, enum db_mode mode)
{
    struct why why = {""};
    struct db *db;

    if (db_open(path, mode, &db, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return db;
}

static void run(struct db *db, const char *sql)
{
    if (db_exec(db, sql) != CODE_OK)
        fail_msg("%s: %s", sql, db_error(db));
}

static int64_t number(struct db *db, const char *sql)
{
    int64_t value = -1;

    if (db_number(db, sql, NULL, 0, &value) != CODE_OK)
        fail_msg("%s: %s", sql, db_error(db));
    return value;
}

static void begin_gathering(struct db *db)
{
    run(db, "PRAGMA journal_mode = WAL");
    db_keep_wal(db);
    db_watch_wal(db);
    assert_int_equal(db_gather_wal(db), CODE_OK);
}

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof *place);

    (void)snprintf(place->folder, sizeof place->folder, "/tmp/callgate-gather-XXXXXX");
    if (mkdtemp(place->folder) == NULL)
        return -1;
    (void)snprintf(place->path, sizeof place->path, "%s/x.db", place->folder);
    (void)snprintf(place->after, sizeof place->after, "/tmp/callgate-after-XXXXXX"); /* what a power cut leaves */
    if (mkdtemp(place->after) == NULL)
        return -1;
    place->db = open_db(place->path, DB_CREATE);
    begin_gathering(place->db);
    run(place->db, "CREATE TABLE t(n INTEGER PRIMARY KEY, b)");
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;

    fault_vfs_set(FAULT_NONE, 0);
    db_close(&place->db);
    folder_remove(place->folder);
    folder_remove(place->after);
    free(place);
    return 0;
}

/* Some rows of so many bytes each, in a transaction that is left open. */
static void put_rows(struct db *db, int count, int bytes)
{
    char sql[200];

    assert_int_equal(db_begin(db), CODE_OK);
    (void)snprintf(sql, sizeof sql, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d) "
                   "INSERT INTO t(b) SELECT randomblob(%d) FROM c", count, bytes);
    run(db, sql);
}

static int writes_of_commit(struct db *db, int count, int bytes)
{
    put_rows(db, count, bytes);
    fault_vfs_set(FAULT_WRITE, 1000000); /* counts, and fails none */
    assert_int_equal(db_commit(db), CODE_OK);
    return fault_vfs_matched();
}

static void expect_sound(struct db *db, int64_t rows)
{
    assert_int_equal(number(db, "SELECT count(*) FROM t"), rows);
    assert_int_equal(number(db, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
}

static void copy(const struct place *place, const char *suffix)
{
    struct buf bytes;
    struct why why = {""};
    char name[128];

    buf_init(&bytes, 64 << 20);
    (void)snprintf(name, sizeof name, "%s%s", place->path, suffix);
    assert_int_equal(file_read(name, FILE_ANY, 64 << 20, &bytes, &why), CODE_OK);
    (void)snprintf(name, sizeof name, "%s/x.db%s", place->after, suffix);
    assert_int_equal(file_replace(name, 0600, buf_peek(&bytes), &why), CODE_OK);
    buf_fini(&bytes);
}

/* As another process that opens it sees it, and one that opens it after a crash, which reads the -wal file from its beginning. */
static void expect_whole(const struct place *place, int64_t rows)
{
    struct db *reader = open_db(place->path, DB_READ), *next;
    char name[128];

    expect_sound(reader, rows);
    db_close(&reader);
    copy(place, "");
    copy(place, "-wal");
    (void)snprintf(name, sizeof name, "%s/x.db", place->after);
    next = open_db(name, DB_ALONE);
    expect_sound(next, rows);
    db_close(&next);
}

TEST_CASE_WITH(test_few_writes, setup, teardown)
{
    struct place *place = *state;
    struct db *plain;
    int gathered, alone;

    (void)writes_of_commit(place->db, 3, 100);
    gathered = writes_of_commit(place->db, 20, 3000);
    assert_int_equal(gathered, 1);
    expect_whole(place, 23);
    plain = open_db(place->path, DB_WRITE);
    alone = writes_of_commit(plain, 20, 3000);
    assert_true(alone > 30);
    db_close(&plain);
    expect_whole(place, 43);
    assert_int_equal(writes_of_commit(place->db, 1, 100), 1); /* behind what another connection wrote */
    expect_whole(place, 44);
}

/* The WAL begins anew: its header is written and synced before the frames, as without the layer. */
TEST_CASE_WITH(test_begins_anew, setup, teardown)
{
    struct place *place = *state;
    int syncs;

    (void)writes_of_commit(place->db, 20, 3000);
    run(place->db, "PRAGMA wal_checkpoint(RESTART)");
    syncs = fault_vfs_syncs();
    assert_int_equal(writes_of_commit(place->db, 5, 3000), 2);
    assert_int_equal(fault_vfs_syncs() - syncs, 2);
    expect_whole(place, 25);
}

/* Around 124 KiB, 128 KiB, 256 KiB and far behind: SQLite's own layer takes a write of exactly 128 KiB for a full disk. */
TEST_CASE_WITH(test_any_size, setup, teardown)
{
    struct place *place = *state;
    int64_t rows = 0;

    run(place->db, "PRAGMA cache_size = -8000"); /* so that nothing is written before the COMMIT */
    for (int pages = 26; pages < 70; pages++, rows++)
        assert_in_range(writes_of_commit(place->db, 1, pages * 4092), 1, 6);
    assert_in_range(writes_of_commit(place->db, 1, 3 << 20), 25, 40);
    expect_whole(place, rows + 1);
}

/* What finds no room in SQLite's cache is written before the COMMIT. Where that is taken back, another connection writes over it, and
 * nothing of it may come later. */
TEST_CASE_WITH(test_rolled_back, setup, teardown)
{
    struct place *place = *state;
    struct db *other = open_db(place->path, DB_WRITE);

    run(place->db, "PRAGMA cache_size = 5");
    for (int round = 0; round < 8; round++) {
        fault_vfs_set(FAULT_WRITE, 1000000);
        put_rows(place->db, 40, 3000);
        assert_true(fault_vfs_matched() > 20);
        db_rollback(place->db);
        (void)writes_of_commit(other, 10, 3000);
        assert_int_equal(number(place->db, "SELECT count(*) FROM t"), 20 * round + 10);
        (void)writes_of_commit(place->db, 10, 3000);
        expect_whole(place, 20 * (round + 1));
    }
    db_close(&other);
}

/* Pages that were written before the COMMIT and changed again are written over, and all checksums behind them anew: SQLite reads the
 * frames back for that. */
TEST_CASE_WITH(test_written_over, setup, teardown)
{
    struct place *place = *state;

    run(place->db, "PRAGMA cache_size = 5");
    for (int round = 0; round < 8; round++) {
        put_rows(place->db, 40, 3000);
        run(place->db, "SAVEPOINT s; UPDATE t SET b = randomblob(2999) WHERE n % 3 = 0; ROLLBACK TO s; UPDATE t SET b = "
                       "randomblob(2998) WHERE n % 7 = 0");
        assert_int_equal(db_commit(place->db), CODE_OK);
        expect_whole(place, 40 * (round + 1));
    }
    assert_int_equal(number(place->db, "SELECT count(*) FROM t WHERE length(b) = 2999"), 0);
}

/* Every write of a commit fails in turn, and every sync: nothing of it is there, and the next one is. */
static void fail_each(struct place *place, enum fault_kind kind, enum code expected)
{
    int64_t rows = 0;
    int nth = 1;

    for (bool fails = true; fails; nth++) {
        enum code code;

        put_rows(place->db, 1, 400000);
        fault_vfs_set(kind, nth);
        code = db_commit(place->db);
        fails = fault_vfs_failed() > 0;
        fault_vfs_set(FAULT_NONE, 0);
        assert_int_equal(code, fails ? expected : CODE_OK);
        db_rollback(place->db);
        rows += fails ? 0 : 1;
        (void)writes_of_commit(place->db, 2, 3000);
        rows += 2;
        expect_whole(place, rows);
    }
    assert_true(nth > 2);
}

TEST_CASE_WITH(test_disk_full, setup, teardown)
{
    fail_each(*state, FAULT_DISK_FULL, CODE_LIMIT);
}

TEST_CASE_WITH(test_write_error, setup, teardown)
{
    fail_each(*state, FAULT_WRITE, CODE_IO);
}

TEST_CASE_WITH(test_sync_error, setup, teardown)
{
    struct place *place = *state;

    put_rows(place->db, 5, 3000);
    fault_vfs_set(FAULT_SYNC, 1);
    assert_int_equal(db_commit(place->db), CODE_IO);
    fault_vfs_set(FAULT_NONE, 0);
    db_rollback(place->db);
    (void)writes_of_commit(place->db, 2, 3000);
    expect_whole(place, 2);
}

/* A write that ends early, as on a disk that is nearly full: the kernel takes what is under the bound. */
TEST_CASE_WITH(test_short_write, setup, teardown)
{
    struct place *place = *state;
    struct rlimit before, bound;
    struct stat there;
    char wal[128];

    (void)writes_of_commit(place->db, 2, 3000);
    (void)snprintf(wal, sizeof wal, "%s-wal", place->path);
    assert_int_equal(stat(wal, &there), 0);
    put_rows(place->db, 30, 3000);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    bound = (struct rlimit){.rlim_cur = (rlim_t)there.st_size + 10000, .rlim_max = before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &bound), 0);
    assert_int_not_equal(db_commit(place->db), CODE_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    db_rollback(place->db);
    expect_whole(place, 2);
    (void)writes_of_commit(place->db, 30, 3000);
    expect_whole(place, 32);
}

/* Killed at any time: who counts to n has n rows on the disk. */
TEST_CASE_WITH(test_killed, setup, teardown)
{
    struct place *place = *state;
    int ends[2];

    db_close(&place->db);
    for (int round = 1; round <= 10; round++) {
        unsigned char counted = 0, got;
        int64_t before;
        pid_t child;

        place->db = open_db(place->path, DB_WRITE);
        before = number(place->db, "SELECT count(*) FROM t");
        db_close(&place->db);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        child = fork();
        if (child == 0) {
            struct db *db = open_db(place->path, DB_WRITE);

            begin_gathering(db);
            for (unsigned char n = 1;; n++) {
                put_rows(db, 1, 50000);
                if (db_commit(db) != CODE_OK || write(ends[1], &n, 1) != 1)
                    _exit(1);
            }
        }
        (void)close(ends[1]);
        while (counted < round && read(ends[0], &got, 1) == 1)
            counted = got;
        assert_int_equal(kill(child, SIGKILL), 0);
        while (read(ends[0], &got, 1) == 1)
            counted = got;
        (void)close(ends[0]);
        assert_int_equal(waitpid(child, NULL, 0), child);
        place->db = open_db(place->path, DB_WRITE);
        assert_in_range(number(place->db, "SELECT count(*) FROM t") - before, counted, counted + 1);
        assert_int_equal(number(place->db, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
        db_close(&place->db);
    }
    place->db = open_db(place->path, DB_WRITE);
}

/* The power is cut behind each commit: it is there. */
TEST_CASE_WITH(test_power_cut, setup, teardown)
{
    struct place *place = *state;

    db_close(&place->db);
    fault_vfs_track(place->path, PAGES_DROPPED);
    place->db = open_db(place->path, DB_WRITE);
    begin_gathering(place->db);
    for (int round = 1; round <= 12; round++) {
        struct db *left;
        char name[128];

        (void)writes_of_commit(place->db, 1, 30000 * round);
        if (round % 4 == 0)
            run(place->db, "PRAGMA wal_checkpoint(RESTART)");
        (void)snprintf(name, sizeof name, "%s/%d", place->after, round);
        assert_int_equal(mkdir(name, 0700), 0);
        (void)snprintf(name, sizeof name, "%s/%d/x.db", place->after, round);
        put_rows(place->db, 1, 200000); /* and nothing of what is under way */
        fault_vfs_cut_power(place->path, name);
        db_rollback(place->db);
        left = open_db(name, DB_WRITE);
        expect_sound(left, round);
        db_close(&left);
    }
}

int main(void)
{
    fault_vfs_install();
    return tests_run(NULL, NULL);
}
