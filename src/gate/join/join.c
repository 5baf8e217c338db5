/* SPDX-License-Identifier: Apache-2.0 */
#include "join/join_priv.h"

#include "base/log.h"
#include "http/media.h"
#include "http/writer.h"
#include "os/local.h"
#include "sse/writer.h"

#include <stdlib.h>

#define CLOGGED_BYTES 65536

enum reason join_refuses(const struct proxy_route *route, struct mcp_message *message)
{
    const struct join_names names = {route->servers, route->server_count};
    size_t server;
    enum code code = message->kind == MCP_REQUEST ? join_name_of(&names, message->method, message->root, &server) : CODE_OK;

    if (code == CODE_EXISTS && ask__is_page_of_nobody(&names, message->method, message->root)) {
        message->detail = "params.cursor is none of this endpoint";
        return REASON_PARAMS_INVALID;
    }
    return code == CODE_NOT_FOUND                                               ? REASON_SERVER_UNKNOWN
           : code == CODE_EXISTS && ask__task(message->method) == JOIN_NOTHING ? REASON_SERVER_UNNAMED : REASON_PERMITTED;
}

/* ---- down ---- */

bool join__is_clogged(const struct join *join)
{
    return leg_unsent(&join->front) > CLOGGED_BYTES;
}

static void check(struct join *join, enum code code)
{
    if (code != CODE_OK)
        join->front.is_broken = true; /* the agent's pair sees the end, and says that the upstream has closed */
}

void join__open_stream(struct join *join)
{
    struct buf *out = &join->front.out;

    if (join->is_stream || join->is_answered || !join->takes_events)
        return;
    join->is_stream = true;
    http_write_status(out, 200);
    buf_add_text(out, "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n");
    check(join, buf_add_text(out, "Connection: close\r\n\r\n"));
}

void join__stay(struct join *join)
{
    if (join->is_stream && !join->is_answered && leg_unsent(&join->front) == 0)
        check(join, http_write_chunk(&join->front.out, SPAN_LIT(":\n\n")));
}

void join__event(struct join *join, struct span json)
{
    struct buf event;

    if (join->is_answered || !join->takes_events)
        return;
    buf_init(&event, SIZE_MAX / 2);
    join__open_stream(join);
    if (sse_write_message(&event, NULL, json) == CODE_OK)
        check(join, http_write_chunk(&join->front.out, buf_peek(&event)));
    else
        check(join, CODE_NOMEM);
    buf_fini(&event);
}

void join__end_stream(struct join *join)
{
    join->is_answered = true;
    check(join, http_write_last_chunk(&join->front.out));
}

void join__reply(struct join *join, int status, struct span json, struct span session)
{
    struct buf *out = &join->front.out;

    if (join->is_answered)
        return;
    if (join->is_stream) {
        if (!span_is_empty(json))
            join__event(join, json);
        join__end_stream(join);
        return;
    }
    join->is_answered = true;
    http_write_status(out, status);
    if (!span_is_empty(json))
        http_write_line(out, SPAN_LIT("Content-Type: "), SPAN_LIT("application/json"));
    http_write_line_u64(out, SPAN_LIT("Content-Length: "), json.len);
    if (!span_is_empty(session))
        http_write_line(out, SPAN_LIT("Mcp-Session-Id: "), session);
    for (size_t i = 0; join->hints != NULL && i < join->hints->count; i++)
        if (join->hints->headers[i].known == HTTP_NAME_WWW_AUTHENTICATE ||
            join->hints->headers[i].known == HTTP_NAME_RETRY_AFTER)
            http_write_header(out, http_head_name(join->hints, i), http_head_value(join->hints, i));
    buf_add_text(out, "Connection: close\r\n\r\n");
    check(join, buf_add_span(out, json));
}

static void begin_answer(const struct join *join, struct buf *out)
{
    buf_add_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_add_span(out, span_is_empty(join->id) ? SPAN_LIT("null") : join->id);
}

