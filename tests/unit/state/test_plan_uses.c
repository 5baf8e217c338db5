/* SPDX-License-Identifier: Apache-2.0 */
/* What was used of plans: how often, in which order, by many at once, and for how long it is known. Numbers: 8.7, 14.7 */
#include "state/state.h"

#include "base/mem.h"
#include "judgement/judgement.h"
#include "language/language.h"

#include <pthread.h>
#include "fakes/cm.h"

#include <stdatomic.h>
#include <string.h>

#define SECOND INT64_C(1000000)
#define NOW (INT64_C(1700000000) * SECOND)

static const struct hash_key key = {{1, 2}};
static const struct plan_fit all = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};

static struct plan_fit only(uint32_t step)
{
    struct plan_fit fit = {0};

    fit.bits[(step - 1) / 64] = UINT64_C(1) << (step - 1) % 64;
    return fit;
}

static struct plan plan_of(unsigned char name, struct plan_step *steps, uint32_t count, bool is_strict)
{
    struct plan plan = {.tenant = SPAN_LIT("acme"), .expires_us = NOW + 60 * SECOND, .is_strict = is_strict, .step = steps,
                        .step_count = count};

    memset(plan.digest, name, sizeof plan.digest);
    return plan;
}

static void expect(struct plan_uses *uses, const struct plan *plan, uint32_t step, enum reason wanted)
{
    struct plan_fit fit = only(step);
    enum reason why = REASON_UNSET;
    uint32_t taken = 0, found = plan_uses_find(uses, plan, &fit, &why);

    assert_int_equal(found, wanted == REASON_PERMITTED ? step : 0);
    if (wanted != REASON_PERMITTED)
        assert_string_equal(reason_name(why), reason_name(wanted));
    assert_int_equal(plan_uses_take(uses, plan, plan->tenant, &fit, NOW, &taken), found != 0 ? CODE_OK : CODE_LIMIT);
    assert_int_equal(taken, found);
    if (found != 0 && plan->is_strict)
        plan_uses_settle(uses, plan->digest);
}

TEST_CASE(test_as_often_as_planned)
{
    struct plan_step steps[3] = {{.times = 2}, {.times = 1}, {.times = 1}};
    struct plan plan = plan_of(1, steps, 3, false), other = plan_of(2, steps, 3, false);
    const struct plan_fit none = {0};
    struct plan_uses *uses;
    enum reason why;
    uint32_t step;

    assert_int_equal(plan_uses_new((size_t)1 << 20, &key, &uses), CODE_OK);
    assert_int_equal(plan_uses_find(uses, &plan, &none, &why), 0);
    assert_int_equal(why, REASON_PLAN_STEP);
    expect(uses, &plan, 3, REASON_PERMITTED);
    expect(uses, &plan, 1, REASON_PERMITTED);
    expect(uses, &plan, 1, REASON_PERMITTED);
    expect(uses, &plan, 1, REASON_PLAN_USED);
    expect(uses, &other, 1, REASON_PERMITTED); /* each plan counts for itself */
    assert_int_equal(plan_uses_take(uses, &plan, plan.tenant, &all, NOW, &step), CODE_OK);
    assert_int_equal(step, 2); /* of those that fit, the first that is left */
    assert_int_equal(plan_uses_take(uses, &plan, plan.tenant, &all, NOW, &step), CODE_LIMIT);
    plan_uses_give_back(uses, plan.digest, 1);
    expect(uses, &plan, 1, REASON_PERMITTED);
    expect(uses, &plan, 1, REASON_PLAN_USED);
    plan_uses_clear(uses);
    expect(uses, &plan, 1, REASON_PERMITTED);
    plan_uses_free(&uses);
}

TEST_CASE(test_in_their_order)
{
    struct plan_step steps[3] = {{.times = 2}, {.times = 2}, {.times = 1}};
    struct plan plan = plan_of(1, steps, 3, true);
    struct plan_uses *uses;

    assert_int_equal(plan_uses_new((size_t)1 << 20, &key, &uses), CODE_OK);
    expect(uses, &plan, 2, REASON_PLAN_ORDER);
    expect(uses, &plan, 3, REASON_PLAN_ORDER);
    expect(uses, &plan, 1, REASON_PERMITTED);
    expect(uses, &plan, 3, REASON_PLAN_ORDER);
    expect(uses, &plan, 2, REASON_PERMITTED);
    expect(uses, &plan, 1, REASON_PLAN_ORDER); /* it has one left, and its turn is over */
    plan_uses_give_back(uses, plan.digest, 2); /* that call did not go on */
    expect(uses, &plan, 3, REASON_PLAN_ORDER);
    expect(uses, &plan, 1, REASON_PERMITTED);
    expect(uses, &plan, 2, REASON_PERMITTED);
    expect(uses, &plan, 2, REASON_PERMITTED);
    expect(uses, &plan, 3, REASON_PERMITTED);
    expect(uses, &plan, 2, REASON_PLAN_USED);
    plan_uses_free(&uses);
}

