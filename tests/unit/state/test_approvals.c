/* SPDX-License-Identifier: Apache-2.0 */
#include "state/approvals.h"

#include "base/mem.h"
#include "fakes/cm.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define HASH SPAN_LIT("0123456789abcdef0123456789abcdef")
#define NOW INT64_C(1000000000)
#define SECOND INT64_C(1000000)

static struct approvals *approvals;
static _Thread_local struct json_node root;

static int make_table(void **state)
{
    const unsigned char key[DIGEST_BYTES] = "a key";

    (void)state;
    return approvals_new(key, &approvals) == CODE_OK ? 0 : -1;
}

static int drop_table(void **state)
{
    (void)state;
    approvals_free(&approvals);
    return 0;
}

static struct question call_of(const char *principal, const char *arguments, int64_t time_us)
{
    root = (struct json_node){.type = JSON_OBJECT, .raw = span_text(arguments)};
    return (struct question){
        .tenant = SPAN_LIT("acme"), .principal = span_text(principal), .upstream = SPAN_LIT("shop"),
        .method = SPAN_LIT("tools/call"), .tool = SPAN_LIT("mail"), .root = &root, .time_us = time_us,
    };
}

static const struct verdict_people people = {.reason = SPAN_LIT("because"), .rule_hash = HASH, .needed = 1,
                                             .approvers = SPAN_LIT("group:treasury")};

/* What a policy with one require_approval named `r` says. */
static struct verdict verdict_of(bool is_granted)
{
    return (struct verdict){
        .kind = is_granted ? VERDICT_PERMIT : VERDICT_HOLD, .approval_count = 1,
        .approvals = {{SPAN_LIT("r"), &people, is_granted}},
    };
}

static enum policy_known known(const struct question *question)
{
    return approvals_known(approvals, question, SPAN_LIT("r"), HASH);
}

/* A held call. Returns: whether main is told. */
static bool ask(const struct question *question, struct approval_marks *marks)
{
    struct verdict verdict = verdict_of(false);

    assert_int_equal(approvals_note(approvals, question, question->tenant, &verdict, marks), REASON_UNSET);
    return marks->mark[0].tells;
}

static bool take(const struct question *question, struct approval_marks *marks)
{
    struct verdict verdict = verdict_of(true);

    return approvals_take(approvals, question, &verdict, marks);
}

/* What main does once a person has answered what was asked by `question`. */
static void answer(const struct question *question, int64_t number, bool is_granted, int64_t until_us, uint64_t round)
{
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};
    struct approval_answer answer = {
        .number = number, .tenant = question->tenant, .principal = question->principal, .is_granted = is_granted,
        .time_us = until_us, .round = round,
    };

    (void)ask(question, &marks);
    memcpy(answer.digest, marks.mark[0].digest, DIGEST_BYTES);
    assert_int_equal(approvals_answer(approvals, &answer), CODE_OK);
}

/* 2.2: used once, and main hears of it until the store knows. */
TEST_CASE_WITH(an_approval_is_used_once, make_table, drop_table)
{
    struct question call = call_of("bot", "{\"to\":1}", NOW);
    struct approval_mark mark[VERDICT_APPROVALS_MAX], twins[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark}, twin = {.mark = twins};
    struct approval_use use;

    assert_int_equal(known(&call), POLICY_UNKNOWN);
    answer(&call, 17, true, NOW + SECOND, 1);
    assert_int_equal(known(&call), POLICY_YES);
    assert_true(take(&call, &marks));
    assert_int_equal(marks.mark[0].number, 17);
    assert_int_equal(known(&call), POLICY_UNKNOWN);
    assert_false(take(&call, &twin));
    /* Main does not know yet that it is taken, and hands it in again. */
    answer(&call, 17, true, NOW + SECOND, 2);
    assert_int_equal(known(&call), POLICY_UNKNOWN);
    assert_false(approvals_next_use(approvals, &use));
    approvals_use(&marks, 42, NOW);
    answer(&call, 17, true, NOW + SECOND, 3);
    assert_int_equal(known(&call), POLICY_UNKNOWN);
    assert_true(approvals_next_use(approvals, &use));
    assert_int_equal(use.number, 17);
    assert_int_equal(use.decision, 42);
    assert_false(approvals_next_use(approvals, &use));
    answer(&call, 17, true, NOW + SECOND, 4);
    assert_int_equal(known(&call), POLICY_UNKNOWN);
    approvals_use_stored(approvals, 17);
    assert_false(approvals_tick(approvals, NOW));
}

