/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/method.h"

const char *const mcp_revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", NULL};

enum kind { KIND_REQUEST, KIND_NOTIFICATION, KIND_PSEUDO };

struct method {
    struct span name;
    enum kind kind;
    bool from_agent;
    bool from_server;
    const char *members; /* of params beside _meta, in any revision that is judged, each behind a blank; NULL: nobody says */
};

#define AGENT true, false
#define SERVER false, true
#define BOTH true, true
#define ROW(name, kind, who) {{"" name, sizeof(name) - 1}, KIND_##kind, who, NULL}
#define ROW_OF(name, kind, who, members) {{"" name, sizeof(name) - 1}, KIND_##kind, who, members}

static const struct method methods[] = {
    ROW_OF("initialize", REQUEST, AGENT, " protocolVersion capabilities clientInfo"),
    ROW_OF("ping", REQUEST, BOTH, ""),
    ROW("server/discover", REQUEST, AGENT),
    ROW_OF("tools/list", REQUEST, AGENT, " cursor"),
    ROW_OF("tools/call", REQUEST, AGENT, " name arguments task"),
    ROW_OF("resources/list", REQUEST, AGENT, " cursor"),
    ROW_OF("resources/templates/list", REQUEST, AGENT, " cursor"),
    ROW_OF("resources/read", REQUEST, AGENT, " uri"),
    ROW_OF("resources/subscribe", REQUEST, AGENT, " uri"),
    ROW_OF("resources/unsubscribe", REQUEST, AGENT, " uri"),
    ROW("subscriptions/listen", REQUEST, AGENT),
    ROW_OF("prompts/list", REQUEST, AGENT, " cursor"),
    ROW_OF("prompts/get", REQUEST, AGENT, " name arguments"),
    ROW_OF("completion/complete", REQUEST, AGENT, " ref argument context"),
    ROW_OF("logging/setLevel", REQUEST, AGENT, " level"),
    ROW_OF("tasks/get", REQUEST, BOTH, " taskId"),
    ROW_OF("tasks/result", REQUEST, BOTH, " taskId"),
    ROW_OF("tasks/list", REQUEST, BOTH, " cursor"),
    ROW_OF("tasks/cancel", REQUEST, BOTH, " taskId"),
    ROW("tasks/update", REQUEST, AGENT),
    ROW("sampling/createMessage", REQUEST, SERVER),
    ROW("elicitation/create", REQUEST, SERVER),
    ROW("roots/list", REQUEST, SERVER),
    ROW_OF("notifications/initialized", NOTIFICATION, AGENT, ""),
    ROW_OF("notifications/roots/list_changed", NOTIFICATION, AGENT, ""),
    ROW_OF("notifications/cancelled", NOTIFICATION, BOTH, " requestId reason"),
    ROW_OF("notifications/progress", NOTIFICATION, BOTH, " progressToken progress total message"),
    ROW_OF("notifications/tasks/status", NOTIFICATION, BOTH,
           " taskId status statusMessage createdAt lastUpdatedAt ttl pollInterval"),
    ROW("notifications/tasks", NOTIFICATION, SERVER),
    ROW("notifications/message", NOTIFICATION, SERVER),
    ROW("notifications/resources/updated", NOTIFICATION, SERVER),
    ROW("notifications/resources/list_changed", NOTIFICATION, SERVER),
    ROW("notifications/tools/list_changed", NOTIFICATION, SERVER),
    ROW("notifications/prompts/list_changed", NOTIFICATION, SERVER),
    ROW("notifications/elicitation/complete", NOTIFICATION, SERVER),
    ROW("notifications/subscriptions/acknowledged", NOTIFICATION, SERVER),
    /* names for what has no method (mcp-wire.md) */
    ROW("stream/open", PSEUDO, AGENT),
    ROW("session/end", PSEUDO, AGENT),
    ROW("response", PSEUDO, AGENT),
    ROW("stream/message", PSEUDO, SERVER),
    ROW("pass", PSEUDO, AGENT),
};

static const struct method *find(struct span name)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (span_equals(methods[i].name, name))
            return &methods[i];
    return NULL;
}

bool mcp_method_may_come(struct span name, bool from_server)
{
    const struct method *method = find(name);

    return method == NULL || (method->kind != KIND_PSEUDO && (from_server ? method->from_server : method->from_agent));
}

bool mcp_method_takes(struct span name, struct span member)
{
    const struct method *method = find(name);
    struct span rest = method != NULL && method->members != NULL ? span_text(method->members) : SPAN_NONE;

    if (rest.at == NULL || span_is(member, "_meta"))
        return true;
    while (rest.len > 0)
        if (span_equals(span_cut(rest, ' ', &rest), member) && member.len > 0)
            return true;
    return false;
}

bool mcp_method_needs_id(struct span name)
{
    const struct method *method = find(name);

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
