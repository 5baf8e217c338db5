/* SPDX-License-Identifier: Apache-2.0 */
/* 3.5: the audit is sealed and goes on in a new file: by request, by size, under load, beside somebody who reads, and killed at
 * every step that it takes. */
#include "files/files.h"
#include "files/finisher.h"
#include "audit/rotate_priv.h"
#include "audit/writer_priv.h"
#include "fakes/sample.h"
#include "trail_bench.h"

#include <fcntl.h>
#include <malloc.h>

/* Nobody is at work on a sealed file any more. */
static bool all_finished(const struct bench *bench)
{
    struct files files;
    int unfinished = 0;

    assert_true(files_begin(&files, bench->file.path));
    while (files_next(&files))
        unfinished += files_is_unfinished(files.path);
    files_end(&files);
    return unfinished <= 1; /* the live one */
}

/* The sealed ones need no -wal file any more. */
static void finished(struct bench *bench)
{
    for (int naps = 0; files_like(bench, "-wal") > 1; naps++) {
        assert_true(naps < NAPS_MOST);
        nap();
    }
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

TEST_CASE_WITH(test_goes_on, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_file sealed;
    uint64_t seq, held;

    struct stat there;

    start(bench);
    assert_int_equal(chmod(bench->file.path, 0600), 0);
    seq = audit_file_call(audit_ring(bench->audit, 0), "acme", "c-1");
    held = hold(bench, "umbra");
    archive(bench);
    assert_true(stat(bench->file.path, &there) == 0 && (there.st_mode & 0777) == 0600); /* nobody reads more than before */
    assert_true(audit_file_call(audit_ring(bench->audit, 0), "acme", "c-2") > seq);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM carried WHERE outcome IS NULL"), 1);
    answer(bench, held);
    audit_file_call(audit_ring(bench->audit, 0), "acme", "c-3");
    archive(bench);
    audit_file_call(audit_ring(bench->audit, 0), "umbra", "c-4");
    in_file(bench, 0, &sealed);
    for (int naps = 0; files_is_unfinished(sealed.path); naps++) { /* it is made read-only behind the end of its -wal */
        assert_true(naps < NAPS_MOST);
        nap();
    }
    audit_close(&bench->audit);
    assert_int_equal(verify_all(bench), 3);
    assert_string_equal(audit_file_ask(&sealed, "PRAGMA journal_mode"), "delete");
    assert_true(stat(sealed.path, &there) == 0 && (there.st_mode & 0777) == 0400); /* nor does anybody write them */
    assert_int_equal(audit_file_number(&sealed, "SELECT count(*) FROM unfinished"), 0);
    assert_string_equal(audit_file_ask(&sealed, "SELECT actor FROM event ORDER BY seq DESC LIMIT 1"), "ann");
    assert_int_equal(audit_file_number(&sealed, "SELECT json_extract(detail, '$.open_permits') FROM event WHERE kind = 'sealed'"), 1);
    in_file(bench, 1, &sealed);
    assert_string_equal(audit_file_ask(&sealed, "SELECT outcome FROM carried WHERE tenant = 'umbra'"), "result");
    assert_string_equal(audit_file_ask(&sealed, "SELECT kind FROM event ORDER BY seq LIMIT 1"), "continued");
    assert_int_equal(files_like(bench, ".link"), 0);
}

/* What was open over a rotation and a crash is `unknown`, once. */
TEST_CASE_WITH(test_open_over_a_restart, setup, teardown)
{
    struct bench *bench = *state;
    uint64_t held;

    start(bench);
    held = hold(bench, "acme");
    atomic_store(&next_fails, true); /* when its -wal and -shm files have lost their names: down, and up again */
    archive(bench);
    assert_false(atomic_load(&next_fails));
    archive(bench);
    audit_close(&bench->audit); /* as if the workers had ended without telling */
    assert_int_equal(audit_file_number(&bench->file, "SELECT decision FROM outcome WHERE outcome = 'unknown'"), held);
    start(bench);
    audit_close(&bench->audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM outcome"), 1);
    assert_int_equal(verify_all(bench), 3);
}

struct load {
    struct bench *bench;
    atomic_bool stops;
    uint64_t calls;
};

static void *load(void *argument)
{
    struct load *load = argument;

    while (!atomic_load(&load->stops)) { /* audit_file_call fails the test where one is not durable */
        (void)audit_file_call(audit_ring(load->bench->audit, 1), load->calls % 2 == 0 ? "acme" : "umbra", "c");
        load->calls++;
    }
    return NULL;
}

static uint64_t under_load(struct bench *bench, void (*work)(struct bench *bench))
{
    struct load loading = {.bench = bench};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, load, &loading), 0);
    work(bench);
    atomic_store(&loading.stops, true);
    (void)pthread_join(thread, NULL);
    return loading.calls;
}

