/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/plain_priv.h"
#include "mcp/reply_priv.h"
#include "unicode/unicode.h"

#define LOOK_DEPTH 2

struct walk {
    const struct mcp_reply_rules *rules;
    const struct mcp__plain *plain;
    struct mcp_reply *reply;
    struct arena *arena;
    struct json_edits edits;
    struct json_tree tree;    /* the tree of the document, where rules look into it */
    enum reason reason;
    const char *detail;       /* static: what was refused, for the log */
    enum mcp_treatment treatment;
    bool in_tools;
    uint32_t tools;
    struct span tool;         /* of the tool that the walk is in, in the arena */
    uint32_t stripped;        /* characters, before that tool */
    bool is_deceptive;        /* it holds what deceives, and is refused for it where it is kept */
    bool wants;               /* rules for answers look into the document */
    bool is_meta[MCP__REPLY_DEPTH_MAX + 1];
};

static enum code refuse(struct walk *walk, enum reason reason, const char *detail)
{
    walk->reason = reason;
    walk->detail = detail;
    return CODE_INVALID;
}

/* The value that is the tool, or that lists them, at its begin. */
static enum code on_holder(struct walk *walk, const struct json_event *event)
{
    bool is_one = walk->plain->member != NULL && walk->plain->depth == event->depth;

    if (walk->plain->member != NULL && !span_is(event->key, walk->plain->member))
        return CODE_OK;
    if (event->type != (is_one ? JSON_OBJECT : JSON_ARRAY))
        return refuse(walk, REASON_UPSTREAM_JSON, is_one ? "the tool is not an object" : "the list of tools is not an array");
    walk->in_tools = true;
    return CODE_OK;
}

static bool may_be_shown(const struct walk *walk, struct span definition)
{
    const struct mcp_reply_rules *rules = walk->rules;
    const struct mcp_tool tool = {.name = walk->tool, .definition = definition, .is_first = walk->tools == 1};

    if (walk->tool.len > MCP__NAME_MAX || (walk->plain->is_name != NULL && !walk->plain->is_name(walk->tool)))
        return false;
    if (rules->learn != NULL && !rules->learn(rules->keep_context, &tool))
        return false;
    return rules->keep == NULL || rules->keep(rules->keep_context, SPAN_LIT("tools/call"), walk->tool, false);
}

/* A tool, at its begin and at its end. */
static enum code on_tool(struct walk *walk, const struct json_event *event)
{
    if (event->kind != JSON_EVENT_END) {
        walk->tool = SPAN_NONE;
        walk->is_deceptive = false;
        walk->stripped = walk->reply->stripped;
        if (++walk->tools > walk->plain->tools_max)
            return refuse(walk, REASON_UPSTREAM_TOOLS, "more tools in one list than the dialect allows");
        return event->type == JSON_OBJECT ? CODE_OK : refuse(walk, REASON_UPSTREAM_JSON, "a tool is not an object");
    }
    if (walk->tool.len == 0)
        return refuse(walk, REASON_UPSTREAM_JSON, "a tool has no name");
    if (walk->plain->only.at != NULL && !span_equals(walk->plain->only, walk->tool))
        return refuse(walk, REASON_UPSTREAM_UNASKED, "another tool is described than was asked about");
    if (!may_be_shown(walk, event->raw)) {
        if (walk->plain->only.at != NULL)
            return refuse(walk, REASON_UPSTREAM_UNASKED, "a tool is described that nobody here may call");
        walk->reply->removed++;
        walk->reply->stripped = walk->stripped;
        return json_edits_cut(&walk->edits, event->begin, event->end);
    }
    if (walk->is_deceptive)
        return refuse(walk, REASON_UPSTREAM_DEFINITION, "a tool's definition holds invisible or direction characters");
    return CODE_OK;
}

/* A key that some readers take for another: what is judged by the one would be read by the other. */
static const char *look_at_key(const struct walk *walk, const struct json_event *event)
{
    const char *const *members = walk->plain->members;

    for (size_t i = 0; event->depth == 1 && members != NULL && members[i] != NULL; i++)
        if (json_key_is_misspelled(event->key, span_text(members[i])))
            return "a member is spelled in another way";
    return walk->in_tools && event->depth == walk->plain->depth + 1 && json_key_is_misspelled(event->key, SPAN_LIT("name"))
               ? "a tool spells its name in another way" : NULL;
}

