/* SPDX-License-Identifier: Apache-2.0 */
/* What a gate that starts counts again out of its audit. Number: 2.1 */
#include "remember_bench.h"

TEST_CASE_WITH(test_a_restart_gives_no_tokens_away, open_house, close_house)
{
    struct house *house = *state;
    struct call doc = ask("resources/read", "a:1", NULL, 0);

    assert_int_equal(remember(house, false), 0);
    call(house, "read_secret", "s1", 61 * MINUTE, REASON_PERMITTED); /* by now out of the limit's window, not of the other */
    call(house, "read_secret", "s1", 2 * MINUTE, REASON_PERMITTED);
    call(house, "read_secret", "s1", MINUTE, REASON_PERMITTED);
    call(house, "read_secret", "s2", MINUTE, REASON_PERMITTED);
    call(house, "plain", "s1", 0, REASON_PERMITTED);
    call(house, "nothing", "s1", 0, REASON_NO_RULE);
    assert_int_equal(make(house, &doc), REASON_PERMITTED);
    assert_int_equal(remember(house, true), 5); /* neither what nobody asks for nor what was denied */
    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
    call(house, "read_secret", "s2", 0, REASON_PERMITTED);
    call(house, "send_mail", "s1", 0, REASON_FORBIDDEN);
    assert_int_equal(make(house, &doc), REASON_RATE_LIMITED);
    call(house, "plain", "s1", 0, REASON_PERMITTED);
}

/* What a session is called is not in the audit; that it is the same one is. */
TEST_CASE_WITH(test_a_session_is_known_again, open_house, close_house)
{
    struct house *house = *state;
    struct call mail = ask("tools/call", "send_mail", "s1", 0);

    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    remember(house, true);
    mail.asked.correlation = SPAN_LIT("c-2");
    assert_int_equal(make(house, &mail), REASON_FORBIDDEN);
    mail.asked.session = SPAN_LIT("s2");
    assert_int_equal(make(house, &mail), REASON_PERMITTED);
}

/* A rule that is loaded later knows who called its tools before, and takes no tokens for it. */
TEST_CASE_WITH(test_a_new_watch_knows_the_calls_before, open_house, close_house)
{
    static const char coming[] =
        "policy: test\n"
        "rules:\n"
        "  - {id: read, effect: permit, match: {tools: [read_secret, send_mail]}, limit: {calls: 3, per: hour, by: [session, tool]}}\n"
        "  - {id: leak, effect: forbid, match: {tools: [send_mail]}, when: [{session: {called: [plain], within: 1h}}]}\n"
        "  - {id: plain, effect: permit, match: {tools: [plain]}, limit: {calls: 1, per: day}}\n";
    struct house *house = *state;
    struct policy *policy = compile(coming);
    struct remembered remembered;
    struct why why = {0};

    call(house, "plain", "s1", 2 * MINUTE, REASON_PERMITTED);
    call(house, "send_mail", "s1", 0, REASON_PERMITTED);
    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    if (gate_remember_watches(house->shared, policy, &(struct remembering){.path = house->path, .now_us = clock_wall_us()},
                              &remembered, &why) != CODE_OK)
        fail_msg("%s", why.text);
    gate_publish_policy(house->shared, policy);
    call(house, "send_mail", "s1", 0, REASON_FORBIDDEN);
    call(house, "read_secret", "s1", 0, REASON_PERMITTED); /* the third */
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
    call(house, "plain", "s1", 0, REASON_PERMITTED); /* a new limit counts from now on */
    call(house, "plain", "s1", 0, REASON_RATE_LIMITED);
}

/* A token that was taken for nothing is there again. */
TEST_CASE_WITH(test_what_is_not_recorded_costs_nothing, open_house, close_house)
{
    struct house *house = *state;
    struct call message = ask("tools/call", "read_secret", "s1", 0), mail = ask("tools/call", "send_mail", "s1", 0);

    for (int i = 0; i < 10; i++) {
        gate_judge(house->gate, &message);
        assert_int_equal(message.verdict.reason, REASON_PERMITTED);
        gate_let_go(&message); /* the agent went away before it was recorded */
    }
    for (int i = 0; i < 10; i++) {
        gate_judge(house->gate, &message);
        assert_int_equal(gate_record(house->gate, &message, 200), CODE_OK);
        gate_settle(house->gate, &message); /* as if the commit had failed */
        gate_let_go(&message);
    }
    call(house, "send_mail", "s1", 0, REASON_PERMITTED); /* and nothing was read */
    for (int i = 0; i < 3; i++)
        call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
    assert_int_equal(make(house, &mail), REASON_FORBIDDEN);
}

