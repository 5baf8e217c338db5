/* SPDX-License-Identifier: Apache-2.0 */
/* 11.3: what is left out of a document, or written anew in it, is so in its bytes and in the tree over them. */
#include "json_help.h"

static const char sample[] =
    "{\"a\":[1,\"x\\ny\",null,[],{},\"z\"],"
    "\"b\\t\":{\"c\":\"\\u2028\",\"d\":{\"e\":0,\"f\":\"\"}},\"\":\"plain\",\"g\":[[\"h\"],[\"i\\\\\"]],\"j\":\"k\"}";
static const char *const texts[] = {"", "a", "\n\"\\", "longer than most that stand there, so that bytes have to move", "\xe2\x80\xa8"};

static unsigned state_of_chance;

static unsigned chance(unsigned most)
{
    state_of_chance = state_of_chance * 1664525 + 1013904223;
    return (state_of_chance >> 16) % most;
}

/* What is done with a value: it stays, or is left out, or is written anew as one of the texts. */
enum { STAYS = 0, LEFT_OUT, WRITTEN };
struct fate {
    int kind;
    const char *text;
};
static struct fate fates[64];
static size_t fate_count;

static void mark(const struct document *d, const struct json_node *node, bool is_member, bool is_root, struct json_edits *edits)
{
    size_t begin = (size_t)(node->raw.at - buf_peek(&d->canon).at), end = begin + node->raw.len;
    struct fate *fate = &fates[fate_count++];

    *fate = (struct fate){.kind = STAYS, .text = texts[chance(5)]};
    if (!is_root && chance(4) == 0)
        fate->kind = LEFT_OUT;
    else if (node->type == JSON_STRING && chance(3) == 0)
        fate->kind = WRITTEN;
    for (const struct json_node *child = node->child; child != NULL; child = child->next)
        mark(d, child, node->type == JSON_OBJECT, false, edits);
    if (fate->kind == LEFT_OUT && is_member) /* behind what lies in it */
        assert_int_equal(json_edits_cut_member(edits, buf_peek(&d->canon), node), CODE_OK);
    else if (fate->kind == LEFT_OUT)
        assert_int_equal(json_edits_cut(edits, begin, end), CODE_OK);
    else if (fate->kind == WRITTEN)
        assert_int_equal(json_edits_say(edits, begin, end, span_text(fate->text)), CODE_OK);
}

/* The same, written from the tree. */
static void write_left(const struct json_node *node, struct buf *out)
{
    const struct fate *fate = &fates[fate_count++];
    bool is_first = true;

    if (node->type != JSON_OBJECT && node->type != JSON_ARRAY) {
        if (fate->kind == WRITTEN)
            json_write_string(out, span_text(fate->text));
        else
            buf_add_span(out, node->raw);
        return;
    }
    buf_add_byte(out, node->type == JSON_OBJECT ? '{' : '[');
    for (const struct json_node *child = node->child; child != NULL; child = child->next) {
        bool is_out = fates[fate_count].kind == LEFT_OUT;
        struct buf_mark before = buf_mark(out);

        if (!is_first)
            buf_add_byte(out, ',');
        if (node->type == JSON_OBJECT) {
            json_write_string(out, child->key);
            buf_add_byte(out, ':');
        }
        write_left(child, out);
        if (is_out)
            buf_rewind(out, before);
        is_first = is_first && is_out;
    }
    buf_add_byte(out, node->type == JSON_OBJECT ? '}' : ']');
}

static void is_same(const struct json_node *node, const struct json_node *wanted, const char *from, const char *wanted_from)
{
    const struct json_node *child = node->child, *other = wanted->child;

    assert_int_equal(node->type, wanted->type);
    assert_int_equal(node->count, wanted->count);
    assert_int_equal(node->raw.at - from, wanted->raw.at - wanted_from);
    assert_int_equal(node->raw.len, wanted->raw.len);
    assert_true(span_equals(node->text, wanted->text) && span_equals(node->key, wanted->key));
    for (; child != NULL && other != NULL; child = child->next, other = other->next)
        is_same(child, other, from, wanted_from);
    assert_true(child == NULL && other == NULL);
}

