/* SPDX-License-Identifier: Apache-2.0 */
/* 14.2: what a command writes for a fleet is read off and taken back; other stores get the same rows with the same numbers,
 * once. */
#include "base/buf.h"
#include "json/text.h"
#include "store/store.h"
#include "store/store_fleet.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW INT64_C(1700000000000000)

static char folder[64], path[2][96];
static struct db *db[2];
static struct why why;

static int open_both(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/callgate-fleet-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%d.db", folder, i);
        if (store_open(path[i], DB_CREATE, &db[i], &why) != CODE_OK)
            return -1;
    }
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        db_close(&db[i]);
        unlink(path[i]);
    }
    return rmdir(folder);
}

static int64_t number(struct db *of, const char *sql)
{
    int64_t out = 0;

    assert_int_equal(db_number(of, sql, NULL, 0, &out), CODE_OK);
    return out;
}

/* What `sql` does to the first store, as JSON, and takes it back. */
static void read_off(const char *sql, struct buf *out)
{
    struct db *was = NULL;
    size_t rows;

    assert_int_equal(store_open(path[0], DB_READ, &was, &why), CODE_OK);
    db_hold_back(db[0], true);
    assert_int_equal(db_begin(db[0]), CODE_OK);
    assert_int_equal(db_exec(db[0], sql), CODE_OK);
    assert_int_equal(db_commit(db[0]), CODE_OK);
    assert_int_equal(store_fleet_rows(db[0], was, out, &rows, &why), CODE_OK);
    assert_true(rows > 0);
    db_rollback(db[0]);
    db_hold_back(db[0], false);
    db_close(&was);
}

/* Gives it the numbers that are next in the first store and puts it into both, or into one. */
static enum code put(struct span rows, bool is_for_both)
{
    struct store_fleet_number numbers = {.part = STORE_FLEET_ALL};
    struct json_text asked, numbered;
    enum code code = CODE_OK;
    struct buf out;

    buf_init(&out, STORE_FLEET_ROWS_BYTES);
    assert_int_equal(json_text_read(&asked, rows, &json_file_rules, STORE_FLEET_ROWS_BYTES), CODE_OK);
    assert_int_equal(store_fleet_number(db[0], asked.root, &numbers, &out, &why), CODE_OK);
    assert_int_equal(json_text_read(&numbered, buf_peek(&out), &json_file_rules, STORE_FLEET_ROWS_BYTES), CODE_OK);
    for (int i = 0; i < (is_for_both ? 2 : 1) && code == CODE_OK; i++) {
        assert_int_equal(store_begin(db[i], &why), CODE_OK);
        code = store_end(db[i], store_fleet_put(db[i], numbered.root, &why), NULL, &why);
    }
    json_text_fini(&numbered);
    json_text_fini(&asked);
    buf_fini(&out);
    return code;
}

static enum code put_text(const char *text, int which)
{
    struct json_text read;
    enum code code;

    why.text[0] = '\0';
    assert_int_equal(json_text_read(&read, span_text(text), &json_file_rules, STORE_FLEET_ROWS_BYTES), CODE_OK);
    assert_int_equal(store_begin(db[which], &why), CODE_OK);
    code = store_end(db[which], store_fleet_put(db[which], read.root, &why), NULL, &why);
    json_text_fini(&read);
    return code;
}

#define AGENT(byte, principal)                                                                             \
    "INSERT INTO agent_key(digest, principal, tenant, made_us, made_by) VALUES "                           \
    "(CAST(printf('%032d', " byte ") AS BLOB), '" principal "', 't', 1, 'anna');"                          \
    "INSERT INTO agent_key_claim SELECT max(id), 'x-*' FROM agent_key;"

TEST_CASE_WITH(test_rows_go_to_all, open_both, close_both)
{
    struct buf first, second;

    buf_init(&first, STORE_FLEET_ROWS_BYTES);
    buf_init(&second, STORE_FLEET_ROWS_BYTES);
    read_off(AGENT("01", "one"), &first);
    assert_int_equal(number(db[0], "SELECT count(*) FROM agent_key"), 0); /* it was taken back */
    read_off(AGENT("02", "two"), &second); /* both were read off as number 1 */
    assert_int_equal(put(buf_peek(&first), true), CODE_OK);
    assert_int_equal(put(buf_peek(&second), true), CODE_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(number(db[i], "SELECT id FROM agent_key WHERE principal = 'one'"), 1);
        assert_int_equal(number(db[i], "SELECT id FROM agent_key WHERE principal = 'two'"), 2);
        assert_int_equal(number(db[i], "SELECT count(*) FROM agent_key_claim WHERE key = 2 AND glob = 'x-*'"), 1);
    }
    buf_fini(&second);
    buf_fini(&first);
}

