/* SPDX-License-Identifier: Apache-2.0 */
/* What policies ask of the past, through the same judgement as a gate's: limits, sequences. Number: 2.1 */
#include "state/state.h"
#include "language/language.h"
#include "fakes/cm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)

static struct policy *compile(const char *text)
{
    struct policy_file file = {SPAN_LIT("test.yaml"), span_text(text)};
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    if (policy_compile(&file, 1, 0, &policy, &faults, NULL) != CODE_OK)
        fail_msg("%d: %s", faults.fault[0].line, faults.fault[0].text);
    return policy;
}

struct room {
    struct gate_state *state;
    struct policy *policy;
    struct policy_scratch *scratch;
    struct verdict *verdict;
};

static void enter(struct room *room, const char *text)
{
    room->policy = compile(text);
    assert_int_equal(gate_state_new(GATE_STATE_BYTES, NULL, &room->state), CODE_OK);
    assert_int_equal(policy_scratch_new(&room->scratch), CODE_OK);
    room->verdict = mem_zalloc(sizeof *room->verdict);
    assert_non_null(room->verdict);
}

static void leave(struct room *room)
{
    policy_unref(&room->policy);
    gate_state_free(&room->state);
    policy_scratch_free(&room->scratch);
    mem_free(room->verdict);
}

static struct question ask(const char *principal, const char *tool)
{
    return (struct question){
        .tenant = SPAN_LIT("acme"), .principal = span_text(principal), .upstream = SPAN_LIT("shop"),
        .method = SPAN_LIT("tools/call"), .tool = span_text(tool), .client = SPAN_LIT("10.0.0.1"),
        .session = SPAN_LIT("s1"), .correlation = SPAN_LIT("c1"),
    };
}

static const struct verdict *judge(struct room *room, const struct question *question, int64_t now_us)
{
    struct gate_moment moment = {.state = room->state, .now_us = now_us};
    struct question asked = *question;
    struct gate_token token;

    gate_state_judge(&moment, room->policy, &asked, false, room->scratch, room->verdict, &token);
    gate_token_spend(&token);
    return room->verdict;
}

static void expect(struct room *room, const char *principal, const char *tool, int64_t now_us, enum reason reason,
                   const char *rule)
{
    struct question question = ask(principal, tool);
    const struct verdict *verdict = judge(room, &question, now_us);

    assert_string_equal(reason_name(verdict->reason), reason_name(reason));
    assert_int_equal(verdict->kind == VERDICT_PERMIT, reason == REASON_PERMITTED);
    assert_true(rule == NULL ? verdict->rule.at == NULL : span_is(verdict->rule, rule));
}

static const char limited[] =
    "policy: test\n"
    "rules:\n"
    "  - {id: a.cheap, effect: permit, match: {tools: [read, both]}, limit: {calls: 2, per: minute, by: [principal]}}\n"
    "  - {id: b.dear, effect: permit, match: {tools: [both]}, limit: {calls: 1, per: hour}}\n"
    "  - {id: z.never, effect: forbid, match: {tools: [gone]}}\n"
    "  - {id: z.gone, effect: permit, match: {tools: [gone]}, limit: {calls: 1, per: minute}}\n";

/* Meaning 12 */
TEST_CASE(test_over_the_limit_a_permit_does_not_apply)
{
    struct room room;

    enter(&room, limited);
    expect(&room, "bot", "read", SECOND, REASON_PERMITTED, "a.cheap");
    expect(&room, "bot", "read", 2 * SECOND, REASON_PERMITTED, "a.cheap");
    expect(&room, "bot", "read", 21 * SECOND, REASON_RATE_LIMITED, NULL);
    assert_int_equal(room.verdict->wait_us, 40 * SECOND);
    assert_int_equal(room.verdict->rule_count, 1); /* named in the record, as what would have applied */
    assert_true(span_is(room.verdict->rules[0].id, "a.cheap") && room.verdict->rules[0].limited);
    expect(&room, "other", "read", 21 * SECOND, REASON_PERMITTED, "a.cheap");
    /* Another permit applies, once; its token was not touched before. */
    expect(&room, "bot", "both", 21 * SECOND, REASON_PERMITTED, "b.dear");
    expect(&room, "bot", "both", 22 * SECOND, REASON_RATE_LIMITED, NULL);
    assert_int_equal(room.verdict->wait_us, 39 * SECOND); /* of both the one that ends first */
    expect(&room, "bot", "both", 61 * SECOND, REASON_PERMITTED, "a.cheap");
    leave(&room);
}

