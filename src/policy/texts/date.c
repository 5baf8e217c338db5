/* SPDX-License-Identifier: Apache-2.0 */
#include "texts/date.h"

#include "base/ascii.h"
#include "texts/zone.h"

/* Digits as `form` has them: 0 stands for any digit, anything else for itself. */
static bool has_form(struct span text, const char *form)
{
    for (size_t i = 0; i < text.len; i++)
        if (form[i] == '\0' || (form[i] == '0' ? !ascii_is_digit(text.at[i]) : text.at[i] != form[i]))
            return false;
    return form[text.len] == '\0';
}

static int number_at(struct span text, size_t at, size_t len)
{
    int number = 0;

    for (size_t i = at; i < at + len; i++)
        number = number * 10 + (text.at[i] - '0');
    return number;
}

bool date_is(struct span text)
{
    int month, day;

    if (!has_form(text, "0000-00-00"))
        return false;
    month = number_at(text, 5, 2);
    day = number_at(text, 8, 2);
    return month >= 1 && month <= 12 && day >= 1 && day <= zone_month_days(number_at(text, 0, 4), month);
}

/* Reads the offset that stands behind the seconds. Sets *minutes to what local time is ahead of UTC. */
static bool is_offset(struct span text, int *minutes)
{
    *minutes = 0;
    if (text.len == 1 && (text.at[0] | 32) == 'z')
        return true;
    if (!has_form(text, "+00:00") && !has_form(text, "-00:00"))
        return false;
    *minutes = number_at(text, 1, 2) * 60 + number_at(text, 4, 2);
    if (number_at(text, 1, 2) > 23 || number_at(text, 4, 2) > 59)
        return false;
    if (text.at[0] == '-')
        *minutes = -*minutes;
    return true;
}

bool date_time_is(struct span text)
{
    struct span clock = span_part(text, 11, 8), rest = span_part(text, 19, SIZE_MAX);
    int hour, minute, second, ahead, day = 24 * 60;

    if (!date_is(span_part(text, 0, 10)) || text.len < 20 || (text.at[10] | 32) != 't' || !has_form(clock, "00:00:00"))
        return false;
    if (rest.at[0] == '.') {
        size_t digits = 1;

        while (digits < rest.len && ascii_is_digit(rest.at[digits]))
            digits++;
        if (digits == 1)
            return false;
        rest = span_part(rest, digits, SIZE_MAX);
    }
    if (!is_offset(rest, &ahead))
        return false;
    hour = number_at(clock, 0, 2);
    minute = number_at(clock, 3, 2);
    second = number_at(clock, 6, 2);
    if (hour > 23 || minute > 59)
        return false;
    return second < 60 || (second == 60 && (hour * 60 + minute - ahead + 2 * day) % day == day - 1);
}

bool date_read(struct span text, int64_t *days)
{
    if (!date_is(text))
        return false;
    *days = zone_days(number_at(text, 0, 4), number_at(text, 5, 2), number_at(text, 8, 2));
    return true;
}

bool date_time_read(struct span text, int64_t *time_us)
{
    struct span rest = span_part(text, 19, SIZE_MAX);
    int64_t fraction_us = 0, unit_us = 100000;
    int ahead;

    if (!date_time_is(text))
        return false;
    for (size_t i = rest.at[0] == '.'; i > 0 && i < rest.len && ascii_is_digit(rest.at[i]); i++, unit_us /= 10)
        fraction_us += (rest.at[i] - '0') * unit_us;
    while (rest.at[0] == '.' || ascii_is_digit(rest.at[0]))
        rest = span_part(rest, 1, SIZE_MAX);
    (void)is_offset(rest, &ahead);
    *time_us = zone_days(number_at(text, 0, 4), number_at(text, 5, 2), number_at(text, 8, 2)) * 24 * 60 +
               number_at(text, 11, 2) * 60 + number_at(text, 14, 2) - ahead;
    *time_us = (*time_us * 60 + number_at(text, 17, 2)) * 1000000 + fraction_us;
    return true;
}
