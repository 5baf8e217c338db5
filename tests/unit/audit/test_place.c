/* SPDX-License-Identifier: Apache-2.0 */
/* 6.2: what others do to the files under a running writer: taken away, replaced, cut, given another mode, locked, changed and read for
 * long. Each is seen behind the next commit, no row that was told of is lost, and the audit goes on by itself. */
#include "place_bench.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Between the audit and the kernel: how often anybody looked at a -wal file, and whether files can be watched. */
static atomic_int looks;
static atomic_bool watches_nothing;

int lstat(const char *path, struct stat *there)
{
    size_t len = strlen(path);

    atomic_fetch_add(&looks, len > 4 && strcmp(path + len - 4, "-wal") == 0);
    return fstatat(AT_FDCWD, path, there, AT_SYMLINK_NOFOLLOW);
}

/* What takes the place of the file that is looked at next; NULL: nothing does. */
static const char *_Atomic swapped_in;

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    const char *other = atomic_exchange(&swapped_in, NULL);

    if (other != NULL)
        assert_int_equal(rename(other, path), 0);
    if (!atomic_load(&watches_nothing))
        return (int)syscall(SYS_inotify_add_watch, fd, path, mask);
    errno = EACCES;
    return -1;
}

static void take_away(struct bench *bench, const char *suffix)
{
    assert_int_equal(files_beside(bench->live, suffix, bench->beside), CODE_OK);
    assert_int_equal(unlink(bench->beside), 0);
}

TEST_CASE_WITH(test_log_taken_away, setup, teardown)
{
    struct bench *bench = *state;

    call_some(bench, 20);
    take_away(bench, "-wal");
    call_some(bench, 1); /* what stood in it is in the file before this one is told of */
    rotated(bench, 1);
    call_some(bench, 20);
    expect_all(bench, "-wal file was taken away");
}

/* Nobody calls: seen all the same. */
TEST_CASE_WITH(test_index_taken_away_at_rest, setup, teardown)
{
    struct bench *bench = *state;

    call_some(bench, 20);
    take_away(bench, "-shm");
    rotated(bench, 1);
    expect_all(bench, "-shm file was taken away");
}

TEST_CASE_WITH(test_foreign_log, setup, teardown)
{
    struct bench *bench = *state;
    FILE *file;

    call_some(bench, 20);
    take_away(bench, "-wal");
    file = fopen(bench->beside, "w");
    assert_non_null(file);
    fputs("this is somebody else's", file);
    fclose(file);
    call_some(bench, 20);
    rotated(bench, 1);
    expect_all(bench, "-wal file was taken away");
}

/* What the lost file held cannot be copied while somebody reads; nobody is told of anything until it is. */
TEST_CASE_WITH(test_log_taken_away_beside_a_reader, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_decision decision = audit_call("acme", "denied");
    struct db *reader;
    struct why why = {""};
    int64_t count;
    uint64_t seq, ticket;

    call_some(bench, 5);
    assert_int_equal(db_open(bench->file.path, DB_READ, &reader, &why), CODE_OK);
    assert_int_equal(db_exec(reader, "BEGIN"), CODE_OK);
    assert_int_equal(db_number(reader, "SELECT count(*) FROM entry", NULL, 0, &count), CODE_OK);
    call_some(bench, 5);
    take_away(bench, "-wal");
    ticket = audit_file_put(audit_ring(bench->audit, 0), &decision);
    assert_int_equal(audit_file_wait(audit_ring(bench->audit, 0), ticket, &seq), AUDIT_FAILED);
    assert_true(audit_is_down(audit_ring(bench->audit, 0)));
    db_close(&reader);
    for (int naps = 0; audit_is_down(audit_ring(bench->audit, 0)); naps++) {
        assert_true(naps < NAPS_MOST);
        nap();
    }
    call_some(bench, 5);
    rotated(bench, 1);
    expect_all(bench, "-wal file was taken away");
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM decision WHERE correlation = 'denied'"),
                     audit_whole_sum(&bench->file, "SELECT count(*) FROM outcome WHERE outcome = 'not_sent'"));
}

struct copier {
    pthread_t thread;
    atomic_bool stopping;
    struct db *db;
};

