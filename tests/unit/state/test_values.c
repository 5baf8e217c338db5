/* SPDX-License-Identifier: Apache-2.0 */
/* Different values under a limit: exact counts, times at their edges, what is given back, many threads, no room. Number: 12.7 */
#include "state/tally.h"

#include "base/buf.h"
#include "fakes/cm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)
#define MONTH POLICY_PER_MAX_US

static struct tally *make(size_t cap_bytes)
{
    struct tally *tally;

    assert_int_equal(tally_new(cap_bytes, &tally), CODE_OK);
    return tally;
}

static struct tally_take value_of(uint64_t whose, uint64_t value, uint64_t most)
{
    struct tally_take take = {.key = {.share = {1, whose}, .tenant = 1}, .most = most, .amount = 1, .per_us = MINUTE, .of_values = true};

    memcpy(take.key.bytes, &whose, sizeof whose);
    memcpy(take.key.bytes + 8, &whose, sizeof whose);
    memcpy(take.value.bytes, &value, sizeof value);
    return take;
}

/* Takes it where the question says so, and only then. */
static bool takes(struct tally *tally, uint64_t value, uint64_t most, int64_t now_us)
{
    struct tally_take take = value_of(1, value, most);
    struct policy_room room;
    enum policy_known known = tally_has_room(tally, &take, now_us, &room);
    enum code code = tally_take(tally, &take, 1, now_us);

    assert_int_equal(known == POLICY_YES, code == CODE_OK);
    return code == CODE_OK;
}

static struct policy_room room_for(struct tally *tally, uint64_t value, uint64_t most, int64_t now_us, enum policy_known wanted)
{
    struct tally_take take = value_of(1, value, most);
    struct policy_room room;

    assert_int_equal(tally_has_room(tally, &take, now_us, &room), wanted);
    return room;
}

TEST_CASE(test_values_have_places)
{
    struct tally *tally = make(1 << 20);
    struct policy_room room;

    assert_true(takes(tally, 'a', 2, 1000));
    assert_true(takes(tally, 'a', 2, 2000));
    assert_true(takes(tally, 'b', 2, 3000));
    assert_false(takes(tally, 'c', 2, 4000));
    assert_true(takes(tally, 'a', 2, 5000)); /* which is in the window anew from here */
    room = room_for(tally, 'c', 2, 6000, POLICY_NO);
    assert_int_equal(room.taken, 2);
    assert_false(room.has_value);
    assert_int_equal(room.wait_us, 3000 + MINUTE - 6000); /* until the one goes that was taken longest ago */
    room = room_for(tally, 'b', 2, 6000, POLICY_YES);
    assert_int_equal(room.taken, 2);
    assert_true(room.has_value);
    assert_false(takes(tally, 'c', 2, MINUTE + 2999));
    assert_true(takes(tally, 'c', 2, MINUTE + 3000));
    assert_false(takes(tally, 'b', 2, MINUTE + 4999));
    assert_true(takes(tally, 'b', 2, MINUTE + 5000));
    tally_free(&tally);
}

/* Against the obvious: all takings kept, the values of each window counted anew. */
TEST_CASE(test_counts_as_the_obvious_does)
{
    enum { STEPS = 20000, VALUES = 12 };
    static struct { int64_t at_us; uint64_t value; } taken[STEPS];
    struct tally *tally = make(1 << 20);
    uint64_t count = 0, first = 0, random = 777;
    int64_t now_us = SECOND;

    for (int i = 0; i < STEPS; i++) {
        uint64_t value, others = 0;
        bool seen[VALUES] = {false};

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        value = (random >> 33) % VALUES;
        now_us += (random >> 63) != 0 ? (int64_t)((random >> 40) % (uint64_t)(8 * SECOND)) : 0;
        while (first < count && taken[first].at_us <= now_us - MINUTE)
            first++;
        for (uint64_t k = first; k < count; k++)
            if (!seen[taken[k].value]) {
                seen[taken[k].value] = true;
                others += taken[k].value != value;
            }
        assert_int_equal(takes(tally, value, 5, now_us), others < 5);
        if (others < 5) {
            taken[count].at_us = now_us;
            taken[count++].value = value;
        }
    }
    assert_in_range(count, 1000, STEPS - 1000);
    tally_free(&tally);
}

