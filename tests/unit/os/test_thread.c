/* SPDX-License-Identifier: Apache-2.0 */
/* 11.4: a thread that rests misses no poke and no stop, and sees what was written before them. */
#include "fakes/cm.h"

#include "os/clock.h"
#include "os/thread.h"

#define ROUNDS 20000
#define POKERS 2

/* A thread that counts what others leave it, as a keeper or a poster does. */
struct counter {
    struct thread thread;
    atomic_uint left;  /* by those who poke */
    unsigned taken;    /* the thread's */
    unsigned rests;    /* from which it came back to go on */
};

static void count(void *argument)
{
    struct counter *counter = argument;

    while (thread_rest(&counter->thread, -1)) {
        counter->rests++;
        counter->taken += atomic_exchange(&counter->left, 0);
    }
    counter->taken += atomic_exchange(&counter->left, 0);
}

static void leave_and_poke(void *argument)
{
    struct counter *counter = argument;

    for (unsigned i = 0; i < ROUNDS; i++) {
        atomic_fetch_add(&counter->left, 1);
        thread_poke(&counter->thread);
        while (i % 1000 == 0 && atomic_load(&counter->left) > 0) /* a poke that is missed ends this test by its time */
            continue;
    }
}

TEST_CASE(misses_no_poke)
{
    struct thread pokers[POKERS] = {{.started = false}, {.started = false}};
    struct counter counter = {.taken = 0};

    assert_ok(thread_start(&counter.thread, "counter", count, &counter, NULL));
    for (unsigned i = 0; i < POKERS; i++)
        assert_ok(thread_start(&pokers[i], "poker", leave_and_poke, &counter, NULL));
    for (unsigned i = 0; i < POKERS; i++)
        thread_join(&pokers[i]);
    thread_stop(&counter.thread);
    assert_int_equal(counter.taken, POKERS * ROUNDS);
    assert_true(counter.rests > 0 && counter.rests <= POKERS * ROUNDS + 1);
}

TEST_CASE(a_poke_before_the_start_counts)
{
    struct counter counter = {.left = 1};

    thread_poke(&counter.thread);
    assert_ok(thread_start(&counter.thread, "counter", count, &counter, NULL));
    while (atomic_load(&counter.left) > 0)
        continue;
    thread_stop(&counter.thread);
    assert_int_equal(counter.taken, 1);
    assert_int_equal(counter.rests, 1);
}

TEST_CASE(stops_from_its_rest_and_before_it)
{
    struct counter counter = {.taken = 0}, never = {.taken = 0};

    assert_ok(thread_start(&counter.thread, "counter", count, &counter, NULL));
    thread_stop(&counter.thread);
    thread_stop(&counter.thread); /* once more is fine */
    assert_false(thread_rest(&counter.thread, -1)); /* whoever is to stop rests no more */
    thread_stop(&never.thread);
    assert_false(thread_rest(&never.thread, -1));
}

TEST_CASE(rests_no_longer_than_told)
{
    struct thread thread = {.started = false};
    int64_t began_us = clock_monotonic_us();

    assert_true(thread_rest(&thread, 0));
    assert_true(thread_rest(&thread, 2));
    assert_true(clock_monotonic_us() - began_us >= 2000);
    thread_poke(&thread);
    assert_true(thread_rest(&thread, -1)); /* at once */
}

TEST_MAIN(NULL, NULL)
