/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that call tools: what the call is that stands in another's arguments. */
#include "declared/declared_priv.h"

#include "base/ascii.h"
#include "mcp/message.h"
#include "unicode/unicode.h"

#define NAME_MAX_BYTES 4096 /* folded */
#define SERVER_MAX_BYTES 64
#define JOINED "__"

const struct declared_unwrap *declared_unwrap_find(const struct declared_unwraps *unwraps, struct span tool)
{
    for (size_t i = 0; i < unwraps->count; i++)
        if (span_equals(unwraps->of[i].tool, tool))
            return &unwraps->of[i];
    return NULL;
}

bool declared_unwrap_is_like(const struct declared_unwraps *unwraps, struct span tool)
{
    struct buf folded, own;
    bool is_like = declared_unwrap_find(unwraps, tool) != NULL;

    if (is_like || unwraps->count == 0)
        return is_like;
    buf_init(&folded, NAME_MAX_BYTES);
    buf_init(&own, NAME_MAX_BYTES);
    is_like = unicode_fold(tool, &folded) != CODE_OK;
    for (size_t i = 0; i < unwraps->count && !is_like; i++) {
        buf_clear(&own);
        is_like = unicode_fold(unwraps->of[i].tool, &own) != CODE_OK || span_equals(buf_peek(&folded), buf_peek(&own));
    }
    buf_fini(&folded);
    buf_fini(&own);
    return is_like;
}

const struct json_node *declared__at(const struct json_node *node, const struct declared_path *path)
{
    for (uint32_t i = 0; i < path->count && node != NULL; i++)
        node = node->type == JSON_OBJECT ? json_member(node, path->step[i]) : NULL;
    return node;
}

static const struct json_node *value_at(const struct json_node *node, const struct declared_path *path)
{
    return path->count > 0 ? declared__at(node, path) : NULL;
}

/* ---- the call ---- */

/* Whether the member at this depth is on the way to a value that is read, *ends: or that value. */
static bool leads(const struct declared_path *path, const struct span *steps, uint32_t depth, struct span key, bool *ends)
{
    if (path->count <= depth || !span_equals(path->step[depth], key))
        return false;
    for (uint32_t i = 0; i < depth; i++)
        if (!span_equals(path->step[i], steps[i]))
            return false;
    *ends = path->count == depth + 1;
    return true;
}

/* Whether nothing stands there but what is read, and what may stand beside it: whatever else there is might be another call.
 * What is on the way to a value stands beside nothing. */
static bool holds_one(const struct declared_unwrap *unwrap, const struct json_node *node, struct span *steps, uint32_t depth)
{
    const struct declared_path *const paths[] = {&unwrap->name, &unwrap->arguments, &unwrap->server};

    for (const struct json_node *member = node->child; member != NULL; member = member->next) {
        bool is_known = false, ends = false;

        for (size_t i = 0; i < sizeof paths / sizeof paths[0] && !is_known; i++)
            is_known = leads(paths[i], steps, depth, member->key, &ends);
        for (size_t i = 0; i < unwrap->beside_count && depth == 0 && !is_known; i++)
            is_known = ends = span_equals(unwrap->besides[i], member->key);
        if (!is_known)
            return false;
        steps[depth] = member->key;
        if (!ends && (member->type != JSON_OBJECT || !holds_one(unwrap, member, steps, depth + 1)))
            return false;
    }
    return true;
}

static bool is_server(struct span name)
{
    if (name.len == 0 || name.len > SERVER_MAX_BYTES || !ascii_is_all(name, "a-zA-Z0-9_.-") || name.at[name.len - 1] == '_')
        return false;
    for (size_t i = 0; i + 1 < name.len; i++)
        if (name.at[i] == '_' && name.at[i + 1] == '_')
            return false;
    return true;
}

/* SERVER__NAME: a server's name has no `__` and no `_` at its end, so that no two are one. */
enum reason declared__name(struct span server, struct span name, struct arena *arena, struct span *tool)
{
    size_t len = server.len + sizeof JOINED - 1 + name.len;
    char *text;

    if (!is_server(server))
        return REASON_INNER_CALL;
    text = arena_alloc(arena, len + 1);
    if (text == NULL)
        return REASON_MEMORY;
    memcpy(text, server.at, server.len);
    memcpy(text + server.len, JOINED, sizeof JOINED - 1);
    memcpy(text + server.len + sizeof JOINED - 1, name.at, name.len);
    *tool = span_of(text, len);
    return REASON_PERMITTED;
}

/* Read once more as a document, also where it is an object already: two members that a careless reader takes for one are
 * refused there as they are among a call's own arguments. */
static enum reason read_arguments(const struct json_node *value, struct buf *canonical, struct arena *arena,
                                  const struct json_node **arguments)
{
    struct json_rules rules = json_request_rules;
    struct json_fault fault;

    if (value->type != JSON_OBJECT && value->type != JSON_STRING)
        return REASON_INNER_CALL;
    rules.folding = JSON_FOLD_ROOT;
    if (json_read(value->type == JSON_STRING ? value->text : value->raw, &rules, canonical, arena, arguments,
                  &fault) != CODE_OK)
        return fault.kind == JSON_FAULT_MEMORY ? REASON_MEMORY : REASON_INNER_CALL;
    return (*arguments)->type == JSON_OBJECT ? REASON_PERMITTED : REASON_INNER_CALL;
}

