/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_approvals.h"

#include "store/store.h"
#include "base/mem.h"
#include "os/file.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)
#define DAY APPROVAL_FORGET_US
#define ONE SPAN_LIT("gate-1")
#define TWO SPAN_LIT("gate-2")

static char folder[64], path[96];
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
        .policy_version = 1, .needed = 1, .authentication = SPAN_LIT("api_key"),
        .decision = decision, .asked_us = asked_us, .is_again = is_again,
    };
    struct why why = {0};

    memset(asked.digest, which, sizeof asked.digest);
    must(store_begin(db, &why), &why);
    must(store_approval_ask(db, gate, &asked, &why), &why);
    must(store_end(db, CODE_OK, NULL, &why), &why);
}

static bool is_unseen, says_again;

static enum code answer(int64_t number, bool is_granted, int64_t given_us, int64_t for_us, struct why *why)
{
    struct store_answer said = {
        .ask = number, .is_granted = is_granted, .given_us = given_us, .until_us = given_us + for_us, .by = SPAN_LIT("ada"),
        .login = SPAN_LIT("root"), .why = SPAN_LIT("fine"), .is_unseen = is_unseen, .is_again = says_again,
    };
    enum code code;

    must(store_begin(db, why), why);
    code = store_approval_answer(db, &said, why);
    if (code == CODE_OK)
        must(store_approvals_forget(db, given_us, why), why);
    return store_end(db, code, NULL, why);
}

static void use(struct span gate, int64_t number, uint64_t decision, int64_t used_us)
{
    const struct approval_use used = {number, decision, used_us};
    struct why why = {0};

    must(store_begin(db, &why), &why);
    must(store_approval_use(db, gate, &used, &why), &why);
    must(store_approvals_forget(db, used_us, &why), &why);
    must(store_end(db, CODE_OK, NULL, &why), &why);
}

struct seen {
    int count;
    int64_t id, times, seen_decision, used_decision;
    enum store_approval_state state;
    int64_t now_us;
    bool has_arguments, is_redacted;
    char claimed_by[16];
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
    seen->is_redacted = approval->redacted.at != NULL;
    snprintf(seen->claimed_by, sizeof seen->claimed_by, "%.*s", SPAN_ARG(approval->claimed_by));
    return CODE_OK;
}

static struct seen look(enum store_approvals which, int64_t number, int64_t now_us)
{
    struct seen seen = {.now_us = now_us};
    struct why why = {0};

    must(store_approvals_each(db, which, number, now_us, note, &seen, &why), &why);
    return seen;
}

static int64_t count(const char *sql)
{
    int64_t number;

    assert_int_equal(db_number(db, sql, NULL, 0, &number), CODE_OK);
    return number;
}

