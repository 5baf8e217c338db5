/* SPDX-License-Identifier: Apache-2.0 */
/* 3.5: whoever looks at a database without a -wal file finds one that can be opened, also where another begins to write it at that moment.
 * It is taken as a file that does not change, and is read without locks: the other writes between two reads of SQLite's. */
#include "db/db.h"
#include "fakes/cm.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define INDICES 40 /* their lines in the schema take more than its first page */
#define PAGE_BYTES 4096

static sqlite3_vfs watched;
static sqlite3_io_methods methods;
static const sqlite3_io_methods *true_methods;
static int (*true_open)(sqlite3_vfs *, sqlite3_filename, sqlite3_file *, int, int *);
static const char *path_to_change; /* NULL: nothing is to happen */
static bool has_changed;

static void make_indices(const char *path, int from)
{
    struct why why = {""};
    char sql[96];
    struct db *db;

    if (db_open(path, DB_WRITE, &db, &why) != CODE_OK)
        fail_msg("%s", why.text);
    for (int i = from; i < from + INDICES; i++) {
        (void)snprintf(sql, sizeof sql, "CREATE INDEX an_index_with_a_name_that_takes_room_%d ON t (a, b)", i);
        assert_int_equal(db_exec(db, sql), CODE_OK);
    }
    db_close(&db);
}

static int read_and_change(sqlite3_file *file, void *out, int len, sqlite3_int64 at)
{
    int result = true_methods->xRead(file, out, len, at);
    const char *path = path_to_change;

    if (path != NULL && at == 0 && len == PAGE_BYTES) {
        path_to_change = NULL;
        make_indices(path, INDICES);
        has_changed = true;
    }
    return result;
}

static int open_watched(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *out)
{
    int result = true_open(vfs, name, file, flags, out);

    if (result == SQLITE_OK && path_to_change != NULL && (flags & SQLITE_OPEN_MAIN_DB) != 0) {
        true_methods = file->pMethods;
        methods = *true_methods;
        methods.xRead = read_and_change;
        file->pMethods = &methods;
    }
    return result;
}

static void watch(void)
{
    const sqlite3_vfs *own = sqlite3_vfs_find(NULL);

    watched = *own;
    watched.pNext = NULL;
    watched.zName = "watched";
    true_open = own->xOpen;
    watched.xOpen = open_watched;
    assert_int_equal(sqlite3_vfs_register(&watched, 1), SQLITE_OK);
}

TEST_CASE(test_looks_while_one_begins_to_write)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    char folder[] = "/tmp/callgate-look-XXXXXX", path[64], name[80];
    struct why why = {""};
    int64_t count = 0;
    struct db *db;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/x.db", folder);
    assert_int_equal(db_open(path, DB_CREATE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "PRAGMA journal_mode = WAL; CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2)"), CODE_OK);
    db_close(&db);
    make_indices(path, 0);
    watch();
    path_to_change = path;
    if (db_open(path, DB_LOOK, &db, &why) != CODE_OK)
        fail_msg("%s", why.text);
    assert_true(has_changed);
    assert_int_equal(db_number(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'index'", NULL, 0, &count), CODE_OK);
    assert_int_equal(count, 2 * INDICES);
    db_close(&db);
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, tails[i]);
        (void)unlink(name);
    }
    assert_int_equal(rmdir(folder), 0);
}

TEST_MAIN(NULL, NULL)
