/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"
#include "judgement/candidates_priv.h"
#include "policy/index.h"
#include "judgement/judgement.h"
#include "policy/walk.h"
#include "unit/policy/judge.h"

static const char *const tenants[] = {"acme", "team-a", "team-b", "zed"};
static const char *const principals[] = {"bot", "bot2", "ann"};
static const char *const upstreams[] = {"shop", "mail"};
static const char *const methods[] = {"tools/call", "prompts/get", "resources/read", "response", "ping"};
static const char *const tools[] = {"search_a", "search_b", "send", "x"};
static const char *const resources[] = {"file:///a", "file:///b/c", "db://x"};
static const char *const agents[] = {"", "helper", "copilot"};
static const char *const paths[] = {"/a", "/a/b", "/b"};
static const char *const queries[] = {"a=1", "b"};
static const char *const prompts[] = {"review", "plan"};
static const char *const names[DIM_COUNT][6] = {
    {"acme", "'team-*'", "team-a", "'*'", "{regex: 'z.*'}", "zed"},
    {"bot", "'bot?'", "ann", "'*'", "{regex: 'b'}", "nobody"},
    {"shop", "mail", "'*'", "'s*'", "{regex: 'm.*'}", "none"},
    {"tools/call", "protocol", "'tools/*'", "ping", "response", "resources/read"},
    {"helper", "'co*'", "copilot", "'*'", "{regex: 'p'}", "none"},
    {"'/a'", "'/a/*'", "'/b'", "{regex: '/.'}", "'*'", "x"},
    {"a=1", "'a=*'", "'*'", "{regex: 'b'}", "b", "x"},
    {"l1", "l2", "l3", "l4", "l5", "l6"}, /* 9.4 */
    {"send", "'search_*'", "search_a", "{regex: 's'}", "'*'", "x"},
    {"'file:///a'", "'file:///*'", "'db://x'", "{regex: 'file'}", "'*'", "'x:'"},
    {"review", "'re*'", "plan", "{regex: 'p'}", "'*'", "x"},
};

static unsigned next(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % below;
}

static size_t write_rule(char *text, size_t size, unsigned *seed, int number)
{
    static const char *const effects[] = {"permit", "forbid", "require_approval"};
    size_t at = (size_t)snprintf(text, size, "  - {id: r%d, effect: %s, match: {", number, effects[next(seed, 3)]);
    bool first = true, target = false;

    for (enum dimension d = DIM_TENANT; d < DIM_COUNT; d++) {
        unsigned count = next(seed, 3);

        if (count == 0 || (d >= DIM_TARGET && target))
            continue;
        target |= d >= DIM_TARGET;
        at += (size_t)snprintf(text + at, size - at, "%s%s: [%s", first ? "" : ", ", policy_dimension_text[d],
                               names[d][next(seed, 6)]);
        while (--count > 0)
            at += (size_t)snprintf(text + at, size - at, ", %s", names[d][next(seed, 6)]);
        at += (size_t)snprintf(text + at, size - at, "]");
        first = false;
    }
    at += (size_t)snprintf(text + at, size - at, "}%s}\n", next(seed, 8) == 0 ? ", mode: monitor" : "");
    return at;
}

static struct question random_question(unsigned *seed)
{
    struct question question = {
        .tenant = span_text(tenants[next(seed, 4)]), .principal = span_text(principals[next(seed, 3)]),
        .upstream = span_text(upstreams[next(seed, 2)]), .method = span_text(methods[next(seed, 5)]),
        .agent = span_text(agents[next(seed, 3)])};

    if (next(seed, 2) == 0)
        question.path = span_text(paths[next(seed, 3)]);
    if (next(seed, 3) == 0)
        question.query = span_text(queries[next(seed, 2)]);
    if (span_is(question.method, "tools/call"))
        question.tool = span_text(tools[next(seed, 4)]);
    if (span_is(question.method, "resources/read"))
        question.resource = span_text(resources[next(seed, 3)]);
    if (span_is(question.method, "prompts/get"))
        question.prompt = span_text(prompts[next(seed, 2)]);
    if (span_is(question.method, "response"))
        question.answers = span_text(methods[next(seed, 5)]);
    return question;
}

