/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy replay: what a policy would have said to the calls that were recorded. */
#include "cli/trail_place.h"
#include "cli/commands.h"
#include "cli/policy_files.h"
#include "rules/policy_trail.h"
#include "args/print.h"
#include "cli/progress.h"
#include "cli/told.h"
#include "store/store.h"
#include "store/store_definitions.h"
#include "cli/when.h"

#include "author/store_change.h"
#include "base/mem.h"
#include "base/num.h"
#include "os/clock.h"
#include "os/thread.h"
#include "past/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 1000 /* kinds of flips that are told apart */
#define THREADS_MAX 256

/* A verdict, or what is done to an answer. */
struct word {
    const char *verdict; /* static */
    struct span reason;  /* of a verdict */
    struct span rule;    /* at == NULL: none */
};

/* Flips of one kind: from one rule to another. */
struct group {
    uint64_t calls;
    bool of_answers;
    struct word was, is; /* in the arena, or the policy's */
};

struct replaying {
    const struct asked *asked;
    struct definition_set *definitions; /* NULL: with --only the store is not asked */
    struct replay_conf conf;
    struct replay_sum sum;
    struct progress progress;
    struct arena arena;
    struct group *groups;
    size_t group_count;
    uint64_t ungrouped; /* flips of further kinds */
};

/* ---- the candidate ---- */

static int complain_candidate(enum code code, const struct faults *faults, const struct why *why)
{
    if (code != CODE_INVALID || faults->count == 0)
        return complain_why(code, why);
    print_faults(faults, "");
    return complain(STATUS_USAGE, "nothing was replayed; mend the lines above");
}

/* The files over what is active, as `load` would lay them. With --only the store is not asked. */
static int lay_files(struct replaying *r, struct policy **policy)
{
    static struct faults faults;
    struct policy_store_change change = {0};
    struct policy_files files;
    struct why why = {""};
    struct db *db = NULL;
    enum code code;
    int status = policy_files_of(&files, r->asked);

    if (status != OPTIONS_GO)
        return status;
    if (r->asked->only) {
        status = policy_files_compile(&files, policy);
        policy_files_fini(&files);
        return status;
    }
    faults_init(&faults);
    change.files = files.files;
    change.file_count = files.count;
    code = asked_store(r->asked, DB_READ, &db, &why);
    if (code == CODE_OK)
        code = policy_store_preview(db, &change, policy, &faults, &why);
    if (code == CODE_OK)
        code = store_definitions_load(db, NULL, &r->definitions, &why);
    db_close(&db);
    policy_files_fini(&files);
    return code == CODE_OK ? OPTIONS_GO : complain_candidate(code, &faults, &why);
}

static int take_version(struct replaying *r, struct policy **policy)
{
    struct why why = {""};
    struct db *db = NULL;
    uint64_t version = r->asked->version;
    enum code code;

    code = asked_store(r->asked, DB_READ, &db, &why);
    if (code == CODE_OK && version == 0) {
        code = policy_store_active(db, &version, &why);
        if (code == CODE_OK && version == 0)
            code = why_set(&why, CODE_INVALID, "no policy is active; name FILES to replay");
    }
    if (code == CODE_OK)
        code = store_compile_policy(db, version, &policy_authoring, policy, &why);
    if (code == CODE_OK)
        code = store_definitions_load(db, NULL, &r->definitions, &why);
    db_close(&db);
    return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
}

/* ---- what is told of a call ---- */

static struct word word_of(const struct replay_verdict *verdict)
{
    return (struct word){verdict_text(verdict->kind), verdict->reason, verdict->rule};
}

static struct word word_of_answer(enum answer_effect effect, struct span rule)
{
    return (struct word){answer_effect_text(effect), SPAN_NONE, rule};
}

static struct span by_name(const struct word *word)
{
    return word->rule.at != NULL ? word->rule : word->reason;
}

static bool is_same_word(const struct word *a, const struct word *b)
{
    return a->verdict == b->verdict && (a->rule.at == NULL) == (b->rule.at == NULL) && span_equals(by_name(a), by_name(b));
}

static enum code keep_span(struct replaying *r, struct span *text)
{
    if (text->at == NULL)
        return CODE_OK;
    text->at = arena_dup(&r->arena, text->at, text->len);
    return text->at != NULL ? CODE_OK : CODE_NOMEM;
}

static enum code keep_word(struct replaying *r, struct word *word)
{
    enum code code = keep_span(r, &word->reason);

    return code == CODE_OK ? keep_span(r, &word->rule) : code;
}

static enum code count_flip(struct replaying *r, bool of_answers, struct word was, struct word is)
{
    struct group *group = r->groups;
    enum code code;

