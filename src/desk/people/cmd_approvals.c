/* SPDX-License-Identifier: Apache-2.0 */
/* callgate approvals: the calls that wait for a person, and what a person needs to know in order to decide. */
#include "people/cmd_approvals_priv.h"
#include "args/print.h"
#include "store/store.h"
#include "cli/told.h"
#include "cli/when.h"

#include "base/num.h"
#include "json/json.h"
#include "os/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES ((size_t)1 << 20)

/* ---- finding ---- */

struct finding {
    struct approvals_meant *meant;
    char gate[64];
    bool is_mixed;
};

static enum code add_meant(void *context, const struct store_approval *approval)
{
    struct finding *finding = context;
    char gate[sizeof finding->gate];

    (void)snprintf(gate, sizeof gate, "%.*s", SPAN_ARG(approval->gate));
    if (finding->meant->count == APPROVALS_MEANT_MAX)
        return CODE_LIMIT;
    if (finding->meant->count > 0 && strcmp(gate, finding->gate) != 0)
        finding->is_mixed = true;
    memcpy(finding->gate, gate, sizeof gate);
    finding->meant->id[finding->meant->count++] = approval->id;
    return CODE_OK;
}

static int find_by_decision(struct db *db, const char *text, struct approvals_meant *meant)
{
    struct finding finding = {.meant = meant};
    struct why why = {0};
    int64_t decision;
    enum code code;

    if (num_i64(span_text(text), &decision) != CODE_OK || decision <= 0)
        return complain(STATUS_USAGE, "--decision \"%s\" is no decision's number; the agent was told one", text);
    code = store_approvals_each(db, APPROVALS_OF_DECISION, decision, clock_wall_us(), add_meant, &finding, &why);
    if (code != CODE_OK)
        return complain_why(code, &why);
    if (meant->count == 0)
        return complain(STATUS_NEGATIVE, "no approval was asked for by decision %s; `callgate approvals list` shows what waits",
                        text);
    if (finding.is_mixed)
        return complain(STATUS_NEGATIVE, "several gates have a decision %s; name the approval, `callgate approvals list` shows "
                        "them", text);
    return OPTIONS_GO;
}

int cmd_approvals__find(struct db *db, const struct asked *asked, struct approvals_meant *meant)
{
    char *const *operands = asked->given.operands;
    const int count = asked->given.count;

    meant->count = 0;
    if ((asked->decision != NULL) == (count > 0))
        return complain(STATUS_USAGE, "name the approvals by their numbers, or one call by --decision N");
    if (asked->decision != NULL)
        return find_by_decision(db, asked->decision, meant);
    if (count > APPROVALS_MEANT_MAX)
        return complain(STATUS_USAGE, "more than %d at once; name fewer", APPROVALS_MEANT_MAX);
    for (int i = 0; i < count; i++) {
        if (num_i64(span_text(operands[i]), &meant->id[i]) != CODE_OK || meant->id[i] <= 0)
            return complain(STATUS_USAGE, "\"%s\" is no approval's number; `callgate approvals list` shows them", operands[i]);
        meant->count++;
    }
    return OPTIONS_GO;
}

/* ---- words ---- */

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

struct doc *cmd_approvals__doc(struct db *db, const struct store_approval *approval, int64_t now_us)
{
    struct doc *doc = doc_object();
    const struct {
        const char *key;
        struct span text;
    } texts[] = {
        {"tenant", approval->tenant}, {"principal", approval->principal}, {"client", approval->client},
        {"correlation", approval->correlation}, {"upstream", approval->upstream}, {"method", approval->method},
        {"tool", approval->tool}, {"path", approval->target}, {"query", approval->query}, {"params", approval->params},
        {"arguments", approval->arguments}, {"rule", approval->rule},
        {"rule_reason", approval->rule_reason}, {"gate", approval->gate}, {"given_by", approval->given_by},
        {"login", approval->login}, {"why", approval->why},
    };