/* A bound that is lowered holds for what was taken before: none of the window's values goes on until enough of them are gone. */
TEST_CASE(test_a_lower_bound_holds_at_once)
{
    struct tally *tally = make(1 << 20);

    for (uint64_t i = 0; i < 4; i++)
        assert_true(takes(tally, i, 4, SECOND * (int64_t)(i + 1)));
    assert_int_equal(room_for(tally, 0, 2, 5 * SECOND, POLICY_NO).wait_us, 3 * SECOND + MINUTE - 5 * SECOND);
    assert_int_equal(room_for(tally, 9, 2, 5 * SECOND, POLICY_NO).wait_us, 3 * SECOND + MINUTE - 5 * SECOND);
    assert_false(takes(tally, 3, 2, MINUTE + SECOND));
    assert_true(takes(tally, 3, 2, MINUTE + 2 * SECOND));
    assert_false(takes(tally, 9, 2, MINUTE + 2 * SECOND));
    tally_free(&tally);
}

/* A clock that is set back makes no room, and one that is ahead takes none for longer. */
TEST_CASE(test_time_never_runs_backwards)
{
    struct tally *tally = make(1 << 20);

    assert_true(takes(tally, 'a', 1, 100 * MINUTE));
    assert_false(takes(tally, 'b', 1, 0));
    assert_true(takes(tally, 'a', 1, 0));
    assert_false(takes(tally, 'b', 1, 101 * MINUTE - 1));
    assert_true(takes(tally, 'b', 1, 101 * MINUTE));
    tally_free(&tally);
}

TEST_CASE(test_given_back_fits_again)
{
    struct tally *tally = make(1 << 20);
    struct tally_take a = value_of(1, 'a', 1), again = a, third = a;

    assert_int_equal(tally_take(tally, &a, 1, SECOND), CODE_OK);
    tally_give_back(tally, &a);
    assert_true(takes(tally, 'b', 1, SECOND)); /* the place is free */
    assert_false(takes(tally, 'a', 1, MINUTE + SECOND - 1));
    /* One that had it before is in the window as long as it was. */
    assert_int_equal(tally_take(tally, &a, 1, MINUTE + SECOND), CODE_OK);
    assert_int_equal(tally_take(tally, &again, 1, MINUTE + 9 * SECOND), CODE_OK);
    tally_give_back(tally, &again);
    assert_false(takes(tally, 'b', 1, 2 * MINUTE + SECOND - 1));
    assert_true(takes(tally, 'b', 1, 2 * MINUTE + SECOND));
    /* What another call has taken meanwhile is not given back by the first, nor by two that came at one time. */
    tally_clear(tally);
    assert_int_equal(tally_take(tally, &a, 1, SECOND), CODE_OK);
    assert_int_equal(tally_take(tally, &again, 1, 2 * SECOND), CODE_OK);
    tally_give_back(tally, &a);
    assert_false(takes(tally, 'b', 1, MINUTE + 2 * SECOND - 1));
    tally_clear(tally);
    assert_int_equal(tally_take(tally, &a, 1, SECOND), CODE_OK);
    assert_int_equal(tally_take(tally, &again, 1, SECOND), CODE_OK);
    tally_give_back(tally, &a);
    assert_false(takes(tally, 'b', 1, 2 * SECOND));
    /* One that stays, then two that go, the later first: the one that stays keeps its time. */
    tally_clear(tally);
    assert_int_equal(tally_take(tally, &a, 1, SECOND), CODE_OK);
    assert_int_equal(tally_take(tally, &again, 1, 2 * SECOND), CODE_OK);
    assert_int_equal(tally_take(tally, &third, 1, 3 * SECOND), CODE_OK);
    tally_give_back(tally, &third);
    tally_give_back(tally, &again);
    assert_false(takes(tally, 'b', 1, MINUTE + SECOND - 1));
    tally_clear(tally);
    tally_give_back(tally, &a); /* to nobody */
    assert_true(takes(tally, 'b', 1, SECOND));
    tally_free(&tally);
}

