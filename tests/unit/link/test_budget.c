/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"
#include "fakes/sample.h"
#include "link/budget.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static struct budget budget;

TEST_CASE(test_connections) /* 1.7 */
{
    assert_ok(budget_init(&budget, 2, 0));
    assert_true(budget_take_connection(&budget));
    assert_true(budget_take_connection(&budget));
    assert_false(budget_take_connection(&budget));
    budget_give_connection(&budget);
    assert_true(budget_take_connection(&budget));
    budget_fini(&budget);
}

TEST_CASE(test_memory) /* 1.7 */
{
    uint64_t one = 0, two = 0;
    struct budget_account account;

    assert_ok(budget_init(&budget, 0, 1000));
    assert_true(budget_open(&budget, budget_principal(SPAN_LIT("t"), SPAN_LIT("p")), 0, 0, &account));
    budget_hold(&budget, &one, 600);
    assert_int_equal(budget_refuses(&budget, account, SIZE_MAX), REASON_UNSET);
    budget_hold(&budget, &two, 600);
    assert_int_equal(budget_refuses(&budget, account, SIZE_MAX), REASON_MEMORY);
    budget_hold(&budget, &one, 0);
    assert_int_equal(budget_refuses(&budget, account, SIZE_MAX), REASON_UNSET);
    budget_close(&budget, account);
    budget_hold(&budget, &two, 0);
    assert_int_equal(atomic_load(&budget.memory_bytes), 0);
    budget_fini(&budget);
}

TEST_CASE(test_principals) /* 1.7: each has its own limit */
{
    uint32_t slots[4], other;

    assert_ok(budget_init(&budget, 0, 0));
    for (int i = 0; i < 3; i++)
        assert_true(budget_enter(&budget, budget_principal(SPAN_LIT("acme"), SPAN_LIT("bot")), 3, &slots[i]));
    assert_false(budget_enter(&budget, budget_principal(SPAN_LIT("acme"), SPAN_LIT("bot")), 3, &slots[3]));
    assert_true(budget_enter(&budget, budget_principal(SPAN_LIT("globex"), SPAN_LIT("bot")), 3, &other));
    budget_leave(&budget, slots[0]);
    assert_true(budget_enter(&budget, budget_principal(SPAN_LIT("acme"), SPAN_LIT("bot")), 3, &slots[0]));
    for (int i = 0; i < 3; i++)
        budget_leave(&budget, slots[i]);
    budget_leave(&budget, other);
    for (unsigned i = 0; i < BUDGET_REQUEST_SLOTS; i++) /* whoever left, left no trace that counts */
        assert_int_equal(atomic_load(&budget.requests.slots[i]) & 0xfffff, 0);
    budget_fini(&budget);
}

TEST_CASE(test_many_principals) /* 1.7 */
{
    static uint32_t slots[4000];
    char name[16];

    assert_ok(budget_init(&budget, 0, 0));
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 4000; i++) {
            int len = snprintf(name, sizeof name, "p%u", i + round * 1000);

            assert_true(budget_enter(&budget, budget_principal(SPAN_LIT("t"), span_of(name, (size_t)len)), 1, &slots[i]));
        }
        for (unsigned i = 0; i < 4000; i++)
            budget_leave(&budget, slots[i]);
    }
    budget_fini(&budget);
}

/* Takes all that it may, in steps as large as a turn's. */
static uint64_t take_all(struct budget_account account)
{
    static uint64_t held, charged;

    held = charged = 0;
    while (budget_refuses(&budget, account, SIZE_MAX) == REASON_UNSET) {
        uint64_t now = held + 1000;

        budget_hold(&budget, &held, now);
        budget_charge(&budget, account, &charged, now);
    }
    return held;
}

