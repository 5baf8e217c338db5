/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over a message from an upstream notes what it is and what must be cut out. Beside the walk grows the tree of what
 * is looked into: of a result where rules for answers concern it, or of what it asks for, and of params, but for notifications
 * that no rule concerns. What is cut is cut out of both, since what is judged must be what goes on. */
#include "mcp/reply.h"

#include "base/num.h"
#include "mcp/reply_priv.h"
#include "unicode/unicode.h"

#include <stdarg.h>
#include <stdio.h>

#define OUTCOME_DEPTH 2 /* of the members of `result` and `error` */

#define VALUES_MAX 200000 /* values in a judged message; one of fewer than UNJUDGED_BYTES has fewer */
#define UNJUDGED_BYTES 65536

#define WRONG_BYTES 320

/* Which request makes use of what a list names, and how many elements there may be, since each costs a question to the
 * policy. */
static const struct {
    struct span use;
    uint32_t most;
} listings[] = {
    [MCP_LISTS_TOOLS] = {{"tools/call", 10}, 4096},
    [MCP_LISTS_PROMPTS] = {{"prompts/get", 11}, 16384},
    [MCP_LISTS_RESOURCES] = {{"resources/read", 14}, 16384},
    [MCP_LISTS_TEMPLATES] = {{"resources/read", 14}, 4096},
};

struct walk {
    const struct mcp_reply_rules *rules;
    struct mcp_reply *reply;
    struct arena *arena;
    struct json_edits edits;
    enum reason reason;
    const char *detail;      /* what was refused, for the log; static, or in the arena */
    unsigned members;
    enum mcp__member member; /* the envelope's member that the walk is in */
    size_t id_begin, id_end;
    bool is_id_text;         /* a string that says the number that was asked */
    bool has_error_null;
    size_t outcome_begin, outcome_end; /* of `result` or `error` */
    struct span version;     /* result.protocolVersion, in the arena */
    struct mcp__modern modern;
    const struct mcp_method *asked; /* the list that was asked for; NULL: none, or the request is not known here */
    const struct mcp_method *list;  /* that the walk is in, or NULL */
    struct span name;        /* of the list's element that the walk is in, in the arena */
    bool has_error_code;
    bool has_list;           /* the one that was asked for */
    uint32_t elements;
    struct mcp_hints hints;  /* of that element */
    bool in_annotations;     /* of that element */
    bool is_deceptive;       /* the element holds what deceives, and is refused for it where it is kept */
    enum mcp_treatment treatment; /* of what deceives, where the walk is */
    uint32_t stripped;       /* characters, before that element */
    bool may_list;           /* the answer to a request for a list, or to one that is not known here */
    bool needs_tree;         /* params hold what is looked at there */
    bool wants_outcome;      /* rules for answers look into `result` or `error` */
    bool is_small;           /* the message is so small that nothing in it needs a bound */
    bool has_asked, passes;  /* has_asked: gate_passes was asked about the method; passes: its answer */
    uint32_t values;
    struct json_tree tree;   /* of `result`, `error`, `params` or, where nobody wants the result, of its inputRequests */
    /* mcp_reply_read does not clear what follows */
    bool is_meta[MCP__REPLY_DEPTH_MAX + 1]; /* for mcp__cut_own */
};

static enum code refuse(struct walk *walk, enum reason reason, const char *detail)
{
    walk->reason = reason;
    walk->detail = detail;
    return CODE_INVALID;
}

static enum code refuse_json(struct walk *walk, const char *detail)
{
    return refuse(walk, REASON_UPSTREAM_JSON, detail);
}

/* Says what is wrong with a list, by its name. */
static enum code PRINTF_LIKE(2, 3) refuse_list(struct walk *walk, const char *format, ...)
{
    char text[WRONG_BYTES];
    const char *kept;
    va_list values;
    int len;

    va_start(values, format);
    len = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    kept = len > 0 ? arena_dup(walk->arena, text, strlen(text)) : NULL;
    return refuse_json(walk, kept != NULL ? kept : "a list is not what it should be");
}

