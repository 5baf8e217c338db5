/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows and notes: exact counts, times at their edges, many threads, no room. Number: 2.1 */
#include "state/tally.h"

#include "base/mem.h"
#include "fakes/cm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)

static struct tally_key key_of(uint64_t number)
{
    struct tally_key key = {.share = {1, 0}, .tenant = 1};

    memcpy(key.bytes, &number, sizeof number);
    memcpy(key.bytes + 8, &number, sizeof number);
    return key;
}

static struct tally *make(size_t cap_bytes)
{
    struct tally *tally;

    assert_int_equal(tally_new(cap_bytes, &tally), CODE_OK);
    return tally;
}

static struct tally_take one_of(const struct tally_key *key, uint64_t calls)
{
    return (struct tally_take){.key = *key, .most = calls, .amount = 1, .per_us = MINUTE};
}

static bool takes(struct tally *tally, uint64_t number, uint64_t calls, int64_t per_us, int64_t now_us)
{
    struct tally_take take = {.key = key_of(number), .most = calls, .amount = 1, .per_us = per_us};
    struct policy_room room = {0};
    enum policy_known known = tally_has_room(tally, &take, now_us, &room);
    enum code code = tally_take(tally, &take, 1, now_us);

    assert_int_equal(known == POLICY_YES, code == CODE_OK);
    return code == CODE_OK;
}

/* At the very microsecond at which the first is `per` old, one fits again; not one earlier. */
TEST_CASE(test_window_is_exact)
{
    struct tally *tally = make(1 << 20);
    struct tally_key key = key_of(1);
    struct tally_take three = one_of(&key, 3);
    struct policy_room room = {0};

    assert_true(takes(tally, 1, 3, MINUTE, 1000));
    assert_true(takes(tally, 1, 3, MINUTE, 1001));
    assert_true(takes(tally, 1, 3, MINUTE, 30 * SECOND));
    assert_false(takes(tally, 1, 3, MINUTE, 30 * SECOND));
    assert_int_equal(tally_has_room(tally, &three, 31 * SECOND, &room), POLICY_NO);
    assert_int_equal(room.wait_us, MINUTE + 1000 - 31 * SECOND);
    assert_false(takes(tally, 1, 3, MINUTE, MINUTE + 999));
    assert_true(takes(tally, 1, 3, MINUTE, MINUTE + 1000));
    assert_false(takes(tally, 1, 3, MINUTE, MINUTE + 1000));
    assert_true(takes(tally, 1, 3, MINUTE, MINUTE + 1001));
    assert_true(takes(tally, 2, 3, MINUTE, MINUTE + 1001)); /* another key */
    tally_free(&tally);
}

/* Against the obvious: all times kept, counted anew for each call. */
static void compare(uint64_t calls, int64_t slack_us)
{
    enum { STEPS = 40000 };
    static int64_t taken[STEPS];
    struct tally *tally = make(1 << 20);
    uint64_t count = 0, first = 0, random = 12345;
    int64_t now_us = 1000 * SECOND;

    for (int i = 0; i < STEPS; i++) {
        uint64_t strict = 0, loose = 0;
        bool took;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        now_us += (int64_t)(random >> 40) % (MINUTE / (int64_t)calls);
        while (first < count && taken[first] <= now_us - MINUTE - slack_us)
            first++;
        for (uint64_t k = first; k < count; k++) {
            strict += taken[k] > now_us - MINUTE;
            loose++;
        }
        took = takes(tally, 7, calls, MINUTE, now_us);
        if (took)
            assert_true(strict < calls); /* never more than the limit in any window */
        else
            assert_true(loose >= calls); /* and never later than is said */
        if (took)
            taken[count++] = now_us;
    }
    assert_true(count > 1000);
    tally_free(&tally);
}

TEST_CASE(test_counts_as_the_obvious_does)
{
    compare(1, 0);
    compare(5, 0);
    compare(TALLY_EXACT, 0);
    compare(TALLY_EXACT + 1, MINUTE / TALLY_EXACT);
    compare(3000, MINUTE / TALLY_EXACT);
}

/* A clock that jumps back gives no tokens away; one that jumps ahead takes none. */
TEST_CASE(test_time_never_runs_backwards)
{
    struct tally *tally = make(1 << 20);
    struct tally_key key = key_of(1);

    assert_true(takes(tally, 1, 1, MINUTE, 100 * MINUTE));
    assert_false(takes(tally, 1, 1, MINUTE, 0));
    assert_false(takes(tally, 1, 1, MINUTE, 100 * MINUTE + 1));
    assert_true(takes(tally, 1, 1, MINUTE, 101 * MINUTE));
    tally_note(tally, &key, 100 * MINUTE, MINUTE);
    assert_int_equal(tally_was_noted(tally, &key, 50 * MINUTE, SECOND), POLICY_YES);
    tally_free(&tally);
}

