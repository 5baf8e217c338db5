/* SPDX-License-Identifier: Apache-2.0 */
#include "app/store_approvals.h"

#include "app/store.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)
#define DAY APPROVAL_FORGET_US
#define ONE SPAN_LIT("gate-1")
#define TWO SPAN_LIT("gate-2")

static char folder[64];
static char path[96];
static struct db *db;

static int open_it(void **state)
{
    struct why why = {0};

    (void)state;
    snprintf(folder, sizeof folder, "/tmp/callgate-approvals-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/callgate.db", folder);
    return store_open(path, DB_CREATE, &db, &why) == CODE_OK ? 0 : -1;
}

static int close_it(void **state)
{
    (void)state;
    db_close(&db);
    unlink(path);
    return rmdir(folder);
}

static void must(enum code code, const struct why *why)
{
    if (code != CODE_OK)
        fail_msg("%s: %s", code_text(code), why->text);
}

static bool is_again;

static struct span params; /* likewise */
static uint64_t arguments_bytes = 10; /* of the next call that is held; 10 of them are kept */

/* One held call; `which` makes it another one. */
static void ask(struct span gate, char which, uint64_t decision, int64_t asked_us)
{
    struct approval_ask asked = {
        .tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot"), .upstream = SPAN_LIT("shop"),
        .method = SPAN_LIT("tools/call"), .tool = SPAN_LIT("mail"), .arguments = SPAN_LIT("{\"to\":\"x\"}"),
        .arguments_bytes = arguments_bytes, .params = params, .rule = SPAN_LIT("r"), .rule_hash = SPAN_LIT("h"),
        .policy_version = 1,
        .decision = decision, .asked_us = asked_us, .is_again = is_again,
    };
    struct why why = {0};

    memset(asked.digest, which, sizeof asked.digest);
    must(store_approvals_begin(db, &why), &why);
    must(store_approval_ask(db, gate, &asked, &why), &why);
    must(store_approvals_commit(db, asked_us, &why), &why);
}

static bool is_unseen;

static enum code answer(int64_t number, bool is_granted, int64_t given_us, int64_t for_us, struct why *why)
{
    const struct store_answer said = {
        .ask = number, .is_granted = is_granted, .given_us = given_us, .until_us = given_us + for_us, .by = SPAN_LIT("ada"),
        .login = SPAN_LIT("root"), .why = SPAN_LIT("fine"), .is_unseen = is_unseen,
    };

    enum code code;

    must(store_approvals_begin(db, why), why);
    code = store_approval_answer(db, &said, why);
    if (code == CODE_OK)
        must(store_approvals_commit(db, given_us, why), why);
    else
        store_approvals_undo(db);
    return code;
}

static void use(struct span gate, int64_t number, uint64_t decision, int64_t used_us)
{
    const struct approval_use used = {number, decision, used_us};
    struct why why = {0};

    must(store_approvals_begin(db, &why), &why);
    must(store_approval_use(db, gate, &used, &why), &why);
    must(store_approvals_commit(db, used_us, &why), &why);
}

struct seen {
    int count;
    int64_t id, times, seen_decision, used_decision;
    enum store_approval_state state;
    int64_t now_us;
    bool has_arguments;
    char claimed_by[16], used_by[16];
};

static enum code note(void *context, const struct store_approval *approval)
{
    struct seen *seen = context;

    seen->count++;
    seen->id = approval->id;
    seen->times = approval->times;
    seen->seen_decision = approval->seen_decision;
    seen->used_decision = approval->used_decision;
    seen->state = store_approval_state(approval, seen->now_us);
    seen->has_arguments = approval->arguments.at != NULL;
    snprintf(seen->claimed_by, sizeof seen->claimed_by, "%.*s", SPAN_ARG(approval->claimed_by));
    snprintf(seen->used_by, sizeof seen->used_by, "%.*s", SPAN_ARG(approval->used_by));
    return CODE_OK;
}

static struct seen look(enum store_approvals which, int64_t number, int64_t now_us)
{
    struct seen seen = {.now_us = now_us};
    struct why why = {0};

    must(store_approvals_each(db, which, number, now_us, note, &seen, &why), &why);
    return seen;
}

