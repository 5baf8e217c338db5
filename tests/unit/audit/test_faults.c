/* SPDX-License-Identifier: Apache-2.0 */
/* 1.25, 1.27, 3.9, 10.29: what the disk does to the audit: full, broken, locked, read for hours. After each: no permit was told
 * that is not there, nothing is written twice, the chain is whole, and the writer comes back by itself. */
#include "audit/writer.h"

#include "base/mem.h"
#include "db/db.h"
#include "evidence/verify.h"
#include "files/files.h"
#include "fakes/audit_file.h"
#include "fakes/audit_whole.h"
#include "fakes/fault_vfs.h"
#include "fakes/cm.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct bench {
    struct audit_file file;
    struct audit *audit;
    struct audit_ring *ring;
};

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);

    fault_vfs_install();
    audit_file_init(&bench->file);
    bench->audit = audit_file_open(&bench->file, 2);
    bench->ring = audit_ring(bench->audit, 0);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    fault_vfs_set(FAULT_NONE, 0);
    audit_close(&bench->audit);
    audit_file_fini(&bench->file);
    free(bench);
    return 0;
}

static void nap_ms(long ms)
{
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void wait_up(const struct bench *bench)
{
    for (int tries = 0; audit_is_down(bench->ring); tries++) {
        assert_true(tries < NAPS_MOST);
        nap_ms(5);
    }
}

static uint64_t told[4096];
static size_t told_count;

/* Every permit whose number was told is there, and the others are not, or were closed as not sent. */
static void expect_told_rows(const struct audit_file *file)
{
    long long sent = audit_whole_sum(file, "SELECT count(*) FROM decision WHERE verdict = 'permit'") -
                     audit_whole_sum(file, "SELECT count(*) FROM outcome WHERE outcome = 'not_sent'");

    audit_whole_verify(file, NULL, SPAN_NONE, "at the end");
    assert_int_equal(sent, told_count);
    audit_whole_has(file, "SELECT decision FROM outcome WHERE outcome = 'result'", told, told_count, "at the end");
    assert_int_equal(audit_file_number(file, "SELECT count(*) FROM unfinished"), 0);
}

/* A batch of calls at once, while the fault is on; those that became durable get their outcome. */
static size_t try_calls(struct bench *bench, int count)
{
    const struct audit_decision decision = audit_call("acme", "c");
    uint64_t tickets[64], seq;
    size_t failed = 0;
    int put = 0;

    for (int i = 0; i < count; i++) {
        if (audit_put_decision(bench->ring, &decision, &tickets[put]) == CODE_OK)
            put++;
        else
            failed++;
    }
    for (int i = 0; i < put; i++) {
        struct audit_result answer;

        if (audit_file_wait(bench->ring, tickets[i], &seq) == AUDIT_FAILED) {
            failed++;
            continue;
        }
        answer = audit_answer(seq);
        if (seq % 2 == 0) /* as of a call whose row nobody has waited for */
            answer.decision = 0, answer.ticket = tickets[i];
        audit_put_result(bench->ring, &answer);
        told[told_count++] = seq;
    }
    return failed;
}

static void run_fault(struct bench *bench, enum fault_kind kind, int nth)
{
    told_count = 0;
    assert_int_equal(try_calls(bench, 5), 0);
    nap_ms(30); /* their outcomes are written */
    assert_int_equal(try_calls(bench, 3), 0); /* the outcomes of these are in the ring when it breaks */
    fault_vfs_set(kind, nth);
    for (int tries = 0; !audit_is_down(bench->ring); tries++) {
        assert_true(tries < 500);
        (void)try_calls(bench, 7);
    }
    assert_true(fault_vfs_failed() > 0);
    assert_int_equal(try_calls(bench, 4), 4); /* sticky */
    nap_ms(150);
    assert_true(audit_is_down(bench->ring));
    fault_vfs_set(FAULT_NONE, 0);
    wait_up(bench);
    assert_int_equal(try_calls(bench, 5), 0);
    audit_close(&bench->audit);
    expect_told_rows(&bench->file);
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM event WHERE kind IN ('start', 'audit_down', 'audit_up', "
                                                   "'stop')"), 4);
    assert_true(audit_whole_sum(&bench->file, "SELECT json_extract(detail, '$.denied.audit_down') FROM event "
                                                "WHERE kind = 'audit_up'") >= 4);
}

