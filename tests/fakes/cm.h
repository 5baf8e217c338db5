/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with the headers that it wants to see first. */
#ifndef FAKES_CM_H
#define FAKES_CM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_ok(call) assert_int_equal((call), 0)

/* A writer failed: it says so, and its buffer, which lacks something, does too (base/buf.h). Empties the buffer. */
#define assert_sticks(call, buf, failure)                                   \
    do {                                                                    \
        assert_int_equal((call), (failure));                                \
        assert_int_equal(buf_code(buf), (failure));                         \
        buf_clear(buf);                                                     \
    } while (0)

#endif
