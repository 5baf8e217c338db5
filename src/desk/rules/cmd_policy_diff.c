/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy diff: what a change does, in words and in calls. */
#include "cli/commands.h"
#include "cli/policy_files.h"
#include "args/print.h"
#include "language/language.h"
#include "store/store.h"

#include "diff/diff.h"
#include "author/store_change.h"
#include "base/num.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>

#define EXAMPLE_SHOWN 160

struct diffing {
    const struct asked *asked;
    struct policy *before, *after;
    char names[2][32]; /* "version 3", "the files" */
};

/* ---- what is compared ---- */

static bool is_number(const char *text, uint64_t *version)
{
    return num_u64(span_text(text), version) == CODE_OK && *version > 0 && *version <= INT64_MAX;
}

static enum code take(struct diffing *d, struct db *db, uint64_t version, int side, struct why *why)
{
    struct policy **policy = side == 0 ? &d->before : &d->after;

    (void)snprintf(d->names[side], sizeof d->names[side], version != 0 ? "version %" PRIu64 : "nothing", version);
    if (version != 0)
        return store_compile_policy(db, version, policy, why);
    return policy_compile(NULL, 0, 0, policy, &(struct faults){.count = 0}, NULL);
}

/* Two versions, or one and the active one. */
static int find_versions(struct diffing *d)
{
    char *const *argv = d->asked->given.operands;
    const int operands = d->asked->given.count;
    uint64_t versions[2] = {0, 0};
    struct why why = {""};
    struct db *db = NULL;
    enum code code;

    for (int i = 0; i < operands; i++)
        if (!is_number(argv[i], &versions[i]))
            return complain(STATUS_USAGE, "\"%s\" is no version, and the first operand is; name versions or files", argv[i]);
    code = asked_store(d->asked, DB_READ, &db, &why);
    if (code == CODE_OK && operands == 1) {
        code = policy_store_active(db, &versions[1], &why);
        if (code == CODE_OK && versions[1] == 0)
            code = why_set(&why, CODE_INVALID, "no policy is active; name two versions");
    }
    for (int i = 0; i < 2 && code == CODE_OK; i++)
        code = take(d, db, versions[i], i, &why);
    db_close(&db);
    return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
}

/* The active version, and the files laid over it as `load` would. */
static int find_files(struct diffing *d)
{
    const struct given *given = &d->asked->given;
    static struct faults faults;
    struct policy_store_change change = {.only = d->asked->only, .may_remove = true};
    struct policy_files files;
    struct why why = {""};
    struct db *db = NULL;
    uint64_t active = 0;
    enum code code;
    int status = policy_files_of(&files, given);

    if (status != OPTIONS_GO)
        return status;
    faults_init(&faults);
    change.files = files.files;
    change.file_count = files.count;
    (void)snprintf(d->names[1], sizeof d->names[1], "%s", given->count == 1 ? "the file" : "the files");
    code = asked_store(d->asked, DB_READ, &db, &why);
    if (code == CODE_OK)
        code = policy_store_active(db, &active, &why);
    if (code == CODE_OK)
        code = take(d, db, active, 0, &why);
    if (code == CODE_OK)
        code = policy_store_preview(db, &change, &d->after, &faults, &why);
    db_close(&db);
    policy_files_fini(&files);
    if (code == CODE_INVALID && faults.count > 0) {
        print_faults(&faults, "");
        return STATUS_USAGE;
    }
    return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
}

/* ---- words ---- */

/* The other rules of which the sentence is as true. */
static void print_also(const struct diff_change *change)
{
    struct span rule = diff_also(change, change->rule), next = rule;

    for (bool is_first = true; rule.at != NULL; rule = next, is_first = false) {
        next = diff_also(change, rule);
        print_safely(stdout, "%s%.*s", !is_first ? ", " : next.at != NULL ? "; so do " : "; so does ", SPAN_ARG(rule));
    }
}

/* Whether calls could flip by it. */
static bool is_of_calls(enum diff_way way)
{
    return way != DIFF_NOTHING && way != DIFF_KEEPS_BACK && way != DIFF_LETS_BACK;
}

