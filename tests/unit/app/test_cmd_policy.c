/* SPDX-License-Identifier: Apache-2.0 */
#include "app/commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64], out[16384], err[16384];

#define GOOD                                                                                          \
    "policy: a\nrules:\n"                                                                             \
    "  - {id: p, effect: permit, match: {tools: [t]}, when: [{arg: n, max: 5}]}\n"                    \
    "tests:\n"                                                                                        \
    "  - {name: small, call: {tool: t, arguments: {n: 1}}, expect: {verdict: permit, rule: p}}\n"      \
    "  - {name: large, call: {tool: t, arguments: {n: 9}}, expect: {verdict: deny, rule: null}}\n"
#define OTHER "policy: b\nrules:\n  - {id: f, effect: forbid, match: {tools: [u]}}\n"
#define FAILING "policy: c\ntests:\n  - {name: 'no <way>', call: {tool: t}, expect: {verdict: permit}}\n"
#define BROKEN "policy: a\nrules:\n  - {id: p, effect: permitt}\n"

static const char *path_of(const char *name)
{
    static char paths[4][128];
    static unsigned turn;
    char *path = paths[turn++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void read_back(FILE *file, char *text, size_t size)
{
    size_t len;

    rewind(file);
    len = fread(text, 1, size - 1, file);
    text[len] = '\0';
    fclose(file);
}

/* Runs `callgate policy WORDS`, split at blanks; what is said goes to `out` and `err`. */
static int run(const char *format, ...)
{
    const struct command commands[] = {cmd_policy, {0}};
    FILE *files[2] = {tmpfile(), tmpfile()};
    char line[1024], name[] = "policy", *argv[32] = {name}, *save = NULL;
    int argc = 1, saved[2] = {dup(1), dup(2)}, status;
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    for (char *word = strtok_r(line, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    fflush(NULL);
    dup2(fileno(files[0]), 1);
    dup2(fileno(files[1]), 2);
    status = command_run(commands, "callgate", argc, argv);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], i + 1);
        close(saved[i]);
    }
    read_back(files[0], out, sizeof out);
    read_back(files[1], err, sizeof err);
    return status;
}

static void expect(int status, int wanted, const char *text, const char *part)
{
    if (status != wanted || (part != NULL && strstr(text, part) == NULL))
        fail_msg("status %d, wanted %d and \"%s\"\nout: %s\nerr: %s", status, wanted, part ? part : "", out, err);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/callgate-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    write_file("good.yaml", GOOD);
    write_file("other.yaml", OTHER);
    write_file("failing.yaml", FAILING);
    write_file("broken.yaml", BROKEN);
    return 0;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"good.yaml", "other.yaml", "failing.yaml", "broken.yaml", "s.db", "s.db-wal",
                                        "s.db-shm", "junit.xml", "call.json"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(path_of(names[i]));
    return rmdir(folder);
}

/* 1.22: check. Errors 2, warnings 0 and with --strict 1. */
static void test_check(void **state)
{
    (void)state;
    expect(run("check %s", path_of("good.yaml")), 0, out, "1 file, 1 rule: no errors, 0 warnings");
    expect(run("check %s", path_of("other.yaml")), 0, err, ":3:5: warning: no test expects");
    expect(run("check --strict %s", path_of("other.yaml")), 1, out, "1 warning");
    expect(run("check %s %s", path_of("good.yaml"), path_of("broken.yaml")), 2, err, "broken.yaml:3:21: `permitt`");
    expect(run("check --json %s", path_of("broken.yaml")), 2, out, "\"valid\":false");
    expect(run("check --json %s", path_of("other.yaml")), 0, out, "\"warning_count\":1");
    expect(run("check --github %s", path_of("broken.yaml")), 2, out, "::error file=");
    expect(run("check %s", path_of("none.yaml")), 3, err, "callgate: ");
    expect(run("check"), 2, err, "usage: callgate policy check");
    expect(run("check --help"), 0, out, "usage: callgate policy check");
    expect(run("chek"), 2, err, "did you mean");
}

/* 1.22: test. */
static void test_test(void **state)
{
    char text[1024];
    FILE *file;

    (void)state;
    expect(run("test %s", path_of("good.yaml")), 0, out, "2 passed, 0 failed");
    expect(run("test %s %s", path_of("good.yaml"), path_of("failing.yaml")), 1, out,
           "FAILED no <way>: expected permit, got deny");
    expect(run("test --filter s*l %s %s", path_of("good.yaml"), path_of("failing.yaml")), 0, out, "1 passed, 0 failed");
    expect(run("test --coverage %s %s", path_of("good.yaml"), path_of("other.yaml")), 0, out,
           "no test is decided by f\n1 of 2 rules");
    expect(run("test --json --coverage %s %s", path_of("failing.yaml"), path_of("other.yaml")), 1, out,
           "\"failed\":1");
    expect(run("test %s", path_of("broken.yaml")), 2, err, "did you mean `permit`");
    expect(run("test --junit %s %s %s", path_of("junit.xml"), path_of("good.yaml"), path_of("failing.yaml")), 1, out, NULL);
    file = fopen(path_of("junit.xml"), "r");
    assert_non_null(file);
    read_back(file, text, sizeof text);
    assert_non_null(strstr(text, "name=\"no &#60;way&#62;\"><failure"));
    assert_non_null(strstr(text, "</testsuite>"));
}

/* 1.22: load, list, show, activate, remove. */
static void test_versions(void **state)
{
    char store[160];

    (void)state;
    snprintf(store, sizeof store, "--store %s", path_of("s.db"));
    expect(run("load %s %s", path_of("good.yaml"), store), 0, out, "added    a\nversion 1 is active\n");
    expect(run("load %s --message more %s", path_of("other.yaml"), store), 0, out,
           "kept     a\nadded    b\nversion 2 is active\n");
    expect(run("load %s %s", path_of("broken.yaml"), store), 2, err, "nothing was stored");
    expect(run("load --only %s %s", path_of("good.yaml"), store), 2, err, "`b`; add --yes");
    expect(run("load --only --yes --no-activate %s %s", path_of("good.yaml"), store), 0, out,
           "replaced a\nremoved  b\nversion 3 is stored, not active\n");
    expect(run("list %s", store), 0, out, "message\n       3  stored");
    expect(run("list --json %s", store), 0, out, "\"active\":true");
    expect(run("show %s", store), 0, out, "# version 2 (active)");
    assert_non_null(strstr(out, OTHER));
    expect(run("show 1 --json %s", store), 0, out, "\"policy\":\"a\"");
    expect(run("show 9 %s", store), 1, err, "no policy version 9");
    expect(run("show x %s", store), 2, err, "is no version");
    expect(run("activate 1 %s", store), 0, out, "version 1 is active");
    expect(run("activate 8 %s", store), 1, err, "no policy version 8");
    expect(run("remove b %s", store), 1, err, "no active policy is named `b`");
    expect(run("remove a %s --json", store), 0, out, "{\"policies\":[{\"policy\":\"a\",\"fate\":\"removed\"}],\"version\":4");
    expect(run("list --store %s", path_of("none.db")), 3, err, "callgate: ");
}

/* 1.22: explain: exit 0 permit, 1 deny or hold. */
static void test_explain(void **state)
{
    char store[160];

    (void)state;
    snprintf(store, sizeof store, "--store %s", path_of("s.db"));
    expect(run("explain --policy %s --tool t --arg n=3", path_of("good.yaml")), 0, out, "verdict: permit (permitted) by p");
    expect(run("explain --policy %s --tool t --arg n=x", path_of("good.yaml")), 1, out, "\"x\": undecided");
    expect(run("explain --policy %s --tool t --arg n=9 --json", path_of("good.yaml")), 1, out, "\"verdict\":\"deny\"");
    expect(run("explain --policy %s --method ping", path_of("good.yaml")), 1, out, "(method_unknown)");
    expect(run("explain --policy %s", path_of("good.yaml")), 2, err, "no tool is named");
    expect(run("explain --policy %s --tool t --arg n", path_of("good.yaml")), 2, err, "--arg KEY=VALUE");
    expect(run("explain --seq 5"), 2, err, "not yet");
    expect(run("load %s %s", path_of("good.yaml"), store), 0, out, NULL);
    write_file("call.json", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                            "\"params\":{\"name\":\"t\",\"arguments\":{\"n\":5}}}");
    expect(run("explain --call %s %s", path_of("call.json"), store), 0, out, "by p");
    write_file("call.json", "{\"tool\":\"t\",\"principal\":\"bot\",\"arguments\":{\"n\":6}}");
    expect(run("explain --call %s %s", path_of("call.json"), store), 1, out, "bot of tenant test asks tools/call t");
    write_file("call.json", "{\"tool\":\"t\",\"tool\":\"u\"}");
    expect(run("explain --call %s %s", path_of("call.json"), store), 2, err, "no JSON that would pass the gate");
    write_file("call.json", "[]");
    expect(run("explain --call %s %s", path_of("call.json"), store), 2, err, "holds no object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_check, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_test, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_versions, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_explain, make_folder, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
