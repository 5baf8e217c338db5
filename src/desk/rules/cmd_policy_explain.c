/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy explain: one call, judged as the gate would, with the walk in words. */
#include "names/route_names_read.h"
#include "cli/commands.h"
#include "conf/conf.h"
#include "trail/explain_call.h"
#include "cli/policy_files.h"
#include "cli/told.h"
#include "args/print.h"
#include "lane/route_names.h"
#include "store/store.h"
#include "store/store_definitions.h"

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

struct explaining {
    const struct asked *asked;
    struct explain_call call;
    struct route_names routes;         /* of the configuration, if there is one */
    struct policy *policy;
    struct definition_set *definitions; /* that are accepted; NULL: none, or --policy was given */
    struct answer_verdict *answered;   /* --result */
    struct doc *doc;
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
        status = policy_files_read(&files, e->asked->policies.value, e->asked->policies.count, e->asked, false);
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
        code = store_compile_policy(db, version, &policy_authoring, &e->policy, &why);
    if (code == CODE_OK)
        code = store_definitions_load(db, NULL, &e->definitions, &why);
    db_close(&db);
    return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
}

/* ---- what the record says ---- */

static void fill_recorded(const struct explaining *e)
{
    const struct recorded *r = &e->call.recorded;
    struct doc *doc = e->call.is_recorded ? doc_add_object(e->doc, "recorded") : NULL;

    if (!e->call.is_recorded)
        doc_null(e->doc, "recorded");
    doc_int(doc, "seq", (int64_t)r->seq);
    print_time(doc, "time", r->question.time_us);
    doc_text(doc, "verdict", span_text(verdict_text(r->verdict)));
    doc_text(doc, "reason", r->reason_text);
    doc_text_or_null(doc, "rule", r->rule);
    print_number(doc, "policy_version", (int64_t)r->policy_version);
    doc_text(doc, "arguments", span_text(recorded_lack_text(r->lack)));
    doc_bool(doc, "query_unknown", r->query_unknown);
    doc_bool(doc, "answers_unknown", r->answers_unknown);
}

/* Of a refused or passed message no policy was asked, so that none explains it. */
static int tell_unasked(const struct recorded *r)
{
    if (r->kind == RECORDED_UNJUDGED)
        return complain(STATUS_NEGATIVE, "decision %" PRIu64 ": %s", r->seq, explain_call_unasked(r));
    return complain(STATUS_NEGATIVE, "decision %" PRIu64 ": %s, for `%.*s`; the reason is all there is to say", r->seq,
                    explain_call_unasked(r), SPAN_ARG(r->reason_text));
}

/* ---- what the call left out, and where it cannot come from ---- */

static void fill_unsaid(const struct explaining *e)
{
    const struct question *q = &e->call.question;
    const struct { const char *name; struct span value; } parts[] = {
        {"tenant", q->tenant}, {"principal", q->principal}, {"upstream", q->upstream}, {"method", q->method}};
    struct doc *doc = doc_add_object(e->doc, "defaults");

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].value.at == policy_unsaid_name || parts[i].value.at == policy_unsaid_method)
            doc_text(doc, parts[i].name, parts[i].value);
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

static void fill_routes(const struct explaining *e)
{
    const struct span upstream = e->call.question.upstream;
    struct doc *list = doc_add_array(e->doc, "routes");

    doc_text_or_null(e->doc, "upstream", upstream);
    if (e->routes.count > 0)
        doc_bool(e->doc, "route_exists", policy_route_exists(e->routes.routes, e->routes.count, upstream));
    else
        doc_null(e->doc, "route_exists");
    for (size_t i = 0; i < e->routes.count; i++)
        doc_text(list, NULL, span_text(e->routes.routes[i].name));
}

/* ---- --result ---- */

