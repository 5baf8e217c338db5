/* SPDX-License-Identifier: Apache-2.0 */
/* 14.2: a change of a fleet has one text, one place and one signer; whatever else a database shows in its place is refused. */
#include "fleet/change.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

#define FLEET "0123456789abcdef0123456789abcdef"
#define ROWS "{\"agent_key_revocation\":[{\"why\":null,\"key\":7,\"revoked_us\":1700000000000000,\"revoked_by\":\"anna\"}]}"

static struct buf text, bytes;
static struct arena arena;
static struct why why;

static struct change first(void)
{
    return (struct change){.fleet = SPAN_LIT(FLEET), .node = SPAN_LIT("gate-eu-1"), .by = SPAN_LIT("anna"),
                           .kind = SPAN_LIT("agent_key_revocation"), .number = 1, .outbox = 3, .time_us = 1700000000000000};
}

static int set_up(void **state)
{
    (void)state;
    buf_init(&text, CHANGE_TEXT_BYTES);
    buf_init(&bytes, CHANGE_TEXT_BYTES);
    arena_init(&arena, (size_t)64 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_fini(&text);
    buf_fini(&bytes);
    arena_fini(&arena);
    return 0;
}

static enum code read_text(const char *from, struct change *change)
{
    buf_clear(&bytes);
    arena_reset(&arena);
    why.text[0] = '\0';
    return change_read(span_text(from), &arena, &bytes, change, &why);
}

static const char *written(const struct change *change, const char *rows)
{
    static char out[4096];

    buf_clear(&text);
    assert_int_equal(change_write(change, span_text(rows), &text, &why), CODE_OK);
    snprintf(out, sizeof out, "%.*s", SPAN_ARG(buf_peek(&text)));
    return out;
}

TEST_CASE(test_is_read_as_written)
{
    struct change made = first(), read;

    memset(made.previous, 0xab, sizeof made.previous);
    assert_int_equal(read_text(written(&made, ROWS), &read), CODE_OK);
    assert_true(span_is(read.fleet, FLEET) && span_is(read.node, "gate-eu-1") && span_is(read.by, "anna"));
    assert_true(span_is(read.kind, "agent_key_revocation"));
    assert_int_equal(read.number, 1);
    assert_int_equal(read.outbox, 3);
    assert_int_equal(read.time_us, 1700000000000000);
    assert_memory_equal(read.previous, made.previous, DIGEST_BYTES);
    assert_non_null(json_member(read.rows, SPAN_LIT("agent_key_revocation")));
}

/* Each of these says the same to some reader, or another thing to another one. */
TEST_CASE(test_has_one_text)
{
#define HEAD "{\"by\":\"anna\",\"fleet\":\"" FLEET "\",\"kind\":\"hold\",\"node\":\"a\","
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define TAIL "\"outbox\":0,\"previous\":\"" ZEROS "\",\"rows\":{\"audit_hold\":[{\"id\":1}]},\"time_us\":1}"
    static const char *const tricks[] = {
        HEAD "\"number\":1,\"number\":2," TAIL,                 /* twice */
        HEAD "\"number\":1," TAIL " ",                          /* a blank behind */
        " " HEAD "\"number\":1," TAIL,
        HEAD "\"number\": 1," TAIL,
        HEAD "\"number\":1.0," TAIL,                            /* another spelling of a number */
        HEAD "\"number\":1e0," TAIL,
        HEAD "\"number\":\"1\"," TAIL,
        HEAD "\"number\":0," TAIL,
        HEAD "\"number\":-1," TAIL,
        HEAD "\"number\":9007199254740994," TAIL,
        HEAD "\"numb\\u0065r\":1," TAIL,                        /* an escape that need not be */
        HEAD "\"number\":1,\"more\":true," TAIL,                /* a member more */
        HEAD TAIL,                                              /* one less */
        "{\"fleet\":\"" FLEET "\",\"by\":\"anna\",\"kind\":\"hold\",\"node\":\"a\",\"number\":1," TAIL, /* another order */
        "[" HEAD "\"number\":1," TAIL "]",
        HEAD "\"number\":1," TAIL HEAD "\"number\":1," TAIL,
        "{\"by\":\"\",\"fleet\":\"" FLEET "\",\"kind\":\"hold\",\"node\":\"a\",\"number\":1," TAIL,
        "{\"by\":\"anna\",\"fleet\":\"" FLEET "\",\"kind\":\"hold\",\"node\":\"../a\",\"number\":1," TAIL,
        "{\"by\":\"anna\",\"fleet\":\"short\",\"kind\":\"hold\",\"node\":\"a\",\"number\":1," TAIL,
        HEAD "\"number\":1,\"outbox\":0,\"previous\":\"" ZEROS "\",\"rows\":{},\"time_us\":1}",
        HEAD "\"number\":1,\"outbox\":0,\"previous\":\"" ZEROS "\",\"rows\":{\"audit_hold\":[]},\"time_us\":1}",
        HEAD "\"number\":1,\"outbox\":0,\"previous\":\"" ZEROS "\",\"rows\":{\"audit_hold\":[1]},\"time_us\":1}",
        HEAD "\"number\":1,\"outbox\":0,\"previous\":\"00\",\"rows\":{\"audit_hold\":[{\"id\":1}]},\"time_us\":1}",
        "", "null", "{}", "{\"by\":1}", "\xff",
    };
    struct change read;

    assert_int_equal(read_text(HEAD "\"number\":1," TAIL, &read), CODE_OK);
    for (size_t i = 0; i < sizeof tricks / sizeof *tricks; i++) {
        assert_int_equal(read_text(tricks[i], &read), CODE_INVALID);
        assert_true(why.text[0] != '\0');
    }
}

TEST_CASE(test_is_signed_by_one_key)
{
    unsigned char public[2][SIGN_PUBLIC_BYTES], signature[SIGN_BYTES], bare[SIGN_BYTES], digest[DIGEST_BYTES];
    struct sign_key *key[2];
    struct change made = first();
    struct buf pem;
    char kept[4096];

    for (int i = 0; i < 2; i++) {
        buf_init(&pem, 4096);
        assert_int_equal(sign_key_make(&pem), CODE_OK);
        assert_int_equal(sign_key_read(buf_peek(&pem), &key[i]), CODE_OK);
        assert_int_equal(sign_key_public(key[i], public[i]), CODE_OK);
        buf_fini(&pem);
    }
    snprintf(kept, sizeof kept, "%s", written(&made, ROWS));
    assert_int_equal(change_sign(span_text(kept), key[0], signature), CODE_OK);
    assert_true(change_is_signed(span_text(kept), span_of(signature, sizeof signature), public[0]));
    assert_false(change_is_signed(span_text(kept), span_of(signature, sizeof signature), public[1]));
    assert_false(change_is_signed(span_text(kept), span_of(signature, sizeof signature - 1), public[0]));
    assert_false(change_is_signed(span_text(kept), SPAN_NONE, public[0]));
    /* what the key signs elsewhere is no change */
    assert_int_equal(sign_text(key[0], span_text(kept), bare), CODE_OK);
    assert_false(change_is_signed(span_text(kept), span_of(bare, sizeof bare), public[0]));
    digest_of(span_text(kept), digest);
    assert_int_equal(sign_text(key[0], span_of(digest, sizeof digest), bare), CODE_OK);
    assert_false(change_is_signed(span_text(kept), span_of(bare, sizeof bare), public[0]));
    made.number = 2;
    assert_false(change_is_signed(span_text(written(&made, ROWS)), span_of(signature, sizeof signature), public[0]));
    sign_key_free(&key[0]);
    sign_key_free(&key[1]);
}

TEST_CASE(test_has_its_place)
{
    unsigned char hash[DIGEST_BYTES] = {0}, another[DIGEST_BYTES] = {1};
    struct change made = first(), read;

    assert_int_equal(read_text(written(&made, ROWS), &read), CODE_OK);
    assert_int_equal(change_goes_on(&read, SPAN_LIT(FLEET), 0, hash, &why), CODE_OK);
    assert_int_equal(change_goes_on(&read, SPAN_LIT("f123456789abcdef0123456789abcdef"), 0, hash, &why), CODE_INVALID);
    assert_int_equal(change_goes_on(&read, SPAN_LIT(FLEET), 1, hash, &why), CODE_INVALID);
    assert_int_equal(change_goes_on(&read, SPAN_LIT(FLEET), 0, another, &why), CODE_INVALID);
}

TEST_CASE(test_is_not_written_wrong)
{
    struct change made = first();

    made.node = SPAN_LIT("-a");
    assert_int_equal(change_write(&made, SPAN_LIT(ROWS), &text, &why), CODE_INVALID);
    made = first();
    assert_int_equal(change_write(&made, SPAN_LIT("{\"a\":[{\"b\":12345678901234567890123}]}"), &text, &why), CODE_INVALID);
    buf_clear(&text);
    assert_int_equal(change_write(&made, SPAN_LIT("{\"a\":[{\"b\":1,\"b\":2}]}"), &text, &why), CODE_INVALID);
    buf_clear(&text);
}

TEST_MAIN(set_up, tear_down)
