/* SPDX-License-Identifier: Apache-2.0 */
/* A policy over recorded calls (2.5): flips, what cannot be told, the order, several threads. */
#include "unit/past/replay_house.h"
#include "language/language.h"

TEST_CASE_WITH(test_an_empty_record, open_house, close_house)
{
    struct replay_sum sum = replay(*state, SAME);

    assert_int_equal(sum.calls, 0);
}

TEST_CASE_WITH(test_flips_and_rules, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct replay_sum sum;

    settle(house, put(house, &call));
    sum = replay(house, SAME);
    assert_int_equal(sum.fates[REPLAY_SAME], 1);
    assert_int_equal(house->told, 0);
    sum = replay(house, "  - {id: another, effect: permit, match: {tools: [search_products]}}\n");
    assert_int_equal(sum.fates[REPLAY_OTHER_RULE], 1);
    assert_int_equal(house->told, 0);
    sum = replay(house, SAME "  - {id: f, effect: forbid, when: [{arg: limit, min: 10}]}\n");
    assert_int_equal(sum.fates[REPLAY_FLIPS], 1);
    assert_int_equal(sum.same_version_flips, 1); /* audit_call says version 7, and so does this policy */
    assert_int_equal(house->told, 1);
    assert_string_equal(house->rules, "store.search > f");
    assert_int_equal(house->last.was.kind, VERDICT_PERMIT);
    assert_int_equal(house->last.is.kind, VERDICT_DENY);
    sum = replay(house, SAME "  - {id: f, effect: forbid, when: [{arg: limit, min: 11}]}\n");
    assert_int_equal(sum.fates[REPLAY_SAME], 1);
}

TEST_CASE_WITH(test_a_denial_flips_too, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");

    call.verdict = AUDIT_DENY;
    call.reason = REASON_NO_RULE;
    call.rule = SPAN_NONE;
    settle(house, put(house, &call));
    assert_int_equal(replay(house, SAME).fates[REPLAY_FLIPS], 1);
    assert_int_equal(house->last.is.kind, VERDICT_PERMIT);
    assert_int_equal(replay(house, "  - {id: x, effect: permit, match: {tools: [another]}}\n").fates[REPLAY_SAME], 1);
}

TEST_CASE_WITH(test_what_was_never_asked, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct replay_sum sum;

    call.method = SPAN_LIT("pass");
    (void)put(house, &call);
    call = audit_call("acme", "c-1");
    call.verdict = AUDIT_DENY;
    call.reason = REASON_JSON_DUPLICATE;
    settle(house, put(house, &call));
    sum = replay(house, SAME);
    assert_int_equal(sum.fates[REPLAY_NO_QUESTION], 2);
    assert_int_equal(sum.refused, 1);
    assert_int_equal(sum.unjudged, 1);
}

TEST_CASE_WITH(test_lost_values_count_apart, open_house, close_house)
{
    static char big[70000];
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct replay_sum sum;

    call.arguments = SPAN_LIT("{\"user\":\"u\",\"password\":{\"dev.callgate/redacted\":\"hmac-sha256:00\"}}");
    call.arguments_redacted = true;
    (void)put(house, &call);
    call.arguments_redacted = false;
    (void)snprintf(big, sizeof big, "{\"password\":\"%066000d\"}", 7);
    call.arguments = span_text(big);
    settle(house, put(house, &call));
    sum = replay(house, SAME "  - {id: f, effect: forbid, match: {tools: ['*']}, when: [{arg: password, equals: x}]}\n");
    assert_int_equal(sum.fates[REPLAY_UNKNOWN], 2);
    assert_int_equal(sum.lacks[RECORDED_REDACTED], 1);
    assert_int_equal(sum.lacks[RECORDED_CUT], 1);
    assert_int_equal(house->told, 2);
    sum = replay(house, SAME); /* nobody asks for what is lost */
    assert_int_equal(sum.fates[REPLAY_SAME], 2);
    sum = replay(house, "  - {id: f, effect: forbid, match: {tools: ['*']}, when: [{arg: password, equals: x}]}\n");
    assert_int_equal(sum.fates[REPLAY_FLIPS], 2); /* denied whatever it was */
    assert_int_equal(sum.lossy, 2);
    sum = replay(house, SAME "  - {id: f, effect: forbid, match: {tools: ['*']}}\n  - {id: ask, effect: require_approval, match: "
                             "{tools: ['*']}, when: [{arg: password, equals: x}]}\n");
    assert_int_equal(sum.fates[REPLAY_FLIPS], 2); /* nor does it matter whether it would have been held */
}

