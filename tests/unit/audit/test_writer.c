/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/writer.h"

#include "fakes/audit_file.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

static int setup(void **state)
{
    struct audit_file *file = calloc(1, sizeof *file);

    audit_file_init(file);
    *state = file;
    return 0;
}

static int teardown(void **state)
{
    audit_file_fini(*state);
    free(*state);
    return 0;
}

/* 1.24 */
static void test_first_rows(void **state)
{
    struct audit_file *file = *state;
    struct audit *audit = audit_file_open(file, 2);
    uint64_t seq = audit_file_call(audit_ring(audit, 0), "acme", "c-1");

    assert_int_equal(seq, 2);
    audit_close(&audit);
    assert_null(audit);
    assert_string_equal(audit_file_ask(file, "SELECT group_concat(kind || ' ' || what, ', ') FROM entry"),
                        "decision permit search_products, outcome result of 2, event start, event stop");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_rows, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
