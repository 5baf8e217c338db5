/* SPDX-License-Identifier: Apache-2.0 */
/* callgate approvals: the calls that wait for a person, and what a person needs to know in order to decide. */
#include "people/cmd_approvals_priv.h"
#include "args/print.h"
#include "store/store.h"
#include "cli/told.h"

#include "base/num.h"
#include "json/text.h"
#include "os/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES ((size_t)1 << 20)

/* ---- finding ---- */

struct found_ask {
    struct approvals_meant *meant;
    int64_t decision;
    char gate[64];
    bool is_mixed;
};

/* Gates of a store count decisions each for itself: the number means the decision of which gate, by each column that has it. */
static void note_gate(struct found_ask *finding, int64_t decision, struct span gate)
{
    if (decision != finding->decision)
        return;
    if (finding->gate[0] != '\0' && !span_equals(gate, span_text(finding->gate)))
        finding->is_mixed = true;
    (void)snprintf(finding->gate, sizeof finding->gate, "%.*s", SPAN_ARG(gate));
}

static enum code add_meant(void *context, const struct store_approval *approval)
{
    struct found_ask *finding = context;

    if (finding->meant->count == APPROVALS_MEANT_MAX)
        return CODE_LIMIT;
    note_gate(finding, approval->decision, approval->gate);
    note_gate(finding, approval->seen_decision, approval->seen_gate);
    finding->meant->id[finding->meant->count++] = approval->id;
    return CODE_OK;
}

static int find_by_decision(struct db *db, uint64_t decision, struct approvals_meant *meant)
{
    struct found_ask finding = {.meant = meant, .decision = (int64_t)decision};
    struct why why = {0};
    enum code code = store_approvals_each(db, APPROVALS_OF_DECISION, (int64_t)decision, clock_wall_us(), add_meant, &finding,
                                          &why);

    if (code != CODE_OK)
        return complain_why(code, &why);
    if (meant->count == 0)
        return complain(STATUS_NEGATIVE, "no approval was asked for by decision %" PRIu64 "; `callgate approvals list` shows "
                        "what waits", decision);
    if (finding.is_mixed && meant->count > 1)
        return complain(STATUS_NEGATIVE, "several gates have a decision %" PRIu64 "; name the approval, `callgate approvals "
                        "list` shows them", decision);
    return OPTIONS_GO;
}

int cmd_approvals__find(struct db *db, const struct asked *asked, struct approvals_meant *meant)
{
    const int count = asked->given.count;

    meant->count = 0;
    if ((asked->decision != 0) == (count > 0))
        return complain(STATUS_USAGE, "name the approvals by their numbers, or one call by --decision N");
    if (asked->decision != 0)
        return find_by_decision(db, asked->decision, meant);
    if (count > APPROVALS_MEANT_MAX)
        return complain(STATUS_USAGE, "more than %d at once; name fewer", APPROVALS_MEANT_MAX);
    for (; meant->count < (size_t)count; meant->count++)
        meant->id[meant->count] = (int64_t)asked_number(asked, (int)meant->count);
    return OPTIONS_GO;
}

/* ---- its document ---- */

static void find_voices(struct db *db, const struct store_approval *approval, int64_t now_us, struct store_voices *voices)
{
    struct why why = {""};

    if (store_approval_voices(db, approval->id, approval->is_granted ? approval->given_us : now_us, voices, &why) != CODE_OK)
        voices->count = 0;
}

/* Who approves it, and in words where it takes several. */
static void add_people(struct doc *doc, struct db *db, const struct store_approval *approval, int64_t now_us)
{
    struct doc *people = doc_add_array(doc, "approved_by");
    struct store_voices voices;
    struct buf text;

    buf_init(&text, TEXT_BYTES);
    doc_int(doc, "needed", approval->needed);
    find_voices(db, approval, now_us, &voices);
    buf_addf(&text, "%zu of %u", voices.count, approval->needed);
    for (size_t i = 0; i < voices.count; i++) {
        const struct store_voice *voice = &voices.of[i];
        struct doc *one = doc_add_object(people, NULL);

        buf_addf(&text, "%s%s", i == 0 ? ", by " : " and ", voice->by);
        doc_text(one, "given_by", span_text(voice->by));
        doc_text(one, "login", span_text(voice->login));
        doc_text(one, "why", span_text(voice->why));
        doc_text_or_null(one, "person", voice->name[0] != '\0' ? span_text(voice->name) : SPAN_NONE);
        print_time(one, "given", voice->given_us);
        print_time(one, "until", voice->until_us);
    }
    doc_text_or_null(doc, "people", approval->needed > 1 && buf_code(&text) == CODE_OK ? buf_peek(&text) : SPAN_NONE);
    buf_fini(&text);
}

