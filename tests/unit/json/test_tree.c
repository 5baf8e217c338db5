/* SPDX-License-Identifier: Apache-2.0 */
#include "json_help.h"

static const char sample[] =
    "{\"a\":[1,-2.5e3,\"x\\ny\",null,true,false,[],{}],\"b\\t\":{\"c\":\"\\u2028\",\"d\":{\"e\":0}},\"\":\"plain\"}";

TEST_CASE(builds_the_tree)
{
    struct document d;
    const struct json_node *list, *node;

    read_doc(&d, span_text(sample), &json_request_rules);
    assert_int_equal(d.code, CODE_OK);
    assert_int_equal(d.root->type, JSON_OBJECT);
    assert_int_equal(d.root->count, 3);
    assert_true(span_equals(d.root->raw, buf_peek(&d.canon)));
    assert_int_equal(d.root->key.len, 0);
    assert_null(d.root->next);
    list = json_at(d.root, "a", NULL);
    assert_int_equal(list->count, 8);
    assert_true(span_is(list->raw, "[1,-2.5e3,\"x\\ny\",null,true,false,[],{}]"));
    node = list->child;
    assert_true(node->type == JSON_NUMBER && span_is(node->raw, "1") && span_is_empty(node->text));
    node = node->next;
    assert_true(node->type == JSON_NUMBER && span_is(node->raw, "-2.5e3"));
    node = node->next;
    assert_true(node->type == JSON_STRING && span_is(node->raw, "\"x\\ny\"") && span_is(node->text, "x\ny"));
    node = node->next;
    assert_true(node->type == JSON_NULL && span_is(node->raw, "null"));
    node = node->next;
    assert_int_equal(node->type, JSON_TRUE);
    node = node->next;
    assert_int_equal(node->type, JSON_FALSE);
    node = node->next;
    assert_true(node->type == JSON_ARRAY && node->count == 0 && node->child == NULL && span_is(node->raw, "[]"));
    node = node->next;
    assert_true(node->type == JSON_OBJECT && node->count == 0 && span_is(node->raw, "{}") && node->next == NULL);
    assert_true(span_is(json_at(d.root, "b\t", "c", NULL)->text, "\xe2\x80\xa8"));
    assert_true(span_is(json_at(d.root, "b\t", "d", "e", NULL)->raw, "0"));
    assert_null(json_at(d.root, "b\t", "x", "e", NULL));
    assert_null(json_at(d.root, "a", "0", NULL));
    assert_null(json_member(d.root, SPAN_LIT("A")));
    assert_true(span_is(json_member(d.root, SPAN_NONE)->text, "plain"));
    assert_null(json_member(NULL, SPAN_LIT("a")));
    free_doc(&d);
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

struct trace {
    struct buf text;
    uint32_t stop_at;
    uint32_t seen;
};

static enum code note(void *context, const struct json_event *event)
{
    static const char *const kinds[] = {"scalar", "begin", "end"};
    struct trace *trace = context;

    if (++trace->seen == trace->stop_at)
        return CODE_DENIED;
    return buf_addf(&trace->text, "%s %d %u [%.*s] (%.*s) %zu %zu %zu\n", kinds[event->kind], event->type, event->depth,
                    SPAN_ARG(event->key), SPAN_ARG(event->text), event->member, event->begin, event->end);
}

TEST_CASE(walks_with_events)
{
    struct trace trace = {.stop_at = 0};
    struct json_fault fault;
    struct buf out;

    buf_init(&out, 1000);
    buf_init(&trace.text, 10000);
    assert_int_equal(buf_add_text(&out, "12345"), CODE_OK); /* offsets count from here */
    assert_int_equal(json_walk(SPAN_LIT("{ \"a\\n\" : [ 10, \"t\\u0009\" , {\"\\u0085\" : null} ], \"b\" : "
                                        "{\"c\": true}, \"d\":false}"),
                               &json_reply_rules, &out, note, &trace, &fault), CODE_OK);
    assert_true(span_is(buf_peek(&out), "12345{\"a\\n\":[10,\"t\\t\",{\"\\u0085\":null}],\"b\":{\"c\":true},\"d\":false}"));
    assert_true(span_is(buf_peek(&trace.text), "begin 7 0 [] () 0 0 0\n"
                                               "begin 6 1 [a\n] () 1 7 7\n"
                                               "scalar 4 2 [] (10) 8 8 10\n"
                                               "scalar 5 2 [] (t\t) 11 11 16\n"
                                               "begin 7 2 [] () 17 17 17\n"
                                               "scalar 1 3 [\xc2\x85] () 18 27 31\n"
                                               "end 7 2 [] () 17 17 32\n"
                                               "end 6 1 [a\n] () 1 7 33\n"
                                               "begin 7 1 [b] () 34 38 38\n"
                                               "scalar 3 2 [c] () 39 43 47\n"
                                               "end 7 1 [b] () 34 38 48\n"
                                               "scalar 2 1 [d] () 49 53 58\n"
                                               "end 7 0 [] () 0 0 59\n"));
    buf_fini(&trace.text);
    buf_fini(&out);
}

TEST_CASE(leaves_deep_strings_undecoded)
{
    struct json_rules rules = json_reply_rules;
    struct trace trace = {.stop_at = 0};
    struct json_fault fault;
    struct buf out;

    rules.text_depth = 1;
    buf_init(&out, 1000);
    buf_init(&trace.text, 10000);
    assert_int_equal(json_walk(SPAN_LIT("{\"a\":\"\\n\",\"b\\n\":{\"c\\n\":\"\\n\",\"d\":\"e\",\"f\":1}}"), &rules, &out, note, &trace,
                               &fault), CODE_OK);
    assert_true(span_is(buf_peek(&trace.text), "begin 7 0 [] () 0 0 0\n"
                                               "scalar 5 1 [a] (\n) 1 5 9\n"
                                               "begin 7 1 [b\n] () 10 16 16\n"
                                               "scalar 5 2 [c\n] () 17 23 27\n"
                                               "scalar 5 2 [d] () 28 32 35\n"
                                               "scalar 4 2 [f] (1) 36 40 41\n"
                                               "end 7 1 [b\n] () 10 16 42\n"
                                               "end 7 0 [] () 0 0 43\n"));
    buf_fini(&trace.text);
    buf_fini(&out);
}

TEST_CASE(an_event_ends_the_walk)
{
    struct json_fault fault;
    struct buf out;

    for (uint32_t stop = 1; stop <= 14; stop++) {
        struct trace trace = {.stop_at = stop};
        enum code code;

        buf_init(&out, 1000);
        buf_init(&trace.text, 10000);
        code = json_walk(span_text(sample), &json_reply_rules, &out, note, &trace, &fault);
        assert_int_equal(code, CODE_DENIED);
        assert_int_equal(fault.kind, JSON_FAULT_NONE);
        assert_int_equal(buf_len(&out), 0);
        assert_int_equal(trace.seen, stop);
        buf_fini(&trace.text);
        buf_fini(&out);
    }
}

static enum code ignore(void *context, const struct json_event *event)
{
    (void)context;
    (void)event;
    return CODE_OK;
}

TEST_CASE(walk_fails_without_memory)
{
    struct json_fault fault;
    struct buf out;
    uint64_t n;
    enum code code;

    for (n = 1;; n++) {
        buf_init(&out, 1000);
        mem_fail_at(n, 0);
        code = json_walk(span_text(sample), &json_reply_rules, &out, ignore, NULL, &fault);
        mem_fail_at(0, 0);
        buf_fini(&out);
        if (code == CODE_OK)
            break;
        assert_int_equal(code, CODE_NOMEM);
    }
    assert_true(n >= 3);
}

/* ---- a tree beside events ---- */

struct growing {
    struct trace trace;
    struct json_tree tree;
    struct arena arena;
    const char *wanted; /* the member of which there is to be a tree; NULL: of the root */
};

static enum code grow(void *context, const struct json_event *event)
{
    struct growing *growing = context;
    bool is_it = growing->wanted == NULL ? event->depth == 0 : span_is(event->key, growing->wanted);

    if (is_it && event->kind != JSON_EVENT_END)
        growing->tree.arena = &growing->arena;
    return note(&growing->trace, event);
}

static enum code walk_growing(struct growing *growing, const char *wanted, size_t arena_bytes, const struct json_rules *rules,
                              struct buf *out)
{
    struct json_fault fault;

    *growing = (struct growing){.wanted = wanted};
    arena_init(&growing->arena, arena_bytes);
    buf_init(&growing->trace.text, 10000);
    buf_init(out, 1000);
    return json_walk_tree(span_text(sample), rules, out, &growing->tree, grow, growing, &fault);
}

static void end_growing(struct growing *growing, struct buf *out)
{
    arena_fini(&growing->arena);
    buf_fini(&growing->trace.text);
    buf_fini(out);
}

/* 11.3: the same tree as json_read's of that value, over the walk's own bytes, and the same events */
TEST_CASE(grows_a_tree_beside_events)
{
    static const char *const values[] = {NULL, "a", "b\t", "d", "c"};
    struct growing bare, growing;
    struct buf bare_out, out;
    struct document d;

    read_doc(&d, span_text(sample), &json_reply_rules);
    assert_int_equal(walk_growing(&bare, "nowhere", 1 << 20, &json_reply_rules, &bare_out), CODE_OK);
    assert_null(bare.tree.root);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct json_node *same = i == 0 ? d.root : json_at(i == 3 || i == 4 ? json_at(d.root, "b\t", NULL) : d.root, values[i], NULL);
        const struct json_node *root;

        assert_int_equal(walk_growing(&growing, values[i], 1 << 20, &json_reply_rules, &out), CODE_OK);
        root = growing.tree.root;
        assert_non_null(root);
        assert_null(growing.tree.arena);
        assert_false(growing.tree.is_full);
        assert_true(json_equal(root, same) && span_equals(root->raw, same->raw) && span_equals(root->key, same->key));
        assert_ptr_equal(root->raw.at, buf_peek(&out).at + (same->raw.at - buf_peek(&d.canon).at));
        assert_null(root->next); /* what follows is no part of it */
        assert_true(span_equals(buf_peek(&growing.trace.text), buf_peek(&bare.trace.text)));
        end_growing(&growing, &out);
    }
    end_growing(&bare, &bare_out);
    free_doc(&d);
}