/* What every rule says, looked at one after the other, without index and memory. */
static void check_against_all(struct court *court, const struct question *question)
{
    struct candidates found;
    uint32_t at = 0;

    arena_reset(&court->scratch->arena);
    assert_int_equal(eval__candidates(court->policy, question, NULL, court->scratch, &found), CODE_OK);
    for (uint32_t i = 0; i < court->policy->rule_count; i++) {
        struct regex_budget budget;
        enum dimension undecided;
        enum truth truth;

        regex_budget_init(&budget);
        truth = policy_match(&court->policy->rules[i].match, DIM_TENANT, DIM_COUNT, question, &budget, &undecided);
        if (truth == TRUTH_FALSE)
            continue;
        assert_true(at < found.rule_count);
        assert_int_equal(found.rules[at].at, i);
        assert_int_equal(found.rules[at].match, truth);
        at++;
    }
    assert_int_equal(at, found.rule_count);
}

/* 1.20: the index and the memory of candidates find exactly what looking at every rule finds. */
TEST_CASE(test_index_misses_nothing)
{
    static char text[16384];
    unsigned seed = 7;

    for (int round = 0; round < 40; round++) {
        struct court court;
        size_t at = (size_t)snprintf(text, sizeof text, "policy: p\nlabels: {l1: [send], l2: ['search_*', {prompts: ['re*']}], "
                                     "l3: [{upstreams: [shop], tools: ['*']}], l4: [{resources: ['file:///*', 'db://x']}], l5: ['*'], "
                                     "l6: [x, {upstreams: ['m*'], resources: ['*']}]}\nrules:\n");

        for (int i = 0; i < 40; i++)
            at += write_rule(text + at, sizeof text - at, &seed, i);
        court_open(&court, text);
        for (int i = 0; i < 60; i++) {
            struct question question = random_question(&seed);

            check_against_all(&court, &question);
            check_against_all(&court, &question); /* remembered */
        }
        court_close(&court);
    }
}

static enum code count_rules(void *context, const uint32_t *rules, uint32_t count)
{
    (void)rules;
    *(uint32_t *)context += count;
    return CODE_OK;
}

/* Rules that differ in one number between `before` and `after`. */
static char *many_rules(int count, const char *before, const char *after)
{
    size_t size = 64 + (size_t)count * 160, at;
    char *text = malloc(size);

    assert_non_null(text);
    at = (size_t)snprintf(text, size, "policy: p\nrules:\n"
                                      "  - {id: a, effect: permit, match: {upstreams: [shop], tools: [t]}}\n");
    for (int i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, size - at, "  - {id: r%d, %s%d%s}\n", i, before, i, after);
    return text;
}

/* 1.20: 10 and 10,000 rules look at the same few for a call that concerns few, in whatever dimension they differ. */
TEST_CASE(test_cost_does_not_grow)
{
    static const char *const lines[][2] = {
        {"effect: permit, match: {tools: [tool", "]}"},
        {"effect: permit, match: {tenants: [tenant", "], tools: ['*']}"},
        {"effect: forbid, match: {principals: [p", "], tools: [t]}"},
        {"effect: forbid, match: {upstreams: [u", "]}"},
        {"effect: permit, match: {upstreams: [shop], methods: [m", "]}"},
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *text = many_rules(10000, lines[i][0], lines[i][1]);
        struct question question = plain_question();
        uint32_t looked_at = 0;
        struct court court;

        court_open(&court, text);
        assert_int_equal(policy_rule_count(court.policy), 10001);
        assert_int_equal(policy_index_each(court.policy, &question, count_rules, &looked_at), CODE_OK);
        assert_true(looked_at <= 2);
        assert_int_equal(judge(&court, question, NULL)->kind, VERDICT_PERMIT);
        court_close(&court);
        free(text);
    }
}