/* A denied call costs nothing. */
TEST_CASE(test_a_token_is_taken_by_permits_only)
{
    struct room room;

    enter(&room, limited);
    for (int i = 0; i < 5; i++)
        expect(&room, "bot", "gone", SECOND, REASON_FORBIDDEN, "z.never");
    policy_unref(&room.policy);
    room.policy = compile("policy: test\nrules:\n"
                          "  - {id: z.gone, effect: permit, match: {tools: [gone]}, limit: {calls: 1, per: minute}}\n");
    expect(&room, "bot", "gone", SECOND, REASON_PERMITTED, "z.gone");
    expect(&room, "bot", "gone", SECOND, REASON_RATE_LIMITED, NULL);
    leave(&room);
}

TEST_CASE(test_a_reload_keeps_the_count_of_an_unchanged_limit)
{
    struct room room;

    enter(&room, limited);
    expect(&room, "bot", "read", SECOND, REASON_PERMITTED, "a.cheap");
    expect(&room, "bot", "read", SECOND, REASON_PERMITTED, "a.cheap");
    policy_unref(&room.policy);
    room.policy = compile("policy: renamed\nrules:\n"
                          "  - {id: a.cheap, effect: permit, match: {tools: ['re*']}, limit: {by: [principal], per: minute, calls: 2}}\n"
                          "  - {id: new, effect: permit, match: {tools: [both]}}\n");
    expect(&room, "bot", "read", 2 * SECOND, REASON_RATE_LIMITED, NULL);
    policy_unref(&room.policy);
    room.policy = compile("policy: test\nrules:\n"
                          "  - {id: a.cheap, effect: permit, match: {tools: [read]}, limit: {calls: 3, per: minute, by: [principal]}}\n");
    expect(&room, "bot", "read", 2 * SECOND, REASON_PERMITTED, "a.cheap"); /* another limit counts anew */
    expect(&room, "shop", "read", 2 * SECOND, REASON_PERMITTED, "a.cheap");
    expect(&room, "shop", "read", 2 * SECOND, REASON_PERMITTED, "a.cheap");
    expect(&room, "shop", "read", 2 * SECOND, REASON_PERMITTED, "a.cheap");
    policy_unref(&room.policy);
    room.policy = compile("policy: test\nrules:\n"
                          "  - {id: a.cheap, effect: permit, match: {tools: [read]}, limit: {calls: 3, per: minute, by: upstream}}\n");
    expect(&room, "bot", "read", 2 * SECOND, REASON_PERMITTED, "a.cheap"); /* also where the words are the same: upstream shop */
    leave(&room);
}

TEST_CASE(test_by_says_what_is_counted_together)
{
    static const char *const words[] = {"tenant", "principal", "upstream", "tool", "session", "client"};
    char text[256];

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct question first = ask("bot", "read"), second = first;
        struct span *values[] = {&second.tenant, &second.principal, &second.upstream, &second.tool, &second.session, &second.client};
        struct room room;

        snprintf(text, sizeof text, "policy: t\nrules:\n  - {id: a, effect: permit, match: {tools: ['*']}, "
                 "limit: {calls: 1, per: day, by: [%s]}}\n", words[i]);
        enter(&room, text);
        assert_int_equal(judge(&room, &first, SECOND)->kind, VERDICT_PERMIT);
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) /* all others differ: the same limit */
            if (k != i)
                *values[k] = SPAN_LIT("other");
        assert_int_equal(judge(&room, &second, SECOND)->reason, REASON_RATE_LIMITED);
        second = first;
        *values[i] = SPAN_LIT("other");
        assert_int_equal(judge(&room, &second, SECOND)->kind, VERDICT_PERMIT);
        leave(&room);
    }
}

