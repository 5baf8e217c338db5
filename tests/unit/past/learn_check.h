/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of learning share: an audit that is filled, a draft that is proved as the command does, and asked.
 *
 * Threads: the test's.
 * Owns: the house owns its folder, draft and policy.
 * Lifetime: open_house to close_house.
 * Errors: the test fails. */
#ifndef TESTS_UNIT_GATE_LEARN_CHECK_H
#define TESTS_UNIT_GATE_LEARN_CHECK_H

#include "past/learn.h"

#include "fakes/audit_file.h"
#include "language/language.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct house {
    struct audit_file file;
    struct audit *audit;
    uint64_t ticket;
    struct buf draft;
    struct learn_sum sum;
    struct learn_proof proof;
    struct policy *policy;
};

static inline int open_house(void **state)
{
    static struct house house;

    memset(&house, 0, sizeof house);
    audit_file_init(&house.file);
    house.audit = audit_file_open(&house.file, 1);
    buf_init(&house.draft, 1 << 24);
    *state = &house;
    return 0;
}

static inline int close_house(void **state)
{
    struct house *house = *state;

    policy_unref(&house->policy);
    buf_fini(&house->draft);
    audit_close(&house->audit);
    audit_file_fini(&house->file);
    return 0;
}

static inline void put(struct house *house, const struct audit_decision *decision)
{
    struct audit_decision row = *decision;

    row.expects_outcome = false;
    house->ticket = audit_file_put(audit_ring(house->audit, 0), &row);
}

static inline void put_call(struct house *house, const char *tool, const char *arguments)
{
    struct audit_decision call = audit_call("acme", "c-1");

    call.tool = span_text(tool);
    call.arguments = arguments != NULL ? span_text(arguments) : SPAN_NONE;
    put(house, &call);
}

/* Learns from all there is, and proves it as the command does. */
static inline void learn(struct house *house, uint64_t min_calls)
{
    struct recorded_range range = {0};
    struct trail_file only = {.path = house->file.path};
    const struct trail trail = {.files = &only, .count = 1};
    struct replay_conf conf = {.trail = &trail, .threads = 2};
    struct policy_file file = {.path = SPAN_LIT("draft")};
    struct faults faults, warnings;
    struct learn *learn;
    struct why why = {""};
    uint64_t seq;

    faults_init(&faults);
    faults_init(&warnings);
    assert_int_equal(audit_file_wait(audit_ring(house->audit, 0), house->ticket, &seq), AUDIT_DURABLE);
    buf_clear(&house->draft);
    assert_int_equal(learn_new(&learn), CODE_OK);
    if (learn_read(learn, &trail, &range, NULL, NULL, &why) != CODE_OK)
        fail_msg("%s", why.text);
    assert_int_equal(learn_write(learn, SPAN_LIT("learned"), min_calls, &house->draft, &house->sum), CODE_OK);
    conf.range = range;
    if (learn_prove(learn, buf_peek(&house->draft), &conf, &house->proof, &faults, &why) != CODE_OK)
        fail_msg("%d: %s%s\n%.*s", faults.fault[0].line, faults.fault[0].text, why.text, SPAN_ARG(buf_peek(&house->draft)));
    learn_free(&learn);
    policy_unref(&house->policy);
    file.text = buf_peek(&house->draft);
    assert_int_equal(policy_compile(&file, 1, 1, &house->policy, &faults, &warnings), CODE_OK);
    if (house->proof.denied > 0 || house->proof.failed_tests > 0)
        fail_msg("%d denied, %d tests fail\n%.*s", (int)house->proof.denied, (int)house->proof.failed_tests,
                 SPAN_ARG(buf_peek(&house->draft)));
}

static inline struct question call_of(const char *tool)
{
    return (struct question){.tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("shop-bot"), .upstream = SPAN_LIT("shop"),
                             .method = SPAN_LIT("tools/call"), .tool = span_text(tool)};
}

static inline bool permits(struct house *house, const struct question *call, const char *arguments)
{
    static struct verdict verdict;
    struct question question = *call;
    struct policy_scratch *scratch;
    struct json_fault fault;
    struct arena arena;
    struct buf out;
    bool is;

    arena_init(&arena, 1 << 24);
    buf_init(&out, 1 << 20);
    if (arguments != NULL &&
        json_read(span_text(arguments), &json_file_rules, &out, &arena, &question.root, &fault) != CODE_OK)
        fail_msg("%s: %s", arguments, fault.text);
    assert_int_equal(policy_scratch_new(&scratch), CODE_OK);
    policy_eval(house->policy, &question, false, scratch, &verdict);
    is = verdict.kind == VERDICT_PERMIT;
    policy_scratch_free(&scratch);
    buf_fini(&out);
    arena_fini(&arena);
    return is;
}

static inline void assert_permits(struct house *house, const struct question *call, const char *arguments, bool wanted)
{
    if (permits(house, call, arguments) != wanted)
        fail_msg("%s %s\n%.*s", arguments != NULL ? arguments : "(none)", wanted ? "is denied" : "is permitted",
                 SPAN_ARG(buf_peek(&house->draft)));
}

static inline void assert_draft(const struct house *house, const char *text)
{
    struct span draft = buf_peek(&house->draft);

    if (memmem(draft.at, draft.len, text, strlen(text)) == NULL)
        fail_msg("no \"%s\" in\n%.*s", text, SPAN_ARG(draft));
}

#endif
