/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy diff: what a change does, in words and in calls. */
#include "cli/commands.h"
#include "cli/policy_files.h"
#include "cli/told.h"
#include "args/print.h"
#include "language/language.h"
#include "store/store.h"

#include "diff/diff.h"
#include "author/store_change.h"
#include "base/num.h"
#include "policy/snapshot.h"

#include <inttypes.h>
#include <stdio.h>

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
        return store_compile_policy(db, version, &policy_authoring, policy, why);
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
    int status = policy_files_of(&files, d->asked);

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

/* ---- the document ---- */

/* Whether calls could flip by it. */
static bool is_of_calls(enum diff_way way)
{
    return way != DIFF_NOTHING && way != DIFF_KEEPS_BACK && way != DIFF_LETS_BACK;
}

static void fill_changes(struct doc *list, const struct diff *diff)
{
    for (size_t i = 0; i < diff->change_count; i++) {
        const struct diff_change *change = &diff->changes[i];
        struct doc *one = doc_add_object(list, NULL), *also;

        doc_text(one, "way", span_text(diff_way_text(change->way)));
        doc_text_or_null(one, "rule", change->rule);
        doc_text_or_null(one, "effect", change->rule.at != NULL ? span_text(change->effect) : SPAN_NONE);
        doc_text_or_null(one, "file", change->rule.at != NULL ? change->file : SPAN_NONE);
        print_number(one, "line", change->rule.at != NULL ? change->line : 0);
        if (is_of_calls(change->way))
            doc_int(one, "calls", (int64_t)change->probes);
        else
            doc_null(one, "calls");
        also = doc_add_array(one, "also"); /* the other rules of which the text is as true */
        for (struct span rule = diff_also(change, change->rule); rule.at != NULL; rule = diff_also(change, rule))
            doc_text(also, NULL, rule);
        doc_text(one, "text", change->text);
    }
}

static void fill_verdict(struct doc *doc, const struct diff_verdict *verdict)
{
    doc_text(doc, "verdict", span_text(verdict_text(verdict->kind)));
    doc_text(doc, "reason", span_text(reason_name(verdict->reason)));
    doc_text_or_null(doc, "rule", verdict->rule);
}

