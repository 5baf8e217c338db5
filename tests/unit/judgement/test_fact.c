/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions beyond arguments: the hour, what was called before, what servers say of their tools. Number: 2.1 */
#include "unit/policy/judge.h"

#include <string.h>

/* What the past says in a test. */
struct past {
    enum policy_known by[POLICY_BY_COUNT];
    int64_t within_us;
    enum policy_known hints[POLICY_HINT_COUNT];
};

static enum policy_known was_called(void *context, const struct question *question, const struct policy_watch *watch,
                                    enum policy_by by, int64_t within_us)
{
    struct past *past = context;

    (void)question;
    assert_true(watch->by & UINT32_C(1) << by);
    assert_true(watch->longest_us >= within_us);
    past->within_us = within_us;
    return past->by[by];
}

static enum policy_known hint(void *context, const struct question *question, enum policy_hint which)
{
    (void)question;
    return ((struct past *)context)->hints[which];
}

static const struct policy_past asks = {.was_called = was_called, .hint = hint};

/* T, F or U, seen through a require_approval, whose conditions close. */
static char truth(const char *condition, struct question question)
{
    static struct court court;
    const struct verdict *verdict;
    char text[2048], seen;

    snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: r, effect: require_approval, match: {tools: [t]}, when: [%s]}\n",
             condition);
    court_open(&court, text);
    verdict = judge(&court, question, "{}");
    seen = verdict->undecided.len > 0 ? 'U' : verdict->kind == VERDICT_HOLD ? 'T' : 'F';
    court_close(&court);
    return seen;
}

static int64_t at(int year, int month, int day, int hour, int minute)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int64_t days = (year - 1970) * 365 + (year - 1969) / 4 + before[month - 1] + (month > 2 && year % 4 == 0) + day - 1;

    return ((days * 24 + hour) * 60 + minute) * 60000000;
}

static char during(const char *terms, int64_t time_us)
{
    struct question question = plain_question();
    char text[512];

    question.time_us = time_us;
    snprintf(text, sizeof text, "{during: {%s}}", terms);
    return truth(text, question);
}

#define OFFICE "days: [mon-fri], hours: '09:00-17:30', zone: Europe/Berlin"
#define NIGHT "days: [fri, sat], hours: '22:00-06:00', zone: UTC"

TEST_CASE(test_during)
{
    /* 2026-07-06 is a Monday; Berlin is two hours ahead. */
    assert_int_equal(during(OFFICE, at(2026, 7, 6, 6, 59)), 'F');
    assert_int_equal(during(OFFICE, at(2026, 7, 6, 7, 0)), 'T');
    assert_int_equal(during(OFFICE, at(2026, 7, 6, 15, 29)), 'T');
    assert_int_equal(during(OFFICE, at(2026, 7, 6, 15, 30)), 'F');
    assert_int_equal(during(OFFICE, at(2026, 7, 5, 10, 0)), 'F');
    assert_int_equal(during(OFFICE, at(2026, 12, 7, 7, 59)), 'F'); /* in winter one hour */
    assert_int_equal(during(OFFICE, at(2026, 12, 7, 8, 0)), 'T');
    /* Past midnight: of the day on which they begin. Friday is the 10th. */
    assert_int_equal(during(NIGHT, at(2026, 7, 10, 5, 0)), 'F');
    assert_int_equal(during(NIGHT, at(2026, 7, 10, 22, 0)), 'T');
    assert_int_equal(during(NIGHT, at(2026, 7, 11, 5, 59)), 'T');
    assert_int_equal(during(NIGHT, at(2026, 7, 11, 6, 0)), 'F');
    assert_int_equal(during(NIGHT, at(2026, 7, 12, 5, 59)), 'T');
    assert_int_equal(during(NIGHT, at(2026, 7, 12, 22, 0)), 'F');
    assert_int_equal(during("hours: ['00:00-01:00', '18:00-24:00'], zone: UTC", at(2026, 7, 6, 23, 59)), 'T');
    assert_int_equal(during("hours: ['00:00-01:00', '18:00-24:00'], zone: UTC", at(2026, 7, 7, 0, 59)), 'T');
    assert_int_equal(during("hours: ['00:00-01:00', '18:00-24:00'], zone: UTC", at(2026, 7, 7, 1, 0)), 'F');
    assert_int_equal(during("days: [sat-mon], zone: UTC", at(2026, 7, 5, 12, 0)), 'T');
    assert_int_equal(during("days: [sat-mon], zone: UTC", at(2026, 7, 7, 0, 0)), 'F');
    /* The day is the local one. */
    assert_int_equal(during("days: [mon], zone: Pacific/Auckland", at(2026, 7, 5, 12, 0)), 'T');
    assert_int_equal(during("days: [mon], zone: America/New_York", at(2026, 7, 7, 3, 59)), 'T');
    /* The hour that comes twice, and the one that does not. */
    assert_int_equal(during("hours: '02:00-03:00', zone: Europe/Berlin", at(2026, 10, 25, 0, 30)), 'T');
    assert_int_equal(during("hours: '02:00-03:00', zone: Europe/Berlin", at(2026, 10, 25, 1, 30)), 'T');
    assert_int_equal(during("hours: '02:00-03:00', zone: Europe/Berlin", at(2026, 3, 29, 1, 0)), 'F');
    assert_int_equal(during("hours: '03:00-04:00', zone: Europe/Berlin", at(2026, 3, 29, 1, 0)), 'T');
    assert_int_equal(during(OFFICE, 0), 'U'); /* nobody said when */
}