/* 4.8: however many take all that they can, as much as each of them has is free for the next. */
TEST_CASE(test_shares)
{
    enum { MAX = 1000000 };

    assert_ok(budget_init(&budget, 0, MAX));
    for (uint64_t n = 1; n < 10; n++) {
        char name[2] = {(char)('0' + n), '\0'};
        uint64_t left = MAX - atomic_load(&budget.memory_bytes), took;
        struct budget_account account;

        assert_true(budget_open(&budget, budget_principal(SPAN_LIT("t"), span_text(name)), 0, 0, &account));
        took = take_all(account);
        assert_in_range(took, left / 2, left / 2 + 1000);
        assert_int_equal(budget_refuses(&budget, account, SIZE_MAX), REASON_MEMORY_SHARE);
    }
    budget_fini(&budget);
}

enum { RACERS = 4, RACES = 100000 };

/* All begin at one place of the table, so that each looks for the first free slot that another takes. */
static void *race(void *who)
{
    uintptr_t refused = 0;
    uint32_t slot;

    for (uint64_t i = 0; i < RACES; i++) {
        uint64_t tag = (*(const uint64_t *)who * RACES + i) << 32;

        if (budget_enter(&budget, tag | (uint32_t)(tag >> 32), 0, &slot))
            budget_leave(&budget, slot);
        else
            refused++;
    }
    return (void *)refused;
}

/* 10.26: who loses the race for a free slot finds another. */
TEST_CASE(test_lost_races)
{
    pthread_t threads[RACERS];
    uint64_t who[RACERS];
    void *refused;

    assert_ok(budget_init(&budget, 0, 0));
    for (uint64_t i = 0; i < RACERS; i++) {
        who[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, race, &who[i]), 0);
    }
    for (int i = 0; i < RACERS; i++) {
        assert_int_equal(pthread_join(threads[i], &refused), 0);
        assert_null(refused);
    }
    budget_fini(&budget);
}

/* Two that come at once, round by round, for somebody who is new in each. */
struct duel {
    atomic_uint begun, over;
    unsigned rounds;
    uint32_t slot;
    bool entered;
};

static void await(atomic_uint *round_of, unsigned round)
{
    for (unsigned i = 1; atomic_load(round_of) < round; i++)
        if (i % 1024 == 0)
            (void)sched_yield();
}

static uint64_t at_one_place(unsigned number)
{
    return (uint64_t)number << 32 | number;
}

static bool enter_anew(unsigned round, uint32_t *slot)
{
    return budget_enter(&budget, at_one_place(2 * round + 1), 1, slot);
}

static void *be_second(void *context)
{
    struct duel *duel = context;

    for (unsigned round = 1; round <= duel->rounds; round++) {
        await(&duel->begun, round);
        duel->entered = enter_anew(round, &duel->slot);
        atomic_store(&duel->over, round);
    }
    return NULL;
}

/* 10.26: of two that come at once for the only place of somebody new, while the slot before theirs becomes free, one has it. */
TEST_CASE(test_one_slot)
{
    struct duel duel = {.rounds = 30000 / sample_step()};
    uint32_t before, slot;
    unsigned both = 0, neither = 0;
    pthread_t other;

    assert_ok(budget_init(&budget, 0, 0));
    assert_int_equal(pthread_create(&other, NULL, be_second, &duel), 0);
    for (unsigned round = 1; round <= duel.rounds; round++) {
        bool entered;

        assert_true(budget_enter(&budget, at_one_place(2 * round), 1, &before));
        atomic_store(&duel.begun, round);
        for (volatile unsigned i = 0; i < round % 128; i++)
            ; /* so that the other looks sometimes before, sometimes behind */
        budget_leave(&budget, before);
        entered = enter_anew(round, &slot);
        await(&duel.over, round);
        both += entered && duel.entered;
        neither += !entered && !duel.entered;
        if (entered)
            budget_leave(&budget, slot);
        if (duel.entered)
            budget_leave(&budget, duel.slot);
    }
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(neither, 0);
    assert_int_equal(both, 0);
    budget_fini(&budget);
}

