/* SPDX-License-Identifier: Apache-2.0 */
/* What a gate that starts knows of different values: by the arguments that its audit still has. Number: 12.7 */
#include "remember_bench.h"

#include "files/trail.h"

static const char by_value[] =
    "policy: test\n"
    "rules:\n"
    "  - {id: pay, effect: permit, match: {tools: [pay]}, limit: {distinct: {arg: patient, most: 2}, per: 31d, by: [principal]}}\n";

static void restart(struct house *house, const char *yaml)
{
    close_gate(house);
    start(house);
    gate_publish_policy(house->shared, compile(yaml));
    (void)remember(house, false);
}

/* What erasing leaves of a row: its digest, and how long the arguments were. */
static void erase(const char *path)
{
    struct why why = {0};
    struct db *db;

    assert_int_equal(db_open(path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "INSERT INTO erasure VALUES (9999, 'acme', 9000000000000000);"
                             "UPDATE decision SET salt = NULL, arguments = NULL, arguments_begin = NULL"), CODE_OK);
    db_close(&db);
}

TEST_CASE_WITH(test_a_restart_knows_the_values, open_house, close_house)
{
    struct house *house = *state;

    gate_publish_policy(house->shared, compile(by_value));
    pay(house, "{\"patient\":\"p-0\"}", INT64_C(32) * 1440 * MINUTE, REASON_PERMITTED); /* out of the window by now */
    pay(house, "{\"patient\":1}", 30 * MINUTE, REASON_PERMITTED);
    pay(house, "{\"patient\":1.0,\"text\":\"again\"}", 20 * MINUTE, REASON_PERMITTED);
    pay(house, "{\"patient\":\"1\"}", 10 * MINUTE, REASON_PERMITTED);
    pay(house, "{\"patient\":\"2\"}", 0, REASON_RATE_LIMITED);
    restart(house, by_value);
    pay(house, "{\"patient\":\"2\"}", 0, REASON_RATE_LIMITED);
    pay(house, "{\"patient\":10e-1}", 0, REASON_PERMITTED);
    pay(house, "{\"patient\":\"1\"}", 0, REASON_PERMITTED);
}

/* Nothing but the arguments says which value it was: an erased one is nowhere to guess at, and counts as one of its own. */
TEST_CASE_WITH(test_a_lost_value_is_another_one, open_house, close_house)
{
    static char large[100000];
    struct house *house = *state;

    gate_publish_policy(house->shared, compile(by_value));
    (void)snprintf(large, sizeof large, "{\"text\":\"%090000d\",\"patient\":\"p-1\"}", 7);
    pay(house, large, 0, REASON_PERMITTED); /* cut in the record */
    pay(house, "{\"patient\":\"p-1\"}", 0, REASON_PERMITTED);
    restart(house, by_value);
    pay(house, "{\"patient\":\"p-1\"}", 0, REASON_PERMITTED);
    pay(house, "{\"patient\":\"p-2\"}", 0, REASON_RATE_LIMITED);
    close_gate(house);
    erase(house->path);
    start(house);
    gate_publish_policy(house->shared, compile(by_value));
    (void)remember(house, false);
    pay(house, "{\"patient\":\"p-1\"}", 0, REASON_RATE_LIMITED);
}

/* A redacted value is in no record, so that nobody could count it; one that was redacted when it was recorded is a lost one. */
TEST_CASE_WITH(test_a_redacted_value_is_none, open_house, close_house)
{
    static const char redacting[] =
        "policy: test\n"
        "rules:\n"
        "  - {id: pay, effect: permit, match: {tools: [pay]}%s}\n"
        "redact:\n  - {match: {tools: [pay]}, args: [%s]}\n";
    struct house *house = *state;
    char yaml[512];

    (void)snprintf(yaml, sizeof yaml, redacting, ", limit: {distinct: {arg: patient, most: 2}, per: day}", "patient");
    gate_publish_policy(house->shared, compile(yaml));
    pay(house, "{\"patient\":\"p-1\"}", 0, REASON_NO_RULE);
    (void)snprintf(yaml, sizeof yaml, redacting, ", limit: {distinct: {arg: patient, most: 2}, per: day}", "name");
    gate_publish_policy(house->shared, compile(yaml));
    pay(house, "{\"patient\":\"p-1\",\"name\":\"Ann\"}", 0, REASON_PERMITTED);
    restart(house, yaml);
    pay(house, "{\"patient\":\"p-1\",\"name\":\"Ann\"}", 0, REASON_PERMITTED);
    (void)snprintf(yaml, sizeof yaml, redacting, "", "patient");
    gate_publish_policy(house->shared, compile(yaml));
    pay(house, "{\"patient\":\"p-1\"}", 0, REASON_PERMITTED);
    pay(house, "{\"patient\":\"p-1\"}", 0, REASON_PERMITTED);
    restart(house, by_value); /* p-1, and two that are lost */
    pay(house, "{\"patient\":\"p-1\"}", 0, REASON_RATE_LIMITED);
}

