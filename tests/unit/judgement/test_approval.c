/* SPDX-License-Identifier: Apache-2.0 */
/* Meaning 11: what a person has approved permits by itself, a forbid still beats it, and it is bound to the rule's text. */
#include "unit/policy/judge.h"

#include "crypto/digest.h"
#include "judgement/judgement.h"

static const char mail_policy[] =
    "policy: mail\n"
    "patterns:\n"
    "  ours: '[a-z]+@example\\.com'\n"
    "lists:\n"
    "  big: [a, b]\n"
    "rules:\n"
    "  - {id: mail.inside, effect: permit, match: {tools: [mail]}, when: [{arg: to, matches: {pattern: ours}}]}\n"
    "  - {id: mail.large, effect: require_approval, match: {tools: [mail]}, when: [{arg: size, in: {list: big}}]}\n"
    "  - {id: mail.outside, effect: require_approval, match: {tools: [mail]}, reason: Somebody looks at it.,\n"
    "     when: [{arg: to, not_matches: {pattern: ours}}]}\n"
    "  - {id: never, effect: forbid, match: {tools: [mail]}, when: [{arg: to, equals: eve}]}\n"
    "  - {id: watched, effect: require_approval, mode: monitor, match: {tools: [mail]}}\n";

#define OUTSIDE SPAN_LIT("{\"to\":\"x@y\"}")
#define BOTH SPAN_LIT("{\"to\":\"x@y\",\"size\":\"a\"}")

/* What people said, by rule. */
struct people {
    const char *granted[4], *refused[4];
    bool grant_all;
    unsigned asked;
};

static bool holds(const char *const *ids, struct span rule)
{
    for (; *ids != NULL; ids++)
        if (span_is(rule, *ids))
            return true;
    return false;
}

static enum policy_known is_granted(void *context, const struct question *question, struct span rule, struct span rule_hash)
{
    struct people *people = context;

    assert_true(span_is(question->tool, "mail"));
    assert_int_equal(rule_hash.len, DIGEST_BYTES);
    people->asked++;
    return people->grant_all || holds(people->granted, rule) ? POLICY_YES : holds(people->refused, rule) ? POLICY_NO : POLICY_UNKNOWN;
}

static const struct policy_past past = {.is_granted = is_granted};

static const struct verdict *judge_mail(struct court *court, struct people *people, struct span arguments)
{
    struct question question = plain_question();

    question.tool = SPAN_LIT("mail");
    question.root = court_tree(court, arguments);
    question.state = (struct policy_state){.past = &past, .context = people};
    people->asked = 0;
    policy_eval(court->policy, &question, false, court->scratch, &court->verdict);
    return &court->verdict;
}

static void expect(const struct verdict *verdict, enum verdict_kind kind, enum reason reason, const char *rule)
{
    assert_string_equal(verdict_text(verdict->kind), verdict_text(kind));
    assert_string_equal(reason_name(verdict->reason), reason_name(reason));
    assert_true(span_is(verdict->rule, rule));
}

/* 2.2 */
TEST_CASE(granted_permits_by_itself)
{
    struct people none = {.asked = 0}, outside = {.granted = {"mail.outside"}}, other = {.granted = {"mail.large"}};
    const struct verdict *verdict;
    struct court court;

    court_open(&court, mail_policy);
    verdict = judge_mail(&court, &none, OUTSIDE);
    expect(verdict, VERDICT_HOLD, REASON_APPROVAL_REQUIRED, "mail.outside");
    assert_int_equal(none.asked, 1); /* neither the rule that does not apply nor the monitored one */
    assert_int_equal(verdict->approval_count, 1);
    assert_false(verdict->approvals[0].is_granted);
    assert_true(span_is(verdict->approvals[0].rule, "mail.outside"));
    assert_true(span_is(verdict->approvals[0].people->reason, "Somebody looks at it."));
    expect(judge_mail(&court, &other, OUTSIDE), VERDICT_HOLD, REASON_APPROVAL_REQUIRED, "mail.outside");
    verdict = judge_mail(&court, &outside, OUTSIDE);
    expect(verdict, VERDICT_PERMIT, REASON_PERMITTED, "mail.outside");
    assert_int_equal(verdict->approval_count, 1);
    assert_true(verdict->approvals[0].is_granted);
    assert_true(verdict->has_monitor);
    assert_int_equal(verdict->monitor_kind, VERDICT_HOLD);
    court_close(&court);
}

