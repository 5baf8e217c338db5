/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of tools in the store. Numbers: 9.3, 9.5 */
#include "store/store.h"
#include "store/store_definitions.h"

#include "base/mem.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

#define NOW INT64_C(1700000000000000)
#define DAY (INT64_C(86400) * 1000000)

static struct db *db;

static int open_it(void **state)
{
    struct why why = {0};

    (void)state;
    return store_open(":memory:", DB_WRITE, &db, &why) == CODE_OK ? 0 : -1;
}

static int close_it(void **state)
{
    (void)state;
    db_close(&db);
    return 0;
}

/* As a worker's list would tell it, through the notes that main takes. */
static struct store_definitions_put tell(const char *tool, const char *text, int64_t now_us)
{
    struct definition_asker who = {.upstream = SPAN_LIT("shop")};
    struct definition_told what = {.share = SPAN_LIT("shop"), .tool = span_text(tool), .text = span_text(text), .begins = true,
                                   .now_us = now_us};
    struct store_definitions_put put;
    struct definitions *told;
    struct why why = {0};
    struct span rest;
    struct buf notes;

    assert_int_equal(definitions_new(&told), CODE_OK);
    buf_init(&notes, SIZE_MAX / 2);
    (void)definitions_learn(told, NULL, &who, &what);
    definitions_take(told, &notes);
    rest = buf_peek(&notes);
    if (store_definitions_put(db, &rest, now_us, &put, &why) != CODE_OK)
        fail_msg("%s", why.text);
    assert_int_equal(rest.len, 0);
    buf_fini(&notes);
    definitions_free(&told);
    return put;
}

static int64_t number(const char *sql)
{
    int64_t is = -1;

    assert_int_equal(db_number(db, sql, NULL, 0, &is), CODE_OK);
    return is;
}

#define OLD "{\"name\":\"pay\"}"
#define NEW "{\"description\":\"x\",\"name\":\"pay\"}"

static void say(const char *tool, const char *text, bool is_accepted)
{
    struct store_definition_word word = {.given_us = NOW, .is_accepted = is_accepted, .by = SPAN_LIT("ann"),
                                         .login = SPAN_LIT("root"), .why = SPAN_LIT("read it")};
    struct why why = {0};
    char sql[512];

    snprintf(sql, sizeof sql, "SELECT id FROM definition WHERE tool = '%s' AND body = '%s'", tool, text);
    word.definition = number(sql);
    assert_int_equal(store_definition_say(db, &word, &why), CODE_OK);
}

static const struct definition *find(struct definition_set *set, const char *text)
{
    unsigned char digest[DIGEST_BYTES];

    digest_of(span_text(text), digest);
    return definition_set_find(set, SPAN_LIT("shop"), SPAN_LIT("pay"), text[0] != '\0' ? digest : NULL);
}

static struct definition_set *load(void)
{
    struct definition_set *set;
    struct why why = {0};

