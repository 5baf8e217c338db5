/* SPDX-License-Identifier: Apache-2.0 */
/* 14.3: ships a whole trail to a database, as the courier does, and says how many rows it took and how long.
 *
 * usage: bench_ship DATABASE URL ROLE PASSWORD */
#include "ship/up.h"
#include "os/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static int say(const char *what)
{
    (void)fprintf(stderr, "bench_ship: %s\n", what);
    return 1;
}

static double processor_s(void)
{
    struct timespec used;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct pg_place place = {.wait_ms = 60000};
    struct why why = {""};
    struct pg *pg = NULL;
    struct up *up = NULL;
    bool more = true;
    int64_t began_us;

    if (argc != 5)
        return say("DATABASE URL ROLE PASSWORD");
    place.database = argv[2];
    place.user = span_text(argv[3]);
    place.password = span_text(argv[4]);
    if (pg_open(&place, "callgate bench", &pg, &why) != CODE_OK || up_new(argv[1], false, 0, &up, &why) != CODE_OK)
        return say(why.text);
    began_us = clock_monotonic_us();
    while (more)
        if (up_turn(up, pg, &more, &why) != CODE_OK)
            return say(why.text);
    (void)printf("{\"rows\": %" PRIu64 ", \"seconds\": %.3f, \"cpu\": %.3f}\n", up_figures(up)->rows,
                 (double)(clock_monotonic_us() - began_us) / 1e6, processor_s());
    up_free(&up);
    pg_close(&pg);
    return 0;
}
