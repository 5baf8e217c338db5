/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64], out[16384], err[16384];

#define GOOD                                                                                          \
    "policy: a\nrules:\n"                                                                             \
    "  - {id: p, effect: permit, match: {tools: [t]}, when: [{arg: n, max: 5}]}\n"                    \
    "  - {id: begin, effect: permit, match: {methods: [protocol]}}\n"                                 \
    "tests:\n"                                                                                        \
    "  - {name: list, call: {method: tools/list}, expect: {verdict: permit}}\n"                       \
    "  - {name: small, call: {tool: t, arguments: {n: 1}}, expect: {verdict: permit, rule: p}}\n"      \
    "  - {name: large, call: {tool: t, arguments: {n: 9}}, expect: {verdict: deny, rule: null}}\n"
#define OTHER "policy: b\nrules:\n  - {id: f, effect: forbid, match: {tools: [u]}}\n"
#define FAILING "policy: c\ntests:\n  - {name: 'no <way>', call: {tool: t}, expect: {verdict: permit}}\n"
#define STEERING                                                                                      \
    "policy: a\nrules:\n  - {id: p, effect: permit, match: {tools: [t]}, when: [{arg: a, under: \"\\e[2J\\n::error::\"}]}\n"
#define SHOUTING                                                                                      \
    "policy: a\nrules:\n  - {id: p, effect: permit, match: {tools: [\"t\\e[2J\\u202e\"]}}\n"             \
    "tests:\n  - {name: \"n\\e[31m\\u009b\", call: {tool: t}, expect: {verdict: permit, rule: \"r\\e]0;\"}}\n"
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
    static struct asked asked;
    const struct command *command;
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
    asked = (struct asked){.config = NULL};
    status = command_read(argc, argv, &command, &asked);
    if (status == OPTIONS_GO)
        status = command->run(&asked);
    asked_end(&asked);
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
                                        "s.db-shm", "junit.xml", "call.json", "a,b:c%.yaml"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(path_of(names[i]));
    return rmdir(folder);
}

/* 1.22, 2.3: check. Errors 2, warnings 0 and with --strict 1. */
TEST_CASE_WITH(test_check, make_folder, remove_folder)
{
    expect(run("check %s", path_of("good.yaml")), 0, out, "1 file, 2 rules: no errors, 0 warnings");
    expect(run("check %s", path_of("other.yaml")), 0, err, ":3:5: warning: no test is decided");
    expect(run("check --strict %s", path_of("other.yaml")), 1, out, "1 warning");
    expect(run("check %s %s", path_of("good.yaml"), path_of("broken.yaml")), 2, err, "broken.yaml:3:21: `permitt`");
    expect(run("check --json %s", path_of("broken.yaml")), 2, out, "\"valid\":false");
    expect(run("check --json %s", path_of("other.yaml")), 0, out, "\"warning_count\":1");
    expect(run("check --format github %s", path_of("broken.yaml")), 2, out, "::error file=");
    write_file("a,b:c%.yaml", "policy: p\nrules: [{id: x, effect: permit, match: {methods: ['100%']}}]\nmode: 5\n");
    expect(run("check --format github %s", path_of("a,b:c%.yaml")), 2, out, "/a%2Cb%3Ac%25.yaml,line=3,col=7::");
    write_file("a,b:c%.yaml", "policy: p\nlists: {'100%': [a]}\n");
    expect(run("check --format github %s", path_of("a,b:c%.yaml")), 0, out, "/a%2Cb%3Ac%25.yaml,line=2,col=9::the list `100%25` is");
    expect(run("check %s", path_of("none.yaml")), 3, err, "callgate: ");
    expect(run("check"), 2, err, "usage: callgate policy check");
    expect(run("check --help"), 0, out, "usage: callgate policy check");
    expect(run("chek"), 2, err, "did you mean");
}

