/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that fit a question, which is the URL; and one call as its story. */
#include "console/pages.h"

#include "args/print.h"
#include "base/num.h"
#include "cli/told.h"
#include "console/texts.h"
#include "http/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAGE_ROWS 50
#define EXPORT_ROWS "20000" /* at most, in one answer */
#define SESSION_ROWS 10     /* before and behind a call */
#define SHORT_BYTES 64
#define COLUMNS "seq,time,tenant,principal,upstream,method,tool,verdict,reason,rule,outcome,status,latency_us,correlation"

/* What a question may say, as `audit query` knows it. */
static const char *const asked_by[] = {"text", "tenant", "principal", "tool", "upstream", "verdict", "reason", "rule",
                                       "correlation", "session", "method", "outcome", "since", "until", "group", "client",
                                       "detector", NULL};

/* ---- the question ---- */

/* Fields that are empty say nothing. Takes: filters, query: get what is asked, as a list and by name; or NULL. */
static void add_filters(struct visit *visit, struct words *words, struct doc *filters, struct doc *query)
{
    for (size_t i = 0; asked_by[i] != NULL; i++) {
        struct span value = request_field(&visit->request, asked_by[i]);
        struct doc *filter = filters != NULL && value.len > 0 ? doc_add_object(filters, NULL) : NULL;

        if (value.len > 0)
            words_add(words, asked_by[i], value);
        doc_text(filter, "name", span_text(asked_by[i]));
        doc_text(filter, "value", value);
        doc_text_or_null(query, asked_by[i], value.len > 0 ? value : SPAN_NONE);
    }
}

static void add_cursor(struct visit *visit, struct words *words)
{
    struct span below = request_field(&visit->request, "below");
    uint64_t number;

    if (num_u64(below, &number) == CODE_OK && number > 0)
        words_add(words, "below", below);
}

/* A name that is misspelt would find, and give away as a file, all that is there. Returns: false: it is said. */
static bool is_question(struct visit *visit)
{
    const struct request *request = &visit->request;
    struct span below = request_field(request, "below");
    bool known = true;
    uint64_t number;

    for (size_t i = 0; known && i < request->count; i++) {
        known = span_is(request->fields[i].name, "below");
        for (size_t k = 0; !known && asked_by[k] != NULL; k++)
            known = span_is(request->fields[i].name, asked_by[k]);
    }
    if (!known)
        visit_fault(visit, 400, "The address asks by a name that is no field of a search; the page Calls has all of them.");
    else if (below.len > 0 && num_u64(below, &number) != CODE_OK)
        visit_fault(visit, 400, "below is the number of a call; the address has something else there.");
    else
        return true;
    return false;
}

/* Cuts lines behind the first so many. Returns: whether there were more; *last: the number of the last one that stays. */
static bool cut_lines(struct buf *lines, unsigned most, struct arena *arena, struct span *last)
{
    struct span rest = buf_peek(lines), line = SPAN_NONE;
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct buf text;
    size_t kept;

    for (unsigned i = 0; i < most && rest.len > 0; i++)
        line = span_cut(rest, '\n', &rest);
    kept = buf_len(lines) - rest.len;
    *last = SPAN_NONE;
    buf_init(&text, SIZE_MAX / 4);
    if (rest.len > 0 && json_read(line, &json_reply_rules, &text, arena, &root, &fault) == CODE_OK) {
        const struct json_node *seq = json_member(root, SPAN_LIT("seq"));

        last->at = seq != NULL ? arena_dup(arena, seq->raw.at, seq->raw.len) : NULL;
        last->len = last->at != NULL ? seq->raw.len : 0;
    }
    buf_fini(&text);
    buf_truncate(lines, kept);
    return last->at != NULL;
}

static bool add_calls(struct visit *visit, struct doc *to, const char *key, struct words *words, unsigned most)
{
    char limit[16];
    struct answer answer;
    struct span last;
    const char *list;
    bool is_there;

    (void)snprintf(limit, sizeof limit, "%u", most + 1);
    words_add(words, "limit", span_text(limit));
    words_add(words, "fields", SPAN_LIT(COLUMNS));
    is_there = visit_ask(visit, words, &answer);
    if (is_there && answer.status != STATUS_DONE) /* with rows where only a file of the trail is missing */
        doc_text(to, "fault", span_text(visit_said(visit, &answer)));
    if (is_there && (answer.status == STATUS_DONE || answer.status == STATUS_NEGATIVE)) {
        (void)cut_lines(&answer.out, most, &visit->arena, &last);
        list = answer_array(&answer, &visit->arena);
        doc_json(to, key, span_text(list));
        doc_text_or_null(to, "below", last);
    }
    answer_fini(&answer);
    return is_there;
}

bool page_add_calls(struct visit *visit, const char *key, struct words *words, unsigned most)
{
    return add_calls(visit, doc_add_object(visit->view, key), "rows", words, most);
}