static enum code on_error_null(struct walk *walk, const struct json_event *event)
{
    walk->member = MEMBER_UNKNOWN;
    walk->has_error_null = true;
    return walk->rules->lenient & MCP_LENIENT_ERROR_NULL ? json_edits_cut(&walk->edits, event->member, event->end)
                                                         : refuse(walk, REASON_UPSTREAM_ERROR_NULL, "error is null");
}

static bool passes(struct walk *walk)
{
    if (!walk->has_asked && walk->rules->passes != NULL)
        walk->passes = walk->rules->passes(walk->rules->keep_context, walk->reply->method);
    walk->has_asked = true;
    return walk->passes;
}

static void begin_tree(struct walk *walk)
{
    /* So far it looks like a notification. */
    bool may_pass = walk->is_small && walk->members == (MEMBER_JSONRPC | MEMBER_METHOD | MEMBER_PARAMS) && passes(walk);
    bool is_outcome = walk->member == MEMBER_RESULT || walk->member == MEMBER_ERROR;

    if (is_outcome && walk->rules->wants != NULL)
        walk->wants_outcome = walk->rules->wants(walk->rules->keep_context);
    if (is_outcome ? walk->wants_outcome : walk->member == MEMBER_PARAMS && !may_pass)
        walk->tree.arena = walk->arena;
}

/* A member of the envelope, at its begin. */
static enum code on_member(struct walk *walk, const struct json_event *event)
{
    walk->member = mcp__member_of(event->key);
    if (walk->member == MEMBER_ERROR && event->type == JSON_NULL)
        return on_error_null(walk, event);
    walk->members |= walk->member;
    begin_tree(walk);
    switch (walk->member) {
    case MEMBER_UNKNOWN:
        return refuse_json(walk, "the envelope has a member that JSON-RPC does not know");
    case MEMBER_JSONRPC:
        if (event->type == JSON_STRING && span_is(event->text, "2.0"))
            return CODE_OK;
        return refuse_json(walk, "jsonrpc is not \"2.0\"");
    case MEMBER_ID:
        walk->id_begin = event->begin;
        walk->id_end = event->end;
        walk->is_id_text = event->type == JSON_STRING && event->text.len > 0 &&
                           span_equals(event->text, walk->rules->request_id);
        if (event->type == JSON_NULL || mcp__id_is_legal(event->type, event->text))
            return CODE_OK;
        return refuse_json(walk, "the id is neither a short string nor a safe integer");
    case MEMBER_METHOD:
        if (event->type != JSON_STRING || !mcp__method_is_legal(event->text))
            return refuse_json(walk, "the method is not a name");
        return arena_keep(walk->arena, event->text, &walk->reply->method);
    case MEMBER_PARAMS:
    case MEMBER_ERROR:
        return event->type == JSON_OBJECT ? CODE_OK : refuse_json(walk, "params or error is not an object");
    case MEMBER_RESULT:
        return CODE_OK;
    }
    return refuse_json(walk, "an unknown member");
}

/* A member of `result` that may be the list that the method's answers have. */
static enum code on_list_of(struct walk *walk, const struct mcp_method *method, const struct json_event *event)
{
    if (json_key_is_misspelled(event->key, method->list))
        return refuse_list(walk, "result.%.*s is spelled in another way", SPAN_ARG(method->list));
    if (!span_equals(event->key, method->list))
        return CODE_OK;
    if (event->type != JSON_ARRAY)
        return refuse_list(walk, "result.%.*s is not an array", SPAN_ARG(method->list));
    walk->list = event->kind == JSON_EVENT_BEGIN ? method : NULL;
    walk->has_list = true;
    walk->elements = 0;
    return CODE_OK;
}

/* The one that was asked for, or any of them. */
static enum code on_list(struct walk *walk, const struct json_event *event)
{
    const struct mcp_method *method;
    enum code code = CODE_OK;

    if (walk->asked != NULL)
        return on_list_of(walk, walk->asked, event);
    for (size_t i = 0; code == CODE_OK && (method = mcp_method_lists(i, walk->rules->own)) != NULL; i++)
        code = on_list_of(walk, method, event);
    return code;
}

