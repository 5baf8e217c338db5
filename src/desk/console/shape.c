/* SPDX-License-Identifier: Apache-2.0 */
#include "console/shape.h"

#include "base/num.h"
#include "cli/told.h"
#include "console/texts.h"

#include <stdio.h>
#include <string.h>

#define TITLE_BYTES ((size_t)4096)
#define WHERE_BYTES ((size_t)8192)

/* ---- the pages ---- */

#define NEWEST "20000" /* calls, which are counted in a moment, however long the trail is */

const struct shape shape_now = {
    .page = "now", .title = "Now", .words = texts_now, .fields = "", .also = "audit stats", .draw = page_now_draw,
    .parts = {{"status", "status --json", false, NULL},
              {"stats", "audit stats --json --all --newest " NEWEST " --per minute,rule,reason,upstream,outcome --top 0",
               false, NULL},
              {"held", "approvals list --json", true, NULL}}};

const struct shape shape_policies = {
    .page = "policies", .title = "Policies", .words = texts_policies, .fields = "",
    .parts = {{"versions", "policy list --json", true, NULL}}};

const struct shape shape_policy = {
    .page = "policy", .title = "Policy version {number}", .words = texts_policy, .fields = "count word why",
    .draw = page_policy_draw,
    .parts = {{"policy", "policy show --json #", false, NULL}, {"written", "policy show --json --rules #", false, NULL},
              {"versions", "policy list --json", true, NULL},
              {"used_newest", "audit stats --json --all --newest " NEWEST " --per rule --top 0", false, NULL},
              {"used_all", "audit stats --json --all --progress --per rule --top 0", false, "count"}},
    .changes = {{"activate", "policy activate --json ~fleet +why #", "/policies/{number}"}}};

const struct shape shape_diff = {
    .page = "diff", .title = "Policy versions {q.from} and {q.to}", .words = texts_diff, .fields = "from to",
    .parts = {{"diff", "policy diff --json #from #to", false, NULL}}};

const struct shape shape_replay = {
    .page = "replay", .title = "Replay by version {q.version}", .words = texts_replay, .fields = "version since",
    .parts = {{"replay", "policy replay --json --all --progress ?version ?since", true, "version"}}};

const struct shape shape_tools = {
    .page = "tools", .title = "Tools", .words = texts_tools, .fields = "all upstream",
    .parts = {{"tools", "tools list --json !all ?upstream", true, NULL}}};

const struct shape shape_tool = {
    .page = "tool", .title = "Tool {q.tool}", .words = texts_tool, .fields = "tool upstream word why",
    .parts = {{"tool", "tools diff --json ?upstream =tool", true, NULL}},
    .changes = {{"accept", "tools accept --json ~fleet ?upstream ?why =tool", "/tools"},
                {"withdraw", "tools withdraw --json ~fleet ?upstream ?why =tool", "/tools"}}};

const struct shape shape_evidence = {
    .page = "evidence", .title = "Evidence", .words = texts_evidence, .fields = "verify", .also = "audit prove",
    .draw = page_evidence_draw,
    .parts = {{"files", "audit files --json", true, NULL},
              {"verify", "audit verify --json --all --progress", true, "verify"}}};

const struct shape shape_connect = {
    .page = "connect", .title = "Accounts", .words = texts_connect, .fields = "all account word why",
    .parts = {{"accounts", "connect list --json !all", true, NULL}},
    .changes = {{"revoke", "connect revoke --json +why #account", "/connect"}}};

const struct shape shape_fleet = {
    .page = "fleet", .title = "Fleet", .words = texts_fleet, .fields = "",
    .parts = {{"fleet", "fleet status --json", false, NULL}}};

const struct shape shape_stops = {
    .page = "stops", .title = "Stops", .words = texts_stops, .fields = "all word why stop",
    .parts = {{"stops", "stops --json !all", true, NULL}},
    .changes = {{"resume", "resume --json ~fleet +why #stop", "/stops"}}};

/* A stop goes to the other nodes of a fleet without being told so, and waits for none. */
#define NAMED "?tenant ?principal ?agent ?upstream ?tool ?session"
const struct shape shape_stop = {
    .page = "stop", .title = "Stop calls", .words = texts_stop,
    .fields = "tenant principal agent upstream tool session all word why for",
    .parts = {{"stops", "stops --json", true, NULL},
              {"check", "stop --check --json --why - " NAMED " !all", false, NULL},
              {"stats", "audit stats --json --newest " NEWEST " --top 0 " NAMED, false, NULL}},
    .changes = {{"stop", "stop --json " NAMED " !all ?for +why", "/stops"}}};

