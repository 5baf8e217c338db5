/* SPDX-License-Identifier: Apache-2.0 */
/* 12.4: commands, word by word, by the forms of a manual page. The kinds of the rows are JUDGE_KINDS. */
#include "os/clock.h"
#include "policy/rule.h"
#include "policy/snapshot.h"
#include "unit/policy/rows.h"
#include "words/operators.h"

#define F(form) "words: {forms: ['" form "']}"
#define LOG F("git log [-{psw}] [-#] [-n N] [--stat] [--format=TEXT] [FILE] [-- FILE...]")
#define HEAD F("head [-{qv}] [-n N] FILE...")
#define FIND F("find [FILE...] [-name TEXT] [-type (f|d|l)] [-mtime N] [-not] [-o]")
#define GREP F("grep [-{rn}] [-m N] --include=FILE [--exclude=FILE] TEXT [FILE...]")

static const struct row rows[] = {
    /* Small words stand for themselves, as they are written. */
    {F("pwd"), "[\"pwd\"]", 'T', 'T'},
    {F("pwd"), "[\"pwd\",\"x\"]", 'F', 'F'},
    {F("pwd"), "[]", 'F', 'F'},
    {F("pwd"), "[\"PWD\"]", 'F', 'F'},
    {F("pwd"), "[\"pwd \"]", 'F', 'F'},
    {F("pwd"), "[\"/bin/pwd\"]", 'F', 'F'},
    {F("pwd"), "\"pwd\"", 'F', 'F'},
    {F("pwd"), "{\"0\":\"pwd\"}", 'F', 'F'},
    {F("go test ./..."), "[\"go\",\"test\",\"./...\"]", 'T', 'T'},
    {F("go test ./..."), "[\"go\",\"test\",\"./x\"]", 'F', 'F'},
    {F("  make   (check|test)  "), "[\"make\",\"test\"]", 'T', 'T'},
    {F("make ( check | test )"), "[\"make\",\"check\"]", 'T', 'T'},
    {F("make (check|test)"), "[\"make\"]", 'F', 'F'},
    {F("make [(check|test)]"), "[\"make\"]", 'T', 'T'},
    {F("make (check|test)..."), "[\"make\",\"test\",\"check\"]", 'T', 'T'},
    {F("make (check|test)"), "[\"make\",\"test\",\"check\"]", 'F', 'F'},
    {"words: {forms: [pwd, 'ls [FILE]']}", "[\"ls\",\"a\"]", 'T', 'T'},
    {"words: {forms: [pwd, 'ls [FILE]']}", "[\"pwd\",\"a\"]", 'F', 'F'},
    {"words: {forms: pwd}", "[\"pwd\"]", 'T', 'T'},
    /* What is no text or is empty fits nothing, whatever a kind says. */
    {HEAD, "[\"head\",5]", 'F', 'F'},
    {HEAD, "[\"head\",null,\"a\"]", 'F', 'F'},
    {HEAD, "[\"head\",[\"a\"]]", 'F', 'F'},
    {F("say TEXT..."), "[\"say\",\"a\",\"\"]", 'F', 'F'},
    {F("say [TEXT]"), "[\"say\",\"\"]", 'F', 'F'},
    /* One word, and one and more. */
    {HEAD, "[\"head\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"a\"]", 'T', 'T'},
    {HEAD, "[\"head\",\"a\",\"b/c\",\"d\"]", 'T', 'T'},
    {HEAD, "[\"head\",\"a\",\"/b\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"a\",\"b\\n\"]", 'F', 'F'},
    {F("mv FILE... FILE"), "[\"mv\",\"a\",\"b\",\"c\"]", 'T', 'T'},
    {F("mv FILE... FILE"), "[\"mv\",\"a\"]", 'F', 'F'},
    {F("show HEAD"), "[\"show\",\"HEAD\"]", 'T', 'T'},
    {F("show HEAD"), "[\"show\",\"head\"]", 'F', 'F'},
    /* Letters that may stand together, and those that have a value. */
    {HEAD, "[\"head\",\"-q\",\"a\"]", 'T', 'T'},
    {HEAD, "[\"head\",\"-qv\",\"-vqv\",\"a\"]", 'T', 'T'},
    {HEAD, "[\"head\",\"-x\",\"a\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"-qx\",\"a\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"-\",\"a\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"--q\",\"a\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"-n5\",\"a\"]", 'T', 'T'},
    {HEAD, "[\"head\",\"-n\",\"5\",\"a\"]", 'T', 'T'},
    {HEAD, "[\"head\",\"-n\",\"-5\",\"a\"]", 'T', 'T'},
    {HEAD, "[\"head\",\"-n\",\"a\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"-n\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"-n=5\",\"a\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"-qn5\",\"a\"]", 'T', 'T'},
    {HEAD, "[\"head\",\"-vqn\",\"5\",\"a\"]", 'T', 'T'},
    {HEAD, "[\"head\",\"-qnv\",\"a\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"-nq5\",\"a\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"-qn\",\"--\",\"a\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"-qxn5\",\"a\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"-n\",\"5\",\"-v\",\"-n7\",\"a\"]", 'T', 'T'},
    {LOG, "[\"git\",\"log\",\"-12\"]", 'T', 'T'},
    {LOG, "[\"git\",\"log\",\"-1p\"]", 'F', 'F'},
    {LOG, "[\"git\",\"log\",\"-\"]", 'F', 'F'},
    /* Options in any order and number, behind kinds, too, but not behind a small word; never cut short. */
    {LOG, "[\"git\",\"log\",\"--stat\",\"-n\",\"3\",\"-ps\",\"--stat\",\"a\"]", 'T', 'T'},
    {LOG, "[\"git\",\"log\",\"a\",\"--stat\"]", 'T', 'T'},
    {LOG, "[\"git\",\"log\",\"-p\",\"a\",\"-n\",\"3\",\"--\",\"a\"]", 'T', 'T'},
    {LOG, "[\"git\",\"log\",\"--\",\"a\",\"-p\"]", 'F', 'F'},
    {F("npm [-{s}] run [-{x}] N"), "[\"npm\",\"-s\",\"run\",\"5\",\"-x\"]", 'T', 'T'},
    {F("npm [-{s}] run [-{x}] N"), "[\"npm\",\"run\",\"-s\",\"5\"]", 'F', 'F'},
    {F("cp [-{r}] FILE [-{v}] FILE"), "[\"cp\",\"a\",\"b\",\"-r\",\"-v\"]", 'T', 'T'},
    {F("cp [-{r}] FILE [-{v}] FILE"), "[\"cp\",\"-v\",\"a\",\"b\"]", 'F', 'F'},
    {LOG, "[\"git\",\"--stat\",\"log\"]", 'F', 'F'},
    {LOG, "[\"git\",\"log\",\"--sta\"]", 'F', 'F'},
    {LOG, "[\"git\",\"log\",\"--stat=1\"]", 'F', 'F'},
    {LOG, "[\"git\",\"log\",\"--STAT\"]", 'F', 'F'},
    {LOG, "[\"git\",\"log\",\"--output=x\"]", 'F', 'F'},
    {LOG, "[\"git\",\"log\",\"--format=%h\"]", 'T', 'T'},
    {LOG, "[\"git\",\"log\",\"--forma=%h\"]", 'F', 'F'},
    {LOG, "[\"git\",\"log\",\"--format\",\"%h\"]", 'F', 'F'},
    {LOG, "[\"git\",\"log\",\"--format=\"]", 'F', 'F'},
    {F("ls [--color=never]"), "[\"ls\",\"--color=never\"]", 'T', 'T'},
    {F("ls [--color=never]"), "[\"ls\",\"--color=auto\"]", 'F', 'F'},
    {F("ls [--color=(never|auto)]"), "[\"ls\",\"--color=auto\"]", 'T', 'T'},
    {F("ls [-la]"), "[\"ls\",\"-la\"]", 'T', 'T'},
    {F("ls [-la]"), "[\"ls\",\"-al\"]", 'F', 'F'},
    {FIND, "[\"find\",\"a\",\"b\",\"-name\",\"-x*\",\"-o\",\"-not\",\"-type\",\"d\",\"-mtime\",\"-7\"]", 'T', 'T'},
    {FIND, "[\"find\",\"-name\",\"x\"]", 'T', 'T'},
    {FIND, "[\"find\",\"-namex\"]", 'F', 'F'},
    {FIND, "[\"find\",\"-name\"]", 'F', 'F'},
    {FIND, "[\"find\",\"-name\",\"x\",\"a\"]", 'F', 'F'},
    {FIND, "[\"find\",\"-type\",\"p\"]", 'F', 'F'},
    {FIND, "[\"find\",\"-exec\",\"x\"]", 'F', 'F'},
    {F("npm [--prefix FILE] test"), "[\"npm\",\"--prefix\",\"a\",\"test\"]", 'T', 'T'},
    {F("npm [--prefix TEXT] test"), "[\"npm\",\"--prefix\",\"-x\",\"test\"]", 'F', 'F'},
    {F("npm [--prefix FILE] test"), "[\"npm\",\"--prefix=a\",\"test\"]", 'F', 'F'},
    /* Options that must be there. */
    {GREP, "[\"grep\",\"-r\",\"--include=a.c\",\"x\"]", 'T', 'T'},
    {GREP, "[\"grep\",\"--include=a.c\",\"-rn\",\"-m\",\"3\",\"--include=b.c\",\"x\",\"a\",\"b\"]", 'T', 'T'},
    {GREP, "[\"grep\",\"-r\",\"x\"]", 'F', 'F'},
    {GREP, "[\"grep\",\"x\",\"--include=a.c\"]", 'T', 'T'},
    {GREP, "[\"grep\",\"x\",\"a\",\"-rm3\",\"b\",\"--include=a.c\"]", 'T', 'T'},
    {GREP, "[\"grep\",\"x\",\"a\",\"-r\"]", 'F', 'F'},
    {GREP, "[\"grep\",\"--include=/a.c\",\"x\"]", 'F', 'F'},
    {F("tar -{x} -{v} (-f FILE) [-{z}]"), "[\"tar\",\"-f\",\"a\",\"-z\",\"-v\",\"-x\"]", 'T', 'T'},
    {F("tar -{x} -{v} (-f FILE) [-{z}]"), "[\"tar\",\"-f\",\"a\",\"-z\",\"-v\"]", 'F', 'F'},
    {F("tar -{x} -{v} (-f FILE) [-{z}]"), "[\"tar\",\"-xv\",\"-fa\"]", 'F', 'F'},
    {F("tar -{x} -{v} (-f FILE) [-{z}]"), "[\"tar\",\"-v\",\"-xf\",\"a\"]", 'T', 'T'},
    {F("tar -{x} -{v} (-f FILE) [-{z}]"), "[\"tar\",\"-zf\",\"a\",\"-v\"]", 'F', 'F'},
    {F("switch --cached FILE"), "[\"switch\",\"--cached\",\"a\"]", 'T', 'T'},
    {F("switch --cached FILE"), "[\"switch\",\"--cached\",\"a\",\"--cached\",\"b\"]", 'F', 'F'},
    {F("switch --cached FILE"), "[\"switch\",\"a\",\"--cached\"]", 'T', 'T'},
    {F("switch [-a -b] FILE"), "[\"switch\",\"-b\",\"-a\",\"x\"]", 'T', 'T'},
    {F("switch [-a -b] FILE"), "[\"switch\",\"-b\",\"x\"]", 'F', 'F'},
    {F("switch [-a -b] FILE"), "[\"switch\",\"x\"]", 'T', 'T'},
    /* A word with a dash in front is an option to every program: no kind takes it, but behind `--` or as a letter's value. */
    {F("say TEXT"), "[\"say\",\"-x\"]", 'F', 'F'},
    {F("say TEXT"), "[\"say\",\"-\"]", 'F', 'F'},
    {F("say TEXT..."), "[\"say\",\"a\",\"--x=y\"]", 'F', 'F'},
    {F("say -- TEXT"), "[\"say\",\"--\",\"-x\"]", 'T', 'T'},
    {F("say [--] TEXT"), "[\"say\",\"-x\"]", 'F', 'F'},
    {F("say [--] TEXT"), "[\"say\",\"--\",\"-x\"]", 'T', 'T'},
    {F("say [-m TEXT] TEXT"), "[\"say\",\"-m\",\"-x\",\"y\"]", 'T', 'T'},
    {F("cat [-] FILE"), "[\"cat\",\"-\",\"a\"]", 'T', 'T'},
    /* `--` where it is written, and nowhere else. */
    {LOG, "[\"git\",\"log\",\"--\",\"a\"]", 'T', 'T'},
    {LOG, "[\"git\",\"log\",\"--\"]", 'F', 'F'},
    {LOG, "[\"git\",\"log\",\"a\",\"--\",\"a\",\"b\"]", 'T', 'T'},
    {LOG, "[\"git\",\"log\",\"--\",\"--stat\"]", 'F', 'F'},
    {LOG, "[\"git\",\"log\",\"--\",\"a\",\"--\",\"b\"]", 'F', 'F'},
    {HEAD, "[\"head\",\"--\",\"a\"]", 'F', 'F'},
    {F("say TEXT"), "[\"say\",\"--\"]", 'F', 'F'},
    {F("say [-m TEXT] TEXT"), "[\"say\",\"-m\",\"--\",\"y\"]", 'F', 'F'},
    {F("git diff [-{pw}] [FILE] [-- FILE]"), "[\"git\",\"diff\",\"--\",\"a\",\"b\"]", 'F', 'F'},
    {F("git diff [-{pw}] [FILE] [-- FILE]"), "[\"git\",\"diff\",\"a\",\"b\"]", 'F', 'F'},
    /* What may be left out, within each other, is there as a whole or not at all. */
    {F("a [b [c FILE] d]"), "[\"a\"]", 'T', 'T'},
    {F("a [b [c FILE] d]"), "[\"a\",\"b\",\"d\"]", 'T', 'T'},
    {F("a [b [c FILE] d]"), "[\"a\",\"b\",\"c\",\"x\",\"d\"]", 'T', 'T'},
    {F("a [b [c FILE] d]"), "[\"a\",\"b\",\"c\",\"d\"]", 'F', 'F'},
    {F("a [b [c FILE] d]"), "[\"a\",\"b\"]", 'F', 'F'},
    {F("[FILE] [FILE] HEAD"), "[\"a\",\"HEAD\"]", 'T', 'T'},
    {F("[FILE]"), "[]", 'T', 'T'},
    /* A kind that cannot be decided: what else there is may decide. */
    {F("cat UNDER"), "[\"cat\",\"/srv/a\"]", 'T', 'T'},
    {F("cat UNDER"), "[\"cat\",\"/etc/a\"]", 'F', 'F'},
    {F("cat UNDER"), "[\"cat\",\"a\"]", 'U', 'U'},
    {F("cat UNDER"), "[\"cat\",\"a\",\"b\"]", 'F', 'F'},
    {F("cat UNDER..."), "[\"cat\",\"/srv/a\",\"b\"]", 'U', 'U'},
    {F("cat UNDER..."), "[\"cat\",\"a\",\"/etc/b\"]", 'F', 'F'},
    {F("cat (UNDER|FILE)"), "[\"cat\",\"a\"]", 'T', 'T'},
    {"words: {forms: ['cat UNDER', 'cat FILE']}", "[\"cat\",\"a\"]", 'T', 'T'},
    {"words: {forms: ['cat UNDER', 'cat FILE']}", "[\"cat\",\"A\"]", 'U', 'U'},
    /* A kind is about the whole word in a closing condition, too; and an array may be asked for more. */
    {F("a N"), "[\"a\",\"x5\"]", 'F', 'F'},
    {HEAD ", max_items: 2", "[\"head\",\"a\",\"b\"]", 'F', 'F'},
    {HEAD ", max_items: 3", "[\"head\",\"a\",\"b\"]", 'T', 'T'},
};

