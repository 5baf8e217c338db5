/* SPDX-License-Identifier: Apache-2.0 */
#include "setup/lister.h"

#define PAGES_MAX 50

const struct lister_offer lister_offers[LISTER_OFFERS] = {
    {"resources", "resources/list, resources/templates/list, resources/read, resources/subscribe, resources/unsubscribe, "
                  "subscriptions/listen"},
    {"prompts", "prompts/list, prompts/get"},
    {"completions", "completion/complete"},
    {"logging", "logging/setLevel"},
};

static enum code ask(struct lister *lister, struct span message, const struct json_node **answer, struct why *why)
{
    return lister->command != NULL ? init_command_ask(lister->command, message, answer, why)
                                   : dialogue_post(lister->dialogue, message, answer, why);
}

/* Of the answer to `initialize` or `server/discover`. */
static void note_offers(struct lister *lister, const struct json_node *answer)
{
    for (size_t i = 0; i < LISTER_OFFERS; i++)
        lister->is_offered[i] = json_at(answer, "result", "capabilities", lister_offers[i].capability, NULL) != NULL;
}

static enum code greet(struct lister *lister, struct why *why)
{
    const struct json_node *answer, *version;
    enum code code = ask(lister, SPAN_LIT(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","
        "\"capabilities\":{},\"clientInfo\":{\"name\":\"callgate\",\"version\":\"" CALLGATE_VERSION "\"}}}"), &answer, why);

    if (code != CODE_OK)
        return code;
    version = json_at(answer, "result", "protocolVersion", NULL);
    if (version == NULL || version->type != JSON_STRING)
        return why_set(why, CODE_INVALID, "the server names no protocolVersion; is this an MCP server's?");
    code = lister->dialogue != NULL ? buf_add_span(&lister->dialogue->revision, version->text) : CODE_OK;
    note_offers(lister, answer);
    if (code == CODE_OK)
        code = ask(lister, SPAN_LIT("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"), NULL, why);
    return code;
}

#define MODERN "2026-07-28"
#define MODERN_META \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\",\"io.modelcontextprotocol/clientCapabilities\":{}," \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"callgate\",\"version\":\"" CALLGATE_VERSION "\"}}"

/* Whoever refuses `initialize` may know only revisions without it. */
static enum code discover(struct lister *lister, struct why *why)
{
    const struct json_node *answer;
    enum code code = CODE_OK;

    if (lister->dialogue != NULL) {
        buf_clear(&lister->dialogue->session);
        code = buf_add_text(&lister->dialogue->revision, MODERN);
        lister->dialogue->method = "server/discover";
    }
    if (code == CODE_OK)
        code = ask(lister, SPAN_LIT("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" MODERN_META
                                    "}}"), &answer, why);
    lister->is_modern = code == CODE_OK;
    if (lister->is_modern)
        note_offers(lister, answer);
    if (lister->dialogue != NULL)
        lister->dialogue->method = lister->is_modern ? "tools/list" : NULL;
    if (lister->dialogue != NULL && !lister->is_modern)
        buf_clear(&lister->dialogue->revision);
    return code;
}

/* Returns: in *cursor the canonical JSON of the next page's cursor, empty after the last. */
static enum code ask_page(struct lister *lister, struct buf *cursor, struct why *why)
{
    const struct json_node *answer, *tools, *next;
    bool has_cursor = !buf_is_empty(cursor);
    struct buf message;
    enum code code;

    buf_init(&message, 65536);
    code = buf_addf(&message, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{%s%.*s%s%s}}",
                    has_cursor ? "\"cursor\":" : "", SPAN_ARG(buf_peek(cursor)), has_cursor && lister->is_modern ? "," : "",
                    lister->is_modern ? MODERN_META : "");
    if (code == CODE_OK)
        code = ask(lister, buf_peek(&message), &answer, why);
    buf_fini(&message);
    if (code != CODE_OK)
        return code;
    buf_clear(cursor);
    tools = json_at(answer, "result", "tools", NULL);
    if (tools == NULL || tools->type != JSON_ARRAY)
        return why_set(why, CODE_INVALID, "the server's tools/list holds no list of tools");
    for (const struct json_node *tool = tools->child; tool != NULL && code == CODE_OK; tool = tool->next)
        code = lister->each(lister->context, tool);
    next = json_at(answer, "result", "nextCursor", NULL);
    if (code == CODE_OK && next != NULL && next->type == JSON_STRING)
        code = buf_add_span(cursor, next->raw);
    return code;
}

enum code lister_ask(struct lister *lister, struct why *why)
{
    struct why other;
    struct buf cursor;
    enum code code = greet(lister, why);

    if ((code == CODE_IO || code == CODE_INVALID) && discover(lister, &other) == CODE_OK)
        code = CODE_OK; /* else what the server says to `initialize` is what is told */
    buf_init(&cursor, 16384);
    for (int page = 0; code == CODE_OK && page < PAGES_MAX; page++) {
        code = ask_page(lister, &cursor, why);
        if (buf_is_empty(&cursor))
            break;
    }
    buf_fini(&cursor);
    return code;
}

/* What a server of HTTP+SSE says to a POST where its stream is. */
static bool is_refused(int status)
{
    return status == 400 || status == 404 || status == 405;
}

enum code lister_ask_any(struct lister *lister, bool *is_old, struct why *why)
{
    struct why other = {0};
    enum code code = lister_ask(lister, why);

    *is_old = false;
    if (code == CODE_OK || !is_refused(lister->dialogue->status))
        return code;
    if (dialogue_open(lister->dialogue, &other) != CODE_OK)
        return code; /* what was wrong before is what is told */
    *is_old = true;
    return lister_ask(lister, why);
}