/* 2.2 */
TEST_CASE(a_forbid_beats_it_and_every_rule_needs_its_own)
{
    struct people all = {.granted = {"mail.outside", "mail.large"}}, one = {.granted = {"mail.large"}};
    const struct verdict *verdict;
    struct court court;

    court_open(&court, mail_policy);
    verdict = judge_mail(&court, &all, SPAN_LIT("{\"to\":\"eve\"}"));
    expect(verdict, VERDICT_DENY, REASON_FORBIDDEN, "never");
    verdict = judge_mail(&court, &one, BOTH);
    expect(verdict, VERDICT_HOLD, REASON_APPROVAL_REQUIRED, "mail.outside");
    assert_int_equal(verdict->approval_count, 2);
    assert_true(verdict->approvals[0].is_granted);
    assert_false(verdict->approvals[1].is_granted);
    verdict = judge_mail(&court, &all, BOTH);
    expect(verdict, VERDICT_PERMIT, REASON_PERMITTED, "mail.large");
    assert_int_equal(verdict->approval_count, 2);
    court_close(&court);
}

/* 2.2: a refusal beats an approval and what is still open, and a forbid beats a refusal. */
TEST_CASE(refused_denies)
{
    struct people mixed = {.granted = {"mail.large"}, .refused = {"mail.outside"}};
    const struct verdict *verdict;
    struct court court;

    court_open(&court, mail_policy);
    expect(judge_mail(&court, &mixed, BOTH), VERDICT_DENY, REASON_APPROVAL_REFUSED, "mail.outside");
    verdict = judge_mail(&court, &mixed, SPAN_LIT("{\"to\":\"eve\"}"));
    expect(verdict, VERDICT_DENY, REASON_FORBIDDEN, "never");
    court_close(&court);
}

/* 2.2: what more rules hold than a verdict names stays held, whatever people say. */
static const char bounded_policy[] =
    "policy: mail\n"
    "rules:\n"
    "  - {id: all, effect: permit, match: {tools: [mail]}}\n"
    "  - {id: ask, effect: require_approval, match: {tools: [mail]}, when: [{arg: to, not_matches: 'a@b'}], only_args: [to]}\n"
    "  - {id: more, effect: require_approval, match: {tools: [mail]}, when: [{arg: big, exists: true}]}\n"
    "  - {id: watched, effect: require_approval, mode: monitor, match: {tools: [mail]}, only_args: [to]}\n";

/* 7.10: what a rule lists is kept before anybody is asked, and whatever anybody said; and it opens nothing: a call with another
 * argument is not let through by the permit that the rule stands above. */
TEST_CASE(arguments_that_nobody_may_approve)
{
    struct people nobody = {.granted = {NULL}}, everybody = {.grant_all = true};
    struct people *people[] = {&nobody, &everybody};
    struct court court;
    const struct verdict *verdict;

    court_open(&court, bounded_policy);
    verdict = judge_mail(&court, &nobody, SPAN_LIT("{\"to\":\"x@y\"}"));
    expect(verdict, VERDICT_HOLD, REASON_APPROVAL_REQUIRED, "ask");
    verdict = judge_mail(&court, &everybody, SPAN_LIT("{\"to\":\"x@y\"}"));
    expect(verdict, VERDICT_PERMIT, REASON_PERMITTED, "ask");
    for (size_t i = 0; i < 2; i++) {
        verdict = judge_mail(&court, people[i], SPAN_LIT("{\"to\":\"x@y\",\"bcc\":1}"));
        expect(verdict, VERDICT_DENY, REASON_FORBIDDEN, "ask");
        assert_int_equal(verdict->approval_count, 0);
        assert_int_equal(people[i]->asked, 0);
        verdict = judge_mail(&court, people[i], SPAN_LIT("{\"to\":\"x@y\",\"big\":1}"));
        expect(verdict, VERDICT_DENY, REASON_FORBIDDEN, "ask"); /* though another rule would ask */
        verdict = judge_mail(&court, people[i], SPAN_LIT("[1]"));
        expect(verdict, VERDICT_PERMIT, REASON_PERMITTED, "all"); /* its conditions hold it not */
    }
    verdict = judge_mail(&court, &nobody, SPAN_LIT("{\"to\":\"a@b\",\"bcc\":1}"));
    expect(verdict, VERDICT_PERMIT, REASON_PERMITTED, "all");
    assert_int_equal(verdict->monitor_kind, VERDICT_DENY);
    court_close(&court);
}

