/* SPDX-License-Identifier: Apache-2.0 */
/* 1.27, 3.9, 3.10: the n-th write or sync fails, for every n up to a bound: while the file is made, while calls run, at the end. After
 * each: whoever was told a number finds its row, every permit has one outcome, and the chain is whole. */
#include "audit/writer.h"

#include "evidence/verify.h"
#include "fakes/audit_whole.h"
#include "fakes/fault_vfs.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <time.h>

#define BOUND 40

static uint64_t told[1024];
static size_t told_count;

static struct audit *open_in_the_end(const struct audit_file *file, int *failed)
{
    const struct audit_conf conf = {.path = file->path, .rings = 1, .node = "n"};
    struct why why = {0};
    struct audit *audit;

    if (audit_open(&conf, &audit, &why) != CODE_OK) {
        ++*failed;
        assert_true(why.text[0] != '\0');
        fault_vfs_set(FAULT_NONE, 0);
        if (audit_open(&conf, &audit, &why) != CODE_OK)
            fail_msg("not even with a sound disk: %s", why.text);
    }
    assert_int_equal(audit_start(audit, &why), CODE_OK);
    return audit;
}

static void call_some(struct audit_ring *ring, int count)
{
    const struct audit_decision decision = audit_call("acme", "c");

    for (int i = 0; i < count; i++) {
        struct audit_result answer;
        uint64_t ticket, seq;

        if (audit_put_decision(ring, &decision, &ticket) != CODE_OK || audit_file_wait(ring, ticket, &seq) != AUDIT_DURABLE)
            continue;
        told[told_count++] = seq;
        answer = audit_answer(seq);
        audit_put_result(ring, &answer);
    }
}

static void expect_told(const struct audit_file *file)
{
    audit_whole_verify(file, NULL, SPAN_NONE, "told");
    audit_whole_has(file, "SELECT decision FROM outcome WHERE outcome IN ('result', 'unknown')", told, told_count, "at the end");
    assert_int_equal(audit_file_number(file, "SELECT count(*) FROM unfinished"), 0);
}

static void run(enum fault_kind kind, int nth, int *refused)
{
    struct audit_file file;
    struct audit *audit;

    audit_file_init(&file);
    told_count = 0;
    fault_vfs_set(kind, nth);
    audit = open_in_the_end(&file, refused);
    call_some(audit_ring(audit, 0), 12);
    fault_vfs_set(FAULT_NONE, 0);
    for (int tries = 0; audit_is_down(audit_ring(audit, 0)); tries++) {
        assert_true(tries < NAPS_MOST);
        (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    call_some(audit_ring(audit, 0), 3);
    assert_true(told_count >= 3);
    audit_close(&audit);
    expect_told(&file);
    audit = open_in_the_end(&file, refused); /* and what a gate that could not write its end left is closed now */
    audit_close(&audit);
    expect_told(&file);
    audit_file_fini(&file);
}

static void run_all(enum fault_kind kind)
{
    int refused = 0;

    fault_vfs_install();
    for (int nth = 1; nth <= BOUND; nth++)
        run(kind, nth, &refused);
    assert_true(refused > 0 && refused < BOUND); /* some hit the opening, some the calls */
}

TEST_CASE(test_disk_full)
{
    run_all(FAULT_DISK_FULL);
}

TEST_CASE(test_write_error)
{
    run_all(FAULT_WRITE);
}

TEST_CASE(test_sync_error)
{
    run_all(FAULT_SYNC);
}

TEST_MAIN(NULL, NULL)
