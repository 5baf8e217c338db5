/* SPDX-License-Identifier: Apache-2.0 */
#include "console/pages.h"

#include "base/ascii.h"
#include "base/num.h"
#include "console/jobs.h"
#include "console/shape.h"
#include "console/texts.h"
#include "os/clock.h"
#include "unicode/unicode.h"

#include <stdatomic.h>
#include <string.h>

#define LOGINS_MAX 2 /* tried at once */

/* ---- logging in and out ---- */

/* Where a login leads: a page of ours, as a link wrote it, and nothing that leads elsewhere. */
static struct span next_of(const struct visit *visit)
{
    struct span next = request_field(&visit->request, "next");

    return next.len > 1 && next.at[0] == '/' && next.at[1] != '/' && ascii_is_all(next, "a-zA-Z0-9/?=&%._*+-") ? next
                                                                                                             : SPAN_NONE;
}

static void show_login(struct visit *visit, int status, const char *fault)
{
    doc_text_or_null(visit->view, "fault", span_text(fault));
    doc_text_or_null(visit->view, "next", next_of(visit));
    doc_bool(visit->view, "ended", request_field(&visit->request, "ended").at != NULL);
    visit_show(visit, status, "Log in", texts_login);
}

/* Leaves the session that the browser may have, for another. */
static void begin_login(struct visit *visit)
{
    if (visit->is_known)
        sessions_end(span_text(visit->session.cookie));
    visit->is_known = false;
    buf_clear(&visit->session.login);
}

/* Takes: the session's login, which is tried. Strangers come so far, and keep nobody from a place at the gate. */
static void log_in(struct visit *visit)
{
    static atomic_uint under_way;
    struct answer answer;
    struct span next = next_of(visit);
    bool is_known;

    if (atomic_fetch_add(&under_way, 1) >= LOGINS_MAX) {
        (void)atomic_fetch_sub(&under_way, 1);
        show_login(visit, 503, "Too many people log in at once; try again.");
        return;
    }
    is_known = visit_who(&visit->session, true, &answer);
    (void)atomic_fetch_sub(&under_way, 1);
    if (!is_known) {
        show_login(visit, answer.is_refused ? 403 : 503, visit_said(visit, &answer));
    } else if (visit->session.roles == 0) {
        show_login(visit, 403, "This login is good, but has no role here; an admin gives roles.");
    } else if (!sessions_begin(&visit->session, clock_monotonic_us())) {
        show_login(visit, 503, "Too many people are logged in; try again later.");
    } else {
        visit_set_cookie(visit, visit->session.cookie);
        visit_go(visit, next.at != NULL ? arena_dup(&visit->arena, next.at, next.len) : "/");
    }
    answer_fini(&answer);
}

static void page_login(struct visit *visit, struct span number)
{
    struct span once = request_field(&visit->request, "once");

    (void)number;
    if (once.at == NULL) {
        visit->is_known = false;
        show_login(visit, 200, NULL);
    } else if (!sessions_take_once(once, clock_monotonic_us())) {
        show_login(visit, 403, "This address was good for one use within ten minutes. Start `callgate console` again for "
                   "another.");
    } else {
        struct span login = visit->conf->login;

        begin_login(visit);
        visit->session.has_login = login.at != NULL && buf_put(&visit->session.login, login) == CODE_OK;
        log_in(visit);
    }
}

static void page_log_in(struct visit *visit, struct span number)
{
    struct span key = span_trim(request_field(&visit->request, "key"));

    (void)number;
    begin_login(visit);
    if (key.len == 0 || unicode_is_deceptive(key) || span_find(key, '\n') < key.len) {
        show_login(visit, 400, "Type the key as it was printed: one line.");
        return;
    }
    visit->session.has_login = buf_put(&visit->session.login, key) == CODE_OK &&
                               buf_put(&visit->session.login, SPAN_LIT("\0")) == CODE_OK;
    if (visit->session.has_login)
        log_in(visit);
    else
        show_login(visit, 400, "This is longer than any key.");
}

static void page_log_out(struct visit *visit, struct span number)
{
    (void)number;
    sessions_end(span_text(visit->session.cookie));
    visit_set_cookie(visit, "");
    visit_go(visit, "/login");
}

/* Stops what the session has asked for, and shows what is there by now. */
static void page_stop(struct visit *visit, struct span number)
{
    struct span next = next_of(visit);

    (void)number;
    jobs_stop(&visit->session);
    visit_go(visit, next.at != NULL ? arena_dup(&visit->arena, next.at, next.len) : "/");
}

/* ---- what is always there ---- */