/* 2.2: every part counts. */
TEST_CASE_WITH(another_call_is_another_question, make_table, drop_table)
{
    struct question call = call_of("bot", "{\"to\":1}", NOW), other;
    struct json_node others = {.type = JSON_OBJECT, .raw = SPAN_LIT("{\"to\":1.5}")};

    answer(&call, 1, true, NOW + SECOND, 1);
    for (int part = 0; part < 11; part++) { /* 4.9: path and query */
        struct span *const parts[] = {&other.tenant, &other.principal, &other.upstream, &other.method, &other.answers,
                                      &other.tool, &other.resource, &other.prompt, &other.path, &other.query};

        other = call;
        if (part < 10)
            *parts[part] = SPAN_LIT("x");
        else
            other.root = &others;
        assert_int_equal(known(&other), POLICY_UNKNOWN);
    }
    other = call;
    other.root = NULL;
    assert_int_equal(known(&other), POLICY_UNKNOWN);
    other = call;
    other.client = other.session = other.correlation = SPAN_LIT("x");
    assert_int_equal(known(&other), POLICY_YES);
    assert_int_equal(approvals_known(approvals, &call, SPAN_LIT("r2"), HASH), POLICY_UNKNOWN);
    assert_int_equal(approvals_known(approvals, &call, SPAN_LIT("r"), SPAN_LIT("fedcba98")), POLICY_UNKNOWN);
    /* Moving a byte from one part to the next makes another call. */
    other = call;
    other.upstream = SPAN_LIT("sho");
    other.method = SPAN_LIT("ptools/call");
    assert_int_equal(known(&other), POLICY_UNKNOWN);
}

/* 2.2 */
TEST_CASE_WITH(answers_end, make_table, drop_table)
{
    struct question call = call_of("bot", "{}", NOW), refused = call_of("eve", "{}", NOW);
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};

    answer(&call, 1, true, NOW + SECOND, 1);
    answer(&refused, 2, false, NOW + SECOND, 1);
    assert_int_equal(known(&refused), POLICY_NO);
    call.time_us = refused.time_us = NOW + SECOND;
    assert_int_equal(known(&call), POLICY_UNKNOWN);
    assert_int_equal(known(&refused), POLICY_UNKNOWN);
    assert_false(take(&call, &marks));
    /* What is over is asked for anew. */
    assert_true(ask(&call, &marks));
    assert_int_equal(approvals_waiting(approvals), 1);
    answer(&call, 3, true, NOW + 9 * SECOND, 2);
    answer(&refused, 2, false, NOW + 9 * SECOND, 2);
    approvals_sweep(approvals, 2);
    assert_int_equal(known(&call), POLICY_YES);
    /* A person took it back: main does not hand it in any more. */
    approvals_sweep(approvals, 3);
    assert_int_equal(known(&call), POLICY_UNKNOWN);
    assert_int_equal(known(&refused), POLICY_UNKNOWN);
    answer(&call, 4, true, NOW + 9 * SECOND, 3);
    assert_false(approvals_withdraw(approvals, 5));
    assert_true(approvals_withdraw(approvals, 4));
    assert_int_equal(known(&call), POLICY_UNKNOWN);
    answer(&call, 4, true, NOW + 9 * SECOND, 3);
    assert_true(take(&call, &marks));
    assert_false(approvals_withdraw(approvals, 4));
    approvals_use(&marks, 1, NOW);
}

