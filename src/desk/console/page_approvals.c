/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for a person; one of them, with the form by which it is decided. */
#include "console/pages.h"

#include "args/print.h"
#include "console/texts.h"
#include "console/watch.h"
#include "json/text.h"

#include <inttypes.h>
#include <stdio.h>

#define LAST_CALLS 8 /* of who asks */
#define SHORT_BYTES 64

static bool wants_all(const struct visit *visit)
{
    return request_field(&visit->request, "all").len > 0;
}

/* Takes: show: NULL: the documents as they are. */
static void answer_list(struct visit *visit, bool as_page)
{
    struct words words;
    struct answer answer;

    words_begin(&words, &visit->arena);
    words_add_all(&words, wants_all(visit) ? "approvals list --json --all" : "approvals list --json");
    if (visit_ask(visit, &words, &answer)) {
        if (answer.status != STATUS_DONE) {
            visit_fault(visit, 503, visit_said(visit, &answer));
        } else if (as_page) {
            doc_json(visit->view, "rows", span_text(answer_array(&answer, &visit->arena)));
            doc_bool(visit->view, "all", wants_all(visit));
            doc_text(visit->view, "page", SPAN_LIT("approvals"));
            visit_show(visit, 200, "Approvals", texts_approvals);
        } else {
            visit_give(visit, "application/x-ndjson", NULL, buf_peek(&answer.out));
        }
    }
    answer_fini(&answer);
}

void page_approvals(struct visit *visit, struct span number)
{
    (void)number;
    answer_list(visit, true);
}

void page_approvals_json(struct visit *visit, struct span number)
{
    (void)number;
    answer_list(visit, false);
}

/* Whether something new is there, for a page that shows them. */
void page_approvals_mark(struct visit *visit, struct span number)
{
    char text[SHORT_BYTES];

    (void)number;
    if (!visit_may(visit, "approvals list")) {
        visit_fault(visit, 403, "None of your roles may see this page.");
        return;
    }
    (void)snprintf(text, sizeof text, "%" PRIu64 "\n", watch_mark(&visit->session));
    visit_give(visit, "text/plain; charset=utf-8", NULL, span_text(text));
}

/* ---- one of them ---- */

/* What the agent did before, where he who decides may see that. */
static bool add_last_calls(struct visit *visit, const struct json_node *approval)
{
    struct words words;

    if (!visit_may(visit, "audit query"))
        return true;
    words_begin(&words, &visit->arena);
    words_add_all(&words, "audit query --json --order newest");
    words_add(&words, "tenant", json_member_text(approval, "tenant"));
    words_add(&words, "principal", json_member_text(approval, "principal"));
    return page_add_calls(visit, "calls", &words, LAST_CALLS);
}

/* Its arguments are a text there, which holds JSON, or the beginning of it. */
static void add_arguments(struct visit *visit, const struct json_node *approval)
{
    struct json_text read;

    if (json_text_read(&read, json_member_text(approval, "arguments"), &json_reply_rules, ASKING_OUT_BYTES) == CODE_OK &&
        read.root->type == JSON_OBJECT)
        doc_json(visit->view, "arguments", read.root->raw);
    else
        doc_null(visit->view, "arguments");
    json_text_fini(&read);
}

/* What was typed stands in the form again, where it was not taken. */
static void add_typed(struct visit *visit, const char *fault)
{
    static const char *const typed[] = {"why", "for"};
    struct doc *doc = doc_add_object(visit->view, "typed");

    for (size_t i = 0; i < sizeof typed / sizeof typed[0]; i++)
        doc_text_or_null(doc, typed[i], request_field(&visit->request, typed[i]));
    doc_text_or_null(visit->view, "fault", span_text(fault));
}

static void show_approval(struct visit *visit, int status, struct span document, struct span number, const char *fault)
{
    struct json_text read;
    char title[SHORT_BYTES];

    if (json_text_read(&read, document, &json_reply_rules, 2 * ASKING_OUT_BYTES) != CODE_OK) {
        visit_fault(visit, 503, "The gate's answer cannot be read.");
    } else {
        doc_json(visit->view, "ask", read.root->raw);
        doc_text(visit->view, "page", SPAN_LIT("approval"));
        add_arguments(visit, read.root);
        add_typed(visit, fault);
        (void)snprintf(title, sizeof title, "Approval %.*s", SPAN_ARG(number));
        if (add_last_calls(visit, read.root))
            visit_show(visit, status, title, texts_approval);
    }
    json_text_fini(&read);
}