/* A member of `result` or `error`. */
static enum code on_outcome(struct walk *walk, const struct json_event *event)
{
    if (walk->member == MEMBER_ERROR && span_is(event->key, "code")) {
        walk->has_error_code = event->type == JSON_NUMBER && num_i64(event->text, &walk->reply->error_code) == CODE_OK;
        return walk->has_error_code ? CODE_OK : refuse_json(walk, "error.code is not an integer");
    }
    if (walk->member != MEMBER_RESULT)
        return CODE_OK;
    /* A client that reads it all the same would be asked what nobody judged. */
    if (walk->rules->request == NULL && json_key_is_like(event->key, SPAN_LIT("resultType")) &&
        span_is(event->text, "input_required"))
        return refuse_json(walk, "an answer that asks for more, in a revision that has none");
    if (span_is(event->key, "isError"))
        walk->reply->is_tool_error = event->type == JSON_TRUE;
    if (walk->rules->request != NULL && !walk->wants_outcome && event->kind == JSON_EVENT_BEGIN &&
        span_is(event->key, "inputRequests"))
        walk->tree.arena = walk->arena;
    if (span_is(event->key, "protocolVersion") && event->type == JSON_STRING)
        return arena_keep(walk->arena, event->text, &walk->version);
    if (json_key_is_misspelled(event->key, SPAN_LIT("protocolVersion")) && span_is(walk->rules->request_method, "initialize"))
        return refuse_json(walk, "result.protocolVersion is spelled in another way");
    return walk->may_list ? on_list(walk, event) : CODE_OK;
}

/* A member of `params`. */
static void on_param(struct walk *walk, const struct json_event *event)
{
    walk->needs_tree |= span_is(event->key, "_meta") && event->type != JSON_OBJECT;
    walk->needs_tree |= walk->rules->request != NULL && json_key_is_like(event->key, SPAN_LIT("inputRequests"));
}

static void take_hint(struct mcp_hints *hints, const struct json_event *event)
{
    enum mcp_said said =
        event->type == JSON_TRUE ? MCP_SAID_TRUE : event->type == JSON_FALSE ? MCP_SAID_FALSE : MCP_UNSAID;

    if (span_is(event->key, "readOnlyHint"))
        hints->read_only = said;
    else if (span_is(event->key, "destructiveHint"))
        hints->destructive = said;
    else if (span_is(event->key, "idempotentHint"))
        hints->idempotent = said;
    else if (span_is(event->key, "openWorldHint"))
        hints->open_world = said;
}

/* Members of a tool at depth 4, members of its `annotations` at depth 5. */
static void on_annotations(struct walk *walk, const struct json_event *event)
{
    if (event->depth == 4)
        walk->in_annotations = event->kind == JSON_EVENT_BEGIN && span_is(event->key, "annotations");
    else if (event->depth == 5 && walk->in_annotations && event->kind == JSON_EVENT_SCALAR)
        take_hint(&walk->hints, event);
}

/* Whether some rule could permit what the element is there for. A tool whose name no call may have is for nothing. */
static bool is_kept(const struct walk *walk, struct span definition)
{
    const struct mcp_reply_rules *rules = walk->rules;
    bool is_tool = walk->list->lists == MCP_LISTS_TOOLS, is_long = walk->name.len > MCP__NAME_MAX;
    const struct mcp_tool tool = {walk->name, walk->hints, definition, walk->elements == 1};

    if (is_tool && !is_long && rules->learn != NULL && !rules->learn(rules->keep_context, &tool))
        return false;
    if (rules->keep == NULL)
        return true;
    return !(is_tool && is_long) &&
           rules->keep(rules->keep_context, listings[walk->list->lists].use, walk->name,
                       walk->list->lists == MCP_LISTS_TEMPLATES);
}