    doc_int(doc, "approval", approval->id);
    doc_text(doc, "state", span_text(store_approval_state_text(store_approval_state(approval, now_us))));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        doc_text_or_null(doc, texts[i].key, texts[i].text);
    doc_int(doc, "arguments_bytes", (int64_t)approval->arguments_bytes);
    doc_bool(doc, "arguments_redacted", approval->redacted.at != NULL);
    doc_text_or_null(doc, "redacted", approval->redacted);
    doc_int(doc, "policy_version", approval->policy_version);
    doc_int(doc, "decision", approval->decision);
    print_time(doc, "asked", approval->asked_us);
    print_time(doc, "last_asked", approval->seen_us);
    print_time(doc, "given", approval->given_us);
    print_time(doc, "until", approval->until_us);
    add_people(doc, db, approval, now_us);
    print_time(doc, "used", approval->used_us);
    if (approval->used_decision != 0)
        doc_int(doc, "used_decision", approval->used_decision);
    else
        doc_null(doc, "used_decision");
    return doc;
}

/* ---- show ---- */

static void print_members(const struct json_node *root)
{
    size_t widest = 0;

    for (const struct json_node *member = root->child; member != NULL; member = member->next)
        if (member->key.len > widest && member->key.len <= 24)
            widest = member->key.len;
    if (root->child == NULL)
        printf("    (none)\n");
    for (const struct json_node *member = root->child; member != NULL; member = member->next) {
        printf("    ");
        print_span(stdout, member->key);
        print_safely(stdout, "%*s  ", member->key.len < widest ? (int)(widest - member->key.len) : 0, "");
        print_span(stdout, member->raw);
        printf("\n");
    }
}

/* ["$.password","query"] */
static void print_names(struct span array)
{
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct arena arena;
    struct buf text;

    arena_init(&arena, TEXT_BYTES);
    buf_init(&text, TEXT_BYTES);
    if (json_read(array, &json_file_rules, &text, &arena, &root, &fault) == CODE_OK)
        for (const struct json_node *name = root->child; name != NULL; name = name->next) {
            print_span(stdout, name->text);
            if (name->next != NULL)
                printf(", ");
        }
    buf_fini(&text);
    arena_fini(&arena);
}

static void print_arguments(const struct store_approval *approval)
{
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct arena arena;
    struct buf text;

    arena_init(&arena, TEXT_BYTES * 16);
    buf_init(&text, TEXT_BYTES);
    if (approval->arguments.at == NULL) {
        print_safely(stdout, "    (%s)\n", approval->arguments_bytes == 0 ? "without arguments"
                             : approval->is_answered      ? "erased when it was decided"
                                                          : "not kept, or not any longer");
    } else if (json_read(approval->arguments, &json_file_rules, &text, &arena, &root, &fault) == CODE_OK &&
               root->type == JSON_OBJECT) {
        print_members(root);
    } else {
        printf("    ");
        print_span(stdout, approval->arguments);
        printf("\n");
    }
    if (approval->arguments.at != NULL && approval->arguments_bytes > approval->arguments.len)
        printf("\n    These are the first %zu of %" PRIu64 " bytes: the rest is approved --unseen.\n",
               approval->arguments.len, approval->arguments_bytes);
    if (approval->redacted.at != NULL) {
        printf("\n    The audit does not show: ");
        print_names(approval->redacted);
        printf("\n");
    }
    buf_fini(&text);
    arena_fini(&arena);
}

static void print_hints(const struct store_approval *approval, enum store_approval_state state)
{
    bool is_cut = approval->arguments.len < approval->arguments_bytes || !store_approval_shows_params(approval);
    long long id = (long long)approval->id;

    if (state == APPROVAL_IS_APPROVED)
        putchar('\n');
    if (state == APPROVAL_IS_WAITING || state == APPROVAL_IS_REFUSED)
        print_safely(stdout, "\npermit this very call, once:  callgate approvals approve %lld --why TEXT --for 1h%s\n", id,
                     state == APPROVAL_IS_REFUSED ? " --again" : is_cut ? " --unseen" : "");
    if (state == APPROVAL_IS_WAITING || state == APPROVAL_IS_APPROVED)
        print_safely(stdout, "%-30scallgate approvals refuse %lld --why TEXT --for 24h\n",
                     state == APPROVAL_IS_APPROVED ? "take it back:" : "deny it:", id);
}

