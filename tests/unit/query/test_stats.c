/* SPDX-License-Identifier: Apache-2.0 */
/* 3.4: audit stats: what is counted, by what, and latencies within 3 % of those that were written. */
#include "query/stats.h"

#include "base/mem.h"
#include "fakes/audit_file.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>

#define CALLS 5000
#define BEGIN_US 1700000000000000

static struct audit_file file;
static struct trail trail;

static int64_t latency_of(int i)
{
    return 1 + (int64_t)i * i * 3; /* from 1 us to 75 s */
}

/* Call i: tenant t0..t3, every fifth denied, every tenth of the rest fails; one name a call for principals. */
static void fill(struct audit_ring *ring)
{
    struct audit_decision decision = audit_call("", "c");
    uint64_t ticket = 0, seq;
    char tenant[16], principal[16];

    for (int i = 0; i < CALLS; i++) {
        struct audit_result result = audit_answer(0);

        (void)snprintf(tenant, sizeof tenant, "t%d", i % 4);
        (void)snprintf(principal, sizeof principal, "p%d", i);
        decision.time_us = BEGIN_US + (int64_t)i * 1000000;
        decision.tenant = span_text(tenant);
        decision.principal = span_text(principal);
        decision.tool = i % 3 == 0 ? SPAN_NONE : SPAN_LIT("read");
        decision.verdict = i % 5 == 0 ? AUDIT_DENY : AUDIT_PERMIT;
        decision.reason = i % 5 == 0 ? REASON_NO_RULE : REASON_PERMITTED;
        decision.expects_outcome = i % 5 != 0;
        decision.rule = i % 5 == 0 ? SPAN_NONE : SPAN_LIT("r");
        ticket = audit_file_put(ring, &decision);
        result.ticket = ticket;
        result.latency_us = latency_of(i);
        result.outcome = i % 10 == 1 ? OUTCOME_TIMEOUT : OUTCOME_RESULT;
        if (i % 5 != 0 && i != CALLS - 1) /* the last is under way */
            audit_put_result(ring, &result);
    }
    assert_int_equal(audit_file_wait(ring, ticket, &seq), AUDIT_DURABLE);
}

static int setup(void **state)
{
    struct audit *audit;
    struct why why = {0};

    (void)state;
    audit_file_init(&file);
    audit = audit_file_open(&file, 1);
    fill(audit_ring(audit, 0));
    while (audit_file_number(&file, "SELECT count(*) FROM outcome") < CALLS / 5 * 4 - 1)
        continue;
    assert_int_equal(trail_find(file.path, false, &trail, &why), CODE_OK);
    *state = audit;
    return 0;
}

static int teardown(void **state)
{
    struct audit *audit = *state;

    trail_fini(&trail);
    audit_close(&audit);
    audit_file_fini(&file);
    return 0;
}

static struct stats *count(const struct query *query, unsigned bys)
{
    struct stats *stats;
    struct why why = {0};

