/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy check and test: what authors ask before anything is stored. */
#include "app/cmd_policy_priv.h"
#include "app/policy_files.h"
#include "app/print.h"

#include "base/glob.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- check ---- */

/* GitHub's workflow commands end at a line end and take `%` as an escape. */
static void print_github_text(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '%' || *text == '\r' || *text == '\n')
            printf("%%%02X", (unsigned)(unsigned char)*text);
        else
            putchar(*text);
}

static void print_github(const struct faults *faults, const char *kind)
{
    for (size_t i = 0; i < faults->count && i < FAULTS_MAX; i++) {
        const struct fault *fault = &faults->fault[i];

        printf("::%s file=%s,line=%d,col=%d::", kind, fault->file, fault->line, fault->column);
        print_github_text(fault->text);
        putchar('\n');
    }
}

struct check {
    bool as_json, github, strict;
    struct faults faults, warnings;
    size_t files, rules;
};

static int print_check_json(const struct check *check, int status)
{
    struct doc *doc = doc_object();
    int printed;

    doc_bool(doc, "valid", check->faults.count == 0);
    doc_int(doc, "files", (int64_t)check->files);
    doc_int(doc, "rules", (int64_t)check->rules);
    policy_faults_doc(&check->faults, doc_add_array(doc, "errors"));
    doc_int(doc, "error_count", (int64_t)check->faults.count);
    policy_faults_doc(&check->warnings, doc_add_array(doc, "warnings"));
    doc_int(doc, "warning_count", (int64_t)check->warnings.count);
    printed = print_doc(&doc);
    return printed == STATUS_DONE ? status : printed;
}

static int tell_check(const struct check *check)
{
    bool warned = check->strict && check->warnings.count > 0;
    int status = check->faults.count > 0 ? STATUS_USAGE : warned ? STATUS_NEGATIVE : STATUS_DONE;

    if (check->as_json)
        return print_check_json(check, status);
    if (check->github) {
        print_github(&check->faults, "error");
        print_github(&check->warnings, "warning");
        return status;
    }
    policy_faults_print(&check->faults, "");
    policy_faults_print(&check->warnings, "warning: ");
    if (check->faults.count == 0)
        printf("%zu %s, %zu %s: no errors, %zu %s\n", check->files, check->files == 1 ? "file" : "files", check->rules,
               check->rules == 1 ? "rule" : "rules", check->warnings.count,
               check->warnings.count == 1 ? "warning" : "warnings");
    return status;
}

int cmd_policy__check(int argc, char **argv)
{
    static struct check check;
    const struct option options[] = {
        {.name = "json", .help = "the answer as JSON", .flag = &check.as_json},
        {.name = "github", .help = "as annotations of a GitHub workflow", .flag = &check.github},
        {.name = "strict", .help = "warnings give exit status 1", .flag = &check.strict},
        {0},
    };
    const struct usage usage = {"callgate policy check FILE... [OPTIONS]",
                                "Reads the files as one complete set: all errors (exit status 2), then warnings (exit status\n"
                                "0). Regexes are tried on hostile input.",
                                options, 1, -1};
    struct policy_files files;
    struct policy *policy = NULL;
    enum code code;
    int operands, status;

    check = (struct check){.as_json = false};
    status = options_read(&usage, argc, argv, &operands);
    if (status == OPTIONS_GO)
        status = policy_files_read(&files, (const char *const *)argv, (size_t)operands);
    if (status != OPTIONS_GO)
        return status;
    faults_init(&check.faults);
    faults_init(&check.warnings);
    code = policy_compile(files.files, files.count, 0, &policy, &check.faults, &check.warnings);
    check.files = files.count;
    check.rules = code == CODE_OK ? policy_rule_count(policy) : 0;
    status = code == CODE_OK || code == CODE_INVALID ? tell_check(&check) : complain(STATUS_CANNOT, "%s", code_text(code));
    policy_unref(&policy);
    policy_files_fini(&files);
    return status;
}

/* ---- test ---- */

struct testing {
    bool as_json, coverage;
    const char *filter;
    const char *junit;
    const struct policy *policy;
    bool *decided; /* by rule */
    size_t passed, failed;
    struct doc *doc;     /* --json */
    struct doc *results; /* in it */
    FILE *report;
};

static void xml_text(FILE *out, struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];

        if (c == '<' || c == '>' || c == '&' || c == '"')
            fprintf(out, "&#%d;", c);
        else if (c >= 0x20)
            fputc(c, out);
    }
}

static void report_junit(FILE *out, const struct policy_test_result *result)
{
    fputs("  <testcase classname=\"", out);
    xml_text(out, result->file);
    fputs("\" name=\"", out);
    xml_text(out, result->name);
    if (result->passed) {
        fputs("\"/>\n", out);
        return;
    }
    fputs("\"><failure message=\"expected ", out);
    xml_text(out, result->expected);
    fputs(", got ", out);
    xml_text(out, result->got);
    fprintf(out, "\">line %d</failure></testcase>\n", result->line);
}

static void mark_decided(struct testing *testing, struct span rule)
{
    for (size_t i = 0; rule.at != NULL && i < policy_rule_count(testing->policy); i++)
        if (span_equals(policy_rule_id(testing->policy, i), rule))
            testing->decided[i] = true;
}

