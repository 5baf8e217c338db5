/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of policies that say their past, and calls of resources and prompts. Number: 2.1 */
#include "language/compile_priv.h"
#include "texts/date.h"
#include "judgement/judgement.h"
#include "unit/policy/judge.h"

#include <string.h>

static const char text[] =
    "policy: p\n"
    "rules:\n"
    "  - {id: all, effect: permit, match: {upstreams: [test, vault], tools: ['*']}, limit: {calls: 3, per: minute}}\n"
    "  - {id: docs, effect: permit, match: {resources: ['file:///docs/*', {regex: 'db://[a-z]+'}]}}\n"
    "  - {id: ask, effect: permit, match: {prompts: [review]}, when: [{arg: depth, max: 3}]}\n"
    "  - {id: leak, effect: forbid, match: {tools: [mail]}, when: [{session: {called: ['read_*'], upstreams: [vault], within: 5min}}]}\n"
    "  - {id: night, effect: forbid, match: {tools: [deploy]}, when: [{during: {hours: '18:00-08:00', zone: Europe/Berlin}}]}\n"
    "  - {id: far, effect: forbid, match: {tools: [admin]}, when: [{not: {client: 10.0.0.0/8}}]}\n"
    "  - {id: harm, effect: require_approval, match: {tools: [wipe]}, when: [{annotations: {destructiveHint: true}}]}\n"
    "  - {id: secret, effect: forbid, match: {resources: ['*secret*']}}\n"
    /* 7.4 */
    "  - {id: pay, effect: permit, match: {upstreams: [bank], tools: ['*']}, limit: [{calls: 5, per: hour}, "
    "{sum: '$.of[*].amount', at_most: 100.5, per: day, by: [principal], over: require_approval}]}\n"
    "  - {id: no-other, effect: forbid, match: {upstreams: [bank], tools: [mail]}, when: [{session: {met: [docs], within: 1h}}]}\n"
    "tests:\n"
    "  - {name: 1a, call: {tool: pay, upstream: bank, arguments: {of: [{amount: 100}, {amount: 0.5}]}}, expect: {verdict: permit}}\n"
    "  - {name: 1b, call: {tool: pay, upstream: bank, arguments: {of: [{amount: 100}, {amount: 0.6}]}}, expect: {verdict: hold, "
    "rule: pay, reason: approval_required}}\n"
    "  - {name: 1c, call: {tool: pay, upstream: bank, approved: [pay], arguments: {of: [{amount: 101}]}}, expect: {verdict: permit, "
    "rule: pay}}\n"
    "  - {name: 1d, call: {tool: pay, upstream: bank, arguments: {of: [{amount: 1}, {}]}}, expect: {verdict: deny, reason: no_rule}}\n"
    "  - {name: 1e, call: {tool: pay, upstream: bank, arguments: {of: [{amount: -1}]}}, expect: {verdict: deny, reason: no_rule}}\n"
    "  - {name: 1f, call: {tool: pay, upstream: bank, arguments: {of: [{amount: '1'}]}}, expect: {verdict: deny, reason: no_rule}}\n"
    "  - {name: 1g, call: {tool: pay, upstream: bank, arguments: {of: []}}, expect: {verdict: deny, reason: no_rule}}\n"
    "  - {name: 1h, call: {tool: pay, upstream: bank}, expect: {verdict: deny, reason: no_rule}}\n"
    "  - {name: 1i, call: {tool: pay, upstream: bank, spent: {pay: [4, 100]}, arguments: {of: [{amount: 0.5}]}}, expect: "
    "{verdict: permit}}\n"
    "  - {name: 1j, call: {tool: pay, upstream: bank, spent: {pay: [4, 100.4]}, arguments: {of: [{amount: 0.2}]}}, expect: "
    "{verdict: hold}}\n"
    "  - {name: 1k, call: {tool: pay, upstream: bank, approved: [pay], spent: {pay: [5, 100.4]}, arguments: {of: [{amount: 0.2}]}}, "
    "expect: {verdict: deny, reason: rate_limited, rule: null}}\n"
    "  - {name: 1l, call: {tool: mail, upstream: bank, after: [{met: docs, ago: 5min}], arguments: {of: [{amount: 1}]}}, "
    "expect: {verdict: deny, rule: no-other}}\n"
    "  - {name: 1m, call: {tool: mail, upstream: bank, after: [{met: pay}, {tool: docs}], arguments: {of: [{amount: 1}]}}, "
    "expect: {verdict: permit}}\n"
    "  - {name: a, call: {tool: mail}, expect: {verdict: permit, rule: all}}\n"
    "  - {name: b, call: {tool: mail, after: [read_x]}, expect: {verdict: permit}}\n"
    "  - {name: c, call: {tool: mail, upstream: vault, after: [read_x]}, expect: {verdict: deny, rule: leak}}\n"
    "  - {name: d, call: {tool: mail, after: [{tool: read_x, upstream: vault}]}, expect: {verdict: deny, rule: leak}}\n"
    "  - {name: e, call: {tool: mail, after: [{tool: read_x, upstream: vault, ago: 5min}]}, expect: {verdict: deny}}\n"
    "  - {name: f, call: {tool: mail, after: [{tool: read_x, upstream: vault, ago: 301s}]}, expect: {verdict: permit}}\n"
    "  - {name: g, call: {tool: mail, after: [{tool: read_x, upstream: vault, correlation: c}]}, expect: {verdict: permit}}\n"
    "  - {name: h, call: {tool: mail, session: '', correlation: ''}, expect: {verdict: deny, rule: leak}}\n"
    "  - {name: i, call: {tool: x, spent: {all: 2}}, expect: {verdict: permit}}\n"
    "  - {name: j, call: {tool: x, spent: {all: 3}}, expect: {verdict: deny, reason: rate_limited, rule: null}}\n"
    "  - {name: k, call: {tool: deploy, time: '2026-07-06T17:59:59+02:00'}, expect: {verdict: permit}}\n"
    "  - {name: l, call: {tool: deploy, time: '2026-07-06T16:00:00.5Z'}, expect: {verdict: deny, rule: night}}\n"
    "  - {name: m, call: {tool: deploy}, expect: {verdict: deny, rule: night}}\n"
    "  - {name: n, call: {tool: admin, client: 10.1.2.3}, expect: {verdict: permit}}\n"
    "  - {name: o, call: {tool: admin, client: 11.1.2.3}, expect: {verdict: deny, rule: far}}\n"
    "  - {name: p, call: {tool: admin}, expect: {verdict: deny, rule: far}}\n"
    "  - {name: q, call: {tool: wipe, annotations: {destructiveHint: true}}, expect: {verdict: hold, rule: harm}}\n"
    "  - {name: r, call: {tool: wipe, annotations: {destructiveHint: false}}, expect: {verdict: permit}}\n"
    "  - {name: s, call: {tool: wipe}, expect: {verdict: permit}}\n"
    "  - {name: t, call: {method: resources/read, params: {uri: 'file:///docs/a'}}, expect: {verdict: permit, rule: docs}}\n"
    "  - {name: u, call: {method: resources/subscribe, params: {uri: 'db://abc'}}, expect: {verdict: permit, rule: docs}}\n"
    "  - {name: v, call: {method: resources/read, params: {uri: 'db://abc1'}}, expect: {verdict: deny, reason: no_rule}}\n"
    "  - {name: w, call: {method: resources/read, params: {uri: 'file:///docs/secret'}}, expect: {verdict: deny, rule: secret}}\n"
    "  - {name: x, call: {method: resources/list}, expect: {verdict: deny, reason: method_unknown}}\n"
    "  - {name: y, call: {method: prompts/get, prompt: review, arguments: {depth: 3}}, expect: {verdict: permit, rule: ask}}\n"
    "  - {name: z, call: {method: prompts/get, prompt: revue, arguments: {depth: 3}}, expect: {verdict: deny, reason: no_rule}}\n"
    "  - {name: za, call: {method: prompts/get, prompt: review, arguments: {depth: 4}}, expect: {verdict: deny, reason: no_rule}}\n";