    if (audit_stats(&trail, query, bys, &stats, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return stats;
}

TEST_CASE(test_total)
{
    struct stats *stats = count(&(struct query){.tenant = SPAN_NONE}, 0);
    const struct stats_group *total = stats_total(stats);

    assert_true(total->calls == CALLS && total->denied == CALLS / 5 && total->permitted == CALLS / 5 * 4 && total->held == 0);
    assert_true(total->failed == CALLS / 10 && total->open == 1);
    assert_true(total->first_us == BEGIN_US && total->last_us == BEGIN_US + (int64_t)(CALLS - 1) * 1000000);
    stats_free(&stats);
    stats = count(&(struct query){.since_us = BEGIN_US + 10000000, .until_us = BEGIN_US + 20000000}, 0);
    assert_int_equal(stats_total(stats)->calls, 10);
    stats_free(&stats);
    stats = count(&(struct query){.tenant = SPAN_LIT("nobody")}, 1u << STATS_TOOL);
    assert_int_equal(stats_total(stats)->calls, 0);
    total = stats_total(stats);
    assert_true(total->first_us == 0 && total->last_us == 0 && stats_percentile(total, 50) == 0);
    stats_free(&stats);
}

/* 13.9: of the newest alone, by minute. */
TEST_CASE(test_newest_by_minute)
{
    const struct stats_group *const *minutes;
    struct stats *stats = count(&(struct query){.limit = 3}, 1u << STATS_MINUTE);
    int64_t last_us = BEGIN_US + (int64_t)(CALLS - 1) * 1000000;
    uint64_t calls = 0;
    size_t found = stats_groups(stats, STATS_MINUTE, &minutes);

    assert_true(stats_total(stats)->calls == 3 && stats_total(stats)->first_us == last_us - 2000000);
    for (size_t i = 0; i < found; i++) {
        assert_int_equal(minutes[i]->name.len, strlen("2026-01-01T00:00"));
        assert_true(minutes[i]->last_us - minutes[i]->first_us < 60000000);
        calls += minutes[i]->calls;
    }
    assert_int_equal(calls, 3);
    stats_free(&stats);
}

static int by_number(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

TEST_CASE(test_percentiles)
{
    static const unsigned percents[] = {1, 10, 50, 90, 95, 99, 100};
    static int64_t all[CALLS];
    struct stats *stats = count(&(struct query){0}, 0);
    size_t have = 0;

    for (int i = 0; i < CALLS - 1; i++)
        if (i % 5 != 0)
            all[have++] = latency_of(i);
    /* denials have none here: audit_call leaves latency_us 0, which is recorded */
    for (int i = 0; i < CALLS / 5; i++)
        all[have++] = 0;
    assert_int_equal(stats_total(stats)->latencies, have);
    qsort(all, have, sizeof all[0], by_number);
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        int64_t exact = all[(have * percents[i] + 99) / 100 - 1], got = stats_percentile(stats_total(stats), percents[i]);

        if (got < exact || (double)got > (double)exact * 1.032)
            fail_msg("p%u: %lld, exactly %lld", percents[i], (long long)got, (long long)exact);
    }
    assert_true(stats_percentile(stats_total(stats), 100) == all[have - 1]);
    stats_free(&stats);
    /* Of three, the middle one. */
    stats = count(&(struct query){.since_us = BEGIN_US + 1000000, .until_us = BEGIN_US + 4000000}, 0);
    assert_int_equal(stats_total(stats)->latencies, 3);
    assert_int_equal(stats_percentile(stats_total(stats), 50), latency_of(2));
    assert_int_equal(stats_percentile(stats_total(stats), 33), latency_of(1));
    assert_int_equal(stats_percentile(stats_total(stats), 34), latency_of(2));
    stats_free(&stats);
}

TEST_CASE(test_groups)
{
    const unsigned bys = 1u << STATS_TENANT | 1u << STATS_TOOL | 1u << STATS_RULE | 1u << STATS_PRINCIPAL;
    struct stats *stats = count(&(struct query){0}, bys);
    const struct stats_group *const *groups;
    uint64_t sum = 0;
    size_t n = stats_groups(stats, STATS_TENANT, &groups);

    assert_true(n == 4 && span_is(groups[0]->name, "t0") && groups[0]->calls == CALLS / 4);
    assert_int_equal(stats_groups(stats, STATS_TOOL, &groups), 2);
    assert_true(span_is(groups[0]->name, "read") && span_is(groups[1]->name, "tools/call")); /* the method where no tool is */
    assert_int_equal(stats_groups(stats, STATS_RULE, &groups), 2);
    assert_true(groups[1]->name.at == NULL && groups[1]->calls == CALLS / 5 && groups[1]->denied == CALLS / 5);
    n = stats_groups(stats, STATS_PRINCIPAL, &groups); /* more names than are kept */
    assert_true(n == STATS_GROUPS_MAX + 1 && groups[n - 1]->is_rest && groups[n - 1]->calls == CALLS - STATS_GROUPS_MAX);
    for (size_t i = 0; i < n; i++)
        sum += groups[i]->calls;
    assert_int_equal(sum, CALLS);
    assert_int_equal(stats_groups(stats, STATS_METHOD, &groups), 0); /* not asked for */
    stats_free(&stats);
}

TEST_CASE(test_out_of_memory)
{
    enum code code = CODE_NOMEM;

    for (uint64_t n = 1; code != CODE_OK; n++) {
        struct stats *stats;
        struct why why = {0};

        assert_true(n < 1000);
        mem_fail_at(n, 0);
        code = audit_stats(&trail, &(struct query){.tenant = SPAN_LIT("t1"), .limit = 1, .until_us = BEGIN_US + 90000000},
                           1u << STATS_TOOL | 1u << STATS_RULE, &stats, &why);
        mem_fail_at(0, 0);
        assert_true(code == CODE_OK || code == CODE_NOMEM);
        assert_true((stats != NULL) == (code == CODE_OK));
        stats_free(&stats);
    }
}

/* 4.18: what was refused by the server and what nobody knows have failed, for `audit stats` and for the view alike. */
TEST_CASE(test_failed)
{
    static const enum audit_outcome outcomes[] = {
        OUTCOME_UNKNOWN, OUTCOME_RESULT, OUTCOME_TOOL_ERROR, OUTCOME_PROTOCOL_ERROR, OUTCOME_HTTP_ERROR, OUTCOME_ACCEPTED,
        OUTCOME_STREAM_ENDED, OUTCOME_DETACHED, OUTCOME_UPSTREAM_FAILURE, OUTCOME_TIMEOUT, OUTCOME_CANCELLED, OUTCOME_REFUSED,
        OUTCOME_NOT_SENT,
    };
    struct audit_file own;
    struct trail one;
    struct audit *audit;
    struct stats *stats;
    struct why why = {0};

    audit_file_init(&own);
    audit = audit_file_open(&own, 1);
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++) {
        const struct audit_decision decision = audit_call("acme", "c");
        struct audit_result answer;
        uint64_t seq;

        assert_int_equal(audit_file_wait(audit_ring(audit, 0), audit_file_put(audit_ring(audit, 0), &decision), &seq),
                         AUDIT_DURABLE);
        answer = audit_answer(seq);
        answer.outcome = outcomes[i];
        audit_put_result(audit_ring(audit, 0), &answer);
    }
    audit_close(&audit);
    assert_int_equal(trail_find(own.path, false, &one, &why), CODE_OK);
    assert_int_equal(audit_stats(&one, &(struct query){0}, 0, &stats, &why), CODE_OK);
    assert_int_equal(stats_total(stats)->failed, 7);
    assert_int_equal(audit_file_number(&own, "SELECT failed FROM tool_use"), 7);
    stats_free(&stats);
    trail_fini(&one);
    audit_file_fini(&own);
}

TEST_MAIN(setup, teardown)
