/* SPDX-License-Identifier: Apache-2.0 */
/* 5.3: requests and answers of 2026-07-28 over any bytes: a request, a zero byte, an answer to it. A request that is taken goes
 * on canonical, and the headers that are written from it agree with it. Of an answer that goes on all requests were found, and
 * its state comes back with the same request, with no other. */
#include "base/bug.h"
#include "mcp/message.h"
#include "mcp/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define CAP_BYTES (16u << 20)

static const unsigned char key[MCP_SESSION_KEY_BYTES];
static const struct mcp_binding ours = {key, {{"r", 1}, {"t", 1}, {"p", 1}, {NULL, 0}, {NULL, 0}}};
static const struct mcp_binding theirs = {key, {{"r", 1}, {"t", 1}, {"q", 1}, {NULL, 0}, {NULL, 0}}};

struct asked {
    struct buf canonical, method, name;
    struct arena arena;
    struct mcp_message message;
    struct mcp_read_rules rules;
    enum reason reason;
};

static enum reason read_again(struct asked *asked, struct span body)
{
    struct json_fault fault;

    buf_clear(&asked->canonical);
    return mcp_read(body, &asked->rules, &asked->canonical, &asked->arena, &asked->message, &fault);
}

/* With the headers that its body calls for. */
static void read_request(struct asked *asked, struct span body, const struct mcp_binding *binding)
{
    *asked = (struct asked){.rules = {.binding = binding}};
    buf_init(&asked->canonical, CAP_BYTES);
    buf_init(&asked->method, CAP_BYTES);
    buf_init(&asked->name, CAP_BYTES);
    arena_init(&asked->arena, CAP_BYTES);
    asked->reason = read_again(asked, body);
    if (asked->reason != REASON_HEADER_MISMATCH || !asked->message.is_modern)
        return;
    BUG_ON(mcp_mirror(&asked->message, SPAN_LIT("Mcp-Method"), &asked->method) != CODE_OK);
    asked->rules.mcp_method = buf_peek(&asked->method);
    if (mcp_mirror(&asked->message, SPAN_LIT("Mcp-Name"), &asked->name) == CODE_OK)
        asked->rules.mcp_name = buf_is_empty(&asked->name) ? SPAN_LIT("") : buf_peek(&asked->name);
    asked->rules.version = SPAN_LIT("2026-07-28");
    asked->reason = read_again(asked, body);
}

static void end_request(struct asked *asked)
{
    buf_fini(&asked->canonical);
    buf_fini(&asked->method);
    buf_fini(&asked->name);
    arena_fini(&asked->arena);
}

/* The request once more, with the state that the agent got. Returns: how it is read. */
static enum reason retry(const struct asked *first, struct span state, const struct mcp_binding *binding, struct span *unsealed)
{
    struct asked again = {.rules = first->rules};
    enum reason reason;
    struct buf body;
    char *kept;

    buf_init(&body, CAP_BYTES);
    buf_init(&again.canonical, CAP_BYTES);
    arena_init(&again.arena, 2 * CAP_BYTES);
    BUG_ON(buf_addf(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%.*s\",\"params\":{\"requestState\":%.*s",
                    SPAN_ARG(first->message.method), SPAN_ARG(state)) != CODE_OK);
    for (const struct json_node *node = first->message.params->child; node != NULL; node = node->next)
        if (!span_is(node->key, "requestState"))
            BUG_ON(buf_add_byte(&body, ',') != CODE_OK || json_write_string(&body, node->key) != CODE_OK ||
                   buf_add_byte(&body, ':') != CODE_OK || buf_add_span(&body, node->raw) != CODE_OK);
    BUG_ON(buf_add_text(&body, "}}") != CODE_OK);
    again.rules.binding = binding;
    reason = read_again(&again, buf_peek(&body));
    if (reason == REASON_PERMITTED) {
        struct span raw = json_member(again.message.params, SPAN_LIT("requestState"))->raw;

        kept = arena_dup(&((struct asked *)(uintptr_t)first)->arena, raw.at, raw.len);
        BUG_ON(kept == NULL);
        *unsealed = span_of(kept, raw.len);
    }
    buf_fini(&body);
    buf_fini(&again.canonical);
    arena_fini(&again.arena);
    return reason;
}

static void check_state(const struct asked *asked, struct span sent, const struct json_node *result)
{
    const struct json_node *state = json_member(result, SPAN_LIT("requestState"));
    struct span unsealed = SPAN_NONE;

    if (state == NULL)
        return;
    BUG_ON(state->type != JSON_STRING || state->text.len < 44);
    BUG_ON(retry(asked, state->raw, &ours, &unsealed) != REASON_PERMITTED);
    BUG_ON(unsealed.len + 44 != state->raw.len || memcmp(unsealed.at + 1, state->raw.at + 45, unsealed.len - 1) != 0);
    BUG_ON(retry(asked, state->raw, &theirs, &unsealed) != REASON_STATE_FOREIGN);
    (void)sent;
}

static void read_reply(const struct asked *asked, struct span data, enum mcp_treatment treatment)
{
    static const char *const revisions[] = {"2025-11-25", "2026-07-28", NULL};
    const struct mcp_reply_rules rules = {.request_method = asked->message.method, .request = &asked->message, .binding = &ours,
                                          .revisions = revisions,
                                          .deceptive = {treatment, treatment, treatment, treatment, treatment}};
    const struct json_node *root, *result;
    struct json_fault fault;
    struct mcp_reply reply;
    struct arena arena;
    struct buf out, copy;

    buf_init(&out, CAP_BYTES);
    buf_init(&copy, CAP_BYTES);
    arena_init(&arena, 64 * CAP_BYTES);
    if (mcp_reply_read(data, &rules, &out, &arena, &reply, &fault) == REASON_PERMITTED &&
        json_read(reply.body, &json_reply_rules, &copy, &arena, &root, &fault) == CODE_OK) {
        result = json_member(root, reply.kind == MCP_RESPONSE ? SPAN_LIT("result") : SPAN_LIT("params"));
        result = result != NULL && result->type == JSON_OBJECT ? result : NULL;
        BUG_ON(json_member(result, SPAN_LIT("inputRequests")) != NULL && reply.asks == NULL &&
               json_member(result, SPAN_LIT("inputRequests"))->count != 0);
        if (reply.kind == MCP_RESPONSE)
            check_state(asked, data, result);
        if (span_is(asked->message.method, "tools/list") && reply.kind == MCP_RESPONSE && !reply.is_error &&
            json_member(result, SPAN_LIT("cacheScope")) != NULL && json_member(result, SPAN_LIT("cacheScope"))->type == JSON_STRING)
            BUG_ON(!span_is(json_member(result, SPAN_LIT("cacheScope"))->text, "private"));
    }
    buf_fini(&out);
    buf_fini(&copy);
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span all = span_of(bytes, len);
    size_t at = span_find(all, '\0');
    struct asked asked;

    if (len == 0 || len > 1u << 20)
        return 0;
    read_request(&asked, span_part(all, 0, at), &ours);
    if (asked.reason == REASON_PERMITTED && asked.message.is_modern && asked.message.kind == MCP_REQUEST) {
        BUG_ON(asked.message.asked_version.len == 0 || mcp_method_era(asked.message.of) == MCP_ERA_OLD);
        BUG_ON(json_member(asked.message.params, SPAN_LIT("requestState")) != NULL); /* nobody sealed it */
        read_reply(&asked, span_part(all, at + 1, SIZE_MAX), MCP_PASS);
        read_reply(&asked, span_part(all, at + 1, SIZE_MAX), MCP_STRIP);
    }
    end_request(&asked);
    return 0;
}