/* Where there is no room for it, the walk goes on. */
TEST_CASE(walks_on_without_a_tree)
{
    size_t full = 0;

    for (size_t bytes = 0;; bytes += 64) {
        struct growing growing;
        struct buf out;

        assert_int_equal(walk_growing(&growing, NULL, bytes, &json_reply_rules, &out), CODE_OK);
        assert_int_equal(growing.trace.seen, 21);
        assert_int_equal(growing.tree.is_full, growing.tree.root == NULL);
        full += growing.tree.is_full;
        end_growing(&growing, &out);
        if (!growing.tree.is_full)
            break;
    }
    assert_true(full >= 3);
}

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

static int compare(const char *a, const char *b)
{
    return json_number_compare(span_text(a), span_text(b));
}

static bool is_spelled_alike(const char *a, const char *b)
{
    struct buf one, other;
    bool is_alike;

    buf_init(&one, 1024);
    buf_init(&other, 1024);
    assert_int_equal(json_number_plain(span_text(a), &one), CODE_OK);
    assert_int_equal(json_number_plain(span_text(b), &other), CODE_OK);
    is_alike = span_equals(buf_peek(&one), buf_peek(&other));
    buf_fini(&one);
    buf_fini(&other);
    return is_alike;
}

/* 1.20: numbers are compared as the decimals that were written */
TEST_CASE(compares_decimals)
{
    static const char *const equal[][2] = {
        {"10", "10.0"}, {"10", "1e1"}, {"10", "0.1e2"}, {"10", "100e-1"}, {"0", "-0"}, {"0", "0e99999999999999999999"},
        {"0.0", "-0.000e-5"}, {"1.50", "1.5"}, {"-2.5E+3", "-2500"}, {"0.001", "1e-3"}, {"123456789012345678901234567890",
        "1.2345678901234567890123456789e29"}, {"10e-99999999999999999999", "1e-99999999999999999998"},
        {"0.1e-99999999999999999999", "1e-100000000000000000000"}, {"1e00000000000000000000000002", "100"}};
    /* Each is less than the next. */
    static const char *const rising[] = {
        "-1.7976931348623157e308", "-1e20", "-11", "-10.5", "-10", "-9.99", "-1", "-0.5", "-1e-99999999999999999999", "0",
        "1e-100000000000000000000000000001", "1e-100000000000000000000000000000", "1e-99999999999999999999", "1e-400", "0.001",
        "0.0010000000000000000000001", "0.002", "0.1", "0.30000000000000004", "0.30000000000000005", "1",
        "1.0000000000000000000001", "2", "9", "9.5", "10", "11", "99", "100", "9007199254740992", "9007199254740993", "1e20",
        "1.1e20", "1e300", "1.7976931348623157e308"};

    for (size_t i = 0; i < sizeof equal / sizeof equal[0]; i++) {
        assert_int_equal(compare(equal[i][0], equal[i][1]), 0);
        assert_int_equal(compare(equal[i][1], equal[i][0]), 0);
        if (strstr(equal[i][0], "9999999") == NULL) /* 10.25: one spelling for both */
            assert_true(is_spelled_alike(equal[i][0], equal[i][1]));
    }
    for (size_t i = 0; i < sizeof rising / sizeof rising[0]; i++)
        for (size_t j = 0; j < sizeof rising / sizeof rising[0]; j++) {
            int order = compare(rising[i], rising[j]);

            assert_true(i < j ? order < 0 : i > j ? order > 0 : order == 0);
            assert_int_equal(is_spelled_alike(rising[i], rising[j]), i == j);
        }
}

