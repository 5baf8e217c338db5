/* SPDX-License-Identifier: Apache-2.0 */
/* 14.2, P196, P197: what is decided at one node counts on all, by way of a PostgreSQL whose superuser can make nothing of it:
 * each of his tricks is tried by itself, and changes no store. */
#include "down_bench.h"

#include "author/store_change.h"

#define DIGEST_OF(four) four four four four four four four four four four four four four four four four
#define AGENT(four, principal)                                                                              \
    "{\"agent_key\":[{\"id\":1,\"digest\":\"" DIGEST_OF(four) "\",\"principal\":\"" principal "\",\"tenant\":\"t\"," \
    "\"agent\":null,\"expires_us\":null,\"note\":null,\"roles\":null,\"made_us\":1,\"made_by\":\"anna\"}],"                  \
    "\"agent_key_claim\":[{\"key\":1,\"glob\":\"x-*\"}]}"
#define REVOKED(key) "{\"agent_key_revocation\":[{\"key\":" key ",\"revoked_us\":2,\"revoked_by\":\"anna\",\"why\":null}]}"

TEST(test_a_command_counts_on_all)
{
    struct why said;
    int64_t first, second;

    settle();
    first = ask(&nodes[0], "key", AGENT("0a0b", "one"), NULL);
    second = ask(&nodes[1], "key", AGENT("0c0d", "two"), NULL);
    settle();
    assert_int_equal(answer(&nodes[0], first, &said), 1);
    assert_string_equal(said.text, "gate-1, gate-2 have it");
    assert_int_equal(answer(&nodes[1], second, &said), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(here(&nodes[i], "SELECT id FROM agent_key WHERE principal = 'one'"), 1);
        assert_int_equal(here(&nodes[i], "SELECT id FROM agent_key WHERE principal = 'two'"), 2);
        assert_int_equal(here(&nodes[i], "SELECT count(*) FROM agent_key_claim WHERE key = 2"), 1);
    }
    /* a node that has said nothing for long, and one that died after it had put, and before it knew */
    (void)ask(&nodes[0], "revocation", REVOKED("2"), NULL);
    turn(&nodes[0]);
    down_free(&nodes[0].down);
    start(&nodes[0]);
    settle();
    assert_int_equal(pg_server_number(owner, "SELECT count(*) FROM callgate.change"), 3);
    assert_int_equal(here(&nodes[1], "SELECT count(*) FROM agent_key_revocation WHERE key = 2"), 1);
}

/* ---- policies ---- */

#define POLICY "policy: p\nrules:\n  - {id: p.a, effect: permit, match: {tools: [a]}}\n"

/* The rows that `policy load` writes. */
static void load(struct node *node, const char *text, struct buf *rows)
{
    const struct policy_file file = {.path = SPAN_LIT("p.yaml"), .text = span_text(text)};
    struct policy_store_change change = {.files = &file, .file_count = 1, .activate = true, .author = SPAN_LIT("anna")};
    static struct faults faults;
    struct db *was = NULL;
    struct why why = {0};
    struct policy_stored stored;
    size_t count;

    faults_init(&faults);
    assert_int_equal(store_open(node->path, DB_READ, &was, &why), CODE_OK);
    db_hold_back(node->store, true);
    if (policy_store_apply(node->store, &change, &stored, &faults, NULL, &why) != CODE_OK)
        fail_msg("%s%s", why.text, faults.fault[0].text);
    assert_int_equal(store_fleet_rows(node->store, was, rows, &count, &why), CODE_OK);
    db_rollback(node->store);
    db_hold_back(node->store, false);
    db_close(&was);
}

static int64_t load_and_ask(struct node *node, const char *text, const char *without)
{
    struct buf rows;
    int64_t id;

    buf_init(&rows, STORE_FLEET_ROWS_BYTES);
    load(node, text, &rows);
    buf_add_byte(&rows, '\0');
    id = ask(node, "policy", buf_peek(&rows).at, without);
    buf_fini(&rows);
    return id;
}

