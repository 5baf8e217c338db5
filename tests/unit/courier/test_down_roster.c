/* SPDX-License-Identifier: Apache-2.0 */
/* 14.2, P196: who is of a fleet is what its root key signed, and the newest of it: a centre shows a roster of another root,
 * one of before under a new number, none, or a true one. */
#include "courier/down_roster.h"
#include "down_bench.h"

static struct down_roster roster;
static struct sign_key *root, *stranger;
static unsigned char root_public[SIGN_PUBLIC_BYTES];

static struct sign_key *make_key(unsigned char public[SIGN_PUBLIC_BYTES])
{
    struct sign_key *key;
    struct buf pem;

    buf_init(&pem, 4096);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), &key), CODE_OK);
    assert_int_equal(sign_key_public(key, public), CODE_OK);
    buf_fini(&pem);
    return key;
}

/* A roster of that number with the first `count` nodes, signed. */
static void make(int64_t number, int count, const struct sign_key *key, struct buf *text, unsigned char signature[SIGN_BYTES])
{
    struct roster *made;

    assert_int_equal(roster_new(FLEET, &made), CODE_OK);
    for (int i = 0; i < count; i++)
        assert_int_equal(roster_add(made, span_text(nodes[i].name), nodes[i].public), CODE_OK);
    made->number = number;
    buf_clear(text);
    assert_int_equal(roster_write(made, text), CODE_OK);
    assert_int_equal(roster_sign(buf_peek(text), key, signature), CODE_OK);
    roster_free(&made);
}

static void show(int64_t as, int64_t number, int count, const struct sign_key *key)
{
    unsigned char signature[SIGN_BYTES];
    struct why why = {0};
    struct buf text;

    buf_init(&text, ROSTER_TEXT_BYTES);
    make(number, count, key, &text, signature);
    assert_int_equal(pg_ask(owner, "INSERT INTO callgate.roster(number, text, signature) VALUES ($1, $2, $3)",
                            PG_VALUES(pg_of_int(as), pg_of_bytes(buf_peek(&text)),
                                      pg_of_bytes(span_of(signature, sizeof signature))), NULL, &why), CODE_OK);
    buf_fini(&text);
}

static void open_roster(void)
{
    unsigned char signature[SIGN_BYTES];
    struct why why = {0};
    struct buf text;

    buf_init(&text, ROSTER_TEXT_BYTES);
    make(2, 2, root, &text, signature);
    assert_int_equal(down_roster_open(&roster, nodes[0].store, root_public, FLEET, buf_peek(&text),
                                      span_of(signature, sizeof signature), &why), CODE_OK);
    buf_fini(&text);
}

static bool knows(int node)
{
    unsigned char key[SIGN_PUBLIC_BYTES];

    return down_roster_key_of(&roster, span_text(nodes[node].name), 5, key) &&
           memcmp(key, nodes[node].public, sizeof key) == 0;
}

static void test_the_newest_that_is_signed(void **state)
{
    unsigned char other[SIGN_PUBLIC_BYTES];
    struct why why;

    (void)state;
    root = make_key(root_public);
    stranger = make_key(other);
    open_roster();
    assert_true(knows(0) && knows(1) && !knows(2));
    assert_int_equal(down_roster_turn(&roster, nodes[0].pg, &why), CODE_OK); /* the centre has none */
    show(3, 3, 3, stranger);
    assert_int_equal(down_roster_turn(&roster, nodes[0].pg, &why), CODE_DENIED);
    assert_false(knows(2));
    run(owner, "DELETE FROM callgate.roster");
    show(9, 1, 3, root); /* one of before, which the root did sign */
    assert_int_equal(down_roster_turn(&roster, nodes[0].pg, &why), CODE_INVALID);
    assert_false(knows(2));
    run(owner, "DELETE FROM callgate.roster");
    show(3, 3, 3, root);
    assert_int_equal(down_roster_turn(&roster, nodes[0].pg, &why), CODE_OK);
    assert_true(knows(2));
    /* it is known after a restart, too, whatever the centre shows then */
    run(owner, "DELETE FROM callgate.roster");
    show(2, 2, 2, root);
    down_roster_close(&roster);
    open_roster();
    assert_int_equal(down_roster_turn(&roster, nodes[0].pg, &why), CODE_OK);
    assert_int_equal(roster.now->number, 3);
    assert_true(knows(2));
    /* and what somebody wrote into the store is verified as what came from the centre */
    assert_int_equal(db_exec(nodes[0].store, "UPDATE fleet_roster SET signature = zeroblob(64)"), CODE_OK);
    down_roster_close(&roster);
    {
        unsigned char signature[SIGN_BYTES];
        struct buf text;

        buf_init(&text, ROSTER_TEXT_BYTES);
        make(2, 2, root, &text, signature);
        assert_int_equal(down_roster_open(&roster, nodes[0].store, root_public, FLEET, buf_peek(&text),
                                          span_of(signature, sizeof signature), &why), CODE_DENIED);
        buf_fini(&text);
    }
    down_roster_close(&roster);
    sign_key_free(&root);
    sign_key_free(&stranger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_the_newest_that_is_signed)};

    return pg_server_is_there() ? cmocka_run_group_tests(tests, begin, end) : 0;
}
