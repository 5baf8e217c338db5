/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include "os/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define DRAW_EVERY_US 100000
#define BAR_CELLS 30

static bool as_json;

void progress_as_json(bool wanted)
{
    as_json = wanted;
}

void progress_begin(struct progress *progress, const char *what, uint64_t total)
{
    *progress = (struct progress){.shown = as_json || isatty(STDERR_FILENO) == 1, .what = what, .total = total,
                                  .began_us = clock_monotonic_us()};
}

static void draw(const struct progress *progress, uint64_t done, int64_t now_us)
{
    static const char cells[] = "##############################";
    double spent_s = (double)(now_us - progress->began_us) / 1e6;
    double rate = spent_s > 0 ? (double)done / spent_s : 0;
    double share;

    if (progress->total == 0) {
        (void)fprintf(stderr, "\r\033[K%s: %" PRIu64 ", %.0f/s", progress->what, done, rate);
        return;
    }
    share = done < progress->total ? (double)done / (double)progress->total : 1;
    (void)fprintf(stderr, "\r\033[K%s [%-*.*s] %3.0f%%  %.0f/s", progress->what, BAR_CELLS, (int)(share * BAR_CELLS), cells,
                  share * 100, rate);
    if (rate > 0 && done < progress->total)
        (void)fprintf(stderr, "  %.0f s left", (double)(progress->total - done) / rate);
}

void progress_tell(struct progress *progress, uint64_t done)
{
    int64_t now_us;

    if (!progress->shown)
        return;
    now_us = clock_monotonic_us();
    if (now_us - progress->drawn_us < DRAW_EVERY_US)
        return;
    progress->drawn_us = now_us;
    if (as_json)
        (void)fprintf(stderr, "{\"progress\":\"%s\",\"done\":%" PRIu64 ",\"total\":%" PRIu64 ",\"at\":%" PRId64 "}\n",
                      progress->what, done, progress->total, progress->at);
    else
        draw(progress, done, now_us);
    (void)fflush(stderr);
}

void progress_clear(struct progress *progress)
{
    if (!progress->shown || progress->drawn_us == 0 || as_json)
        return;
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    progress->drawn_us = 0;
}

void progress_end(struct progress *progress)
{
    progress_clear(progress);
    progress->shown = false;
}