    for (size_t i = 0; i < r->group_count; i++, group++)
        if (group->of_answers == of_answers && is_same_word(&group->was, &was) && is_same_word(&group->is, &is)) {
            group->calls++;
            return CODE_OK;
        }
    if (r->group_count == GROUPS_MAX) {
        r->ungrouped++;
        return CODE_OK;
    }
    *group = (struct group){1, of_answers, was, is};
    code = keep_word(r, &group->was);
    if (code == CODE_OK)
        code = keep_word(r, &group->is);
    r->group_count++;
    return code;
}

static void fill_word(struct doc *doc, const struct word *word, bool of_answer)
{
    doc_text(doc, of_answer ? "effect" : "verdict", span_text(word->verdict));
    if (!of_answer)
        doc_text_or_null(doc, "reason", word->reason);
    doc_text_or_null(doc, "rule", word->rule);
}

/* What is told of a verdict, or of what is done to an answer. */
#define WORD(of) "[{" of ".verdict}][{" of ".effect}][ by {" of ".rule}][{!" of ".rule}{?" of ".reason} for {" of ".reason}]"

static const char *const fate_names[REPLAY_FATES] = {"cannot_be_replayed", "same", "other_rule", "flips", "not_asked"};

static int print_call(const struct replaying *r, const struct replay_call *call)
{
    struct word was = word_of(&call->was), is = word_of(&call->is);
    struct doc *doc = doc_object(), *answer;

    doc_int(doc, "seq", (int64_t)call->seq);
    print_time(doc, "time", call->time_us);
    doc_text_or_null(doc, "tenant", call->tenant);
    doc_text_or_null(doc, "principal", call->principal);
    doc_text_or_null(doc, "agent", call->agent);
    doc_text_or_null(doc, "upstream", call->upstream);
    doc_text_or_null(doc, "method", call->method);
    doc_text_or_null(doc, "tool", call->target);
    doc_text(doc, "fate", span_text(fate_names[call->fate]));
    fill_word(doc_add_object(doc, "was"), &was, false);
    if (call->fate == REPLAY_UNKNOWN) {
        doc_text(doc, "cannot_be_replayed", call->lack == RECORDED_WHOLE ? SPAN_LIT("not all of the message is recorded")
                                                                         : span_text(recorded_lack_text(call->lack)));
        doc_null(doc, "is");
        doc_null(doc, "same_version");
    } else {
        doc_null(doc, "cannot_be_replayed");
        fill_word(doc_add_object(doc, "is"), &is, false);
        doc_bool(doc, "same_version", call->same_version);
    }
    if (call->answer.fate == REPLAY_FLIPS) {
        answer = doc_add_object(doc, "answer");
        was = word_of_answer(call->answer.was, call->answer.was_rule);
        is = word_of_answer(call->answer.is, call->answer.is_rule);
        fill_word(doc_add_object(answer, "was"), &was, true);
        fill_word(doc_add_object(answer, "is"), &is, true);
    } else {
        doc_null(doc, "answer");
    }
    return told_answer(&doc, r->asked->json, "{seq}  {time}  {tenant}  [{tool}][{!tool}{method}]"
                       "[{?cannot_be_replayed}  " WORD("was") "  cannot be replayed: {cannot_be_replayed}]"
                       "[{?fate=flips}  " WORD("was") "  ->  " WORD("is") "]"
                       "[{?answer}  its answer: " WORD("answer.was") "  ->  " WORD("answer.is") "]\n");
}

static enum code tell_call(void *context, const struct replay_call *call)
{
    struct replaying *r = context;
    enum code code = CODE_OK;

    if (call->fate == REPLAY_FLIPS)
        code = count_flip(r, false, word_of(&call->was), word_of(&call->is));
    if (code == CODE_OK && call->answer.fate == REPLAY_FLIPS)
        code = count_flip(r, true, word_of_answer(call->answer.was, call->answer.was_rule),
                          word_of_answer(call->answer.is, call->answer.is_rule));
    if (code == CODE_OK && r->asked->all && (print_call(r, call) != STATUS_DONE || ferror(stdout) != 0))
        code = CODE_IO;
    return code;
}

static void tell_progress(void *context, uint64_t done, uint64_t total)
{
    struct replaying *r = context;

    r->progress.total = total;
    progress_tell(&r->progress, done);
}

/* ---- the sum ---- */

static int by_calls(const void *a, const void *b)
{
    const struct group *left = a, *right = b;
    int order;

    if (left->of_answers != right->of_answers)
        return left->of_answers ? 1 : -1;
    if (left->calls != right->calls)
        return left->calls > right->calls ? -1 : 1;
    order = span_compare(by_name(&left->was), by_name(&right->was));
    return order != 0 ? order : span_compare(by_name(&left->is), by_name(&right->is));
}

