/* SPDX-License-Identifier: Apache-2.0 */
/* The one enforcement path against a real policy and a real audit database. */
#include "unit/enforce/call_help.h"

#include "audit/writer.h"
#include "base/mem.h"
#include "db/db.h"
#include "os/clock.h"
#include "language/language.h"
#include "fakes/cm.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char store_policy[] =
    "policy: store\n"
    "rules:\n"
    "  - {id: store.protocol, effect: permit, match: {methods: [protocol]}}\n"
    "  - id: store.search\n"
    "    effect: permit\n"
    "    match: {tools: [search, login]}\n"
    "    reason: For everyone.\n"
    "  - id: guard.sql\n"
    "    effect: forbid\n"
    "    match: {tools: ['*']}\n"
    "    when: [{arg: query, matches: 'DROP TABLE'}]\n"
    "    say: Read-only queries work.\n"
    "  - {id: watch.all, effect: forbid, mode: monitor, match: {tools: [login]}}\n"
    "redact:\n"
    "  - {match: {tools: [login]}, args: [password]}\n";

struct house {
    char folder[64];
    char path[96];
    struct audit *audit;
    struct gate_shared *shared;
    struct gate *gate;
    struct arena arena;
    struct buf canonical;
};

static struct policy *compile(const char *text, uint64_t version)
{
    struct policy_file file = {SPAN_LIT("store.yaml"), span_text(text)};
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    if (policy_compile(&file, 1, version, &policy, &faults, NULL) != CODE_OK)
        fail_msg("%d: %s", faults.fault[0].line, faults.fault[0].text);
    return policy;
}

static int open_house(void **state)
{
    static struct house house;
    struct gate_shared_conf conf = {.redact_key = "redact", .session_key = "session"};
    struct audit_conf audit_conf = {.rings = 2, .node = "here", .version = SPAN_LIT("test"), .arguments_max_bytes = 65536};
    struct why why = {0};

    memset(&house, 0, sizeof house);
    snprintf(house.folder, sizeof house.folder, "/tmp/callgate-gate-XXXXXX");
    if (mkdtemp(house.folder) == NULL)
        return -1;
    snprintf(house.path, sizeof house.path, "%s/audit.db", house.folder);
    audit_conf.path = house.path;
    if (audit_open(&audit_conf, &house.audit, &why) != CODE_OK || audit_start(house.audit, &why) != CODE_OK) {
        fprintf(stderr, "%s\n", why.text);
        return -1;
    }
    assert_int_equal(gate_shared_new(&conf, &house.shared), CODE_OK);
    assert_int_equal(gate_new(house.shared, audit_ring(house.audit, 0), &house.gate), CODE_OK);
    arena_init(&house.arena, 1 << 24);
    buf_init(&house.canonical, 1 << 24);
    *state = &house;
    return 0;
}

static void close_audit(struct house *house)
{
    gate_free(&house->gate);
    audit_close(&house->audit);
}

static int close_house(void **state)
{
    struct house *house = *state;
    DIR *folder;
    struct dirent *entry;

    close_audit(house);
    gate_shared_free(&house->shared);
    buf_fini(&house->canonical);
    arena_fini(&house->arena);
    folder = opendir(house->folder);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[512];

        snprintf(path, sizeof path, "%s/%s", house->folder, entry->d_name);
        unlink(path);
    }
    closedir(folder);
    return rmdir(house->folder);
}

static struct call call_of(struct house *house, const char *tool, const char *arguments)
{
    struct call message = {
        .arena = &house->arena, .asked.time_us = clock_wall_us(), .read_us = clock_monotonic_us(),
        .asked.tenant = SPAN_LIT("acme"), .asked.principal = SPAN_LIT("bot"), .who = &by_key,
        .asked.client = SPAN_LIT("192.0.2.1"), .asked.correlation = SPAN_LIT("c-1"), .asked.upstream = SPAN_LIT("shop"),
        .dialect = SPAN_LIT("mcp"), .asked.method = SPAN_LIT("tools/call"), .message.id = SPAN_LIT("1"),
        .expects_outcome = true,
    };
    struct json_fault fault;

    message.asked.tool = message.target = span_text(tool);
    buf_clear(&house->canonical);
    arena_reset(&house->arena);
    assert_int_equal(json_read(span_text(arguments), &json_request_rules, &house->canonical, &house->arena, &message.asked.root,
                               &fault), CODE_OK);
    message.body = buf_peek(&house->canonical);
    return message;
}