/* The memory of candidates is bounded, whatever names a peer makes up, and stays right under that. */
TEST_CASE(test_memory_of_candidates_is_bounded)
{
    char *text = many_rules(2000, "effect: forbid, match: {tools: ['*']}, when: [{arg: v, equals: ", "}]");
    struct court court;

    court_open(&court, text);
    for (int i = 0; i < 3000; i++) {
        char tool[32];
        struct question question = plain_question();

        snprintf(tool, sizeof tool, "t%d", i);
        question.tool = i % 7 ? span_text(tool) : SPAN_LIT("t");
        assert_int_equal(judge(&court, question, NULL)->kind, i % 7 ? VERDICT_DENY : VERDICT_PERMIT);
        assert_true(court.scratch->cache_bytes <= (8u << 20));
    }
    court_close(&court);
    free(text);
}

/* Two snapshots under one scratch do not mix, also where one takes the other's place in memory. */
TEST_CASE(test_scratch_over_reload)
{
    struct court court;

    court_open(&court, "policy: p\nrules: [{id: a, effect: permit}]\n");
    for (int i = 0; i < 20; i++) {
        static struct faults faults;

        assert_int_equal(judge_args(&court, NULL)->kind, i % 2 ? VERDICT_DENY : VERDICT_PERMIT);
        policy_unref(&court.policy);
        assert_int_equal(compile_text(i % 2 ? "policy: p\nrules: [{id: a, effect: permit}]\n"
                                            : "policy: p\nrules: [{id: a, effect: forbid}]\n",
                                      &court.policy, &faults, NULL), CODE_OK);
    }
    court_close(&court);
}

/* tools/list shows what some rule could permit and no forbid without `when` covers. */
TEST_CASE(test_could_permit)
{
    static const struct {
        const char *tool, *principal;
        bool could;
    } cases[] = {
        {"open", "bot", true},   {"asks", "bot", true},  {"shut", "bot", false},  {"partly", "bot", true},
        {"none", "bot", false},  {"mine", "bot", false}, {"mine", "ann", true},   {"watched", "bot", false},
        {"spared", "bot", true},
    };
    struct court court;

    court_open(&court, "policy: p\n"
                       "rules:\n"
                       "  - {id: p1, effect: permit, match: {tools: [open, shut, partly, spared]},\n"
                       "     when: [{arg: a, equals: 1}]}\n"
                       "  - {id: p2, effect: permit, match: {tools: [mine], principals: [ann]}}\n"
                       "  - {id: p3, effect: permit, match: {tools: [watched]}, mode: monitor}\n"
                       "  - {id: a1, effect: require_approval, match: {tools: [asks]}}\n"
                       "  - {id: f1, effect: forbid, match: {tools: [shut]}}\n"
                       "  - {id: f2, effect: forbid, match: {tools: [partly]}, when: [{arg: a, equals: 2}]}\n"
                       "  - {id: f3, effect: forbid, match: {tools: [spared]}, mode: monitor}\n"
                       "  - {id: l1, effect: permit, match: {methods: [tools/list]}}\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct question question = plain_question();
        struct verdict verdict;

        question.tool = span_text(cases[i].tool);
        question.principal = span_text(cases[i].principal);
        if (policy_could_permit(court.policy, &question, court.scratch) != cases[i].could)
            fail_msg("%s for %s", cases[i].tool, cases[i].principal);
        /* 5.10: the description of one tool is permitted where a list would show it, and else is denied as what is not there */
        question.method = SPAN_LIT("tools/list");
        question.shown = question.tool;
        question.tool = SPAN_NONE;
        policy_eval(court.policy, &question, false, court.scratch, &verdict);
        assert_int_equal(verdict.kind, cases[i].could ? VERDICT_PERMIT : VERDICT_DENY);
        assert_int_equal(verdict.reason, cases[i].could ? REASON_PERMITTED : REASON_NO_RULE);
    }
    assert_false(policy_could_permit(NULL, &(struct question){0}, court.scratch));
    court_close(&court);
}

