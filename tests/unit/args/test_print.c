/* SPDX-License-Identifier: Apache-2.0 */
/* 10.13: line ends of a format are line ends, and those of what is put in are not; a policy is the same text for a program. */
#include "args/print.h"
#include "fakes/cm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *printed;
static size_t printed_bytes;

static FILE *begin(void)
{
    return open_memstream(&printed, &printed_bytes);
}

static void same(FILE *out, const char *expected)
{
    (void)fclose(out);
    assert_string_equal(printed, expected);
    free(printed);
}

TEST_CASE(test_line_ends)
{
    FILE *out = begin();

    print_safely(out, "\n%s: %s\n\t%.*s\n", "a\nb", "\x1b[31m\xe2\x80\xae", 3, "c\nde");
    same(out, "\na\\nb: \\u001b[31m\\u202e\n\\tc\\nd\n");
    out = begin();
    print_safely(out, "%s%s", "\n", "\t\n"); /* a tab is what a twin has for a line end */
    same(out, "\\n\\t\\n");
    out = begin();
    print_safely(out, "%5s|%-3s|%d%%\n", "\n", "\r", 7);
    same(out, "    \\n|\\r  |7%\n");
    out = begin();
    print_safely(out, "\n\n");
    same(out, "\n\n");
}

TEST_CASE(test_spans_and_lines)
{
    FILE *out = begin();

    print_span(out, SPAN_LIT("a\0b\n\xff"));
    same(out, "a\\u0000b\\n\\xff");
    out = begin();
    print_lines(out, SPAN_LIT("a\x1b\n\nb"));
    same(out, "a\\u001b\n\nb\n");
    out = begin();
    assert_int_equal(print_block(out, SPAN_LIT("a\x1b\n")), CODE_OK);
    same(out, "a\x1b\n");
}

/* A sentence that names its file does not name it twice. */
TEST_CASE(test_faults_of_files)
{
    static struct faults faults;
    FILE *out = stderr;

    faults_init(&faults);
    faults_add(&faults, "a.yaml", 2, 1, "a map is wanted");
    faults_add(&faults, "a.yaml", 0, 0, "a.yaml cannot be opened");
    faults_add(&faults, "a.yaml", 0, 0, "a.yamls are none");
    stderr = begin();
    print_faults(&faults, "");
    same(stderr, "a.yaml:2:1: a map is wanted\na.yaml cannot be opened\na.yaml: a.yamls are none\n");
    stderr = out;
}

TEST_MAIN(NULL, NULL)