TEST_CASE_WITH(test_a_version_comes_with_its_files_and_before_its_activation, open_both, close_both)
{
    struct store_fleet_number numbers = {.part = STORE_FLEET_BUT_ACTIVE};
    struct json_text rows;
    struct buf off, out;

    buf_init(&off, STORE_FLEET_ROWS_BYTES);
    buf_init(&out, STORE_FLEET_ROWS_BYTES);
    read_off("INSERT INTO policy_version(created_us, author, hash) VALUES (1, 'anna', printf('%064d', 1));"
             "INSERT INTO policy_file SELECT max(version), 'p', 'p.yaml', 'text', printf('%064d', 2) FROM policy_version;"
             "INSERT INTO policy_activation(version, activated_us, activated_by) SELECT max(version), 2, 'anna' FROM "
             "policy_version", &off);
    assert_int_equal(json_text_read(&rows, buf_peek(&off), &json_file_rules, STORE_FLEET_ROWS_BYTES), CODE_OK);
    assert_int_equal(store_fleet_version(rows.root, STORE_FLEET_BUT_ACTIVE), 1);
    assert_int_equal(store_fleet_version(rows.root, STORE_FLEET_ACTIVE), 1);
    assert_int_equal(db_exec(db[0], "INSERT INTO policy_version VALUES (4, 1, 'b', NULL, printf('%064d', 1), 0, NULL)"),
                     CODE_OK);
    assert_int_equal(store_fleet_number(db[0], rows.root, &numbers, &out, &why), CODE_OK);
    assert_int_equal(numbers.first, 5);
    assert_int_equal(numbers.rows, 2);
    buf_add_byte(&out, '\0');
    assert_null(strstr(buf_peek(&out).at, "policy_activation"));
    buf_clear(&out);
    numbers = (struct store_fleet_number){.part = STORE_FLEET_ACTIVE, .was = 1, .is = 5};
    assert_int_equal(store_fleet_number(db[0], rows.root, &numbers, &out, &why), CODE_OK);
    buf_add_byte(&out, '\0');
    assert_string_equal(buf_peek(&out).at,
                        "{\"policy_activation\":[{\"version\":5,\"activated_us\":2,\"activated_by\":\"anna\","
                        "\"message\":null}]}");
    json_text_fini(&rows);
    buf_fini(&out);
    buf_fini(&off);
}

TEST_CASE_WITH(test_a_definition_is_known_by_what_it_says, open_both, close_both)
{
#define TOLD(id, tool)                                                                                      \
    "INSERT INTO definition(id, upstream, tool, digest, share, bytes, told_us, body) VALUES "               \
    "(" id ", 'u', '" tool "', printf('%064d', 9), 's', 2, 1, '{}'); INSERT INTO definition_seen VALUES (" id ", 5);"
#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    struct buf off;

    buf_init(&off, STORE_FLEET_ROWS_BYTES);
    assert_int_equal(db_exec(db[0], TOLD("7", "mail")), CODE_OK);
    assert_int_equal(db_exec(db[1], TOLD("3", "other") TOLD("4", "mail")), CODE_OK);
    read_off("INSERT INTO definition_word(definition, accepted, given_us, given_by, login, why) VALUES "
             "(7, 1, 2, 'a', 'a', 'w')",
             &off);
    assert_int_equal(put(buf_peek(&off), true), CODE_OK);
    assert_int_equal(number(db[1], "SELECT definition FROM definition_word"), 4);
    assert_int_equal(number(db[1], "SELECT count(*) FROM definition"), 2);
    assert_int_equal(number(db[1], "SELECT accepted FROM definition_state WHERE tool = 'mail'"), 1);
    /* a node that has not seen the tool yet gets all of it */
    assert_int_equal(put_text("{\"definition\":[{\"id\":70,\"upstream\":\"u\",\"tool\":\"new\",\"digest\":"
                              "\"" A64 "\",\"share\":\"s\",\"bytes\":2,"
                              "\"before\":null,\"told_us\":8,\"body\":\"{}\"}],\"definition_word\":[{\"definition\":70,"
                              "\"accepted\":1,\"given_us\":9,\"given_by\":\"a\",\"login\":\"a\",\"why\":\"w\"}]}", 1), CODE_OK);
    assert_int_equal(number(db[1], "SELECT accepted FROM definition_state WHERE tool = 'new'"), 1);
    /* a word on a definition that the change does not bring */
    assert_int_equal(put_text("{\"definition_word\":[{\"definition\":4,\"accepted\":1,\"given_us\":9,\"given_by\":\"a\","
                              "\"login\":\"a\",\"why\":\"w\"}]}", 1), CODE_INVALID);
    buf_fini(&off);
}