/* 6.7: what names alone permit is told apart from what a rule must look into */
TEST_CASE(test_permits_all)
{
    static const char *const notes[] = {"notifications/progress", "notifications/message", "notifications/tasks/status",
                                          "notifications/cancelled", "notifications/resources/updated"};
    static const struct {
        const char *more; /* rules beside the permit of all but the last method */
        bool progress;
    } cases[] = {
        {"", true},
        {"  - {id: f, effect: forbid, match: {tools: ['*']}, when: [{arg: '$..*', matches: x}]}\n", true},
        {"  - {id: f, effect: forbid, match: {methods: [notifications/message]}}\n", true},
        {"  - {id: f, effect: forbid, match: {principals: [ann]}, when: [{arg: a, equals: 1}]}\n", true},
        {"  - {id: f, effect: permit}\n", true},
        {"  - {id: f, effect: forbid, match: {methods: ['notifications/*']}, when: [{arg: a, equals: 1}]}\n", false},
        {"  - {id: f, effect: forbid, match: {principals: [bot]}, mode: monitor}\n", false},
        {"  - {id: f, effect: require_approval, match: {methods: ['notifications/*']}}\n", false},
        {"  - {id: f, effect: permit, match: {methods: ['notifications/*']}, when: [{arg: a, equals: 1}]}\n", false},
        {"  - {id: f, effect: permit, match: {methods: ['notifications/*']}, limit: {calls: 3, per: hour, by: [tenant]}}\n", false},
        {"  - {id: f, effect: permit, match: {methods: ['notifications/*']}, only_args: [a]}\n", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct question question = plain_question();
        struct court court;
        char text[1024];

        (void)snprintf(text, sizeof text, "policy: p\nrules:\n"
                       "  - {id: p, effect: permit, match: {methods: [notifications/progress, notifications/message]}}\n"
                       "%s", cases[i].more);
        court_open(&court, text);
        question.tool = SPAN_NONE;
        for (size_t m = 0; m < sizeof notes / sizeof *notes; m++) {
            struct verdict verdict;
            bool permits;

            question.method = span_text(notes[m]);
            permits = policy_permits_all(court.policy, &question, court.scratch);
            if (m == 0 && permits != cases[i].progress)
                fail_msg("%s", text);
            policy_eval(court.policy, &question, false, court.scratch, &verdict);
            if (permits && verdict.kind != VERDICT_PERMIT)
                fail_msg("%s: %s", notes[m], text);
        }
        court_close(&court);
    }
}

static bool could(struct court *court, const char *method, const char *target, bool is_template)
{
    struct question question = plain_question();

    question.method = span_text(method);
    question.tool = SPAN_NONE;
    if (strncmp(method, "prompts/", 8) == 0)
        question.prompt = span_text(target);
    else
        question.resource = span_text(target);
    question.any_resource = is_template;
    return policy_could_permit(court->policy, &question, court->scratch);
}

/* 5.6: prompts and resources as tools; a template is shown where some URI of it could be permitted */
TEST_CASE(test_could_permit_targets)
{
    static const struct {
        const char *method, *target;
        bool is_template, could;
    } cases[] = {
        {"prompts/get", "open", false, true}, {"prompts/get", "other", false, false}, {"prompts/get", "shut", false, false},
        {"resources/read", "file:///pub/a", false, true}, {"resources/read", "file:///etc/a", false, false},
        {"resources/read", "file:///pub/secret/a", false, false}, {"resources/read", "db://one", false, true},
        {"resources/read", "held:x", false, true}, {"resources/subscribe", "re:7", false, true},
        {"resources/subscribe", "re:x", false, false},
        {"sampling/createMessage", "", false, true}, {"elicitation/create", "", false, false}, {"roots/list", "", false, false},
        {"resources/read", "file:///{path}", true, true}, {"resources/read", "file:///pub/{path}", true, true},
        {"resources/read", "file:///pub/a/{path}", true, true}, {"resources/read", "file:///etc/{path}", true, false},
        {"resources/read", "file:///pub/secret/{path}", true, false}, {"resources/read", "file:///pub/{x}/a", true, true},
        {"resources/read", "{scheme}:{rest}", true, true}, {"resources/read", "db://{table}", true, true},
        {"resources/read", "db://{table}/rows", true, false}, {"resources/read", "db://on{e}", true, true},
        {"resources/read", "db://two{e}", true, false}, {"resources/read", "db://one{?q}", true, true},
        {"resources/read", "held:{x}", true, true}, {"resources/read", "view:{x}.txt", true, true},
        {"resources/read", "view:{x}.gif", true, false}, {"resources/read", "view:ab{x}", true, true},
        {"resources/read", "view:ba{x}", true, false}, {"resources/read", "http://other/{x}", true, false},
        {"resources/subscribe", "http://other/{x}", true, true /* what a regex holds nobody can say */},
        {"resources/read", "file:///pub/secret", true, true}, /* without an expression: as careful */
        {"resources/read", "db://t\xc3\xa9/{x}", true, false}, {"resources/read", "file:///caf\xc3\xa9/{x}", true, false},
        {"resources/read", "file:///%70ub/{x}", true, true}, /* a client may write it in another way */
    };
    struct court court;

    court_open(&court, "policy: p\n"
                       "rules:\n"
                       "  - {id: p1, effect: permit, match: {methods: [prompts/get], prompts: [open, shut]}}\n"
                       "  - {id: p2, effect: permit, match: {methods: [resources/read], resources: ['file:///pub/*', 'db://one']}}\n"
                       "  - {id: p3, effect: permit, match: {methods: [resources/read], resources: ['view:?b*.txt']}}\n"
                       "  - {id: p4, effect: permit, match: {methods: [resources/subscribe], resources: [{regex: 're:[0-9]+'}]}}\n"
                       "  - {id: p5, effect: permit, match: {methods: [sampling/createMessage]}, when: [{arg: a, equals: 1}]}\n"
                       "  - {id: p6, effect: permit, match: {methods: [elicitation/create]}, mode: monitor}\n"
                       "  - {id: a1, effect: require_approval, match: {methods: [resources/read], resources: ['held:*']}}\n"
                       "  - {id: f1, effect: forbid, match: {methods: [prompts/get], prompts: [shut]}}\n"
                       "  - {id: f2, effect: forbid, match: {methods: [resources/read], resources: ['file:///pub/secret/*']}}\n"
                       "  - {id: f3, effect: forbid, match: {methods: [resources/read], resources: [{regex: 'file:///etc/.*'}]}}\n");
    for (int round = 0; round < 2; round++) /* and once more from what is remembered */
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (could(&court, cases[i].method, cases[i].target, cases[i].is_template) != cases[i].could)
                fail_msg("%s %s", cases[i].method, cases[i].target);
    court_close(&court);
}

/* 5.6: a forbid leaves a template out where it holds for every URI, not for some */
TEST_CASE(test_forbid_of_templates)
{
    static const struct {
        const char *forbids, *target;
        bool could;
    } cases[] = {
        {"'*'", "a{x}", false}, {"'a*'", "a{x}", false}, {"'a*'", "{x}", true}, {"'a*'", "ab{x}", false},
        {"'ab*'", "a{x}", true}, {"'*z'", "{x}z", false}, {"'*z'", "{x}", true}, {"'a*z'", "a{x}z", false},
        {"'a*m*z'", "a{x}z", true}, {"'a**z'", "a{x}z", false}, {"'a?*'", "a{x}", true}, {"'a?*'", "ab{x}", false},
        {"'a\\*'", "a{x}", true}, {"'a\\**'", "a*{x}", false}, {"a", "a{x}", true}, {"{regex: '.*'}", "a{x}", true},
        {"'aba*aba'", "aba", true}, {"'aba*'", "aba", false}, {"'*%20*'", "a%20{x}", true}, {"[b, 'a*']", "a{x}", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct court court;
        char text[400];

        snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: p, effect: permit, match: {methods: [resources/read]}}\n"
                 "  - {id: f, effect: forbid, match: {methods: [resources/read], resources: %s%s%s}}\n",
                 cases[i].forbids[0] == '[' ? "" : "[", cases[i].forbids, cases[i].forbids[0] == '[' ? "" : "]");
        court_open(&court, text);
        if (could(&court, "resources/read", cases[i].target, true) != cases[i].could)
            fail_msg("%s: %s", cases[i].forbids, cases[i].target);
        court_close(&court);
    }
}