TEST_CASE(knows_integers)
{
    static const char *const whole[] = {"0", "-0", "1", "-17", "5.0", "1e2", "1.5e1", "1.50e1", "100e-2", "0e-9", "0.00",
                                        "1234.000", "1e300", "1e99999999999999999999"};
    static const char *const broken[] = {"0.5", "-1.5", "1e-1", "15e-1", "1.55e1", "1e-99999999999999999999", "100e-3",
                                         "0.1", "1.0000000000000001"};
    static const char *const unsafe[] = {"9007199254740992", "-9007199254740992", "9007199254740993", "1e16",
                                         "9007199254740992.0", "1e300"};
    static const char *const safe[] = {"9007199254740991", "-9007199254740991", "0", "1e15", "9007199254740991.5",
                                       "9007199254740992.5", "0.1"};

    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        assert_true(json_number_is_integer(span_text(whole[i])));
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        assert_false(json_number_is_integer(span_text(broken[i])));
    for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; i++)
        assert_true(json_number_is_unsafe(span_text(unsafe[i])));
    for (size_t i = 0; i < sizeof safe / sizeof safe[0]; i++)
        assert_false(json_number_is_unsafe(span_text(safe[i])));
}

/* ---- equality ----------------------------------------------------------------------------------------------------- */

static bool equal_texts(const char *a, const char *b)
{
    struct document left, right;
    bool equal;

    read_doc(&left, span_text(a), &json_file_rules);
    read_doc(&right, span_text(b), &json_file_rules);
    assert_true(left.code == CODE_OK && right.code == CODE_OK);
    equal = json_equal(left.root, right.root);
    assert_true(json_equal(right.root, left.root) == equal);
    free_doc(&left);
    free_doc(&right);
    return equal;
}

