/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/admin.h"

#include "base/log.h"
#include "base/mem.h"
#include "http/reader.h"
#include "http/writer.h"
#include "link/leg.h"
#include "link/listener.h"

#define CONNECTIONS_MAX 64            /* operators, scrapers and health checkers */
#define LIFE_US (INT64_C(10) * 1000000) /* of a connection: nobody here is slow */
#define IN_BYTES HTTP_HEAD_MAX_BYTES
#define OUT_BYTES (4u << 20)

struct admin {
    struct admin_conf conf;
    struct worker worker;
    struct budget budget;
    struct listener listener;
    struct sock_address address;
};

struct visit {
    struct connection connection; /* first: the worker frees by it */
    struct admin *admin;
    struct leg leg;
    struct http_reader reader;
    struct loop_timer life;
    bool is_answered;
};

static const struct http_rules rules = {.plain_clients = true};

static struct visit *visit_of(struct connection *connection)
{
    return (struct visit *)(void *)connection;
}

static void end_visit(struct visit *visit)
{
    worker_bury(&visit->admin->worker, &visit->connection);
}

static void life_is_over(void *context)
{
    end_visit(context);
}

static void visit_free(struct connection *connection)
{
    struct visit *visit = visit_of(connection);

    loop_timer_cancel(visit->admin->worker.loop, &visit->life);
    leg_fini(&visit->leg);
    http_reader_fini(&visit->reader);
    budget_give_connection(&visit->admin->budget);
    mem_free(visit);
}

/* Every answer says how long it is and closes: nobody polls an admin port often enough to need more. */
static enum code answer(struct visit *visit, int status, const char *type, struct span body, bool with_body)
{
    struct buf *out = &visit->leg.out;

    http_write_status(out, status);
    http_write_line(out, SPAN_LIT("Content-Type: "), span_text(type));
    http_write_line_u64(out, SPAN_LIT("Content-Length: "), body.len);
    http_write_line(out, SPAN_LIT("Connection: "), SPAN_LIT("close"));
    if (status == 405)
        http_write_line(out, SPAN_LIT("Allow: "), SPAN_LIT("GET, HEAD"));
    http_write_head_end(out);
    if (with_body)
        buf_add_span(out, body);
    return buf_code(out);
}

#define PLAIN "text/plain; charset=utf-8"

static enum code answer_ready(struct visit *visit, struct buf *text, bool with_body)
{
    enum code code = visit->admin->conf.unready(visit->admin->conf.context, text);

    if (code != CODE_OK)
        return code;
    if (buf_is_empty(text)) {
        buf_add_text(text, "ready\n");
        code = visit->admin->conf.note(visit->admin->conf.context, text);
        return code == CODE_OK ? answer(visit, 200, PLAIN, buf_peek(text), with_body) : code;
    }
    return answer(visit, 503, PLAIN, buf_peek(text), with_body);
}

static enum code answer_metrics(struct visit *visit, struct buf *text, bool with_body)
{
    enum code code = visit->admin->conf.measure(visit->admin->conf.context, text);

    return code == CODE_OK ? answer(visit, 200, "text/plain; version=0.0.4; charset=utf-8", buf_peek(text), with_body) : code;
}

static void answer_request(struct visit *visit)
{
    const struct admin_conf *conf = &visit->admin->conf;
    const struct http_head *head = &visit->reader.head;
    struct span path = http_head_path(head);
    bool with_body = head->method == HTTP_METHOD_GET;
    struct buf text;
    enum code code;

    buf_init(&text, OUT_BYTES / 2);
    if (head->method != HTTP_METHOD_GET && head->method != HTTP_METHOD_HEAD)
        code = answer(visit, 405, PLAIN, SPAN_LIT("only GET and HEAD\n"), true);
    else if (conf->healthz && span_is(path, "/healthz"))
        code = answer(visit, 200, PLAIN, SPAN_LIT("alive\n"), with_body);
    else if (conf->readyz && span_is(path, "/readyz"))
        code = answer_ready(visit, &text, with_body);
    else if (conf->metrics && span_is(path, "/metrics"))
        code = answer_metrics(visit, &text, with_body);
    else
        code = answer(visit, 404, PLAIN, SPAN_LIT("not found; there are /healthz, /readyz and /metrics\n"), with_body);
    buf_fini(&text);
    if (code != CODE_OK)
        end_visit(visit);
}

