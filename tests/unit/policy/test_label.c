/* SPDX-License-Identifier: Apache-2.0 */
/* 9.4: labels, in `match` and of the calls before. */
#include "crypto/digest.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "language/stray.h"
#include "unit/policy/judge.h"

#include <string.h>

static const char text[] =
    "policy: p\n"
    "labels:\n"
    "  private: ['crm_*', {upstreams: [vault], resources: ['file:///private/*']}, {upstreams: [files], tools: [read]}]\n"
    "  untrusted: [web_fetch, {prompts: ['ask_*']}]\n"
    "  out: [send, {upstreams: ['web*'], tools: [post]}]\n"
    "rules:\n"
    "  - {id: all, effect: permit, match: {upstreams: ['*'], methods: [tools/call, resources/read, prompts/get]}}\n"
    "  - id: both\n"
    "    effect: forbid\n"
    "    match: {labels: [out]}\n"
    "    when: [{session: {label: [private, untrusted], every: true, by: [session, principal]}}]\n"
    "  - {id: any, effect: require_approval, match: {tools: [pay]}, when: [{session: {label: [private, untrusted], within: 1h}}]}\n"
    "  - {id: clean, effect: permit, match: {upstreams: [lab], labels: [out], tools: ['*']}, when: [{not: "
    "{session: {label: private}}}]}\n"
    "  - {id: shut, effect: forbid, match: {upstreams: [vault], labels: [private]}, when: [{meta: ok, "
    "not_matches: 'yes', absent: applies}]}\n"
    "tests:\n"
    "  - {name: a, call: {tool: send}, expect: {verdict: permit}}\n"
    "  - {name: b, call: {tool: send, after: [crm_get]}, expect: {verdict: permit}}\n"
    "  - {name: c, call: {tool: send, after: [web_fetch]}, expect: {verdict: permit}}\n"
    "  - {name: d, call: {tool: send, after: [web_fetch, crm_get]}, expect: {verdict: deny, rule: both}}\n"
    "  - {name: e, call: {tool: send, after: [crm_get, web_fetch]}, expect: {verdict: deny, rule: both}}\n"
    "  - {name: f, call: {tool: send, after: [crm_get, {tool: web_fetch, ago: 23h}]}, expect: {verdict: deny, rule: both}}\n"
    "  - {name: g, call: {tool: send, after: [crm_get, {tool: web_fetch, ago: 25h}]}, expect: {verdict: permit}}\n"
    /* From one server to another: by the principal, whatever the session. */
    "  - {name: h, call: {tool: post, upstream: web2, after: [{tool: crm_x, upstream: a}, {tool: web_fetch, upstream: b, session: s9}]}, "
    "expect: {verdict: deny, rule: both}}\n"
    "  - {name: i, call: {tool: post, upstream: wab, after: [crm_get, web_fetch]}, expect: {verdict: permit}}\n"
    "  - {name: j, call: {tool: send, after: [{tool: crm_x, principal: x}, web_fetch]}, expect: {verdict: permit}}\n"
    /* One part by the session, the other by the principal. */
    "  - {name: k, call: {tool: send, session: '', after: [{tool: crm_x, session: s1}, web_fetch]}, expect: "
    "{verdict: deny, rule: both}}\n"
    /* Resources and prompts have labels, too, each where its entry says. */
    "  - {name: l, call: {tool: send, after: [{resource: 'file:///private/a', upstream: vault}, {prompt: "
    "ask_x}]}, expect: {verdict: deny, rule: both}}\n"
    "  - {name: m, call: {tool: send, after: [{resource: 'file:///private/a', upstream: other}, {prompt: "
    "ask_x}]}, expect: {verdict: permit}}\n"
    "  - {name: n, call: {tool: send, after: [{tool: read, upstream: files}, {prompt: ask_x}]}, expect: {verdict: deny, rule: both}}\n"
    "  - {name: o, call: {tool: send, after: [{tool: read, upstream: vault}, {tool: ask_x}]}, expect: {verdict: permit}}\n"
    /* Any of them; a tool whose name is a label's is none. */
    "  - {name: p, call: {tool: pay, after: [web_fetch]}, expect: {verdict: hold, rule: any}}\n"
    "  - {name: q, call: {tool: pay, after: [{tool: web_fetch, ago: 61min}]}, expect: {verdict: permit}}\n"
    "  - {name: r, call: {tool: pay, after: [untrusted]}, expect: {verdict: permit}}\n"
    /* Who belongs to nothing cannot be asked: it closes. */
    "  - {name: s, call: {tool: pay, session: '', correlation: ''}, expect: {verdict: hold, rule: any}}\n"
    /* In a permit, beside other names. */
    "  - {name: t, call: {tool: send, upstream: lab}, expect: {verdict: permit, rule: all}}\n"
    "  - {name: u, call: {method: resources/read, upstream: vault, params: {uri: 'file:///private/a'}}, "
    "expect: {verdict: deny, rule: shut}}\n"
    "  - {name: v, call: {method: resources/read, upstream: vault, params: {uri: 'file:///etc/a'}}, expect: {verdict: permit}}\n"
    "  - {name: u1, call: {method: acme/files/read, upstream: vault, resource: 'file:///private/a'}, "
    "expect: {verdict: deny, rule: shut}}\n"
    "  - {name: w, call: {method: prompts/get, upstream: vault, prompt: 'file:///private/a'}, expect: {verdict: permit}}\n"
    "  - {name: x, call: {tool: crm_x, upstream: vault}, expect: {verdict: deny, rule: shut}}\n"
    /* 10.2: a URI that some server takes for one of the label's has it for who closes, also later. */
    "  - {name: y, call: {method: resources/read, upstream: vault, params: "
    "{uri: 'file:///x/../private/a'}}, expect: {verdict: deny, rule: shut}}\n"
    "  - {name: z, call: {method: resources/read, upstream: vault, params: "
    "{uri: 'FILE:///private/a'}}, expect: {verdict: deny, rule: shut}}\n"
    "  - {name: y1, call: {method: resources/read, upstream: vault, params: "
    "{uri: 'file:////private/a'}}, "
    "expect: {verdict: deny, rule: shut}}\n"
    "  - {name: y2, call: {method: resources/read, upstream: vault, params: "
    "{uri: 'file://localhost/private/a'}}, "
    "expect: {verdict: deny, rule: shut}}\n"
    "  - {name: y3, call: {method: resources/read, upstream: vault, params: "
    "{uri: 'FILE:///etc/a'}}, "
    "expect: {verdict: permit}}\n"
    "  - {name: y4, call: {tool: send, after: [{resource: 'FILE:///private/a', upstream: vault}, "
    "web_fetch]}, expect: {verdict: deny, rule: both}}\n"
    "  - {name: y5, call: {tool: send, after: [{resource: 'file:///%70rivate/a', upstream: vault}, "
    "web_fetch]}, expect: {verdict: deny, rule: both}}\n"
    "  - {name: y6, call: {tool: pay, after: [{resource: 'file:///a//b', upstream: vault}]}, "
    "expect: {verdict: hold, rule: any}}\n";

