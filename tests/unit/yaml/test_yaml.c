/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml/yaml.h"

#include "base/buf.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include "fakes/cm.h"

static struct yaml_tree *read_good(const char *text)
{
    struct faults faults;
    struct yaml_tree *tree;
    enum code code;

    faults_init(&faults);
    code = yaml_read(span_text(text), "x.yaml", &tree, &faults);
    if (code != CODE_OK)
        fail_msg("%s: %s at %d:%d: %s", text, code_text(code), faults.fault[0].line, faults.fault[0].column,
                 faults.fault[0].text);
    assert_int_equal(faults.count, 0);
    return tree;
}

static void expect_json(const char *text, const char *json)
{
    struct yaml_tree *tree = read_good(text);
    struct buf out;

    buf_init(&out, 1 << 20);
    assert_int_equal(yaml_to_json(yaml_root(tree), &out), CODE_OK);
    if (!span_is(buf_peek(&out), json))
        fail_msg("%s gave %.*s instead of %s", text, SPAN_ARG(buf_peek(&out)), json);
    buf_fini(&out);
    yaml_tree_free(&tree);
    assert_null(tree);
}

/* The first fault stands at line:column and holds `words`. */
static void expect_fault_of(struct span text, int line, int column, const char *words)
{
    struct faults faults;
    struct yaml_tree *tree;

    faults_init(&faults);
    assert_int_equal(yaml_read(text, "x.yaml", &tree, &faults), CODE_INVALID);
    assert_null(tree);
    assert_true(faults.count > 0);
    assert_string_equal(faults.fault[0].file, "x.yaml");
    if (strstr(faults.fault[0].text, words) == NULL || faults.fault[0].line != line || faults.fault[0].column != column)
        fail_msg("%.*s: `%s` at %d:%d instead of `%s` at %d:%d", SPAN_ARG(text), faults.fault[0].text,
                 faults.fault[0].line, faults.fault[0].column, words, line, column);
}

static void expect_fault(const char *text, int line, int column, const char *words)
{
    expect_fault_of(span_text(text), line, column, words);
}

TEST_CASE(test_core_types)
{
    expect_json("[null, Null, NULL, ~, ]", "[null,null,null,null]");
    expect_json("a:\nb: ''\n", "{\"a\":null,\"b\":\"\"}");
    expect_json("[true, True, TRUE, false, False, FALSE]", "[true,true,true,false,false,false]");
    expect_json("[yes, no, on, off, y, n, tRue]", "[\"yes\",\"no\",\"on\",\"off\",\"y\",\"n\",\"tRue\"]");
}

TEST_CASE(test_numbers)
{
    struct yaml_tree *tree = read_good("[12, 1.0, 1e3, 0x10, '1', 1:30, 2024-11-05, 0x, 1_000, 1e, 0o9, .e1, -, +]");
    const struct yaml_node *node = yaml_root(tree)->child;
    static const enum yaml_type types[] = {YAML_INT, YAML_FLOAT, YAML_FLOAT, YAML_INT};

    for (size_t i = 0; node != NULL; i++, node = node->next)
        assert_int_equal(node->type, i < 4 ? types[i] : YAML_STRING);
    yaml_tree_free(&tree);
    expect_json("[0, -0, +7, -12, 0x1F, 0o17, 0xffffffffffffffff]", "[0,-0,7,-12,31,15,18446744073709551615]");
    expect_json("[1.50, .5, 5., -.5e3, +1e-7, 1E+2, 12345678901234567890.10]",
                "[1.50,0.5,5.0,-0.5e3,1e-7,1E+2,12345678901234567890.10]");
    expect_fault("[010]", 1, 2, "leading zero");
    expect_fault("[00.5]", 1, 2, "leading zero");
    expect_fault("a: .inf", 1, 4, "infinity");
    expect_fault("a: .NaN", 1, 4, "not-a-number");
    expect_fault("a: 1e400", 1, 4, "too large");
    expect_fault("a: 0x10000000000000000", 1, 4, "64 bits");
}

