/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/message.h"

#include "base/ascii.h"
#include "mcp/mcp_priv.h"
#include "mcp/method.h"
#include "unicode/unicode.h"

enum reason mcp__reason_of_fault(enum json_fault_kind kind)
{
    switch (kind) {
    case JSON_FAULT_MEMORY:
        return REASON_MEMORY;
    case JSON_FAULT_DUPLICATE:
        return REASON_JSON_DUPLICATE;
    case JSON_FAULT_DEPTH:
    case JSON_FAULT_NODES:
    case JSON_FAULT_SIZE:
        return REASON_JSON_LIMIT;
    case JSON_FAULT_NONE:
    case JSON_FAULT_SYNTAX:
    case JSON_FAULT_UTF8:
    case JSON_FAULT_STRING:
    case JSON_FAULT_NUMBER:
        return REASON_JSON_MALFORMED;
    }
    return REASON_JSON_MALFORMED;
}

/* Checks one member of the envelope and takes what it says. Returns: NULL, or what is wrong with it. */
static const char *take_member(struct mcp_message *message, enum mcp__member member, const struct json_node *node)
{
    switch (member) {
    case MEMBER_UNKNOWN:
        return "the envelope has a member that JSON-RPC does not know";
    case MEMBER_JSONRPC:
        return node->type == JSON_STRING && span_is(node->text, "2.0") ? NULL : "jsonrpc is not \"2.0\"";
    case MEMBER_ID:
        if (!mcp__id_is_legal(node->type, node->type == JSON_NUMBER ? node->raw : node->text))
            return "the id is neither a short string nor a safe integer";
        message->id = node->raw;
        return NULL;
    case MEMBER_METHOD:
        if (node->type != JSON_STRING || !mcp__method_is_legal(node->text))
            return "the method is not a name";
        message->method = node->text;
        return NULL;
    case MEMBER_PARAMS:
        message->params = node;
        return NULL;
    case MEMBER_RESULT:
        return NULL;
    case MEMBER_ERROR:
        return node->type == JSON_OBJECT ? NULL : "error is not an object";
    }
    return "an unknown member";
}

/* The whole envelope is walked even after a fault, because the answer should carry the id. */
static enum reason read_envelope(struct mcp_message *message, struct json_fault *fault)
{
    const char *detail = NULL;
    unsigned members = 0;
    enum mcp_kind kind;

    if (message->root->type != JSON_OBJECT)
        return message->root->type == JSON_ARRAY ? REASON_BATCH : REASON_ENVELOPE;
    for (const struct json_node *node = message->root->child; node != NULL; node = node->next) {
        enum mcp__member member = mcp__member_of(node->key);

        const char *wrong = take_member(message, member, node);

        detail = detail != NULL ? detail : wrong;
        members |= member;
    }
    kind = mcp__kind_of(members, message->method);
    if (detail == NULL && (kind == MCP_NONE || (kind == MCP_RESPONSE && message->id.len == 0)))
        detail = "the members of the envelope do not make a message";
    if (detail != NULL) {
        fault->text = detail;
        return REASON_ENVELOPE;
    }
    message->kind = kind;
    return REASON_PERMITTED;
}

/* Whether the key is one that the gate decides by, in a spelling that it does not read but an upstream that
 * ignores case may. */
