/* SPDX-License-Identifier: Apache-2.0 */
/* Limits on different values, and windows of any length: what is counted as one value, what is none. Number: 12.7 */
#include "language/compile_priv.h"
#include "judgement/judgement.h"
#include "unit/policy/judge.h"

#include <string.h>

static const char text[] =
    "policy: p\n"
    "rules:\n"
    "  - {id: see, effect: permit, match: {upstreams: [test], tools: ['*']}, limit: {distinct: {arg: patient, most: 2}, "
    "per: 31d, by: principal}}\n"
    "  - {id: send, effect: permit, match: {upstreams: [mail], tools: ['*']}, limit: [{calls: 9, per: 90s}, {distinct: {arg: '$.to[*]', "
    "most: 2}, per: hour, over: require_approval}]}\n"
    "  - {id: log, effect: permit, match: {upstreams: [log], tools: ['*']}, limit: {distinct: {arg: key, most: 256}, per: 250ms}}\n"
    "redact:\n"
    "  - {match: {upstreams: [log]}, args: [key]}\n"
    "tests:\n"
    "  - {name: a, call: {tool: get, arguments: {patient: p-1}}, expect: {verdict: permit, rule: see}}\n"
    "  - {name: b, call: {tool: get, arguments: {patient: p-1}, spent: {see: [p-1, p-2]}}, expect: {verdict: permit}}\n"
    "  - {name: c, call: {tool: get, arguments: {patient: p-3}, spent: {see: [p-1, p-2]}}, expect: {verdict: deny, "
    "rule: null, reason: rate_limited}}\n"
    "  - {name: d, call: {tool: get, arguments: {patient: p-3}, spent: {see: [p-1, p-1]}}, expect: {verdict: permit}}\n"
    "  - {name: e, call: {tool: get, arguments: {patient: p-3}, spent: {see: []}}, expect: {verdict: permit}}\n"
    "  - {name: f, call: {tool: get, arguments: {patient: p-3}, spent: {see: 1}}, expect: {verdict: permit}}\n"
    "  - {name: g, call: {tool: get, arguments: {patient: p-3}, spent: {see: 2}}, expect: {verdict: deny}}\n"
    "  - {name: h, call: {tool: get, arguments: {patient: p-1}, spent: {see: [p-1, p-2, p-3]}}, expect: {verdict: deny}}\n"
    "  - {name: i, call: {tool: get, arguments: {patient: P-1}, spent: {see: [[p-1, p-2]]}}, expect: {verdict: deny}}\n"
    /* equal as in equals: numbers by their value, and never equal to a string */
    "  - {name: j, call: {tool: get, arguments: {patient: 10e-1}, spent: {see: [1, 2]}}, expect: {verdict: permit}}\n"
    "  - {name: k, call: {tool: get, arguments: {patient: '1'}, spent: {see: [1, 2]}}, expect: {verdict: deny}}\n"
    "  - {name: l, call: {tool: get, arguments: {patient: 'true'}, spent: {see: [true, false]}}, expect: {verdict: deny}}\n"
    "  - {name: m, call: {tool: get, arguments: {patient: true}, spent: {see: [true, false]}}, expect: {verdict: permit}}\n"
    "  - {name: n, call: {tool: get, arguments: {patient: -0.0}, spent: {see: [0, 1]}}, expect: {verdict: permit}}\n"
    "  - {name: o, call: {tool: get, arguments: {patient: ''}, spent: {see: ['', x]}}, expect: {verdict: permit}}\n"
    /* not one value */
    "  - {name: p, call: {tool: get}, expect: {verdict: deny, reason: no_rule}}\n"
    "  - {name: q, call: {tool: get, arguments: {patient: null}}, expect: {verdict: deny, reason: no_rule}}\n"
    "  - {name: r, call: {tool: get, arguments: {patient: [p-1]}}, expect: {verdict: deny, reason: no_rule}}\n"
    "  - {name: s, call: {tool: get, arguments: {patient: {id: p-1}}}, expect: {verdict: deny, reason: no_rule}}\n"
    "  - {name: t, call: {upstream: mail, tool: send, arguments: {to: [a, b]}}, expect: {verdict: deny, reason: no_rule}}\n"
    "  - {name: u, call: {upstream: mail, tool: send, arguments: {to: [a, a]}}, expect: {verdict: deny, reason: no_rule}}\n"
    "  - {name: v, call: {upstream: log, tool: put, arguments: {key: a}}, expect: {verdict: deny, reason: no_rule}}\n"
    /* beside other limits, and over it a person */
    "  - {name: w, call: {upstream: mail, tool: send, arguments: {to: [c]}, spent: {send: [8, [a]]}}, expect: {verdict: permit}}\n"
    "  - {name: x, call: {upstream: mail, tool: send, arguments: {to: [c]}, spent: {send: [8, [a, b]]}}, expect:"
    " {verdict: hold, rule: send}}\n"
    "  - {name: y, call: {upstream: mail, tool: send, arguments: {to: [c]}, spent: {send: [8, 2]}, approved: [send]}, expect:"
    " {verdict: permit}}\n"
    "  - {name: z, call: {upstream: mail, tool: send, arguments: {to: [a]}, spent: {send: [9, [a]]}}, expect:"
    " {verdict: deny, reason: rate_limited}}\n";

TEST_CASE(test_cases)
{
    static struct court court;

    court_open(&court, text);
    assert_int_equal(court_run_tests(&court), 26);
    assert_int_equal(policy_memory_us(court.policy), POLICY_PER_MAX_US);
    court_close(&court);
}