/* A person's word lets the call by: neither has its value a place then, nor do those that have one wait. */
TEST_CASE(test_beyond_takes_no_place)
{
    struct tally *tally = make(1 << 20);
    struct tally_take by = value_of(1, 'c', 2);

    by.beyond = true;
    assert_true(takes(tally, 'a', 2, SECOND));
    assert_true(takes(tally, 'b', 2, SECOND));
    assert_int_equal(tally_take(tally, &by, 1, SECOND), CODE_OK);
    assert_true(takes(tally, 'a', 2, 2 * SECOND));
    assert_false(takes(tally, 'c', 2, 2 * SECOND));
    tally_give_back(tally, &by); /* nothing */
    assert_true(takes(tally, 'c', 2, MINUTE + SECOND)); /* b is gone */
    tally_give_back(tally, &by);
    assert_false(takes(tally, 'd', 2, MINUTE + SECOND));
    tally_free(&tally);
}

/* What a record says counts, however much it is: of more than there are places for, the newest. */
TEST_CASE(test_the_past_has_places_in_any_case)
{
    struct tally *tally = make(1 << 22);
    struct tally_stats stats;

    for (uint64_t i = 0; i < 1000; i++) {
        struct tally_take past = value_of(1, i, 3);

        past.is_past = true;
        assert_int_equal(tally_take(tally, &past, 1, SECOND + (int64_t)i), CODE_OK);
    }
    tally_stats(tally, &stats);
    assert_true(stats.bytes < 16384);
    assert_int_equal(room_for(tally, 5000, 256, 2 * SECOND, POLICY_NO).taken, POLICY_VALUES_MAX);
    assert_int_equal(room_for(tally, 999, 3, 2 * SECOND, POLICY_NO).wait_us, MINUTE + SECOND + 996 - 2 * SECOND);
    assert_false(takes(tally, 999, 3, MINUTE + SECOND + 995));
    assert_true(takes(tally, 999, 3, MINUTE + SECOND + 996));
    assert_true(takes(tally, 5000, 3, MINUTE + SECOND + 997));
    tally_free(&tally);
}

/* ---- as bytes ---- */

TEST_CASE(test_kept_and_read_again)
{
    struct tally *tally = make(1 << 20), *again = make(1 << 20), *less = make(64 * 600);
    struct tally_take call = {.key = {.bytes = {9}, .share = {1, 1}}, .most = 1, .amount = 1, .per_us = MINUTE};
    struct buf bytes, same;
    struct span rest;

    buf_init(&bytes, 1 << 20);
    buf_init(&same, 1 << 20);
    assert_int_equal(tally_take(tally, &call, 1, 1), CODE_OK);
    for (uint64_t i = 0; i < 100; i++)
        assert_true(takes(tally, i, 100, SECOND + (int64_t)i));
    tally_keep(tally, &bytes);
    rest = buf_peek(&bytes);
    assert_int_equal(tally_read(again, &rest, 0, 2 * SECOND), CODE_OK);
    assert_int_equal(rest.len, 0);
    assert_int_equal(tally_take(again, &call, 1, 2 * SECOND), CODE_LIMIT);
    assert_true(takes(again, 7, 100, SECOND + 100));
    assert_false(takes(again, 100, 100, MINUTE + SECOND - 1));
    assert_true(takes(again, 100, 100, MINUTE + SECOND));
    assert_false(takes(again, 101, 100, MINUTE + SECOND));
    /* What was over by then is left out, whole, and what stands behind it is read. */
    tally_clear(again);
    rest = buf_peek(&bytes);
    assert_int_equal(tally_read(again, &rest, 5 * MINUTE, 5 * MINUTE), CODE_OK);
    tally_keep(again, &same);
    assert_int_equal(buf_len(&same), sizeof(uint64_t));
    /* Bytes that end early, and a tally without room, say so. */
    for (size_t cut = 1; cut < 40; cut++) {
        rest = span_part(buf_peek(&bytes), 0, buf_len(&bytes) - cut);
        tally_clear(again);
        assert_int_equal(tally_read(again, &rest, 0, SECOND), CODE_INVALID);
    }
    rest = buf_peek(&bytes);
    assert_int_equal(tally_read(less, &rest, 0, 2 * SECOND), CODE_NOMEM);
    buf_fini(&bytes);
    buf_fini(&same);
    tally_free(&tally);
    tally_free(&again);
    tally_free(&less);
}