TEST_CASE(test_rows)
{
    CHECK(rows);
}

/* What is wrong with a form is told with its place in the line, and what was expected there. */
TEST_CASE(test_faults)
{
    static const struct {
        const char *form, *told;
    } faults[] = {
        {"", "at its byte 1: it is empty; write a command as in the SYNOPSIS"},
        {"ls [FILE", "at its byte 4: this `[` has no `]`"},
        {"ls FILE]", "at its byte 8: `]` closes nothing here"},
        {"ls (a|b", "at its byte 8: `(` at byte 4 has no `)`"},
        {"ls []", "at its byte 4: nothing stands in these brackets"},
        {"ls [a|b]", "at its byte 4: of several words one is written (a|b)"},
        {"ls a|b", "at its byte 5: `|` closes nothing here"},
        {"ls (a|)", "at its byte 7: a word is missing here"},
        {"ls (-a|-b)", "at its byte 5: an option stands in no `(a|b)`"},
        {"ls FOO", "at its byte 4: no kind is called `FOO`; say under `kinds:` what this word may be, as in {FOO: {matches: "
                   "'[0-9]{1,6}'}}; there are FILE, N"},
        {"ls FILE ...", "at its byte 9: `...` stands directly behind its capital word"},
        {"ls FILE..", "at its byte 4: `FILE` in `FILE..` is neither a capital word"},
        {"ls src/FILE", "at its byte 4: `FILE` in `src/FILE` is neither a capital word"},
        {"ls README.md", "at its byte 4: `README` in `README.md` is neither a capital word, which stands alone, nor a small one"},
        {"ls file...", "at its byte 4: `file...` is no word of a form"},
        {"ls <file>", "at its byte 4: `<file>` is no word of a form"},
        {"ls 'a", "at its byte 4: `'a` is no word of a form"},
        {"ls {tenant}", "at its byte 4: braces stand in `-{abc}` alone"},
        {"ls -{a-z}", "at its byte 7: `-` is no letter or digit; name each letter"},
        {"ls -{}", "at its byte 4: letters that may stand together are written -{abc}"},
        {"ls -{a}b", "at its byte 4: letters that may stand together are written -{abc}"},
        {"ls -{a", "at its byte 4: letters that may stand together are written -{abc}"},
        {"ls -#5", "at its byte 4: `-#5` is no option"},
        {"ls --x=", "at its byte 8: a word is missing here"},
        {"ls [FILE]FILE", "at its byte 10: `[FILE]` goes on here without a blank"},
        {"ls FILE[x]", "at its byte 8: `FILE` goes on here without a blank"},
        {"ls [-{a}]b", "at its byte 10: `[-{a}]` goes on here without a blank"},
        {"ls -a -b -c -d", "at its byte 15: more than 3 options of one place must be there"},
        {"ls [[[[[[[[[a]]]]]]]]]", "at its byte 12: brackets nested more than 8 deep"},
        {"ls\\ta", "at its byte 3: a control character stands here"},
        {"ls \\u200b", "at its byte 1: it holds characters that nobody sees"},
    };

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct policy *policy = NULL;
        static struct faults told;
        char text[2048];

        snprintf(text, sizeof text, "policy: p\n" JUDGE_KINDS "rules:\n  - {id: r, effect: permit, match: {tools: [t]}, when: ["
                 "{arg: v, words: {forms: [\"%s\"]}}]}\n", faults[i].form);
        assert_int_equal(compile_text(text, &policy, &told, NULL), CODE_INVALID);
        assert_int_equal(told.count, 1);
        if (strstr(told.fault[0].text, faults[i].told) == NULL)
            fail_msg("%s: %s", faults[i].form, told.fault[0].text);
        assert_int_equal(told.fault[0].line, 9);
    }
}