static void *copy_on_and_on(void *context)
{
    struct copier *copier = context;

    while (!atomic_load(&copier->stopping))
        if (db_exec(copier->db, "PRAGMA wal_checkpoint(PASSIVE)") != CODE_OK)
            continue; /* it is the writer's turn */
    return NULL;
}

/* One call after the other, each again where an outage denied it. Returns: whether there was one. */
static bool call_through(struct bench *bench, int count)
{
    const struct audit_decision decision = audit_call("acme", "told");
    struct audit_ring *ring = audit_ring(bench->audit, 0);
    bool was_down = false;
    uint64_t ticket, seq;

    for (int naps = 0; count > 0; naps++) {
        assert_true(naps < NAPS_MOST);
        if (audit_put_decision(ring, &decision, &ticket) == CODE_OK && audit_file_wait(ring, ticket, &seq) == AUDIT_DURABLE) {
            const struct audit_result answer = audit_answer(seq);

            audit_put_result(ring, &answer);
            bench->told++;
            count--;
        } else {
            was_down = true;
            nap();
        }
    }
    return was_down;
}

/* As expect_all; behind an outage the rows of calls that it denied may be there, too, and end as `not_sent`. */
static void expect_told(struct bench *bench, bool was_down, const char *why)
{
    if (!was_down) {
        expect_all(bench, why);
        return;
    }
    audit_close(&bench->audit);
    audit_whole_verify(&bench->file, NULL, SPAN_NONE, "behind an outage");
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM decision WHERE correlation = 'told'") -
                     audit_whole_sum(&bench->file, "SELECT count(*) FROM outcome WHERE outcome = 'not_sent'"), bench->told);
}

/* A new connection of the keeper's finds no log, or another one, and cannot copy it by the index, before the writer has looked:
 * the writer's own connection is the last that has those rows. */
TEST_CASE_WITH(test_log_taken_away_before_the_keeper_opens_it, setup, teardown)
{
    struct bench *bench = *state;
    bool was_down;

    call_some(bench, 20);
    for (int naps = 0; atomic_load(&bench->audit->shared.sleeps) != RING_SLEEPS; naps++) { /* it has just looked */
        assert_true(naps < NAPS_MOST);
        nap();
    }
    take_away(bench, "-wal");
    atomic_fetch_add(&bench->audit->keeper.generation, 1); /* as behind an outage: the keeper opens the file anew */
    keeper_ask_checkpoint(&bench->audit->keeper);
    rotated(bench, 1);
    was_down = call_through(bench, 20);
    expect_told(bench, was_down, "-wal file was taken away");
}

/* As the keeper, which may have begun before the file was seen to be gone: SQLite does not wait for another's checkpoint. Where
 * the gate's own keeper opens the file between the two, it finds a log that is not the index's: calls are denied for a moment. */
TEST_CASE_WITH(test_log_taken_away_beside_a_checkpoint, setup, teardown)
{
    struct bench *bench = *state;
    struct copier copier = {.db = NULL};
    struct why why = {""};
    int64_t count;
    bool was_down;

    call_some(bench, 5);
    assert_int_equal(db_open(bench->file.path, DB_WRITE, &copier.db, &why), CODE_OK);
    db_busy_wait(copier.db, 0);
    assert_int_equal(db_number(copier.db, "SELECT count(*) FROM entry", NULL, 0, &count), CODE_OK); /* it has the file open */
    assert_int_equal(pthread_create(&copier.thread, NULL, copy_on_and_on, &copier), 0);
    take_away(bench, "-wal");
    was_down = call_through(bench, 20);
    rotated(bench, 1);
    atomic_store(&copier.stopping, true);
    assert_int_equal(pthread_join(copier.thread, NULL), 0);
    db_close(&copier.db);
    expect_told(bench, was_down, "-wal file was taken away");
}

TEST_CASE_WITH(test_index_made, setup, teardown)
{
    struct bench *bench = *state;

    call_some(bench, 5);
    change(bench, "CREATE INDEX theirs ON decision(tool)");
    (void)call_through(bench, 5); /* as where it is packed */
    rotated(bench, 1);
    (void)call_through(bench, 5);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM sqlite_schema WHERE name = 'theirs'"), 0);
    audit_close(&bench->audit);
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM decision WHERE correlation = 'told'") -
                     audit_whole_sum(&bench->file, "SELECT count(*) FROM outcome WHERE outcome = 'not_sent'"), bench->told);
}

