/* SPDX-License-Identifier: Apache-2.0 */
/* 4.11: which calls one approval is for, told from the bytes that agents send: of `_meta` what some rule asks counts, the rest
 * may differ at the retry, whatever the method. */
#include "enforce/gate_priv.h"

#include "base/mem.h"
#include "mcp/message.h"
#include "language/language.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

struct bench {
    struct record_text text;
    struct arena arena;
    struct buf canonical;
    struct approvals *approvals;
    struct policy *policy;
};

static int make_bench(void **state)
{
    const unsigned char key[DIGEST_BYTES] = "a key";
    struct bench *bench = mem_zalloc(sizeof *bench);

    arena_init(&bench->arena, 1 << 24);
    buf_init(&bench->canonical, 1 << 24);
    *state = bench;
    return gate__record_text_init(&bench->text) == CODE_OK && approvals_new(key, &bench->approvals) == CODE_OK ? 0 : -1;
}

static int drop_bench(void **state)
{
    struct bench *bench = *state;

    policy_unref(&bench->policy);
    approvals_free(&bench->approvals);
    gate__record_text_fini(&bench->text);
    buf_fini(&bench->canonical);
    arena_fini(&bench->arena);
    mem_free(bench);
    return 0;
}

/* A policy of this one rule, which forbids. */
static void publish(struct bench *bench, const char *match, const char *when)
{
    char text[512];
    struct policy_file file = {SPAN_LIT("t.yaml"), {0}};
    struct faults faults;

    snprintf(text, sizeof text, "policy: t\nrules:\n  - {id: t, effect: forbid%s%s%s}\n", match, *when ? ", when: " : "", when);
    file.text = span_text(text);
    policy_unref(&bench->policy);
    faults_init(&faults);
    if (policy_compile(&file, 1, 1, &bench->policy, &faults, NULL) != CODE_OK)
        fail_msg("%s: %s", text, faults.fault[0].text);
}

/* By what an approval of the call is recognised. Takes: params NULL: none. */
static void recognise(struct bench *bench, const char *method, const char *params, unsigned char digest[DIGEST_BYTES])
{
    const struct verdict_people people = {.reason = SPAN_LIT("because"), .rule_hash = SPAN_LIT("hash"), .needed = 1};
    struct verdict verdict = {.kind = VERDICT_HOLD, .approval_count = 1,
                              .approvals = {{SPAN_LIT("r"), &people, false}}};
    const struct mcp_read_rules rules = {.params = NULL};
    struct call call = {.asked = {.tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot"), .upstream = SPAN_LIT("shop")}};
    struct question *question = &call.asked;
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};
    struct json_fault fault;
    char body[512];

    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"%s%s}", method, params ? ",\"params\":" : "",
             params ? params : "");
    arena_reset(&bench->arena);
    buf_clear(&bench->canonical);
    if (mcp_read(span_text(body), &rules, &bench->canonical, &bench->arena, &call.message, &fault) != REASON_PERMITTED)
        fail_msg("not read: %s", body);
    call_ask(&call);
    assert_int_equal(gate__bound_text(&bench->text, bench->policy, question), CODE_OK);
    assert_int_equal(approvals_note(bench->approvals, question, question->tenant, &verdict, &marks), REASON_UNSET);
    memcpy(digest, marks.mark[0].digest, DIGEST_BYTES);
}

static void expect(struct bench *bench, const char *method, const char *one, const char *other, bool is_same)
{
    unsigned char first[DIGEST_BYTES], second[DIGEST_BYTES];

    recognise(bench, method, one, first);
    recognise(bench, method, other, second);
    if ((memcmp(first, second, DIGEST_BYTES) == 0) != is_same)
        fail_msg("%s: %s and %s are %s", method, one ? one : "nothing", other ? other : "nothing",
                 is_same ? "two calls, not one" : "one call, not two");
}

#define READ "resources/read"
#define READS(meta) "{\"uri\":\"a:b\",\"_meta\":" meta "}"
#define CALLS(meta) "{\"name\":\"a\",\"_meta\":" meta "}"

TEST_CASE_WITH(what_no_rule_asks_may_differ, make_bench, drop_bench)
{
    struct bench *bench = *state;

    publish(bench, "", "[{arg: uri, equals: x}, {arg: $.a.b, equals: x}]");
    expect(bench, READ, READS("{\"progressToken\":1}"), READS("{\"progressToken\":2}"), true);
    expect(bench, READ, "{\"_meta\":{\"t\":1},\"uri\":\"a:b\"}", "{\"uri\":\"a:b\"}", true);
    expect(bench, READ, READS("{\"progressToken\":1}"), "{\"uri\":\"a:c\",\"_meta\":{\"progressToken\":1}}", false);
    expect(bench, "resources/subscribe", READS("{}"), "{\"uri\":\"a:b\"}", true);
    expect(bench, "logging/setLevel", "{\"level\":\"info\",\"_meta\":{\"t\":1}}", "{\"level\":\"info\"}", true);
    expect(bench, "logging/setLevel", "{\"level\":\"info\"}", "{\"level\":\"debug\"}", false);
    expect(bench, "logging/setLevel", "{\"level\":\"info\"}", NULL, false);
    expect(bench, "tools/list", "{\"_meta\":{\"t\":1}}", NULL, true);
    expect(bench, "tools/list", "{}", NULL, true);
    expect(bench, "completion/complete", "{\"ref\":{\"_meta\":1}}", "{\"ref\":{\"_meta\":2}}", false);
    /* Nothing of one part can be taken for another. */
    expect(bench, "tasks/frob", "{\"a\":1,\"b\":2}", "{\"a\":{\"b\":2}}", false);
    expect(bench, "tasks/frob", "{\"a\":1,\"_meta\":{\"b\":2}}", "{\"a\":1,\"b\":2}", false);
    expect(bench, "tasks/frob", "{\"a\":\"1,\\\"b\\\":2\"}", "{\"a\":1,\"b\":2}", false);
}

