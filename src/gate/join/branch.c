/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to one server's route, on which a request goes as an agent's would. */
#include "join/join_priv.h"

#include "base/log.h"
#include "crypto/digest.h"
#include "http/media.h"
#include "http/writer.h"

#define OWN_ID SPAN_LIT("\"callgate\"") /* of an `initialize` that the agent has not sent */

void branch__init(struct branch *branch, struct join *join, size_t server)
{
    branch->join = join;
    branch->server = server;
    leg_init(&branch->leg, &join->lane->worker, &join->connection, LEG_IN_BYTES, SIZE_MAX / 2);
    http_reader_init_reply(&branch->reader);
    sse_parser_init(&branch->events, join->route->limits.event_bytes);
    buf_init(&branch->body, join->route->limits.response_bytes);
    buf_init(&branch->request, SIZE_MAX / 2);
    buf_init(&branch->answer, SIZE_MAX / 2);
}

void branch__fini(struct branch *branch)
{
    leg_fini(&branch->leg);
    http_reader_fini(&branch->reader);
    sse_parser_fini(&branch->events);
    buf_fini(&branch->body);
    buf_fini(&branch->request);
    buf_fini(&branch->answer);
}

/* ---- up ---- */

static bool dial(struct branch *branch)
{
    struct join *join = branch->join;
    struct stream *own, *theirs;

    leg_drop(&branch->leg);
    if (join__streams(&own, &theirs) != CODE_OK)
        return false;
    if (!lane_serve(join->lane, join->lent, join__server(branch), theirs)) {
        stream_close(&own);
        return false;
    }
    leg_open(&branch->leg, own);
    leg_ready(&branch->leg, LOOP_WRITE);
    return true;
}

static void write_value(struct span text, struct buf *out)
{
    if (http_value_is_writable(text) && !span_starts_with(text, SPAN_LIT("=?"))) {
        http_write_line(out, SPAN_LIT("Mcp-Name: "), text);
        return;
    }
    buf_add_text(out, "Mcp-Name: =?base64?");
    base64_encode(text, out);
    buf_add_text(out, "?=\r\n");
}

/* Writes the headers in which a modern request repeats its body, from the body as it goes to this server. */
static void write_mirrors(struct branch *branch, struct buf *out)
{
    struct join *join = branch->join;
    const struct http_head *head = &join->asks.head;
    const struct json_node *params = json_member(join__read(join, buf_peek(&branch->request)), SPAN_LIT("params"));
    const struct mcp_method *method = mcp_method_find(join->method, NULL);
    const struct json_node *named = json_member(params, method != NULL && method->thing.len > 0 ? method->thing
                                                                                                : SPAN_LIT("name"));
    struct span name = named != NULL && named->type == JSON_STRING ? named->text : SPAN_NONE;

    http_write_line(out, SPAN_LIT("MCP-Protocol-Version: "), http_head_known(head, HTTP_NAME_MCP_PROTOCOL_VERSION));
    http_write_line(out, SPAN_LIT("Mcp-Method: "), join->method);
    if (name.at != NULL)
        write_value(name, out);
    for (size_t i = 0; i < head->count; i++)
        if (http_head_mirrors(head, i) && head->headers[i].known == HTTP_NAME_OTHER)
            http_write_header(out, http_head_name(head, i), http_head_value(head, i));
}

static void write_era(struct branch *branch, struct buf *out)
{
    const struct join *join = branch->join;
    struct span version = span_text(join->revision);

    if (span_is_empty(version))
        version = http_head_known(&join->asks.head, HTTP_NAME_MCP_PROTOCOL_VERSION);
    if (branch->inner[0] != '\0' && branch->step != BRANCH_INIT)
        http_write_line(out, SPAN_LIT("Mcp-Session-Id: "), span_text(branch->inner));
    if (!span_is_empty(version) && branch->step != BRANCH_INIT)
        http_write_line(out, SPAN_LIT("MCP-Protocol-Version: "), version);
}

static const struct proxy_route *route_of(const struct branch *branch)
{
    const struct proxy_conf *conf = branch->join->lent->conf;

    for (size_t i = 0; i < conf->route_count; i++)
        if (span_equals(conf->routes[i].name, join__server(branch)))
            return &conf->routes[i];
    return NULL;
}

/* Writes the agent's head anew. Made for this server are: the session, the list of the agent's own headers, and those that
 * repeat the body. */
