/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy test: the tests that stand in policy files, and what they leave untried. */
#include "cli/commands.h"
#include "cli/policy_files.h"
#include "cli/told.h"
#include "args/print.h"

#include "base/mem.h"
#include "author/coverage.h"
#include "os/file.h"
#include "judgement/judgement.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SUITE_MAX_BYTES ((size_t)256 << 20)

struct testing {
    const struct asked *asked;
    struct policy *policy;
    struct coverage *seen;
    size_t passed, failed;
    struct doc *doc, *results;
    /* --junit: a file's tests are kept until they are counted */
    FILE *report;
    struct buf suite;
    struct span suite_file;
    size_t suite_tests, suite_failures;
    enum code code;
    /* --coverage, while it is told */
    struct doc *rules, *conditions;
    size_t rule_count, decided_rules, condition_count, decided_conditions;
};

/* ---- JUnit ---- */

/* Controls that XML 1.0 cannot hold become U+FFFD. */
static enum code add_xml(struct buf *out, struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];

        if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\n' || c == '\t' || c == '\r')
            buf_addf(out, "&#%d;", c);
        else
            if (c < 0x20)
                buf_add_text(out, "\xef\xbf\xbd");
            else
                buf_add_byte(out, (char)c);
    }
    return buf_code(out);
}

static void end_suite(struct testing *testing)
{
    struct buf name;

    if (testing->suite_tests == 0)
        return;
    buf_init(&name, 1 << 16);
    if (testing->code == CODE_OK)
        testing->code = add_xml(&name, testing->suite_file);
    if (testing->code == CODE_OK) {
        print_safely(testing->report, "  <testsuite name=\"%.*s\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n",
                     SPAN_ARG(buf_peek(&name)), testing->suite_tests, testing->suite_failures);
        print_lines(testing->report, buf_peek(&testing->suite));
        fputs("  </testsuite>\n", testing->report);
    }
    buf_fini(&name);
    buf_clear(&testing->suite);
    testing->suite_tests = testing->suite_failures = 0;
}

static enum code add_failure(struct buf *out, const struct policy_test_result *result)
{
    buf_add_text(out, "\">\n      <failure message=\"expected ");
    add_xml(out, result->expected);
    buf_add_text(out, ", got ");
    add_xml(out, result->got);
    buf_add_text(out, "\">");
    add_xml(out, result->file);
    return buf_addf(out, ":%d</failure>\n    </testcase>\n", result->line);
}

static enum code add_case(struct testing *testing, const struct policy_test_result *result)
{
    struct buf *out = &testing->suite;

    buf_add_text(out, "    <testcase classname=\"");
    add_xml(out, result->file);
    buf_add_text(out, "\" name=\"");
    add_xml(out, result->name);
    testing->suite_tests++;
    testing->suite_failures += !result->passed;
    return result->passed ? buf_add_text(out, "\"/>\n") : add_failure(out, result);
}

/* Tests come file by file. */
static void report_junit(struct testing *testing, const struct policy_test_result *result)
{
    if (!span_equals(testing->suite_file, result->file))
        end_suite(testing);
    testing->suite_file = result->file;
    if (testing->code == CODE_OK)
        testing->code = add_case(testing, result);
}

/* ---- results ---- */

static void take_result(void *context, const struct policy_test_result *result)
{
    struct testing *testing = context;

    if (testing->report != NULL)
        report_junit(testing, result);
    policy_test_doc(result, testing->results);
}

/* ---- coverage ---- */

static void fill_rule(void *context, const struct coverage_rule *rule)
{
    struct testing *testing = context;
    struct doc *one = doc_add_object(testing->rules, NULL);

    testing->rule_count++;
    testing->decided_rules += rule->decided > 0;
    doc_text(one, "rule", rule->id);
    doc_text(one, "effect", span_text(rule->effect));
    doc_bool(one, "monitor", rule->monitor);
    doc_text(one, "file", rule->file);
    doc_int(one, "line", rule->line);
    doc_int(one, "decided", (int64_t)rule->decided);
    doc_int(one, "applied", (int64_t)rule->applied);
    testing->conditions = doc_add_array(one, "conditions");
}

static void fill_condition(void *context, const struct coverage_condition *condition)
{
    struct testing *testing = context;
    struct doc *one = doc_add_object(testing->conditions, NULL);

    testing->condition_count++;
    testing->decided_conditions += condition->is_true > 0 && condition->is_false > 0;
    doc_text(one, "condition", condition->label);
    doc_int(one, "line", condition->line);
    doc_int(one, "true", (int64_t)condition->is_true);
    doc_int(one, "false", (int64_t)condition->is_false);
    doc_int(one, "undecided", (int64_t)condition->undecided);
}

