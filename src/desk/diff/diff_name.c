/* SPDX-License-Identifier: Apache-2.0 */
/* Names in a call that is tried. */
#include "diff/diff_priv.h"

#include "mcp/method.h"

void diff__settle_targets(struct question *question)
{
    if (!span_is(question->method, "tools/call"))
        question->tool = SPAN_NONE;
    else if (question->tool.len == 0)
        question->tool = SPAN_LIT("probe");
    if (!span_is(question->method, "prompts/get"))
        question->prompt = SPAN_NONE;
    if (!question_has_uri(question->method) && mcp_method_find(question->method, NULL) != NULL)
        question->resource = SPAN_NONE; /* a method that a route declares may have one */
}

enum code diff__name(struct arena *arena, struct question *question, enum dimension dimension, struct span name)
{
    struct span *held = dimension >= DIM_HELD ? arena_alloc(arena, sizeof *held) : question_place(question, dimension);

    if (held == NULL)
        return CODE_NOMEM;
    *held = name;
    if (dimension >= DIM_HELD) {
        *(dimension == DIM_GROUP ? &question->groups : &question->scopes) = held;
        *(dimension == DIM_GROUP ? &question->group_count : &question->scope_count) = name.at != NULL;
    }
    return CODE_OK;
}
