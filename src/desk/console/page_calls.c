/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that fit a question, which is the URL; and one call as its story. */
#include "console/pages.h"

#include "args/print.h"
#include "base/num.h"
#include "cli/told.h"
#include "console/texts.h"
#include "http/writer.h"
#include "json/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAGE_ROWS 50
#define EXPORT_ROWS "20000" /* at most, in one answer */
#define SESSION_ROWS 10     /* before and behind a call */
#define SESSION_REACH UINT64_C(100000) /* rows: a file that is written has no index of sessions */
#define SHORT_BYTES 64
#define NUMBER_BYTES 24
#define QUESTION_BYTES 3000 /* who reads the trail stands in it with his words */
#define COLUMNS "seq,time,tenant,principal,agent,upstream,method,tool,verdict,reason,rule,outcome,status,latency_us,correlation"

/* What a question may say, as `audit query` knows it. */
static const char *const asked_by[] = {"text", "tenant", "principal", "agent", "tool", "upstream", "verdict", "reason", "rule",
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
    size_t bytes = 0;

    for (size_t i = 0; known && i < request->count; i++) {
        bytes += request->fields[i].value.len;
        known = span_is(request->fields[i].name, "below") || span_is(request->fields[i].name, "through");
        for (size_t k = 0; !known && asked_by[k] != NULL; k++)
            known = span_is(request->fields[i].name, asked_by[k]);
    }
    if (!known)
        visit_fault(visit, 400, "The address asks by a name that is no field of a search; the page Calls has all of them.");
    else if (bytes > QUESTION_BYTES)
        visit_fault(visit, 400, "The question is too long; ask by a part of it.");
    else if (below.len > 0 && num_u64(below, &number) != CODE_OK)
        visit_fault(visit, 400, "below is the number of a call; the address has something else there.");
    else
        return true;
    return false;
}

/* Cuts lines behind the first so many. Returns: whether there were more; *last: the number of the last one that stays. */
static bool cut_lines(struct buf *lines, unsigned most, uint64_t *last)
{
    struct span rest = buf_peek(lines), line = SPAN_NONE;
    const struct json_node *seq;
    struct json_text read = {.root = NULL};
    size_t left;

    for (unsigned i = 0; i < most && rest.len > 0; i++)
        line = span_cut(rest, '\n', &rest);
    left = rest.len;
    *last = 0;
    seq = line.len > 0 && json_text_read(&read, line, &json_reply_rules, SIZE_MAX / 2) == CODE_OK
              ? json_member(read.root, SPAN_LIT("seq")) : NULL;
    if (seq != NULL && num_u64(seq->raw, last) != CODE_OK)
        *last = 0;
    json_text_fini(&read);
    buf_truncate(lines, buf_len(lines) - left);
    return left > 0;
}

/* Where the next page begins, or the search goes on that was stopped: what was found behind where it says to stand is shown. */
static void add_further(struct doc *to, const struct answer *answer, bool has_more, uint64_t last)
{
    uint64_t at = (uint64_t)answer->at;

    doc_int(to, "below", has_more ? (int64_t)last : 0);
    doc_int(to, "further", !has_more && answer->is_stopped && at > 1 ? (int64_t)(last > 0 && last < at ? last : at) : 0);
}

typedef bool ask_fn(struct visit *visit, struct words *words, struct answer *answer);

static bool add_calls(struct visit *visit, struct doc *to, struct words *words, unsigned most, ask_fn *ask)
{
    char limit[16];
    struct answer answer;
    const char *list;
    uint64_t last = 0;
    bool is_there;

    (void)snprintf(limit, sizeof limit, "%u", most + 1);
    words_add(words, "limit", span_text(limit));
    words_add(words, "fields", SPAN_LIT(COLUMNS));
    is_there = ask(visit, words, &answer);
    /* With rows, too, where only a file of the trail is missing. */
    if (is_there && answer.status != STATUS_DONE && !answer.is_stopped)
        doc_text(to, "fault", span_text(visit_said(visit, &answer)));
    if (is_there && answer.status == STATUS_USAGE)
        visit->status = 400;
    if (is_there && (answer.status == STATUS_DONE || answer.status == STATUS_NEGATIVE || answer.is_stopped)) {
        bool has_more = cut_lines(&answer.out, most, &last);

        add_further(to, &answer, has_more, last);
        list = answer_array(&answer, &visit->arena);
        doc_json(to, "rows", span_text(list));
    }
    answer_fini(&answer);
    return is_there;
}

bool page_add_calls(struct visit *visit, const char *key, struct words *words, unsigned most)
{
    return add_calls(visit, doc_add_object(visit->view, key), words, most, visit_ask);
}