/* Recorded, and nobody waited for what became of it: it may count after a restart, so it counts now. */
TEST_CASE_WITH(test_what_is_left_in_the_air_counts, open_house, close_house)
{
    struct house *house = *state;
    struct call message = ask("tools/call", "read_secret", "s1", 0);

    for (int i = 0; i < 3; i++) {
        gate_judge(house->gate, &message);
        assert_int_equal(gate_record(house->gate, &message, 200), CODE_OK);
        gate_let_go(&message);
    }
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
    remember(house, true);
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
}

/* ---- 7.4 ---- */

/* What a budget has lost no restart brings back, whatever the record has lost of the arguments. */
TEST_CASE_WITH(test_a_restart_gives_no_budget_back, open_house, close_house)
{
    static char large[100000];
    struct house *house = *state;

    (void)snprintf(large, sizeof large, "{\"text\":\"%090000d\",\"amount\":199.99,\"fee\":[0]}", 7);
    pay(house, "{\"amount\":200.01,\"fee\":[6.5]}", 61 * MINUTE, REASON_PERMITTED);
    pay(house, "{\"amount\":100,\"fee\":[1,2.5],\"secret\":1}", 30 * MINUTE, REASON_PERMITTED); /* redacted beside it */
    pay(house, large, 0, REASON_PERMITTED);                                                         /* cut in the record */
    pay(house, "{\"amount\":0.01,\"fee\":[0]}", 0, REASON_RATE_LIMITED);
    remember(house, true);
    pay(house, "{\"amount\":0.01,\"fee\":[0]}", 0, REASON_RATE_LIMITED);
    pay(house, "{\"amount\":0,\"fee\":[6.5]}", 0, REASON_PERMITTED); /* the hour is over for one of the fees */
    pay(house, "{\"amount\":0,\"fee\":[0.000001]}", 0, REASON_RATE_LIMITED);
    remember(house, true);
    pay(house, "{\"amount\":0,\"fee\":[0.000001]}", 0, REASON_RATE_LIMITED);
    pay(house, "{\"amount\":0,\"fee\":[0]}", 0, REASON_PERMITTED);
}

/* What is redacted the record may not name, so that it is no part of a sum. */
TEST_CASE_WITH(test_what_is_redacted_is_in_no_sum, open_house, close_house)
{
    struct house *house = *state;

    gate_publish_policy(house->shared, compile("policy: test\nrules:\n"
                                               "  - {id: pay, effect: permit, match: {tools: [pay]}, limit: {sum: $..fee, "
                                               "at_most: 10, per: day}}\n"
                                               "redact:\n  - {match: {tools: [pay]}, args: ['$..hidden', '$.b[1]']}\n"));
    pay(house, "{\"fee\":1}", 0, REASON_PERMITTED);
    pay(house, "{\"fee\":1,\"hidden\":{\"fe\":5}}", 0, REASON_PERMITTED);
    pay(house, "{\"fee\":1,\"hidden\":{\"fee\":5}}", 0, REASON_NO_RULE);
    pay(house, "{\"b\":[{\"fee\":1},2,{\"fee\":1}]}", 0, REASON_PERMITTED);
    pay(house, "{\"b\":[{\"fee\":1},{\"fee\":1}]}", 0, REASON_NO_RULE);
    pay(house, "{\"a\":[0,{\"hidden\":1,\"fee\":0}],\"hidden\":2,\"c\":{\"fee\":1}}", 0, REASON_PERMITTED); /* between two */
    pay(house, "{\"fee\":5}", 0, REASON_PERMITTED);
    pay(house, "{\"fee\":0.5}", 0, REASON_RATE_LIMITED);
}