static uint64_t wait_for(struct house *house, uint64_t ticket)
{
    uint64_t seq = 0;

    for (int i = 0; i < 60000; i++) {
        if (gate_fate(house->gate, ticket, &seq) != AUDIT_WAITING)
            return seq;
        usleep(1000);
    }
    fail_msg("the audit does not settle");
    return 0;
}

static void finish(struct house *house, const struct call *decision, uint64_t seq)
{
    struct audit_result result = {
        .decision = seq, .time_us = clock_wall_us(), .outcome = OUTCOME_RESULT,
        .reason = REASON_COMPLETED, .status = 200, .upstream_us = 5,
    };

    if (decision->verdict.kind == VERDICT_PERMIT)
        gate_outcome(house->gate, &result);
}

/* Judges, records, waits, answers: what every transport does. Returns: the row's number. */
static uint64_t run_call(struct house *house, const struct call *message, struct call *decision)
{
    judge(house->gate, message, decision);
    assert_int_equal(gate_record(house->gate, decision, 200), CODE_OK);
    assert_int_not_equal(decision->ticket, 0);
    decision->seq = wait_for(house, decision->ticket);
    gate_settle(house->gate, decision);
    finish(house, decision, decision->seq);
    return decision->seq;
}

/* One text value out of the audit, as an auditor's tool would read it. */
static void expect_row(struct house *house, const char *sql, const char *expected)
{
    struct db *db;
    struct db_stmt *stmt;
    struct why why = {0};
    struct span got;

    assert_int_equal(db_open(house->path, DB_READ, &db, &why), CODE_OK);
    assert_int_equal(db_prepare(db, sql, &stmt), CODE_OK);
    if (db_step(stmt) != CODE_OK)
        fail_msg("no row: %s", sql);
    got = db_text(stmt, 0);
    if (expected == NULL ? got.at != NULL : !span_is(got, expected))
        fail_msg("%s: got %.*s, expected %s", sql, SPAN_ARG(got), expected ? expected : "NULL");
    db_finalize(&stmt);
    db_close(&db);
}

TEST_CASE_WITH(without_a_policy_everything_is_denied, open_house, close_house)
{
    struct house *house = *state;
    struct call message = call_of(house, "search", "{\"query\":\"lamp\"}");
    struct call decision;

    run_call(house, &message, &decision);
    assert_int_equal(decision.verdict.kind, VERDICT_DENY);
    assert_int_equal(decision.verdict.reason, REASON_NO_POLICY);
    assert_null(decision.policy);
    gate_let_go(&decision);
    expect_row(house, "SELECT verdict || ' ' || reason || ' ' || (arguments LIKE '%hmac-sha256:%') FROM call",
               "deny no_policy 1");
}

/* 1.20 */
TEST_CASE_WITH(a_rule_permits_and_a_rule_forbids, open_house, close_house)
{
    struct house *house = *state;
    struct call message = call_of(house, "search", "{ \"query\" : \"lamp\" }");
    struct call decision;
    uint64_t first, second;

    gate_publish_policy(house->shared, compile(store_policy, 3));
    first = run_call(house, &message, &decision);
    assert_int_equal(decision.verdict.kind, VERDICT_PERMIT);
    assert_int_equal(policy_version(decision.policy), 3);
    gate_let_go(&decision);
    assert_null(decision.policy);
    message = call_of(house, "search", "{\"query\":\"x; DROP TABLE users\"}");
    second = run_call(house, &message, &decision);
    assert_int_equal(decision.verdict.reason, REASON_FORBIDDEN);
    assert_true(span_is(decision.verdict.say, "Read-only queries work."));
    gate_let_go(&decision);
    assert_true(second > first);
    message = call_of(house, "unheard_of", "{}");
    run_call(house, &message, &decision);
    assert_int_equal(decision.verdict.reason, REASON_NO_RULE);
    gate_let_go(&decision);
    close_audit(house);
    expect_row(house, "SELECT group_concat(verdict || ':' || coalesce(rule, '-') || ':' || policy_version, ' ') FROM "
               "(SELECT * FROM call ORDER BY seq)", "permit:store.search:3 deny:guard.sql:3 deny:-:3");
    expect_row(house, "SELECT arguments FROM call ORDER BY seq", "{\"query\":\"lamp\"}");
    expect_row(house, "SELECT outcome FROM call WHERE verdict = 'permit'", "result");
    expect_row(house, "SELECT outcome FROM call WHERE verdict = 'deny'", NULL);
}

