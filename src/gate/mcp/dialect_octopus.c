/* SPDX-License-Identifier: Apache-2.0 */
/* Dialect `octopus`: tools as REST. GET /tools is tools/list, POST /tool/{name}/call is tools/call with the whole body as
 * arguments, GET /health is ping; errors are {error, message, field?, retry_after?} with a status of 400 and above. */
#include "mcp/plain_priv.h"

#include "base/ascii.h"

#define CALL_PREFIX SPAN_LIT("/tool/")
#define CALL_SUFFIX SPAN_LIT("/call")
#define TOOLS_MAX 100
#define ASK_AGAIN_S 60 /* whoever waits for a person's approval */

static const char *const foreign[] = {MCP__PLAIN_FOREIGN, "tool_names", NULL};

/* The whole body is the arguments, so keys that a loose reader takes for one are refused as in `arguments` of mcp. */
static const struct json_rules body_rules = {64, 200000, 4096, JSON_FOLD_ROOT, 0};

static bool is_name(struct span name)
{
    return name.len > 0 && name.len <= MCP__NAME_MAX && ascii_is_all(name, "a-z0-9_");
}

static enum reason open_get(struct span path, struct mcp_message *message)
{
    if (span_is(path, "/tools"))
        message->method = SPAN_LIT("tools/list");
    else if (span_is(path, "/health"))
        message->method = SPAN_LIT("ping");
    else
        return REASON_ROUTE_UNKNOWN;
    message->kind = MCP_REQUEST;
    return REASON_UNSET;
}

static enum reason open_call(struct span path, struct mcp_message *message)
{
    struct span name;

    if (!span_starts_with(path, CALL_PREFIX) || !span_ends_with(path, CALL_SUFFIX) ||
        path.len <= CALL_PREFIX.len + CALL_SUFFIX.len)
        return REASON_ROUTE_UNKNOWN;
    name = span_part(path, CALL_PREFIX.len, path.len - CALL_PREFIX.len - CALL_SUFFIX.len);
    message->method = SPAN_LIT("tools/call");
    if (!is_name(name)) {
        message->detail = "A name is 1 to 128 of a-z, 0-9 and _";
        return REASON_TOOL_NAME_INVALID;
    }
    message->tool = message->target = name;
    return REASON_UNSET;
}

static enum reason open_message(enum http_method verb, struct span path, struct mcp_message *message)
{
    struct mcp_message other = {.kind = MCP_NONE};

    switch (verb) {
    case HTTP_METHOD_GET:
        return open_get(path, message) == REASON_UNSET           ? REASON_UNSET
               : open_call(path, &other) != REASON_ROUTE_UNKNOWN ? REASON_HTTP_METHOD
                                                                 : REASON_ROUTE_UNKNOWN;
    case HTTP_METHOD_POST:
        return open_get(path, &other) == REASON_UNSET ? REASON_HTTP_METHOD : open_call(path, message);
    case HTTP_METHOD_NONE:
    case HTTP_METHOD_HEAD:
    case HTTP_METHOD_DELETE:
    case HTTP_METHOD_OPTIONS:
        break;
    }
    return REASON_HTTP_METHOD;
}

static enum reason read_message(struct span body, const struct mcp_read_rules *rules, struct buf *canonical,
                                struct arena *arena, struct mcp_message *message, struct json_fault *fault)
{
    if (json_read(body, &body_rules, canonical, arena, &message->root, fault) != CODE_OK)
        return mcp__reason_of_fault(fault->kind);
    if (message->root->type != JSON_OBJECT)
        return REASON_ARGUMENTS_INVALID;
    message->kind = MCP_REQUEST;
    message->arguments = message->root;
    return mcp__speaks_mcp(rules) ? REASON_HEADER_MISMATCH : REASON_PERMITTED;
}

