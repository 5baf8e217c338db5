/* SPDX-License-Identifier: Apache-2.0 */
/* Both directions over any bytes. An agent's message that is read is canonical and reads the same again; every denial of
 * it is good JSON. An upstream's message that goes on goes on unchanged the second time, and holds nothing that only the
 * gate may say. The first byte chooses the rules. */
#include "base/bug.h"
#include "mcp/batch.h"
#include "mcp/denial.h"
#include "mcp/endpoint.h"
#include "mcp/reply.h"
#include "mcp/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define CAP_BYTES (16u << 20)

static const char *const revisions[] = {"2024-11-05", "2025-06-18", NULL};

static void check_json(struct span text)
{
    struct json_fault fault;
    struct buf canon;

    buf_init(&canon, CAP_BYTES);
    BUG_ON(json_read(text, &json_file_rules, &canon, NULL, NULL, &fault) != CODE_OK);
    BUG_ON(!span_equals(buf_peek(&canon), text));
    buf_fini(&canon);
}

static void deny(const struct mcp_message *message, enum reason reason)
{
    struct mcp_denial denial = {.reason = reason, .revisions = revisions, .decision = 3};
    enum mcp_form form;
    struct buf out;
    int status = mcp_denial_status(message, &denial);

    buf_init(&out, CAP_BYTES);
    BUG_ON(status < 200 || status > 599);
    BUG_ON(mcp_denial_write(message, &denial, &out, &form) != CODE_OK);
    BUG_ON((form == MCP_FORM_NONE) != (buf_len(&out) == 0));
    if (form == MCP_FORM_JSON)
        check_json(buf_peek(&out));
    buf_fini(&out);
}

static bool may_ask(void *context, struct span method)
{
    (void)context;
    return span_is(method, "roots/list");
}

/* What a route declares beside ours. */
static const struct mcp_method declared[] = {
    {{"acme/read", 9}, {"at", 2}, MCP_ABOUT_RESOURCE, MCP_LISTS_RESOURCES, {"files", 5}, {"at", 2}, false}};
static const struct mcp_methods own = {declared, 1};

static void read_request(struct span body, unsigned choice)
{
    static const struct span listed[] = {{"note", 4}};
    const struct mcp_read_rules rules = {.strict_tool_names = !(choice & 1),
                                         .meta = choice >> 6 <= MCP_META_NONE ? (enum mcp_meta)(choice >> 6) : MCP_META_PASS,
                                         .own = &own, .params = listed, .param_count = choice >> 6 > MCP_META_NONE,
                                         .may_ask = choice & 8 ? may_ask : NULL,
                                         .mcp_method = choice & 2 ? SPAN_LIT("tools/call") : SPAN_NONE,
                                         .mcp_name = choice & 4 ? SPAN_LIT("=?base64?ZWNobw==?=") : SPAN_NONE};
    struct mcp_message message, again;
    struct buf canon, second;
    struct json_fault fault;
    struct arena arena;
    enum reason reason;

    buf_init(&canon, CAP_BYTES);
    buf_init(&second, CAP_BYTES);
    arena_init(&arena, CAP_BYTES);
    reason = mcp_read(body, &rules, &canon, &arena, &message, &fault);
    if (reason == REASON_PERMITTED) {
        BUG_ON(message.kind == MCP_NONE);
        BUG_ON(message.kind == MCP_REQUEST && (message.id.len == 0 || message.method.len == 0));
        BUG_ON(span_is(message.method, "tools/call") && message.tool.len == 0);
        BUG_ON(rules.meta == MCP_META_NONE && message.meta != NULL && !message.is_modern);
        BUG_ON(mcp_read(buf_peek(&canon), &rules, &second, &arena, &again, &fault) != REASON_PERMITTED);
        BUG_ON(!span_equals(buf_peek(&canon), buf_peek(&second)));
        (void)mcp_param_header_agrees(&message, SPAN_LIT("a"), SPAN_LIT("=?base64?YQ==?="), body, &arena);
        deny(&message, REASON_NO_RULE);
        deny(&message, REASON_METHOD_UNKNOWN);
        deny(&message, REASON_AUDIT_DOWN);
    } else {
        deny(&message, reason);
    }
    buf_fini(&canon);
    buf_fini(&second);
    arena_fini(&arena);
}

static bool keep_short(void *context, struct span method, struct span target, bool is_template)
{
    (void)context;
    BUG_ON(is_template && !span_is(method, "resources/read"));
    return target.len < 2;
}

static enum code check_meta(void *context, const struct json_event *event)
{
    bool *in_meta = context; /* by depth */

    BUG_ON(event->depth > 0 && in_meta[event->depth - 1] && span_starts_with(event->key, SPAN_LIT("dev.callgate/")));
    if (event->kind == JSON_EVENT_BEGIN)
        in_meta[event->depth] = event->type == JSON_OBJECT && span_is(event->key, "_meta");
    return CODE_OK;
}

