/* SPDX-License-Identifier: Apache-2.0 */
/* 11.9: one document is a line of JSON, a row of a table, or sentences: cells are counted, and what is hidden is drawn. */
#include "cli/csv.h"
#include "cli/table.h"
#include "cli/told.h"
#include "unicode/terminal.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char said[8192];
static FILE *file;
static int saved;

static void listen_to(void)
{
    file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    saved = dup(STDOUT_FILENO);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
}

static void hear(void)
{
    size_t len;

    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    rewind(file);
    len = fread(said, 1, sizeof said - 1, file);
    said[len] = '\0';
    fclose(file);
}

static struct doc *row_of(int64_t id, const char *name, const char *note)
{
    struct doc *doc = doc_object();

    doc_int(doc, "id", id);
    doc_text(doc, "name", span_text(name));
    doc_text_or_null(doc, "expires", SPAN_NONE);
    if (note != NULL)
        doc_text(doc, "note", span_text(note));
    return doc;
}

static const struct table_column columns[] = {
    {.title = "number", .key = "id", .is_right = true, .least = TABLE_WHOLE}, {.title = "name"},
    {.title = "expires", .none = "never", .leaves = 1}, {.title = "says", .words = "[{text}][{note}]", .none = ""},
};

static void print(const char *columns_of_terminal, bool as_json)
{
    struct table table;
    struct doc *rows[] = {row_of(7, "a\x1b[31m", "one"), row_of(1234567, "\xe6\xbc\xa2\xe5\xad\x97", NULL)};

    assert_int_equal(setenv("COLUMNS", columns_of_terminal, 1), 0);
    listen_to();
    TABLE_BEGIN(&table, columns, as_json);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(table_add(&table, &rows[i]), CODE_OK);
    assert_int_equal(table_end(&table), CODE_OK);
    hear();
    assert_int_equal(table.rows, 2);
}

/* Where a comma or a semicolon parts cells, none begins a formula, also behind the quotes that a reader takes away. */
TEST_CASE(test_cells_begin_no_formula)
{
    static const struct {
        const char *text, *cell;
    } cells[] = {
        {"=1", "'=1"},
        {"a;b", "\"a;b\""},
        {"a;=cmd|x!A0;b", "\"a;'=cmd|x!A0;b\""},
        {"a,b;;-1;\xef\xbc\x9d" "2", "\"a,b;;'-1;'\xef\xbc\x9d" "2\""},
        {"a;\"\"=1", "\"a;\"\"\"\"'=1\""},
        {"a\"=1;b=1", "\"a\"\"=1;b=1\""},
        {";@x", "\";'@x\""},
    };

    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct buf line;

        buf_init(&line, 4096);
        assert_int_equal(csv_add(&line, span_text(cells[i].text), false), CODE_OK);
        assert_true(span_is(buf_peek(&line), cells[i].cell));
        buf_fini(&line);
    }
}

TEST_CASE(a_document_is_a_row_or_a_line)
{
    print("100", false);
    assert_string_equal(said, " number  name         expires  says\n"
                              "      7  a\\u001b[31m  never    one\n"
                              "1234567  \xe6\xbc\xa2\xe5\xad\x97         never\n");
    print("30", false); /* the one that leaves first is left out, and the widest is cut */
    assert_string_equal(said, " number  name         says\n"
                              "      7  a\\u001b[31m  one\n"
                              "1234567  \xe6\xbc\xa2\xe5\xad\x97\n");
    print("20", false);
    assert_non_null(strstr(said, "      7  a\\u"));
    assert_non_null(strstr(said, "\xe2\x80\xa6"));
    print("100", true);
    assert_string_equal(said, "{\"id\":7,\"name\":\"a\\u001b[31m\",\"expires\":null,\"note\":\"one\"}\n"
                              "{\"id\":1234567,\"name\":\"\xe6\xbc\xa2\xe5\xad\x97\",\"expires\":null}\n");
}