TEST(test_active_on_all_or_nowhere)
{
    struct down_state at;
    struct why said, why = {0};
    int64_t id;

    turn(&nodes[1]); /* it lives, and then says nothing for thirty seconds */
    id = load_and_ask(&nodes[0], POLICY, NULL);
    turn(&nodes[0]);
    assert_int_equal(active(&nodes[0]), 0);
    beat(&nodes[1]);
    now_us += 29 * SECOND;
    turn(&nodes[0]);
    assert_int_equal(answer(&nodes[0], id, &said), -1);
    now_us += 2 * SECOND;
    (void)ask(&nodes[0], "key", AGENT("0a0b", "one"), NULL); /* waits for nobody */
    beat(&nodes[1]);
    turn(&nodes[0]);
    assert_int_equal(answer(&nodes[0], id, &said), 0);
    assert_non_null(strstr(said.text, "gate-2"));
    assert_non_null(strstr(said.text, "--without"));
    assert_int_equal(active(&nodes[0]), 0);
    assert_int_equal(here(&nodes[0], "SELECT count(*) FROM agent_key"), 1);
    /* both there: active on both */
    id = ask(&nodes[0], "activation", "{\"policy_activation\":[{\"version\":1,\"activated_us\":5,\"activated_by\":\"anna\","
                                      "\"message\":null}]}", NULL);
    settle();
    assert_int_equal(answer(&nodes[0], id, &said), 3);
    assert_int_equal(active(&nodes[0]), 1);
    assert_int_equal(active(&nodes[1]), 1);
    assert_int_equal(down_state(nodes[1].down, &at, &why), CODE_OK);
    assert_int_equal(at.behind, 0);
    /* without one */
    id = load_and_ask(&nodes[0], POLICY "  - {id: p.b, effect: permit, match: {tools: [b]}}\n", "gate-2");
    turn(&nodes[0]);
    turn(&nodes[0]);
    assert_int_equal(active(&nodes[0]), 2);
    settle();
    assert_int_equal(active(&nodes[1]), 2);
}

/* Somebody else's version became active while this one lay in the outbox. */
TEST(test_nobody_takes_back_what_others_did)
{
    struct why said;
    int64_t first = load_and_ask(&nodes[0], POLICY, NULL), second;

    second = load_and_ask(&nodes[1], POLICY "  - {id: p.b, effect: permit, match: {tools: [b]}}\n", NULL);
    settle();
    settle();
    assert_true(answer(&nodes[0], first, &said) > 0);
    assert_int_equal(active(&nodes[0]), active(&nodes[1]));
    if (answer(&nodes[1], second, &said) == 0) /* it was second: refused, or had its number before the other was active */
        assert_non_null(strstr(said.text, "another version became active"));
}

/* A version that does not compile at a node is active nowhere; --without, and that node says so. */
TEST(test_a_node_that_cannot)
{
    struct down_state at;
    struct why said, why = {0};
    struct buf rows;
    char *text;
    int64_t id;

    buf_init(&rows, STORE_FLEET_ROWS_BYTES);
    load(&nodes[0], POLICY, &rows);
    buf_add_byte(&rows, '\0');
    text = strdup(buf_peek(&rows).at);
    memcpy(strstr(text, "tools: [a]"), "tools: [b]", 10); /* it is not what its hash says, so that no node takes it */
    id = ask(&nodes[0], "policy", text, NULL);
    turn(&nodes[1]);
    turn(&nodes[0]);
    turn(&nodes[1]);
    turn(&nodes[0]);
    assert_int_equal(answer(&nodes[0], id, &said), 0);
    assert_non_null(strstr(said.text, "cannot compile it"));
    assert_int_equal(active(&nodes[0]), 0);
    id = ask(&nodes[0], "activation", "{\"policy_activation\":[{\"version\":1,\"activated_us\":5,\"activated_by\":\"anna\","
                                      "\"message\":null}]}", "gate-1\ngate-2");
    settle();
    assert_true(answer(&nodes[0], id, &said) > 0);
    assert_int_equal(down_state(nodes[1].down, &at, &why), CODE_OK);
    assert_int_equal(at.behind, 1);
    free(text);
    buf_fini(&rows);
}

