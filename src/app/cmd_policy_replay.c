/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy replay: what a policy would have said to the calls that were recorded. */
#include "app/cmd_audit_priv.h"
#include "app/cmd_policy_priv.h"
#include "app/commands.h"
#include "app/policy_files.h"
#include "app/policy_trail.h"
#include "app/print.h"
#include "app/progress.h"
#include "app/store.h"
#include "app/terminal.h"
#include "app/when.h"

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

/* Flips of one kind: from one rule to another. */
struct group {
    uint64_t calls;
    struct replay_verdict was, is; /* in the arena, or the policy's */
};

struct replaying {
    struct store_place place;
    const char *audit, *version, *since, *until, *tenant, *tool, *threads;
    uint64_t from;
    bool only, list, as_json;
    struct replay_conf conf;
    struct replay_sum sum;
    struct progress progress;
    struct arena arena;
    struct buf line;
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
static int lay_files(struct replaying *r, const char *const *paths, size_t count, struct policy **policy)
{
    static struct faults faults;
    struct policy_store_change change = {0};
    struct policy_files files;
    struct why why = {""};
    struct db *db = NULL;
    enum code code;
    int status = policy_files_read(&files, paths, count);

    if (status != OPTIONS_GO)
        return status;
    if (r->only) {
        status = policy_files_compile(&files, policy);
        policy_files_fini(&files);
        return status;
    }
    faults_init(&faults);
    change.files = files.files;
    change.file_count = files.count;
    code = store_find(&r->place, DB_READ, &db, &why);
    if (code == CODE_OK)
        code = policy_store_preview(db, &change, policy, &faults, &why);
    db_close(&db);
    policy_files_fini(&files);
    return code == CODE_OK ? OPTIONS_GO : complain_candidate(code, &faults, &why);
}

static int take_version(struct replaying *r, struct policy **policy)
{
    struct why why = {""};
    struct db *db = NULL;
    uint64_t version = 0;
    enum code code;

    if (r->version != NULL && (num_u64(span_text(r->version), &version) != CODE_OK || version == 0 || version > INT64_MAX))
        return complain(STATUS_USAGE, "\"%s\" is no version; `callgate policy list` shows the numbers", r->version);
    code = store_find(&r->place, DB_READ, &db, &why);
    if (code == CODE_OK && version == 0) {
        code = policy_store_active(db, &version, &why);
        if (code == CODE_OK && version == 0)
            code = why_set(&why, CODE_INVALID, "no policy is active; name FILES to replay");
    }
    if (code == CODE_OK)
        code = store_compile_policy(db, version, policy, &why);
    db_close(&db);
    return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
}

/* ---- what is told of a call ---- */

static const char *by_text(const struct replay_verdict *verdict)
{
    return verdict->rule.at != NULL ? " by " : " for ";
}

static struct span by_name(const struct replay_verdict *verdict)
{
    return verdict->rule.at != NULL ? verdict->rule : verdict->reason;
}

static bool is_same_verdict(const struct replay_verdict *a, const struct replay_verdict *b)
{
    return a->kind == b->kind && (a->rule.at == NULL) == (b->rule.at == NULL) && span_equals(by_name(a), by_name(b));
}

static enum code keep_verdict(struct replaying *r, const struct replay_verdict *from, struct replay_verdict *to)
{
    *to = *from;
    to->reason.at = arena_dup(&r->arena, from->reason.at, from->reason.len);
    if (from->rule.at != NULL)
        to->rule.at = arena_dup(&r->arena, from->rule.at, from->rule.len);
    return to->reason.at == NULL || (from->rule.at != NULL && to->rule.at == NULL) ? CODE_NOMEM : CODE_OK;
}

static enum code count_flip(struct replaying *r, const struct replay_call *call)
{
    struct group *group = r->groups;
    enum code code;

    for (size_t i = 0; i < r->group_count; i++, group++)
        if (is_same_verdict(&group->was, &call->was) && is_same_verdict(&group->is, &call->is)) {
            group->calls++;
            return CODE_OK;
        }
    if (r->group_count == GROUPS_MAX) {
        r->ungrouped++;
        return CODE_OK;
    }
    group->calls = 1;
    code = keep_verdict(r, &call->was, &group->was);
    if (code == CODE_OK)
        code = keep_verdict(r, &call->is, &group->is);
    r->group_count++;
    return code;
}

static void fill_verdict(struct doc *doc, const struct replay_verdict *verdict)
{
    doc_text(doc, "verdict", span_text(verdict_text(verdict->kind)));
    doc_text(doc, "reason", verdict->reason);
    doc_text_or_null(doc, "rule", verdict->rule);
}

static enum code print_call_json(const struct replay_call *call)
{
    struct doc *doc = doc_object();