TEST_CASE_WITH(test_a_revocation_is_in_nobodys_way, open_both, close_both)
{
    assert_int_equal(db_exec(db[0], AGENT("01", "one") AGENT("02", "two")), CODE_OK);
    assert_int_equal(store_key_revoke(db[0], 2, "at the node", SPAN_NONE, NOW, &why), CODE_OK); /* row 1 */
    assert_int_equal(put_text("{\"agent_key_revocation\":[{\"key\":1,\"revoked_us\":2,\"revoked_by\":\"anna\","
                              "\"why\":null}]}", 0), CODE_OK);
    assert_int_equal(put_text("{\"agent_key_revocation\":[{\"key\":2,\"revoked_us\":3,\"revoked_by\":\"anna\","
                              "\"why\":null}]}", 0), CODE_OK);
    assert_int_equal(number(db[0], "SELECT count(*) FROM agent_key_revocation"), 2);
    assert_int_equal(number(db[0], "SELECT count(*) FROM agent_key_revocation WHERE key = 2 AND revoked_by = 'at the node'"),
                     1);
}

TEST_CASE_WITH(test_other_rows_are_refused, open_both, close_both)
{
    static const char *const bad[] = {
        "{\"secret\":[{\"name\":\"session\",\"value\":\"00\"}]}",
        "{\"told\":[{\"name\":\"x\",\"id\":1}]}",
        "{\"agent_key_claim\":[{\"key\":9,\"glob\":\"*\"}]}",                                      /* of no key */
        "{\"agent_key_claim\":[{\"key\":1,\"glob\":\"*\",\"more\":1}]}",
        "{\"agent_key_claim\":[{\"key\":1}]}",
        "{\"agent_key_claim\":[{\"key\":1,\"glob\":null}]}",
        "{\"agent_key_claim\":[{\"key\":\"1\",\"glob\":\"*\"}]}",
        "{\"agent_key_claim\":[{\"key\":1,\"glob\":2}]}",
        "{\"agent_key_claim\":{\"key\":1,\"glob\":\"*\"}}",
        "{\"agent_key\":[{\"id\":5,\"digest\":\"00\",\"principal\":\"p\",\"tenant\":\"t\",\"expires_us\":null,"
        "\"agent\":null,\"note\":null,\"roles\":null,"
        "\"made_us\":1,\"made_by\":\"a\"}]}",                                       /* no digest */
    };

    assert_int_equal(db_exec(db[0], AGENT("01", "one")), CODE_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_not_equal(put_text(bad[i], 0), CODE_OK);
        assert_true(why.text[0] != '\0');
    }
    /* the same row again is there already; another one of its number is refused, and all that came with it */
    assert_int_equal(put_text("{\"audit_hold\":[{\"id\":1,\"tenant\":null,\"principal\":null,\"since_us\":null,"
                              "\"until_us\":null,\"held_us\":1,\"held_by\":\"a\",\"why\":\"w\"}]}", 0), CODE_OK);
    assert_int_equal(put_text("{\"audit_hold\":[{\"id\":1,\"tenant\":null,\"principal\":null,\"since_us\":null,"
                              "\"until_us\":null,\"held_us\":1,\"held_by\":\"a\",\"why\":\"w\"}]}", 0), CODE_OK);
    assert_int_equal(put_text("{\"audit_hold\":[{\"id\":2,\"tenant\":null,\"principal\":null,\"since_us\":null,"
                              "\"until_us\":null,\"held_us\":1,\"held_by\":\"a\",\"why\":\"w\"},{\"id\":1,"
                              "\"tenant\":\"t\",\"principal\":null,"
                              "\"since_us\":null,\"until_us\":null,\"held_us\":1,\"held_by\":\"a\",\"why\":\"w\"}]}", 0),
                     CODE_EXISTS);
    assert_int_equal(number(db[0], "SELECT count(*) FROM audit_hold"), 1);
}

