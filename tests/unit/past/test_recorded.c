/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the audit as questions (2.5): what was asked comes back, what is lost is told and guessed at both ways. */
#include "past/recorded.h"
#include "policy/match.h"

#include "fakes/audit_file.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "fakes/cm.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

struct house {
    struct audit_file file;
    struct audit *audit;
    struct db *db;
    struct recorded recorded;
};

static int open_house(void **state)
{
    static struct house house;

    memset(&house, 0, sizeof house);
    audit_file_init(&house.file);
    house.audit = audit_file_open(&house.file, 1);
    recorded_init(&house.recorded);
    *state = &house;
    return 0;
}

static int close_house(void **state)
{
    struct house *house = *state;

    recorded_fini(&house->recorded);
    db_close(&house->db);
    audit_close(&house->audit);
    audit_file_fini(&house->file);
    return 0;
}

static uint64_t put(struct house *house, const struct audit_decision *decision)
{
    struct audit_ring *ring = audit_ring(house->audit, 0);
    struct audit_decision row = *decision;
    uint64_t seq = 0;

    row.expects_outcome = false;
    assert_int_equal(audit_file_wait(ring, audit_file_put(ring, &row), &seq), AUDIT_DURABLE);
    return seq;
}

static struct recorded *find(struct house *house, uint64_t seq)
{
    struct why why = {""};