/* ---- the superuser ---- */

static void refused_here(struct node *node, const char *what, const char *says)
{
    const int64_t keys = here(node, "SELECT count(*) FROM agent_key"), changes = here(node, "SELECT count(*) FROM "
                                                                                            "fleet_change");
    struct why why;
    enum code code = turn_why(node, &why);

    if (code == CODE_OK || strstr(why.text, says) == NULL)
        fail_msg("%s: %s, %s", what, code_text(code), why.text);
    assert_int_equal(here(node, "SELECT count(*) FROM agent_key"), keys);
    assert_int_equal(here(node, "SELECT count(*) FROM fleet_change"), changes);
}

/* What is true of the node before and after a trick: changes 1 and 2 are taken, 3 and 4 come. */
static void prepare(void)
{
    (void)ask(&nodes[0], "key", AGENT("0a0b", "one"), NULL);
    settle();
    (void)ask(&nodes[0], "key", AGENT("0c0d", "two"), NULL);
    settle();
    (void)ask(&nodes[0], "key", AGENT("0e0f", "three"), NULL);
    (void)ask(&nodes[0], "revocation", REVOKED("1"), NULL);
    turn(&nodes[0]);
    turn(&nodes[0]);
    assert_int_equal(pg_server_number(owner, "SELECT count(*) FROM callgate.change"), 4);
    assert_int_equal(here(&nodes[1], "SELECT count(*) FROM fleet_change"), 2);
}

