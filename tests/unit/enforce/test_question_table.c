/* SPDX-License-Identifier: Apache-2.0 */
#include "enforce/question_table.h"

#include "base/mem.h"
#include "enforce/gate_priv.h"
#include "fakes/cm.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct gate_shared *shared;
static struct gate gate;

static int make_table(void **state)
{
    (void)state;
    shared = mem_zalloc(sizeof *shared);
    gate__questions_init(shared);
    gate = (struct gate){.shared = shared};
    return 0;
}

static int drop_table(void **state)
{
    (void)state;
    gate__questions_fini(shared);
    mem_free(shared);
    return 0;
}

static struct question_key key_of(const char *session, const char *id)
{
    return (struct question_key){
        .route = SPAN_LIT("shop"), .tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot"),
        .session = span_text(session), .id = span_text(id),
    };
}

static enum code ask(const char *session, const char *id, const char *method, int64_t now_us)
{
    struct question_key key = key_of(session, id);

    return question_open(&gate, &key, span_text(method), now_us);
}

static enum code answer(const struct question_key *key, char method[129])
{
    size_t len = 0;
    enum code code = question_answer(&gate, key, method, &len);

    method[len] = '\0';
    return code;
}

/* 1.19 */
TEST_CASE_WITH(an_answer_takes_its_question, make_table, drop_table)
{
    struct question_key key = key_of("s1", "7");
    char method[129];

    assert_int_equal(answer(&key, method), CODE_NOT_FOUND);
    assert_int_equal(ask("s1", "7", "sampling/createMessage", 1), CODE_OK);
    assert_int_equal(ask("s1", "\"7\"", "roots/list", 1), CODE_OK);
    assert_int_equal(answer(&key, method), CODE_OK);
    assert_string_equal(method, "sampling/createMessage");
    assert_int_equal(answer(&key, method), CODE_NOT_FOUND);
    key.id = SPAN_LIT("\"7\"");
    assert_int_equal(answer(&key, method), CODE_OK);
    assert_string_equal(method, "roots/list");
}

/* 1.19 */
TEST_CASE_WITH(every_part_of_the_key_counts, make_table, drop_table)
{
    struct question_key right = key_of("s1", "7"), wrong;
    struct span *parts[] = {&wrong.route, &wrong.tenant, &wrong.principal, &wrong.session, &wrong.id};
    char method[129];

    assert_int_equal(ask("s1", "7", "roots/list", 1), CODE_OK);
    for (size_t i = 0; i < 5; i++) {
        wrong = right;
        *parts[i] = SPAN_LIT("other");
        assert_int_equal(answer(&wrong, method), CODE_NOT_FOUND);
    }
    /* Lengths are part of the key: moving a byte from one part to the next makes another one. */
    wrong = right;
    wrong.tenant = SPAN_LIT("acm");
    wrong.principal = SPAN_LIT("ebot");
    assert_int_equal(answer(&wrong, method), CODE_NOT_FOUND);
    assert_int_equal(answer(&right, method), CODE_OK);
}

TEST_CASE_WITH(a_question_asked_again_is_renewed, make_table, drop_table)
{
    struct question_key key = key_of("s1", "7");
    char method[129];

    assert_int_equal(ask("s1", "7", "roots/list", 1), CODE_OK);
    assert_int_equal(ask("s1", "7", "roots/list", 2), CODE_OK);
    assert_int_equal(ask("s1", "7", "elicitation/create", 3), CODE_EXISTS);
    assert_int_equal(answer(&key, method), CODE_OK);
    assert_string_equal(method, "roots/list");
    assert_int_equal(answer(&key, method), CODE_NOT_FOUND);
}

TEST_CASE_WITH(a_session_holds_at_most_64, make_table, drop_table)
{
    char id[16];

    for (int i = 0; i < 64; i++) {
        snprintf(id, sizeof id, "%d", i);
        assert_int_equal(ask("s1", id, "roots/list", i), CODE_OK);
    }
    assert_int_equal(ask("s1", "64", "roots/list", 64), CODE_LIMIT);
    assert_int_equal(ask("s1", "5", "roots/list", 64), CODE_OK);
    assert_int_equal(ask("s2", "64", "roots/list", 64), CODE_OK);
    /* An hour later they are forgotten. */
    assert_int_equal(ask("s1", "64", "roots/list", INT64_C(3601000000) + 64), CODE_OK);
}

TEST_CASE_WITH(all_sessions_together_are_bounded, make_table, drop_table)
{
    uint32_t held = 0;
    char session[24];

    for (int i = 0; i < 80000; i++) {
        snprintf(session, sizeof session, "session-%d", i);
        assert_int_equal(ask(session, "1", "roots/list", i), CODE_OK);
    }
    for (size_t i = 0; i < QUESTION_SHARDS; i++)
        held += (uint32_t)shared->shards[i].shares.held;
    assert_in_range(held, 65536 / 4, 65536 / 3 + 64); /* 10.3: one principal's share */
}

/* 5.4, 5.23: who leaves calls unanswered in hundreds of sessions pushes out his own. */
TEST_CASE_WITH(nobody_pushes_out_another, make_table, drop_table)
{
    struct question_key key = key_of("", "1");
    char session[24], id[16], method[129];

    for (int i = 0; i < 500; i++) {
        snprintf(session, sizeof session, "patient-%d", i);
        assert_int_equal(ask(session, "1", "roots/list", i), CODE_OK);
    }
    key.principal = SPAN_LIT("greedy");
    key.is_call = true;
    for (int i = 0; i < 80000; i++) {
        snprintf(session, sizeof session, "session-%d", i / 160);
        snprintf(id, sizeof id, "%d", i % 160);
        key.session = span_text(session);
        key.id = span_text(id);
        assert_int_equal(question_open(&gate, &key, SPAN_LIT("tools/call"), 1000 + i), CODE_OK);
    }
    for (int i = 0; i < 500; i++) {
        snprintf(session, sizeof session, "patient-%d", i);
        key = key_of(session, "1");
        assert_int_equal(answer(&key, method), CODE_OK);
    }
}

