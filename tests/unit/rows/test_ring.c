/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/ring_drain.h"

#include "base/mem.h"
#include "fakes/audit_file.h"
#include "os/thread.h"
#include "fakes/cm.h"

#include <sched.h>
#include <stdlib.h>

struct bench {
    struct ring_shared shared;
    struct audit_ring *ring;
    struct ring_scratch scratch;
    uint64_t at;
};

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);

    bench->shared.arguments_max_bytes = 65536;
    bench->scratch.size = ring_record_max(&bench->shared);
    bench->scratch.bytes = malloc(bench->scratch.size);
    *state = bench;
    return ring_new(&bench->shared, 0, &bench->ring) == CODE_OK ? 0 : -1;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    ring_free(&bench->ring);
    free(bench->scratch.bytes);
    free(bench);
    return 0;
}

static bool next(struct bench *bench, struct ring_view *view)
{
    return ring_next(bench->ring, &bench->scratch, &bench->at, ring_tail(bench->ring), view);
}

TEST_CASE_WITH(test_records_come_back_as_they_were, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_decision decision = audit_call("acme", "c-1");
    struct audit_result result = audit_answer(41);
    const struct audit_event event = {.time_us = 5, .kind = SPAN_LIT("reload"), .actor = SPAN_LIT(""),
                                      .detail = SPAN_LIT("{}")};
    struct ring_view view;
    uint64_t ticket;

    assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_OK);
    assert_int_equal(ticket, 1);
    audit_put_result(bench->ring, &result);
    assert_int_equal(audit_put_event(bench->ring, &event), CODE_OK);
    assert_int_equal(ring_pressing(bench->ring), 2);
    assert_true(next(bench, &view));
    assert_int_equal(view.kind, RING_DECISION);
    assert_int_equal(view.decision.ticket, 1);
    assert_true(span_is(view.text[TEXT_TENANT], "acme") && span_is(view.text[TEXT_CORRELATION], "c-1"));
    assert_null(view.text[TEXT_TRACE].at);
    assert_true(span_equals(view.text[TEXT_ARGUMENTS], decision.arguments));
    assert_true(next(bench, &view));
    assert_int_equal(view.kind, RING_RESULT);
    assert_true(view.result.decision == 41 && view.result.latency_us == 1234);
    assert_true(next(bench, &view));
    assert_int_equal(view.kind, RING_EVENT);
    assert_true(span_is(view.text[EVENT_KIND], "reload") && view.event_time_us == 5);
    assert_true(view.text[EVENT_ACTOR].at != NULL && view.text[EVENT_ACTOR].len == 0 && view.text[EVENT_TENANT].at == NULL);
    assert_false(next(bench, &view));
}

/* 11.2: by the table, as it got there: a column that is added to it is tested here. */
TEST_CASE_WITH(test_every_number_and_text_comes_back, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_decision decision = {.verdict = AUDIT_PERMIT};
    struct ring_view view;
    uint64_t ticket;
    int count = 1;

#define NUMBER(NAME, name) decision.name = (__typeof__(decision.name))(sizeof decision.name == 1 ? 1 : ++count);
#define TEXT(NAME, name) decision.name = span_text(#name);
    DECISION_TABLE(ROW_SKIP, NUMBER, NUMBER, TEXT, TEXT, ROW_SKIP, ROW_SKIP)
    decision.verdict = AUDIT_PERMIT; /* of others no outcome is expected */
    assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_OK);
    assert_true(next(bench, &view));
#undef NUMBER
#undef TEXT
#define NUMBER(NAME, name) assert_true(decision.name != 0 && view.decision.name == decision.name);
#define TEXT(NAME, name) assert_true(span_is(view.text[TEXT_##NAME], #name));
    DECISION_TABLE(ROW_SKIP, NUMBER, NUMBER, TEXT, TEXT, ROW_SKIP, ROW_SKIP)
#undef NUMBER
#undef TEXT
}

