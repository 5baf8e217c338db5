/* SPDX-License-Identifier: Apache-2.0 */
/* P214, 15.1: where a route judges the agent a call needs two halves, each by rules of its own. */
#include "judgement/judgement.h"
#include "policy/snapshot.h"
#include "unit/policy/judge.h"

#include <string.h>

#define RULES(text) "policy: p\nrules:\n" text
#define PERMIT(id, match) "  - {id: " id ", effect: permit, match: {tools: [t]" match "}}\n"
#define ASK(id, match) "  - {id: " id ", effect: require_approval, match: {tools: [t]" match "}}\n"

static struct question judged(const char *agent)
{
    struct question question = plain_question();

    question.agent = span_text(agent);
    question.is_agent_judged = true;
    return question;
}

/* Which rules decide which half. */
TEST_CASE(test_which_half)
{
    static const struct { const char *rule; unsigned halves; } rows[] = {
        {PERMIT("r", ""), 1U << HALF_PERSON},
        {PERMIT("r", ", principals: ['*']"), 1U << HALF_PERSON},
        {PERMIT("r", ", agents: [a]"), 1U << HALF_AGENT},
        {PERMIT("r", ", agents: [a], tenants: [x], upstreams: [up]"), 1U << HALF_AGENT},
        {PERMIT("r", ", agents: [a], principals: [p]"), HALVES_BOTH},
        {PERMIT("r", ", agents: [a], groups: [g]"), HALVES_BOTH},
        {PERMIT("r", ", agents: [a], scopes: [s]"), HALVES_BOTH},
        {ASK("r", ", agents: [a]"), 1U << HALF_AGENT},
        {ASK("r", ""), 1U << HALF_PERSON},
        {"  - {id: r, effect: permit, match: {tools: [t], agents: [a]}, when: [{claim: dept, equals: x}]}\n", HALVES_BOTH},
        {"  - {id: r, effect: permit, match: {tools: [t], agents: [a]}, when: [{not: {any: [{claim: dept, exists: true}]}}]}\n",
         HALVES_BOTH},
        {"  - {id: r, effect: permit, match: {tools: [t], agents: [a]}, when: [{arg: x, equals: {claim: sub}}]}\n", HALVES_BOTH},
        {"  - {id: r, effect: permit, match: {tools: [t], agents: [a]}, when: [{arg: x, under: '/{principal}'}]}\n",
         1U << HALF_AGENT},
        {"  - {id: r, effect: permit, match: {tools: [t]}, when: [{arg: x, under: '/{agent}'}, {claim: a, exists: true}]}\n",
         1U << HALF_PERSON},
        {"  - {id: q, effect: permit, match: {tools: [t]}, when: [{claim: a, exists: true}]}\n" PERMIT("r", ", agents: [a]"),
         1U << HALF_AGENT},
        {"  - {id: r, effect: forbid, match: {tools: [t], agents: [a]}}\n", HALVES_BOTH},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        struct court court;

        snprintf(text, sizeof text, RULES("%s"), rows[i].rule);
        court_open(&court, text);
        if (policy_rule_by_id(court.policy, SPAN_LIT("r"))->halves != rows[i].halves)
            fail_msg("%s", rows[i].rule);
        court_close(&court);
    }
}

struct expected {
    enum verdict_kind kind;
    enum reason reason;
    const char *rule, *agent_rule; /* NULL: none, in `rule`; the call does not need it, in `agent_rule` */
};

static void check(const char *text, struct question question, struct expected expected)
{
    struct court court;
    const struct verdict *verdict;

    court_open(&court, text);
    verdict = judge(&court, question, NULL);
    if (verdict->kind != expected.kind || verdict->reason != expected.reason ||
        !span_is(verdict->rule, expected.rule != NULL ? expected.rule : "") ||
        (verdict->agent_rule.at == NULL) != (expected.agent_rule == NULL) ||
        !span_is(verdict->agent_rule, expected.agent_rule != NULL ? expected.agent_rule : ""))
        fail_msg("%s: %s (%s) by %.*s and %.*s", text, verdict_text(verdict->kind), reason_name(verdict->reason),
                 SPAN_ARG(verdict->rule), SPAN_ARG(verdict->agent_rule));
    court_close(&court);
}

