/* SPDX-License-Identifier: Apache-2.0 */
#include "console/visit.h"

#include "base/hash.h"
#include "base/log.h"
#include "cli/told.h"
#include "console/by_code.h"
#include "console/jobs.h"
#include "console/texts.h"
#include "crypto/digest.h"
#include "http/authority.h"
#include "http/writer.h"
#include "os/clock.h"
#include "people/control.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>

#define LIFE_US INT64_C(10000000) /* to read a request, and to take an answer */
#define LEAVE_US INT64_C(500000)
#define HURRY_MS 250 /* who has not asked by then gives his place up, where all are taken */
#define IN_BYTES ((size_t)64 << 10)
#define FORM_BYTES ((size_t)64 << 10)
#define PAGE_BYTES (2 * ASKING_OUT_BYTES)
#define ARENA_BYTES (8 * ASKING_OUT_BYTES)
#define READ_BYTES 8192
#define BRIEF_US INT64_C(200000)
#define USUAL_US INT64_C(30000000)
#define PIECE_BYTES 65536
#define WHO_BYTES ((size_t)1 << 20) /* with all names that `approvers` of rules may have of him */

/* ---- bytes ---- */

static atomic_uint under_way;

/* Whether others wait for a place behind those who are slow. */
static bool is_crowded(const struct visit *visit)
{
    return visit->conf->places > 0 && atomic_load(&under_way) >= visit->conf->places;
}

/* The socket is waited for a little at a time, because it may become crowded meanwhile. */
static bool is_ready(struct visit *visit, enum io io)
{
    struct pollfd socket = {.fd = visit->stream->fd, .events = io == IO_WANT_WRITE ? POLLOUT : POLLIN};
    int64_t left_us;
    int got = 0;

    while ((io == IO_WANT_READ || io == IO_WANT_WRITE) && got == 0) {
        int64_t until_us = is_crowded(visit) && visit->crowded_us < visit->until_us ? visit->crowded_us : visit->until_us;

        left_us = until_us - clock_monotonic_us();
        if (left_us <= 0)
            break;
        got = poll(&socket, 1, left_us / 1000 < HURRY_MS ? (int)(left_us / 1000) + 1 : HURRY_MS);
    }
    return got > 0;
}

static bool fill(struct visit *visit)
{
    size_t done = 0;
    char *at;
    enum io io = IO_FAIL;

    if (buf_reserve(&visit->in, READ_BYTES, &at) != CODE_OK)
        return false;
    do
        io = stream_read(visit->stream, at, READ_BYTES, &done);
    while (is_ready(visit, io));
    buf_commit(&visit->in, done);
    return io == IO_OK;
}

static bool send_piece(struct visit *visit, struct span bytes)
{
    enum io io = IO_OK;
    size_t done;

    while (bytes.len > 0 && (io == IO_OK || is_ready(visit, io))) {
        io = stream_write(visit->stream, bytes.at, bytes.len, &done);
        bytes = span_part(bytes, done, SIZE_MAX);
    }
    return bytes.len == 0;
}

/* Each piece has its time, since a large answer takes longer than a slow reader is waited for; where others wait for his place,
 * all of it has. */
static bool send_all(struct visit *visit, struct span bytes)
{
    bool is_sent = true;

    visit->crowded_us = clock_monotonic_us() + LIFE_US;
    for (; bytes.len > 0 && is_sent; bytes = span_part(bytes, PIECE_BYTES, SIZE_MAX)) {
        visit->until_us = clock_monotonic_us() + LIFE_US;
        is_sent = send_piece(visit, span_part(bytes, 0, PIECE_BYTES));
    }
    return is_sent;
}

/* Whoever still sends would be told by a reset, before he has read the answer. */
static void leave(struct visit *visit)
{
    visit->until_us = clock_monotonic_us() + LEAVE_US;
    while (is_ready(visit, stream_end(visit->stream)))
        continue;
    do
        buf_clear(&visit->in);
    while (clock_monotonic_us() < visit->until_us && fill(visit));
}