/* Another message is judged between this one's judgement and its record: still only its own values, and all of them, are
 * redacted. */
TEST_CASE_WITH(redactions_survive_other_judgements, open_house, close_house)
{
    struct house *house = *state;
    struct call login = call_of(house, "login", "{\"user\":\"u\",\"password\":\"hunter2\"}");
    struct call search = login;
    struct call decision, other;

    gate_publish_policy(house->shared, compile(store_policy, 1));
    search.asked.tool = search.target = SPAN_LIT("search");
    judge(house->gate, &login, &decision);
    judge(house->gate, &search, &other);
    assert_true(gate_may_see(house->gate, &search, SPAN_LIT("tools/call"), SPAN_LIT("login"), false));
    assert_int_equal(gate_record(house->gate, &decision, 200), CODE_OK);
    finish(house, &decision, wait_for(house, decision.ticket));
    gate_let_go(&decision);
    gate_let_go(&other);
    expect_row(house, "SELECT json_extract(arguments, '$.user') FROM call", "u");
    expect_row(house, "SELECT substr(json_extract(arguments, '$.password.\"dev.callgate/redacted\"'), 1, 12) FROM call",
               "hmac-sha256:");
    expect_row(house, "SELECT json_extract(monitor, '$.verdict') || json_extract(monitor, '$.rule') FROM decision",
               "denywatch.all");
    expect_row(house, "SELECT count(*) FROM decision WHERE instr(rules, 'store.search') > 0 AND instr(rules, 'watch.all') > 0",
               "1");
}

static const char held_policy[] =
    "policy: held\n"
    "rules:\n"
    "  - {id: mail.all, effect: require_approval, match: {tools: [mail]}, reason: Somebody looks.}\n"
    "redact:\n"
    "  - {match: {tools: [mail]}, args: [password]}\n";

static void expect_call(struct house *house, const struct call *message, enum verdict_kind kind, enum reason reason)
{
    struct call decision;

    run_call(house, message, &decision);
    assert_int_equal(decision.verdict.kind, kind);
    assert_int_equal(decision.verdict.reason, reason);
    gate_let_go(&decision);
}

/* 2.2: held, asked about with what the audit may show, granted, used by one call, named in its row. */
TEST_CASE_WITH(a_person_approves_one_call, open_house, close_house)
{
    struct house *house = *state;
    struct call mail = call_of(house, "mail", "{\"to\":\"x\",\"password\":\"hunter2\"}");
    struct approvals *approvals = gate_approvals(house->shared);
    struct approval_answer answer = {.number = 17, .tenant = mail.asked.tenant, .principal = mail.asked.principal, .is_granted = true};
    struct approval_ask *ask;
    struct approval_use use;
    struct call decision;

    gate_publish_policy(house->shared, compile(held_policy, 1));
    expect_call(house, &mail, VERDICT_HOLD, REASON_APPROVAL_REQUIRED);
    ask = approvals_next_ask(approvals);
    assert_non_null(ask);
    /* 7.8: the values themselves, and what of them the audit does not show. */
    assert_true(ask->decision != 0 && span_is(ask->redacted, "[\"$.password\"]"));
    assert_true(span_is(ask->arguments, "{\"to\":\"x\",\"password\":\"hunter2\"}"));
    assert_true(span_is(ask->rule, "mail.all") && span_is(ask->rule_reason, "Somebody looks."));
    memcpy(answer.digest, ask->digest, DIGEST_BYTES);
    answer.time_us = mail.asked.time_us + 60000000;
    approval_ask_free(&ask);
    assert_int_equal(approvals_answer(approvals, &answer), CODE_OK);
    /* Not recorded: given back, and handed in again. */
    judge(house->gate, &mail, &decision);
    assert_int_equal(decision.verdict.kind, VERDICT_PERMIT);
    gate_let_go(&decision);
    expect_call(house, &mail, VERDICT_HOLD, REASON_APPROVAL_REQUIRED);
    assert_int_equal(approvals_answer(approvals, &answer), CODE_OK);
    mail.within = &mail;
    expect_call(house, &mail, VERDICT_HOLD, REASON_APPROVAL_REQUIRED);
    mail.within = NULL;
    expect_call(house, &mail, VERDICT_PERMIT, REASON_PERMITTED);
    expect_call(house, &mail, VERDICT_HOLD, REASON_APPROVAL_REQUIRED);
    assert_true(approvals_next_use(approvals, &use));
    assert_int_equal(use.number, 17);
    assert_int_not_equal(use.decision, 0);
    expect_row(house, "SELECT group_concat(rules || verdict, ' ') FROM (SELECT * FROM decision WHERE verdict = 'permit')",
               "[{\"id\":\"mail.all\",\"effect\":\"require_approval\",\"monitor\":false,\"approval\":17}]permit");
    answer.number = 18;
    answer.is_granted = false;
    assert_int_equal(approvals_answer(approvals, &answer), CODE_OK);
    expect_call(house, &mail, VERDICT_DENY, REASON_APPROVAL_REFUSED);
}

