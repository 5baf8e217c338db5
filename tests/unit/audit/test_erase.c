/* SPDX-License-Identifier: Apache-2.0 */
/* 3.5: a tenant's argument values are erased in the live file and in sealed ones, recorded first, and the chain stays whole; not a
 * byte of them is left; killed at every step, the next start goes on. A value that is missing otherwise is a fault. */
#include "files/erase_sealed.h"
#include "files/files.h"
#include "trail_bench.h"

#include <fcntl.h>

static struct audit_decision call_with(const char *tenant, const char *arguments)
{
    struct audit_decision decision = audit_call(tenant, "c");

    decision.arguments = span_text(arguments);
    return decision;
}

static void call(struct bench *bench, const char *tenant, const char *arguments)
{
    const struct audit_decision decision = call_with(tenant, arguments);

    audit_file_fill(audit_ring(bench->audit, 0), &decision, 1, 1);
}

#define SECRET "{\"card\":\"4111-our-secret-1111\"}"
#define OTHER "{\"card\":\"5500-not-to-be-lost-0000\"}"

/* How many files of the folder, -wal files among them, hold the bytes. */
static int files_with(const struct bench *bench, const char *bytes)
{
    DIR *folder = opendir(bench->file.folder);
    const struct dirent *entry;
    int count = 0;

    while ((entry = readdir(folder)) != NULL) {
        struct stat there;
        char *text;
        int fd = openat(dirfd(folder), entry->d_name, O_RDONLY);

        if (fd < 0 || fstat(fd, &there) != 0 || !S_ISREG(there.st_mode) || there.st_size == 0) {
            close(fd);
            continue;
        }
        text = malloc((size_t)there.st_size);
        assert_int_equal(read(fd, text, (size_t)there.st_size), there.st_size);
        count += memmem(text, (size_t)there.st_size, bytes, strlen(bytes)) != NULL;
        free(text);
        close(fd);
    }
    closedir(folder);
    return count;
}

static void fill(struct bench *bench)
{
    const struct audit_decision theirs = call_with("umbra", OTHER), kinds[] = {call_with("acme", SECRET), theirs, theirs};

    audit_file_fill(audit_ring(bench->audit, 0), kinds, 2, 80);
    archive(bench);
    audit_file_fill(audit_ring(bench->audit, 0), kinds, 3, 300);
}

static enum code erase(struct bench *bench, int64_t request)
{
    const struct audit_erasure erasure = {SPAN_LIT("acme"), SPAN_LIT("ann"), SPAN_LIT("asked"), INT64_C(1800000000000000),
                                          request};

    return audit_erase(bench->audit, &erasure);
}

TEST_CASE_WITH(test_erases, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_file sealed;
    struct audit_done done;

    start(bench);
    fill(bench);
    assert_int_equal(erase(bench, 7), CODE_OK);
    assert_int_equal(erase(bench, 8), CODE_BUSY);
    assert_true(is_over(bench, NAPS_MOST, &done));
    assert_int_equal(done.code, CODE_OK);
    assert_non_null(strstr(done.text, "the values of 140 calls were erased"));
    assert_int_equal(files_with(bench, "our-secret"), 0);
    in_file(bench, 0, &sealed);
    assert_int_equal(audit_file_number(&sealed, "SELECT count(*) FROM decision WHERE tenant = 'acme' AND salt IS NULL"), 40);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM decision WHERE tenant = 'acme' AND salt IS NULL"), 100);
    assert_int_equal(verify_all(bench), 2);
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM decision WHERE tenant = 'umbra' AND arguments NOTNULL"), 240);
    assert_string_equal(audit_file_ask(&bench->file, "SELECT actor FROM event WHERE kind = 'erased' AND tenant = 'acme'"), "ann");
    assert_string_equal(audit_file_ask(&bench->file, "SELECT json_extract(detail, '$.why') FROM event WHERE kind = 'erased'"),
                        "asked"); /* 10.37 */
    call(bench, "acme", SECRET); /* what comes later is not meant */
    assert_int_equal(erase(bench, 7), CODE_OK); /* the same request again, as after a restart */
    assert_true(is_over(bench, NAPS_MOST, &done));
    audit_close(&bench->audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'erased'"), 1);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM decision WHERE arguments LIKE '%our-secret%'"), 1);
    assert_int_equal(verify_all(bench), 2);
}

