/* SPDX-License-Identifier: Apache-2.0 */
/* 7.4: dates in `during`, by the clocks of a zone, and rules that end (`until`): a permit opens no longer, a forbid closes no
 * longer; where the time of the call is not known a permit does not apply and a forbid does. */
#include "judgement/judgement.h"
#include "texts/zone.h"
#include "unit/policy/judge.h"

/* From RFC 3339. */
static int64_t at(const char *text)
{
    int year, month, day, hour, minute, second;

    assert_int_equal(sscanf(text, "%d-%d-%dT%d:%d:%dZ", &year, &month, &day, &hour, &minute, &second), 6);
    return (((zone_days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1000000;
}

static enum verdict_kind judge_at(const char *text, int64_t time_us, bool *undecided)
{
    struct question question = plain_question();
    enum verdict_kind kind;
    struct court court;

    court_open(&court, text);
    question.time_us = time_us;
    kind = judge(&court, question, "{}")->kind;
    *undecided = court.verdict.undecided.len > 0;
    if (*undecided)
        assert_true(span_is(court.verdict.undecided, "r: until") || span_is(court.verdict.undecided, "r: when[0] during"));
    court_close(&court);
    return kind;
}

/* T, F or U of a `during`. */
static char during(const char *terms, const char *time)
{
    bool undecided;
    enum verdict_kind kind;
    char text[512];

    snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: r, effect: require_approval, when: [{during: {%s}}]}\n", terms);
    kind = judge_at(text, time ? at(time) : 0, &undecided);
    return undecided ? 'U' : kind == VERDICT_HOLD ? 'T' : 'F';
}

TEST_CASE(test_dates)
{
    static const struct {
        const char *terms, *time;
        char truth;
    } rows[] = {
        {"zone: UTC, dates: [2026-12-24]", "2026-12-23T23:59:59Z", 'F'},
        {"zone: UTC, dates: [2026-12-24]", "2026-12-24T00:00:00Z", 'T'},
        {"zone: UTC, dates: [2026-12-24]", "2026-12-24T23:59:59Z", 'T'},
        {"zone: UTC, dates: [2026-12-24]", "2026-12-25T00:00:00Z", 'F'},
        {"zone: Europe/Berlin, dates: [2026-12-20..2027-01-06]", "2026-12-19T22:59:59Z", 'F'},
        {"zone: Europe/Berlin, dates: [2026-12-20..2027-01-06]", "2026-12-19T23:00:00Z", 'T'},
        {"zone: Europe/Berlin, dates: [2026-12-20..2027-01-06]", "2027-01-06T22:59:59Z", 'T'},
        {"zone: Europe/Berlin, dates: [2026-12-20..2027-01-06]", "2027-01-06T23:00:00Z", 'F'},
        {"zone: UTC, dates: [2026-12-20T18:00..2026-12-21T06:30]", "2026-12-20T17:59:59Z", 'F'},
        {"zone: UTC, dates: [2026-12-20T18:00..2026-12-21T06:30]", "2026-12-20T18:00:00Z", 'T'},
        {"zone: UTC, dates: [2026-12-20T18:00..2026-12-21T06:30]", "2026-12-21T06:29:59Z", 'T'},
        {"zone: UTC, dates: [2026-12-20T18:00..2026-12-21T06:30]", "2026-12-21T06:30:00Z", 'F'},
        {"zone: UTC, dates: [2026-12-20.., ..2026-01-01]", "2026-06-01T00:00:00Z", 'F'},
        {"zone: UTC, dates: [2026-12-20.., ..2026-01-01]", "2036-06-01T00:00:00Z", 'T'},
        {"zone: UTC, dates: [2026-12-20.., ..2026-01-01]", "2026-01-01T23:00:00Z", 'T'},
        {"zone: UTC, dates: [2026-12-20.., ..2026-01-01]", "1970-01-02T00:00:00Z", 'T'},
        /* with days and hours all must hold; a night's hours are asked of the moment */
        {"zone: UTC, dates: [2026-12-24], hours: '22:00-06:00'", "2026-12-24T23:00:00Z", 'T'},
        {"zone: UTC, dates: [2026-12-24], hours: '22:00-06:00'", "2026-12-25T01:00:00Z", 'F'},
        {"zone: UTC, dates: [2026-12-01..2026-12-31], days: [fri]", "2026-12-04T01:00:00Z", 'T'},
        {"zone: UTC, dates: [2026-12-01..2026-12-31], days: [fri]", "2026-12-03T01:00:00Z", 'F'},
        /* when the clock goes back, the hour that comes twice holds twice */
        {"zone: Europe/Berlin, dates: [2026-10-25T02:00..2026-10-25T02:30]", "2026-10-25T00:10:00Z", 'T'},
        {"zone: Europe/Berlin, dates: [2026-10-25T02:00..2026-10-25T02:30]", "2026-10-25T00:40:00Z", 'F'},
        {"zone: Europe/Berlin, dates: [2026-10-25T02:00..2026-10-25T02:30]", "2026-10-25T01:10:00Z", 'T'},
        {"zone: UTC, dates: [2026-12-24]", NULL, 'U'},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (during(rows[i].terms, rows[i].time) != rows[i].truth)
            fail_msg("%s at %s is not %c", rows[i].terms, rows[i].time ? rows[i].time : "no time", rows[i].truth);
}

#define PERMIT(until) "policy: p\nrules:\n  - {id: r, effect: permit, until: " until "}\n"
#define FORBID(until) "policy: p\nrules:\n  - {id: a, effect: permit}\n  - {id: r, effect: forbid, match: {tools: [t]}, until: " until "}\n"
#define HOLD(until) "policy: p\nrules:\n  - {id: a, effect: permit}\n  - {id: r, effect: require_approval, match: {tools: [t]}, until: " \
    until "}\n"

/* Until its end, from its end on, and where nobody knows. */
static void check_until(const char *text, const char *last, const char *first, enum verdict_kind before, enum verdict_kind after,
                        enum verdict_kind unknown)
{
    bool undecided;

    assert_int_equal(judge_at(text, at(last) + 999999, &undecided), before);
    assert_false(undecided);
    assert_int_equal(judge_at(text, at(first), &undecided), after);
    assert_false(undecided);
    assert_int_equal(judge_at(text, 0, &undecided), unknown);
    assert_int_equal(undecided, strstr(text, "effect: permit, until") == NULL); /* such a permit only does not apply */
}

TEST_CASE(test_until)
{
    static const char last[] = "2026-12-31T16:59:59Z", first[] = "2026-12-31T17:00:00Z";

    check_until(PERMIT("2026-12-31T18:00:00+01:00"), last, first, VERDICT_PERMIT, VERDICT_DENY, VERDICT_DENY);
    check_until(PERMIT("{zone: Europe/Berlin, at: 2026-12-31T18:00}"), last, first, VERDICT_PERMIT, VERDICT_DENY, VERDICT_DENY);
    check_until(PERMIT("{zone: Europe/Berlin, at: 2026-12-31}"), "2026-12-31T22:59:59Z", "2026-12-31T23:00:00Z", VERDICT_PERMIT,
                VERDICT_DENY, VERDICT_DENY);
    check_until(FORBID("{zone: UTC, at: 2026-12-31T17:00}"), last, first, VERDICT_DENY, VERDICT_PERMIT, VERDICT_DENY);
    check_until(HOLD("2026-12-31T17:00:00Z"), last, first, VERDICT_HOLD, VERDICT_PERMIT, VERDICT_HOLD);
    /* of an hour that comes twice the first, of one that never comes what would be its time */
    check_until(PERMIT("{zone: Europe/Berlin, at: 2026-10-25T02:30}"), "2026-10-25T00:29:59Z", "2026-10-25T00:30:00Z",
                VERDICT_PERMIT, VERDICT_DENY, VERDICT_DENY);
    check_until(PERMIT("{zone: Europe/Berlin, at: 2026-03-29T02:30}"), "2026-03-29T01:29:59Z", "2026-03-29T01:30:00Z",
                VERDICT_PERMIT, VERDICT_DENY, VERDICT_DENY);
    check_until(PERMIT("1960-01-01T00:00:00Z"), "1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z", VERDICT_DENY, VERDICT_DENY,
                VERDICT_DENY);
}

/* A list shows what could be had at its time, and a kind of notifications that ends is no longer passed unjudged. */
TEST_CASE(test_lists)
{
    struct question question = plain_question();
    struct court court;

    for (int forbids = 0; forbids <= 1; forbids++) {
        court_open(&court, forbids ? FORBID("2026-12-31T17:00:00Z") : PERMIT("2026-12-31T17:00:00Z"));
        question.time_us = at("2026-12-31T16:00:00Z");
        assert_int_equal(policy_could_permit(court.policy, &question, court.scratch), !forbids);
        assert_false(policy_permits_all(court.policy, &question, court.scratch));
        question.time_us = at("2026-12-31T17:00:00Z");
        assert_int_equal(policy_could_permit(court.policy, &question, court.scratch), forbids);
        assert_false(policy_permits_all(court.policy, &question, court.scratch));
        question.time_us = 0;
        assert_true(policy_could_permit(court.policy, &question, court.scratch));
        court_close(&court);
    }
}

TEST_CASE(test_faults)
{
    static const struct {
        const char *rule, *words;
    } rows[] = {
        {"when: [{during: {zone: UTC, dates: []}}]", "an empty list of dates never comes"},
        {"when: [{during: {zone: UTC, dates: 2026-12-24}}]", "is a string; write a list"},
        {"when: [{during: {zone: UTC, dates: [2026-02-29]}}]", "are no dates; write 2026-12-24"},
        {"when: [{during: {zone: UTC, dates: [..]}}]", "are no dates"},
        {"when: [{during: {zone: UTC, dates: ['']}}]", "are no dates"},
        {"when: [{during: {zone: UTC, dates: [2026-12-24T18:00]}}]", "are no dates"},
        {"when: [{during: {zone: UTC, dates: [2026-12-24T25:00..]}}]", "are no dates"},
        {"when: [{during: {zone: UTC, dates: [2026-12-24..2026-12-25..]}}]", "are no dates"},
        {"when: [{during: {zone: UTC, dates: [2026-12-24T18:00:00..]}}]", "are no dates"},
        {"when: [{during: {zone: UTC, dates: [2027-01-06..2026-12-20]}}]", "end before they begin"},
        {"when: [{during: {dates: [2026-12-24]}}]", "`during` has no `zone`"},
        {"when: [{during: {zone: UTC}}]", "neither `days` nor `hours` nor `dates`"},
        {"until: 2026-12-31", "`until` is when the rule ends, with its zone"},
        {"until: 2026-12-31T18:00", "`until` is when the rule ends"},
        {"until: {at: 2026-12-31}", "`until` is when the rule ends"},
        {"until: {zone: UTC}", "`until` is when the rule ends"},
        {"until: {zone: UTC, at: 2026-02-30}", "`until` is when the rule ends"},
        {"until: {zone: Mars/Olympus, at: 2026-12-31}", "no time zone of that name"},
        {"until: {zone: UTC, on: 2026-12-31}", "`on`"},
        {"until: 5", "`until`"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct policy *policy = NULL;
        struct faults found;
        char text[512];

        snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: r, effect: permit, %s}\n", rows[i].rule);
        if (compile_text(text, &policy, &found, NULL) != CODE_INVALID || strstr(found.fault[0].text, rows[i].words) == NULL) {
            print_faults(&found);
            fail_msg("%s: wanted %s", rows[i].rule, rows[i].words);
        }
    }
}

TEST_MAIN(NULL, NULL)
