/* SPDX-License-Identifier: Apache-2.0 */
#include "join/merge.h"

#define MEMBERS_MAX 64 /* of an object of capabilities; no revision of MCP has nearly as many */
#define DEPTH_MAX 6

/* ---- what is asked of whom ---- */

static const struct {
    const char *method, *list;
    unsigned needs;
} methods[] = {
    {"tools/list", "tools", JOIN_TOOLS},
    {"prompts/list", "prompts", JOIN_PROMPTS},
    {"resources/list", "resources", JOIN_RESOURCES},
    {"resources/templates/list", "resourceTemplates", JOIN_RESOURCES},
    {"skills/list", "skills", JOIN_SKILLS},
    {"tasks/list", "tasks", JOIN_TASKS},
    {"logging/setLevel", NULL, JOIN_LOGGING},
};

const char *join_list_of(struct span method)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (span_is(method, methods[i].method))
            return methods[i].list;
    return NULL;
}

unsigned join_needs(struct span method)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (span_is(method, methods[i].method))
            return methods[i].needs;
    return 0;
}

unsigned join_offers(const struct json_node *capabilities)
{
    static const char *const names[] = {"tools", "prompts", "resources", "logging", "completions", "tasks"};
    unsigned bits = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_member(capabilities, span_text(names[i])) != NULL)
            bits |= 1U << i;
    if (json_at(capabilities, "extensions", "io.modelcontextprotocol/skills", NULL) != NULL)
        bits |= JOIN_SKILLS;
    return bits;
}

/* ---- lists ---- */

/* Whether a tool's or prompt's name is too long for the model that is to call it. */
static bool is_over(const struct join_list *list, const struct json_node *item)
{
    return (span_is(span_text(list->list), "tools") || span_is(span_text(list->list), "prompts")) &&
           json_member_text(item, "name").len > list->budget;
}

static void write_items(const struct join_list *list, struct buf *out, struct buf *over)
{
    const char *comma = "";

    for (size_t i = 0; i < list->count; i++) {
        const struct json_node *items = json_member(list->parts[i].result, span_text(list->list));

        for (const struct json_node *item = items != NULL ? items->child : NULL; item != NULL; item = item->next) {
            if (is_over(list, item)) {
                buf_add_text(over, buf_is_empty(over) ? "" : ",");
                json_write_string(over, json_member_text(item, "name"));
                continue;
            }
            buf_add_text(out, comma);
            buf_add_span(out, item->raw);
            comma = ",";
        }
    }
}

/* Writes the cursors of the servers that have further pages, as a JSON text within a JSON string: only the gate reads it
 * again. */
static void write_cursor(const struct join_list *list, struct buf *out)
{
    struct buf cursor;

    buf_init(&cursor, SIZE_MAX / 2);
    for (size_t i = 0; i < list->count; i++) {
        struct span next = json_member_text(list->parts[i].result, "nextCursor");

        if (next.at == NULL)
            continue;
        buf_add_text(&cursor, buf_is_empty(&cursor) ? "{" : ",");
        json_write_string(&cursor, list->parts[i].server);
        buf_add_byte(&cursor, ':');
        json_write_string(&cursor, next);
    }
    if (buf_fail(out, buf_code(&cursor)) == CODE_OK && !buf_is_empty(&cursor)) {
        buf_add_byte(&cursor, '}');
        buf_add_text(out, ",\"nextCursor\":");
        if (buf_fail(out, buf_code(&cursor)) == CODE_OK)
            json_write_string(out, buf_peek(&cursor));
    }
    buf_fini(&cursor);
}

/* Writes which servers' parts, and which names, are missing from the list. */
static void write_meta(const struct join_list *list, const struct buf *over, struct buf *out)
{
    const char *comma = "";
    bool is_whole = buf_is_empty(over);

    for (size_t i = 0; i < list->count; i++)
        is_whole = is_whole && (list->parts[i].result != NULL || !list->parts[i].is_asked);
    if (is_whole)
        return;
    buf_add_text(out, ",\"_meta\":{\"dev.callgate/unavailable\":[");
    for (size_t i = 0; i < list->count; i++)
        if (list->parts[i].result == NULL && list->parts[i].is_asked) {
            buf_add_text(out, comma);
            json_write_string(out, list->parts[i].server);
            comma = ",";
        }
    buf_add_byte(out, ']');
    if (!buf_is_empty(over)) {
        buf_add_text(out, ",\"dev.callgate/left_out\":[");
        buf_add_span(out, buf_peek(over));
        buf_add_byte(out, ']');
    }
    buf_add_byte(out, '}');
}