    if (store_definitions_load(db, NULL, &set, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return set;
}

TEST_CASE_WITH(each_is_kept_once, open_it, close_it)
{
    struct store_definitions_put put = tell("pay", OLD, NOW);

    assert_true(put.fresh == 1 && put.changed == 0);
    put = tell("pay", OLD, NOW + 1);
    assert_true(put.fresh == 0 && !put.is_other);
    put = tell("pay", NEW, NOW + 2);
    assert_true(put.fresh == 1 && put.changed == 1);
    assert_int_equal(number("SELECT count(*) FROM definition"), 2);
    assert_int_equal(number("SELECT before = (SELECT digest FROM definition WHERE id = 1) FROM definition WHERE id = 2"), 1);
    assert_int_equal(number("SELECT latest FROM definition_state WHERE id = 2"), 1);
    put = tell("pay", OLD, NOW + 3); /* it turns back */
    assert_int_equal(number("SELECT latest FROM definition_state WHERE id = 1"), 1);
}

TEST_CASE_WITH(words_decide_and_stay, open_it, close_it)
{
    struct definition_set *set;

    (void)tell("pay", OLD, NOW);
    assert_null(load());
    say("pay", OLD, true);
    set = load();
    assert_true(find(set, OLD)->is_accepted && find(set, "")->is_accepted);
    definition_set_unref(&set);
    assert_true(tell("pay", NEW, NOW + 1).is_other);
    set = load();
    assert_true(find(set, OLD)->is_accepted && !find(set, "")->is_accepted);
    definition_set_unref(&set);
    say("pay", NEW, true);
    say("pay", OLD, false);
    set = load();
    assert_true(find(set, NEW)->is_accepted && find(set, OLD) == NULL);
    definition_set_unref(&set);
    assert_int_not_equal(db_exec(db, "UPDATE definition SET body = '{}'"), CODE_OK);
    assert_int_not_equal(db_exec(db, "DELETE FROM definition"), CODE_OK);
    assert_int_not_equal(db_exec(db, "UPDATE definition_word SET accepted = 1"), CODE_OK);
    assert_int_not_equal(db_exec(db, "DELETE FROM definition_word"), CODE_OK);
}

/* 11.13: of thousands of tools one was accepted: what is known of the others is not compiled again. */
TEST_CASE_WITH(what_is_known_is_taken_over, open_it, close_it)
{
    static const char bound[] = "{\"inputSchema\":{\"type\":\"object\"},\"name\":\"pay\"}";
    struct definition_set *before, *set;
    struct why why = {0};

    (void)tell("pay", bound, NOW);
    say("pay", bound, true);
    before = load();
    (void)tell("pay", NEW, NOW + 1);
    say("pay", NEW, true);
    assert_int_equal(store_definitions_load(db, before, &set, &why), CODE_OK);
    assert_non_null(find(set, bound)->schema);
    assert_ptr_equal(find(set, bound)->schema, find(before, bound)->schema);
    assert_null(find(set, NEW)->schema);
    definition_set_unref(&before);
    assert_true(span_is(policy_schema_text(find(set, bound)->schema), "{\"type\":\"object\"}"));
    definition_set_unref(&set);
}

/* 9.3: neither the disk nor the audit can be filled by a server that changes its tools all the time. */
TEST_CASE_WITH(a_flood_is_bounded, open_it, close_it)
{
    char text[256];
    uint32_t dropped = 0;

    (void)tell("pay", OLD, NOW);
    say("pay", OLD, true);
    assert_int_equal(db_exec(db, "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) "
                                 "INSERT INTO definition SELECT NULL, 'shop', 'pay', printf('%064d', i), 'shop', 10, NULL, "
                                 "1700000000000000, '{}' FROM n; INSERT INTO definition_seen SELECT id, 1 FROM definition "
                                 "WHERE id > 1; COMMIT"), CODE_OK);
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "{\"name\":\"pay\",\"description\":\"%d\"}", i);
        dropped += tell("pay", text, NOW + i).dropped;
    }
    assert_int_equal(dropped, 200 - (4096 - 4001));
    assert_int_equal(tell("pay", text, NOW + 2 * DAY).dropped, 0); /* another day */
    assert_int_equal(db_exec(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
                                 "INSERT INTO definition SELECT NULL, 'shop', 'pay', printf('%064d', i + 10000), 'shop', 10, NULL, "
                                 "1690000000000000, '{}' FROM n"), CODE_OK);
    assert_int_equal(tell("pay", "{\"name\":\"pay\",\"description\":\"late\"}", NOW + 2 * DAY).fresh, 1);
    assert_in_range(number("SELECT count(*) FROM definition"), 8000, 8193);
    assert_int_equal(number("SELECT accepted FROM definition_state WHERE id = 1"), 1);
}

/* What a start takes for told last. */
static bool counts_last(void)
{
    struct definition_set *set = load();
    bool counts = find(set, "")->is_accepted;

    assert_true(find(set, OLD)->is_accepted);
    definition_set_unref(&set);
    return counts;
}

/* 9.5: what is too large, finds no room or gave way was told all the same, and nobody can accept it. */
TEST_CASE_WITH(what_is_not_kept_was_told, open_it, close_it)
{
    static char large[300000];
    struct store_definition_word word = {.is_accepted = true, .by = SPAN_LIT("ann"), .login = SPAN_LIT("root"),
                                         .why = SPAN_LIT("by hand")};
    struct why why = {0};

    snprintf(large, sizeof large, "{\"name\":\"pay\",\"x\":\"%0*d\"}", 270000, 1);
    (void)tell("pay", OLD, NOW);
    say("pay", OLD, true);
    assert_true(tell("pay", large, NOW + 1).changed == 1 && !counts_last());
    assert_int_equal(tell("pay", large, NOW + 2).fresh, 0);
    word.definition = number("SELECT max(id) FROM definition");
    assert_int_equal(store_definition_say(db, &word, &why), CODE_OK);
    assert_false(counts_last());
    (void)tell("pay", OLD, NOW + 3);
    assert_true(counts_last());
}

TEST_CASE_WITH(what_gives_way_was_told, open_it, close_it)
{
    (void)tell("pay", OLD, NOW);
    say("pay", OLD, true);
    (void)tell("pay", NEW, NOW + 1);
    assert_int_equal(db_exec(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8191) "
                                 "INSERT INTO definition SELECT NULL, 'shop', 'm' || i, printf('%064d', i), 'shop', 10, NULL, "
                                 "1700000000000002, '{}' FROM n"), CODE_OK);
    assert_int_equal(tell("other", "{\"name\":\"other\"}", NOW + 2 * DAY).fresh, 1);
    assert_int_equal(number("SELECT count(*) FROM definition WHERE tool = 'pay' AND body = '" NEW "'"), 0);
    assert_false(counts_last());
    assert_int_equal(tell("pay", "{\"name\":\"pay\",\"x\":1}", NOW + DAY / 2).dropped, 1); /* no room on that day */
    (void)tell("pay", OLD, NOW + DAY);
    assert_true(counts_last());
    assert_int_equal(tell("pay", NEW, NOW + DAY / 2).dropped, 1);
    assert_true(counts_last()); /* it was before */
}

TEST_MAIN(NULL, NULL)
