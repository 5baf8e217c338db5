/* SPDX-License-Identifier: Apache-2.0 */
/* What is drawn of the newest calls: bars of time by verdict, and what is denied most. */
#include "console/shape.h"

#include "base/num.h"
#include "cli/told.h"
#include "cli/when.h"
#include "os/clock.h"

#include <stdio.h>

#define BARS_MAX 60
#define BARS_LEAST 20 /* fewer are no wider */
#define WIDE 600 /* the drawing's own units */
#define HIGH 120
#define DENIED_MAX 5 /* kinds that are told */
#define SECOND_US INT64_C(1000000)

enum { PERMITTED = 0, HELD, DENIED, VERDICTS };
static const char *const counted[VERDICTS] = {"permitted", "held", "denied"};

struct bars {
    int64_t begin_us, width_us;
    size_t count;
    uint64_t calls[BARS_MAX][VERDICTS], most;
};

static uint64_t number_in(const struct json_node *object, const char *key)
{
    uint64_t number = 0;

    return num_u64(told_text(object, key), &number) == CODE_OK ? number : 0;
}

/* Takes: text: a time as the trail has it, or the minute of one. */
static bool read_time(struct span text, int64_t *time_us)
{
    struct why why;

    return text.len > 0 && when_parse(text, clock_wall_us(), time_us, &why) == CODE_OK;
}

/* A width that people know, of which so few hold all. Returns: false: there is nothing to draw. */
static bool begin_bars(struct bars *bars, const struct json_node *stats)
{
    static const int64_t minutes[] = {1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 10080, 43200, 525600};
    int64_t first_us, last_us;
    size_t at = 0;

    *bars = (struct bars){.count = 0};
    if (!read_time(told_text(stats, "first"), &first_us) || !read_time(told_text(stats, "last"), &last_us))
        return false;
    do {
        bars->width_us = minutes[at] * 60 * SECOND_US;
        bars->begin_us = first_us - first_us % bars->width_us;
        bars->count = (size_t)((last_us - bars->begin_us) / bars->width_us) + 1;
    } while (bars->count > BARS_MAX && ++at < sizeof minutes / sizeof minutes[0]);
    return bars->count <= BARS_MAX;
}

static void count(struct bars *bars, const struct json_node *minute)
{
    int64_t at_us;
    size_t at;
    uint64_t all = 0;

    if (!read_time(told_text(minute, "name"), &at_us) || at_us < bars->begin_us)
        return; /* those of minutes beyond what is kept apart have no name */
    at = (size_t)((at_us - bars->begin_us) / bars->width_us);
    for (int i = 0; i < VERDICTS && at < bars->count; i++) {
        bars->calls[at][i] += number_in(minute, counted[i]);
        all += bars->calls[at][i];
    }
    bars->most = all > bars->most ? all : bars->most;
}

static void draw_bar(const struct bars *bars, size_t at, struct doc *list)
{
    const size_t slots = bars->count > BARS_LEAST ? bars->count : BARS_LEAST, step = WIDE / slots;
    struct doc *bar = doc_add_object(list, NULL);
    char key[32];
    uint64_t y = HIGH;

    doc_int(bar, "x", (int64_t)((slots - bars->count + at) * step));
    doc_int(bar, "wide", (int64_t)(step > 3 ? step - 1 : step));
    for (int i = 0; i < VERDICTS; i++) {
        uint64_t calls = bars->calls[at][i], high = bars->most > 0 ? (calls * HIGH + bars->most - 1) / bars->most : 0;

        high = high < y ? high : y;
        y -= high;
        doc_int(bar, counted[i], (int64_t)calls);
        (void)snprintf(key, sizeof key, "%s_y", counted[i]);
        doc_int(bar, key, (int64_t)y);
        (void)snprintf(key, sizeof key, "%s_high", counted[i]);
        doc_int(bar, key, (int64_t)high);
    }
}

static void draw_bars(struct doc *chart, const struct bars *bars)
{
    struct doc *list = doc_add_array(chart, "bars");
    const double seconds = (double)(bars->width_us / SECOND_US);
    char text[CLOCK_TEXT_BYTES];

    (void)snprintf(text, sizeof text, "%.3g", (double)bars->most / seconds);
    doc_text(chart, "peak", span_text(text)); /* calls a second */
    doc_int(chart, "width_us", bars->width_us);
    clock_text(bars->begin_us, text);
    doc_text(chart, "since", span_text(text));
    clock_text(bars->begin_us + bars->width_us * (int64_t)bars->count, text);
    doc_text(chart, "until", span_text(text));
    for (size_t i = 0; i < bars->count; i++)
        draw_bar(bars, i, list);
}

/* Those of a kind that have most denials: as many as are told, and others with no fewer. */
static void add_denied(struct doc *to, const struct json_node *groups, const char *key)
{
    const struct json_node *list = json_member(groups, span_text(key));
    struct doc *told = doc_add_array(to, key);
    uint64_t below = UINT64_MAX, most = 0;

    for (size_t kinds = 0; kinds < DENIED_MAX && below > 0 && list != NULL; below = most) {
        most = 0;
        for (const struct json_node *one = list->child; one != NULL; one = one->next)
            if (number_in(one, "denied") < below && number_in(one, "denied") > most)
                most = number_in(one, "denied");
        for (const struct json_node *one = list->child; one != NULL && most > 0; one = one->next)
            if (number_in(one, "denied") == most) {
                doc_json(told, NULL, one->raw);
                kinds++;
            }
    }
}

void page_now_draw(struct visit *visit, const struct json_node *view)
{
    const struct json_node *stats = json_member(view, SPAN_LIT("stats")), *groups, *minutes;
    struct doc *denied;
    struct bars bars;

    if (stats == NULL || stats->type != JSON_OBJECT)
        return;
    groups = json_member(stats, SPAN_LIT("per"));
    minutes = json_member(groups, SPAN_LIT("minute"));
    denied = doc_add_object(visit->view, "denied");
    add_denied(denied, groups, "rule");
    add_denied(denied, groups, "reason");
    if (minutes == NULL || !begin_bars(&bars, stats))
        return;
    for (const struct json_node *one = minutes->child; one != NULL; one = one->next)
        count(&bars, one);
    draw_bars(doc_add_object(visit->view, "chart"), &bars);
}