TEST_CASE(test_cases_with_a_past)
{
    static struct court court;

    court_open(&court, text);
    assert_int_equal(court_run_tests(&court), 40);
    court_close(&court);
}

TEST_CASE(test_time_is_read_to_the_microsecond)
{
    int64_t time_us = 0;

    assert_true(date_time_read(SPAN_LIT("1970-01-01T00:00:00Z"), &time_us));
    assert_int_equal(time_us, 0);
    assert_true(date_time_read(SPAN_LIT("2026-11-20T18:00:00.123456789+01:30"), &time_us));
    assert_int_equal(time_us, INT64_C(1795192200123456));
    assert_false(date_time_read(SPAN_LIT("2026-11-20"), &time_us));
    assert_false(date_time_read(SPAN_LIT(""), &time_us));
}

static const struct {
    const char *call, *words;
} faults[] = {
    {"{tool: x, time: yesterday}", "point of time"},
    {"{tool: x, after: read_x}", "a list"},
    {"{tool: x, after: [{ago: 5min}]}", "names its `tool`"},
    {"{tool: x, after: [{tool: y, ago: 5}]}", "`ago` is a time"},
    {"{tool: x, after: [{tool: y, agoo: 5s}]}", "did you mean `ago`"},
    {"{tool: x, spent: {nobody: 1}}", "no rule `nobody`"},
    {"{tool: x, spent: {plain: 1}}", "has no limit"},
    {"{tool: x, spent: {limited: many}}", "{RULE: 100}"},
    {"{tool: x, spent: {limited: [1, 2]}}", "a number for each limit"},
    {"{tool: x, spent: {limited: -1}}", "{RULE: 100}"},
    {"{tool: x, after: [{met: limitd}]}", "did you mean `limited`"},
    {"{tool: x, approved: [limited]}", "over: require_approval"},
    {"{tool: x, annotations: {destructiveHint: 1}}", "true or false"},
    {"{tool: x, method: ping}", "tools/list"}, /* where a description is asked for */
    {"{tool: x, prompt: y}", "goes with the method prompts/get"},
    {"{method: resources/read, resource: 'file:///a'}", "which resource it is"},
};

TEST_CASE(test_faults)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct policy *policy = NULL;
        struct faults found;
        char file[1024];

        snprintf(file, sizeof file,
                 "policy: p\nrules:\n  - {id: plain, effect: permit, match: {tools: [x]}}\n"
                 "  - {id: limited, effect: permit, match: {tools: [x]}, limit: {calls: 1, per: day}}\n"
                 "tests:\n  - {name: a, call: %s, expect: {verdict: permit}}\n", faults[i].call);
        if (compile_text(file, &policy, &found, NULL) != CODE_INVALID || strstr(found.fault[0].text, faults[i].words) == NULL) {
            print_faults(&found);
            fail_msg("%s: wanted %s", faults[i].call, faults[i].words);
        }
        assert_int_equal(found.fault[0].line, 6);
    }
}

TEST_MAIN(NULL, NULL)
