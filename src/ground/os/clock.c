/* SPDX-License-Identifier: Apache-2.0 */
#include "os/clock.h"

#include "base/bug.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int64_t read_us(clockid_t id)
{
    struct timespec now;

    BUG_ON(clock_gettime(id, &now) != 0); /* fails only for a clock that does not exist */
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME);
}

int64_t clock_monotonic_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t clock_thread_cpu_us(void)
{
    return read_us(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_up_us(void)
{
    return read_us(CLOCK_BOOTTIME);
}

void clock_start_name(char out[CLOCK_START_BYTES])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, out, CLOCK_START_BYTES - 1) : 0;

    while (got > 0 && out[got - 1] == '\n')
        got--;
    out[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        (void)close(fd);
}

struct timespec clock_after_ms(unsigned ms)
{
    int64_t us = clock_monotonic_us() + (int64_t)ms * 1000;

    return (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
}

/* Proleptic Gregorian, counted from 1 March of the year 0, so that a leap day is the last of its year. */
static void date_of(int64_t days_since_1970, int64_t *year, unsigned *month, unsigned *day)
{
    int64_t days = days_since_1970 + 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    unsigned of_era = (unsigned)(days - era * 146097);
    unsigned year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned from_march = (5 * of_year + 2) / 153;

    *day = of_year - (153 * from_march + 2) / 5 + 1;
    *month = from_march < 10 ? from_march + 3 : from_march - 9;
    *year = (int64_t)year_of_era + era * 400 + (*month <= 2);
}

/* gmtime_r and strftime would take the time zone's lock for every row. */
void clock_text(int64_t wall_us, char out[CLOCK_TEXT_BYTES])
{
    int64_t second = wall_us / 1000000, year;
    unsigned micro, of_day, month, day;

    if (wall_us % 1000000 < 0)
        second--;
    micro = (unsigned)(wall_us - second * 1000000);
    of_day = (unsigned)(((second % 86400) + 86400) % 86400);
    date_of((second - of_day) / 86400, &year, &month, &day);
    /* The form has four digits for the year; a clock outside of them is shown at the edge. */
    if (year < 0)
        year = 0;
    if (year > 9999)
        year = 9999;
    (void)snprintf(out, CLOCK_TEXT_BYTES, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ", (unsigned)year, month % 100, day % 100,
                   of_day / 3600 % 100, of_day / 60 % 60, of_day % 60, micro % 1000000);
}