TEST_CASE(compares_values)
{
    assert_true(equal_texts("{\"a\":1,\"b\":[1,2],\"c\":null}", "{\"c\":null,\"b\":[1.0,2e0],\"a\":10e-1}"));
    assert_true(equal_texts("\"\\u0041\"", "\"A\""));
    assert_true(equal_texts("[[],{}]", "[[],{}]"));
    assert_false(equal_texts("[1,2]", "[2,1]"));
    assert_false(equal_texts("[1,2]", "[1,2,3]"));
    assert_false(equal_texts("{\"a\":1}", "{\"a\":2}"));
    assert_false(equal_texts("{\"a\":1}", "{\"b\":1}"));
    assert_false(equal_texts("{\"a\":1}", "{\"A\":1}"));
    assert_false(equal_texts("{\"a\":1}", "{\"a\":1,\"b\":1}"));
    assert_false(equal_texts("{\"a\":null}", "{}"));
    assert_false(equal_texts("1", "\"1\""));
    assert_false(equal_texts("0", "false"));
    assert_false(equal_texts("null", "false"));
    assert_false(equal_texts("[]", "{}"));
    assert_false(equal_texts("\"a\"", "\"A\""));
    assert_false(equal_texts("{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}"));
}

/* 7.4: sums are exact, or there is none. */
TEST_CASE(test_scaled)
{
    static const struct {
        const char *lexeme;
        enum code code;
        uint64_t value;
    } rows[] = {
        {"0", CODE_OK, 0}, {"-0", CODE_OK, 0}, {"-0.0e9", CODE_OK, 0}, {"1", CODE_OK, 1000000}, {"19.99", CODE_OK, 19990000},
        {"0.1", CODE_OK, 100000}, {"0.3", CODE_OK, 300000}, {"1e-6", CODE_OK, 1}, {"1E+1", CODE_OK, 10000000},
        {"10.0000000000", CODE_OK, 10000000}, {"0.0000010", CODE_OK, 1}, {"123e-2", CODE_OK, 1230000},
        {"0.00001e5", CODE_OK, 1000000}, {"18446744073709.551615", CODE_OK, UINT64_MAX},
        {"18446744073709.551616", CODE_LIMIT, 0}, {"1e14", CODE_LIMIT, 0}, {"1e99999999999999999999", CODE_LIMIT, 0},
        {"1e-7", CODE_INVALID, 0}, {"0.30000000000000004", CODE_INVALID, 0}, {"1e-99999999999999999999", CODE_INVALID, 0},
        {"-1", CODE_INVALID, 0}, {"-1e-9", CODE_INVALID, 0}, {"100.0000001", CODE_INVALID, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t value = 7;

        assert_int_equal(json_number_scaled(span_text(rows[i].lexeme), 6, &value), rows[i].code);
        if (rows[i].code == CODE_OK)
            assert_int_equal(value, rows[i].value);
    }
}

TEST_MAIN(NULL, NULL)