#define DENY(reason, rule, agent_rule) (struct expected){VERDICT_DENY, REASON_##reason, rule, agent_rule}
#define PERMITTED(rule, agent_rule) (struct expected){VERDICT_PERMIT, REASON_PERMITTED, rule, agent_rule}
#define HELD(rule, agent_rule) (struct expected){VERDICT_HOLD, REASON_APPROVAL_REQUIRED, rule, agent_rule}

TEST_CASE(test_lower_verdict)
{
    const char *both = RULES(PERMIT("p", "") PERMIT("q", ", agents: [a]"));

    check(both, judged("a"), PERMITTED("p", "q"));
    check(both, judged("b"), DENY(NO_AGENT_RULE, NULL, ""));
    check(both, judged(""), DENY(AGENT_UNKNOWN, NULL, ""));
    check(RULES(PERMIT("q", ", agents: ['*']")), judged(""), DENY(AGENT_UNKNOWN, NULL, ""));
    check(RULES(PERMIT("q", ", agents: [a]")), judged("a"), DENY(NO_RULE, NULL, "q"));
    check(RULES(PERMIT("q", ", agents: [a], principals: ['*']")), judged("a"), PERMITTED("q", "q"));
    check(RULES(PERMIT("p", "") PERMIT("q", ", agents: [a]") "  - {id: f, effect: forbid, match: {agents: [a]}}\n"), judged("a"),
          DENY(FORBIDDEN, "f", ""));
    check(RULES(PERMIT("p", "") "  - {id: f, effect: forbid, match: {tools: [t]}}\n"), judged(""), DENY(FORBIDDEN, "f", ""));
    check(RULES(PERMIT("p", "") PERMIT("q", ", agents: [a]") ASK("r", "")), judged("a"), HELD("r", "q"));
    check(RULES(PERMIT("p", "") ASK("r", ", agents: [a]")), judged("a"), HELD("r", "r"));
    check(RULES(ASK("r", ", agents: [a]")), judged("a"), DENY(NO_RULE, NULL, "r")); /* nobody is asked in vain */
    check(RULES(PERMIT("p", "") ASK("r", "")), judged("a"), DENY(NO_AGENT_RULE, NULL, ""));
    check(RULES(ASK("r", ", agents: [a], principals: ['*']")), judged("a"), HELD("r", "r"));
    check(RULES(ASK("q", ", agents: [a]") ASK("r", "")), judged("a"), HELD("r", "q"));
}

/* Where the route judges no agent, and of what every client needs to connect, all is as ever. */
TEST_CASE(test_one_half)
{
    const char *text = RULES(PERMIT("q", ", agents: [a]") "  - {id: c, effect: permit, match: {methods: [protocol]}}\n");
    struct question question = judged("a");

    question.is_agent_judged = false;
    check(text, question, PERMITTED("q", NULL));
    question = judged("");
    question.tool = SPAN_NONE;
    question.method = SPAN_LIT("initialize");
    check(text, question, PERMITTED("c", NULL));
    question.method = SPAN_LIT("notifications/initialized");
    check(text, question, PERMITTED("c", NULL));
    question.method = SPAN_LIT("resources/list");
    check(text, question, DENY(AGENT_UNKNOWN, NULL, ""));
}