TEST_CASE(test_given_back_fits_again)
{
    struct tally *tally = make(1 << 20);
    struct tally_key key = key_of(1);
    struct tally_take first = one_of(&key, 2), second = first, again = one_of(&key, 3);

    assert_int_equal(tally_take(tally, &first, 1, SECOND), CODE_OK);
    assert_int_equal(tally_take(tally, &second, 1, 2 * SECOND), CODE_OK);
    tally_give_back(tally, &first);
    assert_true(takes(tally, 1, 2, MINUTE, 3 * SECOND));
    assert_false(takes(tally, 1, 2, MINUTE, 61 * SECOND)); /* the first one's going says nothing any more */
    assert_true(takes(tally, 1, 2, MINUTE, 62 * SECOND));
    /* What comes and goes leaves nothing behind, however often. */
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(tally_take(tally, &again, 1, 62 * SECOND + i), CODE_OK);
        tally_give_back(tally, &again);
    }
    assert_true(takes(tally, 1, 3, MINUTE, 62 * SECOND + 10000));
    assert_false(takes(tally, 1, 3, MINUTE, 62 * SECOND + 10000));
    /* 4.21: what is forgotten by then is given back to nobody. */
    tally_clear(tally);
    tally_give_back(tally, &again);
    assert_true(takes(tally, 1, 1, MINUTE, 63 * SECOND));
    assert_false(takes(tally, 1, 1, MINUTE, 63 * SECOND));
    tally_free(&tally);
}

TEST_CASE(test_notes)
{
    struct tally *tally = make(1 << 20);
    struct tally_key key = key_of(1), other = key_of(2);

    assert_int_equal(tally_was_noted(tally, &key, SECOND, MINUTE), POLICY_NO);
    tally_note(tally, &key, SECOND, MINUTE);
    assert_int_equal(tally_was_noted(tally, &key, SECOND, MINUTE), POLICY_YES);
    assert_int_equal(tally_was_noted(tally, &key, 61 * SECOND, MINUTE), POLICY_YES);
    assert_int_equal(tally_was_noted(tally, &key, 61 * SECOND + 1, MINUTE), POLICY_NO);
    assert_int_equal(tally_was_noted(tally, &key, 3 * SECOND, SECOND), POLICY_NO);
    assert_int_equal(tally_was_noted(tally, &other, SECOND, MINUTE), POLICY_NO);
    tally_doubt_all(tally, 0, 2 * SECOND); /* 9.4: whosever it was */
    assert_int_equal(tally_was_noted(tally, &other, 2 * SECOND, MINUTE), POLICY_UNKNOWN);
    assert_int_equal(tally_was_noted(tally, &key, 2 * SECOND, MINUTE), POLICY_YES);
    assert_int_equal(tally_was_noted(tally, &other, 2 * SECOND + 1, MINUTE), POLICY_NO);
    tally_clear(tally);
    assert_int_equal(tally_was_noted(tally, &key, SECOND, MINUTE), POLICY_NO);
    tally_free(&tally);
}

/* Where nothing gives way, what cannot be counted counts as used up and what cannot be noted is not known; once the old is
 * over, all goes on. */
TEST_CASE(test_no_room_closes)
{
    enum { CAP = 64 * 8192, MANY = 10000 };
    struct tally *tally = make(CAP);
    struct tally_key unseen, stranger;
    struct tally_take take;
    struct tally_stats stats;
    uint64_t number = 0;
    struct policy_room room = {0};

    while (takes(tally, number, 5, MINUTE, SECOND)) /* until a shard has no room for this one */
        number++;
    assert_in_range(number, 10, 64 * 40);
    unseen = stranger = key_of(number);
    take = one_of(&unseen, 5);
    assert_int_equal(tally_has_room(tally, &take, SECOND, &room), POLICY_UNKNOWN);
    assert_true(takes(tally, 0, 5, MINUTE, SECOND)); /* who is counted already goes on */
    for (uint64_t i = 0; i < MANY; i++) { /* a note is smaller */
        struct tally_key filler = key_of(MANY + i);

        tally_note(tally, &filler, SECOND, MINUTE);
    }
    tally_note(tally, &unseen, SECOND, MINUTE);
    assert_int_equal(tally_was_noted(tally, &unseen, 61 * SECOND, MINUTE), POLICY_UNKNOWN);
    assert_int_equal(tally_was_noted(tally, &unseen, 61 * SECOND + 1, MINUTE), POLICY_NO);
    tally_stats(tally, &stats);
    assert_true(stats.bytes <= CAP / 2 + 64 * 100 && stats.refused >= 2);
    /* 10.3: another tenant finds as much room as is left, and knows what was noted. */
    stranger.share.tenant = stranger.tenant = 3;
    assert_int_equal(tally_was_noted(tally, &stranger, SECOND, MINUTE), POLICY_NO);
    take = one_of(&stranger, 5);
    assert_int_equal(tally_take(tally, &take, 1, SECOND), CODE_OK);
    for (uint64_t i = 0; i < MANY; i++) {
        stranger = key_of(i + 2 * MANY);
        stranger.share.tenant = stranger.tenant = 3;
        take = one_of(&stranger, 5);
        (void)!tally_take(tally, &take, 1, SECOND);
    }
    tally_stats(tally, &stats);
    assert_in_range(stats.bytes, CAP / 8 * 5, CAP / 4 * 3 + 64 * 100);
    assert_true(takes(tally, number, 5, MINUTE, 61 * SECOND));
    tally_free(&tally);
}

