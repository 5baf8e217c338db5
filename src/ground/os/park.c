/* SPDX-License-Identifier: Apache-2.0 */
#include "os/park.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(atomic_int) == sizeof(uint32_t), "the kernel reads 32 bits");

void park_sleep(atomic_int *number, int as_long_as, int64_t most_us)
{
    const struct timespec most = {.tv_sec = most_us / 1000000, .tv_nsec = most_us % 1000000 * 1000};

    (void)syscall(SYS_futex, number, FUTEX_WAIT_PRIVATE, as_long_as, most_us < 0 ? NULL : &most, NULL, 0);
}

void park_wake(atomic_int *number)
{
    (void)syscall(SYS_futex, number, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