TEST_CASE_WITH(test_what_a_person_said, open_house, close_house)
{
    static const char held[] = "  - {id: ask, effect: require_approval, match: {tools: [search_products]}}\n";
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");

    call.rule = SPAN_LIT("ask");
    settle(house, put(house, &call)); /* permitted by a require_approval: it was granted */
    assert_int_equal(replay(house, held).fates[REPLAY_SAME], 1);
    assert_int_equal(replay(house, SAME).fates[REPLAY_OTHER_RULE], 1);
    assert_int_equal(replay(house, "  - {id: asks, effect: require_approval, match: {tools: ['*']}}\n").fates[REPLAY_FLIPS], 1);
    assert_int_equal(house->last.is.kind, VERDICT_HOLD);
    call.verdict = AUDIT_HOLD;
    call.reason = REASON_APPROVAL_REQUIRED;
    settle(house, put(house, &call));
    assert_int_equal(replay(house, held).fates[REPLAY_SAME], 2);
}

/* 7.4: what a sum counted is in the record, whatever is lost of the arguments; and whether a person let more than it pass. */
TEST_CASE_WITH(test_sums_are_known_by_what_they_counted, open_house, close_house)
{
#define PAY(at_most, over) \
    "  - {id: pay, effect: permit, match: {tools: [search_products]}, limit: {sum: amount, at_most: " at_most ", per: day" over "}}\n"
#define ASKS ", over: require_approval"
    static char big[70000];
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct replay_sum sum;

    (void)snprintf(big, sizeof big, "{\"text\":\"%066000d\",\"amount\":30}", 7);
    call.arguments = span_text(big);
    call.rule = SPAN_LIT("pay");
    call.rules = SPAN_LIT("[{\"id\":\"pay\",\"effect\":\"permit\",\"monitor\":false,\"spent\":{\"$.amount\":30}}]");
    (void)put(house, &call);
    call.rules = SPAN_LIT("[{\"id\":\"pay\",\"effect\":\"permit\",\"monitor\":false,\"limited\":true,\"approval\":3,"
                          "\"spent\":{\"$.amount\":30}}]");
    settle(house, put(house, &call));
    assert_int_equal(replay(house, PAY("60", "")).fates[REPLAY_SAME], 2);
    sum = replay(house, PAY("59.999999", ""));
    assert_int_equal(sum.fates[REPLAY_SAME], 1);
    assert_int_equal(sum.fates[REPLAY_FLIPS], 1); /* nothing of it is guessed */
    assert_int_equal(house->last.is.kind, VERDICT_DENY);
    assert_int_equal(replay(house, PAY("59.999999", ASKS)).fates[REPLAY_SAME], 2); /* as a person said then */
    sum = replay(house, PAY("29", ASKS));
    assert_int_equal(sum.fates[REPLAY_FLIPS], 1); /* nobody was asked about the first */
    assert_int_equal(house->last.is.kind, VERDICT_HOLD);
    sum = replay(house, "  - {id: pay, effect: permit, match: {tools: [search_products]}, limit: {sum: fee, at_most: 1, per: day}}\n");
    assert_int_equal(sum.fates[REPLAY_UNKNOWN], 2); /* another sum was not counted then */
    assert_int_equal(replay(house, "  - {id: pay, effect: require_approval, match: {tools: [search_products]}}\n").fates[REPLAY_FLIPS], 1);
}