static enum code fill_coverage(struct testing *testing)
{
    struct doc *doc = testing->asked->coverage ? doc_add_object(testing->doc, "coverage") : NULL;
    enum code code;

    if (!testing->asked->coverage) {
        doc_null(testing->doc, "coverage");
        return CODE_OK;
    }
    testing->rules = doc_add_array(doc, "rules");
    code = coverage_each(testing->seen, fill_rule, fill_condition, testing);
    doc_int(doc, "rules_decided", (int64_t)testing->decided_rules);
    doc_int(doc, "rule_count", (int64_t)testing->rule_count);
    doc_int(doc, "conditions_decided", (int64_t)testing->decided_conditions);
    doc_int(doc, "condition_count", (int64_t)testing->condition_count);
    return code;
}

/* ---- the command ---- */

static const char words[] =
    "{*tests}[{!passed}" POLICY_TEST_FAILED "]{/}"
    "[{?coverage}rule                                                   decided applied\n"
    "  condition                                               true   false undecided\n"
    "{*coverage.rules}{rule:left 54} {decided:right 7} {applied:right 7}"
    "[{!decided}  [{?monitor}monitored][{!monitor}decides no test]]\n"
    "{*conditions}  {condition:left 52} {true:right 7} {false:right 7} {undecided:right 9}"
    "[{?true}{!false}  never false][{!true}{?false}  never true][{!true}{!false}  never either]\n{/}{/}"
    "{coverage.rules_decided} of {coverage.rule_count} rules decide a test; "
    "{coverage.conditions_decided} of {coverage.condition_count} conditions were seen true and false\n]"
    "{passed} passed, {failed} failed\n";

static int tell_tests(struct testing *testing)
{
    int status = testing->failed > 0 ? STATUS_NEGATIVE : STATUS_DONE;

    if (fill_coverage(testing) != CODE_OK)
        return complain(STATUS_CANNOT, "not enough memory");
    if (testing->asked->filter != NULL && testing->passed + testing->failed == 0)
        print_safely(stderr, "callgate: no test's name matches \"%s\"\n", testing->asked->filter);
    doc_int(testing->doc, "passed", (int64_t)testing->passed);
    doc_int(testing->doc, "failed", (int64_t)testing->failed);
    return told_answer(&testing->doc, testing->asked->json, words) == STATUS_DONE ? status : STATUS_CANNOT;
}

static int run_tests(struct testing *testing)
{
    struct policy_scratch *scratch = NULL;
    enum code code = policy_scratch_new(&scratch);

    if (code == CODE_OK && testing->asked->coverage)
        code = coverage_new(testing->policy, &testing->seen);
    if (testing->report != NULL)
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"callgate policy test\">\n", testing->report);
    if (code == CODE_OK)
        code = coverage_test(testing->policy, testing->asked->filter, testing->seen, scratch, take_result, testing,
                             &testing->passed, &testing->failed);
    if (testing->report != NULL) {
        end_suite(testing);
        fputs("</testsuites>\n", testing->report);
    }
    policy_scratch_free(&scratch);
    code = code == CODE_OK ? testing->code : code;
    return code == CODE_OK ? OPTIONS_GO : complain(STATUS_CANNOT, "%s", code_text(code));
}

static int test_files(struct testing *testing, const struct policy_files *files)
{
    int status = policy_files_compile(files, &testing->policy);

    if (status != OPTIONS_GO)
        return status;
    if (testing->asked->junit != NULL) {
        int fd = file_make(testing->asked->junit, O_WRONLY | O_TRUNC, 0666);

        testing->report = fd >= 0 ? fdopen(fd, "w") : NULL;
        if (testing->report == NULL)
            status = complain(STATUS_CANNOT, "%s: %s; name a file that can be written", testing->asked->junit, strerror(errno));
    }
    if (status == OPTIONS_GO)
        status = run_tests(testing);
    if (testing->report != NULL && fclose(testing->report) != 0 && status == OPTIONS_GO)
        status = complain(STATUS_CANNOT, "%s: %s", testing->asked->junit, strerror(errno));
    if (status == OPTIONS_GO)
        status = tell_tests(testing);
    coverage_free(&testing->seen);
    policy_unref(&testing->policy);
    return status;
}

int cmd_policy_test(const struct asked *asked)
{
    struct testing testing = {.asked = asked};
    struct policy_files files;
    int status = policy_files_try(&files, asked);

    if (status != OPTIONS_GO)
        return status;
    testing.doc = doc_object();
    testing.results = doc_add_array(testing.doc, "tests");
    buf_init(&testing.suite, SUITE_MAX_BYTES);
    status = test_files(&testing, &files);
    buf_fini(&testing.suite);
    doc_free(&testing.doc);
    policy_files_fini(&files);
    return status;
}