enum reason declared_inner_read(const struct declared_unwraps *unwraps, const struct declared_unwrap *unwrap,
                                const struct json_node *outer, bool strict, struct buf *canonical, struct arena *arena,
                                struct declared_inner *inner)
{
    const struct json_node *name = value_at(outer, &unwrap->name), *server = value_at(outer, &unwrap->server);
    const struct json_node *arguments = value_at(outer, &unwrap->arguments);
    struct span steps[DECLARED_STEPS_MAX + 1];
    enum reason reason = REASON_PERMITTED;

    *inner = (struct declared_inner){.arguments = NULL};
    if (name == NULL || name->type != JSON_STRING || !holds_one(unwrap, outer, steps, 0))
        return REASON_INNER_CALL;
    inner->tool = name->text;
    if (unwrap->server.count > 0) {
        if (server == NULL || server->type != JSON_STRING)
            return REASON_INNER_CALL;
        reason = declared__name(server->text, name->text, arena, &inner->tool);
    }
    if (reason != REASON_PERMITTED)
        return reason;
    if (mcp_tool_name_fault(name->text, strict) != NULL || mcp_tool_name_fault(inner->tool, strict) != NULL ||
        declared_unwrap_is_like(unwraps, inner->tool))
        return REASON_INNER_CALL;
    if (arguments == NULL || arguments->type == JSON_NULL) /* servers write null for none */
        return REASON_PERMITTED;
    return read_arguments(arguments, canonical, arena, &inner->arguments);
}

/* ---- the configuration ---- */

static bool read_path(struct declared_reader *reader, const struct yaml_node *map, const char *key,
                      struct declared_path *path)
{
    const struct yaml_node *node = yaml_member(map, key);

    *path = (struct declared_path){.count = 0};
    if (node == NULL)
        return true;
    if (node->type == YAML_STRING && declared_path_read(node->text, path)) {
        declared__path_keep(reader, path);
        return true;
    }
    DECLARED_FAULT(reader, node, "`%s` leads by names from the arguments to a value; write it as '$.%s'", key, key);
    return false;
}

static bool read_listed(struct declared_reader *reader, const struct yaml_node *node, struct declared_list *list)
{
    if (node->type == YAML_STRING && declared__list_read(node->text, list)) {
        declared__path_keep(reader, &list->path);
        list->key = declared__keep(reader, list->key);
        return true;
    }
    DECLARED_FAULT(reader, node, "`lists` is where its answer names tools; write it as '$.tools[*].name'");
    return false;
}

static bool read_lists(struct declared_reader *reader, const struct yaml_node *map, struct declared_unwrap *unwrap)
{
    const struct yaml_node *node = yaml_member(map, "lists");
    const struct yaml_node *one = node != NULL && node->type == YAML_LIST ? node->child : node;

    if (node != NULL && node->type == YAML_LIST && (node->count == 0 || node->count > DECLARED_LISTS_MAX)) {
        DECLARED_FAULT(reader, node, "`lists` is one place or up to %d; write it as '$.tools[*].name'", DECLARED_LISTS_MAX);
        return false;
    }
    for (; one != NULL; one = one != node ? one->next : NULL)
        if (!read_listed(reader, one, &unwrap->lists[unwrap->list_count++]))
            return false;
    return true;
}

static void read_besides(struct declared_reader *reader, const struct yaml_node *map, struct declared_unwrap *unwrap)
{
    const struct yaml_node *list = yaml_member(map, "besides");
    struct span *texts = list != NULL ? arena_zalloc(reader->arena, (list->count + 1) * sizeof *texts) : NULL;

    reader->out_of_memory |= list != NULL && texts == NULL;
    for (const struct yaml_node *node = texts != NULL ? list->child : NULL; node != NULL; node = node->next)
        texts[unwrap->beside_count++] = declared__keep(reader, node->text);
    unwrap->besides = texts;
}

bool declared_unwrap_read(struct declared_reader *reader, const struct yaml_node *map, const struct declared_unwraps *before,
                          struct declared_unwrap *unwrap)
{
    const struct yaml_node *tool = yaml_member(map, "tool");

    *unwrap = (struct declared_unwrap){.list_count = 0};
    if (tool == NULL || tool->type != YAML_STRING || mcp_tool_name_fault(tool->text, false) != NULL) {
        DECLARED_FAULT(reader, tool != NULL ? tool : map,
                       "`tool` is the tool that calls others, or lists them; write its name");
        return false;
    }
    if (declared_unwrap_find(before, tool->text) != NULL) {
        DECLARED_FAULT(reader, tool, "the tool %.*s is there twice; leave one out", SPAN_ARG(tool->text));
        return false;
    }
    unwrap->tool = declared__keep(reader, tool->text);
    if (!read_path(reader, map, "name", &unwrap->name) || !read_path(reader, map, "arguments", &unwrap->arguments) ||
        !read_path(reader, map, "server", &unwrap->server) || !read_lists(reader, map, unwrap))
        return false;
    read_besides(reader, map, unwrap);
    if ((unwrap->name.count > 0) == (unwrap->list_count > 0) ||
        (unwrap->name.count == 0 && unwrap->arguments.count + unwrap->beside_count > 0)) {
        DECLARED_FAULT(reader, map, "a tool calls another, whose `name` and `arguments` are somewhere in its own, or `lists` "
                       "others; say one of the two");
        return false;
    }
    return !reader->out_of_memory;
}