TEST_CASE(more_than_can_be_named_stays_held)
{
    struct people all = {.grant_all = true};
    struct court court;

    for (int rules = VERDICT_APPROVALS_MAX; rules <= VERDICT_APPROVALS_MAX + 1; rules++) {
        char text[2048] = "policy: many\nrules:\n";

        for (int i = 0; i < rules; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     "  - {id: r%d, effect: require_approval, match: {tools: [mail]}}\n", i);
        court_open(&court, text);
        judge_mail(&court, &all, OUTSIDE);
        assert_int_equal(all.asked, VERDICT_APPROVALS_MAX);
        assert_int_equal(court.verdict.kind, rules == VERDICT_APPROVALS_MAX ? VERDICT_PERMIT : VERDICT_HOLD);
        assert_int_equal(court.verdict.approval_count, VERDICT_APPROVALS_MAX);
        court_close(&court);
    }
}

/* 8.8 */
TEST_CASE(so_many_people_are_needed)
{
    static const struct {
        const char *rule;
        unsigned needed; /* 0: it is a fault */
    } cases[] = {
        {"effect: require_approval, match: {tools: [mail]}", 1},
        {"effect: require_approval, match: {tools: [mail]}, approvals: 1", 1},
        {"effect: require_approval, match: {tools: [mail]}, approvals: 5", 5},
        {"effect: permit, match: {tools: [mail]}, limit: {sum: size, at_most: 0.5, per: day, over: require_approval}, approvals: 2", 2},
        {"effect: require_approval, match: {tools: [mail]}, approvals: 0", 0},
        {"effect: require_approval, match: {tools: [mail]}, approvals: 6", 0},
        {"effect: require_approval, match: {tools: [mail]}, approvals: '2'", 0},
        {"effect: require_approval, match: {tools: [mail]}, approvals: 1.5", 0},
        {"effect: require_approval, match: {tools: [mail]}, approvals: [2]", 0},
        {"effect: permit, match: {tools: [mail]}, approvals: 2", 0},
        {"effect: forbid, match: {tools: [mail]}, approvals: 2", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct people none = {.asked = 0};
        char text[512];
        struct court court;
        const struct verdict *verdict;

        snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: r, %s}\n", cases[i].rule);
        if (cases[i].needed == 0) {
            struct policy *policy = NULL;
            struct faults faults;

            assert_int_equal(compile_text(text, &policy, &faults, NULL), CODE_INVALID);
            assert_non_null(strstr(faults.fault[0].text, "`approvals`"));
            continue;
        }
        court_open(&court, text);
        verdict = judge_mail(&court, &none, SPAN_LIT("{\"size\":1}"));
        assert_int_equal(verdict->kind, VERDICT_HOLD);
        assert_int_equal(verdict->approvals[0].people->needed, cases[i].needed);
        court_close(&court);
    }
}

#define HELD "effect: require_approval, match: {tools: [mail]}, "
#define OVER "effect: permit, match: {tools: [mail]}, limit: {sum: size, at_most: 0.5, per: day, over: require_approval"