/* 9.4: more tenants lose notes than are told apart: then nobody knows; what is over is over for each. */
TEST_CASE(test_doubts)
{
    struct tally *tally = make(1 << 20);
    struct tally_key key = key_of(1), other = key_of(1);

    other.tenant = 1000;
    for (uint64_t i = 0; i < 256; i++) {
        key.tenant = i;
        tally_doubt(tally, &key, SECOND, MINUTE);
        tally_doubt(tally, &key, SECOND, MINUTE);
    }
    assert_int_equal(tally_was_noted(tally, &key, 61 * SECOND, MINUTE), POLICY_UNKNOWN);
    assert_int_equal(tally_was_noted(tally, &other, SECOND, MINUTE), POLICY_NO);
    key.tenant = 256;
    tally_doubt(tally, &key, SECOND, MINUTE);
    assert_int_equal(tally_was_noted(tally, &other, 61 * SECOND, MINUTE), POLICY_UNKNOWN);
    assert_int_equal(tally_was_noted(tally, &other, 61 * SECOND + 1, MINUTE), POLICY_NO);
    tally_doubt(tally, &key, 62 * SECOND, MINUTE); /* in the place of one whose is over */
    assert_int_equal(tally_was_noted(tally, &key, 63 * SECOND, MINUTE), POLICY_UNKNOWN);
    assert_int_equal(tally_was_noted(tally, &other, 63 * SECOND, MINUTE), POLICY_NO);
    tally_free(&tally);
}

TEST_CASE(test_without_memory)
{
    struct tally *tally = make(1 << 20);
    struct tally_key key = key_of(1);
    struct tally_take take = one_of(&key, 5);

    for (uint64_t nth = 1; nth <= 2; nth++) {
        mem_fail_at(nth, 0);
        assert_int_equal(tally_take(tally, &take, 1, SECOND), CODE_NOMEM);
        mem_fail_at(0, 0);
    }
    assert_int_equal(tally_take(tally, &take, 1, SECOND), CODE_OK);
    tally_free(&tally);
}

/* ---- 7.4: sums, and several limits at once ---- */

static struct tally_take amount_of(uint64_t number, uint64_t most, uint64_t amount)
{
    return (struct tally_take){.key = key_of(number), .most = most, .amount = amount, .per_us = MINUTE};
}

TEST_CASE(test_sums_fill_a_window_exactly)
{
    struct tally *tally = make(1 << 20);
    struct tally_take large = amount_of(1, 500, 300), small = amount_of(1, 500, 200), none = amount_of(1, 500, 0);
    struct policy_room room = {0};

    assert_int_equal(tally_take(tally, &large, 1, SECOND), CODE_OK);
    assert_int_equal(tally_take(tally, &small, 1, 2 * SECOND), CODE_OK);
    assert_int_equal(tally_take(tally, &none, 1, 2 * SECOND), CODE_OK);
    assert_int_equal(tally_take(tally, &small, 1, 61 * SECOND - 1), CODE_LIMIT);
    /* The large one needs both to come back, the small one the first alone. */
    assert_int_equal(tally_has_room(tally, &small, 3 * SECOND, &room), POLICY_NO);
    assert_int_equal(room.wait_us, 58 * SECOND);
    large.amount = 301;
    assert_int_equal(tally_has_room(tally, &large, 3 * SECOND, &room), POLICY_NO);
    assert_int_equal(room.wait_us, 59 * SECOND);
    large.amount = 501; /* never */
    assert_int_equal(tally_has_room(tally, &large, 3 * SECOND, &room), POLICY_NO);
    assert_int_equal(room.wait_us, MINUTE);
    assert_int_equal(tally_take(tally, &small, 1, 61 * SECOND), CODE_OK);
    /* A person may let one go beyond it: it counts, and the others wait for it. */
    small.beyond = true;
    assert_int_equal(tally_take(tally, &small, 1, 61 * SECOND), CODE_OK);
    assert_int_equal(tally_has_room(tally, &none, 61 * SECOND, &room), POLICY_NO);
    small.amount = UINT64_MAX - 300; /* and no sum is so large that it begins anew */
    assert_int_equal(tally_take(tally, &small, 1, 61 * SECOND), CODE_LIMIT);
    tally_free(&tally);
}