TEST_CASE_WITH(test_long_texts_are_cut, setup, teardown)
{
    static char text[200000];
    struct bench *bench = *state;
    struct audit_decision decision = audit_call("acme", "c");
    struct ring_view view;
    uint64_t ticket;

    for (size_t i = 0; i < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    decision.method = span_of(text, AUDIT_TEXT_BYTES);
    decision.tool = span_of(text, AUDIT_TEXT_BYTES + 1);
    decision.rules = span_of(text, AUDIT_JSON_BYTES + 1);
    decision.arguments = span_of(text, 65536);
    assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_OK);
    assert_true(next(bench, &view));
    assert_int_equal(view.text[TEXT_METHOD].len, AUDIT_TEXT_BYTES);
    assert_int_equal(view.text[TEXT_TOOL].len, AUDIT_TEXT_BYTES - 4 + 3); /* the last whole character before the mark */
    assert_true(span_ends_with(view.text[TEXT_TOOL], SPAN_LIT("\xc3\xa4\xe2\x80\xa6")));
    assert_true(span_is(view.text[TEXT_RULES], "\"too long\""));
    assert_int_equal(view.text[TEXT_ARGUMENTS].len, 65536);
    assert_false(view.decision.arguments_cut);

    decision.arguments = span_of(text, 65537);
    assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_OK);
    assert_true(next(bench, &view));
    assert_null(view.text[TEXT_ARGUMENTS].at);
    assert_true(view.decision.arguments_cut && view.decision.arguments_bytes == 65537);
    assert_int_equal(view.text[TEXT_BEGIN].len, 1020);

    decision.verdict = AUDIT_DENY;
    decision.expects_outcome = false;
    decision.arguments = span_of(text, 4097);
    assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_OK);
    assert_true(next(bench, &view));
    assert_true(view.decision.arguments_cut && view.text[TEXT_ARGUMENTS].at == NULL);
}

/* A full ring says BUSY, and yet the outcome of every permit in it has its room. */
TEST_CASE_WITH(test_room_for_outcomes_is_reserved, setup, teardown)
{
    struct bench *bench = *state;
    const struct audit_decision decision = audit_call("acme", "c");
    const struct audit_event event = {.kind = SPAN_LIT("x"), .detail = SPAN_LIT("{}")};
    uint64_t ticket, put = 0;
    struct ring_view view;
    int results = 0;

    while (audit_put_decision(bench->ring, &decision, &ticket) == CODE_OK)
        put++;
    assert_int_equal(ticket, 0);
    assert_true(put > 100);
    assert_true(atomic_load(&bench->ring->starved));
    while (audit_put_event(bench->ring, &event) == CODE_OK)
        continue;
    for (uint64_t i = 1; i <= put; i++) {
        const struct audit_result result = {.ticket = i, .outcome = OUTCOME_NOT_SENT, .upstream_us = -1};

        audit_put_result(bench->ring, &result);
    }
    assert_true(ring_tail(bench->ring) - ring_head(bench->ring) <= bench->ring->most);
    while (next(bench, &view))
        results += view.kind == RING_RESULT;
    assert_int_equal(results, put);
    ring_settle(bench->ring, put);
    assert_true(ring_release(bench->ring, bench->at));
    assert_false(ring_release(bench->ring, bench->at));
    assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_OK);
    assert_int_equal(ticket, put + 1);
}