/* 1.27 */
TEST_CASE_WITH(test_disk_full, setup, teardown)
{
    run_fault(*state, FAULT_DISK_FULL, 1);
    assert_non_null(strstr(audit_file_ask(&((struct bench *)*state)->file, "SELECT detail FROM event WHERE kind = "
                                                                           "'audit_down'"),
                           "disk is full"));
}

/* 1.27: in the middle of a transaction */
TEST_CASE_WITH(test_disk_full_later, setup, teardown)
{
    run_fault(*state, FAULT_DISK_FULL, 4);
}

TEST_CASE_WITH(test_write_error, setup, teardown)
{
    run_fault(*state, FAULT_WRITE, 2);
}

/* After a failed sync the rows can be read and yet may be gone tomorrow: nothing of them counts. */
TEST_CASE_WITH(test_sync_error, setup, teardown)
{
    run_fault(*state, FAULT_SYNC, 1);
}

TEST_CASE_WITH(test_sync_error_again_and_again, setup, teardown)
{
    struct bench *bench = *state;

    told_count = 0;
    for (int round = 0; round < 4; round++) {
        assert_int_equal(try_calls(bench, 5), 0);
        fault_vfs_set(FAULT_SYNC, 1 + round);
        for (int tries = 0; !audit_is_down(bench->ring) && tries < 500; tries++)
            (void)try_calls(bench, 3);
        nap_ms(120 * round);
        fault_vfs_set(FAULT_NONE, 0);
        wait_up(bench);
    }
    assert_int_equal(try_calls(bench, 5), 0);
    audit_close(&bench->audit);
    expect_told_rows(&bench->file);
}

/* 1.25: an agent that goes while its row cannot be written */
TEST_CASE_WITH(test_outcome_before_the_fate, setup, teardown)
{
    struct bench *bench = *state;
    const struct audit_decision decision = audit_call("acme", "c");
    struct audit_result gone = {.time_us = 1, .outcome = OUTCOME_NOT_SENT, .reason = REASON_AGENT_GONE, .upstream_us = -1};
    uint64_t tickets[8], seq;

    told_count = 0;
    fault_vfs_set(FAULT_SYNC, 1);
    for (int i = 0; i < 8; i++) {
        if (audit_put_decision(bench->ring, &decision, &tickets[i]) != CODE_OK)
            tickets[i] = 0;
        gone.ticket = tickets[i];
        if (tickets[i] != 0)
            audit_put_result(bench->ring, &gone);
    }
    for (int i = 0; i < 8; i++)
        if (tickets[i] != 0)
            assert_int_equal(audit_file_wait(bench->ring, tickets[i], &seq), AUDIT_FAILED);
    fault_vfs_set(FAULT_NONE, 0);
    wait_up(bench);
    assert_int_equal(try_calls(bench, 20), 0);
    audit_close(&bench->audit);
    expect_told_rows(&bench->file);
}

/* 1.27: a file that cannot be written when the gate ends: the next start finds what was left open */
TEST_CASE_WITH(test_down_until_the_end, setup, teardown)
{
    struct bench *bench = *state;

    told_count = 0;
    assert_int_equal(try_calls(bench, 3), 0);
    fault_vfs_set(FAULT_DISK_FULL, 1);
    for (int tries = 0; !audit_is_down(bench->ring) && tries < 500; tries++)
        (void)try_calls(bench, 3);
    audit_close(&bench->audit);
    fault_vfs_set(FAULT_NONE, 0);
    bench->audit = audit_file_open(&bench->file, 1);
    audit_close(&bench->audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM unfinished"), 0);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'crash'"), 1);
}

