/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses: how long something is left alone before it is tried, asked or looked at again, where nobody configures it.
 *
 * A pause for which a test would have to wait goes through here, because tests link these programs with another pause.c
 * (tests/hasty). A time in a policy, a limit or a token is no pause: it means the same in each program.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef OS_PAUSE_H
#define OS_PAUSE_H

#include <stdint.h>

/* Returns: us, in every program but those of the tests. */
int64_t pause_us(int64_t us);

static inline int pause_ms(int ms)
{
    return (int)(pause_us((int64_t)ms * 1000) / 1000);
}

#endif
