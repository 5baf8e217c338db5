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

#endif
