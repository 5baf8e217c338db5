/* SPDX-License-Identifier: Apache-2.0 */
/* What a request of the agent asks of which servers. */
#include "join/join_priv.h"

#include "base/log.h"
#include "http/media.h"

#define MODERN "io.modelcontextprotocol/protocolVersion"
#define NOT_FOUND (-32601)
#define INVALID (-32602)
#define ID_MOST 128 /* of an id, as agents may send it */

/* ---- the request ---- */

static bool read_message(struct join *join)
{
    struct json_fault fault;

    if (json_read(buf_peek(&join->body), &json_reply_rules, &join->canonical, &join->arena, &join->root, &fault) != CODE_OK ||
        join->root->type != JSON_OBJECT)
        return false;
    buf_fini(&join->body);
    join->method = json_member_text(join->root, "method");
    if (json_member(join->root, SPAN_LIT("id")) != NULL)
        join->id = json_member(join->root, SPAN_LIT("id"))->raw;
    join->is_modern = json_at(join->root, "params", "_meta", MODERN, NULL) != NULL;
    return true;
}

static enum join_task task_of(const struct join *join)
{
    return span_is_empty(join->id) || span_is_empty(join->method) ? JOIN_TELL : ask__task(join->method);
}

enum join_task ask__task(struct span method)
{
    if (span_is(method, "initialize") || span_is(method, "server/discover"))
        return JOIN_GREET;
    if (span_is(method, "subscriptions/listen"))
        return JOIN_LISTEN;
    return join_list_of(method) != NULL || span_is(method, "ping") || span_is(method, "logging/setLevel") ? JOIN_LIST
                                                                                                         : JOIN_NOTHING;
}

/* Takes the session that the agent names. Returns: false: that session is not known, or not any more; the agent has been
 * told. */
static bool take_session(struct join *join)
{
    struct span id = http_head_known(&join->asks.head, HTTP_NAME_MCP_SESSION_ID);

    if (id.at == NULL || join->task == JOIN_GREET)
        return true;
    if (join_session_of(join->lane->joined, id, join__now_us(join), &join->params, join->revision, &join->changes) != CODE_OK) {
        join__fail(join, 404, INVALID, "The session is not known any more.");
        return false;
    }
    join->session = id;
    return true;
}

/* ---- a list's page ---- */

/* Of the list; at == NULL: none. */
static struct span cursor_of(const struct json_node *root)
{
    return json_member_text(json_member(root, SPAN_LIT("params")), "cursor");
}

bool ask__is_page_of_nobody(const struct join_names *names, struct span method, const struct json_node *root)
{
    struct span cursor = cursor_of(root);
    bool is_somebodys = ask__task(method) != JOIN_LIST || cursor.at == NULL;
    struct buf own;

    buf_init(&own, SIZE_MAX / 2);
    for (size_t i = 0; i < names->count && !is_somebodys; i++)
        is_somebodys = join_cursor_of(cursor, names->servers[i], &own) == CODE_OK;
    buf_fini(&own);
    return !is_somebodys;
}

/* Writes the request to this server; of a list, it asks for the page that the server's own cursor names. Returns:
 * CODE_NOT_FOUND: the server has no further page. */
static enum code write_request(struct branch *branch)
{
    struct join *join = branch->join;
    const struct json_node *cursor = json_at(join->root, "params", "cursor", NULL);
    struct span own = cursor_of(join->root);
    enum code code = CODE_OK;
    struct buf text;

    buf_clear(&branch->request);
    if (join->task != JOIN_LIST || own.at == NULL)
        return join_name_up(&join->names, branch->server, join->method, join->root, &branch->request);
    buf_init(&text, SIZE_MAX / 2);
    code = join_cursor_of(own, join__server(branch), &text);
    if (code == CODE_OK) {
        size_t at = (size_t)(cursor->raw.at - join->root->raw.at);

        buf_add_span(&branch->request, span_part(join->root->raw, 0, at));
        json_write_string(&branch->request, buf_peek(&text));
        code = buf_add_span(&branch->request, span_part(join->root->raw, at + cursor->raw.len, SIZE_MAX));
    }
    buf_fini(&text);
    return code;
}

