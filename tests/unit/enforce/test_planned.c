/* SPDX-License-Identifier: Apache-2.0 */
/* What a judgement makes of the plan that a call shows: whose it is, when, once, and without memory. Number: 8.7 */
#include "unit/enforce/call_help.h"

#include "base/mem.h"
#include "os/clock.h"
#include "language/language.h"

#include <inttypes.h>
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000)

static const char rules[] =
    "policy: test\n"
    "rules:\n"
    "  - {id: planned, effect: permit, match: {tools: [buy]}, when: [{plan: required}]}\n"
    "  - {id: free, effect: permit, match: {tools: [look], methods: [tools/call, ping, sampling/createMessage]}}\n";

struct house {
    struct gate_shared *shared;
    struct gate *gate;
    struct sign_key *key;
    struct plan_key public;
    struct plan_keys keys;
    struct buf shown;
    int64_t now_us, steady_us; /* the machine's clock, and the one that never jumps */
};

static void open_house(struct house *house)
{
    struct policy_file file = {SPAN_LIT("test.yaml"), span_text(rules)};
    struct gate_shared_conf conf = {.redact_key = "redact", .session_key = "session"};
    struct policy *policy;
    struct faults faults;
    struct buf pem;

    *house = (struct house){.keys = {&house->public, 1}, .now_us = clock_wall_us(), .steady_us = clock_monotonic_us()};
    faults_init(&faults);
    assert_int_equal(policy_compile(&file, 1, 1, &policy, &faults, NULL), CODE_OK);
    assert_int_equal(gate_shared_new(&conf, &house->shared), CODE_OK);
    gate_publish_policy(house->shared, policy);
    assert_int_equal(gate_new(house->shared, NULL, &house->gate), CODE_OK);
    buf_init(&pem, 4096);
    buf_init(&house->shown, 65536);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), &house->key), CODE_OK);
    assert_int_equal(sign_key_public(house->key, house->public.key), CODE_OK);
    house->public.id = SPAN_LIT("k");
    buf_fini(&pem);
}

static void close_house(struct house *house)
{
    gate_free(&house->gate);
    gate_shared_free(&house->shared);
    sign_key_free(&house->key);
    buf_fini(&house->shown);
}

/* A plan for the tool `buy`, once. Takes: seconds from now. */
static struct span plan(struct house *house, int from, int until)
{
    unsigned char signature[SIGN_BYTES];
    struct buf text;

    buf_init(&text, 65536);
    buf_addf(&text, "{\"callgate_plan\":1,\"expires\":%" PRId64 ",\"id\":\"0123456789abcdefghijkl\",\"issuer\":\"alice\",\"key\":\"k\","
             "\"not_before\":%" PRId64 ",\"order\":\"any\",\"principal\":\"bot\",\"steps\":[{\"arguments\":{},\"tool\":\"buy\","
             "\"upstream\":\"shop\"}],\"tenant\":\"acme\"}", house->now_us / SECOND + until, house->now_us / SECOND + from);
    buf_clear(&house->shown);
    assert_int_equal(plan_sign(buf_peek(&text), house->key, signature), CODE_OK);
    assert_int_equal(plan_write(buf_peek(&text), signature, &house->shown), CODE_OK);
    buf_fini(&text);
    return buf_peek(&house->shown);
}

static struct call call_of(const struct house *house, const char *tool, struct span shown)
{
    return (struct call){
        .asked = {.time_us = house->now_us, .tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot"), .upstream = SPAN_LIT("shop"),
                  .method = SPAN_LIT("tools/call"), .tool = span_text(tool)},
        .read_us = house->steady_us, .target = span_text(tool), .shown_plan = shown, .plan_keys = &house->keys, .expects_outcome = true,
    };
}

/* Judges, and lets it go no further, so that nothing is used. */
static void expect(struct house *house, const struct call *message, enum reason reason)
{
    struct call *decision = mem_zalloc(sizeof *decision);

    assert_non_null(decision);
    judge(house->gate, message, decision);
    assert_string_equal(reason_name(decision->verdict.reason), reason_name(reason));
    assert_int_equal(decision->verdict.kind == VERDICT_PERMIT, reason == REASON_PERMITTED);
    assert_int_equal(decision->token.state != NULL && decision->token.step == 1,
                     reason == REASON_PERMITTED && decision->plan.is_known && span_is(message->asked.tool, "buy"));
    gate_let_go(decision);
    mem_free(decision);
}