TEST_CASE_WITH(test_packed, setup, teardown)
{
    struct bench *bench = *state;
    bool was_down;

    call_some(bench, 5);
    change(bench, "VACUUM");
    was_down = call_through(bench, 5); /* the file may be seen once more before it is left: calls are denied for a moment */
    rotated(bench, 1);
    was_down = call_through(bench, 5) || was_down;
    expect_told(bench, was_down, "packed");
}

static bool is_down(struct audit *audit)
{
    struct audit_gauges gauges;

    audit_gauges(audit, &gauges);
    return gauges.down;
}

/* 10.39: somebody else's row is noticed, and its number used by nobody else. */
TEST_CASE_WITH(test_a_row_of_somebody_else, setup, teardown)
{
    static const char row[] = "INSERT INTO event SELECT max(seq) + 1, time_us, NULL, NULL, 'reload', 'eve', NULL, hash FROM entry";
    struct bench *bench = *state;
    const struct audit_decision call = audit_call("acme", "told");
    uint64_t seq;

    call_some(bench, 3);
    change(bench, row);
    assert_int_equal(audit_file_wait(audit_ring(bench->audit, 0), audit_file_put(audit_ring(bench->audit, 0), &call), &seq), AUDIT_FAILED);
    assert_true(is_down(bench->audit));
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) - count(DISTINCT seq) FROM entry"), 0);
    change(bench, "DROP TRIGGER event_delete; DELETE FROM event WHERE actor = 'eve'; CREATE TRIGGER event_delete BEFORE DELETE ON event "
           "BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END");
    for (int naps = 0; is_down(bench->audit) && naps < NAPS_MOST; naps++) /* as it was, the audit goes on */
        nap();
    call_some(bench, 3);
    audit_close(&bench->audit);
    audit_whole_verify(&bench->file, NULL, SPAN_NONE, "a row of somebody else");
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM decision WHERE correlation = 'told'"), bench->told);
}

TEST_CASE_WITH(test_mode_changed, setup, teardown)
{
    struct bench *bench = *state;
    struct stat there;

    call_some(bench, 5);
    assert_int_equal(files_beside(bench->live, "-wal", bench->beside), CODE_OK);
    assert_int_equal(chmod(bench->beside, 0444), 0);
    assert_int_equal(chmod(bench->live, 0), 0);
    call_some(bench, 5);
    assert_true(stat(bench->live, &there) == 0 && (there.st_mode & 0600) == 0600);
    assert_true(stat(bench->beside, &there) == 0 && (there.st_mode & 0600) == 0600);
}

TEST_CASE_WITH(test_link_taken_away, setup, teardown)
{
    struct bench *bench = *state;
    struct stat there;

    call_some(bench, 5);
    assert_int_equal(unlink(bench->file.path), 0);
    call_some(bench, 5);
    assert_int_equal(files_live(bench->file.path, bench->beside), CODE_OK);
    assert_string_equal(bench->beside, bench->live);
    assert_int_equal(unlink(bench->file.path), 0);
    assert_int_equal(symlink("/etc/passwd", bench->file.path), 0);
    call_some(bench, 5);
    assert_int_equal(files_live(bench->file.path, bench->beside), CODE_OK);
    assert_int_equal(lstat(bench->file.path, &there), 0);
    assert_true(S_ISLNK(there.st_mode));
}