    doc_int(doc, "seq", (int64_t)call->seq);
    print_time(doc, "time", call->time_us);
    doc_text_or_null(doc, "tenant", call->tenant);
    doc_text_or_null(doc, "principal", call->principal);
    doc_text_or_null(doc, "upstream", call->upstream);
    doc_text_or_null(doc, "method", call->method);
    doc_text_or_null(doc, "tool", call->target);
    fill_verdict(doc_add_object(doc, "was"), &call->was);
    if (call->fate == REPLAY_UNKNOWN) {
        doc_text(doc, "cannot_be_replayed", span_text(recorded_lack_text(call->lack)));
    } else {
        fill_verdict(doc_add_object(doc, "is"), &call->is);
        doc_bool(doc, "same_version", call->same_version);
    }
    return print_doc(&doc) == STATUS_DONE ? CODE_OK : CODE_IO;
}

static enum code print_call(struct replaying *r, const struct replay_call *call)
{
    struct span words = call->target.at != NULL ? call->target : call->method;
    struct buf *line = &r->line;
    char time[CLOCK_TEXT_BYTES];
    enum code code;

    buf_clear(line);
    clock_text(call->time_us, time);
    code = buf_addf(line, "%" PRIu64 "  %s  ", call->seq, time);
    if (code == CODE_OK)
        code = terminal_add(line, call->tenant);
    if (code == CODE_OK)
        code = buf_add_text(line, "  ");
    if (code == CODE_OK)
        code = terminal_add(line, words);
    if (code == CODE_OK)
        code = buf_addf(line, "  %s%s%.*s  ", verdict_text(call->was.kind), by_text(&call->was), SPAN_ARG(by_name(&call->was)));
    if (code == CODE_OK && call->fate == REPLAY_UNKNOWN)
        code = buf_addf(line, "cannot be replayed: %s\n", call->lack == RECORDED_WHOLE ? "not all of the message is recorded"
                                                                                       : recorded_lack_text(call->lack));
    else if (code == CODE_OK)
        code = buf_addf(line, "->  %s%s%.*s\n", verdict_text(call->is.kind), by_text(&call->is), SPAN_ARG(by_name(&call->is)));
    if (code == CODE_OK && fwrite(buf_peek(line).at, 1, buf_len(line), stdout) != buf_len(line))
        code = CODE_IO;
    return code;
}

static enum code tell_call(void *context, const struct replay_call *call)
{
    struct replaying *r = context;
    enum code code = call->fate == REPLAY_FLIPS ? count_flip(r, call) : CODE_OK;

    if (code == CODE_OK && r->list)
        code = r->as_json ? print_call_json(call) : print_call(r, call);
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

    if (left->calls != right->calls)
        return left->calls > right->calls ? -1 : 1;
    order = span_compare(by_name(&left->was), by_name(&right->was));
    return order != 0 ? order : span_compare(by_name(&left->is), by_name(&right->is));
}

static void print_groups(const struct replaying *r)
{
    for (size_t i = 0; i < r->group_count; i++) {
        const struct group *group = &r->groups[i];

        printf("%10" PRIu64 "  %s%s%.*s  ->  %s%s%.*s\n", group->calls, verdict_text(group->was.kind), by_text(&group->was),
               SPAN_ARG(by_name(&group->was)), verdict_text(group->is.kind), by_text(&group->is),
               SPAN_ARG(by_name(&group->is)));
    }
    if (r->ungrouped > 0)
        printf("%10" PRIu64 "  of more than %d further kinds\n", r->ungrouped, GROUPS_MAX);
}

static void print_lacks(const struct replay_sum *sum)
{
    if (sum->fates[REPLAY_UNKNOWN] > 0) {
        printf("%" PRIu64 " cannot be replayed, because what decides them is not in the record:", sum->fates[REPLAY_UNKNOWN]);
        for (int lack = RECORDED_WHOLE + 1; lack < RECORDED_LACKS; lack++)
            if (sum->lacks[lack] > 0)
                printf(" %" PRIu64 " %s,", sum->lacks[lack], recorded_lack_text((enum recorded_lack)lack));
        printf(" %" PRIu64 " otherwise\n", sum->lacks[RECORDED_WHOLE]);
    }
    if (sum->fates[REPLAY_NO_QUESTION] > 0)
        printf("%" PRIu64 " were never put to a policy: %" PRIu64 " refused before, %" PRIu64 " passed by configuration\n",
               sum->fates[REPLAY_NO_QUESTION], sum->refused, sum->unjudged);
}

static void print_sum(const struct replaying *r, int64_t took_us)
{
    const struct replay_sum *sum = &r->sum;
    uint64_t judged = sum->fates[REPLAY_SAME] + sum->fates[REPLAY_OTHER_RULE] + sum->fates[REPLAY_FLIPS];
    char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES];

