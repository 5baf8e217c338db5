/* SPDX-License-Identifier: Apache-2.0 */
#include "language/compile_priv.h"
#include "texts/date.h"

#include "base/num.h"

#include <stdio.h>

#define EVERY_DAY 0x7f
#define DAY_MINUTES (24 * 60)

static const char *const day_words[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static int day_of(struct span text)
{
    for (int i = 0; day_words[i] != NULL; i++)
        if (span_is(text, day_words[i]))
            return i;
    return -1;
}

/* `mon`, or `fri-mon` for the four days from Friday to Monday. */
static uint32_t read_days(struct compiler *c, const struct yaml_node *node)
{
    struct span last, first;
    uint32_t days = 0;
    int from, to;

    if (!compiler_is_string(c, node))
        return 0;
    first = span_cut(node->text, '-', &last);
    from = day_of(first);
    to = first.len == node->text.len ? from : day_of(last);
    if (from < 0 || to < 0) {
        FAULT(c, node, "`%.*s` is no day; write sun, mon, tue, wed, thu, fri, sat, or a range such as mon-fri",
              SPAN_ARG(node->text));
        return 0;
    }
    for (int day = from; day != to; day = (day + 1) % 7)
        days |= UINT32_C(1) << day;
    return days | UINT32_C(1) << to;
}

static void compile_days(struct compiler *c, const struct yaml_node *list, struct fact *fact)
{
    fact->days = EVERY_DAY;
    if (list == NULL || !compiler_is_list(c, list))
        return;
    if (list->count == 0)
        FAULT(c, list, "an empty list of days never comes; name one, as in [mon-fri]");
    fact->days = 0;
    for (const struct yaml_node *member = list->child; member != NULL; member = member->next)
        fact->days |= read_days(c, member);
}

/* HH:MM, to minutes; 24:00 is the day's end. */
static bool read_clock(struct span text, int *minutes)
{
    uint64_t part[2];

    if (text.len != 5 || text.at[2] != ':')
        return false;
    for (int i = 0; i < 2; i++) {
        char high = text.at[3 * i], low = text.at[3 * i + 1];

        if (high < '0' || high > '9' || low < '0' || low > '9')
            return false;
        part[i] = (uint64_t)(high - '0') * 10 + (uint64_t)(low - '0');
    }
    *minutes = (int)(part[0] * 60 + part[1]);
    return part[1] < 60 && *minutes <= DAY_MINUTES;
}

static void read_hours(struct compiler *c, const struct yaml_node *node, struct hours *hours)
{
    struct span last, first;

    if (!compiler_is_string(c, node))
        return;
    first = span_cut(node->text, '-', &last);
    if (!read_clock(first, &hours->from) || !read_clock(last, &hours->to) || hours->from == DAY_MINUTES)
        FAULT(c, node, "`%.*s` are no hours; write '08:00-17:30', '22:00-06:00' for a night, '18:00-24:00' for an evening",
              SPAN_ARG(span_part(node->text, 0, 32)));
    else if (hours->from == hours->to)
        FAULT(c, node, "these hours begin where they end; write '00:00-24:00' for a whole day");
}

static void compile_hours(struct compiler *c, const struct yaml_node *node, struct fact *fact)
{
    bool is_list = node != NULL && node->type == YAML_LIST;
    uint32_t count = is_list ? node->count : 1;
    struct hours *hours = compiler_alloc(c, count, sizeof *hours);

    if (hours == NULL)
        return;
    fact->hours = hours;
    fact->count = count;
    if (node == NULL) {
        hours->to = DAY_MINUTES;
        return;
    }
    if (count == 0)
        FAULT(c, node, "an empty list of hours never comes; name some, as in ['08:00-17:30']");
    for (const struct yaml_node *member = is_list ? node->child : node; count > 0; member = member->next, count--)
        read_hours(c, member, hours++);
}

/* Returns: NULL with a fault. */
static const struct known_zone *compile_zone(struct compiler *c, const struct yaml_node *node)
{
    struct known_zone *known = c->policy->zones;
    const char *wrong = "";
    enum code code;

    if (!compiler_is_string(c, node))
        return NULL;
    while (known != NULL && !span_equals(known->name, node->text))
        known = known->next;
    if (known != NULL)
        return known;
    known = compiler_alloc(c, 1, sizeof *known);
    if (known == NULL)
        return NULL;
    known->name = compiler_copy(c, node->text);
    code = zone_load(node->text, &c->policy->arena, &known->zone, &wrong);
    c->no_memory |= code == CODE_NOMEM;
    if (code == CODE_INVALID)
        FAULT(c, node, "`%.*s`: %s", SPAN_ARG(span_part(node->text, 0, 64)), wrong);
    if (code != CODE_OK)
        return NULL;
    known->next = c->policy->zones;
    c->policy->zones = known;
    return known;
}

/* ---- dates ---- */

#define DAY_S INT64_C(86400)

/* 2026-12-24 or 2026-12-24T18:00. Takes: end: a day alone means the end of it. Sets *is_day: no hour stands there.
 * Returns: false: it is neither. */
static bool read_local(struct span text, bool end, int64_t *local_s, bool *is_day)
{
    int minutes = 0;

    *is_day = text.len == 10;
    if (!date_read(span_part(text, 0, 10), local_s))
        return false;
    *local_s = (*local_s + (*is_day && end)) * DAY_S;
    if (!*is_day && (text.at[10] != 'T' || !read_clock(span_part(text, 11, SIZE_MAX), &minutes)))
        return false;
    *local_s += minutes * INT64_C(60);
    return true;
}

/* Reads a day, or FROM..TO, where one of the two may be left out. */
static bool read_dates(struct span text, struct dates *dates)
{
    const char *dots = text.len > 0 ? memmem(text.at, text.len, "..", 2) : NULL;
    struct span from = dots != NULL ? span_part(text, 0, (size_t)(dots - text.at)) : text;
    struct span to = dots != NULL ? span_part(text, from.len + 2, SIZE_MAX) : text;
    bool is_day = true;

    *dates = (struct dates){INT64_MIN, INT64_MAX};
    return (from.len == 0 || read_local(from, false, &dates->from_s, &is_day)) &&
           (to.len == 0 || read_local(to, true, &dates->to_s, &is_day)) && from.len + to.len > 0 && (dots != NULL || is_day);
}

static void compile_dates(struct compiler *c, const struct yaml_node *list, struct fact *fact)
{
    struct dates *dates;

    if (list == NULL || !compiler_is_list(c, list))
        return;
    if (list->count == 0)
        FAULT(c, list, "an empty list of dates never comes; name one, as in [2026-12-20..2027-01-06]");
    fact->dates = dates = compiler_alloc(c, list->count, sizeof *dates);
    for (const struct yaml_node *one = list->child; dates != NULL && one != NULL; one = one->next, dates++) {
        fact->date_count++;
        if (!compiler_is_string(c, one))
            continue;
        if (!read_dates(one->text, dates))
            FAULT(c, one, "`%.*s` are no dates; write 2026-12-24, 2026-12-20..2027-01-06, 2026-12-24T18:00..2026-12-27T06:00, "
                  "or 2026-12-20.. for what has no end", SPAN_ARG(span_part(one->text, 0, 48)));
        else if (dates->from_s >= dates->to_s)
            FAULT(c, one, "these dates end before they begin; write the earlier one first");
    }
}

void compile__during(struct compiler *c, const struct yaml_node *node, struct fact *fact)
{
    static const char *const known[] = {"days", "hours", "dates", "zone", NULL};
    const struct yaml_node *days = yaml_member(node, "days"), *hours = yaml_member(node, "hours");
    const struct yaml_node *dates = yaml_member(node, "dates"), *zone = yaml_member(node, "zone");
    const struct known_zone *found;

    if (!compiler_is_map_of(c, node, known, "`during`"))
        return;
    if (days == NULL && hours == NULL && dates == NULL)
        FAULT(c, node, "`during` says neither `days` nor `hours` nor `dates`; write at least one");
    if (zone == NULL)
        FAULT(c, node, "`during` has no `zone`; write whose clock is meant, as in Europe/Berlin or UTC");
    compile_days(c, days, fact);
    compile_hours(c, hours, fact);
    compile_dates(c, dates, fact);
    found = compile_zone(c, zone);
    if (found == NULL)
        return;
    fact->zone = found->zone;
    fact->zone_name = found->name;
}

/* ---- until ---- */

static bool read_until(struct compiler *c, const struct yaml_node *node, int64_t *until_us)
{
    static const char *const known[] = {"at", "zone", NULL};
    const struct yaml_node *at = yaml_member(node, "at"), *zone = yaml_member(node, "zone");
    const struct known_zone *found;
    int64_t local_s;
    bool is_day;

    if (node->type == YAML_STRING)
        return date_time_read(node->text, until_us);
    if (!compiler_is_map_of(c, node, known, "`until`") || at == NULL || zone == NULL || at->type != YAML_STRING ||
        !read_local(at->text, true, &local_s, &is_day))
        return false;
    found = compile_zone(c, zone);
    *until_us = found != NULL ? zone_moment(found->zone, local_s) * 1000000 : 0;
    return true;
}

void compile__until(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    char label[160];
    int len = snprintf(label, sizeof label, "%.*s: until", SPAN_ARG(span_part(rule->id, 0, 128)));

    if (node == NULL)
        return;
    if (!read_until(c, node, &rule->until_us))
        FAULT(c, node, "`until` is when the rule ends, with its zone; write '2026-12-31T18:00:00+01:00' or "
              "{zone: Europe/Berlin, at: 2026-12-31}, which is that day's end");
    if (rule->until_us <= 0)
        rule->until_us = 1; /* any time long ago */
    rule->until_label = compiler_copy(c, span_of(label, len > 0 ? (size_t)len : 0));
}