static void write_head(struct branch *branch, enum http_method method, size_t len, struct buf *out)
{
    const struct join *join = branch->join;
    const struct http_head *head = &join->asks.head;
    const struct proxy_route *route = route_of(branch);
    struct span name = join->route->correlation_header;
    const struct http_except except = {
        .known = HTTP_EXCEPT(CONTENT_TYPE) | HTTP_EXCEPT(MCP_SESSION_ID) | HTTP_EXCEPT(MCP_PROTOCOL_VERSION) |
                 HTTP_EXCEPT(LAST_EVENT_ID) | HTTP_EXCEPT(ORIGIN) | HTTP_EXCEPT(ACCEPT),
        .names = &name,
        .count = 1,
    };
    struct span correlation = http_head_named(head, name);

    http_write_request(out, method, SPAN_LIT("/"), false, SPAN_NONE);
    http_write_line(out, SPAN_LIT("Host: "), http_head_known(head, HTTP_NAME_HOST));
    http_write_passing(out, head, &except);
    if (correlation.at != NULL && route != NULL)
        http_write_header(out, route->correlation_header, correlation);
    http_write_line(out, SPAN_LIT("Accept: "), method == HTTP_METHOD_GET ? SPAN_LIT("text/event-stream")
                                               : join->takes_events      ? SPAN_LIT("application/json, text/event-stream")
                                                                         : SPAN_LIT("application/json"));
    if (join->is_modern)
        write_mirrors(branch, out);
    else
        write_era(branch, out);
    if (method == HTTP_METHOD_POST) {
        http_write_line(out, SPAN_LIT("Content-Type: "), SPAN_LIT("application/json"));
        http_write_line_u64(out, SPAN_LIT("Content-Length: "), len);
    }
    http_write_head_end(out);
}

static void over(struct branch *branch)
{
    branch->step = BRANCH_OVER;
    branch->due_us = 0;
    ask__over(branch);
}

static void say(struct branch *branch, enum branch_step step, enum http_method method, struct span body)
{
    branch->step = step;
    branch->status = 0;
    branch->was_asked = true;
    branch->is_stream = false;
    branch->sse_left = 0;
    buf_clear(&branch->body);
    if ((branch->leg.stream == NULL || branch->leg.is_eof || branch->leg.is_broken) && !dial(branch)) {
        over(branch);
        return;
    }
    http_reader_begin_reply(&branch->reader, method);
    sse_parser_begin(&branch->events, branch->join->route->limits.event_bytes);
    write_head(branch, method, body.len, &branch->leg.out);
    buf_add_span(&branch->leg.out, body);
}

static void call(struct branch *branch)
{
    enum http_method method = branch->join->task == JOIN_STREAM ? HTTP_METHOD_GET
                              : branch->join->task == JOIN_END  ? HTTP_METHOD_DELETE : HTTP_METHOD_POST;

    say(branch, BRANCH_CALL, method, buf_peek(&branch->request));
}

/* ---- a session of its own ---- */

void branch__greet(struct branch *branch)
{
    struct join *join = branch->join;
    bool is_agents = join->task == JOIN_GREET;
    const struct json_node *root = is_agents ? join->root : NULL, *params = json_member(root, SPAN_LIT("params")), *version;
    struct buf text;

    branch->version[0] = '\0';
    buf_init(&text, SIZE_MAX / 2);
    if (!is_agents)
        params = join__read(join, buf_peek(&join->params));
    version = json_member(params, SPAN_LIT("protocolVersion"));
    buf_addf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"method\":\"initialize\",\"params\":",
             SPAN_ARG(is_agents ? join->id : OWN_ID));
    if (version != NULL && join->revision[0] != '\0') {
        size_t at = (size_t)(version->raw.at - params->raw.at);

        buf_add_span(&text, span_part(params->raw, 0, at));
        json_write_string(&text, span_text(join->revision));
        buf_add_span(&text, span_part(params->raw, at + version->raw.len, SIZE_MAX));
    } else {
        buf_add_span(&text, params != NULL ? params->raw : SPAN_LIT("{}"));
    }
    if (buf_add_byte(&text, '}') == CODE_OK)
        say(branch, BRANCH_INIT, HTTP_METHOD_POST, buf_peek(&text));
    else
        over(branch);
    buf_fini(&text);
}