/* 1.22, 2.4: test. */
TEST_CASE_WITH(test_test, make_folder, remove_folder)
{
    char text[1024];
    FILE *file;

    expect(run("test %s", path_of("good.yaml")), 0, out, "3 passed, 0 failed");
    expect(run("test %s %s", path_of("good.yaml"), path_of("failing.yaml")), 1, out,
           "FAILED no <way>: expected permit, got deny");
    expect(run("test --filter s*l %s %s", path_of("good.yaml"), path_of("failing.yaml")), 0, out, "1 passed, 0 failed");
    expect(run("test --coverage %s %s", path_of("good.yaml"), path_of("other.yaml")), 0, out,
           "2 of 3 rules decide a test; 1 of 1 conditions were seen true and false\n");
    assert_non_null(strstr(out, "f                                                            0       0  decides no test\n"));
    expect(run("test --coverage --filter small %s", path_of("good.yaml")), 0, out, "       0         0  never false\n");
    expect(run("test --json --coverage %s %s", path_of("failing.yaml"), path_of("other.yaml")), 1, out,
           "\"failed\":1");
    assert_non_null(strstr(out, "\"rules_decided\":0,\"rule_count\":1,\"conditions_decided\":0,\"condition_count\":0"));
    expect(run("test --filter none %s", path_of("good.yaml")), 0, err, "no test's name matches");
    expect(run("test %s", path_of("broken.yaml")), 2, err, "did you mean `permit`");
    expect(run("test --junit %s %s %s", path_of("junit.xml"), path_of("good.yaml"), path_of("failing.yaml")), 1, out, NULL);
    file = fopen(path_of("junit.xml"), "r");
    assert_non_null(file);
    read_back(file, text, sizeof text);
    assert_non_null(strstr(text, "tests=\"3\" failures=\"0\""));
    assert_non_null(strstr(text, "tests=\"1\" failures=\"1\""));
    assert_non_null(strstr(text, "name=\"no &#60;way&#62;\">\n      <failure message=\"expected permit, got deny"));
    assert_non_null(strstr(text, "  </testsuite>\n</testsuites>\n"));
}

/* 1.22, 2.7: load, list, show, activate, remove. */
TEST_CASE_WITH(test_versions, make_folder, remove_folder)
{
    char store[160];

    snprintf(store, sizeof store, "--store %s", path_of("s.db"));
    expect(run("load %s %s", path_of("good.yaml"), store), 0, out, "added    a\nversion 1 is active\n");
    expect(run("load %s --why more %s", path_of("other.yaml"), store), 0, out,
           "kept     a\nadded    b\nversion 2 is active\n");
    expect(run("load %s %s", path_of("broken.yaml"), store), 2, err, "nothing was stored");
    expect(run("load --only %s %s", path_of("good.yaml"), store), 2, err, "`b`; add --yes");
    expect(run("load --only --yes --no-activate %s %s", path_of("good.yaml"), store), 0, out,
           "kept     a\nremoved  b\nversion 1 has these very texts already, and is not active\n");
    expect(run("list %s", store), 0, out, "why\n      2  active");
    expect(run("list --json %s", store), 0, out, "\"active\":true");
    expect(run("show %s", store), 0, out, "# version 2 (active)");
    assert_non_null(strstr(out, OTHER));
    expect(run("show 1 --json %s", store), 0, out, "\"policy\":\"a\"");
    expect(run("show 9 %s", store), 1, err, "no policy version 9");
    expect(run("show x %s", store), 2, err, "`callgate policy list` shows them");
    expect(run("activate 1 %s", store), 0, out, "version 1 is active");
    expect(run("activate 8 %s", store), 1, err, "no policy version 8");
    expect(run("activate 2 --why because %s", store), 0, out, NULL);
    expect(run("show %s", store), 0, out, ": because\n");
    expect(run("activate 1 --why \x1b[2J %s", store), 2, err, "visible characters");
    expect(run("activate 1 --json %s", store), 0, out, "{\"version\":1,\"active\":true,\"warnings\":[],\"warning_count\":0}\n");
    expect(run("list --activations %s", store), 0, out, " because\n");
    expect(run("remove b %s", store), 1, err, "no active policy is named `b`");
    expect(run("remove a %s --json", store), 0, out,
           "{\"policies\":[{\"policy\":\"a\",\"fate\":\"removed\"}],\"failing_tests\":[],\"version\":3");
    expect(run("list --store %s", path_of("none.db")), 3, err, "callgate: ");
}

