/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/denial.h"

#include "base/utf8.h"
#include "mcp/mcp_priv.h"
#include "sse/writer.h"

#define CODE_INVALID_REQUEST (-32600)
#define CODE_UNLISTED (-32001)

/* How a refusal is answered, worked out once for status and body. */
enum answer {
    ANSWER_ERROR = 0, /* a JSON-RPC error under the reason's own HTTP status */
    ANSWER_ERROR_OK,  /* a JSON-RPC error under 200 */
    ANSWER_RESULT,    /* a result with isError under 200 */
    ANSWER_OFFER,     /* by 200: a page that a person is to open before the request is made again */
    ANSWER_BARE,      /* the reason's status without a body */
    ANSWER_FORBIDDEN, /* 403 without a body */
    ANSWER_NO_STREAM  /* 405 without a body: the only thing that clients take for benign */
};

/* Whether a tool's result may say no. It may not where a task is asked for; since 2026-07-28 no client asks
 * for one (SEP-2663), so that `task` means nothing there. */
static bool is_call(const struct mcp_message *message)
{
    return message->kind == MCP_REQUEST && span_is(message->method, "tools/call") &&
           (message->is_modern || json_member(message->params, SPAN_LIT("task")) == NULL);
}

/* What policy says, or what the gate cannot do, is told inside the protocol. What is wrong with the message, the
 * credentials or the upstream is told by HTTP, too. So is what is wrong with this gate alone, as that it is starting, since
 * whoever balances over several gates takes another one then. */
static bool is_told_inside(enum reason reason)
{
    switch (reason_blame(reason)) {
    case BLAME_POLICY:
        return true;
    case BLAME_GATE:
        return reason != REASON_STARTING && reason != REASON_FLEET_STALE && reason != REASON_FLEET_BEHIND &&
               reason != REASON_FLEET_FORKED;
    case BLAME_NOBODY:
    case BLAME_AGENT:
    case BLAME_UPSTREAM:
        return false;
    }
    return false;
}

/* An answer that the gate refuses ends its own call alone. Told by an HTTP error, clients would give up the session. */
static bool is_answer_refused(enum reason reason)
{
    return reason >= REASON_UPSTREAM_MALFORMED && reason <= REASON_UPSTREAM_DECEPTIVE;
}

/* A message for an unlisted slug is read only where its route has that told inside, since clients of OAuth take a bare 404
 * for a failure of OAuth. */
static bool is_unlisted(const struct mcp_message *message, enum reason reason)
{
    return message != NULL && message->kind == MCP_REQUEST && reason == REASON_ROUTE_UNKNOWN;
}

/* Modern revisions say by HTTP, too, that they do not have a method. */
static bool is_absent(const struct mcp_message *message, enum reason reason)
{
    return message != NULL && message->is_modern && message->kind == MCP_REQUEST &&
           (reason == REASON_METHOD_UNKNOWN || reason == REASON_SERVER_UNNAMED);
}

static enum answer answer_of(const struct mcp_message *message, const struct mcp_denial *denial)
{
    enum blame blame = reason_blame(denial->reason);
    enum mcp_kind kind = message != NULL ? message->kind : MCP_NONE;