/* Takes: fault: of a decision that was not taken, or NULL. */
static void answer_approval(struct visit *visit, struct span number, bool as_page, int status, const char *fault)
{
    struct words words;
    struct answer answer;

    words_begin(&words, &visit->arena);
    words_add_all(&words, "approvals show --json");
    words_add(&words, NULL, number);
    if (visit_ask(visit, &words, &answer)) {
        if (answer.status != STATUS_DONE)
            visit_fault(visit, 404, visit_said(visit, &answer));
        else if (as_page)
            show_approval(visit, status, buf_peek(&answer.out), number, fault);
        else
            visit_give(visit, "application/json", NULL, buf_peek(&answer.out));
    }
    answer_fini(&answer);
}

void page_approval(struct visit *visit, struct span number)
{
    answer_approval(visit, number, true, 200, NULL);
}

void page_approval_json(struct visit *visit, struct span number)
{
    answer_approval(visit, number, false, 200, NULL);
}

/* What a held call waits for, by the decision that an agent was told: mostly one approval. */
void page_held(struct visit *visit, struct span number)
{
    const struct json_node *root = NULL;
    struct json_fault fault;
    char where[SHORT_BYTES];
    struct words words;
    struct answer answer;
    struct buf text;

    buf_init(&text, 2 * ASKING_OUT_BYTES);
    words_begin(&words, &visit->arena);
    words_add_all(&words, "approvals show --json");
    words_add(&words, "decision", number);
    if (visit_ask(visit, &words, &answer)) {
        const char *list = answer.status == STATUS_DONE ? answer_array(&answer, &visit->arena) : NULL;

        if (list == NULL || json_read(span_text(list), &json_reply_rules, &text, &visit->arena, &root, &fault) != CODE_OK) {
            visit_fault(visit, 404, "No call waits by this number that is yours to decide. It may be a moment until it "
                        "does.");
        } else if (root->count == 1 && json_member(root->child, SPAN_LIT("approval")) != NULL) {
            (void)snprintf(where, sizeof where, "/approvals/%.*s",
                           SPAN_ARG(json_member(root->child, SPAN_LIT("approval"))->raw));
            visit_go(visit, where);
        } else {
            doc_json(visit->view, "rows", span_text(list));
            doc_text(visit->view, "page", SPAN_LIT("approvals"));
            visit_show(visit, 200, "Approvals", texts_approvals);
        }
    }
    answer_fini(&answer);
    buf_fini(&text);
}

void page_answer_approval(struct visit *visit, struct span number)
{
    const struct request *form = &visit->request;
    struct span word = request_field(form, "word"), lasts = request_field(form, "for");
    const bool approves = span_is(word, "approve");
    char where[SHORT_BYTES];
    struct words words;
    struct answer answer;

    if (!approves && !span_is(word, "refuse")) {
        visit_fault(visit, 400, "Approve or refuse.");
        return;
    }
    words_begin(&words, &visit->arena);
    words_add_all(&words, approves ? "approvals approve --json" : "approvals refuse --json");
    words_add(&words, "why", request_field(form, "why"));
    if (lasts.len > 0)
        words_add(&words, "for", lasts);
    if (approves && request_field(form, "unseen").len > 0)
        words_add_all(&words, "--despite-unseen");
    if (approves && request_field(form, "again").len > 0)
        words_add_all(&words, "--despite-refusal");
    words_add(&words, NULL, number);
    (void)snprintf(where, sizeof where, "/approvals/%.*s", SPAN_ARG(number));
    if (visit_ask(visit, &words, &answer)) {
        if (answer.status == STATUS_DONE) {
            watch_decided();
            visit_go(visit, where);
        } else {
            answer_approval(visit, number, true, answer.status == STATUS_USAGE ? 400 : 409, visit_said(visit, &answer));
        }
    }
    answer_fini(&answer);
}
