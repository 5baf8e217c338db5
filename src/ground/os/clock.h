/* SPDX-License-Identifier: Apache-2.0 */
/* Time: the wall clock for records, the monotonic clock for waiting, the thread's CPU clock for budgets.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

int64_t clock_wall_us(void);      /* UTC microseconds since 1970; may jump */
int64_t clock_monotonic_us(void); /* never jumps back */
int64_t clock_thread_cpu_us(void);
int64_t clock_up_us(void); /* since the machine was started, its sleep included; never jumps */

/* Which start of the machine this is, as the kernel names it: two of clock_up_us can be compared where it is the same. "": the
 * kernel does not say. */
#define CLOCK_START_BYTES 40
void clock_start_name(char out[CLOCK_START_BYTES]);

/* The monotonic time `ms` from now, for waits of threads. */
struct timespec clock_after_ms(unsigned ms);

/* "2026-11-20T15:04:05.123456Z"; `out` takes 28 bytes with its NUL. */
#define CLOCK_TEXT_BYTES 28
void clock_text(int64_t wall_us, char out[CLOCK_TEXT_BYTES]);

#endif