/* ---- room ---- */

/* A month of 256 values for each of a thousand principals has room in the gate's table; where there is none, a new value has
 * none, those that are there go on, and nobody takes another's share. */
TEST_CASE(test_room_is_shared)
{
    struct tally *tally = make((size_t)64 << 20);
    struct tally_stats stats;
    struct policy_room room;
    uint64_t held = 0;

    for (uint64_t whose = 0; whose < 1000; whose++)
        for (uint64_t i = 0; i < POLICY_VALUES_MAX; i++) {
            struct tally_take take = value_of(whose, i, POLICY_VALUES_MAX);

            take.per_us = MONTH;
            assert_int_equal(tally_take(tally, &take, 1, SECOND), CODE_OK);
        }
    tally_stats(tally, &stats);
    assert_int_equal(stats.keys, 1000);
    assert_true(stats.bytes < (size_t)10 << 20);
    tally_free(&tally);

    tally = make((size_t)64 << 12); /* 4 KiB a shard */
    for (uint64_t i = 0; i < POLICY_VALUES_MAX; i++) {
        struct tally_take take = value_of(1, i, POLICY_VALUES_MAX);
        enum policy_known known = tally_has_room(tally, &take, SECOND, &room);

        assert_int_equal(tally_take(tally, &take, 1, SECOND), known == POLICY_YES ? CODE_OK : CODE_NOMEM);
        held += known == POLICY_YES;
    }
    assert_in_range(held, 16, 127);
    assert_int_equal(room_for(tally, 0, POLICY_VALUES_MAX, 2 * SECOND, POLICY_YES).taken, held);
    assert_int_equal(room_for(tally, 255, POLICY_VALUES_MAX, 2 * SECOND, POLICY_UNKNOWN).taken, held);
    assert_true(takes(tally, 255, POLICY_VALUES_MAX, 2 * MINUTE)); /* once the old ones are gone, their room is there */
    tally_free(&tally);
}

/* ---- many workers ---- */

#define THREADS 8
#define TRIES 4000

static struct tally *shared;
static atomic_bool passed[64];

/* All race for the last places; some give back what they got. */
static void *race(void *context)
{
    uint64_t random = (uint64_t)(uintptr_t)context;

    for (int i = 0; i < TRIES; i++) {
        struct tally_take take;
        uint64_t value;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        value = (random >> 33) % 64;
        take = value_of(1, value, 10);
        if (tally_take(shared, &take, 1, SECOND + i / 4) != CODE_OK)
            continue;
        if (random >> 60 == 0)
            atomic_store(&passed[value], true);
        else
            tally_give_back(shared, &take);
    }
    return NULL;
}

TEST_CASE(test_workers_never_pass_more_values)
{
    pthread_t threads[THREADS];
    uint64_t count = 0;

    shared = make(1 << 22);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, race, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 64; i++)
        count += passed[i];
    assert_in_range(count, 1, 10);
    for (uint64_t i = 0; i < 64; i++) /* each that passed has its place still */
        if (passed[i])
            assert_true(takes(shared, i, 10, 2 * SECOND));
    tally_free(&shared);
}

TEST_MAIN(NULL, NULL)