TEST_CASE_WITH(test_what_several_persons_said, open_house, close_house)
{
    static const char both[] = "  - {id: ask, effect: require_approval, match: {tools: [search_products]}}\n"
                               "  - {id: ask2, effect: require_approval, match: {tools: ['search_*']}}\n";
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");

    call.rule = SPAN_LIT("ask");
    call.rules = SPAN_LIT("[{\"id\":\"ask\",\"effect\":\"require_approval\",\"monitor\":false,\"approval\":1},"
                          "{\"id\":\"ask2\",\"effect\":\"require_approval\",\"monitor\":false,\"approval\":2}]");
    settle(house, put(house, &call));
    assert_int_equal(replay(house, both).fates[REPLAY_SAME], 1);
    assert_int_equal(replay(house, "  - {id: ask, effect: require_approval, match: {tools: ['*']}}\n"
                                   "  - {id: ask20, effect: require_approval, match: {tools: ['*']}}\n").fates[REPLAY_FLIPS], 1);
    call.verdict = AUDIT_DENY;
    call.rule = SPAN_LIT("ask2");
    call.reason = REASON_APPROVAL_REFUSED;
    settle(house, put(house, &call));
    assert_int_equal(replay(house, both).fates[REPLAY_SAME], 2);
    call.rule = SPAN_LIT("ask");
    call.reason = REASON_APPROVAL_LIMIT; /* it would have been held, but for too many that wait */
    settle(house, put(house, &call));
    assert_int_equal(replay(house, both).fates[REPLAY_SAME], 3);
}

TEST_CASE_WITH(test_ranges, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct recorded_range range = {.since_us = call.time_us + 10};

    for (int i = 0; i < 20; i++) {
        call.tenant = i % 2 == 0 ? SPAN_LIT("acme") : SPAN_LIT("other");
        call.tool = i < 5 ? SPAN_LIT("search_products") : SPAN_LIT("buy");
        call.verdict = i < 15 ? AUDIT_PERMIT : AUDIT_DENY;
        call.reason = i < 15 ? REASON_PERMITTED : REASON_NO_RULE;
        settle(house, put(house, &call));
        call.time_us++;
    }
    assert_int_equal(replay_range(house, SAME, 1, &range).calls, 10);
    range.until_us = range.since_us + 3;
    assert_int_equal(replay_range(house, SAME, 1, &range).calls, 3);
    range = (struct recorded_range){.tenant = SPAN_LIT("other")};
    assert_int_equal(replay_range(house, SAME, 1, &range).calls, 10);
    range = (struct recorded_range){.tool = SPAN_LIT("buy"), .permitted = true};
    assert_int_equal(replay_range(house, SAME, 1, &range).calls, 10);
    range.upstream = SPAN_LIT("another");
    assert_int_equal(replay_range(house, SAME, 1, &range).calls, 0);
    range = (struct recorded_range){
        .last_seq = audit_file_number(&house->file, "SELECT seq FROM decision ORDER BY seq LIMIT 1 OFFSET 6")};
    assert_int_equal(replay_range(house, SAME, 1, &range).calls, 7);
    range.upstream = SPAN_LIT("another");
    assert_int_equal(replay_range(house, SAME, 1, &range).calls, 0);
}

/* More than one stretch of numbers on more threads than cores: the same sums, told in order. */
TEST_CASE_WITH(test_threads_agree, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct replay_sum one, many;
    uint64_t ticket = 0;

    for (int i = 0; i < 20000; i++) {
        char arguments[32];

        (void)snprintf(arguments, sizeof arguments, "{\"limit\":%d}", i % 10);
        call.arguments = span_text(arguments);
        ticket = put(house, &call);
    }
    settle(house, ticket);
    one = replay_range(house, SAME "  - {id: f, effect: forbid, when: [{arg: limit, min: 7}]}\n", 1, NULL);
    assert_int_equal(one.fates[REPLAY_FLIPS], 6000);
    assert_int_equal(one.fates[REPLAY_SAME], 14000);
    many = replay_range(house, SAME "  - {id: f, effect: forbid, when: [{arg: limit, min: 7}]}\n", 5, NULL);
    assert_int_equal(house->told, 6000);
    assert_memory_equal(&one, &many, sizeof one);
}