/* 2.2 */
static void the_same_call_is_asked_for_once(void **state)
{
    struct seen seen;

    (void)state;
    ask(ONE, 'a', 7, NOW);
    ask(ONE, 'a', 7, NOW + 5);
    ask(TWO, 'a', 90, NOW + 9);
    ask(ONE, 'b', 8, NOW);
    assert_int_equal(look(APPROVALS_WAITING, 0, NOW).count, 2);
    assert_true(look(APPROVALS_WAITING, 0, NOW).has_arguments);
    assert_int_equal(look(APPROVALS_OPEN, 0, NOW).count, 2);
    assert_false(look(APPROVALS_OPEN, 0, NOW).has_arguments);
    seen = look(APPROVALS_ONE, 1, NOW);
    assert_int_equal(seen.times, 3);
    assert_int_equal(seen.seen_decision, 90);
    assert_int_equal(look(APPROVALS_OF_DECISION, 7, NOW).id, 1);
    assert_int_equal(look(APPROVALS_OF_DECISION, 90, NOW).id, 1);
    assert_int_equal(look(APPROVALS_OF_DECISION, 9, NOW).count, 0);
    /* Without its arguments nothing new is asked. */
    is_again = true;
    ask(ONE, 'z', 8, NOW);
    ask(TWO, 'a', 90, NOW + 9);
    is_again = false;
    assert_int_equal(look(APPROVALS_WAITING, 0, NOW).count, 2);
    assert_int_equal(look(APPROVALS_ONE, 1, NOW).times, 4);
    /* Not asked for in a day, it has lapsed; the next one is another. */
    assert_int_equal(look(APPROVALS_ONE, 1, NOW + DAY + 8).state, APPROVAL_IS_WAITING);
    assert_int_equal(look(APPROVALS_ONE, 1, NOW + DAY + 9).state, APPROVAL_IS_LAPSED);
    assert_int_equal(look(APPROVALS_WAITING, 0, NOW + DAY + 9).count, 0);
    ask(ONE, 'a', 100, NOW + DAY + 9);
    seen = look(APPROVALS_WAITING, 0, NOW + DAY + 9);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.id, 3);
}

/* 2.2 */
static void answers_hold_for_their_time(void **state)
{
    struct why why = {0};

    (void)state;
    assert_int_equal(answer(1, true, NOW, MINUTE, &why), CODE_NOT_FOUND);
    ask(ONE, 'a', 7, NOW);
    must(answer(1, true, NOW, MINUTE, &why), &why);
    assert_int_equal(look(APPROVALS_WAITING, 0, NOW).count, 0);
    assert_int_equal(look(APPROVALS_OPEN, 0, NOW + MINUTE - 1).count, 1);
    assert_int_equal(look(APPROVALS_OPEN, 0, NOW + MINUTE).count, 0);
    assert_int_equal(look(APPROVALS_ONE, 1, NOW).state, APPROVAL_IS_APPROVED);
    assert_int_equal(look(APPROVALS_ONE, 1, NOW + MINUTE).state, APPROVAL_IS_OVER);
    /* Taken back, and given again: the newest word counts. */
    must(answer(1, false, NOW + 1, MINUTE, &why), &why);
    assert_int_equal(look(APPROVALS_ONE, 1, NOW + 2).state, APPROVAL_IS_REFUSED);
    must(answer(1, true, NOW + 2, MINUTE, &why), &why);
    assert_int_equal(look(APPROVALS_ONE, 1, NOW + 3).state, APPROVAL_IS_APPROVED);
    assert_int_equal(look(APPROVALS_OPEN, 0, NOW + 3).count, 1);
    ask(ONE, 'a', 8, NOW + 4);
    assert_int_equal(look(APPROVALS_ALL, 0, NOW).count, 1);
    assert_int_equal(answer(1, true, NOW + 2 + MINUTE, MINUTE, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "is over"));
    /* What is over is asked for anew. */
    ask(ONE, 'a', 9, NOW + 2 + MINUTE);
    assert_int_equal(look(APPROVALS_WAITING, 0, NOW + 2 + MINUTE).id, 2);
}

