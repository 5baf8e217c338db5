/* SPDX-License-Identifier: Apache-2.0 */
/* What a judgement has to do with the definitions of tools: which one a call means, and whether people have accepted it. */
#include "enforce/gate_priv.h"

struct definitions *gate_definitions(struct gate_shared *shared)
{
    return shared->definitions;
}

static struct definition_asker asker_of(const struct gate_message *message)
{
    return (struct definition_asker){message->upstream, message->tenant, message->principal, message->session};
}

static bool calls_tool(const struct gate_message *message)
{
    return !message->from_server && span_is(message->method, "tools/call");
}

void gate__find_definition(const struct gate *gate, const struct gate_message *message, struct gate_decision *decision)
{
    const struct definition_asker asker = asker_of(message);

    if (message->definitions != DEFINITIONS_OFF && calls_tool(message))
        decision->has_definition = definitions_meant(gate->shared->definitions, gate->accepted, &asker, message->tool,
                                                     decision->definition);
}

const struct definition *gate__accepted(const struct gate *gate, const struct gate_message *message,
                                        const struct gate_decision *decision)
{
    return decision->has_definition
               ? definition_set_accepted(gate->accepted, message->upstream, message->tool, decision->definition)
               : NULL;
}

void gate__mind_definition(const struct gate *gate, const struct gate_message *message, struct gate_decision *decision)
{
    if (message->definitions == DEFINITIONS_HOLD && calls_tool(message) && decision->verdict.kind != VERDICT_DENY &&
        gate__accepted(gate, message, decision) == NULL)
        gate_revoke(decision, REASON_DEFINITION_CHANGED);
}

struct span gate__definition_text(struct record_text *text, const struct gate_decision *decision)
{
    if (!decision->has_definition)
        return SPAN_NONE;
    num_hex(decision->definition, DIGEST_BYTES, text->definition);
    return span_of(text->definition, sizeof text->definition);
}

bool gate_learn(struct gate *gate, const struct gate_message *message, const struct gate_tool *tool)
{
    const struct definition_asker asker = asker_of(message);
    const struct definition_told told = {.share = tool->share, .tool = tool->name, .text = tool->definition,
                                         .begins = tool->begins, .now_us = message->time_us};

    gate_state_learn(gate->shared->state, message->upstream, tool->is_minted, tool->name, tool->said);
    if (message->definitions == DEFINITIONS_OFF)
        return true;
    gate__follow(gate);
    return definitions_learn(gate->shared->definitions, gate->accepted, &asker, &told) ||
           message->definitions != DEFINITIONS_HOLD;
}

struct span gate_schema_text(struct gate *gate, const struct gate_message *message, struct span tool)
{
    const struct definition_asker asker = asker_of(message);
    const struct definition *found = NULL;
    unsigned char digest[DIGEST_BYTES];

    gate__follow(gate);
    if (message->definitions != DEFINITIONS_OFF &&
        definitions_meant(gate->shared->definitions, gate->accepted, &asker, tool, digest))
        found = definition_set_accepted(gate->accepted, message->upstream, tool, digest);
    return found != NULL && found->schema != NULL ? policy_schema_text(found->schema) : SPAN_NONE;
}
