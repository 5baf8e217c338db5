/* SPDX-License-Identifier: Apache-2.0 */
/* 14.7: wishes between those who put them and the thread that carries them: order, answers, what is taken back, what waits too long. */
#include "wish/wish.h"

#include "base/mem.h"
#include "os/thread.h"
#include "fakes/cm.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

static struct wish *make(uint64_t amount)
{
    const struct wish_take take = {.kind = WISH_AMOUNT, .most = 9, .amount = amount, .per_us = 1000};
    struct wish *wish = NULL;

    assert_int_equal(wish_add(&wish, &take), CODE_OK);
    return wish;
}

static struct wishes *table(void)
{
    struct wishes *wishes;

    assert_int_equal(wishes_new(&wishes), CODE_OK);
    return wishes;
}

/* Returns: the amount of the next's first take; 0: there is none. */
static uint64_t next(struct wishes *wishes, uint64_t *ticket)
{
    struct wish_take takes[WISH_TAKES_MAX];

    return wishes_next(wishes, ticket, takes) > 0 ? takes[0].amount : 0;
}

static void say(struct wishes *wishes, uint64_t ticket, enum wish_fate fate)
{
    wishes_answer(wishes, &(struct wish_answer){.ticket = ticket, .fate = fate, .taken = ticket});
}

static void count_work(void *context)
{
    ++*(int *)context;
}