TEST_CASE(the_tree_follows)
{
    for (unsigned seed = 0; seed < 20000; seed++) {
        struct json_edits edits;
        struct document d, wanted;
        struct buf left;

        state_of_chance = seed;
        read_doc(&d, span_text(sample), &json_reply_rules);
        buf_fit(&d.canon); /* no room, so that the bytes have to move elsewhere */
        buf_init(&left, 4096);
        json_edits_init(&edits);
        fate_count = 0;
        mark(&d, d.root, false, true, &edits);
        fate_count = 0;
        write_left(d.root, &left);
        assert_int_equal(json_edits_apply(&edits, &d.canon, &d.arena, d.root), CODE_OK);
        if (!span_equals(buf_peek(&d.canon), buf_peek(&left)))
            print_error("seed %u: %.*s\nnot %.*s\n", seed, SPAN_ARG(buf_peek(&d.canon)), SPAN_ARG(buf_peek(&left)));
        assert_true(span_equals(buf_peek(&d.canon), buf_peek(&left)));
        read_doc(&wanted, buf_peek(&left), &json_reply_rules);
        is_same(d.root, wanted.root, buf_peek(&d.canon).at, buf_peek(&wanted.canon).at);
        json_edits_fini(&edits);
        buf_fini(&left);
        free_doc(&wanted);
        free_doc(&d);
    }
}

/* Edits come in any order; canonical JSON goes in as it is; a tree of a part, and none, follow as well. */
TEST_CASE(edits_any_place)
{
    struct json_edits edits;
    struct document d;
    struct json_node part;

    read_doc(&d, SPAN_LIT("{\"id\":\"1\",\"result\":{\"x\":[1,2]},\"error\":null}"), &json_reply_rules);
    part = (struct json_node){.raw = json_at(d.root, "result", NULL)->raw};
    json_edits_init(&edits);
    assert_int_equal(json_edits_cut(&edits, 31, 43), CODE_OK);
    assert_int_equal(json_edits_put(&edits, 6, 9, SPAN_LIT("1.50")), CODE_OK);
    assert_int_equal(json_edits_apply(&edits, &d.canon, NULL, &part), CODE_OK);
    assert_true(span_is(buf_peek(&d.canon), "{\"id\":1.50,\"result\":{\"x\":[1,2]}}"));
    assert_true(span_is(part.raw, "{\"x\":[1,2]}"));
    json_edits_fini(&edits);
    json_edits_init(&edits);
    assert_int_equal(json_edits_apply(&edits, &d.canon, NULL, NULL), CODE_OK); /* none */
    assert_int_equal(json_edits_cut(&edits, 1, 10), CODE_OK);
    assert_int_equal(json_edits_cut(&edits, 11, 31), CODE_OK);
    assert_int_equal(json_edits_apply(&edits, &d.canon, NULL, NULL), CODE_OK);
    assert_true(span_is(buf_peek(&d.canon), "{}"));
    json_edits_fini(&edits);
    free_doc(&d);
}

/* Over its cap a document is as it was. */
TEST_CASE(keeps_the_cap)
{
    struct json_edits edits;
    struct document d;

    read_doc(&d, SPAN_LIT("[\"a\",\"bcdefgh\"]"), &json_reply_rules);
    d.canon.cap_bytes = 20;
    for (size_t more = 5; more <= 6; more++) {
        json_edits_init(&edits);
        assert_int_equal(json_edits_say(&edits, 1, 4, span_part(SPAN_LIT("123456789"), 0, 1 + more)), CODE_OK);
        assert_int_equal(json_edits_apply(&edits, &d.canon, NULL, NULL), more == 5 ? CODE_OK : CODE_LIMIT);
        assert_true(span_is(buf_peek(&d.canon), "[\"123456\",\"bcdefgh\"]"));
        json_edits_fini(&edits);
    }
    free_doc(&d);
}

TEST_MAIN(NULL, NULL)