void join__result(struct join *join, struct span result, struct span session)
{
    struct buf json;

    buf_init(&json, SIZE_MAX / 2);
    begin_answer(join, &json);
    buf_add_text(&json, ",\"result\":");
    buf_add_span(&json, result);
    if (buf_add_byte(&json, '}') == CODE_OK)
        join__reply(join, 200, buf_peek(&json), session);
    else
        check(join, CODE_NOMEM);
    buf_fini(&json);
}

void join__fail(struct join *join, int status, int code, const char *text)
{
    struct buf json;

    buf_init(&json, SIZE_MAX / 2);
    begin_answer(join, &json);
    buf_addf(&json, ",\"error\":{\"code\":%d,\"message\":", code);
    json_write_string(&json, span_text(text));
    if (buf_add_text(&json, "}}") == CODE_OK)
        join__reply(join, status, buf_peek(&json), SPAN_NONE);
    else
        check(join, CODE_NOMEM);
    buf_fini(&json);
}

const struct json_node *join__read(struct join *join, struct span json)
{
    const struct json_node *root = NULL;
    struct json_fault fault;

    arena_reset(&join->trees);
    buf_clear(&join->text);
    return json_read(json, &json_reply_rules, &join->text, &join->trees, &root, &fault) == CODE_OK ? root : NULL;
}

/* ---- up ---- */

static void read_request(struct join *join)
{
    while (!join->is_asked) {
        size_t used = 0;
        struct span body = SPAN_NONE;
        enum http_step step = http_reader_feed(&join->asks, buf_peek(&join->front.in), &used, &body);

        if (step == HTTP_STEP_BODY && buf_add_span(&join->body, body) != CODE_OK)
            step = HTTP_STEP_FAULT;
        buf_drop(&join->front.in, used);
        if (step == HTTP_STEP_NEED_MORE)
            return;
        if (step == HTTP_STEP_FAULT) { /* only the gate writes here, so the cause can only be a lack of memory */
            check(join, CODE_NOMEM);
            return;
        }
        join->is_asked = step == HTTP_STEP_MESSAGE_DONE;
    }
    ask__begin(join);
}

/* ---- life ---- */

static void account(struct join *join)
{
    uint64_t bytes = join->front.in.size + join->front.out.size + join->body.size + join->canonical.size + join->text.size +
                     join->out.size + join->arena.used_bytes + join->trees.used_bytes;

    for (size_t i = 0; i < join->names.count; i++) {
        const struct branch *branch = &join->branches[i];

        bytes += branch->leg.in.size + branch->leg.out.size + branch->body.size + branch->request.size + branch->answer.size +
                 branch->events.data.size;
    }
    lane_hold(join->lane, &join->held_bytes, bytes);
    budget_charge(join->lane->worker.budget, join->account, &join->charged_bytes, bytes);
}

/* Arms the timer for what is due first. */
static void arm(struct join *join)
{
    int64_t next_us = join->held_until_us;

    for (size_t i = 0; i < join->names.count; i++) {
        const int64_t due[] = {join->branches[i].due_us, join->branches[i].again_us};

        for (size_t n = 0; n < 2; n++)
            if (due[n] != 0 && (next_us == 0 || due[n] < next_us))
                next_us = due[n];
    }
    if (join->task == JOIN_STREAM && (next_us == 0 || next_us > join__now_us(join) + 1000000))
        next_us = join__now_us(join) + 1000000; /* another worker may see that a server has come or gone */
    if (next_us == 0)
        loop_timer_cancel(join->lane->worker.loop, &join->timer);
    else
        check(join, loop_timer_arm(join->lane->worker.loop, &join->timer,
                                   next_us > join__now_us(join) ? next_us - join__now_us(join) : 0));
}