/* Where memory is short the answer stays empty, and the server counts as one that has not answered. */
void branch__keep(struct branch *branch, struct span answer)
{
    buf_clear(&branch->answer);
    if (buf_add_span(&branch->answer, answer) != CODE_OK)
        buf_clear(&branch->answer);
}

/* Takes the answer to `initialize`. A server that speaks another revision than the session cannot be part of it. */
static void greeted(struct branch *branch, const struct json_node *root)
{
    struct join *join = branch->join;
    const struct json_node *result = json_member(root, SPAN_LIT("result"));
    struct span version = json_member_text(result, "protocolVersion");
    struct span inner = http_head_known(&branch->reader.head, HTTP_NAME_MCP_SESSION_ID);

    branch->version[0] = branch->inner[0] = '\0';
    if (version.len == 0 || version.len >= JOIN_REVISION_BYTES || inner.len >= JOIN_INNER_BYTES)
        return;
    memcpy(branch->version, version.at, version.len);
    branch->version[version.len] = '\0';
    if (inner.len > 0)
        memcpy(branch->inner, inner.at, inner.len);
    branch->inner[inner.len] = '\0';
    branch->offers = join_offers(json_member(result, SPAN_LIT("capabilities")));
    if (join->task == JOIN_GREET)
        branch__keep(branch, root->raw);
}

static bool is_greeted(const struct branch *branch)
{
    const struct join *join = branch->join;

    return branch->version[0] != '\0' && (join->task == JOIN_GREET || strcmp(branch->version, join->revision) == 0);
}

