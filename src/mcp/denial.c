/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/denial.h"

#include "base/utf8.h"
#include "mcp/mcp_priv.h"
#include "sse/writer.h"

#define CODE_INVALID_REQUEST (-32600)

/* How a refusal is answered, worked out once for status and body. */
enum answer {
    ANSWER_ERROR = 0, /* a JSON-RPC error under the reason's own HTTP status */
    ANSWER_ERROR_OK,  /* a JSON-RPC error under 200 */
    ANSWER_RESULT,    /* a result with isError under 200 */
    ANSWER_BARE,      /* the reason's status without a body */
    ANSWER_FORBIDDEN, /* 403 without a body */
    ANSWER_NO_STREAM  /* 405 without a body: the only thing that clients take for benign */
};

static bool is_call(const struct mcp_message *message)
{
    return message->kind == MCP_REQUEST && span_is(message->method, "tools/call") &&
           json_member(message->params, SPAN_LIT("task")) == NULL;
}

/* What policy says, or the gate cannot do, is told inside the protocol; what is wrong with the message, the credentials or
 * the upstream is told by HTTP too. */
static bool is_told_inside(enum reason reason)
{
    switch (reason_blame(reason)) {
    case BLAME_POLICY:
    case BLAME_GATE:
        return true;
    case BLAME_NOBODY:
    case BLAME_AGENT:
    case BLAME_UPSTREAM:
        return false;
    }
    return false;
}

/* Modern revisions say by HTTP, too, that they do not have a method. */
static bool is_absent(const struct mcp_message *message, enum reason reason)
{
    return message != NULL && message->is_modern && message->kind == MCP_REQUEST && reason == REASON_METHOD_UNKNOWN;
}

static enum answer answer_of(const struct mcp_message *message, const struct mcp_denial *denial)
{
    enum blame blame = reason_blame(denial->reason);
    enum mcp_kind kind = message != NULL ? message->kind : MCP_NONE;

    if (reason_denial(denial->reason) == DENIAL_MALFORMED)
        return ANSWER_ERROR;
    if (denial->pseudo.len > 0)
        return blame == BLAME_POLICY ? ANSWER_NO_STREAM : ANSWER_ERROR;
    switch (kind) {
    case MCP_NONE:
        return ANSWER_ERROR;
    case MCP_NOTIFICATION:
    case MCP_RESPONSE:
        return blame == BLAME_POLICY || reason_status(denial->reason) == 0 ? ANSWER_FORBIDDEN : ANSWER_BARE;
    case MCP_REQUEST:
        break;
    }
    if (!is_told_inside(denial->reason) || is_absent(message, denial->reason))
        return ANSWER_ERROR;
    return is_call(message) ? ANSWER_RESULT : ANSWER_ERROR_OK;
}

int mcp_denial_status(const struct mcp_message *message, const struct mcp_denial *denial)
{
    int status = is_absent(message, denial->reason) ? 404 : reason_status(denial->reason);

    switch (answer_of(message, denial)) {
    case ANSWER_ERROR_OK:
    case ANSWER_RESULT:
        return 200;
    case ANSWER_FORBIDDEN:
        return 403;
    case ANSWER_NO_STREAM:
        return 405;
    case ANSWER_ERROR:
    case ANSWER_BARE:
        return status != 0 ? status : 403;
    }
    return 403;
}

/* Who is to be asked knows the call by its decision number; what is approved is this very call. */
static void put_approval(struct mcp__pen *pen, uint64_t asked)
{
    if (asked == 0) {
        mcp__pen_text(pen, "This call was not made: it needs a person's approval. Do not retry it unchanged.");
        return;
    }
    mcp__pen_text(pen, "This call was not made: it needs a person's approval, which was asked for. "
                       "Whoever decides finds it with: callgate approvals show --decision ");
    mcp__pen_int(pen, (int64_t)asked);
    mcp__pen_text(pen, ". Once it is approved, make exactly the same call again; until then do not retry it.");
}

static void put_wait(struct mcp__pen *pen, uint64_t seconds)
{
    if (seconds == 0) {
        mcp__pen_text(pen, "This call was not permitted: too many calls. Try again later.");
        return;
    }
    mcp__pen_text(pen, "This call was not permitted: too many calls. Try again in ");
    mcp__pen_int(pen, (int64_t)seconds);
    mcp__pen_text(pen, seconds == 1 ? " second." : " seconds.");
}