/* A step that may yet be given back (another message of its batch may be denied) lets no later one go before it. */
TEST_CASE(test_not_before_the_step_before_stays)
{
    struct plan_step steps[3] = {{.times = 3}, {.times = 1}, {.times = 1}};
    struct plan plan = plan_of(1, steps, 3, true);
    const struct plan_fit first = only(1);
    struct plan_uses *uses;
    uint32_t step;

    assert_int_equal(plan_uses_new((size_t)1 << 20, &key, &uses), CODE_OK);
    assert_int_equal(plan_uses_take(uses, &plan, plan.tenant, &first, NOW, &step), CODE_OK);
    expect(uses, &plan, 2, REASON_PLAN_ORDER);
    plan_uses_give_back(uses, plan.digest, 1);
    expect(uses, &plan, 2, REASON_PLAN_ORDER);
    assert_int_equal(plan_uses_take(uses, &plan, plan.tenant, &first, NOW, &step), CODE_OK);
    assert_int_equal(plan_uses_take(uses, &plan, plan.tenant, &first, NOW, &step), CODE_OK); /* the same step is no later one */
    plan_uses_settle(uses, plan.digest);
    expect(uses, &plan, 2, REASON_PLAN_ORDER); /* which of the two stays is known when both are settled */
    plan_uses_give_back(uses, plan.digest, 1);
    expect(uses, &plan, 2, REASON_PERMITTED);
    expect(uses, &plan, 1, REASON_PLAN_ORDER);
    expect(uses, &plan, 3, REASON_PERMITTED);
    plan_uses_free(&uses);
}

struct crowd {
    struct plan_uses *uses;
    const struct plan *plan;
    atomic_uint taken;
};

static void *rush(void *context)
{
    struct crowd *crowd = context;
    uint32_t step;

    for (unsigned i = 0; i < 2000; i++)
        if (plan_uses_take(crowd->uses, crowd->plan, crowd->plan->tenant, &all, NOW, &step) == CODE_OK) {
            if (i % 3 == 0)
                plan_uses_give_back(crowd->uses, crowd->plan->digest, step);
            else
                atomic_fetch_add(&crowd->taken, 1);
        }
    return NULL;
}

TEST_CASE(test_many_at_once)
{
    struct plan_step steps[2] = {{.times = 700}, {.times = 300}};
    struct plan plan = plan_of(1, steps, 2, false);
    struct crowd crowd = {.plan = &plan};
    pthread_t threads[4];
    enum reason why;

    assert_int_equal(plan_uses_new((size_t)1 << 20, &key, &crowd.uses), CODE_OK);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, rush, &crowd), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(crowd.taken, 1000);
    assert_int_equal(plan_uses_find(crowd.uses, &plan, &all, &why), 0);
    plan_uses_free(&crowd.uses);
}