static bool is_misspelled(struct span key)
{
    static const struct span names[] = {{"name", 4}, {"arguments", 9}, {"uri", 3}, {"_meta", 5}, {"task", 4}, {"taskId", 6},
                                        {"protocolVersion", 15}, {"notifications", 13}, {"inputResponses", 14},
                                        {MCP__STATE, sizeof MCP__STATE - 1}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (span_equals(key, names[i]))
            return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (json_key_is_like(key, names[i]))
            return true;
    return false;
}

/* An upstream that ignores case would take the message for a modern one, or for one of another revision. */
static bool has_misspelled_meta(const struct json_node *meta)
{
    static const struct span names[] = {{MCP__MODERN_VERSION, sizeof MCP__MODERN_VERSION - 1},
                                        {MCP__CAPABILITIES, sizeof MCP__CAPABILITIES - 1}};

    for (const struct json_node *node = meta ? meta->child : NULL; node != NULL; node = node->next)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (json_key_is_misspelled(node->key, names[i]))
                return true;
    return false;
}

/* A revision with sessions, by its name. */
static bool is_old(const struct json_node *version)
{
    return version->type == JSON_STRING && !mcp_revision_is_modern(version->text) &&
           mcp_revision_is_listed(mcp_revisions, version->text);
}

/* params and _meta, and whether it is a modern request: by the revision that it names, or where only those have its method. */
static enum reason read_params(struct mcp_message *message, const struct mcp_read_rules *rules)
{
    const struct mcp_method *of = mcp_method_find(message->method, rules->own);
    bool is_request = message->kind == MCP_REQUEST;
    const struct json_node *version;

    message->is_modern = is_request && (mcp_method_era(of) == MCP_ERA_MODERN ||
                                        mcp_revision_is_modern(rules->version));
    if (message->params != NULL && message->params->type != JSON_OBJECT) {
        message->params = NULL;
        return REASON_PARAMS_INVALID;
    }
    message->of = of;
    for (const struct json_node *node = message->params ? message->params->child : NULL; node != NULL; node = node->next)
        if (is_misspelled(node->key) || (message->of != NULL && json_key_is_misspelled(node->key, message->of->thing)))
            return REASON_PARAMS_INVALID;
    message->meta = json_member(message->params, SPAN_LIT("_meta"));
    if (message->meta != NULL && message->meta->type != JSON_OBJECT) {
        message->meta = NULL;
        return REASON_PARAMS_INVALID;
    }
    version = json_member(message->meta, SPAN_LIT(MCP__MODERN_VERSION));
    if (version != NULL && !message->is_modern && is_old(version)) {
        message->modern_version = version->raw;
        if (rules->version.at != NULL && !span_equals(rules->version, version->text))
            return REASON_HEADER_MISMATCH;
    } else if (version != NULL) {
        message->is_modern = true;
        message->modern_version = version->raw;
        message->asked_version = version->text;
    }
    return has_misspelled_meta(message->meta) ? REASON_PARAMS_INVALID : REASON_PERMITTED;
}

/* Whether the route has a revision with sessions: a message of such a revision need not name it. */
static bool has_old(const char *const *revisions)
{
    if (revisions == NULL)
        return true;
    for (; *revisions != NULL; revisions++)
        if (!mcp_revision_is_modern(span_text(*revisions)))
            return true;
    return false;
}

static enum reason check_old(struct mcp_message *message, const struct mcp_read_rules *rules)
{
    const struct json_node *asked = json_member(message->params, SPAN_LIT("protocolVersion"));

    if (!mcp_method_may_come(message->of, false))
        return REASON_METHOD_UNKNOWN;
    if (has_old(rules->revisions))
        return REASON_PERMITTED;
    message->modern_version = asked != NULL ? asked->raw : message->modern_version;
    return REASON_VERSION_UNSUPPORTED;
}

static bool may_stand(const struct mcp_read_rules *rules, const struct mcp_message *message, struct span member)
{
    for (size_t i = 0; i < rules->param_count; i++)
        if (span_equals(rules->params[i], member))
            return true;
    return mcp_method_takes(message->of, member, message->is_modern);
}

static enum reason check_members(struct mcp_message *message, const struct mcp_read_rules *rules)
{
    for (const struct json_node *node = message->params ? message->params->child : NULL; node != NULL; node = node->next)
        if (!may_stand(rules, message, node->key)) {
            message->unknown = span_of(node->key.at != NULL ? node->key.at : "", node->key.len);
            return REASON_PARAMS_INVALID;
        }
    return REASON_PERMITTED;
}

static bool has_own_place(const struct json_node *member)
{
    return span_is(member->key, "name") || span_is(member->key, "arguments");
}

/* {"key":value,...}: canonical, since its members are. */
static enum code write_others(const struct json_node *params, struct buf *out)
{
    enum code code = CODE_OK;

    for (const struct json_node *node = params->child; node != NULL && code == CODE_OK; node = node->next) {
        if (has_own_place(node))
            continue;
        code = buf_add_byte(out, buf_is_empty(out) ? '{' : ',');
        if (code == CODE_OK)
            code = json_write_string(out, node->key);
        if (code == CODE_OK)
            code = buf_add_byte(out, ':');
        if (code == CODE_OK)
            code = buf_add_span(out, node->raw);
    }
    return code == CODE_OK && !buf_is_empty(out) ? buf_add_byte(out, '}') : code;
}

static bool has_others(const struct json_node *params)
{
    for (const struct json_node *node = params->child; node != NULL; node = node->next)
        if (!has_own_place(node))
            return true;
    return false;
}

/* What is neither the name nor the arguments, as one object that can be asked about and recorded. */
static enum reason gather_others(struct mcp_message *message, struct arena *arena)
{
    struct json_node *others, *copy, **last;
    struct buf text;
    char *kept;

    if (message->params == NULL || (!span_is(message->method, "tools/call") && !span_is(message->method, "prompts/get")) ||
        !has_others(message->params))
        return REASON_PERMITTED;
    buf_init(&text, SIZE_MAX / 2);
    others = write_others(message->params, &text) == CODE_OK ? arena_zalloc(arena, sizeof *others) : NULL;
    kept = others != NULL ? arena_dup(arena, buf_peek(&text).at, buf_len(&text)) : NULL;
    if (kept == NULL) {
        buf_fini(&text);
        return REASON_MEMORY;
    }
    others->type = JSON_OBJECT;
    others->raw = span_of(kept, buf_len(&text));
    buf_fini(&text);
    last = (struct json_node **)(void *)&others->child;
    for (const struct json_node *node = message->params->child; node != NULL; node = node->next) {
        if (has_own_place(node))
            continue;
        copy = (struct json_node *)(void *)arena_dup(arena, node, sizeof *node);
        if (copy == NULL)
            return REASON_MEMORY;
        copy->next = NULL;
        *last = copy;
        last = (struct json_node **)(void *)&copy->next;
        others->count++;
    }
    message->others = others;
    return REASON_PERMITTED;
}

static bool is_blank(uint32_t point)
{
    return point == ' ' || point == 0xa0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x202f ||
           point == 0x205f || point == 0x2800 || point == 0x3000;
}

static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029;
}

