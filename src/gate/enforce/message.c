/* SPDX-License-Identifier: Apache-2.0 */
/* A transport's message as the question that it puts to a policy. */
#include "enforce/gate_priv.h"

void gate_aim(struct question *question, struct span target)
{
    if (span_is(question->method, "tools/call"))
        question->tool = target;
    else if (span_is(question->method, "tools/list"))
        question->shown = target;
    else if (span_is(question->method, "prompts/get"))
        question->prompt = target;
    else if (span_starts_with(question->method, SPAN_LIT("resources/")))
        question->resource = target;
}

struct question gate__question_of(const struct gate_message *message)
{
    struct question question = {
        .tenant = message->tenant, .principal = message->principal, .upstream = message->upstream,
        .groups = message->groups, .group_count = message->group_count, .scopes = message->scopes,
        .scope_count = message->scope_count, .claims = message->claims,
        .method = message->method, .answers = message->answers,
        .root = message->root, .meta = message->meta, .time_us = message->time_us, .client = message->client,
        .session = message->session, .correlation = message->correlation, .path = message->path, .query = message->query,
        .params = message->params,
    };

    gate_aim(&question, message->target);
    question.tool = message->tool;
    return question;
}
