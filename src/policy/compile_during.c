/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

#include "base/num.h"

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

/* `mon`, or `fri-mon` for four of them. */
static uint32_t read_days(struct compiler *c, const struct yaml_node *node)
{
    struct span last, first;
    uint32_t days = 0;
    int from, to;

    if (!policy__is_string(c, node))
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
    if (list == NULL || !policy__is_list(c, list))
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

    if (!policy__is_string(c, node))
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
    struct hours *hours = policy__alloc(c, count, sizeof *hours);

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

static void compile_zone(struct compiler *c, const struct yaml_node *node, struct fact *fact)
{
    struct known_zone *known = c->policy->zones;
    const char *wrong = "";
    enum code code;

    if (!policy__is_string(c, node))
        return;
    while (known != NULL && !span_equals(known->name, node->text))
        known = known->next;
    if (known == NULL) {
        known = policy__alloc(c, 1, sizeof *known);
        if (known == NULL)
            return;
        known->name = policy__copy(c, node->text);
        code = zone_load(node->text, &c->policy->arena, &known->zone, &wrong);
        c->no_memory |= code == CODE_NOMEM;
        if (code == CODE_INVALID)
            FAULT(c, node, "`%.*s`: %s", SPAN_ARG(span_part(node->text, 0, 64)), wrong);
        if (code != CODE_OK)
            return;
        known->next = c->policy->zones;
        c->policy->zones = known;
    }
    fact->zone = known->zone;
    fact->zone_name = known->name;
}

void policy__compile_during(struct compiler *c, const struct yaml_node *node, struct fact *fact)
{
    static const char *const known[] = {"days", "hours", "zone", NULL};
    const struct yaml_node *days = yaml_member(node, "days"), *hours = yaml_member(node, "hours");
    const struct yaml_node *zone = yaml_member(node, "zone");

    if (!policy__is_map_of(c, node, known, "`during`"))
        return;
    if (days == NULL && hours == NULL)
        FAULT(c, node, "`during` says neither `days` nor `hours`; write at least one");
    if (zone == NULL)
        FAULT(c, node, "`during` has no `zone`; write whose clock is meant, as in Europe/Berlin or UTC");
    compile_days(c, days, fact);
    compile_hours(c, hours, fact);
    compile_zone(c, zone, fact);
}