/* ---- the answer ---- */

static const char csp[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                          "form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/* Takes: where, cookie, file: lines of the head; or NULL. */
static void begin(struct visit *visit, int status, const char *type, const char *where, const char *file, size_t len)
{
    static const struct { const char *line, *value; } always[] = {
        {"Content-Security-Policy: ", csp}, {"X-Content-Type-Options: ", "nosniff"}, {"Referrer-Policy: ", "same-origin"},
        {"Cross-Origin-Opener-Policy: ", "same-origin"}, {"Cross-Origin-Resource-Policy: ", "same-origin"},
        {"Connection: ", "close"},
    };
    struct buf head;

    buf_init(&head, IN_BYTES);
    http_write_status(&head, status);
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        http_write_line(&head, span_text(always[i].line), span_text(always[i].value));
    http_write_line(&head, SPAN_LIT("Cache-Control: "), SPAN_LIT("no-store"));
    if (visit->conf->tls != NULL)
        http_write_line(&head, SPAN_LIT("Strict-Transport-Security: "), SPAN_LIT("max-age=31536000"));
    if (type != NULL)
        http_write_line(&head, SPAN_LIT("Content-Type: "), span_text(type));
    if (where != NULL)
        http_write_line(&head, SPAN_LIT("Location: "), span_text(where));
    if (file != NULL)
        buf_addf(&head, "Content-Disposition: attachment; filename=\"%s\"\r\n", file);
    if (visit->goes_on != NULL)
        http_write_line(&head, SPAN_LIT("Refresh: "), span_text(visit->goes_on));
    buf_add_span(&head, buf_peek(&visit->cookies));
    http_write_line_u64(&head, SPAN_LIT("Content-Length: "), len);
    http_write_head_end(&head);
    visit->is_answered = true;
    if (buf_code(&head) == CODE_OK)
        (void)send_all(visit, buf_peek(&head));
    buf_fini(&head);
}

/* Takes: seconds: how long the browser keeps it; 0: until it is closed. */
static void set_cookie(struct visit *visit, const char *suffix, const char *cookie, unsigned seconds)
{
    buf_addf(&visit->cookies, "Set-Cookie: %s%s=%s; Path=/; HttpOnly; SameSite=Lax%s", visit->conf->cookie, suffix, cookie,
             visit->conf->tls != NULL ? "; Secure" : "");
    if (cookie[0] == '\0' || seconds > 0)
        buf_addf(&visit->cookies, "; Max-Age=%u", cookie[0] == '\0' ? 0 : seconds);
    buf_add_text(&visit->cookies, "\r\n");
}

void visit_set_cookie(struct visit *visit, const char *cookie)
{
    set_cookie(visit, "", cookie, 0);
}

void visit_set_begun(struct visit *visit, const char *of, const char *cookie)
{
    set_cookie(visit, of, cookie, BY_CODE_LIFE_S);
}

struct span visit_begun_cookie(const struct visit *visit, const char *of)
{
    char name[sizeof visit->conf->cookie + sizeof VISIT_CONNECT];

    (void)snprintf(name, sizeof name, "%s%s", visit->conf->cookie, of);
    return request_cookie(&visit->request, name);
}

void visit_give(struct visit *visit, const char *type, const char *file, struct span bytes)
{
    if (visit->is_answered)
        return;
    begin(visit, 200, type, NULL, file, bytes.len);
    (void)send_all(visit, bytes);
}

/* With a sentence for who does not follow by himself. */
void visit_go(struct visit *visit, const char *where)
{
    struct buf text;

    if (visit->is_answered)
        return;
    buf_init(&text, IN_BYTES);
    buf_addf(&text, "Go on at %s\n", where);
    begin(visit, 303, "text/plain; charset=utf-8", where, NULL, buf_len(&text));
    (void)send_all(visit, buf_peek(&text));
    buf_fini(&text);
}

/* What each page says of who looks at it. */
static void fill_view(struct visit *visit, const char *title)
{
    const struct { const char *page, *command; } links[] = { /* what no command is called nobody may */
        {"approvals", "approvals list"}, {"calls", "audit query"}, {"policies", "policy list"}, {"tools", "tools list"},
        {"evidence", "audit files"}, {"activate", "policy activate"}, {"diff", "policy diff"}, {"replay", "policy replay"},
        {"accept", "tools accept"}, {"prove", "audit prove"}, {"count", "audit stats"}, {"stops", "stops"},
        {"stop", "stop"}, {"resume", "resume"}, {"accounts", "connect list"}, {"connects", "connect begin"},
        {"fleet", visit->conf->has_fleet ? "fleet status" : ""},
    };
    struct doc *may = doc_add_object(visit->view, "may");

    doc_text(visit->view, "title", span_text(title));
    doc_text_or_null(visit->view, "token", visit->is_known ? span_text(visit->session.token) : SPAN_NONE);
    doc_json(visit->view, "who", visit->is_known ? span_text(visit->session.who) : SPAN_NONE);
    doc_bool(may, "now", visit_may(visit, "status") || visit_may(visit, "audit stats"));
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        doc_bool(may, links[i].page, visit_may(visit, links[i].command));
    doc_text(visit->view, "version", SPAN_LIT(CALLGATE_VERSION));
}

void visit_show(struct visit *visit, int status, const char *title, const char *page)
{
    const char *const parts[] = {texts_head, page, texts_foot};
    struct told told;
    enum code code;

    if (visit->is_answered)
        return;
    fill_view(visit, title);
    buf_clear(&visit->out);
    code = told_read(&told, visit->view);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && code == CODE_OK; i++)
        code = told_add_html(&visit->out, told.root, parts[i]);
    told_end(&told);
    if (code != CODE_OK) {
        buf_clear(&visit->out);
        buf_add_text(&visit->out, "The page is too large, or the console is short of memory.\n");
    }
    begin(visit, code == CODE_OK ? status : 503, code == CODE_OK ? "text/html; charset=utf-8" : "text/plain; charset=utf-8",
          NULL, NULL, buf_len(&visit->out));
    (void)send_all(visit, buf_peek(&visit->out));
}

