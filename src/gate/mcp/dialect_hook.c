/* SPDX-License-Identifier: Apache-2.0 */
/* Dialect `hook`: whether a client may make a call of a tool of its own, which passes no gate. One object asks, {tool,
 * arguments, id, session}; the gate's own answer is {verdict, decision, text}, and nothing goes up. `callgate hook` makes the
 * object of what a client says. What it says afterwards is {report: true, id, session}. */
#include "mcp/plain_priv.h"

static const char *const foreign[] = {MCP__PLAIN_FOREIGN, "definitions", "deceptive", "timeouts", "reply_headers", "audit",
                                      "response", "event", NULL};

static const char *const members[] = {"tool", "arguments", "id", "session", "report", NULL};

static enum reason check_members(struct mcp_message *message)
{
    for (const struct json_node *node = message->root->child; node != NULL; node = node->next) {
        size_t i = 0;

        while (members[i] != NULL && !span_is(node->key, members[i]))
            i++;
        if (members[i] != NULL)
            continue;
        message->unknown = node->key;
        return mcp__plain_refuse(message, "A member that no question has");
    }
    return REASON_PERMITTED;
}

/* Reads a name that the client gave, which is its own word: the call's id, or the session's. */
static bool read_name(const struct mcp_message *message, const char *member, const struct json_node **name)
{
    *name = json_member(message->root, span_text(member));
    return *name == NULL || ((*name)->type == JSON_STRING && mcp__id_is_legal(JSON_STRING, (*name)->text));
}

static enum reason read_report(struct mcp_message *message, const struct mcp_read_rules *rules)
{
    const struct json_node *root = message->root;

    if (json_member(root, SPAN_LIT("report"))->type != JSON_TRUE || message->id.len == 0 ||
        json_member(root, SPAN_LIT("tool")) != NULL || json_member(root, SPAN_LIT("arguments")) != NULL)
        return mcp__plain_refuse(message, "A report names a call by its id, and nothing of it");
    message->method = SPAN_NONE;
    message->kind = MCP_RESPONSE;
    return mcp__speaks_mcp(rules) ? REASON_HEADER_MISMATCH : REASON_PERMITTED;
}

static enum reason read_message(struct span body, const struct mcp_read_rules *rules, struct buf *canonical,
                                struct arena *arena, struct mcp_message *message, struct json_fault *fault)
{
    const struct json_node *tool, *id, *session;
    enum reason reason = mcp__plain_object(body, canonical, arena, message, fault);

    if (reason == REASON_PERMITTED)
        reason = check_members(message);
    if (reason != REASON_PERMITTED)
        return reason;
    if (!read_name(message, "id", &id) || !read_name(message, "session", &session))
        return mcp__plain_refuse(message, "The names of call and session are texts of 1 to 128 printable characters");
    message->id = id != NULL ? id->raw : SPAN_NONE;
    message->method = SPAN_LIT("tools/call");
    if (json_member(message->root, SPAN_LIT("report")) != NULL)
        return read_report(message, rules);
    tool = json_member(message->root, SPAN_LIT("tool"));
    message->detail = mcp__tool_name_fault(tool != NULL ? tool->text : SPAN_NONE, rules); /* what is no string has no text */
    if (message->detail != NULL)
        return REASON_TOOL_NAME_INVALID;
    message->target = message->tool = tool->text;
    message->arguments = json_member(message->root, SPAN_LIT("arguments"));
    if (message->arguments != NULL && message->arguments->type != JSON_OBJECT)
        return REASON_ARGUMENTS_INVALID;
    message->opens_urls = true; /* whoever reads the sentence can open the page that it names */
    message->kind = MCP_REQUEST;
    return mcp__speaks_mcp(rules) ? REASON_HEADER_MISMATCH : REASON_PERMITTED;
}

static struct span session_of(const struct mcp_message *message)
{
    return json_member_text(message->root, "session");
}

/* ---- the answer ---- */

static int answer_status(const struct mcp_message *message, const struct mcp_denial *denial)
{
    return denial->reason == REASON_PERMITTED ? 200 : mcp__plain_denial_status(message, denial);
}

static const char *verdict_of(enum reason reason)
{
    return reason == REASON_PERMITTED ? "permit" : reason_denial(reason) == DENIAL_APPROVAL ? "hold" : "deny";
}

static enum code answer_write(const struct mcp_message *message, const struct mcp_denial *denial, struct buf *out,
                              enum mcp_form *form)
{
    (void)message;
    *form = MCP_FORM_JSON;
    buf_addf(out, "{\"verdict\":\"%s\",\"decision\":", verdict_of(denial->reason));
    buf_addf(out, denial->decision != 0 ? "%llu" : "null", (unsigned long long)denial->decision);
    if (denial->reason != REASON_PERMITTED) {
        buf_add_text(out, ",\"text\":");
        mcp__refusal_write(out, denial);
    }
    if (denial->console != NULL)
        buf_addf(out, ",\"page\":\"%s/held/%llu\"", denial->console, (unsigned long long)denial->asked);
    return buf_add_byte(out, '}');
}

const struct dialect dialect_hook = {
    .name = "hook",
    .verbs = "POST",
    .revisions = mcp__plain_revisions,
    .foreign = foreign,
    .is_plain = true,
    .is_asked = true,
    .open = mcp__plain_open,
    .read = read_message,
    .session = session_of,
    .denial_status = answer_status,
    .denial_write = answer_write,
};