/* Written from what was judged, not copied from what came. */
static enum code write_path(const struct mcp_message *message, struct buf *out)
{
    if (span_is(message->method, "tools/list"))
        return buf_add_text(out, "/tools");
    if (span_is(message->method, "ping"))
        return buf_add_text(out, "/health");
    buf_add_span(out, CALL_PREFIX);
    buf_add_span(out, message->tool);
    return buf_add_span(out, CALL_SUFFIX);
}

/* ---- saying no ---- */

static int denial_status(const struct mcp_message *message, const struct mcp_denial *denial)
{
    int status = reason_status(denial->reason);

    (void)message;
    return status != 0 ? status : 403;
}

/* A refusal by policy has a word of its own; a fault of the request has the name of its reason. */
static const char *error_of(enum reason reason)
{
    switch (reason_denial(reason)) {
    case DENIAL_NONE:
    case DENIAL_MALFORMED:
        return reason_name(reason);
    case DENIAL_POLICY:
    case DENIAL_APPROVAL:
    case DENIAL_RATE:
    case DENIAL_UNAVAILABLE:
        break;
    }
    return denial_code(reason_denial(reason));
}

static uint64_t retry_after_s(const struct mcp_denial *denial)
{
    if (denial->reason == REASON_APPROVAL_REQUIRED)
        return ASK_AGAIN_S;
    return denial->retry_after_s;
}

static enum code denial_write(const struct mcp_message *message, const struct mcp_denial *denial, struct buf *out,
                              enum mcp_form *form)
{
    uint64_t seconds = retry_after_s(denial);

    (void)message;
    *form = MCP_FORM_JSON;
    buf_addf(out, "{\"error\":\"%s\",\"message\":", error_of(denial->reason));
    mcp__refusal_write(out, denial);
    if (seconds > 0)
        buf_addf(out, ",\"retry_after\":%llu", (unsigned long long)seconds);
    return buf_add_text(out, "}");
}

/* ---- what comes back ---- */

struct failure {
    bool is_call, has_error;
};

/* {error, message, ...}. Who called a tool may be told more; where tools might be listed nothing but words passes. */
static const char *look_at_failure(void *context, const struct json_event *event)
{
    struct failure *failure = context;
    bool is_nest = event->type == JSON_OBJECT || event->type == JSON_ARRAY;

    if (event->depth == 0)
        return event->type == JSON_OBJECT ? NULL : "an error is one object";
    if (event->depth == 1 && span_is(event->key, "error"))
        failure->has_error = event->type == JSON_STRING;
    return is_nest && !failure->is_call ? "an error that holds more than words" : NULL;
}

static enum reason reply_read(struct span data, const struct mcp_reply_rules *rules, struct buf *out, struct arena *arena,
                              struct mcp_reply *reply, struct json_fault *fault)
{
    struct failure failure = {.is_call = span_is(rules->request_method, "tools/call")};
    const struct mcp__plain answer = {.depth = span_is(rules->request_method, "tools/list"), .tools_max = TOOLS_MAX,
                                      .is_name = is_name};
    static const char *const members[] = {"error", "message", NULL};
    const struct mcp__plain error = {.members = members, .look = look_at_failure, .context = &failure};
    enum reason reason = mcp__plain_read(data, rules, rules->is_failure ? &error : &answer, out, arena, reply, fault);

    reply->is_tool_error = failure.has_error;
    return reason;
}

const struct dialect dialect_octopus = {
    .name = "octopus",
    .verbs = "GET, POST",
    .revisions = mcp__plain_revisions,
    .foreign = foreign,
    .is_subtree = true,
    .is_plain = true,
    .tenant_header = "X-Octopus-Tenant-Id",
    .correlation_header = "X-Octopus-Correlation-Id",
    .reply_ms = 30 * 1000,
    .response_bytes = 4000000, /* its clients cut longer ones without a word */
    .open = open_message,
    .read = read_message,
    .write_path = write_path,
    .denial_status = denial_status,
    .denial_write = denial_write,
    .reply_read = reply_read,
};