/* A list of texts that the store has as JSON. */
static void add_list(struct doc *doc, const char *key, struct span json)
{
    struct json_text read;

    if (json_text_read(&read, json, &json_file_rules, TEXT_BYTES) == CODE_OK)
        doc_json(doc, key, read.root->raw);
    else
        (void)doc_add_array(doc, key);
    json_text_fini(&read);
}

struct doc *cmd_approvals__doc(struct db *db, const struct store_approval *approval, int64_t now_us)
{
    struct doc *doc = doc_object();
    bool is_cut = approval->arguments.at != NULL && approval->arguments_bytes > approval->arguments.len;
    const struct {
        const char *key;
        struct span text;
    } texts[] = {
        {"tenant", approval->tenant}, {"principal", approval->principal}, {"agent", approval->agent},
        {"client", approval->client}, {"session", approval->session}, {"correlation", approval->correlation},
        {"upstream", approval->upstream}, {"method", approval->method}, {"tool", approval->tool}, {"via", approval->via},
        {"path", approval->target}, {"query", approval->query}, {"params", approval->params},
        {"arguments", approval->arguments}, {"rule", approval->rule},
        {"rule_reason", approval->rule_reason}, {"gate", approval->gate}, {"given_by", approval->given_by},
        {"login", approval->login}, {"why", approval->why},
    };

    doc_int(doc, "approval", approval->id);
    doc_text(doc, "state", span_text(store_approval_state_text(store_approval_state(approval, now_us))));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        doc_text_or_null(doc, texts[i].key, texts[i].text);
    doc_int(doc, "arguments_bytes", (int64_t)approval->arguments_bytes);
    doc_int(doc, "arguments_cut", is_cut ? (int64_t)approval->arguments.len : 0);
    doc_bool(doc, "params_cut", !store_approval_shows_params(approval));
    doc_bool(doc, "unseen", approval->arguments.len < approval->arguments_bytes || !store_approval_shows_params(approval));
    doc_bool(doc, "arguments_redacted", approval->redacted.at != NULL);
    add_list(doc, "redacted", approval->redacted);
    doc_lines(doc, "approvers", approval->approvers);
    doc_int(doc, "policy_version", approval->policy_version);
    doc_int(doc, "decision", approval->decision);
    print_time(doc, "asked", approval->asked_us);
    print_time(doc, "last_asked", approval->seen_us);
    doc_int(doc, "times", approval->times);
    if (approval->is_answered)
        doc_bool(doc, "granted", approval->is_granted);
    else
        doc_null(doc, "granted");
    print_time(doc, "given", approval->given_us);
    print_time(doc, "until", approval->until_us);
    add_people(doc, db, approval, now_us);
    print_time(doc, "used", approval->used_us);
    print_number(doc, "used_decision", approval->used_decision);
    return doc;
}

/* ---- show ---- */

#define PERMIT "permit this very call, once:  callgate approvals approve {approval} --why TEXT --for 1h"
#define REFUSE "callgate approvals refuse {approval} --why TEXT --for 24h"

static const char words[] =
    "approval {approval}: {state}[; {gist}]\n\n"
    "{principal} of tenant {tenant}[, by the agent {agent},] "
    "[{?method=tools/call}wants to call][{!method=tools/call}asks for {method}] {tool} of {upstream}[, through {via}]"
    "[ at {path}][ with the query {query}][ and beside its arguments {params}]"
    "[{?params_cut} ... (their beginning: the rest is approved --despite-unseen)] with\n\n{arguments:members 4}"
    "[{?arguments:json=null}    ([{!arguments_bytes}without arguments]"
    "[{?arguments_bytes}{?granted:any}erased when it was decided]"
    "[{?arguments_bytes}{!granted:any}not kept, or not any longer])\n]"
    "[\n    These are the first {arguments_cut} of {arguments_bytes} bytes: the rest is approved --despite-unseen.\n]"
    "[\n    The audit does not show: {*redacted}{.}{/, }\n]"
    "\nrule     {rule} of policy version {policy_version}[: {rule_reason}]\n"
    "asked    {asked}, {asked:ago} ago, decision {decision}[{!times=1}; last {last_asked:ago} ago]\n"
    "[{!gist}[who may  {*approvers}{.}{/ or }\n]]"
    "[people   {people}\n][{?people}{*approved_by}         {given_by}: {why}\n{/}]"
    "[{?granted:any}[{?granted}given  ][{!granted}refused]  {given} by {given_by}[ (logged in as {login:unlike given_by})], "
    "until {until}\n[why      {why}\n]]"
    "[used     {used} by decision {used_decision}\n]"
    "[{!used_decision}{?used}used     {used}, by which decision nobody can know\n]"
    "[{?state=waiting}\n" PERMIT "[{?unseen} --despite-unseen]\ndeny it:                      " REFUSE "\n]"
    "[{?state=refused}\n" PERMIT " --despite-refusal\n]"
    "[{?state=approved}\ntake it back:                 " REFUSE "\n]"
    "[\nThe active version has {rule_now}: an approval would permit nothing. If the agent tries again, it is judged anew.\n]";