/* Without `by: [tenant]` a limit is one for all of them. */
TEST_CASE(test_tenants_may_share_a_limit)
{
    struct question question = ask("bot", "read");
    struct room room;

    enter(&room, "policy: t\nrules:\n  - {id: a, effect: permit, match: {tools: ['*']}, limit: {calls: 2, per: day}}\n");
    assert_int_equal(judge(&room, &question, SECOND)->kind, VERDICT_PERMIT);
    question.tenant = SPAN_LIT("globex");
    assert_int_equal(judge(&room, &question, SECOND)->kind, VERDICT_PERMIT);
    question.tenant = SPAN_LIT("initech");
    assert_int_equal(judge(&room, &question, SECOND)->reason, REASON_RATE_LIMITED);
    leave(&room);
}

TEST_CASE(test_a_monitored_limit_shows_what_it_would_do)
{
    struct room room;

    enter(&room, "policy: t\nmode: monitor\nrules:\n"
                 "  - {id: a, effect: permit, match: {tools: [read]}, limit: {calls: 1, per: minute}}\n");
    expect(&room, "bot", "read", SECOND, REASON_NO_RULE, NULL);
    assert_int_equal(room.verdict->monitor_kind, VERDICT_PERMIT);
    expect(&room, "bot", "read", SECOND, REASON_NO_RULE, NULL);
    assert_int_equal(room.verdict->monitor_kind, VERDICT_DENY);
    leave(&room);
}

/* ---- sequences ---- */

/* The call was permitted and goes on. */
static void make_call(struct room *room, struct question question, int64_t now_us)
{
    struct gate_moment moment = {.state = room->state, .now_us = now_us};

    struct policy_met met;

    assert_int_equal(judge(room, &question, now_us)->kind, VERDICT_PERMIT);
    met = gate_met(room->verdict);
    gate_state_note(&moment, room->policy, &question, &met);
}

#define SEQUENCE(terms) \
    "policy: t\nrules:\n" \
    "  - {id: all, effect: permit, match: {tools: ['*']}}\n" \
    "  - {id: leak, effect: forbid, match: {tools: [send_mail]}, when: [{session: {called: [read_secret, 'dump_*'], " terms "}}]}\n"

TEST_CASE(test_no_mail_after_a_secret)
{
    struct question mail = ask("bot", "send_mail"), secret = ask("bot", "read_secret"), other = ask("bot", "search");
    struct room room;

    enter(&room, SEQUENCE("within: 10min"));
    make_call(&room, other, SECOND);
    make_call(&room, mail, SECOND);
    make_call(&room, secret, 2 * SECOND);
    assert_true(span_is(judge(&room, &mail, 2 * SECOND)->rule, "leak"));
    assert_int_equal(judge(&room, &mail, 2 * SECOND + 10 * MINUTE)->reason, REASON_FORBIDDEN);
    assert_int_equal(judge(&room, &mail, 2 * SECOND + 10 * MINUTE + 1)->kind, VERDICT_PERMIT);
    make_call(&room, ask("bot", "dump_table"), 20 * MINUTE);
    mail.session = SPAN_LIT("s2"); /* another session under the same correlation, even of another principal */
    mail.principal = SPAN_LIT("friend");
    assert_int_equal(judge(&room, &mail, 21 * MINUTE)->reason, REASON_FORBIDDEN);
    mail.correlation = SPAN_LIT("c2");
    assert_int_equal(judge(&room, &mail, 21 * MINUTE)->kind, VERDICT_PERMIT);
    mail.session = SPAN_LIT("s1"); /* whose name another principal cannot borrow */
    assert_int_equal(judge(&room, &mail, 21 * MINUTE)->kind, VERDICT_PERMIT);
    mail.principal = SPAN_LIT("bot");
    assert_int_equal(judge(&room, &mail, 21 * MINUTE)->reason, REASON_FORBIDDEN);
    mail.tenant = SPAN_LIT("globex");
    assert_int_equal(judge(&room, &mail, 21 * MINUTE)->kind, VERDICT_PERMIT);
    mail.tenant = SPAN_LIT("acnF"); /* of those whose room is counted with acme's */
    assert_int_equal(judge(&room, &mail, 21 * MINUTE)->kind, VERDICT_PERMIT);
    leave(&room);
}