    if (house->db == NULL && db_open(house->file.path, DB_READ, &house->db, &why) != CODE_OK)
        fail_msg("%s", why.text);
    if (recorded_find(&house->recorded, house->db, seq, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return &house->recorded;
}

/* From here on, what was recorded so far is read from a copy that somebody changed. */
static void change(struct house *house, const char *sql)
{
    char copy[512];
    struct why why = {""};

    (void)snprintf(copy, sizeof copy, "ATTACH '%s' AS f; CREATE TABLE decision AS SELECT * FROM f.decision; "
                   "CREATE TABLE event AS SELECT * FROM f.event; DETACH f", house->file.path);
    db_close(&house->db);
    assert_int_equal(db_open(":memory:", DB_CREATE, &house->db, &why), CODE_OK);
    assert_int_equal(db_exec(house->db, copy), CODE_OK);
    assert_int_equal(db_exec(house->db, sql), CODE_OK);
}

static void assert_text(struct span span, const char *text)
{
    if (!span_is(span, text))
        fail_msg("\"%.*s\" is not \"%s\"", SPAN_ARG(span), text);
}

TEST_CASE_WITH(test_a_call_comes_back, open_house, close_house)
{
    struct house *house = *state;
    const struct audit_decision call = audit_call("acme", "c-1");
    struct recorded *recorded = find(house, put(house, &call));
    const struct question *question = &recorded->question;

    assert_int_equal(recorded->kind, RECORDED_JUDGED);
    assert_int_equal(recorded->lack, RECORDED_WHOLE);
    assert_int_equal(recorded->verdict, VERDICT_PERMIT);
    assert_int_equal(recorded->reason, REASON_PERMITTED);
    assert_int_equal(recorded->policy_version, 7);
    assert_text(recorded->rule, "store.search");
    assert_text(question->tenant, "acme");
    assert_text(question->principal, "shop-bot");
    assert_text(question->upstream, "shop");
    assert_text(question->method, "tools/call");
    assert_text(question->tool, "search_products");
    assert_text(question->client, "10.11.12.13");
    assert_text(question->correlation, "c-1");
    assert_int_equal(question->session.len, 64);
    assert_int_equal(question->time_us, 1700000000000000);
    assert_text(recorded->arguments, "{\"query\":\"lamp\",\"limit\":10}");
    assert_text(json_member(question->root, SPAN_LIT("query"))->text, "lamp");
    assert_false(question->hidden->meta); /* there was none: the row would have it */
    assert_int_equal(question->hidden->count, 0);
}

/* 4.10: other members of params come back; redacted ones are guessed, and so is what is erased or was not yet written down */
TEST_CASE_WITH(test_other_members_come_back, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct recorded *recorded;
    uint64_t seq;

    call.params = SPAN_LIT("{\"note\":{\"dev.callgate/redacted\":\"hmac-sha256:00\"},\"_meta\":{\"team\":\"blue\"}}");
    recorded = find(house, put(house, &call));
    assert_int_equal(recorded->question.hidden->count, 0); /* an agent wrote that */
    assert_text(json_member(recorded->question.meta, SPAN_LIT("team"))->text, "blue");
    call.arguments_redacted = true;
    call.target = SPAN_LIT("/a");
    call.query = SPAN_LIT("x=1");
    recorded = find(house, seq = put(house, &call));
    assert_int_equal(recorded->question.hidden->count, 1);
    assert_true(question_hides(recorded->question.hidden, json_member(recorded->question.params, SPAN_LIT("note"))));
    assert_false(question_hides(recorded->question.hidden, recorded->question.meta));
    assert_false(recorded->question.hidden->meta);
    assert_text(recorded->question.query, "x=1");
    assert_false(recorded->query_unknown);
    call.query = call.params = SPAN_LIT("{\"dev.callgate/redacted\":\"hmac-sha256:00\"}");
    recorded = find(house, put(house, &call));
    assert_true(recorded->question.hidden->meta);
    assert_true(recorded->query_unknown);
    assert_null(recorded->question.query.at);
    change(house, "UPDATE decision SET params = NULL, query = NULL");
    recorded = find(house, seq);
    assert_true(recorded->question.hidden->meta);
    assert_true(recorded->query_unknown);
}

/* 8.4: who asked comes back without a token: groups and scopes as far as they were kept, claims as far as rules asked for them. */
TEST_CASE_WITH(test_who_asked_comes_back, open_house, close_house)
{
    static const struct { struct span groups, claims; uint32_t count; bool cut, hides; } rows[] = {
        {SPAN_LIT("[\"a\",\"b\"]"), SPAN_LIT("{\"$['x']\":[1]}"), 2, false, true},
        {SPAN_LIT("[\"a\",7]"), SPAN_LIT("{}"), 1, true, true},
        {SPAN_LIT("[7]"), SPAN_NONE, 0, true, true},
        {SPAN_NONE, SPAN_NONE, 0, false, true},
        {SPAN_LIT("\"too long\""), SPAN_NONE, 0, true, true}, {SPAN_LIT("{]"), SPAN_LIT("{"), 0, true, true},
    };
    struct house *house = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct audit_decision call = audit_call("acme", "c-1");
        const struct question *question;

        call.groups = rows[i].groups;
        call.scopes = SPAN_LIT("[\"s\"]");
        call.issuer = SPAN_LIT("https://id.example.com");
        call.claims = rows[i].claims;
        question = &find(house, put(house, &call))->question;
        assert_int_equal(question->group_count, rows[i].count);
        assert_int_equal(question->hidden->names, (uint32_t)rows[i].cut << DIM_GROUP);
        assert_true(question->hidden->claims == rows[i].hides);
        assert_true(question->scope_count == 1 && span_is(question->scopes[0], "s"));
        for (uint32_t g = 0; g < question->group_count; g++)
            assert_true(span_is(question->groups[g], g == 0 ? "a" : "b"));
        assert_true((question->claims != NULL) == (rows[i].claims.len > 1));
    }
}

/* Who came without a token has no claims; of more than is kept nothing is known. */
TEST_CASE_WITH(test_claims_that_are_not_there, open_house, close_house)
{
    static char big[AUDIT_CLAIMS_BYTES + 100] = "{\"$['x']\":[\"";
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");

    assert_false(find(house, put(house, &call))->question.hidden->claims);
    memset(big + strlen(big), 'x', sizeof big - strlen(big));
    memcpy(big + sizeof big - 3, "\"]}", 3);
    call.issuer = SPAN_LIT("i");
    call.claims = span_of(big, sizeof big);
    assert_null(find(house, put(house, &call))->question.claims);
    assert_true(house->recorded.question.hidden->claims);
    call.claims = span_of(big, 16);
    assert_null(find(house, put(house, &call))->question.claims); /* what a hole in the file leaves */
}

TEST_CASE_WITH(test_other_methods_have_their_params, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct recorded *recorded;

    call.method = SPAN_LIT("resources/read");
    call.tool = SPAN_LIT("file:///a");
    call.arguments = SPAN_LIT("{\"uri\":\"file:///a\",\"_meta\":{\"trace\":1}}");
    recorded = find(house, put(house, &call));
    assert_int_equal(recorded->question.tool.len, 0);
    assert_text(recorded->question.resource, "file:///a");
    assert_null(recorded->question.hidden);
    assert_non_null(json_member(recorded->question.meta, SPAN_LIT("trace")));
    call.method = SPAN_LIT("ping");
    call.tool = call.arguments = SPAN_NONE;
    recorded = find(house, put(house, &call));
    assert_null(recorded->question.root);
    assert_null(recorded->question.hidden);
    assert_int_equal(recorded->lack, RECORDED_WHOLE);
}

TEST_CASE_WITH(test_what_is_lost_is_told, open_house, close_house)
{
    static char big[70000];
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct recorded *recorded;

    call.arguments = SPAN_LIT("{\"user\":\"u\",\"password\":{\"dev.callgate/redacted\":\"hmac-sha256:00\"}}");
    recorded = find(house, put(house, &call)); /* nobody redacted that: an agent sent it */
    assert_int_equal(recorded->lack, RECORDED_WHOLE);
    call.arguments_redacted = true;
    recorded = find(house, put(house, &call));
    assert_int_equal(recorded->lack, RECORDED_REDACTED);
    assert_int_equal(recorded->question.hidden->count, 1);
    assert_true(question_hides(recorded->question.hidden, json_member(recorded->question.root, SPAN_LIT("password"))));
    assert_true(question_hides(recorded->question.hidden, recorded->question.root));
    assert_false(question_hides(recorded->question.hidden, json_member(recorded->question.root, SPAN_LIT("user"))));
    call.arguments_redacted = false;
    (void)snprintf(big, sizeof big, "{\"text\":\"%066000d\"}", 7);
    call.arguments = span_text(big);
    recorded = find(house, put(house, &call));
    assert_int_equal(recorded->lack, RECORDED_CUT);
    assert_int_equal(recorded->arguments_bytes, strlen(big));
    assert_true(span_starts_with(recorded->beginning, SPAN_LIT("{\"text\":\"0000")));
    assert_true(question_hides(recorded->question.hidden, recorded->question.root));
}

/* 4.21 */
TEST_CASE_WITH(test_what_was_erased_is_told, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    const struct audit_erasure erasure = {SPAN_LIT("acme"), SPAN_LIT("ann"), SPAN_LIT("asked"), INT64_C(4000000000000000), 1};
    struct audit_done done;
    struct recorded *recorded;
    uint64_t seq;

    call.arguments = SPAN_LIT("{\"user\":\"u\"}");
    seq = put(house, &call);
    assert_int_equal(audit_erase(house->audit, &erasure), CODE_OK);
    while (!audit_job_over(house->audit, &done))
        (void)sched_yield();
    assert_int_equal(done.code, CODE_OK);
    recorded = find(house, seq);
    assert_int_equal(recorded->lack, RECORDED_ERASED);
    assert_true(question_hides(recorded->question.hidden, recorded->question.root));
}

TEST_CASE_WITH(test_what_was_refused_is_no_question, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");

    call.verdict = AUDIT_DENY;
    call.reason = REASON_NO_RULE;
    assert_int_equal(find(house, put(house, &call))->kind, RECORDED_JUDGED);
    call.reason = REASON_NO_POLICY;
    assert_int_equal(find(house, put(house, &call))->kind, RECORDED_JUDGED);
    call.reason = REASON_JSON_DUPLICATE;
    assert_int_equal(find(house, put(house, &call))->kind, RECORDED_REFUSED);
    call.reason = REASON_METHOD_UNKNOWN;
    assert_int_equal(find(house, put(house, &call))->kind, RECORDED_JUDGED);
    call.method = SPAN_LIT("sampling/createMessage"); /* not for an agent to ask */
    assert_int_equal(find(house, put(house, &call))->kind, RECORDED_REFUSED);
    call.direction = SPAN_LIT("server");
    assert_int_equal(find(house, put(house, &call))->kind, RECORDED_JUDGED);
    call.reason = REASON_CREDENTIAL_MISSING;
    call.tenant = SPAN_NONE;
    assert_int_equal(find(house, put(house, &call))->kind, RECORDED_REFUSED);
    call = audit_call("acme", "c-1");
    call.method = SPAN_LIT("pass");
    assert_int_equal(find(house, put(house, &call))->kind, RECORDED_UNJUDGED);
}

TEST_CASE_WITH(test_an_answer_finds_its_question, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct recorded *recorded;

    call.tool = call.arguments = SPAN_NONE;
    call.rpc_id = SPAN_LIT("\"q\"");
    call.method = SPAN_LIT("roots/list");
    call.direction = SPAN_LIT("server");
    (void)put(house, &call);
    call.method = SPAN_LIT("response");
    call.direction = SPAN_LIT("agent");
    recorded = find(house, put(house, &call));
    assert_false(recorded->answers_unknown);
    assert_text(recorded->question.answers, "roots/list");
    call.session = SPAN_LIT("another");
    recorded = find(house, put(house, &call));
    assert_true(recorded->answers_unknown);
}

/* ---- guesses ---- */

static enum verdict_kind judge(const char *rules, const struct recorded *recorded, bool favours_permit, bool *guessed)
{
    static char text[4096];
    static struct verdict verdict;
    struct policy_file file = {SPAN_LIT("p.yaml"), SPAN_NONE};
    struct question_hidden hidden = *recorded->question.hidden;
    struct question question = recorded->question;
    struct policy_scratch *scratch;
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    (void)snprintf(text, sizeof text, "policy: p\nrules:\n%s", rules);
    file.text = span_text(text);
    if (policy_compile(&file, 1, 1, &policy, &faults, NULL) != CODE_OK)
        fail_msg("%d: %s", faults.fault[0].line, faults.fault[0].text);
    assert_int_equal(policy_scratch_new(&scratch), CODE_OK);
    hidden.favours_permit = favours_permit;
    question.hidden = &hidden;
    policy_eval(policy, &question, false, scratch, &verdict);
    *guessed = verdict.guessed;
    policy_scratch_free(&scratch);
    policy_unref(&policy);
    return verdict.kind;
}

#define PERMIT(when) "  - {id: p, effect: permit, match: {tools: ['*']}, " when "}\n"
#define FORBID(when) "  - {id: f, effect: forbid, match: {tools: ['*']}, when: [" when "]}\n"

/* Both guesses agree exactly where the hidden value cannot matter. */
TEST_CASE_WITH(test_guesses_bound_the_verdict, open_house, close_house)
{
    static const struct {
        const char *rules;
        enum verdict_kind low, high;
    } cases[] = {
        {PERMIT("when: [{arg: user, equals: u}]"), VERDICT_PERMIT, VERDICT_PERMIT},
        {PERMIT("when: [{arg: password, equals: u}]"), VERDICT_DENY, VERDICT_PERMIT},
        {PERMIT("when: [{not: {arg: password, equals: u}}]"), VERDICT_DENY, VERDICT_PERMIT},
        {PERMIT("when: [{not: {not: {arg: password, equals: u}}}]"), VERDICT_DENY, VERDICT_PERMIT},
        {PERMIT("when: [{arg: user, equals: x}, {arg: password, equals: u}]"), VERDICT_DENY, VERDICT_DENY},
        {PERMIT("when: [{any: [{arg: user, equals: u}, {arg: password, equals: u}]}]"), VERDICT_PERMIT, VERDICT_PERMIT},
        {PERMIT("when: [{arg: password, exists: true}]"), VERDICT_PERMIT, VERDICT_PERMIT},
        {PERMIT("when: [{arg: $.password.x, exists: false}]"), VERDICT_DENY, VERDICT_PERMIT},
        {PERMIT("only_args: [user, password]"), VERDICT_PERMIT, VERDICT_PERMIT},
        {PERMIT("only_args: [user]"), VERDICT_DENY, VERDICT_DENY},
        {PERMIT("reason: all") FORBID("{arg: password, equals: u}"), VERDICT_DENY, VERDICT_PERMIT},
        {PERMIT("reason: all") FORBID("{arg: user, equals: u}, {arg: password, exists: true}"), VERDICT_DENY, VERDICT_DENY},
        {PERMIT("reason: all") FORBID("{arg: '$..*', matches: secret}"), VERDICT_DENY, VERDICT_PERMIT},
        {PERMIT("reason: all") FORBID("{arg: '$..*', matches: u}"), VERDICT_DENY, VERDICT_DENY},
        {PERMIT("reason: all") FORBID("{arg: $, equals: {}}"), VERDICT_DENY, VERDICT_PERMIT},
        {PERMIT("reason: all") FORBID("{arg: $, is: object, max_items: 1}"), VERDICT_PERMIT, VERDICT_PERMIT},
    };
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct recorded *recorded;

    call.arguments = SPAN_LIT("{\"user\":\"u\",\"password\":{\"dev.callgate/redacted\":\"hmac-sha256:00\"}}");
    call.arguments_redacted = true;
    recorded = find(house, put(house, &call));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool guessed;
        enum verdict_kind low = judge(cases[i].rules, recorded, false, &guessed);
        enum verdict_kind high = judge(cases[i].rules, recorded, true, &guessed);

        if (low != cases[i].low || high != cases[i].high)
            fail_msg("%s: %s to %s", cases[i].rules, verdict_text(low), verdict_text(high));
        if (low != high)
            assert_true(guessed);
    }
}

TEST_CASE_WITH(test_nothing_left_bounds_the_verdict, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct recorded *recorded;
    bool guessed;

    call.arguments = SPAN_LIT("{\"dev.callgate/redacted\":\"hmac-sha256:00\"}");
    call.arguments_redacted = true;
    recorded = find(house, put(house, &call));
    assert_int_equal(judge(PERMIT("reason: all"), recorded, false, &guessed), VERDICT_PERMIT);
    assert_false(guessed);
    assert_int_equal(judge(PERMIT("only_args: [a]"), recorded, false, &guessed), VERDICT_DENY);
    assert_true(guessed);
    assert_int_equal(judge(PERMIT("only_args: [a]"), recorded, true, &guessed), VERDICT_PERMIT);
    assert_int_equal(judge(PERMIT("when: [{arg: a, exists: true}]"), recorded, true, &guessed), VERDICT_PERMIT);
    assert_int_equal(judge(PERMIT("when: [{arg: a, exists: true}]"), recorded, false, &guessed), VERDICT_DENY);
}

TEST_MAIN(NULL, NULL)