/* 2.2: what waits is what the store says, so that an answer that came and went unseen leaves nobody waiting. */
TEST_CASE_WITH(what_waits_follows_the_store, make_table, drop_table)
{
    struct question call = call_of("bot", "{}", NOW), fresh = call_of("bot", "{\"n\":1}", NOW);
    struct approval_answer open = {.number = 5, .tenant = call.tenant, .principal = call.principal, .is_open = true,
                                   .time_us = NOW, .decision = 3, .round = 1};
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};

    call = call_of("bot", "{}", NOW);
    assert_true(ask(&call, &marks));
    assert_int_equal(approvals_held(&marks, 9), 9);
    memcpy(open.digest, marks.mark[0].digest, DIGEST_BYTES);
    approvals_sweep(approvals, 1); /* not stored yet */
    assert_int_equal(approvals_waiting(approvals), 1);
    assert_int_equal(approvals_answer(approvals, &open), CODE_OK);
    approvals_sweep(approvals, 1);
    assert_int_equal(approvals_waiting(approvals), 1);
    call.time_us += SECOND;
    assert_true(ask(&call, &marks));
    assert_int_equal(approvals_held(&marks, 12), 9); /* people find it by its first decision */
    approvals_sweep(approvals, 2);
    assert_int_equal(approvals_waiting(approvals), 0);
    /* One from before a restart. */
    open.round = 3;
    assert_int_equal(approvals_answer(approvals, &open), CODE_OK);
    assert_int_equal(approvals_waiting(approvals), 1);
    assert_true(ask(&call, &marks));
    assert_int_equal(approvals_held(&marks, 12), 3);
    fresh.root = NULL;
    assert_true(ask(&fresh, &marks));
    assert_int_equal(approvals_waiting(approvals), 2);
    approvals_sweep(approvals, 4);
    assert_int_equal(approvals_waiting(approvals), 1);
}

static bool want(const struct question *question)
{
    struct verdict verdict = verdict_of(false);

    return approvals_want(approvals, question, &verdict);
}

/* 14.4: of a fleet's node, a call that comes again waits for one look of main's, and for as long as it is not known whose the
 * approval is that people gave. */
TEST_CASE_WITH(waits_to_hear_whose_it_is, make_table, drop_table)
{
    struct question call = call_of("bot", "{}", NOW);
    struct approval_answer open = {.number = 5, .tenant = call.tenant, .principal = call.principal, .is_open = true,
                                   .time_us = NOW, .decision = 3, .round = 1};
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};

    assert_true(ask(&call, &marks));
    assert_int_equal(approvals_held(&marks, 9), 9);
    memcpy(open.digest, marks.mark[0].digest, DIGEST_BYTES);
    assert_int_equal(approvals_answer(approvals, &open), CODE_OK);
    assert_false(want(&call)); /* this gate is alone */
    approvals_be_of_fleet(approvals);
    assert_false(approvals_has_wants(approvals));
    assert_true(want(&call));
    assert_true(approvals_has_wants(approvals));
    assert_true(approvals_is_awaited(approvals, &open));
    assert_true(want(&call));
    open.round = 2;
    assert_int_equal(approvals_answer(approvals, &open), CODE_OK);
    assert_false(want(&call)); /* main has looked, and nobody has answered */
    assert_false(approvals_is_awaited(approvals, &open));
    assert_true(want(&call)); /* the next try */
    open.round = 3;
    open.is_granted = true;
    assert_int_equal(approvals_answer(approvals, &open), CODE_OK);
    for (open.round = 4; open.round < 8; open.round++) {
        assert_true(want(&call));
        assert_true(approvals_is_awaited(approvals, &open));
        assert_int_equal(approvals_answer(approvals, &open), CODE_OK);
    }
    open.is_open = false;
    open.time_us = NOW + SECOND;
    assert_int_equal(approvals_answer(approvals, &open), CODE_OK);
    assert_int_equal(known(&call), POLICY_YES);
    assert_false(want(&call));
    approvals_sweep(approvals, 9); /* another node has it */
    assert_int_equal(known(&call), POLICY_UNKNOWN);
    assert_false(want(&call)); /* it is asked anew */
}