TEST_CASE_WITH(test_all_of_a_store_goes_in_pieces, open_both, close_both)
{
    struct store_fleet_from from = {0};
    size_t rows = 1, pieces = 0;
    bool has = true;

    assert_int_equal(store_fleet_has_own(db[0], &has, &why), CODE_OK);
    assert_false(has);
    assert_int_equal(db_exec(db[0], "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) "
                             "INSERT INTO "
                             "agent_key(digest, principal, tenant, made_us, made_by) SELECT "
                             "CAST(printf('%032d', i) AS BLOB), 'p', 't', 1, 'a' FROM n;"
                             "INSERT INTO agent_key_claim SELECT id, 'x' FROM agent_key WHERE id > 1100;"
                             TOLD("7", "mail") "INSERT INTO definition_word(definition, accepted, given_us, given_by, "
                             "login, why) "
                             "VALUES (7, 1, 2, 'a', 'a', 'w')"), CODE_OK);
    assert_int_equal(store_fleet_has_own(db[0], &has, &why), CODE_OK);
    assert_true(has);
    while (rows > 0) {
        struct json_text read;
        struct buf out;

        buf_init(&out, STORE_FLEET_ROWS_BYTES);
        assert_int_equal(store_fleet_piece(db[0], &from, &out, &rows, &why), CODE_OK);
        if (rows > 0) {
            pieces++;
            assert_int_equal(json_text_read(&read, buf_peek(&out), &json_file_rules, STORE_FLEET_ROWS_BYTES), CODE_OK);
            for (int i = 0; i < 2; i++) { /* the first store has it all already */
                assert_int_equal(store_begin(db[i], &why), CODE_OK);
                assert_int_equal(store_end(db[i], store_fleet_put(db[i], read.root, &why), NULL, &why), CODE_OK);
            }
            json_text_fini(&read);
        }
        buf_fini(&out);
    }
    assert_true(pieces >= 3);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(number(db[i], "SELECT count(*) FROM agent_key"), 1200);
        assert_int_equal(number(db[i], "SELECT count(*) FROM agent_key_claim"), 100);
        assert_int_equal(number(db[i], "SELECT count(*) FROM definition_word"), 1);
    }
}

static enum code note_id(void *context, const struct store_fleet_command *command)
{
    *(int64_t *)context = command->id;
    assert_true(span_is(command->kind, "agent_key"));
    assert_null(command->without.at);
    return CODE_OK;
}

TEST_CASE_WITH(test_a_command_waits_for_its_end, open_both, close_both)
{
    const struct store_fleet_command command = {.kind = SPAN_LIT("agent_key"), .rows = SPAN_LIT("{}"), .asked_us = 1,
                                                .asked_by = SPAN_LIT("anna")};
    struct store_fleet_answer answer = {.change = 4, .id = 9};
    int64_t first, second, next = 0;
    struct why problem;

    assert_int_equal(store_fleet_ask(db[0], &command, &first, &why), CODE_OK);
    assert_int_equal(store_fleet_ask(db[0], &command, &second, &why), CODE_OK);
    assert_int_equal(store_fleet_next(db[0], 0, note_id, &next, &why), CODE_OK);
    assert_int_equal(next, first);
    assert_int_equal(store_fleet_next(db[0], next, note_id, &next, &why), CODE_OK);
    assert_int_equal(next, second);
    assert_int_equal(store_fleet_answered(db[0], first, &answer, &problem, &why), CODE_NOT_FOUND);
    answer = (struct store_fleet_answer){.change = 4, .id = 9};
    assert_int_equal(store_fleet_answer(db[0], first, &answer, 5, &why), CODE_OK);
    answer = (struct store_fleet_answer){.problem = SPAN_LIT("no")};
    assert_int_equal(store_fleet_answer(db[0], second, &answer, 5, &why), CODE_OK);
    assert_int_equal(store_fleet_answered(db[0], first, &answer, &problem, &why), CODE_OK);
    assert_int_equal(answer.change, 4);
    assert_int_equal(answer.id, 9);
    assert_int_equal(store_fleet_answered(db[0], second, &answer, &problem, &why), CODE_OK);
    assert_int_equal(answer.change, 0);
    assert_string_equal(problem.text, "no");
    assert_int_equal(store_fleet_next(db[0], 0, note_id, &next, &why), CODE_NOT_FOUND);
}

TEST_MAIN(NULL, NULL)
