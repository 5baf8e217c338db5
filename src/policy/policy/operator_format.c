/* SPDX-License-Identifier: Apache-2.0 */
/* format: forms that a text has or has not; none is ever undecided. */
#include "policy/compile_priv.h"

#include "base/num.h"

#define LOCAL_MAX 64  /* RFC 5321, 4.5.3.1.1 */
#define LABEL_MAX 63  /* RFC 1035, 2.3.4 */
#define EMAIL_MAX 254 /* RFC 5321, 4.5.3.1.3, without the angle brackets */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter_or_digit(char c)
{
    return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool is_uuid(struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;

        if (hyphen ? text.at[i] != '-' : num_hex_digit(text.at[i]) < 0)
            return false;
    }
    return text.len == 36;
}

/* Digits as `form` has them: 0 stands for any digit, anything else for itself. */
static bool has_form(struct span text, const char *form)
{
    for (size_t i = 0; i < text.len; i++)
        if (form[i] == '\0' || (form[i] == '0' ? !is_digit(text.at[i]) : text.at[i] != form[i]))
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

/* RFC 3339, full-date, on days that exist. */
static bool is_date(struct span text)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;
    bool leap;

    if (!has_form(text, "0000-00-00"))
        return false;
    year = number_at(text, 0, 4);
    month = number_at(text, 5, 2);
    day = number_at(text, 8, 2);
    leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (leap && month == 2);
}

/* Behind the seconds and their fraction. Takes: *minutes: what local time is ahead of UTC. */
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

/* RFC 3339, date-time. A leap second is inserted at the end of a day of UTC. */
static bool is_date_time(struct span text)
{
    struct span clock = span_part(text, 11, 8), rest = span_part(text, 19, SIZE_MAX);
    int hour, minute, second, ahead, day = 24 * 60;

    if (!is_date(span_part(text, 0, 10)) || text.len < 20 || (text.at[10] | 32) != 't' || !has_form(clock, "00:00:00"))
        return false;
    if (rest.at[0] == '.') {
        size_t digits = 1;

        while (digits < rest.len && is_digit(rest.at[digits]))
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

bool policy__date(struct span text, int64_t *days)
{
    if (!is_date(text))
        return false;
    *days = zone_days(number_at(text, 0, 4), number_at(text, 5, 2), number_at(text, 8, 2));
    return true;
}

bool policy__date_time(struct span text, int64_t *time_us)
{
    struct span rest = span_part(text, 19, SIZE_MAX);
    int64_t fraction_us = 0, unit_us = 100000;
    int ahead;

    if (!is_date_time(text))
        return false;
    for (size_t i = rest.at[0] == '.'; i > 0 && i < rest.len && is_digit(rest.at[i]); i++, unit_us /= 10)
        fraction_us += (rest.at[i] - '0') * unit_us;
    while (rest.at[0] == '.' || is_digit(rest.at[0]))
        rest = span_part(rest, 1, SIZE_MAX);
    (void)is_offset(rest, &ahead);
    *time_us = zone_days(number_at(text, 0, 4), number_at(text, 5, 2), number_at(text, 8, 2)) * 24 * 60 +
               number_at(text, 11, 2) * 60 + number_at(text, 14, 2) - ahead;
    *time_us = (*time_us * 60 + number_at(text, 17, 2)) * 1000000 + fraction_us;
    return true;
}

/* Labels of letters, digits and inner hyphens. */
static bool is_domain(struct span text)
{
    do {
        struct span label = span_cut(text, '.', &text);

        if (label.len == 0 || label.len > LABEL_MAX || label.at[0] == '-' || label.at[label.len - 1] == '-')
            return false;
        for (size_t i = 0; i < label.len; i++)
            if (!is_letter_or_digit(label.at[i]) && label.at[i] != '-')
                return false;
    } while (text.at != NULL && text.len > 0);
    return true;
}

/* RFC 5322, dot-atom-text. */
static bool is_dot_atom(struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        bool dot = text.at[i] == '.';

        if (dot && (i == 0 || i + 1 == text.len || text.at[i - 1] == '.'))
            return false;
        if (!dot && !is_letter_or_digit(text.at[i]) && (text.at[i] == '\0' || !strchr("!#$%&'*+-/=?^_`{|}~", text.at[i])))
            return false;
    }
    return text.len > 0;
}

static bool is_email(struct span text)
{
    struct span domain, local = span_cut(text, '@', &domain);

    return text.len <= EMAIL_MAX && local.len <= LOCAL_MAX && is_dot_atom(local) && is_domain(domain) &&
           text.at[text.len - 1] != '.';
}

static bool is_address(struct span text, unsigned family)
{
    struct address address;

    return address_read(text, &address) && address.family == family;
}

static bool is_ipv4(struct span text)
{
    return is_address(text, 4);
}

static bool is_ipv6(struct span text)
{
    return is_address(text, 6);
}

/* ---- the operator ---- */

static const char *const words[] = {"uuid", "email", "date", "date-time", "ipv4", "ipv6", NULL};

static const struct form {
    bool (*has)(struct span text);
    const char *sample;
} forms[] = {
    {is_uuid, "\"7d444840-9dc0-11d1-b245-5ffdce74fad2\""}, {is_email, "\"ada@example.com\""}, {is_date, "\"2026-11-20\""},
    {is_date_time, "\"2026-11-20T12:00:00Z\""}, {is_ipv4, "\"192.0.2.7\""}, {is_ipv6, "\"2001:db8::7\""},
};

static void compile(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    int word = policy__word(c, node, words);

    op->written = policy__written(c, node);
    if (word >= 0)
        op->terms = &forms[word];
}

static enum truth format(struct rule_walk *walk, const struct op *op, struct span text)
{
    const struct form *form = op->terms;

    (void)walk;
    return truth_of(form->has(text));
}

static void sample(const struct op *op, struct samples *samples)
{
    (void)op;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        samples->json(samples, span_text(forms[i].sample));
}

const struct operator policy__op_format = {
    .word = "format", .types = TYPES_SCALAR, .compile = compile, .of_text = format, .cost = policy__text_cost, .sample = sample,
};
