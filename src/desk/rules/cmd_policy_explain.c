/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy explain: one call, judged as the gate would, with the walk in words. */
#include "cli/commands.h"
#include "conf/conf.h"
#include "trail/explain_call.h"
#include "cli/policy_files.h"
#include "args/print.h"
#include "conf/route_names.h"
#include "store/store.h"
#include "store/store_definitions.h"
#include "past/recall.h"

#include "author/explain.h"
#include "base/mem.h"
#include "base/num.h"
#include "os/clock.h"
#include "policy/case.h"
#include "judgement/judgement.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define WORDS_MAX_BYTES ((size_t)64 << 20)
#define ROUTES_SHOWN 12

struct explaining {
    const struct asked *asked;
    struct explain_call call;
    struct route_names routes;         /* of the configuration, if there is one */
    /* the answer */
    struct policy *policy;
    struct definition_set *definitions; /* that are accepted; NULL: none, or --policy was given */
    struct recall recall;              /* of a recorded call: what came before it */
    struct policy_scratch *scratch;
    struct verdict *verdict;
    struct answer_verdict *answered;   /* --answer */
    bool is_guessed;                   /* the verdict hangs on what the record lost */
    enum verdict_kind otherwise;       /* what it would be by the other guess */
    struct doc *doc, *rules;
    struct buf words;
};

/* ---- the policy ---- */

static int find_policy(struct explaining *e)
{
    struct policy_files files;
    struct why why = {""};
    struct db *db = NULL;
    uint64_t version = e->asked->version;
    enum code code;
    int status;

    if (e->asked->policies.count > 0 && e->asked->version != 0)
        return complain(STATUS_USAGE, "--policy and --version exclude each other; name one");
    if (e->asked->policies.count > 0) {
        status = policy_files_read(&files, e->asked->policies.value, e->asked->policies.count);
        if (status == OPTIONS_GO)
            status = policy_files_compile(&files, &e->policy);
        policy_files_fini(&files);
        return status;
    }
    if (e->call.is_recorded && e->asked->version == 0) {
        code = explain_call_policy(e->asked, &e->call.recorded, &e->policy, &e->definitions, &why);
        return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
    }
    code = asked_store(e->asked, DB_READ, &db, &why);
    if (code == CODE_OK && version == 0)
        code = policy_store_active(db, &version, &why);
    if (code == CODE_OK && version != 0)
        code = store_compile_policy(db, version, &e->policy, &why);
    if (code == CODE_OK)
        code = store_definitions_load(db, &e->definitions, &why);
    db_close(&db);
    return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
}

/* ---- what the record says ---- */

static void print_recorded(const struct explaining *e)
{
    const struct recorded *r = &e->call.recorded;
    char time[CLOCK_TEXT_BYTES];

    clock_text(r->question.time_us, time);
    print_safely(stdout, "decision %" PRIu64 " of %s: %s (%.*s)%s%.*s, by ", r->seq, time, verdict_text(r->verdict),
                 SPAN_ARG(r->reason_text), r->rule.at ? " by " : "", SPAN_ARG(r->rule));
    if (r->policy_version != 0)
        printf("policy version %" PRIu64 "\n", r->policy_version);
    else
        printf("no policy\n");
    if (r->lack != RECORDED_WHOLE)
        print_safely(stdout, "the record's arguments are %s: what hangs on the missing part is guessed\n",
                     recorded_lack_text(r->lack));
    if (r->query_unknown)
        printf("its query is not in the record: rules for queries are asked as if there were none\n");
    if (r->answers_unknown)
        printf("what it answers is not in the record: rules for the answered method are not asked\n");
    putchar('\n');
}

static void fill_recorded(const struct explaining *e)
{
    const struct recorded *r = &e->call.recorded;
    struct doc *doc = doc_add_object(e->doc, "recorded");

    doc_int(doc, "seq", (int64_t)r->seq);
    print_time(doc, "time", r->question.time_us);
    doc_text(doc, "verdict", span_text(verdict_text(r->verdict)));
    doc_text(doc, "reason", r->reason_text);
    doc_text_or_null(doc, "rule", r->rule);
    doc_int(doc, "policy_version", (int64_t)r->policy_version);
    doc_text(doc, "arguments", span_text(recorded_lack_text(r->lack)));
}