/* 10.3: nor does a tenant by ever more principals, each of whom leaves little. */
/* 10.3: whose the room is a credential's own tenant says, not which one it claims, a new one with each call. */
TEST_CASE_WITH(no_claim_is_a_share, make_table, drop_table)
{
    struct question_key key = key_of("", "1");
    char claimed[24], method[129];
    unsigned kept = 0;

    for (int i = 0; i < 50; i++) {
        snprintf(claimed, sizeof claimed, "patient-%d", i);
        assert_int_equal(ask(claimed, "1", "roots/list", 1000), CODE_OK);
    }
    for (int i = 0; i < 200000; i++) {
        snprintf(claimed, sizeof claimed, "claimed-%d", i);
        key.tenant = key.principal = key.session = span_text(claimed);
        key.home = SPAN_LIT("crowd");
        assert_int_equal(question_open(&gate, &key, SPAN_LIT("roots/list"), 1001), CODE_OK);
    }
    for (int i = 0; i < 50; i++) {
        snprintf(claimed, sizeof claimed, "patient-%d", i);
        key = key_of(claimed, "1");
        kept += answer(&key, method) == CODE_OK;
    }
    assert_int_equal(kept, 50);
}

TEST_CASE_WITH(no_tenant_pushes_out_another, make_table, drop_table)
{
    struct question_key key = key_of("", "1");
    char session[24], method[129];
    unsigned kept = 0;

    for (int i = 0; i < 80000; i++) {
        snprintf(session, sizeof session, "crowd-%d", i);
        key.principal = key.session = span_text(session);
        key.tenant = SPAN_LIT("crowd");
        assert_int_equal(question_open(&gate, &key, SPAN_LIT("roots/list"), 1000 + i), CODE_OK);
        if (i % 1600 == 0) {
            snprintf(session, sizeof session, "patient-%d", i);
            assert_int_equal(ask(session, "1", "roots/list", 1000 + i), CODE_OK);
        }
    }
    for (int i = 0; i < 80000; i += 1600) {
        snprintf(session, sizeof session, "patient-%d", i);
        key = key_of(session, "1");
        kept += answer(&key, method) == CODE_OK;
    }
    assert_int_equal(kept, 50);
}

TEST_CASE_WITH(long_methods_and_no_memory_are_refused, make_table, drop_table)
{
    char method[130];

    memset(method, 'm', 129);
    method[129] = '\0';
    assert_int_equal(ask("s1", "1", method, 1), CODE_LIMIT);
    assert_int_equal(ask("s1", "1", "", 1), CODE_LIMIT);
    method[128] = '\0';
    assert_int_equal(ask("s1", "1", method, 1), CODE_OK);
    mem_fail_at(1, 0);
    assert_int_equal(ask("s1", "2", "roots/list", 1), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(ask("s1", "2", "roots/list", 1), CODE_OK);
}

static void *ask_and_answer(void *argument)
{
    struct gate own = {.shared = shared};
    char id[16];

    for (int i = 0; i < 5000; i++) {
        struct question_key key = key_of("shared", "");
        char method[128];
        size_t len;

        snprintf(id, sizeof id, "%d", (int)(intptr_t)argument + (i % 16));
        key.id = span_text(id);
        if (question_open(&own, &key, SPAN_LIT("roots/list"), i) != CODE_OK ||
            question_answer(&own, &key, method, &len) != CODE_OK || len != 10)
            return argument;
    }
    return NULL;
}

TEST_CASE_WITH(workers_share_it, make_table, drop_table)
{
    pthread_t threads[4];

    for (intptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_and_answer, (void *)((i + 1) * 1000)), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;

        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}

static enum code call(const char *id, int64_t now_us)
{
    struct question_key key = key_of("s", id);

    key.is_call = true;
    return question_open(&gate, &key, SPAN_LIT("tools/call"), now_us);
}

/* 5.4: calls of the agent stand beside questions of the server: one id may be both, no id two calls, and the oldest gives way. */
TEST_CASE_WITH(calls_stand_beside_questions, make_table, drop_table)
{
    struct question_key key = key_of("s", "1");
    char method[129], id[16];

    assert_int_equal(ask("s", "1", "roots/list", 1), CODE_OK);
    assert_int_equal(call("1", 1), CODE_OK);
    assert_int_equal(call("1", 2), CODE_EXISTS);
    key.is_call = true;
    assert_int_equal(answer(&key, method), CODE_OK);
    assert_string_equal(method, "tools/call");
    assert_int_equal(answer(&key, method), CODE_NOT_FOUND);
    key.is_call = false;
    assert_int_equal(answer(&key, method), CODE_OK);
    assert_string_equal(method, "roots/list");
    for (int i = 0; i < 257; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        assert_int_equal(call(id, i), CODE_OK);
    }
    key = key_of("s", "0");
    key.is_call = true;
    assert_int_equal(answer(&key, method), CODE_NOT_FOUND);
    key.id = SPAN_LIT("1");
    assert_int_equal(answer(&key, method), CODE_OK);
}

TEST_MAIN(NULL, NULL)
