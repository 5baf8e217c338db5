/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with the headers that it wants to see first, and tests that are run because they are there. */
#ifndef FAKES_CM_H
#define FAKES_CM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A test: TEST_CASE(test_growing) { ... }. Those of a file run in the order in which they stand, by its TEST_MAIN. */
#define TEST_CASE(name) TEST_CASE_WITH(name, NULL, NULL)
/* Likewise, between a begin and an end of its own. */
#define TEST_CASE_WITH(name, begins, ends)                                                     \
    TEST_ALSO_WITH(name, name##_runs, begins, ends)                                            \
    static void name(void **state __attribute__((unused)))
/* Runs a test another time, with another begin. Takes: as: a name of its own. */
#define TEST_ALSO_WITH(name, as, begins, ends)                                                 \
    static void name(void **state);                                                            \
    __attribute__((constructor(1000 + __LINE__))) static void as(void)                         \
    {                                                                                          \
        all_tests[tests_count++] = (struct CMUnitTest){#name, name, begins, ends, NULL};       \
    }
#define TEST_MAIN(begins, ends)                                                                \
    int main(void)                                                                             \
    {                                                                                          \
        return tests_run(begins, ends);                                                        \
    }

/* cmocka passes by what has no name. A file has at most 600 lines, so there is room. */
static struct CMUnitTest all_tests[150] __attribute__((unused));
static size_t tests_count __attribute__((unused));
#define tests_run(begins, ends) cmocka_run_group_tests_name("tests", all_tests, begins, ends)

#define assert_ok(call) assert_int_equal((call), 0)

/* A writer failed: it says so, and its buffer, which lacks something, does too (base/buf.h). Empties the buffer. */
#define assert_sticks(call, buf, failure)                                   \
    do {                                                                    \
        assert_int_equal((call), (failure));                                \
        assert_int_equal(buf_code(buf), (failure));                         \
        buf_clear(buf);                                                     \
    } while (0)

#endif