/* Of a refused or passed message no policy was asked, so that none explains it. */
static int tell_unjudged(const struct explaining *e)
{
    const struct recorded *r = &e->call.recorded;

    if (r->kind == RECORDED_UNJUDGED)
        return complain(STATUS_NEGATIVE, "decision %" PRIu64 " let a request pass that the configuration names under `pass`; "
                        "no policy was asked", r->seq);
    return complain(STATUS_NEGATIVE, "decision %" PRIu64 " refused a message before a policy was asked, for `%.*s`; the "
                    "reason is all there is to say", r->seq, SPAN_ARG(r->reason_text));
}

/* ---- what the call left out, and where it cannot come from ---- */

struct part_of_call {
    const char *name;
    struct span value;
};

static size_t take_unsaid(const struct explaining *e, struct part_of_call unsaid[4])
{
    const struct question *q = &e->call.question;
    const struct part_of_call parts[] = {{"tenant", q->tenant}, {"principal", q->principal}, {"upstream", q->upstream},
                                         {"method", q->method}};
    size_t count = 0;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].value.at == policy_unsaid_name || parts[i].value.at == policy_unsaid_method)
            unsaid[count++] = parts[i];
    return count;
}

/* Reads the routes, where there is a configuration. Returns: OPTIONS_GO, or the exit status. */
static int find_routes(struct explaining *e)
{
    struct conf_file *file = e->asked->file;
    struct faults unheard;

    faults_init(&unheard);
    if (e->asked->config != NULL)
        return route_names_take(file, &e->routes);
    if (e->asked->store == NULL && access(conf_file_path(file), R_OK) == 0 &&
        route_names_read(file, &e->routes, &unheard) == CODE_NOMEM)
        return complain(STATUS_CANNOT, "%s", code_text(CODE_NOMEM));
    return OPTIONS_GO;
}

static bool is_route_unknown(const struct explaining *e)
{
    return e->routes.count > 0 && !policy_route_exists(e->routes.routes, e->routes.count, e->call.question.upstream);
}

static void print_notes(const struct explaining *e)
{
    struct part_of_call unsaid[4];
    size_t count = take_unsaid(e, unsaid);

    for (size_t i = 0; i < count; i++)
        print_safely(stdout, "%s%s `%.*s`", i == 0 ? "the call does not say all, so it is asked with the " : ", the ",
                     unsaid[i].name, SPAN_ARG(unsaid[i].value));
    if (count > 0)
        putchar('\n');
    if (is_route_unknown(e)) {
        print_safely(stdout, "no route is named `%.*s`: no call comes to the gate with this upstream; there are",
                     SPAN_ARG(e->call.question.upstream));
        for (size_t i = 0; i < e->routes.count && i < ROUTES_SHOWN; i++)
            print_safely(stdout, "%s `%s`", i > 0 ? "," : "", e->routes.routes[i].name);
        printf(e->routes.count > ROUTES_SHOWN ? " and %zu more\n" : "\n", e->routes.count - ROUTES_SHOWN);
    }
    if (count > 0 || is_route_unknown(e))
        putchar('\n');
}

static void fill_notes(const struct explaining *e)
{
    struct doc *doc = doc_add_object(e->doc, "defaults");
    struct part_of_call unsaid[4];
    size_t count = take_unsaid(e, unsaid);

    for (size_t i = 0; i < count; i++)
        doc_text(doc, unsaid[i].name, unsaid[i].value);
    if (e->routes.count > 0)
        doc_bool(e->doc, "route_exists", !is_route_unknown(e));
}

/* ---- the answer ---- */

