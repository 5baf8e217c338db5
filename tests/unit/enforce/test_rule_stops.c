/* SPDX-License-Identifier: Apache-2.0 */
/* 15.8: what rules stop, on its way to the store. */
#include "enforce/rule_stops.h"
#include "fakes/cm.h"

#include <stdio.h>


static void put(struct rule_stops *stops, enum stop_by by, const char *tenant, const char *name, int64_t lasts_us)
{
    rule_stops_put(stops, &(struct rule_stop){by, SPAN_LIT("rule"), span_text(tenant), span_text(name), lasts_us, 1});
}

/* Each as long as asked for, once; whoever makes up names fills the place of his own tenant's and kind alone. */
TEST_CASE(test_of_rules)
{
    struct rule_stops *stops;
    struct rule_stop stop;
    size_t sessions = 0, others = 0;
    char name[32];

    assert_int_equal(rule_stops_new(&stops), CODE_OK);
    for (int i = 0; i < 2 * RULE_STOPS_MAX; i++) {
        (void)snprintf(name, sizeof name, "s-%d", i);
        put(stops, STOP_SESSION, "acme", name, 100);
    }
    put(stops, STOP_PRINCIPAL, "acme", "ada", 100);
    put(stops, STOP_PRINCIPAL, "acme", "ada", 50);
    put(stops, STOP_PRINCIPAL, "acme", "ada", 200);
    put(stops, STOP_SESSION, "beta", "s-1", 100);
    for (; rule_stops_first(stops, &stop); rule_stops_drop(stops)) {
        sessions += stop.by == STOP_SESSION && span_is(stop.tenant, "acme");
        others += stop.lasts_us != 50 && (stop.by == STOP_PRINCIPAL || span_is(stop.tenant, "beta"));
    }
    assert_int_equal(sessions, RULE_STOPS_MAX / 8);
    assert_int_equal(others, 3);
    rule_stops_free(&stops);
}

TEST_MAIN(NULL, NULL)