/* 4.13 */
static void what_nobody_can_see_needs_a_word(void **state)
{
    struct why why = {0};

    (void)state;
    params = SPAN_LIT("{\"note\":\"harmle");
    ask(ONE, 'b', 7, NOW);
    assert_int_equal(answer(1, true, NOW, MINUTE, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "--unseen"));
    params = SPAN_LIT("{\"note\":\"harmless\"}");
    ask(ONE, 'c', 7, NOW);
    must(answer(2, true, NOW, MINUTE, &why), &why);
    params = SPAN_NONE;
    arguments_bytes = 11;
    ask(ONE, 'a', 7, NOW);
    arguments_bytes = 10;
    assert_int_equal(answer(3, true, NOW, MINUTE, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "the first 10 of 11 bytes"));
    assert_non_null(strstr(why.text, "--unseen"));
    assert_int_equal(look(APPROVALS_ONE, 3, NOW).state, APPROVAL_IS_WAITING);
    must(answer(3, false, NOW, MINUTE, &why), &why); /* refusing needs no look */
    is_unseen = true;
    must(answer(3, true, NOW, MINUTE, &why), &why);
    is_unseen = false;
    assert_int_equal(look(APPROVALS_ONE, 3, NOW).state, APPROVAL_IS_APPROVED);
}

/* 2.2 */
static void it_is_used_once(void **state)
{
    struct why why = {0};
    struct seen seen;

    (void)state;
    ask(ONE, 'a', 7, NOW);
    must(answer(1, true, NOW, MINUTE, &why), &why);
    use(ONE, 1, 12, NOW + 1);
    use(TWO, 1, 13, NOW + 2); /* changes nothing */
    seen = look(APPROVALS_ONE, 1, NOW + 2);
    assert_int_equal(seen.state, APPROVAL_IS_USED);
    assert_int_equal(seen.used_decision, 12);
    assert_string_equal(seen.used_by, "gate-1");
    assert_int_equal(look(APPROVALS_OPEN, 0, NOW + 2).count, 0);
    assert_int_equal(answer(1, true, NOW + 3, MINUTE, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "used already"));
    ask(ONE, 'a', 14, NOW + 4);
    assert_int_equal(look(APPROVALS_WAITING, 0, NOW + 4).id, 2);
    /* Nobody edits what people did. */
    assert_int_not_equal(db_exec(db, "UPDATE approval_answer SET granted = 0"), CODE_OK);
    assert_int_not_equal(db_exec(db, "DELETE FROM approval_use"), CODE_OK);
    assert_int_not_equal(db_exec(db, "UPDATE approval_ask SET tool = 'x'"), CODE_OK);
}

struct claims {
    int count;
    uint64_t audit_seq;
};

static enum code count_claims(void *context, int64_t number, uint64_t audit_seq)
{
    struct claims *claims = context;

    (void)number;
    claims->count++;
    claims->audit_seq = audit_seq;
    return CODE_OK;
}

static struct claims claims_of(struct span gate)
{
    struct claims claims = {0, 0};
    struct why why = {0};

    must(store_claims_each(db, gate, count_claims, &claims, &why), &why);
    return claims;
}

/* 2.2: of several gates one has it. */
static void one_gate_claims_it(void **state)
{
    struct why why = {0};

    (void)state;
    ask(ONE, 'a', 7, NOW);
    must(answer(1, true, NOW, MINUTE, &why), &why);
    must(store_approval_claim(db, ONE, 1, NOW, 50, &why), &why);
    must(store_approval_claim(db, TWO, 1, NOW, 9, &why), &why);
    assert_string_equal(look(APPROVALS_ONE, 1, NOW).claimed_by, "gate-1");
    assert_int_equal(claims_of(TWO).count, 0);
    must(store_approval_release(db, TWO, 1, &why), &why); /* not its own */
    assert_string_equal(look(APPROVALS_ONE, 1, NOW).claimed_by, "gate-1");
    must(store_approvals_confirm(db, ONE, 60, NOW, &why), &why);
    must(store_approvals_confirm(db, ONE, 55, NOW, &why), &why);
    assert_int_equal(claims_of(ONE).audit_seq, 60);
    must(store_approval_release(db, ONE, 1, &why), &why);
    must(store_approval_claim(db, TWO, 1, NOW, 9, &why), &why);
    assert_string_equal(look(APPROVALS_ONE, 1, NOW).claimed_by, "gate-2");
    /* What is used, or has been over for a day, need not be looked for any more. */
    must(store_approvals_confirm(db, TWO, 9, NOW + MINUTE + DAY, &why), &why);
    assert_int_equal(claims_of(TWO).count, 1);
    must(store_approvals_confirm(db, TWO, 9, NOW + MINUTE + DAY + 1, &why), &why);
    assert_int_equal(claims_of(TWO).count, 0);
    ask(ONE, 'b', 8, NOW);
    must(answer(2, true, NOW, MINUTE, &why), &why);
    must(store_approval_claim(db, ONE, 2, NOW, 50, &why), &why);
    use(ONE, 2, 51, NOW);
    assert_int_equal(claims_of(ONE).count, 0);
}

