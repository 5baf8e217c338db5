/* SPDX-License-Identifier: Apache-2.0 */
/* 10.32: rows behind the last checkpoint. A start tells of them, and signs none that no gate leaves there. */
#include "unit/audit/kept_bench.h"

#include <sys/wait.h>

#define HOUR_US (INT64_C(3600) * 1000000)

/* A gate that decides calls, dated so far from now, and is killed before it signs them. */
static void be_killed(struct bench *bench, const int64_t *from_now_us, int calls)
{
    uint32_t interval_ms = bench->conf.interval_ms;
    struct audit *audit;
    int status;
    pid_t child;

    bench->conf.interval_ms = 60000;
    child = fork();
    if (child == 0) {
        if (open_audit(bench, NULL, &audit) != CODE_OK)
            _exit(1);
        for (int i = 0; i < calls; i++) {
            struct audit_decision decision = audit_call("acme", "c");
            uint64_t seq;

            decision.time_us = clock_wall_us() + from_now_us[i];
            if (audit_file_wait(audit_ring(audit, 0), audit_file_put(audit_ring(audit, 0), &decision), &seq) != AUDIT_DURABLE)
                _exit(1);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    bench->conf.interval_ms = interval_ms;
}

/* 10.32: told, whoever wrote them. Also of checkpoints that failed for hours a gate starts again by itself. */
TEST_CASE_WITH(test_unsigned_rows, setup, teardown)
{
    static const int64_t dates[] = {0, 1, 12 * HOUR_US, -HOUR_US / 2};
    struct bench *bench = *state;

    be_killed(bench, dates, 2); /* before the log's first checkpoint */
    run(bench, NULL, 2);
    assert_int_equal(events(bench, "unsigned_rows"), 1);
    be_killed(bench, dates, 4);
    run(bench, NULL, 1);
    assert_int_equal(events(bench, "unsigned_rows"), 2);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event AS e JOIN entry AS r ON r.seq BETWEEN e.detail ->> 'from' "
                                       "AND e.detail ->> 'to' WHERE e.kind = 'unsigned_rows' AND r.kind = 'decision'"), 6);
    assert_int_equal(audit_file_number(&bench->file, "SELECT max((SELECT max(time_us) - min(time_us) FROM decision WHERE seq BETWEEN "
                                       "detail ->> 'from' AND detail ->> 'to') = detail ->> 'newest_us' - detail ->> 'oldest_us') "
                                       "FROM event WHERE kind = 'unsigned_rows'"), 1);
    assert_int_equal(audit_file_number(&bench->file, "SELECT min(detail ->> 'to' = e.seq - 1) FROM event AS e WHERE kind = "
                                       "'unsigned_rows'"), 1);
    assert_int_equal(events(bench, "loss_accepted"), 0);
    assert_int_equal(verify(bench, true)->fault_count, 0);
}

static void accept_unsigned(struct bench *bench, int losses)
{
    run(bench, "looked at", 1);
    assert_int_equal(events(bench, "loss_accepted"), losses);
    assert_int_equal(events(bench, "unsigned_rows"), losses);
    assert_string_equal(audit_file_ask(&bench->file, "SELECT actor || ': ' || (detail ->> 'why') || ', ' || (detail ->> 'fault') || "
                                       "', ' || (detail ->> 'size') FROM event WHERE kind = 'loss_accepted' ORDER BY seq DESC"),
                        "ada: looked at, unsigned, 0");
    run(bench, NULL, 1);
    assert_int_equal(verify(bench, true)->fault_count, 0);
}

/* A row behind the last, as somebody else would append it who knows the format. */
static void append_event(struct bench *bench, const char *kind)
{
    const struct audit_event event = {.time_us = clock_wall_us() - 24 * HOUR_US, .kind = span_text(kind), .actor = SPAN_LIT("gate"),
                                      .detail = SPAN_LIT("{}")};
    struct ledger ledger;

    assert_int_equal(ledger_init(&ledger, bench->file.path, "node-1"), CODE_OK);
    assert_int_equal(files_live(bench->file.path, ledger.file), CODE_OK);
    assert_int_equal(ledger_open(&ledger, DB_WRITE, 1, &bench->why), CODE_OK);
    assert_int_equal(ledger_begin(&ledger), CODE_OK);
    assert_int_equal(ledger_event(&ledger, &event), CODE_OK);
    assert_int_equal(ledger_commit(&ledger), CODE_OK);
    ledger_fini(&ledger);
}

/* 10.32: what no gate leaves is not signed without a word. */
TEST_CASE_WITH(test_rows_of_others, setup, teardown)
{
    struct bench *bench = *state;

    run(bench, NULL, 1);
    append_event(bench, "key_made");
    refused(bench, NULL, "behind a `stop`");
    refused(bench, NULL, "--despite-loss"); /* nothing was signed meanwhile */
    accept_unsigned(bench, 1);
    append_event(bench, "heads_damaged");
    append_event(bench, "key_made"); /* before any `start` */
    append_event(bench, "stop");
    refused(bench, NULL, "behind a `stop`");
    accept_unsigned(bench, 2);
    append_event(bench, "key_made");
    bench->conf.file = NULL; /* where checkpoints are posted */
    refused(bench, NULL, "behind a `stop`");
    bench->conf.file = bench->heads;
    accept_unsigned(bench, 3);
}

TEST_MAIN(NULL, NULL)