static void fault_of(const char *kinds, const char *operand, const char *wanted)
{
    struct policy *policy = NULL;
    static struct faults told;
    char text[2048];

    snprintf(text, sizeof text, "policy: p\n%srules:\n  - {id: r, effect: permit, match: {tools: [t]}, when: [{arg: v, words: %s}]}\n",
             kinds, operand);
    assert_int_equal(compile_text(text, &policy, &told, NULL), CODE_INVALID);
    if (strstr(told.fault[0].text, wanted) == NULL)
        fail_msg("%s: %s", operand, told.fault[0].text);
}

TEST_CASE(test_more_faults)
{
    fault_of("", "{}", "`words` without `forms` allows no command");
    fault_of("", "{forms: []}", "nothing is in an empty list");
    fault_of("", "{forms: [5]}", "write a string");
    fault_of("", "{form: [ls]}", "did you mean `forms`");
    fault_of("", "[ls]", "`words` is a list; write a map");
    fault_of("", "{forms: {list: looking}}", "this file has no list `looking`");
    fault_of("", "{forms: [ls FILE]}", "no kind is called `FILE`");
    fault_of("kinds: {file: {equals: a}}\n", "{forms: [ls]}", "`file` is no name of a kind; write capital letters");
    fault_of("kinds: {FILE: a}\n", "{forms: [ls FILE]}", "`FILE` is a string; write a map");
    fault_of("kinds: {FILE: {}}\n", "{forms: [ls FILE]}", "asks nothing");
    fault_of("kinds: {FILE: {matches: '('}}\n", "{forms: [ls]}", "the regex is not usable");
    fault_of("kinds: {FILE: {words: {forms: [a]}}}\n", "{forms: [ls FILE]}", "asks nothing of a text");
    fault_of("kinds: {FILE: {matches: '(a+)+x'}}\n", "{forms: [ls FILE]}", "the regex's cost explodes");
}

