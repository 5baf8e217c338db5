/* SPDX-License-Identifier: Apache-2.0 */
/* Headers that mirror the body: whoever routes by them must see what was judged. */
#include "crypto/digest.h"
#include "mcp/mcp_priv.h"

#define DECODED_MAX_BYTES 8192 /* no header line is longer */
#define SEARCH_MAX 10000       /* values that one header is looked for among */

static const struct span wrap_begin = {"=?base64?", 9};
static const struct span wrap_end = {"?=", 2};

/* What a header's value stands for: itself, or what is wrapped in =?base64?...?=. */
static bool unwrap(struct span value, struct buf *decoded, struct span *text)
{
    *text = value;
    if (value.len < wrap_begin.len + wrap_end.len || !span_starts_with(value, wrap_begin) ||
        !span_ends_with(value, wrap_end))
        return true;
    value = span_part(value, wrap_begin.len, value.len - wrap_begin.len - wrap_end.len);
    if (base64_decode(value, decoded) != CODE_OK)
        return false;
    *text = buf_peek(decoded);
    return true;
}

/* What Mcp-Name says again; NULL: nothing of this message. */
static const struct json_node *named(const struct mcp_message *message)
{
    const char *mirrored = span_starts_with(message->method, SPAN_LIT("resources/")) ? "uri"
                           : span_starts_with(message->method, SPAN_LIT("tasks/"))   ? "taskId"
                                                                                     : "name";
    const struct json_node *node = json_member(message->params, span_text(mirrored));

    return node != NULL && node->type == JSON_STRING ? node : NULL;
}

static bool name_agrees(const struct mcp_message *message, struct span value)
{
    const struct json_node *node = named(message);
    struct buf decoded;
    struct span text;
    bool agrees;

    buf_init(&decoded, DECODED_MAX_BYTES);
    agrees = node != NULL && unwrap(value, &decoded, &text) && span_equals(text, node->text);
    buf_fini(&decoded);
    return agrees;
}

/* Of modern requests. What is no string is refused as what it is. */
static bool needs_name(const struct mcp_message *message)
{
    static const char *const methods[] = {"tools/call", "prompts/get", "resources/read", "tasks/get", "tasks/update",
                                          "tasks/cancel"};

    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (span_is(message->method, methods[i]))
            return named(message) != NULL;
    return false;
}

const char *mcp__headers_differ(const struct mcp_message *message, const struct mcp_read_rules *rules)
{
    bool needs = message->is_modern && message->kind == MCP_REQUEST;

    if ((message->is_modern || mcp_revision_is_modern(rules->version)) && rules->in_session)
        return "a request with its version in _meta belongs to no session: leave Mcp-Session-Id out";
    if (rules->version.at == NULL ? needs : message->is_modern && !span_equals(rules->version, message->asked_version))
        return "MCP-Protocol-Version must say what _meta says";
    if (rules->mcp_method.at == NULL ? needs : !span_equals(rules->mcp_method, message->method))
        return "Mcp-Method must say the body's method";
    if (rules->mcp_name.at == NULL ? needs && needs_name(message) : !name_agrees(message, rules->mcp_name))
        return "Mcp-Name must say the body's name, uri or taskId";
    return NULL;
}

/* 42 and 42.0 are one integer. */
static bool is_same_number(struct span lexeme, struct span text)
{
    struct json_fault fault;
    struct buf copy;
    bool is_number;

    if (text.len == 0 || (text.at[0] != '-' && (text.at[0] < '0' || text.at[0] > '9')))
        return false;
    buf_init(&copy, DECODED_MAX_BYTES);
    is_number = json_read(text, &json_file_rules, &copy, NULL, NULL, &fault) == CODE_OK;
    buf_fini(&copy);
    return is_number && json_number_compare(lexeme, text) == 0;
}

static bool node_agrees(const struct json_node *node, struct span text)
{
    switch (node->type) {
    case JSON_STRING:
        return span_equals(node->text, text);
    case JSON_NUMBER:
        return span_equals(node->raw, text) || is_same_number(node->raw, text);
    case JSON_TRUE:
    case JSON_FALSE:
        return span_equals(node->raw, text);
    case JSON_NONE:
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        return false;
    }
    return false;
}

/* Some scalar below `node`, among the first *left values. Recursion goes no deeper than a request may be (64). */
static const struct json_node *find_any(const struct json_node *node, struct span text, uint32_t *left)
{
    for (const struct json_node *child = node->child; child != NULL && *left > 0; child = child->next) {
        const struct json_node *found;

        *left -= 1;
        found = node_agrees(child, text) ? child : find_any(child, text, left);
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* The argument that an Mcp-Param-* header says again. */
static const struct json_node *find_argument(const struct mcp_message *message, struct span name, struct span value)
{
    const struct json_node *found = NULL;
    uint32_t left = SEARCH_MAX;
    bool is_named = false;
    struct buf decoded;
    struct span text;

    buf_init(&decoded, DECODED_MAX_BYTES);
    if (message->arguments != NULL && unwrap(value, &decoded, &text)) {
        for (const struct json_node *node = message->arguments->child; node != NULL; node = node->next)
            if (span_equals_nocase(node->key, name)) { /* of two in different case nobody knows whose the header is */
                found = node_agrees(node, text) && (found != NULL || !is_named) ? node : NULL;
                is_named = true;
            }
        if (!is_named)
            found = find_any(message->arguments, text, &left);
    }
    buf_fini(&decoded);
    return found;
}

bool mcp_param_header_agrees(const struct mcp_message *message, struct span name, struct span value)
{
    return find_argument(message, name, value) != NULL;
}

static bool is_plain(struct span text)
{
    if (span_starts_with(text, wrap_begin) && span_ends_with(text, wrap_end))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] < 0x20 || text.at[i] > 0x7e || ((i == 0 || i + 1 == text.len) && text.at[i] == ' '))
            return false;
    return true;
}

static enum code wrap(struct span text, struct buf *out)
{
    if (is_plain(text))
        return buf_add_span(out, text);
    buf_add_span(out, wrap_begin);
    base64_encode(text, out);
    return buf_add_span(out, wrap_end);
}

enum code mcp_mirror(const struct mcp_message *message, struct span name, struct span value, struct buf *out)
{
    const struct span param = SPAN_LIT("Mcp-Param-");
    const struct json_node *node;

    if (span_equals_nocase(name, SPAN_LIT("Mcp-Method")))
        return message->method.len > 0 ? buf_add_span(out, message->method) : CODE_NOT_FOUND;
    if (span_equals_nocase(name, SPAN_LIT("Mcp-Name")))
        node = named(message);
    else
        node = find_argument(message, span_part(name, param.len, SIZE_MAX), value);
    if (node == NULL)
        return CODE_NOT_FOUND;
    return wrap(node->type == JSON_STRING ? node->text : node->raw, out);
}