static void print_changes(const struct diff *diff)
{
    for (size_t i = 0; i < diff->change_count; i++) {
        const struct diff_change *change = &diff->changes[i];

        if (i == 0 || diff->changes[i - 1].way != change->way)
            print_safely(stdout, "\n%s:\n", diff_way_text(change->way));
        if (change->rule.at != NULL)
            print_safely(stdout, "  %s %.*s (%.*s:%d) ", change->effect, SPAN_ARG(change->rule),
                         SPAN_ARG(change->file), change->line);
        else
            printf("  ");
        print_safely(stdout, "%.*s", SPAN_ARG(change->text));
        print_also(change);
        if (is_of_calls(change->way) && change->probes > 0)
            print_safely(stdout, " [%" PRIu64 " %s by this]", change->probes,
                         change->probes == 1 ? "call flips" : "calls flip");
        else if (is_of_calls(change->way))
            printf(" [no call that was tried flips by this]");
        putchar('\n');
    }
}

static void print_verdict(const struct diff_verdict *verdict)
{
    if (verdict->rule.at != NULL)
        print_safely(stdout, "%s by %.*s", verdict_text(verdict->kind), SPAN_ARG(verdict->rule));
    else
        print_safely(stdout, "%s (%s)", verdict_text(verdict->kind), reason_name(verdict->reason));
}

static void print_flips(const struct diff *diff)
{
    print_safely(stdout, "\n%" PRIu64 " calls were tried (%" PRIu64
                 " of tests, the others around the bounds of what changed): %" PRIu64 " %s\n", diff->probes, diff->test_probes,
                 diff->flipped, diff->flipped == 1 ? "flips" : "flip");
    if (diff->left_out > 0)
        printf("%" PRIu64 " more were not tried, there being too many\n", diff->left_out);
    for (size_t i = 0; i < diff->flip_count; i++) {
        const struct diff_flip *flip = &diff->flips[i];
        struct span shown = utf8_cut(flip->example, EXAMPLE_SHOWN);

        printf("%8" PRIu64 "  ", flip->calls);
        print_verdict(&flip->before);
        printf(" -> ");
        print_verdict(&flip->after);
        printf("\n          as in ");
        print_safely(stdout, "%.*s%s", SPAN_ARG(shown), shown.len < flip->example.len ? "..." : "");
        putchar('\n');
    }
}

static void print_back(const char *before, enum answer_effect effect, struct span rule)
{
    print_safely(stdout, "%s%s", before, effect == ANSWER_NONE ? "goes on" : answer_effect_text(effect));
    if (rule.at != NULL)
        print_safely(stdout, " by %.*s", SPAN_ARG(rule));
}

static void print_backs(const struct diff *diff)
{
    printf("\n%" PRIu64 " answers were tried (%" PRIu64 " of tests): with %" PRIu64 " something else is done\n", diff->answers,
           diff->answers_of_tests, diff->answers_changed);
    for (size_t i = 0; i < diff->back_count; i++) {
        const struct diff_back *back = &diff->backs[i];

        printf("%8" PRIu64 "  ", back->answers);
        print_back("", back->before, back->before_rule);
        print_back(" -> ", back->after, back->after_rule);
        if (back->test.at != NULL)
            print_safely(stdout, ", as in the test `%.*s`", SPAN_ARG(back->test));
        putchar('\n');
    }
}

static void print_diff(const struct diffing *d, const struct diff *diff)
{
    print_safely(stdout, "%s -> %s\n", d->names[0], d->names[1]);
    if (diff_is_empty(diff)) {
        print_safely(stdout, "%s\n", span_equals(policy_hash(d->before), policy_hash(d->after))
                           ? "the same text"
                           : "the same rules and redactions; only comments, tests or the way of writing differ");
        return;
    }
    print_changes(diff);
    if (diff->probes > 0)
        print_flips(diff);
    if (diff->answers > 0)
        print_backs(diff);
    if (diff->tests_before != diff->tests_after)
        printf("tests: %" PRIu64 " -> %" PRIu64 "\n", diff->tests_before, diff->tests_after);
}

/* ---- JSON ---- */

static void fill_verdict(struct doc *doc, const struct diff_verdict *verdict)
{
    doc_text(doc, "verdict", span_text(verdict_text(verdict->kind)));
    doc_text(doc, "reason", span_text(reason_name(verdict->reason)));
    doc_text_or_null(doc, "rule", verdict->rule);
}

