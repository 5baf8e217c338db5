/* SPDX-License-Identifier: Apache-2.0 */
/* 12.9: `allow`, `ask` and `deny` are rules that everything else knows. */
#include "base/mem.h"
#include "fill/parameters.h"
#include "policy/rule.h"
#include "policy/snapshot.h"
#include "unit/policy/judge.h"
#include "yaml/yaml.h"

static struct faults faults, warnings;

static const struct rule *rule_of(const struct policy *policy, const char *id)
{
    for (uint32_t i = 0; i < policy->rule_count; i++)
        if (span_is(policy->rules[i].id, id))
            return &policy->rules[i];
    fail_msg("there is no rule %s", id);
    return NULL;
}

static void names(const struct rule *rule, enum dimension dimension, const char *name)
{
    const struct names *of = &rule->match.by[dimension];

    assert_true(of->given == (name != NULL));
    if (name != NULL) {
        assert_int_equal(of->count, 1);
        assert_true(span_is(of->name[0].text, name));
    }
}

static struct policy *compiled(const char *text)
{
    struct policy *policy;

    if (compile_text(text, &policy, &faults, &warnings) != CODE_OK) {
        print_faults(&faults);
        fail_msg("does not compile:\n%s", text);
    }
    return policy;
}

TEST_CASE(test_each_is_a_rule)
{
    struct policy *policy = compiled("policy: p\n"
                                     "rules: [{id: r, effect: permit, match: {tools: [own]}}]\n"
                                     "allow: {clinic: {'group:doctors': [get], bob: ['get_*'], 'tenant:acme': [a],\n"
                                     "                 'principal:everyone': [b], everyone: [list]}}\n"
                                     "ask: {'c*': {everyone: [book]}}\n"
                                     "deny: {'*': {'dr x%': ['*_delete']}}\n");
    const struct rule *rule = rule_of(policy, "p.allow.clinic.group:doctors");

    assert_int_equal(policy->rule_count, 1 + 2 * 6 + 1);
    assert_int_equal(rule->effect, EFFECT_PERMIT);
    assert_int_equal(rule->line, 3);
    names(rule, DIM_UPSTREAM, "clinic");
    names(rule, DIM_GROUP, "doctors");
    names(rule, DIM_TOOL, "get");
    names(rule, DIM_PRINCIPAL, NULL);
    names(rule, DIM_TENANT, NULL);
    rule = rule_of(policy, "p.allow.clinic.group:doctors.protocol");
    names(rule, DIM_GROUP, "doctors");
    names(rule, DIM_METHOD, "protocol");
    names(rule, DIM_TOOL, NULL);
    names(rule_of(policy, "p.allow.clinic.bob"), DIM_PRINCIPAL, "bob");
    names(rule_of(policy, "p.allow.clinic.tenant:acme"), DIM_TENANT, "acme");
    names(rule_of(policy, "p.allow.clinic.principal:everyone"), DIM_PRINCIPAL, "everyone");
    names(rule_of(policy, "p.allow.clinic.everyone"), DIM_PRINCIPAL, NULL);
    assert_int_equal(rule_of(policy, "p.ask.c*.everyone")->effect, EFFECT_REQUIRE_APPROVAL);
    rule = rule_of(policy, "p.deny.*.dr%20x%25");
    assert_int_equal(rule->effect, EFFECT_FORBID);
    names(rule, DIM_PRINCIPAL, "dr x%");
    assert_int_equal(rule_of(policy, "r")->effect, EFFECT_PERMIT);
    policy_unref(&policy);
}

/* Who is asked for by a call of the tool. */
struct call {
    const char *principal, *group, *tool;
    enum verdict_kind verdict;
};

TEST_CASE(test_how_they_are_judged)
{
    static const struct call calls[] = {
        {"ada", "doctors", "get", VERDICT_PERMIT},       {"ada", NULL, "get", VERDICT_DENY},
        {"group:doctors", NULL, "get", VERDICT_DENY},    {"doctors", NULL, "get", VERDICT_DENY},
        {"ada", NULL, "list", VERDICT_PERMIT},           {"ada", NULL, "book", VERDICT_HOLD},
        {"ada", NULL, "list_delete", VERDICT_DENY},      {"ada", "doctors", "other", VERDICT_DENY},
    };
    struct court court;

    court_open(&court, "policy: p\nallow: {test: {'group:doctors': [get], everyone: [list, book, 'list_*']}}\n"
                       "ask: {test: {everyone: [book]}}\ndeny: {'*': {everyone: ['*_delete']}}\n");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct question question = plain_question();
        struct span group = span_text(calls[i].group);

        question.upstream = SPAN_LIT("test");
        question.principal = span_text(calls[i].principal);
        question.tool = span_text(calls[i].tool);
        question.groups = &group;
        question.group_count = calls[i].group != NULL;
        policy_eval(court.policy, &question, false, court.scratch, &court.verdict);
        if (court.verdict.kind != calls[i].verdict)
            fail_msg("%s of %s: %d", calls[i].tool, calls[i].principal, (int)court.verdict.kind);
    }
    court_close(&court);
}