static void fill_lacks(struct doc *doc, const uint64_t lacks[RECORDED_LACKS], int count)
{
    for (int lack = RECORDED_WHOLE + 1; lack < count; lack++) {
        char name[32];

        (void)snprintf(name, sizeof name, "%s", recorded_lack_text((enum recorded_lack)lack));
        for (char *blank = name; (blank = strchr(blank, ' ')) != NULL;)
            *blank = '_';
        doc_int(doc, name, (int64_t)lacks[lack]);
    }
    doc_int(doc, "otherwise", (int64_t)lacks[RECORDED_WHOLE]);
}

static void fill_groups(struct doc *list, const struct replaying *r, bool of_answers)
{
    for (size_t i = 0; i < r->group_count; i++) {
        struct doc *group = r->groups[i].of_answers == of_answers ? doc_add_object(list, NULL) : NULL;

        doc_int(group, "calls", (int64_t)r->groups[i].calls);
        fill_word(doc_add_object(group, "was"), &r->groups[i].was, of_answers);
        fill_word(doc_add_object(group, "is"), &r->groups[i].is, of_answers);
    }
}

static uint64_t judged(const uint64_t fates[REPLAY_FATES])
{
    return fates[REPLAY_SAME] + fates[REPLAY_OTHER_RULE] + fates[REPLAY_FLIPS];
}

static void fill_answers(struct doc *doc, const struct replaying *r)
{
    const struct replay_sum *sum = &r->sum;

    doc_int(doc, "concerned", (int64_t)(judged(sum->answers) + sum->answers[REPLAY_UNKNOWN]));
    doc_int(doc, "judged", (int64_t)judged(sum->answers));
    doc_int(doc, "kept", (int64_t)(sum->answers[REPLAY_SAME] + sum->answers[REPLAY_OTHER_RULE]));
    doc_int(doc, "kept_by_another_rule", (int64_t)sum->answers[REPLAY_OTHER_RULE]);
    doc_int(doc, "changes", (int64_t)sum->answers[REPLAY_FLIPS]);
    doc_int(doc, "not_replayed", (int64_t)sum->answers[REPLAY_UNKNOWN]);
    fill_lacks(doc_add_object(doc, "cannot_be_replayed"), sum->answer_lacks, RECORDED_LACKS);
    fill_groups(doc_add_array(doc, "by_rule"), r, true);
}

/* Takes: of: nothing, or the object that has them; what: these are. */
#define LACKS(of, what) \
    "[{" of "not_replayed} " what " cannot be replayed, because what decides them is not in the record:"       \
    "{*" of "cannot_be_replayed}" \
    "[{?.}{!@=otherwise} {.} {@},]{/} {" of "cannot_be_replayed.otherwise:any} otherwise\n]"
#define FLIPS(of) "{*" of "by_rule}{calls:right 10}  " WORD("was") "  ->  " WORD("is") "\n{/}"

static const char words[] =
    "[{!calls}no recorded call is meant\n]"
    "[{?calls}{judged} recorded call[{!judged=1}s], from {first} to {last}, judged again in {took_us:us} "
    "({calls_per_second} a second)\n"
    "{kept} of them get the verdict that they had[, {kept_by_another_rule} of these by another rule or for another reason]\n"
    "{flips} of them get another verdict (flip)[{?flips}, so many of each kind:]\n"
    FLIPS("") "[{?further_flips}{further_flips:right 10}  of further kinds\n]"
    "[{flips_of_this_version} of those that flip were judged by this very version then: what decided them is not in the "
    "record\n]"
    LACKS("", "recorded calls")
    "[{not_asked} recorded calls were never put to a policy: {refused_before_a_policy:any} refused before, "
    "{passed_without_a_policy:any} passed by configuration\n]"
    "[{?answers.concerned}{answers.judged} recorded answer[{!answers.judged=1}s] judged again: with {answers.changes} of them "
    "something else is done\n"
    FLIPS("answers.") LACKS("answers.", "recorded answers") "]]";