/* A set of options of 64, nodes that all repeat, and 20,000 words: what it costs grows with their product, and ends. */
TEST_CASE(test_cost)
{
    static const char form[] = "words: {forms: ['[TEXT...] [TEXT...] [TEXT...] [TEXT...] [TEXT...] [TEXT...] [TEXT...] [TEXT...] "
                               "[TEXT...] [TEXT...] [TEXT...] [TEXT...] [TEXT...] [TEXT...] [TEXT...] [TEXT...] end']}";
    static char condition[1024], arguments[200000];
    size_t len = 0;

    snprintf(condition, sizeof condition, "{arg: v, %s}", form);
    len += (size_t)snprintf(arguments, sizeof arguments, "{\"v\":[\"a\"");
    for (int i = 0; i < 300; i++)
        len += (size_t)snprintf(arguments + len, sizeof arguments - len, ",\"a\"");
    snprintf(arguments + len, sizeof arguments - len, "]}");
    assert_int_equal(truth_of_condition(condition, span_text(arguments), true), 'F');
    snprintf(arguments + len, sizeof arguments - len, ",\"end\"]}");
    assert_int_equal(truth_of_condition(condition, span_text(arguments), true), 'T');
    for (int i = 0; i < 40000; i++)
        len += (size_t)snprintf(arguments + len, sizeof arguments - len, ",\"a\"");
    snprintf(arguments + len, sizeof arguments - len, "]}");
    assert_int_equal(judge_condition("permit", condition, span_text(arguments), NULL), VERDICT_DENY); /* too costly */
    assert_int_equal(judge_condition("forbid", condition, span_text(arguments), NULL), VERDICT_DENY);
}