/* 2.4: a call as a test writes it, the call of a test, an old version; one way at a time. */
TEST_CASE_WITH(test_explain_ways, make_folder, remove_folder)
{
    char store[160];

    snprintf(store, sizeof store, "--store %s", path_of("s.db"));
    expect(run("load %s %s", path_of("good.yaml"), store), 0, out, NULL);
    expect(run("load %s %s", path_of("other.yaml"), store), 0, out, NULL);
    write_file("call.json", "tool: t\nprincipal: bot\narguments:\n  n: 3   # a few\n");
    expect(run("explain --all --call %s %s", path_of("call.json"), store), 0, out, "bot of tenant test asks tools/call t of test");
    expect(run("explain --all --call %s --principal eve %s", path_of("call.json"), store), 0, out, "eve of tenant test");
    write_file("call.json", "tool: t\nargument: {}\n");
    expect(run("explain --call %s %s", path_of("call.json"), store), 2, err, "call.json:2:1: ");
    assert_non_null(strstr(err, "did you mean `arguments`?"));
    write_file("call.json", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}");
    expect(run("explain --call %s %s", path_of("call.json"), store), 2, err, "`tool` goes with");
    expect(run("explain --all --test large --policy %s", path_of("good.yaml")), 1, out, "9: false\n");
    expect(run("explain --all --test small %s", store), 0, out, "by p");
    expect(run("explain --test smaller %s", store), 2, err, "no test is named");
    expect(run("explain --all --tool t --arg n=\xe2\x80\xae\xc2\x9b %s", store), 1, out, "\"\\u202e\\u009b\": undecided");
    expect(run("explain --tool t --arg n=\xe2\x80\xae\xc2\x9b %s", store), 1, out, "\\u202e\\u009b\" of `n` cannot be decided"); /* 12.13 */
    expect(run("explain --test small --tool t %s", store), 2, err, "exclude each other");
    expect(run("explain --decision 1 --tenant x %s", store), 2, err, "the record says who asked");
    expect(run("explain --decision one %s", store), 2, err, "is no number from 1 on");
    expect(run("explain --tool u --version 1 %s", store), 1, out, "(no_rule)");
    expect(run("explain --all --tool u --version 2 %s", store), 1, out, "by f");
    expect(run("explain --tool u --version 3 %s", store), 3, err, "no policy version 3");
    expect(run("explain --tool t --arg n=9 --json %s", store), 1, out,
           "\"candidates\":[{\"rule\":\"p\",\"effect\":\"permit\"");
}

/* 2.4: diff: exit 0 the same, 1 it differs; two versions, one and the active one, files. */
TEST_CASE_WITH(test_diff, make_folder, remove_folder)
{
    char store[160];

    snprintf(store, sizeof store, "--store %s", path_of("s.db"));
    write_file("call.json", GOOD);
    expect(run("diff 1 %s", store), 3, err, "callgate: ");
    expect(run("load %s %s", path_of("good.yaml"), store), 0, out, NULL);
    expect(run("load %s %s", path_of("other.yaml"), store), 0, out, NULL);
    expect(run("diff 1 2 %s", store), 1, out, "version 1 -> version 2\n\nbecomes denied:\n  forbid f (");
    assert_non_null(strstr(out, ") is new: for tools [u] [no call that was tried gets another verdict by this]\n"));
    expect(run("diff 2 2 %s", store), 0, out, "the same text\n");
    expect(run("diff 1 %s", store), 1, out, "version 1 -> version 2");
    expect(run("diff %s %s", path_of("call.json"), store), 0, out, "version 2 -> the file\nthe same text");
    write_file("call.json", "policy: a\nrules:\n  - {id: p, effect: permit, match: {tools: [t]}, when: [{arg: n, max: 6}]}\n");
    expect(run("diff %s %s", path_of("call.json"), store), 1, out, "asks `n`: max 6; it asked `n`: max 5 [");
    assert_non_null(strstr(out, "deny (no_rule) -> permit by p\n          as in {\"tool\":\"t\",\"arguments\":{\"n\":6}}\n"));
    assert_non_null(strstr(out, "tests in the files: 3 before, 0 now\n"));
    expect(run("diff --only %s %s", path_of("call.json"), store), 1, out, "forbid f (");
    expect(run("diff --json %s %s", path_of("call.json"), store), 1, out,
           "{\"before\":\"version 2\",\"after\":\"the file\",\"differs\":true,");
    assert_non_null(strstr(out, "\"example\":\"{\\\"tool\\\":\\\"t\\\",\\\"arguments\\\":{\\\"n\\\":6}}\""));
    expect(run("diff %s %s", path_of("broken.yaml"), store), 2, err, "did you mean `permit`");
    expect(run("diff 1 x %s", store), 2, err, "name versions or files");
    expect(run("diff 1 2 3 %s", store), 2, err, "two versions");
    expect(run("diff 1 9 %s", store), 3, err, "no policy version 9");
}

