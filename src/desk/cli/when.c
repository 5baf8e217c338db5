/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/when.h"

#include "args/command.h"
#include "base/num.h"
#include "os/clock.h"
#include "texts/date.h"

#include <inttypes.h>
#include <stdio.h>

#define SECOND_US INT64_C(1000000)
#define DAY_S INT64_C(86400)
#define YEARS_MS (UINT64_C(1000) * 366 * 86400 * 1000) /* a thousand years */

/* Takes exactly `digits` digits from the front. */
static bool take_number(struct span *text, int digits, int *number)
{
    int value = 0;

    if (text->len < (size_t)digits)
        return false;
    for (int i = 0; i < digits; i++) {
        if (text->at[i] < '0' || text->at[i] > '9')
            return false;
        value = value * 10 + (text->at[i] - '0');
    }
    *text = span_part(*text, (size_t)digits, text->len);
    *number = value;
    return true;
}

static bool take_byte(struct span *text, char byte)
{
    if (text->len == 0 || text->at[0] != byte)
        return false;
    *text = span_part(*text, 1, text->len);
    return true;
}

static bool take_fraction(struct span *text, int64_t *fraction_us)
{
    int64_t unit = SECOND_US / 10;
    int digit;

    if (!take_byte(text, '.'))
        return true;
    if (!take_number(text, 1, &digit))
        return false;
    do {
        *fraction_us += digit * unit;
        unit /= 10;
    } while (unit > 0 && take_number(text, 1, &digit));
    return true;
}

static bool take_zone(struct span *text, int64_t *seconds)
{
    int hours, minutes, sign = take_byte(text, '+') ? -1 : take_byte(text, '-') ? 1 : 0;

    if (sign == 0)
        return take_byte(text, 'Z') || text->len == 0;
    if (!take_number(text, 2, &hours) || !take_byte(text, ':') || !take_number(text, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *seconds += sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool read_date(struct span text, int64_t *time_us)
{
    int hours, minutes, whole = 0;
    int64_t seconds, days, fraction_us = 0;

    if (!date_read(span_part(text, 0, 10), &days) || days < 0)
        return false;
    seconds = days * DAY_S;
    text = span_part(text, 10, SIZE_MAX);
    if (text.len > 0) {
        if ((!take_byte(&text, 'T') && !take_byte(&text, ' ')) || !take_number(&text, 2, &hours) || !take_byte(&text, ':') ||
            !take_number(&text, 2, &minutes))
            return false;
        if (take_byte(&text, ':') && (!take_number(&text, 2, &whole) || !take_fraction(&text, &fraction_us)))
            return false;
        if (hours > 23 || minutes > 59 || whole > 59)
            return false;
        seconds += hours * 3600 + minutes * 60 + whole;
        if (!take_zone(&text, &seconds))
            return false;
    }
    *time_us = seconds * SECOND_US + fraction_us;
    return text.len == 0;
}

/* Days begin at midnight, UTC. A bare number is seconds since 1970, as `date +%s` prints them, of so many digits that it is no
 * date without its signs. */
static bool read_word(struct span text, int64_t now_us, int64_t *time_us)
{
    int64_t today_us = now_us - now_us % (DAY_S * SECOND_US);
    uint64_t seconds;

    if (span_is(text, "now"))
        *time_us = now_us;
    else if (span_is(text, "today"))
        *time_us = today_us;
    else if (span_is(text, "yesterday"))
        *time_us = today_us - DAY_S * SECOND_US;
    else if (text.len >= 9 && num_u64(text, &seconds) == CODE_OK && seconds < YEARS_MS / 1000)
        *time_us = (int64_t)seconds * SECOND_US;
    else
        return false;
    return true;
}

enum code when_parse(struct span text, int64_t now_us, int64_t *time_us, struct why *why)
{
    uint64_t ago_ms;

    if (read_word(text, now_us, time_us))
        return CODE_OK;
    if (num_duration(text, &ago_ms) == CODE_OK && ago_ms < YEARS_MS) {
        *time_us = now_us - (int64_t)ago_ms * 1000;
        return CODE_OK;
    }
    if (read_date(text, time_us))
        return CODE_OK;
    return why_set(why, CODE_INVALID, "\"%.*s\" is no time; write how long ago (30min, 2h, 7d), today, yesterday, a date "
                   "(2026-11-20, 2026-11-20T15:04:05Z) or seconds since 1970", SPAN_ARG(text));
}

const char *when_age(int64_t since_us, int64_t now_us, char text[WHEN_AGE_BYTES])
{
    int64_t s = now_us > since_us ? (now_us - since_us) / 1000000 : 0;

    if (s < 120)
        (void)snprintf(text, WHEN_AGE_BYTES, "%" PRId64 " s", s);
    else if (s < 7200)
        (void)snprintf(text, WHEN_AGE_BYTES, "%" PRId64 " min", s / 60);
    else
        (void)snprintf(text, WHEN_AGE_BYTES, s < 172800 ? "%" PRId64 " h" : "%" PRId64 " d", s < 172800 ? s / 3600 : s / 86400);
    return text;
}

int when_option(const char *option, const char *text, int64_t *time_us)
{
    struct why why = {""};

    if (text == NULL || when_parse(span_text(text), clock_wall_us(), time_us, &why) == CODE_OK)
        return OPTIONS_GO;
    return complain(STATUS_USAGE, "--%s: %s", option, why.text);
}