static void join_drive(struct connection *connection)
{
    struct join *join = (struct join *)connection;

    leg_drain(&join->front);
    if (!join->is_asked)
        read_request(join);
    for (size_t i = 0; i < join->names.count; i++)
        branch__step(&join->branches[i]);
    ask__look(join);
    leg_drain(&join->front);
    if (join->lane->is_stopping || join->front.is_eof || join->front.is_broken ||
        (join->is_answered && leg_unsent(&join->front) == 0)) {
        worker_bury(&join->lane->worker, connection);
        return;
    }
    for (size_t i = 0; i < join->names.count; i++) {
        leg_drain(&join->branches[i].leg);
        leg_settle(&join->branches[i].leg);
    }
    leg_settle(&join->front);
    account(join);
    arm(join);
}

static void join_free(struct connection *connection)
{
    struct join *join = (struct join *)connection;

    if (join->task == JOIN_ONE && join->session.at != NULL)
        join_call_over(join->lane->joined, join->session, join->id);
    loop_timer_cancel(join->lane->worker.loop, &join->timer);
    for (size_t i = 0; i < join->names.count; i++)
        branch__fini(&join->branches[i]);
    leg_fini(&join->front);
    http_reader_fini(&join->asks);
    buf_fini(&join->body);
    buf_fini(&join->canonical);
    buf_fini(&join->text);
    buf_fini(&join->out);
    buf_fini(&join->params);
    arena_fini(&join->arena);
    arena_fini(&join->trees);
    lane_hold(join->lane, &join->held_bytes, 0);
    budget_charge(join->lane->worker.budget, join->account, &join->charged_bytes, 0);
    budget_close(join->lane->worker.budget, join->account);
    lent_unref(&join->lent);
    mem_free(join);
}

static void is_due(void *context)
{
    struct join *join = context;

    worker_stir(&join->lane->worker, &join->connection);
}

static struct join *join_new(struct pair *pair)
{
    struct join *join = mem_zalloc(sizeof *join);
    struct lane *lane = pair->lane;

    if (join == NULL)
        return NULL;
    join->lent = lent_new(pair);
    if (join->lent == NULL) {
        mem_free(join);
        return NULL;
    }
    join->account = pair->account;
    budget_keep(lane->worker.budget, join->account);
    join->connection.drive = join_drive;
    join->connection.free = join_free;
    join->lane = lane;
    join->route = pair->exchange.route;
    join->names = (struct join_names){join->route->servers, join->route->server_count};
    leg_init(&join->front, &lane->worker, &join->connection, LEG_IN_BYTES, SIZE_MAX / 2);
    http_reader_init_request(&join->asks, &join->lent->conf->rules);
    buf_init(&join->body, SIZE_MAX / 2);
    buf_init(&join->canonical, SIZE_MAX / 2);
    buf_init(&join->text, SIZE_MAX / 2);
    buf_init(&join->out, SIZE_MAX / 2);
    buf_init(&join->params, SIZE_MAX / 2);
    arena_init(&join->arena, TREES_BYTES);
    arena_init(&join->trees, TREES_BYTES);
    loop_timer_init(&join->timer, is_due, join);
    for (size_t i = 0; i < join->names.count; i++)
        branch__init(&join->branches[i], join, i);
    worker_add(&lane->worker, &join->connection);
    return join;
}

enum code join__streams(struct stream **own, struct stream **theirs)
{
    int ends[2];
    enum code code = local_pair(ends);

    *own = *theirs = NULL;
    if (code != CODE_OK)
        return code;
    code = sock_stream_new(ends[0], own);
    if (code == CODE_OK)
        code = sock_stream_new(ends[1], theirs);
    if (*own == NULL)
        sock_close(&ends[0]);
    if (*theirs == NULL)
        sock_close(&ends[1]);
    if (code != CODE_OK)
        stream_close(own);
    return code;
}

enum code join_dial(struct pair *pair, struct stream **stream)
{
    struct join *join = join_new(pair);
    struct stream *own;
    enum code code = join != NULL ? join__streams(&own, stream) : CODE_NOMEM;

    if (code == CODE_OK) {
        leg_open(&join->front, own);
        leg_ready(&join->front, LOOP_READ);
        return CODE_OK;
    }
    *stream = NULL;
    if (join != NULL)
        worker_bury(&pair->lane->worker, &join->connection);
    return code;
}