static void fill_verdict(const struct explaining *e)
{
    const struct verdict *verdict = e->verdict;
    struct doc *rules;

    doc_text(e->doc, "verdict", span_text(verdict_text(verdict->kind)));
    doc_text(e->doc, "reason", span_text(reason_name(verdict->reason)));
    doc_text_or_null(e->doc, "rule", verdict->rule);
    if (verdict->undecided.len > 0)
        doc_text(e->doc, "undecided", verdict->undecided);
    if (verdict->say.len > 0)
        doc_text(e->doc, "say", verdict->say);
    if (verdict->rule_reason.len > 0)
        doc_text(e->doc, "rule_reason", verdict->rule_reason);
    rules = doc_add_array(e->doc, "rules");
    for (uint32_t i = 0; i < verdict->rule_count && i < VERDICT_RULES_MAX; i++) {
        struct doc *one = doc_add_object(rules, NULL);

        doc_text(one, "id", verdict->rules[i].id);
        doc_text(one, "effect", span_text(effect_text(verdict->rules[i].effect)));
        doc_bool(one, "monitor", verdict->rules[i].monitor);
        if (verdict->rules[i].limited)
            doc_bool(one, "limited", true);
    }
    if (e->is_guessed)
        doc_text(e->doc, "otherwise", span_text(verdict_text(e->otherwise)));
    doc_int(e->doc, "policy_version", (int64_t)verdict->policy_version);
    doc_text(e->doc, "walk", buf_peek(&e->words));
}

static void print_doubt(const struct explaining *e)
{
    const struct recorded *r = &e->call.recorded;

    if (e->is_guessed)
        print_safely(stdout, "the verdict hangs on what the record lost: it could as well be %s\n", verdict_text(e->otherwise));
    else if (e->call.is_recorded && e->verdict->policy_version == r->policy_version && e->verdict->kind != r->verdict)
        print_safely(stdout, "the record says %s: what servers said of their tools and `_meta` are not in the record\n",
                     verdict_text(r->verdict));
}

static enum code judge(struct explaining *e)
{
    enum code code = policy_scratch_new(&e->scratch);
    struct why why = {""};

    e->verdict = mem_zalloc(sizeof *e->verdict);
    if (code != CODE_OK || e->verdict == NULL)
        return CODE_NOMEM;
    if (e->call.holder != NULL)
        policy_call_accept(e->call.holder,
                           definition_set_schema(e->definitions, e->call.question.upstream, e->call.question.tool));
    if (e->call.is_recorded && e->policy != NULL)
        code = recall_make(&e->recall, e->policy, e->definitions, e->call.trail, &e->call.recorded, &e->call.question, &why);
    if (code != CODE_OK)
        return code;
    if (e->call.is_recorded && e->call.question.hidden != NULL)
        e->is_guessed = recorded_guess(&e->call.recorded, &e->call.question, e->policy, e->scratch, e->verdict, &e->otherwise);
    if (e->asked->json) {
        struct doc *rules = doc_add_array(e->doc, "candidates"), *answer = doc_add_array(e->doc, "answer_redacted");

        code = explain_doc(e->policy, &e->call.question, e->scratch, e->verdict, rules, answer);
    }
    return code == CODE_OK ? explain_text(e->policy, &e->call.question, e->scratch, e->verdict, &e->words) : code;
}

/* ---- --answer ---- */

static void fill_answer(struct doc *doc, const struct answer_verdict *answered)
{
    struct doc *found = doc_add_array(doc, "found"), *rules = doc_add_array(doc, "rules");

    doc_text(doc, "effect", span_text(answer_effect_text(answered->effect)));
    doc_text_or_null(doc, "rule", answered->rule);
    if (answered->why != ANSWER_AS_WRITTEN)
        doc_text(doc, "because", span_text(answer_why_text(answered->why)));
    if (answered->undecided.len > 0)
        doc_text(doc, "undecided", answered->undecided);
    if (answered->say.len > 0)
        doc_text(doc, "say", answered->say);
    for (uint32_t i = 0; i < answered->rule_count && i < ANSWER_RULES_MAX; i++) {
        struct doc *one = doc_add_object(rules, NULL);

        doc_text(one, "id", answered->rules[i].id);
        doc_text(one, "effect", span_text(answer_effect_text(answered->rules[i].effect)));
        doc_bool(one, "monitor", answered->rules[i].monitor);
    }
    for (uint32_t i = 0; i < answered->found_count; i++) {
        struct doc *one = doc_add_object(found, NULL);

        doc_text(one, "name", answered->found[i].name);
        doc_int(one, "count", (int64_t)answered->found[i].count);
    }
}

