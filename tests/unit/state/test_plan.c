/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: how they are read, whose signature counts, which calls are steps. Number: 8.7 */
#include "state/plan.h"

#include "base/num.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

#define ID "0123456789abcdefghijkl"
#define HEAD "{\"callgate_plan\":1,\"expires\":1700003600,\"id\":\"" ID "\",\"issuer\":\"alice\",\"key\":\"k\",\"not_before\":1700000000,"
#define PLAN(steps) HEAD "\"order\":\"any\",\"principal\":\"bot\",\"steps\":" steps ",\"tenant\":\"acme\"}"
#define STEP(arguments) "{\"arguments\":" arguments ",\"tool\":\"buy\",\"upstream\":\"shop\"}"

struct room {
    struct arena arena;
    struct buf text, shown;
    struct sign_key *key;
    struct plan_key public;
    struct plan_keys keys;
    struct plan plan;
    struct why why;
};

static void enter(struct room *room)
{
    struct buf pem;

    *room = (struct room){.keys = {&room->public, 1}};
    arena_init(&room->arena, (size_t)16 << 20);
    buf_init(&room->text, (size_t)16 << 20);
    buf_init(&room->shown, (size_t)16 << 20);
    buf_init(&pem, 4096);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), &room->key), CODE_OK);
    assert_int_equal(sign_key_public(room->key, room->public.key), CODE_OK);
    room->public.id = SPAN_LIT("k");
    buf_fini(&pem);
}

static void leave(struct room *room)
{
    sign_key_free(&room->key);
    arena_fini(&room->arena);
    buf_fini(&room->text);
    buf_fini(&room->shown);
}

static enum code show(struct room *room, struct span shown)
{
    arena_reset(&room->arena);
    buf_clear(&room->text);
    room->why = (struct why){""};
    return plan_read(shown, &room->text, &room->arena, &room->plan, &room->why);
}

/* Signs whatever it is, as far as we sign such a text, and shows it. */
static enum code take(struct room *room, struct span text)
{
    unsigned char signature[SIGN_BYTES] = {0};

    buf_clear(&room->shown);
    assert_true((plan_sign(text, room->key, signature) == CODE_OK) == (text.len <= PLAN_TEXT_BYTES + 1));
    assert_int_equal(plan_write(text, signature, &room->shown), CODE_OK);
    return show(room, buf_peek(&room->shown));
}

TEST_CASE(test_a_signed_plan_is_read)
{
    static const char text[] = PLAN("[" STEP("{\"a\":{\"value\":1}}")
                                     ",{\"arguments\":\"any\",\"times\":3,\"tool\":\"t\",\"upstream\":\"u\"}]");
    struct room room;

    enter(&room);
    assert_int_equal(take(&room, span_text(text)), CODE_OK);
    assert_int_equal(plan_verify(&room.plan, &room.keys), CODE_OK);
    assert_true(span_is(room.plan.principal, "bot") && span_is(room.plan.tenant, "acme") && span_is(room.plan.issuer, "alice"));
    assert_int_equal(room.plan.step_count, 2);
    assert_int_equal(room.plan.step[0].times, 1);
    assert_int_equal(room.plan.step[1].times, 3);
    assert_false(room.plan.is_strict);
    room.public.id = SPAN_LIT("other");
    assert_int_equal(plan_verify(&room.plan, &room.keys), CODE_NOT_FOUND);
    room.public.id = SPAN_LIT("k");
    room.public.key[0] ^= 1;
    assert_int_equal(plan_verify(&room.plan, &room.keys), CODE_DENIED);
    leave(&room);
}

/* Each byte of what is shown matters. */
TEST_CASE(test_no_byte_may_change)
{
    struct room room;
    char changed[1024];
    size_t len;

    enter(&room);
    assert_int_equal(take(&room, SPAN_LIT(PLAN("[" STEP("\"any\"") "]"))), CODE_OK);
    len = buf_len(&room.shown);
    assert_true(len < sizeof changed);
    for (size_t i = 0; i < len; i++) {
        memcpy(changed, buf_peek(&room.shown).at, len);
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        if (show(&room, span_of(changed, len)) == CODE_OK)
            assert_int_not_equal(plan_verify(&room.plan, &room.keys), CODE_OK);
        memcpy(changed, buf_peek(&room.shown).at, len);
        assert_int_not_equal(show(&room, span_of(changed, i)), CODE_OK);
    }
    leave(&room);
}