TEST_CASE(test_long_numbers)
{
    char text[512];

    memset(text, '1', sizeof text);
    expect_fault_of(span_of(text, 401), 1, 1, "400 digits");
    expect_fault_of(span_of(text, 400), 1, 1, "too large");
    text[0] = '0';
    text[1] = '.';
    {
        struct faults faults;
        struct yaml_tree *tree;

        faults_init(&faults);
        assert_int_equal(yaml_read(span_of(text, 300), "x", &tree, &faults), CODE_OK);
        yaml_tree_free(&tree);
    }
}

TEST_CASE(test_strings)
{
    expect_json("'(?i)\\b(drop)\\b'", "\"(?i)\\\\b(drop)\\\\b\"");
    expect_json("\"a\\tb\\u00e4\\n\\x01\\x7f\\\"\\\\\\/\"", "\"a\\tb\xc3\xa4\\n\\u0001\x7f\\\"\\\\/\"");
    expect_json("\"\\N\\L\\P\\b\\f\\r\\v\"", "\"\\u0085\\u2028\\u2029\\b\\f\\r\\u000b\"");
    expect_json("\"\xe2\x82\xac\xc2\xa7\"", "\"\xe2\x82\xac\xc2\xa7\"");
    expect_json("a: |\n  one\n  two\nb: >\n  one\n  two\n", "{\"a\":\"one\\ntwo\\n\",\"b\":\"one two\\n\"}");
    expect_json("plain words\n  over lines", "\"plain words over lines\"");
    expect_json("{\"a\\\"b\": 1}", "{\"a\\\"b\":1}");
}

TEST_CASE(test_json_is_a_subset)
{
    expect_json("{\"a\": [1, 2.5e3, true, null, {\"b\":\"c\"}], \"d\":{}, \"e\":[]}",
                "{\"a\":[1,2.5e3,true,null,{\"b\":\"c\"}],\"d\":{},\"e\":[]}");
    expect_json("", "null");
    expect_json("# only a comment\n", "null");
    expect_json("--- {a: 1}\n...\n", "{\"a\":1}");
}

TEST_CASE(test_places)
{
    struct yaml_tree *tree = read_good("a: 1\r\n\"\xc3\xa4\xc3\xb6\": [x,\n  {b: y}]\n");
    const struct yaml_node *list = yaml_root(tree)->child->next;
    const struct yaml_node *b = yaml_member(list->child->next, "b");

    assert_string_equal(yaml_file(tree), "x.yaml");
    assert_int_equal(list->key_line, 2);
    assert_int_equal(list->key_column, 1);
    assert_int_equal(list->line, 2);
    assert_int_equal(list->column, 9); /* in bytes: each umlaut counts two */
    assert_int_equal(list->count, 2);
    assert_int_equal(b->key_line, 3);
    assert_int_equal(b->key_column, 4);
    assert_int_equal(b->column, 7);
    assert_true(span_is(b->key, "b"));
    assert_null(yaml_member(list, "b"));
    assert_null(yaml_member(yaml_root(tree), "A"));
    assert_null(yaml_member(NULL, "a"));
    yaml_tree_free(&tree);
}

