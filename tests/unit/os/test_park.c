/* SPDX-License-Identifier: Apache-2.0 */
/* 11.11: a thread that sleeps until a number changes misses no change, and sleeps no longer than it was told. */
#include "fakes/cm.h"

#include "os/clock.h"
#include "os/park.h"
#include "os/thread.h"

#define ROUNDS 20000

TEST_CASE(does_not_sleep_where_it_has_changed)
{
    atomic_int number = 1;

    park_sleep(&number, 0, -1);
    park_wake(&number); /* nobody */
}

TEST_CASE(sleeps_no_longer_than_told)
{
    int64_t began_us = clock_monotonic_us();
    atomic_int number = 0;

    park_sleep(&number, 0, 0);
    park_sleep(&number, 0, 2000);
    assert_true(clock_monotonic_us() - began_us >= 2000);
}

struct table {
    atomic_int asleep; /* 1: the sleeper is about to sleep */
    atomic_int sent;
};

static void send(void *argument)
{
    struct table *table = argument;

    for (int i = 0; i < ROUNDS; i++) {
        int asleep = 1;

        atomic_fetch_add(&table->sent, 1);
        if (atomic_compare_exchange_strong(&table->asleep, &asleep, 0))
            park_wake(&table->asleep);
    }
}

/* As the audit's writer sleeps: it says so, looks once more, and sleeps for ever. A wake that is missed ends this test by its time. */
TEST_CASE(misses_no_change)
{
    struct thread threads[2] = {{.started = false}, {.started = false}};
    struct table table = {.asleep = 0};

    for (int i = 0; i < 2; i++)
        assert_ok(thread_start(&threads[i], "sender", send, &table, NULL));
    for (int seen = 0; seen < 2 * ROUNDS;) {
        atomic_store(&table.asleep, 1);
        if (atomic_load(&table.sent) == seen)
            park_sleep(&table.asleep, 1, -1);
        atomic_store(&table.asleep, 0);
        seen = atomic_load(&table.sent);
    }
    for (int i = 0; i < 2; i++)
        thread_join(&threads[i]);
}

TEST_MAIN(NULL, NULL)
