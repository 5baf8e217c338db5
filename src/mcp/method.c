/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/method.h"

const char *const mcp_revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", NULL};

enum kind { KIND_REQUEST, KIND_NOTIFICATION, KIND_PSEUDO };

struct method {
    struct span name;
    enum kind kind;
    bool from_agent;
    bool from_server;
};

#define AGENT true, false
#define SERVER false, true
#define BOTH true, true
#define ROW(name, kind, who) {{"" name, sizeof(name) - 1}, KIND_##kind, who}

static const struct method methods[] = {
    ROW("initialize", REQUEST, AGENT),
    ROW("ping", REQUEST, BOTH),
    ROW("server/discover", REQUEST, AGENT),
    ROW("tools/list", REQUEST, AGENT),
    ROW("tools/call", REQUEST, AGENT),
    ROW("resources/list", REQUEST, AGENT),
    ROW("resources/templates/list", REQUEST, AGENT),
    ROW("resources/read", REQUEST, AGENT),
    ROW("resources/subscribe", REQUEST, AGENT),
    ROW("resources/unsubscribe", REQUEST, AGENT),
    ROW("subscriptions/listen", REQUEST, AGENT),
    ROW("prompts/list", REQUEST, AGENT),
    ROW("prompts/get", REQUEST, AGENT),
    ROW("completion/complete", REQUEST, AGENT),
    ROW("logging/setLevel", REQUEST, AGENT),
    ROW("tasks/get", REQUEST, BOTH),
    ROW("tasks/result", REQUEST, BOTH),
    ROW("tasks/list", REQUEST, BOTH),
    ROW("tasks/cancel", REQUEST, BOTH),
    ROW("tasks/update", REQUEST, AGENT),
    ROW("sampling/createMessage", REQUEST, SERVER),
    ROW("elicitation/create", REQUEST, SERVER),
    ROW("roots/list", REQUEST, SERVER),
    ROW("notifications/initialized", NOTIFICATION, AGENT),
    ROW("notifications/roots/list_changed", NOTIFICATION, AGENT),
    ROW("notifications/cancelled", NOTIFICATION, BOTH),
    ROW("notifications/progress", NOTIFICATION, BOTH),
    ROW("notifications/tasks/status", NOTIFICATION, BOTH),
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