static void fill_answer(struct doc *doc, const struct answer_verdict *answered)
{
    struct doc *found = doc_add_array(doc, "found"), *rules = doc_add_array(doc, "rules");
    const bool is_as_written = answered->why == ANSWER_AS_WRITTEN;

    doc_text(doc, "effect", span_text(answer_effect_text(answered->effect)));
    doc_text_or_null(doc, "rule", answered->rule);
    doc_text_or_null(doc, "because", is_as_written ? SPAN_NONE : span_text(answer_why_text(answered->why)));
    doc_text_or_null(doc, "undecided", answered->undecided.len > 0 ? answered->undecided : SPAN_NONE);
    doc_text_or_null(doc, "say", answered->say.len > 0 ? answered->say : SPAN_NONE);
    for (uint32_t i = 0; i < answered->rule_count && i < ANSWER_RULES_MAX; i++) {
        struct doc *one = doc_add_object(rules, NULL);

        doc_text(one, "rule", answered->rules[i].id);
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
static enum code explain_what_comes(struct explaining *e)
{
    struct doc *doc = doc_add_object(e->doc, "answer");
    struct buf words;
    const struct explain_to to = {
        .words = &words, .rules = doc_add_array(doc, "candidates"), .found = doc_add_array(doc, "places")};
    enum code code = CODE_NOMEM;

    buf_init(&words, WORDS_MAX_BYTES);
    e->answered = mem_zalloc(sizeof *e->answered);
    if (e->answered != NULL)
        code = explain_answer(e->policy, &e->call.question, &e->call.answered, e->call.scratch, e->answered, &to);
    if (code == CODE_OK) {
        fill_answer(doc, e->answered);
        doc_text(doc, "words", buf_peek(&words));
    }
    buf_fini(&words);
    return code;
}

/* What is sure to be asked for first, and what makes it doubtful. */
#define FRONT \
    "{gist}\n" EXPLAIN_CALL_DOUBT("", "") \
    "[\n{?recorded}decision {recorded.seq} of {recorded.time}: {recorded.verdict} ({recorded.reason})[ by {recorded.rule}], " \
    "by " \
    "[policy version {recorded.policy_version}][{!recorded.policy_version}no policy]\n" \
    "[{!recorded.arguments=whole}the record's arguments are {recorded.arguments}: what hangs on the missing part is guessed" \
    "\n]" \
    "[{?recorded.query_unknown}its query is not in the record: rules for queries are asked as if there were none\n]" \
    "[{?recorded.answers_unknown}what it answers is not in the record: rules for the answered method are not asked\n]]" \
    "[\nthe call does not say all, so it is asked with the {*defaults}{@} `{.}`{/, the }\n]" \
    "[\n{?route_exists=false}no route is named `{upstream}`: no call comes to the gate with this upstream; there are" \
    "{*routes:first 12} `{.}`{/,}[ and {routes:beyond 12} more]\n]"
#define ANSWER \
    "[{?answer}[{!verdict=permit}\nthe call is not permitted: nothing comes back; if it did:\n]\n{answer.words:lines 0}]"

static const char brief[] = FRONT "\nadd --all for the walk over each rule and condition\n" ANSWER;
static const char whole[] = FRONT "\n{words:lines 0}" ANSWER;

static int answer(struct explaining *e)
{
    struct why why = {""};
    enum code code;

    e->doc = doc_object();
    fill_recorded(e);
    fill_unsaid(e);
    fill_routes(e);
    code = explain_call_judge(&e->call, e->policy, e->definitions, e->doc, &why);
    if (code == CODE_OK && e->asked->result != NULL)
        code = explain_what_comes(e);
    else
        doc_null(e->doc, "answer");
    if (code != CODE_OK)
        return complain_why(code, &why);
    if (told_answer(&e->doc, e->asked->json, e->asked->all ? whole : brief) != STATUS_DONE)
        return STATUS_CANNOT;
    return e->call.verdict->kind == VERDICT_PERMIT && (e->answered == NULL || e->answered->effect <= ANSWER_FLAG)
               ? STATUS_DONE : STATUS_NEGATIVE;
}

static int explain(struct explaining *e)
{
    int status;

    status = explain_call_make(&e->call);
    if (status == OPTIONS_GO && e->call.is_recorded && e->call.recorded.kind != RECORDED_JUDGED)
        return tell_unasked(&e->call.recorded);
    if (status == OPTIONS_GO)
        status = find_policy(e);
    if (status == OPTIONS_GO && e->asked->test != NULL && e->policy == NULL)
        return complain(STATUS_USAGE, "no policy is active; name the test's file with --policy");
    if (status == OPTIONS_GO && e->asked->test != NULL)
        status = explain_call_of_test(&e->call, e->policy);
    if (status == OPTIONS_GO)
        status = find_routes(e);
    if (status == OPTIONS_GO && e->asked->result != NULL)
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
    status = explain(&e);
    policy_unref(&e.policy);
    definition_set_unref(&e.definitions);
    mem_free(e.answered);
    doc_free(&e.doc);
    explain_call_fini(&e.call);
    route_names_fini(&e.routes);
    return status;
}
