/* SPDX-License-Identifier: Apache-2.0 */
/* 5.5: all that some revision of MCP, or the gate for what has no method, calls a message; and who says it.
 *
 * Threads: any; a constant table.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: none. */
#ifndef TESTS_METHODS_H
#define TESTS_METHODS_H

/* X(name, whether an agent sends it, whether a server does, whether it needs an id) */
#define METHODS(X) \
    X("initialize", 1, 0, 1) X("server/discover", 1, 0, 1) X("ping", 1, 1, 1) \
    X("tools/list", 1, 0, 1) X("tools/call", 1, 0, 1) \
    X("prompts/list", 1, 0, 1) X("prompts/get", 1, 0, 1) \
    X("resources/list", 1, 0, 1) X("resources/templates/list", 1, 0, 1) X("resources/read", 1, 0, 1) \
    X("resources/subscribe", 1, 0, 1) X("resources/unsubscribe", 1, 0, 1) X("subscriptions/listen", 1, 0, 1) \
    X("completion/complete", 1, 0, 1) X("logging/setLevel", 1, 0, 1) \
    X("tasks/get", 1, 1, 1) X("tasks/result", 1, 1, 1) X("tasks/list", 1, 1, 1) X("tasks/cancel", 1, 1, 1) \
    X("tasks/update", 1, 0, 1) \
    X("sampling/createMessage", 0, 1, 1) X("elicitation/create", 0, 1, 1) X("roots/list", 0, 1, 1) \
    X("notifications/initialized", 1, 0, 0) X("notifications/roots/list_changed", 1, 0, 0) \
    X("notifications/cancelled", 1, 1, 0) X("notifications/progress", 1, 1, 0) X("notifications/tasks/status", 1, 1, 0) \
    X("notifications/tasks", 0, 1, 0) X("notifications/message", 0, 1, 0) X("notifications/resources/updated", 0, 1, 0) \
    X("notifications/resources/list_changed", 0, 1, 0) X("notifications/tools/list_changed", 0, 1, 0) \
    X("notifications/prompts/list_changed", 0, 1, 0) X("notifications/elicitation/complete", 0, 1, 0) \
    X("notifications/subscriptions/acknowledged", 0, 1, 0) \
    X("stream/open", 0, 0, 0) X("stream/message", 0, 0, 0) X("session/end", 0, 0, 0) X("response", 0, 0, 0)

#endif