/* 1.22, 2.4: explain: exit 0 permit, 1 deny or hold. */
static void expect_plain(int status, int wanted, const char *part)
{
    expect(status, wanted, strstr(out, part) != NULL ? out : err, part);
    for (const char *texts[] = {out, err}, **text = texts; text < texts + 2; text++)
        for (const char *at = *text; *at != '\0'; at++)
            if ((unsigned char)*at >= 0x80 || ((unsigned char)*at < 0x20 && *at != '\n'))
                fail_msg("byte %02x in %s", (unsigned char)*at, *text);
}

/* 2.3, 2.4, 2.7: what is wrong with somebody's file is told without letting the file steer the terminal or forge a line. */
TEST_CASE_WITH(test_hostile_texts, make_folder, remove_folder)
{
    write_file("other.yaml", SHOUTING);
    write_file("broken.yaml", STEERING);
    expect_plain(run("check %s", path_of("broken.yaml")), 2, "`\\u001b[2J\\n::error::` is not absolute");
    expect_plain(run("check --format github %s", path_of("broken.yaml")), 2, "`\\u001b[2J%0A::error::` is not absolute");
    expect_plain(run("check %s", path_of("other.yaml")), 0, "the rule `r\\u001b]0;`");
    expect_plain(run("test %s", path_of("other.yaml")), 1, "FAILED n\\u001b[31m\\u009b: expected permit by r\\u001b]0;");
    expect_plain(run("load %s --store %s --why \x1b[2J", path_of("good.yaml"), path_of("s.db")), 2, "visible characters");
    expect_plain(run("load %s --store %s", path_of("good.yaml"), path_of("s.db")), 0, "version 1");
    expect_plain(run("diff --store %s %s", path_of("s.db"), path_of("other.yaml")), 1, "t\\u001b[2J\\u202e");
    expect_plain(run("remove --store %s \x1b[2J", path_of("s.db")), 1, "\\u001b[2J");
}

TEST_CASE_WITH(test_explain, make_folder, remove_folder)
{
    char store[160];

    snprintf(store, sizeof store, "--store %s", path_of("s.db"));
    expect(run("explain --all --policy %s --tool t --arg n=3", path_of("good.yaml")), 0, out, "verdict: permit (permitted) by p");
    expect(run("explain --all --policy %s --tool t --arg n=x", path_of("good.yaml")), 1, out, "\"x\": undecided");
    expect(run("explain --policy %s --tool t --arg n=9 --json", path_of("good.yaml")), 1, out, "\"verdict\":\"deny\"");
    expect(run("explain --policy %s --method pong", path_of("good.yaml")), 1, out, "(method_unknown)");
    expect(run("explain --policy %s", path_of("good.yaml")), 2, err, "no tool is named");
    expect(run("explain --policy %s --tool t --arg n", path_of("good.yaml")), 2, err, "--arg KEY=VALUE");
    expect(run("load %s %s", path_of("good.yaml"), store), 0, out, NULL);
    write_file("call.json", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                            "\"params\":{\"name\":\"t\",\"arguments\":{\"n\":5}}}");
    expect(run("explain --all --call %s %s", path_of("call.json"), store), 0, out, "by p");
    write_file("call.json", "{\"tool\":\"t\",\"principal\":\"bot\",\"arguments\":{\"n\":6}}");
    expect(run("explain --all --call %s %s", path_of("call.json"), store), 1, out, "bot of tenant test asks tools/call t");
    write_file("call.json", "{\"tool\":\"t\",\"tool\":\"u\"}");
    expect(run("explain --call %s %s", path_of("call.json"), store), 2, err, "call.json:1:13: key `tool` is written twice");
    write_file("call.json", "[]");
    expect(run("explain --call %s %s", path_of("call.json"), store), 2, err, "write a map");
}

TEST_MAIN(NULL, NULL)
