/* SPDX-License-Identifier: Apache-2.0 */
/* Headers that mirror the body: whoever routes by them must see what was judged. */
#include "crypto/digest.h"
#include "mcp/mcp_priv.h"
#include "json/text.h"

#define DECODED_MAX_BYTES 8192 /* no header line is longer */
#define SCHEMA_TREE_BYTES ((size_t)32 << 20)
#define PARAM_ANNOTATION "x-mcp-header"

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

/* The value that Mcp-Name says again; NULL: this message has none. */
static const struct json_node *named(const struct mcp_message *message)
{
    const struct json_node *node =
        json_member(message->params, message->of != NULL && message->of->thing.len > 0 ? message->of->thing : SPAN_LIT("name"));

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

/* Whether a modern request must have Mcp-Name. A name that is no string is refused elsewhere. */
static bool needs_name(const struct mcp_message *message)
{
    return !span_is_empty(mcp_method_mirrored(message->method)) && named(message) != NULL;
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
    if (text.len == 0 || (text.at[0] != '-' && (text.at[0] < '0' || text.at[0] > '9')))
        return false;
    return json_text_is(text, DECODED_MAX_BYTES) && json_number_compare(lexeme, text) == 0;
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

/* The argument of that name that the header says again. Where several differ in case alone, each must have the
 * header's value. */
static const struct json_node *find_named(const struct mcp_message *message, struct span name, struct span text)
{
    const struct json_node *found = NULL;
    bool is_named = false;

    for (const struct json_node *node = message->arguments->child; node != NULL; node = node->next)
        if (span_equals_nocase(node->key, name)) {
            found = node_agrees(node, text) && (found != NULL || !is_named) ? node : NULL;
            is_named = true;
        }
    return found;
}

/* SEP-2243: each property whose schema says `x-mcp-header` with this name, at any depth of `properties`. Takes: value: of the
 * arguments, what the schema is about; NULL: nothing. Recursion goes no deeper than a document may be. */
static void find_annotated(const struct json_node *schema, const struct json_node *value, struct span name,
                           const struct json_node **found, uint32_t *count)
{
    const struct json_node *properties = json_member(schema, SPAN_LIT("properties"));

    for (const struct json_node *each = properties != NULL ? properties->child : NULL; each != NULL; each = each->next) {
        const struct json_node *one = value != NULL && value->type == JSON_OBJECT ? json_member(value, each->key) : NULL;

        if (each->type != JSON_OBJECT)
            continue;
        if (span_equals_nocase(json_member_text(each, PARAM_ANNOTATION), name)) {
            *found = one;
            ++*count;
        }
        find_annotated(each, one, name, found, count);
    }
}

/* Returns: whether the tool's schema says which argument it is: then *node, or NULL where the call has no such argument, or
 * the schema says two. */
static bool read_schema(const struct mcp_message *message, struct span schema, struct span name, const struct json_node **node)
{
    struct json_text read;
    uint32_t count = 0;

    *node = NULL;
    if (memmem(schema.at, schema.len, PARAM_ANNOTATION, sizeof PARAM_ANNOTATION - 1) == NULL)
        return false;
    if (json_text_read(&read, schema, &json_file_rules, SCHEMA_TREE_BYTES) == CODE_OK)
        find_annotated(read.root, message->arguments, name, node, &count);
    json_text_fini(&read);
    if (count > 1)
        *node = NULL;
    return count > 0;
}

bool mcp_param_header_agrees(struct mcp_message *message, struct span name, struct span value, struct span schema,
                             struct arena *arena)
{
    struct mcp_mirror *mirror = arena_zalloc(arena, sizeof *mirror);
    struct buf decoded;
    struct span text;
    bool agrees = false;

    buf_init(&decoded, DECODED_MAX_BYTES);
    if (mirror != NULL && message->arguments != NULL && unwrap(value, &decoded, &text)) {
        *mirror = (struct mcp_mirror){message->mirrors, name, NULL};
        if (schema.at == NULL || !read_schema(message, schema, name, &mirror->node))
            mirror->node = find_named(message, name, text);
        agrees = mirror->node != NULL && node_agrees(mirror->node, text);
    }
    buf_fini(&decoded);
    if (agrees)
        message->mirrors = mirror;
    return agrees;
}

static const struct json_node *mirrored(const struct mcp_message *message, struct span name)
{
    const struct mcp_mirror *mirror = message->mirrors;

    while (mirror != NULL && !span_equals_nocase(mirror->name, name))
        mirror = mirror->next;
    return mirror != NULL ? mirror->node : NULL;
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

enum code mcp_mirror(const struct mcp_message *message, struct span name, struct buf *out)
{
    const struct span param = SPAN_LIT("Mcp-Param-");
    const struct json_node *node;

    if (span_equals_nocase(name, SPAN_LIT("Mcp-Method")))
        return message->method.len > 0 ? buf_add_span(out, message->method) : CODE_NOT_FOUND;
    if (span_equals_nocase(name, SPAN_LIT("Mcp-Name")))
        node = named(message);
    else
        node = mirrored(message, span_part(name, param.len, SIZE_MAX));
    if (node == NULL)
        return CODE_NOT_FOUND;
    return wrap(node->type == JSON_STRING ? node->text : node->raw, out);
}