/* A call at the very time that is given, and calls that come while it is done, are not meant. */
TEST_CASE_WITH(test_what_is_not_meant, setup, teardown)
{
    struct bench *bench = *state;
    const struct audit_erasure at_that_time = {SPAN_LIT("acme"), SPAN_LIT("ann"), SPAN_LIT("asked"), INT64_C(1700000000000000), 3};
    struct audit_done done;

    start(bench);
    for (int i = 0; i < 10; i++)
        call(bench, "acme", SECRET);
    assert_int_equal(audit_erase(bench->audit, &at_that_time), CODE_OK);
    assert_true(is_over(bench, NAPS_MOST, &done));
    assert_non_null(strstr(done.text, "the values of 0 calls were erased"));
    assert_int_equal(erase(bench, 4), CODE_OK);
    for (int i = 0; i < 100; i++)
        call(bench, "acme", OTHER);
    assert_true(is_over(bench, NAPS_MOST, &done));
    audit_close(&bench->audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM decision WHERE salt IS NULL AND seq > (SELECT max(seq) FROM "
                                       "event WHERE kind = 'erased')"), 0);
    assert_int_equal(files_with(bench, "our-secret"), 0);
    assert_int_equal(verify_all(bench), 1);
}

/* Later files go on to vouch for earlier ones. */
TEST_CASE_WITH(test_erased_and_sealed_again, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_done done;

    start(bench);
    fill(bench);
    assert_int_equal(erase(bench, 1), CODE_OK);
    assert_true(is_over(bench, NAPS_MOST, &done));
    archive(bench);
    call(bench, "acme", SECRET);
    assert_int_equal(erase(bench, 2), CODE_OK);
    assert_true(is_over(bench, NAPS_MOST, &done));
    audit_close(&bench->audit);
    assert_int_equal(files_with(bench, "our-secret"), 0);
    assert_int_equal(verify_all(bench), 3);
}

/* P15: an erasure that is refused says which file, what is wrong with it, and what to do. */
TEST_CASE_WITH(test_a_file_that_others_may_write, setup, teardown)
{
    struct erase_sealed sealed = {.state = ERASE_ASKED, .what = {.tenant = "acme", .before_us = INT64_C(1800000000000000), .seq = 400}};
    struct bench *bench = *state;
    struct audit_file file;
    char wanted[1024];
    bool wait;

    start(bench);
    fill(bench);
    audit_close(&bench->audit);
    in_file(bench, 0, &file);
    assert_int_equal(chmod(file.path, 0460), 0);
    (void)snprintf(sealed.live, sizeof sealed.live, "%s", bench->file.path);
    while (atomic_load(&sealed.state) == ERASE_ASKED)
        erase_sealed_step(&sealed, &wait);
    assert_int_equal(sealed.code, CODE_DENIED);
    (void)snprintf(wanted, sizeof wanted, "%s (mode 0660): may be written by others than its owner; find out whether somebody did, "
                   "then chmod go-w what is named", file.path);
    assert_string_equal(sealed.why.text, wanted);
    assert_int_equal(chmod(file.path, 0440), 0);
    atomic_store(&sealed.state, ERASE_ASKED);
    while (atomic_load(&sealed.state) == ERASE_ASKED)
        erase_sealed_step(&sealed, &wait);
    assert_int_equal(sealed.code, CODE_OK);
    assert_int_equal(sealed.rows, 40);
}