/* No index helps to find a text in a call; and somebody may want all of what another question took too long for. */
static bool takes_time(const struct visit *visit)
{
    return request_field(&visit->request, "text").len > 0 || request_field(&visit->request, "through").len > 0;
}

void page_calls(struct visit *visit, struct span number)
{
    struct doc *filters = doc_add_array(visit->view, "filters"), *query = doc_add_object(visit->view, "q");
    struct words words;

    (void)number;
    if (!is_question(visit))
        return;
    words_begin(&words, &visit->arena);
    words_add_all(&words, "audit query --json --all --order newest --progress");
    add_filters(visit, &words, filters, query);
    add_cursor(visit, &words);
    doc_text(visit->view, "page", SPAN_LIT("calls"));
    if (add_calls(visit, doc_add_object(visit->view, "calls"), &words, PAGE_ROWS,
                  takes_time(visit) ? visit_ask_slowly : visit_ask_briefly))
        visit_show(visit, visit->status != 0 ? visit->status : 200, "Calls", texts_calls);
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

void page_calls_sql(struct visit *visit, struct span number)
{
    (void)number;
    export(visit, "audit query --format sql --all --order newest --limit 0", "text/plain; charset=utf-8", NULL);
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
    static const struct { const char *key, *line, *from, *to; } sides[] = {
        {"later", "audit query --json --all --order oldest", "above", "below"},
        {"earlier", "audit query --json --all --order newest", "below", "above"},
    };
    uint64_t here = 0, bounds[2];
    struct words words;

    (void)!num_u64(number, &here);
    bounds[0] = here + SESSION_REACH;
    bounds[1] = here > SESSION_REACH ? here - SESSION_REACH : 0;
    for (size_t i = 0; i < 2 && session.len > 0; i++) {
        char bound[NUMBER_BYTES];

        (void)snprintf(bound, sizeof bound, "%" PRIu64, bounds[i]);
        words_begin(&words, &visit->arena);
        words_add_all(&words, sides[i].line);
        words_add(&words, "session", session);
        words_add(&words, sides[i].from, number);
        if (bounds[i] > 0)
            words_add(&words, sides[i].to, span_text(bound));
        if (!page_add_calls(visit, sides[i].key, &words, SESSION_ROWS))
            return false;
    }
    return true;
}

/* Where the document is a call's, and not another's who may not see it, nor an event's. */
static void show_call(struct visit *visit, struct span document, struct span number)
{
    const struct json_node *call;
    struct json_text read;
    char title[SHORT_BYTES];

    if (json_text_read(&read, document, &json_reply_rules, 2 * ASKING_OUT_BYTES) != CODE_OK) {
        visit_fault(visit, 503, "The gate's answer cannot be read.");
    } else {
        call = json_member(read.root, SPAN_LIT("call"));
        doc_json(visit->view, "story", read.root->raw);
        doc_text(visit->view, "page", SPAN_LIT("call"));
        doc_bool(visit->view, "may_prove", visit_may(visit, "audit prove"));
        (void)snprintf(title, sizeof title, "%s %.*s", call != NULL && call->type == JSON_OBJECT ? "Call" : "Event",
                       SPAN_ARG(number));
        if (add_session(visit, call != NULL ? json_member_text(call, "session") : SPAN_NONE, number))
            visit_show(visit, 200, title, texts_call);
    }
    json_text_fini(&read);
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

/* Takes: words: of `audit prove`. */
static void give_proof(struct visit *visit, struct words *words, const char *file)
{
    struct answer answer;

    if (visit_ask(visit, words, &answer)) {
        if (answer.status == STATUS_DONE)
            visit_give(visit, "text/plain; charset=utf-8", file, buf_peek(&answer.out));
        else
            visit_fault(visit, 404, visit_said(visit, &answer));
    }
    answer_fini(&answer);
}

void page_call_proof(struct visit *visit, struct span number)
{
    char file[SHORT_BYTES];
    struct words words;

    begin_words(visit, &words, "audit prove", number);
    (void)snprintf(file, sizeof file, "row-%.*s.proof", SPAN_ARG(number));
    give_proof(visit, &words, file);
}

/* That these are all rows of a tenant. */
void page_tenant_proof(struct visit *visit, struct span number)
{
    struct words words;

    (void)number;
    words_begin(&words, &visit->arena);
    words_add_all(&words, "audit prove");
    words_add(&words, "tenant", request_field(&visit->request, "tenant"));
    give_proof(visit, &words, "tenant.proof");
}
