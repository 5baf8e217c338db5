/* SPDX-License-Identifier: Apache-2.0 */
#include "console/pages.h"

#include "base/ascii.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/num.h"
#include "console/by_code.h"
#include "console/jobs.h"
#include "console/places.h"
#include "console/shape.h"
#include "console/texts.h"
#include "identity/outgoing.h"
#include "identity/token.h"
#include "os/clock.h"
#include "unicode/unicode.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define LOGINS_MAX 2  /* tried at once; they are some of the places at the gate */
#define LOGINS_WAIT 24
#define CODES_MAX 4   /* shown to providers at once */
#define CODES_WAIT 12
#define TURN_MS 10000
#define PAGE_URL_BYTES 8192
#define TOLD_US 1000000 /* between two lines of the log */

static struct {
    struct places logins, codes;
    pthread_mutex_t lock; /* over the rest */
    int64_t told_us;
    unsigned untold; /* refusals since */
} trying = {.lock = PTHREAD_MUTEX_INITIALIZER};

void pages_open(void)
{
    places_init(&trying.logins, LOGINS_MAX, LOGINS_WAIT);
    places_init(&trying.codes, CODES_MAX, CODES_WAIT);
}

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
    struct doc *providers = doc_add_array(visit->view, "providers");

    for (size_t i = 0; i < by_code_count(); i++)
        doc_text(providers, NULL, span_text(by_code_name(i)));
    doc_text_or_null(visit->view, "fault", span_text(fault));
    doc_text_or_null(visit->view, "next", next_of(visit));
    doc_bool(visit->view, "ended", request_field(&visit->request, "ended").at != NULL);
    visit_show(visit, status, "Log in", texts_login);
}

/* Who guesses, or shows what is not his, stands in the log: a line a second at most, with how many there were. */
static void refuse(struct visit *visit, int status, const char *sentence)
{
    int64_t now_us = clock_monotonic_us();
    unsigned untold;
    bool is_due;

    lock_take(&trying.lock);
    is_due = trying.told_us == 0 || now_us - trying.told_us >= TOLD_US;
    untold = trying.untold;
    trying.untold = is_due ? 0 : untold + 1;
    trying.told_us = is_due ? now_us : trying.told_us;
    lock_give(&trying.lock);
    if (is_due && untold > 0)
        log_warn("console", "a login from %s is refused, and %u before it: %s", visit->from, untold, sentence);
    else if (is_due)
        log_warn("console", "a login from %s is refused: %s", visit->from, sentence);
    show_login(visit, status, sentence);
}

/* Leaves the session that the browser may have, for another. */
static void begin_login(struct visit *visit)
{
    if (visit->is_known)
        sessions_end(span_text(visit->session.cookie));
    visit->is_known = false;
    session_fini(&visit->session);
    session_init(&visit->session);
}

/* Tries the session's login. Takes: next: where it leads, or empty. Strangers come so far: they wait for their turn, one
 * address for no more of them than are left to others, and keep nobody from a place at the gate. */
static void log_in(struct visit *visit, struct span next)
{
    struct answer answer;
    bool is_known;

    if (!places_take(&trying.logins, visit->address, TURN_MS)) {
        show_login(visit, 503, "Too many people log in at once; try again.");
        return;
    }
    is_known = visit_who(&visit->session, true, &answer);
    places_leave(&trying.logins, visit->address);
    if (!is_known && answer.is_refused) {
        refuse(visit, 403, visit_said(visit, &answer));
    } else if (!is_known) {
        show_login(visit, 503, visit_said(visit, &answer));
    } else if (visit->session.roles == 0) {
        refuse(visit, 403, "This login is good, but has no role here; an admin gives roles.");
    } else if (!sessions_begin(&visit->session, clock_monotonic_us())) {
        show_login(visit, 503, "Too many people are logged in; try again later.");
    } else {
        visit_set_cookie(visit, visit->session.cookie);
        visit_go(visit, next.at != NULL ? arena_dup(&visit->arena, next.at, next.len) : "/");
    }
    answer_fini(&answer);
}

/* ---- by a provider's page ---- */

/* Which of the console's clients is that provider's. */
static bool find_client(struct span provider, size_t *client)
{
    for (*client = 0; *client < by_code_count(); ++*client)
        if (span_is(provider, by_code_name(*client)))
            return true;
    return false;
}

static void go_there(struct visit *visit, size_t client)
{
    char origin[VISIT_ORIGIN_BYTES], cookie[BY_CODE_COOKIE_BYTES];
    struct why why = {""};
    struct buf where;
    enum code code;

    visit_origin(visit, origin);
    buf_init(&where, PAGE_URL_BYTES);
    code = by_code_begin(client, span_text(origin), next_of(visit), cookie, &where, &why);
    if (code == CODE_OK)
        code = buf_add_byte(&where, '\0');
    if (code != CODE_OK) {
        log_warn("console", "nobody can log in by %s: %s", by_code_name(client), why.text);
        show_login(visit, 503, "The provider cannot be asked at the moment; try again.");
    } else {
        visit_set_begun(visit, VISIT_LOGIN, cookie);
        visit_go(visit, buf_peek(&where).at);
    }
    buf_fini(&where);
}