/* 11.11: a ring takes no more memory than it needs, and what stands in it stays while it grows. */
TEST_CASE_WITH(test_grows, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_decision decision = audit_call("acme", "c");
    struct ring_view view, first;
    uint64_t ticket, put = 0, seen = 0, least = atomic_load(&bench->ring->size);

    decision.expects_outcome = false;
    for (int i = 0; i < 1000; i++) { /* goes round in it many times */
        assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_OK);
        assert_true(next(bench, &view));
        ring_settle(bench->ring, ticket);
        (void)ring_release(bench->ring, bench->at);
    }
    assert_int_equal(atomic_load(&bench->ring->size), least);
    assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_OK);
    assert_true(next(bench, &first)); /* the writer still reads in it */
    for (decision.judge_us = 1; audit_put_decision(bench->ring, &decision, &ticket) == CODE_OK; decision.judge_us++)
        put++;
    assert_int_equal(atomic_load(&bench->ring->size), bench->ring->most);
    assert_true(span_is(first.text[TEXT_TENANT], "acme") && span_is(first.text[TEXT_CORRELATION], "c"));
    while (next(bench, &view)) {
        assert_int_equal(view.decision.judge_us, ++seen);
        assert_true(span_is(view.text[TEXT_TENANT], "acme") && span_equals(view.text[TEXT_ARGUMENTS], decision.arguments));
    }
    assert_int_equal(seen, put);
}

/* 4.19: an answer goes along where there is room; where there is none the outcome still comes, and its size is told. */
TEST_CASE_WITH(test_answers_take_what_room_there_is, setup, teardown)
{
    static char text[AUDIT_ANSWER_BYTES + 10];
    struct bench *bench = *state;
    const struct audit_decision decision = audit_call("acme", "c");
    struct audit_result result = {.outcome = OUTCOME_RESULT, .answer = span_of(text, 1000), .answer_bytes = 5000};
    const struct audit_event event = {.kind = SPAN_LIT("x"), .detail = SPAN_LIT("{}")};
    struct ring_view view;

    memset(text, 'a', sizeof text);
    for (int i = 0; i < 3; i++)
        assert_int_equal(audit_put_decision(bench->ring, &decision, &result.ticket), CODE_OK);
    result.ticket = 1;
    audit_put_result(bench->ring, &result);
    while (audit_put_event(bench->ring, &event) == CODE_OK)
        continue;
    atomic_store(&bench->shared.sleeps, RING_DOZES);
    result.ticket = 2;
    audit_put_result(bench->ring, &result);
    assert_int_equal(atomic_load(&bench->shared.sleeps), RING_AWAKE); /* the writer makes room now, not when its sleep is over */
    result.ticket = 3;
    result.answer = SPAN_NONE;
    audit_put_result(bench->ring, &result);
    assert_int_equal(bench->ring->answers_lost, 1);
    while (next(bench, &view))
        if (view.kind == RING_RESULT) {
            unsigned char digest[DIGEST_BYTES];

            digest_of_two(span_of(view.result.answer_salt, ROW_SALT_BYTES), view.result.answer, digest);
            assert_true(view.result.ticket == 3 || memcmp(digest, view.result.answer_digest, DIGEST_BYTES) == 0);
            assert_int_equal(view.result.answer_bytes, 5000);
            assert_int_equal(view.result.answer.len, view.result.ticket == 1 ? 1000 : 0);
            assert_true((view.result.answer.at == NULL) == (view.result.ticket == 3));
        }
    assert_true(ring_tail(bench->ring) - ring_head(bench->ring) <= bench->ring->most);
}

/* 9.2: what rules for answers did is never lost for want of room: who gets none lets no answer go on. */
TEST_CASE_WITH(test_room_for_what_was_done_is_kept, setup, teardown)
{
    struct bench *bench = *state;
    const struct audit_decision decision = audit_call("acme", "c");
    struct audit_result result = {.outcome = OUTCOME_RESULT, .has_said_room = true, .answer_rule = SPAN_LIT("r")};
    const struct audit_event event = {.kind = SPAN_LIT("x"), .detail = SPAN_LIT("{}")};
    struct ring_view view;
    int seen = 0;

    for (int i = 0; i < 2; i++)
        assert_int_equal(audit_put_decision(bench->ring, &decision, &result.ticket), CODE_OK);
    assert_true(audit_reserve_said(bench->ring));
    while (audit_put_event(bench->ring, &event) == CODE_OK)
        continue;
    assert_false(audit_reserve_said(bench->ring));
    audit_put_result(bench->ring, &result);
    result.ticket = 1;
    result.has_said_room = false;
    audit_put_result(bench->ring, &result);
    assert_int_equal(bench->ring->reserved_said, 0);
    while (next(bench, &view))
        if (view.kind == RING_RESULT && ++seen == 1)
            assert_true(span_is(view.result.answer_rule, "r"));
        else if (view.kind == RING_RESULT)
            assert_null(view.result.answer_rule.at);
    assert_int_equal(seen, 2);
    assert_true(ring_tail(bench->ring) - ring_head(bench->ring) <= bench->ring->most);
}