/* 2.2: an approval whose call went into the audit, but nobody saw arrive there, is used up. */
TEST_CASE_WITH(an_unknown_fate_uses_it_up, open_house, close_house)
{
    struct house *house = *state;
    struct call mail = call_of(house, "mail", "{}");
    struct approvals *approvals = gate_approvals(house->shared);
    struct approval_answer answer = {
        .number = 3, .tenant = mail.asked.tenant, .principal = mail.asked.principal, .is_granted = true,
        .time_us = mail.asked.time_us + 60000000,
    };
    struct approval_use use;
    struct call decision;

    gate_publish_policy(house->shared, compile(held_policy, 1));
    judge(house->gate, &mail, &decision);
    assert_int_equal(decision.approvals.count, 1);
    memcpy(answer.digest, decision.approvals.mark[0].digest, DIGEST_BYTES);
    gate_let_go(&decision);
    assert_int_equal(approvals_answer(approvals, &answer), CODE_OK);
    judge(house->gate, &mail, &decision);
    assert_int_equal(gate_record(house->gate, &decision, 200), CODE_OK);
    finish(house, &decision, wait_for(house, decision.ticket));
    gate_let_go(&decision);
    assert_true(approvals_next_use(approvals, &use));
    assert_int_equal(use.number, 3);
    assert_int_equal(use.decision, 0);
    expect_call(house, &mail, VERDICT_HOLD, REASON_APPROVAL_REQUIRED);
    /* A record that is known to have failed has used nothing. */
    approvals_use_stored(approvals, 3);
    answer.number = 4;
    assert_int_equal(approvals_answer(approvals, &answer), CODE_OK);
    judge(house->gate, &mail, &decision);
    assert_int_equal(decision.verdict.kind, VERDICT_PERMIT);
    decision.seq = 0;
    gate_settle(house->gate, &decision);
    gate_let_go(&decision);
    assert_false(approvals_next_use(approvals, &use));
    assert_true(approvals_tick(approvals, mail.asked.time_us));
}

/* What is refused before it was judged has a row, and nothing of it is written openly. */
TEST_CASE_WITH(refusals_are_recorded_and_redacted, open_house, close_house)
{
    struct house *house = *state;
    struct call message = call_of(house, "login", "{\"password\":\"hunter2\"}");
    struct call decision;

    gate_publish_policy(house->shared, compile(store_policy, 1));
    message.refused = REASON_HEADER_MISMATCH;
    run_call(house, &message, &decision);
    assert_int_equal(decision.verdict.kind, VERDICT_DENY);
    assert_int_equal(decision.verdict.reason, REASON_HEADER_MISMATCH);
    gate_let_go(&decision);
    expect_row(house, "SELECT reason || (instr(arguments, 'hunter2') = 0) || policy_version FROM call", "header_mismatch11");
    message.refused = REASON_PERMITTED;
    run_call(house, &message, &decision);
    assert_int_equal(decision.verdict.kind, VERDICT_PERMIT);
    gate_let_go(&decision);
}