enum code join_merge_list(const struct join_list *list, struct buf *out)
{
    struct buf over;

    buf_init(&over, SIZE_MAX / 2);
    buf_addf(out, "{\"%s\":[", list->list);
    write_items(list, out, &over);
    buf_add_byte(out, ']');
    write_cursor(list, out);
    if (buf_fail(out, buf_code(&over)) == CODE_OK)
        write_meta(list, &over, out);
    buf_fini(&over);
    if (list->is_modern)
        buf_add_text(out, ",\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"");
    return buf_add_byte(out, '}');
}

enum code join_cursor_of(struct span cursor, struct span server, struct buf *out)
{
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct arena arena;
    struct buf text;
    enum code code;

    arena_init(&arena, (size_t)1 << 20);
    buf_init(&text, SIZE_MAX / 2);
    code = json_read(cursor, &json_file_rules, &text, &arena, &root, &fault);
    if (code == CODE_OK && root->type != JSON_OBJECT)
        code = CODE_INVALID;
    if (code == CODE_OK) {
        struct span own = SPAN_NONE;

        for (const struct json_node *node = root->child; node != NULL; node = node->next)
            if (span_equals(node->key, server) && node->type == JSON_STRING)
                own = node->text;
        code = own.at != NULL ? buf_add_span(out, own) : CODE_NOT_FOUND;
    }
    buf_fini(&text);
    arena_fini(&arena);
    return code;
}

/* ---- what servers can do ---- */

/* The values that the parts have in one place. */
struct values {
    const struct json_node *of[JOIN_SERVERS_MAX];
    size_t count;
};

static struct values members(const struct values *of, struct span key)
{
    struct values found = {.count = 0};

    for (size_t i = 0; i < of->count; i++) {
        const struct json_node *node = of->of[i]->count <= MEMBERS_MAX ? json_member(of->of[i], key) : NULL;

        if (node != NULL)
            found.of[found.count++] = node;
    }
    return found;
}

static bool is_known(const struct values *values, size_t before, struct span key)
{
    for (size_t i = 0; i < before; i++)
        if (values->of[i]->count <= MEMBERS_MAX && json_member(values->of[i], key) != NULL)
            return true;
    return false;
}

static void write_union(const struct values *values, unsigned depth, struct buf *out);

/* Says that lists change, since servers come and go, even where each server says that its own never changes. */
static bool is_listed(struct span key)
{
    return span_is(key, "tools") || span_is(key, "prompts") || span_is(key, "resources");
}

static void write_members(const struct values *values, bool is_capability, unsigned depth, struct buf *out)
{
    const char *comma = is_capability ? "," : "";

    buf_add_text(out, is_capability ? "{\"listChanged\":true" : "{");
    for (size_t i = 0; i < values->count; i++) {
        if (values->of[i]->type != JSON_OBJECT || values->of[i]->count > MEMBERS_MAX)
            continue;
        for (const struct json_node *node = values->of[i]->child; node != NULL; node = node->next) {
            struct values found = members(values, node->key);

            if (is_known(values, i, node->key) || (is_capability && span_is(node->key, "listChanged")))
                continue;
            buf_add_text(out, comma);
            json_write_string(out, node->key);
            buf_add_byte(out, ':');
            if (depth == 0 && is_listed(node->key))
                write_members(&found, true, 1, out);
            else
                write_union(&found, depth + 1, out);
            comma = ",";
        }
    }
    buf_add_byte(out, '}');
}

static void write_lists(const struct values *values, struct buf *out)
{
    const char *comma = "";

    buf_add_byte(out, '[');
    for (size_t i = 0; i < values->count; i++)
        for (const struct json_node *node = values->of[i]->type == JSON_ARRAY ? values->of[i]->child : NULL; node != NULL;
             node = node->next) {
            buf_add_text(out, comma);
            buf_add_span(out, node->raw);
            comma = ",";
        }
    buf_add_byte(out, ']');
}

/* A member is true where it is true for one server; of other values the first server's counts. */
static void write_union(const struct values *values, unsigned depth, struct buf *out)
{
    const struct json_node *first = values->of[0];

    if (first->type == JSON_OBJECT && depth < DEPTH_MAX) {
        write_members(values, false, depth, out);
        return;
    }
    if (first->type == JSON_ARRAY) {
        write_lists(values, out);
        return;
    }
    for (size_t i = 1; i < values->count && first->type != JSON_TRUE; i++)
        first = values->of[i]->type == JSON_TRUE ? values->of[i] : first;
    buf_add_span(out, first->raw);
}

static struct values results(const struct join_part *parts, size_t count)
{
    struct values values = {.count = 0};