TEST_CASE(test_all_limits_are_taken_or_none)
{
    struct tally *tally = make(1 << 20);
    struct policy_room room = {0};

    for (int i = 0; i < 4; i++) {
        struct tally_take takes[] = {amount_of(1, 100, 10), amount_of(65, 100, 40), amount_of(3, 1000, 1)};

        assert_int_equal(tally_take(tally, takes, 3, SECOND), i < 2 ? CODE_OK : CODE_LIMIT);
    }
    for (uint64_t i = 0; i < 3; i++) { /* exactly what is left, and not one more */
        static const uint64_t keys[] = {1, 65, 3}, most[] = {100, 100, 1000}, left[] = {80, 20, 998};
        struct tally_take rest = amount_of(keys[i], most[i], left[i]), more = amount_of(keys[i], most[i], left[i] + 1);

        assert_int_equal(tally_has_room(tally, &more, SECOND, &room), POLICY_NO);
        assert_int_equal(tally_has_room(tally, &rest, SECOND, &room), POLICY_YES);
    }
    tally_free(&tally);
}

/* However many amounts there are, memory is bounded; nothing is given away by that. */
TEST_CASE(test_many_small_amounts)
{
    struct tally *tally = make(1 << 20);
    struct tally_stats stats;

    for (int i = 0; i < 100000; i++) {
        struct tally_take take = amount_of(1, 1000000, 1 + (uint64_t)i % 10);

        take.beyond = i % 1000 == 0;
        (void)!tally_take(tally, &take, 1, SECOND + i * 7);
    }
    tally_stats(tally, &stats);
    assert_true(stats.bytes < 32768);
    tally_free(&tally);
}

/* ---- many workers ---- */

#define THREADS 8
#define TRIES 20000
#define KEYS 16

static struct tally *shared;
static _Atomic uint64_t permits[KEYS];
static _Atomic uint64_t spent;

/* 7.4: each worker takes of its own limit and of one that all share, under different locks. */
static void *spend(void *context)
{
    uint64_t number = (uint64_t)(uintptr_t)context, random = number;

    for (int i = 0; i < TRIES; i++) {
        struct tally_take takes[] = {amount_of(number, 60000, 0), amount_of(40, 123457, 0)};
        bool turns = i % 2 == 0;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        takes[0].amount = takes[1].amount = 1 + (random >> 40) % 17;
        if (turns) {
            struct tally_take first = takes[0];

            takes[0] = takes[1];
            takes[1] = first;
        }
        if (tally_take(shared, takes, 2, SECOND + i) != CODE_OK)
            continue;
        if (i % 5 == 0) {
            tally_give_back(shared, &takes[0]);
            tally_give_back(shared, &takes[1]);
        } else {
            atomic_fetch_add(&spent, takes[0].amount);
        }
    }
    return NULL;
}

TEST_CASE(test_workers_spend_exactly_the_sum)
{
    pthread_t threads[THREADS];
    struct tally_take one = amount_of(40, 123457, 1);

    shared = make(1 << 22);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, spend, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(spent <= 123457);
    while (tally_take(shared, &one, 1, SECOND + TRIES) == CODE_OK)
        atomic_fetch_add(&spent, 1);
    assert_int_equal(spent, 123457);
    tally_free(&shared);
}

static void *work(void *context)
{
    uint64_t random = (uint64_t)(uintptr_t)context;

    for (int i = 0; i < TRIES; i++) {
        struct tally_key key;
        struct tally_take take;
        uint64_t number;
        struct policy_room room;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        number = (random >> 33) % KEYS;
        key = key_of(number);
        take = one_of(&key, 100 * number + 1);
        (void)tally_has_room(shared, &take, 0, &room);
        if (tally_take(shared, &take, 1, i % 1000) != CODE_OK)
            continue;
        if (i % 3 == 0)
            tally_give_back(shared, &take);
        else
            atomic_fetch_add(&permits[number], 1);
        tally_note(shared, &key, i, MINUTE);
    }
    return NULL;
}