static bool is_name_of_tool(const struct walk *walk, const struct json_event *event)
{
    return walk->in_tools && event->depth == walk->plain->depth + 1 && span_is(event->key, "name");
}

static enum code on_text(struct walk *walk, const struct json_event *event)
{
    bool names = unicode_is_deceptive(event->key);
    bool deceives = event->kind == JSON_EVENT_SCALAR && event->type == JSON_STRING && unicode_is_deceptive(event->text);

    if (walk->treatment == MCP_PASS || event->kind == JSON_EVENT_END || (!names && !deceives))
        return CODE_OK;
    if (deceives && !names && walk->treatment == MCP_STRIP && !is_name_of_tool(walk, event))
        return mcp__strip(event, &walk->edits, &walk->reply->stripped);
    walk->is_deceptive = true;
    return walk->in_tools && event->depth > walk->plain->depth
               ? CODE_OK /* refused only where the tool is kept */
               : refuse(walk, REASON_UPSTREAM_DECEPTIVE, "invisible or direction characters");
}

static enum code on_event(void *context, const struct json_event *event)
{
    struct walk *walk = context;
    const struct mcp__plain *plain = walk->plain;
    uint32_t holder = plain->member != NULL ? 1 : 0;
    const char *wrong = look_at_key(walk, event);
    enum code code = CODE_OK;
    bool is_end = event->kind == JSON_EVENT_END;

    if (event->depth == 0 && !is_end && walk->wants)
        walk->tree.arena = walk->arena;
    if (wrong == NULL && plain->look != NULL && event->depth <= LOOK_DEPTH)
        wrong = plain->look(plain->context, event);
    if (wrong != NULL)
        return refuse(walk, REASON_UPSTREAM_JSON, wrong);
    if (!is_end && plain->depth > 0 && event->depth == holder)
        code = on_holder(walk, event);
    if (code == CODE_OK && walk->in_tools && event->depth == plain->depth)
        code = on_tool(walk, event);
    if (is_end && event->depth == holder)
        walk->in_tools = false;
    if (code == CODE_OK && is_name_of_tool(walk, event) && event->type == JSON_STRING)
        code = arena_keep(walk->arena, event->text, &walk->tool);
    if (code == CODE_OK)
        code = on_text(walk, event);
    return code == CODE_OK ? mcp__cut_own(walk->is_meta, event, &walk->edits) : code;
}

static enum reason read_document(struct walk *walk, struct span data, struct buf *out, struct json_fault *fault)
{
    enum code code = json_walk_tree(data, &json_reply_rules, out, &walk->tree, on_event, walk, fault);

    if (code != CODE_OK && fault->kind != JSON_FAULT_NONE)
        return mcp__reply_fault(fault, data);
    if (code != CODE_OK)
        return code == CODE_NOMEM ? REASON_MEMORY : walk->reason;
    if (json_edits_apply(&walk->edits, out, walk->arena, walk->tree.root) != CODE_OK)
        return REASON_MEMORY;
    walk->reply->outcome = walk->tree.root;
    walk->reply->kind = MCP_RESPONSE;
    walk->reply->body = walk->reply->result = buf_peek(out);
    return REASON_PERMITTED;
}

enum reason mcp__plain_read(struct span data, const struct mcp_reply_rules *rules, const struct mcp__plain *plain,
                            struct buf *out, struct arena *arena, struct mcp_reply *reply, struct json_fault *fault)
{
    struct walk walk = {.rules = rules, .plain = plain, .reply = reply, .arena = arena, .reason = REASON_UPSTREAM_JSON,
                        .detail = "", .treatment = plain->depth > 0 ? rules->deceptive.definitions : rules->deceptive.results};
    enum reason reason;

    *reply = (struct mcp_reply){.kind = MCP_NONE};
    walk.wants = rules->wants != NULL && rules->wants(rules->keep_context);
    json_edits_init(&walk.edits);
    reason = read_document(&walk, data, out, fault);
    json_edits_fini(&walk.edits);
    if (reason == REASON_PERMITTED)
        return reason;
    if (fault->kind == JSON_FAULT_NONE)
        fault->text = walk.detail;
    buf_clear(out);
    return reason;
}