/* Invisible characters that a text may hold and a name may not. A variation selector is seen only beside a character that has
 * two forms, or before a keycap. */
static bool is_invisible(uint32_t before, uint32_t point, struct span after)
{
    uint32_t next = 0;

    (void)unicode_next(after, &next);
    if (point == 0xfe0e || point == 0xfe0f)
        return !(before == 0xa9 || before == 0xae || (before >= 0x203c && before <= 0x2bff) ||
                 (before >= 0x3030 && before <= 0x303d) || before == 0x3297 || before == 0x3299 ||
                 (before >= 0x1f000 && before <= 0x1faff) || next == 0x20e3);
    return point >= 0xfe00 && point < 0xfe0e;
}

/* A name that a person sees as what it is: nothing in it or at its ends is invisible. */
static bool is_printable_name(struct span name)
{
    uint32_t point = 0, before = 0;
    bool ends_blank = false;
    size_t len;

    for (struct span rest = name; rest.len > 0; rest = span_part(rest, len, SIZE_MAX)) {
        len = unicode_next(rest, &point);
        if (len == 0 || is_control(point) || (is_blank(point) && rest.at == name.at) ||
            is_invisible(before, point, span_part(rest, len, SIZE_MAX)))
            return false;
        before = point;
        ends_blank = is_blank(point);
    }
    return !ends_blank && !unicode_is_deceptive(name);
}