static const char *warning_of(const char *when, const char *effect)
{
    struct policy *policy = NULL;
    static struct faults faults, warnings;
    char text[2048];

    snprintf(text, sizeof text, "policy: p\n" JUDGE_KINDS "rules:\n  - {id: r, effect: %s, match: {tools: [t]}, when: [%s]}\n", effect,
             when);
    if (compile_text(text, &policy, &faults, &warnings) != CODE_OK)
        print_faults(&faults);
    assert_non_null(policy);
    policy_unref(&policy);
    for (size_t i = 0; i < warnings.count; i++)
        if (strstr(warnings.fault[i].text, "the form") != NULL || strstr(warnings.fault[i].text, "commands") != NULL)
            return warnings.fault[i].text;
    return "";
}

/* What was read as an option's value, and would let options pass that are not written, is told; in brackets it is meant. */
TEST_CASE(test_warnings)
{
    assert_non_null(strstr(warning_of("{arg: v, words: {forms: ['grep -n TEXT FILE']}}", "permit"), "lets `-nx` pass"));
    assert_non_null(strstr(warning_of("{arg: v, words: {forms: ['ls -la TEXT']}}", "permit"), "lets `-la -x` pass"));
    assert_string_equal(warning_of("{arg: v, words: {forms: ['head -n N FILE']}}", "permit"), "");
    assert_string_equal(warning_of("{arg: v, words: {forms: ['grep [-n TEXT] FILE', 'cat -{n} TEXT']}}", "permit"), "");
    assert_string_equal(warning_of("{arg: v, words: {forms: ['grep (-e TEXT) FILE']}}", "permit"), "");
    assert_non_null(strstr(warning_of("{arg: v, words: {forms: ['rm FILE']}, absent: ignored}", "forbid"), "forbids commands as they are"));
    assert_string_equal(warning_of("{not: {arg: v, words: {forms: ['rm FILE']}, absent: ignored}}", "forbid"), "");
    assert_string_equal(warning_of("{arg: v, words: {forms: ['rm FILE']}, absent: ignored}", "require_approval"), "");
}