/* What failed gives its room back, whether or not its outcome was put already. */
TEST_CASE_WITH(test_room_of_failed_decisions_comes_back, setup, teardown)
{
    struct bench *bench = *state;
    const struct audit_decision decision = audit_call("acme", "c");
    struct audit_result result = {.ticket = 2, .outcome = OUTCOME_NOT_SENT, .upstream_us = -1};
    uint64_t ticket, seq;

    for (int i = 0; i < 3; i++)
        assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_OK);
    audit_put_result(bench->ring, &result); /* before the fate was known */
    assert_int_equal(bench->ring->reserved, 2);
    for (uint64_t i = 1; i <= 3; i++)
        ring_set_seq(bench->ring, i, 0);
    atomic_fetch_add(&bench->ring->rooms_lost, 3);
    ring_settle(bench->ring, 3);
    assert_int_equal(audit_fate(bench->ring, 1, &seq), AUDIT_FAILED);
    result.ticket = 1;
    audit_put_result(bench->ring, &result); /* passed over */
    assert_int_equal(bench->ring->reserved, 2);
    atomic_fetch_sub(&bench->ring->rooms_lost, 1); /* the writer passes over that of 2 */
    assert_int_equal(bench->ring->reserved - bench->ring->rooms_lost, 0);
}

TEST_CASE_WITH(test_down_counts_and_refuses, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_decision decision = audit_call("acme", "c");
    uint64_t ticket;

    atomic_store(&bench->shared.down, true);
    assert_true(audit_is_down(bench->ring));
    assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_DOWN);
    decision.verdict = AUDIT_DENY;
    decision.expects_outcome = false;
    decision.reason = REASON_NO_RULE;
    assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_DOWN);
    assert_int_equal(bench->ring->refused[REASON_AUDIT_DOWN], 1);
    assert_int_equal(bench->ring->refused[REASON_NO_RULE], 1);
}

TEST_CASE_WITH(test_no_more_tickets_than_fates, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_decision decision = {.time_us = 1};
    struct ring_view view;
    uint64_t ticket, last = 0;

    while (last < AUDIT_TICKETS / 2) { /* room is made, nothing is settled */
        assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_OK);
        last = ticket;
        assert_true(next(bench, &view));
        (void)ring_release(bench->ring, bench->at);
    }
    assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_BUSY);
    ring_settle(bench->ring, 1);
    assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_OK);
}

#define STRESS_RECORDS 60000

static void produce(void *argument)
{
    struct audit_ring *ring = argument;
    static char text[3000];
    struct audit_decision decision = audit_call("acme", "c");

    memset(text, 'a', sizeof text);
    for (uint64_t i = 1; i <= STRESS_RECORDS; i++) {
        uint64_t ticket;

        decision.judge_us = (int64_t)i * 7;
        decision.expects_outcome = i % 3 == 0;
        decision.rule_reason = span_of(text, (i * 37) % sizeof text);
        while (audit_put_decision(ring, &decision, &ticket) != CODE_OK)
            sched_yield();
        if (ticket % 3 == 0) {
            const struct audit_result result = {.ticket = ticket, .outcome = OUTCOME_NOT_SENT, .upstream_us = -1};

            audit_put_result(ring, &result);
        }
    }
}

