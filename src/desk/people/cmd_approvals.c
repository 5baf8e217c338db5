/* SPDX-License-Identifier: Apache-2.0 */
/* callgate approvals: the calls that wait for a person, and what a person needs to know in order to decide. */
#include "people/cmd_approvals_priv.h"
#include "args/print.h"
#include "store/store.h"
#include "unicode/terminal.h"

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

struct span cmd_approvals__subject(const struct store_approval *approval)
{
    return approval->tool.len > 0 ? approval->tool : approval->method;
}

/* "40 s", "5 min", "3 h", "2 d" */
const char *cmd_approvals__age(int64_t since_us, int64_t now_us, char text[32])
{
    int64_t s = now_us > since_us ? (now_us - since_us) / 1000000 : 0;

    if (s < 120)
        (void)snprintf(text, 32, "%" PRId64 " s", s);
    else if (s < 7200)
        (void)snprintf(text, 32, "%" PRId64 " min", s / 60);
    else
        (void)snprintf(text, 32, s < 172800 ? "%" PRId64 " h" : "%" PRId64 " d", s < 172800 ? s / 3600 : s / 86400);
    return text;
}

void cmd_approvals__voices(struct db *db, const struct store_approval *approval, int64_t now_us, struct store_voices *voices)
{
    struct why why = {""};

    if (store_approval_voices(db, approval->id, approval->is_granted ? approval->given_us : now_us, voices, &why) != CODE_OK)
        voices->count = 0;
}

enum code cmd_approvals__add_people(struct db *db, const struct store_approval *approval, int64_t now_us, struct buf *out)
{
    struct store_voices voices;
    enum code code;

    if (approval->needed <= 1)
        return CODE_OK;
    cmd_approvals__voices(db, approval, now_us, &voices);
    code = buf_addf(out, "%zu of %u", voices.count, approval->needed);
    for (size_t i = 0; i < voices.count && code == CODE_OK; i++) {
        code = buf_add_text(out, i == 0 ? ", by " : " and ");
        if (code == CODE_OK)
            code = terminal_add(out, span_text(voices.of[i].by));
    }
    return code;
}

static void add_people(struct doc *doc, struct db *db, const struct store_approval *approval, int64_t now_us)
{
    struct doc *people = doc_add_array(doc, "approved_by");
    struct store_voices voices;

    doc_int(doc, "needed", approval->needed);
    cmd_approvals__voices(db, approval, now_us, &voices);
    for (size_t i = 0; i < voices.count; i++) {
        const struct store_voice *voice = &voices.of[i];
        struct doc *one = doc_add_object(people, NULL);

        doc_text(one, "by", span_text(voice->by));
        doc_text(one, "login", span_text(voice->login));
        doc_text(one, "why", span_text(voice->why));
        doc_text_or_null(one, "person", voice->name[0] != '\0' ? span_text(voice->name) : SPAN_NONE);
        print_time(one, "given", voice->given_us);
        print_time(one, "until", voice->until_us);
    }
}

static void add_object(struct doc *doc, struct db *db, const struct store_approval *approval, int64_t now_us)
{
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
}

enum code cmd_approvals__print_json(struct db *db, const struct store_approval *approval, int64_t now_us)
{
    struct doc *doc = doc_object();

    add_object(doc, db, approval, now_us);
    return print_doc(&doc) == STATUS_DONE ? CODE_OK : CODE_NOMEM;
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

static void print_answer(const struct store_approval *approval)
{
    char given[CLOCK_TEXT_BYTES], until[CLOCK_TEXT_BYTES], used[CLOCK_TEXT_BYTES];

    if (approval->is_answered) {
        clock_text(approval->given_us, given);
        clock_text(approval->until_us, until);
        print_safely(stdout, "%s  %s by ", approval->is_granted ? "given  " : "refused", given);
        print_span(stdout, approval->given_by);
        if (!span_equals(approval->given_by, approval->login))
            print_safely(stdout, " (logged in as %.*s)", SPAN_ARG(approval->login));
        print_safely(stdout, ", until %s\n", until);
        if (approval->why.len > 0) {
            printf("why      ");
            print_span(stdout, approval->why);
            printf("\n");
        }
    }
    if (approval->used_us != 0) {
        clock_text(approval->used_us, used);
        print_safely(stdout, "used     %s", used);
        if (approval->used_decision != 0)
            printf(" by decision %" PRId64 "\n", approval->used_decision);
        else
            printf(", by which decision nobody can know\n");
    }
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

/* Where it goes, and what it carries beside its arguments. */
static void print_place(const struct store_approval *approval)
{
    if (approval->target.len > 0) {
        printf(" at ");
        print_span(stdout, approval->target);
    }
    if (approval->query.len > 0) {
        printf(" with the query ");
        print_span(stdout, approval->query);
    }
    if (approval->params.at != NULL) {
        printf(" and beside its arguments ");
        print_span(stdout, approval->params);
        if (!store_approval_shows_params(approval))
            printf(" ... (their beginning: the rest is approved --unseen)");
    }
}

static void print_people(struct db *db, const struct store_approval *approval, int64_t now_us)
{
    struct store_voices voices;
    struct buf text;

    if (approval->needed <= 1)
        return;
    buf_init(&text, TEXT_BYTES);
    if (cmd_approvals__add_people(db, approval, now_us, &text) == CODE_OK)
        print_safely(stdout, "people   %.*s\n", SPAN_ARG(buf_peek(&text)));
    buf_fini(&text);
    cmd_approvals__voices(db, approval, now_us, &voices);
    for (size_t i = 0; i < voices.count; i++) {
        printf("         ");
        print_span(stdout, span_text(voices.of[i].by));
        printf(": ");
        print_span(stdout, span_text(voices.of[i].why));
        printf("\n");
    }
}

static void show_story(struct db *db, const struct store_approval *approval, int64_t now_us)
{
    enum store_approval_state state = store_approval_state(approval, now_us);
    char asked[CLOCK_TEXT_BYTES], age[32];

    clock_text(approval->asked_us, asked);
    print_safely(stdout, "approval %" PRId64 ": %s\n\n", approval->id, store_approval_state_text(state));
    print_span(stdout, approval->principal);
    printf(" of tenant ");
    print_span(stdout, approval->tenant);
    if (span_is(approval->method, "tools/call"))
        printf(" wants to call ");
    else
        print_safely(stdout, " asks for %.*s ", SPAN_ARG(approval->method));
    print_span(stdout, approval->tool);
    print_safely(stdout, " of %.*s", SPAN_ARG(approval->upstream));
    print_place(approval);
    printf(" with\n\n");
    print_arguments(approval);
    print_safely(stdout, "\nrule     %.*s of policy version %" PRId64, SPAN_ARG(approval->rule), approval->policy_version);
    if (approval->rule_reason.len > 0) {
        printf(": ");
        print_span(stdout, approval->rule_reason);
    }
    print_safely(stdout, "\nasked    %s, %s ago, decision %" PRId64, asked, cmd_approvals__age(approval->asked_us, now_us, age),
                 approval->decision);
    if (approval->times > 1)
        print_safely(stdout, "; last %s ago", cmd_approvals__age(approval->seen_us, now_us, age));
    printf("\n");
    print_people(db, approval, now_us);
    print_answer(approval);
    print_hints(approval, state);
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

    if (showing->count++ > 0 && !showing->as_json)
        printf("\n");
    if (showing->as_json)
        return cmd_approvals__print_json(showing->db, approval, showing->now_us);
    show_story(showing->db, approval, showing->now_us);
    print_change(showing, approval);
    return CODE_OK;
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
