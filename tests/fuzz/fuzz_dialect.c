/* SPDX-License-Identifier: Apache-2.0 */
/* 5.7, 5.10: dialects whose request and answer are one JSON document each, both directions over any bytes. What is read is
 * canonical and reads the same again; each denial is good JSON; an answer that goes on goes on unchanged the second time, and tells
 * of no tool that is not kept. The first byte chooses dialect and question; a path stands before a line's end. */
#include "base/bug.h"
#include "mcp/dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define CAP_BYTES (16u << 20)

static void deny(const struct dialect *dialect, const struct mcp_message *message, enum reason reason)
{
    const struct mcp_denial denial = {.reason = reason, .decision = 3, .say = SPAN_LIT("\xff\""), .retry_after_s = 5};
    struct json_fault fault;
    struct buf out, canon;
    enum mcp_form form;
    int status = dialect->denial_status(message, &denial);

    buf_init(&out, CAP_BYTES);
    buf_init(&canon, CAP_BYTES);
    BUG_ON(status < 200 || status > 599);
    BUG_ON(dialect->denial_write(message, &denial, &out, &form) != CODE_OK || form != MCP_FORM_JSON);
    BUG_ON(json_read(buf_peek(&out), &json_file_rules, &canon, NULL, NULL, &fault) != CODE_OK);
    BUG_ON(!span_equals(buf_peek(&canon), buf_peek(&out)));
    buf_fini(&out);
    buf_fini(&canon);
}

/* What goes up below the upstream's path is what was judged, and what came. */
static void check_path(const struct dialect *dialect, const struct mcp_message *message, struct span path)
{
    struct buf out;

    if (dialect->write_path == NULL)
        return;
    buf_init(&out, CAP_BYTES);
    BUG_ON(dialect->write_path(message, &out) != CODE_OK || !span_equals(buf_peek(&out), path));
    buf_fini(&out);
}

static void read_request(const struct dialect *dialect, enum http_method verb, struct span path, struct span body)
{
    static const struct mcp_read_rules rules;
    struct mcp_message message = {.kind = MCP_NONE}, again = message;
    struct buf canon, second;
    struct json_fault fault;
    struct arena arena;
    enum reason reason = dialect->open(verb, path, &message);

    buf_init(&canon, CAP_BYTES);
    buf_init(&second, CAP_BYTES);
    arena_init(&arena, 4 * CAP_BYTES);
    if (reason == REASON_UNSET && verb == HTTP_METHOD_POST)
        reason = dialect->read(body, &rules, &canon, &arena, &message, &fault);
    if (reason == REASON_PERMITTED) {
        BUG_ON(dialect->open(verb, path, &again) != REASON_UNSET);
        BUG_ON(dialect->read(buf_peek(&canon), &rules, &second, &arena, &again, &fault) != REASON_PERMITTED);
        BUG_ON(!span_equals(buf_peek(&canon), buf_peek(&second)) || !span_equals(message.tool, again.tool));
    }
    if (reason == REASON_PERMITTED || reason == REASON_UNSET) {
        BUG_ON(message.kind != MCP_REQUEST || message.method.len == 0);
        BUG_ON(span_is(message.method, "tools/call") != (message.tool.len > 0));
        check_path(dialect, &message, path);
        reason = REASON_NO_RULE;
    }
    deny(dialect, &message, reason);
    buf_fini(&canon);
    buf_fini(&second);
    arena_fini(&arena);
}

static bool keep_short(void *context, struct span method, struct span target, bool is_template)
{
    (void)context;
    BUG_ON(!span_is(method, "tools/call") || is_template);
    return target.len < 3;
}

static void read_reply(const struct dialect *dialect, struct span data, unsigned choice)
{
    static const char *const methods[] = {"tools/list", "tools/list", "tools/call", "ping"};
    const enum mcp_treatment treatment = (enum mcp_treatment)(choice >> 3 & 3 ? (choice >> 3 & 3) - 1 : MCP_PASS);
    const struct mcp_reply_rules rules = {
        .request_method = span_text(methods[choice & 3]), .request_target = (choice & 3) != 0 ? SPAN_LIT("ab") : SPAN_NONE,
        .is_failure = (choice & 32) != 0, .keep = keep_short,
        .deceptive = {treatment, treatment, treatment, treatment, treatment}};
    struct json_fault fault = {.text = NULL};
    struct mcp_reply reply, again;
    struct buf out, second;
    struct arena arena;

    buf_init(&out, CAP_BYTES);
    buf_init(&second, CAP_BYTES);
    arena_init(&arena, CAP_BYTES);
    if (dialect->reply_read(data, &rules, &out, &arena, &reply, &fault) == REASON_PERMITTED) {
        BUG_ON(reply.kind != MCP_RESPONSE || !span_equals(reply.body, buf_peek(&out)));
        BUG_ON(dialect->reply_read(reply.body, &rules, &second, &arena, &again, &fault) != REASON_PERMITTED);
        BUG_ON(!span_equals(reply.body, again.body) || again.removed != 0 || again.stripped != 0);
    } else {
        BUG_ON(buf_len(&out) != 0 || fault.text == NULL);
    }
    buf_fini(&out);
    buf_fini(&second);
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span rest = span_of(len > 0 ? bytes + 1 : bytes, len > 0 ? len - 1 : 0), path;
    const struct dialect *dialect = len > 0 && bytes[0] & 128 ? &dialect_okso : &dialect_octopus;

    if (len == 0 || len > 1u << 20)
        return 0;
    read_reply(dialect, rest, bytes[0]);
    path = span_cut(rest, '\n', &rest);
    read_request(dialect, bytes[0] & 64 ? HTTP_METHOD_GET : HTTP_METHOD_POST, path, rest);
    return 0;
}
