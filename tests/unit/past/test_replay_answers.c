/* SPDX-License-Identifier: Apache-2.0 */
/* 9.2: what was done to answers, and what rules of today would do. */
#include "unit/past/replay_house.h"

#include "base/num.h"
#include "schema/schema_compile.h"

static uint64_t put_answer(struct house *house, uint64_t version, const struct audit_result *result)
{
    struct audit_ring *ring = audit_ring(house->audit, 0);
    struct audit_decision call = audit_call("acme", "c-1");
    struct audit_result row = *result;
    uint64_t seq;

    call.policy_version = version;
    assert_int_equal(audit_file_wait(ring, audit_file_put(ring, &call), &seq), AUDIT_DURABLE);
    row.decision = seq;
    row.has_said_room = audit_reserve_said(ring);
    if (row.outcome == OUTCOME_UNKNOWN)
        row.outcome = OUTCOME_RESULT;
    if (row.answer_bytes == 0)
        row.answer_bytes = row.answer.len;
    audit_put_result(ring, &row);
    call.verdict = AUDIT_DENY; /* so that the outcome is in the file, too */
    call.policy_version = 7;
    call.reason = REASON_JSON_DUPLICATE;
    settle(house, put(house, &call));
    return seq;
}

#define CARD "{\"content\":[{\"text\":\"4111111111111111\"}]}"
#define CARDS                                                                                                   \
    SAME "answers:\n  - {id: cards, effect: redact, match: {tools: [search_products]}, "                        \
         "when: [{value: '$..*', matches: '4[0-9]{15}'}]}\n"

/* 9.2: kept answers are judged again, and of others it is said why they cannot be. */
TEST_CASE_WITH(test_answers_are_judged_again, open_house, close_house)
{
    const struct audit_result rows[] = {
        {.answer = SPAN_LIT(CARD)}, {.answer = SPAN_LIT("{\"content\":[]}")}, {.answer = SPAN_NONE},
        {.answer = SPAN_LIT("{\"con"), .answer_bytes = 90}, {.answer = SPAN_LIT(""), .answer_bytes = 90},
        {.answer = SPAN_LIT("{\"a\":\"[left out: cards]\"}"), .answer_effect = SPAN_LIT("redact"), .answer_rule = SPAN_LIT("cards")},
        {.outcome = OUTCOME_REFUSED, .answer_effect = SPAN_LIT("withhold"), .answer_rule = SPAN_LIT("w")},
        {.answer = SPAN_LIT("{\"a\":{\"dev.callgate/redacted\":\"hmac-sha256:00\"}}")},
        {.answer = SPAN_LIT("{\"a\":1}"), .answer_effect = SPAN_LIT("flag"), .answer_rule = SPAN_LIT("x")},
        {.answer = SPAN_LIT("{\"a\":1}"), .answer_effect = SPAN_LIT("flag"), .answer_rule = SPAN_LIT("x"), .server_notifications = 1},
        {.outcome = OUTCOME_TIMEOUT}, {.answer = SPAN_LIT(CARD), .answer_effect = SPAN_LIT("flag"), .answer_rule = SPAN_LIT("x")},
    };
    struct house *house = *state;
    struct replay_sum sum;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        (void)put_answer(house, 6, &rows[i]);
    sum = replay(house, CARDS);
    assert_int_equal(sum.fates[REPLAY_FLIPS], 0);
    assert_int_equal(sum.answers[REPLAY_FLIPS], 3); /* the first, and those that are flagged no more, or cut now */
    assert_int_equal(house->told, 3);
    assert_true(house->last.answer.was == ANSWER_FLAG && house->last.answer.is == ANSWER_REDACT);
    assert_int_equal(sum.answers[REPLAY_SAME], 1);
    assert_int_equal(sum.answers[REPLAY_UNKNOWN], 7);
    assert_int_equal(sum.answer_lacks[RECORDED_NOT_KEPT], 3);
    assert_int_equal(sum.answer_lacks[RECORDED_CUT], 1);
    assert_int_equal(sum.answer_lacks[RECORDED_REDACTED], 2);
    assert_int_equal(sum.answer_lacks[RECORDED_WHOLE], 1); /* a notification may have been flagged */
    sum = replay(house, SAME); /* no rule for answers: whatever was done is done no more */
    assert_int_equal(sum.answers[REPLAY_FLIPS], 5);
    assert_int_equal(sum.answers[REPLAY_UNKNOWN], 0);
    sum = replay(house, SAME "  - {id: f, effect: forbid, match: {tools: ['*']}}\n"); /* nothing comes back then */
    assert_int_equal(sum.fates[REPLAY_FLIPS], 12);
    assert_int_equal(sum.answers[REPLAY_FLIPS] + sum.answers[REPLAY_UNKNOWN], 0);
}

/* 9.2: what this very version did is known, though what it did it to is gone; where arguments decide that are lost, nothing is. */
TEST_CASE_WITH(test_answers_of_this_version, open_house, close_house)
{
    const struct audit_result redacted = {.answer = SPAN_LIT("{}"), .answer_effect = SPAN_LIT("redact"),
                                          .answer_rule = SPAN_LIT("cards")};
    struct house *house = *state;

    (void)put_answer(house, 7, &redacted);
    assert_int_equal(replay(house, CARDS).answers[REPLAY_SAME], 1);
    (void)put_answer(house, 7, &(struct audit_result){.answer = SPAN_LIT("{\"a\":1}")});
    assert_int_equal(replay(house, SAME "answers:\n  - {id: m, effect: withhold, match: {tools: ['*']}, "
                                        "when: [{annotations: {readOnlyHint: true}}]}\n").answers[REPLAY_UNKNOWN], 1);
}

#define DIGEST "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static struct definition_set *accept(const char *schema)
{
    struct definition definition = {.upstream = SPAN_LIT("shop"), .tool = SPAN_LIT("search_products"), .is_accepted = true};
    struct definition_set *set;
    struct why why = {""};

    assert_int_equal(num_unhex(SPAN_LIT(DIGEST), definition.digest, DIGEST_BYTES), CODE_OK);
    assert_int_equal(policy_schema_compile(span_text(schema), &definition.schema, &why), CODE_OK);
    assert_int_equal(definition_set_new(1, &set), CODE_OK);
    assert_int_equal(definition_set_add(set, &definition), CODE_OK);
    return set;
}

/* 9.3: a call is held to the schema of the definition that it meant, where that is accepted; elsewhere nothing is claimed. */
TEST_CASE_WITH(test_schemas_are_asked, open_house, close_house)
{
    static const char rules[] = "  - {id: store.search, effect: permit, match: {tools: [search_products]}, arguments: by_schema}\n";
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1"); /* of limit 10 */
    struct definition_set *set = accept("{\"type\":\"object\",\"properties\":{\"limit\":{\"maximum\":10}}}");

    call.definition = SPAN_LIT(DIGEST);
    settle(house, put(house, &call));
    assert_int_equal(replay(house, rules).fates[REPLAY_UNKNOWN], 1);
    house->definitions = set;
    assert_int_equal(replay(house, rules).fates[REPLAY_SAME], 1);
    definition_set_unref(&set);
    house->definitions = set = accept("{\"type\":\"object\",\"properties\":{\"limit\":{\"maximum\":9}}}");
    assert_int_equal(replay(house, rules).fates[REPLAY_FLIPS], 1);
    call.definition = SPAN_LIT("aa7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"); /* another one */
    settle(house, put(house, &call));
    assert_int_equal(replay(house, rules).fates[REPLAY_UNKNOWN], 1);
    definition_set_unref(&set);
}

TEST_MAIN(NULL, NULL)