    if (sum->calls == 0) {
        printf("no recorded call is meant\n");
        return;
    }
    clock_text(sum->first_us, from);
    clock_text(sum->last_us, to);
    printf("%" PRIu64 " calls from %s to %s, replayed in %.1f s (%.0f calls/s)\n", judged, from, to, (double)took_us / 1e6,
           took_us > 0 ? (double)sum->calls * 1e6 / (double)took_us : 0);
    printf("%" PRIu64 " keep their verdict", judged - sum->fates[REPLAY_FLIPS]);
    if (sum->fates[REPLAY_OTHER_RULE] > 0)
        printf(", %" PRIu64 " of them by another rule or for another reason", sum->fates[REPLAY_OTHER_RULE]);
    printf("\nflips: %" PRIu64 "\n", sum->fates[REPLAY_FLIPS]);
    print_groups(r);
    if (sum->same_version_flips > 0)
        printf("%" PRIu64 " of these were judged by this very version then: what decided them is not in the record\n",
               sum->same_version_flips);
    print_lacks(sum);
}

static int print_sum_json(const struct replaying *r, int64_t took_us)
{
    const struct replay_sum *sum = &r->sum;
    struct doc *doc = doc_object(), *groups, *lacks;

    doc_int(doc, "calls", (int64_t)sum->calls);
    print_time(doc, "first", sum->first_us);
    print_time(doc, "last", sum->last_us);
    doc_int(doc, "kept", (int64_t)(sum->fates[REPLAY_SAME] + sum->fates[REPLAY_OTHER_RULE]));
    doc_int(doc, "kept_by_another_rule", (int64_t)sum->fates[REPLAY_OTHER_RULE]);
    doc_int(doc, "flips", (int64_t)sum->fates[REPLAY_FLIPS]);
    doc_int(doc, "flips_of_this_version", (int64_t)sum->same_version_flips);
    doc_int(doc, "judged_with_lost_parts", (int64_t)sum->lossy);
    lacks = doc_add_object(doc, "cannot_be_replayed");
    for (int lack = RECORDED_WHOLE + 1; lack < RECORDED_LACKS; lack++)
        doc_int(lacks, recorded_lack_text((enum recorded_lack)lack), (int64_t)sum->lacks[lack]);
    doc_int(lacks, "otherwise", (int64_t)sum->lacks[RECORDED_WHOLE]);
    doc_int(doc, "refused_before_a_policy", (int64_t)sum->refused);
    doc_int(doc, "passed_without_a_policy", (int64_t)sum->unjudged);
    groups = doc_add_array(doc, "by_rule");
    for (size_t i = 0; i < r->group_count; i++) {
        struct doc *group = doc_add_object(groups, NULL);

        doc_int(group, "calls", (int64_t)r->groups[i].calls);
        fill_verdict(doc_add_object(group, "was"), &r->groups[i].was);
        fill_verdict(doc_add_object(group, "is"), &r->groups[i].is);
    }
    doc_int(doc, "further_flips", (int64_t)r->ungrouped);
    doc_int(doc, "took_us", took_us);
    return print_doc(&doc);
}

/* ---- the command ---- */

static int read_range(struct replaying *r)
{
    struct recorded_range *range = &r->conf.range;
    uint64_t threads = thread_cores();
    int status = when_option("since", r->since, &range->since_us);

    if (status == OPTIONS_GO)
        status = when_option("until", r->until, &range->until_us);
    range->tenant = span_text(r->tenant);
    range->tool = span_text(r->tool);
    if (status == OPTIONS_GO && r->threads != NULL &&
        (num_u64(span_text(r->threads), &threads) != CODE_OK || threads == 0 || threads > THREADS_MAX))
        return complain(STATUS_USAGE, "--threads \"%s\" is no number from 1 to %d", r->threads, THREADS_MAX);
    r->conf.threads = (unsigned)threads;
    return status;
}

