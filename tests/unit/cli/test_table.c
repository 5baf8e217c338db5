/* SPDX-License-Identifier: Apache-2.0 */
/* 11.9: one document is a line of JSON, a row of a table, or sentences: cells are counted, and what is hidden is drawn. */
#include "cli/table.h"
#include "cli/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
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
    {.title = "expires", .none = "never", .leaves = 1}, {.title = "says", .key = "text", .other = "note", .none = ""},
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

static void a_document_is_a_row_or_a_line(void **state)
{
    (void)state;
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

static void nothing_is_no_table(void **state)
{
    struct table table;

    (void)state;
    listen_to();
    TABLE_BEGIN(&table, columns, false);
    assert_int_equal(table_end(&table), CODE_OK);
    hear();
    assert_string_equal(said, "");
}

static void a_document_is_told_in_sentences(void **state)
{
    struct doc *doc = row_of(3, "Ann\n", "why not");
    struct told told;

    (void)state;
    doc_bool(doc, "active", true);
    doc_bool(doc, "old", false);
    doc_int(doc, "failed", 0);
    (void)doc_add_array(doc, "list");
    assert_int_equal(told_read(&told, doc), CODE_OK);
    listen_to();
    told_say(told.root, "{name} is {id}[ until {expires}][{!expires} for good][: {note}].\n");
    told_say(told.root, "[{?active}active][{?old}, old][{!old}, not old][, {failed} failed][{?list}, listed][{!absent}, {absent}all]\n");
    hear();
    assert_string_equal(said, "Ann\\n is 3 for good: why not.\nactive, not old\n");
    assert_true(told_text(told.root, "absent").at == NULL && told_text(told.root, "expires").at == NULL);
    told_end(&told);
    doc_free(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_is_a_row_or_a_line),
        cmocka_unit_test(nothing_is_no_table),
        cmocka_unit_test(a_document_is_told_in_sentences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