/* 12.8: who decides is named, or the one who asks; where nobody is asked, nobody is. */
TEST_CASE(who_decides_is_named)
{
    static const struct {
        const char *rule, *approvers, *fault;
    } cases[] = {
        {HELD "reason: r", NULL, NULL},
        {HELD "approvers: {groups: [treasury]}", "group:treasury", NULL},
        {HELD "approvers: {tenants: [acme], groups: [b, a, b], roles: ['approver:x:y', admin]}",
         "role:approver:x:y\nrole:admin\ngroup:b\ngroup:a\ngroup:b\ntenant:acme", NULL},
        {HELD "approvers: {groups: [Treasury, 'CORP\\ops', 'a\"b', 'Ärzte']}",
         "group:Treasury\ngroup:CORP\\ops\ngroup:a\"b\ngroup:Ärzte", NULL},
        {HELD "approvers: {groups: [{list: l}, own]}", "group:l1\ngroup:l2\ngroup:own", NULL},
        {HELD "approvers: {groups: {list: l}}, approvals: 5", "group:l1\ngroup:l2", NULL},
        {HELD "approvers: {groups: ['{p}']}", "group:CORP\\a", NULL},
        {HELD "approvers: self", "self", NULL},
        {OVER "}, approvers: self", "self", NULL},
        {HELD "approvers: {groups: [self]}", "group:self", NULL},
        {HELD "approvals: 1, approvers: self", "self", NULL},
        {HELD "approvals: 2, approvers: self", NULL, "is one person"},
        {HELD "approvers: Self", NULL, "who may decide a held call"},
        {HELD "approvers: [treasury]", NULL, "who may decide a held call"},
        {HELD "approvers: 5", NULL, "who may decide a held call"},
        {HELD "approvers: {}", NULL, "name nobody"},
        {HELD "approvers: {groups: []}", NULL, "holds 1 to 64 names"},
        {HELD "approvers: {groups: a}", NULL, "write a list"},
        {HELD "approvers: {groups: [5]}", NULL, "write a string"},
        {HELD "approvers: {groups: ['']}", NULL, "is no name of people"},
        {HELD "approvers: {groups: [\"a\\nrole:admin\"]}", NULL, "is no name of people"},
        {HELD "approvers: {groups: [\"a\\rb\"]}", NULL, "is no name of people"},
        {HELD "approvers: {groups: [\"a\\u200bb\"]}", NULL, "is no name of people"},
        {HELD "approvers: {groups: ['*']}", NULL, "is no name"},
        {HELD "approvers: {groups: ['a?']}", NULL, "is no name"},
        {HELD "approvers: {tenants: ['{tenant}']}", NULL, "and variables"},
        {HELD "approvers: {group: [a]}", NULL, "did you mean `groups`"},
        {HELD "approvers: {list: l}", NULL, "knows no `list`"},
        {OVER ", approvers: self}", NULL, "beside `limit`"},
        {OVER ", approvals: 2}", NULL, "beside `limit`"},
        {"effect: forbid, match: {tools: [mail]}, approvers: self", NULL, "nobody is asked here"},
        {"effect: permit, match: {tools: [mail]}, approvers: {groups: [a]}", NULL, "nobody is asked here"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct people none = {.asked = 0};
        char text[1024];
        struct court court;
        struct span approvers;

        snprintf(text, sizeof text, "policy: p\nparameters: {p: {is: text, default: 'CORP\\a'}}\nlists: {l: [l1, l2]}\n"
                 "rules:\n  - {id: r, %s}\n  - {id: uses, effect: permit, match: {tools: ['{p}', {list: l}]}}\n", cases[i].rule);
        if (cases[i].fault != NULL) {
            struct policy *policy = NULL;
            struct faults faults;

            if (compile_text(text, &policy, &faults, NULL) != CODE_INVALID || strstr(faults.fault[0].text, cases[i].fault) == NULL)
                fail_msg("%s: %s", cases[i].rule, policy != NULL ? "it compiles" : faults.fault[0].text);
            continue;
        }
        court_open(&court, text);
        approvers = judge_mail(&court, &none, SPAN_LIT("{\"size\":1}"))->approvals[0].people->approvers;
        if (cases[i].approvers == NULL ? approvers.at != NULL : !span_is(approvers, cases[i].approvers))
            fail_msg("%s: %.*s", cases[i].rule, SPAN_ARG(approvers));
        court_close(&court);
    }
}

#define HEX_BYTES (2 * DIGEST_BYTES + 1)

static void hash_of(const char *text, char hex[HEX_BYTES])
{
    struct people none = {.asked = 0};
    struct court court;
    const struct verdict *verdict;

    court_open(&court, text);
    verdict = judge_mail(&court, &none, OUTSIDE);
    assert_int_equal(verdict->approval_count, 1);
    assert_true(span_equals(policy_approval_hash(court.policy, SPAN_LIT("r")), verdict->approvals[0].people->rule_hash));
    assert_null(policy_approval_hash(court.policy, SPAN_LIT("s")).at);
    for (size_t i = 0; i < DIGEST_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)verdict->approvals[0].people->rule_hash.at[i]);
    court_close(&court);
}