/* An approval is bound to what the capital words stand for, though the rule's own text names them within its forms alone. */
TEST_CASE(test_bound)
{
#define ASKS "rules:\n  - {id: r, effect: require_approval, match: {tools: [t]}, " \
    "when: [{arg: v, words: {forms: ['rm F']}, absent: ignored}]}\n"
    struct court one, other, same;

    court_open(&one, "policy: p\npatterns: {x: 'a+'}\nkinds: {F: {matches: {pattern: x}}}\n" ASKS);
    court_open(&other, "policy: p\npatterns: {x: 'a*'}\nkinds: {F: {matches: {pattern: x}}}\n" ASKS);
    court_open(&same, "policy: p\npatterns: {x: a+, y: b}\nkinds: {F: {matches: {pattern: x}}} # as before\n" ASKS);
    assert_false(span_equals(one.policy->rules[0].people.rule_hash, other.policy->rules[0].people.rule_hash));
    assert_true(span_equals(one.policy->rules[0].people.rule_hash, same.policy->rules[0].people.rule_hash));
    court_close(&one);
    court_close(&other);
    court_close(&same);
}

struct nearly {
    size_t true_ones, near, taken;
    char last[64];
};

static void take_near(void *context, const struct op_near *near)
{
    struct nearly *nearly = context;
    if (near->change == NULL) {
        nearly->true_ones++;
        assert_true(near->passes);
        return;
    }
    nearly->near++;
    nearly->taken += near->passes;
    if (near->passes)
        snprintf(nearly->last, sizeof nearly->last, "%s", near->change);
}

