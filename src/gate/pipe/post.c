/* SPDX-License-Identifier: Apache-2.0 */
#include "pipe/agent_priv.h"

#include "base/mem.h"
#include "crypto/digest.h"
#include "http/writer.h"
#include "json/text.h"
#include "mcp/method.h"

#define META_VERSION SPAN_LIT("io.modelcontextprotocol/protocolVersion")

struct post *post__new(enum http_method method)
{
    struct post *post = mem_zalloc(sizeof *post);

    if (post == NULL)
        return NULL;
    post->method = method;
    buf_init(&post->text, SIZE_MAX / 2);
    buf_init(&post->version, 1024);
    buf_init(&post->name, SIZE_MAX / 2);
    return post;
}

void post__free(struct post **post)
{
    if (*post == NULL)
        return;
    list_remove(&(*post)->queued);
    buf_fini(&(*post)->text);
    buf_fini(&(*post)->version);
    buf_fini(&(*post)->name);
    mem_free(*post);
    *post = NULL;
}

/* Writes a header's value: text that is not visible ASCII goes in base64. */
static enum code write_value(struct span text, struct buf *out)
{
    if (http_value_is_writable(text) && !span_starts_with(text, SPAN_LIT("=?")))
        return buf_add_span(out, text);
    buf_add_text(out, "=?base64?");
    base64_encode(text, out);
    return buf_add_text(out, "?=");
}

/* Reads what a request of 2026-07-28 repeats in its head, where the gate compares it with the body. */
static enum code read_modern(struct post *post)
{
    const struct json_node *version, *value;
    struct json_text again;
    struct span member;
    enum code code = json_text_read(&again, buf_peek(&post->text), &json_reply_rules, SIZE_MAX / 2);

    if (code == CODE_OK) {
        version = json_member(json_at(again.root, "params", "_meta", NULL), META_VERSION);
        member = mcp_method_mirrored(post->rpc_method);
        value = !span_is_empty(member) ? json_member(json_at(again.root, "params", NULL), member) : NULL;
        if (version != NULL && version->type == JSON_STRING)
            code = write_value(version->text, &post->version);
        if (code == CODE_OK && value != NULL && value->type == JSON_STRING)
            code = write_value(value->text, &post->name);
        if (code != CODE_OK) /* a version that cannot be a header's value: the gate finds the header missing, and says so */
            buf_clear(&post->version);
    }
    json_text_fini(&again);
    return code;
}

static void take_places(struct post *post, const struct line *line)
{
    struct span text = buf_peek(&post->text), quoted = line_text(text, line->method);

    post->kind = line->kind;
    post->rpc_method = quoted.len > 2 ? span_part(quoted, 1, quoted.len - 2) : SPAN_NONE;
    if (line->kind == LINE_REQUEST)
        post->id = line_text(text, line->id);
    post->is_modern = line->is_modern;
    post->is_initialize = line->kind == LINE_REQUEST && span_is(post->rpc_method, "initialize");
    post->is_initialized = span_is(post->rpc_method, "notifications/initialized");
    post->is_cancel = line->kind == LINE_NOTIFICATION && span_is(post->rpc_method, "notifications/cancelled");
    if (post->is_cancel)
        post->cancels = line_text(text, line->cancels);
}

struct post *post__of_line(struct span text)
{
    struct post *post = post__new(HTTP_METHOD_POST);
    struct line line;
    enum code code;

    if (post == NULL)
        return NULL;
    code = line_read(text, &post->text, &line);
    if (code == CODE_OK) {
        take_places(post, &line);
        code = post->is_modern ? read_modern(post) : CODE_OK;
    } else if (code != CODE_NOMEM) {
        buf_clear(&post->text);
        code = buf_add_span(&post->text, text); /* the gate sees what came, and says what is wrong with it */
    }
    if (code == CODE_NOMEM)
        post__free(&post);
    return post;
}

struct post *post__too_long(const struct skim *skim, uint64_t bytes)
{
    struct post *post = post__new(HTTP_METHOD_POST);
    struct span id = skim->members == 1 ? skim_id(skim) : SPAN_NONE;

    if (post == NULL)
        return NULL;
    post->withheld = bytes;
    if (skim->members == 1 && (span_is_empty(id) || !skim->has_method))
        post->kind = skim->has_method ? LINE_NOTIFICATION : LINE_RESPONSE;
    else if (!span_is_empty(id))
        post->kind = LINE_REQUEST;
    if (buf_add_span(&post->text, id) != CODE_OK)
        post__free(&post);
    else if (post->kind == LINE_REQUEST)
        post->id = buf_peek(&post->text);
    return post;
}

static void write_head(const struct post *post, const struct pipe_agent *agent, struct buf *out)
{
    bool is_get = post->method == HTTP_METHOD_GET;

    http_write_request(out, post->method, SPAN_LIT("/"), false, SPAN_NONE);
    http_write_line(out, SPAN_LIT("Host: "), SPAN_LIT("pipe"));
    http_write_line(out, SPAN_LIT("Accept: "), is_get ? SPAN_LIT("text/event-stream")
                                                      : SPAN_LIT("application/json, text/event-stream"));
    if (!span_is_empty(agent->conf.key_header))
        http_write_header(out, agent->conf.key_header, agent->conf.key);
}

/* Writes the headers that name session and revision. */
static void write_era(const struct post *post, const struct pipe_agent *agent, struct buf *out)
{
    if (post->is_modern) {
        if (!buf_is_empty(&post->version))
            http_write_line(out, SPAN_LIT("MCP-Protocol-Version: "), buf_peek(&post->version));
        if (http_value_is_writable(post->rpc_method)) /* another method does not exist, and the gate says so */
            http_write_line(out, SPAN_LIT("Mcp-Method: "), post->rpc_method);
        if (!buf_is_empty(&post->name))
            http_write_line(out, SPAN_LIT("Mcp-Name: "), buf_peek(&post->name));
        return;
    }
    if (!buf_is_empty(&agent->session) && !post->is_initialize)
        http_write_line(out, SPAN_LIT("Mcp-Session-Id: "), buf_peek(&agent->session));
    if (!buf_is_empty(&agent->version) && !post->is_initialize)
        http_write_line(out, SPAN_LIT("MCP-Protocol-Version: "), buf_peek(&agent->version));
}

enum code post__write(const struct post *post, const struct pipe_agent *agent, struct buf *out)
{
    write_head(post, agent, out);
    write_era(post, agent, out);
    if (post->method == HTTP_METHOD_POST) {
        http_write_line(out, SPAN_LIT("Content-Type: "), SPAN_LIT("application/json"));
        http_write_line_u64(out, SPAN_LIT("Callgate-Line: "), post->number);
        http_write_line_u64(out, SPAN_LIT("Content-Length: "), post->withheld > 0 ? post->withheld : buf_len(&post->text));
    }
    if (post->withheld > 0) /* the gate refuses it by its head, and records that */
        http_write_line(out, SPAN_LIT("Expect: "), SPAN_LIT("100-continue"));
    http_write_head_end(out);
    return post->withheld > 0 ? buf_code(out) : buf_add_span(out, buf_peek(&post->text));
}
