/* SPDX-License-Identifier: Apache-2.0 */
/* 10.35: a key of checkpoints hands over to another by a checkpoint that both sign; what follows from a key that somebody trusts. */
#include "proof/succession.h"
#include "fakes/cm.h"

#define KEYS 4

static struct sign_key *keys[KEYS];
static struct note_key publics[KEYS];

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < KEYS; i++) {
        struct buf pem;

        buf_init(&pem, 4096);
        assert_int_equal(sign_key_make(&pem), CODE_OK);
        assert_int_equal(sign_key_read(buf_peek(&pem), &keys[i]), CODE_OK);
        assert_int_equal(sign_key_public(keys[i], publics[i].public), CODE_OK);
        buf_fini(&pem);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < KEYS; i++)
        sign_key_free(&keys[i]);
    return 0;
}

static void write_one(size_t before, size_t after, uint64_t size, struct buf *out)
{
    const struct note note = {.origin = SPAN_LIT("callgate/0123"), .size = size, .root = {7}, .time_us = 17};

    buf_init(out, NOTE_BYTES);
    assert_int_equal(succession_write(&note, keys[before], keys[after], out), CODE_OK);
}

static void add(struct successions *all, size_t before, size_t after, uint64_t size)
{
    struct buf text;

    write_one(before, after, size, &text);
    assert_int_equal(succession_read(buf_peek(&text), &all->at[all->count++]), CODE_OK);
    buf_fini(&text);
}

TEST_CASE(test_both_keys_sign)
{
    struct succession read;
    struct buf text, other;

    write_one(0, 1, 9, &text);
    assert_int_equal(succession_read(buf_peek(&text), &read), CODE_OK);
    assert_int_equal(read.size, 9);
    assert_string_equal(read.origin, "callgate/0123");
    assert_memory_equal(read.before.public, publics[0].public, SIGN_PUBLIC_BYTES);
    assert_memory_equal(read.after.public, publics[1].public, SIGN_PUBLIC_BYTES);
    for (size_t at = 0; at < buf_len(&text); at++) { /* any letter of it that is another one, and any end of it that is missing */
        buf_init(&other, NOTE_BYTES);
        assert_int_equal(buf_add_span(&other, buf_peek(&text)), CODE_OK);
        other.block[at] = (char)(other.block[at] ^ 1);
        assert_int_equal(succession_read(buf_peek(&other), &read), CODE_INVALID);
        assert_int_equal(succession_read(span_part(buf_peek(&text), 0, at), &read), CODE_INVALID);
        buf_fini(&other);
    }
    buf_fini(&text);
    write_one(2, 2, 9, &text);
    assert_int_equal(succession_read(buf_peek(&text), &read), CODE_INVALID); /* to itself */
    buf_fini(&text);
}

static void expect(const struct successions *all, size_t given, const long long ends[KEYS])
{
    struct keyring ring = {.count = 0};

    keyring_add(&ring, &publics[given]);
    successions_follow(all, &ring);
    for (size_t i = 0; i < KEYS; i++) {
        size_t at = keyring_find(&ring, &publics[i]);

        assert_int_equal(at < ring.count ? (long long)ring.ends[at] : -1, ends[i]);
    }
}

TEST_CASE(test_what_follows)
{
    struct successions all = {.count = 0};

    add(&all, 1, 2, 20); /* in whatever order */
    add(&all, 0, 1, 10);
    expect(&all, 0, (long long[]){0, 0, 0, -1});
    expect(&all, 1, (long long[]){10, 0, 0, -1});
    expect(&all, 2, (long long[]){10, 20, 0, -1});
    expect(&all, 3, (long long[]){-1, -1, -1, 0});
    add(&all, 0, 1, 15); /* killed, and done again */
    expect(&all, 2, (long long[]){15, 20, 0, -1});
    add(&all, 0, 1, 25); /* behind the end of the key that it goes to, for who trusts the last alone */
    expect(&all, 2, (long long[]){15, 20, 0, -1});
    expect(&all, 1, (long long[]){25, 0, 0, -1});
}

/* Who took a key that was replaced makes another its successor, at a size from before. */
TEST_CASE(test_a_key_with_an_end_hands_over_to_nobody)
{
    struct successions all = {.count = 0};

    add(&all, 0, 1, 10);
    add(&all, 0, 3, 9);
    expect(&all, 1, (long long[]){10, 0, -1, -1});
    expect(&all, 0, (long long[]){0, 0, -1, 0}); /* who trusts that key trusts whom it signs for */
}

TEST_CASE(test_a_key_comes_back)
{
    struct successions all = {.count = 0};

    add(&all, 0, 1, 10);
    add(&all, 1, 0, 20);
    expect(&all, 0, (long long[]){0, 0, -1, -1});
    expect(&all, 1, (long long[]){0, 0, -1, -1});
}

TEST_MAIN(setup, teardown)