TEST_CASE(test_meaning)
{
    static struct court court;

    court_open(&court, text);
    assert_int_equal(court_run_tests(&court), 33);
    court_close(&court);
}

#define RULES "rules:\n  - {id: r, effect: forbid, match: {labels: [a]}, when: [{session: {label: [b, a], by: tenant}}]}\n"

TEST_CASE(test_faults)
{
    static const struct {
        const char *file, *words;
    } rows[] = {
        {"labels: {a: [], b: [x]}\n" RULES, "without tools"},
        {"labels: {a: x, b: [x]}\n" RULES, "a list"},
        {"labels: [a]\n" RULES, "a map"},
        {"labels: {a: [''], b: [x]}\n" RULES, "empty name"},
        {"labels: {a: [{regex: x}], b: [x]}\n" RULES, "knows no `regex`"},
        {"labels: {a: [{tools: [{regex: x}]}], b: [x]}\n" RULES, "names and globs"},
        {"labels: {a: [{upstreams: [x]}], b: [x]}\n" RULES, "names `tools`, `resources` or `prompts`"},
        {"labels: {a: [{tools: [x], prompts: [x]}], b: [x]}\n" RULES, "at once"},
        {"labels: {a: [{tools: [x], principals: [x]}], b: [x]}\n" RULES, "knows no `principals`"},
        {"labels: {a: [{labels: [b]}], b: [x]}\n" RULES, "knows no `labels`"},
        {"labels: {a: [7], b: [x]}\n" RULES, "a string"},
        {"labels: {b: [x]}\n" RULES, "no label `a`"},
        {"labels: {a: [x], rivate: [x]}\nrules:\n  - {id: r, effect: forbid, match: {labels: [private]}}\n", "did you mean `rivate`"},
        {"lists: {a: [x], b: [x]}\n" RULES, "no label `a`"},
        {"labels: {a: [x]}\nrules:\n  - {id: r, effect: forbid, match: {labels: []}}\n", "empty list of labels"},
        {"labels: {a: [x]}\nrules:\n  - {id: r, effect: forbid, match: {labels: [{regex: a}]}}\n", "a string"},
        {"labels: {a: [x]}\nrules:\n  - {id: r, effect: forbid, when: [{session: {label: []}}]}\n", "empty list of labels"},
        {"labels: {a: [x]}\nrules:\n"
         "  - {id: r, effect: forbid, when: [{session: {label: [a], called: [x], within: 1h}}]}\n", "goes with"},
        {"labels: {a: [x]}\nrules:\n  - {id: r, effect: forbid, when: [{session: {label: [a], met: [x], within: 1h}}]}\n", "goes with"},
        {"labels: {a: [x]}\nrules:\n  - {id: r, effect: forbid, when: [{session: {label: [a], every: all}}]}\n", "`every` is true"},
        {"labels: {a: [x]}\nrules:\n"
         "  - {id: r, effect: forbid, when: [{session: {called: [a], every: true, within: 1h}}]}\n", "goes with `label`"},
        {"labels: {a: [x]}\nrules:\n  - {id: r, effect: forbid, when: [{session: {label: [a], within: 25h}}]}\n", "at most a day"},
        {"labels: {a: [x]}\nrules:\n  - {id: r, effect: forbid, when: [{session: {label: [a], by: [tool]}}]}\n", "asks by"},
        {"tests:\n  - {name: t, call: {tool: x, after: [{tool: x, prompt: y}]}, expect: {verdict: deny}}\n", "two calls"},
        {"tests:\n  - {name: t, call: {tool: x, after: [{ago: 1s}]}, expect: {verdict: deny}}\n", "`resource` or `prompt`"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct policy *policy = NULL;
        struct faults found;
        char file[1024];

        snprintf(file, sizeof file, "policy: p\n%s", rows[i].file);
        if (compile_text(file, &policy, &found, NULL) != CODE_INVALID || strstr(found.fault[0].text, rows[i].words) == NULL) {
            print_faults(&found);
            fail_msg("%s: wanted %s", rows[i].file, rows[i].words);
        }
        assert_true(found.fault[0].line > 1);
    }
}

static unsigned warnings_of(const char *file, const char *words)
{
    struct faults found, warnings;
    struct policy *policy;
    unsigned count = 0;

    assert_int_equal(compile_text(file, &policy, &found, &warnings), CODE_OK);
    for (size_t i = 0; i < warnings.count; i++)
        count += strstr(warnings.fault[i].text, words) != NULL;
    policy_unref(&policy);
    return count;
}

TEST_CASE(test_warnings)
{
    assert_int_equal(warnings_of("policy: p\nlabels: {a: [x], b: [y]}\n" RULES, "is used by no rule"), 0);
    assert_int_equal(warnings_of("policy: p\nlabels: {a: [x], b: [y], c: [z]}\n" RULES, "the label `c` is used by no rule"), 1);
    assert_int_equal(warnings_of("policy: p\nshared: true\nlabels: {a: [x], b: [y], c: [z]}\n" RULES, "is used by no rule"), 0);
    assert_int_equal(warnings_of("policy: p\nlabels: {a: [x], b: [y]}\n" RULES, "a session is one of one upstream"), 0);
    assert_int_equal(warnings_of("policy: p\nlabels: {a: [x]}\nrules:\n  - {id: f, effect: forbid, when: [{session: {label: a}}]}\n",
                                 "a session is one of one upstream"), 1);
    /* The label of one name covers itself, whatever it holds. */
    assert_int_equal(warnings_of("policy: p\nlabels: {a: [x], b: [y]}\nrules:\n  - {id: f, effect: forbid, match: {labels: [a, b]}}\n"
                                 "  - {id: q, effect: permit, match: {labels: [b]}}\n", "never decides"), 1);
    assert_int_equal(warnings_of("policy: p\nlabels: {a: [x], b: [y]}\nrules:\n  - {id: f, effect: forbid, match: {labels: [a]}}\n"
                                 "  - {id: q, effect: permit, match: {labels: [b]}}\n", "never decides"), 0);
}

static void strayed(void *context, const struct policy_stray *stray)
{
    char *out = context;
    size_t len = strlen(out);

    snprintf(out + len, 2000 - len, "%s%d: %s\n", stray->is_lost ? "LOST " : "", stray->line, stray->text);
}

TEST_CASE(test_strays)
{
    static const char *const tools[] = {"crm_get", "send", NULL};
    static const struct policy_route routes[] = {{.name = "shop", .tools = tools}, {.name = "mail"}};
    struct faults faults;
    struct policy *policy;
    char out[2000] = "";

    assert_int_equal(compile_text("policy: p\nlabels:\n  a: ['crm_*', {upstreams: [shpo], tools: [x]}]\n"
     "  b: [{upstreams: [shop], tools: [sned]}]\n" RULES,
                                  &policy, &faults, NULL), CODE_OK);
    policy_strays(policy, routes, 2, strayed, out);
    if (strstr(out, "LOST 3: the label `a` names the upstream `shpo`, which no route has") == NULL ||
        strstr(out, "4: the label `b` names the tool `sned`, which no server of its upstreams has listed lately") == NULL ||
        strstr(out, "crm_") != strstr(out, "crm_get"))
        fail_msg("%s", out);
    policy_unref(&policy);
}

/* ---- who is watched ---- */

static void watched(void *context, const struct policy_watch *watch, bool is_sure)
{
    assert_true(is_sure);
    assert_int_equal(watch->longest_us, INT64_C(86400000000));
    ++*(int *)context;
}

static int watches(struct court *court, const char *method, const char *target, const char *upstream)
{
    struct question question = plain_question();
    int count = 0;

    question.method = span_text(method);
    question.upstream = span_text(upstream);
    question.tool = question.resource = question.prompt = SPAN_NONE;
    *(method[0] == 't' ? &question.tool : method[0] == 'r' ? &question.resource : &question.prompt) = span_text(target);
    policy_each_watch(court->policy, &question, &(struct policy_met){.count = 0}, watched, &count);
    return count;
}

TEST_CASE(test_watches)
{
    static struct court court;

    court_open(&court, "policy: p\nlabels:\n  a: ['crm_*', {upstreams: [vault], resources: ['file:*']}]\n  b: ['crm_x', {prompts: [q]}]\n"
                       "rules:\n"
                        "  - {id: r, effect: forbid, when: [{any: [{session: {label: [a, b]}}, {session: {label: a, within: 1h}}]}]}\n");
    assert_int_equal(watches(&court, "tools/call", "crm_get", "u"), 1);
    assert_int_equal(watches(&court, "tools/call", "crm_x", "u"), 2);
    assert_int_equal(watches(&court, "tools/list", "", "u"), 0);
    assert_int_equal(watches(&court, "resources/read", "file:///a", "vault"), 1);
    assert_int_equal(watches(&court, "resources/subscribe", "file:///a", "vault"), 1);
    assert_int_equal(watches(&court, "resources/read", "file:///a", "u"), 0);
    assert_int_equal(watches(&court, "resources/read", "crm_x", "vault"), 0);
    assert_int_equal(watches(&court, "prompts/get", "q", "u"), 1);
    court_close(&court);
}

/* A version that names the same calls otherwise asks the audit again; one that only uses them otherwise does not. */
TEST_CASE(test_what_is_the_same_watch)
{
    static const char *const files[] = {
        "policy: p\nlabels: {a: [x], b: [y, z]}\n" RULES,
        "policy: p\nlabels: {b: [y, z], a: [x]}\nrules:\n"
         "  - {id: r, effect: forbid, when: [{session: {label: [a, b], every: true, by: tenant}}]}\n",
        "policy: p\nlabels: {a: [x], b: [y, zz]}\n" RULES,
        "policy: p\nlabels: {a: [{upstreams: [u], tools: [x]}], b: [y, z]}\n" RULES,
    };
    struct policy *policies[4];
    struct faults faults;

    for (int i = 0; i < 4; i++)
        assert_int_equal(compile_text(files[i], &policies[i], &faults, NULL), CODE_OK);
    assert_true(policy_watches_all_of(policies[0], policies[1]));
    assert_false(policy_watches_all_of(policies[0], policies[2]));
    assert_false(policy_watches_all_of(policies[0], policies[3]));
    for (int i = 0; i < 4; i++)
        policy_unref(&policies[i]);
}

/* ---- several files, and what an approval is bound to ---- */

static struct policy *compile_two(const char *first, const char *second, const char *words)
{
    struct policy_file files[] = {{SPAN_LIT("one.yaml"), span_text(first)}, {SPAN_LIT("two.yaml"), span_text(second)}};
    struct policy *policy = NULL;
    static struct faults faults;

    faults_init(&faults);
    if (policy_compile(files, 2, 0, &policy, &faults, NULL) != (words == NULL ? CODE_OK : CODE_INVALID) ||
        (words != NULL && strstr(faults.fault[0].text, words) == NULL)) {
        print_faults(&faults);
        fail_msg("wanted %s", words);
    }
    return policy;
}

#define USER "policy: user\nrules:\n  - {id: r, effect: require_approval, match: {labels: [out]}, when: [{session: {label: [in]}}]}\n"

TEST_CASE(test_shared)
{
    static const char *const sharing[] = {
        "policy: words\nshared: true\nlabels: {in: [x], out: [y]}\n",
        "policy: words\nshared: true\nlabels: {in: [x], out: [y], more: [z]}\n", /* that the rule does not name */
        "policy: words\nshared: true\nlabels: {in: [x], out: [y, z]}\n",
        "policy: words\nshared: true\nlabels: {in: [{upstreams: [u], tools: [x]}], out: [y]}\n",
    };
    char hashes[4][DIGEST_BYTES];

    for (int i = 0; i < 4; i++) {
        struct policy *policy = compile_two(sharing[i], USER, NULL);

        memcpy(hashes[i], policy_approval_hash(policy, SPAN_LIT("r")).at, DIGEST_BYTES);
        policy_unref(&policy);
        policy = compile_two(USER, sharing[i], NULL);
        assert_memory_equal(hashes[i], policy_approval_hash(policy, SPAN_LIT("r")).at, DIGEST_BYTES);
        policy_unref(&policy);
    }
    assert_memory_equal(hashes[0], hashes[1], DIGEST_BYTES);
    assert_memory_not_equal(hashes[0], hashes[2], DIGEST_BYTES);
    assert_memory_not_equal(hashes[0], hashes[3], DIGEST_BYTES);
    (void)compile_two("policy: words\nlabels: {in: [x], out: [y]}\n", USER, "no label `out`");
    (void)compile_two(sharing[0], USER "labels: {in: [z]}\n", "is also shared by");
    assert_true(policy_shares(span_text(sharing[0])));
    assert_false(policy_shares(SPAN_LIT("policy: p\nlabels: {a: [x]}\n")));
}

/* ---- lists: what nobody may do is not shown ---- */

static bool could(struct court *court, const char *method, const char *target, bool is_template)
{
    struct question question = plain_question();

    question.method = span_text(method);
    question.tool = SPAN_NONE;
    *(method[0] == 't' ? &question.tool : &question.resource) = span_text(target);
    question.any_resource = is_template;
    return policy_could_permit(court->policy, &question, court->scratch);
}

TEST_CASE(test_lists)
{
    static struct court court;

    court_open(&court, "policy: p\nlabels: {no: [wipe, {resources: ['file:///etc/*']}], yes: [{resources:"
     " ['file:///private/*']}]}\nrules:\n"
                       "  - {id: all, effect: permit, match: {tools: ['*']}}\n  - {id: home, effect: permit, match: {labels: [yes]}}\n"
                       "  - {id: shut, effect: forbid, match: {labels: [no]}}\n");
    assert_true(could(&court, "tools/call", "read", false));
    assert_false(could(&court, "tools/call", "wipe", false));
    assert_true(could(&court, "resources/read", "file:///private/a", false));
    assert_false(could(&court, "resources/read", "file:///etc/a", false));
    assert_true(could(&court, "resources/read", "file:///{path}", true));
    court_close(&court);
    court_open(&court, "policy: p\nlabels: {yes: [read]}\nrules:\n  - {id: home, effect: permit, match: {labels: [yes]}}\n");
    assert_false(could(&court, "resources/read", "file:///{path}", true)); /* the label has no resources */
    court_close(&court);
}

TEST_MAIN(NULL, NULL)