/* What an agent may choose anew, a session or a correlation, it cannot hide behind. */
TEST_CASE(test_by_principal_and_tenant)
{
    static const char *const texts[] = {SEQUENCE("within: 1h, by: principal"), SEQUENCE("within: 1h, by: [tenant]")};

    for (int i = 0; i < 2; i++) {
        struct question mail = ask("bot", "send_mail");
        struct room room;

        enter(&room, texts[i]);
        make_call(&room, ask("bot", "read_secret"), SECOND);
        mail.session = mail.correlation = SPAN_LIT("new");
        mail.upstream = SPAN_LIT("post");
        assert_int_equal(judge(&room, &mail, MINUTE)->reason, REASON_FORBIDDEN);
        mail.principal = SPAN_LIT("friend");
        assert_int_equal(judge(&room, &mail, MINUTE)->reason, i == 0 ? REASON_PERMITTED : REASON_FORBIDDEN);
        leave(&room);
    }
}

TEST_CASE(test_a_denied_call_leaves_no_trace)
{
    struct question mail = ask("bot", "send_mail"), secret = ask("bot", "read_secret");
    struct room room;

    enter(&room, SEQUENCE("within: 1h") "  - {id: no, effect: forbid, match: {tools: [read_secret]}}\n");
    assert_int_equal(judge(&room, &secret, SECOND)->reason, REASON_FORBIDDEN);
    assert_int_equal(judge(&room, &mail, SECOND)->kind, VERDICT_PERMIT);
    leave(&room);
}

TEST_CASE(test_a_reload_keeps_what_was_called)
{
    struct question mail = ask("bot", "send_mail");
    struct room room;

    enter(&room, SEQUENCE("within: 1h"));
    make_call(&room, ask("bot", "read_secret"), SECOND);
    policy_unref(&room.policy);
    room.policy = compile("policy: t\nrules:\n"
                          "  - {id: all, effect: permit, match: {tools: ['*']}}\n"
                          "  - {id: new, effect: forbid, match: {tools: [send_mail]}, when: [{session: {by: correlation, "
                          "within: 30min, called: ['dump_*', read_secret]}}]}\n");
    assert_int_equal(judge(&room, &mail, MINUTE)->reason, REASON_FORBIDDEN);
    leave(&room);
}

/* A permit may ask for it, too: what is not known opens nothing. */
TEST_CASE(test_only_after)
{
    struct question deploy = ask("bot", "deploy");
    struct room room;

    enter(&room, "policy: t\nrules:\n"
                 "  - {id: test, effect: permit, match: {tools: [run_tests]}}\n"
                 "  - {id: go, effect: permit, match: {tools: [deploy]}, "
                 "when: [{session: {called: [run_tests], within: 5min, by: session}}]}\n");
    assert_int_equal(judge(&room, &deploy, SECOND)->reason, REASON_NO_RULE);
    make_call(&room, ask("bot", "run_tests"), SECOND);
    assert_int_equal(judge(&room, &deploy, 2 * SECOND)->kind, VERDICT_PERMIT);
    deploy.session = SPAN_NONE;
    assert_int_equal(judge(&room, &deploy, 2 * SECOND)->reason, REASON_NO_RULE);
    leave(&room);
}

/* ---- without memory ---- */