/* Exactly as many as the limits say, however many threads ask. */
TEST_CASE(test_threads_count_exactly)
{
    pthread_t threads[THREADS];

    shared = make(1 << 22);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (uint64_t number = 0; number < KEYS; number++) {
        while (takes(shared, number, 100 * number + 1, MINUTE, 1000)) /* what was given back last */
            permits[number]++;
        assert_int_equal(permits[number], 100 * number + 1);
    }
    tally_free(&shared);
}

/* 11.12: what is kept is the same tally, at whatever time it is asked; what is over is left out, and half of it is nothing. */
TEST_CASE(test_kept_as_bytes)
{
    enum { KEPT = 300 };
    struct tally *tally = make(1 << 22), *again = make(1 << 22), *half = make(1 << 22);
    struct tally_stats before, after;
    struct tally_key lost = {.bytes = {255}, .share = {1, 0}, .tenant = 7};
    struct span kept;
    struct buf bytes;
    int64_t now_us = 1000 * MINUTE;

    for (uint64_t i = 0; i < 5000; i++) {
        struct tally_key key = key_of(i * i % KEPT);
        struct tally_take take = {.key = key, .most = 40, .amount = 1 + i % 3, .per_us = MINUTE};

        now_us += SECOND / 40;
        if (i % 5 == 0) {
            key.bytes[15] = 1;
            tally_note(tally, &key, now_us, MINUTE);
        } else if (tally_take(tally, &take, 1, now_us) == CODE_OK && i % 7 == 0) {
            tally_give_back(tally, &take);
        }
    }
    tally_doubt(tally, &lost, now_us, MINUTE);
    buf_init(&bytes, 1 << 24);
    tally_keep(tally, &bytes);
    assert_int_equal(buf_add_text(&bytes, "behind"), CODE_OK);
    kept = buf_peek(&bytes);
    assert_int_equal(tally_read(again, &kept, now_us - 10 * MINUTE, now_us), CODE_OK);
    assert_true(span_is(kept, "behind"));
    tally_stats(tally, &before);
    tally_stats(again, &after);
    assert_int_equal(before.keys, after.keys);
    for (int64_t at_us = now_us; at_us < now_us + 2 * MINUTE; at_us += 7 * SECOND)
        for (uint64_t i = 0; i < KEPT; i++) {
            struct tally_key key = key_of(i), noted = key;
            struct tally_take take = {.key = key, .most = 40, .amount = 5, .per_us = MINUTE};
            struct policy_room one, other;

            noted.bytes[15] = 1;
            assert_int_equal(tally_has_room(tally, &take, at_us, &one), tally_has_room(again, &take, at_us, &other));
            assert_int_equal(one.wait_us, other.wait_us);
            assert_int_equal(tally_was_noted(tally, &noted, at_us, 20 * SECOND), tally_was_noted(again, &noted, at_us, 20 * SECOND));
        }
    assert_int_equal(tally_was_noted(again, &lost, now_us + MINUTE, MINUTE), POLICY_UNKNOWN);
    assert_int_equal(tally_was_noted(again, &lost, now_us + MINUTE + 1, MINUTE), POLICY_NO);
    for (size_t len = 0; len < 2000; len += 3) {
        kept = span_part(buf_peek(&bytes), 0, len);
        assert_int_equal(tally_read(half, &kept, 0, now_us), CODE_INVALID);
        tally_clear(half);
    }
    kept = buf_peek(&bytes);
    assert_int_equal(tally_read(half, &kept, now_us + 10 * MINUTE, now_us + 10 * MINUTE), CODE_OK);
    tally_stats(half, &after);
    assert_int_equal(after.keys, 0);
    kept = buf_peek(&bytes);
    assert_int_equal(tally_read(half, &kept, 0, INT64_MAX), CODE_OK); /* no clock at all: nothing gives way */
    tally_stats(half, &after);
    assert_int_equal(before.keys, after.keys);
    tally_clear(half);
    kept = buf_peek(&bytes);
    assert_int_equal(tally_read(half, &kept, 0, now_us - 500 * MINUTE), CODE_OK); /* the clock was ahead then */
    for (uint64_t i = 0; i < KEPT; i++) {
        struct tally_key noted = key_of(i);

        noted.bytes[15] = 1;
        assert_int_equal(tally_was_noted(half, &noted, now_us, MINUTE), POLICY_NO); /* all were noted at that time */
    }
    buf_fini(&bytes);
    tally_free(&tally);
    tally_free(&again);
    tally_free(&half);
}

TEST_MAIN(NULL, NULL)