TEST_CASE(test_each_is_carried_once_in_the_order_they_came)
{
    struct wishes *wishes = table();
    struct wish *wish[3] = {make(1), make(2), make(3)};
    uint64_t ticket[3], none = 0;
    int work = 0;

    wishes_carry(wishes, count_work, &work);
    assert_int_equal(next(wishes, &none), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_false(wish_is_put(wish[i]));
        wishes_put(wishes, wish[i], NULL);
        assert_true(wish_is_put(wish[i]));
    }
    assert_int_equal(work, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(next(wishes, &ticket[i]), i + 1);
    assert_int_equal(next(wishes, &none), 0);
    assert_true(ticket[0] < ticket[1] && ticket[1] < ticket[2]);
    say(wishes, ticket[1], WISH_FULL); /* in any order */
    say(wishes, ticket[0], WISH_GIVEN);
    assert_int_equal(wishes_fate(wishes, wish[0]), WISH_GIVEN);
    assert_int_equal(wishes_fate(wishes, wish[1]), WISH_FULL);
    assert_int_equal(wish[1]->answer.taken, ticket[1]);
    assert_int_equal(wishes_fate(wishes, wish[2]), WISH_WAITING);
    for (size_t i = 0; i < 3; i++)
        wishes_drop(wishes, &wish[i]);
    assert_null(wish[0]);
    wishes_drop(wishes, &wish[0]);
    wishes_free(&wishes);
}

/* Nobody hears an answer to what was not sent, what was answered before, or what was taken back. */
TEST_CASE(test_an_answer_is_to_what_was_sent)
{
    struct wishes *wishes = table();
    struct wish *sent = make(1), *gone = make(2), *unsent = make(3);
    uint64_t first, second, none;

    wishes_put(wishes, sent, NULL);
    wishes_put(wishes, gone, NULL);
    assert_int_equal(next(wishes, &first), 1);
    assert_int_equal(next(wishes, &second), 2);
    wishes_put(wishes, unsent, NULL);
    say(wishes, second + 1, WISH_GIVEN);
    assert_int_equal(wishes_fate(wishes, unsent), WISH_WAITING);
    wishes_drop(wishes, &gone);
    say(wishes, second, WISH_GIVEN);
    say(wishes, first, WISH_FULL);
    say(wishes, first, WISH_GIVEN);
    assert_int_equal(wishes_fate(wishes, sent), WISH_FULL);
    assert_int_equal(next(wishes, &none), 3);
    assert_int_equal(next(wishes, &none), 0);
    wishes_drop(wishes, &sent);
    wishes_drop(wishes, &unsent);
    wishes_free(&wishes);
}

/* Whoever is taken back before it was sent is not sent, and who stands behind it is. */
TEST_CASE(test_what_is_taken_back_is_not_sent)
{
    struct wishes *wishes = table();
    struct wish *wish[3] = {make(1), make(2), make(3)}, *last = make(4);
    uint64_t ticket;

    for (size_t i = 0; i < 3; i++)
        wishes_put(wishes, wish[i], NULL);
    wishes_drop(wishes, &wish[0]);
    assert_int_equal(next(wishes, &ticket), 2);
    wishes_drop(wishes, &wish[2]);
    assert_int_equal(next(wishes, &ticket), 0);
    wishes_put(wishes, last, NULL);
    assert_int_equal(next(wishes, &ticket), 4);
    wishes_drop(wishes, &wish[1]);
    wishes_drop(wishes, &last);
    wishes_drop(wishes, &(struct wish *){make(5)}); /* was never put */
    wishes_free(&wishes);
}

TEST_CASE(test_what_waits_too_long_is_away)
{
    struct wishes *wishes = table();
    struct wish *wish = make(1), *heard = make(2);
    uint64_t ticket;

    wishes_put(wishes, wish, NULL);
    wishes_put(wishes, heard, NULL);
    assert_int_equal(wishes_fate(wishes, wish), WISH_WAITING);
    wish->put_us -= WISH_WAIT_US;
    heard->put_us -= WISH_WAIT_US;
    assert_int_equal(next(wishes, &ticket), 1);
    assert_int_equal(next(wishes, &ticket), 2);
    say(wishes, ticket, WISH_GIVEN);
    while (wishes_fate(wishes, wish) == WISH_WAITING)
        ;
    assert_int_equal(wishes_fate(wishes, wish), WISH_AWAY);
    assert_int_equal(wishes_fate(wishes, heard), WISH_GIVEN);
    wishes_drop(wishes, &wish);
    wishes_drop(wishes, &heard);
    wishes_free(&wishes);
}

TEST_CASE(test_one_has_room_for_so_many_takes)
{
    struct wish_take takes[WISH_TAKES_MAX], take = {.amount = 1};
    struct wishes *wishes = table();
    struct wish *wish = NULL;
    uint64_t ticket;

    for (uint64_t i = 0; i < WISH_TAKES_MAX; i++) {
        take.amount = i;
        assert_int_equal(wish_add(&wish, &take), CODE_OK);
    }
    assert_int_equal(wish_add(&wish, &take), CODE_LIMIT);
    wishes_put(wishes, wish, NULL);
    assert_int_equal(wishes_next(wishes, &ticket, takes), WISH_TAKES_MAX);
    for (uint64_t i = 0; i < WISH_TAKES_MAX; i++)
        assert_int_equal(takes[i].amount, i);
    wishes_drop(wishes, &wish);
    wishes_free(&wishes);
}

/* ---- many at once ---- */

#define WORKERS 4
#define EACH 350

struct crowd {
    struct wishes *wishes;
    struct thread threads[WORKERS], carrier;
    atomic_uint given, full, left;
};

static void work(void *argument)
{
    struct crowd *crowd = argument;

    for (uint64_t i = 1; i <= EACH; i++) {
        struct wish *wish = make(i);
        enum wish_fate fate = WISH_WAITING;

        wishes_put(crowd->wishes, wish, NULL);
        while (i % 7 != 0 && fate == WISH_WAITING) { /* each seventh does not wait */
            (void)sched_yield();
            fate = wishes_fate(crowd->wishes, wish);
        }
        atomic_fetch_add(fate == WISH_GIVEN ? &crowd->given : fate == WISH_FULL ? &crowd->full : &crowd->left, 1);
        assert_true(i % 7 == 0 || (fate == WISH_GIVEN) == (i % 2 == 0));
        wishes_drop(crowd->wishes, &wish);
    }
}

static void carry(void *argument)
{
    struct crowd *crowd = argument;
    uint64_t ticket = 0, amount;

    while (!atomic_load(&crowd->carrier.is_stopping))
        if ((amount = next(crowd->wishes, &ticket)) != 0)
            say(crowd->wishes, ticket, amount % 2 == 0 ? WISH_GIVEN : WISH_FULL);
        else
            (void)sched_yield();
}

TEST_CASE(test_many_at_once)
{
    struct crowd crowd = {.wishes = table()};

    assert_int_equal(thread_start(&crowd.carrier, "carrier", carry, &crowd, NULL), CODE_OK);
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(thread_start(&crowd.threads[i], "worker", work, &crowd, NULL), CODE_OK);
    for (size_t i = 0; i < WORKERS; i++)
        thread_join(&crowd.threads[i]);
    atomic_store(&crowd.carrier.is_stopping, true);
    thread_join(&crowd.carrier);
    assert_int_equal(atomic_load(&crowd.given) + atomic_load(&crowd.full), WORKERS * (EACH - EACH / 7));
    assert_int_equal(atomic_load(&crowd.left), WORKERS * (EACH / 7));
    wishes_free(&crowd.wishes);
}

TEST_MAIN(NULL, NULL)