/* ---- who is asked ---- */

static bool is_offered(const struct branch *branch)
{
    unsigned needs = join_needs(branch->join->method);
    struct join_member member;

    return needs == 0 || branch->join->session.at == NULL ||
           join_member_of(branch->join->lane->joined, branch->join->session, join__server(branch), &member) != CODE_OK ||
           member.state != JOIN_UP || (member.offers & needs) != 0;
}

static bool is_up(const struct branch *branch)
{
    struct join_member member;

    return branch->join->session.at == NULL ||
           (join_member_of(branch->join->lane->joined, branch->join->session, join__server(branch), &member) == CODE_OK &&
            member.state == JOIN_UP);
}

static struct share whose(const struct join *join)
{
    return share_of(join->lent->who.home, join->lent->who.principal);
}

static void start(struct branch *branch, int64_t within_us)
{
    branch->due_us = within_us != 0 ? join__now_us(branch->join) + within_us : 0;
    if (branch->join->task == JOIN_GREET && !branch->join->is_modern)
        branch__greet(branch);
    else
        branch__start(branch);
}

/* Whether this server is left out of what all are asked, because it was late for the same caller a moment ago: else each
 * list would wait for it. Where there is a session, its own state says that (join_member_of). */
static bool rests(const struct branch *branch)
{
    const struct join *join = branch->join;

    return (join->task == JOIN_LIST || join->task == JOIN_GREET) && join->session.at == NULL &&
           join_server_rests(join->lane->joined, whose(join), join__server(branch), join__now_us(join));
}

static void ask_all(struct join *join)
{
    for (size_t i = 0; i < join->names.count; i++) {
        struct branch *branch = &join->branches[i];
        enum code code;

        if ((join->task == JOIN_TELL || join->task == JOIN_END) && !is_up(branch))
            continue;
        code = join->task == JOIN_END ? CODE_OK : is_offered(branch) ? write_request(branch) : CODE_NOT_FOUND;
        if (code == CODE_OK && rests(branch))
            branch->step = BRANCH_OVER;
        else if (code == CODE_OK)
            start(branch, join->task == JOIN_GREET && !join->is_modern ? GREETING_US : LIST_US);
    }
}

static void ask_one(struct join *join, size_t server)
{
    const struct json_node *token = json_at(join->root, "params", "_meta", "progressToken", NULL);
    struct branch *branch = &join->branches[server];

    if (write_request(branch) != CODE_OK) {
        join__fail(join, 200, INVALID, "The message is for no server of this endpoint.");
        return;
    }
    if (join->task == JOIN_ONE && join->session.at != NULL)
        join_call_open(join->lane->joined, join->session, join->id, token != NULL ? token->raw : SPAN_NONE,
                       join->names.servers[server]);
    start(branch, join->task == JOIN_TELL ? LIST_US : 0);
}

/* Which server the open call with this id went to. */
static bool find_server_of(const struct join *join, struct span call, size_t *server)
{
    for (*server = 0; *server < join->names.count; (*server)++)
        if (join_call_is_of(join->lane->joined, join->session, call, join->names.servers[*server]))
            return true;
    return false;
}

static void ask_message(struct join *join)
{
    size_t server = 0;
    enum code code = join_name_of(&join->names, join->method, join->root, &server);

    if (code == CODE_EXISTS && span_is(join->method, "notifications/cancelled") && join->session.at != NULL) {
        const struct json_node *call = json_at(join->root, "params", "requestId", NULL);

        code = call != NULL && find_server_of(join, call->raw, &server) ? CODE_OK : CODE_NOT_FOUND;
    }
    if (code == CODE_OK && join->task == JOIN_NOTHING)
        join->task = JOIN_ONE;
    if (code == CODE_OK)
        ask_one(join, server);
    else if (code == CODE_NOT_FOUND && join->task == JOIN_TELL)
        join__reply(join, 202, SPAN_NONE, SPAN_NONE); /* the call that it is about is over, or was never made */
    else if (code == CODE_NOT_FOUND)
        join__fail(join, 200, INVALID, "No server of this endpoint has that name.");
    else if (code == CODE_EXISTS && join->task != JOIN_NOTHING)
        ask_all(join);
    else
        join__fail(join, join->is_modern ? 404 : 200, NOT_FOUND, "Method not found.");
}