/* 4.8, 4.12: one account for all connections of one; not for others; an IPv6 machine is not many. */
TEST_CASE(test_accounts)
{
    struct sock_address a, b, c, d, e;
    struct budget_account one, two, three;
    uint64_t charged = 0;

    assert_ok(sock_parse(SPAN_LIT("10.0.0.1:1"), &a, NULL));
    assert_ok(sock_parse(SPAN_LIT("10.0.0.2:1"), &b, NULL));
    assert_ok(sock_parse(SPAN_LIT("[::ffff:10.0.0.1]:2"), &c, NULL));
    assert_ok(sock_parse(SPAN_LIT("[2001:db8:0:1::1]:1"), &d, NULL));
    assert_ok(sock_parse(SPAN_LIT("[2001:db8:0:1:ffff::9]:7"), &e, NULL));
    assert_true(budget_address(&a) == budget_address(&c) && budget_address(&d) == budget_address(&e));
    assert_true(budget_address(&a) != budget_address(&b) && budget_address(&a) != budget_address(&d));
    assert_ok(budget_init(&budget, 10, 1000));
    assert_int_equal(budget_connection_share(&budget), 10);
    assert_true(budget_open(&budget, budget_address(&a), 0, 2, &one));
    assert_true(budget_open(&budget, budget_address(&c), 0, 2, &two));
    assert_memory_equal(&one, &two, sizeof one);
    assert_false(budget_open(&budget, budget_address(&a), 0, 2, &three));
    assert_true(budget_open(&budget, budget_address(&b), 0, 2, &three));
    budget_charge(&budget, one, &charged, 1000);
    assert_int_equal(budget_refuses(&budget, two, SIZE_MAX), REASON_MEMORY_SHARE);
    assert_int_equal(budget_refuses(&budget, three, SIZE_MAX), REASON_UNSET);
    budget_keep(&budget, one); /* what works for it goes on when its connections have gone */
    budget_close(&budget, one);
    budget_close(&budget, two);
    assert_true(budget_open(&budget, budget_address(&a), 0, 2, &two));
    assert_memory_equal(&one, &two, sizeof one);
    assert_int_equal(budget_refuses(&budget, two, SIZE_MAX), REASON_MEMORY_SHARE);
    budget_close(&budget, two);
    budget_charge(&budget, one, &charged, 0);
    budget_close(&budget, one);
    budget_close(&budget, three);
    for (unsigned i = 0; i < BUDGET_ACCOUNTS; i++) {
        assert_int_equal(atomic_load(&budget.accounts.slots[i]) & 0xfffff, 0);
        assert_int_equal(atomic_load(&budget.account_bytes[i]), 0);
    }
    budget_fini(&budget);
}

/* 4.12: whoever takes all connections that they may leave as many as each of them has, and one at last. */
TEST_CASE(test_connection_shares)
{
    static const uint32_t wanted[] = {6, 3, 1, 1, 1};

    assert_ok(budget_init(&budget, 12, 0));
    for (size_t i = 0; i < 5; i++) {
        char name[2] = {(char)('0' + i), '\0'};
        uint64_t who = budget_principal(SPAN_LIT("t"), span_text(name));
        struct budget_account account;
        uint32_t count = 0;
        bool has_room;

        while ((has_room = budget_take_connection(&budget)) && budget_open(&budget, who, 0, budget_connection_share(&budget), &account))
            count++;
        if (has_room)
            budget_give_connection(&budget);
        assert_int_equal(count, wanted[i]);
    }
    budget_fini(&budget);
}

