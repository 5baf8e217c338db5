/* SPDX-License-Identifier: Apache-2.0 */
/* 15.7: any bytes as what a client says to a hook, and any bytes as what a hook asks. A question that is made of what a client said is
 * read by the gate as a question of that tool, or refused; what a client hears of a denial is one line of JSON. The first byte chooses
 * the client. */
#include "base/bug.h"
#include "hook/client.h"
#include "mcp/dialect.h"

#define CAP_BYTES ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Reads it as the gate does, twice. Takes: canon: empty; what `message` names stands there. Returns: whether it is a question. */
static bool ask(struct span body, struct buf *canon, struct mcp_message *message, struct arena *arena)
{
    static const struct mcp_read_rules rules;
    struct mcp_message again = {.kind = MCP_NONE};
    struct json_fault fault;
    struct buf second;
    bool is_read;

    *message = again;
    buf_init(&second, CAP_BYTES);
    BUG_ON(dialect_hook.open(HTTP_METHOD_POST, SPAN_NONE, message) != REASON_UNSET);
    is_read = dialect_hook.read(body, &rules, canon, arena, message, &fault) == REASON_PERMITTED;
    if (is_read) {
        BUG_ON(dialect_hook.open(HTTP_METHOD_POST, SPAN_NONE, &again) != REASON_UNSET);
        BUG_ON(dialect_hook.read(buf_peek(canon), &rules, &second, arena, &again, &fault) != REASON_PERMITTED);
        BUG_ON(!span_equals(buf_peek(canon), buf_peek(&second)) || !span_equals(message->id, again.id));
        BUG_ON((message->kind == MCP_REQUEST) != (message->tool.len > 0));
    }
    buf_fini(&second);
    return is_read && message->kind == MCP_REQUEST;
}

static void deny(const struct hook_client *client, struct span text)
{
    struct json_fault fault;
    struct buf out, canon;

    buf_init(&out, CAP_BYTES);
    buf_init(&canon, CAP_BYTES);
    BUG_ON(hook_deny(client, text, &out) != CODE_OK || buf_peek(&out).at[buf_len(&out) - 1] != '\n');
    BUG_ON(json_read(buf_peek(&out), &json_file_rules, &canon, NULL, NULL, &fault) != CODE_OK);
    buf_fini(&canon);
    buf_fini(&out);
}

static void say(const struct hook_client *client, const struct json_node *root, struct arena *arena)
{
    struct mcp_message message;
    struct hook_said said;
    struct why why = {""};
    struct buf out, canon;

    buf_init(&out, CAP_BYTES);
    buf_init(&canon, CAP_BYTES);
    if (hook_read(root, &client, &said, &why) != CODE_OK) {
        BUG_ON(why.text[0] == '\0');
        deny(client, span_text(why.text));
    } else if (hook_question(&said, &out) == CODE_OK && ask(buf_peek(&out), &canon, &message, arena)) {
        struct span tool = message.tool;

        BUG_ON(said.event != HOOK_ASKS);
        if (said.is_servers) {
            BUG_ON(!span_starts_with(tool, SPAN_LIT("MCP:")));
            tool = span_part(tool, 4, SIZE_MAX);
        }
        BUG_ON(!span_equals(tool, said.tool) || (message.id.len > 0) != (said.id != NULL));
        deny(client, said.tool);
    }
    buf_fini(&canon);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const char *const names[] = {"claude-code", "codex", "cursor"};
    struct span text = span_of(bytes, len);
    const struct json_node *root;
    struct mcp_message message;
    struct json_fault fault;
    struct arena arena;
    struct buf canon;

    if (len == 0 || len > 1u << 20)
        return 0;
    text = span_part(text, 1, SIZE_MAX);
    arena_init(&arena, 8 * CAP_BYTES);
    buf_init(&canon, CAP_BYTES);
    if (json_read(text, &json_file_rules, &canon, &arena, &root, &fault) == CODE_OK)
        say(hook_client_find(names[bytes[0] % 3]), root, &arena);
    buf_clear(&canon);
    (void)ask(text, &canon, &message, &arena);
    buf_fini(&canon);
    arena_fini(&arena);
    return 0;
}