/* 1.27 */
TEST_CASE_WITH(test_locked_by_somebody, setup, teardown)
{
    struct bench *bench = *state;
    struct why why = {0};
    struct db *db;

    told_count = 0;
    assert_int_equal(try_calls(bench, 5), 0);
    assert_int_equal(db_open(bench->file.path, DB_WRITE, &db, &why), CODE_OK);
    while (db_begin(db) != CODE_OK)
        continue;
    assert_int_equal(try_calls(bench, 5), 5); /* after a quarter of a second */
    assert_true(audit_is_down(bench->ring));
    db_rollback(db);
    db_close(&db);
    wait_up(bench);
    assert_int_equal(try_calls(bench, 5), 0);
    audit_close(&bench->audit);
    expect_told_rows(&bench->file);
}

/* An auditor's read that stays open the whole time: the WAL grows, nothing waits for it. */
TEST_CASE_WITH(test_read_for_hours, setup, teardown)
{
    struct bench *bench = *state;
    const struct audit_decision decision = {.time_us = 1, .reason = REASON_NO_RULE, .tenant = SPAN_LIT("acme")};
    struct audit_gauges gauges;
    struct why why = {0};
    struct db_stmt *stmt;
    struct db *db;
    uint64_t ticket = 0, seq;

    told_count = 0;
    assert_int_equal(try_calls(bench, 5), 0);
    assert_int_equal(db_open(bench->file.path, DB_READ, &db, &why), CODE_OK);
    assert_int_equal(db_prepare(db, "SELECT seq FROM entry", &stmt), CODE_OK);
    assert_int_equal(db_step(stmt), CODE_OK);
    for (int i = 0; i < 30000; i++)
        ticket = audit_file_put(bench->ring, &decision);
    assert_int_equal(audit_file_wait(bench->ring, ticket, &seq), AUDIT_DURABLE);
    audit_gauges(bench->audit, &gauges);
    assert_true(gauges.wal_bytes > 2 * 1024 * 1024);
    assert_false(gauges.down);
    db_finalize(&stmt);
    db_close(&db);
    audit_close(&bench->audit);
}

static void move(const char *from, const char *to)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    char old[FILES_PATH_BYTES + 8], new[FILES_PATH_BYTES + 8];

    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        (void)snprintf(old, sizeof old, "%s%s", from, tails[i]);
        (void)snprintf(new, sizeof new, "%s%s", to, tails[i]);
        (void)unlink(new);
        (void)rename(old, new);
    }
}

/* Somebody takes the file away while it is down, and puts another in its place: the writer goes on behind neither, and
 * does once the right one is back. */
TEST_CASE_WITH(test_replaced_while_down, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_file other;
    struct audit *audit;
    char live[FILES_PATH_BYTES], theirs[FILES_PATH_BYTES], aside[128];

    audit_file_init(&other);
    audit = audit_file_open(&other, 1);
    audit_close(&audit);
    told_count = 0;
    assert_int_equal(try_calls(bench, 5), 0);
    fault_vfs_set(FAULT_DISK_FULL, 1);
    for (int tries = 0; !audit_is_down(bench->ring) && tries < 500; tries++)
        (void)try_calls(bench, 3);
    assert_int_equal(files_live(bench->file.path, live), CODE_OK);
    assert_int_equal(files_live(other.path, theirs), CODE_OK);
    (void)snprintf(aside, sizeof aside, "%s.copy", bench->file.path);
    move(live, aside);
    fault_vfs_set(FAULT_NONE, 0);
    nap_ms(400);
    assert_true(audit_is_down(bench->ring));
    assert_int_equal(access(bench->file.path, F_OK), -1);
    move(theirs, live);
    nap_ms(1200);
    assert_true(audit_is_down(bench->ring));
    move(aside, live);
    wait_up(bench);
    assert_int_equal(try_calls(bench, 5), 0);
    audit_close(&bench->audit);
    expect_told_rows(&bench->file);
    audit_file_fini(&other);
}

