/* SPDX-License-Identifier: Apache-2.0 */
/* 13.7: what is told when, by a clock of the test's. */
#include "alert/alerts.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000)
#define EVERY (300 * SECOND)
#define DAY (86400 * SECOND)
#define WALL INT64_C(1700000000000000)

struct bench {
    struct alerts *alerts;
    int64_t now;
    struct alert told[ALERT_CONDITIONS + ALERT_DENIALS + 1]; /* the last post */
    size_t count;
};

static int setup(void **state)
{
    static struct bench bench;

    bench = (struct bench){.now = 7 * SECOND};
    assert_int_equal(alerts_new(&bench.alerts), CODE_OK);
    alerts_aim(bench.alerts, 1);
    *state = &bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    alerts_free(&bench->alerts);
    return 0;
}

static void deny(struct bench *bench, const char *rule, const char *tenant, uint64_t seq)
{
    const struct alert_denial denial = {.rule = span_text(rule), .tenant = span_text(tenant), .reason = SPAN_LIT("No keys."),
                                        .correlation = SPAN_LIT("one"), .seq = seq, .policy_version = 3};

    alerts_deny(bench->alerts, &denial, bench->now, WALL + bench->now);
}

/* A look of main's, at which so much time has passed and this holds. Returns: how many are told to the target. */
static size_t look_of(struct bench *bench, unsigned target, int64_t after_us, enum alert_kind holds)
{
    bench->now += after_us;
    alerts_look(bench->alerts);
    if (holds != ALERT_KINDS)
        alerts_hold(bench->alerts, holds, SPAN_LIT("x"), SPAN_LIT("It holds."), bench->now, WALL + bench->now);
    alerts_looked(bench->alerts, EVERY, bench->now, WALL + bench->now);
    bench->count = alerts_due(bench->alerts, target, EVERY, bench->now, bench->told, sizeof bench->told / sizeof *bench->told);
    alerts_told(bench->alerts, target, bench->told, bench->count, bench->now);
    return bench->count;
}

static size_t look(struct bench *bench, int64_t after_us, enum alert_kind holds)
{
    return look_of(bench, 0, after_us, holds);
}

static uint64_t firing(struct bench *bench, enum alert_kind kind)
{
    struct alerts_gauges gauges;

    alerts_gauges(bench->alerts, &gauges);
    return gauges.firing[kind];
}

TEST_CASE_WITH(test_a_storm_is_told_twice, setup, teardown)
{
    struct bench *bench = *state;

    deny(bench, "r", "acme", 41);
    assert_int_equal(look(bench, SECOND, ALERT_KINDS), 1);
    assert_true(bench->told[0].is_on && bench->told[0].fresh == 1 && bench->told[0].seq == 41 && bench->told[0].policy_version == 3);
    assert_string_equal(bench->told[0].about, "r");
    assert_string_equal(bench->told[0].tenant, "acme");
    assert_string_equal(bench->told[0].correlation, "one");
    assert_string_equal(bench->told[0].text, "No keys.");
    for (int i = 0; i < 9999; i++)
        deny(bench, "r", "acme", i < 250 ? 42 : 0); /* of a flood most have no row */
    for (int i = 1; i < 299; i++)
        assert_int_equal(look(bench, SECOND, ALERT_KINDS), 0);
    assert_int_equal(look(bench, SECOND, ALERT_KINDS), 1);
    assert_true(!bench->told[0].is_on && bench->told[0].fresh == 9999 && bench->told[0].count == 10000 && bench->told[0].seq == 42);
    assert_int_equal(bench->told[0].since_us, WALL + 7 * SECOND);
    assert_int_equal(bench->told[0].ended_us, WALL + 8 * SECOND);
    assert_int_equal(look(bench, DAY, ALERT_KINDS), 0);
    assert_int_equal(firing(bench, ALERT_DENIED), 0);
}

