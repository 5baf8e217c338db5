/* SPDX-License-Identifier: Apache-2.0 */
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

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (span_equals(key, members[i].name))
            return members[i].member;
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
    if (method.len == 0 || method.len > MCP__METHOD_MAX)
        return false;
    for (size_t i = 0; i < method.len; i++)
        if (method.at[i] <= 0x20 || method.at[i] >= 0x7f)
            return false;
    return true;
}

void mcp__pen_denial(struct mcp__pen *pen, const char *denial, uint64_t decision)
{
    mcp__pen_text(pen, "\"code\":");
    mcp__pen_string(pen, span_text(denial));
    mcp__pen_text(pen, ",\"decision\":");
    if (decision == 0)
        mcp__pen_text(pen, "null");
    else
        mcp__pen_int(pen, (int64_t)decision);
}

static void put_supported(struct mcp__pen *pen, const struct mcp__error *error)
{
    const char *comma = "";
    bool has_modern = false;

    for (const char *const *revision = error->supported; *revision != NULL; revision++)
        has_modern = has_modern || mcp_revision_is_modern(span_text(*revision));
    mcp__pen_text(pen, "\"supported\":[");
    for (const char *const *revision = error->supported; *revision != NULL; revision++) {
        if (error->only_modern && has_modern && !mcp_revision_is_modern(span_text(*revision)))
            continue;
        mcp__pen_text(pen, comma);
        mcp__pen_string(pen, span_text(*revision));
        comma = ",";
    }
    mcp__pen_text(pen, "]");
}

static void put_data(struct mcp__pen *pen, const struct mcp__error *error)
{
    const char *comma = "";

    mcp__pen_text(pen, ",\"data\":{");
    if (error->supported != NULL) {
        put_supported(pen, error);
        comma = ",";
    }
    if (error->has_requested) {
        mcp__pen_text(pen, comma);
        mcp__pen_text(pen, "\"requested\":");
        mcp__pen_span(pen, error->requested.len > 0 ? error->requested : SPAN_LIT("null"));
        comma = ",";
    }
    if (error->denial != NULL) {
        mcp__pen_text(pen, comma);
        mcp__pen_denial(pen, error->denial, error->decision);
    }
    mcp__pen_text(pen, "}");
}

enum code mcp__error_write(const struct mcp__error *error, struct buf *out)
{
    struct mcp__pen pen = mcp__pen_of(out);

    mcp__pen_text(&pen, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp__pen_span(&pen, error->id.len > 0 ? error->id : SPAN_LIT("null"));
    mcp__pen_text(&pen, ",\"error\":{\"code\":");
    mcp__pen_int(&pen, error->code);
    mcp__pen_text(&pen, ",\"message\":");
    mcp__pen_string(&pen, error->message);
    if (error->supported != NULL || error->has_requested || error->denial != NULL)
        put_data(&pen, error);
    mcp__pen_text(&pen, "}}");
    return mcp__pen_end(&pen);
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
    return code != CODE_OK; /* of what cannot be read here nobody knows what others read */
}