#define MINUTE_US INT64_C(60000000)

/* Limits and sequences in recorded order, over what came before the range and whatever else is meant. */
TEST_CASE_WITH(test_the_past_is_replayed, open_house, close_house)
{
    static const char limited[] = "  - {id: store.search, effect: permit, match: {tools: ['*']}, limit: {calls: 3, per: minute, "
                                  "by: [tenant]}}\n";
    static const char sequence[] =
        SAME "  - {id: mail, effect: permit, match: {tools: [send_mail]}}\n"
             "  - {id: after, effect: forbid, match: {tools: [send_mail]}, when: [{session: {called: [search_products], within: "
             "10min}}]}\n";
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct recorded_range range = {.since_us = call.time_us + 2 * MINUTE_US / 60};
    struct replay_sum sum;

    for (int i = 0; i < 5; i++) { /* one a second */
        settle(house, put(house, &call));
        call.time_us += MINUTE_US / 60;
    }
    sum = replay_range(house, limited, 4, NULL);
    assert_int_equal(sum.fates[REPLAY_SAME], 3);
    assert_int_equal(sum.fates[REPLAY_FLIPS], 2);
    assert_true(span_is(house->last.is.reason, "rate_limited"));
    sum = replay_range(house, limited, 1, &range); /* two came before, and count */
    assert_int_equal(sum.calls, 3);
    assert_int_equal(sum.fates[REPLAY_FLIPS], 2);
    range = (struct recorded_range){.tenant = SPAN_LIT("other")};
    call.time_us += 5 * MINUTE_US;
    call.tool = SPAN_LIT("send_mail");
    call.rule = SPAN_LIT("mail");
    settle(house, put(house, &call));
    sum = replay(house, sequence);
    assert_int_equal(sum.fates[REPLAY_FLIPS], 1);
    assert_string_equal(house->rules, "mail > after");
    range = (struct recorded_range){.since_us = call.time_us, .tool = SPAN_LIT("send_mail")};
    sum = replay_range(house, sequence, 1, &range);
    assert_int_equal(sum.calls, 1);
    assert_int_equal(sum.fates[REPLAY_FLIPS], 1);
    call.time_us += 20 * MINUTE_US;
    settle(house, put(house, &call));
    range.since_us = call.time_us;
    assert_int_equal(replay_range(house, sequence, 1, &range).fates[REPLAY_SAME], 1); /* it is long ago */
}

/* A gate that starts again counts its record, and so does the replay. */
TEST_CASE_WITH(test_a_start_forgets_nothing, open_house, close_house)
{
    static const char limited[] = "  - {id: store.search, effect: permit, match: {tools: ['*']}, limit: {calls: 1, per: hour}}\n";
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");

    settle(house, put(house, &call));
    audit_close(&house->audit);
    house->audit = audit_file_open(&house->file, 1);
    settle(house, put(house, &call));
    settle(house, put(house, &call));
    assert_int_equal(replay(house, limited).fates[REPLAY_SAME], 1);
    assert_int_equal(replay(house, limited).fates[REPLAY_FLIPS], 2);
}

static struct policy *compile(const char *text)
{
    const struct policy_file file = {SPAN_LIT("p.yaml"), span_text(text)};
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    if (policy_compile(&file, 1, 7, &policy, &faults, NULL) != CODE_OK)
        fail_msg("%d: %s", faults.fault[0].line, faults.fault[0].text);
    return policy;
}