static void archive_thrice(struct bench *bench)
{
    for (int i = 0; i < 3; i++)
        archive(bench);
}

TEST_CASE_WITH(test_under_load, setup, teardown)
{
    struct bench *bench = *state;
    uint64_t calls;

    start(bench);
    calls = under_load(bench, archive_thrice);
    audit_close(&bench->audit);
    assert_int_equal(verify_all(bench), 4);
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM decision"), calls);
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM outcome WHERE outcome = 'result'"), calls);
}

static void await_rotations(struct bench *bench)
{
    struct audit_gauges gauges = {.rotations = 0};

    for (int naps = 0; gauges.rotations < 2; naps++) {
        assert_true(naps < NAPS_MOST);
        nap();
        audit_gauges(bench->audit, &gauges);
    }
}

TEST_CASE_WITH(test_by_size, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_file sealed;
    struct stat there;

    bench->rotate_bytes = 1 << 20;
    start(bench);
    (void)under_load(bench, await_rotations);
    audit_close(&bench->audit);
    assert_true(verify_all(bench) >= 3);
    in_file(bench, 0, &sealed);
    assert_int_equal(stat(sealed.path, &there), 0);
    assert_true(there.st_size >= 1 << 20);
}

/* Who reads keeps what they see, and holds up neither the rotation nor a call; the file that was left is finished when they have
 * gone. */
TEST_CASE_WITH(test_beside_a_reader, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_file sealed;
    struct db *reader;
    int64_t before, after;

    start(bench);
    audit_file_call(audit_ring(bench->audit, 0), "acme", "c-1");
    assert_int_equal(db_open(bench->file.path, DB_READ, &reader, NULL), CODE_OK);
    assert_int_equal(db_exec(reader, "BEGIN"), CODE_OK);
    assert_int_equal(db_number(reader, "SELECT count(*) FROM entry", NULL, 0, &before), CODE_OK);
    audit_file_call(audit_ring(bench->audit, 0), "acme", "c-2");
    archive(bench);
    for (int i = 0; i < 50; i++)
        audit_file_call(audit_ring(bench->audit, 0), "acme", "c-3");
    in_file(bench, 0, &sealed);
    assert_true(files_is_unfinished(sealed.path));
    assert_int_equal(db_number(reader, "SELECT count(*) FROM entry", NULL, 0, &after), CODE_OK);
    assert_int_equal(before, after);
    audit_close(&bench->audit); /* 6.2: also after a restart */
    start(bench);
    db_rollback(reader);
    assert_int_equal(db_number(reader, "SELECT count(*) FROM event WHERE kind = 'sealed'", NULL, 0, &after), CODE_OK);
    assert_int_equal(after, 1); /* an idle connection still sees the file that it opened, whole */
    assert_true(files_is_unfinished(sealed.path));
    db_close(&reader);
    finished(bench);
    for (int naps = 0; files_is_unfinished(sealed.path); naps++) {
        assert_true(naps < NAPS_MOST);
        nap();
    }
    audit_file_call(audit_ring(bench->audit, 0), "acme", "c-5");
    audit_close(&bench->audit);
    assert_int_equal(verify_all(bench), 2);
}

