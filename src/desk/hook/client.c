/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/client.h"

#include "base/ascii.h"

#include <string.h>

/* An event of a client, as it names it. */
struct event {
    const char *name;
    enum hook_event event;
    bool has_failed;
    const char *tool; /* how the tool is called where the event stands for one; NULL: the client says it */
};

struct hook_client {
    const char *name;
    const struct event *events; /* the last has no name */
    const char *id, *session;   /* the members that name call and session */
    struct span mcp;            /* how names of MCP tools begin, whose server follows up to "__"; empty: they say no server */
    const char *permit;         /* what it wants to hear of a permit */
    const char *deny_begin, *deny_reason, *deny_end; /* of a denial: before the sentence, between it and its second, behind */
};

static const struct event claude_events[] = {
    {"PreToolUse", HOOK_ASKS, false, NULL},
    {"PostToolUse", HOOK_REPORTS, false, NULL},
    {"PostToolUseFailure", HOOK_REPORTS, true, NULL},
    {NULL, HOOK_ASKS, false, NULL},
};

#define DENY_BEGIN "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\"," \
    "\"permissionDecisionReason\":"

static const struct hook_client clients[] = {
    {"claude-code", claude_events, "tool_use_id", "session_id", {"mcp__", 5}, "", DENY_BEGIN, NULL, "}}\n"},
};

const struct hook_client *hook_client_find(const char *name)
{
    for (size_t i = 0; i < sizeof clients / sizeof clients[0]; i++)
        if (strcmp(clients[i].name, name) == 0)
            return &clients[i];
    return NULL;
}

const char *hook_client_name(const struct hook_client *client)
{
    return client->name;
}

/* ---- reading ---- */

static const struct json_node *text_of(const struct json_node *root, const char *member)
{
    const struct json_node *node = json_member(root, span_text(member));

    return node != NULL && node->type == JSON_STRING && node->text.len > 0 ? node : NULL;
}

static const struct event *find_event(const struct hook_client *client, struct span name)
{
    const struct event *event = client->events;

    while (event->name != NULL && !span_is(name, event->name))
        event++;
    return event->name != NULL ? event : NULL;
}

static void read_server(const struct hook_client *client, struct hook_said *said)
{
    struct span name = said->tool->text, rest;
    size_t end;

    if (client->mcp.len == 0 || !span_starts_with(name, client->mcp))
        return;
    rest = span_part(name, client->mcp.len, SIZE_MAX);
    for (end = 0; end + 1 < rest.len && !(rest.at[end] == '_' && rest.at[end + 1] == '_'); end++)
        continue;
    said->server = span_part(rest, 0, end);
}

enum code hook_read(const struct json_node *root, const struct hook_client **client, struct hook_said *said, struct why *why)
{
    struct span name = json_member_text(root, "hook_event_name");
    const struct event *event = find_event(*client, name);

    *said = (struct hook_said){.event = HOOK_ASKS};
    if (event == NULL)
        return why_set(why, CODE_INVALID, "%s says nothing about a tool in its event `%.*s`; have it call `callgate hook` "
                       "before and after tools alone", (*client)->name, SPAN_ARG(span_part(name, 0, 64)));
    said->event = event->event;
    said->has_failed = event->has_failed;
    said->tool = text_of(root, "tool_name");
    said->arguments = json_member(root, SPAN_LIT("tool_input"));
    said->id = text_of(root, (*client)->id);
    said->session = text_of(root, (*client)->session);
    if (said->tool == NULL)
        return why_set(why, CODE_INVALID, "the client names no tool");
    read_server(*client, said);
    return CODE_OK;
}

/* ---- answering ---- */

enum code hook_permit(const struct hook_client *client, struct buf *out)
{
    return buf_add_text(out, client->permit);
}

enum code hook_deny(const struct hook_client *client, struct span text, struct buf *out)
{
    buf_add_text(out, client->deny_begin);
    json_write_string(out, text);
    if (client->deny_reason != NULL) {
        buf_add_text(out, client->deny_reason);
        json_write_string(out, text);
    }
    return buf_add_text(out, client->deny_end);
}