static void fill_flips(struct doc *list, const struct diff *diff)
{
    for (size_t i = 0; i < diff->flip_count; i++) {
        struct doc *one = doc_add_object(list, NULL);

        doc_int(one, "calls", (int64_t)diff->flips[i].calls);
        fill_verdict(doc_add_object(one, "before"), &diff->flips[i].before);
        fill_verdict(doc_add_object(one, "after"), &diff->flips[i].after);
        doc_text(one, "example", diff->flips[i].example);
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

static const struct policy_parameter *parameter_of(const struct policy *policy, struct span file, struct span name)
{
    for (uint32_t i = 0; i < policy->source_count; i++)
        for (uint32_t j = 0; j < policy->sources[i].parameter_count; j++)
            if (span_equals(policy->sources[i].name, file) && span_equals(policy->sources[i].parameters[j].name, name))
                return &policy->sources[i].parameters[j];
    return NULL;
}

/* The values that differ: of one side, and on the other none or another one. */
static void fill_parameters(struct doc *list, const struct policy *one, const struct policy *other, bool is_after)
{
    for (uint32_t i = 0; i < one->source_count; i++)
        for (uint32_t j = 0; j < one->sources[i].parameter_count; j++) {
            const struct policy_parameter *mine = &one->sources[i].parameters[j];
            const struct policy_parameter *theirs = parameter_of(other, one->sources[i].name, mine->name);
            struct doc *doc;

            if (theirs != NULL && (is_after || span_equals(theirs->json, mine->json)))
                continue;
            doc = doc_add_object(list, NULL);
            doc_text(doc, "policy", one->sources[i].name);
            doc_text(doc, "parameter", mine->name);
            doc_text_or_null(doc, "before", is_after ? SPAN_NONE : mine->json);
            doc_text_or_null(doc, "after", is_after ? mine->json : theirs != NULL ? theirs->json : SPAN_NONE);
        }
}

#define VERDICT(of) "{" of ".verdict}[ by {" of ".rule}][{!" of ".rule} ({" of ".reason})]"
#define BACK(of) "[{?" of ".effect=none}goes on][{!" of ".effect=none}{" of ".effect}][ by {" of ".rule}]"

static const char words[] =
    "{before} -> {after}\n"
    "[{!differs}{?same_text}the same text\n]"
    "[{!differs}{!same_text}the same rules and redactions; only comments, tests or the way of writing differ\n]"
    "{*parameters}parameter {parameter} of {policy}: [{before}][{!before}none] -> [{after}][{!after}none]\n{/}"
    "[{?differs}{*changes}[\n{way:new}:\n]  [{effect} {rule} ({file}:{line}) ]{text}"
    "[; so do[{!also:beyond 1}es] {*also}{.}{/, }]"
    "[{?calls=0} \\[no call that was tried gets another verdict by this\\]]"
    "[ \\[{calls} of the calls that were tried get[{?calls=1}s] another verdict by this\\]]\n{/}"
    "[{?calls_tried}\n{calls_tried} calls were tried by both ({calls_of_tests} of tests, the others made up around the "
    "bounds of what changed): {calls_flipped} get[{?calls_flipped=1}s] another verdict"
    "[{?calls_flipped}, so many of each kind:]\n"
    "[{calls_left_out} more calls were not tried, there being too many\n]"
    "{*flips}{calls:right 8}  " VERDICT("before") " -> " VERDICT("after") "\n          as in {example:cut 160}\n{/}]"
    "[{?answers_tried}\n{answers_tried} answers were tried ({answers_of_tests} of tests): with {answers_changed} something "
    "else is done\n{*answers}{answers:right 8}  " BACK("before") " -> " BACK("after") "[, as in the test `{test}`]\n{/}]"
    "[{?tests_changed}tests in the files: {tests_before} before, {tests_after} now\n]]";

static struct doc *doc_of(const struct diffing *d, const struct diff *diff)
{
    struct doc *doc = doc_object(), *parameters;

    doc_text(doc, "before", span_text(d->names[0]));
    doc_text(doc, "after", span_text(d->names[1]));
    doc_bool(doc, "differs", !diff_is_empty(diff));
    doc_bool(doc, "same_text", span_equals(policy_hash(d->before), policy_hash(d->after)));
    parameters = doc_add_array(doc, "parameters");
    fill_parameters(parameters, d->before, d->after, false);
    fill_parameters(parameters, d->after, d->before, true);
    fill_changes(doc_add_array(doc, "changes"), diff);
    doc_int(doc, "calls_tried", (int64_t)diff->probes);
    doc_int(doc, "calls_of_tests", (int64_t)diff->test_probes);
    doc_int(doc, "calls_left_out", (int64_t)diff->left_out);
    doc_int(doc, "calls_flipped", (int64_t)diff->flipped);
    fill_flips(doc_add_array(doc, "flips"), diff);
    doc_int(doc, "answers_tried", (int64_t)diff->answers);
    doc_int(doc, "answers_of_tests", (int64_t)diff->answers_of_tests);
    doc_int(doc, "answers_changed", (int64_t)diff->answers_changed);
    fill_backs(doc_add_array(doc, "answers"), diff);
    doc_int(doc, "tests_before", (int64_t)diff->tests_before);
    doc_int(doc, "tests_after", (int64_t)diff->tests_after);
    doc_bool(doc, "tests_changed", diff->tests_before != diff->tests_after);
    return doc;
}

/* ---- the command ---- */

static int tell(const struct diffing *d)
{
    struct diff *diff = NULL;
    struct doc *doc;
    int status;

    if (diff_new(d->before, d->after, &diff) != CODE_OK)
        return complain(STATUS_CANNOT, "not enough memory");
    doc = doc_of(d, diff);
    status = told_answer(&doc, d->asked->json, words);
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