TEST_CASE(test_what_is_refused)
{
    static const char *const texts[] = {
        "", "1", "[]", "{}", "null",
        PLAN("[]"), PLAN("{}"), PLAN("[1]"), PLAN("[{}]"),
        PLAN("[" STEP("1") "]"), PLAN("[" STEP("\"all\"") "]"), PLAN("[" STEP("{\"a\":1}") "]"), PLAN("[" STEP("{\"a\":{}}") "]"),
        PLAN("[" STEP("{\"a\":{\"optional\":true}}") "]"), PLAN("[" STEP("{\"a\":{\"open\":false}}") "]"),
        PLAN("[" STEP("{\"a\":{\"open\":true,\"optional\":false}}") "]"), PLAN("[" STEP("{\"a\":{\"digest\":\"00\"}}") "]"),
        PLAN("[" STEP("{\"a\":{\"digest\":\"0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF\"}}") "]"),
        PLAN("[" STEP("{\"a\":{\"digest\":1}}") "]"), PLAN("[" STEP("{\"a\":{\"open\":true,\"value\":1}}") "]"),
        PLAN("[" STEP("{\"a\":{\"value\":9007199254740993}}") "]"), /* no double: it has no canonical form */
        PLAN("[{\"arguments\":\"any\",\"times\":0,\"tool\":\"t\",\"upstream\":\"u\"}]"),
        PLAN("[{\"arguments\":\"any\",\"times\":10001,\"tool\":\"t\",\"upstream\":\"u\"}]"),
        PLAN("[{\"arguments\":\"any\",\"times\":1.5,\"tool\":\"t\",\"upstream\":\"u\"}]"),
        PLAN("[{\"arguments\":\"any\",\"tool\":\"\",\"upstream\":\"u\"}]"),
        PLAN("[{\"arguments\":\"any\",\"tool\":\"a\\nb\",\"upstream\":\"u\"}]"),
        PLAN("[{\"arguments\":\"any\",\"tool\":\"t\",\"upstream\":\"u\",\"z\":1}]"),
        PLAN("[{\"arguments\":\"any\",\"tool\":\"t\"}]"),
        /* not canonical, though the signature is good */
        " " PLAN("[" STEP("\"any\"") "]"), PLAN("[" STEP("\"any\"") "]") "\n",
        PLAN("[{\"tool\":\"t\",\"arguments\":\"any\",\"upstream\":\"u\"}]"),
        PLAN("[" STEP("{\"a\":{\"value\":1.0}}") "]"), PLAN("[" STEP("{\"a\":{\"value\":-0}}") "]"),
        PLAN("[" STEP("{\"a\":{\"value\":\"\\u0041\"}}") "]"), PLAN("[" STEP("{\"a\":{\"value\":\"\\/\"}}") "]"),
        /* doubled */
        PLAN("[" STEP("{\"a\":{\"open\":true},\"a\":{\"open\":true}}") "]"),
        HEAD "\"order\":\"any\",\"order\":\"any\",\"principal\":\"bot\",\"steps\":[" STEP("\"any\"") "],\"tenant\":\"acme\"}",
    };
    struct room room;

    enter(&room);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (take(&room, span_text(texts[i])) != CODE_INVALID || room.why.text[0] == '\0')
            fail_msg("taken: %s", texts[i]);
    leave(&room);
}

