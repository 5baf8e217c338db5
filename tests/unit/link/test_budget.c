/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"
#include "link/budget.h"

#include <pthread.h>
#include <stdio.h>

static struct budget budget;

static void test_connections(void **state) /* 1.7 */
{
    (void)state;
    assert_ok(budget_init(&budget, 2, 0));
    assert_true(budget_take_connection(&budget));
    assert_true(budget_take_connection(&budget));
    assert_false(budget_take_connection(&budget));
    budget_give_connection(&budget);
    assert_true(budget_take_connection(&budget));
    budget_fini(&budget);
}

static void test_memory(void **state) /* 1.7 */
{
    uint64_t one = 0, two = 0;

    (void)state;
    assert_ok(budget_init(&budget, 0, 1000));
    budget_hold(&budget, &one, 600);
    assert_false(budget_is_tight(&budget));
    budget_hold(&budget, &two, 600);
    assert_true(budget_is_tight(&budget));
    budget_hold(&budget, &one, 0);
    assert_false(budget_is_tight(&budget));
    budget_hold(&budget, &two, 0);
    assert_int_equal(atomic_load(&budget.memory_bytes), 0);
    budget_fini(&budget);
}

static void test_principals(void **state) /* 1.7: each has its own limit */
{
    uint32_t slots[4], other;

    (void)state;
    assert_ok(budget_init(&budget, 0, 0));
    for (int i = 0; i < 3; i++)
        assert_true(budget_enter(&budget, SPAN_LIT("acme"), SPAN_LIT("bot"), 3, &slots[i]));
    assert_false(budget_enter(&budget, SPAN_LIT("acme"), SPAN_LIT("bot"), 3, &slots[3]));
    assert_true(budget_enter(&budget, SPAN_LIT("globex"), SPAN_LIT("bot"), 3, &other));
    budget_leave(&budget, slots[0]);
    assert_true(budget_enter(&budget, SPAN_LIT("acme"), SPAN_LIT("bot"), 3, &slots[0]));
    for (int i = 0; i < 3; i++)
        budget_leave(&budget, slots[i]);
    budget_leave(&budget, other);
    for (unsigned i = 0; i < BUDGET_SLOTS; i++) /* whoever left, left no trace that counts */
        assert_int_equal(atomic_load(&budget.slots[i]) & 0xfffff, 0);
    budget_fini(&budget);
}

static void test_many_principals(void **state) /* 1.7 */
{
    static uint32_t slots[4000];
    char name[16];

    (void)state;
    assert_ok(budget_init(&budget, 0, 0));
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 4000; i++) {
            int len = snprintf(name, sizeof name, "p%u", i + round * 1000);

            assert_true(budget_enter(&budget, SPAN_LIT("t"), span_of(name, (size_t)len), 1, &slots[i]));
        }
        for (unsigned i = 0; i < 4000; i++)
            budget_leave(&budget, slots[i]);
    }
    budget_fini(&budget);
}

static void *come_and_go(void *argument)
{
    (void)argument;
    for (int i = 0; i < 20000; i++) {
        uint32_t slot;

        if (budget_enter(&budget, SPAN_LIT("t"), SPAN_LIT("p"), 100, &slot))
            budget_leave(&budget, slot);
    }
    return NULL;
}

static void test_threads(void **state) /* 1.5 */
{
    pthread_t threads[3];

    (void)state;
    assert_ok(budget_init(&budget, 0, 0));
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < BUDGET_SLOTS; i++)
        assert_int_equal(atomic_load(&budget.slots[i]) & 0xfffff, 0);
    budget_fini(&budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connections), cmocka_unit_test(test_memory),  cmocka_unit_test(test_principals),
        cmocka_unit_test(test_many_principals), cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