/* What the model may do about it; nothing of a rule but what its author wants to be said. */
static void put_text(struct mcp__pen *pen, const struct mcp_denial *denial)
{
    switch (reason_denial(denial->reason)) {
    case DENIAL_APPROVAL:
        put_approval(pen, denial->asked);
        break;
    case DENIAL_POLICY:
        mcp__pen_text(pen, "This call was not permitted; do not retry it unchanged.");
        if (denial->reason == REASON_APPROVAL_REFUSED) {
            mcp__pen_text(pen, " ");
            mcp__pen_text(pen, reason_text(denial->reason));
        }
        break;
    case DENIAL_RATE:
        if (denial->reason == REASON_APPROVAL_LIMIT) {
            mcp__pen_text(pen, "This call was not made. ");
            mcp__pen_text(pen, reason_text(denial->reason));
            mcp__pen_text(pen, " Try again when some of them are decided.");
        } else {
            put_wait(pen, denial->reason == REASON_RATE_LIMITED ? denial->retry_after_s : 0);
        }
        break;
    case DENIAL_UNAVAILABLE:
        /* With an upstream at fault nobody knows whether the call was made. */
        if (reason_blame(denial->reason) != BLAME_UPSTREAM)
            mcp__pen_text(pen, "This call was not made. ");
        mcp__pen_text(pen, reason_text(denial->reason));
        mcp__pen_text(pen, reason_blame(denial->reason) != BLAME_UPSTREAM ? " Try again later." : "");
        break;
    case DENIAL_NONE:
    case DENIAL_MALFORMED:
        mcp__pen_text(pen, reason_text(denial->reason));
        break;
    }
    if (denial->say.len > 0) {
        mcp__pen_text(pen, " ");
        mcp__pen_span(pen, denial->say);
    }
    if (denial->decision != 0) {
        mcp__pen_text(pen, " (decision ");
        mcp__pen_int(pen, (int64_t)denial->decision);
        mcp__pen_text(pen, ")");
    }
}

void mcp__pen_refusal(struct mcp__pen *pen, const struct mcp_denial *denial)
{
    struct mcp__pen text;
    struct buf buf;

    buf_init(&buf, 64 * 1024);
    text = mcp__pen_of(&buf);
    put_text(&text, denial);
    if (reason_denial(denial->reason) == DENIAL_MALFORMED && denial->detail != NULL) {
        mcp__pen_text(&text, " ");
        mcp__pen_text(&text, denial->detail);
        mcp__pen_text(&text, denial->unknown.len > 0 ? ": " : "");
        mcp__pen_span(&text, utf8_cut(denial->unknown, 64));
    }
    if (pen->code == CODE_OK)
        pen->code = mcp__pen_end(&text);
    mcp__pen_string(pen, buf_peek(&buf));
    buf_fini(&buf);
}

static enum code write_result(const struct mcp_message *message, const struct mcp_denial *denial, struct span text,
                              struct buf *out)
{
    struct mcp__pen pen = mcp__pen_of(out);