TEST_CASE(test_refused_features)
{
    expect_fault("a: &x 1\n", 1, 4, "anchor");
    expect_fault("a: &x [1]\n", 1, 4, "anchor");
    expect_fault("a: &x {b: 1}\n", 1, 4, "anchor");
    expect_fault("a: 1\nb: *a\n", 2, 4, "alias");
    expect_fault("*a : 1\n", 1, 1, "alias");
    expect_fault("a: !!int 1\n", 1, 4, "tag");
    expect_fault("a: ! 12\n", 1, 4, "tag");
    expect_fault("a: ! '12'\n", 1, 4, "tag");
    expect_fault("! a: 12\n", 1, 1, "tag");
    expect_fault("a: !x {b: 1}\n", 1, 4, "tag");
    expect_fault("a: ! [b]\n", 1, 4, "tag");
    expect_fault("a: {<<: {b: 1}}\n", 1, 5, "merge key");
    expect_fault("a: 1\n---\nb: 2\n", 2, 1, "second document");
    expect_fault("%YAML 1.1\n---\na: 1\n", 1, 1, "directive");
    expect_fault("%TAG ! tag:x,2000:\n---\na: 1\n", 1, 1, "directive");
    expect_fault("[a, b]: 1\n", 1, 1, "as a key");
    expect_fault("? {a: b}\n: 1\n", 1, 3, "as a key");
    expect_fault("?\n: 1\n", 1, 2, "key is missing");
    expect_json("{'<<': 1, '!': '&*'}", "{\"<<\":1,\"!\":\"&*\"}");
}

TEST_CASE(test_duplicates)
{
    expect_fault("a: 1\nb: 2\n'a': 3\n", 3, 1, "`a` is written twice, first in line 1");
    expect_fault("x:\n  - {k: 1, \"\\u006b\": 2}\n", 2, 12, "`k` is written twice");
    expect_fault("1: a\n'1': b\n", 2, 1, "twice");
    expect_json("{a: 1, A: 2}", "{\"a\":1,\"A\":2}");
}

TEST_CASE(test_bytes)
{
    expect_fault_of(SPAN_LIT("a: b\0c"), 1, 5, "NUL byte");
    expect_fault("a: \"\\0\"", 1, 4, "NUL character");
    expect_fault("\xef\xbb\xbf" "a: 1", 1, 1, "byte order mark");
    expect_fault("a: 1\nb: x\xe2\x80\xa8y", 2, 5, "U+2028");
    expect_fault("a: x\xc2\x85y", 1, 5, "U+0085");
    expect_fault("a: x # \xe2\x80\xae", 1, 8, "bidi");
    expect_fault("a: \xff", 1, 4, "UTF-8");
    expect_fault("a: \xc0\xaf", 1, 4, "UTF-8");
    expect_fault("a: \xed\xa0\x80", 1, 4, "UTF-8");
    expect_fault("a: \x01", 1, 4, "escape");
    expect_fault("a: \"\\ud800\"", 1, 7, "Unicode");
    expect_fault("a: [1, 2\nb: 3\n", 2, 2, "what `[` opens in line 1 is not closed; write `]`");
    expect_fault("a: 'open\n", 2, 1, "the quote that opens in line 1 is not closed");
    expect_fault("a:\n\t- b\n", 2, 1, "a tab");
    expect_fault("a: b\nc: {d: e, ", 2, 11, "or the bracket that closes"); /* 2.10: the text has no third line */
}