/* A sum that is new counts from now on; one whose bound changes keeps what was spent. */
TEST_CASE_WITH(test_a_budget_that_is_raised_keeps_what_was_spent, open_house, close_house)
{
    static const char *const texts[] = {
        "policy: test\nrules:\n  - {id: pay, effect: permit, match: {tools: [pay]}}\n",
        "policy: test\nrules:\n  - {id: pay, effect: permit, match: {tools: [pay]}, limit: {sum: a, at_most: 10, per: day}}\n",
        "policy: test\nrules:\n  - {id: pay, effect: permit, match: {tools: [pay]}, limit: {sum: $.a, at_most: 15, per: day}}\n",
    };
    struct house *house = *state;

    gate_publish_policy(house->shared, compile(texts[0]));
    pay(house, "{\"a\":9}", 0, REASON_PERMITTED);
    gate_publish_policy(house->shared, compile(texts[1]));
    pay(house, "{\"a\":9}", 0, REASON_PERMITTED);
    pay(house, "{\"a\":2}", 0, REASON_RATE_LIMITED);
    gate_publish_policy(house->shared, compile(texts[2]));
    pay(house, "{\"a\":7}", 0, REASON_RATE_LIMITED);
    pay(house, "{\"a\":6}", 0, REASON_PERMITTED);
    gate_publish_policy(house->shared, compile(texts[1])); /* and one that is lowered has none left */
    pay(house, "{\"a\":0.000001}", 0, REASON_RATE_LIMITED);
    close_gate(house);
    start(house);
    gate_publish_policy(house->shared, compile(texts[2]));
    assert_int_equal(remember(house, false), 2);
    pay(house, "{\"a\":0.000001}", 0, REASON_RATE_LIMITED);
}

/* Rows of somebody who is denied, behind all that the file has. Nobody checks their chain here. */
static void put_denials(const char *path, int64_t rows)
{
    struct db_stmt *insert;
    struct why why = {0};
    struct db *db;

    assert_int_equal(db_open(path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_prepare(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) INSERT INTO "
                                "decision (seq, time_us, tenant, principal, method, tool, verdict, reason, rule, arguments_cut, "
                                "arguments_redacted, expects_outcome, hash) SELECT (SELECT max(seq) FROM event) + i, ?2, 'acme', "
                                "'bot', 'tools/call', 'read_secret', 'deny', 'rate_limited', NULL, 0, 0, 0, x'00' FROM n",
                                &insert), CODE_OK);
    db_bind_int(insert, 1, rows);
    db_bind_int(insert, 2, clock_wall_us());
    assert_int_equal(db_run(insert), CODE_OK);
    db_finalize(&insert);
    db_close(&db);
}

/* 10.41: however many rows stand between, limits, sums, sequences and rules that were met are known again; and reading them can
 * be called off. */
TEST_CASE_WITH(test_no_number_of_rows_makes_it_forget, open_house, close_house)
{
    atomic_bool stops = true;
    struct house *house = *state, old;
    struct remembering asked = {.path = old.path, .now_us = clock_wall_us()};
    struct remembered remembered;
    struct why why = {0};

    call(house, "read_secret", "s1", MINUTE, REASON_PERMITTED);
    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    pay(house, "{\"amount\":400,\"fee\":[0]}", 0, REASON_PERMITTED);
    pay(house, "{\"amount\":9,\"fee\":[0]}", 0, REASON_PERMITTED);
    close_gate(house);
    old = *house;
    put_denials(old.path, 1000001);
    assert_int_equal(open_house(state), 0); /* a gate without a past reads that one */
    asked.stop = &stops;
    assert_int_equal(gate_remember(house->shared, &asked, &remembered, &why), CODE_BUSY);
    stops = false;
    assert_int_equal(gate_remember(house->shared, &asked, &remembered, &why), CODE_OK);
    assert_int_equal(remembered.calls, 4);
    assert_int_equal(remembered.rows, 4);
    assert_int_equal(gate_remember(house->shared, &asked, &remembered, &why), CODE_OK); /* from the beginning, not on top */
    call(house, "send_mail", "s1", 0, REASON_FORBIDDEN);
    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
    call(house, "plain", "s1", 0, REASON_FORBIDDEN);
    pay(house, "{\"amount\":91.01,\"fee\":[0]}", 0, REASON_RATE_LIMITED);
    pay(house, "{\"amount\":91,\"fee\":[0]}", 0, REASON_PERMITTED);
    empty(old.folder);
}

/* 10.41: what is judged while a start still reads is denied, and takes nothing. */
TEST_CASE_WITH(test_calls_are_held_back, open_house, close_house)
{
    struct house *house = *state;

    gate_hold_back(house->shared, true);
    for (int i = 0; i < 4; i++)
        call(house, "read_secret", "s1", 0, REASON_STARTING);
    gate_hold_back(house->shared, false);
    for (int i = 0; i < 3; i++)
        call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
}