/* A call that is answered in the file's very last commit is not open in the next one; one that is permitted there is. */
TEST_CASE_WITH(test_in_the_last_commit, setup, teardown)
{
    struct bench *bench = *state;
    const struct audit_conf conf = {.path = bench->file.path, .rings = 2, .version = SPAN_LIT("0.1.0"), .checkpoints = bench->conf};
    struct audit_decision decision = audit_call("acme", "late");
    struct audit_result result;
    struct why why = {0};
    struct audit *audit;

    assert_int_equal(audit_open(&conf, &bench->audit, &why), CODE_OK); /* its threads are this one, but for the notary */
    audit = bench->audit;
    assert_int_equal(notary__start(&audit->notary, &why), CODE_OK);
    (void)audit_file_put(audit_ring(audit, 0), &decision);
    assert_true(writer__batch(audit));
    result = audit_answer(audit->ledger.committed.seq);
    audit_put_result(audit_ring(audit, 0), &result);
    (void)audit_file_put(audit_ring(audit, 0), &decision);
    audit->rotation.wanted = true;
    for (; atomic_load(&audit->rotations) == 0; nap())
        rotate__turn(audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM permit_start"), 1);
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT detail ->> 'open_permits' FROM event WHERE kind = 'sealed'"), 1);
    result = audit_answer((uint64_t)audit_file_number(&bench->file, "SELECT decision FROM permit_start"));
    audit_put_result(audit_ring(audit, 0), &result);
    audit_close(&bench->audit);
    assert_int_equal(verify_all(bench), 2);
}

/* Something of another trail has the name already: nothing is overwritten, and the audit goes on. */
TEST_CASE_WITH(test_a_name_that_is_taken, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_done done;
    char name[FILES_PATH_BYTES];

    start(bench);
    audit_file_call(audit_ring(bench->audit, 0), "acme", "c-1");
    for (uint64_t first = 4; first < 40; first++) {
        FILE *file;

        assert_int_equal(files_name(bench->file.path, (int64_t)time(NULL) * 1000000, first, name), CODE_OK);
        file = fopen(name, "w");
        assert_non_null(file);
        fclose(file);
    }
    assert_int_equal(audit_archive(bench->audit, SPAN_LIT("ann")), CODE_OK);
    assert_false(is_over(bench, 300, &done));
    audit_file_call(audit_ring(bench->audit, 0), "acme", "c-2");
    audit_close(&bench->audit);
    assert_int_equal(verify_all(bench), 1);
    assert_int_equal(files_like(bench, ".link"), 0);
}

/* As long as the new file's name may not be on the disk, nobody is told of a row in it. */
TEST_CASE_WITH(test_a_name_that_is_not_synced, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_decision decision = audit_call("acme", "unsynced");
    struct audit_done done;
    uint64_t seq, ticket;

    start(bench);
    atomic_store(&folders_fail, true);
    assert_int_equal(audit_archive(bench->audit, SPAN_LIT("ann")), CODE_OK);
    while (!audit_is_down(audit_ring(bench->audit, 0)))
        nap();
    if (audit_put_decision(audit_ring(bench->audit, 0), &decision, &ticket) == CODE_OK)
        assert_int_not_equal(audit_file_wait(audit_ring(bench->audit, 0), ticket, &seq), AUDIT_DURABLE);
    atomic_store(&folders_fail, false);
    for (int naps = 0; audit_is_down(audit_ring(bench->audit, 0)); naps++) {
        assert_true(naps < NAPS_MOST);
        nap();
    }
    assert_true(is_over(bench, NAPS_MOST, &done));
    audit_file_call(audit_ring(bench->audit, 0), "acme", "c-1");
    audit_close(&bench->audit);
    assert_true(verify_all(bench) >= 2);
}

static void set_mode(const char *path, const char *mode)
{
    char pragma[64];
    struct db *db;

    (void)snprintf(pragma, sizeof pragma, "PRAGMA journal_mode = %s", mode);
    assert_int_equal(db_open(path, DB_CREATE, &db, NULL), CODE_OK);
    assert_int_equal(db_exec(db, pragma), CODE_OK);
    assert_int_equal(db_exec(db, "CREATE TABLE IF NOT EXISTS strange (a); DROP TABLE strange"), CODE_OK);
    db_close(&db);
}

static void assert_mode(const char *path, const char *mode)
{
    struct audit_file file;

    (void)snprintf(file.path, sizeof file.path, "%s", path);
    assert_string_equal(audit_file_ask(&file, "PRAGMA journal_mode"), mode);
}

/* What else may lie beside an audit: nothing of it is waited for, followed or changed. The audit's path may have no folder. */
TEST_CASE_WITH(test_strangers, setup, teardown)
{
    struct bench *bench = *state;
    struct finisher finisher = {.audit = "audit.db", .live = 2};
    struct audit_file sealed;
    char back[1024];

    start(bench);
    archive(bench);
    audit_file_call(audit_ring(bench->audit, 0), "acme", "c");
    in_file(bench, 0, &sealed);
    for (; files_is_unfinished(sealed.path); nap())
        continue;
    audit_close(&bench->audit);
    assert_non_null(getcwd(back, sizeof back));
    assert_int_equal(chdir(bench->file.folder), 0);
    assert_int_equal(rename(sealed.path, "elsewhere"), 0);
    assert_int_equal(files_may_write("elsewhere", true), CODE_OK);
    set_mode("elsewhere", "WAL");
    set_mode("audit-2026-01-06-000000000001.db", "WAL"); /* another program's */
    assert_int_equal(symlink("elsewhere", "audit-2026-01-07-000000000001.db"), 0);
    assert_int_equal(mkfifo("audit-2026-01-08-000000000001.db", 0600), 0);
    assert_int_equal(mkdir("audit-2026-01-09-000000000001.db", 0700), 0);
    assert_int_equal(close(open("audit-2026-01-10-000000000001.db", O_CREAT | O_WRONLY, 0000)), 0);
    assert_int_equal(symlink("nowhere", "audit-2026-01-11-000000000001.db"), 0);
    assert_int_equal(symlink("elsewhere", "audit-2026-01-01-000000000001.db"), 0);
    assert_int_equal(unlink("audit.db"), 0); /* 6.2: somebody took the link away; what is live does not hang on it */
    assert_false(finisher_round(&finisher));
    assert_mode("elsewhere", "wal");
    assert_mode("audit-2026-01-06-000000000001.db", "wal");
    assert_int_equal(rename("elsewhere", "audit-2026-01-05-000000000001.db"), 0);
    assert_false(finisher_round(&finisher));
    assert_mode("audit-2026-01-05-000000000001.db", "delete");
    assert_false(files_is_unfinished("audit-2026-01-05-000000000001.db"));
    assert_int_equal(rmdir("audit-2026-01-09-000000000001.db"), 0);
    assert_int_equal(chdir(back), 0);
}

static int open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = -3; /* the two names of every folder, and this one */

    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* The keeper has one of them open for the moment. */
static int open_files_at_rest(void)
{
    int least = open_files();

    for (int i = 0; i < 200; i++) {
        int now = open_files();

        nap();
        least = now < least ? now : least;
    }
    return least;
}

static long long of_all(const char *report, const char *what)
{
    long long bytes = 0;

    for (const char *at = strstr(report, what); at != NULL; at = strstr(at + 1, what))
        bytes = strtoll(strstr(at, "size=\"") + 6, NULL, 10); /* the last one is the sum */
    return bytes;
}

/* Of all arenas. */
static long long memory_in_use(void)
{
    char *report = NULL;
    size_t size;
    FILE *out = open_memstream(&report, &size);
    long long bytes;

    assert_int_equal(malloc_info(0, out), 0);
    fclose(out);
    bytes = of_all(report, "<system type=\"current\"") + of_all(report, "<total type=\"mmap\"") -
            of_all(report, "<total type=\"fast\"") - of_all(report, "<total type=\"rest\"");
    free(report);
    return bytes;
}

/* What the finisher has not done yet weighs in no span; the keeper may have a connection for the moment. */
static long long memory_at_rest(const struct bench *bench)
{
    long long least;

    for (int naps = 0; !all_finished(bench); naps++) {
        assert_true(naps < NAPS_MOST);
        nap();
    }
    least = memory_in_use();
    for (int i = 0; i < 100; i++) {
        long long now = memory_in_use();

        nap();
        least = now < least ? now : least;
    }
    return least;
}

/* What is lost with each rotation weighs in every span of rotations; a connection that is open at one end of a span weighs in one alone. */
enum { ROUNDS_BEFORE = 20, ROUNDS_A_SPAN = 60, SPANS = 3 };

static int by_bytes(const void *one, const void *other)
{
    long long a = *(const long long *)one, b = *(const long long *)other;

    return (a > b) - (a < b);
}

/* Hundreds of them in one life leave neither a file open nor memory behind. A slow disk does fewer in the time. */
TEST_CASE_WITH(test_hundreds, setup, teardown)
{
    struct bench *bench = *state;
    struct timespec began, now;
    long long before = 0, grown[SPANS];
    int files = 0, rounds = 0, spans = 0;

    start(bench);
    (void)clock_gettime(CLOCK_MONOTONIC, &began);
    do {
        if (rounds >= ROUNDS_BEFORE && (rounds - ROUNDS_BEFORE) % ROUNDS_A_SPAN == 0) {
            long long used = memory_at_rest(bench);

            if (rounds == ROUNDS_BEFORE) /* what is made once is there by now */
                files = open_files_at_rest();
            else
                grown[spans++] = used - before;
            before = used;
        }
        audit_file_call(audit_ring(bench->audit, 0), "acme", "c");
        archive(bench);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while (++rounds <= ROUNDS_BEFORE + SPANS * ROUNDS_A_SPAN && (spans < 2 || now.tv_sec - began.tv_sec < 8 / sample_step()));
    assert_in_range(open_files_at_rest(), 1, files + 8); /* a connection more or less: the keeper opens its own when it needs it */
    qsort(grown, (size_t)spans, sizeof *grown, by_bytes);
    print_message("%d rotations: %lld bytes in %d of them\n", rounds, grown[(spans - 1) / 2], ROUNDS_A_SPAN);
    assert_true(grown[(spans - 1) / 2] < 16 * 1024);
    audit_close(&bench->audit);
    assert_int_equal(verify_all(bench), rounds + 1);
}

/* Returns: whether it was killed. What was durable before goes up the pipe. */
static bool die_at(struct bench *bench, int at, uint64_t *durable)
{
    int pipe_fds[2], status;
    pid_t child;

    assert_int_equal(pipe(pipe_fds), 0);
    child = fork();
    if (child == 0) {
        struct audit_done done;
        uint64_t seq;

        start(bench);
        seq = audit_file_call(audit_ring(bench->audit, 0), "acme", "c-1");
        seq = hold(bench, "umbra") > seq ? seq + 2 : seq;
        if (write(pipe_fds[1], &seq, sizeof seq) != sizeof seq)
            _exit(2);
        atomic_store(&steps_left, at);
        if (audit_archive(bench->audit, SPAN_LIT("ann")) != CODE_OK)
            _exit(2);
        while (!audit_job_over(bench->audit, &done))
            nap();
        atomic_store(&steps_left, 0);
        _exit(0);
    }
    close(pipe_fds[1]);
    assert_int_equal(read(pipe_fds[0], durable, sizeof *durable), sizeof *durable);
    close(pipe_fds[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

TEST_CASE_WITH(test_killed_at_every_step, setup, teardown)
{
    struct bench *bench = *state;
    uint64_t durable = 0;
    bool killed = true;
    int at, starts = 1;

    for (at = 1; killed; at += (int)sample_step(), starts++) {
        long long held;

        assert_true(at < 100);
        killed = die_at(bench, at, &durable);
        (void)verify_files(bench, true);
        start(bench);
        audit_file_call(audit_ring(bench->audit, 0), "acme", "c-2");
        finished(bench); /* what was left is finished, too */
        audit_close(&bench->audit);
        (void)verify_all(bench);
        assert_true(audit_file_number(&bench->file, "SELECT max(seq) FROM event") > (long long)durable);
        held = audit_whole_sum(&bench->file, "SELECT count(*) FROM decision WHERE correlation = 'held'");
        assert_int_equal(held, starts);
        assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM outcome WHERE outcome = 'unknown'"), starts);
        assert_int_equal(files_like(bench, ".link"), 0);
    }
    assert_true(at > 10); /* as many steps at least */
}

/* Returns: whether it was killed while it took the sealed file out of WAL mode. */
static bool die_settling_at(const struct audit_file *sealed, int at)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct db *db;

        if (files_may_write(sealed->path, true) != CODE_OK || db_open(sealed->path, DB_WRITE, &db, NULL) != CODE_OK ||
            db_exec(db, "PRAGMA journal_mode = WAL") != CODE_OK)
            _exit(2);
        atomic_store(&steps_left, at);
        if (db_exec(db, "PRAGMA journal_mode = DELETE") != CODE_OK)
            _exit(2);
        atomic_store(&steps_left, 0);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

/* What is left halfway is whole for who may not write beside it, too, when the next gate has started. */
TEST_CASE_WITH(test_killed_while_it_settles, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_file sealed;
    bool killed = true;
    int at, journals = 0;

    start(bench);
    audit_file_call(audit_ring(bench->audit, 0), "acme", "c-1");
    archive(bench);
    audit_close(&bench->audit);
    in_file(bench, 0, &sealed);
    for (at = 1; killed; at++) {
        assert_true(at < 50);
        killed = die_settling_at(&sealed, at);
        journals += files_like(bench, "-journal");
        start(bench);
        for (; files_is_unfinished(sealed.path); nap())
            continue;
        audit_close(&bench->audit);
        assert_int_equal(files_like(bench, "-journal"), 0);
        assert_string_equal(audit_file_ask(&sealed, "PRAGMA journal_mode"), "delete");
        assert_int_equal(verify_all(bench), 2);
    }
    assert_true(journals > 1);
}

/* What is counted is what malloc() has given out, and glibc counts what a thread keeps for its next malloc() among that (more from
 * 2.42 on): so the program begins once more without such caches. */
static void begin_without_caches(char *const *argv)
{
    if (getenv("GLIBC_TUNABLES") == NULL && setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1) == 0)
        (void)execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    (void)argc;
    begin_without_caches(argv);
    return tests_run(NULL, NULL);
}