/* What is over gives way; what counts never does; a tenant leaves room for others. */
TEST_CASE(test_room)
{
    struct plan_step steps[2] = {{.times = 1}, {.times = 1}};
    struct plan plan = plan_of(7, steps, 2, false);
    const struct plan_fit first = only(1);
    struct plan_uses *uses;
    uint32_t step, taken = 0;
    enum code code = CODE_OK;

    assert_int_equal(plan_uses_new((size_t)64 * 4096, &key, &uses), CODE_OK);
    for (unsigned i = 0; i < 10000 && code == CODE_OK; i++, taken += code == CODE_OK) {
        plan.digest[30] = (unsigned char)(i >> 8);
        plan.digest[31] = (unsigned char)i;
        code = plan_uses_take(uses, &plan, plan.tenant, &first, NOW, &step);
    }
    assert_int_equal(code, CODE_NOMEM);
    assert_in_range(taken, 20, 64 * 30); /* until one of 64 shards is full */
    assert_int_equal(plan_uses_take(uses, &plan, plan.tenant, &first, NOW, &step), CODE_NOMEM);
    plan.tenant = SPAN_LIT("umbrella"); /* 10.3: that it claims another tenant gives it no room; who is of another has some */
    assert_int_equal(plan_uses_take(uses, &plan, SPAN_LIT("acme"), &first, NOW, &step), CODE_NOMEM);
    assert_int_equal(plan_uses_take(uses, &plan, plan.tenant, &first, NOW, &step), CODE_OK);
    plan.tenant = SPAN_LIT("acme");
    memset(plan.digest + 30, 0, 2);
    assert_int_equal(plan_uses_take(uses, &plan, plan.tenant, &first, NOW, &step), CODE_LIMIT); /* the first is known as ever */
    plan.expires_us = NOW + 120 * SECOND;
    for (unsigned i = 0; i < 64; i++) { /* the others have ended */
        plan.digest[29] = (unsigned char)(i + 100);
        assert_int_equal(plan_uses_take(uses, &plan, plan.tenant, &first, NOW + 61 * SECOND, &step), CODE_OK);
    }
    plan_uses_free(&uses);
}

TEST_CASE(test_what_was_recorded_counts)
{
    const int64_t day_us = PLAN_LIFE_MAX_US;
    struct plan_step steps[2] = {{.times = 2}, {.times = 1}};
    struct plan plan = plan_of(1, steps, 2, true), old = plan_of(2, steps, 2, true);
    struct plan_uses *uses;

    assert_int_equal(plan_uses_new((size_t)1 << 20, &key, &uses), CODE_OK);
    assert_int_equal(plan_uses_count(uses, plan.digest, 1, SPAN_LIT("acme"), NOW - 10 * SECOND, NOW), CODE_OK);
    assert_int_equal(plan_uses_count(uses, plan.digest, 2, SPAN_LIT("acme"), NOW - 5 * SECOND, NOW), CODE_OK);
    assert_int_equal(plan_uses_count(uses, plan.digest, 0, SPAN_LIT("acme"), NOW, NOW), CODE_OK); /* damaged */
    assert_int_equal(plan_uses_count(uses, plan.digest, 257, SPAN_LIT("acme"), NOW, NOW), CODE_OK);
    expect(uses, &plan, 1, REASON_PLAN_ORDER);
    expect(uses, &plan, 2, REASON_PLAN_USED);
    assert_int_equal(plan_uses_count(uses, old.digest, 1, SPAN_LIT("acme"), NOW - day_us - 60 * SECOND, NOW), CODE_OK);
    expect(uses, &old, 2, REASON_PLAN_ORDER); /* no plan that was used then can count now: nothing is kept of it */
    for (unsigned i = 0; i < 70000; i++)
        assert_int_equal(plan_uses_count(uses, plan.digest, 1, SPAN_LIT("acme"), NOW, NOW), CODE_OK);
    expect(uses, &plan, 1, REASON_PLAN_USED); /* and counting does not begin anew */
    plan_uses_free(&uses);
}

/* A record of more plans than there is room for keeps no gate from starting: those that may have been used are used no more. */
TEST_CASE(test_no_room_for_the_record)
{
    struct plan_step steps[20] = {{.times = 1}, {.times = 1}};
    struct plan plan = plan_of(7, steps, 20, false);
    struct plan_uses *uses;
    enum code code = CODE_OK;
    uint32_t step, counted = 0;

    for (unsigned i = 2; i < 20; i++)
        steps[i].times = 1;
    assert_int_equal(plan_uses_new((size_t)64 * 4096, &key, &uses), CODE_OK);
    for (unsigned i = 0; i < 3000 && code == CODE_OK; i++, counted += code == CODE_OK) {
        plan.digest[30] = (unsigned char)(i >> 8);
        plan.digest[31] = (unsigned char)i;
        code = plan_uses_count(uses, plan.digest, 1, plan.tenant, NOW - (3000 - i) * SECOND, NOW);
    }
    assert_int_equal(code, CODE_NOMEM);
    assert_in_range(counted, 20, 64 * 30); /* as many as when they were used, about: steps that nobody used cost nothing */
    plan.not_before_us = NOW - 3600 * SECOND;
    plan.expires_us = NOW + 3600 * SECOND;
    plan.digest[0]++;
    plan.tenant = SPAN_LIT("umbrella"); /* who has room: whether it was used, nobody knows */
    assert_int_equal(plan_uses_take(uses, &plan, plan.tenant, &all, NOW, &step), CODE_NOMEM);
    plan.not_before_us = NOW + 30 * SECOND; /* and which is this one, that could not be used then */
    assert_int_equal(plan_uses_take(uses, &plan, plan.tenant, &all, NOW, &step), CODE_OK);
    plan_uses_clear(uses);
    assert_int_equal(plan_uses_count(uses, plan.digest, 1, plan.tenant, NOW, NOW), CODE_OK);
    assert_int_equal(plan_uses_count(uses, plan.digest, 20, plan.tenant, NOW, NOW), CODE_OK); /* it is longer than it looked */
    expect(uses, &plan, 1, REASON_PLAN_USED);
    expect(uses, &plan, 20, REASON_PLAN_USED);
    expect(uses, &plan, 17, REASON_PERMITTED);
    plan_uses_clear(uses);
    for (uint32_t i = 1; i <= 8; i++)
        assert_int_equal(plan_uses_count(uses, plan.digest, i, plan.tenant, NOW, NOW), CODE_OK);
    plan.is_strict = true;
    expect(uses, &plan, 12, REASON_PLAN_ORDER); /* of those between nothing is recorded: none was used */
    expect(uses, &plan, 9, REASON_PERMITTED);
    plan_uses_free(&uses);
}