static void fill_changes(struct doc *list, const struct diff *diff)
{
    for (size_t i = 0; i < diff->change_count; i++) {
        const struct diff_change *change = &diff->changes[i];
        struct doc *one = doc_add_object(list, NULL), *also;
        struct span rule;

        doc_text(one, "way", span_text(diff_way_text(change->way)));
        if (change->rule.at != NULL) {
            doc_text(one, "rule", change->rule);
            doc_text(one, "effect", span_text(change->effect));
            doc_text(one, "file", change->file);
            doc_int(one, "line", change->line);
            doc_int(one, "calls", (int64_t)change->probes);
            also = doc_add_array(one, "also");
            for (rule = diff_also(change, change->rule); rule.at != NULL; rule = diff_also(change, rule))
                doc_text(also, NULL, rule);
        }
        doc_text(one, "text", change->text);
    }
}

static void fill_backs(struct doc *list, const struct diff *diff)
{
    for (size_t i = 0; i < diff->back_count; i++) {
        const struct diff_back *back = &diff->backs[i];
        struct doc *one = doc_add_object(list, NULL), *before = doc_add_object(one, "before");
        struct doc *after = doc_add_object(one, "after");

        doc_int(one, "answers", (int64_t)back->answers);
        doc_text(before, "effect", span_text(answer_effect_text(back->before)));
        doc_text_or_null(before, "rule", back->before_rule);
        doc_text(after, "effect", span_text(answer_effect_text(back->after)));
        doc_text_or_null(after, "rule", back->after_rule);
        doc_text_or_null(one, "test", back->test);
    }
}

static int print_diff_json(const struct diffing *d, const struct diff *diff)
{
    struct doc *doc = doc_object(), *flips;

    doc_text(doc, "before", span_text(d->names[0]));
    doc_text(doc, "after", span_text(d->names[1]));
    doc_bool(doc, "differs", !diff_is_empty(diff));
    fill_changes(doc_add_array(doc, "changes"), diff);
    doc_int(doc, "calls_tried", (int64_t)diff->probes);
    doc_int(doc, "calls_of_tests", (int64_t)diff->test_probes);
    doc_int(doc, "calls_left_out", (int64_t)diff->left_out);
    doc_int(doc, "calls_flipped", (int64_t)diff->flipped);
    flips = doc_add_array(doc, "flips");
    for (size_t i = 0; i < diff->flip_count; i++) {
        struct doc *one = doc_add_object(flips, NULL);

        doc_int(one, "calls", (int64_t)diff->flips[i].calls);
        fill_verdict(doc_add_object(one, "before"), &diff->flips[i].before);
        fill_verdict(doc_add_object(one, "after"), &diff->flips[i].after);
        doc_text(one, "example", diff->flips[i].example);
    }
    doc_int(doc, "answers_tried", (int64_t)diff->answers);
    doc_int(doc, "answers_of_tests", (int64_t)diff->answers_of_tests);
    doc_int(doc, "answers_changed", (int64_t)diff->answers_changed);
    fill_backs(doc_add_array(doc, "answers"), diff);
    doc_int(doc, "tests_before", (int64_t)diff->tests_before);
    doc_int(doc, "tests_after", (int64_t)diff->tests_after);
    return print_doc(&doc);
}

/* ---- the command ---- */

static int tell(const struct diffing *d)
{
    struct diff *diff = NULL;
    int status = STATUS_DONE;

    if (diff_new(d->before, d->after, &diff) != CODE_OK)
        return complain(STATUS_CANNOT, "not enough memory");
    if (d->asked->json)
        status = print_diff_json(d, diff);
    else
        print_diff(d, diff);
    if (status == STATUS_DONE && !diff_is_empty(diff))
        status = STATUS_NEGATIVE;
    diff_free(&diff);
    return status;
}

int cmd_policy_diff(const struct asked *asked)
{
    struct diffing d = {.asked = asked};
    uint64_t version;
    bool is_of_versions = is_number(asked_operand(asked, 0), &version);
    int status;

    if (is_of_versions && asked->given.count > 2)
        return complain(STATUS_USAGE, "two versions are compared; name no more");
    status = is_of_versions ? find_versions(&d) : find_files(&d);
    if (status == OPTIONS_GO)
        status = tell(&d);
    policy_unref(&d.before);
    policy_unref(&d.after);
    return status;
}