static enum code begin_element(struct walk *walk, const struct json_event *event)
{
    walk->name = SPAN_NONE;
    walk->hints = (struct mcp_hints){MCP_UNSAID, MCP_UNSAID, MCP_UNSAID, MCP_UNSAID};
    walk->in_annotations = walk->is_deceptive = false;
    walk->stripped = walk->reply->stripped;
    if (++walk->elements > listings[walk->list->lists].most && !walk->rules->is_ours)
        return refuse_list(walk, "too many elements in result.%.*s", SPAN_ARG(walk->list->list));
    return event->type == JSON_OBJECT
               ? CODE_OK : refuse_list(walk, "an element of result.%.*s is not an object", SPAN_ARG(walk->list->list));
}

/* Anything inside a list: depth 3 are its elements, depth 4 their members. */
static enum code on_element(struct walk *walk, const struct json_event *event)
{
    if (event->depth == 3 && event->kind != JSON_EVENT_END)
        return begin_element(walk, event);
    if (event->depth > 3) {
        if (walk->list->lists == MCP_LISTS_TOOLS)
            on_annotations(walk, event);
        if (event->depth == 4 && json_key_is_misspelled(event->key, walk->list->key))
            return refuse_list(walk, "an element of result.%.*s spells %.*s in another way", SPAN_ARG(walk->list->list),
                               SPAN_ARG(walk->list->key));
        if (event->depth == 4 && event->type == JSON_STRING && span_equals(event->key, walk->list->key))
            return arena_keep(walk->arena, event->text, &walk->name);
        return CODE_OK;
    }
    if (walk->name.len == 0)
        return refuse_list(walk, "an element of result.%.*s has no %.*s", SPAN_ARG(walk->list->list),
                           SPAN_ARG(walk->list->key));
    if (!is_kept(walk, event->raw)) {
        walk->reply->removed++;
        walk->reply->stripped = walk->stripped;
        return json_edits_cut(&walk->edits, event->begin, event->end);
    }
    if (!walk->is_deceptive)
        return CODE_OK;
    return walk->list->lists == MCP_LISTS_TOOLS
               ? refuse(walk, REASON_UPSTREAM_DEFINITION, "a tool's definition holds invisible or direction characters")
               : refuse(walk, REASON_UPSTREAM_DECEPTIVE, "an element of a list holds invisible or direction characters");
}

/* Characters that deceive a reader, in whatever comes from the server's own words. */
static enum code on_text(struct walk *walk, const struct json_event *event)
{
    bool is_text = event->kind == JSON_EVENT_SCALAR && event->type == JSON_STRING;
    bool names, deceives;

    if (event->depth <= OUTCOME_DEPTH)
        walk->treatment = mcp__treatment(walk->rules, walk->asked != NULL, walk->member,
                                         event->depth == OUTCOME_DEPTH ? event->key : SPAN_NONE);
    if (walk->treatment == MCP_PASS || event->kind == JSON_EVENT_END)
        return CODE_OK;
    names = unicode_is_deceptive(event->key);
    deceives = is_text && unicode_is_deceptive(event->text);
    if (deceives && walk->treatment == MCP_STRIP) {
        names = names || (walk->list != NULL && event->depth == 4 && span_equals(event->key, walk->list->key)) ||
                (event->depth == OUTCOME_DEPTH && span_is(event->key, MCP__STATE)); /* the server's own, which comes back */
        if (!names)
            return mcp__strip(event, &walk->edits, &walk->reply->stripped);
    }
    if (!names && !deceives)
        return CODE_OK;
    walk->is_deceptive = true;
    return walk->list != NULL && event->depth > 3 ? CODE_OK /* refused only where the element is kept */
                                             : refuse(walk, REASON_UPSTREAM_DECEPTIVE, "invisible or direction characters");
}

/* Whether the error may tell versions; its code may come behind its data. */
static bool names_versions(const struct walk *walk)
{
    return walk->member == MEMBER_ERROR &&
           (!walk->has_error_code || walk->reply->error_code == reason_rpc_code(REASON_VERSION_UNSUPPORTED));
}

static enum code on_event(void *context, const struct json_event *event)
{
    struct walk *walk = context;
    enum code code = CODE_OK;