void ask__begin(struct join *join)
{
    const struct http_head *head = &join->asks.head;
    struct http_accept accept = http_accept_of(head);

    join->takes_events = accept.sse || accept.any || accept.is_absent;
    if (head->method == HTTP_METHOD_POST && !read_message(join)) {
        join__fail(join, 400, -32600, "One message is taken at a time.");
        return;
    }
    join->task = head->method == HTTP_METHOD_GET      ? JOIN_STREAM
                 : head->method == HTTP_METHOD_DELETE ? JOIN_END : task_of(join);
    if (!take_session(join))
        return;
    if (join->task == JOIN_STREAM && join->session.at == NULL) {
        join__reply(join, 405, SPAN_NONE, SPAN_NONE);
    } else if (join->task == JOIN_STREAM) {
        join->takes_events = true;
        join__open_stream(join);
        for (size_t i = 0; i < join->names.count; i++)
            start(&join->branches[i], SESSION_US);
    } else if (join->task == JOIN_END) {
        ask_all(join);
    } else {
        if (join->task == JOIN_LISTEN)
            join->held_until_us = join__now_us(join) + LIST_US;
        ask_message(join);
    }
}

/* ---- what comes back ---- */

/* Whether the message answers what the agent has asked. */
static bool is_answer(const struct join *join, const struct json_node *root)
{
    const struct json_node *id = json_member(root, SPAN_LIT("id"));

    return id != NULL && json_member(root, SPAN_LIT("method")) == NULL && span_equals(id->raw, join->id);
}

/* Whether a server's request has an id so long that the server's name does not fit in front of it. Such a request is left out:
 * the agent could not answer it, and the route would end the stream, which the other servers use, too. */
static bool is_unanswerable(const struct branch *branch, const struct json_node *root)
{
    const struct json_node *id = json_member(root, SPAN_LIT("id"));

    if (id == NULL || json_member(root, SPAN_LIT("method")) == NULL || id->raw.len + join__server(branch).len + 1 <= ID_MOST)
        return false;
    if (lane_may_log(branch->join->lane))
        log_warn("join", "a request of server %.*s is left out: its id is too long", SPAN_ARG(join__server(branch)));
    return true;
}

/* Whether a server tells the progress of a call that another server has. Without a session each request has a stream of its
 * own, on which only its own token may come. */
static bool is_anothers_progress(const struct branch *branch, const struct json_node *root)
{
    const struct join *join = branch->join;
    const struct json_node *token = json_at(root, "params", "progressToken", NULL);
    const struct json_node *own = json_at(join->root, "params", "_meta", "progressToken", NULL);

    if (token == NULL || !span_is(json_member_text(root, "method"), "notifications/progress") ||
        (own != NULL && span_equals(token->raw, own->raw)))
        return false;
    return join->session.at == NULL || join_token_is_anothers(join->lane->joined, join->session, token->raw,
                                                              join__server(branch));
}

void ask__message(struct branch *branch, const struct json_node *root)
{
    struct join *join = branch->join;
    bool is_own = is_answer(join, root);

    if ((join->task == JOIN_LISTEN && lasting__takes_ack(branch, root)) || is_unanswerable(branch, root) ||
        is_anothers_progress(branch, root))
        return;
    buf_clear(&join->out);
    if (join_name_down(join__server(branch), is_own ? join->method : SPAN_NONE, root, &join->out) != CODE_OK)
        return;
    if (!is_own) {
        join__event(join, buf_peek(&join->out));
    } else if (join->task == JOIN_ONE) {
        join->hints = &branch->reader.head;
        join__reply(join, branch->status, buf_peek(&join->out), SPAN_NONE);
    } else {
        branch__keep(branch, buf_peek(&join->out));
    }
}

