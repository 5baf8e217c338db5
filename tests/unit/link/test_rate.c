/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"
#include "link/rate.h"

#include <pthread.h>
#include <stdatomic.h>

#define SECOND INT64_C(1000000)

static const struct rate ten = {.interval_ns = 100000000, .burst = 5}; /* 10/s */
static struct rates *rates;

static unsigned taken(uint64_t key, int64_t now_us, unsigned tries)
{
    unsigned count = 0;

    for (unsigned i = 0; i < tries; i++)
        count += rates_take(rates, key, &ten, now_us) == 0;
    return count;
}

TEST_CASE(test_burst_then_rate) /* 4.12 */
{
    assert_ok(rates_new(&rates));
    assert_int_equal(taken(7, SECOND, 100), 5);
    assert_in_range(rates_take(rates, 7, &ten, SECOND), 100000, 100001); /* who waits so long has one */
    assert_int_equal(taken(7, SECOND + 99999, 10), 0);
    assert_int_equal(taken(7, SECOND + 100001, 10), 1);
    assert_int_equal(taken(7, SECOND + 400001, 100), 3); /* as many as came since */
    assert_int_equal(taken(7, 100 * SECOND, 100), 5); /* never more than a burst */
    assert_int_equal(taken(8, 100 * SECOND, 100), 5); /* another's */
    rates_free(&rates);
}

TEST_CASE(test_long_run) /* 4.12: the rate, exactly, however often it is asked */
{
    unsigned count = 0;

    assert_ok(rates_new(&rates));
    for (int64_t now_us = SECOND; now_us < 61 * SECOND; now_us += 500)
        count += rates_take(rates, 1, &ten, now_us) == 0;
    assert_in_range(count, 603, 605);
    rates_free(&rates);
}

/* 4.12: more of them than there are places: each newcomer has its token, and who took most is not forgiven. */
TEST_CASE(test_full_table)
{
    unsigned count = 0, forgiven = 0;

    assert_ok(rates_new(&rates));
    for (uint64_t key = 1; key <= 100; key++)
        assert_int_equal(taken(key * UINT64_C(0x9e3779b97f4a7c15), SECOND, 100), 5);
    for (uint64_t i = 1000; i < 201000; i++)
        count += rates_take(rates, i * UINT64_C(0x9e3779b97f4a7c15), &ten, SECOND) == 0;
    assert_int_equal(count, 200000);
    for (uint64_t key = 1; key <= 100; key++)
        forgiven += taken(key * UINT64_C(0x9e3779b97f4a7c15), SECOND, 1);
    assert_int_equal(forgiven, 0);
    rates_free(&rates);
}

/* 4.12: what was used up at a slow rate is not waited for at a fast one. */
TEST_CASE(test_other_rate)
{
    static const struct rate hourly = {.interval_ns = INT64_C(3600000000000), .burst = 1000};

    assert_ok(rates_new(&rates));
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(rates_take(rates, 7, &hourly, SECOND), 0);
    assert_in_range(rates_take(rates, 7, &hourly, SECOND), 3600 * SECOND, 3600 * SECOND + 1);
    assert_in_range(rates_take(rates, 7, &ten, SECOND), 100000, 100001);
    assert_int_equal(taken(7, SECOND + 100001, 10), 1);
    assert_int_equal(rates_take(rates, 7, &hourly, 2 * SECOND), 0); /* and back */
    rates_free(&rates);
}

static atomic_uint all;

static void *ask(void *argument)
{
    (void)argument;
    for (int i = 0; i < 20000; i++)
        atomic_fetch_add(&all, rates_take(rates, 3, &ten, SECOND) == 0);
    return NULL;
}

TEST_CASE(test_threads) /* 4.12: exact with many workers */
{
    pthread_t threads[3];

    assert_ok(rates_new(&rates));
    for (int i = 0; i < 3; i++)
        assert_ok(pthread_create(&threads[i], NULL, ask, NULL));
    for (int i = 0; i < 3; i++)
        assert_ok(pthread_join(threads[i], NULL));
    assert_int_equal(all, 5);
    rates_free(&rates);
}

TEST_MAIN(NULL, NULL)