    if (is_unlisted(message, denial->reason))
        return ANSWER_ERROR_OK;
    if (reason_denial(denial->reason) == DENIAL_MALFORMED || denial->by_status)
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
    if (denial->console != NULL)
        return ANSWER_OFFER;
    if (is_answer_refused(denial->reason))
        return ANSWER_ERROR_OK;
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
    case ANSWER_OFFER:
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

/* People find the call by the number of its decision, and approve exactly this call. */
static void put_approval(struct buf *out, uint64_t asked)
{
    if (asked == 0) {
        buf_add_text(out, "This call was not made: it needs a person's approval. Do not retry it unchanged.");
        return;
    }
    buf_addf(out,
             "This call was not made: it needs a person's approval, which was asked for. Whoever decides finds it with: "
             "callgate approvals show --decision %llu. Once it is approved, make exactly the same call again; until then do "
             "not retry it.",
             (unsigned long long)asked);
}

static void put_wait(struct buf *out, uint64_t seconds)
{
    buf_add_text(out, "This call was not permitted: too many calls. Try again ");
    if (seconds == 0)
        buf_add_text(out, "later.");
    else
        buf_addf(out, "in %llu second%s.", (unsigned long long)seconds, seconds == 1 ? "" : "s");
}

/* Whether an answer met the gate without memory, or without room in the audit. An agent that read that its call was not made
 * would make it twice. */
static bool loses_answer(const struct mcp_denial *denial)
{
    enum denial kind = reason_denial(denial->reason);

    return denial->was_sent && (kind == DENIAL_RATE || kind == DENIAL_UNAVAILABLE) &&
           reason_blame(denial->reason) != BLAME_UPSTREAM;
}

/* What the model may do about it; nothing of a rule but what its author wants to be said. */
static void put_text(struct buf *out, const struct mcp_denial *denial)
{
    switch (loses_answer(denial) ? DENIAL_NONE : reason_denial(denial->reason)) {
    case DENIAL_APPROVAL:
        put_approval(out, denial->asked);
        break;
    case DENIAL_POLICY:
        /* The call's effect is done, and nobody should repeat it to see the answer. */
        buf_add_text(out, denial->reason == REASON_ANSWER_WITHHELD
                              ? "This call was made, and what came back is withheld; do not retry it."
                          : denial->reason == REASON_STOPPED_AMID ? "Do not retry this call."
                          : denial->reason == REASON_ACCOUNT_MISSING ? "This call was not made."
                                                                  : "This call was not permitted; do not retry it unchanged.");
        if (denial->reason == REASON_STOPPED || denial->reason == REASON_STOPPED_AMID ||
            denial->reason == REASON_ACCOUNT_MISSING ||
            denial->reason == REASON_AGENT_UNKNOWN || denial->reason == REASON_APPROVAL_REFUSED ||
            denial->reason == REASON_OUTGOING_MISSING ||
            (denial->reason >= REASON_INNER_CALL && denial->reason <= REASON_PLAN_FOREIGN))
            buf_addf(out, " %s", reason_text(denial->reason));
        if (denial->connect != NULL)
            buf_addf(out, " Whoever it is connects it at %s/connect; then the call can be made again.", denial->connect);
        break;
    case DENIAL_RATE:
        if (denial->reason == REASON_APPROVAL_LIMIT)
            buf_addf(out, "This call was not made. %s Try again when some of them are decided.", reason_text(denial->reason));
        else
            put_wait(out, denial->reason == REASON_RATE_LIMITED ? denial->retry_after_s : 0);
        break;
    case DENIAL_UNAVAILABLE:
        /* With an upstream at fault nobody knows whether the call was made. */
        buf_addf(out, reason_blame(denial->reason) == BLAME_UPSTREAM ? "%s" : "This call was not made. %s Try again later.",
                 reason_text(denial->reason));
        break;
    case DENIAL_NONE:
    case DENIAL_MALFORMED:
        if (loses_answer(denial))
            buf_add_text(out, "This call was made, but its answer cannot be delivered; retry it only where twice is fine. ");
        buf_add_text(out, reason_text(denial->reason));
        break;
    }
    if (denial->say.len > 0)
        buf_addf(out, " %.*s", SPAN_ARG(denial->say));
    /* The text of a held call names a number already. */
    if (denial->decision != 0 && (denial->asked == 0 || reason_denial(denial->reason) != DENIAL_APPROVAL))
        buf_addf(out, " (decision %llu)", (unsigned long long)denial->decision);
}

void mcp__refusal_write(struct buf *out, const struct mcp_denial *denial)
{
    struct buf text;

    buf_init(&text, 64 * 1024);
    put_text(&text, denial);
    if (reason_denial(denial->reason) == DENIAL_MALFORMED && denial->detail != NULL) {
        struct span unknown = utf8_cut(denial->unknown, 64);

        buf_addf(&text, " %s%s%.*s", denial->detail, unknown.len > 0 ? ": " : "", SPAN_ARG(unknown));
    }
    if (buf_fail(out, buf_code(&text)) == CODE_OK)
        json_write_string(out, buf_peek(&text));
    buf_fini(&text);
}

static void write_result(const struct mcp_message *message, const struct mcp_denial *denial, struct span text, struct buf *out)
{
    buf_add_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_add_span(out, message->id);
    buf_addf(out, ",\"result\":{%s", message->is_modern ? "\"resultType\":\"complete\"," : "");
    buf_add_text(out, "\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":");
    json_write_string(out, text);
    buf_add_text(out, "}],\"_meta\":{\"dev.callgate/denial\":{");
    mcp__denial_write(out, denial_code(reason_denial(denial->reason)), denial->decision);
    buf_add_text(out, "}}}}");
}

/* The question to the person, as the members that its two forms share (2025-11-25 and 2026-07-28, client/elicitation). */
static void put_question(const struct mcp_denial *denial, struct buf *out)
{
    if (denial->connect != NULL) {
        buf_addf(out, "\"mode\":\"url\",\"url\":\"%s/connect\",\"message\":\"The call needs your own account at the server. "
                 "Log in on this page, and connect it.\"", denial->connect);
        return;
    }
    buf_addf(out, "\"mode\":\"url\",\"url\":\"%s/held/%llu\",\"message\":\"A call in your name needs your approval. Log in on "
             "this page, look at what it would do, and decide.\"", denial->console, (unsigned long long)denial->asked);
}

/* Before 2026-07-28 by an error, since then by a result. */
static void write_offer(const struct mcp_message *message, const struct mcp_denial *denial, struct span text, struct buf *out)
{
    const char *code = denial_code(reason_denial(denial->reason));

    buf_add_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_add_span(out, message->id);
    if (message->is_modern) {
        buf_add_text(out, ",\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"" MCP__OWN_QUESTION
                     "\":{\"method\":\"elicitation/create\",\"params\":{");
        put_question(denial, out);
        buf_add_text(out, "}}},\"_meta\":{\"dev.callgate/denial\":{");
        mcp__denial_write(out, code, denial->decision);
        buf_add_text(out, "}}}}");
    } else {
        buf_addf(out, ",\"error\":{\"code\":%d,\"message\":", MCP__CODE_URL);
        json_write_string(out, text);
        buf_addf(out, ",\"data\":{\"elicitations\":[{\"elicitationId\":\"callgate-%llu\",",
                 (unsigned long long)(denial->asked != 0 ? denial->asked : denial->decision));
        put_question(denial, out);
        buf_add_text(out, "}],");
        mcp__denial_write(out, code, denial->decision);
        buf_add_text(out, "}}}");
    }
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

static void put_detail(struct buf *out, const struct mcp_message *message, const struct mcp_denial *denial)
{
    bool names_route = denial->reason == REASON_TOOL_NAME_INVALID && denial->route.len > 0;

    if (names_route)
        buf_addf(out, " On route %.*s, %s.", SPAN_ARG(denial->route), message->detail);
    else
        buf_addf(out, " %s.", message->detail);
}

/* Says which member it is, and what lets it pass. */
static void put_unknown(struct buf *out, const struct mcp_message *message)
{
    buf_addf(out,
             "%s No revision of MCP that is judged here has the member '%.*s' in params of %.*s; the route's `params` in "
             "callgate.yaml may list it.",
             reason_text(REASON_PARAMS_INVALID), SPAN_ARG(utf8_cut(message->unknown, 64)), SPAN_ARG(message->method));
}

static void write_error(const struct mcp_message *message, const struct mcp_denial *denial, struct span text, struct buf *out)
{
    int code = is_unlisted(message, denial->reason) ? CODE_UNLISTED : reason_rpc_code(denial->reason);
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

    mcp__error_write(&error, out);
}

static void write_body(const struct mcp_message *message, const struct mcp_denial *denial, enum answer answer,
                       struct buf *out)
{
    struct buf text;

    buf_init(&text, 64 * 1024);
    if (names_member(message, denial))
        put_unknown(&text, message);
    else
        put_text(&text, denial);
    if (!names_member(message, denial) && has_detail(message, denial))
        put_detail(&text, message, denial);
    if (buf_fail(out, buf_code(&text)) == CODE_OK && answer == ANSWER_RESULT)
        write_result(message, denial, buf_peek(&text), out);
    else if (buf_code(out) == CODE_OK && answer == ANSWER_OFFER)
        write_offer(message, denial, buf_peek(&text), out);
    else if (buf_code(out) == CODE_OK)
        write_error(message, denial, buf_peek(&text), out);
    buf_fini(&text);
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
    bool is_sse;

    if (answer == ANSWER_BARE || answer == ANSWER_FORBIDDEN || answer == ANSWER_NO_STREAM) {
        *form = MCP_FORM_NONE;
        return CODE_OK;
    }
    is_sse = denial->wants_sse && !denial->by_status && !(is_modern(message) && mcp_denial_status(message, denial) >= 400);
    *form = is_sse ? MCP_FORM_SSE : MCP_FORM_JSON;
    if (is_sse)
        sse_write_message_begin(out, NULL);
    write_body(message, denial, answer, out);
    if (is_sse)
        sse_write_message_end(out);
    return buf_code(out);
}

enum code mcp_refusal_write(struct span id, enum reason reason, struct buf *out)
{
    struct mcp__error error = {.id = id, .code = reason_rpc_code(reason), .message = span_text(reason_text(reason))};

    return mcp__error_write(&error, out);
}
