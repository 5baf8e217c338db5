/* SPDX-License-Identifier: Apache-2.0 */
/* What results of modern revisions say beside what was asked for: who may keep them, which revisions there are, what the
 * server wants to know first, and what it wants to have back. */
#include "mcp/reply_priv.h"

#define ASKS_MAX 64 /* requests within one result: each costs a judgement and a row */

/* Another principal may be told another list, or may not read at all: no cache may share what went through a policy. The
 * scope is the same on all pages, whether or not something was left out on this one. */
static bool is_private(const struct mcp_reply_rules *rules)
{
    const struct mcp_method *method = mcp_method_find(rules->request->method, rules->own);

    return method != NULL && (method->lists != MCP_LISTS_NOTHING || method->about == MCP_ABOUT_RESOURCE);
}

/* Methods whose results may have a requestState. */
static bool may_ask(struct span method)
{
    return span_is(method, "tools/call") || span_is(method, "prompts/get") || span_is(method, "resources/read");
}

static enum code refuse(struct mcp__modern *modern, const char *detail)
{
    modern->detail = detail;
    return CODE_INVALID;
}

static bool is_misspelled(struct span key)
{
    static const struct span names[] = {{"resultType", 10}, {"cacheScope", 10}, {"supportedVersions", 17},
                                        {"inputRequests", 13}, {MCP__STATE, sizeof MCP__STATE - 1}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (json_key_is_misspelled(key, names[i]))
            return true;
    return false;
}

static enum code seal(struct mcp__modern *modern, const struct json_event *event)
{
    const struct mcp_reply_rules *rules = modern->rules;
    struct buf text;
    enum code code;

    if (event->type != JSON_STRING || rules->binding == NULL || !may_ask(rules->request->method))
        return refuse(modern, "result.requestState is not a string, or not due here");
    buf_init(&text, SIZE_MAX / 2);
    code = mcp__state_seal(rules->request, rules->binding, event->text, &text);
    if (code == CODE_OK)
        code = buf_add_span(&text, event->text);
    if (code == CODE_OK)
        code = json_edits_say(modern->edits, event->begin, event->end, buf_peek(&text));
    buf_fini(&text);
    return code;
}

static enum code on_member(struct mcp__modern *modern, const struct json_event *event)
{
    if (is_misspelled(event->key))
        return refuse(modern, "a member of the result is spelled in another way");
    if (span_is(event->key, "cacheScope") && event->type == JSON_STRING && is_private(modern->rules))
        return json_edits_say(modern->edits, event->begin, event->end, SPAN_LIT("private"));
    if (span_is(event->key, MCP__STATE) && event->kind != JSON_EVENT_END)
        return seal(modern, event);
    if (span_is(event->key, "inputRequests")) {
        modern->has_asks = true;
        return event->type == JSON_OBJECT ? CODE_OK : refuse(modern, "result.inputRequests is not an object");
    }
    if (span_is(event->key, "supportedVersions") && modern->names_versions) {
        modern->in_versions = event->kind == JSON_EVENT_BEGIN;
        modern->has_versions = true;
        return event->type == JSON_ARRAY ? CODE_OK : refuse(modern, "result.supportedVersions is not an array");
    }
    return CODE_OK;
}

enum code mcp__on_modern(struct mcp__modern *modern, const struct json_event *event)
{
    if (event->depth == 2)
        return on_member(modern, event);
    if (event->depth != 3 || !modern->in_versions)
        return CODE_OK;
    if (event->kind != JSON_EVENT_SCALAR || event->type != JSON_STRING)
        return refuse(modern, "a version in result.supportedVersions is not a string");
    if (!mcp_revision_is_listed(modern->rules->revisions, event->text))
        return json_edits_cut(modern->edits, event->begin, event->end);
    modern->versions++;
    return CODE_OK;
}

/* Which versions may be tried instead, where the server has not the one that was asked for: those that the route has. */
enum code mcp__on_modern_error(struct mcp__modern *modern, const struct json_event *event)
{
    bool begins = event->kind == JSON_EVENT_BEGIN;

    if (event->depth == 2)
        modern->in_data = begins && span_is(event->key, "data");
    else if (event->depth == 3)
        modern->in_versions = begins && modern->in_data && span_is(event->key, "supported");
    else if (event->depth == 4 && modern->in_versions && !begins &&
             !mcp_revision_is_listed(modern->rules->revisions, span_part(event->raw, 1, event->raw.len - 2)))
        return json_edits_cut(modern->edits, event->begin, event->end);
    return CODE_OK;
}

static bool are_requests(const struct json_node *asks)
{
    if (asks->type != JSON_OBJECT || asks->count > ASKS_MAX)
        return false;
    for (const struct json_node *ask = asks->child; ask != NULL; ask = ask->next) {
        const struct json_node *method = json_member(ask, SPAN_LIT("method"));
        const struct json_node *params = json_member(ask, SPAN_LIT("params"));

        if (ask->type != JSON_OBJECT || method == NULL || method->type != JSON_STRING ||
            !mcp__method_is_legal(method->text) || (params != NULL && params->type != JSON_OBJECT))
            return false;
        for (const struct json_node *node = ask->child; node != NULL; node = node->next)
            if (node != method && node != params &&
                (json_key_is_like(node->key, SPAN_LIT("method")) || json_key_is_like(node->key, SPAN_LIT("params"))))
                return false;
    }
    return true;
}

const char *mcp__find_asks(const struct json_node *holder, const struct json_node **asks)
{
    const struct span name = SPAN_LIT("inputRequests");

    *asks = NULL;
    for (const struct json_node *node = holder ? holder->child : NULL; node != NULL; node = node->next)
        if (span_equals(node->key, name))
            *asks = node;
        else if (json_key_is_like(node->key, name))
            return "inputRequests is spelled in another way";
    if (*asks != NULL && !are_requests(*asks))
        return "inputRequests does not hold requests";
    if (*asks != NULL && (*asks)->count == 0)
        *asks = NULL;
    return NULL;
}