/* The files of a trail are one record: what is counted goes on from one to the next. One of them may be empty. */
TEST_CASE_WITH(test_several_files, open_house, close_house)
{
    static const char *const rules[] = {
        "policy: p\nrules:\n  - {id: store.search, effect: permit, match: {tools: ['*']}, limit: {calls: 3, per: hour}}\n",
        "policy: p\nrules:\n" SAME,
    };
    struct house *house = *state;
    struct house later = {.told = 0}, empty = {.told = 0};
    struct audit_decision call = audit_call("acme", "c-1");
    struct trail_file files[3] = {{.path = NULL}};
    const struct trail trail = {.files = files, .count = 3};

    audit_file_init(&later.file);
    later.audit = audit_file_open(&later.file, 1);
    audit_file_init(&empty.file);
    empty.audit = audit_file_open(&empty.file, 1);
    for (int i = 0; i < 2; i++) {
        settle(house, put(house, &call));
        settle(&later, put(&later, &call));
    }
    files[0].path = house->file.path;
    files[1].path = empty.file.path;
    files[2].path = later.file.path;
    for (size_t i = 0; i < 2; i++) {
        struct policy *policy = compile(rules[i]);
        struct replay_conf conf = {.trail = &trail, .threads = 3, .policy = policy};
        struct replay_sum sum;
        struct why why = {""};

        assert_int_equal(replay_run(&conf, &sum, &why), CODE_OK);
        assert_int_equal(sum.calls, 4);
        assert_int_equal(sum.fates[REPLAY_FLIPS], i == 0 ? 1 : 0);
        policy_unref(&policy);
    }
    audit_close(&later.audit);
    audit_file_fini(&later.file);
    audit_close(&empty.audit);
    audit_file_fini(&empty.file);
}

/* What a server said of its tool is not recorded. */
TEST_CASE_WITH(test_hints_are_guessed, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");

    settle(house, put(house, &call));
    assert_int_equal(replay(house, SAME "  - {id: f, effect: forbid, match: {tools: ['*']}, when: [{annotations: "
                                        "{destructiveHint: true}}]}\n").fates[REPLAY_UNKNOWN], 1);
    assert_int_equal(replay(house, SAME "  - {id: f, effect: forbid, match: {tools: ['*']}, when: [{annotations: "
                                        "{destructiveHint: true}}, {arg: query, equals: x}]}\n").fates[REPLAY_SAME], 1);
}

/* Whichever allocation fails: the same sum, or none and a reason. */
TEST_CASE_WITH(test_replay_memory, open_house, close_house)
{
    static const char rules[] = "policy: p\nrules:\n" SAME
                                "  - {id: f, effect: forbid, match: {tools: ['*']}, when: [{arg: '$..*', matches: 'la+mp'}]}\n"
                                "  - {id: after, effect: forbid, match: {tools: ['*']}, when: [{session: {called: [x], "
                                "within: 1h}}]}\n";
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct trail_file only = {.path = house->file.path};
    const struct trail trail = {.files = &only, .count = 1};
    struct replay_conf conf = {.trail = &trail, .threads = 1, .tell = tell, .context = house};
    struct policy *policy = compile(rules);
    bool done = false;

    for (int i = 0; i < 3; i++)
        settle(house, put(house, &call));
    conf.policy = policy;
    for (uint64_t nth = 1; !done; nth++) {
        struct replay_sum sum;
        struct why why = {""};
        enum code code;

        house->last_seq = 0;
        mem_fail_at(nth, 0);
        code = replay_run(&conf, &sum, &why);
        done = mem_fail_count() < nth;
        mem_fail_at(0, 0);
        if (code == CODE_OK)
            assert_int_equal(sum.fates[REPLAY_FLIPS], 3);
        else
            assert_false(done);
        assert_true(nth < 10000);
    }
    policy_unref(&policy);
}

TEST_CASE_WITH(test_what_cannot_be_read_is_told, open_house, close_house)
{
    struct house *house = *state;
    struct trail_file nowhere = {.path = (char[]){"/nowhere/audit.db"}};
    const struct trail trail = {.files = &nowhere, .count = 1};
    struct replay_conf conf = {.trail = &trail, .threads = 2};
    struct policy *policy = compile("policy: p\nrules:\n" SAME);
    struct replay_sum sum;
    struct why why = {""};

    (void)house;
    conf.policy = policy;
    assert_int_not_equal(replay_run(&conf, &sum, &why), CODE_OK);
    policy_unref(&policy);
    assert_non_null(strstr(why.text, "/nowhere/audit.db"));
}

TEST_MAIN(NULL, NULL)