    mcp__pen_text(&pen, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp__pen_span(&pen, message->id);
    mcp__pen_text(&pen, ",\"result\":{");
    mcp__pen_text(&pen, message->is_modern ? "\"resultType\":\"complete\"," : "");
    mcp__pen_text(&pen, "\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":");
    mcp__pen_string(&pen, text);
    mcp__pen_text(&pen, "}],\"_meta\":{\"dev.callgate/denial\":{");
    mcp__pen_denial(&pen, denial_code(reason_denial(denial->reason)), denial->decision);
    mcp__pen_text(&pen, "}}}}");
    return mcp__pen_end(&pen);
}

static bool names_versions(enum reason reason)
{
    return reason == REASON_VERSION_UNSUPPORTED || reason == REASON_VERSION_HEADER || reason == REASON_VERSION_NEGOTIATED;
}

static bool names_member(const struct mcp_message *message, const struct mcp_denial *denial)
{
    return denial->reason == REASON_PARAMS_INVALID && message != NULL && message->unknown.at != NULL;
}

static bool has_detail(const struct mcp_message *message, const struct mcp_denial *denial)
{
    if (message == NULL || message->detail == NULL)
        return false;
    return denial->reason == REASON_TOOL_NAME_INVALID ||
           (message->is_modern && (denial->reason == REASON_PARAMS_INVALID || denial->reason == REASON_HEADER_MISMATCH));
}

static void put_detail(struct mcp__pen *pen, const struct mcp_message *message, const struct mcp_denial *denial)
{
    bool names_route = denial->reason == REASON_TOOL_NAME_INVALID && denial->route.len > 0;

    mcp__pen_text(pen, names_route ? " On route " : " ");
    mcp__pen_span(pen, names_route ? denial->route : SPAN_NONE);
    mcp__pen_text(pen, names_route ? ", " : "");
    mcp__pen_text(pen, message->detail);
    mcp__pen_text(pen, ".");
}

/* Says which member it is, and what lets it pass. */
static void put_unknown(struct mcp__pen *pen, const struct mcp_message *message)
{
    mcp__pen_text(pen, reason_text(REASON_PARAMS_INVALID));
    mcp__pen_text(pen, " No revision of MCP that is judged here has the member '");
    mcp__pen_span(pen, utf8_cut(message->unknown, 64));
    mcp__pen_text(pen, "' in params of ");
    mcp__pen_span(pen, message->method);
    mcp__pen_text(pen, "; the route's `params` in callgate.yaml may list it.");
}

static enum code write_error(const struct mcp_message *message, const struct mcp_denial *denial, struct span text,
                             struct buf *out)
{
    int code = reason_rpc_code(denial->reason);
    bool unsupported = denial->reason == REASON_VERSION_UNSUPPORTED;
    struct mcp__error error = {
        .id = message != NULL && message->kind != MCP_RESPONSE ? message->id : SPAN_NONE,
        .code = code != 0 ? code : CODE_INVALID_REQUEST,
        /* Fixed texts stay fixed, since clients compare some of them. */
        .message = code == -32601 || (reason_denial(denial->reason) == DENIAL_MALFORMED && !names_member(message, denial) &&
                                      !has_detail(message, denial))
                       ? span_text(reason_text(denial->reason))
                       : text,
        .denial = denial_code(reason_denial(denial->reason)),
        .decision = denial->decision,
        .supported = names_versions(denial->reason) ? denial->revisions : NULL,
        .only_modern = unsupported,
        .has_requested = unsupported,
        .requested = denial->requested.len > 0 || message == NULL ? denial->requested : message->modern_version,
    };

    return mcp__error_write(&error, out);
}

static enum code write_body(const struct mcp_message *message, const struct mcp_denial *denial, enum answer answer,
                            struct buf *out)
{
    struct buf text;
    struct mcp__pen pen;
    enum code code;

    buf_init(&text, 64 * 1024);
    pen = mcp__pen_of(&text);
    if (names_member(message, denial))
        put_unknown(&pen, message);
    else
        put_text(&pen, denial);
    if (!names_member(message, denial) && has_detail(message, denial))
        put_detail(&pen, message, denial);
    code = mcp__pen_end(&pen);
    if (code == CODE_OK)
        code = answer == ANSWER_RESULT ? write_result(message, denial, buf_peek(&text), out)
                                       : write_error(message, denial, buf_peek(&text), out);
    buf_fini(&text);
    return code;
}

/* Clients of modern revisions look for JSON in an HTTP error; where they find none they fall back to an older revision. */
static bool is_modern(const struct mcp_message *message)
{
    return message != NULL && message->is_modern;
}

enum code mcp_denial_write(const struct mcp_message *message, const struct mcp_denial *denial, struct buf *out,
                           enum mcp_form *form)
{
    enum answer answer = answer_of(message, denial);
    struct buf_mark before = buf_mark(out);
    enum code code = CODE_OK;
    bool is_sse;

    if (answer == ANSWER_BARE || answer == ANSWER_FORBIDDEN || answer == ANSWER_NO_STREAM) {
        *form = MCP_FORM_NONE;
        return CODE_OK;
    }
    is_sse = denial->wants_sse && !(is_modern(message) && mcp_denial_status(message, denial) >= 400);
    *form = is_sse ? MCP_FORM_SSE : MCP_FORM_JSON;
    if (is_sse)
        code = sse_write_message_begin(out, NULL);
    if (code == CODE_OK)
        code = write_body(message, denial, answer, out);
    if (code == CODE_OK && is_sse)
        code = sse_write_message_end(out);
    if (code != CODE_OK)
        buf_rewind(out, before);
    return code;
}

enum code mcp_refusal_write(struct span id, enum reason reason, struct buf *out)
{
    struct mcp__error error = {.id = id, .code = reason_rpc_code(reason), .message = span_text(reason_text(reason))};

    return mcp__error_write(&error, out);
}