void visit_fault(struct visit *visit, int status, const char *sentence)
{
    if (visit->is_answered)
        return;
    doc_free(&visit->view);
    visit->view = doc_object();
    doc_int(visit->view, "status", status);
    doc_text(visit->view, "sentence", span_text(sentence));
    visit_show(visit, status, http_status_text(status), texts_fault);
}

/* ---- who, and what he may ---- */

bool visit_may(const struct visit *visit, const char *name)
{
    for (const struct command *command = commands; command->words != NULL; command++)
        if (strcmp(command->words, name) == 0)
            return visit->is_known && (command->roles & visit->session.roles) != 0;
    return false;
}

/* Keeps what pages show of him; where that is too much, his name alone. */
static void keep_who(struct session *session, const struct json_node *root)
{
    static const char *const shown[] = {"person", "roles", "audits", "decides", "principal", "tenant"};
    struct buf who;

    buf_init(&who, sizeof session->who - 1);
    for (size_t count = sizeof shown / sizeof shown[0]; buf_is_empty(&who) && count > 0; count = count > 1) {
        for (size_t i = 0; i < count; i++) {
            const struct json_node *member = json_member(root, span_text(shown[i]));
            struct span value = member != NULL ? member->raw : SPAN_LIT("null");

            buf_addf(&who, "%s\"%s\":%.*s", i == 0 ? "{" : ",", shown[i], SPAN_ARG(value));
        }
        if (buf_add_byte(&who, '}') != CODE_OK)
            buf_clear(&who);
    }
    (void)snprintf(session->who, sizeof session->who, "%.*s", SPAN_ARG(buf_peek(&who)));
    buf_fini(&who);
}