TEST_CASE(nothing_is_no_table)
{
    struct table table;

    listen_to();
    TABLE_BEGIN(&table, columns, false);
    assert_int_equal(table_end(&table), CODE_OK);
    hear();
    assert_string_equal(said, "");
}

TEST_CASE(a_document_is_told_in_sentences)
{
    struct doc *doc = row_of(3, "Ann\n", "why not");
    struct told told;

    doc_bool(doc, "active", true);
    doc_bool(doc, "old", false);
    doc_int(doc, "failed", 0);
    (void)doc_add_array(doc, "list");
    assert_int_equal(told_read(&told, doc), CODE_OK);
    listen_to();
    told_say(told.root, "{name} is {id}[ until {expires}][{!expires} for good][: {note}].\n");
    told_say(told.root, "[{?active}active][{?old}, old][{!old}, not old][, {failed} failed][{?list}, listed]"
             "[{!absent}{?old}, {absent}all]\n");
    hear();
    assert_string_equal(said, "Ann\\n is 3 for good: why not.\nactive, not old\n");
    assert_true(told_text(told.root, "absent").at == NULL && told_text(told.root, "expires").at == NULL);
    told_end(&told);
    doc_free(&doc);
}

TEST_CASE(numbers_are_drawn_where_there_is_room)
{
    static const struct table_column drawn[] = {{.title = "name"}, {.title = "", .key = "id", .is_bar = true}, {.title = "id"}};
    const char *const wide[] = {"60", "10", NULL};

    for (size_t i = 0; i < 3; i++) {
        struct table table;
        struct doc *rows[] = {row_of(8, "all", NULL), row_of(3, "some", NULL)};

        assert_int_equal(wide[i] != NULL ? setenv("COLUMNS", wide[i], 1) : unsetenv("COLUMNS"), 0);
        listen_to();
        TABLE_BEGIN(&table, drawn, false);
        for (size_t row = 0; row < 2; row++)
            assert_int_equal(table_add(&table, &rows[row]), CODE_OK);
        assert_int_equal(table_end(&table), CODE_OK);
        hear();
        assert_int_equal(strstr(said, "\xe2\x96\x88") != NULL, i == 0);
        for (struct span rest = span_text(said), line; i == 0 && rest.len > 0;) { /* what stands behind a bar is in one column */
            line = span_cut(rest, '\n', &rest);
            assert_int_equal(terminal_cells(line), 4 + 2 + 40 + 2 + (span_ends_with(line, SPAN_LIT("id")) ? 2 : 1));
        }
    }
    assert_string_equal(said, "name  id\nall   8\nsome  3\n");
}

static void fill_list(struct doc *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct doc *one = doc_add_object(list, NULL);

        doc_int(one, "step", (int64_t)i + 1);
        doc_text(one, "way", i < 2 ? SPAN_LIT("up") : SPAN_LIT("down"));
        doc_text_or_null(one, "why", i == 1 ? SPAN_LIT("it must") : SPAN_NONE);
        doc_text(doc_add_object(one, "rule"), "id", SPAN_LIT("r.one"));
    }
}