TEST_CASE_WITH(test_a_long_storm_is_told_once_an_interval, setup, teardown)
{
    struct bench *bench = *state;
    size_t posts = 0;
    uint64_t told = 0;

    for (int i = 0; i < 3600; i++) {
        deny(bench, "r", "acme", 41);
        posts += look(bench, SECOND, ALERT_KINDS);
        told += bench->count != 0 ? bench->told[0].fresh : 0;
    }
    assert_int_equal(posts, 12);
    for (int i = 0; i < 600; i++) {
        posts += look(bench, SECOND, ALERT_KINDS);
        told += bench->count != 0 ? bench->told[0].fresh : 0;
    }
    assert_true(posts <= 14 && told == 3600);
}

/* Many rules and tenants are one message: denials wait ten seconds behind the last that were told; what the gate itself has to
 * say does not. */
TEST_CASE_WITH(test_many_are_one_message, setup, teardown)
{
    struct bench *bench = *state;
    char tenant[32];

    deny(bench, "r", "first", 41);
    assert_int_equal(look(bench, SECOND, ALERT_KINDS), 1);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(tenant, sizeof tenant, "tenant-%d", i);
        deny(bench, "r", tenant, 42);
    }
    assert_int_equal(look(bench, SECOND, ALERT_AUDIT_DOWN), 1);
    assert_int_equal(bench->told[0].kind, ALERT_AUDIT_DOWN);
    assert_int_equal(look(bench, 9 * SECOND, ALERT_AUDIT_DOWN), 40);
}

/* A tenant's flood under many rules takes no place from another tenant, nor from the gate's own. */
TEST_CASE_WITH(test_shares, setup, teardown)
{
    struct bench *bench = *state;
    char rule[32];
    uint64_t told = 0;
    bool others = false;

    for (int i = 0; i < 1000; i++) {
        (void)snprintf(rule, sizeof rule, "rule-%d", i);
        deny(bench, rule, "loud", 41);
    }
    deny(bench, "r", "quiet", 42);
    assert_int_equal(look(bench, SECOND, ALERT_CHECKPOINT_LATE), 1 + ALERT_DENIALS / 2 + 1 + 1);
    assert_int_equal(bench->told[0].kind, ALERT_CHECKPOINT_LATE);
    for (size_t i = 1; i < bench->count; i++) {
        told += bench->told[i].fresh;
        others = others || strcmp(bench->told[i].tenant, "quiet") == 0;
    }
    assert_true(told == 1001 && others);
    assert_string_equal(bench->told[bench->count - 1].about, ""); /* those for whom there was no place */
    assert_int_equal(look(bench, EVERY, ALERT_CHECKPOINT_LATE), ALERT_DENIALS / 2 + 1 + 1);
    assert_int_equal(look(bench, EVERY, ALERT_CHECKPOINT_LATE), 0);
    for (int i = 0; i < 100; i++) { /* and its places are given back */
        (void)snprintf(rule, sizeof rule, "late-%d", i);
        deny(bench, rule, "third", 43);
    }
    assert_int_equal(look(bench, SECOND, ALERT_CHECKPOINT_LATE), 100);
}

TEST_CASE_WITH(test_certificates_leave_places, setup, teardown)
{
    struct bench *bench = *state;
    uint64_t held = 0;
    char name[32];

    alerts_look(bench->alerts);
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof name, "ca route-%d", i);
        held += alerts_hold(bench->alerts, ALERT_CERTIFICATE_ENDS, span_text(name), SPAN_LIT("It ends."), bench->now, WALL);
    }
    assert_true(alerts_hold(bench->alerts, ALERT_AUDIT_DOWN, SPAN_NONE, SPAN_LIT("It is down."), bench->now, WALL));
    assert_int_equal(firing(bench, ALERT_AUDIT_DOWN), 1);
    assert_true(held >= 32 && held < 200); /* whoever found no place is told so */
    assert_int_equal(firing(bench, ALERT_CERTIFICATE_ENDS), held);
    assert_true(alerts_hold(bench->alerts, ALERT_CERTIFICATE_ENDS, SPAN_NONE, SPAN_LIT("More end."), bench->now, WALL));
    assert_int_equal(firing(bench, ALERT_CERTIFICATE_ENDS), held + 1);
}