TEST(test_each_trick_of_the_superuser)
{
    static const struct { const char *what, *sql, *says; } tricks[] = {
        {"a signature stripped", "UPDATE callgate.change SET signature = '' WHERE number = 3", "not signed"},
        {"a bit of it", "UPDATE callgate.change SET signature = set_byte(signature, 5, get_byte(signature, 5) # 1) WHERE "
                        "number = 3",
         "not signed"},
        {"another change's signature", "UPDATE callgate.change SET signature = (SELECT signature FROM callgate.change WHERE "
                                       "number = 4) "
         "WHERE number = 3", "not signed"},
        {"a text that says something else", "UPDATE callgate.change SET text = convert_to(replace(convert_from(text, 'UTF8'), "
                                            "'three', "
         "'threa'), 'UTF8') WHERE number = 3", "not signed"},
        {"another node's name", "UPDATE callgate.change SET text = convert_to(replace(convert_from(text, 'UTF8'), 'gate-1', "
                                "'gate-2'), "
         "'UTF8') WHERE number = 3", "not signed"},
        {"a node that is none", "UPDATE callgate.change SET text = convert_to(replace(convert_from(text, 'UTF8'), 'gate-1', "
                                "'gate-9'), 'UTF8') WHERE number = 3", "not signed"},
        {"a signer that is none", "UPDATE callgate.change SET signer = 'gate-9' WHERE number = 3", "roster"},
        {"another node as the signer", "UPDATE callgate.change SET signer = 'gate-2' WHERE number = 3", "not signed"},
        {"a member twice", "UPDATE callgate.change SET text = convert_to(replace(convert_from(text, 'UTF8'), '\"by\":', "
         "'\"by\":\"eve\",\"by\":'), 'UTF8') WHERE number = 3", "not signed"},
        {"a blank", "UPDATE callgate.change SET text = text || ' '::bytea WHERE number = 3", "not signed"},
        {"an escape", "UPDATE callgate.change SET text = convert_to(replace(convert_from(text, 'UTF8'), 'three', "
                      "E'thr\\\\u0065e'), "
         "'UTF8') WHERE number = 3", "not signed"},
        {"a number's other spelling", "UPDATE callgate.change SET text = convert_to(replace(convert_from(text, 'UTF8'), "
                                      "'\"number\":3', "
         "'\"number\":3.0'), 'UTF8') WHERE number = 3", "not signed"},
        {"no text", "UPDATE callgate.change SET text = '' WHERE number = 3", "not signed"},
        {"a row of its own", "UPDATE callgate.change SET text = '{\"agent_key\":[]}', signature = decode(repeat('00', 64), "
                             "'hex') WHERE "
         "number = 3", "not signed"},
        {"an old one again", "UPDATE callgate.change AS c SET text = o.text, signature = o.signature, signer = o.signer FROM "
                             "callgate.change AS o WHERE "
         "c.number = 3 AND o.number = 1", "came where"},
        {"another order", "UPDATE callgate.change SET number = 9 WHERE number = 3; UPDATE callgate.change SET number = 3 "
                          "WHERE number = 4; "
         "UPDATE callgate.change SET number = 4 WHERE number = 9", "came where"},
        {"one left out", "DELETE FROM callgate.change WHERE number = 3", "came where"},
        {"one that this node has, changed", "UPDATE callgate.change SET text = (SELECT text FROM callgate.change WHERE number "
                                            "= 1) WHERE "
         "number = 2; DELETE FROM callgate.change WHERE number > 2", "shows another change"},
        {"one of the past, and fewer", "DELETE FROM callgate.change WHERE number > 1; UPDATE callgate.change SET text = text "
                                       "|| ' '::bytea",
         "shows another change"},
        {"numbers that nothing stands behind", "DELETE FROM callgate.change WHERE number IN (3, 4); INSERT INTO "
                                               "callgate.change(number, "
         "text, signature, signer) VALUES (7, '{}', '', 'gate-1')", "not signed"},
    };

    prepare();
    run(owner, "DROP TABLE IF EXISTS public.kept; CREATE TABLE public.kept AS SELECT number, text, signature, signer FROM "
               "callgate.change");
    for (size_t i = 0; i < sizeof tricks / sizeof *tricks; i++) {
        run(owner, tricks[i].sql);
        refused_here(&nodes[1], tricks[i].what, tricks[i].says);
        run(owner, "DELETE FROM callgate.change; INSERT INTO callgate.change(number, text, signature, signer) SELECT * FROM "
                   "public.kept");
    }
    turn(&nodes[1]); /* what is true is taken after all that */
    assert_int_equal(here(&nodes[1], "SELECT count(*) FROM fleet_change"), 4);
    assert_int_equal(here(&nodes[1], "SELECT count(*) FROM agent_key"), 3);
    assert_int_equal(here(&nodes[1], "SELECT count(*) FROM agent_key_revocation"), 1);
}

/* Puts a change as the centre's superuser who has somebody's key would. */
static void plant_behind(const struct store_fleet_end *end, const struct node *by, const struct node *as, const char *fleet,
                         const char *rows)
{
    struct change change = {.fleet = span_text(fleet), .node = span_text(as->name), .by = SPAN_LIT("eve"), .kind =
                            SPAN_LIT("key")};
    unsigned char signature[SIGN_BYTES];
    struct why why = {0};
    struct buf text;

    change.number = end->number + 1;
    memcpy(change.previous, end->hash, DIGEST_BYTES);
    buf_init(&text, CHANGE_TEXT_BYTES);
    assert_int_equal(change_write(&change, span_text(rows), &text, &why), CODE_OK);
    assert_int_equal(change_sign(buf_peek(&text), by->key, signature), CODE_OK);
    assert_int_equal(pg_ask(owner, "INSERT INTO callgate.change(number, text, signature, signer) VALUES ($1, $2, $3, $4)",
                            PG_VALUES(pg_of_int(change.number), pg_of_bytes(buf_peek(&text)),
                                      pg_of_bytes(span_of(signature, sizeof signature)), pg_of_text(span_text(as->name))), NULL, &why),
                                          CODE_OK);
    buf_fini(&text);
}

static struct store_fleet_end end_of(const struct node *node)
{
    struct store_fleet_end end;
    struct why why = {0};

    assert_int_equal(store_fleet_end(node->store, &end, &why), CODE_OK);
    return end;
}