bool visit_who(struct session *session, bool looks_on, struct answer *answer)
{
    const struct json_node *root = NULL, *roles;
    struct json_fault fault;
    struct words words;
    struct arena arena;
    struct buf text;
    bool is_read;

    arena_init(&arena, 16 * WHO_BYTES);
    buf_init(&text, WHO_BYTES);
    words_begin(&words, &arena);
    words_add_all(&words, looks_on ? CONTROL_WHO " " CONTROL_LOOKS_ON : CONTROL_WHO);
    asking_give(session, &words, answer);
    is_read = answer->status == 0 &&
              json_read(buf_peek(&answer->out), &json_file_rules, &text, &arena, &root, &fault) == CODE_OK;
    if (is_read) {
        const struct { const char *key; unsigned role; } more[] = {
            {"audits", PEOPLE_AUDITS_TENANTS}, {"decides", PEOPLE_DECIDES_TENANTS}, {"principal", PEOPLE_DECIDES_OWN}};
        struct control_rights rights;

        control_rights_init(&rights);
        keep_who(session, root);
        roles = json_member(root, SPAN_LIT("roles"));
        for (const struct json_node *one = roles != NULL ? roles->child : NULL; one != NULL; one = one->next)
            control_add_role(&rights, one->text);
        for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
            roles = json_member(root, span_text(more[i].key));
            rights.roles |= roles != NULL && (roles->child != NULL || roles->type == JSON_STRING) ? more[i].role : 0;
        }
        session->roles = rights.roles;
        buf_fini(&rights.names);
    }
    buf_fini(&text);
    arena_fini(&arena);
    return is_read;
}

/* After a renewal: the new login may say more, or less. */
static void know_again(struct session *session)
{
    struct answer answer;

    (void)visit_who(session, false, &answer);
    answer_fini(&answer);
}

/* A login that the gate takes no more ends its session; one that is good, for something else, does not. */
static bool is_still_known(struct visit *visit)
{
    struct answer answer;
    bool is_known = visit_who(&visit->session, false, &answer);

    if (is_known)
        sessions_know(&visit->session);
    else if (answer.is_refused)
        sessions_end(span_text(visit->session.cookie));
    is_known = is_known || !answer.is_refused;
    answer_fini(&answer);
    return is_known;
}

const char *visit_said(struct visit *visit, const struct answer *answer)
{
    struct span said = buf_peek(&answer->said);
    const char *text = said.len > 0 ? arena_dup(&visit->arena, said.at, said.len) : NULL;

    return text != NULL ? text : "The gate says nothing.";
}

/* Returns: whether the page goes on with the answer. */
static bool settle(struct visit *visit, const struct answer *answer)
{
    if (answer->is_refused && !is_still_known(visit)) {
        visit_set_cookie(visit, "");
        visit_go(visit, VISIT_ENDED);
    } else if (answer->is_refused) {
        visit_fault(visit, 403, visit_said(visit, answer));
    } else if (answer->status == STATUS_CANNOT && !answer->is_stopped && buf_is_empty(&answer->out)) {
        visit_fault(visit, 503, visit_said(visit, answer));
    }
    return !visit->is_answered;
}

bool visit_ask(struct visit *visit, struct words *words, struct answer *answer)
{
    asking_give(&visit->session, words, answer);
    return settle(visit, answer);
}

/* What has not said how far it is has the usual time. */
static bool is_brief(void *context, const struct asking_progress *progress)
{
    const int64_t *began_us = context;

    return clock_monotonic_us() - *began_us < (progress->at > 0 ? BRIEF_US : USUAL_US);
}

bool visit_ask_briefly(struct visit *visit, struct words *words, struct answer *answer)
{
    int64_t began_us = clock_monotonic_us();

    asking_give_watched(&visit->session, words, is_brief, &began_us, answer);
    return settle(visit, answer);
}

/* Takes: progress: NULL: it waits for its turn. */
static void show_progress(struct visit *visit, const struct asking_progress *progress)
{
    struct doc *waits;

    doc_free(&visit->view);
    visit->view = doc_object();
    waits = doc_add_object(visit->view, "waits");
    doc_bool(waits, "turn", progress == NULL);
    doc_int(waits, "done", progress != NULL ? (int64_t)progress->done : 0);
    doc_int(waits, "total", progress != NULL ? (int64_t)progress->total : 0);
    doc_text(visit->view, "path", visit->request.path);
    doc_text(visit->view, "query", visit->request.query);
    visit->goes_on = "1";
    visit_show(visit, 200, "Under way", texts_waits);
}

