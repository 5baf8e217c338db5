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

static bool name_agrees(const struct mcp_message *message, struct span value)
{
    const char *mirrored = span_starts_with(message->method, SPAN_LIT("resources/")) ? "uri"
                           : span_starts_with(message->method, SPAN_LIT("tasks/"))   ? "taskId"
                                                                                     : "name";
    const struct json_node *node = json_member(message->params, span_text(mirrored));
    struct buf decoded;
    struct span text;
    bool agrees;

    buf_init(&decoded, DECODED_MAX_BYTES);
    agrees = node != NULL && node->type == JSON_STRING && unwrap(value, &decoded, &text) && span_equals(text, node->text);
    buf_fini(&decoded);
    return agrees;
}

bool mcp__headers_agree(const struct mcp_message *message, const struct mcp_read_rules *rules)
{
    if (rules->mcp_method.at != NULL && !span_equals(rules->mcp_method, message->method))
        return false;
    return rules->mcp_name.at == NULL || name_agrees(message, rules->mcp_name);
}

static bool node_agrees(const struct json_node *node, struct span text)
{
    switch (node->type) {
    case JSON_STRING:
        return span_equals(node->text, text);
    case JSON_NUMBER:
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
static bool any_agrees(const struct json_node *node, struct span text, uint32_t *left)
{
    for (const struct json_node *child = node->child; child != NULL && *left > 0; child = child->next) {
        *left -= 1;
        if (node_agrees(child, text) || any_agrees(child, text, left))
            return true;
    }
    return false;
}

static bool arguments_agree(const struct json_node *arguments, struct span name, struct span text)
{
    uint32_t left = SEARCH_MAX;
    bool named = false;

    for (const struct json_node *node = arguments->child; node != NULL; node = node->next)
        if (span_equals_nocase(node->key, name)) {
            if (node_agrees(node, text))
                return true;
            named = true;
        }
    return !named && any_agrees(arguments, text, &left);
}

bool mcp_param_header_agrees(const struct mcp_message *message, struct span name, struct span value)
{
    struct buf decoded;
    struct span text;
    bool agrees;

    buf_init(&decoded, DECODED_MAX_BYTES);
    agrees = message->arguments != NULL && unwrap(value, &decoded, &text) &&
             arguments_agree(message->arguments, name, text);
    buf_fini(&decoded);
    return agrees;
}