TEST_CASE_WITH(test_a_rule_that_was_met_is_known_again, open_house, close_house)
{
    struct house *house = *state;

    pay(house, "{\"amount\":11,\"fee\":[0]}", 0, REASON_PERMITTED);
    remember(house, true);
    call(house, "plain", "s1", 0, REASON_PERMITTED);
    pay(house, "{\"amount\":10,\"fee\":[0]}", 0, REASON_PERMITTED);
    call(house, "plain", "s1", 0, REASON_FORBIDDEN);
    remember(house, true);
    call(house, "plain", "s2", 0, REASON_FORBIDDEN);
}

/* 9.4: where the row names no rules, any of them may have been met. */
TEST_CASE(test_too_many_to_be_named)
{
    static const struct { const char *rules; uint32_t count; } cases[] = {
        {"[]", 0}, {"[{\"id\":\"a\",\"effect\":\"flag\"}]", 1}, {"\"too long\"", VERDICT_RULES_MAX + 1}, {"", VERDICT_RULES_MAX + 1},
    };
    struct verdict_rule named[VERDICT_RULES_MAX];
    struct arena arena;
    struct buf document;

    arena_init(&arena, 1 << 20);
    buf_init(&document, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct policy_met met = {.count = 0};

        memset(named, 0x7f, sizeof named);
        (void)gate_recorded_met(span_text(cases[i].rules), &arena, &document, named, &met);
        assert_int_equal(met.count, cases[i].count);
        assert_true(named[0].id.at != NULL ? met.count == 1 : met.count != 1); /* nor is one compared that nobody has named */
    }
    buf_fini(&document);
    arena_fini(&arena);
}

/* 8.7. Takes: used_us: what the clock said then. */
static void put_step(struct house *house, const struct plan *plan, int64_t used_us)
{
    char hex[2 * DIGEST_BYTES];
    struct audit_decision record = {
        .time_us = used_us, .tenant = plan->tenant, .upstream = SPAN_LIT("shop"), .direction = SPAN_LIT("agent"),
        .method = SPAN_LIT("tools/call"), .verdict = AUDIT_PERMIT, .reason = REASON_PERMITTED, .plan_step = SPAN_LIT("1"),
    };
    uint64_t ticket, seq = 0;

    num_hex(plan->digest, DIGEST_BYTES, hex);
    record.plan = span_of(hex, sizeof hex);
    assert_int_equal(audit_put_decision(audit_ring(house->audit, 0), &record, &ticket), CODE_OK);
    for (int i = 0; i < 60000 && audit_fate(audit_ring(house->audit, 0), ticket, &seq) == AUDIT_WAITING; i++)
        usleep(1000);
    assert_int_not_equal(seq, 0);
}

/* 8.7: whatever the clock says at a start, and whatever it said when a step was used, no step comes back while the plan lasts. */
TEST_CASE_WITH(test_steps_whatever_the_clock, open_house, close_house)
{
    const int64_t hour_us = 60 * MINUTE, now_us = clock_wall_us();
    const struct plan_fit fit = {{1}};
    struct plan_step step = {.times = 1};
    struct plan plan = {.tenant = SPAN_LIT("acme"), .digest = {1}, .step = &step, .step_count = 1}, other = plan;
    struct house *house = *state;
    struct plan_uses *uses;
    struct remembered remembered = {.rows = 0};
    struct why why;
    enum reason reason;
    uint32_t taken;

    put_step(house, &plan, now_us + 12 * hour_us); /* the clock was ahead */
    other.digest[5] = 1;
    put_step(house, &other, now_us);
    close_gate(house);
    start(house);
    /* It is ahead again, since the gate began: this one it may have forgotten, when it is set back */
    assert_int_equal(gate_remember_plans(house->shared, &(struct remembering){.path = house->path,
                     .now_us = now_us + 72 * hour_us}, &remembered, &why), CODE_OK);
    uses = gate_state_plans(gate_state_of(house->shared));
    assert_int_equal(remembered.steps, 2);
    assert_int_equal(plan_uses_find(uses, &other, &fit, &reason), 0);
    other.expires_us = now_us + 100 * hour_us;
    for (unsigned char i = 2; i < 10; i++) { /* new ones sweep away what has ended */
        other.digest[5] = i;
        assert_int_equal(plan_uses_take(uses, &other, other.tenant, &fit, now_us + 35 * hour_us, &taken), CODE_OK);
    }
    assert_int_equal(plan_uses_find(uses, &plan, &fit, &reason), 0);
    assert_string_equal(reason_name(reason), "plan_used");
}

TEST_MAIN(NULL, NULL)