/* `_meta` in all ways that a rule can ask for a member of it. */
TEST_CASE_WITH(what_a_rule_asks_counts, make_bench, drop_bench)
{
    static const struct { const char *match, *when; bool role, other, presence; } rules[] = {
        /*                               another role, another member, whether it is there */
        {"", "[{meta: role, equals: x}]", false, true, true},
        {"", "[{not: {meta: $.role.deep, equals: x}}]", false, true, true},
        {"", "[{arg: $._meta.role, equals: x}]", false, true, true},
        {"", "[{arg: \"$['\\\\u005fmeta']['role']\", equals: x}]", false, true, true},
        {"", "[{param: $._meta.role, equals: x}]", false, true, true},
        {"", "[{any: [{arg: uri, equals: x}, {meta: role, keys: true, equals: x}]}]", false, true, true},
        {"", "[{arg: $._meta.other, equals: x}]", true, false, true},
        {"", "[{arg: uri, equals: x}]", true, true, true},
        {"", "[{arg: '$..*', equals: x}]", false, false, false},
        {"", "[{arg: '$.*', exists: true}]", false, false, false},
        {"", "[{arg: '$[*].role', equals: x}]", false, false, false},
        {"", "[{arg: '$..role', equals: x}]", false, false, false},
        {"", "[{arg: \"$['uri','_meta']\", exists: true}]", false, false, false},
        {"", "[{arg: $, keys: true, equals: x}]", false, false, false},
        {"", "[{arg: $._meta, exists: true}]", false, false, false},
        {"", "[{arg: $._meta, keys: true, equals: x}]", false, false, false},
        {"", "[{meta: $, exists: true}]", false, false, false},
        {"", "[{meta: '$..role', equals: x}]", false, false, false},
        /* What can only be about calls with arguments asks nothing of other methods. */
        {", match: {tools: ['*']}", "[{arg: '$..*', equals: x}]", true, true, true},
        {", match: {prompts: ['*']}", "[{meta: role, equals: x}]", true, true, true},
        {", match: {methods: ['*']}", "[{arg: '$..*', equals: x}]", false, false, false},
        {", match: {resources: ['*']}", "[{arg: '$..*', equals: x}]", false, false, false},
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        publish(bench, rules[i].match, rules[i].when);
        expect(bench, READ, READS("{\"role\":\"x\"}"), READS("{\"role\":\"y\"}"), rules[i].role);
        expect(bench, READ, READS("{\"role\":\"x\"}"), "{\"uri\":\"a:b\"}", rules[i].role);
        expect(bench, READ, READS("{\"other\":1}"), READS("{}"), rules[i].other);
        expect(bench, READ, READS("{}"), "{\"uri\":\"a:b\"}", rules[i].presence);
    }
}

/* Of calls with arguments the same; there `arg:` does not reach `_meta`. */
TEST_CASE_WITH(calls_with_arguments, make_bench, drop_bench)
{
    static const struct { const char *when; bool role, other, presence; } rules[] = {
        {"[{arg: '$..*', equals: x}]", true, true, true},
        {"[{arg: $._meta.role, equals: x}]", true, true, true},
        {"[{meta: role, equals: x}]", false, true, true},
        {"[{param: $._meta.role, equals: x}]", false, true, true},
        {"[{param: $._meta, exists: true}]", false, false, false},
        {"[{meta: $, exists: true}]", false, false, false},
        {"[{param: task, exists: true}]", true, true, true},
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        publish(bench, "", rules[i].when);
        expect(bench, "tools/call", CALLS("{\"role\":\"x\"}"), CALLS("{\"role\":\"y\"}"), rules[i].role);
        expect(bench, "prompts/get", CALLS("{\"role\":\"x\"}"), CALLS("{}"), rules[i].role);
        expect(bench, "tools/call", CALLS("{\"other\":1}"), CALLS("{}"), rules[i].other);
        expect(bench, "tools/call", CALLS("{}"), "{\"name\":\"a\"}", rules[i].presence);
        expect(bench, "tools/call", "{\"name\":\"a\",\"arguments\":{\"_meta\":1}}", "{\"name\":\"a\",\"arguments\":{}}", false);
        expect(bench, "tools/call", CALLS("{},\"arguments\":{\"x\":1}"), CALLS("{},\"arguments\":{\"x\":2}"), false);
        expect(bench, "tools/call", "{\"name\":\"a\",\"task\":{}}", "{\"name\":\"a\"}", false);
    }
}

/* `only_args` sees whether `$` has a `_meta`. */
TEST_CASE_WITH(only_args_sees_it, make_bench, drop_bench)
{
    struct bench *bench = *state;
    struct policy_file file = {SPAN_LIT("t.yaml"), SPAN_LIT("policy: t\nrules:\n  - {id: t, effect: permit, match: "
                                                            "{methods: [resources/read]}, only_args: [uri]}\n")};
    struct faults faults;

    faults_init(&faults);
    assert_int_equal(policy_compile(&file, 1, 1, &bench->policy, &faults, NULL), CODE_OK);
    expect(bench, READ, READS("{}"), "{\"uri\":\"a:b\"}", false);
}

TEST_MAIN(NULL, NULL)