/* As many steps and bytes as the format allows, and no more, whatever somebody signs. */
TEST_CASE(test_bounds)
{
    static const unsigned counts[] = {256, 257, 10000};
    static const enum code wanted[] = {CODE_OK, CODE_INVALID, CODE_INVALID};
    struct room room;
    struct buf text;

    enter(&room);
    buf_init(&text, (size_t)4 << 20);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        buf_clear(&text);
        buf_add_text(&text, HEAD "\"order\":\"any\",\"principal\":\"bot\",\"steps\":[");
        for (unsigned step = 0; step < counts[i]; step++)
            buf_addf(&text, "%s{\"arguments\":{},\"tool\":\"t\",\"upstream\":\"u\"}", step > 0 ? "," : "");
        assert_int_equal(buf_add_text(&text, "],\"tenant\":\"acme\"}"), CODE_OK);
        assert_int_equal(take(&room, buf_peek(&text)), wanted[i]);
    }
    buf_clear(&text);
    buf_add_text(&text, HEAD "\"order\":\"any\",\"principal\":\"bot\",\"steps\":[{\"arguments\":{\"a\":{\"value\":\"");
    for (unsigned i = 0; i < PLAN_TEXT_BYTES; i++)
        buf_add_byte(&text, 'x');
    assert_int_equal(buf_add_text(&text, "\"}},\"tool\":\"t\",\"upstream\":\"u\"}],\"tenant\":\"acme\"}"), CODE_OK);
    assert_int_equal(take(&room, buf_peek(&text)), CODE_INVALID);
    buf_fini(&text);
    leave(&room);
}

/* ---- calls ---- */

static bool is_step(struct room *room, const char *planned, const char *arguments)
{
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct plan_fit fit;
    struct buf text, canonical;

    buf_init(&text, 65536);
    buf_init(&canonical, 65536);
    assert_int_equal(buf_addf(&text, PLAN("[" STEP("%s") "]"), planned), CODE_OK);
    if (take(room, buf_peek(&text)) != CODE_OK)
        fail_msg("%s: %s", planned, room->why.text);
    if (arguments != NULL)
        assert_int_equal(json_read(span_text(arguments), &json_request_rules, &canonical, &room->arena, &root, &fault), CODE_OK);
    assert_int_equal(plan_find(&room->plan, SPAN_LIT("shop"), SPAN_LIT("buy"), root, &fit), CODE_OK);
    assert_true((plan_step_differs(&room->plan, &room->plan.step[0], SPAN_LIT("shop"), SPAN_LIT("buy"), root) == NULL) ==
                plan_fits(&fit, 0));
    for (uint32_t i = 1; i < PLAN_STEPS_MAX; i++)
        assert_false(plan_fits(&fit, i));
    buf_fini(&text);
    buf_fini(&canonical);
    return plan_fits(&fit, 0);
}

TEST_CASE(test_arguments)
{
    static const struct {
        const char *planned, *call;
        bool fits;
    } cases[] = {
        {"\"any\"", NULL, true}, {"\"any\"", "{\"a\":[1,2]}", true},
        {"{}", NULL, true}, {"{}", "{}", true}, {"{}", "{\"a\":1}", false}, {"{}", "{\"a\":null}", false},
        {"{\"a\":{\"open\":true}}", "{\"a\":{\"b\":1}}", true}, {"{\"a\":{\"open\":true}}", "{}", false},
        {"{\"a\":{\"open\":true}}", NULL, false}, {"{\"a\":{\"open\":true}}", "{\"A\":1}", false},
        {"{\"a\":{\"open\":true}}", "{\"a\":1,\"b\":1}", false},
        {"{\"a\":{\"open\":true,\"optional\":true}}", NULL, true}, {"{\"a\":{\"open\":true,\"optional\":true}}", "{\"b\":1}", false},
        {"{\"a\":{\"value\":1}}", "{\"a\":1}", true}, {"{\"a\":{\"value\":1}}", "{\"a\":1.0}", true},
        {"{\"a\":{\"value\":1}}", "{\"a\":10e-1}", true}, {"{\"a\":{\"value\":1}}", "{\"a\":1.0000000000000000001}", false},
        {"{\"a\":{\"value\":1}}", "{\"a\":\"1\"}", false}, {"{\"a\":{\"value\":1}}", "{\"a\":true}", false},
        {"{\"a\":{\"optional\":true,\"value\":1}}", "{}", true}, {"{\"a\":{\"optional\":true,\"value\":1}}", "{\"a\":2}", false},
        {"{\"a\":{\"value\":null}}", "{}", false}, {"{\"a\":{\"value\":null}}", "{\"a\":null}", true},
        {"{\"a\":{\"value\":\"\xc3\xa4\"}}", "{\"a\":\"\xc3\xa4\"}", true},
        {"{\"a\":{\"value\":\"\xc3\xa4\"}}", "{\"a\":\"a\xcc\x88\"}", false}, /* the same for people, and other bytes */
        {"{\"a\":{\"value\":{\"x\":[1,2],\"y\":{}}}}", "{\"a\":{\"y\":{},\"x\":[1,2.0]}}", true},
        {"{\"a\":{\"value\":{\"x\":[1,2],\"y\":{}}}}", "{\"a\":{\"y\":{},\"x\":[2,1]}}", false},
        {"{\"a\":{\"value\":{\"x\":1}}}", "{\"a\":{\"x\":1,\"y\":1}}", false},
    };
    struct room room;

    enter(&room);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (is_step(&room, cases[i].planned, cases[i].call) != cases[i].fits)
            fail_msg("%s and %s", cases[i].planned, cases[i].call != NULL ? cases[i].call : "none");
    leave(&room);
}