/* The browser comes back. What it brings is good once; what another site has it bring ends no session. */
static void page_come_back(struct visit *visit, struct span name)
{
    const struct request *request = &visit->request;
    const struct by_code_answer answer = {
        .cookie = visit_begun_cookie(visit, VISIT_LOGIN), .state = request_field(request, "state"),
        .code = request_field(request, "code"),
        .error = request_field(request, "error"), .issuer = request_field(request, "iss"),
    };
    char origin[VISIT_ORIGIN_BYTES];
    struct session session;
    struct why why = {""};
    struct span next = SPAN_NONE;
    size_t client;
    enum code code = CODE_BUSY;

    if (!find_client(name, &client)) {
        visit_fault(visit, 404, "Nobody logs in by this provider.");
        return;
    }
    session_init(&session);
    visit_set_begun(visit, VISIT_LOGIN, "");
    visit_origin(visit, origin);
    if (places_take(&trying.codes, visit->address, TURN_MS)) {
        code = by_code_end(client, span_text(origin), &answer, &session, &next, &why);
        places_leave(&trying.codes, visit->address);
    }
    if (code == CODE_OK) {
        begin_login(visit);
        session_fini(&visit->session);
        visit->session = session;
        log_in(visit, next.len > 1 ? next : SPAN_NONE);
        return;
    }
    session_fini(&session);
    visit->is_known = false; /* on this page */
    if (code == CODE_DENIED)
        refuse(visit, 403, arena_dup(&visit->arena, why.text, strlen(why.text)));
    else
        show_login(visit, 503, code == CODE_BUSY ? "Too many people log in at once; try again."
                                                 : "The provider cannot be asked at the moment; begin again.");
}

/* ---- by a key, or the URL for one use ---- */

static void page_login(struct visit *visit, struct span number)
{
    struct span once = request_field(&visit->request, "once"), by = request_field(&visit->request, "by");
    size_t client;

    (void)number;
    if (once.at == NULL && find_client(by, &client)) {
        go_there(visit, client);
    } else if (once.at == NULL) {
        visit->is_known = false;
        show_login(visit, 200, NULL);
    } else if (!sessions_take_once(once, clock_monotonic_us())) {
        refuse(visit, 403, "This address was good for one use within ten minutes. Start `callgate console` again for another.");
    } else {
        struct span login = visit->conf->login;

        begin_login(visit);
        visit->session.has_login = login.at != NULL && buf_put(&visit->session.login, login) == CODE_OK;
        log_in(visit, next_of(visit));
    }
}

/* A token is no key: whoever has one that was given to somebody's browser has not logged in. */
static void page_log_in(struct visit *visit, struct span number)
{
    struct span key = span_trim(request_field(&visit->request, "key"));
    struct identity_token_hint hint;

    (void)number;
    begin_login(visit);
    if (key.len == 0 || unicode_is_deceptive(key) || span_find(key, '\n') < key.len || identity_token_looks(key, &hint)) {
        show_login(visit, 400, "Type the key as it was printed: one line.");
        return;
    }
    visit->session.has_login = buf_put(&visit->session.login, key) == CODE_OK &&
                               buf_put(&visit->session.login, SPAN_LIT("\0")) == CODE_OK;
    if (visit->session.has_login)
        log_in(visit, next_of(visit));
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

/* `#` stands for a number, `*` for a name. */
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
    OPEN(GET, "/connect/*" ACCOUNT_DOCUMENT, page_connect_client),
    OPEN(GET, "/console.mjs", page_js), OPEN(GET, "/icon.svg", page_icon), OPEN(GET, "/login/*", page_come_back),
    PAGE("/", page_first), FORM("/logout", page_log_out), FORM("/stop", page_stop),
    PAGE("/approvals", page_approvals), PAGE("/approvals.json", page_approvals_json),
    PAGE("/approvals/mark", page_approvals_mark), PAGE("/approvals/#", page_approval),
    PAGE("/held/#", page_held), PAGE("/approvals/#.json", page_approval_json), FORM("/approvals/#", page_answer_approval),
    PAGE("/calls", page_calls), PAGE("/calls.json", page_calls_json), PAGE("/calls.csv", page_calls_csv),
    PAGE("/calls.sql", page_calls_sql), PAGE("/calls/#", page_call), PAGE("/calls/#.json", page_call_json),
    PAGE("/calls/#/proof", page_call_proof), PAGE("/evidence/proof", page_tenant_proof),
    SHAPE("/now", shape_now), SHAPE("/policies", shape_policies), SHAPE("/policies/#", shape_policy),
    SHAPE("/policies/diff", shape_diff), SHAPE("/policies/replay", shape_replay), SHAPE("/tools", shape_tools),
    SHAPE("/tool", shape_tool), SHAPE("/evidence", shape_evidence), SHAPE("/fleet", shape_fleet), SHAPE("/stops", shape_stops),
    SHAPE("/stops/new", shape_stop), CHANGE("/stops", shape_stops), CHANGE("/stops/new", shape_stop),
    SHAPE("/connect", shape_connect), CHANGE("/connect", shape_connect), FORM("/connect/*", page_connect_begin),
    PAGE("/connect/*", page_connect_back),
    CHANGE("/policies/#", shape_policy), CHANGE("/tool", shape_tool),
};

static bool is_path(struct span path, const char *pattern, struct span *number)
{
    const bool is_name = strchr(pattern, '*') != NULL;
    struct span behind, before = span_cut(span_text(pattern), is_name ? '*' : '#', &behind);
    uint64_t value;

    *number = SPAN_NONE;
    if (before.len == strlen(pattern))
        return span_equals(path, before);
    if (!span_starts_with(path, before) || !span_ends_with(path, behind) || path.len < before.len + behind.len)
        return false;
    *number = span_part(path, before.len, path.len - before.len - behind.len);
    if (is_name)
        return number->len > 0 && ascii_is_all(*number, "a-zA-Z0-9_-");
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
    buf_add_text(&where, visit->has_ended ? VISIT_ENDED : "/login");
    if (!visit->has_ended && visit->request.path.len > 1 && visit->request.query.len == 0)
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
