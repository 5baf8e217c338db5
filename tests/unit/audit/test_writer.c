/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/writer.h"

#include "crypto/digest.h"
#include "db/db.h"
#include "evidence/verify.h"
#include "fakes/audit_file.h"
#include "os/clock.h"
#include "fakes/cm.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int setup(void **state)
{
    struct audit_file *file = calloc(1, sizeof *file);

    audit_file_init(file);
    *state = file;
    return 0;
}

static int teardown(void **state)
{
    audit_file_fini(*state);
    free(*state);
    return 0;
}

#define expect(file, sql, want) assert_string_equal(audit_file_ask(file, sql), want)

/* 1.24: every column comes back as it was put */
TEST_CASE_WITH(test_every_field_of_a_decision, setup, teardown)
{
    static const char sql[] =
        "SELECT json_array(seq, time_us, tenant, principal, authentication, client, hex(session), node, correlation, "
        "correlation_replaced, trace, upstream, dialect, protocol_version, direction, method, tool, rpc_id, arguments_bytes, "
        "arguments_cut, arguments_redacted, body_bytes, query_bytes, verdict, reason, rule, rule_reason, rules, undecided, "
        "monitor, policy_version, hex(policy_hash), judge_us, status, latency_us, expects_outcome, length(hash), length(salt), "
        "arguments, arguments_begin, target, params_bytes, params, query, groups, scopes, issuer, token_key, claims_bytes, claims, "
        "plan, plan_step, definition, api_key, agent, agent_from, actors, client_says, via) FROM decision";
    struct audit_file *file = *state;
    struct audit *audit = audit_file_open(file, 1);
    struct audit_decision decision = {
        .time_us = 11, .tenant = SPAN_LIT("t"), .principal = SPAN_LIT("p"), .authentication = SPAN_LIT("bearer"),
        .client = SPAN_LIT("::1"), .session = SPAN_LIT("abc"), .correlation = SPAN_LIT("c"),
        .correlation_replaced = SPAN_LIT("was"), .trace = SPAN_LIT("tr"), .upstream = SPAN_LIT("u"),
        .dialect = SPAN_LIT("d"), .protocol_version = SPAN_LIT("v"), .direction = SPAN_LIT("server"),
        .method = SPAN_LIT("m"), .tool = SPAN_LIT("\xc3\xa4"), .rpc_id = SPAN_LIT("\"x\""),
        .arguments = SPAN_LIT("{\"a\":1}"), .arguments_redacted = true, .body = SPAN_LIT("body!"), .query = SPAN_LIT("q=1"),
        .verdict = AUDIT_HOLD, .target = SPAN_LIT("/v1"), .params = SPAN_LIT("{}"),
        .groups = SPAN_LIT("[\"g\",3]"), .scopes = SPAN_LIT("[]"), .issuer = SPAN_LIT("i"), .token_key = SPAN_LIT("k"), /* 8.4 */
        .claims = SPAN_LIT("{\"$\":[1]}"), .plan = SPAN_LIT("ff"), .plan_step = SPAN_LIT("2"),
        .definition = SPAN_LIT("d0"), /* 9.3 */
        .api_key = 4, .agent = SPAN_LIT("a"), .agent_from = SPAN_LIT("token"), .actors = SPAN_LIT("{}"), /* 10.36 */
        .client_says = SPAN_LIT("[]"), .via = SPAN_LIT("call_tool"), /* 15.4 */
        .reason = REASON_APPROVAL_REQUIRED, .rule = SPAN_LIT("r"), .rule_reason = SPAN_LIT("because"),
        .undecided = SPAN_LIT("r: a"), .rules = SPAN_LIT("[]"), .monitor = SPAN_LIT("{}"), .policy_version = 9,
        .policy_hash = SPAN_LIT("BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), .judge_us = 3,
        .status = 403, .latency_us = 77,
    };
    uint64_t seq;

    assert_int_equal(audit_file_wait(audit_ring(audit, 0), audit_file_put(audit_ring(audit, 0), &decision), &seq),
        AUDIT_DURABLE);
    audit_close(&audit);
    expect(file, sql,
           "[2,11,\"t\",\"p\",\"bearer\",\"::1\",\"BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD\","
           "\"node-1\",\"c\",\"was\",\"tr\",\"u\",\"d\",\"v\",\"server\",\"m\",\"\xc3\xa4\",\"\\\"x\\\"\",7,0,1,5,3,\"hold\","
           "\"approval_required\","
           "\"r\",\"because\",\"[]\",\"r: a\",\"{}\",9,"
           "\"BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD\",3,403,"
           "77,0,32,16,\"{\\\"a\\\":1}\",null,\"/v1\",2,\"{}\",\"q=1\","
           "\"[\\\"g\\\",3]\",\"[]\",\"i\",\"k\",9,\"{\\\"$\\\":[1]}\",\"ff\",\"2\",\"d0\",4,\"a\",\"token\",\"{}\",\"[]\",\"call_tool\"]");
}

/* 1.24: what is not there is NULL, and NULL is not the empty text */
TEST_CASE_WITH(test_absent_fields, setup, teardown)
{
    struct audit_file *file = *state;
    struct audit *audit = audit_file_open(file, 1);
    struct audit_decision decision = {.time_us = 1, .correlation = SPAN_LIT(""), .reason = REASON_HTTP_MALFORMED,
                                      .policy_hash = SPAN_LIT("no hash")};
    uint64_t seq;

    assert_int_equal(audit_file_wait(audit_ring(audit, 0), audit_file_put(audit_ring(audit, 0), &decision), &seq),
        AUDIT_DURABLE);
    audit_close(&audit);
    expect(file, "SELECT json_array(tenant, session, correlation, arguments_bytes, body_bytes, body_digest, query_digest, "
                 "policy_version, policy_hash, status, tenant_previous, arguments, verdict, length(arguments_digest), "
                 "target, params_bytes, params_digest, params, query, groups, claims_bytes, claims, plan, definition, "
                 "api_key, agent, client_says) FROM decision",
           "[null,null,\"\",null,null,null,null,null,null,null,null,null,\"deny\",32,null,null,null,null,null,null,null,"
           "null,null,null,null,null,null]");
}

/* 1.24 */
TEST_CASE_WITH(test_every_field_of_an_outcome, setup, teardown)
{
    struct audit_file *file = *state;
    struct audit *audit = audit_file_open(file, 1);
    struct audit_ring *ring = audit_ring(audit, 0);
    const struct audit_decision decision = audit_call("acme", "c");
    struct audit_result result = {
        .time_us = 5, .outcome = OUTCOME_PROTOCOL_ERROR, .reason = REASON_UPSTREAM_SILENT, .status = 504,
            .has_error_code = true,
        .error_code = -32603, .response_bytes = 99, .has_digest = true, .server_requests = 1, .server_notifications = 2,
        .server_denied = 3, .latency_us = 44, .upstream_us = -1,
    };
    struct audit_result bare = {.time_us = 6, .outcome = OUTCOME_NOT_SENT, .reason = REASON_AGENT_GONE, .upstream_us = 0};
    uint64_t first, second;

    digest_of(SPAN_LIT("reply"), result.response_digest);
    assert_int_equal(audit_file_wait(ring, audit_file_put(ring, &decision), &first), AUDIT_DURABLE);
    bare.ticket = audit_file_put(ring, &decision);
    audit_put_result(ring, &bare); /* by ticket: its number is not known yet */
    result.decision = first;
    audit_put_result(ring, &result);
    assert_int_equal(audit_file_wait(ring, bare.ticket, &second), AUDIT_DURABLE);
    audit_close(&audit);
    expect(file, "SELECT json_array(time_us, tenant, decision, outcome, reason, status, error_code, response_bytes, "
                 "server_requests,"
                 "server_notifications, server_denied, latency_us, upstream_us) FROM outcome WHERE decision = 2",
           "[5,\"acme\",2,\"protocol_error\",\"upstream_silent\",504,-32603,99,1,2,3,44,null]");
    expect(file, "SELECT json_array(time_us, decision, outcome, reason, status, error_code, response_digest, upstream_us) "
                 "FROM outcome WHERE decision = 3", "[6,3,\"not_sent\",\"agent_gone\",null,null,null,0]");
    assert_int_equal(second, 3);
}

/* 9.2: what rules for answers did is told where room was asked for it; too long a JSON is left out, a text is cut. */
TEST_CASE_WITH(test_what_was_done_to_an_answer, setup, teardown)
{
    static char id[2 * AUDIT_SAID_TEXT_BYTES], found[2 * AUDIT_SAID_JSON_BYTES];
    struct audit_file *file = *state;
    struct audit *audit = audit_file_open(file, 1);
    struct audit_ring *ring = audit_ring(audit, 0);
    const struct audit_decision decision = audit_call("acme", "c");
    struct audit_result result = {
        .outcome = OUTCOME_RESULT, .has_digest = true, .has_digest_before = true, .server_withheld = 4,
        .answer_rule = SPAN_LIT("crm.cards"), .answer_effect = SPAN_LIT("redact"), .answer_found = SPAN_LIT("{\"iban\":2}"),
        .answer_rules = SPAN_LIT("[]"), .answer_undecided = SPAN_LIT("x: deep"), .answer = SPAN_LIT("{}"), .answer_bytes = 2,
    };

    memset(id, 'i', sizeof id);
    memset(found, '[', sizeof found);
    digest_of(SPAN_LIT("delivered"), result.response_digest);
    digest_of(SPAN_LIT("came"), result.response_digest_before);
    for (int i = 0; i < 3; i++) {
        result.has_said_room = i < 2;
        if (result.has_said_room)
            assert_true(audit_reserve_said(ring));
        assert_int_equal(audit_file_wait(ring, audit_file_put(ring, &decision), &result.decision), AUDIT_DURABLE);
        audit_put_result(ring, &result);
        result.answer_rule = span_of(id, sizeof id);
        result.answer_found = span_of(found, sizeof found);
        result.server_withheld = 0;
        result.has_digest_before = false;
    }
    audit_close(&audit);
    expect(file, "SELECT json_array(answer_rule, answer_effect, answer_found, answer_rules, answer_undecided, server_withheld, answer, "
                 "length(response_digest_before), response_digest_before <> response_digest) FROM outcome ORDER BY seq LIMIT 1",
           "[\"crm.cards\",\"redact\",\"{\\\"iban\\\":2}\",\"[]\",\"x: deep\",4,\"{}\",32,1]");
    expect(file, "SELECT json_array(length(CAST(answer_rule AS BLOB)), answer_found, server_withheld, response_digest_before) "
                 "FROM outcome ORDER BY seq LIMIT 1 OFFSET 1", "[512,\"\\\"too long\\\"\",null,null]");
    expect(file, "SELECT json_array(answer_rule, answer_effect, answer_found, answer_rules, answer_undecided) "
                 "FROM outcome ORDER BY seq LIMIT 1 OFFSET 2", "[null,null,null,null,null]");
}

/* 1.24: digests are salted, each row with its own salt, and are what the paper says */
TEST_CASE_WITH(test_digests, setup, teardown)
{
    struct audit_file *file = *state;
    struct audit *audit = audit_file_open(file, 1);
    char salt[33], text[200], want[65];
    unsigned char bytes[16 + 32], digest[DIGEST_BYTES];

    (void)audit_file_call(audit_ring(audit, 0), "acme", "c-1");
    (void)audit_file_call(audit_ring(audit, 0), "acme", "c-2");
    audit_close(&audit);
    expect(file, "SELECT count(DISTINCT salt) || count(DISTINCT arguments_digest) || count(DISTINCT body_digest) || "
                 "count(DISTINCT arguments) FROM decision", "2221");
    (void)snprintf(salt, sizeof salt, "%s", audit_file_ask(file, "SELECT hex(salt) FROM decision WHERE seq = 2"));
    for (int i = 0; i < 16; i++)
        bytes[i] = (unsigned char)strtoul((char[]){salt[2 * i], salt[2 * i + 1], 0}, NULL, 16);
    memset(bytes + 16, 0, 32);
    memcpy(bytes + 16, "\1\2\3", 3);
    digest_of(span_of(bytes, sizeof bytes), digest);
    for (int i = 0; i < 32; i++)
        (void)snprintf(want + 2 * i, 3, "%02X", digest[i]);
    (void)snprintf(text, sizeof text, "%s", want);
    expect(file, "SELECT hex(response_digest) FROM outcome WHERE decision = 2", text);
}

/* 1.24, 1.28: events, and the views over all */
TEST_CASE_WITH(test_events_and_views, setup, teardown)
{
    struct audit_file *file = *state;
    struct audit *audit = audit_file_open(file, 2);
    const struct audit_event event = {.time_us = 1700000000000001, .kind = SPAN_LIT("policy_activated"),
        .actor = SPAN_LIT("alice"),
                                      .detail = SPAN_LIT("{\"version\":7,\"message\":\"tighter\"}")};
    struct audit_decision denial = audit_call("acme", "c-2");
    uint64_t seq;

    assert_int_equal(audit_put_event(audit_ring(audit, 1), &event), CODE_OK);
    (void)audit_file_call(audit_ring(audit, 0), "acme", "c-1");
    denial.verdict = AUDIT_DENY;
    denial.expects_outcome = false;
    denial.reason = REASON_FORBIDDEN;
    denial.status = 403;
    denial.latency_us = 8;
    assert_int_equal(audit_file_wait(audit_ring(audit, 0), audit_file_put(audit_ring(audit, 0), &denial), &seq),
        AUDIT_DURABLE);
    audit_close(&audit);
    expect(file, "SELECT actor || ' ' || json_extract(detail, '$.version') || ' ' || time FROM event_log WHERE kind = "
                 "'policy_activated'", "alice 7 2023-11-14T22:13:20.000001Z");
    expect(file, "SELECT json_array(time, tenant, principal, correlation, upstream, dialect, method, tool, arguments, "
                 "verdict, reason, "
                 "rule, policy_version, outcome, status, latency_us) FROM call WHERE correlation = 'c-1'",
           "[\"2023-11-14T22:13:20.000000Z\",\"acme\",\"shop-bot\",\"c-1\",\"shop\",\"mcp\",\"tools/call\","
           "\"search_products\","
           "\"{\\\"query\\\":\\\"lamp\\\",\\\"limit\\\":10}\",\"permit\",\"permitted\",\"store.search\",7,\"result\","
           "200,1234]");
    expect(file, "SELECT json_array(count(*), outcome, status, latency_us) FROM denial", "[1,null,403,8]");
    expect(file, "SELECT count(*) FROM unfinished", "0");
    expect(file, "SELECT calls || ' ' || permitted || ' ' || denied || ' ' || failed FROM tool_use", "2 1 1 0");
    expect(file, "SELECT day || ' ' || calls || ' ' || tools FROM tenant_day", "2023-11-14 2 1");
    expect(file, "SELECT min(seq) || ' ' || max(seq) || ' ' || count(*) FROM entry", "1 6 6");
    expect(file, "SELECT group_concat(kind) FROM (SELECT kind FROM event ORDER BY seq)", "start,policy_activated,stop");
    expect(file, "SELECT detail FROM event WHERE kind = 'stop'", "{\"denied\":{}}");
}

static void expect_whole(const struct audit_file *file, uint64_t rows)
{
    static struct verify_report report;
    struct why why = {0};

    assert_int_equal(audit_verify(&(struct verify_conf){.path = file->path}, &report, &why), CODE_OK);
    if (report.fault_count > 0)
        fail_msg("row %lld %s.%s: %s", (long long)report.fault[0].seq, report.fault[0].table, report.fault[0].field,
                 report.fault[0].text);
    if (rows > 0)
        assert_int_equal(report.rows, rows);
}

/* 1.24: tenants' chains, over restarts and more tenants than the writer remembers between them */
TEST_CASE_WITH(test_chain_over_restarts, setup, teardown)
{
    struct audit_file *file = *state;
    char tenant[16];

    for (int run = 0; run < 3; run++) {
        struct audit *audit = audit_file_open(file, 2);

        for (int i = 0; i < 40; i++) {
            (void)snprintf(tenant, sizeof tenant, "t%d", i % 7);
            (void)audit_file_call(audit_ring(audit, (unsigned)i % 2), tenant, "c");
        }
        audit_close(&audit);
    }
    expect_whole(file, 3 * (2 + 80));
    expect(file, "SELECT count(*) FROM entry WHERE seq IN (SELECT seq FROM decision WHERE tenant_previous IS NULL)", "7");
    expect(file, "SELECT count(*) FROM event WHERE kind = 'crash'", "0");
}

/* 1.24, 6.1: the views find all rows; a start reads the tenants' last rows from the file */
TEST_CASE_WITH(test_finding_rows, setup, teardown)
{
    struct audit_file *file = *state;
    struct audit *audit = audit_file_open(file, 1);
    struct audit_ring *ring = audit_ring(audit, 0);
    struct audit_decision decision = {.time_us = 1, .reason = REASON_NO_RULE};
    struct audit_gauges gauges;
    char correlation[16], tenant[16];
    uint64_t seq, ticket = 0;

    for (int i = 0; i < 10000; i++) {
        (void)snprintf(correlation, sizeof correlation, "c-%d", i / 2);
        (void)snprintf(tenant, sizeof tenant, "t%d", i % 3);
        decision.time_us = i;
        decision.correlation = span_text(correlation);
        decision.tenant = span_text(tenant);
        decision.tool = i % 2 == 0 ? SPAN_LIT("even") : SPAN_NONE;
        ticket = audit_file_put(ring, &decision);
    }
    assert_int_equal(audit_file_wait(ring, ticket, &seq), AUDIT_DURABLE);
    for (int tries = 0; audit_gauges(audit, &gauges), gauges.last_seq != 10001; tries++) { /* told after the callers are */
        assert_true(tries < NAPS_MOST);
        (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    audit_close(&audit);
    expect(file, "SELECT group_concat(seq) FROM call WHERE correlation = 'c-10'", "22,23");
    expect(file, "SELECT group_concat(seq) FROM call WHERE correlation = 'c-4999'", "10000,10001");
    expect(file, "SELECT count(*) FROM call WHERE tenant = 't1'", "3333");
    expect(file, "SELECT count(*) || ' ' || min(verdict) FROM call WHERE tool = 'even'", "5000 deny");
    expect_whole(file, 10002);
    audit = audit_file_open(file, 1); /* goes on from the tenants' last rows */
    (void)audit_file_call(audit_ring(audit, 0), "t1", "c");
    audit_close(&audit);
    expect_whole(file, 10006);
}

/* 1.26: what a crash left open is `unknown` at the next start; what stop left open too */
TEST_CASE_WITH(test_unfinished_becomes_unknown, setup, teardown)
{
    struct audit_file *file = *state;
    const struct audit_decision decision = audit_call("acme", "c");
    pid_t child = fork();
    struct audit *audit;
    int status;

    if (child == 0) {
        struct audit_gauges gauges = {0};
        uint64_t seq;

        audit = audit_file_open(file, 1);
        (void)audit_file_call(audit_ring(audit, 0), "acme", "done");
        for (int i = 0; i < 3; i++)
            (void)audit_file_wait(audit_ring(audit, 0), audit_file_put(audit_ring(audit, 0), &decision), &seq);
        (void)audit_file_wait(audit_ring(audit, 0), audit_file_put(audit_ring(audit, 0), &decision), &seq);
        for (int naps = 0; gauges.last_seq < 7 && naps < NAPS_MOST; naps++) { /* the outcome, too */
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            audit_gauges(audit, &gauges);
        }
        _exit(7);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    audit = audit_file_open(file, 1);
    expect(file, "SELECT detail FROM event WHERE kind = 'crash'", "{\"last_seq\":7,\"open_permits\":4}");
    expect(file, "SELECT group_concat(outcome) FROM (SELECT outcome FROM call WHERE verdict = 'permit' ORDER BY seq)",
           "result,unknown,unknown,unknown,unknown");
    expect(file, "SELECT DISTINCT outcome_reason || coalesce(latency_us, ' -') FROM call WHERE outcome = 'unknown'",
        "gate_died -");
    (void)audit_file_put(audit_ring(audit, 0), &decision); /* and no outcome */
    audit_close(&audit);
    expect(file, "SELECT outcome_reason FROM call ORDER BY seq DESC LIMIT 1", "internal");
    expect_whole(file, 0);
}

static unsigned chance;

static long random_nap(void)
{
    chance = chance * 1103515245u + 12345u;
    return (long)(chance >> 8) % 20000000;
}

/* 1.27: killed at random, twenty times on one file: whole, and nobody was told what is not there */
TEST_CASE_WITH(test_killed_at_random, setup, teardown)
{
    struct audit_file *file = *state;
    int told[2];
    unsigned seed = (unsigned)time(NULL);
    uint64_t highest = 0, seq;

    print_message("seed %u\n", seed);
    chance = seed;
    for (int round = 0; round < 20; round++) {
        pid_t child;

        assert_int_equal(pipe(told), 0);
        child = fork();
        if (child == 0) {
            struct audit *audit = audit_file_open(file, 1);

            for (;;) {
                seq = audit_file_call(audit_ring(audit, 0), "acme", "c");
                if (write(told[1], &seq, sizeof seq) < 0)
                    _exit(1);
            }
        }
        (void)close(told[1]);
        assert_int_equal(read(told[0], &seq, sizeof seq), sizeof seq);
        highest = seq > highest ? seq : highest;
        (void)nanosleep(&(struct timespec){.tv_nsec = random_nap()}, NULL);
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
        while (read(told[0], &seq, sizeof seq) == sizeof seq)
            highest = seq > highest ? seq : highest;
        (void)close(told[0]);
        assert_true(audit_file_number(file, "SELECT max(seq) FROM decision") >= (long long)highest);
    }
    {
        struct audit *audit = audit_file_open(file, 1);

        audit_close(&audit);
    }
    expect_whole(file, 0);
    expect(file, "SELECT count(*) FROM unfinished", "0");
    expect(file, "SELECT count(*) FROM event WHERE kind = 'crash'", "20");
}

/* 1.27 */
TEST_CASE_WITH(test_second_gate_is_refused, setup, teardown)
{
    struct audit_file *file = *state;
    struct audit *audit = audit_file_open(file, 1), *second;
    const struct audit_conf conf = {.path = file->path, .rings = 1};
    struct why why = {0};
    struct stat stat_of;

    assert_int_equal(audit_open(&conf, &second, &why), CODE_BUSY);
    assert_null(second);
    assert_non_null(strstr(why.text, "another gate"));
    assert_int_equal(stat(file->path, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0640);
    audit_close(&audit);
    assert_int_equal(audit_open(&conf, &second, &why), CODE_OK);
    audit_close(&second); /* never started: its rows are there all the same */
    expect(file, "SELECT count(*) FROM event", "4");
    expect_whole(file, 4);
}

/* 1.24: a clock that jumps back changes nothing but what rows say of the time */
TEST_CASE_WITH(test_clock_jumps_back, setup, teardown)
{
    struct audit_file *file = *state;
    struct audit *audit = audit_file_open(file, 1);
    struct audit_decision decision = audit_call("acme", "c");
    uint64_t seq, last = 0;

    decision.expects_outcome = false;
    for (int i = 0; i < 20; i++) {
        decision.time_us = i % 2 == 0 ? 1700000000000000 : -5;
        assert_int_equal(audit_file_wait(audit_ring(audit, 0), audit_file_put(audit_ring(audit, 0), &decision), &seq),
            AUDIT_DURABLE);
        assert_true(seq > last);
        last = seq;
    }
    audit_close(&audit);
    expect_whole(file, 22);
}

/* 1.24: nobody changes a row by mistake; values go only after an erasure was recorded */
TEST_CASE_WITH(test_triggers, setup, teardown)
{
    static const char *const refused[] = {
        "UPDATE decision SET tenant = 'x'", "DELETE FROM decision", "UPDATE outcome SET outcome = 'x'", "DELETE FROM outcome",
        "UPDATE event SET kind = 'x'", "DELETE FROM event", "UPDATE file SET id = x'00'", "DELETE FROM file",
        "UPDATE decision SET salt = NULL, arguments = NULL, arguments_begin = NULL", "UPDATE decision SET arguments = '{}'",
        "UPDATE decision SET target = '/x'", "UPDATE decision SET params_bytes = 1", "UPDATE decision SET params = '{}'",
        "UPDATE decision SET query = NULL", "UPDATE outcome SET answer_bytes = 1", "UPDATE outcome SET answer = 'x'",
        "UPDATE outcome SET answer_salt = NULL, answer = NULL", "UPDATE decision SET groups = '[]'",
        "UPDATE decision SET scopes = '[]'", "UPDATE decision SET plan = 'x'", "UPDATE decision SET claims = '{}'", /* 8.4 */
        "UPDATE decision SET definition = 'x'", "UPDATE outcome SET answer_rule = 'x'", "UPDATE outcome SET server_withheld = 1", /* 9.2 */
    };
    struct audit_file *file = *state;
    struct audit *audit = audit_file_open(file, 1);
    const struct audit_event erased = {.time_us = 1800000000000000, .kind = SPAN_LIT("erased"), .tenant = SPAN_LIT("acme"),
                                       .actor = SPAN_LIT("alice"), .detail = SPAN_LIT("{\"before_us\":1700000000000001}")};
    struct why why = {0};
    struct db *db;

    (void)audit_file_call(audit_ring(audit, 0), "acme", "c");
    (void)audit_file_call(audit_ring(audit, 0), "other", "c");
    audit_close(&audit);
    assert_int_equal(db_open(file->path, DB_WRITE, &db, &why), CODE_OK);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_int_not_equal(db_exec(db, refused[i]), CODE_OK);
    db_close(&db);
    audit = audit_file_open(file, 1);
    assert_int_equal(audit_put_event(audit_ring(audit, 0), &erased), CODE_OK);
    audit_close(&audit);
    assert_int_equal(db_open(file->path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_not_equal(db_exec(db, "UPDATE decision SET salt = NULL, arguments = NULL WHERE tenant = 'other'"), CODE_OK);
    assert_int_not_equal(db_exec(db, "UPDATE decision SET arguments = '{}' WHERE tenant = 'acme'"), CODE_OK);
    if (db_exec(db, "UPDATE decision SET salt = NULL, arguments = NULL WHERE tenant = 'acme'") != CODE_OK)
        fail_msg("%s", db_error(db));
    db_close(&db);
    expect_whole(file, 0);
}

/* 1.25: a row is on disk when its fate is told; outcomes wait for company, 10 ms at most */
TEST_CASE_WITH(test_outcomes_start_no_commit, setup, teardown)
{
    struct audit_file *file = *state;
    struct audit *audit = audit_file_open(file, 1);
    struct audit_gauges before, after;
    uint64_t late = 0;
    int64_t last_us, now_us = clock_monotonic_us();

    audit_gauges(audit, &before);
    for (int i = 0; i < 20; i++) {
        (void)audit_file_call(audit_ring(audit, 0), "acme", "c");
        last_us = now_us;
        now_us = clock_monotonic_us();
        late += now_us - last_us > 5000;
    }
    audit_gauges(audit, &after);
    assert_true(after.commits - before.commits <= 24 + late); /* one a decision; where the machine is slow, one of its outcome */
    for (int tries = 0; audit_file_number(file, "SELECT count(*) FROM outcome") < 20; tries++) {
        assert_true(tries < NAPS_MOST);
        (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    audit_close(&audit);
    assert_int_equal(after.down, false);
}

static void wake(void *context)
{
    atomic_int *woken = context;

    atomic_fetch_add(woken, 1);
}

/* 1.25 */
TEST_CASE_WITH(test_worker_is_woken_once_a_commit, setup, teardown)
{
    struct audit_file *file = *state;
    const struct audit_conf conf = {.path = file->path, .rings = 2, .node = "n"};
    const struct audit_decision decision = {.time_us = 1, .reason = REASON_NO_RULE};
    atomic_int woken = 0;
    struct audit *audit;
    struct audit_gauges gauges;
    struct why why = {0};
    uint64_t seq, ticket = 0;

    assert_int_equal(audit_open(&conf, &audit, &why), CODE_OK);
    audit_on_settled(audit, 0, wake, &woken);
    for (int i = 0; i < 500; i++)
        ticket = audit_file_put(audit_ring(audit, 0), &decision);
    assert_int_equal(audit_start(audit, &why), CODE_OK);
    assert_int_equal(audit_file_wait(audit_ring(audit, 0), ticket, &seq), AUDIT_DURABLE);
    assert_int_equal(seq, 501);
    audit_gauges(audit, &gauges);
    audit_close(&audit);
    assert_true(woken >= 1 && (uint64_t)woken <= gauges.commits);
    assert_true(woken <= 2); /* 500 rows, one commit or two */
}

/* 11.7: what is no audit trail, or one of other tables, is left alone. */
TEST_CASE_WITH(test_foreign_files, setup, teardown)
{
    struct audit_file *file = *state;
    const struct audit_conf conf = {.path = file->path, .rings = 1};
    struct why why = {0};
    struct audit *audit;
    struct db *db;

    assert_int_equal(db_open(file->path, DB_CREATE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "CREATE TABLE mine(x)"), CODE_OK);
    db_close(&db);
    assert_int_equal(audit_open(&conf, &audit, &why), CODE_INVALID);
    assert_non_null(strstr(why.text, "no audit trail"));
    (void)unlink(file->path);
    audit = audit_file_open(file, 1);
    audit_close(&audit);
    assert_int_equal(db_open(file->path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "PRAGMA user_version = 9999; ALTER TABLE event ADD COLUMN later TEXT"), CODE_OK);
    db_close(&db);
    assert_int_equal(audit_open(&conf, &audit, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "in version 9999 of its tables"));
    assert_non_null(strstr(why.text, "verify it with the program that wrote it"));
}

/* A gate does not go on behind an end that somebody changed. */
TEST_CASE_WITH(test_broken_end_is_refused, setup, teardown)
{
    struct audit_file *file = *state;
    const struct audit_conf conf = {.path = file->path, .rings = 1};
    struct audit *audit = audit_file_open(file, 1);
    struct why why = {0};
    struct db *db;

    (void)audit_file_call(audit_ring(audit, 0), "acme", "c");
    audit_close(&audit);
    assert_int_equal(db_open(file->path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "DROP TRIGGER decision_update; UPDATE decision SET tool = 'other'"), CODE_OK);
    db_close(&db);
    assert_int_equal(audit_open(&conf, &audit, &why), CODE_INVALID);
    assert_non_null(strstr(why.text, "row 2 is not what was written"));
}

TEST_MAIN(NULL, NULL)