TEST_CASE(test_digests)
{
    static const struct {
        const char *value, *call;
        bool fits;
    } cases[] = {
        {"1", "{\"a\":1}", true}, {"1", "{\"a\":1.0}", true}, {"1", "{\"a\":1e0}", true}, {"1", "{\"a\":2}", false},
        {"1", "{\"a\":\"1\"}", false}, {"\"x\"", "{\"a\":\"\\u0078\"}", true},
        {"1", "{\"a\":1.00000000000000000001}", false}, /* the same double, and another number */
        {"[1,{\"b\":2,\"a\":1}]", "{\"a\":[1,{\"a\":1,\"b\":2}]}", true}, {"[1,2]", "{\"a\":[2,1]}", false},
        {"\"\xe2\x80\xa8\"", "{\"a\":\"\\u2028\"}", true}, {"1", "{}", false}, {"1", "{\"a\":1,\"b\":1}", false},
    };
    const struct json_node *root;
    struct json_fault fault;
    struct room room;

    enter(&room);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char digest[DIGEST_BYTES];
        char planned[128];
        struct buf canonical;

        buf_init(&canonical, 4096);
        assert_int_equal(json_read(span_text(cases[i].value), &json_file_rules, &canonical, &room.arena, &root, &fault), CODE_OK);
        assert_int_equal(plan_argument_digest(SPAN_LIT(ID), root, digest), CODE_OK);
        snprintf(planned, sizeof planned, "{\"a\":{\"digest\":\"");
        num_hex(digest, sizeof digest, planned + strlen(planned));
        snprintf(planned + 16 + 64, sizeof planned - 80, "\"}}");
        if (is_step(&room, planned, cases[i].call) != cases[i].fits)
            fail_msg("%s and %s", cases[i].value, cases[i].call);
        buf_fini(&canonical);
    }
    leave(&room);
}

/* The digest is salted by the plan. */
TEST_CASE(test_a_digest_belongs_to_its_plan)
{
    static const struct json_node yes = {.type = JSON_TRUE, .raw = {"true", 4}};
    unsigned char one[DIGEST_BYTES], other[DIGEST_BYTES];

    assert_int_equal(plan_argument_digest(SPAN_LIT(ID), &yes, one), CODE_OK);
    assert_int_equal(plan_argument_digest(SPAN_LIT("another0another0another0"), &yes, other), CODE_OK);
    assert_memory_not_equal(one, other, sizeof one);
}

TEST_CASE(test_names)
{
    struct plan_fit fit;
    struct room room;

    enter(&room);
    assert_int_equal(take(&room, SPAN_LIT(PLAN("[" STEP("{}") "," STEP("\"any\"") "]"))), CODE_OK);
    assert_int_equal(plan_find(&room.plan, SPAN_LIT("shop"), SPAN_LIT("buy"), NULL, &fit), CODE_OK);
    assert_true(plan_fits(&fit, 0) && plan_fits(&fit, 1)); /* both; which is used is another question */
    assert_int_equal(plan_find(&room.plan, SPAN_LIT("shop"), SPAN_LIT("Buy"), NULL, &fit), CODE_OK);
    assert_false(plan_fits(&fit, 0) || plan_fits(&fit, 1));
    assert_int_equal(plan_find(&room.plan, SPAN_LIT("shop2"), SPAN_LIT("buy"), NULL, &fit), CODE_OK);
    assert_false(plan_fits(&fit, 0) || plan_fits(&fit, 1));
    leave(&room);
}

TEST_MAIN(NULL, NULL)