TEST_CASE(test_what_is_wrong)
{
    static const struct { const char *text, *fault; } wrong[] = {
        {"allow: [a]\n", "write allow: {UPSTREAM: {everyone: [TOOL]}}"},
        {"ask: {shop: [a]}\n", "write {everyone: [search]}"},
        {"deny: {shop: {bob: a}}\n", "behind who stand tools in a list"},
        {"allow: {shop: {bob: []}}\n", "an empty list of tools never matches"},
        {"allow: {shop: {bob: [{regex: x}]}}\n", "names and globs of tools"},
        {"allow: {shop: {all: [a]}}\n", "write everyone for all"},
        {"deny: {shop: {Everyone: [a]}}\n", "write everyone for all"},
        {"deny: {shop: {'everyone ': [a]}}\n", "write everyone for all"},
        {"deny: {shop: {'Group:x': [a]}}\n", "in small letters"},
        {"allow: {shop: {'groups:x': [a]}}\n", "`group:NAME`"},
        {"allow: {shop: {'Role:x': [a]}}\n", "`group:NAME`"},
        {"allow: {shop: {'group:': [a]}}\n", "no name stands behind the colon"},
        {"allow: {shop: {'': [a]}}\n", "empty name"},
        {"allow: {'': {bob: [a]}}\n", "an empty name never matches"},
        {"deny: {shop: {everyone: ['*']}}\n", "{id: NAME, effect: forbid, match: {upstreams: ['shop']}}"},
        {"deny: {shop: {everyone: [a, '***']}}\n", "all tools are not all"},
        {"allow: {'a.b': {c: [x]}, a: {b.c: [x]}}\n", "is taken by"},
        {"rules: {}\nallow: {shop: {bob: [a]}}\n", "write a list"},
        {"allow: {shop: {'" "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"
         "12345678901234567890" "': [a]}}\n", "an id of more than 128 bytes"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct policy *policy = NULL;
        char text[512];
        bool found = false;

        (void)snprintf(text, sizeof text, "policy: p\n%s", wrong[i].text);
        assert_int_equal(compile_text(text, &policy, &faults, NULL), CODE_INVALID);
        for (size_t at = 0; at < faults.count && at < FAULTS_MAX; at++)
            found |= strstr(faults.fault[at].text, wrong[i].fault) != NULL;
        if (!found) {
            print_faults(&faults);
            fail_msg("%s: not told: %s", wrong[i].text, wrong[i].fault);
        }
    }
}

TEST_CASE(test_a_copy_with_parameters_and_lists)
{
    struct policy *policy = compiled("policy: p\nas: q\nparameters: {s: {is: upstream, required: true}, w: {is: text, default: 'b*b'}}\n"
                                     "lists: {l: [d, e]}\nset: {s: shop}\n"
                                     "allow: {'{s}': {'{w}': {list: l}, everyone: [a, {list: l}]}}\n"
                                     "tests: [{name: t, call: {upstream: '{s}', tool: a}, expect: {verdict: permit, "
                                     "rule: 'p.allow.shop.everyone'}}]\n");
    const struct rule *rule = rule_of(policy, "q.allow.shop.everyone");

    assert_int_equal(rule->match.by[DIM_TOOL].count, 3);
    names(rule, DIM_UPSTREAM, "shop");
    assert_int_equal(rule_of(policy, "q.allow.shop.b%5C*b")->match.by[DIM_TOOL].count, 2);
    policy_unref(&policy);
}

/* `policy check` says it, once a file; it is no warning, since most permits in short are meant so. */
TEST_CASE(test_that_arguments_are_open_is_known)
{
    struct policy *policy = compiled("policy: p\nallow: {shop: {bob: [a], eve: [b]}, desk: {bob: [c]}}\ntests: []\n");

    assert_int_equal(policy->sources[0].allow_line, 2);
    assert_int_equal(warnings.count, 1); /* no test decides its rules, which is one line */
    policy_unref(&policy);
    policy = compiled("policy: p\ndeny: {shop: {bob: [a]}}\n");
    assert_int_equal(policy->sources[0].allow_line, 0);
    policy_unref(&policy);
}

TEST_CASE(test_the_tree_has_rules_alone)
{
    struct policy *policy = compiled("policy: p\nrules: [{id: r, effect: permit, match: {tools: [t]}}]\nallow: {shop: {bob: [a]}}\n");
    struct yaml_tree *trees[1] = {NULL};
    const struct yaml_node *rules;

    assert_int_equal(parameters_trees(policy, true, trees), CODE_OK);
    rules = yaml_member(yaml_root(trees[0]), "rules");
    assert_int_equal(rules->count, 3);
    assert_true(span_is(yaml_member(rules->child->next, "id")->text, "p.allow.shop.bob"));
    yaml_tree_free(&trees[0]);
    policy_unref(&policy);
}

TEST_MAIN(NULL, NULL)
