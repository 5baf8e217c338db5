/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/client.h"

#include "json/text.h"

#include <string.h>

/* An event of a client, as it names it. */
struct event {
    const char *name;
    enum hook_event event;
    const char *tool; /* what the event is about, where it names no tool; NULL: it does */
    const char *members[3]; /* likewise: those that are the arguments; NULL-terminated */
    bool is_server;   /* the tool is a server's */
    const char *asked_later; /* how tools begin of which another event asks; NULL: none does */
};

struct hook_client {
    const char *name;
    const struct event *events; /* the last has no name */
    const char *id, *session;   /* the members that name call and session */
    struct span mcp;            /* how names of MCP tools begin; behind it the server, up to "__"; empty: no name has it */
    const char *permit;         /* what it wants to hear of a permit */
    const char *deny_begin, *deny_again, *deny_end; /* of a denial: before why, before why a second time, behind it */
};

/* Claude Code 2.1.197 and Codex 0.171.0, as they wrote to a hook. */
static const struct event claude_events[] = {
    {.name = "PreToolUse", .event = HOOK_ASKS},
    {.name = "PostToolUse", .event = HOOK_REPORTS},
    {.name = "PostToolUseFailure", .event = HOOK_REPORTS},
    {.name = NULL},
};

/* Cursor 2.x, as its documentation has it in November 2026. */
static const struct event cursor_events[] = {
    {.name = "preToolUse", .event = HOOK_ASKS, .asked_later = "MCP:"},
    {.name = "beforeMCPExecution", .event = HOOK_ASKS, .is_server = true},
    {.name = "beforeShellExecution", .event = HOOK_ASKS, .tool = "Shell", .members = {"command", "cwd"}},
    {.name = "beforeReadFile", .event = HOOK_ASKS, .tool = "Read", .members = {"file_path"}},
    {.name = "beforeTabFileRead", .event = HOOK_ASKS, .tool = "TabRead", .members = {"file_path"}},
    {.name = "postToolUse", .event = HOOK_REPORTS},
    {.name = "postToolUseFailure", .event = HOOK_REPORTS},
    {.name = NULL},
};

#define CLAUDE_DENIES "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\"," \
    "\"permissionDecisionReason\":"

static const struct hook_client clients[] = {
    {.name = "claude-code", .events = claude_events, .id = "tool_use_id", .session = "session_id", .mcp = {"mcp__", 5},
     .permit = "", .deny_begin = CLAUDE_DENIES, .deny_end = "}}\n"},
    {.name = "codex", .events = claude_events, .id = "tool_use_id", .session = "session_id", .mcp = {"mcp__", 5},
     .permit = "", .deny_begin = CLAUDE_DENIES, .deny_end = "}}\n"},
    {.name = "cursor", .events = cursor_events, .id = "tool_use_id", .session = "conversation_id",
     .permit = "{\"permission\":\"allow\"}\n", .deny_begin = "{\"permission\":\"deny\",\"user_message\":",
     .deny_again = ",\"agent_message\":", .deny_end = "}\n"},
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

/* The server of a tool whose name says it. Where a tool's name has `__`, too, it is the shorter of those that it may be. */
static struct span server_in(const struct hook_client *client, struct span name)
{
    struct span rest = span_part(name, client->mcp.len, SIZE_MAX);
    size_t end = 0;

    if (client->mcp.len == 0 || !span_starts_with(name, client->mcp))
        return SPAN_NONE;
    while (end + 1 < rest.len && !(rest.at[end] == '_' && rest.at[end + 1] == '_'))
        end++;
    return end + 2 < rest.len ? span_part(rest, 0, end) : SPAN_NONE; /* without a tool behind it, it is none */
}

/* Cursor runs the hooks that Claude Code has, too, and says so by a member that only it has. */
static const struct hook_client *speaker(const struct json_node *root, const struct hook_client *named)
{
    return text_of(root, "cursor_version") != NULL ? hook_client_find("cursor") : named;
}

enum code hook_read(const struct json_node *root, const struct hook_client **client, struct hook_said *said, struct why *why)
{
    struct span name = json_member_text(root, "hook_event_name");
    const struct event *event;

    *client = speaker(root, *client);
    event = find_event(*client, name);
    *said = (struct hook_said){.event = HOOK_ASKS};
    if (event == NULL)
        return why_set(why, CODE_INVALID, "%s says nothing about a tool in its event `%.*s`; have it call `callgate hook` "
                       "before and after tools alone", (*client)->name, SPAN_ARG(span_part(name, 0, 64)));
    *said = (struct hook_said){
        .event = event->event, .root = root, .members = event->members,
        .tool = event->tool != NULL ? span_text(event->tool) : json_member_text(root, "tool_name"),
        .arguments = event->tool != NULL ? NULL : json_member(root, SPAN_LIT("tool_input")),
        .id = text_of(root, (*client)->id), .session = text_of(root, (*client)->session),
        .version = json_member_text(root, "cursor_version"), .is_servers = event->is_server,
    };
    if (said->tool.len == 0)
        return why_set(why, CODE_INVALID, "the client names no tool");
    said->is_asked_later = event->asked_later != NULL && span_starts_with(said->tool, span_text(event->asked_later));
    said->server = server_in(*client, said->tool);
    said->url = event->is_server ? json_member_text(root, "url") : SPAN_NONE;
    return CODE_OK;
}

static void add_member(struct buf *out, const char *name, const struct json_node *node)
{
    if (node == NULL)
        return;
    buf_addf(out, "%s\"%s\":", buf_peek(out).at[buf_len(out) - 1] != '{' ? "," : "", name);
    buf_add_span(out, node->raw);
}

/* Appends the arguments, which some clients write as a text of JSON. A text that is none would be read as other members. */
static enum code add_arguments(const struct hook_said *said, struct buf *out)
{
    const struct json_node *node = said->arguments;
    bool is_text = node != NULL && node->type == JSON_STRING;

    if (node == NULL && said->members[0] == NULL)
        return CODE_OK;
    if (is_text && !json_text_is(node->text, SIZE_MAX / 2))
        return CODE_INVALID;
    buf_add_text(out, ",\"arguments\":");
    if (node != NULL)
        return buf_add_span(out, is_text ? node->text : node->raw);
    buf_add_byte(out, '{');
    for (size_t i = 0; said->members[i] != NULL; i++)
        add_member(out, said->members[i], json_member(said->root, span_text(said->members[i])));
    return buf_add_byte(out, '}');
}

enum code hook_question(const struct hook_said *said, struct buf *out)
{
    struct buf name;
    enum code code;

    if (said->event == HOOK_REPORTS) {
        buf_add_text(out, "{\"report\":true");
        add_member(out, "id", said->id);
        add_member(out, "session", said->session);
        return buf_add_byte(out, '}');
    }
    buf_init(&name, SIZE_MAX / 2);
    buf_add_text(&name, said->is_servers ? "MCP:" : "");
    code = buf_add_span(&name, said->tool);
    buf_add_text(out, "{\"tool\":");
    if (code == CODE_OK)
        json_write_string(out, buf_peek(&name));
    buf_fini(&name);
    if (code == CODE_OK)
        code = add_arguments(said, out);
    add_member(out, "id", said->id);
    add_member(out, "session", said->session);
    return code == CODE_OK ? buf_add_byte(out, '}') : code;
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
    if (client->deny_again != NULL) {
        buf_add_text(out, client->deny_again);
        json_write_string(out, text);
    }
    return buf_add_text(out, client->deny_end);
}