void page_calls(struct visit *visit, struct span number)
{
    struct doc *filters = doc_add_array(visit->view, "filters"), *query = doc_add_object(visit->view, "q");
    struct words words;

    (void)number;
    if (!is_question(visit))
        return;
    words_begin(&words, &visit->arena);
    words_add_all(&words, "audit query --json --all --order newest");
    add_filters(visit, &words, filters, query);
    add_cursor(visit, &words);
    doc_text(visit->view, "page", SPAN_LIT("calls"));
    if (page_add_calls(visit, "calls", &words, PAGE_ROWS))
        visit_show(visit, 200, "Calls", texts_calls);
}

/* The command's own rows. */
static void export(struct visit *visit, const char *line, const char *type, const char *file)
{
    struct words words;
    struct answer answer;

    if (!is_question(visit))
        return;
    words_begin(&words, &visit->arena);
    words_add_all(&words, line);
    add_filters(visit, &words, NULL, NULL);
    add_cursor(visit, &words);
    if (visit_ask(visit, &words, &answer)) {
        if (answer.status == STATUS_DONE)
            visit_give(visit, type, file, buf_peek(&answer.out));
        else
            visit_fault(visit, answer.status == STATUS_USAGE ? 400 : 503, visit_said(visit, &answer));
    }
    answer_fini(&answer);
}

void page_calls_json(struct visit *visit, struct span number)
{
    (void)number;
    export(visit, "audit query --json --all --order newest --limit " EXPORT_ROWS, "application/x-ndjson", "calls.json");
}

void page_calls_csv(struct visit *visit, struct span number)
{
    (void)number;
    export(visit, "audit query --format csv --all --order newest --limit " EXPORT_ROWS, "text/csv; charset=utf-8", "calls.csv");
}

/* ---- one call ---- */

static void begin_words(struct visit *visit, struct words *words, const char *line, struct span number)
{
    words_begin(words, &visit->arena);
    words_add_all(words, line);
    words_add(words, NULL, number);
}

/* What came before and behind it in the agent's session. Takes: session: as the row has it, or empty. */
static bool add_session(struct visit *visit, struct span session, struct span number)
{
    static const struct { const char *key, *line, *option; } sides[] = {
        {"later", "audit query --json --all --order oldest", "above"},
        {"earlier", "audit query --json --all --order newest", "below"},
    };
    struct words words;

    for (size_t i = 0; i < 2 && session.len > 0; i++) {
        words_begin(&words, &visit->arena);
        words_add_all(&words, sides[i].line);
        words_add(&words, "session", session);
        words_add(&words, sides[i].option, number);
        if (!page_add_calls(visit, sides[i].key, &words, SESSION_ROWS))
            return false;
    }
    return true;
}

/* Where the document is a call's, and not another's who may not see it, nor an event's. */
static void show_call(struct visit *visit, struct span document, struct span number)
{
    const struct json_node *root = NULL, *call;
    struct json_fault fault;
    char title[SHORT_BYTES];
    struct buf text;

    buf_init(&text, 2 * ASKING_OUT_BYTES);
    if (json_read(document, &json_reply_rules, &text, &visit->arena, &root, &fault) != CODE_OK) {
        visit_fault(visit, 503, "The gate's answer cannot be read.");
    } else {
        call = json_member(root, SPAN_LIT("call"));
        doc_json(visit->view, "story", root->raw);
        doc_text(visit->view, "page", SPAN_LIT("call"));
        doc_bool(visit->view, "may_prove", visit_may(visit, "audit prove"));
        (void)snprintf(title, sizeof title, "%s %.*s", call != NULL && call->type == JSON_OBJECT ? "Call" : "Event",
                       SPAN_ARG(number));
        if (add_session(visit, call != NULL ? json_member_text(call, "session") : SPAN_NONE, number))
            visit_show(visit, 200, title, texts_call);
    }
    buf_fini(&text);
}

/* Takes: show: NULL: the document as it is. */
static void answer_call(struct visit *visit, struct span number, void (*show)(struct visit *, struct span, struct span))
{
    struct words words;
    struct answer answer;

    begin_words(visit, &words, "audit show --json", number);
    if (visit_ask(visit, &words, &answer)) {
        if (answer.status != STATUS_DONE)
            visit_fault(visit, 404, visit_said(visit, &answer));
        else if (show != NULL)
            show(visit, buf_peek(&answer.out), number);
        else
            visit_give(visit, "application/json", NULL, buf_peek(&answer.out));
    }
    answer_fini(&answer);
}

void page_call(struct visit *visit, struct span number)
{
    answer_call(visit, number, show_call);
}

void page_call_json(struct visit *visit, struct span number)
{
    answer_call(visit, number, NULL);
}

void page_call_proof(struct visit *visit, struct span number)
{
    char file[SHORT_BYTES];
    struct words words;
    struct answer answer;

    begin_words(visit, &words, "audit prove", number);
    (void)snprintf(file, sizeof file, "row-%.*s.proof", SPAN_ARG(number));
    if (visit_ask(visit, &words, &answer)) {
        if (answer.status == STATUS_DONE)
            visit_give(visit, "text/plain; charset=utf-8", file, buf_peek(&answer.out));
        else
            visit_fault(visit, 404, visit_said(visit, &answer));
    }
    answer_fini(&answer);
}
