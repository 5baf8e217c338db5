/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded into the program by LD_PRELOAD: the wall clock is as many microseconds off as the file CLOCK_OFF says, a number of 8
 * bytes that a test changes while the program runs. The monotonic clock is left alone, as a kernel does.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t none, *off = &none;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void find_clock(void)
{
    const char *path = getenv("CLOCK_OFF");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *off, PROT_READ, MAP_SHARED, fd, 0);

    if (at != MAP_FAILED)
        off = at;
    if (fd >= 0)
        close(fd);
    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    int64_t us;

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    if (real(clock, out) != 0)
        return -1;
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return 0;
    us = (int64_t)out->tv_sec * 1000000 + out->tv_nsec / 1000 + *off;
    out->tv_sec = us / 1000000;
    out->tv_nsec = us % 1000000 * 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *out, void *zone)
{
    struct timespec now;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}
