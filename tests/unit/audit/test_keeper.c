/* SPDX-License-Identifier: Apache-2.0 */
/* 4.20: the keeper's second copy. While somebody reads, SQLite copies a part of the -wal file and syncs nothing; where the sync of the
 * next copying fails, that part may be lost, too, and SQLite goes on behind it. The keeper makes the next copying begin with the
 * first page, so that the -wal file may begin anew although the writer has not looked yet. */
#include "files/keeper.h"
#include "rows/ring_drain.h"

#include "base/lock.h"
#include "db/db.h"
#include "fakes/audit_file.h"
#include "fakes/fault_vfs.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

struct scene {
    struct audit_file file, after;
    struct ring_shared shared;
    struct keeper keeper;
    struct db *writer, *reader;
};

static void run(struct db *db, const char *sql)
{
    if (db_exec(db, sql) != CODE_OK)
        fail_msg("%s: %s", sql, db_error(db));
}

/* As the audit's writer does. */
static void insert(struct scene *scene, const char *sql)
{
    lock_take(&scene->keeper.commit_lock);
    run(scene->writer, sql);
    scene->keeper.wal_pages = db_wal_pages(scene->writer);
    lock_give(&scene->keeper.commit_lock);
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static void begin(struct scene *scene, enum fault_pages pages)
{
    struct why why = {0};

    *scene = (struct scene){.shared = {.sleeps = RING_AWAKE}};
    audit_file_init(&scene->file);
    audit_file_init(&scene->after);
    fault_vfs_track(scene->file.path, pages);
    assert_int_equal(db_open(scene->file.path, DB_CREATE, &scene->writer, &why), CODE_OK);
    db_watch_wal(scene->writer);
    run(scene->writer, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t(n INTEGER, b BLOB)");
    keeper_init(&scene->keeper, scene->file.path, &scene->shared);
    insert(scene, "INSERT INTO t VALUES (1, zeroblob(40000))");
    assert_int_equal(keeper_start(&scene->keeper, &why), CODE_OK);
}

static void end(struct scene *scene)
{
    keeper_stop(&scene->keeper);
    keeper_fini(&scene->keeper);
    db_close(&scene->reader);
    db_close(&scene->writer);
    audit_file_fini(&scene->file);
    audit_file_fini(&scene->after);
}

/* The second is begun when the first is over. */
static void copied(struct scene *scene)
{
    for (int round = 0; round < 2; round++) {
        keeper_ask_checkpoint(&scene->keeper);
        for (int tries = 0; atomic_load(&scene->keeper.checkpoint_wanted); tries++) {
            assert_true(tries < NAPS_MOST);
            nap();
        }
    }
}

static void a_part_that_nobody_synced(enum fault_pages pages)
{
    struct scene scene;
    struct why why = {0};

    begin(&scene, pages);
    assert_int_equal(db_open(scene.file.path, DB_READ, &scene.reader, &why), CODE_OK);
    run(scene.reader, "BEGIN; SELECT count(*) FROM t");
    insert(&scene, "INSERT INTO t VALUES (2, zeroblob(40000))");
    copied(&scene); /* what the reader sees, and no more */
    run(scene.reader, "COMMIT");
    fault_vfs_set_once(FAULT_SYNC, 2); /* the -wal file's is the first, the main one's the second */
    copied(&scene);
    assert_int_equal(fault_vfs_failed(), 1);
    assert_true(atomic_load(&scene.keeper.is_in_doubt));
    fault_vfs_set(FAULT_NONE, 0);
    insert(&scene, "INSERT INTO t VALUES (3, zeroblob(10))"); /* over the beginning of the -wal file */
    fault_vfs_cut_power(scene.file.path, scene.after.path);
    assert_string_equal(audit_file_ask(&scene.after, "SELECT group_concat(integrity_check) FROM pragma_integrity_check"), "ok");
    assert_string_equal(audit_file_ask(&scene.after, "SELECT group_concat(n || ':' || length(b)) FROM t"), "1:40000,2:40000,3:10");
    end(&scene);
}

TEST_CASE(test_pages_kept)
{
    a_part_that_nobody_synced(PAGES_KEPT);
}

TEST_CASE(test_pages_dropped)
{
    a_part_that_nobody_synced(PAGES_DROPPED);
}

static off_t bytes(const struct scene *scene)
{
    struct stat there;

    assert_int_equal(stat(scene->file.path, &there), 0);
    return there.st_size;
}

/* SQLite before 3.51.3 loses pages where a commit begins the -wal file anew while a checkpoint begins that has nothing to copy.
 * So the keeper asks first, while nobody commits, what the writer has told of the -wal file. */
TEST_CASE(test_nothing_to_copy)
{
    struct scene scene;
    off_t before;

    begin(&scene, PAGES_KEPT);
    copied(&scene); /* its connection is open */
    before = bytes(&scene);
    insert(&scene, "INSERT INTO t VALUES (2, zeroblob(40000))");
    lock_take(&scene.keeper.commit_lock);
    keeper_ask_checkpoint(&scene.keeper);
    for (int i = 0; i < 50; i++)
        nap();
    assert_int_equal(bytes(&scene), before); /* it waits for the lock, to ask whether there is something */
    lock_give(&scene.keeper.commit_lock);
    copied(&scene);
    assert_true(bytes(&scene) >= before + 40000);
    keeper_stop(&scene.keeper);
    assert_int_equal(scene.keeper.copied, scene.keeper.wal_pages);
    end(&scene);
}

/* P15: what the log says of a file that others may write names the file and what to do. */
TEST_CASE(test_a_file_that_others_may_write)
{
    FILE *log = tmpfile();
    int saved = dup(STDERR_FILENO);
    char line[1024] = "", wanted[512];
    struct scene scene;

    assert_true(log != NULL && saved >= 0 && dup2(fileno(log), STDERR_FILENO) >= 0);
    begin(&scene, PAGES_KEPT);
    assert_int_equal(chmod(scene.file.path, 0660), 0);
    keeper_ask_checkpoint(&scene.keeper);
    for (int tries = 0; tries < NAPS_MOST && strchr(line, '\n') == NULL; tries++) {
        nap();
        assert_true(pread(fileno(log), line, sizeof line - 1, 0) >= 0);
    }
    assert_true(dup2(saved, STDERR_FILENO) >= 0 && close(saved) == 0 && fclose(log) == 0);
    (void)snprintf(wanted, sizeof wanted, "%s (mode 0660)", scene.file.path);
    assert_non_null(strstr(line, wanted));
    assert_non_null(strstr(line, "find out whether somebody did, then chmod go-w what is named; trying again"));
    assert_int_equal(chmod(scene.file.path, 0640), 0);
    copied(&scene);
    end(&scene);
}

int main(void)
{
    if (access("/dev/shm", W_OK) == 0)
        (void)setenv("CALLGATE_TEST_FOLDER", "/dev/shm", 0);
    fault_vfs_install();
    return tests_run(NULL, NULL);
}