/* 10.3: a tenant's principals, however many, take half of the connections and of the memory together; another's finds the rest. */
TEST_CASE(test_tenants_share)
{
    enum { MOST = 1000, BYTES = 100 << 20 };
    struct budget_account account, other;
    uint64_t held = 0, charged = 0, tenant = budget_tenant(SPAN_LIT("crowd")), stranger = budget_tenant(SPAN_LIT("globex"));
    uint32_t opened = 0, kept = 0;
    char name[16];

    assert_ok(budget_init(&budget, MOST, BYTES));
    for (unsigned i = 0; i < 3 * MOST; i++) {
        (void)snprintf(name, sizeof name, "p%u", i);
        if (!budget_take_connection(&budget))
            continue;
        if (budget_open(&budget, budget_principal(SPAN_LIT("crowd"), span_text(name)), tenant, budget_connection_share(&budget), &account))
            opened++;
        else
            budget_give_connection(&budget);
    }
    assert_in_range(opened, MOST / 2 - 1, MOST / 2 + 1);
    for (unsigned i = 0; i < 50; i++)
        kept += budget_take_connection(&budget) && budget_open(&budget, budget_principal(SPAN_LIT("globex"), SPAN_LIT("bot")), stranger,
                                                               budget_connection_share(&budget), &other);
    assert_int_equal(kept, 50);
    while (budget_refuses(&budget, account, 100000) == REASON_UNSET) { /* the last one of the crowd stands for all */
        budget_hold(&budget, &held, held + 100000);
        budget_charge(&budget, account, &charged, held);
    }
    assert_in_range(held, BYTES / 2, BYTES / 2 + 100000);
    assert_int_equal(budget_refuses(&budget, other, SIZE_MAX), REASON_UNSET);
    (void)budget_open(&budget, budget_principal(SPAN_LIT("crowd"), SPAN_LIT("p0")), tenant, 0, &account);
    assert_int_equal(budget_refuses(&budget, account, 100000), REASON_MEMORY_SHARE); /* who holds nothing himself */
    assert_int_equal(budget_refuses(&budget, account, 65536), REASON_UNSET);
    budget_fini(&budget);
}

/* 4.8: many small messages are as much as a large one; who holds little may have one whatever others hold. */
TEST_CASE(test_small)
{
    enum { MAX = 8 << 20 };
    struct budget_account hog, other;
    uint64_t held = 0, charged = 0;

    assert_ok(budget_init(&budget, 0, MAX));
    assert_true(budget_open(&budget, budget_principal(SPAN_LIT("t"), SPAN_LIT("hog")), 0, 0, &hog));
    assert_true(budget_open(&budget, budget_principal(SPAN_LIT("u"), SPAN_LIT("bot")), 0, 0, &other));
    while (budget_refuses(&budget, hog, 100) == REASON_UNSET) {
        budget_hold(&budget, &held, held + 100000);
        budget_charge(&budget, hog, &charged, held);
    }
    assert_in_range(held, MAX / 2, MAX / 2 + 100000);
    assert_int_equal(budget_refuses(&budget, hog, 100), REASON_MEMORY_SHARE);
    assert_int_equal(budget_refuses(&budget, other, SIZE_MAX), REASON_UNSET);
    budget_hold(&budget, &held, MAX);
    assert_int_equal(budget_refuses(&budget, hog, 100), REASON_MEMORY);
    assert_int_equal(budget_refuses(&budget, other, 65537), REASON_MEMORY);
    assert_int_equal(budget_refuses(&budget, other, 65536), REASON_UNSET);
    budget_fini(&budget);
}

static void *come_and_go(void *argument)
{
    (void)argument;
    for (int i = 0; i < 20000; i++) {
        uint32_t slot;

        if (budget_enter(&budget, budget_principal(SPAN_LIT("t"), SPAN_LIT("p")), 100, &slot))
            budget_leave(&budget, slot);
    }
    return NULL;
}

TEST_CASE(test_threads) /* 1.5 */
{
    pthread_t threads[3];

    assert_ok(budget_init(&budget, 0, 0));
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < BUDGET_REQUEST_SLOTS; i++)
        assert_int_equal(atomic_load(&budget.requests.slots[i]) & 0xfffff, 0);
    budget_fini(&budget);
}

TEST_MAIN(NULL, NULL)