static char client(const char *ranges, const char *address)
{
    struct question question = plain_question();
    char text[256];

    question.client = address ? span_text(address) : SPAN_NONE;
    snprintf(text, sizeof text, "{client: %s}", ranges);
    return truth(text, question);
}

TEST_CASE(test_client)
{
    const char *ranges = "[10.0.0.0/8, '2001:db8::/32', 192.0.2.7]";

    assert_int_equal(client(ranges, "10.255.0.1"), 'T');
    assert_int_equal(client(ranges, "11.0.0.1"), 'F');
    assert_int_equal(client(ranges, "192.0.2.7"), 'T');
    assert_int_equal(client(ranges, "192.0.2.8"), 'F');
    assert_int_equal(client(ranges, "2001:db8:ffff::1"), 'T');
    assert_int_equal(client(ranges, "2001:db9::1"), 'F');
    assert_int_equal(client(ranges, "::ffff:10.1.2.3"), 'T');
    assert_int_equal(client("10.0.0.0/8", "10.1.2.3"), 'T');
    assert_int_equal(client(ranges, NULL), 'U');
    assert_int_equal(client(ranges, ""), 'U');
    assert_int_equal(client(ranges, "unknown"), 'U');
    assert_int_equal(client(ranges, "010.0.0.1"), 'U');
    assert_int_equal(client(ranges, "10.0.0.1:80"), 'U');
}

TEST_CASE(test_session)
{
    struct past past = {.by = {[POLICY_BY_SESSION] = POLICY_NO, [POLICY_BY_CORRELATION] = POLICY_NO}};
    struct question question = plain_question();
    const char *plain = "{session: {called: [read_secret], within: 10min}}";

    question.state = (struct policy_state){&asks, &past};
    assert_int_equal(truth(plain, question), 'U'); /* it belongs to nothing */
    question.correlation = SPAN_LIT("c");
    assert_int_equal(truth(plain, question), 'F');
    past.by[POLICY_BY_SESSION] = POLICY_YES;
    assert_int_equal(truth(plain, question), 'F'); /* it has no session */
    question.session = SPAN_LIT("s");
    assert_int_equal(truth(plain, question), 'T');
    assert_int_equal(past.within_us, INT64_C(600000000));
    past.by[POLICY_BY_SESSION] = POLICY_NO;
    past.by[POLICY_BY_CORRELATION] = POLICY_UNKNOWN;
    assert_int_equal(truth(plain, question), 'U');
    assert_int_equal(truth("{session: {called: [read_secret], within: 10min, by: session}}", question), 'F');
    past.by[POLICY_BY_PRINCIPAL] = POLICY_YES;
    assert_int_equal(truth("{session: {called: ['read_*'], within: 1h, by: [session, principal]}}", question), 'T');
    assert_int_equal(truth("{not: {session: {called: ['read_*'], within: 1h, by: [session, principal]}}}", question), 'F');
    question.state = (struct policy_state){NULL, NULL};
    assert_int_equal(truth(plain, question), 'F'); /* a first call */
}