/* 2.2 */
TEST_CASE_WITH(the_same_call_is_asked_for_once, open_it, close_it)
{
    struct seen seen;

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
TEST_CASE_WITH(answers_hold_for_their_time, open_it, close_it)
{
    struct why why = {0};

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
    /* 7.8: but not by the way. */
    assert_int_equal(answer(1, true, NOW + 2, MINUTE, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "--despite-refusal"));
    assert_int_equal(look(APPROVALS_ONE, 1, NOW + 2).state, APPROVAL_IS_REFUSED);
    says_again = true;
    must(answer(1, true, NOW + 2, MINUTE, &why), &why);
    says_again = false;
    assert_int_equal(look(APPROVALS_ONE, 1, NOW + 3).state, APPROVAL_IS_APPROVED);
    assert_int_equal(look(APPROVALS_OPEN, 0, NOW + 3).count, 1);
    ask(ONE, 'a', 8, NOW + 4);
    assert_int_equal(look(APPROVALS_AFTER, 0, NOW).count, 1);
    assert_int_equal(answer(1, true, NOW + 2 + MINUTE, MINUTE, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "is over"));
    /* What is over is asked for anew. */
    ask(ONE, 'a', 9, NOW + 2 + MINUTE);
    assert_int_equal(look(APPROVALS_WAITING, 0, NOW + 2 + MINUTE).id, 2);
}

/* 4.13 */
TEST_CASE_WITH(what_nobody_can_see_needs_a_word, open_it, close_it)
{
    struct why why = {0};

    params = SPAN_LIT("{\"note\":\"harmle");
    ask(ONE, 'b', 7, NOW);
    assert_int_equal(answer(1, true, NOW, MINUTE, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "--despite-unseen"));
    params = SPAN_LIT("{\"note\":\"harmless\"}");
    ask(ONE, 'c', 7, NOW);
    must(answer(2, true, NOW, MINUTE, &why), &why);
    params = SPAN_NONE;
    arguments_bytes = 11;
    ask(ONE, 'a', 7, NOW);
    arguments_bytes = 10;
    assert_int_equal(answer(3, true, NOW, MINUTE, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "the first 10 of 11 bytes"));
    assert_non_null(strstr(why.text, "--despite-unseen"));
    assert_int_equal(look(APPROVALS_ONE, 3, NOW).state, APPROVAL_IS_WAITING);
    must(answer(3, false, NOW, MINUTE, &why), &why); /* refusing needs no look */
    assert_int_equal(count("SELECT sum(unseen) FROM approval_answer WHERE granted = 1"), 0);
    says_again = true;
    assert_int_equal(answer(3, true, NOW, MINUTE, &why), CODE_DENIED);
    is_unseen = true;
    must(answer(3, true, NOW, MINUTE, &why), &why);
    is_unseen = says_again = false;
    assert_int_equal(count("SELECT sum(unseen) FROM approval_answer WHERE granted = 1"), 1);
    assert_int_equal(look(APPROVALS_ONE, 3, NOW).state, APPROVAL_IS_APPROVED);
}

/* 2.2 */
TEST_CASE_WITH(it_is_used_once, open_it, close_it)
{
    struct why why = {0};
    struct seen seen;
    int64_t used = 0;

    ask(ONE, 'a', 7, NOW);
    must(answer(1, true, NOW, MINUTE, &why), &why);
    use(ONE, 1, 12, NOW + 1);
    use(TWO, 1, 13, NOW + 2); /* changes nothing */
    seen = look(APPROVALS_ONE, 1, NOW + 2);
    assert_int_equal(seen.state, APPROVAL_IS_USED);
    assert_int_equal(seen.used_decision, 12);
    assert_int_equal(db_number(db, "SELECT count(*) FROM approval WHERE used_by = 'gate-1'", NULL, 0, &used), CODE_OK);
    assert_int_equal(used, 1);
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
TEST_CASE_WITH(one_gate_claims_it, open_it, close_it)
{
    struct why why = {0};

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

/* 7.8: nobody has to look at what is decided or has lapsed. */
TEST_CASE_WITH(arguments_go_when_it_is_decided, open_it, close_it)
{
    struct why why = {0};

    ask(ONE, 'a', 1, NOW);
    ask(ONE, 'b', 2, NOW);
    ask(ONE, 'c', 3, NOW);
    must(answer(2, true, NOW, 2 * DAY, &why), &why);
    use(ONE, 3, 9, NOW);
    assert_true(look(APPROVALS_ONE, 1, NOW).has_arguments);
    assert_false(look(APPROVALS_ONE, 2, NOW).has_arguments);
    assert_false(look(APPROVALS_ONE, 3, NOW).has_arguments);
    ask(ONE, 'd', 4, NOW + DAY);
    must(answer(2, false, NOW + DAY, DAY, &why), &why);
    assert_true(look(APPROVALS_ONE, 1, NOW).has_arguments);
    must(answer(2, false, NOW + DAY + 1, DAY, &why), &why);
    assert_false(look(APPROVALS_ONE, 1, NOW).has_arguments);
    assert_true(look(APPROVALS_ONE, 4, NOW).has_arguments);
}

#define CALLS 600
enum { PART_BYTES = 16 }; /* "secret-00000001-" */

/* Whether the store's bytes hold a word for each that waits, and for no other. */
static void look_at_bytes(const bool *waits, int64_t last)
{
    struct buf bytes;
    struct span rest, part;
    struct why why = {0};
    char text[PART_BYTES + 1];
    bool seen[CALLS + 1] = {false};
    unsigned number;

    buf_init(&bytes, (size_t)64 << 20);
    must(file_read(path, FILE_ANY, (size_t)64 << 20, &bytes, &why), &why);
    for (rest = buf_peek(&bytes); (part.at = memmem(rest.at, rest.len, "secret-", 7)) != NULL; rest = part) {
        part = span_part(rest, (size_t)(part.at - rest.at), PART_BYTES);
        (void)snprintf(text, sizeof text, "%.*s", SPAN_ARG(part));
        if (text[PART_BYTES - 1] == '-' && sscanf(text, "secret-%8u-", &number) == 1 && number <= CALLS)
            seen[number] = true;
        part = span_part(rest, (size_t)(part.at - rest.at) + 7, SIZE_MAX);
    }
    for (int64_t at = 1; at <= last; at++)
        if (seen[at] != waits[at])
            fail_msg("of %d the bytes are %s", (int)at, waits[at] ? "not there" : "still there");
    buf_fini(&bytes);
}

/* One whose arguments are a word of its own, written often. */
static struct span query; /* of the next */
static void ask_marked(int64_t number, size_t bytes)
{
    static char text[APPROVAL_ARGUMENTS_BYTES];
    char part[32];
    struct approval_ask asked = {
        .tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot"), .upstream = SPAN_LIT("shop"), .method = SPAN_LIT("m"),
        .arguments = span_of(text, bytes), .arguments_bytes = bytes, .rule = SPAN_LIT("r"), .rule_hash = SPAN_LIT("h"),
        .decision = (uint64_t)number, .asked_us = NOW, .query = query, .needed = 1, .authentication = SPAN_LIT("api_key"),
    };
    struct why why = {0};

    (void)snprintf(part, sizeof part, "secret-%08d-", (int)number);
    for (size_t at = 0; at < sizeof text; at += PART_BYTES)
        memcpy(text + at, part, PART_BYTES);
    memset(asked.digest, 0, sizeof asked.digest);
    memcpy(asked.digest, &number, sizeof number);
    must(store_begin(db, &why), &why);
    must(store_approval_ask(db, ONE, &asked, &why), &why);
    must(store_end(db, CODE_OK, NULL, &why), &why);
}

static uint32_t draw(uint32_t below)
{
    static uint32_t seed = 3; /* one of six with which the plain deletion leaves some behind */

    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

/* Decides some of those that wait, at once. */
static void decide_some(bool *waits, int64_t last)
{
    struct store_answer said = {.given_us = NOW, .until_us = NOW + MINUTE, .by = SPAN_LIT("ada"), .login = SPAN_LIT("root"),
                                .why = SPAN_LIT("no")};
    struct why why = {0};

    must(store_begin(db, &why), &why);
    for (uint32_t n = draw(6); n > 0; n--) {
        said.ask = 1 + (int64_t)draw((uint32_t)last);
        if (waits[said.ask])
            must(store_approval_answer(db, &said, &why), &why);
        waits[said.ask] = false;
    }
    must(store_approvals_forget(db, NOW, &why), &why);
    must(store_end(db, CODE_OK, NULL, &why), &why);
}

/* 7.8: no byte of what is decided is left, and no journal of it; of what waits all is there. With secure_delete alone copies
 * stay in pages from which SQLite has moved a row. */
TEST_CASE_WITH(decided_bytes_are_overwritten, open_it, close_it)
{
    static const size_t sizes[] = {30, 200, 500, 1000, 3000, 5000, 20000, 65000};
    char journal[128];
    bool waits[CALLS + 1] = {false};

    snprintf(journal, sizeof journal, "%s-journal", path);
    assert_int_equal(db_exec(db, "PRAGMA synchronous = OFF"), CODE_OK);
    for (int64_t i = 1; i <= CALLS; i++) {
        ask_marked(i, sizes[draw(8)]);
        waits[i] = true;
        if (draw(3) == 0)
            decide_some(waits, i);
        if (i % 60 != 0)
            continue;
        assert_int_not_equal(access(journal, F_OK), 0);
        look_at_bytes(waits, i);
    }
}

/* 7.8: what finds no room is asked for without arguments, and approved by a word alone. */
TEST_CASE_WITH(what_is_kept_is_bounded, open_it, close_it)
{
    static const char text[65536] = "all=no";
    struct why why = {0};

    assert_int_equal(db_exec(db, "PRAGMA synchronous = OFF"), CODE_OK);
    for (int64_t i = 1; i <= 520; i++) /* 516 of them are 32 MiB */
        ask_marked(i, 65000);
    assert_true(count("SELECT sum(bytes) FROM approval_held") <= 32 << 20);
    assert_int_equal(look(APPROVALS_WAITING, 0, NOW).count, 520);
    assert_true(look(APPROVALS_ONE, 516, NOW).has_arguments);
    assert_false(look(APPROVALS_ONE, 517, NOW).has_arguments);
    assert_int_equal(answer(517, true, NOW, MINUTE, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "--despite-unseen"));
    query = SPAN_LIT("all=yes"); /* and no arguments that could be missed */
    for (int64_t i = 521; i <= 524; i++) {
        ask_marked(i, 0);
        query = span_of(text, sizeof text);
    }
    query = SPAN_NONE;
    must(answer(521, true, NOW, MINUTE, &why), &why);
    assert_int_equal(answer(524, true, NOW, MINUTE, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "query"));
    must(answer(524, false, NOW, MINUTE, &why), &why); /* nor once it was refused */
    says_again = true;
    assert_int_equal(answer(524, true, NOW, MINUTE, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "--despite-unseen, too"));
    says_again = false;
}

static void erase_acme(const char *tenant, int64_t before_us, int64_t now_us)
{
    struct why why = {0};

    must(store_approvals_erase(db, &(struct store_erasure){span_text(tenant), before_us, now_us}, &why), &why);
}

/* 3.5: an erasure of a tenant's values reaches those that the store keeps, of calls before the time that is given. */
TEST_CASE_WITH(arguments_are_erased, open_it, close_it)
{
    struct why why = {0};

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
    assert_true(look(APPROVALS_ONE, 1, NOW + 30).has_arguments);
    assert_true(look(APPROVALS_ONE, 4, NOW + 30).has_arguments);
    erase_acme("acme", NOW + 5, NOW + 30);
    assert_false(look(APPROVALS_ONE, 1, NOW + 30).has_arguments);
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

TEST_MAIN(NULL, NULL)