static int print_sum(const struct replaying *r, int64_t took_us)
{
    const struct replay_sum *sum = &r->sum;
    struct doc *doc = doc_object();

    doc_int(doc, "calls", (int64_t)sum->calls);
    print_time(doc, "first", sum->first_us);
    print_time(doc, "last", sum->last_us);
    doc_int(doc, "judged", (int64_t)judged(sum->fates));
    doc_int(doc, "kept", (int64_t)(sum->fates[REPLAY_SAME] + sum->fates[REPLAY_OTHER_RULE]));
    doc_int(doc, "kept_by_another_rule", (int64_t)sum->fates[REPLAY_OTHER_RULE]);
    doc_int(doc, "flips", (int64_t)sum->fates[REPLAY_FLIPS]);
    doc_int(doc, "flips_of_this_version", (int64_t)sum->same_version_flips);
    doc_int(doc, "judged_with_lost_parts", (int64_t)sum->lossy);
    doc_int(doc, "not_replayed", (int64_t)sum->fates[REPLAY_UNKNOWN]);
    fill_lacks(doc_add_object(doc, "cannot_be_replayed"), sum->lacks, RECORDED_NOT_KEPT);
    doc_int(doc, "not_asked", (int64_t)sum->fates[REPLAY_NO_QUESTION]);
    doc_int(doc, "refused_before_a_policy", (int64_t)sum->refused);
    doc_int(doc, "passed_without_a_policy", (int64_t)sum->unjudged);
    fill_groups(doc_add_array(doc, "by_rule"), r, false);
    doc_int(doc, "further_flips", (int64_t)r->ungrouped);
    fill_answers(doc_add_object(doc, "answers"), r);
    doc_int(doc, "took_us", took_us);
    doc_int(doc, "calls_per_second", took_us > 0 ? (int64_t)((double)sum->calls * 1e6 / (double)took_us) : 0);
    return told_answer(&doc, r->asked->json, words);
}

/* ---- the command ---- */

static int read_range(struct replaying *r)
{
    const struct asked *asked = r->asked;

    if (asked->threads > THREADS_MAX)
        return complain(STATUS_USAGE, "--threads is no number from 1 to %d", THREADS_MAX);
    r->conf.threads = (unsigned)(asked->threads > 0 ? asked->threads : thread_cores());
    r->conf.range = (struct recorded_range){.since_us = asked->since_us, .until_us = asked->until_us,
                                            .tenant = span_text(asked->tenant), .tool = span_text(asked->tool)};
    return OPTIONS_GO;
}

static int replay(struct replaying *r, const struct trail *trail, const struct policy *policy)
{
    int64_t began_us = clock_monotonic_us(), took_us;
    struct why why = {""};
    enum code code;
    int status;

    r->conf.trail = trail;
    r->conf.policy = policy;
    r->conf.definitions = r->definitions;
    r->conf.tell = tell_call;
    r->conf.progress = tell_progress;
    r->conf.context = r;
    r->groups = mem_array(GROUPS_MAX, sizeof *r->groups);
    if (r->groups == NULL)
        return complain(STATUS_CANNOT, "not enough memory");
    if (!r->asked->all) /* whose lines would break the bar */
        progress_begin(&r->progress, "replaying", 0);
    code = replay_run(&r->conf, &r->sum, &why);
    progress_end(&r->progress);
    if (code == CODE_IO && why.text[0] == '\0')
        return complain_code(code);
    if (code != CODE_OK)
        return complain_why(code, &why);
    took_us = clock_monotonic_us() - began_us;
    if (r->group_count > 0)
        qsort(r->groups, r->group_count, sizeof *r->groups, by_calls);
    status = print_sum(r, took_us);
    return status == STATUS_DONE && r->sum.fates[REPLAY_FLIPS] + r->sum.answers[REPLAY_FLIPS] > 0 ? STATUS_NEGATIVE : status;
}

static int run(struct replaying *r)
{
    const int count = r->asked->given.count;
    struct policy *policy = NULL;
    struct trail trail = {0};
    int status = read_range(r), missing = STATUS_DONE;

    if (status == OPTIONS_GO && count > 0 && r->asked->version != 0)
        return complain(STATUS_USAGE, "FILES and --version exclude each other; name one");
    if (status == OPTIONS_GO && r->asked->only && count == 0)
        return complain(STATUS_USAGE, "--only goes with FILES; name them");
    if (status == OPTIONS_GO)
        status = policy_trail_find(&trail, r->asked, &missing);
    if (status == OPTIONS_GO)
        status = count > 0 ? lay_files(r, &policy) : take_version(r, &policy);
    if (status == OPTIONS_GO)
        status = trail_place_worse(replay(r, &trail, policy), missing);
    policy_unref(&policy);
    definition_set_unref(&r->definitions);
    trail_fini(&trail);
    return status;
}

int cmd_policy_replay(const struct asked *asked)
{
    struct replaying r = {.asked = asked};
    int status;

    arena_init(&r.arena, (size_t)64 << 20);
    status = run(&r);
    mem_free(r.groups);
    arena_fini(&r.arena);
    return status;
}
