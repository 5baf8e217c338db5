/* SPDX-License-Identifier: Apache-2.0 */
#include "pipe/agent_priv.h"

#include "base/mem.h"
#include "os/local.h"
#include "os/sock.h"

#include <unistd.h>

#define REPLY_BYTES ((size_t)1 << 30)   /* a safety bound only, since the gate has limits for replies */
#define UNREAD_BYTES ((size_t)256 << 10)
#define SLOW_BYTES ((size_t)256 << 10)  /* so many bytes the agent may not have taken before less is read */

/* Gives the gate one end of a socket pair and the child's side the other, so that what the gate permits goes on to
 * the child. */
static enum code introduce(struct pipe_agent *agent, int fd, const unsigned char digest[LOCAL_DIGEST_BYTES])
{
    int ends[2] = {-1, -1};
    enum code code = local_pair(ends);

    if (code == CODE_OK)
        code = local_introduce(fd, agent->conf.route, digest, ends[0]);
    sock_close(&ends[0]);
    if (code != CODE_OK)
        sock_close(&ends[1]);
    return code == CODE_OK ? pipe_child_serve(agent->conf.child, ends[1]) : code;
}

struct wire *wire__new(struct pipe_agent *agent, bool may_start)
{
    struct wire *wire = mem_zalloc(sizeof *wire);
    struct why why = {""};
    unsigned char digest[LOCAL_DIGEST_BYTES];
    int fd = -1;
    enum code code = wire != NULL ? agent->conf.dial(agent->conf.context, may_start, &fd, digest, &why) : CODE_NOMEM;

    if (code == CODE_OK)
        code = introduce(agent, fd, digest);
    if (code != CODE_OK) {
        if (!agent->dial_failed && may_start)
            agent__complain("%s", why.text[0] != '\0' ? why.text : code_text(code));
        agent->dial_failed = agent->dial_failed || may_start;
        sock_close(&fd);
        mem_free(wire);
        return NULL;
    }
    agent->dial_failed = false;
    wire->agent = agent;
    tube_open(&wire->tube, agent->conf.loop, fd, UNREAD_BYTES, &agent->stirs);
    http_reader_init_reply(&wire->reader);
    sse_parser_init(&wire->events, REPLY_BYTES);
    buf_init(&wire->body, REPLY_BYTES);
    list_append(&agent->wires, &wire->of_agent);
    agent->wire_count++;
    return wire;
}

void wire__free(struct wire *wire)
{
    list_remove(&wire->of_agent);
    wire->agent->wire_count--;
    tube_close(&wire->tube);
    http_reader_fini(&wire->reader);
    sse_parser_fini(&wire->events);
    buf_fini(&wire->body);
    post__free(&wire->post);
    mem_free(wire);
}

void wire__send(struct wire *wire, struct post *post)
{
    post->number = ++wire->agent->sent;
    wire->post = post;
    wire->has_head = wire->is_stream = false;
    http_reader_begin_reply(&wire->reader, post->method);
    sse_parser_begin(&wire->events, REPLY_BYTES);
    if (post__write(post, wire->agent, &wire->tube.out) != CODE_OK)
        wire->tube.is_eof = wire->tube.is_broken = true;
    tube_settle(&wire->tube);
}

/* ---- what comes back ---- */

static bool is_answer_to(struct pipe_agent *agent, struct post *post, struct span json)
{
    struct buf text;
    struct line line;
    bool is_it;

    buf_init(&text, SIZE_MAX / 2);
    is_it = line_read(json, &text, &line) == CODE_OK && line.kind == LINE_RESPONSE &&
            span_equals(line_text(buf_peek(&text), line.id), post->id);
    if (is_it && agent__is_no_news(agent, line_text(buf_peek(&text), line.code)))
        post->is_cancelled = true;
    buf_fini(&text);
    return is_it;
}

static void take_event(struct wire *wire, const struct sse_event *event)
{
    struct post *post = wire->post;

    if (span_is_empty(event->data))
        return;
    if (span_is(event->type, "refusal")) { /* the gate's refusal of a question of the child, which can reach the child only
                                            * through here */
        pipe_child_say(wire->agent->conf.child, event->data);
        return;
    }
    if (!post->is_answered && post->kind == LINE_REQUEST && is_answer_to(wire->agent, post, event->data))
        agent__answered(wire->agent, post, &wire->reader.head, event->data);
    else
        agent__say(wire->agent, event->data);
}