/* INIT or INITED has ended: after INIT the server is told that the session has begun, after INITED it gets the call. */
static void go_on(struct branch *branch)
{
    struct join *join = branch->join;

    if (branch->step == BRANCH_INITED) {
        call(branch);
        return;
    }
    if (join->task == JOIN_GREET) {
        over(branch);
        return;
    }
    if (!is_greeted(branch) || join_member_came(join->lane->joined, join->session, join__server(branch),
                                                span_text(branch->inner), branch->offers) != CODE_OK) {
        branch->status = 0;
        branch->was_asked = false;
        join_member_went(join->lane->joined, join->session, join__server(branch), join__now_us(join));
        over(branch);
        return;
    }
    say(branch, BRANCH_INITED, HTTP_METHOD_POST, SPAN_LIT("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
}

void branch__start(struct branch *branch)
{
    struct join *join = branch->join;
    struct join_member member;

    branch->asked_us = join__now_us(join);
    branch->again_us = 0;
    branch->was_asked = false;
    branch->status = 0;
    branch->inner[0] = '\0';
    buf_clear(&branch->answer);
    if (join->session.at == NULL) {
        call(branch);
        return;
    }
    if (join_member_of(join->lane->joined, join->session, join__server(branch), &member) != CODE_OK) {
        over(branch);
        return;
    }
    memcpy(branch->inner, member.session, strlen(member.session) + 1);
    branch->offers = member.offers;
    if (member.state == JOIN_UP)
        call(branch);
    else if (member.state == JOIN_NEW || member.retry_us <= join__now_us(join))
        branch__greet(branch);
    else
        over(branch);
}

/* ---- down ---- */

bool branch__has_lost(const struct branch *branch)
{
    struct span body = buf_peek(&branch->body);

    return branch->status == 400 && branch->inner[0] != '\0' &&
           (span_is_empty(body) || span_holds(body, SPAN_LIT("ession")));
}

/* A 404 says that the server's session has run out and that the server has not looked at the request, so the request may be
 * sent again in a new session. After a 400, which says less, only what changes nothing is. */
static bool renews(struct branch *branch)
{
    bool is_over = branch->status == 404 || (branch->join->task == JOIN_LIST && branch__has_lost(branch));

    if (branch->step != BRANCH_CALL || !is_over || branch->was_renewed || branch->join->session.at == NULL ||
        branch->join->task == JOIN_END)
        return false;
    branch->was_renewed = true;
    branch__greet(branch);
    return true;
}

static void take(struct branch *branch, struct span json)
{
    const struct json_node *root = join__read(branch->join, json);
    struct span id = root != NULL ? json_at(root, "id", NULL) != NULL ? json_at(root, "id", NULL)->raw : SPAN_NONE : SPAN_NONE;

    if (root == NULL || root->type != JSON_OBJECT)
        return;
    if (branch->step == BRANCH_INIT && json_member(root, SPAN_LIT("method")) == NULL &&
        span_equals(id, branch->join->task == JOIN_GREET ? branch->join->id : OWN_ID))
        greeted(branch, root);
    else if (branch->step == BRANCH_CALL)
        ask__message(branch, root);
}

/* Takes one event. What is decoded stays at the head of leg.in until then, since the events behind it may have to wait
 * (is_held). */
static bool take_event(struct branch *branch)
{
    size_t used;
    enum sse_step step = sse_parser_feed(&branch->events, span_part(buf_peek(&branch->leg.in), 0, branch->sse_left), &used);

    if (step == SSE_STEP_COMMENT)
        join__stay(branch->join);
    if (step == SSE_STEP_EVENT && branch->events.event.has_data && !span_is_empty(branch->events.event.data))
        take(branch, branch->events.event.data);
    branch->sse_left -= used;
    buf_drop(&branch->leg.in, used);
    return step != SSE_STEP_FAULT;
}

static void head_done(struct branch *branch)
{
    const struct http_head *head = &branch->reader.head;

    branch->status = head->status;
    branch->is_stream = head->status == 200 && http_media_of(head) == HTTP_MEDIA_SSE;
    if (branch->is_stream && branch->step == BRANCH_CALL && branch->join->task == JOIN_STREAM)
        branch->due_us = 0;
    if (branch->is_stream && branch->step == BRANCH_CALL && branch->join->task == JOIN_ONE)
        join__open_stream(branch->join); /* the agent gets the form that the server has chosen */
}

static void message_done(struct branch *branch)
{
    if (!branch->is_stream && branch->status / 100 == 2 && !buf_is_empty(&branch->body))
        take(branch, buf_peek(&branch->body));
    if (!branch->reader.head.keep_alive)
        leg_drop(&branch->leg);
    if (renews(branch))
        return;
    if (branch->step == BRANCH_CALL)
        over(branch);
    else
        go_on(branch);
}

static bool is_under_way(const struct branch *branch)
{
    return branch->step != BRANCH_IDLE && branch->step != BRANCH_OVER;
}

static void broke(struct branch *branch)
{
    leg_drop(&branch->leg);
    buf_clear(&branch->body);
    branch->sse_left = 0;
    if (branch->step == BRANCH_INIT && branch->join->task != JOIN_GREET)
        go_on(branch); /* the server has named no version, so it counts as gone */
    else
        over(branch);
}

/* Whether what the server says has to wait: the agent reads slowly, or others have not acknowledged yet. */
static bool is_held(const struct branch *branch)
{
    return join__is_clogged(branch->join) || (branch->is_acknowledged && !branch->join->is_told);
}

/* Reads one piece of the reply. Returns: whether there may be more. */
static bool read_piece(struct branch *branch)
{
    size_t used = 0;
    struct span body = SPAN_NONE;
    enum http_step step = http_reader_feed(&branch->reader, buf_peek(&branch->leg.in), &used, &body);
    bool is_fine = step != HTTP_STEP_FAULT, is_events = step == HTTP_STEP_BODY && branch->is_stream;

    if (step == HTTP_STEP_HEAD_DONE)
        head_done(branch);
    if (is_events)
        branch->sse_left = body.len;
    else if (step == HTTP_STEP_BODY)
        is_fine = buf_add_span(&branch->body, body) == CODE_OK;
    buf_drop(&branch->leg.in, is_events ? used - body.len : used);
    if (!is_fine)
        broke(branch);
    else if (step == HTTP_STEP_MESSAGE_DONE)
        message_done(branch);
    return step != HTTP_STEP_NEED_MORE;
}

static void read_reply(struct branch *branch)
{
    while (is_under_way(branch) && branch->leg.stream != NULL && !is_held(branch)) {
        if (branch->sse_left > 0 && !take_event(branch))
            broke(branch);
        else if (branch->sse_left == 0 && !read_piece(branch))
            break;
    }
}

/* Its time is over. */
static void late(struct branch *branch)
{
    branch->status = 0;
    broke(branch);
}

void branch__step(struct branch *branch)
{
    leg_drain(&branch->leg);
    read_reply(branch);
    if (is_under_way(branch) && (branch->leg.is_eof || branch->leg.is_broken) && buf_is_empty(&branch->leg.in) &&
        !is_held(branch))
        broke(branch);
    if (is_under_way(branch) && branch->due_us != 0 && branch->due_us <= join__now_us(branch->join))
        late(branch);
}