static void plant(const struct node *by, const struct node *as, const char *fleet, const char *rows)
{
    const struct store_fleet_end end = end_of(&nodes[0]);

    plant_behind(&end, by, as, fleet, rows);
}

TEST(test_who_may_sign)
{
    static const char *const bad[] = {
        "{\"secret\":[{\"name\":\"session\",\"value\":\"00\"}]}", "{\"agent_key\":[{\"id\":1}]}",
            "{\"told\":[{\"name\":\"x\",\"id\":1}]}",
        "{\"fleet_change\":[{\"number\":9}]}", REVOKED("77"),
    };

    prepare();
    turn(&nodes[1]);
    plant(&nodes[2], &nodes[2], FLEET, AGENT("0909", "eve")); /* of a node that left with change 1 */
    refused_here(&nodes[1], "a left node's key", "roster");
    run(owner, "DELETE FROM callgate.change WHERE number > 4");
    plant(&nodes[2], &nodes[0], FLEET, AGENT("0909", "eve"));
    refused_here(&nodes[1], "another node's key", "not signed");
    run(owner, "DELETE FROM callgate.change WHERE number > 4");
    plant(&nodes[0], &nodes[0], "fedcba9876543210fedcba9876543210", AGENT("0909", "eve"));
    refused_here(&nodes[1], "another fleet's", "is of fleet");
    run(owner, "DELETE FROM callgate.change WHERE number > 4");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) { /* a node's key alone is no key to the rest of the store */
        plant(&nodes[0], &nodes[0], FLEET, bad[i]);
        refused_here(&nodes[1], bad[i], "");
        run(owner, "DELETE FROM callgate.change WHERE number > 4");
    }
    turn(&nodes[1]);
    /* nor may a node write past the functions, or another row than its own */
    {
        struct why why = {0};

        assert_int_equal(pg_ask(nodes[0].pg, "INSERT INTO callgate.change(number, text, signature, signer) VALUES (99, '', '', 'gate-1')",
                                NULL, 0, NULL,
                                &why), CODE_DENIED);
        assert_int_equal(pg_ask(nodes[0].pg, "DELETE FROM callgate.change", NULL, 0, NULL, &why), CODE_DENIED);
        assert_int_equal(pg_ask(nodes[0].pg, "UPDATE callgate.node SET change = 0", NULL, 0, NULL, &why), CODE_DENIED);
    }
}

#define KEEP "DROP TABLE IF EXISTS public.kept; CREATE TABLE public.kept AS SELECT number, text, signature, signer FROM callgate.change; "
#define BRING "DELETE FROM callgate.change; INSERT INTO callgate.change(number, text, signature, signer) SELECT * FROM public.kept"

/* The key of a node that left with change 1 counts for a change 1. Who has it, and the centre, shows a node that is new a past of
 * his own: it is none of the chain that the roster's signer had seen. */
TEST(test_another_past_for_who_is_new)
{
    const struct store_fleet_end none = {.number = 0};
    struct store_fleet_end end;

    (void)ask(&nodes[0], "key", AGENT("0a0b", "one"), NULL);
    turn(&nodes[0]);
    (void)ask(&nodes[0], "key", AGENT("0c0d", "two"), NULL);
    turn(&nodes[0]);
    end = end_of(&nodes[0]);
    assert_int_equal(end.number, 2);
    run(owner, KEEP "DELETE FROM callgate.change");
    plant_behind(&none, &nodes[2], &nodes[2], FLEET, AGENT("0909", "eve"));
    make_members(&end);
    refused_here(&nodes[1], "a shorter chain by who has left", "shows no change behind 1");
    end.number = 1; /* it left when there was one */
    make_members(&end);
    refused_here(&nodes[1], "another chain by who has left", "another one than the fleet's key had seen");
    assert_int_equal(here(&nodes[1], "SELECT count(*) FROM agent_key"), 0);
    /* what a roster without that change would have led to */
    end.number = 0;
    make_members(&end);
    turn(&nodes[1]);
    assert_int_equal(here(&nodes[1], "SELECT count(*) FROM agent_key WHERE principal = 'eve'"), 1);
    end.number = 1;
    make_members(&end);
    refused_here(&nodes[1], "a past that was taken", "was shown a chain");
    /* the true one is taken, by a node that is new, up to the last */
    run(owner, BRING);
    end = end_of(&nodes[0]);
    make_members(&end);
    down_free(&nodes[1].down);
    db_close(&nodes[1].store);
    unlink(nodes[1].path);
    pg_close(&nodes[1].pg);
    sign_key_free(&nodes[1].key);
    begin_node(&nodes[1]);
    make_members(&end);
    settle();
    assert_int_equal(here(&nodes[1], "SELECT count(*) FROM agent_key"), 2);
}