/* 1.25: two threads, no lock: every record whole and in order, whatever the wrapping */
TEST_CASE_WITH(test_stress, setup, teardown)
{
    struct bench *bench = *state;
    struct thread thread = {0};
    struct ring_view view;
    uint64_t ticket = 0, results = 0;

    assert_int_equal(thread_start(&thread, "produce", produce, bench->ring, NULL), CODE_OK);
    while (ticket < STRESS_RECORDS || results < STRESS_RECORDS / 3) {
        if (!next(bench, &view)) {
            sched_yield();
            continue;
        }
        if (view.kind == RING_DECISION) {
            struct span reason = view.text[TEXT_RULE_REASON];

            ticket++;
            assert_int_equal(view.decision.ticket, ticket);
            assert_int_equal(view.decision.judge_us, ticket * 7);
            assert_int_equal(reason.len, (ticket * 37) % 3000);
            assert_true(reason.len == 0 || (reason.at[0] == 'a' && reason.at[reason.len - 1] == 'a'));
            assert_true(span_is(view.text[TEXT_RULES], "[{\"id\":\"store.search\",\"effect\":\"permit\",\"monitor\":false}]"));
        } else {
            assert_int_equal(view.result.ticket, ticket);
            results++;
        }
        ring_set_seq(bench->ring, ticket, ticket);
        ring_settle(bench->ring, ticket);
        (void)ring_release(bench->ring, bench->at);
    }
    thread_join(&thread);
    assert_false(next(bench, &view));
}

/* Each breaks its ring: the next call is denied. */
static void break_by_decision(struct bench *bench)
{
    struct audit_decision decision = audit_call("acme", "c");
    uint64_t ticket;

    decision.verdict = AUDIT_DENY;
    assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_DOWN);
}

static void break_by_query(struct bench *bench)
{
    static char query[AUDIT_QUERY_BYTES + 1];
    struct audit_decision decision = audit_call("acme", "c");
    uint64_t ticket;

    decision.query = span_of(query, sizeof query);
    assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_DOWN);
}

static void break_by_result(struct bench *bench)
{
    struct audit_result result = audit_answer(41);

    audit_put_result(bench->ring, &result);
}

static void break_by_two(struct bench *bench)
{
    struct audit_result result = audit_answer(41);

    result.ticket = 1;
    audit_put_result(bench->ring, &result);
}

static void break_by_said(struct bench *bench)
{
    struct audit_result result = audit_answer(41);

    result.has_said_room = true;
    audit_put_result(bench->ring, &result);
}

static void break_by_fate(struct bench *bench)
{
    uint64_t seq = 1;

    assert_int_equal(audit_fate(bench->ring, 0, &seq), AUDIT_FAILED);
    assert_int_equal(seq, 0);
}

/* 10.28: what can only be a fault of ours denies from then on and aborts nobody; what the ring holds is whole. */
TEST_CASE(test_faults_of_ours_deny)
{
    void (*const breaks[])(struct bench *) = {break_by_decision, break_by_query, break_by_result,
                                              break_by_two, break_by_said, break_by_fate};
    struct audit_decision decision = audit_call("acme", "c");
    struct ring_view view;
    void *one;
    uint64_t ticket;

    for (size_t i = 0; i < sizeof breaks / sizeof breaks[0]; i++) {
        struct bench *bench;

        assert_int_equal(setup(&one), 0);
        bench = one;
        breaks[i](bench);
        assert_true(audit_is_down(bench->ring));
        assert_int_equal(audit_put_decision(bench->ring, &decision, &ticket), CODE_DOWN);
        assert_false(next(bench, &view));
        teardown(&one);
    }
}

TEST_CASE_WITH(test_out_of_memory, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_ring *ring;

    for (uint64_t n = 1; n <= 3; n++) {
        mem_fail_at(n, 0);
        assert_int_equal(ring_new(&bench->shared, 0, &ring), CODE_NOMEM);
        assert_null(ring);
    }
    mem_fail_at(0, 0);
}

TEST_MAIN(NULL, NULL)
