/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy learn: a draft of permits out of what was recorded, proved before it is printed. */
#include "cli/trail_place.h"
#include "cli/commands.h"
#include "cli/policy_files.h"
#include "rules/policy_trail.h"
#include "args/print.h"
#include "cli/progress.h"
#include "cli/told.h"
#include "store/store_definitions.h"
#include "cli/when.h"

#include "base/mem.h"
#include "base/num.h"
#include "os/thread.h"
#include "past/learn.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 60
#define DRAFT_MAX_BYTES ((size_t)256 << 20)

struct learning {
    const struct asked *asked;
    const char *name;
    struct recorded_range range;
    struct progress progress;
    struct learn *learn;
    struct definition_set *definitions;
    struct buf draft;
    struct learn_sum sum;
    struct learn_proof proof;
};

static void tell_progress(void *context, uint64_t done, uint64_t total)
{
    struct learning *l = context;

    l->progress.total = total;
    progress_tell(&l->progress, done);
}

/* It begins the rules' ids. */
static bool is_plain_name(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

    return len > 0 && len <= NAME_BYTES && name[len] == '\0';
}

static int read_options(struct learning *l)
{
    l->name = l->asked->name != NULL ? l->asked->name : "learned";
    if (!is_plain_name(l->name))
        return complain(STATUS_USAGE, "--name \"%s\" is no name; write up to %d letters, digits, `_`, `.` and `-`", l->name,
                        NAME_BYTES);
    l->range = (struct recorded_range){.since_us = l->asked->since_us, .until_us = l->asked->until_us,
                                       .tenant = span_text(l->asked->tenant), .upstream = span_text(l->asked->upstream)};
    return OPTIONS_GO;
}

static int complain_draft(enum code code, const struct faults *faults, const struct why *why)
{
    if (code == CODE_INVALID && faults->count > 0) {
        print_faults(faults, "");
        return complain(STATUS_CANNOT, "the draft does not compile, which is a fault of this program; nothing is printed");
    }
    return complain_why(code, why);
}

static int learn(struct learning *l, const struct trail *trail)
{
    static struct faults faults;
    struct replay_conf conf = {.trail = trail, .threads = thread_cores(),
                               .definitions = l->definitions};
    struct why why = {""};
    enum code code = learn_new(&l->learn);

    faults_init(&faults);
    progress_begin(&l->progress, "learning", 0);
    if (code == CODE_OK)
        learn_bind(l->learn, l->definitions);
    if (code == CODE_OK)
        code = learn_read(l->learn, trail, &l->range, tell_progress, l, &why);
    progress_end(&l->progress);
    if (code == CODE_OK)
        code = learn_write(l->learn, span_text(l->name), l->asked->min_calls, &l->draft, &l->sum);
    conf.range = l->range;
    if (code == CODE_OK)
        code = learn_prove(l->learn, buf_peek(&l->draft), &conf, &l->proof, &faults, &why);
    return code == CODE_OK ? OPTIONS_GO : complain_draft(code, &faults, &why);
}

static struct doc *doc_of(const struct learning *l)
{
    const struct learn_proof *proof = &l->proof;
    struct doc *doc = doc_object();

    doc_int(doc, "calls", (int64_t)l->sum.calls);
    doc_int(doc, "rules", (int64_t)l->sum.rules);
    doc_int(doc, "permitted", (int64_t)proof->permitted);
    doc_int(doc, "cannot_be_judged", (int64_t)proof->unknown);
    doc_int(doc, "not_in_any_record", (int64_t)proof->unasked);
    doc_int(doc, "answers_changed", (int64_t)proof->answers);
    doc_int(doc, "without_a_rule", (int64_t)proof->left_out);
    doc_int(doc, "denied", (int64_t)proof->denied);
    print_number(doc, "first_denied", (int64_t)proof->first_denied);
    doc_int(doc, "tests", (int64_t)proof->tests);
    doc_int(doc, "failed_tests", (int64_t)proof->failed_tests);
    doc_text(doc, "draft", buf_peek(&l->draft));
    return doc;
}

static const char words[] =
    "{rules} rule[{!rules=1}s] drafted from {calls} recorded, permitted call[{!calls=1}s]; judged again by it, "
    "the draft permits {permitted} of these calls\n"
    "[{cannot_be_judged} of these calls cannot be judged: what was cut, redacted or erased would decide\n]"
    "[{not_in_any_record} of these calls cannot be judged: what no record holds would decide, such as a definition "
    "that nobody has accepted (`callgate tools list`)\n]"
    "[{answers_changed} of these calls had their answers changed by rules for answers; the draft has none\n]"
    "[{without_a_rule} of these calls have no rule; comments in the draft say why\n]"
    "[{failed_tests} of the draft's {tests} tests fail; see `callgate policy test`\n]"
    "[the draft denies {denied} of these calls, which it should permit; the first is {first_denied}; see "
    "`callgate policy explain --decision`\n]";

/* The words go to stderr, so that the draft alone goes into a file. */
static int tell(const struct learning *l)
{
    struct doc *doc = doc_of(l);
    struct told told;
    int status;
    enum code code;

    if (l->asked->json)
        return print_doc(&doc);
    code = told_read(&told, doc);
    if (code == CODE_OK)
        code = print_source(buf_peek(&l->draft));
    status = complain_code(code);
    if (status == STATUS_DONE)
        told_print(stderr, told.root, words);
    told_end(&told);
    doc_free(&doc);
    return status;
}

static int conclude(const struct learning *l)
{
    int status;

    if (l->sum.calls == 0)
        return complain(STATUS_NEGATIVE, "no permitted call is recorded there; widen --since, or drop --tenant or --upstream");
    status = tell(l);
    return status == STATUS_DONE && l->proof.denied + l->proof.failed_tests > 0 ? STATUS_NEGATIVE : status;
}

/* The definitions of tools that are accepted; NULL where none is, or the store cannot be asked. */
static struct definition_set *accepted(const struct asked *asked)
{
    struct definition_set *set = NULL;
    struct why why = {""};
    struct db *db = NULL;

    if (asked_store(asked, DB_READ, &db, &why) != CODE_OK || store_definitions_load(db, NULL, &set, &why) != CODE_OK)
        set = NULL;
    db_close(&db);
    return set;
}

int cmd_policy_learn(const struct asked *asked)
{
    struct learning l = {.asked = asked};
    struct trail trail = {0};
    int status = read_options(&l), missing = STATUS_DONE;

    buf_init(&l.draft, DRAFT_MAX_BYTES);
    if (status == OPTIONS_GO)
        status = policy_trail_find(&trail, asked, &missing);
    if (status == OPTIONS_GO && asked->audit == NULL)
        l.definitions = accepted(asked);
    if (status == OPTIONS_GO)
        status = learn(&l, &trail);
    if (status == OPTIONS_GO)
        status = trail_place_worse(conclude(&l), missing);
    learn_free(&l.learn);
    definition_set_unref(&l.definitions);
    buf_fini(&l.draft);
    trail_fini(&trail);
    return status;
}
