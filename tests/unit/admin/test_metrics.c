/* SPDX-License-Identifier: Apache-2.0 */
/* 1.30: what is counted and how it is written for Prometheus. */
#include "admin/metrics.h"

#include "base/mem.h"

#include <pthread.h>
#include "fakes/cm.h"

#include <stdio.h>

static char text[4 << 20];

static const char *written(const struct metrics *metrics, const struct metrics_gauge *gauges, size_t count)
{
    struct buf out;
    struct span all;

    buf_init(&out, sizeof text);
    assert_int_equal(metrics_write(metrics, gauges, count, &out), CODE_OK);
    all = buf_peek(&out);
    memcpy(text, all.at, all.len);
    text[all.len] = '\0';
    buf_fini(&out);
    return text;
}

static struct metrics_call call_of(const char *tool)
{
    return (struct metrics_call){.upstream = SPAN_LIT("shop"), .tool = span_text(tool), .verdict = "permit",
                                 .reason = REASON_PERMITTED, .judge_us = 7, .audit_us = 400, .upstream_us = -1};
}

/* 1.30 */
TEST_CASE(test_calls_are_counted_by_label)
{
    struct metrics *metrics;
    struct metrics_call call = call_of("search");

    assert_int_equal(metrics_new(1, 0, &metrics), CODE_OK);
    metrics_call(metrics, &call);
    metrics_call(metrics, &call);
    call.tool = SPAN_NONE;
    metrics_call(metrics, &call);
    call.tool = SPAN_LIT("a\"b\\c");
    metrics_call(metrics, &call);
    assert_non_null(strstr(written(metrics, NULL, 0),
        "callgate_calls_total{upstream=\"shop\",tool=\"search\",verdict=\"permit\",reason=\"permitted\"} 2\n"));
    assert_non_null(strstr(text, "tool=\"other\",verdict=\"permit\",reason=\"permitted\"} 1\n"));
    assert_non_null(strstr(text, "tool=\"a\\\"b\\\\c\","));
    metrics_free(&metrics);
    assert_null(metrics);
}

/* 1.30 */
TEST_CASE(test_histograms_are_cumulative)
{
    struct metrics *metrics;
    struct metrics_call call = call_of("t");
    const struct metrics_gauge gauges[] = {{"callgate_policy_version", "The active policy's version.", "gauge", 12}};

    assert_int_equal(metrics_new(1, 0, &metrics), CODE_OK);
    metrics_call(metrics, &call);
    call.judge_us = 30;
    metrics_call(metrics, &call);
    written(metrics, gauges, 1);
    assert_non_null(strstr(text, "callgate_judge_seconds_bucket{le=\"1e-05\"} 1\n"));
    assert_non_null(strstr(text, "callgate_judge_seconds_bucket{le=\"5e-05\"} 2\n"));
    assert_non_null(strstr(text, "callgate_judge_seconds_bucket{le=\"+Inf\"} 2\n"));
    assert_non_null(strstr(text, "callgate_judge_seconds_count 2\n"));
    assert_non_null(strstr(text, "callgate_upstream_seconds_count 0\n"));
    assert_non_null(strstr(text, "callgate_policy_version 12\n"));
    assert_non_null(strstr(text, "callgate_endings_total{reason=\"no_rule\"} "));
    metrics_free(&metrics);
}

/* An agent that invents names cannot make the page grow without end. */
TEST_CASE(test_series_are_bounded)
{
    struct metrics *metrics;
    char name[32];

    assert_int_equal(metrics_new(1, 0, &metrics), CODE_OK);
    for (int i = 0; i < METRICS_SERIES_MAX + 100; i++) {
        struct metrics_call call;

        (void)snprintf(name, sizeof name, "tool-%d", i);
        call = call_of(name);
        metrics_call(metrics, &call);
    }
    assert_non_null(strstr(written(metrics, NULL, 0),
                           "callgate_calls_total{upstream=\"other\",tool=\"other\",verdict=\"other\",reason=\"other\"} 100\n"));
    metrics_free(&metrics);
}

struct counter {
    struct metrics *metrics;
    unsigned worker;
};

static void *count_many(void *context)
{
    const struct counter *counter = context;
    struct metrics_call call = call_of("same");

    call.worker = counter->worker;
    for (int i = 0; i < 20000; i++)
        metrics_call(counter->metrics, &call);
    return NULL;
}

TEST_CASE(test_threads_count_without_loss)
{
    struct metrics *metrics;
    pthread_t threads[4];
    struct counter counters[4];

    assert_int_equal(metrics_new(4, 0, &metrics), CODE_OK);
    for (unsigned i = 0; i < 4; i++) {
        counters[i] = (struct counter){metrics, i};
        assert_int_equal(pthread_create(&threads[i], NULL, count_many, &counters[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_non_null(strstr(written(metrics, NULL, 0), "tool=\"same\",verdict=\"permit\",reason=\"permitted\"} 80000\n"));
    assert_non_null(strstr(text, "callgate_judge_seconds_count 80000\n"));
    assert_non_null(strstr(text, "callgate_judge_seconds_sum 0.56\n"));
    metrics_free(&metrics);
}

TEST_CASE(test_without_memory_a_call_counts_as_other)
{
    struct metrics *metrics;
    struct metrics_call call = call_of("t");

    assert_int_equal(metrics_new(1, 0, &metrics), CODE_OK);
    mem_fail_at(1, 0);
    metrics_call(metrics, &call);
    mem_fail_at(0, 0);
    assert_non_null(strstr(written(metrics, NULL, 0), "reason=\"other\"} 1\n"));
    metrics_free(&metrics);
}

/* 7.13: keys may let an agent name tenants, so the number of labels has a bound that the operator sets. */
TEST_CASE(test_tenants_have_a_label_up_to_a_bound)
{
    static const char *const names[] = {"acme", "beta", "gamma", "acme", "delta"};
    struct metrics *metrics;
    struct metrics_call call = call_of("search");

    assert_int_equal(metrics_new(1, 2, &metrics), CODE_OK);
    for (size_t i = 0; i < 5; i++) {
        call.tenant = span_text(names[i]);
        metrics_call(metrics, &call);
    }
    call.tenant = SPAN_NONE;
    metrics_call(metrics, &call);
    assert_non_null(strstr(written(metrics, NULL, 0), "tool=\"search\",tenant=\"acme\",verdict=\"permit\",reason=\"permitted\"} 2\n"));
    assert_non_null(strstr(text, "tenant=\"beta\",verdict=\"permit\",reason=\"permitted\"} 1\n"));
    assert_non_null(strstr(text, "tenant=\"other\",verdict=\"permit\",reason=\"permitted\"} 3\n"));
    assert_null(strstr(text, "gamma"));
    metrics_free(&metrics);
}

TEST_MAIN(NULL, NULL)
