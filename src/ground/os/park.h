/* SPDX-License-Identifier: Apache-2.0 */
/* A number for whose change one thread sleeps (futex(2)): where nobody sleeps, nobody makes a system call.
 *
 * Threads: any; whoever changes the number and then wakes is never missed.
 * Owns: nothing.
 * Lifetime: the number's.
 * Errors: none; a sleep may end early. */
#ifndef OS_PARK_H
#define OS_PARK_H

#include <stdatomic.h>
#include <stdint.h>

void park_sleep(atomic_int *number, int as_long_as, int64_t most_us); /* most_us < 0: until it is woken */
void park_wake(atomic_int *number);                                   /* one thread */

#endif