static void take_result(void *context, const struct policy_test_result *result)
{
    struct testing *testing = context;

    if (testing->filter != NULL && !glob_matches(span_text(testing->filter), result->name))
        return;
    testing->passed += result->passed;
    testing->failed += !result->passed;
    mark_decided(testing, result->rule);
    if (testing->report != NULL)
        report_junit(testing->report, result);
    if (testing->as_json) {
        struct doc *one = doc_add_object(testing->results, NULL);

        doc_text(one, "file", result->file);
        doc_int(one, "line", result->line);
        doc_text(one, "name", result->name);
        doc_bool(one, "passed", result->passed);
        doc_text(one, "expected", result->expected);
        doc_text(one, "got", result->got);
    } else if (!result->passed) {
        printf("%.*s:%d: FAILED %.*s: expected %.*s, got %.*s\n", SPAN_ARG(result->file), result->line, SPAN_ARG(result->name),
               SPAN_ARG(result->expected), SPAN_ARG(result->got));
    }
}

static void print_coverage(const struct testing *testing)
{
    size_t count = policy_rule_count(testing->policy), decided = 0;
    struct doc *list = doc_add_array(testing->doc, "rules_without_test");

    for (size_t i = 0; i < count; i++) {
        decided += testing->decided[i];
        if (testing->decided[i])
            continue;
        if (testing->as_json)
            doc_text(list, NULL, policy_rule_id(testing->policy, i));
        else
            printf("no test is decided by %.*s\n", SPAN_ARG(policy_rule_id(testing->policy, i)));
    }
    if (!testing->as_json)
        printf("%zu of %zu rules decide a test\n", decided, count);
}

static int tell_tests(struct testing *testing)
{
    int status = testing->failed > 0 ? STATUS_NEGATIVE : STATUS_DONE, printed;

    if (testing->coverage)
        print_coverage(testing);
    if (!testing->as_json) {
        printf("%zu passed, %zu failed\n", testing->passed, testing->failed);
        return status;
    }
    doc_int(testing->doc, "passed", (int64_t)testing->passed);
    doc_int(testing->doc, "failed", (int64_t)testing->failed);
    printed = print_doc(&testing->doc);
    return printed == STATUS_DONE ? status : printed;
}

static int run_tests(struct testing *testing)
{
    struct policy_scratch *scratch = NULL;
    size_t passed, failed;
    enum code code = policy_scratch_new(&scratch);

    testing->decided = mem_array(policy_rule_count(testing->policy), sizeof(bool));
    if (testing->decided == NULL)
        code = CODE_NOMEM;
    if (testing->report != NULL)
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"callgate policy test\">\n", testing->report);
    if (code == CODE_OK)
        code = policy_test(testing->policy, scratch, take_result, testing, &passed, &failed);
    if (testing->report != NULL)
        fputs("</testsuite>\n", testing->report);
    policy_scratch_free(&scratch);
    return code == CODE_OK ? OPTIONS_GO : complain(STATUS_CANNOT, "%s", code_text(code));
}

static int test_files(struct testing *testing, const struct policy_files *files)
{
    struct policy *policy = NULL;
    int status = policy_files_compile(files, &policy);

    if (status != OPTIONS_GO)
        return status;
    testing->policy = policy;
    if (testing->junit != NULL) {
        testing->report = fopen(testing->junit, "w");
        if (testing->report == NULL)
            status = complain(STATUS_CANNOT, "%s: %s; name a file that can be written", testing->junit, strerror(errno));
    }
    if (status == OPTIONS_GO)
        status = run_tests(testing);
    if (testing->report != NULL && fclose(testing->report) != 0 && status == OPTIONS_GO)
        status = complain(STATUS_CANNOT, "%s: %s", testing->junit, strerror(errno));
    if (status == OPTIONS_GO)
        status = tell_tests(testing);
    mem_free(testing->decided);
    policy_unref(&policy);
    return status;
}

int cmd_policy__test(int argc, char **argv)
{
    struct testing testing = {0};
    const struct option options[] = {
        {.name = "filter", .takes = "GLOB", .help = "only tests whose name it matches", .value = &testing.filter},
        {.name = "coverage", .help = "also which rules decided no test", .flag = &testing.coverage},
        {.name = "junit", .takes = "FILE", .help = "write a JUnit report", .value = &testing.junit},
        {.name = "json", .help = "the answer as JSON", .flag = &testing.as_json},
        {0},
    };
    const struct usage usage = {"callgate policy test FILE... [OPTIONS]",
                                "Judges the calls under `tests:` by the files as one complete set. Exit status 1 where one\n"
                                "fails.",
                                options, 1, -1};
    struct policy_files files;
    int operands, status = options_read(&usage, argc, argv, &operands);

    if (status == OPTIONS_GO)
        status = policy_files_read(&files, (const char *const *)argv, (size_t)operands);
    if (status != OPTIONS_GO)
        return status;
    testing.doc = testing.as_json ? doc_object() : NULL;
    testing.results = doc_add_array(testing.doc, "tests");
    status = test_files(&testing, &files);
    doc_free(&testing.doc);
    policy_files_fini(&files);
    return status;
}
