/* SPDX-License-Identifier: Apache-2.0 */
#include "enforce/call.h"

#include "mcp/dialect.h"

#include <string.h>

/* 11.2: a call and some texts beside it lie in one block that goes from use to use. */
_Static_assert(sizeof(struct call) <= ARENA_BLOCK_BYTES - 128, "what few calls need is made on demand");

/* Leaves the verdict's long lists as they are: kilobytes that few calls use, and that nobody reads beyond their counts. */
void call_unjudge(struct call *call)
{
    size_t judged = offsetof(struct call, policy);

    memset((char *)call + judged, 0, offsetof(struct call, verdict.rules) - judged);
}

void call_begin(struct call *call, const struct call *head, struct arena *arena)
{
    size_t shared = head != NULL ? offsetof(struct call, next) : 0;

    if (head != NULL)
        memcpy((void *)call, head, shared);
    memset((char *)call + shared, 0, offsetof(struct call, policy) - shared);
    call_unjudge(call);
    call->arena = arena;
    buf_init(&call->canonical, SIZE_MAX / 2);
    buf_init(&call->inner, SIZE_MAX / 2);
    buf_init(&call->answer, SIZE_MAX / 2);
}

void call_fini(struct call *call)
{
    buf_fini(&call->canonical);
    buf_fini(&call->inner);
    buf_fini(&call->answer);
}

void call_aim(struct question *question, struct span target)
{
    const struct mcp_method *method = mcp_method_find(question->method, NULL);
    enum mcp_about about = method == NULL ? MCP_ABOUT_RESOURCE : method->about; /* a route's own methods name URIs */

    if (about == MCP_ABOUT_TOOL)
        question->tool = target;
    else if (span_is(question->method, "tools/list"))
        question->shown = target;
    else if (about == MCP_ABOUT_PROMPT)
        question->prompt = target;
    else if (about == MCP_ABOUT_RESOURCE)
        question->resource = target;
}

void call_ask(struct call *call)
{
    const struct mcp_message *message = &call->message;
    struct question *asked = &call->asked;

    asked->method = message->kind == MCP_RESPONSE ? DIALECT_RESPONSE : message->method;
    asked->shown = asked->prompt = asked->resource = asked->via = SPAN_NONE;
    call_aim(asked, message->target);
    asked->tool = message->tool;
    asked->root = mcp_message_subject(message);
    asked->meta = message->meta;
    asked->params = message->others;
    call->target = message->target;
}
