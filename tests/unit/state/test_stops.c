/* SPDX-License-Identifier: Apache-2.0 */
/* 15.8: which stop is of a call. */
#include "state/stops.h"
#include "fakes/cm.h"

#include <stdio.h>
static struct stop of(int64_t id, enum stop_by by, const char *name)
{
    struct stop stop = {.id = id};

    stop.by[by] = span_text(name);
    return stop;
}

static int64_t found(const struct stops *set, const char *tenant, const char *tool, const char *session, int64_t now_us)
{
    struct span by[STOP_BY_COUNT] = {[STOP_TENANT] = span_text(tenant), [STOP_TOOL] = span_text(tool),
                                     [STOP_SESSION] = span_text(session)};
    const struct stop *stop = stops_find(set, by, now_us);

    return stop != NULL ? stop->id : 0;
}

TEST_CASE(test_names)
{
    struct stop stops[] = {of(1, STOP_TENANT, "beta"), of(2, STOP_TOOL, "rm"), of(3, STOP_TOOL, "rm"), of(4, STOP_SESSION, "ab")};
    struct stops *set;

    stops[1].by[STOP_TENANT] = SPAN_LIT("acme");
    stops[2].by[STOP_TENANT] = SPAN_LIT("gamma");
    stops[2].until_us = 100;
    assert_int_equal(stops_new(stops, 4, &set), CODE_OK);
    assert_true(stops_name_sessions(set));
    assert_int_equal(found(set, "beta", "ls", NULL, 0), 1);
    assert_int_equal(found(set, "bet", "ls", NULL, 0), 0);
    assert_int_equal(found(set, "betaa", "ls", NULL, 0), 0);
    assert_int_equal(found(set, "acme", "rm", NULL, 0), 2);
    assert_int_equal(found(set, "acme", NULL, NULL, 0), 0); /* a call without a tool is none of that tool */
    assert_int_equal(found(set, "gamma", "rm", NULL, 99), 3);
    assert_int_equal(found(set, "gamma", "rm", NULL, 100), 0);
    assert_int_equal(found(set, "delta", "rm", "ab", 0), 4);
    stops_unref(&set);
}

TEST_CASE(test_all_and_none)
{
    struct stop all = {.id = 7};
    struct stops *set, *second;

    assert_int_equal(stops_new(NULL, 0, &set), CODE_OK);
    assert_int_equal(found(set, "acme", "rm", "ab", 0), 0);
    stops_unref(&set);
    assert_int_equal(stops_new(&all, 1, &set), CODE_OK);
    assert_int_equal(found(set, NULL, NULL, NULL, 0), 7);
    second = stops_ref(set);
    stops_unref(&set);
    assert_int_equal(found(second, "acme", "rm", "ab", 0), 7);
    stops_unref(&second);
    stops_unref(&second); /* NULL is fine */
}

/* However many there are, each is found by its own name. */
TEST_CASE(test_many)
{
    static struct stop stops[3000];
    static char names[3000][16];
    struct stops *set;

    for (int i = 0; i < 3000; i++) {
        (void)snprintf(names[i], sizeof names[i], "s%d", (i * 7919) % 3000);
        stops[i] = of(i + 1, STOP_SESSION, names[i]);
    }
    assert_int_equal(stops_new(stops, 3000, &set), CODE_OK);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(found(set, "acme", "rm", names[i], 0), i + 1);
    assert_int_equal(found(set, "acme", "rm", "s3000", 0), 0);
    stops_unref(&set);
}

TEST_MAIN(NULL, NULL)