bool visit_ask_slowly(struct visit *visit, struct words *words, struct answer *answer)
{
    struct asking_progress progress = {.total = 0};
    enum jobs_state state;

    *answer = (struct answer){.status = STATUS_CANNOT};
    buf_init(&answer->out, 0);
    buf_init(&answer->said, 0);
    state = jobs_ask(&visit->session, words, &progress, answer);
    if (state == JOBS_DONE)
        return settle(visit, answer);
    show_progress(visit, state == JOBS_GO_ON ? &progress : NULL);
    return false;
}

/* ---- the request ---- */

/* Returns: 0, or the status of a refusal. */
static int take_body(struct visit *visit, struct span body)
{
    return body.len == 0 || buf_put(&visit->form, body) == CODE_OK ? 0 : 413;
}

static int take_head(struct visit *visit)
{
    const struct http_head *head = &visit->reader.head;

    if (head->method != HTTP_METHOD_GET && head->method != HTTP_METHOD_POST)
        return 405;
    if (head->framing == HTTP_FRAMING_CONTENT_LENGTH && head->content_length > FORM_BYTES)
        return 413;
    return !head->expect_continue || send_piece(visit, SPAN_LIT("HTTP/1.1 100 Continue\r\n\r\n")) ? 0 : 400;
}

/* Returns: 0, the status of a refusal, or -1 where nobody is there to be told. */
static int read_request(struct visit *visit)
{
    for (;;) {
        struct span body = SPAN_NONE;
        size_t used;
        enum http_step step = http_reader_feed(&visit->reader, buf_peek(&visit->in), &used, &body);
        int status = step == HTTP_STEP_HEAD_DONE ? take_head(visit) : step == HTTP_STEP_BODY ? take_body(visit, body) : 0;

        buf_drop(&visit->in, used);
        if (status != 0)
            return status;
        if (step == HTTP_STEP_MESSAGE_DONE)
            return 0;
        if (step == HTTP_STEP_FAULT)
            return 400;
        if (step == HTTP_STEP_NEED_MORE && !fill(visit))
            return -1;
    }
}

/* By which of its names the browser calls the console; NULL: by none. */
static const char *host_of(const struct visit *visit)
{
    const struct visit_conf *conf = visit->conf;
    struct span host = http_head_known(&visit->reader.head, HTTP_NAME_HOST);

    for (size_t i = 0; i < conf->host_count; i++)
        if (span_equals_nocase(host, span_text(conf->hosts[i])))
            return conf->hosts[i];
    return NULL;
}

void visit_origin(const struct visit *visit, char out[VISIT_ORIGIN_BYTES])
{
    (void)snprintf(out, VISIT_ORIGIN_BYTES, "%s://%s", visit->conf->tls != NULL ? "https" : "http", host_of(visit));
}

/* A change comes from a page of ours: the browser says so by Origin, and the form by its token. */
static const char *why_not_changed(const struct visit *visit)
{
    const struct http_head *head = &visit->reader.head;
    struct span origin = http_head_known(head, HTTP_NAME_ORIGIN), media = http_head_known(head, HTTP_NAME_CONTENT_TYPE), rest;
    const struct span scheme = visit->conf->tls != NULL ? SPAN_LIT("https://") : SPAN_LIT("http://");

    if (!span_starts_with(origin, scheme) ||
        !span_equals_nocase(span_part(origin, scheme.len, SIZE_MAX), http_head_known(head, HTTP_NAME_HOST)))
        return "The form comes from another site. Open the page here and try again.";
    if (!span_equals_nocase(span_trim(span_cut(media, ';', &rest)), SPAN_LIT("application/x-www-form-urlencoded")))
        return "This is no form of the console's.";
    if (visit->is_known && !span_is(visit->request.path, "/login") && /* whoever logs in has no session yet, or leaves it */
        !secret_equals(request_field(&visit->request, "token"), span_text(visit->session.token)))
        return "The form is of another session. Open the page again.";
    return NULL;
}