    for (size_t i = 0; i < count; i++)
        if (parts[i].result != NULL)
            values.of[values.count++] = parts[i].result;
    return values;
}

enum code join_merge_union(const struct join_part *parts, size_t count, struct buf *out)
{
    struct values values = results(parts, count);

    write_members(&values, false, 1, out);
    return buf_code(out);
}

/* Writes each server's instructions, under the server's name. */
static void write_instructions(const struct join_part *parts, size_t count, struct buf *out)
{
    struct buf text;

    buf_init(&text, SIZE_MAX / 2);
    for (size_t i = 0; i < count; i++) {
        struct span own = json_member_text(parts[i].result, "instructions");

        if (own.len > 0)
            buf_addf(&text, "%s# %.*s\n\n", buf_is_empty(&text) ? "" : "\n\n", SPAN_ARG(parts[i].server));
        buf_add_span(&text, own);
    }
    if (buf_fail(out, buf_code(&text)) == CODE_OK && !buf_is_empty(&text)) {
        buf_add_text(out, ",\"instructions\":");
        json_write_string(out, buf_peek(&text));
    }
    buf_fini(&text);
}

static bool has_version(const struct json_node *versions, struct span version)
{
    for (const struct json_node *node = versions != NULL ? versions->child : NULL; node != NULL; node = node->next)
        if (node->type == JSON_STRING && span_equals(node->text, version))
            return true;
    return false;
}

static void write_versions(const struct values *values, struct buf *out)
{
    const struct span name = SPAN_LIT("supportedVersions");
    const struct json_node *first = values->count > 0 ? json_member(values->of[0], name) : NULL;
    const char *comma = "";

    buf_add_text(out, "\"supportedVersions\":[");
    for (const struct json_node *node = first != NULL && first->count <= MEMBERS_MAX ? first->child : NULL; node != NULL;
         node = node->next) {
        bool all = node->type == JSON_STRING;

        for (size_t i = 1; i < values->count && all; i++)
            all = has_version(json_member(values->of[i], name), node->text);
        if (!all)
            continue;
        buf_add_text(out, comma);
        buf_add_span(out, node->raw);
        comma = ",";
    }
    buf_add_byte(out, ']');
}

enum code join_merge_greeting(const struct join_part *parts, size_t count, struct span name, struct span version,
                              struct buf *out)
{
    struct values values = results(parts, count), capabilities = members(&values, SPAN_LIT("capabilities"));

    buf_add_byte(out, '{');
    if (version.at != NULL) {
        buf_add_text(out, "\"protocolVersion\":");
        json_write_string(out, version);
    } else {
        write_versions(&values, out);
    }
    buf_add_text(out, ",\"capabilities\":");
    write_members(&capabilities, false, 0, out);
    buf_add_text(out, ",\"serverInfo\":{\"name\":");
    json_write_string(out, name);
    buf_add_text(out, ",\"version\":\"1\"}");
    write_instructions(parts, count, out);
    if (version.at == NULL)
        buf_add_text(out, ",\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"");
    return buf_add_byte(out, '}');
}