/* An agent learns from a status alone, too, which era to speak, so it is handed on where a stream has not begun. */
void ask__hand_on(struct branch *branch)
{
    struct join *join = branch->join;
    bool has_body = branch->status != 0 && !buf_is_empty(&branch->body); /* 0: the body refuses a session */
    const struct json_node *root = has_body ? join__read(join, buf_peek(&branch->body)) : NULL;

    buf_clear(&join->out);
    if (branch->status >= 400)
        join->hints = &branch->reader.head;
    if (!buf_is_empty(&branch->answer))
        join__reply(join, branch->status, buf_peek(&branch->answer), SPAN_NONE);
    else if (root != NULL && root->type == JSON_OBJECT &&
             join_name_down(join__server(branch), join->method, root, &join->out) == CODE_OK)
        join__reply(join, branch->status, buf_peek(&join->out), SPAN_NONE);
    else if (branch->status >= 400 && !join->is_stream)
        join__reply(join, branch->status, SPAN_NONE, SPAN_NONE);
    else
        join__fail(join, 200, UNAVAILABLE, "The server is not there at the moment; try again later.");
}

void ask__over(struct branch *branch)
{
    struct join *join = branch->join;
    bool is_missing = branch->status == 0 || branch->status >= 500;

    switch (join->task) {
    case JOIN_ONE:
        ask__hand_on(branch);
        if (branch__has_lost(branch) && join->session.at != NULL)
            join_member_lost(join->lane->joined, join->session, join__server(branch));
        break;
    case JOIN_STREAM:
    case JOIN_LISTEN:
        lasting__over(branch);
        break;
    case JOIN_GREET:
        join_server_said(join->lane->joined, whose(join), join__server(branch), branch->status != 0, join__now_us(join));
        break;
    case JOIN_LIST:
        if (branch->was_asked && join->session.at == NULL)
            join_server_said(join->lane->joined, whose(join), join__server(branch), branch->status != 0, join__now_us(join));
        if (branch->was_asked && join->session.at != NULL && is_missing)
            join_member_went(join->lane->joined, join->session, join__server(branch), join__now_us(join));
        break;
    case JOIN_NOTHING:
    case JOIN_TELL:
    case JOIN_END:
        break;
    }
}

/* ---- when all are over ---- */

static bool are_over(const struct join *join)
{
    for (size_t i = 0; i < join->names.count; i++)
        if (join->branches[i].step != BRANCH_IDLE && join->branches[i].step != BRANCH_OVER)
            return false;
    return true;
}

/* A notification to one server has the answer of that server; one to all servers is accepted whatever they answer. */
static void told(struct join *join)
{
    struct branch *only = NULL;
    size_t count = 0;

    for (size_t i = 0; i < join->names.count; i++)
        if (join->branches[i].step == BRANCH_OVER) {
            only = &join->branches[i];
            count++;
        }
    if (count == 1 && only->status >= 400)
        ask__hand_on(only);
    else
        join__reply(join, 202, SPAN_NONE, SPAN_NONE);
}

void ask__look(struct join *join)
{
    if (!join->is_asked || join->is_answered)
        return;
    switch (join->task) {
    case JOIN_STREAM:
    case JOIN_LISTEN:
        lasting__look(join);
        return;
    case JOIN_NOTHING:
    case JOIN_ONE:
        return;
    case JOIN_TELL:
    case JOIN_GREET:
    case JOIN_LIST:
    case JOIN_END:
        break;
    }
    if (!are_over(join))
        return;
    if (join->task == JOIN_TELL) {
        told(join);
    } else if (join->task == JOIN_GREET) {
        gather__greeting(join);
    } else if (join->task == JOIN_LIST) {
        gather__list(join);
    } else {
        join_session_end(join->lane->joined, join->session);
        join__reply(join, 200, SPAN_NONE, SPAN_NONE);
    }
}
