/* SPDX-License-Identifier: Apache-2.0 */
/* 14.1, P192. */
#include "fleet/roster.h"

#include "base/mem.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

#define FLEET "00112233445566778899aabbccddeeff"

static struct sign_key *root;
static unsigned char root_public[SIGN_PUBLIC_BYTES];

static int make_root(void **state)
{
    static const unsigned char seed[SIGN_SEED_BYTES] = {7};

    (void)state;
    return sign_key_of_seed(seed, &root) == CODE_OK && sign_key_public(root, root_public) == CODE_OK ? 0 : -1;
}

static int drop_root(void **state)
{
    (void)state;
    sign_key_free(&root);
    return 0;
}

/* The public key of a node's seed of that byte. */
static void key_of(unsigned char first, unsigned char key[SIGN_PUBLIC_BYTES])
{
    const unsigned char seed[SIGN_SEED_BYTES] = {first, 1};
    struct sign_key *made;

    assert_int_equal(sign_key_of_seed(seed, &made), CODE_OK);
    assert_int_equal(sign_key_public(made, key), CODE_OK);
    sign_key_free(&made);
}

static void add(struct roster *roster, const char *name, unsigned char first)
{
    unsigned char key[SIGN_PUBLIC_BYTES];

    key_of(first, key);
    assert_int_equal(roster_add(roster, span_text(name), key), CODE_OK);
}

static struct roster *three(void)
{
    struct roster *roster;

    assert_int_equal(roster_new(FLEET, &roster), CODE_OK);
    add(roster, "gate-c", 3);
    add(roster, "gate-a", 1);
    add(roster, "gate-b", 2);
    roster->number = 3;
    return roster;
}