    walk->values += event->kind != JSON_EVENT_END;
    if (event->depth == 0) {
        return event->type == JSON_OBJECT ? CODE_OK : refuse_json(walk, "the message is not one object");
    }
    if (event->depth == 1 && event->kind != JSON_EVENT_END)
        code = on_member(walk, event);
    else if (event->depth == OUTCOME_DEPTH && walk->member == MEMBER_PARAMS)
        on_param(walk, event);
    else if (event->depth == OUTCOME_DEPTH)
        code = on_outcome(walk, event);
    else if (walk->list != NULL)
        code = on_element(walk, event);
    if (event->depth == 1 && (walk->member == MEMBER_RESULT || walk->member == MEMBER_ERROR)) {
        walk->outcome_begin = event->begin;
        walk->outcome_end = event->end;
    }
    if (code == CODE_OK)
        code = on_text(walk, event);
    if (code == CODE_OK && walk->rules->request != NULL && walk->member == MEMBER_RESULT && event->depth > 1) {
        code = mcp__on_modern(&walk->modern, event);
        if (code == CODE_INVALID)
            (void)refuse_json(walk, walk->modern.detail);
    }
    if (code == CODE_OK && walk->rules->request != NULL && names_versions(walk) && event->depth > 1)
        code = mcp__on_modern_error(&walk->modern, event);
    return code == CODE_OK && !walk->rules->is_ours ? mcp__cut_own(walk->is_meta, event, &walk->edits) : code;
}

/* The envelope as a whole, once all of it was seen. */
static enum reason settle(struct walk *walk, const struct buf *out)
{
    struct mcp_reply *reply = walk->reply;
    struct span id = walk->is_id_text ? walk->rules->request_id
                                      : span_part(buf_peek(out), walk->id_begin, walk->id_end - walk->id_begin);

    reply->is_error = reply->kind == MCP_RESPONSE && (walk->members & MEMBER_ERROR) != 0;
    walk->detail = "the members of the envelope do not make a message";
    if (reply->kind == MCP_NONE || (reply->is_error && !walk->has_error_code))
        return REASON_UPSTREAM_JSON;
    /* Only an error about an id that could not be read may lack the id. */
    walk->detail = "a request or a result without an id";
    if (!reply->is_error && reply->kind != MCP_NOTIFICATION && (id.len == 0 || span_is(id, "null")))
        return REASON_UPSTREAM_JSON;
    if (walk->asked != NULL && reply->kind == MCP_RESPONSE && !reply->is_error && !walk->has_list) {
        (void)refuse_list(walk, "the answer to %.*s has no result.%.*s", SPAN_ARG(walk->asked->name),
                          SPAN_ARG(walk->asked->list));
        return REASON_UPSTREAM_JSON;
    }
    walk->detail = "an error that asks the agent to open a URL, where no rule permits elicitation/create";
    if (reply->is_error && reply->error_code == MCP__CODE_URL && walk->rules->keep != NULL &&
        !walk->rules->keep(walk->rules->keep_context, SPAN_LIT("elicitation/create"), SPAN_NONE, false))
        return REASON_QUESTION_DENIED;
    return arena_keep(walk->arena, id, &reply->id) == CODE_OK ? REASON_PERMITTED : REASON_MEMORY;
}

static enum reason replace(struct mcp_reply *reply, const struct mcp__error *error, struct buf *out)
{
    reply->is_unsupported_version = true;
    reply->result = SPAN_NONE;
    reply->outcome = NULL;
    buf_clear(out);
    return mcp__error_write(error, out) == CODE_OK ? REASON_VERSION_NEGOTIATED : REASON_MEMORY;
}

/* What the server negotiated must be among what is judged here. */
static enum reason negotiate(struct walk *walk, struct buf *out)
{
    struct mcp_reply *reply = walk->reply;
    struct mcp__error error = {.id = reply->id,
                               .code = reason_rpc_code(REASON_VERSION_NEGOTIATED),
                               .message = span_text(reason_text(REASON_VERSION_NEGOTIATED)),
                               .supported = walk->rules->revisions};