/* 6.2: who reads a sealed file holds the erasure up, and not the rotation that a file in doubt is left by; also after a restart. */
TEST_CASE_WITH(test_rotates_while_a_sealed_file_is_read, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_gauges gauges = {.rotations = 0};
    struct audit_file sealed;
    char live[FILES_PATH_BYTES], wal[FILES_PATH_BYTES];
    struct db *reader;
    int64_t rows;
    int naps;

    start(bench);
    fill(bench);
    in_file(bench, 0, &sealed);
    while (files_is_unfinished(sealed.path))
        nap();
    assert_int_equal(db_open(sealed.path, DB_READ, &reader, NULL), CODE_OK);
    assert_int_equal(db_exec(reader, "BEGIN"), CODE_OK);
    assert_int_equal(db_number(reader, "SELECT count(*) FROM decision", NULL, 0, &rows), CODE_OK);
    assert_int_equal(erase(bench, 5), CODE_OK);
    while (audit_file_number(&bench->file, "SELECT count(*) FROM decision WHERE tenant = 'acme' AND salt IS NOT NULL") > 0)
        nap();
    assert_int_equal(files_live(bench->file.path, live), CODE_OK);
    assert_int_equal(files_beside(live, "-wal", wal), CODE_OK);
    assert_int_equal(unlink(wal), 0);
    for (naps = 0; gauges.rotations < 2; naps++) {
        assert_true(naps < NAPS_MOST);
        nap();
        audit_gauges(bench->audit, &gauges);
    }
    call(bench, "umbra", OTHER);
    audit_close(&bench->audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'erase_done'"), 0);
    db_close(&reader); /* before: what meets a reader is tried again after a minute */
    start(bench);
    for (naps = 0; audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'erase_done'") == 0; naps++) {
        assert_true(naps < NAPS_MOST);
        nap();
    }
    audit_close(&bench->audit);
    assert_int_equal(files_with(bench, "our-secret"), 0);
    assert_int_equal(verify_all(bench), 3);
}

/* ---- what was not recorded --------------------------------------------------------------------------------------- */

static size_t faults_of(const struct bench *bench, size_t at, bool in_sequence, uint64_t *elsewhere)
{
    static struct verify_report report;
    struct verify_sequence *sequence = NULL;
    struct trail trail;
    struct why why = {0};
    size_t faults = 0;

    assert_int_equal(trail_find(bench->file.path, true, &trail, &why), CODE_OK);
    assert_int_equal(verify_sequence_new(&trail, &sequence, &why), CODE_OK);
    for (size_t i = in_sequence ? 0 : at; i <= at; i++) {
        struct verify_conf conf = {.path = trail.files[i].path, .sequence = in_sequence ? sequence : NULL};

        assert_int_equal(audit_verify(&conf, &report, &why), CODE_OK);
        faults += report.fault_count;
    }
    *elsewhere = report.erasures_elsewhere;
    verify_sequence_free(&sequence);
    trail_fini(&trail);
    return faults;
}

static void change(const struct bench *bench, size_t at, const char *sql)
{
    struct audit_file file;
    struct db *db;

    in_file(bench, at, &file);
    assert_int_equal(db_open(file.path, DB_WRITE, &db, NULL), CODE_OK);
    if (db_exec(db, sql) != CODE_OK)
        fail_msg("%s: %s", sql, db_error(db));
    db_close(&db);
}

TEST_CASE_WITH(test_unrecorded, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_file sealed;
    struct db *db;
    uint64_t elsewhere;

    start(bench);
    fill(bench);
    audit_close(&bench->audit);
    in_file(bench, 0, &sealed);
    assert_int_equal(db_open(sealed.path, DB_WRITE, &db, NULL), CODE_OK);
    assert_int_equal(db_exec(db, "UPDATE decision SET salt = NULL, arguments = NULL, arguments_begin = NULL "
                             "WHERE seq = (SELECT min(seq) FROM decision)"), CODE_IO);
    assert_non_null(strstr(db_error(db), "only after the erasure was recorded"));
    db_close(&db);
    /* who claims an erasure that no later file records is found out by the files together, and told of by one alone */
    change(bench, 0, "INSERT INTO erasure VALUES (9999, 'acme', 1800000000000000);"
                     "UPDATE decision SET salt = NULL, arguments = NULL, arguments_begin = NULL WHERE tenant = 'acme' AND seq < 20");
    assert_int_equal(faults_of(bench, 0, false, &elsewhere), 0);
    assert_int_equal(elsewhere, 1);
    assert_true(faults_of(bench, 0, true, &elsewhere) > 1);
    change(bench, 1, "INSERT INTO erasure VALUES (9999, 'umbra', 1800000000000000);"
                     "UPDATE decision SET salt = NULL, arguments = NULL, arguments_begin = NULL WHERE tenant = 'umbra'");
    assert_true(faults_of(bench, 1, false, &elsewhere) > 1);
}

/* Each of the tables that hold two files together. */
TEST_CASE_WITH(test_files_that_do_not_fit, setup, teardown)
{
    static const char *const changes[] = {
        "DELETE FROM permit_start", "UPDATE permit_start SET tenant = 'acme'", "UPDATE permit_start SET decision = decision - 1",
        "INSERT INTO permit_start VALUES (1, 'acme')", "DELETE FROM tenant_start WHERE tenant = 'umbra'",
        "UPDATE tenant_start SET seq = seq - 1 WHERE tenant = 'acme'", "UPDATE tenant_start SET hash = zeroblob(32)",
        "INSERT INTO tenant_start VALUES ('other', 1, zeroblob(32))",
        "DROP TRIGGER file_update; UPDATE file SET previous = zeroblob(32)",
        "DROP TRIGGER file_update; UPDATE file SET seq = seq + 1",
        "DROP TRIGGER checkpoint_delete; DELETE FROM checkpoint WHERE size = (SELECT min(size) FROM checkpoint)",
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        uint64_t elsewhere;

        start(bench);
        call(bench, "acme", SECRET);
        call(bench, "umbra", OTHER);
        (void)hold(bench, "umbra");
        archive(bench);
        call(bench, "acme", SECRET);
        audit_close(&bench->audit);
        assert_int_equal(faults_of(bench, 1, true, &elsewhere), 0);
        change(bench, 1, changes[i]);
        if (faults_of(bench, 1, true, &elsewhere) == 0)
            fail_msg("not found: %s", changes[i]);
        audit_file_fini(&bench->file);
        audit_file_init(&bench->file);
        (void)snprintf(bench->heads, sizeof bench->heads, "%s.heads", bench->file.path);
    }
}

/* ---- killed ------------------------------------------------------------------------------------------------------ */

static bool die_at(struct bench *bench, int at, int64_t request)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        struct audit_done done;

        start(bench);
        fill(bench);
        atomic_store(&steps_left, at);
        if (erase(bench, request) != CODE_OK)
            _exit(2);
        while (!audit_job_over(bench->audit, &done))
            nap();
        atomic_store(&steps_left, 0);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void next_file(struct bench *bench)
{
    audit_file_fini(&bench->file);
    audit_file_init(&bench->file);
    (void)snprintf(bench->heads, sizeof bench->heads, "%s.heads", bench->file.path);
}

TEST_CASE_WITH(test_killed_at_every_step, setup, teardown)
{
    struct bench *bench = *state;
    bool killed = true;
    int at;

    for (at = 1; killed; at++) {
        struct audit_done done;

        assert_true(at < 100);
        killed = die_at(bench, at, 7);
        start(bench);
        assert_int_equal(erase(bench, 7), CODE_OK); /* as the gate does, since the request has no answer */
        assert_true(is_over(bench, NAPS_MOST, &done));
        audit_close(&bench->audit);
        assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'erased'"), 1);
        assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'erase_done'"), 1);
        assert_int_equal(files_with(bench, "our-secret"), 0);
        assert_int_equal(verify_all(bench), 2);
        next_file(bench);
    }
    assert_true(at > 8);
}

/* Where nobody asks again, the next start goes on by itself. */
TEST_CASE_WITH(test_killed_and_not_asked_again, setup, teardown)
{
    struct bench *bench = *state;

    /* A checkpoint that comes in between is a step, too, and the erasure not recorded yet then. */
    for (int at = 3;; at++) {
        assert_true(die_at(bench, at, 0));
        if (audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'erased'") == 1)
            break;
        next_file(bench);
    }
    start(bench);
    for (int naps = 0; audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'erase_done'") == 0; naps++) {
        assert_true(naps < NAPS_MOST);
        nap();
    }
    audit_close(&bench->audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'erased'"), 1);
    assert_int_equal(files_with(bench, "our-secret"), 0);
    assert_int_equal(verify_all(bench), 2);
}

TEST_MAIN(NULL, NULL)