static void check_reply(struct span body, const struct mcp_reply_rules *rules)
{
    bool in_meta[130] = {false};
    struct json_fault fault;
    struct mcp_reply reply;
    struct arena arena;
    struct buf out;

    buf_init(&out, CAP_BYTES);
    BUG_ON(json_walk(body, &json_reply_rules, &out, check_meta, in_meta, &fault) != CODE_OK);
    BUG_ON(!span_equals(buf_peek(&out), body));
    buf_clear(&out);
    arena_init(&arena, CAP_BYTES);
    BUG_ON(mcp_reply_read(body, rules, &out, &arena, &reply, &fault) != REASON_PERMITTED);
    BUG_ON(!span_equals(reply.body, body) || reply.removed != 0);
    buf_fini(&out);
    arena_fini(&arena);
}

/* 4.19: what the audit keeps of an answer is its result or error, as it was delivered. */
static void check_result(const struct mcp_reply *reply)
{
    const struct json_node *root, *result;
    struct json_fault fault;
    struct arena arena;
    struct buf out;

    arena_init(&arena, 64 * CAP_BYTES);
    buf_init(&out, CAP_BYTES);
    if (reply->kind == MCP_RESPONSE && json_read(reply->body, &json_reply_rules, &out, &arena, &root, &fault) == CODE_OK) {
        result = json_member(root, reply->is_error ? SPAN_LIT("error") : SPAN_LIT("result"));
        BUG_ON(result == NULL || !span_equals(result->raw, reply->result));
    }
    buf_fini(&out);
    arena_fini(&arena);
}

static bool passes(void *context, struct span method)
{
    (void)context;
    return method.len > 0;
}

static bool wants(void *context)
{
    (void)context;
    return true;
}

/* 11.3: whoever looks into an answer sees what goes on, and no more than that changes. */
static void read_wanted(struct span data, const struct mcp_reply_rules *rules, enum reason wanted, const struct mcp_reply *judged)
{
    struct mcp_reply_rules wanting = *rules;
    const struct json_node *root;
    struct json_fault fault;
    struct mcp_reply reply;
    struct arena arena;
    struct buf out, again;

    wanting.wants = wants;
    buf_init(&out, CAP_BYTES);
    buf_init(&again, CAP_BYTES);
    arena_init(&arena, 64 * CAP_BYTES);
    BUG_ON(mcp_reply_read(data, &wanting, &out, &arena, &reply, &fault) != wanted);
    BUG_ON(wanted == REASON_PERMITTED && !span_equals(reply.body, judged->body));
    if (wanted == REASON_PERMITTED && reply.kind == MCP_RESPONSE) {
        BUG_ON(reply.outcome == NULL || !span_equals(reply.outcome->raw, judged->result));
        BUG_ON(json_read(reply.result, &json_reply_rules, &again, &arena, &root, &fault) != CODE_OK || !json_equal(root, reply.outcome));
    }
    buf_fini(&out);
    buf_fini(&again);
    arena_fini(&arena);
}

/* 6.7: what needs no judgement is read as what does: the same reason, the same bytes. */
static void read_unjudged(struct span data, const struct mcp_reply_rules *rules, enum reason wanted, const struct mcp_reply *judged)
{
    struct mcp_reply_rules passing = *rules;
    struct json_fault fault;
    struct mcp_reply reply;
    struct arena arena;
    struct buf out;

    passing.passes = passes;
    buf_init(&out, CAP_BYTES);
    arena_init(&arena, CAP_BYTES);
    BUG_ON(mcp_reply_read(data, &passing, &out, &arena, &reply, &fault) != wanted);
    BUG_ON(wanted == REASON_PERMITTED && (reply.kind != judged->kind || !span_equals(reply.body, judged->body)));
    BUG_ON(wanted == REASON_PERMITTED && reply.passes != (reply.kind == MCP_NOTIFICATION && data.len < 65536));
    buf_fini(&out);
    arena_fini(&arena);
}

static void read_reply(struct span data, unsigned choice)
{
    static const char *const methods[] = {"tools/list", "initialize", "tools/call", ""};
    const enum mcp_treatment treatment = (enum mcp_treatment)(choice >> 3 & 3 ? (choice >> 3 & 3) - 1 : MCP_PASS);
    const struct mcp_reply_rules rules = {.request_method = span_text(methods[choice & 3]), .revisions = revisions,
                                          .request_id = SPAN_LIT("1"), .lenient = choice >> 5 & 3,
                                          .keep = choice & 4 ? keep_short : NULL,
                                          .deceptive = {treatment, treatment, treatment, treatment, treatment}};
    struct json_fault fault;
    struct mcp_reply reply;
    struct arena arena;
    struct buf out;
    enum reason reason;

    buf_init(&out, CAP_BYTES);
    arena_init(&arena, CAP_BYTES);
    reason = mcp_reply_read(data, &rules, &out, &arena, &reply, &fault);
    read_unjudged(data, &rules, reason, &reply);
    read_wanted(data, &rules, reason, &reply);
    if (reason == REASON_PERMITTED) {
        check_result(&reply);
        check_reply(reply.body, &rules);
    } else if (reason == REASON_VERSION_NEGOTIATED) {
        check_json(reply.body);
    } else {
        BUG_ON(buf_len(&out) != 0);
    }
    buf_fini(&out);
    arena_fini(&arena);
}