/* Whichever allocation fails, no call is permitted that would not be with all of them. */
TEST_CASE(test_without_memory_nothing_opens)
{
    struct question mail = ask("bot", "send_mail"), secret = ask("bot", "read_secret");
    struct room room;

    enter(&room, "policy: t\nrules:\n"
                 "  - {id: mail, effect: permit, match: {tools: [send_mail, read_secret]}}\n"
                 "  - {id: leak, effect: forbid, match: {tools: [send_mail]}, when: [{session: {called: [read_secret], within: 1h}}]}\n"
                 "  - {id: few, effect: permit, match: {tools: [few]}, limit: {calls: 2, per: hour}}\n");
    for (uint64_t nth = 1; nth < 12; nth++) {
        for (int sticky = 0; sticky < 2; sticky++) {
            struct gate_moment moment = {.state = room.state, .now_us = SECOND};
            struct question few = ask("bot", "few");
            int permits = 0;

            gate_state_clear(room.state);
            mem_fail_at(nth, sticky);
            for (int i = 0; i < 5; i++)
                permits += judge(&room, &few, SECOND)->kind == VERDICT_PERMIT;
            gate_state_note(&moment, room.policy, &secret, &(struct policy_met){.count = 0});
            mem_fail_at(0, 0);
            assert_true(permits <= 2);
            assert_int_equal(judge(&room, &mail, 2 * SECOND)->reason, REASON_FORBIDDEN);
        }
    }
    gate_state_clear(room.state);
    assert_int_equal(judge(&room, &mail, 2 * SECOND)->kind, VERDICT_PERMIT);
    leave(&room);
}

/* ---- hints ---- */

static void learn(struct room *room, const char *tool, enum policy_known destructive)
{
    const enum policy_known said[POLICY_HINT_COUNT] = {[POLICY_DESTRUCTIVE] = destructive};

    gate_state_learn(room->state, SPAN_LIT("acme"), SPAN_LIT("shop"), false, span_text(tool), said);
}

TEST_CASE(test_hints_are_learned_by_upstream_and_tool)
{
    struct question question = ask("bot", "wipe");
    struct room room;
    char name[32];

    enter(&room, "policy: t\nrules:\n"
                 "  - {id: all, effect: permit, match: {tools: ['*']}}\n"
                 "  - {id: harm, effect: forbid, match: {tools: ['*']}, when: [{annotations: {destructiveHint: true}}]}\n");
    assert_int_equal(judge(&room, &question, SECOND)->kind, VERDICT_PERMIT);
    learn(&room, "wipe", POLICY_YES);
    assert_int_equal(judge(&room, &question, SECOND)->reason, REASON_FORBIDDEN);
    question.upstream = SPAN_LIT("other");
    assert_int_equal(judge(&room, &question, SECOND)->kind, VERDICT_PERMIT);
    question = ask("bot", "wip");
    assert_int_equal(judge(&room, &question, SECOND)->kind, VERDICT_PERMIT);
    question = ask("bot", "wipe");
    learn(&room, "wipe", POLICY_UNKNOWN); /* the server says nothing of it any more */
    assert_int_equal(judge(&room, &question, SECOND)->kind, VERDICT_PERMIT);
    /* However many names a server makes up, memory is bounded: the first that it told give way. */
    learn(&room, "wipe", POLICY_YES);
    for (int i = 0; i < 8191; i++) {
        snprintf(name, sizeof name, "tool_%d", i);
        learn(&room, name, POLICY_YES);
    }
    assert_int_equal(judge(&room, &question, SECOND)->reason, REASON_FORBIDDEN);
    learn(&room, "one_more", POLICY_YES);
    assert_int_equal(judge(&room, &question, SECOND)->kind, VERDICT_PERMIT);
    question.tool = SPAN_LIT("tool_8190");
    assert_int_equal(judge(&room, &question, SECOND)->reason, REASON_FORBIDDEN);
    gate_state_clear(room.state);
    assert_int_equal(judge(&room, &question, SECOND)->kind, VERDICT_PERMIT);
    leave(&room);
}