static void show_story(const struct json_node *told, const struct store_approval *approval, int64_t now_us)
{
    const struct json_node *people = json_member(told, SPAN_LIT("approved_by"));
    char age[WHEN_AGE_BYTES];

    told_say(told, "approval {approval}: {state}\n\n{principal} of tenant {tenant} ");
    told_say(told, span_is(approval->method, "tools/call") ? "wants to call" : "asks for {method}");
    told_say(told, " {tool} of {upstream}[ at {path}][ with the query {query}][ and beside its arguments {params}]");
    if (!store_approval_shows_params(approval))
        told_say(told, " ... (their beginning: the rest is approved --unseen)");
    printf(" with\n\n");
    print_arguments(approval);
    told_say(told, "\nrule     {rule} of policy version {policy_version}[: {rule_reason}]\n");
    told_say(told, "asked    {asked}, ");
    print_safely(stdout, "%s ago", when_age(approval->asked_us, now_us, age));
    told_say(told, ", decision {decision}");
    if (approval->times > 1)
        print_safely(stdout, "; last %s ago", when_age(approval->seen_us, now_us, age));
    told_say(told, "\n[people   {people}\n]");
    for (const struct json_node *one = people->child; one != NULL && approval->needed > 1; one = one->next)
        told_say(one, "         {given_by}: {why}\n");
    if (approval->is_answered) {
        print_safely(stdout, "%s  ", approval->is_granted ? "given  " : "refused");
        told_say(told, "{given} by {given_by}");
        if (!span_equals(approval->given_by, approval->login))
            told_say(told, " (logged in as {login})");
        told_say(told, ", until {until}\n[why      {why}\n]");
    }
    told_say(told, "[used     {used} by decision {used_decision}\n]"
             "[{!used_decision}{?used}used     {used}, by which decision nobody can know\n]");
    print_hints(approval, store_approval_state(approval, now_us));
}

struct showing {
    struct db *db;
    bool as_json;
    int64_t now_us;
    size_t count;
    struct policy *policy; /* the active one; NULL: there is none, or it is not known */
};

/* An approval of what is not asked for any more would do nothing. */
static void print_change(const struct showing *showing, const struct store_approval *approval)
{
    enum store_approval_state state = store_approval_state(approval, showing->now_us);
    struct span hash;

    if (showing->policy == NULL || (state != APPROVAL_IS_WAITING && state != APPROVAL_IS_APPROVED))
        return;
    hash = policy_approval_hash(showing->policy, approval->rule);
    if (span_equals(hash, approval->rule_hash))
        return;
    print_safely(stdout,
                 "\nThe active version %s: an approval would permit nothing. If the agent tries again, it is judged anew.\n",
                 hash.at == NULL ? "has no such rule any more" : "has this rule with another text");
}

static enum code show_one(void *context, const struct store_approval *approval)
{
    struct showing *showing = context;
    struct doc *doc = cmd_approvals__doc(showing->db, approval, showing->now_us);
    struct told told;
    enum code code;

    showing->count++;
    if (showing->as_json)
        return print_doc(&doc) == STATUS_DONE ? CODE_OK : CODE_NOMEM;
    code = told_read(&told, doc);
    if (code == CODE_OK) {
        printf(showing->count > 1 ? "\n" : "");
        show_story(told.root, approval, showing->now_us);
        print_change(showing, approval);
    }
    told_end(&told);
    doc_free(&doc);
    return code;
}

/* Without it the story is told all the same. */
static struct policy *find_active(struct db *db)
{
    struct policy *policy = NULL;
    struct why why = {0};
    uint64_t version = 0;

    if (policy_store_active(db, &version, &why) != CODE_OK || version == 0 ||
        store_compile_policy(db, version, &policy, &why) != CODE_OK)
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
        showing.policy = showing.as_json ? NULL : find_active(db);
        status = show_all(db, &meant, &showing);
        policy_unref(&showing.policy);
    }
    db_close(&db);
    return status;
}
