/* SPDX-License-Identifier: Apache-2.0 */
/* 13.1: places that a few may have at once are had in turn, and nobody has more of them than are free. */
#include "console/places.h"
#include "os/clock.h"
#include "os/thread.h"
#include "fakes/cm.h"

#include <stdatomic.h>
#include <unistd.h>

#define LONG_MS 600000 /* whoever waits for so long waits until he has one */

static struct places places;
static struct {
    struct thread thread;
    uint64_t whose;
    unsigned wait_ms;
    atomic_int had; /* the place in the order in which they had one; -1: none */
} asks[8];
static atomic_int turn;

static void ask(void *context)
{
    size_t at = (size_t)(uintptr_t)context;
    bool has = places_take(&places, asks[at].whose, asks[at].wait_ms);

    atomic_store(&asks[at].had, has ? atomic_fetch_add(&turn, 1) + 1 : -1);
}

static void begin(size_t at, uint64_t whose, unsigned wait_ms)
{
    struct why why;

    asks[at].whose = whose;
    asks[at].wait_ms = wait_ms;
    atomic_store(&asks[at].had, 0);
    assert_int_equal(thread_start(&asks[at].thread, "asks", ask, (void *)(uintptr_t)at, &why), 0);
}

static unsigned waits(void)
{
    unsigned count;

    assert_int_equal(pthread_mutex_lock(&places.lock), 0);
    count = places.waits;
    assert_int_equal(pthread_mutex_unlock(&places.lock), 0);
    return count;
}

static void until_wait(unsigned count)
{
    while (waits() != count)
        (void)usleep(1000);
}

static int had(size_t at)
{
    thread_stop(&asks[at].thread);
    return atomic_load(&asks[at].had);
}

TEST_CASE(nobody_has_more_than_are_free)
{
    static const struct { uint64_t whose; bool has; } all[] = {
        {1, true}, {1, true}, {1, true}, {1, false}, {2, true}, {2, true}, {2, false}, {1, false}, {3, true}, {3, false}, {4, false}};

    places_init(&places, 6, 8);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        assert_int_equal(places_take(&places, all[i].whose, 1), all[i].has);
    places_leave(&places, 1);
    assert_false(places_take(&places, 1, 1)); /* two are his, one is free */
    assert_true(places_take(&places, 4, 1));
}

TEST_CASE(who_comes_first_goes_first)
{
    atomic_store(&turn, 0);
    places_init(&places, 2, 8);
    assert_true(places_take(&places, 1, 0));
    begin(0, 1, LONG_MS); /* one of two is his: he waits for it */
    until_wait(1);
    begin(1, 1, LONG_MS);
    until_wait(2);
    begin(2, 2, LONG_MS); /* another goes past those who may not have it */
    assert_int_equal(had(2), 1);
    begin(3, 3, LONG_MS);
    until_wait(3);
    places_leave(&places, 2);
    assert_int_equal(had(3), 2);
    places_leave(&places, 3);
    places_leave(&places, 1);
    assert_int_equal(had(0), 3);
    places_leave(&places, 1);
    assert_int_equal(had(1), 4);
    places_leave(&places, 1);
    assert_int_equal(places.taken + places.waits, 0);
}

/* One address waits for no more turns than are left to others, and so another still finds one. */
TEST_CASE(one_address_does_not_fill_the_queue)
{
    places_init(&places, 2, 4);
    assert_true(places_take(&places, 1, 0) && places_take(&places, 2, 0));
    begin(0, 1, LONG_MS);
    until_wait(1);
    begin(1, 1, LONG_MS);
    until_wait(2);
    assert_false(places_take(&places, 1, LONG_MS)); /* at once */
    begin(2, 3, LONG_MS);
    until_wait(3);
    for (size_t i = 0; i < 3; i++) {
        places_leave(&places, 1); /* as it is left by the one before */
        assert_true(had(i) > 0);
    }
}

TEST_MAIN(NULL, NULL)