TEST_CASE(test_told_once)
{
    struct plan_step steps[1] = {{.times = 1}};
    struct plan plan = plan_of(1, steps, 1, false);
    struct plan_uses *uses;

    assert_int_equal(plan_uses_new((size_t)1 << 20, &key, &uses), CODE_OK);
    assert_false(plan_uses_is_told(uses, plan.digest));
    plan_uses_told(uses, &plan, plan.tenant, NOW);
    assert_true(plan_uses_is_told(uses, plan.digest));
    expect(uses, &plan, 1, REASON_PERMITTED);
    plan_uses_free(&uses);
}

/* ---- with the policy, through the one judgement ---- */

static const char rules[] =
    "policy: test\n"
    "rules:\n"
    "  - {id: planned, effect: permit, match: {tools: [buy]}, when: [{arg: n, max: 9, optional: true}, {plan: required}]}\n"
    "  - {id: few, effect: permit, match: {tools: [rare]}, limit: {calls: 1, per: hour}, when: [{plan: required}]}\n"
    "  - {id: free, effect: permit, match: {tools: [look]}}\n";

static void judge(struct gate_moment *moment, const struct policy *policy, const char *tool, struct policy_scratch *scratch,
                  struct gate_token *token, enum reason wanted)
{
    struct question question = {.tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot"), .upstream = SPAN_LIT("shop"),
                                .method = SPAN_LIT("tools/call"), .tool = span_text(tool)};
    struct verdict *verdict = mem_zalloc(sizeof *verdict);

    assert_non_null(verdict);
    gate_state_judge(moment, policy, &question, false, scratch, verdict, token);
    assert_string_equal(reason_name(verdict->reason), reason_name(wanted));
    mem_free(verdict);
}

/* A step and a limit are taken together or not at all, and given back together. */
TEST_CASE(test_with_the_policy)
{
    struct policy_file file = {SPAN_LIT("test.yaml"), span_text(rules)};
    struct plan_step steps[2] = {{.times = 2}, {.times = 1}};
    struct plan plan = plan_of(1, steps, 2, false);
    struct gate_moment moment = {.now_us = NOW};
    struct policy_scratch *scratch;
    struct gate_token token, kept;
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    assert_int_equal(policy_compile(&file, 1, 0, &policy, &faults, NULL), CODE_OK);
    assert_int_equal(policy_scratch_new(&scratch), CODE_OK);
    assert_int_equal(gate_state_new(GATE_STATE_BYTES, NULL, &moment.state), CODE_OK);
    judge(&moment, policy, "buy", scratch, &token, REASON_PLAN_REQUIRED);
    judge(&moment, policy, "other", scratch, &token, REASON_NO_RULE); /* a plan would not help */
    moment.plan = &plan;
    judge(&moment, policy, "buy", scratch, &token, REASON_PLAN_STEP);
    moment.fit = only(1);
    judge(&moment, policy, "rare", scratch, &kept, REASON_PERMITTED);
    assert_int_equal(moment.step, 1);
    judge(&moment, policy, "rare", scratch, &token, REASON_RATE_LIMITED);
    assert_int_equal(moment.step, 1); /* it would be one: only what is permitted uses it */
    assert_null(token.state);
    judge(&moment, policy, "look", scratch, &token, REASON_PERMITTED); /* whatever rule permits it */
    judge(&moment, policy, "buy", scratch, &token, REASON_PLAN_USED);
    gate_token_give_back(&kept);
    judge(&moment, policy, "rare", scratch, &kept, REASON_PERMITTED);
    judge(&moment, policy, "look", scratch, &token, REASON_PERMITTED); /* without a step: it asks for none */
    assert_int_equal(moment.step, 0);
    gate_token_spend(&kept);
    moment.fit = only(2);
    judge(&moment, policy, "buy", scratch, &token, REASON_PERMITTED);
    gate_token_spend(&token);
    judge(&moment, policy, "buy", scratch, &token, REASON_PLAN_USED);
    gate_state_free(&moment.state);
    policy_scratch_free(&scratch);
    policy_unref(&policy);
}