/* Nothing comes back on a call that is not permitted, but what would is worth knowing. */
static int explain_what_comes(struct explaining *e)
{
    struct doc *doc = doc_add_object(e->doc, "answer");
    const struct explain_to to = {
        .words = &e->words, .rules = doc_add_array(doc, "candidates"), .found = doc_add_array(doc, "places")};
    enum code code = CODE_NOMEM;

    buf_clear(&e->words);
    e->answered = mem_zalloc(sizeof *e->answered);
    if (e->answered != NULL)
        code = explain_answer(e->policy, &e->call.question, &e->call.answered, e->scratch, e->answered, &to);
    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", code_text(code));
    fill_answer(doc, e->answered);
    doc_text(doc, "walk", buf_peek(&e->words));
    if (!e->asked->json) {
        printf(e->verdict->kind == VERDICT_PERMIT ? "\n" : "\nthe call is not permitted: nothing comes back; if it did:\n\n");
        print_lines(stdout, buf_peek(&e->words), "");
    }
    return e->answered->effect > ANSWER_FLAG ? STATUS_NEGATIVE : STATUS_DONE;
}

static int answer(struct explaining *e)
{
    enum code code;
    int status, printed, came = STATUS_DONE;

    e->doc = e->asked->json ? doc_object() : NULL;
    code = judge(e);
    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", code_text(code));
    status = e->verdict->kind == VERDICT_PERMIT ? STATUS_DONE : STATUS_NEGATIVE;
    if (e->asked->json) {
        if (e->call.is_recorded)
            fill_recorded(e);
        fill_notes(e);
        fill_verdict(e);
        came = e->asked->answered != NULL ? explain_what_comes(e) : STATUS_DONE;
        printed = came == STATUS_CANNOT ? came : print_doc(&e->doc);
        return printed != STATUS_DONE ? printed : status == STATUS_DONE ? came : status;
    }
    if (e->call.is_recorded)
        print_recorded(e);
    print_notes(e);
    print_lines(stdout, buf_peek(&e->words), "");
    print_doubt(e);
    if (e->asked->answered != NULL)
        came = explain_what_comes(e);
    return status == STATUS_DONE || came == STATUS_CANNOT ? came : status;
}

static int explain(struct explaining *e)
{
    int status;

    status = explain_call_make(&e->call);
    if (status == OPTIONS_GO && e->call.is_recorded && e->call.recorded.kind != RECORDED_JUDGED)
        return tell_unjudged(e);
    if (status == OPTIONS_GO)
        status = find_policy(e);
    if (status == OPTIONS_GO && e->asked->test != NULL && e->policy == NULL)
        return complain(STATUS_USAGE, "no policy is active; name the test's file with --policy");
    if (status == OPTIONS_GO && e->asked->test != NULL)
        status = explain_call_of_test(&e->call, e->policy);
    if (status == OPTIONS_GO)
        status = find_routes(e);
    if (status == OPTIONS_GO && e->asked->answered != NULL)
        status = explain_call_answer(&e->call);
    return status == OPTIONS_GO ? answer(e) : status;
}

int cmd_policy_explain(const struct asked *asked)
{
    static struct explaining e;
    int status;

    e = (struct explaining){.asked = asked};
    explain_call_init(&e.call, asked);
    route_names_init(&e.routes);
    buf_init(&e.words, WORDS_MAX_BYTES);
    status = explain(&e);
    policy_unref(&e.policy);
    policy_scratch_free(&e.scratch);
    recall_fini(&e.recall);
    definition_set_unref(&e.definitions);
    mem_free(e.verdict);
    mem_free(e.answered);
    doc_free(&e.doc);
    buf_fini(&e.words);
    explain_call_fini(&e.call);
    route_names_fini(&e.routes);
    return status;
}