static bool is_strict_name(struct span name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!ascii_is_word(name.at[i]) && name.at[i] != '_' && name.at[i] != '.' && name.at[i] != '-')
            return false;
    return true;
}

const char *mcp_tool_name_fault(struct span name, bool strict)
{
    bool fits = name.len > 0 && name.len <= MCP__NAME_MAX;

    /* Nearly all names are strict ones, which is quickly seen. */
    if (fits && (is_strict_name(name) || (!strict && is_printable_name(name))))
        return NULL;
    return strict
               ? "`tool_names: strict` takes 1 to 128 letters, digits, `_`, `.` and `-`; `printable` takes more"
               : "`tool_names: printable` takes 1 to 128 bytes without control and invisible characters and blanks at the ends";
}

const char *mcp__tool_name_fault(struct span name, const struct mcp_read_rules *rules)
{
    return mcp_tool_name_fault(name, rules->strict_tool_names);
}

/* A member of params that must be a string with something in it. */
static bool take_text(const struct mcp_message *message, struct span name, struct span *text)
{
    const struct json_node *node = json_member(message->params, name);

    if (node == NULL || node->type != JSON_STRING || node->text.len == 0)
        return false;
    *text = node->text;
    return true;
}

static enum reason read_arguments(struct mcp_message *message)
{
    const struct json_node *arguments = json_member(message->params, SPAN_LIT("arguments"));

    if (arguments != NULL && arguments->type != JSON_OBJECT)
        return REASON_ARGUMENTS_INVALID;
    message->arguments = arguments;
    return REASON_PERMITTED;
}

/* What each method's parameters must be, as far as the gate decides by them. */
static enum reason read_method(struct mcp_message *message, const struct mcp_read_rules *rules, struct arena *arena)
{
    const struct json_node *version;

    if (span_is(message->method, "tools/call")) {
        (void)take_text(message, SPAN_LIT("name"), &message->tool);
        message->detail = mcp__tool_name_fault(message->tool, rules);
        if (message->detail != NULL) {
            message->tool = SPAN_NONE;
            return REASON_TOOL_NAME_INVALID;
        }
        message->target = message->tool;
        return read_arguments(message);
    }
    if (span_is(message->method, "prompts/get")) {
        if (!take_text(message, SPAN_LIT("name"), &message->target))
            return REASON_PARAMS_INVALID;
        return read_arguments(message);
    }
    if (message->of != NULL && message->of->about == MCP_ABOUT_RESOURCE)
        return take_text(message, message->of->thing, &message->target) ? REASON_PERMITTED : REASON_PARAMS_INVALID;
    if (span_is(message->method, "subscriptions/listen"))
        return mcp__read_listen(message, arena);
    if (span_is(message->method, "initialize")) {
        version = json_member(message->params, SPAN_LIT("protocolVersion"));
        if (version != NULL && version->type != JSON_STRING)
            return REASON_PARAMS_INVALID;
        message->asked_version = version != NULL ? version->text : SPAN_NONE;
    }
    return REASON_PERMITTED;
}

/* Checks what a modern client brings back: the server's state, and answers to what the server asked. */
static enum reason read_input(const struct mcp_message *message)
{
    const struct json_node *responses = json_member(message->params, SPAN_LIT("inputResponses"));
    const struct json_node *state = json_member(message->params, SPAN_LIT(MCP__STATE));

    if (!message->is_modern || ((responses == NULL || responses->type == JSON_OBJECT) &&
                                (state == NULL || state->type == JSON_STRING)))
        return REASON_PERMITTED;
    return REASON_PARAMS_INVALID;
}

/* Reads the message from its tree. */
static enum reason understand(struct mcp_message *message, const struct mcp_read_rules *rules, struct arena *arena,
                              struct json_fault *fault)
{
    enum reason reason = read_envelope(message, fault);