    if (reply->kind != MCP_RESPONSE || reply->is_error)
        return REASON_PERMITTED;
    if (walk->modern.has_versions && walk->modern.versions == 0) {
        error.code = reason_rpc_code(REASON_VERSION_UNSUPPORTED); /* what a client of that era knows: it takes another one */
        error.has_requested = true;
        error.requested = walk->rules->request->modern_version;
        return replace(reply, &error, out);
    }
    if (!span_is(walk->rules->request_method, "initialize"))
        return REASON_PERMITTED;
    reply->version = walk->version;
    if (mcp_revision_is_listed(walk->rules->revisions, walk->version) && !mcp_revision_is_modern(walk->version))
        return REASON_PERMITTED;
    return replace(reply, &error, out);
}

/* A message that looked like a notification which needs no judgement, and is none. */
static enum reason read_params(struct walk *walk, struct buf *out, struct json_fault *fault)
{
    const struct json_node *root;

    if (json_read(buf_peek(out), &json_reply_rules, out, walk->arena, &root, fault) != CODE_OK)
        return mcp__reply_fault(fault, buf_peek(out));
    walk->tree.root = json_member(root, SPAN_LIT("params"));
    return REASON_PERMITTED;
}

/* Finds the parts of the message that are judged in the tree. */
static enum reason look_into(struct walk *walk, struct buf *out, struct json_fault *fault)
{
    struct mcp_reply *reply = walk->reply;
    bool is_response = reply->kind == MCP_RESPONSE, is_judged = !is_response || walk->modern.has_asks;
    const struct json_node asking = {.type = JSON_OBJECT, .child = walk->tree.root};
    enum reason reason = REASON_PERMITTED;

    if (!is_judged && !walk->wants_outcome)
        return REASON_PERMITTED;
    walk->detail = "too many values";
    if (is_judged && walk->values > VALUES_MAX)
        return REASON_UPSTREAM_JSON;
    if (is_judged && walk->tree.is_full)
        return REASON_MEMORY;
    if (!is_response && walk->tree.root == NULL && (walk->members & MEMBER_PARAMS) != 0)
        reason = read_params(walk, out, fault);
    if (reason != REASON_PERMITTED)
        return reason;
    reply->outcome = is_response && walk->wants_outcome ? walk->tree.root : NULL;
    reply->params = is_response ? NULL : walk->tree.root;
    reply->meta = is_response ? NULL : json_member(reply->params, SPAN_LIT("_meta"));
    walk->detail = walk->rules->request == NULL || reply->is_error ? NULL
                   : mcp__find_asks(is_response && !walk->wants_outcome ? &asking : walk->tree.root, &reply->asks);
    if (walk->detail != NULL)
        return REASON_UPSTREAM_JSON;
    walk->detail = "_meta is not an object";
    return reply->meta == NULL || reply->meta->type == JSON_OBJECT ? REASON_PERMITTED : REASON_UPSTREAM_JSON;
}

static enum reason walk_through(struct walk *walk, struct span data, struct buf *out, struct json_fault *fault)
{
    struct json_rules rules = json_reply_rules;
    enum code code;

    walk->is_small = data.len < UNJUDGED_BYTES;
    rules.folding = JSON_FOLD_ENVELOPE; /* an answer's members in another spelling are refused as unknown anyway */
    /* Texts deeper in a result, which may be nearly all of it, are decoded only where somebody looks at them. */
    rules.text_depth = walk->may_list || walk->modern.names_versions || !mcp__passes_all(walk->rules) ? 0 : OUTCOME_DEPTH;
    code = json_walk_tree(data, &rules, out, &walk->tree, on_event, walk, fault);
    if (code != CODE_OK && fault->kind != JSON_FAULT_NONE)
        return mcp__reply_fault(fault, data);
    if (code != CODE_OK)
        return code == CODE_NOMEM ? REASON_MEMORY : walk->reason;
    return REASON_PERMITTED;
}

/* Mends faults where the route allows it; else they are refused. */
static enum reason mend(struct walk *walk)
{
    bool is_response = walk->reply->kind == MCP_RESPONSE;