/* What other gates of a fleet have used counts here as much as there, and is told again where their centre lacks it. */
TEST_CASE(test_learned_from_elsewhere)
{
    struct plan_step steps[3] = {{.times = 2}, {.times = 1}, {.times = 1}};
    struct plan plan = plan_of(1, steps, 3, true);
    const struct wish_used used[] = {{1, 2}, {2, 1}, {0, 5}, {PLAN_STEPS_MAX + 1, 5}}, fewer[] = {{1, 1}};
    struct plan_uses *uses;
    struct wish_told told;
    uint64_t times[2] = {0};
    struct buf bytes;

    buf_init(&bytes, 65536);
    assert_int_equal(plan_uses_new((size_t)1 << 20, &key, &uses), CODE_OK);
    expect(uses, &plan, 2, REASON_PLAN_ORDER);
    assert_int_equal(plan_uses_learn(uses, plan.digest, plan.tenant, NULL, 0, NOW), CODE_OK);
    assert_int_equal(plan_uses_learn(uses, plan.digest, plan.tenant, used, 4, NOW), CODE_OK);
    assert_int_equal(plan_uses_learn(uses, plan.digest, plan.tenant, fewer, 1, NOW), CODE_OK); /* an older word takes nothing back */
    expect(uses, &plan, 1, REASON_PLAN_USED);
    expect(uses, &plan, 2, REASON_PLAN_USED);
    for (uint32_t part = 0; part < PLAN_USES_PARTS; part++)
        plan_uses_write(uses, part, NOW, &bytes);
    assert_int_equal(buf_len(&bytes), 2 * sizeof told);
    for (size_t i = 0; i < 2; i++) {
        memcpy(&told, buf_peek(&bytes).at + i * sizeof told, sizeof told);
        assert_int_equal(told.take.kind, WISH_STEP);
        assert_memory_equal(told.take.key, plan.digest, DIGEST_BYTES);
        assert_true(told.take.most >= 1 && told.take.most <= 2 && told.take.per_us > NOW);
        times[told.take.most - 1] = told.take.amount;
    }
    assert_true(times[0] == 2 && times[1] == 1);
    buf_clear(&bytes);
    for (uint32_t part = 0; part < PLAN_USES_PARTS; part++)
        plan_uses_write(uses, part, NOW + PLAN_LIFE_MAX_US + PLAN_LEEWAY_US, &bytes);
    assert_int_equal(buf_len(&bytes), 0); /* that plan has ended, whenever it was signed */
    expect(uses, &plan, 3, REASON_PERMITTED);
    plan_uses_free(&uses);
    buf_fini(&bytes);
}

/* Where there is no room for what was used elsewhere, the call is denied: gate_state_hear says so. */
TEST_CASE(test_no_room_to_learn)
{
    const struct wish_used used[] = {{1, 1}};
    struct plan_uses *uses;
    enum code code = CODE_OK;
    unsigned char digest[DIGEST_BYTES] = {0};
    uint32_t plans = 0;

    assert_int_equal(plan_uses_new(20000, &key, &uses), CODE_OK);
    while (code == CODE_OK && plans < 10000) {
        memcpy(digest, &plans, sizeof plans);
        code = plan_uses_learn(uses, digest, SPAN_LIT("acme"), used, 1, NOW);
        plans++;
    }
    assert_int_equal(code, CODE_NOMEM);
    plan_uses_free(&uses);
}

TEST_MAIN(NULL, NULL)