/* ---- what is asked ---- */

static bool is_among(struct span name, const char *fields)
{
    for (struct span rest = span_text(fields); rest.len > 0;)
        if (span_equals(span_cut(rest, ' ', &rest), name))
            return true;
    return false;
}

/* Fields that are empty say nothing. Returns: false: one is of no meaning here, which is said. */
static bool read_fields(struct visit *visit, struct span number)
{
    const struct request *request = &visit->request;
    struct doc *asked = doc_add_object(visit->view, "q");

    for (size_t i = 0; i < request->count; i++)
        if (!is_among(request->fields[i].name, visit->shape->fields) && !span_is(request->fields[i].name, "token")) {
            visit_fault(visit, 400, "The address asks by a name that means nothing on this page.");
            return false;
        }
    for (struct span rest = span_text(visit->shape->fields); rest.len > 0;) {
        struct span name = span_cut(rest, ' ', &rest);
        const char *key = arena_dup(&visit->arena, name.at, name.len);

        if (key != NULL)
            doc_text_or_null(asked, key, request_field(request, key));
    }
    doc_text_or_null(visit->view, "number", number);
    return true;
}

/* Returns: false: a field lacks that must be there, which is said. */
static bool add_word(struct visit *visit, struct words *words, struct span word, struct span number)
{
    const char kind = word.at[0];
    const char *name = arena_dup(&visit->arena, word.at + 1, word.len - 1);
    struct span value = name != NULL ? request_field(&visit->request, name) : SPAN_NONE;
    uint64_t read;

    if (kind == '~' && visit->conf->has_fleet)
        words_add_flag(words, name);
    if (strchr("?+!=#~", kind) == NULL)
        words_add(words, NULL, word);
    if (strchr("?+!=#", kind) == NULL)
        return true;
    if (kind == '#' && word.len == 1)
        value = number;
    if (kind == '+' && value.len == 0) {
        visit_fault(visit, 400, "Say why.");
        return false;
    }
    if ((kind == '=' && value.len == 0) || (kind == '#' && (num_u64(value, &read) != CODE_OK || read == 0))) {
        visit_fault(visit, 400, "The address lacks what this page is about.");
        return false;
    }
    if ((kind == '=' || kind == '#') && words->operands++ == 0)
        words_add(words, NULL, SPAN_LIT("--")); /* no operand is an option, whatever it begins with */
    if (kind == '!' && value.len > 0)
        words_add_flag(words, name);
    else if (kind != '!' && value.len > 0)
        words_add(words, kind == '?' || kind == '+' ? name : NULL, value);
    return true;
}

static bool make_words(struct visit *visit, const char *line, struct span number, struct words *words)
{
    words_begin(words, &visit->arena);
    for (struct span rest = span_text(line); rest.len > 0;)
        if (!add_word(visit, words, span_cut(rest, ' ', &rest), number))
            return false;
    return true;
}

static bool may_give(const struct visit *visit, const struct words *words)
{
    int used;
    const struct command *command = command_find(words->count, words->argv, &used);

    return command != NULL && (command->roles & visit->session.roles) != 0;
}

/* ---- the document ---- */

/* What a part answers. Returns: false: it is answered, since without the first there is no page. */
static bool take_answer(struct visit *visit, struct doc *faults, size_t at, const struct answer *answer)
{
    const struct shape *shape = visit->shape;
    const bool is_list = shape->parts[at].is_list, has_some = !buf_is_empty(&answer->out);

    if (answer->status != STATUS_DONE && at == 0 && !has_some && !answer->is_stopped) {
        visit_fault(visit, answer->status == STATUS_USAGE ? 400 : answer->status == STATUS_CANNOT ? 503 : 404,
                    visit_said(visit, answer));
        return false;
    }
    if (is_list)
        doc_json(visit->view, shape->parts[at].key, span_text(answer_array(answer, &visit->arena)));
    else
        doc_json(visit->view, shape->parts[at].key, has_some ? span_trim(buf_peek(&answer->out)) : SPAN_NONE);
    if (answer->status != STATUS_DONE && !buf_is_empty(&answer->said))
        doc_text(faults, NULL, buf_peek(&answer->said));
    return true;
}