static void read_request(struct visit *visit)
{
    struct leg *leg = &visit->leg;
    struct span body;
    size_t used;
    enum http_step step = http_reader_feed(&visit->reader, buf_peek(&leg->in), &used, &body);

    buf_drop(&leg->in, used);
    if (step == HTTP_STEP_NEED_MORE) {
        if (leg->is_eof)
            end_visit(visit);
        return;
    }
    visit->is_answered = true;
    if (step == HTTP_STEP_HEAD_DONE)
        answer_request(visit);
    else if (answer(visit, 400, PLAIN, SPAN_LIT("not an HTTP request\n"), true) != CODE_OK)
        end_visit(visit);
}

static void visit_drive(struct connection *connection)
{
    struct visit *visit = visit_of(connection);
    struct leg *leg = &visit->leg;

    if (leg->is_ready && !visit->is_answered)
        read_request(visit);
    leg_drain(leg);
    if (visit->is_answered && buf_is_empty(&leg->out))
        leg_end(leg);
    if (leg->is_broken || leg->is_ended)
        end_visit(visit);
    leg_settle(leg);
}

static void visit_begin(void *context, int fd, const struct sock_address *peer)
{
    struct admin *admin = context;
    struct stream *stream = NULL;
    struct visit *visit = mem_zalloc(sizeof *visit);

    (void)peer;
    if (visit == NULL || sock_stream_new(fd, &stream) != CODE_OK) {
        mem_free(visit);
        sock_close(&fd);
        budget_give_connection(&admin->budget);
        return;
    }
    visit->connection.drive = visit_drive;
    visit->connection.free = visit_free;
    visit->admin = admin;
    leg_init(&visit->leg, &admin->worker, &visit->connection, IN_BYTES, OUT_BYTES);
    http_reader_init_request(&visit->reader, &rules);
    loop_timer_init(&visit->life, life_is_over, visit);
    worker_add(&admin->worker, &visit->connection);
    leg_open(&visit->leg, stream);
    if (loop_timer_arm(admin->worker.loop, &visit->life, LIFE_US) != CODE_OK)
        end_visit(visit);
    worker_stir(&admin->worker, &visit->connection);
}

/* The listener owns the socket from here on, whatever comes of it. */
static enum code open_listener(struct admin *admin, int *fd_take, struct why *why)
{
    enum code code = listener_open(&admin->listener, &admin->worker, *fd_take, visit_begin, admin);

    *fd_take = -1;
    return code == CODE_OK ? code : why_set(why, code, "admin: its socket cannot be waited for");
}

enum code admin_open(const struct admin_conf *conf, struct loop *loop, struct admin **out, struct why *why)
{
    struct admin *admin = mem_zalloc(sizeof *admin);
    int fd = -1;
    enum code code;

    *out = NULL;
    if (admin == NULL)
        return why_set(why, CODE_NOMEM, "admin: out of memory");
    admin->conf = *conf;
    code = budget_init(&admin->budget, CONNECTIONS_MAX, 0);
    if (code != CODE_OK) {
        budget_fini(&admin->budget);
        mem_free(admin);
        return why_set(why, code, "admin: %s", code_text(code));
    }
    code = worker_init(&admin->worker, 0, loop, &admin->budget);
    if (code == CODE_OK && service_at(conf->inherited, &conf->address, NULL, 0, &fd) == 0)
        code = sock_listen(&conf->address, &fd, why);
    if (code == CODE_OK)
        code = sock_local(fd, &admin->address);
    if (code == CODE_OK)
        code = open_listener(admin, &fd, why);
    if (code != CODE_OK) {
        sock_close(&fd);
        admin_close(&admin);
        return code;
    }
    *out = admin;
    return CODE_OK;
}

void admin_close(struct admin **admin)
{
    struct list *link, *following;

    if (*admin == NULL)
        return;
    listener_fini(&(*admin)->listener);
    LIST_EACH(link, following, &(*admin)->worker.all)
        worker_bury(&(*admin)->worker, LIST_ENTRY(link, struct connection, all));
    worker_reap(&(*admin)->worker);
    worker_fini(&(*admin)->worker);
    budget_fini(&(*admin)->budget);
    mem_free(*admin);
    *admin = NULL;
}

int admin_socket(const struct admin *admin)
{
    return admin->listener.fd;
}

void admin_address(const struct admin *admin, struct sock_address *address)
{
    *address = admin->address;
}

void admin_settle(struct admin *admin)
{
    worker_settle(&admin->worker);
}