/* 7.5: what an author wrote is told in words, at the place that is to be mended, with what to write instead. */
TEST_CASE(test_slips)
{
    static const struct {
        const char *text;
        int line, column;
        const char *words;
    } slips[] = {
        {"a: [*]", 1, 5, "a value that begins with `*` means something else in YAML; quote it: '*'"},
        {"a: *\n", 1, 4, "quote it: '*'"},
        {"a:\n  - *\n", 2, 5, "quote it: '*'"},
        {"a: {b: *x.*, c: d}", 1, 8, "quote it: '*x.*'"},
        {"a: [b, *_read]", 1, 8, "`*_read` is an alias in YAML; quote it where a text is meant: '*_read'"},
        {"a: & b\n", 1, 4, "begins with `&`"},
        {"a: &b\n", 1, 4, "or quote a text that begins with &"},
        {"a: !b\n", 1, 4, "or quote a text that begins with !"},
        {"a: %2e\n", 1, 4, "a value cannot begin with `%` in YAML; quote it: '%2e'"},
        {"%2e\n", 1, 1, "quote it: '%2e'"},
        {"a: @b c\n", 1, 4, "a value cannot begin with `@` in YAML; quote it: '@b c'"},
        {"a: [@b, c]", 1, 5, "quote it: '@b'"},
        {"a: `b`\n", 1, 4, "quote it: '`b`'"},
        {"a: |b\n", 1, 4, "quote it: '|b'"},
        {"a: [>b]", 1, 5, "quote it: '>b'"},
        {"a: b: c\n", 1, 5, "a second `: ` in one value; quote it: 'b: c'"},
        {"- a: 1\n  say: Note: no, not now \n", 2, 12, "quote it: 'Note: no, not now'"},
        {"[{a: b: c, d: e}]", 1, 7, "a second `: ` in one value; quote it: 'b: c'"},
        {"a: it's: so\n", 1, 8, "write the whole value in single quotes, and '' for one inside"},
        {"a: {b}/c\n", 1, 7, "a value that begins with `{` is a map and ends with its `}`; quote it: '{b}/c'"},
        {"a: {b}*\n", 1, 7, "quote it: '{b}*'"},
        {"a: [a-z]+\n", 1, 9, "a value that begins with `[` is a list and ends with its `]`; quote it: '[a-z]+'"},
        {"{a: [a-z]+x, b: c}", 1, 10, "quote it: '[a-z]+x'"},
        {"{a: \\d{3}x, b: c}", 1, 7, "ends a text without quotes; quote it: '\\d{3}x'"},
        {"{a: $.b[0], c: d}", 1, 8, "quote it: '$.b[0]'"},
        {"a: 'it's'\n", 1, 8, "text behind the closing quote; write '' for a quote inside"},
        {"a: \"it\" is\n", 1, 9, "text behind the closing quote; write \\\" for a quote inside"},
        {"{a: 'it's'}", 1, 9, "write '' for a quote inside"},
        {"a: \"\\d+\"\n", 1, 5, "`\\d` in double quotes is no escape that YAML knows; write the text in single quotes"},
        {"a: \"open\nb: c\n", 3, 1, "the quote that opens in line 1 is not closed"},
        {"a: [b, c}", 1, 9, "what `[` opens in line 1 is not closed; write `]`, or a comma"},
        {"a: {b: c\n  d: e", 2, 4, "what `{` opens in line 1 is not closed; write `}`, or a comma"},
        {"a: [b]]\n", 1, 7, "a `]` that closes nothing; leave it out"},
        {"{a: b,, c: d}", 1, 7, "a value is missing here"},
        {"a: - b\n", 1, 4, "a list with `-` begins on a line of its own"},
        {"{a: $.b[*], c: d}", 1, 8, "ends a text without quotes; quote it: '$.b[*]'"},
        {"- {a: $.b[*].c, d: e}", 1, 10, "quote it: '$.b[*].c'"},
        {"{a: [/b/{c}], d: e}", 1, 9, "quote it: '/b/{c}'"},
        {"a: 1\nb:c\nd: 2\n", 2, 1, "a blank is missing behind the `:`"},
        {"a:b\nc:\n  - d\n", 1, 1, "a blank is missing behind the `:`"},
        {"a:\n  - b:c\n    d: e\n", 2, 5, "a blank is missing behind the `:`, or the `:` itself"},
        {"a:\n  - b\n    d: e\n", 2, 5, "or the `:` itself; write `key: value`"},
        {"a: b\n  c: d\n", 2, 4, "indented deeper than the one above it"},
        {"  a: b\n c: d\n", 2, 2, "begins in another column than its neighbours"},
        {"a:\n  - b\n c: d\n", 3, 2, "begins in another column than its neighbours"},
        {"a: b\n\tc: d\n", 2, 1, "a tab"},
    };

    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++)
        expect_fault(slips[i].text, slips[i].line, slips[i].column, slips[i].words);
}