/* 5.4: each message of an array is whole: canonical by itself, and the same when it is looked at alone. */
static void check_parts(struct span data)
{
    static struct mcp_part parts[MCP_BATCH_PARTS_MAX], again[MCP_BATCH_PARTS_MAX];
    struct json_fault fault = {0};
    size_t count, one;
    bool is_array;
    struct buf out, second;

    buf_init(&out, CAP_BYTES);
    buf_init(&second, CAP_BYTES);
    if (mcp_batch_split(data, &out, parts, MCP_BATCH_PARTS_MAX, &count, &is_array, &fault) == REASON_PERMITTED) {
        BUG_ON(count == 0 || (!is_array && count != 1));
        for (size_t i = 0; i < count && i < 8; i++) {
            buf_clear(&second);
            BUG_ON(mcp_batch_split(parts[i].body, &second, again, 1, &one, &is_array, &fault) != REASON_PERMITTED);
            BUG_ON(one != 1 || is_array || !span_equals(again[0].body, parts[i].body) || !span_equals(again[0].id, parts[i].id) ||
                   again[0].is_response != parts[i].is_response);
        }
    } else {
        BUG_ON(count != 0);
    }
    buf_fini(&out);
    buf_fini(&second);
}

/* 5.4: wherever an `endpoint` event points, what is asked is a path of the server that was asked already. */
static void check_endpoint(struct span reference)
{
    const struct mcp_endpoint_base base = {true, SPAN_LIT("tools.example"), SPAN_LIT("/v1/sse")};
    struct buf out;
    struct span text;

    buf_init(&out, CAP_BYTES);
    if (mcp_endpoint_resolve(reference, &base, &out) == CODE_OK) {
        text = buf_peek(&out);
        BUG_ON(text.len == 0 || text.len > MCP_ENDPOINT_MAX_BYTES || text.at[0] != '/' || (text.len > 1 && text.at[1] == '/'));
        for (size_t i = 0; i < text.len; i++)
            BUG_ON(text.at[i] <= 0x20 || text.at[i] >= 0x7f || text.at[i] == '#' || text.at[i] == '"' || text.at[i] == '\\');
    } else {
        BUG_ON(buf_code(&out) == CODE_OK); /* nobody can read what was begun */
    }
    buf_fini(&out);
}

/* 4.16: an id with one byte changed, or with something behind it, is nobody's. */
static void alter_session(const unsigned char *key, const struct mcp_session_scope *scope, struct span made, size_t at)
{
    struct mcp_session found;
    struct buf altered;

    buf_init(&altered, CAP_BYTES);
    BUG_ON(buf_add_span(&altered, span_part(made, 0, at)) != CODE_OK || buf_add_byte(&altered, (char)(made.at[at] ^ 1)) != CODE_OK ||
           buf_add_span(&altered, span_part(made, at + 1, SIZE_MAX)) != CODE_OK);
    BUG_ON(mcp_session_check(key, scope, buf_peek(&altered), &found) == CODE_OK);
    buf_clear(&altered);
    BUG_ON(buf_add_span(&altered, made) != CODE_OK || buf_add_byte(&altered, made.at[at]) != CODE_OK);
    BUG_ON(mcp_session_check(key, scope, buf_peek(&altered), &found) == CODE_OK);
    buf_fini(&altered);
}

static void check_session(struct span id)
{
    static const unsigned char key[MCP_SESSION_KEY_BYTES];
    const struct mcp_session_scope scope = {SPAN_LIT("r"), SPAN_LIT("t"), SPAN_LIT("p"), SPAN_LIT("a"), SPAN_LIT("/v1")};
    struct mcp_session session = {id, SPAN_LIT("2025-06-18"), false}, found;
    struct buf out;

    BUG_ON(mcp_session_check(key, &scope, id, &found) == CODE_OK);
    buf_init(&out, CAP_BYTES);
    if (mcp_session_make(key, &scope, &session, &out) == CODE_OK) {
        BUG_ON(mcp_session_check(key, &scope, buf_peek(&out), &found) != CODE_OK);
        BUG_ON(!span_equals(found.upstream_id, id));
        alter_session(key, &scope, buf_peek(&out), (unsigned char)id.at[0] % buf_len(&out));
    }
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span rest = span_of(len > 0 ? bytes + 1 : bytes, len > 0 ? len - 1 : 0);

    if (len == 0 || len > 1u << 20)
        return 0;
    read_request(rest, bytes[0]);
    check_parts(rest);
    check_endpoint(rest);
    read_reply(rest, bytes[0]);
    check_session(rest);
    return 0;
}
