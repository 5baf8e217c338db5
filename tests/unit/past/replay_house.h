/* SPDX-License-Identifier: Apache-2.0 */
/* An audit to record calls in, and policies that are replayed over it.
 *
 * Threads: the test's.
 * Owns: the audit's folder.
 * Lifetime: open_house to close_house.
 * Errors: the test fails. */
#ifndef UNIT_PAST_REPLAY_HOUSE_H
#define UNIT_PAST_REPLAY_HOUSE_H

#include "past/replay.h"

#include "base/mem.h"
#include "fakes/audit_file.h"
#include "language/language.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

struct house {
    struct audit_file file;
    struct audit *audit;
    const struct definition_set *definitions; /* that are accepted */
    uint64_t told;
    uint64_t last_seq;
    struct replay_call last; /* texts are not kept */
    char rules[128];
};

static int open_house(void **state)
{
    static struct house house;

    memset(&house, 0, sizeof house);
    audit_file_init(&house.file);
    house.audit = audit_file_open(&house.file, 1);
    *state = &house;
    return 0;
}

static int close_house(void **state)
{
    struct house *house = *state;

    audit_close(&house->audit);
    audit_file_fini(&house->file);
    return 0;
}

static uint64_t put(struct house *house, const struct audit_decision *decision)
{
    struct audit_decision row = *decision;

    row.expects_outcome = false;
    return audit_file_put(audit_ring(house->audit, 0), &row);
}

static void settle(struct house *house, uint64_t ticket)
{
    uint64_t seq;

    assert_int_equal(audit_file_wait(audit_ring(house->audit, 0), ticket, &seq), AUDIT_DURABLE);
}

static enum code tell(void *context, const struct replay_call *call)
{
    struct house *house = context;

    house->told++;
    assert_true(call->seq > house->last_seq); /* in recorded order */
    house->last_seq = call->seq;
    house->last = *call;
    (void)snprintf(house->rules, sizeof house->rules, "%.*s > %.*s", SPAN_ARG(call->was.rule), SPAN_ARG(call->is.rule));
    return CODE_OK;
}

static struct replay_sum replay_range(struct house *house, const char *rules, unsigned threads,
                                      const struct recorded_range *range)
{
    static char text[4096];
    const struct policy_file file = {SPAN_LIT("p.yaml"), SPAN_NONE};
    struct trail_file only = {.path = house->file.path};
    const struct trail trail = {.files = &only, .count = 1};
    struct replay_conf conf = {.trail = &trail, .threads = threads, .tell = tell, .context = house};
    struct policy_file files[1] = {file};
    struct replay_sum sum;
    struct policy *policy;
    struct faults faults;
    struct why why = {""};

    faults_init(&faults);
    (void)snprintf(text, sizeof text, "policy: p\nrules:\n%s", rules);
    files[0].text = span_text(text);
    if (policy_compile(files, 1, 7, &policy, &faults, NULL) != CODE_OK)
        fail_msg("%d: %s", faults.fault[0].line, faults.fault[0].text);
    conf.policy = policy;
    conf.definitions = house->definitions;
    if (range != NULL)
        conf.range = *range;
    house->told = house->last_seq = 0;
    if (replay_run(&conf, &sum, &why) != CODE_OK)
        fail_msg("%s", why.text);
    policy_unref(&policy);
    return sum;
}

static struct replay_sum replay(struct house *house, const char *rules)
{
    return replay_range(house, rules, 1, NULL);
}

#define SAME "  - {id: store.search, effect: permit, match: {tools: [search_products]}}\n"

#endif
