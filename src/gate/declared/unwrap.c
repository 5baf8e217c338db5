/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that call tools: what the call is that stands in another's arguments, and what a search for tools may show. */
#include "declared/declared.h"

#include "base/ascii.h"
#include "mcp/message.h"

#define DEPTH_MAX 64
#define SERVER_MAX_BYTES 64
#define JOINED "__"

const struct declared_unwrap *declared_unwrap_find(const struct declared_unwraps *unwraps, struct span tool)
{
    for (size_t i = 0; i < unwraps->count; i++)
        if (span_equals(unwraps->of[i].tool, tool))
            return &unwraps->of[i];
    return NULL;
}

static const struct json_node *value_at(const struct json_node *node, const struct declared_path *path)
{
    for (uint32_t i = 0; i < path->count && node != NULL; i++)
        node = node->type == JSON_OBJECT ? json_member(node, path->step[i]) : NULL;
    return path->count > 0 ? node : NULL;
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

/* Whether nothing stands there but what is read, and what may stand beside it: whatever else there is might be another call. */
static bool holds_one(const struct declared_unwrap *unwrap, const struct json_node *node, struct span *steps, uint32_t depth)
{
    const struct declared_path *const paths[] = {&unwrap->name, &unwrap->arguments, &unwrap->server};

    for (const struct json_node *member = node->child; member != NULL; member = member->next) {
        bool is_known = false, ends = false;

        for (size_t i = 0; i < unwrap->beside_count && depth == 0 && !is_known; i++)
            is_known = ends = span_equals(unwrap->besides[i], member->key);
        for (size_t i = 0; i < sizeof paths / sizeof paths[0] && !is_known; i++)
            is_known = leads(paths[i], steps, depth, member->key, &ends);
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
static enum reason name_it(struct span server, struct span name, struct arena *arena, struct span *tool)
{
    size_t len = server.len + sizeof JOINED - 1 + name.len;
    char *text = arena_alloc(arena, len + 1);

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
        if (server == NULL || server->type != JSON_STRING || !is_server(server->text))
            return REASON_INNER_CALL;
        reason = name_it(server->text, name->text, arena, &inner->tool);
    }
    if (reason != REASON_PERMITTED)
        return reason;
    if (mcp_tool_name_fault(name->text, strict) != NULL || mcp_tool_name_fault(inner->tool, strict) != NULL ||
        declared_unwrap_find(unwraps, inner->tool) != NULL)
        return REASON_INNER_CALL;
    return arguments != NULL ? read_arguments(arguments, canonical, arena, &inner->arguments) : REASON_PERMITTED;
}

/* ---- lists ---- */

struct filtering {
    const struct declared_unwrap *unwrap;
    declared_keep_fn keep;
    void *context;
};

/* Marks what is not kept of the list below `root`. A list that is not there lists nothing. */
static enum code filter(const struct filtering *filtering, struct span document, const struct json_node *root,
                        struct json_edits *edits)
{
    const struct json_node *list = value_at(root, &filtering->unwrap->list);
    enum code code = CODE_OK;

    if (list == NULL)
        return CODE_OK;
    if (list->type != JSON_ARRAY)
        return CODE_INVALID;
    for (const struct json_node *one = list->child; one != NULL && code == CODE_OK; one = one->next) {
        const struct json_node *name = filtering->unwrap->key.len > 0 && one->type == JSON_OBJECT
                                           ? json_member(one, filtering->unwrap->key) : one;
        size_t begin = (size_t)(one->raw.at - document.at);

        if (name == NULL || name->type != JSON_STRING)
            return CODE_INVALID;
        if (!filtering->keep(filtering->context, name->text))
            code = json_edits_cut(edits, begin, begin + one->raw.len);
    }
    return code;
}

static enum code filter_text(const struct filtering *filtering, struct span document, const struct json_node *text,
                             struct arena *arena, struct json_edits *edits)
{
    size_t begin = (size_t)(text->raw.at - document.at);
    const struct json_node *root;
    struct json_edits inside;
    struct json_fault fault;
    struct buf read;
    enum code code;

    buf_init(&read, SIZE_MAX / 2);
    json_edits_init(&inside);
    code = json_read(text->text, &json_reply_rules, &read, arena, &root, &fault);
    if (code == CODE_OK)
        code = filter(filtering, buf_peek(&read), root, &inside);
    else if (code != CODE_NOMEM)
        code = CODE_INVALID;
    if (code == CODE_OK && inside.count > 0) {
        code = json_edits_apply(&inside, &read, arena, NULL);
        if (code == CODE_OK)
            code = json_edits_say(edits, begin, begin + text->raw.len, buf_peek(&read));
    }
    json_edits_fini(&inside);
    buf_fini(&read);
    return code;
}

enum code declared_list_filter(const struct declared_unwrap *unwrap, struct span document, const struct json_node *result,
                               declared_keep_fn keep, void *context, struct arena *arena, struct json_edits *edits)
{
    const struct filtering filtering = {unwrap, keep, context};
    const struct json_node *structured = json_member(result, SPAN_LIT("structuredContent"));
    const struct json_node *content = json_member(result, SPAN_LIT("content"));
    enum code code = structured != NULL ? filter(&filtering, document, structured, edits) : CODE_OK;

    for (const struct json_node *block = content != NULL ? content->child : NULL; block != NULL && code == CODE_OK;
         block = block->next) {
        const struct json_node *text = block->type == JSON_OBJECT ? json_member(block, SPAN_LIT("text")) : NULL;

        code = text != NULL && text->type == JSON_STRING ? filter_text(&filtering, document, text, arena, edits) : CODE_INVALID;
    }
    return code;
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
        for (uint32_t i = 0; i < path->count; i++)
            reader->out_of_memory |= arena_keep(reader->arena, path->step[i], &path->step[i]) != CODE_OK;
        return true;
    }
    DECLARED_FAULT(reader, node, "`%s` leads by names from the arguments to a value; write it as '$.%s'", key, key);
    return false;
}

/* `$.tools[*].name`, or `$.names[*]`. */
static bool read_listed(struct declared_reader *reader, const struct yaml_node *map, struct declared_unwrap *unwrap)
{
    const struct yaml_node *node = yaml_member(map, "lists");
    struct span text = node != NULL && node->type == YAML_STRING ? node->text : SPAN_NONE, rest;
    size_t at = span_find(text, '[');

    if (node == NULL)
        return true;
    rest = span_part(text, at, SIZE_MAX);
    if (declared_path_read(span_part(text, 0, at), &unwrap->list) &&
        (span_is(rest, "[*]") || (span_starts_with(rest, SPAN_LIT("[*].")) && rest.len > 4 &&
                                  ascii_is_all(span_part(rest, 4, SIZE_MAX), "a-zA-Z0-9_-")))) {
        unwrap->key = span_part(rest, 4, SIZE_MAX);
        reader->out_of_memory |= arena_keep(reader->arena, unwrap->key, &unwrap->key) != CODE_OK;
        for (uint32_t i = 0; i < unwrap->list.count; i++)
            reader->out_of_memory |= arena_keep(reader->arena, unwrap->list.step[i], &unwrap->list.step[i]) != CODE_OK;
        return true;
    }
    DECLARED_FAULT(reader, node, "`lists` is where its answer names tools; write it as '$.tools[*].name'");
    return false;
}

static bool read_besides(struct declared_reader *reader, const struct yaml_node *map, struct declared_unwrap *unwrap)
{
    const struct yaml_node *list = yaml_member(map, "besides");
    struct span *texts = list != NULL ? arena_zalloc(reader->arena, (list->count + 1) * sizeof *texts) : NULL;

    if (list == NULL)
        return true;
    reader->out_of_memory |= texts == NULL;
    for (const struct yaml_node *node = texts != NULL ? list->child : NULL; node != NULL; node = node->next)
        reader->out_of_memory |= arena_keep(reader->arena, node->text, &texts[unwrap->beside_count++]) != CODE_OK;
    unwrap->besides = texts;
    return !reader->out_of_memory;
}

bool declared_unwrap_read(struct declared_reader *reader, const struct yaml_node *map, const struct declared_unwraps *before,
                          struct declared_unwrap *unwrap)
{
    const struct yaml_node *tool = yaml_member(map, "tool");

    *unwrap = (struct declared_unwrap){.key = SPAN_LIT("")};
    if (tool == NULL || tool->type != YAML_STRING || mcp_tool_name_fault(tool->text, false) != NULL) {
        DECLARED_FAULT(reader, tool != NULL ? tool : map,
                       "`tool` is the tool that calls others, or lists them; write its name");
        return false;
    }
    if (declared_unwrap_find(before, tool->text) != NULL) {
        DECLARED_FAULT(reader, tool, "the tool %.*s is there twice; leave one out", SPAN_ARG(tool->text));
        return false;
    }
    reader->out_of_memory |= arena_keep(reader->arena, tool->text, &unwrap->tool) != CODE_OK;
    if (!read_path(reader, map, "name", &unwrap->name) || !read_path(reader, map, "arguments", &unwrap->arguments) ||
        !read_path(reader, map, "server", &unwrap->server) || !read_listed(reader, map, unwrap) ||
        !read_besides(reader, map, unwrap))
        return false;
    if ((unwrap->name.count > 0) == (unwrap->list.count > 0) ||
        (unwrap->name.count == 0 && unwrap->arguments.count + unwrap->server.count + unwrap->beside_count > 0)) {
        DECLARED_FAULT(reader, map, "a tool calls another, whose `name` and `arguments` are somewhere in its own, or `lists` "
                       "others; say one of the two");
        return false;
    }
    return !reader->out_of_memory;
}