static bool add_part(struct visit *visit, struct doc *faults, size_t at, struct words *words)
{
    const bool is_slow = visit->shape->parts[at].when != NULL;
    struct answer answer;
    bool goes_on = is_slow ? visit_ask_slowly(visit, words, &answer) : visit_ask(visit, words, &answer);

    goes_on = goes_on && take_answer(visit, faults, at, &answer);
    answer_fini(&answer);
    return goes_on;
}

/* Returns: false: it is answered, by what keeps the page from being shown. */
static bool make_view(struct visit *visit, struct span number, const char *fault)
{
    const struct shape *shape = visit->shape;
    struct doc *faults = doc_add_array(visit->view, "faults");
    struct told told;

    if (fault != NULL)
        doc_text(faults, NULL, span_text(fault));
    doc_text(visit->view, "page", span_text(shape->page));
    for (size_t i = 0; i < SHAPE_PARTS_MAX && shape->parts[i].key != NULL; i++) {
        const char *when = shape->parts[i].when;
        struct words words;

        if (!make_words(visit, shape->parts[i].line, number, &words))
            return false;
        if (i == 0 && !may_give(visit, &words) && (shape->also == NULL || !visit_may(visit, shape->also))) {
            visit_fault(visit, 403, "None of your roles may see this page.");
            return false;
        }
        if (!may_give(visit, &words) || (when != NULL && request_field(&visit->request, when).len == 0))
            doc_null(visit->view, shape->parts[i].key);
        else if (!add_part(visit, faults, i, &words))
            return false;
    }
    if (shape->draw != NULL && told_read(&told, visit->view) == CODE_OK)
        shape->draw(visit, told.root);
    if (shape->draw != NULL)
        told_end(&told);
    return true;
}

/* Words about the request, as one line. */
static const char *tell(struct visit *visit, const char *words, size_t most)
{
    const char *text = NULL;
    struct told told;
    struct buf out;

    buf_init(&out, most);
    if (told_read(&told, visit->view) == CODE_OK && told_add(&out, told.root, words) == CODE_OK)
        text = arena_dup(&visit->arena, buf_peek(&out).at, buf_len(&out));
    told_end(&told);
    buf_fini(&out);
    return text != NULL ? text : "";
}

/* Takes: fault: of a change that was not made; or NULL. */
static void show(struct visit *visit, struct span number, int status, const char *fault)
{
    if (make_view(visit, number, fault))
        visit_show(visit, status, tell(visit, visit->shape->title, TITLE_BYTES), visit->shape->words);
}

void page_shape(struct visit *visit, struct span number)
{
    if (read_fields(visit, number))
        show(visit, number, 200, NULL);
}

void page_shape_json(struct visit *visit, struct span number)
{
    struct buf text;

    if (!read_fields(visit, number) || !make_view(visit, number, NULL))
        return;
    buf_init(&text, 2 * ASKING_OUT_BYTES);
    if (doc_print(visit->view, &text) == CODE_OK)
        visit_give(visit, "application/json", NULL, buf_peek(&text));
    else
        visit_fault(visit, 503, "The page is too large, or the console is short of memory.");
    buf_fini(&text);
}

void page_change(struct visit *visit, struct span number)
{
    const struct shape *shape = visit->shape;
    size_t at = 0;
    struct words words;
    struct answer answer;

    while (at < SHAPE_CHANGES_MAX && shape->changes[at].word != NULL &&
           !span_is(request_field(&visit->request, "word"), shape->changes[at].word))
        at++;
    if (at == SHAPE_CHANGES_MAX || shape->changes[at].word == NULL) {
        visit_fault(visit, 400, "The form says nothing that could be done here.");
        return;
    }
    if (!read_fields(visit, number) || !make_words(visit, shape->changes[at].line, number, &words))
        return;
    if (visit_ask(visit, &words, &answer)) {
        if (answer.status == STATUS_DONE)
            visit_go(visit, tell(visit, shape->changes[at].where, WHERE_BYTES));
        else
            show(visit, number, answer.status == STATUS_USAGE ? 400 : 409, visit_said(visit, &answer));
    }
    answer_fini(&answer);
}