/* 2.2: another text is another rule, also where only a pattern or a list that it names has changed; a comment is none. */
TEST_CASE(the_hash_is_of_what_the_rule_says)
{
#define HEAD "policy: p\npatterns: {a: '%s', b: c}\nlists: {l: [%s]}\nrules:\n"
#define RULE "  - {id: r, effect: require_approval, match: {tools: [%s]}, when: [{any: [{arg: to, matches: {pattern: a}}, " \
             "{arg: to, in: {list: l}}]}]%s}\n"
    static const struct {
        const char *pattern, *list, *tool, *tail;
        bool same;
    } cases[] = {
        {"x", "y", "mail", "", true},
        {"x", "y", "'mail'", " # a comment", true},
        {"x|z", "y", "mail", "", false},
        {"x", "y, z", "mail", "", false},
        {"x", "y", "mail, post", "", false},
        {"x", "y", "mail", ", reason: new", true}, /* 10.14: what it says to people decides nothing */
        {"x", "y", "mail", ", say: 'Ask Ada.', reason: new", true},
        {"x", "y", "mail", ", mode: enforce", false},
        {"x", "y", "mail", ", approvals: 2", false}, /* 8.8 */
        {"x", "y", "mail", ", approvers: {groups: [a]}", false}, /* 12.8 */
    };
    char first[HEX_BYTES], other[HEX_BYTES], text[1024];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool is_comment = strchr(cases[i].tail, '#') != NULL;

        snprintf(text, sizeof text, HEAD RULE "%s\n", cases[i].pattern, cases[i].list, cases[i].tool,
                 is_comment ? "" : cases[i].tail, is_comment ? cases[i].tail : "");
        hash_of(text, i == 0 ? first : other);
        if (i > 0 && cases[i].same)
            assert_string_equal(first, other);
        else if (i > 0)
            assert_string_not_equal(first, other);
    }
}

static void count_case(void *context, const struct policy_test_result *result)
{
    if (!result->passed)
        fprintf(stderr, "%.*s: %.*s, got %.*s\n", SPAN_ARG(result->name), SPAN_ARG(result->expected), SPAN_ARG(result->got));
    ++*(unsigned *)context;
}

#define TESTS \
    "tests:\n" \
    "  - {name: held, call: {tool: mail, arguments: {to: x@y}}, expect: {verdict: hold, rule: mail.outside}}\n" \
    "  - {name: given, call: {tool: mail, arguments: {to: x@y}, approved: [mail.outside]}, expect: {verdict: permit, " \
    "rule: mail.outside}}\n" \
    "  - {name: beaten, call: {tool: mail, arguments: {to: eve}, approved: [mail.outside]}, expect: {verdict: deny}}\n"

/* 2.2: `approved:` in a test says what a person has approved; it names a require_approval. */
TEST_CASE(tests_can_say_what_is_approved)
{
    char text[4096];
    struct court court;
    struct policy *policy;
    struct faults faults;
    size_t passed, failed;
    unsigned reported = 0;

    snprintf(text, sizeof text, "%s%s", mail_policy, TESTS);
    court_open(&court, text);
    assert_int_equal(policy_test(court.policy, court.scratch, count_case, &reported, &passed, &failed), CODE_OK);
    assert_int_equal(passed, 3);
    assert_int_equal(failed, 0);
    court_close(&court);
    snprintf(text, sizeof text, "%stests:\n  - {name: n, call: {tool: mail, approved: [mail.inside, nobody]}, "
             "expect: {verdict: deny}}\n", mail_policy);
    assert_int_equal(compile_text(text, &policy, &faults, NULL), CODE_INVALID);
    assert_int_equal(faults.count, 2);
    assert_non_null(strstr(faults.fault[0].text, "`mail.inside` is a permit"));
    assert_non_null(strstr(faults.fault[1].text, "there is no rule `nobody`"));
    assert_int_equal(faults.fault[0].line, 14);
}

TEST_MAIN(NULL, NULL)
