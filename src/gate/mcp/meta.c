/* SPDX-License-Identifier: Apache-2.0 */
/* What of params._meta, and of what a client says that it can do, goes up. It is taken out before anything else is read, so
 * that what is judged is what is sent. */
#include "mcp/reply_priv.h"

#define KNOWN_PREFIX "io.modelcontextprotocol/"

static bool is_known(struct span key)
{
    static const char *const names[] = {"progressToken", "traceparent", "tracestate", "baggage"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (span_is(key, names[i]))
            return true;
    return span_starts_with(key, SPAN_LIT(KNOWN_PREFIX));
}

/* Without these a modern request is none. */
static bool is_mandatory(struct span key)
{
    return span_is(key, MCP__MODERN_VERSION) || span_is(key, MCP__CAPABILITIES);
}

static enum code find_in_meta(const struct mcp__editing *editing, const struct json_node *meta)
{
    bool is_modern = meta->type == JSON_OBJECT && json_member(meta, SPAN_LIT(MCP__MODERN_VERSION)) != NULL;
    enum mcp_meta pass = editing->rules->meta;
    enum code code = CODE_OK;

    if ((pass == MCP_META_NONE && !is_modern) || (pass != MCP_META_PASS && meta->type != JSON_OBJECT))
        return json_edits_cut_member(editing->edits, editing->document, meta);
    for (const struct json_node *member = meta->child; member != NULL && code == CODE_OK; member = member->next)
        if ((pass == MCP_META_KNOWN && !is_known(member->key)) || (pass == MCP_META_NONE && !is_mandatory(member->key)))
            code = json_edits_cut_member(editing->edits, editing->document, member);
        else if (json_key_is_like(member->key, SPAN_LIT(MCP__CAPABILITIES)))
            code = mcp__cut_capabilities(editing, member);
    return code;
}

/* What a client answers to the gate's own question says nothing to the server, nor to us: a person decides on the page. */
static enum code find_in_answers(const struct mcp__editing *editing, const struct json_node *answers)
{
    const struct json_node *own = json_member(answers, SPAN_LIT(MCP__OWN_QUESTION));

    return own == NULL ? CODE_OK
                       : json_edits_cut_member(editing->edits, editing->document, answers->count == 1 ? answers : own);
}

static enum code find_cuts(const struct mcp__editing *editing, const struct json_node *params, bool begins)
{
    enum code code = CODE_OK;

    params = params ? params->child : NULL;
    for (const struct json_node *member = params; member != NULL && code == CODE_OK; member = member->next)
        if (span_is(member->key, "_meta"))
            code = find_in_meta(editing, member);
        else if (span_is(member->key, "inputResponses"))
            code = find_in_answers(editing, member);
        else if (begins && json_key_is_like(member->key, SPAN_LIT("capabilities")))
            code = mcp__cut_capabilities(editing, member);
    return code;
}

enum code mcp__edit(const struct json_node *root, const struct json_node *params, bool begins,
                    const struct mcp_read_rules *rules, struct buf *canonical, struct arena *arena)
{
    struct json_edits edits;
    struct mcp__editing editing = {rules, buf_peek(canonical), &edits};
    enum code code;

    json_edits_init(&edits);
    code = find_cuts(&editing, params, begins);
    if (code == CODE_OK)
        code = json_edits_apply(&edits, canonical, arena, root);
    json_edits_fini(&edits);
    return code;
}