static const struct { const char *words, *text; } forms[] = {
    {"{*steps}{step} of {name}[: {why}]{/, }.", "1 of a\\u001bb, 2 of a\\u001bb: it must, 3 of a\\u001bb."},
    {"[{*steps:first 2}{rule.id}{/ }[ and {steps:beyond 2} more]!]", "r.one r.one and 1 more!"},
    {"[{*none}{.}{/} told][{none:beyond 2}more]{steps:count}", "3"},
    {"{*list}`{.}`{/ or }; {*pair}{@}={.}{/, }", "`x` or `y`; k=v, l=2"},
    {"[a[b {absent}]c][ {?name}[{absent}]d]", "ac d"},
    {"[{?state=new}n][{!state=new}o][{?state=old}p][{?absent=x}q]", "op"},
    {"\\[{state}\\] \\{{state}\\\\", "[old] {old\\"},
    {"{long:first 4}|{long:cut 4}|{state:cut 4}", "0123|0123...|old"},
    {"{state:right 5}|{state:left 5}|{long:left 2}|", "  old|old  |0123456789|"},
    {"{us:us} {ms:us} {s:us}", "850 us 12.3 ms 4.56 s"},
    {"{us:share whole}{us:share none}", "50.0 %"},
    {"{text:lines 2}", "  one\n\n  t\\u0007wo\n"},
    {"{*steps}[{way:new}: ]{step} {/}[{why:json}][{us:json}]", "up: 1 2 down: 3 850"},
    {"{*pair}[{!@=k}{@}][{.:json}]{/}", "\"v\"l2"},
    {"{name:unlike state}[{state:unlike state}]", "a\\u001bb"},
    {"{json:members 2}{name:members 1}{empty:members 1}{none:any}", "  a     1\n  long  \"x\"\n a\\u001bb\n (none)\n[]"},
    {"[{!called}nobody][{called}][ of {owner}][{odd}][{zero}][{!zero}none]", "0 of false[]none"}, /* 11.9: texts that look like nothing */
    {"{when:moment}|{name:moment}|{absent:moment}", "2026-07-06 09:30:00|a\\u001bb|"},
    {"?q={quoted:url}&n={name:url}", "?q=it%27s%20%22%3Cb%3E%26&n=a%1Bb"}, /* 13.1 */
    {"--why {quoted:sh} {name:sh} {empty:sh}", "--why 'it'\\''s \"<b>&' $'a\\033b' '{}'"},
    {"{pair:tree 2}", "{\n    \"k\": \"v\",\n    \"l\": 2\n  }"},
};

TEST_CASE(lists_forms_and_brackets)
{
    struct doc *doc = doc_object(), *list, *pair;
    struct told told;

    doc_text(doc, "name", SPAN_LIT("a\x1b" "b"));
    doc_text(doc, "state", SPAN_LIT("old"));
    doc_text(doc, "long", SPAN_LIT("0123456789"));
    doc_text(doc, "text", SPAN_LIT("one\n\nt\awo"));
    doc_int(doc, "us", 850);
    doc_int(doc, "ms", 12345);
    doc_int(doc, "s", 4560000);
    doc_int(doc, "whole", 1700);
    doc_null(doc, "absent");
    doc_text(doc, "json", SPAN_LIT("{\"a\": 1, \"long\": \"x\"}"));
    doc_text(doc, "empty", SPAN_LIT("{}"));
    doc_text(doc, "called", SPAN_LIT("0"));
    doc_text(doc, "owner", SPAN_LIT("false"));
    doc_text(doc, "odd", SPAN_LIT("[]"));
    doc_int(doc, "zero", 0);
    doc_text(doc, "when", SPAN_LIT("2026-07-06T09:30:00.123456Z"));
    doc_text(doc, "quoted", SPAN_LIT("it's \"<b>&"));
    (void)doc_add_array(doc, "none");
    fill_list(doc_add_array(doc, "steps"), 3);
    list = doc_add_array(doc, "list");
    doc_text(list, NULL, SPAN_LIT("x"));
    doc_text(list, NULL, SPAN_LIT("y"));
    pair = doc_add_object(doc, "pair");
    doc_text(pair, "k", SPAN_LIT("v"));
    doc_int(pair, "l", 2);
    assert_int_equal(told_read(&told, doc), CODE_OK);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct buf out;

        buf_init(&out, 4096);
        assert_int_equal(told_add(&out, told.root, forms[i].words), CODE_OK);
        assert_int_equal(buf_add_byte(&out, '\0'), CODE_OK);
        assert_string_equal(buf_peek(&out).at, forms[i].text);
        buf_fini(&out);
    }
    told_end(&told);
    doc_free(&doc);
}

TEST_MAIN(NULL, NULL)