/* 1.26, 4.20: whose credential was good has a row for each refusal, however many there are. */
TEST_CASE_WITH(floods_before_identity_are_folded, open_house, close_house)
{
    struct house *house = *state;
    struct call known = call_of(house, "search", "{}"), message;
    struct call decision;
    int rows = 0, seconds;
    int64_t began_us = clock_monotonic_us();

    known.asked.root = NULL;
    known.refused = REASON_CREDENTIAL_WRONG;
    message = known;
    message.asked.principal = message.asked.tenant = SPAN_NONE;
    for (int i = 0; i < 400; i++) {
        judge(house->gate, i % 2 == 0 ? &message : &known, &decision);
        assert_int_equal(gate_record(house->gate, &decision, 401), CODE_OK);
        assert_true(decision.folded == (decision.ticket == 0) && (i % 2 == 0 || !decision.folded));
        if (!decision.folded) {
            wait_for(house, decision.ticket);
            rows++;
        }
        gate_let_go(&decision);
    }
    seconds = (int)((clock_monotonic_us() - began_us) / 1000000);
    assert_in_range(rows, 210, 210 + 10 * seconds); /* ten in each second that it took */
    gate_tick(house->shared, audit_ring(house->audit, 1), clock_monotonic_us(), clock_wall_us(), true);
    close_audit(house);
    expect_row(house, "SELECT (SELECT count(*) FROM decision) + (SELECT total(json_extract(detail, '$.count')) FROM event "
               "WHERE kind = 'folded')", "400.0");
}

/* 1.22 */
TEST_CASE_WITH(calls_in_flight_keep_their_version, open_house, close_house)
{
    struct house *house = *state;
    struct call message = call_of(house, "search", "{\"query\":\"lamp\"}");
    struct call before, after;

    gate_publish_policy(house->shared, compile(store_policy, 1));
    judge(house->gate, &message, &before);
    gate_publish_policy(house->shared, compile("policy: store\nrules: []\n", 2));
    judge(house->gate, &message, &after);
    assert_int_equal(before.verdict.kind, VERDICT_PERMIT);
    assert_int_equal(policy_version(before.policy), 1);
    assert_int_equal(after.verdict.kind, VERDICT_DENY);
    assert_int_equal(policy_version(after.policy), 2);
    assert_int_equal(gate_record(house->gate, &before, 0), CODE_OK);
    finish(house, &before, wait_for(house, before.ticket));
    gate_let_go(&before);
    gate_let_go(&after);
    gate_publish_policy(house->shared, NULL);
    judge(house->gate, &message, &after);
    assert_int_equal(after.verdict.reason, REASON_NO_POLICY);
    gate_let_go(&after);
}

/* 2.1: a version that comes between a call's judgement and its way up already watches that call. */
static void watch_in_flight(struct house *house, uint64_t failing)
{
    struct call secret = call_of(house, "read_secret", "{}"), mail = secret;
    struct call decision;
    uint64_t seq;

    mail.asked.tool = mail.target = SPAN_LIT("send_mail");
    gate_publish_policy(house->shared, compile("policy: t\nrules:\n  - {id: all, effect: permit}\n", 1));
    judge(house->gate, &secret, &decision);
    gate_publish_policy(house->shared, compile("policy: t\nrules:\n  - {id: all, effect: permit}\n  - id: leak\n    effect: forbid\n"
                                               "    match: {tools: [send_mail]}\n"
                                               "    when: [{session: {called: [read_secret], within: 10min}}]\n", 2));
    assert_int_equal(gate_record(house->gate, &decision, 200), CODE_OK);
    seq = wait_for(house, decision.ticket);
    mem_fail_at(failing, 0);
    decision.seq = seq;
    gate_settle(house->gate, &decision);
    mem_fail_at(0, 0);
    gate_let_go(&decision);
    expect_call(house, &mail, VERDICT_DENY, REASON_FORBIDDEN);
}

TEST_CASE_WITH(a_new_version_watches_calls_in_flight, open_house, close_house)
{
    watch_in_flight(*state, 0);
}

TEST_CASE_WITH(a_new_version_watches_though_memory_is_short, open_house, close_house)
{
    watch_in_flight(*state, 1);
}

/* 1.22 */
TEST_CASE_WITH(a_version_that_cannot_be_held_permits_nothing, open_house, close_house)
{
    struct house *house = *state;
    struct call message = call_of(house, "search", "{\"query\":\"lamp\"}");
    struct call decision;

    gate_publish_policy(house->shared, compile(store_policy, 3));
    expect_call(house, &message, VERDICT_PERMIT, REASON_PERMITTED);
    gate_publish_policy(house->shared, compile(store_policy, 4));
    mem_fail_at(1, 1); /* nor does the one before it */
    judge(house->gate, &message, &decision);
    mem_fail_at(0, 0);
    assert_int_equal(decision.verdict.reason, REASON_NO_POLICY);
    gate_let_go(&decision);
    judge(house->gate, &message, &decision); /* asked again, there is memory */
    assert_int_equal(policy_version(decision.policy), 4);
    gate_let_go(&decision);
}