/* 7.2: what was listed is told once, whether or not hints came with it; of made-up upstreams nothing is. */
TEST_CASE(test_listed)
{
    const enum policy_known nothing[POLICY_HINT_COUNT] = {POLICY_UNKNOWN};
    struct room room;
    struct buf out;

    buf_init(&out, 1 << 20);
    enter(&room, "policy: t\nrules: []\n");
    learn(&room, "wipe", POLICY_UNKNOWN);
    learn(&room, "read", POLICY_YES);
    gate_state_learn(room.state, SPAN_LIT("acme"), SPAN_LIT("minted"), true, SPAN_LIT("wipe"), nothing);
    gate_state_listed(room.state, &out);
    assert_true(span_equals(buf_peek(&out), SPAN_LIT("shop\0wipe\0shop\0read\0")));
    buf_clear(&out);
    learn(&room, "wipe", POLICY_YES);
    gate_state_listed(room.state, &out);
    assert_int_equal(buf_len(&out), 0);
    buf_fini(&out);
    leave(&room);
}

/* 5.8: who makes up slugs grows no memory by them, and pushes out what is known of made-up ones alone. */
TEST_CASE(test_made_up_upstreams_give_way)
{
    const enum policy_known said[POLICY_HINT_COUNT] = {[POLICY_DESTRUCTIVE] = POLICY_YES};
    struct question question = ask("bot", "wipe");
    struct room room;
    char name[32];

    enter(&room, "policy: t\nrules:\n"
                 "  - {id: all, effect: permit, match: {tools: ['*']}}\n"
                 "  - {id: harm, effect: forbid, match: {tools: ['*']}, when: [{annotations: {destructiveHint: true}}]}\n");
    learn(&room, "wipe", POLICY_YES);
    for (int i = 0; i < 8192; i++) {
        (void)snprintf(name, sizeof name, "shop-%d", i);
        gate_state_learn(room.state, SPAN_LIT("acme"), span_text(name), true, SPAN_LIT("wipe"), said);
    }
    assert_int_equal(judge(&room, &question, SECOND)->reason, REASON_FORBIDDEN);
    question.upstream = SPAN_LIT("shop-8191");
    assert_int_equal(judge(&room, &question, SECOND)->reason, REASON_FORBIDDEN);
    question.upstream = SPAN_LIT("shop-0");
    assert_int_equal(judge(&room, &question, SECOND)->kind, VERDICT_PERMIT);
    leave(&room);
}

/* ---- many workers ---- */

#define THREADS 8
#define CALLS 400

static struct room shared;
static _Atomic uint32_t permitted[2];

static void *work(void *context)
{
    struct room mine = shared;
    struct question question = ask("bot", "both");

    (void)context;
    if (policy_scratch_new(&mine.scratch) != CODE_OK || (mine.verdict = mem_zalloc(sizeof *mine.verdict)) == NULL)
        return NULL;
    for (int i = 0; i < CALLS; i++) {
        const struct verdict *verdict = judge(&mine, &question, SECOND + i);

        if (verdict->kind == VERDICT_PERMIT)
            permitted[span_is(verdict->rule, "b")]++;
    }
    policy_scratch_free(&mine.scratch);
    mem_free(mine.verdict);
    mem_spare_drop();
    return NULL;
}

/* Each limit gives exactly what it has, and who lost the race for the first finds the second. */
TEST_CASE(test_workers_get_exactly_the_limit)
{
    pthread_t threads[THREADS];

    enter(&shared, "policy: t\nrules:\n"
                   "  - {id: a, effect: permit, match: {tools: [both]}, limit: {calls: 700, per: minute}}\n"
                   "  - {id: b, effect: permit, match: {tools: [both]}, limit: {calls: 33, per: hour, by: [principal]}}\n");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(permitted[0], 700);
    assert_int_equal(permitted[1], 33);
    leave(&shared);
}