/* 2.2: a record that failed has used nothing; main is asked to hand it in again, if it is still in force. */
/* 13.2: the page where who asks decides himself is offered once while a call waits, and for nothing that others decide. */
TEST_CASE_WITH(a_page_is_offered_once, make_table, drop_table)
{
    static const struct verdict_people self = {.reason = SPAN_LIT("because"), .rule_hash = HASH, .needed = 1,
                                               .approvers = SPAN_LIT("self")};
    struct question call = call_of("bot", "{}", NOW);
    struct verdict verdict = verdict_of(false);
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};

    assert_true(ask(&call, &marks));
    assert_false(approvals_offer(&marks, &verdict));
    verdict.approvals[0].people = &self;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(approvals_note(approvals, &call, call.tenant, &verdict, &marks), REASON_UNSET);
        assert_int_equal(approvals_offer(&marks, &verdict), i == 0);
    }
    answer(&call, 1, false, NOW + SECOND, 1); /* refused, and over */
    call.time_us = NOW + 2 * SECOND;
    assert_int_equal(approvals_note(approvals, &call, call.tenant, &verdict, &marks), REASON_UNSET);
    assert_true(approvals_offer(&marks, &verdict)); /* it waits anew */
    verdict.approvals[0].is_granted = true;
    assert_int_equal(approvals_note(approvals, &call, call.tenant, &verdict, &marks), REASON_UNSET);
    assert_false(approvals_offer(&marks, &verdict));
}

TEST_CASE_WITH(what_was_not_recorded_is_given_back, make_table, drop_table)
{
    struct question call = call_of("bot", "{}", NOW);
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};
    struct approval_use use;

    answer(&call, 1, true, NOW + SECOND, 1);
    assert_true(take(&call, &marks));
    approvals_give_back(&marks);
    assert_false(approvals_next_use(approvals, &use));
    assert_int_equal(known(&call), POLICY_UNKNOWN);
    assert_true(approvals_tick(approvals, NOW));
    assert_false(approvals_tick(approvals, NOW));
    answer(&call, 1, true, NOW + SECOND, 2);
    assert_true(take(&call, &marks));
    approvals_use(&marks, 0, NOW);
}

/* 2.2: one that needs two takes both or none. */
TEST_CASE_WITH(two_are_taken_together, make_table, drop_table)
{
    struct question call = call_of("bot", "{}", NOW);
    struct verdict both = verdict_of(true);
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};

    both.approvals[1] = (struct verdict_approval){SPAN_LIT("second"), &people, true};
    both.approval_count = 2;
    answer(&call, 1, true, NOW + SECOND, 1);
    assert_false(approvals_take(approvals, &call, &both, &marks));
    assert_true(approvals_tick(approvals, NOW));
    answer(&call, 1, true, NOW + SECOND, 2);
    assert_int_equal(known(&call), POLICY_YES);
}

/* 2.2: main hears of a call once a second, with all that a person needs. */
TEST_CASE_WITH(an_ask_is_told_with_its_texts, make_table, drop_table)
{
    struct question call = call_of("bot", "{\"to\":1}", NOW);
    struct verdict verdict = verdict_of(false);
    struct approval_ask from = {
        .tenant = call.tenant, .principal = call.principal, .upstream = call.upstream, .method = call.method,
        .tool = call.tool, .arguments = root.raw, .arguments_bytes = root.raw.len, .decision = 7, .asked_us = NOW,
    };
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};
    struct approval_ask *ask_made;

    assert_null(approvals_next_ask(approvals));
    assert_true(ask(&call, &marks));
    approvals_put_asks(&marks, &verdict, &from);
    call.time_us = NOW + SECOND - 1;
    assert_false(ask(&call, &marks));
    approvals_put_asks(&marks, &verdict, &from);
    ask_made = approvals_next_ask(approvals);
    assert_non_null(ask_made);
    assert_null(approvals_next_ask(approvals));
    assert_true(span_is(ask_made->arguments, "{\"to\":1}"));
    assert_ptr_not_equal(ask_made->arguments.at, root.raw.at);
    assert_true(span_is(ask_made->rule, "r") && span_is(ask_made->rule_reason, "because"));
    assert_true(span_is(ask_made->approvers, "group:treasury")); /* 12.8 */
    assert_true(span_equals(ask_made->rule_hash, HASH));
    assert_null(ask_made->client.at);
    assert_memory_equal(ask_made->digest, marks.mark[0].digest, DIGEST_BYTES);
    approvals_ask_stored(approvals, ask_made, 0);
    approval_ask_free(&ask_made);
    call.time_us = NOW + SECOND;
    assert_true(ask(&call, &marks));
    approvals_put_asks(&marks, &verdict, &from);
    ask_made = approvals_next_ask(approvals);
    assert_true(ask_made->is_again && ask_made->arguments.at == NULL);
    approval_ask_free(&ask_made);
    assert_int_equal(approvals_waiting(approvals), 1);
    /* Unasked for a day, nobody waits any more. */
    assert_false(approvals_tick(approvals, NOW + SECOND + APPROVAL_FORGET_US - 1));
    assert_int_equal(approvals_waiting(approvals), 1);
    approvals_tick(approvals, NOW + SECOND + APPROVAL_FORGET_US);
    assert_int_equal(approvals_waiting(approvals), 0);
}

