/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/heads.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

static const unsigned char salt[ROW_SALT_BYTES] = {7};

/* Against a plain array: adds, finds and removes in an order that makes chains wrap and move up. */
static void test_permits_against_a_model(void **state)
{
    static bool model[20000];
    struct permits permits;
    unsigned chance = 1;
    size_t count = 0;

    (void)state;
    assert_int_equal(permits__init(&permits), CODE_OK);
    for (int step = 0; step < 200000; step++) {
        uint64_t seq;

        chance = chance * 1103515245u + 12345u;
        seq = 1 + (chance >> 8) % (step % 1000 < 500 ? 300 : 19999);
        if (!model[seq]) {
            assert_null(permits__find(&permits, seq));
            assert_int_equal(permits__add(&permits, seq, NULL, salt), CODE_OK);
            count++;
        } else {
            assert_int_equal(permits__find(&permits, seq)->salt[0], 7);
            permits__remove(&permits, seq);
            permits__remove(&permits, seq);
            count--;
        }
        model[seq] = !model[seq];
        assert_int_equal(permits.count, count);
    }
    for (uint64_t seq = 1; seq < 20000; seq++)
        assert_int_equal(permits__find(&permits, seq) != NULL, model[seq]);
    for (uint64_t seq = 1; seq < 20000; seq += 2)
        if (model[seq])
            permits__find(&permits, seq)->closing = true;
    permits__drop_closed(&permits);
    for (uint64_t seq = 1; seq < 20000; seq++)
        assert_int_equal(permits__find(&permits, seq) != NULL, model[seq] && seq % 2 == 0);
    permits__fini(&permits);
}

static void test_heads_are_trimmed(void **state)
{
    struct heads heads;
    struct permits permits;
    struct head *head;
    char name[16];

    (void)state;
    assert_int_equal(heads__init(&heads), CODE_OK);
    assert_int_equal(permits__init(&permits), CODE_OK);
    for (int i = 1; i <= HEADS_MAX + 10; i++) {
        (void)snprintf(name, sizeof name, "t%d", i);
        assert_int_equal(heads__find(&heads, span_text(name), &head), CODE_OK);
        assert_false(head->known);
        head->known = i > HEADS_MAX || i == 5;
        head->seq = (uint64_t)i;
        if (i == 5)
            assert_int_equal(permits__add(&permits, 5, head, salt), CODE_OK);
    }
    heads__trim(&heads);
    assert_int_equal(heads.count, 11); /* ten that have rows in this file, one with an open permit */
    assert_int_equal(heads__find(&heads, SPAN_LIT("t5"), &head), CODE_OK);
    assert_true(head->known && head->seq == 5 && head->permits == 1);
    assert_int_equal(heads__find(&heads, SPAN_LIT("t6"), &head), CODE_OK);
    assert_false(head->known);
    heads__forget(&heads);
    assert_int_equal(heads__find(&heads, SPAN_LIT("t5"), &head), CODE_OK);
    assert_false(head->known);
    permits__fini(&permits);
    heads__fini(&heads);
}

static void test_out_of_memory(void **state)
{
    struct heads heads;
    struct permits permits;
    struct head *head;

    (void)state;
    mem_fail_at(1, 0);
    assert_int_equal(heads__init(&heads), CODE_NOMEM);
    mem_fail_at(1, 0);
    assert_int_equal(permits__init(&permits), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(heads__init(&heads), CODE_OK);
    assert_int_equal(permits__init(&permits), CODE_OK);
    mem_fail_at(1, 0);
    assert_int_equal(heads__find(&heads, SPAN_LIT("a"), &head), CODE_NOMEM);
    mem_fail_at(0, 0);
    for (uint64_t seq = 1; permits.count < permits.size / 2; seq++)
        assert_int_equal(permits__add(&permits, seq, NULL, salt), CODE_OK);
    mem_fail_at(1, 0);
    assert_int_equal(permits__add(&permits, 99999, NULL, salt), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_non_null(permits__find(&permits, 1)); /* a failed growth changed nothing */
    permits__fini(&permits);
    heads__fini(&heads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permits_against_a_model),
        cmocka_unit_test(test_heads_are_trimmed),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
