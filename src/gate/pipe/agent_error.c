/* SPDX-License-Identifier: Apache-2.0 */
/* Errors that the agent gets in place of an answer: the gate's, and the pipe's own where the gate says nothing. */
#include "pipe/agent_priv.h"

#include "json/text.h"

#include <stdio.h>


/* Takes: id: JSON; empty: null; error: JSON. */
static void say_error(struct pipe_agent *agent, struct span id, struct span error)
{
    struct buf line;

    buf_init(&line, SIZE_MAX / 2);
    if (buf_addf(&line, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":%.*s}", SPAN_ARG(span_is_empty(id) ? SPAN_LIT("null") : id),
                 SPAN_ARG(error)) == CODE_OK)
        agent__say(agent, buf_peek(&line));
    buf_fini(&line);
}

/* Writes one line for a batch, with an error for each of its requests. */
static void say_errors(struct pipe_agent *agent, const struct post *post, struct span error)
{
    struct buf all, text;
    struct span member;
    struct line line;
    size_t at = 0;

    buf_init(&all, SIZE_MAX / 2);
    while (buf_code(&all) == CODE_OK && line_member(buf_peek(&post->text), &at, &member)) {
        buf_init(&text, SIZE_MAX / 2);
        if (line_read(member, &text, &line) == CODE_OK && line.kind == LINE_REQUEST)
            buf_addf(&all, "%c{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":%.*s}", buf_is_empty(&all) ? '[' : ',',
                     SPAN_ARG(line_text(buf_peek(&text), line.id)), SPAN_ARG(error));
        buf_fini(&text);
    }
    if (!buf_is_empty(&all) && buf_add_byte(&all, ']') == CODE_OK)
        agent__say(agent, buf_peek(&all));
    buf_fini(&all);
}

bool agent__is_awaited(const struct post *post)
{
    return post->method == HTTP_METHOD_POST && post->kind != LINE_NOTIFICATION && post->kind != LINE_RESPONSE &&
           !post->is_answered;
}

void agent__error(struct pipe_agent *agent, struct post *post, int code, const char *text)
{
    const struct dialect *dialect = agent->conf.dialect;
    struct buf error;
    enum code written;

    if (post->is_answered || post->is_cancelled)
        return;
    post->is_answered = true;
    buf_init(&error, 8192);
    written = dialect->is_run_once ? dialect->error_write(text, &error)
                                   : buf_addf(&error, "{\"code\":%d,\"message\":\"%s\"}", code, text);
    if (written == CODE_OK && dialect->is_run_once)
        agent__say(agent, buf_peek(&error));
    else if (written == CODE_OK && post->kind == LINE_BATCH)
        say_errors(agent, post, buf_peek(&error));
    else if (written == CODE_OK)
        say_error(agent, post->id, buf_peek(&error));
    buf_fini(&error);
}

void agent__refused(struct pipe_agent *agent, struct post *post, int status, struct span body)
{
    const struct json_node *root, *error, *code, *message;
    struct json_text text;
    char plain[64];
    bool is_waited_for = post->kind != LINE_NOTIFICATION && post->kind != LINE_RESPONSE;

    root = json_text_read(&text, body, &json_reply_rules, SIZE_MAX / 2) == CODE_OK ? text.root : NULL;
    error = json_member(root, SPAN_LIT("error"));
    code = json_member(error, SPAN_LIT("code"));
    message = json_member(error, SPAN_LIT("message"));
    (void)snprintf(plain, sizeof plain, "HTTP status %d", status);
    if (!is_waited_for)
        agent__complain("the gate takes no %s: %.*s", post->kind == LINE_RESPONSE ? "answer" : "notification",
                        SPAN_ARG(message != NULL ? message->text : span_text(plain)));
    else if (post->is_cancelled || (code != NULL && agent__is_no_news(agent, code->raw)))
        post->is_answered = true;
    else if (agent->conf.dialect->is_run_once && json_member(root, SPAN_LIT("type")) != NULL)
        agent__say(agent, body);
    else if (post->kind == LINE_BATCH && root != NULL && root->type == JSON_ARRAY)
        agent__say(agent, body); /* the gate's own list of errors, one for each request */
    else if (error != NULL && !agent->conf.dialect->is_run_once)
        say_error(agent, post->id, error->raw);
    else
        agent__error(agent, post, -32603, plain);
    post->is_answered = true;
    json_text_fini(&text);
}