/* Answers, nodes and questions of his own making stop no version, and make none active. */
TEST(test_forged_answers)
{
    struct why said;
    int64_t id;

    settle();
    id = load_and_ask(&nodes[0], POLICY, NULL);
    turn(&nodes[0]);
    turn(&nodes[0]);
    run(owner, "INSERT INTO callgate.compile_answer(asked_by, node, ask, problem, signature) SELECT asked_by, n, id, 'it does not', "
               "decode(repeat('ab', 64), 'hex') FROM callgate.compile_ask, (VALUES ('gate-2'), ('gate-9')) AS v (n)");
    run(owner, "INSERT INTO callgate.node SELECT 'gate-9', clock_timestamp() + interval '1 hour', clock_us, version, configuration, "
               "change, policy, behind, stale_us, shipped_seq, lag_rows, lag_us, problem FROM callgate.node WHERE name = 'gate-1'");
    run(owner, "INSERT INTO callgate.compile_ask(asked_by, id, version) SELECT 'a' || i, i, 1 FROM generate_series(1, 1600) AS i");
    turn(&nodes[0]);
    assert_int_equal(answer(&nodes[0], id, &said), -1); /* what is said in gate-2's name does not count */
    turn(&nodes[1]); /* questions under names of no node keep no true one waiting */
    turn(&nodes[0]);
    assert_int_equal(active(&nodes[0]), 1);
    /* nor does a yes: what is answered stands for that question alone */
    id = load_and_ask(&nodes[0], POLICY "  - {id: p.b, effect: permit, match: {tools: [b]}}\n", NULL);
    turn(&nodes[0]);
    run(owner, "UPDATE callgate.compile_answer SET ask = (SELECT id FROM callgate.compile_ask WHERE asked_by = 'gate-1'), problem = ''");
    beat(&nodes[1]);
    turn(&nodes[0]);
    assert_int_equal(active(&nodes[0]), 1);
    for (int i = 0; i < 5; i++)
        turn(&nodes[1]);
    turn(&nodes[0]);
    assert_int_equal(active(&nodes[0]), 2);
    settle();
    assert_true(answer(&nodes[0], id, &said) > 0);
}

/* Commands that were left before they ended make room for others. */
TEST(test_who_gives_up_makes_room)
{
    const struct store_fleet_answer left = {.problem = SPAN_LIT("left")};
    struct why said, why = {0};
    int64_t id;

    turn(&nodes[1]); /* it lives, and answers nothing */
    for (int i = 0; i < 20; i++) {
        id = load_and_ask(&nodes[0], POLICY, NULL);
        turn(&nodes[0]);
        beat(&nodes[1]);
        assert_int_equal(store_fleet_answer(nodes[0].store, id, &left, 1, &why), CODE_OK);
    }
    id = ask(&nodes[0], "key", AGENT("0a0b", "one"), NULL);
    settle();
    assert_true(answer(&nodes[0], id, &said) > 0);
}