/* 1.20: a glob of a rule says what a glob says, whatever is asked first. */
TEST_CASE(test_globs)
{
    static const char *const globs[] = {"*", "a*", "ab*", "a*b", "*b", "a?", "?b*", "a\\*", "a\\**", "a**", "ab*a*", "\\", "a\\"};
    static const char *const values[] = {"", "a", "b", "ab", "aba", "abab", "a*", "a*b", "a\\", "\\", "a\xc3\xa9"};

    for (size_t i = 0; i < sizeof globs / sizeof *globs; i++) {
        char text[200];
        struct court court;

        snprintf(text, sizeof text, "policy: p\nrules: [{id: r, effect: permit, match: {principals: ['%s']}}]\n", globs[i]);
        court_open(&court, text);
        for (size_t j = 0; j < sizeof values / sizeof *values; j++) {
            struct regex_budget budget;

            regex_budget_init(&budget);
            assert_int_equal(policy_name_matches(court.policy->rules[0].match.by[DIM_PRINCIPAL].name, false, span_text(values[j]),
                                                  &budget) == TRUTH_TRUE,
                             glob_matches(span_text(globs[i]), span_text(values[j])));
        }
        court_close(&court);
    }
}

/* 5.6: what an agent names, and an upstream in a list, may be long: globs that look for something in it are charged for it, so
 * that thousands of them do not hold a worker; those that are a beginning and a `*` cost nothing. */