/* Near misses of a form that says little are not taken; of one whose kind takes anything, or that takes several, they are. */
static struct nearly near_misses(const char *form)
{
    struct nearly nearly = {0};
    const struct op *op;
    struct court court;
    char text[2048];

    snprintf(text, sizeof text, "policy: p\n" JUDGE_KINDS "rules:\n  - {id: r, effect: permit, match: {tools: [t]}, when: ["
             "{arg: v, words: {forms: ['%s']}}]}\n", form);
    court_open(&court, text);
    op = policy_rule_by_id(court.policy, SPAN_LIT("r"))->when->members[0].ops;
    op->guide->near(op, take_near, &nearly);
    court_close(&court);
    return nearly;
}

TEST_CASE(test_near)
{
    struct nearly strict = near_misses("git diff [-{pw}] [-n N] [--stat] [HEAD] [-- HEAD]");
    struct nearly wide = near_misses("grep [-{n}] TEXT HEAD");
    struct nearly several = near_misses("git diff -- FILE...");

    assert_int_equal(strict.true_ones, 2);
    assert_true(strict.near > 30);
    assert_int_equal(strict.taken, 0);
    assert_true(wide.taken >= 10);
    assert_string_equal(wide.last, "a word of another kind");
    assert_true(several.taken > 0);
    assert_string_equal(several.last, "one word more");
    assert_int_equal(near_misses("git diff -- N").taken, 0);
}

/* 12.4: which of many forms a long command follows is looked for no longer than the call was judged: it was time for each form. */
TEST_CASE(test_told)
{
    size_t size = (size_t)1 << 17, len;
    char *text = malloc(size), *arguments = malloc(size * 4);
    struct court court;
    const struct op *op;
    struct buf told;
    int64_t work_us;

    assert_true(text != NULL && arguments != NULL);
    len = (size_t)snprintf(text, size, "policy: p\nkinds: {G: {matches: '[a-z/]+x?'}}\nrules:\n"
                           "  - {id: r, effect: permit, match: {tools: ['*']}, when: [{arg: v, words: {forms: [");
    for (int i = 0; i < 1500; i++)
        len += (size_t)snprintf(text + len, size - len, "'ls [-{la}] [-n G] G... x%d', ", i);
    snprintf(text + len, size - len, "]}}]}\n");
    len = (size_t)snprintf(arguments, size, "{\"v\":[\"ls\"");
    for (int i = 0; i < 90000; i++)
        len += (size_t)snprintf(arguments + len, 8, ",\"a\"");
    snprintf(arguments + len, 8, "]}");
    court_open(&court, text);
    op = court.policy->rules[0].when->op_count > 0 ? court.policy->rules[0].when->ops : court.policy->rules[0].when->members[0].ops;
    buf_init(&told, 4096);
    work_us = clock_thread_cpu_us();
    op->guide->tell(op, court_tree(&court, span_text(arguments))->child, &told);
    work_us = clock_thread_cpu_us() - work_us;
    assert_true(span_starts_with(buf_peek(&told), SPAN_LIT("the beginning of `ls ")));
    if (work_us > 10000000) /* it was 20 seconds, and is half of one */
        fail_msg("%.1f seconds of CPU", (double)work_us / 1e6);
    buf_fini(&told);
    court_close(&court);
    free(text);
    free(arguments);
}

TEST_MAIN(NULL, NULL)