/* 2.2: nobody floods the people who decide. */
TEST_CASE_WITH(what_waits_is_bounded, make_table, drop_table)
{
    struct verdict verdict = verdict_of(false);
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};
    struct question call;
    unsigned waiting = 0;
    char text[32];

    for (int i = 0; i < 65; i++) {
        snprintf(text, sizeof text, "{\"n\":%d}", i);
        call = call_of("bot", text, NOW);
        assert_int_equal(approvals_note(approvals, &call, call.tenant, &verdict, &marks), i < 64 ? REASON_UNSET : REASON_APPROVAL_LIMIT);
    }
    call = call_of("bot", "{\"n\":3}", NOW);
    assert_int_equal(approvals_note(approvals, &call, call.tenant, &verdict, &marks), REASON_UNSET);
    answer(&call, 1, false, NOW + SECOND, 1);
    call = call_of("bot", "{\"n\":64}", NOW);
    assert_int_equal(approvals_note(approvals, &call, call.tenant, &verdict, &marks), REASON_UNSET);
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "bot-%d", i);
        call = call_of(text, "{}", NOW);
        waiting += approvals_note(approvals, &call, call.tenant, &verdict, &marks) == REASON_UNSET;
    }
    /* 10.3: all of one tenant's principals wait for half of the places; another's find a third of the rest, one by one. */
    assert_int_equal(waiting, 4096 / 2 - 64);
    assert_int_equal(approvals_waiting(approvals), 4096 / 2);
    for (int i = 0; i < 50; i++) {
        snprintf(text, sizeof text, "{\"n\":%d}", i);
        call = call_of("bot", text, NOW);
        call.tenant = SPAN_LIT("globex");
        assert_int_equal(approvals_note(approvals, &call, call.tenant, &verdict, &marks), REASON_UNSET);
    }
    /* What is over takes no place, and what was refused leaves nothing. */
    approvals_tick(approvals, NOW + SECOND + APPROVAL_FORGET_US);
    assert_int_equal(approvals_waiting(approvals), 0);
    for (int i = 0; i < 64; i++) {
        snprintf(text, sizeof text, "{\"m\":%d}", i);
        call = call_of("bot", text, NOW);
        assert_int_equal(approvals_note(approvals, &call, call.tenant, &verdict, &marks), REASON_UNSET);
    }
}

/* 2.2: what waits for main is bounded too, in bytes. */
TEST_CASE_WITH(texts_on_their_way_are_bounded, make_table, drop_table)
{
    static char large[APPROVAL_ARGUMENTS_BYTES];
    struct verdict verdict = verdict_of(false);
    struct approval_ask from = {.arguments = SPAN_LIT("")}, *made;
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};
    size_t bytes = 0;

    from.arguments = span_of(large, sizeof large);
    for (int i = 0; i < 1000; i++) {
        char text[32];
        struct question call;

        snprintf(text, sizeof text, "bot-%d", i);
        call = call_of(text, "{}", NOW);
        assert_true(ask(&call, &marks));
        approvals_put_asks(&marks, &verdict, &from);
    }
    while ((made = approvals_next_ask(approvals)) != NULL) {
        bytes += made->bytes;
        approval_ask_free(&made);
    }
    assert_true(bytes > (size_t)15 << 20 && bytes <= (size_t)16 << 20);
}