/* What the limit did not count then it does not count now: a call without the one value. */
TEST_CASE_WITH(test_a_call_without_a_value, open_house, close_house)
{
    static const char before[] = "policy: test\nrules:\n  - {id: pay, effect: permit, match: {tools: [pay]}}\n";
    static const char *const none[] = {"{}", "{\"patient\":null}", "{\"patient\":[\"p-1\"]}", "{\"patient\":{\"id\":1}}"};
    struct house *house = *state;

    gate_publish_policy(house->shared, compile(before));
    for (size_t i = 0; i < 4; i++)
        pay(house, none[i], 0, REASON_PERMITTED);
    restart(house, by_value);
    for (size_t i = 0; i < 4; i++)
        pay(house, none[i], 0, REASON_NO_RULE);
    pay(house, "{\"patient\":\"\"}", 0, REASON_PERMITTED);
    pay(house, "{\"patient\":true}", 0, REASON_PERMITTED);
    pay(house, "{\"patient\":false}", 0, REASON_RATE_LIMITED);
}

/* 10.41: what was counted is kept beside the store, and what is kept says no value to who has not the store's key. */
TEST_CASE_WITH(test_what_is_kept_knows_them_too, open_house, close_house)
{
    static const unsigned char key[DIGEST_BYTES] = {1};
    struct house *house = *state;
    struct remembering asked = {.path = house->path, .now_us = clock_wall_us()};
    struct remembered remembered;
    struct trail_candidate candidate;
    const struct json_node one = {.type = JSON_STRING, .text = SPAN_LIT("p-1")};
    struct policy_value value;
    struct buf bytes;
    char kept[128], file[160];
    uint64_t seq = 0;
    struct why why = {0};

    (void)snprintf(kept, sizeof kept, "%s/past-", house->folder);
    house->kept = asked.kept = (struct past_place){kept, key};
    gate_publish_policy(house->shared, compile(by_value));
    pay(house, "{\"patient\":\"p-1\"}", MINUTE, REASON_PERMITTED);
    pay(house, "{\"patient\":\"p-2\"}", MINUTE, REASON_PERMITTED);
    assert_int_equal(trail_look_at(house->path, &candidate, &why), CODE_OK);
    assert_int_equal(gate_remember_keep(house->shared, &asked, (uint64_t)candidate.file.last_seq, &seq, &why), CODE_OK);
    assert_int_equal(seq, candidate.file.last_seq);
    (void)snprintf(file, sizeof file, "%s.0", kept);
    buf_init(&bytes, 1 << 20);
    if (file_read(file, FILE_SECRET, 1 << 20, &bytes, &why) != CODE_OK)
        fail_msg("%s", why.text);
    assert_int_equal(policy_value_of(&one, &value), CODE_OK);
    assert_null(memmem(buf_peek(&bytes).at, buf_len(&bytes), value.bytes, sizeof value.bytes));
    buf_fini(&bytes);
    close_gate(house);
    erase(house->path);
    start(house);
    gate_publish_policy(house->shared, compile(by_value));
    asked.now_us = clock_wall_us();
    assert_int_equal(gate_remember(house->shared, &asked, &remembered, &why), CODE_OK);
    assert_int_equal(remembered.from, seq);
    assert_int_equal(remembered.calls, 0);
    pay(house, "{\"patient\":\"p-2\"}", 0, REASON_PERMITTED);
    pay(house, "{\"patient\":\"p-1\"}", 0, REASON_PERMITTED);
    pay(house, "{\"patient\":\"p-3\"}", 0, REASON_RATE_LIMITED);
}

/* What a call took whose record could not be written has its place no more; one that may have been recorded keeps it. */
TEST_CASE_WITH(test_what_is_not_recorded_has_no_place, open_house, close_house)
{
    struct house *house = *state;
    struct call message = ask("tools/call", "pay", "s1", 0);
    struct json_fault fault;
    struct arena arena;
    struct buf canonical;

    gate_publish_policy(house->shared, compile(by_value));
    arena_init(&arena, 1 << 20);
    buf_init(&canonical, 1 << 20);
    message.arena = &arena;
    assert_int_equal(json_read(SPAN_LIT("{\"patient\":\"p-9\"}"), &json_request_rules, &canonical, &arena, &message.asked.root, &fault),
                     CODE_OK);
    gate_judge(house->gate, &message);
    assert_int_equal(message.verdict.reason, REASON_PERMITTED);
    gate_let_go(&message); /* the agent went away before it was recorded */
    pay(house, "{\"patient\":\"p-1\"}", 0, REASON_PERMITTED);
    pay(house, "{\"patient\":\"p-2\"}", 0, REASON_PERMITTED);
    pay(house, "{\"patient\":\"p-9\"}", 0, REASON_RATE_LIMITED);
    buf_fini(&canonical);
    arena_fini(&arena);
}

TEST_MAIN(NULL, NULL)