TEST_CASE_WITH(test_a_condition_begins_and_ends, setup, teardown)
{
    struct bench *bench = *state;

    assert_int_equal(look(bench, SECOND, ALERT_DISK_LOW), 1);
    assert_true(bench->told[0].is_on && strcmp(bench->told[0].text, "It holds.") == 0);
    assert_int_equal(firing(bench, ALERT_DISK_LOW), 1);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(look(bench, 80 * SECOND, ALERT_DISK_LOW), 0); /* nothing is new */
    assert_int_equal(look(bench, DAY, ALERT_DISK_LOW), 1); /* but whoever was told may have lost it */
    assert_int_equal(look(bench, SECOND, ALERT_KINDS), 1);
    assert_true(!bench->told[0].is_on);
    assert_int_equal(firing(bench, ALERT_DISK_LOW), 0);
    assert_int_equal(look(bench, DAY, ALERT_KINDS), 0);
}

/* What comes and goes with each look is told twice an interval. */
TEST_CASE_WITH(test_what_flaps, setup, teardown)
{
    struct bench *bench = *state;
    size_t posts = 0;

    for (int i = 0; i < 3000; i++)
        posts += look(bench, SECOND, i % 2 == 0 ? ALERT_AUDIT_DOWN : ALERT_KINDS);
    assert_in_range(posts, 10, 22);
}

/* Each target has its own account: one that takes nothing holds up no other, and hears of all once it is back. */
TEST_CASE_WITH(test_two_targets, setup, teardown)
{
    struct bench *bench = *state;

    alerts_aim(bench->alerts, 3);
    deny(bench, "r", "acme", 41);
    assert_int_equal(look_of(bench, 0, SECOND, ALERT_AUDIT_DOWN), 2);
    deny(bench, "r", "acme", 42);
    assert_int_equal(look_of(bench, 0, EVERY, ALERT_KINDS), 2);
    assert_int_equal(look_of(bench, 0, DAY, ALERT_KINDS), 0);
    assert_int_equal(look_of(bench, 1, SECOND, ALERT_KINDS), 2);
    assert_true(!bench->told[0].is_on && !bench->told[1].is_on && bench->told[1].fresh == 2);
}

/* What a run before has told is not told again while it holds, and is over where it does not. */
TEST_CASE_WITH(test_a_restart, setup, teardown)
{
    struct bench *bench = *state;
    struct alert unsaved;
    bool is_told;

    alerts_know(bench->alerts, 0, ALERT_CERTIFICATE_ENDS, SPAN_LIT("x"), SPAN_NONE, WALL, bench->now);
    alerts_know(bench->alerts, 0, ALERT_CONFIGURATION_REFUSED, SPAN_LIT(""), SPAN_NONE, WALL, bench->now);
    alerts_know(bench->alerts, 0, ALERT_DENIED, SPAN_LIT("r"), SPAN_LIT("acme"), WALL, bench->now);
    assert_false(alerts_unsaved(bench->alerts, 0, &unsaved, &is_told));
    assert_int_equal(look(bench, SECOND, ALERT_CERTIFICATE_ENDS), 0);
    deny(bench, "r", "acme", 41);
    assert_int_equal(look(bench, 100 * SECOND, ALERT_CERTIFICATE_ENDS), 0);
    assert_int_equal(look(bench, 20 * SECOND, ALERT_CERTIFICATE_ENDS), 1);
    assert_int_equal(bench->told[0].kind, ALERT_CONFIGURATION_REFUSED);
    assert_true(!bench->told[0].is_on && alerts_unsaved(bench->alerts, 0, &unsaved, &is_told) && !is_told);
    assert_int_equal(unsaved.kind, ALERT_CONFIGURATION_REFUSED);
    alerts_saved(bench->alerts, 0, &unsaved, is_told);
    assert_false(alerts_unsaved(bench->alerts, 0, &unsaved, &is_told));
    assert_int_equal(look(bench, EVERY, ALERT_CERTIFICATE_ENDS), 1);
    assert_true(!bench->told[0].is_on && bench->told[0].fresh == 1);
    assert_int_equal(bench->told[0].since_us, WALL);
}