/* Each permit's limits are taken once. */
TEST_CASE(test_limits)
{
    const char *limited = "limit: {calls: 5, per: hour}";
    const struct verdict *verdict;
    struct court court;
    char text[512];

    snprintf(text, sizeof text, RULES("  - {id: p, effect: permit, match: {tools: [t]}, %s}\n"
                                      "  - {id: q, effect: permit, match: {tools: [t], agents: [a]}, %s}\n"
                                      "  - {id: o, effect: permit, match: {tools: [t], agents: [b], principals: ['*']}, %s}\n"),
             limited, limited, limited);
    court_open(&court, text);
    verdict = judge(&court, judged("a"), NULL);
    assert_true(span_is(verdict->spent[HALF_PERSON].limit->rule, "p"));
    assert_true(span_is(verdict->spent[HALF_AGENT].limit->rule, "q"));
    verdict = judge(&court, judged("b"), NULL);
    assert_true(span_is(verdict->spent[HALF_PERSON].limit->rule, "o")); /* gives both, and counts once */
    assert_null(verdict->spent[HALF_AGENT].limit);
    verdict = judge(&court, judged("c"), NULL);
    assert_int_equal(verdict->reason, REASON_NO_AGENT_RULE);
    assert_null(verdict->spent[HALF_PERSON].limit); /* what is denied takes nothing */
    court_close(&court);
}

/* What lists show, what passes by names alone, and which scope is lacking. */
TEST_CASE(test_foresight)
{
    const struct span scopes[] = {SPAN_LIT("mine")};
    struct question question = judged("a");
    struct court court;

    court_open(&court, RULES(PERMIT("p", "") PERMIT("q", ", agents: [a]") PERMIT("s", ", agents: [s], scopes: [yours]")));
    assert_true(policy_could_permit(court.policy, &question, court.scratch));
    assert_true(policy_permits_all(court.policy, &question, court.scratch));
    question.agent = SPAN_LIT("b");
    assert_false(policy_could_permit(court.policy, &question, court.scratch));
    assert_false(policy_permits_all(court.policy, &question, court.scratch));
    assert_null(policy_lacking_scope(court.policy, &question, court.scratch).at);
    question.agent = SPAN_LIT("s");
    question.scopes = scopes;
    question.scope_count = 1;
    assert_false(policy_could_permit(court.policy, &question, court.scratch));
    assert_true(span_is(policy_lacking_scope(court.policy, &question, court.scratch), "yours"));
    question.is_agent_judged = false;
    question.agent = SPAN_LIT("b");
    assert_true(policy_could_permit(court.policy, &question, court.scratch));
    court_close(&court);
    court_open(&court, RULES(PERMIT("q", ", agents: [a]") ASK("r", "")));
    question = judged("a");
    assert_true(policy_could_permit(court.policy, &question, court.scratch)); /* a person may yet say so */
    assert_false(policy_permits_all(court.policy, &question, court.scratch));
    court_close(&court);
}

/* Monitored rules, in their halves. */
TEST_CASE(test_monitored)
{
    const struct verdict *verdict;
    struct court court;

    court_open(&court, RULES(PERMIT("p", "") "  - {id: q, effect: permit, match: {tools: [t], agents: [a]}, mode: monitor}\n"));
    verdict = judge(&court, judged("a"), NULL);
    assert_int_equal(verdict->reason, REASON_NO_AGENT_RULE);
    assert_true(verdict->has_monitor);
    assert_int_equal(verdict->monitor_kind, VERDICT_PERMIT);
    assert_true(span_is(verdict->monitor_rule, "p"));
    court_close(&court);
    court_open(&court, RULES(PERMIT("p", "") PERMIT("q", ", agents: [a]")
                             "  - {id: r, effect: require_approval, match: {tools: [t], agents: [a]}, mode: monitor}\n"));
    verdict = judge(&court, judged("a"), NULL);
    assert_int_equal(verdict->kind, VERDICT_PERMIT);
    assert_int_equal(verdict->monitor_kind, VERDICT_HOLD);
    assert_true(span_is(verdict->monitor_rule, "r"));
    court_close(&court);
}

TEST_MAIN(NULL, NULL)
