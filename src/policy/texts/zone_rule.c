/* SPDX-License-Identifier: Apache-2.0 */
#include "texts/zone_priv.h"

#include "base/ascii.h"

#define HOUR_S INT64_C(3600)
#define CHANGE_AT_S (2 * HOUR_S) /* where the rule says no time */

/* ---- reading ---- */

static char first(struct span text)
{
    return text.len > 0 ? text.at[0] : '\0';
}

static bool takes(struct span *text, char c)
{
    if (first(*text) != c)
        return false;
    *text = span_part(*text, 1, SIZE_MAX);
    return true;
}

static bool take_number(struct span *text, int64_t least, int64_t most, int64_t *number)
{
    size_t digits = 0;

    *number = 0;
    while (digits < text->len && ascii_is_digit(text->at[digits]) && digits < 4)
        *number = *number * 10 + (text->at[digits++] - '0');
    *text = span_part(*text, digits, SIZE_MAX);
    return digits > 0 && *number >= least && *number <= most;
}

/* Three letters or more, or any of letters, digits and signs in angle brackets. */
static bool take_name(struct span *text)
{
    bool quoted = takes(text, '<');
    size_t len = 0;

    while (len < text->len && (ascii_is_letter(text->at[len]) ||
                               (quoted && (ascii_is_digit(text->at[len]) || text->at[len] == '+' || text->at[len] == '-'))))
        len++;
    *text = span_part(*text, len, SIZE_MAX);
    return len >= 3 && (!quoted || takes(text, '>'));
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(struct span *text, int64_t most_hours, int64_t *seconds)
{
    bool negative = takes(text, '-');
    int64_t hours, minutes = 0, rest = 0;

    if (!negative)
        (void)takes(text, '+');
    if (!take_number(text, 0, most_hours, &hours))
        return false;
    if (takes(text, ':') && (!take_number(text, 0, 59, &minutes) ||
                             (takes(text, ':') && !take_number(text, 0, 59, &rest))))
        return false;
    *seconds = hours * HOUR_S + minutes * 60 + rest;
    if (negative)
        *seconds = -*seconds;
    return true;
}

static bool take_change(struct span *text, struct zone__change *change)
{
    int64_t month = 0, week = 0, day;
    bool good;

    if (takes(text, 'M')) {
        change->kind = ZONE_DAY_OF_WEEK;
        good = take_number(text, 1, 12, &month) && takes(text, '.') && take_number(text, 1, 5, &week) && takes(text, '.') &&
               take_number(text, 0, 6, &day);
    } else if (takes(text, 'J')) {
        change->kind = ZONE_DAY_WITHOUT_LEAP;
        good = take_number(text, 1, 365, &day);
    } else {
        change->kind = ZONE_DAY_OF_YEAR;
        good = take_number(text, 0, 365, &day);
    }
    if (!good)
        return false;
    change->month = (int)month;
    change->week = (int)week;
    change->day = (int)day;
    change->time_s = CHANGE_AT_S;
    return !takes(text, '/') || take_time(text, 167, &change->time_s);
}

bool zone__rule_read(struct span text, struct zone__rule *rule)
{
    int64_t west_s;

    *rule = (struct zone__rule){.has_summer = false};
    if (!take_name(&text) || !take_time(&text, 24, &west_s))
        return false;
    rule->standard_s = -west_s;
    if (text.len == 0)
        return true;
    rule->has_summer = true;
    rule->summer_s = rule->standard_s + HOUR_S;
    if (!take_name(&text))
        return false;
    if (first(text) != ',') {
        if (!take_time(&text, 24, &west_s))
            return false;
        rule->summer_s = -west_s;
    }
    return takes(&text, ',') && take_change(&text, &rule->begin) && takes(&text, ',') && take_change(&text, &rule->end) &&
           text.len == 0;
}

/* ---- reckoning ---- */

int64_t zone__floor(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int zone_month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month - 1] + (month == 2 && is_leap(year));
}

int64_t zone_days(int64_t year, int month, int day)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int64_t past = year - 1;
    int64_t days = past * 365 + zone__floor(past, 4) - zone__floor(past, 100) + zone__floor(past, 400) - 719162;

    return days + before[month - 1] + (month > 2 && is_leap(year)) + day - 1;
}

static int64_t year_of(int64_t time_s)
{
    int64_t days = zone__floor(time_s, ZONE_DAY_S), year = 1970 + zone__floor(days, 366);

    while (zone_days(year + 1, 1, 1) <= days)
        year++;
    return year;
}

/* The week's day of the month: the w-th, or the last where there are only four. */
static int64_t day_of_week(int64_t year, const struct zone__change *change)
{
    int64_t begin = zone_days(year, change->month, 1);
    int64_t weekday = ((begin + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
    int64_t day = begin + (change->day - weekday + 7) % 7 + (change->week - 1) * 7;

    return day < begin + zone_month_days(year, change->month) ? day : day - 7;
}

static int64_t change_s(int64_t year, const struct zone__change *change, int64_t offset_s)
{
    int64_t day = 0;

    switch (change->kind) {
    case ZONE_DAY_OF_YEAR: day = zone_days(year, 1, 1) + change->day; break;
    case ZONE_DAY_WITHOUT_LEAP:
        day = zone_days(year, 1, 1) + change->day - 1 + (is_leap(year) && change->day >= 60);
        break;
    case ZONE_DAY_OF_WEEK: day = day_of_week(year, change); break;
    }
    return day * ZONE_DAY_S + change->time_s - offset_s;
}

/* The last change before the time decides. A change may fall into a neighbouring year, so three years are looked at. Where one
 * summer ends as the next begins, it is summer all the time. */
int64_t zone__rule_offset_s(const struct zone__rule *rule, int64_t time_s)
{
    int64_t year, last_s = INT64_MIN;
    bool summer = false;

    if (!rule->has_summer)
        return rule->standard_s;
    year = year_of(time_s + rule->standard_s);
    for (int64_t y = year - 1; y <= year + 1; y++) {
        int64_t begin_s = change_s(y, &rule->begin, rule->standard_s), end_s = change_s(y, &rule->end, rule->summer_s);

        if (end_s <= time_s && end_s > last_s) {
            last_s = end_s;
            summer = false;
        }
        if (begin_s <= time_s && begin_s >= last_s) {
            last_s = begin_s;
            summer = true;
        }
    }
    return summer ? rule->summer_s : rule->standard_s;
}