/* 2.2: nobody can have a server ask again, so that nobody is asked about it. */
TEST_CASE_WITH(a_servers_question_waits_for_nobody, open_house, close_house)
{
    struct house *house = *state;
    struct call question = call_of(house, "", "{}");

    question.asked.method = SPAN_LIT("sampling/createMessage");
    question.asked.tool = question.target = SPAN_NONE;
    question.within = &question;
    gate_publish_policy(house->shared, compile("policy: t\nrules:\n  - {id: ask, effect: require_approval, "
                                               "match: {methods: [sampling/createMessage]}}\n", 1));
    expect_call(house, &question, VERDICT_HOLD, REASON_APPROVAL_REQUIRED);
    assert_int_equal(approvals_waiting(gate_approvals(house->shared)), 0);
    assert_null(approvals_next_ask(gate_approvals(house->shared)));
}

TEST_CASE_WITH(lists_show_what_could_be_permitted, open_house, close_house)
{
    struct house *house = *state;
    struct call message = call_of(house, "", "{}");

    message.asked.method = SPAN_LIT("tools/list");
    message.asked.tool = SPAN_NONE;
    assert_false(gate_may_see(house->gate, &message, SPAN_LIT("tools/call"), SPAN_LIT("search"), false));
    gate_publish_policy(house->shared, compile(store_policy, 1));
    assert_true(gate_may_see(house->gate, &message, SPAN_LIT("tools/call"), SPAN_LIT("search"), false));
    assert_false(gate_may_see(house->gate, &message, SPAN_LIT("tools/call"), SPAN_LIT("unheard_of"), false));
    gate_publish_policy(house->shared, compile("policy: t\nrules:\n  - {id: p, effect: permit, match: {tools: [unheard_of]}}\n", 2));
    assert_false(gate_may_see(house->gate, &message, SPAN_LIT("tools/call"), SPAN_LIT("search"), false));
    assert_true(gate_may_see(house->gate, &message, SPAN_LIT("tools/call"), SPAN_LIT("unheard_of"), false));
}

/* Whichever allocation fails, the answer is a denial or the right verdict, and nothing secret is recorded. */
TEST_CASE_WITH(no_allocation_failure_opens, open_house, close_house)
{
    struct house *house = *state;
    struct call message = call_of(house, "login", "{\"query\":\"DROP TABLE\",\"password\":\"hunter2\"}");

    gate_publish_policy(house->shared, compile(store_policy, 1));
    for (uint64_t n = 1; n <= 40; n++) {
        struct call decision;
        enum code code;

        mem_fail_at(n, (int)(n % 2));
        judge(house->gate, &message, &decision);
        code = gate_record(house->gate, &decision, 200);
        mem_fail_at(0, 0);
        assert_int_equal(decision.verdict.kind, VERDICT_DENY);
        assert_int_equal(code, CODE_OK);
        wait_for(house, decision.ticket);
        gate_let_go(&decision);
    }
    close_audit(house);
    expect_row(house, "SELECT count(*) FROM call WHERE verdict = 'deny' AND instr(arguments, 'hunter2') = 0", "40");
}

/* The same where a call is permitted: what cannot be copied for the record is not shown. */
TEST_CASE_WITH(no_allocation_failure_shows_a_secret, open_house, close_house)
{
    struct house *house = *state;
    struct call login = call_of(house, "login", "{\"password\":\"hunter2\"}");
    int permitted = 0;

    gate_publish_policy(house->shared, compile(store_policy, 1));
    for (uint64_t n = 1; n <= 40; n++) {
        struct call call;

        mem_fail_at(n, (int)(n % 2));
        judge(house->gate, &login, &call);
        assert_int_equal(gate_record(house->gate, &call, 200), CODE_OK);
        mem_fail_at(0, 0);
        permitted += call_is_permit(&call);
        finish(house, &call, wait_for(house, call.ticket));
        gate_let_go(&call);
    }
    assert_in_range(permitted, 10, 40);
    close_audit(house);
    expect_row(house, "SELECT count(*) FROM call WHERE instr(arguments, 'hunter2') = 0", "40");
}

TEST_MAIN(NULL, NULL)