TEST_CASE(test_bool_words)
{
    struct yaml_tree *tree = read_good("[yes, 'Off', 1, y, maybe]");
    static const char *const words[] = {"write true", "write false", "; write true or false", "write true", "; write true or false"};
    size_t at = 0;

    for (const struct yaml_node *node = yaml_root(tree)->child; node != NULL; node = node->next)
        assert_non_null(strstr(yaml_bool_words(node), words[at++]));
    assert_int_equal(at, 5);
    yaml_tree_free(&tree);
}

TEST_CASE(test_several_faults)
{
    struct faults faults;
    struct yaml_tree *tree;

    faults_init(&faults);
    assert_int_equal(yaml_read(SPAN_LIT("a: &x 1\nb: *x\na: 010\nc: !t {d: 1, d: 2}\n"), "f", &tree, &faults), CODE_INVALID);
    assert_int_equal(faults.count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_non_null(strstr(faults.fault[i].text, i == 0 ? "anchor" : i == 1 ? "alias" : i == 2 ? "leading zero" :
                                                     i == 3 ? "tag" : "twice"));
}

TEST_CASE(test_depth_and_size)
{
    char text[256] = "";
    struct buf big;

    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    {
        struct yaml_tree *tree = read_good(text);

        yaml_tree_free(&tree);
    }
    memset(text, '[', 65);
    expect_fault(text, 1, 65, "64 levels");
    buf_init(&big, 8 << 20);
    assert_int_equal(buf_add_byte(&big, '['), CODE_OK);
    for (int i = 0; i < 1000000; i++)
        assert_int_equal(buf_add_text(&big, "1,\n"), CODE_OK);
    assert_int_equal(buf_add_byte(&big, ']'), CODE_OK);
    expect_fault_of(buf_peek(&big), 1000000, 1, "1,000,000");
    buf_fini(&big);
}

TEST_CASE(test_unknown_keys)
{
    static const char *const known[] = {"effect", "match", NULL};
    struct yaml_tree *tree = read_good("efect: 1\nmatch: 2\nzebra: 3\n");
    struct faults faults;

    faults_init(&faults);
    yaml_check_keys(tree, yaml_root(tree), known, "a rule", &faults);
    assert_int_equal(faults.count, 2);
    /* 7.5: with all that there are */
    assert_string_equal(faults.fault[0].text, "a rule knows no `efect`; did you mean `effect`? It knows `effect` and `match`.");
    assert_int_equal(faults.fault[1].line, 3);
    assert_string_equal(faults.fault[1].text, "a rule knows no `zebra`; say it in a word that it knows. It knows `effect` and `match`.");
    yaml_tree_free(&tree);
}

TEST_CASE(test_out_of_memory)
{
    static const char text[] = "a: [1, 0x1f, {b: 'text', c: null}]\nd: true\n";
    bool done = false;

    for (uint64_t nth = 1; !done; nth++) {
        struct faults faults;
        struct yaml_tree *tree;
        struct buf out;
        enum code code;

        faults_init(&faults);
        buf_init(&out, 1024);
        mem_fail_at(nth, 0);
        code = yaml_read(span_text(text), "x", &tree, &faults);
        if (code == CODE_OK)
            code = yaml_to_json(yaml_root(tree), &out);
        done = mem_fail_count() < nth;
        mem_fail_at(0, 0);
        assert_int_equal(code, done ? CODE_OK : CODE_NOMEM);
        assert_int_equal(faults.count, 0);
        yaml_tree_free(&tree);
        buf_fini(&out);
        assert_true(nth < 100);
    }
}

TEST_CASE(test_json_into_a_full_buffer)
{
    struct yaml_tree *tree = read_good("{a: [b, c]}");
    struct buf out;

    for (size_t cap = 1; cap < 16; cap++) {
        buf_init(&out, cap);
        assert_int_equal(buf_add_byte(&out, '#'), CODE_OK);
        assert_sticks(yaml_to_json(yaml_root(tree), &out), &out, CODE_LIMIT);
        buf_fini(&out);
    }
    yaml_tree_free(&tree);
}

TEST_MAIN(NULL, NULL)
