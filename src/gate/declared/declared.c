/* SPDX-License-Identifier: Apache-2.0 */
#include "declared/declared_priv.h"

#include "base/ascii.h"

#define NAME_MAX_BYTES 128
#define LETTERS "a-zA-Z0-9_-"

struct span declared__keep(struct declared_reader *reader, struct span text)
{
    struct span kept = SPAN_NONE;

    reader->out_of_memory |= arena_keep(reader->arena, text, &kept) != CODE_OK;
    return kept;
}

bool declared_path_read(struct span text, struct declared_path *path)
{
    struct span rest = span_part(text, 2, SIZE_MAX);

    *path = (struct declared_path){.count = 0};
    if (!span_starts_with(text, SPAN_LIT("$.")) || rest.len == 0 || span_ends_with(rest, SPAN_LIT(".")))
        return false;
    while (rest.len > 0) {
        struct span step = span_cut(rest, '.', &rest);

        if (path->count == DECLARED_STEPS_MAX || step.len == 0 || !ascii_is_all(step, LETTERS))
            return false;
        path->step[path->count++] = step;
    }
    return true;
}

bool declared__list_read(struct span text, struct declared_list *list)
{
    size_t at = span_find(text, '[');
    struct span before = span_part(text, 0, at), rest = span_part(text, at, SIZE_MAX);

    *list = (struct declared_list){.key = span_part(rest, 4, SIZE_MAX)};
    return (span_is(before, "$") || declared_path_read(before, &list->path)) &&
           (span_is(rest, "[*]") ||
            (span_starts_with(rest, SPAN_LIT("[*].")) && list->key.len > 0 && ascii_is_all(list->key, LETTERS)));
}

void declared__path_keep(struct declared_reader *reader, struct declared_path *path)
{
    for (uint32_t i = 0; i < path->count; i++)
        path->step[i] = declared__keep(reader, path->step[i]);
}

static bool read_name(struct declared_reader *reader, const struct yaml_node *map, const struct mcp_methods *before,
                      struct mcp_method *method)
{
    const struct yaml_node *node = yaml_member(map, "name");

    if (node == NULL || node->type != YAML_STRING || node->text.len > NAME_MAX_BYTES || span_find(node->text, '/') == 0 ||
        span_find(node->text, '/') + 1 >= node->text.len || !ascii_is_all(node->text, "a-zA-Z0-9_./-"))
        DECLARED_FAULT(reader, node != NULL ? node : map, "a method has a `name` of letters, digits, `_`, `.`, `-` and a `/` "
                       "within; write the extension's own, as acme/files/read");
    else if (mcp_method_find(node->text, NULL) != NULL)
        DECLARED_FAULT(reader, node, "what %.*s is about is known already, and no route can say otherwise; leave it out",
              SPAN_ARG(node->text));
    else if (mcp_method_find(node->text, before) != NULL)
        DECLARED_FAULT(reader, node, "the method %.*s is there twice; leave one out", SPAN_ARG(node->text));
    else {
        method->name = declared__keep(reader, node->text);
        return true;
    }
    return false;
}

bool declared_method_read(struct declared_reader *reader, const struct yaml_node *map, const struct mcp_methods *before,
                          struct mcp_method *method)
{
    const struct yaml_node *thing = yaml_member(map, "thing"), *list = yaml_member(map, "list");
    struct declared_list listed;
    struct declared_path path;

    *method = (struct mcp_method){.about = MCP_ABOUT_NOTHING, .thing = SPAN_LIT(""), .list = SPAN_LIT("")};
    if (!read_name(reader, map, before, method))
        return false;
    if (thing == NULL && list == NULL) {
        DECLARED_FAULT(reader, map, "a method of which neither `thing` nor `list` is said is judged by its name without this "
                       "line; say where it names a URI, or leave it out");
        return false;
    }
    if (thing != NULL && (thing->type != YAML_STRING || !declared_path_read(thing->text, &path) || path.count != 1)) {
        DECLARED_FAULT(reader, thing, "`thing` is the member of params that is a URI; write it as '$.uri'");
        return false;
    }
    if (list != NULL && (list->type != YAML_STRING || !declared__list_read(list->text, &listed) || listed.path.count != 1 ||
                         listed.key.len == 0)) {
        DECLARED_FAULT(reader, list, "`list` is a list in the result, and the member of its elements that is a URI; "
                       "write it as '$.files[*].uri'");
        return false;
    }
    if (thing != NULL) {
        method->about = MCP_ABOUT_RESOURCE;
        method->thing = declared__keep(reader, path.step[0]);
    }
    if (list != NULL) {
        method->lists = MCP_LISTS_RESOURCES;
        method->list = declared__keep(reader, listed.path.step[0]);
        method->key = declared__keep(reader, listed.key);
    }
    return !reader->out_of_memory;
}