/* What one target took before a restart it does not hear again, though another took nothing, which hears of what still holds. */
TEST_CASE_WITH(test_a_restart_with_one_away, setup, teardown)
{
    struct bench *bench = *state;
    struct alert unsaved;
    bool is_told;

    alerts_aim(bench->alerts, 3);
    alerts_know(bench->alerts, 0, ALERT_CERTIFICATE_ENDS, SPAN_LIT("x"), SPAN_NONE, WALL, bench->now);
    alerts_know(bench->alerts, 0, ALERT_CONFIGURATION_REFUSED, SPAN_LIT(""), SPAN_NONE, WALL, bench->now);
    alerts_know(bench->alerts, 0, ALERT_DENIED, SPAN_LIT("r"), SPAN_LIT("acme"), WALL, bench->now);
    assert_int_equal(look_of(bench, 0, SECOND, ALERT_CERTIFICATE_ENDS), 0);
    assert_int_equal(look_of(bench, 1, SECOND, ALERT_CERTIFICATE_ENDS), 1);
    assert_true(bench->told[0].kind == ALERT_CERTIFICATE_ENDS && bench->told[0].is_on);
    assert_false(alerts_unsaved(bench->alerts, 0, &unsaved, &is_told));
    assert_true(alerts_unsaved(bench->alerts, 1, &unsaved, &is_told) && is_told);
    assert_int_equal(unsaved.kind, ALERT_CERTIFICATE_ENDS);
    alerts_saved(bench->alerts, 1, &unsaved, true);
    assert_false(alerts_unsaved(bench->alerts, 1, &unsaved, &is_told));
    deny(bench, "r", "acme", 41);
    assert_int_equal(look_of(bench, 1, SECOND, ALERT_CERTIFICATE_ENDS), 1);
    assert_true(bench->told[0].kind == ALERT_DENIED && bench->told[0].fresh == 1);
}

/* Where the clock is put back, nothing ends before it began: Alertmanager refuses such a one, and all that comes with it. */
TEST_CASE_WITH(test_a_clock_put_back, setup, teardown)
{
    struct bench *bench = *state;

    assert_int_equal(look(bench, SECOND, ALERT_FORKED), 1);
    bench->now += SECOND;
    alerts_look(bench->alerts);
    alerts_looked(bench->alerts, EVERY, bench->now, WALL - DAY);
    assert_int_equal(alerts_due(bench->alerts, 0, EVERY, bench->now, bench->told, 1), 1);
    assert_true(!bench->told[0].is_on && bench->told[0].ended_us == bench->told[0].since_us);
}

/* What is told is to be saved while it holds. */
TEST_CASE_WITH(test_what_is_saved, setup, teardown)
{
    struct bench *bench = *state;
    struct alert unsaved;
    bool is_told;

    assert_int_equal(look(bench, SECOND, ALERT_FORKED), 1);
    assert_true(alerts_unsaved(bench->alerts, 0, &unsaved, &is_told) && is_told);
    assert_int_equal(unsaved.kind, ALERT_FORKED);
    alerts_saved(bench->alerts, 0, &unsaved, true);
    assert_false(alerts_unsaved(bench->alerts, 0, &unsaved, &is_told));
    assert_int_equal(look(bench, SECOND, ALERT_KINDS), 1);
    assert_int_equal(look(bench, DAY, ALERT_KINDS), 0); /* kept until the store knows */
    assert_true(alerts_unsaved(bench->alerts, 0, &unsaved, &is_told) && !is_told);
    alerts_saved(bench->alerts, 0, &unsaved, false);
    assert_int_equal(look(bench, SECOND, ALERT_KINDS), 0);
    assert_false(alerts_unsaved(bench->alerts, 0, &unsaved, &is_told));
}

TEST_MAIN(NULL, NULL)
