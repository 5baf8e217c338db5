/* SPDX-License-Identifier: Apache-2.0 */
/* An approval on its way through the proxy: it is used by the call that goes up, and by no other. */
#include "sim/sim_check.h"

#include "state/approvals.h"
#include "language/language.h"

#include <stdio.h>

#define MAIL "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"mail\",\"arguments\":{\"to\":\"x\"}}}"
#define RESULT "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}"

static const char held_policy[] = "policy: held\nrules:\n  - {id: mail.all, effect: require_approval, match: {tools: [mail]}}\n";

static struct approvals *people(void)
{
    return gate_approvals(sim->shared);
}

static void hold_mail(void)
{
    struct policy_file file = {SPAN_LIT("held.yaml"), span_text(held_policy)};
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    assert_int_equal(policy_compile(&file, 1, 1, &policy, &faults, NULL), CODE_OK);
    gate_publish_policy(sim->shared, policy);
}

static void approve(const struct approval_answer *answer)
{
    assert_int_equal(approvals_answer(people(), answer), CODE_OK);
}

/* A call is held, and a person approves it. */
static struct approval_answer held_and_approved(void)
{
    static char tenant[64], principal[64];
    struct approval_answer answer = {.number = 17, .is_granted = true};
    struct approval_ask *ask;

    hold_mail();
    sim_agent_posts(sim, MAIL, "");
    has(sim_agent_hears(sim), "approvals show --decision 101");
    assert_int_equal(sim_last_decision(sim)->verdict, AUDIT_HOLD);
    ask = approvals_next_ask(people());
    assert_non_null(ask);
    assert_int_equal(ask->decision, 101);
    assert_true(span_is(ask->arguments, "{\"to\":\"x\"}"));
    memcpy(answer.digest, ask->digest, DIGEST_BYTES);
    (void)snprintf(tenant, sizeof tenant, "%.*s", SPAN_ARG(ask->tenant));
    (void)snprintf(principal, sizeof principal, "%.*s", SPAN_ARG(ask->principal));
    answer.tenant = span_text(tenant);
    answer.principal = span_text(principal);
    answer.time_us = ask->asked_us + INT64_C(3600000000);
    approval_ask_free(&ask);
    approve(&answer);
    return answer;
}

static void passes_once(void)
{
    struct approval_use use;

    (void)held_and_approved();
    sim_agent_posts(sim, MAIL, "");
    has(sim_upstream_hears(sim, 0), "tools/call");
    assert_true(approvals_next_use(people(), &use));
    assert_int_equal(use.number, 17);
    assert_int_equal(use.decision, 102);
    sim_upstream_answers(sim, 0, "application/json", RESULT);
    has(sim_agent_hears(sim), RESULT);
    sim_agent_posts(sim, MAIL, "");
    has(sim_agent_hears(sim), "approval_required");
    assert_string_equal(sim_upstream_hears(sim, 0), "");
}

/* What was not recorded has used nothing. */
static void is_given_back(void)
{
    struct approval_answer answer = held_and_approved();
    struct approval_use use;

    sim->holds_audit = true;
    sim_agent_posts(sim, MAIL, "");
    assert_true(fake_audit_settle(sim->ring, AUDIT_FAILED));
    lane_woken(&sim->lane);
    sim_run(sim);
    has(sim_agent_hears(sim), "\"code\":\"unavailable\"");
    assert_false(approvals_next_use(people(), &use));
    assert_true(approvals_tick(people(), answer.time_us - 1));
    sim->holds_audit = false;
    sim->ring->is_down = true;
    approve(&answer);
    sim_agent_posts(sim, MAIL, "");
    has(sim_agent_hears(sim), "\"code\":\"unavailable\"");
    assert_true(approvals_tick(people(), answer.time_us - 1));
    sim->ring->is_down = false;
    approve(&answer);
    sim_agent_posts(sim, MAIL, "");
    has(sim_upstream_hears(sim, sim->upstream_count - 1), "tools/call");
    assert_true(approvals_next_use(people(), &use));
}

/* An agent that leaves while its record is on its way to the disk has used it. */
static void leaves_before_it_is_known(void)
{
    struct approval_use use;

    (void)held_and_approved();
    sim->holds_audit = true;
    sim_agent_posts(sim, MAIL, "");
    assert_false(approvals_next_use(people(), &use));
    sim_agent_leaves(sim);
    sim_run(sim);
    assert_true(approvals_next_use(people(), &use));
    assert_int_equal(use.number, 17);
    assert_int_equal(use.decision, 0);
    sim->holds_audit = false;
    sim_run(sim);
}

TEST_CASE(test_approval) /* 2.2 */
{
    in_every_weather(passes_once);
    in_every_weather(is_given_back);
    in_every_weather(leaves_before_it_is_known);
}

TEST_MAIN(NULL, NULL)