TEST_CASE(test_it_comes_back)
{
    struct roster *roster = three(), *read;
    unsigned char signature[SIGN_BYTES];
    struct buf text;
    struct why why = {0};

    assert_int_equal(roster_leave(roster, SPAN_LIT("gate-b"), 9, 70), CODE_OK);
    buf_init(&text, ROSTER_TEXT_BYTES);
    assert_int_equal(roster_write(roster, &text), CODE_OK);
    assert_int_equal(roster_sign(buf_peek(&text), root, signature), CODE_OK);
    if (roster_read(buf_peek(&text), span_of(signature, SIGN_BYTES), root_public, FLEET, &read, &why) != CODE_OK)
        fail_msg("%s", why.text);
    assert_int_equal(read->number, 3);
    assert_int_equal(read->count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(&read->nodes[i], &roster->nodes[i], sizeof read->nodes[i]);
    roster_free(&read);

    /* another byte, another root, another fleet, no signature, another's */
    text.block[text.head + 60] ^= 1;
    assert_int_equal(roster_read(buf_peek(&text), span_of(signature, SIGN_BYTES), root_public, FLEET, &read, &why), CODE_DENIED);
    assert_null(read);
    text.block[text.head + 60] ^= 1;
    assert_int_equal(roster_read(buf_peek(&text), SPAN_NONE, root_public, FLEET, &read, &why), CODE_DENIED);
    assert_int_equal(roster_read(buf_peek(&text), span_of(signature, SIGN_BYTES), roster->nodes[0].key, FLEET, &read, &why), CODE_DENIED);
    assert_int_equal(sign_text(root, buf_peek(&text), signature), CODE_OK); /* by the root, as something else */
    assert_int_equal(roster_read(buf_peek(&text), span_of(signature, SIGN_BYTES), root_public, FLEET, &read, &why), CODE_DENIED);
    assert_int_equal(roster_sign(buf_peek(&text), root, signature), CODE_OK);
    assert_int_equal(roster_read(buf_peek(&text), span_of(signature, SIGN_BYTES), root_public, "ff" FLEET, &read, &why), CODE_INVALID);
    assert_non_null(strstr(why.text, "another fleet's"));
    buf_fini(&text);
    roster_free(&roster);
}

/* A key counts for the changes that its node signed while it was one. */
TEST_CASE(test_who_signs_what)
{
    struct roster *roster = three();
    unsigned char key[SIGN_PUBLIC_BYTES], old[SIGN_PUBLIC_BYTES], young[SIGN_PUBLIC_BYTES];

    key_of(2, old);
    key_of(8, young);
    assert_true(roster_key_of(roster, SPAN_LIT("gate-b"), 1000, key));
    assert_int_equal(roster_leave(roster, SPAN_LIT("gate-b"), 9, 0), CODE_OK);
    assert_int_equal(roster_leave(roster, SPAN_LIT("gate-b"), 9, 0), CODE_NOT_FOUND);
    assert_null(roster_find(roster, SPAN_LIT("gate-b")));
    assert_true(roster_key_of(roster, SPAN_LIT("gate-b"), 9, key));
    assert_memory_equal(key, old, sizeof key);
    assert_false(roster_key_of(roster, SPAN_LIT("gate-b"), 10, key));
    add(roster, "gate-b", 8); /* it comes back */
    assert_true(roster_key_of(roster, SPAN_LIT("gate-b"), 9, key));
    assert_memory_equal(key, old, sizeof key);
    assert_true(roster_key_of(roster, SPAN_LIT("gate-b"), 10, key));
    assert_memory_equal(key, young, sizeof key);
    assert_int_equal(roster_leave(roster, SPAN_LIT("gate-c"), ROSTER_NONE, 0), CODE_OK); /* it never signed any */
    assert_false(roster_key_of(roster, SPAN_LIT("gate-c"), 1, key));
    assert_false(roster_key_of(roster, SPAN_LIT("gate-"), 1, key));
    roster_free(&roster);
}

TEST_CASE(test_names)
{
    static const char *const good[] = {"a", "0", "gate-eu-1", "a--b"}, *const bad[] = {"", "-a", "Gate", "a b", "a_b", "ä", "a\"b"};
    char longest[FLEET_NAME_BYTES + 1];

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(fleet_name_is_good(span_text(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(fleet_name_is_good(span_text(bad[i])));
    memset(longest, 'x', sizeof longest);
    assert_true(fleet_name_is_good(span_of(longest, 63)));
    assert_false(fleet_name_is_good(span_of(longest, 64)));
}

#define NODES(more) \
    "{\"format\":1,\"fleet\":\"" FLEET "\",\"number\":1,\"change\":0,\"hash\":\"" \
    "0000000000000000000000000000000000000000000000000000000000000000\",\"nodes\":[{\"name\":\"a\",\"key\":" \
    "\"6e7a1cdd29b0b78fd13af4c5598feff4ef2a97166e3ca6f2e4fbfccd80505bf1\"," more "}]}"

/* What its root signed is read strictly, too. */
TEST_CASE(test_what_is_none)
{
    static const char *const texts[] = {
        "", "[]", "{}", "{\"format\":2,\"fleet\":\"" FLEET "\",\"number\":1,\"nodes\":[]}",
        "{\"format\":1,\"fleet\":\"" FLEET "\",\"number\":0,\"nodes\":[]}",
        "{\"format\":1,\"fleet\":\"" FLEET "\",\"number\":1,\"nodes\":{}}",
        "{\"format\":1,\"fleet\":\"" FLEET "\",\"number\":1,\"nodes\":[1]}",
        "{\"format\":1,\"fleet\":\"" FLEET "\",\"number\":1,\"nodes\":[{\"name\":\"a\",\"key\":\"00\"}]}",
        /* a key that vouches for nothing */
        "{\"format\":1,\"fleet\":\"" FLEET "\",\"number\":1,\"nodes\":[{\"name\":\"a\",\"key\":"
        "\"0000000000000000000000000000000000000000000000000000000000000000\"}]}",
        /* rows of one that is there, and fewer than none of one that has left */
        NODES("\"rows\":7"), NODES("\"until\":1,\"rows\":0"), NODES("\"until\":1,\"rows\":\"7\""),
    };
    unsigned char signature[SIGN_BYTES];
    struct roster *roster;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct why why = {0};

        assert_int_equal(roster_sign(span_text(texts[i]), root, signature), CODE_OK);
        assert_int_equal(roster_read(span_text(texts[i]), span_of(signature, SIGN_BYTES), root_public, FLEET, &roster, &why), CODE_INVALID);
        assert_null(roster);
        assert_true(why.text[0] != '\0');
    }
    assert_int_equal(roster_sign(span_text(NODES("\"until\":1,\"rows\":7")), root, signature), CODE_OK); /* and this is one */
    assert_int_equal(roster_read(span_text(NODES("\"until\":1,\"rows\":7")), span_of(signature, SIGN_BYTES), root_public, FLEET, &roster,
                                 NULL), CODE_OK);
    assert_int_equal(roster->nodes[0].rows, 7);
    roster_free(&roster);
}

TEST_CASE(test_without_memory)
{
    struct roster *roster = three(), *read = NULL;
    unsigned char signature[SIGN_BYTES];
    struct buf text;
    enum code code = CODE_NOMEM;

    buf_init(&text, ROSTER_TEXT_BYTES);
    assert_int_equal(roster_write(roster, &text), CODE_OK);
    assert_int_equal(roster_sign(buf_peek(&text), root, signature), CODE_OK);
    for (uint64_t nth = 1; code != CODE_OK; nth++) {
        mem_fail_at(nth, 1);
        code = roster_read(buf_peek(&text), span_of(signature, SIGN_BYTES), root_public, FLEET, &read, NULL);
        mem_fail_at(0, 0);
        assert_true(code == CODE_OK ? read != NULL : read == NULL);
        assert_in_range(nth, 1, 100);
    }
    roster_free(&read);
    buf_fini(&text);
    roster_free(&roster);
}

TEST_MAIN(make_root, drop_root)
