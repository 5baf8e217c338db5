/* SPDX-License-Identifier: Apache-2.0 */
/* What a judgement has to do with the definitions of tools: which one a call means, and whether people have accepted it. */
#include "enforce/gate_priv.h"

struct definitions *gate_definitions(struct gate_shared *shared)
{
    return shared->definitions;
}

static struct definition_asker asker_of(const struct call *call)
{
    return (struct definition_asker){call->asked.upstream, call->asked.tenant, call->asked.principal, call->asked.session};
}

static bool calls_tool(const struct call *call)
{
    return call->within == NULL && span_is(call->asked.method, "tools/call");
}

void gate__find_definition(const struct gate *gate, struct call *call)
{
    const struct definition_asker asker = asker_of(call);

    if (call->definitions != DEFINITIONS_OFF && calls_tool(call))
        call->has_definition = definitions_meant(gate->shared->definitions, gate->accepted, &asker, call->asked.tool,
                                                     call->definition);
}

const struct definition *gate__accepted(const struct gate *gate, const struct call *call)
{
    return call->has_definition
               ? definition_set_accepted(gate->accepted, call->asked.upstream, call->asked.tool, call->definition)
               : NULL;
}

/* Whether people have accepted the tool that is to make the call, too. */
static bool is_maker_accepted(const struct gate *gate, const struct call *call)
{
    const struct definition_asker asker = asker_of(call);
    unsigned char digest[DIGEST_BYTES];

    return call->asked.via.len == 0 ||
           (definitions_meant(gate->shared->definitions, gate->accepted, &asker, call->asked.via, digest) &&
            definition_set_accepted(gate->accepted, call->asked.upstream, call->asked.via, digest) != NULL);
}

void gate__mind_definition(const struct gate *gate, struct call *call)
{
    if (call->definitions == DEFINITIONS_HOLD && calls_tool(call) && call->verdict.kind != VERDICT_DENY &&
        (gate__accepted(gate, call) == NULL || !is_maker_accepted(gate, call)))
        gate_revoke(call, REASON_DEFINITION_CHANGED);
}

struct span gate__definition_text(struct record_text *text, const struct call *call)
{
    if (!call->has_definition)
        return SPAN_NONE;
    num_hex(call->definition, DIGEST_BYTES, text->definition);
    return span_of(text->definition, sizeof text->definition);
}

bool gate_learn(struct gate *gate, const struct call *call, const struct gate_tool *tool)
{
    const struct definition_asker asker = asker_of(call);
    const struct definition_told told = {.share = tool->share, .tool = tool->name, .text = tool->definition,
                                         .begins = tool->begins, .now_us = call->asked.time_us};

    if (call->is_join)
        return true;
    gate_state_learn(gate->shared->state, call_home(call).at != NULL ? call_home(call) : call->asked.tenant,
                     call->asked.upstream, tool->is_minted, tool->name, tool->said);
    if (call->definitions == DEFINITIONS_OFF)
        return true;
    gate__follow(gate);
    return definitions_learn(gate->shared->definitions, gate->accepted, &asker, &told) ||
           call->definitions != DEFINITIONS_HOLD;
}

struct span gate_schema_text(struct gate *gate, const struct call *call, struct span tool)
{
    const struct definition_asker asker = asker_of(call);
    const struct definition *found = NULL;
    unsigned char digest[DIGEST_BYTES];

    gate__follow(gate);
    if (call->definitions != DEFINITIONS_OFF &&
        definitions_meant(gate->shared->definitions, gate->accepted, &asker, tool, digest))
        found = definition_set_accepted(gate->accepted, call->asked.upstream, tool, digest);
    return found != NULL && found->schema != NULL ? policy_schema_text(found->schema) : SPAN_NONE;
}