/* ---- 7.4: over a limit a person is asked ---- */

static enum policy_known say_yes(const struct recorded *recorded, struct span rule)
{
    (void)recorded;
    return span_is(rule, "pay") ? POLICY_YES : POLICY_UNKNOWN;
}

static const char over[] =
    "policy: t\nrules:\n"
    "  - {id: pay, effect: permit, match: {tools: [pay]}, limit: [{calls: 2, per: minute, by: [principal], over: require_approval}, "
    "{calls: 4, per: hour}]}\n"
    "  - {id: zoo, effect: permit, match: {tools: [pay], principals: [keeper]}}\n";

TEST_CASE(test_what_a_person_lets_pass_counts)
{
    struct question pay = ask("bot", "pay"), keeper = ask("keeper", "pay");
    struct gate_moment moment;
    struct gate_token token;
    struct room room;

    enter(&room, over);
    moment = (struct gate_moment){.state = room.state, .now_us = SECOND, .granted = say_yes};
    for (int i = 0; i < 7; i++) /* what is held takes nothing */
        assert_int_equal(judge(&room, &pay, SECOND)->reason, i < 2 ? REASON_PERMITTED : REASON_APPROVAL_REQUIRED);
    assert_int_equal(room.verdict->approval_count, 1);
    assert_int_equal(room.verdict->rule_count, 1);
    assert_true(room.verdict->rules[0].limited);
    for (int i = 0; i < 2; i++) { /* approved, one that is given back and one that goes up */
        gate_state_judge(&moment, room.policy, &pay, false, room.scratch, room.verdict, &token);
        assert_int_equal(room.verdict->kind, VERDICT_PERMIT);
        assert_true(room.verdict->spent[HALF_PERSON].beyond);
        if (i == 0)
            gate_token_give_back(&token);
        else
            gate_token_spend(&token);
    }
    /* Both limits have it: after a minute two of the three are back, and the hour has one left. */
    assert_int_equal(judge(&room, &pay, SECOND + MINUTE - 1)->reason, REASON_APPROVAL_REQUIRED);
    assert_int_equal(judge(&room, &pay, SECOND + MINUTE)->kind, VERDICT_PERMIT);
    gate_state_judge(&moment, room.policy, &pay, false, room.scratch, room.verdict, &token);
    assert_int_equal(room.verdict->reason, REASON_RATE_LIMITED); /* over the hour nobody is asked */
    assert_int_equal(room.verdict->approval_count, 0);
    assert_true(span_is(judge(&room, &keeper, SECOND + MINUTE)->rule, "zoo")); /* nor where another permit applies */
    leave(&room);
}

/* Where there is no room to count, a person may be asked, and whom he lets pass must be counted. */
TEST_CASE(test_a_full_table_asks_or_denies)
{
    struct question pay = ask("bot", "pay");
    struct gate_moment moment;
    struct gate_token token;
    struct room room;

    enter(&room, "policy: t\nrules:\n"
                 "  - {id: pay, effect: permit, match: {tools: [pay]}, limit: {calls: 2, per: minute, over: require_approval}}\n"
                 "  - {id: plain, effect: permit, match: {tools: [plain]}, limit: {calls: 2, per: minute}}\n");
    gate_state_free(&room.state);
    assert_int_equal(gate_state_new(64, NULL, &room.state), CODE_OK);
    moment = (struct gate_moment){.state = room.state, .now_us = SECOND, .granted = say_yes};
    expect(&room, "bot", "plain", SECOND, REASON_STATE_SHARE, NULL);
    expect(&room, "bot", "pay", SECOND, REASON_APPROVAL_REQUIRED, "pay");
    gate_state_judge(&moment, room.policy, &pay, false, room.scratch, room.verdict, &token);
    assert_int_equal(room.verdict->reason, REASON_STATE_SHARE);
    assert_null(token.state);
    leave(&room);
}

TEST_MAIN(NULL, NULL)