TEST_CASE(test_whose_it_is)
{
    struct call message;
    struct house house;

    open_house(&house);
    message = call_of(&house, "buy", plan(&house, -10, 600));
    for (int i = 0; i < 3; i++)
        expect(&house, &message, REASON_PERMITTED); /* each gave its step back */
    message.asked.principal = SPAN_LIT("Bot");
    expect(&house, &message, REASON_PLAN_FOREIGN);
    message.asked.principal = SPAN_LIT("bot");
    message.asked.tenant = SPAN_LIT("acme2");
    expect(&house, &message, REASON_PLAN_FOREIGN);
    message.asked.tenant = SPAN_LIT("acme");
    message.asked.upstream = SPAN_LIT("shop2");
    expect(&house, &message, REASON_PLAN_STEP);
    message = call_of(&house, "look", SPAN_LIT("nonsense"));
    expect(&house, &message, REASON_PLAN_INVALID); /* though it needs none */
    message.plan_keys = NULL;
    expect(&house, &message, REASON_PERMITTED); /* the route reads no plans: it is a header like any */
    message = call_of(&house, "buy", plan(&house, -10, 600));
    message.plan_keys = NULL;
    expect(&house, &message, REASON_PLAN_REQUIRED);
    message = call_of(&house, "look", SPAN_LIT("nonsense"));
    message.within = &message;
    message.asked.method = SPAN_LIT("sampling/createMessage");
    message.asked.tool = message.target = SPAN_NONE;
    expect(&house, &message, REASON_NO_RULE); /* what a server asks is no step, and shows no plan */
    close_house(&house);
}

/* A verified plan is remembered with its key: another key under the same id is another answer. */
TEST_CASE(test_a_key_that_changes)
{
    struct call message;
    struct house house;

    open_house(&house);
    message = call_of(&house, "buy", plan(&house, -10, 600));
    expect(&house, &message, REASON_PERMITTED);
    house.public.key[5] ^= 1;
    expect(&house, &message, REASON_PLAN_INVALID);
    house.public.key[5] ^= 1;
    expect(&house, &message, REASON_PERMITTED);
    house.public.id = SPAN_LIT("l");
    expect(&house, &message, REASON_PLAN_INVALID);
    close_house(&house);
}

/* Each clock alone can end it, and each alone keeps it from beginning. */
TEST_CASE(test_clocks)
{
    static const struct {
        int wall, steady;
        enum reason reason;
    } cases[] = {
        {0, 0, REASON_PERMITTED}, {598, 598, REASON_PERMITTED}, {601, 0, REASON_PLAN_ENDED}, {0, 601, REASON_PLAN_ENDED},
        {601, 601, REASON_PLAN_ENDED}, {-80000, 601, REASON_PLAN_ENDED}, {-65, 0, REASON_PERMITTED}, {-80, 0, REASON_PLAN_ENDED},
        {0, -80, REASON_PLAN_ENDED}, {1000000, -1000000, REASON_PLAN_ENDED},
    };
    struct house house;
    struct span shown;

    open_house(&house);
    shown = plan(&house, -10, 600);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct call message = call_of(&house, "buy", shown);

        message.asked.time_us += cases[i].wall * SECOND;
        message.read_us += cases[i].steady * SECOND;
        expect(&house, &message, cases[i].reason);
    }
    close_house(&house);
}

/* Whichever allocation fails, a call is permitted only as the step that it is. */
TEST_CASE(test_without_memory)
{
    struct call *decision = mem_zalloc(sizeof *decision);
    unsigned denied = 0;
    bool done = false;

    for (uint64_t nth = 1; !done; nth++) {
        struct call message;
        struct house house;

        open_house(&house); /* nothing is remembered */
        message = call_of(&house, "buy", plan(&house, -10, 600));
        mem_fail_at(nth, 0);
        judge(house.gate, &message, decision);
        done = mem_fail_count() < nth;
        mem_fail_at(0, 0);
        if (decision->verdict.kind == VERDICT_PERMIT)
            assert_true(decision->plan.is_known && decision->plan.step == 1 && decision->token.step == 1);
        denied += decision->verdict.kind != VERDICT_PERMIT;
        gate_let_go(decision);
        close_house(&house);
        assert_true(nth < 1000);
    }
    assert_true(denied > 2);
    mem_free(decision);
}

TEST_MAIN(NULL, NULL)