static int replay(struct replaying *r, const struct policy_trail *trail, const struct policy *policy)
{
    int64_t began_us = clock_monotonic_us(), took_us;
    struct why why = {""};
    enum code code;
    int status = STATUS_DONE;

    r->conf.files = trail->files;
    r->conf.file_count = trail->count;
    r->conf.policy = policy;
    r->conf.tell = tell_call;
    r->conf.progress = tell_progress;
    r->conf.context = r;
    r->groups = mem_array(GROUPS_MAX, sizeof *r->groups);
    if (r->groups == NULL)
        return complain(STATUS_CANNOT, "not enough memory");
    if (!r->list) /* whose lines would break the bar */
        progress_begin(&r->progress, "replaying", 0);
    code = replay_run(&r->conf, &r->sum, &why);
    progress_end(&r->progress);
    if (code == CODE_IO && why.text[0] == '\0')
        return complain(STATUS_CANNOT, "the output cannot be written");
    if (code != CODE_OK)
        return complain_why(code, &why);
    took_us = clock_monotonic_us() - began_us;
    if (r->group_count > 0)
        qsort(r->groups, r->group_count, sizeof *r->groups, by_calls);
    if (r->as_json)
        status = print_sum_json(r, took_us);
    else
        print_sum(r, took_us);
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain(STATUS_CANNOT, "the output cannot be written");
    return status == STATUS_DONE && r->sum.fates[REPLAY_FLIPS] > 0 ? STATUS_NEGATIVE : status;
}

static int run(struct replaying *r, const char *const *files, size_t count)
{
    struct policy *policy = NULL;
    struct policy_trail trail = {0};
    int status = read_range(r);

    if (status == OPTIONS_GO && count > 0 && r->version != NULL)
        return complain(STATUS_USAGE, "FILES and --version exclude each other; name one");
    if (status == OPTIONS_GO && r->only && count == 0)
        return complain(STATUS_USAGE, "--only goes with FILES; name them");
    if (status == OPTIONS_GO)
        status = policy_trail_find(&trail, r->audit, r->place.config, r->from);
    if (status == OPTIONS_GO)
        status = count > 0 ? lay_files(r, files, count, &policy) : take_version(r, &policy);
    if (status == OPTIONS_GO)
        status = cmd_audit__worse(replay(r, &trail, policy), trail.missing);
    policy_unref(&policy);
    policy_trail_fini(&trail);
    return status;
}

int cmd_policy__replay(int argc, char **argv)
{
    struct replaying r = {.as_json = false};
    const struct option options[] = {
        {.name = "version", .takes = "N", .help = "a stored version, instead of FILES", .value = &r.version},
        {.name = "only", .help = "FILES alone, without the policies that are active", .flag = &r.only},
        {.name = "since", .takes = "TIME", .help = WHEN_FORMS, .value = &r.since},
        {.name = "until", .takes = "TIME", .help = "likewise; not including it", .value = &r.until},
        {.name = "tenant", .takes = "NAME", .help = "calls of this tenant", .value = &r.tenant},
        {.name = "tool", .takes = "NAME", .help = "calls of this tool", .value = &r.tool},
        {.name = "audit", .takes = "FILE", .help = "the database, with the sealed ones beside it", .value = &r.audit},
        {.name = "list", .help = "also each call that flips or cannot be replayed, as it comes", .flag = &r.list},
        {.name = "threads", .takes = "N", .help = "one a core by default; always one for limits and sequences",
         .value = &r.threads},
        AUDIT_FROM_OPTION(&r.from),
        {.name = "json", .help = "one JSON object a line, the sum last", .flag = &r.as_json},
        STORE_OPTIONS(&r.place),
        {0},
    };
    const struct usage usage = {
        "callgate policy replay [FILE... | --version N] [OPTIONS]",
        "Judges the recorded calls again: by the active version with FILES laid over it as `load` would, by a stored\n"
        "version, or by the active one as it is. Shows which verdicts flip, by rule. Where what decides a call was cut,\n"
        "redacted or erased, it counts as one that cannot be replayed. Approvals that were given count as given. Exit\n"
        "status 1 when a verdict flips, or a file of the trail is missing. Nothing is changed; the gate may go on writing.",
        options, 0, -1};
    int operands, status = options_read(&usage, argc, argv, &operands);

    if (status != OPTIONS_GO)
        return status;
    arena_init(&r.arena, (size_t)64 << 20);
    buf_init(&r.line, 1 << 20);
    status = run(&r, (const char *const *)argv, (size_t)operands);
    mem_free(r.groups);
    arena_fini(&r.arena);
    buf_fini(&r.line);
    return status;
}