struct showing {
    struct db *db;
    bool as_json;
    int64_t now_us;
    size_t count;
    struct policy *policy; /* the active one; NULL: there is none, or it is not known */
};

/* An approval of what is not asked for any more would do nothing. */
static struct span rule_now(const struct showing *showing, const struct store_approval *approval)
{
    enum store_approval_state state = store_approval_state(approval, showing->now_us);
    struct span hash;

    if (showing->policy == NULL || (state != APPROVAL_IS_WAITING && state != APPROVAL_IS_APPROVED))
        return SPAN_NONE;
    hash = policy_approval_hash(showing->policy, approval->rule);
    if (hash.at == NULL)
        return SPAN_LIT("no such rule any more");
    return span_equals(hash, approval->rule_hash) ? SPAN_NONE : SPAN_LIT("this rule with another text");
}

/* Of what is decided nobody asks any more, and of another text of the rule it would say what never was. */
static void add_gist(struct doc *doc, const struct showing *showing, const struct store_approval *approval)
{
    struct buf text;

    buf_init(&text, TEXT_BYTES);
    if (showing->policy != NULL && store_approval_state(approval, showing->now_us) == APPROVAL_IS_WAITING &&
        rule_now(showing, approval).at == NULL)
        cmd_approvals__gist(showing->policy, approval, &text);
    doc_text_or_null(doc, "gist", buf_len(&text) > 0 ? buf_peek(&text) : SPAN_NONE);
    buf_fini(&text);
}

static enum code show_one(void *context, const struct store_approval *approval)
{
    struct showing *showing = context;
    struct doc *doc = cmd_approvals__doc(showing->db, approval, showing->now_us);

    if (showing->count++ > 0 && !showing->as_json)
        putchar('\n');
    doc_text_or_null(doc, "rule_now", rule_now(showing, approval));
    add_gist(doc, showing, approval);
    return told_answer(&doc, showing->as_json, words) == STATUS_DONE ? CODE_OK : CODE_NOMEM;
}

/* Without it the story is told all the same. */
static struct policy *find_active(struct db *db)
{
    struct policy *policy = NULL;
    struct why why = {0};
    uint64_t version = 0;

    if (policy_store_active(db, &version, &why) != CODE_OK || version == 0 ||
        store_compile_policy(db, version, &policy_authoring, &policy, &why) != CODE_OK)
        return NULL;
    return policy;
}

static int show_all(struct db *db, const struct approvals_meant *meant, struct showing *showing)
{
    struct why why = {0};

    for (size_t i = 0; i < meant->count; i++) {
        size_t before = showing->count;
        enum code code = store_approvals_each(db, APPROVALS_ONE, meant->id[i], showing->now_us, show_one, showing, &why);

        if (code != CODE_OK)
            return complain_why(code, &why);
        if (showing->count == before)
            return complain(STATUS_NEGATIVE, "there is no approval %lld; `callgate approvals list --all` shows them",
                            (long long)meant->id[i]);
    }
    return STATUS_DONE;
}

int cmd_approvals_show(const struct asked *asked)
{
    struct showing showing = {.now_us = clock_wall_us(), .as_json = asked->json};
    struct approvals_meant meant;
    struct why why = {0};
    struct db *db = NULL;
    enum code code = asked_store(asked, DB_READ, &db, &why);
    int status;

    if (code != CODE_OK)
        return complain_why(code, &why);
    status = cmd_approvals__find(db, asked, &meant);
    if (status == OPTIONS_GO) {
        showing.db = db;
        showing.policy = find_active(db);
        status = show_all(db, &meant, &showing);
        policy_unref(&showing.policy);
    }
    db_close(&db);
    return status;
}