TEST_CASE(test_long_names_under_globs)
{
    static const struct {
        const char *before, *after;
        bool is_costly;
    } cases[] = {
        {"effect: permit, match: {prompts: ['*aaaaaaaab", "']}", true},
        {"effect: permit, match: {prompts: ['aaaa*aaaab", "']}", true},
        {"effect: permit, match: {prompts: ['aaaaaab", "*aaaa']}", false},
        {"effect: permit, match: {resources: ['*aaaaaaaab", "']}", false}, /* so long a URI is none that is looked at */
    };
    char *name = malloc((1 << 20) + 1);

    assert_non_null(name);
    memset(name, 'a', 1 << 20);
    name[1 << 20] = '\0';
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = many_rules(1000, cases[i].before, cases[i].after);
        struct question question = plain_question();
        bool is_uri = strstr(cases[i].before, "resources") != NULL;
        struct court court;

        court_open(&court, text);
        question.method = is_uri ? SPAN_LIT("resources/read") : SPAN_LIT("prompts/get");
        question.tool = SPAN_NONE;
        *(is_uri ? &question.resource : &question.prompt) = span_text(name);
        assert_int_equal(judge(&court, question, NULL)->reason, cases[i].is_costly ? REASON_TOO_COSTLY : REASON_NO_RULE);
        assert_false(policy_could_permit(court.policy, &question, court.scratch));
        court_close(&court);
        free(text);
    }
    free(name);
}

TEST_MAIN(NULL, NULL)