/* A slice of an erasure that could not be committed is erased again, and counted once, also where it was on the disk after all. */
TEST_CASE_WITH(test_erased_again, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_decision decision = audit_call("acme", "c");
    struct audit_done done = {0};

    decision.arguments = SPAN_LIT("{\"card\":4111}");
    for (int nth = 1; nth <= 4; nth++) {
        const struct audit_erasure erasure = {SPAN_LIT("acme"), SPAN_LIT("ann"), SPAN_LIT("asked"), INT64_C(1800000000000000), nth};

        audit_file_fill(bench->ring, &decision, 1, 30);
        fault_vfs_set_once(FAULT_SYNC, nth); /* about where the slice is committed */
        assert_int_equal(audit_erase(bench->audit, &erasure), CODE_OK);
        for (int tries = 0; !audit_job_over(bench->audit, &done); tries++) {
            assert_true(tries < NAPS_MOST);
            nap_ms(5);
        }
        fault_vfs_set(FAULT_NONE, 0);
        assert_int_equal(done.code, CODE_OK);
        if (strstr(done.text, "the values of 30 calls were erased") == NULL)
            fail_msg("a failed sync %d: %s", nth, done.text);
        wait_up(bench);
    }
}

static atomic_int early, wakes;

static void look_at_disk(void *context)
{
    (void)context;
    atomic_fetch_add(&wakes, 1);
    if (fault_vfs_unsynced() != 0)
        atomic_fetch_add(&early, 1);
}

/* 1.25: the WAL is written, then synced, and only then is a worker woken, which only then can see a fate */
TEST_CASE_WITH(test_written_synced_woken, setup, teardown)
{
    struct bench *bench = *state;
    const struct audit_conf conf = {.path = bench->file.path, .rings = 1};
    struct why why = {0};
    int syncs;

    audit_close(&bench->audit);
    assert_int_equal(audit_open(&conf, &bench->audit, &why), CODE_OK);
    audit_on_settled(bench->audit, 0, look_at_disk, NULL);
    assert_int_equal(audit_start(bench->audit, &why), CODE_OK);
    bench->ring = audit_ring(bench->audit, 0);
    syncs = fault_vfs_syncs();
    told_count = 0;
    for (int i = 0; i < 50; i++)
        assert_int_equal(try_calls(bench, 1 + i % 9), 0);
    assert_true(wakes >= 50);
    assert_int_equal(early, 0);
    assert_true(fault_vfs_syncs() - syncs >= 50);
}

/* Each allocation of opening, of a verification: an error with a sentence, no crash, and the next try works. */
TEST_CASE_WITH(test_out_of_memory, setup, teardown)
{
    static struct verify_report report;
    struct bench *bench = *state;
    const struct audit_conf conf = {.path = bench->file.path, .rings = 2, .node = "n"};
    struct audit *audit = NULL;
    struct why why;
    enum code code = CODE_NOMEM;

    told_count = 0;
    assert_int_equal(try_calls(bench, 5), 0);
    audit_close(&bench->audit);
    for (uint64_t n = 1; code != CODE_OK; n++) {
        assert_true(n < 2000);
        why.text[0] = '\0';
        mem_fail_at(n, 0);
        code = audit_open(&conf, &audit, &why);
        mem_fail_at(0, 0);
        if (code != CODE_OK && (code != CODE_NOMEM || audit != NULL || why.text[0] == 0))
            fail_msg("allocation %llu: %s: %s", (unsigned long long)n, code_text(code), why.text);
    }
    audit_close(&audit);
    code = CODE_NOMEM;
    for (uint64_t n = 1; code != CODE_OK; n++) {
        assert_true(n < 2000);
        mem_fail_at(n, 0);
        code = audit_verify(&(struct verify_conf){.path = bench->file.path}, &report, &why);
        mem_fail_at(0, 0);
        assert_true(code == CODE_OK || code == CODE_NOMEM);
    }
    assert_int_equal(report.fault_count, 0);
}

TEST_MAIN(NULL, NULL)