/* 2.2: what an audit may have to erase is not kept here for ever. */
static void arguments_are_dropped_a_day_later(void **state)
{
    struct why why = {0};

    (void)state;
    ask(ONE, 'a', 1, NOW);
    ask(ONE, 'b', 2, NOW);
    ask(ONE, 'c', 3, NOW);
    must(answer(2, true, NOW, 2 * DAY, &why), &why);
    use(ONE, 3, 9, NOW);
    assert_true(look(APPROVALS_ONE, 1, NOW).has_arguments);
    ask(ONE, 'd', 4, NOW + DAY + 1);
    assert_false(look(APPROVALS_ONE, 1, NOW).has_arguments);
    assert_true(look(APPROVALS_ONE, 2, NOW).has_arguments);
    assert_false(look(APPROVALS_ONE, 3, NOW).has_arguments);
    assert_true(look(APPROVALS_ONE, 4, NOW).has_arguments);
}

static void erase_acme(const char *tenant, int64_t before_us, int64_t now_us)
{
    struct why why = {0};

    must(store_approvals_erase(db, &(struct store_erasure){span_text(tenant), before_us, now_us}, &why), &why);
}

/* 3.5: an erasure of a tenant's values reaches those that the store keeps, of calls before the time that is given. */
static void arguments_are_erased(void **state)
{
    struct why why = {0};

    (void)state;
    ask(ONE, 'a', 1, NOW);
    ask(ONE, 'b', 2, NOW);
    ask(ONE, 'c', 3, NOW);
    ask(ONE, 'd', 4, NOW);
    ask(ONE, 'd', 5, NOW + 10);
    must(answer(2, true, NOW + 1, DAY, &why), &why);
    must(answer(3, true, NOW + 1, DAY, &why), &why);
    use(ONE, 3, 9, NOW + 20);
    erase_acme("beta", NOW + 5, NOW + 30);
    erase_acme("acme", NOW, NOW + 30);
    for (int64_t number = 1; number <= 4; number++)
        assert_true(look(APPROVALS_ONE, number, NOW + 30).has_arguments);
    erase_acme("acme", NOW + 5, NOW + 30);
    assert_false(look(APPROVALS_ONE, 1, NOW + 30).has_arguments);
    assert_false(look(APPROVALS_ONE, 2, NOW + 30).has_arguments);
    assert_true(look(APPROVALS_ONE, 3, NOW + 30).has_arguments); /* the call that used it came later */
    assert_true(look(APPROVALS_ONE, 4, NOW + 30).has_arguments); /* it was asked for again later */
    assert_int_equal(look(APPROVALS_ONE, 1, NOW + 30).state, APPROVAL_IS_LAPSED);
    assert_int_equal(look(APPROVALS_ONE, 2, NOW + 30).state, APPROVAL_IS_APPROVED);
    assert_int_equal(look(APPROVALS_WAITING, 0, NOW + 30).count, 1);
    assert_int_equal(answer(1, true, NOW + 31, DAY, &why), CODE_DENIED); /* nobody approves what nobody can see */
    ask(ONE, 'a', 6, NOW + 40);
    assert_true(look(APPROVALS_ONE, 5, NOW + 40).has_arguments);
    assert_int_equal(look(APPROVALS_ONE, 5, NOW + 40).state, APPROVAL_IS_WAITING);
    erase_acme("acme", NOW + 50, NOW + 60);
    for (int64_t number = 1; number <= 5; number++)
        assert_false(look(APPROVALS_ONE, number, NOW + 60).has_arguments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_same_call_is_asked_for_once, open_it, close_it),
        cmocka_unit_test_setup_teardown(answers_hold_for_their_time, open_it, close_it),
        cmocka_unit_test_setup_teardown(what_nobody_can_see_needs_a_word, open_it, close_it),
        cmocka_unit_test_setup_teardown(it_is_used_once, open_it, close_it),
        cmocka_unit_test_setup_teardown(one_gate_claims_it, open_it, close_it),
        cmocka_unit_test_setup_teardown(arguments_are_dropped_a_day_later, open_it, close_it),
        cmocka_unit_test_setup_teardown(arguments_are_erased, open_it, close_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