    if (reason == REASON_PERMITTED && message->kind != MCP_RESPONSE) {
        reason = read_params(message, rules);
        if (reason == REASON_PERMITTED)
            reason = message->is_modern ? mcp__check_modern(message, rules) : check_old(message, rules);
        if (reason == REASON_PERMITTED)
            reason = check_members(message, rules);
    }
    if (reason == REASON_PERMITTED)
        reason = read_method(message, rules, arena);
    if (reason == REASON_PERMITTED)
        reason = read_input(message);
    if (reason == REASON_PERMITTED)
        reason = gather_others(message, arena);
    if (reason == REASON_PERMITTED && !message->is_modern && mcp__headers_differ(message, rules) != NULL)
        reason = REASON_HEADER_MISMATCH;
    return reason;
}

/* Before anything is taken out of it, since the server need not be told of it. Who answers the gate's own question has been
 * shown the page, and is told the rest by a sentence: else a client that answers by itself would ask again without end. */
static bool says_urls(const struct json_node *params, bool begins)
{
    const struct json_node *able = begins ? json_member(params, SPAN_LIT("capabilities"))
                                          : json_member(json_member(params, SPAN_LIT("_meta")), SPAN_LIT(MCP__CAPABILITIES));
    const struct json_node *url = json_member(json_member(able, SPAN_LIT("elicitation")), SPAN_LIT("url"));

    return url != NULL && url->type == JSON_OBJECT &&
           json_member(json_member(params, SPAN_LIT("inputResponses")), SPAN_LIT(MCP__OWN_QUESTION)) == NULL;
}

/* Requests whose answer may ask for that (2026-07-28, multi round-trip requests), and the one that declares it. */
static bool may_open(const struct mcp_message *message)
{
    static const char *const methods[] = {"tools/call", "prompts/get", "resources/read"};

    if (message->kind != MCP_REQUEST || (!message->is_modern && json_member(message->params, SPAN_LIT("task")) != NULL))
        return false;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (span_is(message->method, methods[i]))
            return true;
    return span_is(message->method, "initialize");
}

static enum reason read_root(const struct json_node *root, const struct mcp_read_rules *rules, struct buf *canonical,
                             struct arena *arena, struct mcp_message *message, struct json_fault *fault)
{
    enum reason reason;
    bool is_open = false;

    message->root = root;
    reason = understand(message, rules, arena, fault);
    if (reason == REASON_PERMITTED && message->is_modern)
        reason = mcp__state_open(message, rules->binding, canonical, arena, &is_open);
    if (reason != REASON_PERMITTED || !is_open)
        return reason;
    *message = (struct mcp_message){.kind = MCP_NONE, .root = root};
    return understand(message, rules, arena, fault);
}

enum reason mcp_read(struct span body, const struct mcp_read_rules *rules, struct buf *canonical, struct arena *arena,
                     struct mcp_message *message, struct json_fault *fault)
{
    const struct json_node *root, *params, *method;
    enum reason reason;
    bool says, begins;

    *message = (struct mcp_message){.kind = MCP_NONE};
    buf_clear(canonical);
    if (json_read(body, &json_request_rules, canonical, arena, &root, fault) != CODE_OK)
        return mcp__reason_of_fault(fault->kind);
    params = json_member(root, SPAN_LIT("params"));
    method = json_member(root, SPAN_LIT("method"));
    begins = method != NULL && span_is(method->text, "initialize");
    says = says_urls(params, begins);
    if (mcp__edit(root, params, begins, rules, canonical, arena) != CODE_OK)
        return REASON_MEMORY;
    reason = read_root(root, rules, canonical, arena, message, fault);
    message->opens_urls = may_open(message) && (says || (rules->opens_urls && !message->is_modern));
    return reason;
}

const struct json_node *mcp_message_subject(const struct mcp_message *message)
{
    if (span_is(message->method, "tools/call") || span_is(message->method, "prompts/get"))
        return message->arguments;
    return message->params;
}
