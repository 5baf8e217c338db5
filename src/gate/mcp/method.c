/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/method.h"

const char *const mcp_revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", NULL};

enum kind { KIND_REQUEST, KIND_NOTIFICATION, KIND_PSEUDO };

/* A line of the table. */
struct method {
    struct mcp_method of; /* first, and so it is found by what mcp_method_find gave */
    enum kind kind;
    bool from_agent;
    bool from_server;
    const char *members; /* of params beside _meta, in any revision before 2026-07-28, each behind a blank; NULL: nobody says */
    const char *modern;  /* likewise since then; NULL: those revisions do not have it, or no agent says it */
};

#define TEXT(literal) {"" literal, sizeof(literal) - 1}
#define NOTHING TEXT("")
#define AGENT true, false
#define SERVER false, true
#define BOTH true, true
#define ROW(name, kind, who, members, modern) \
    {{TEXT(name), NOTHING, MCP_ABOUT_NOTHING, MCP_LISTS_NOTHING, NOTHING, NOTHING, true}, KIND_##kind, who, members, modern}
/* A request about what `thing` in its params names. */
#define ABOUT(name, thing, what, who, members, modern) \
    {{TEXT(name), TEXT(thing), MCP_ABOUT_##what, MCP_LISTS_NOTHING, NOTHING, NOTHING, true}, KIND_REQUEST, who, members, modern}
/* A request of an agent whose answer lists what there is: result.LIST, whose elements are known by KEY. */
#define LIST(name, list, key, what) \
    {{TEXT(name), NOTHING, MCP_ABOUT_NOTHING, MCP_LISTS_##what, TEXT(list), TEXT(key), true}, \
     KIND_REQUEST, AGENT, " cursor", " cursor"}
#define INPUT " inputResponses requestState"

static const struct method methods[] = {
    /* first, since it is what is mostly asked for */
    ABOUT("tools/call", "name", TOOL, AGENT, " name arguments task", " name arguments task" INPUT),
    ROW("initialize", REQUEST, AGENT, " protocolVersion capabilities clientInfo", NULL),
    ROW("ping", REQUEST, BOTH, "", NULL),
    ROW("server/discover", REQUEST, AGENT, "", ""),
    LIST("tools/list", "tools", "name", TOOLS),
    LIST("resources/list", "resources", "uri", RESOURCES),
    LIST("resources/templates/list", "resourceTemplates", "uriTemplate", TEMPLATES),
    ABOUT("resources/read", "uri", RESOURCE, AGENT, " uri", " uri" INPUT),
    ABOUT("resources/subscribe", "uri", RESOURCE, AGENT, " uri", NULL),
    ABOUT("resources/unsubscribe", "uri", RESOURCE, AGENT, " uri", NULL),
    /* io.modelcontextprotocol/skills (ext-skills, "stable" of 2026-09, SEP-2640): on servers of older revisions, too. */
    LIST("skills/list", "skills", "uri", RESOURCES),
    ABOUT("skills/get", "uri", RESOURCE, AGENT, " uri", " uri"),
    {{TEXT("resources/directory/read"), TEXT("uri"), MCP_ABOUT_RESOURCE, MCP_LISTS_RESOURCES, TEXT("resources"), TEXT("uri"),
      true},
     KIND_REQUEST, AGENT, " uri cursor", " uri cursor"},
    ROW("subscriptions/listen", REQUEST, AGENT, NULL, " notifications"),
    LIST("prompts/list", "prompts", "name", PROMPTS),
    ABOUT("prompts/get", "name", PROMPT, AGENT, " name arguments", " name arguments" INPUT),
    ROW("completion/complete", REQUEST, AGENT, " ref argument context", " ref argument context"),
    ROW("logging/setLevel", REQUEST, AGENT, " level", NULL),
    ABOUT("tasks/get", "taskId", TASK, BOTH, " taskId", " taskId"),
    ABOUT("tasks/result", "taskId", TASK, BOTH, " taskId", NULL),
    ROW("tasks/list", REQUEST, BOTH, " cursor", NULL),
    ABOUT("tasks/cancel", "taskId", TASK, BOTH, " taskId", " taskId"),
    ABOUT("tasks/update", "taskId", TASK, AGENT, NULL, " taskId inputResponses"),
    ROW("sampling/createMessage", REQUEST, SERVER, NULL, NULL),
    ROW("elicitation/create", REQUEST, SERVER, NULL, NULL),
    ROW("roots/list", REQUEST, SERVER, NULL, NULL),
    ROW("notifications/initialized", NOTIFICATION, AGENT, "", NULL),
    ROW("notifications/roots/list_changed", NOTIFICATION, AGENT, "", NULL),
    ROW("notifications/cancelled", NOTIFICATION, BOTH, " requestId reason", " requestId reason"),
    ROW("notifications/progress", NOTIFICATION, BOTH, " progressToken progress total message", NULL),
    ROW("notifications/tasks/status", NOTIFICATION, BOTH,
        " taskId status statusMessage createdAt lastUpdatedAt ttl pollInterval", NULL),
    ROW("notifications/tasks", NOTIFICATION, SERVER, NULL, NULL),
    ROW("notifications/message", NOTIFICATION, SERVER, NULL, NULL),
    ROW("notifications/resources/updated", NOTIFICATION, SERVER, NULL, NULL),
    ROW("notifications/resources/list_changed", NOTIFICATION, SERVER, NULL, NULL),
    ROW("notifications/tools/list_changed", NOTIFICATION, SERVER, NULL, NULL),
    ROW("notifications/prompts/list_changed", NOTIFICATION, SERVER, NULL, NULL),
    ROW("notifications/elicitation/complete", NOTIFICATION, SERVER, NULL, NULL),
    ROW("notifications/subscriptions/acknowledged", NOTIFICATION, SERVER, NULL, NULL),
    /* names for what has no method (mcp/README.md) */
    ROW("stream/open", PSEUDO, AGENT, NULL, NULL),
    ROW("session/end", PSEUDO, AGENT, NULL, NULL),
    ROW("response", PSEUDO, AGENT, NULL, NULL),
    ROW("stream/message", PSEUDO, SERVER, NULL, NULL),
    ROW("pass", PSEUDO, AGENT, NULL, NULL),
};

static const struct method *find_method(struct span name)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0] && name.len > 0; i++) {
        struct span of = methods[i].of.name;

        /* several are as long as `tools/call`, and none of these ends as it does */
        if (of.len == name.len && of.at[of.len - 1] == name.at[name.len - 1] && span_equals(of, name))
            return &methods[i];
    }
    return NULL;
}

static const struct method *line_of(const struct mcp_method *method)
{
    return method != NULL && method->is_ours ? (const struct method *)(const void *)method : NULL;
}

const char *mcp_method_at(size_t at)
{
    return at < sizeof methods / sizeof methods[0] ? methods[at].of.name.at : NULL;
}

const struct mcp_method *mcp_method_find(struct span name, const struct mcp_methods *own)
{
    const struct method *method = find_method(name);

    for (size_t i = 0; method == NULL && own != NULL && i < own->count; i++)
        if (span_equals(own->of[i].name, name))
            return &own->of[i];
    return method != NULL ? &method->of : NULL;
}

struct span mcp_method_mirrored(struct span name)
{
    static const char *const methods_with[] = {"tools/call", "prompts/get", "resources/read", "tasks/get", "tasks/update",
                                               "tasks/cancel"};

    for (size_t i = 0; i < sizeof methods_with / sizeof methods_with[0]; i++)
        if (span_is(name, methods_with[i]))
            return find_method(name)->of.thing;
    return SPAN_NONE;
}

const struct mcp_method *mcp_method_lists(size_t at, const struct mcp_methods *own)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (methods[i].of.lists != MCP_LISTS_NOTHING && at-- == 0)
            return &methods[i].of;
    for (size_t i = 0; own != NULL && i < own->count; i++)
        if (own->of[i].lists != MCP_LISTS_NOTHING && at-- == 0)
            return &own->of[i];
    return NULL;
}

