/* SPDX-License-Identifier: Apache-2.0 */
/* Dialect `okso`: one object asks, {action, tool, arguments}, and one answers, {type: result, ...} or {type: error, error:
 * {name, category, message}}. list_tools and describe_tool are tools/list, call_tool is tools/call. */
#include "mcp/plain_priv.h"

#define TOOLS_MAX 4096 /* as in one list of mcp */

static const char *const foreign[] = {MCP__PLAIN_FOREIGN, NULL};

/* What each action may say beside itself. */
struct action {
    struct span name;
    const char *method;
    bool takes_tool;
    bool takes_arguments;
};

static const struct action actions[] = {
    {{"list_tools", 10}, "tools/list", false, false},
    {{"describe_tool", 13}, "tools/list", true, false},
    {{"call_tool", 9}, "tools/call", true, true},
};

static const struct action *find_action(const struct json_node *node)
{
    for (size_t i = 0; node != NULL && node->type == JSON_STRING && i < sizeof actions / sizeof actions[0]; i++)
        if (span_equals(node->text, actions[i].name))
            return &actions[i];
    return NULL;
}

static enum reason check_members(struct mcp_message *message, const struct action *action)
{
    for (const struct json_node *node = message->root->child; node != NULL; node = node->next)
        if (!span_is(node->key, "action") && !(action->takes_tool && span_is(node->key, "tool")) &&
            !(action->takes_arguments && span_is(node->key, "arguments"))) {
            message->unknown = node->key;
            return mcp__plain_refuse(message, "A member that the action does not have");
        }
    return REASON_PERMITTED;
}

static enum reason read_action(struct mcp_message *message, const struct action *action, const struct mcp_read_rules *rules)
{
    const struct json_node *tool = json_member(message->root, SPAN_LIT("tool"));
    enum reason reason = check_members(message, action);

    message->method = span_text(action->method);
    if (reason != REASON_PERMITTED)
        return reason;
    if (action->takes_tool) /* whatever is no string has no text */
        message->detail = mcp__tool_name_fault(tool != NULL ? tool->text : SPAN_NONE, rules);
    if (message->detail != NULL)
        return REASON_TOOL_NAME_INVALID;
    message->target = action->takes_tool ? tool->text : SPAN_NONE;
    message->tool = action->takes_arguments ? message->target : SPAN_NONE;
    message->arguments = json_member(message->root, SPAN_LIT("arguments"));
    if (message->arguments != NULL && message->arguments->type != JSON_OBJECT)
        return REASON_ARGUMENTS_INVALID;
    message->kind = MCP_REQUEST;
    return REASON_PERMITTED;
}

static enum reason read_message(struct span body, const struct mcp_read_rules *rules, struct buf *canonical,
                                struct arena *arena, struct mcp_message *message, struct json_fault *fault)
{
    const struct action *action;
    enum reason reason = mcp__plain_object(body, canonical, arena, message, fault);

    if (reason != REASON_PERMITTED)
        return reason;
    action = find_action(json_member(message->root, SPAN_LIT("action")));
    if (action == NULL)
        return mcp__plain_refuse(message, "The action is none of list_tools, describe_tool and call_tool");
    reason = read_action(message, action, rules);
    return reason == REASON_PERMITTED && mcp__speaks_mcp(rules) ? REASON_HEADER_MISMATCH : reason;
}

/* ---- saying no ---- */

static const char *category_of(enum reason reason)
{
    switch (reason_denial(reason)) {
    case DENIAL_POLICY:
    case DENIAL_APPROVAL:
    case DENIAL_RATE:
        return "policy";
    case DENIAL_UNAVAILABLE:
        return "fatal";
    case DENIAL_NONE:
    case DENIAL_MALFORMED:
        break;
    }
    return "usage";
}

static void begin_error(struct buf *out, const char *category)
{
    buf_addf(out, "{\"type\":\"error\",\"error\":{\"name\":\"callgate\",\"category\":\"%s\",\"message\":", category);
}

static enum code denial_write(const struct mcp_message *message, const struct mcp_denial *denial, struct buf *out,
                              enum mcp_form *form)
{
    (void)message;
    *form = MCP_FORM_JSON;
    begin_error(out, category_of(denial->reason));
    mcp__refusal_write(out, denial);
    return buf_add_text(out, "}}");
}

static enum code error_write(const char *text, struct buf *out)
{
    begin_error(out, "fatal");
    json_write_string(out, span_text(text));
    return buf_add_text(out, "}}");
}