static void page_first(struct visit *visit, struct span number)
{
    (void)number;
    if (visit_may(visit, "approvals list"))
        visit_go(visit, "/approvals");
    else if (visit_may(visit, "audit query"))
        visit_go(visit, "/calls");
    else if (visit_may(visit, "status"))
        visit_go(visit, "/now");
    else
        visit_fault(visit, 403, "None of your roles has a page here yet.");
}

static void page_css(struct visit *visit, struct span number)
{
    (void)number;
    visit_give(visit, "text/css; charset=utf-8", NULL, span_text(texts_css));
}

static void page_js(struct visit *visit, struct span number)
{
    (void)number;
    visit_give(visit, "text/javascript; charset=utf-8", NULL, span_text(texts_js));
}

static void page_icon(struct visit *visit, struct span number)
{
    (void)number;
    visit_give(visit, "image/svg+xml", NULL, span_text(texts_icon));
}

/* ---- which one ---- */

/* `#` stands for a number. */
static const struct {
    enum http_method method;
    const char *path;
    page_fn *page;
    bool is_open; /* to who is not logged in */
    const struct shape *shape;
} pages[] = {
#define PAGE(path, page) {HTTP_METHOD_GET, path, page, false, NULL}
#define FORM(path, page) {HTTP_METHOD_POST, path, page, false, NULL}
#define OPEN(method, path, page) {HTTP_METHOD_##method, path, page, true, NULL}
#define SHAPE(path, of) \
    {HTTP_METHOD_GET, path, page_shape, false, &(of)}, {HTTP_METHOD_GET, path ".json", page_shape_json, false, &(of)}
#define CHANGE(path, of) {HTTP_METHOD_POST, path, page_change, false, &(of)}
    OPEN(GET, "/login", page_login), OPEN(POST, "/login", page_log_in), OPEN(GET, "/console.css", page_css),
    OPEN(GET, "/console.mjs", page_js), OPEN(GET, "/icon.svg", page_icon),
    PAGE("/", page_first), FORM("/logout", page_log_out), FORM("/stop", page_stop),
    PAGE("/approvals", page_approvals), PAGE("/approvals.json", page_approvals_json),
    PAGE("/approvals/mark", page_approvals_mark), PAGE("/approvals/#", page_approval),
    PAGE("/approvals/#.json", page_approval_json), FORM("/approvals/#", page_answer_approval),
    PAGE("/calls", page_calls), PAGE("/calls.json", page_calls_json), PAGE("/calls.csv", page_calls_csv),
    PAGE("/calls.sql", page_calls_sql), PAGE("/calls/#", page_call), PAGE("/calls/#.json", page_call_json),
    PAGE("/calls/#/proof", page_call_proof), PAGE("/evidence/proof", page_tenant_proof),
    SHAPE("/now", shape_now), SHAPE("/policies", shape_policies), SHAPE("/policies/#", shape_policy),
    SHAPE("/policies/diff", shape_diff), SHAPE("/policies/replay", shape_replay), SHAPE("/tools", shape_tools),
    SHAPE("/tool", shape_tool), SHAPE("/evidence", shape_evidence),
    CHANGE("/policies/#", shape_policy), CHANGE("/tool", shape_tool),
};

static bool is_path(struct span path, const char *pattern, struct span *number)
{
    struct span behind, before = span_cut(span_text(pattern), '#', &behind);
    uint64_t value;

    *number = SPAN_NONE;
    if (before.len == strlen(pattern))
        return span_equals(path, before);
    if (!span_starts_with(path, before) || !span_ends_with(path, behind) || path.len < before.len + behind.len)
        return false;
    *number = span_part(path, before.len, path.len - before.len - behind.len);
    return num_u64(*number, &value) == CODE_OK && value > 0 && value <= INT64_MAX;
}

/* Back to where he was going, once he has logged in. */
static void ask_who(struct visit *visit)
{
    struct buf where;

    if (visit->request.head->method != HTTP_METHOD_GET) {
        visit_fault(visit, 403, "Log in first.");
        return;
    }
    buf_init(&where, HTTP_LINE_MAX_BYTES);
    buf_add_text(&where, "/login");
    if (visit->request.path.len > 1 && visit->request.query.len == 0)
        buf_addf(&where, "?next=%.*s", SPAN_ARG(visit->request.path));
    buf_add_byte(&where, '\0');
    visit_go(visit, buf_code(&where) == CODE_OK ? buf_peek(&where).at : "/login");
    buf_fini(&where);
}

void pages_answer(struct visit *visit)
{
    const enum http_method method = visit->request.head->method;
    struct span number;

    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (pages[i].method != method || !is_path(visit->request.path, pages[i].path, &number))
            continue;
        visit->shape = pages[i].shape;
        if (visit->is_known || pages[i].is_open)
            pages[i].page(visit, number);
        else
            ask_who(visit);
        return;
    }
    visit_fault(visit, 404, "There is no such page.");
}
