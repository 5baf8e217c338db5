/* SPDX-License-Identifier: Apache-2.0 */
/* The room that a permit reserves for its outcome, when record and outcome share a batch that fails, and fails again. */
#include "audit/writer_priv.h"
#include "fakes/audit_file.h"
#include "fakes/cm.h"

#include <stdlib.h>
#include <string.h>

static struct audit *open_still(const struct audit_file *file)
{
    const struct audit_conf conf = {.path = file->path, .rings = 1, .node = "node-1", .version = SPAN_LIT("test")};
    struct audit *audit;
    struct why why = {0};

    if (audit_open(&conf, &audit, &why) != CODE_OK) /* its thread is not started: the test is the writer */
        fail_msg("%s", why.text);
    return audit;
}

static void put_large(struct audit_ring *ring)
{
    static char text[60000];
    struct audit_decision decision = {.time_us = 1, .tenant = SPAN_LIT("t"), .verdict = AUDIT_PERMIT,
                                      .reason = REASON_PERMITTED, .arguments = {text, sizeof text}};
    uint64_t ticket;

    memset(text, '1', sizeof text);
    assert_ok(audit_put_decision(ring, &decision, &ticket));
}

/* The disk is full for whatever needs new pages. */
static void fail_a_batch(struct audit *audit)
{
    assert_ok(db_exec(audit->ledger.db, "PRAGMA max_page_count = 1"));
    assert_false(writer__batch(audit));
}

/* 1.25, 1.26 */
TEST_CASE(test_room_comes_back_once)
{
    struct audit_file file;
    struct audit *audit;
    struct audit_ring *ring;
    struct audit_decision call = audit_call("t", "c");
    struct audit_result result = {.outcome = OUTCOME_NOT_SENT, .reason = REASON_AGENT_GONE, .upstream_us = -1};

    audit_file_init(&file);
    audit = open_still(&file);
    ring = audit_ring(audit, 0);
    assert_ok(audit_put_decision(ring, &call, &result.ticket));
    audit_put_result(ring, &result); /* the agent is gone while the row commits */
    put_large(ring);
    fail_a_batch(audit);
    assert_int_equal(atomic_load(&ring->rooms_lost), 1);
    for (int i = 0; i < 3; i++) {
        assert_true(writer__recover(audit));
        put_large(ring);
        fail_a_batch(audit);
    }
    assert_true(writer__recover(audit));
    assert_true(writer__batch(audit));
    assert_int_equal(atomic_load(&ring->rooms_lost), 0);
    assert_int_equal(ring->reserved, 0);
    audit_close(&audit);
    assert_int_equal(audit_file_number(&file, "SELECT count(*) FROM unfinished"), 0);
    audit_file_fini(&file);
}

/* 10.28: a second outcome of one call is a fault of ours: it is not written, all else is, and calls are denied from then on. */
TEST_CASE(test_second_outcome_denies)
{
    const struct audit_decision decision = audit_call("acme", "c");
    struct audit_result result = audit_answer(0);
    struct audit_gauges gauges;
    struct audit_file file;
    struct audit *audit;
    struct audit_ring *ring;
    uint64_t first, second, ticket;

    audit_file_init(&file);
    audit = open_still(&file);
    ring = audit_ring(audit, 0);
    assert_ok(audit_put_decision(ring, &decision, &first));
    assert_ok(audit_put_decision(ring, &decision, &second));
    assert_true(writer__batch(audit));
    assert_int_equal(audit_fate(ring, first, &result.decision), AUDIT_DURABLE);
    audit_put_result(ring, &result);
    audit_put_result(ring, &result);
    assert_true(writer__batch(audit));
    assert_int_equal(audit_put_decision(ring, &decision, &ticket), CODE_DOWN);
    audit_gauges(audit, &gauges);
    assert_true(gauges.down);
    audit_close(&audit);
    assert_int_equal(audit_file_number(&file, "SELECT count(*) FROM outcome WHERE outcome = 'result'"), 1);
    assert_int_equal(audit_file_number(&file, "SELECT count(*) FROM outcome WHERE outcome = 'unknown'"), 1);
    audit_file_fini(&file);
}

static void count_up(void *context)
{
    ++*(int *)context;
}

/* 10.28: what waits in a ring and cannot be read is denied, at once, and what stood before it is written. */
TEST_CASE(test_lost_ring_denies)
{
    const struct audit_decision decision = audit_call("acme", "c");
    struct audit_file file;
    struct audit *audit;
    struct audit_ring *ring;
    uint64_t first, second, third, seq;
    uint32_t no_length = UINT32_MAX;
    int woken = 0;

    audit_file_init(&file);
    audit = open_still(&file);
    ring = audit_ring(audit, 0);
    audit_on_settled(audit, 0, count_up, &woken);
    assert_ok(audit_put_decision(ring, &decision, &first));
    seq = ring_tail(ring);
    assert_ok(audit_put_decision(ring, &decision, &second));
    memcpy(ring->bytes + seq, &no_length, sizeof no_length); /* a ring that has not grown, nor gone round */
    assert_true(writer__batch(audit));
    assert_int_equal(audit_fate(ring, first, &seq), AUDIT_DURABLE);
    assert_int_equal(audit_fate(ring, second, &seq), AUDIT_FAILED);
    assert_int_equal(woken, 1);
    assert_int_equal(audit_put_decision(ring, &decision, &third), CODE_DOWN);
    audit_close(&audit);
    assert_int_equal(audit_file_number(&file, "SELECT count(*) FROM decision"), 1);
    audit_file_fini(&file);
}

TEST_MAIN(NULL, NULL)