/* ---- what comes back ---- */

/* The members of an answer, in the order of their bits. */
static const char *const members[] = {"type", "error", "result", "tool", "tools", NULL};
enum { TYPE = 1, ERROR = 2, RESULT = 4, TOOL = 8, TOOLS = 16 };

struct answer {
    struct span asked; /* the tool that was asked about */
    bool is_call, is_error;
    unsigned has;
};

static const char *look_at_member(struct answer *answer, const struct json_event *event)
{
    unsigned bit = TYPE;

    for (size_t i = 0; members[i] != NULL && !span_is(event->key, members[i]); i++)
        bit <<= 1;
    answer->has |= bit;
    switch (bit) {
    case TYPE:
        answer->is_error = event->type == JSON_STRING && span_is(event->text, "error");
        return answer->is_error || (event->type == JSON_STRING && span_is(event->text, "result"))
                   ? NULL : "type is neither result nor error";
    case ERROR:
        return event->type == JSON_OBJECT ? NULL : "error is not an object";
    case RESULT:
        return event->type == JSON_OBJECT ? NULL : "the result is not an object";
    case TOOL:
        return !answer->is_call || (event->type == JSON_STRING && span_equals(event->text, answer->asked))
                   ? NULL : "the result is another tool's";
    default:
        return NULL;
    }
}

static const char *look(void *context, const struct json_event *event)
{
    struct answer *answer = context;

    if (event->kind == JSON_EVENT_END)
        return NULL;
    if (event->depth == 0)
        return event->type == JSON_OBJECT ? NULL : "an answer is one object";
    if (event->depth == 1)
        return look_at_member(answer, event);
    if ((answer->has & ERROR) == 0)
        return NULL;
    if (!answer->is_call && (event->type == JSON_OBJECT || event->type == JSON_ARRAY))
        return "an error that holds more than words, where tools might be listed";
    /* nobody else's denial may look like ours */
    return json_key_is_like(event->key, SPAN_LIT("name")) && json_key_is_like(span_trim(event->text), SPAN_LIT("callgate"))
               ? "an error that bears the gate's name" : NULL;
}

/* What is wrong with the answer as a whole; NULL: nothing. One that also holds what another kind of answer would could be read
 * in two ways, and tools in it would not be filtered. The answer to a call may name its tool. */
static const char *fault_of(const struct answer *answer)
{
    unsigned body = answer->is_error         ? ERROR
                    : answer->is_call        ? RESULT
                    : answer->asked.len > 0  ? TOOL
                                             : TOOLS;
    unsigned may = TYPE | body | (answer->is_call ? TOOL : 0), all = TYPE | ERROR | RESULT | TOOL | TOOLS;

    if ((answer->has & (TYPE | body)) != (TYPE | body))
        return "`type`, or what it or the request says, is not in the answer";
    return (answer->has & all & ~may) == 0 ? NULL : "the answer holds what only another would";
}

static enum reason reply_read(struct span data, const struct mcp_reply_rules *rules, struct buf *out, struct arena *arena,
                              struct mcp_reply *reply, struct json_fault *fault)
{
    struct answer answer = {.asked = rules->request_target, .is_call = span_is(rules->request_method, "tools/call")};
    bool is_one = !answer.is_call && answer.asked.len > 0;
    const struct mcp__plain plain = {
        .members = members,
        .depth = answer.is_call ? 0 : is_one ? 1 : 2, .member = answer.is_call ? NULL : is_one ? "tool" : "tools",
        .tools_max = TOOLS_MAX, .only = is_one ? answer.asked : SPAN_NONE, .look = look, .context = &answer,
    };
    enum reason reason = mcp__plain_read(data, rules, &plain, out, arena, reply, fault);
    const char *wrong = reason == REASON_PERMITTED ? fault_of(&answer) : NULL;

    reply->is_tool_error = answer.is_error;
    if (wrong == NULL)
        return reason;
    buf_clear(out);
    fault->text = wrong;
    return REASON_UPSTREAM_JSON;
}

const struct dialect dialect_okso = {
    .name = "okso",
    .verbs = "POST",
    .revisions = mcp__plain_revisions,
    .foreign = foreign,
    .is_run_once = true,
    .is_plain = true,
    .open = mcp__plain_open,
    .read = read_message,
    .denial_status = mcp__plain_denial_status,
    .denial_write = denial_write,
    .error_write = error_write,
    .reply_read = reply_read,
};