    walk->is_id_text = walk->is_id_text && is_response;
    walk->detail = "error is null, in what is no result";
    if (walk->has_error_null && !is_response)
        return REASON_UPSTREAM_ERROR_NULL;
    walk->detail = "the id is a string where a number was asked";
    if (walk->is_id_text && !(walk->rules->lenient & MCP_LENIENT_ID_TYPE))
        return REASON_UPSTREAM_ID_TYPE;
    walk->reply->is_mended = walk->is_id_text || walk->has_error_null;
    return !walk->is_id_text || json_edits_put(&walk->edits, walk->id_begin, walk->id_end, walk->rules->request_id) == CODE_OK
               ? REASON_PERMITTED : REASON_MEMORY;
}

/* Changes the message, and what is known of its places with it. */
static enum reason edit(struct walk *walk, struct buf *out)
{
    struct json_node outcome = {.raw = span_part(buf_peek(out), walk->outcome_begin, walk->outcome_end - walk->outcome_begin),
                                .child = walk->wants_outcome ? NULL : walk->tree.root};
    bool is_response = walk->reply->kind == MCP_RESPONSE;
    const struct json_node *root = is_response && (!walk->wants_outcome || walk->tree.is_full) ? &outcome : walk->tree.root;

    if (json_edits_apply(&walk->edits, out, walk->arena, root) != CODE_OK)
        return REASON_MEMORY;
    walk->reply->result = is_response ? root->raw : SPAN_NONE;
    return REASON_PERMITTED;
}

static bool is_unjudged(struct walk *walk)
{
    return walk->reply->kind == MCP_NOTIFICATION && !walk->needs_tree && walk->is_small && passes(walk);
}

static enum reason read_message(struct walk *walk, struct span data, struct buf *out, struct json_fault *fault)
{
    enum reason reason = walk_through(walk, data, out, fault);

    walk->reply->kind = mcp__kind_of(walk->members, walk->reply->method);
    if (reason == REASON_PERMITTED)
        reason = mend(walk);
    if (reason == REASON_PERMITTED)
        reason = settle(walk, out);
    if (reason == REASON_PERMITTED)
        reason = edit(walk, out);
    if (reason != REASON_PERMITTED)
        return reason;
    walk->reply->passes = is_unjudged(walk);
    if (!walk->reply->passes)
        reason = look_into(walk, out, fault);
    return reason == REASON_PERMITTED ? negotiate(walk, out) : reason;
}

enum reason mcp_reply_read(struct span data, const struct mcp_reply_rules *rules, struct buf *out, struct arena *arena,
                           struct mcp_reply *reply, struct json_fault *fault)
{
    struct walk walk;
    enum reason reason;

    memset(&walk, 0, offsetof(struct walk, is_meta));
    walk.is_meta[0] = false;
    walk.rules = rules;
    walk.reply = reply;
    walk.arena = arena;
    walk.reason = REASON_UPSTREAM_JSON;
    walk.detail = "";
    *reply = (struct mcp_reply){.kind = MCP_NONE};
    walk.asked = mcp_method_find(rules->request_method, rules->own);
    if (walk.asked != NULL && walk.asked->lists == MCP_LISTS_NOTHING)
        walk.asked = NULL;
    walk.may_list = walk.asked != NULL || rules->request_method.len == 0;
    walk.modern = (struct mcp__modern){.rules = rules, .edits = &walk.edits};
    walk.modern.names_versions = rules->request != NULL && span_is(rules->request->method, "server/discover");
    json_edits_init(&walk.edits);
    reason = read_message(&walk, data, out, fault);
    json_edits_fini(&walk.edits);
    if (reason == REASON_PERMITTED || reason == REASON_VERSION_NEGOTIATED) {
        reply->body = buf_peek(out);
        return reason;
    }
    if (fault->kind == JSON_FAULT_NONE)
        fault->text = walk.detail;
    buf_clear(out);
    return reason;
}

enum code mcp_reply_error(struct span id, enum reason reason, uint64_t decision, struct buf *out)
{
    int code = reason_rpc_code(reason);
    struct mcp__error error = {.id = id, .code = code != 0 ? code : 5030, .message = span_text(reason_text(reason)),
                               .denial = denial_code(reason_denial(reason)), .decision = decision};

    return mcp__error_write(&error, out);
}