static void watched(void *context, const struct policy_watch *watch, bool is_sure)
{
    (void)watch;
    assert_true(is_sure);
    ++*(int *)context;
}

static int watches(const char *conditions, const char *tool, const char *upstream)
{
    static struct court court;
    struct question question = plain_question();
    char text[2048];
    int count = 0;

    snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: r, effect: forbid, when: [{any: [%s]}]}\n", conditions);
    court_open(&court, text);
    question.tool = span_text(tool);
    question.upstream = span_text(upstream);
    policy_each_watch(court.policy, &question, &(struct policy_met){.count = 0}, watched, &count);
    court_close(&court);
    return count;
}

TEST_CASE(test_watches)
{
    assert_int_equal(watches("{session: {called: ['read_*', b], within: 1min}}", "read_x", "u"), 1);
    assert_int_equal(watches("{session: {called: ['read_*', b], within: 1min}}", "b", "u"), 1);
    assert_int_equal(watches("{session: {called: ['read_*', b], within: 1min}}", "bread_x", "u"), 0);
    assert_int_equal(watches("{session: {called: ['*'], within: 1min}}", "", "u"), 0); /* no call of a tool */
    assert_int_equal(watches("{session: {called: [a], upstreams: [vault], within: 1min}}", "a", "u"), 0);
    assert_int_equal(watches("{session: {called: [a], upstreams: [vault], within: 1min}}", "a", "vault"), 1);
    /* The same names, in whatever order, are one watch. */
    assert_int_equal(watches("{session: {called: [a, b], within: 1min}}, {session: {called: [b, a], within: 2min, by: tenant}}",
                             "a", "u"), 1);
    assert_int_equal(watches("{session: {called: [a, b], within: 1min}}, {session: {called: [a], within: 1min}}", "a", "u"), 2);
}

/* What conditions ask of one watch adds up, in whatever order they stand: `was_called` looks whether all is remembered. */
TEST_CASE(test_watches_add_up)
{
    struct past past = {.by = {[POLICY_BY_TENANT] = POLICY_YES, [POLICY_BY_PRINCIPAL] = POLICY_YES}};
    struct question question = plain_question();

    question.state = (struct policy_state){&asks, &past};
    assert_int_equal(truth("{session: {called: [a], within: 2min, by: tenant}}, {session: {called: [a], within: 1min, by: principal}}",
                           question), 'T');
    assert_int_equal(truth("{session: {called: [a], within: 1min, by: principal}}, {session: {called: [a], within: 2min, by: tenant}}",
                           question), 'T');
}

/* 2.5: hints that a record has not are guessed; what is in favour of a permit is what a forbid does not find. */
TEST_CASE(test_hidden_annotations)
{
    struct question_hidden hidden = {.hints = true};
    struct past past = {.hints = {POLICY_UNKNOWN}};
    struct question question = plain_question();

    question.state = (struct policy_state){&asks, &past};
    question.hidden = &hidden;
    for (int favours = 0; favours < 2; favours++) {
        hidden.favours_permit = favours;
        assert_int_equal(truth("{annotations: {destructiveHint: true}}", question), favours ? 'F' : 'T');
        assert_int_equal(truth("{not: {annotations: {readOnlyHint: true}}}", question), favours ? 'F' : 'T');
        assert_int_equal(truth("{not: {not: {annotations: {readOnlyHint: true}}}}", question), favours ? 'F' : 'T');
    }
}

