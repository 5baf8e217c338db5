/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ascii.h"
#include "base/num.h"
#include "mcp/mcp_priv.h"
#include "mcp/reply.h"
#include "mcp/method.h"
#include "unicode/unicode.h"

enum mcp__member mcp__member_of(struct span key)
{
    static const struct {
        struct span name;
        enum mcp__member member;
    } members[] = {{{"jsonrpc", 7}, MEMBER_JSONRPC}, {{"id", 2}, MEMBER_ID},         {{"method", 6}, MEMBER_METHOD},
                   {{"params", 6}, MEMBER_PARAMS},   {{"result", 6}, MEMBER_RESULT}, {{"error", 5}, MEMBER_ERROR}};

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) /* the first byte tells those of one length apart */
        if (key.len == members[i].name.len && key.at[0] == members[i].name.at[0])
            return span_equals(key, members[i].name) ? members[i].member : MEMBER_UNKNOWN;
    return MEMBER_UNKNOWN;
}

static enum mcp_kind kind_of_answer(unsigned members)
{
    unsigned outcome = members & (MEMBER_RESULT | MEMBER_ERROR);

    if (outcome != MEMBER_RESULT && outcome != MEMBER_ERROR)
        return MCP_NONE;
    return (members & MEMBER_PARAMS) != 0 ? MCP_NONE : MCP_RESPONSE;
}

enum mcp_kind mcp__kind_of(unsigned members, struct span method)
{
    bool is_note = span_starts_with(method, SPAN_LIT("notifications/"));

    if ((members & MEMBER_JSONRPC) == 0)
        return MCP_NONE;
    if ((members & MEMBER_METHOD) == 0)
        return kind_of_answer(members);
    if ((members & (MEMBER_RESULT | MEMBER_ERROR)) != 0)
        return MCP_NONE;
    if ((members & MEMBER_ID) != 0)
        return is_note ? MCP_NONE : MCP_REQUEST;
    return !is_note && mcp_method_needs_id(method) ? MCP_NONE : MCP_NOTIFICATION;
}

static bool is_printable(struct span text)
{
    if (unicode_is_deceptive(text))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] < 0x20)
            return false; /* tab and line ends, which a definition may hold */
    return true;
}

bool mcp__id_is_legal(enum json_type type, struct span text)
{
    int64_t number;

    if (type == JSON_STRING)
        return text.len > 0 && text.len <= 4 * MCP__ID_MAX && unicode_count(text) <= MCP__ID_MAX && is_printable(text);
    return type == JSON_NUMBER && num_i64(text, &number) == CODE_OK && !json_number_is_unsafe(text);
}

bool mcp__method_is_legal(struct span method)
{
    return method.len > 0 && method.len <= MCP__METHOD_MAX && ascii_is_all(method, ASCII_VISIBLE);
}

void mcp__denial_write(struct buf *out, const char *denial, uint64_t decision)
{
    buf_addf(out, "\"code\":\"%s\",\"decision\":", denial);
    if (decision == 0)
        buf_add_text(out, "null");
    else
        buf_addf(out, "%llu", (unsigned long long)decision);
}

static void put_supported(struct buf *out, const struct mcp__error *error)
{
    const char *comma = "";
    bool has_modern = false;

    for (const char *const *revision = error->supported; *revision != NULL; revision++)
        has_modern = has_modern || mcp_revision_is_modern(span_text(*revision));
    buf_add_text(out, "\"supported\":[");
    for (const char *const *revision = error->supported; *revision != NULL; revision++) {
        if (error->only_modern && has_modern && !mcp_revision_is_modern(span_text(*revision)))
            continue;
        buf_addf(out, "%s\"%s\"", comma, *revision);
        comma = ",";
    }
    buf_add_text(out, "]");
}

static void put_data(struct buf *out, const struct mcp__error *error)
{
    const char *comma = "";

    buf_add_text(out, ",\"data\":{");
    if (error->supported != NULL) {
        put_supported(out, error);
        comma = ",";
    }
    if (error->has_requested) {
        buf_addf(out, "%s\"requested\":", comma);
        buf_add_span(out, error->requested.len > 0 ? error->requested : SPAN_LIT("null"));
        comma = ",";
    }
    if (error->denial != NULL) {
        buf_add_text(out, comma);
        mcp__denial_write(out, error->denial, error->decision);
    }
    buf_add_text(out, "}");
}

enum code mcp__error_write(const struct mcp__error *error, struct buf *out)
{
    buf_add_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_add_span(out, error->id.len > 0 ? error->id : SPAN_LIT("null"));
    buf_addf(out, ",\"error\":{\"code\":%d,\"message\":", error->code);
    json_write_string(out, error->message);
    if (error->supported != NULL || error->has_requested || error->denial != NULL)
        put_data(out, error);
    return buf_add_text(out, "}}");
}

/* At depth 1 are the members of an envelope, at depth 2 those of a batch's. */
static enum code find_message(void *context, const struct json_event *event)
{
    uint32_t *depth = context;

    if (event->depth == 0)
        *depth = event->type == JSON_ARRAY ? 2 : 1;
    if (event->depth == *depth && (json_key_is_like(event->key, SPAN_LIT("result")) ||
                                   json_key_is_like(event->key, SPAN_LIT("method"))))
        return CODE_DENIED;
    return CODE_OK;
}

bool mcp_hides_message(struct span body)
{
    struct json_fault fault;
    uint32_t depth = 1;
    struct buf out;
    enum code code;

    if (span_starts_with(body, SPAN_LIT("\xEF\xBB\xBF")))
        body = span_part(body, 3, SIZE_MAX);
    while (body.len > 0 && (body.at[0] == ' ' || (body.at[0] >= '\t' && body.at[0] <= '\r')))
        body = span_part(body, 1, SIZE_MAX);
    if (body.len == 0 || (body.at[0] != '{' && body.at[0] != '['))
        return false;
    buf_init(&out, SIZE_MAX / 2);
    code = json_walk(body, &json_reply_rules, &out, find_message, &depth, &fault);
    buf_fini(&out);
    return code != CODE_OK; /* another reader may find a message in what cannot be read here */
}