/* This node's courier has taken what it put: that counts once its gate has said so, as a beat tells it. */
TEST(test_a_node_waits_for_its_own_gate)
{
    struct why said, why;
    int64_t id = ask(&nodes[0], "key", AGENT("0a0b", "one"), NULL);

    for (int i = 0; i < 2; i++) {
        assert_int_equal(turn_why(&nodes[0], &why), CODE_OK);
        assert_int_equal(here(&nodes[0], "SELECT count(*) FROM agent_key"), 1);
        assert_int_equal(answer(&nodes[0], id, &said), -1);
        assert_true(down_waits(nodes[0].down));
        now_us += SECOND;
    }
    turn(&nodes[0]);
    assert_int_equal(turn_why(&nodes[0], &why), CODE_OK);
    assert_int_equal(answer(&nodes[0], id, &said), 1);
    assert_string_equal(said.text, "gate-1 has it");
    assert_false(down_waits(nodes[0].down));
    id = ask(&nodes[0], "key", AGENT("0a0c", "two"), NULL);
    for (int i = 0; i < 5; i++, now_us += SECOND)
        assert_int_equal(turn_why(&nodes[0], &why), CODE_OK);
    assert_int_equal(answer(&nodes[0], id, &said), 2);
    assert_non_null(strstr(said.text, "no node has it; not yet: gate-1 (heard of "));
}

/* ---- what was lost, and what was there before ---- */

TEST(test_a_centre_of_yesterday)
{
    prepare();
    turn(&nodes[1]);
    run(owner, "DROP TABLE IF EXISTS public.kept; CREATE TABLE public.kept AS SELECT number, text, signature FROM "
               "callgate.change;"
               "DELETE FROM callgate.change WHERE number > 1");
    settle();
    assert_int_equal(pg_server_number(owner, "SELECT count(*) FROM callgate.change JOIN public.kept USING (number, text, "
                                             "signature)"), 4);
    run(owner, "DELETE FROM callgate.change"); /* a new, empty one */
    turn(&nodes[1]);
    assert_int_equal(pg_server_number(owner, "SELECT count(*) FROM callgate.change JOIN public.kept USING (number, text, "
                                             "signature)"), 4);
    assert_int_equal(here(&nodes[1], "SELECT count(*) FROM agent_key_revocation"), 1);
}

TEST(test_a_first_node_brings_its_store)
{
    struct why why;
    char sql[512];

    for (int i = 0; i < 2; i++) {
        snprintf(sql, sizeof sql, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700) INSERT INTO "
                                  "agent_key("
                 "digest, principal, tenant, made_us, made_by) SELECT CAST(printf('%%032d', i + %d) AS BLOB), 'p', 't', 1, "
                 "'a' FROM n; "
                 "INSERT INTO agent_key_revocation(key, revoked_us, revoked_by) VALUES (5, 1, 'a')", i * 1000);
        assert_int_equal(db_exec(nodes[i].store, sql), CODE_OK);
    }
    turn(&nodes[0]);
    assert_int_equal(here(&nodes[0], "SELECT count(*) FROM agent_key"), 700);
    assert_true(pg_server_number(owner, "SELECT count(*) FROM callgate.change") >= 2);
    refused_here(&nodes[1], "a store of its own", "of its own");
    assert_int_equal(db_exec(nodes[1].store, "DROP TRIGGER agent_key_remains; DROP TRIGGER agent_key_revocation_remains; "
                             "DELETE FROM agent_key_revocation; DELETE FROM agent_key"), CODE_OK);
    settle();
    assert_int_equal(here(&nodes[1], "SELECT count(*) FROM agent_key"), 700);
    assert_int_equal(here(&nodes[1], "SELECT count(*) FROM agent_key_revocation WHERE key = 5"), 1);
    (void)turn_why(&nodes[0], &why);
    assert_int_equal(here(&nodes[0], "SELECT count(*) FROM agent_key"), 700);
}

TEST(test_a_store_is_of_one_fleet)
{
    const struct down_self self = {.store = nodes[0].store, .fleet = SPAN_LIT("fedcba9876543210fedcba9876543210"),
                                   .node = SPAN_LIT("gate-1"), .key = nodes[0].key, .roster = &members};
    struct down *down;
    struct why why;

    assert_int_equal(down_new(&self, &down, &why), CODE_DENIED);
    assert_null(down);
}

int main(void)
{
    return pg_server_is_there() ? tests_run(begin, end) : 0;
}
