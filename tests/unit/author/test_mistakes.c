/* SPDX-License-Identifier: Apache-2.0 */
/* 12.12: mistakes as authors make them, each with all that it is told: tests/mistakes. Documents stand between lines `---`;
 * lines `#=` before the text say LINE:COLUMN of it and the message, of a warning behind `warning:`; a line `#=   ` goes on with
 * the one above. Of several errors the first is told there, since that is what an author mends. */
#include "os/file.h"
#include "unit/policy/judge.h"

#include <glob.h>
#include <string.h>

#define EXPECTED_MAX 4
#define MESSAGE_MAX 1200
#define MISTAKES_LEAST 100

struct mistake {
    char expected[EXPECTED_MAX][MESSAGE_MAX];
    size_t count;
    const char *text; /* behind its expectations */
};

static size_t looked_at, wrong;

static void read_mistake(char *document, struct mistake *mistake)
{
    char *line = document;

    mistake->count = 0;
    while (strncmp(line, "#=", 2) == 0) {
        bool goes_on = strncmp(line, "#=   ", 5) == 0;
        char *end = strchr(line, '\n'), *expected;
        size_t len;

        assert_non_null(end);
        *end = '\0';
        mistake->count += !goes_on;
        assert_in_range(mistake->count, 1, EXPECTED_MAX);
        expected = mistake->expected[mistake->count - 1];
        len = goes_on ? strlen(expected) : 0;
        (void)snprintf(expected + len, MESSAGE_MAX - len, "%s%s", goes_on ? " " : "", line + (goes_on ? 5 : 3));
        line = end + 1;
    }
    mistake->text = line;
}

static bool is_told(const struct faults *faults, const char *kind, const char *expected, size_t most)
{
    for (size_t i = 0; i < faults->count && i < most; i++) {
        char told[MESSAGE_MAX];

        (void)snprintf(told, sizeof told, "%d:%d: %s%s", faults->fault[i].line, faults->fault[i].column, kind, faults->fault[i].text);
        if (strcmp(told, expected) == 0)
            return true;
    }
    return false;
}

/* A message says what to do: behind a semicolon, or as a question. */
static bool has_repair(const char *text)
{
    return strstr(text, "; ") != NULL || strstr(text, "did you mean") != NULL;
}

static void look_at(const char *path, char *document)
{
    static struct faults faults, warnings;
    static struct mistake mistake;
    struct policy *policy = NULL;
    bool good;

    read_mistake(document, &mistake);
    good = mistake.count > 0 && (compile_text(mistake.text, &policy, &faults, &warnings) == CODE_OK) == (faults.count == 0);
    for (size_t i = 0; i < mistake.count; i++)
        good &= has_repair(mistake.expected[i]) && (is_told(&faults, "", mistake.expected[i], 1) ||
                                                    is_told(&warnings, "warning: ", mistake.expected[i], FAULTS_MAX));
    good &= faults.count == 0 || is_told(&faults, "", mistake.expected[0], 1);
    policy_unref(&policy);
    looked_at++;
    wrong += !good;
    if (good)
        return;
    print_error("%s: wanted `%s` of:\n%s", path, mistake.count > 0 ? mistake.expected[0] : "something", mistake.text);
    print_faults(&faults);
    print_faults(&warnings);
}

static void look_through(const char *path)
{
    struct buf text;
    char *document;

    buf_init(&text, 1 << 20);
    assert_int_equal(file_read(path, FILE_ANY, 1 << 20, &text, NULL), CODE_OK);
    assert_int_equal(buf_add(&text, "", 1), CODE_OK);
    document = (char *)(uintptr_t)buf_peek(&text).at;
    while (document != NULL) {
        char *next = strstr(document, "\n---\n");

        if (next != NULL)
            next[1] = '\0';
        look_at(path, document);
        document = next != NULL ? next + 5 : NULL;
    }
    buf_fini(&text);
}

TEST_CASE(test_mistakes)
{
    glob_t found;

    assert_int_equal(glob("tests/mistakes/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        look_through(found.gl_pathv[i]);
    globfree(&found);
    assert_int_equal(wrong, 0);
    assert_true(looked_at >= MISTAKES_LEAST);
}

TEST_MAIN(NULL, NULL)
