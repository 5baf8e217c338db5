/* SPDX-License-Identifier: Apache-2.0 */
/* 14.2, P196: who is of a fleet is what its root key signed, and the newest of it: a centre shows a roster of another root,
 * one of before under a new number, none, any number of rows that are none, or a true one. */
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

    return roster_key_of(roster.now, span_text(nodes[node].name), 5, key) &&
           memcmp(key, nodes[node].public, sizeof key) == 0;
}

/* Takes: refused: what it says of rows that are none; "": nothing; NULL: whatever. */
static void look(const char *refused)
{
    struct why why = {""};

    if (down_roster_turn(&roster, nodes[0].pg, &why) != CODE_OK)
        fail_msg("%s", why.text);
    if (refused != NULL && strcmp(refused, "") == 0 ? roster.refused.text[0] != '\0'
                                                    : refused != NULL && strstr(roster.refused.text, refused) == NULL)
        fail_msg("\"%s\" where \"%s\" was to be said", roster.refused.text, refused);
}

TEST(test_the_newest_that_is_signed)
{
    unsigned char other[SIGN_PUBLIC_BYTES];
    struct why why;

    root = make_key(root_public);
    stranger = make_key(other);
    open_roster();
    assert_true(knows(0) && knows(1) && !knows(2));
    look(""); /* the centre has none, and gets this one */
    assert_int_equal(pg_server_number(owner, "SELECT number FROM callgate.roster"), 2);
    show(3, 3, 3, stranger);
    look("not signed");
    assert_false(knows(2));
    run(owner, "DELETE FROM callgate.roster");
    show(9, 1, 3, root); /* one of before, which the root did sign */
    look("roster of before");
    assert_false(knows(2));
    /* rows that nobody signed keep back none that is: however large their numbers, and however many they are */
    run(owner, "INSERT INTO callgate.roster(number, text, signature) SELECT i, '{}', '' FROM generate_series(1000, 1200) AS i");
    run(owner, "INSERT INTO callgate.roster(number, text, signature) VALUES (9223372036854775807, '{}', '')");
    look("not signed");
    show(3, 3, 3, root);
    look(NULL);
    assert_true(knows(2));
    run(owner, "INSERT INTO callgate.roster(number, text, signature) SELECT i, '{}', '' FROM generate_series(4, 29) AS i WHERE i <> 9");
    show(30, 30, 2, root);
    for (int i = 0; i < 60 && roster.now->number != 30; i++) /* once round all that is there */
        assert_int_equal(down_roster_turn(&roster, nodes[0].pg, &why), CODE_OK);
    assert_int_equal(roster.now->number, 30);
    for (int i = 0; i < 60; i++)
        assert_int_equal(down_roster_turn(&roster, nodes[0].pg, &why), CODE_OK);
    assert_int_equal(roster.now->number, 30);
    show(31, 31, 3, root);
    look(NULL);
    assert_int_equal(roster.now->number, 31);
    /* it is known after a restart, too, whatever the centre shows then, which gets it again */
    run(owner, "DELETE FROM callgate.roster");
    show(2, 2, 2, root);
    down_roster_close(&roster);
    open_roster();
    look("");
    assert_int_equal(roster.now->number, 31);
    assert_true(knows(2));
    assert_int_equal(pg_server_number(owner, "SELECT max(number) FROM callgate.roster"), 31);
    run(owner, "DELETE FROM callgate.roster");
    down_roster_anew(&roster);
    look("");
    assert_int_equal(pg_server_number(owner, "SELECT max(number) FROM callgate.roster"), 31);
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
    return pg_server_is_there() ? tests_run(begin, end) : 0;
}