static bool take_events(struct wire *wire, struct span bytes)
{
    while (bytes.len > 0) {
        size_t used;
        enum sse_step step = sse_parser_feed(&wire->events, bytes, &used);

        bytes = span_part(bytes, used, SIZE_MAX);
        if (step == SSE_STEP_FAULT)
            return false;
        if (step == SSE_STEP_EVENT)
            take_event(wire, &wire->events.event);
    }
    return true;
}

static bool is_stream(const struct http_head *head)
{
    return head->status == 200 &&
           span_starts_with(http_head_known(head, HTTP_NAME_CONTENT_TYPE), SPAN_LIT("text/event-stream"));
}

/* The exchange is over: the wire is free for the next. */
static void finish(struct wire *wire)
{
    struct post *post = wire->post;

    if (!wire->is_stream)
        agent__answered(wire->agent, post, &wire->reader.head, buf_peek(&wire->body));
    else if (post->kind == LINE_REQUEST && !post->is_answered)
        agent__error(wire->agent, post, -32603, "The answer's stream ended without an answer.");
    if (post->method == HTTP_METHOD_GET)
        wire->agent->listens = wire->reader.head.status != 200; /* a server that refuses a stream is not asked again */
    wire->is_over = !wire->reader.head.keep_alive;
    post__free(&wire->post);
    buf_fini(&wire->body);
    http_reader_next(&wire->reader, HTTP_METHOD_NONE);
}

static void fail(struct wire *wire)
{
    struct post *post = wire->post;

    wire->is_over = true;
    if (post == NULL)
        return;
    if (agent__is_awaited(post) && !(post->kind == LINE_BATCH && wire->is_stream) &&
        !agent__is_no_news(wire->agent, SPAN_LIT("5030")))
        agent__error(wire->agent, post, -32603, wire->agent->is_finished ? "The server ended before it answered."
                                                                        : "The gate ended before it answered.");
    else if (post->method == HTTP_METHOD_POST && !wire->has_head)
        agent__complain("the gate ended before it took a message");
    if (post->method == HTTP_METHOD_GET)
        wire->agent->listens = false;
    post__free(&wire->post);
}

/* Looks for the gate's reason where it runs another configuration, and prints it once, until the gate takes requests again. */
static void look_for_why(struct wire *wire)
{
    const struct http_head *head = &wire->reader.head;
    struct span why = SPAN_NONE;

    for (size_t i = 0; i < head->count; i++)
        if (span_equals_nocase(http_head_name(head, i), SPAN_LIT("Callgate-Why")))
            why = http_head_value(head, i);
    if (why.at != NULL && !wire->agent->is_told_why)
        agent__complain("the gate denies every call of this pipe: %.*s", SPAN_ARG(why));
    wire->agent->is_told_why = why.at != NULL;
}

static void read_replies(struct wire *wire)
{
    while (wire->post != NULL && !wire->is_over) {
        size_t used = 0;
        struct span body = SPAN_NONE;
        enum http_step step = http_reader_feed(&wire->reader, buf_peek(&wire->tube.in), &used, &body);
        bool is_fine = step != HTTP_STEP_FAULT;

        if (step == HTTP_STEP_HEAD_DONE) {
            look_for_why(wire);
            wire->has_head = true;
            wire->is_stream = is_stream(&wire->reader.head);
        }
        if (step == HTTP_STEP_BODY)
            is_fine = wire->is_stream ? take_events(wire, body) : buf_add_span(&wire->body, body) == CODE_OK;
        buf_drop(&wire->tube.in, used);
        if (!is_fine)
            fail(wire);
        else if (step == HTTP_STEP_MESSAGE_DONE)
            finish(wire);
        else if (step == HTTP_STEP_NEED_MORE)
            break;
    }
}

void wire__step(struct wire *wire)
{
    wire->tube.is_paused = buf_len(&wire->agent->out.out) > SLOW_BYTES;
    read_replies(wire);
    if (wire->tube.is_eof && buf_is_empty(&wire->tube.in) && !wire->is_over)
        fail(wire);
    if (!wire->is_over)
        tube_settle(&wire->tube);
}