/* A lock denies as long as it is held, and no new file is begun for it. */
TEST_CASE_WITH(test_locked, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_gauges gauges;
    struct db *db;
    struct why why = {""};

    call_some(bench, 5);
    assert_int_equal(db_open(bench->file.path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_begin(db), CODE_OK);
    for (uint64_t ticket; !audit_is_down(audit_ring(bench->audit, 0)); nap())
        if (audit_put_decision(audit_ring(bench->audit, 0), &(struct audit_decision){.time_us = 1, .reason = REASON_NO_RULE}, &ticket) !=
            CODE_OK)
            continue;
    db_rollback(db);
    for (int naps = 0; audit_is_down(audit_ring(bench->audit, 0)); naps++) {
        assert_true(naps < NAPS_MOST);
        nap();
    }
    db_close(&db);
    call_some(bench, 5);
    audit_gauges(bench->audit, &gauges);
    assert_int_equal(gauges.rotations, 0);
}

/* A link that was set back to an older file, while the newer one is there. */
TEST_CASE_WITH(test_link_set_back, setup, teardown)
{
    struct bench *bench = *state;
    const struct audit_conf conf = {.path = bench->file.path, .rings = 1, .version = SPAN_LIT("0.1.0")};
    struct audit_done done;
    struct why why = {""};

    call_some(bench, 5);
    assert_int_equal(audit_archive(bench->audit, SPAN_LIT("ann")), CODE_OK);
    while (!audit_job_over(bench->audit, &done))
        nap();
    call_some(bench, 5);
    audit_close(&bench->audit);
    assert_int_equal(files_link(bench->file.path, bench->live), CODE_OK);
    assert_int_equal(audit_open(&conf, &bench->audit, &why), CODE_INVALID);
    assert_non_null(strstr(why.text, "begins behind it"));
    assert_int_equal(unlink(bench->file.path), 0); /* where it is missing, the newest is taken */
    bench->audit = audit_file_open(&bench->file, 1);
    assert_int_equal(files_live(bench->file.path, bench->beside), CODE_OK);
    assert_string_not_equal(bench->beside, bench->live);
}

/* 6.1: a copy of the folder in which the link became a file, and one without it. */
TEST_CASE_WITH(test_link_copied, setup, teardown)
{
    struct bench *bench = *state;
    const struct audit_conf conf = {.path = bench->file.path, .rings = 1, .version = SPAN_LIT("0.1.0")};
    struct why why = {""};
    struct trail trail;

    call_some(bench, 5);
    audit_close(&bench->audit);
    assert_int_equal(unlink(bench->file.path), 0);
    assert_int_equal(trail_find(bench->file.path, true, &trail, &why), CODE_NOT_FOUND);
    assert_non_null(strstr(why.text, bench->live)); /* what to name in its place */
    assert_int_equal(link(bench->live, bench->file.path), 0);
    assert_int_equal(audit_open(&conf, &bench->audit, &why), CODE_EXISTS);
    assert_non_null(strstr(why.text, "begins with the same row"));
    assert_int_equal(unlink(bench->file.path), 0); /* as the sentence says */
    assert_int_equal(rename(bench->live, bench->file.path), 0); /* the only copy that there is */
    assert_int_equal(audit_open(&conf, &bench->audit, &why), CODE_EXISTS);
    assert_non_null(strstr(why.text, strrchr(bench->live, '/') + 1));
    assert_int_equal(rename(bench->file.path, bench->live), 0);
    bench->audit = audit_file_open(&bench->file, 1);
    assert_int_equal(files_live(bench->file.path, bench->beside), CODE_OK);
    assert_string_equal(bench->beside, bench->live);
}

/* 6.2: a file that was left before its first checkpoint is seen, since it would never be finished; another program's is none. */
TEST_CASE_WITH(test_known_by_its_log, setup, teardown)
{
    struct bench *bench = *state;
    struct db *db;

    assert_int_equal(files_beside(bench->live, "-left", bench->beside), CODE_OK);
    assert_int_equal(db_open(bench->beside, DB_CREATE, &db, NULL), CODE_OK);
    assert_int_equal(db_exec(db, "PRAGMA journal_mode = WAL; CREATE TABLE t(x)"), CODE_OK);
    assert_false(files_is_unfinished(bench->beside));
    assert_int_equal(db_exec(db, "PRAGMA application_id = 1128743253"), CODE_OK);
    assert_true(files_is_unfinished(bench->beside));
    db_close(&db);
}

/* 11.11: while nobody does anything, a commit looks at no file; where the files cannot be watched, each does. */
TEST_CASE_WITH(test_looks_when_told, setup, teardown)
{
    struct bench *bench = *state;
    int before;

    call_some(bench, 10);
    before = atomic_load(&looks);
    call_some(bench, 200);
    assert_in_range(atomic_load(&looks) - before, 0, 100); /* each half second, and once the -wal file was copied */
    audit_close(&bench->audit);
    atomic_store(&watches_nothing, true);
    bench->audit = audit_file_open(&bench->file, 1);
    before = atomic_load(&looks);
    call_some(bench, 200);
    assert_true(atomic_load(&looks) - before >= 200);
    test_log_taken_away(state);
    atomic_store(&watches_nothing, false);
}

static void move(struct bench *bench, const char *from, const char *to)
{
    const struct audit_decision call = audit_call("acme", "denied");
    uint64_t seq;

    call_some(bench, 3);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(audit_file_wait(audit_ring(bench->audit, 0), audit_file_put(audit_ring(bench->audit, 0), &call), &seq), AUDIT_FAILED);
    assert_int_equal(rename(to, from), 0);
    for (int naps = 0; is_down(bench->audit); naps++) {
        assert_true(naps < NAPS_MOST);
        nap();
    }
    call_some(bench, 3);
}

/* 1.25: the very next call after the file, its folder or a folder above it was moved is denied; each goes on when it is back. */
TEST_CASE_WITH(test_moved, setup, teardown)
{
    struct bench *bench = *state;
    const struct audit_file file = bench->file;
    char above[80], away[80], aside[80];

    audit_close(&bench->audit);
    (void)snprintf(above, sizeof above, "%s/a", file.folder);
    (void)snprintf(away, sizeof away, "%s/away", file.folder);
    (void)snprintf(bench->file.folder, sizeof bench->file.folder, "%.50s/a/b", file.folder);
    (void)snprintf(bench->file.path, sizeof bench->file.path, "%s/audit.db", bench->file.folder);
    assert_true(mkdir(above, 0700) == 0 && mkdir(bench->file.folder, 0700) == 0);
    bench->audit = audit_file_open(&bench->file, 1);
    assert_int_equal(files_live(bench->file.path, bench->live), CODE_OK);
    move(bench, bench->live, away);
    move(bench, bench->file.folder, away);
    move(bench, above, away);
    audit_close(&bench->audit);
    (void)snprintf(aside, sizeof aside, "%.50s/link", file.folder);
    assert_int_equal(symlink("a/b", aside), 0);
    (void)snprintf(bench->file.path, sizeof bench->file.path, "%.60s/audit.db", aside);
    bench->audit = audit_file_open(&bench->file, 1);
    move(bench, aside, away); /* of which the kernel tells nobody who watches what it leads to */
    audit_close(&bench->audit);
    (void)snprintf(bench->file.path, sizeof bench->file.path, "%.60s/audit.db", bench->file.folder);
    assert_int_equal(unlink(aside), 0);
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM decision WHERE correlation = 'told'"), bench->told);
    audit_file_fini(&bench->file);
    assert_int_equal(rmdir(above), 0);
    bench->file = file;
    bench->audit = audit_file_open(&bench->file, 1);
}

/* 1.25: a file that takes the place of the one that was just opened is not written, nor taken for it. */
TEST_CASE_WITH(test_swapped_before_the_first_look, setup, teardown)
{
    struct bench *bench = *state;
    const struct audit_conf conf = {.path = bench->file.path, .rings = 1, .version = SPAN_LIT("0.1.0")};
    char kept[FILES_PATH_BYTES], into[2 * FILES_PATH_BYTES];
    struct why why = {""};

    call_some(bench, 3);
    (void)snprintf(into, sizeof into, "VACUUM INTO '%s/other'", bench->file.folder);
    change(bench, into);
    audit_close(&bench->audit);
    assert_int_equal(files_beside(bench->live, "-kept", kept), CODE_OK);
    assert_int_equal(link(bench->live, kept), 0);
    (void)snprintf(into, sizeof into, "%s/other", bench->file.folder);
    atomic_store(&swapped_in, into);
    assert_int_equal(audit_open(&conf, &bench->audit, &why), CODE_NOT_FOUND);
    assert_non_null(strstr(why.text, "is not the file that was written until now"));
    assert_int_equal(rename(kept, bench->live), 0);
    bench->audit = audit_file_open(&bench->file, 1);
    call_some(bench, 3);
}


TEST_MAIN(NULL, NULL)