TEST_CASE(test_annotations)
{
    struct past past = {.hints = {POLICY_UNKNOWN}};
    struct question question = plain_question();

    question.state = (struct policy_state){&asks, &past};
    assert_int_equal(truth("{annotations: {destructiveHint: true}}", question), 'F');
    assert_int_equal(truth("{not: {annotations: {readOnlyHint: true}}}", question), 'F'); /* absent, at whatever depth */
    assert_int_equal(truth("{annotations: {destructiveHint: true}, absent: applies}", question), 'T');
    assert_int_equal(truth("{not: {annotations: {readOnlyHint: true}, absent: applies}}", question), 'T');
    past.hints[POLICY_DESTRUCTIVE] = POLICY_YES;
    past.hints[POLICY_READ_ONLY] = POLICY_NO;
    assert_int_equal(truth("{annotations: {destructiveHint: true}}", question), 'T');
    assert_int_equal(truth("{annotations: {destructiveHint: false}}", question), 'F');
    assert_int_equal(truth("{not: {annotations: {readOnlyHint: true}}}", question), 'T');
    assert_int_equal(truth("{annotations: {destructiveHint: true, readOnlyHint: true}}", question), 'F');
    assert_int_equal(truth("{annotations: {destructiveHint: true, readOnlyHint: false}}", question), 'T');
    assert_int_equal(truth("{annotations: {destructiveHint: true, openWorldHint: true}}", question), 'F');
}

static const struct {
    const char *effect, *condition, *words;
} faults[] = {
    {"permit", "{annotations: {readOnlyHint: true}}", "no permit may trust"},
    {"forbid", "{annotations: {}}", "asks nothing"},
    {"forbid", "{annotations: {destructiveHnt: true}}", "did you mean"},
    {"forbid", "{annotations: {destructiveHint: 'yes'}}", "true or false"},
    {"forbid", "{session: {called: [a]}}", "no `within`"},
    {"forbid", "{session: {within: 5min}}", "no `called`"},
    {"forbid", "{session: {called: [], within: 5min}}", "at least one"},
    {"forbid", "{session: {called: [a], within: 25h}}", "at most a day"},
    {"forbid", "{session: {called: [a], within: 5}}", "at most a day"},
    {"forbid", "{session: {called: [a], within: 5min, by: tool}}", "session, correlation, principal, agent or tenant"},
    {"forbid", "{session: {called: [a], within: 5min, by: sesion}}", "did you mean `session`"},
    {"forbid", "{session: {called: [{regex: a}], within: 5min}}", "string"},
    {"forbid", "{client: [10.0.0.1/8]}", "10.0.0.1/8"},
    {"forbid", "{client: [localhost]}", "localhost"},
    {"forbid", "{client: 10.0.0.0/8, absent: applies}", "stands alone"},
    {"forbid", "{during: {zone: UTC}}", "neither `days` nor `hours`"},
    {"forbid", "{during: {days: [mon]}}", "no `zone`"},
    {"forbid", "{during: {days: [monday], zone: UTC}}", "no day"},
    {"forbid", "{during: {days: [mon-], zone: UTC}}", "no day"},
    {"forbid", "{during: {days: [], zone: UTC}}", "never comes"},
    {"forbid", "{during: {hours: '9:00-17:00', zone: UTC}}", "no hours"},
    {"forbid", "{during: {hours: '09:00-24:01', zone: UTC}}", "no hours"},
    {"forbid", "{during: {hours: '24:00-06:00', zone: UTC}}", "no hours"},
    {"forbid", "{during: {hours: '09:00-09:00', zone: UTC}}", "whole day"},
    {"forbid", "{during: {hours: [], zone: UTC}}", "never comes"},
    {"forbid", "{during: {days: [mon], zone: Europe/Berln}}", "no time zone of that name"},
    {"forbid", "{during: {days: [mon], zone: ../../etc/passwd}}", "such as Europe/Berlin"},
    {"forbid", "{during: {days: [mon], zone: UTC}, arg: a, equals: 1}", "stands alone"},
    {"forbid", "{during: {days: [mon], zone: UTC}, absent: applies}", "stands alone"},
};

TEST_CASE(test_faults)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct policy *policy = NULL;
        struct faults found;
        char text[1024];

        snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: r, effect: %s, match: {tools: [t]}, when: [%s]}\n",
                 faults[i].effect, faults[i].condition);
        if (compile_text(text, &policy, &found, NULL) != CODE_INVALID || strstr(found.fault[0].text, faults[i].words) == NULL) {
            print_faults(&found);
            fail_msg("%s: wanted %s", faults[i].condition, faults[i].words);
        }
        assert_int_equal(found.fault[0].line, 3);
    }
}

TEST_MAIN(NULL, NULL)