bool mcp_method_may_come(const struct mcp_method *of, bool from_server)
{
    const struct method *method = line_of(of);

    return method == NULL || (method->kind != KIND_PSEUDO && (from_server ? method->from_server : method->from_agent));
}

enum mcp_era mcp_method_era(const struct mcp_method *of)
{
    const struct method *method = line_of(of);

    if (method == NULL || method->kind != KIND_REQUEST || !method->from_agent)
        return MCP_ERA_ANY;
    if (method->modern == NULL)
        return MCP_ERA_OLD;
    return method->members == NULL ? MCP_ERA_MODERN : MCP_ERA_BOTH;
}

bool mcp_method_takes(const struct mcp_method *of, struct span member, bool is_modern)
{
    const struct method *method = line_of(of);
    const char *members = method == NULL ? NULL : is_modern ? method->modern : method->members;
    struct span rest = members != NULL ? span_text(members) : SPAN_NONE;

    if (rest.at == NULL || span_is(member, "_meta"))
        return true;
    while (rest.len > 0)
        if (span_equals(span_cut(rest, ' ', &rest), member) && member.len > 0)
            return true;
    return false;
}

bool mcp_method_needs_id(struct span name)
{
    const struct method *method = find_method(name);

    if (method != NULL)
        return method->kind == KIND_REQUEST;
    return span_starts_with(name, SPAN_LIT("tasks/"));
}

bool mcp_revision_is_listed(const char *const *revisions, struct span revision)
{
    for (; *revisions != NULL; revisions++)
        if (span_is(revision, *revisions))
            return true;
    return false;
}

bool mcp_revision_has_urls(struct span revision)
{
    return span_is(revision, "2025-11-25");
}

bool mcp_revision_is_modern(struct span revision)
{
    return span_is(revision, "2026-07-28");
}