static const struct {
    const char *limit, *words;
} faults[] = {
    {"{distinct: {arg: a, most: 0}, per: day}", "from 1 to 256"},
    {"{distinct: {arg: a, most: 257}, per: day}", "from 1 to 256"},
    {"{distinct: {arg: a, most: 2.5}, per: day}", "from 1 to 256"},
    {"{distinct: {arg: a}, per: day}", "`most` is how many"},
    {"{distinct: {most: 5}, per: day}", "has no `arg`"},
    {"{distinct: {arg: [a, b], most: 5}, per: day}", "string"},
    {"{distinct: {arg: '$.[', most: 5}, per: day}", "$"},
    {"{distinct: {arg: a, at_most: 5}, per: day}", "`at_most`"},
    {"{distinct: {arg: a, most: 5}, at_most: 5, per: day}", "`most` inside of `distinct`"},
    {"{distinct: a, per: day}", "map"},
    {"{distinct: {arg: a, most: 5}, calls: 5, per: day}", "write two limits"},
    {"{distinct: {arg: a, most: 5}, sum: a, at_most: 5, per: day}", "write two limits"},
    {"{distinct: {arg: a, most: 5}, per: day, by: [session]}", "as many sessions as it likes"},
    {"{distinct: {arg: a, most: 5}, per: day, by: [correlation]}", "limits nobody"},
    {"[{distinct: {arg: a, most: 5}, per: day}, {distinct: {arg: $.a, most: 6}, per: 24h}]", "counts the same"},
    {"{calls: 1}", "a time such as 15min or 7d"},
    {"{calls: 1, per: 32d}", "at most 31 days"},
    {"{calls: 1, per: 0s}", "at most 31 days"},
    {"{calls: 1, per: 15}", "at most 31 days"},
    {"{calls: 1, per: week}", "such as 90s, 15min, 24h or 7d"},
    {"{calls: 1, per: [day]}", "at most 31 days"},
    {"{calls: 1, per: 99999999999999999999d}", "at most 31 days"},
};

static const char *const taken[] = {
    "{calls: 1, per: 1ms}", "{calls: 1, per: 90s}", "{sum: a, at_most: 1, per: 7d}", "{distinct: {arg: '$..a', most: 1}, per: 744h}",
    "[{distinct: {arg: a, most: 5}, per: day}, {distinct: {arg: a, most: 9}, per: 7d}, {sum: a, at_most: 1, per: day}]",
};

static enum code compile_limit(const char *limit, const char *match, const char *call, struct faults *found)
{
    struct policy *policy = NULL;
    char file[1024];
    enum code code;

    snprintf(file, sizeof file, "policy: p\nrules:\n  - {id: r, effect: permit, match: {%s}, limit: %s}\n%s%s%s", match, limit,
             call ? "tests:\n  - {name: a, call: {tool: x, spent: {r: " : "", call ? call : "",
             call ? "}}, expect: {verdict: deny}}\n" : "");
    code = compile_text(file, &policy, found, NULL);
    if (code == CODE_OK)
        policy_unref(&policy);
    return code;
}

static void wants(enum code code, const struct faults *found, const char *words, const char *what)
{
    if (code != CODE_INVALID || strstr(found->fault[0].text, words) == NULL) {
        print_faults(found);
        fail_msg("%s: wanted %s", what, words);
    }
}

TEST_CASE(test_faults)
{
    struct faults found;

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        enum code code = compile_limit(faults[i].limit, "tools: [x]", NULL, &found);

        wants(code, &found, faults[i].words, faults[i].limit);
    }
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (compile_limit(taken[i], "tools: [x]", NULL, &found) != CODE_OK)
            fail_msg("%s: %s", taken[i], found.fault[0].text);
    wants(compile_limit(taken[3], "methods: [ping]", NULL, &found), &found, "name the `tools`", "no tools");
}

TEST_CASE(test_faults_of_what_is_spent)
{
    static const char one[] = "{distinct: {arg: a, most: 5}, per: day}";
    static const char two[] = "[{calls: 5, per: day}, {distinct: {arg: a, most: 5}, per: day}]";
    struct faults found;

    wants(compile_limit(one, "tools: [x]", "p-1", &found), &found, "a list such as {RULE: [p-1, p-2]}", "a bare value");
    wants(compile_limit(one, "tools: [x]", "[null]", &found), &found, "a list such as", "null");
    wants(compile_limit(one, "tools: [x]", "[[[p-1]]]", &found), &found, "a list such as", "a list in a list");
    wants(compile_limit(two, "tools: [x]", "[p-1, p-2]", &found), &found, "{RULE: 100}", "values where calls are counted");
    wants(compile_limit(two, "tools: [x]", "[1, p-2]", &found), &found, "a list such as", "one value alone");
    wants(compile_limit(two, "tools: [x]", "[1]", &found), &found, "a list of as many", "too few");
    wants(compile_limit("{calls: 5, per: day}", "tools: [x]", "[[a]]", &found), &found, "{RULE: 100}", "values of calls");
    assert_int_equal(compile_limit(one, "tools: [x]", "[a, b, c, d, e, f, g, h, i, j]", &found), CODE_OK);
    assert_int_equal(compile_limit(two, "tools: [x]", "[0, []]", &found), CODE_OK);
}

TEST_MAIN(NULL, NULL)