static void answer_request(struct visit *visit)
{
    const struct http_head *head = &visit->reader.head;
    const char *why;

    if (host_of(visit) == NULL) {
        visit_fault(visit, 403, "The console is not served under this name; `console: {url}` of the gate's configuration says "
                    "how it is called.");
        return;
    }
    if (!request_read(head, buf_peek(&visit->form), &visit->arena, &visit->request)) {
        visit_fault(visit, 400, "The query or the form cannot be read.");
        return;
    }
    visit->is_known = sessions_find(request_cookie(&visit->request, visit->conf->cookie), clock_monotonic_us(),
                                    &visit->session);
    if (visit->is_known)
        by_code_renew(&visit->session, know_again);
    if (visit->is_known && visit->session.is_due && !is_still_known(visit)) { /* also where the page asks nothing of the gate */
        visit->is_known = false;
        visit->has_ended = true;
        visit_set_cookie(visit, "");
    }
    why = head->method == HTTP_METHOD_POST ? why_not_changed(visit) : NULL;
    if (why != NULL)
        visit_fault(visit, 403, why);
    else
        visit->conf->answer(visit);
}

static bool shake_hands(struct visit *visit)
{
    enum io io;

    do
        io = stream_handshake(visit->stream);
    while (is_ready(visit, io));
    return io == IO_OK;
}

static void serve(struct visit *visit)
{
    int status = shake_hands(visit) ? read_request(visit) : -1;

    if (status == 0)
        answer_request(visit);
    else if (status > 0)
        visit_fault(visit, status, status == 405   ? "Pages are read by GET and changed by POST."
                                   : status == 413 ? "The form is too large."
                                                   : "This is no request that can be read in one way.");
    if (visit->is_answered)
        leave(visit);
}

static void serve_stream(const struct visit_conf *conf, int fd_take, const struct sock_address *peer)
{
    const int64_t now_us = clock_monotonic_us();
    struct visit visit = {.conf = conf, .until_us = now_us + LIFE_US, .crowded_us = now_us + HURRY_MS * 1000,
                          .view = doc_object()};
    unsigned char network[16];
    enum code code = conf->tls != NULL ? tls_accept(conf->tls, fd_take, &visit.stream)
                                       : sock_stream_new(fd_take, &visit.stream);

    if (code != CODE_OK) {
        sock_close(&fd_take);
        doc_free(&visit.view);
        return;
    }
    http_reader_init_request(&visit.reader, NULL);
    arena_init(&visit.arena, ARENA_BYTES);
    buf_init(&visit.in, IN_BYTES);
    buf_init(&visit.form, FORM_BYTES);
    buf_wipes(&visit.in);
    buf_wipes(&visit.form);
    buf_init(&visit.out, PAGE_BYTES);
    buf_init(&visit.cookies, IN_BYTES);
    buf_wipes(&visit.cookies);
    sock_ip_text(peer, visit.from);
    sock_network(peer, network);
    visit.address = hash_span(span_of((const char *)network, sizeof network)); /* a machine may have many of IPv6 */
    session_init(&visit.session);
    serve(&visit);
    session_fini(&visit.session);
    buf_fini(&visit.cookies);
    buf_fini(&visit.out);
    buf_fini(&visit.form);
    buf_fini(&visit.in);
    request_wipe(&visit.request);
    arena_fini(&visit.arena);
    http_reader_fini(&visit.reader);
    doc_free(&visit.view);
    stream_close(&visit.stream);
}

void visit_serve(const struct visit_conf *conf, int fd_take, const struct sock_address *peer)
{
    (void)atomic_fetch_add(&under_way, 1);
    serve_stream(conf, fd_take, peer);
    (void)atomic_fetch_sub(&under_way, 1);
}