/* 2.2: without memory the call is denied, and nothing is half there. */
TEST_CASE_WITH(without_memory_it_closes, make_table, drop_table)
{
    struct question call = call_of("bot", "{}", NOW);
    struct verdict verdict = verdict_of(false);
    struct approval_ask from = {.tenant = call.tenant};
    struct approval_answer answered = {.number = 1, .tenant = call.tenant, .principal = call.principal, .is_granted = true};
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};

    mem_fail_at(1, 1);
    assert_int_equal(approvals_note(approvals, &call, call.tenant, &verdict, &marks), REASON_MEMORY);
    assert_int_equal(approvals_answer(approvals, &answered), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(approvals_waiting(approvals), 0);
    assert_true(ask(&call, &marks));
    mem_fail_at(1, 1);
    approvals_put_asks(&marks, &verdict, &from);
    mem_fail_at(0, 0);
    assert_null(approvals_next_ask(approvals));
    call.time_us += SECOND;
    assert_true(ask(&call, &marks)); /* the next one tells */
}

#define RACERS 4
#define RACES 500

struct race {
    pthread_barrier_t barrier;
    unsigned winners[RACERS];
};

static struct race race;

static void *run_race(void *argument)
{
    unsigned *winners = argument;

    for (int i = 0; i < RACES; i++) {
        struct question call = call_of("bot", "{}", NOW);
        struct approval_mark mark[VERDICT_APPROVALS_MAX];
        struct approval_marks marks = {.mark = mark};

        pthread_barrier_wait(&race.barrier); /* main hands one in */
        pthread_barrier_wait(&race.barrier);
        if (take(&call, &marks)) {
            ++*winners;
            approvals_use(&marks, 1, NOW);
        }
        pthread_barrier_wait(&race.barrier);
    }
    return NULL;
}

/* 2.2: of many workers exactly one gets it. */
TEST_CASE_WITH(exactly_one_of_many_wins, make_table, drop_table)
{
    struct question call = call_of("bot", "{}", NOW);
    pthread_t threads[RACERS];
    unsigned winners = 0;

    pthread_barrier_init(&race.barrier, NULL, RACERS + 1);
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_race, &race.winners[i]), 0);
    for (int i = 0; i < RACES; i++) {
        struct approval_use use;

        pthread_barrier_wait(&race.barrier);
        answer(&call, i + 1, true, NOW + SECOND, (uint64_t)i);
        pthread_barrier_wait(&race.barrier);
        pthread_barrier_wait(&race.barrier);
        assert_true(approvals_next_use(approvals, &use));
        assert_int_equal(use.number, i + 1);
        assert_false(approvals_next_use(approvals, &use));
        approvals_use_stored(approvals, use.number);
    }
    for (int i = 0; i < RACERS; i++) {
        pthread_join(threads[i], NULL);
        winners += race.winners[i];
    }
    assert_int_equal(winners, RACES);
    pthread_barrier_destroy(&race.barrier);
}

/* 10.25: an approval holds for values that are equal to every operator, and for no others. */
TEST_CASE_WITH(holds_for_equal_values, make_table, drop_table)
{
    static const char *const equal[] = {"{\"n\":13,\"s\":\"1.0\"}", "{\"n\":13.0,\"s\":\"1.0\"}", "{\"n\":1.3e1,\"s\":\"1.0\"}"};
    static const char *const others[] = {"{\"n\":13,\"s\":\"1\"}", "{\"n\":-13,\"s\":\"1.0\"}", "{\"n\":130,\"s\":\"1.0\"}",
                                         "{\"n\":13.00000000000000000001,\"s\":\"1.0\"}", "{\"n\":\"13\",\"s\":\"1.0\"}"};
    struct question call = call_of("bot", equal[0], NOW);

    answer(&call, 18, true, NOW + SECOND, 1);
    for (size_t i = 0; i < 3; i++) {
        call = call_of("bot", equal[i], NOW);
        assert_int_equal(known(&call), POLICY_YES);
    }
    for (size_t i = 0; i < 5; i++) {
        call = call_of("bot", others[i], NOW);
        assert_int_equal(known(&call), POLICY_UNKNOWN);
    }
}

TEST_MAIN(NULL, NULL)
