/* SPDX-License-Identifier: Apache-2.0 */
/* The forms, as their makers document them in November 2026. */
#include "rules/import.h"

#include "toml/toml.h"
#include "yaml/yaml.h"

#include <string.h>

#define FROM_BYTES 400
#define JSON_BYTES ((size_t)16 << 20)

/* One place in the file. */
struct place {
    struct import *import;
    const char *path; /* "permissions.allow" */
};

/* "permissions.allow[3] mcp__shop__search", in the arena. Takes: index < 0: none. */
static struct span from_of(const struct place *place, int index, struct span written)
{
    struct span kept = SPAN_NONE;
    struct buf text;

    buf_init(&text, FROM_BYTES + written.len);
    buf_add_text(&text, place->path);
    if (index >= 0)
        buf_addf(&text, "[%d]", index);
    buf_addf(&text, " %.*s", SPAN_ARG(written));
    if (buf_code(&text) != CODE_OK || arena_keep(&place->import->arena, buf_peek(&text), &kept) != CODE_OK)
        place->import->code = CODE_NOMEM;
    buf_fini(&text);
    return kept;
}

/* The texts of a list; what is no text in it is left out. */
typedef void (*text_fn)(const struct place *place, const void *context, struct span text, struct span from);

static void each_text(const struct place *place, const struct yaml_node *list, text_fn one, const void *context)
{
    int index = 0;

    if (list == NULL)
        return;
    if (list->type != YAML_LIST) { /* what is denied by it may be anything */
        import_leave(place->import, from_of(place, -1, SPAN_NONE), "it is no list");
        one(place, context, SPAN_LIT("*"), from_of(place, -1, SPAN_NONE));
        return;
    }
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next, index++) {
        if (node->type == YAML_STRING)
            one(place, context, node->text, from_of(place, index, node->text));
        else
            one(place, context, SPAN_LIT("*"), from_of(place, index, node->text));
    }
}

static void say_unused(struct import *import, const struct yaml_node *map, const char *const *known)
{
    const struct place place = {import, "permissions:"};

    for (const struct yaml_node *node = map != NULL ? map->child : NULL; node != NULL; node = node->next) {
        size_t i = 0;

        while (known[i] != NULL && !span_is(node->key, known[i]))
            i++;
        if (known[i] == NULL)
            import_leave(import, from_of(&place, -1, node->key), "nothing here has its meaning");
    }
}

/* ---- Claude Code: settings.json (deny, then ask, then allow; a `*` of allow stands behind a server's name) ---- */

static size_t next_parting(struct span text, size_t at)
{
    while (at + 1 < text.len && (text.at[at] != '_' || text.at[at + 1] != '_'))
        at++;
    return at + 1 < text.len ? at : text.len;
}

/* `shop__search`, or `shop` alone. Where a name holds `__` itself, nobody knows where the server's ends: each reading is
 * denied, and none is allowed. */
static void add_parted(struct import *import, enum import_effect effect, struct span name, struct span from)
{
    size_t at = next_parting(name, 1);

    if (at == name.len) {
        import_add(import, effect, name, SPAN_LIT(""), from);
        return;
    }
    if (effect == IMPORT_ALLOW && (next_parting(name, at + 1) < name.len || at + 2 == name.len)) {
        import_leave(import, from, "where the server's name ends cannot be told from it");
        return;
    }
    for (; at < name.len; at = next_parting(name, at + 1))
        import_add(import, effect, span_part(name, 0, at), span_part(name, at + 2, SIZE_MAX), from);
}

static void take_claude(const struct place *place, const void *context, struct span text, struct span from)
{
    enum import_effect effect = *(const enum import_effect *)context;
    struct span name = span_part(text, 0, span_find(text, '(')), rest = span_part(name, 5, SIZE_MAX);
    struct span server = span_part(rest, 0, next_parting(rest, 1));
    bool has_more = name.len < text.len, is_allow = effect == IMPORT_ALLOW;

    if (span_is(name, "*") && !is_allow) {
        import_add(place->import, effect, SPAN_LIT("*"), SPAN_LIT(""), from);
    } else if (!span_starts_with(name, SPAN_LIT("mcp__"))) {
        import_leave(place->import, from, "it is about a tool of the client itself, whose calls do not come here");
    } else if (has_more && is_allow) {
        import_leave(place->import, from, "the client passes by a rule of a server's tool with parentheses");
    } else if (is_allow && (server.len == 0 || span_find(server, '*') < server.len)) {
        import_leave(place->import, from, "the client allows by a whole server's name alone");
    } else {
        add_parted(place->import, effect, rest, from);
    }
}

static void deny_server(const struct place *place, const void *context, struct span text, struct span from)
{
    (void)context;
    import_add(place->import, IMPORT_DENY, text, SPAN_LIT(""), from);
}

/* The server's name of an entry; at == NULL: it goes by a URL or a command, of which none is known here. */
static struct span name_of(const struct yaml_node *entry)
{
    const struct yaml_node *name = entry->type == YAML_MAP ? yaml_member(entry, "serverName") : NULL;

    return name != NULL && name->type == YAML_STRING ? name->text : SPAN_NONE;
}

static bool names_server(const struct yaml_node *list, struct span server)
{
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next)
        if (span_equals(name_of(node), server))
            return true;
    return false;
}

static void deny_listed(struct import *import, const struct yaml_node *list)
{
    const struct place place = {import, "deniedMcpServers"};
    int index = 0;

    for (const struct yaml_node *node = list != NULL ? list->child : NULL; node != NULL; node = node->next, index++) {
        struct span name = name_of(node);

        if (name.at != NULL)
            import_add(import, IMPORT_DENY, name, SPAN_LIT(""), from_of(&place, index, name));
        else
            import_leave(import, from_of(&place, index, SPAN_NONE),
                         "which server it means cannot be told: deny that one by its name");
    }
    if (list != NULL && list->type != YAML_LIST)
        import_add(import, IMPORT_DENY, SPAN_LIT("*"), SPAN_LIT(""), from_of(&place, -1, SPAN_NONE));
}

/* Whether a name alone lets a server by: beside an entry by URL it does so of none that has a URL, and beside one by command
 * of none that is one, and which a server is cannot be told here. */
static bool goes_by_names(struct import *import, const struct place *place, const struct yaml_node *list)
{
    bool are_names = list->type == YAML_LIST;
    int index = 0;

    for (const struct yaml_node *node = list->child; node != NULL; node = node->next, index++)
        if (name_of(node).at == NULL || node->count != 1) {
            import_leave(import, from_of(place, index, SPAN_NONE),
                         "beside it the client goes by no name alone: all servers are denied");
            are_names = false;
        }
    return are_names;
}

/* Of a list of servers that are allowed the others are denied; of those only what some rule lets by is of interest. What is
 * asked for at all servers is denied at all, since it would be asked for at those, too. */
static void deny_others(struct import *import, const struct yaml_node *list)
{
    const struct place place = {import, "allowedMcpServers"};
    const bool are_names = list != NULL && goes_by_names(import, &place, list);
    size_t count = import->count;

    for (size_t i = 0; i < count && list != NULL; i++) {
        struct import_entry *entry = &import->entries[i];

        if (entry->effect != IMPORT_DENY && span_find(entry->server, '*') < entry->server.len) {
            entry->effect = IMPORT_DENY;
            import_leave(import, entry->from, "it asks at all servers, of which only some are allowed: it denies at all");
        } else if (entry->effect != IMPORT_DENY && !(are_names && names_server(list, entry->server)))
            import_add(import, IMPORT_DENY, entry->server, SPAN_LIT(""), from_of(&place, -1, SPAN_NONE));
    }
}

static void read_claude(struct import *import, const struct yaml_node *root)
{
    static const char *const lists[] = {"permissions.allow", "permissions.ask", "permissions.deny"};
    static const enum import_effect effects[] = {IMPORT_ALLOW, IMPORT_ASK, IMPORT_DENY};
    static const char *const known[] = {"allow", "ask", "deny", NULL};
    const struct yaml_node *permissions = yaml_member(root, "permissions");

    for (size_t i = 0; i < 3; i++) {
        const struct place place = {import, lists[i]};

        each_text(&place, permissions != NULL ? yaml_member(permissions, known[i]) : NULL, take_claude, &effects[i]);
    }
    say_unused(import, permissions, known);
    each_text(&(struct place){import, "disabledMcpjsonServers"}, yaml_member(root, "disabledMcpjsonServers"), deny_server,
              NULL);
    deny_listed(import, yaml_member(root, "deniedMcpServers"));
    deny_others(import, yaml_member(root, "allowedMcpServers"));
}

/* ---- Cursor: cli-config.json, permissions.json, mcp.json (deny before allow) ---- */

static void add_pair(struct import *import, enum import_effect effect, struct span pair, struct span from)
{
    struct span tool, server = span_cut(pair, ':', &tool);
    bool is_pair = server.len < pair.len && server.len > 0 && tool.len > 0 && span_find(tool, ':') == tool.len;

    if (is_pair && (effect != IMPORT_ALLOW || span_find(server, '*') == server.len))
        import_add(import, effect, server, tool, from);
    else if (effect == IMPORT_ALLOW)
        import_leave(import, from, "it names no one server and tool, as `server:tool`");
    else
        import_add(import, effect, SPAN_LIT("*"), SPAN_LIT(""), from);
}

static void take_cursor(const struct place *place, const void *context, struct span text, struct span from)
{
    enum import_effect effect = *(const enum import_effect *)context;

    if (span_is(text, "*"))
        add_pair(place->import, effect, text, from);
    else if (span_starts_with(text, SPAN_LIT("Mcp(")) && span_ends_with(text, SPAN_LIT(")")))
        add_pair(place->import, effect, span_part(text, 4, text.len - 5), from);
    else
        import_leave(place->import, from, "it is about a tool of the client itself, whose calls do not come here");
}

static void take_pair(const struct place *place, const void *context, struct span text, struct span from)
{
    add_pair(place->import, *(const enum import_effect *)context, text, from);
}

/* Tools of a server that is named above them. */
struct of_server {
    enum import_effect effect;
    struct span server;
    bool is_grant; /* the client denies what such a list does not name, so that asking for more would be wider, too */
};

static void take_tool(const struct place *place, const void *context, struct span text, struct span from)
{
    const struct of_server *of = context;
    bool is_tool = text.len > 0 && span_find(text, '*') == text.len;

    if (is_tool && (!of->is_grant || import_is_name(text)))
        import_add(place->import, of->effect, of->server, text, from);
    else if (of->effect == IMPORT_ALLOW || of->is_grant)
        import_leave(place->import, from, "it is no name of a tool: empty, with a `*`, or with what means something else in a "
                     "policy");
    else
        import_add(place->import, of->effect, of->server, SPAN_LIT(""), from);
}

static void read_mcp_json(struct import *import, const struct yaml_node *servers)
{
    for (const struct yaml_node *node = servers != NULL ? servers->child : NULL; node != NULL; node = node->next) {
        const struct of_server allowed = {IMPORT_ALLOW, node->key, true}, denied = {IMPORT_DENY, node->key, false};
        const struct yaml_node *off = yaml_member(node, "disabled");
        const struct place place = {import, "mcpServers.disabled"};

        each_text(&(struct place){import, "mcpServers.autoApprove"}, yaml_member(node, "autoApprove"), take_tool, &allowed);
        each_text(&(struct place){import, "mcpServers.alwaysAllow"}, yaml_member(node, "alwaysAllow"), take_tool, &allowed);
        each_text(&(struct place){import, "mcpServers.disabledTools"}, yaml_member(node, "disabledTools"), take_tool, &denied);
        if (off != NULL && (off->type != YAML_BOOL || off->truth))
            import_add(import, IMPORT_DENY, node->key, SPAN_LIT(""), from_of(&place, -1, node->key));
    }
}

static void read_cursor(struct import *import, const struct yaml_node *root)
{
    static const enum import_effect allow = IMPORT_ALLOW, deny = IMPORT_DENY;
    static const char *const known[] = {"allow", "deny", NULL};
    const struct yaml_node *permissions = yaml_member(root, "permissions");

    if (permissions != NULL) {
        each_text(&(struct place){import, "permissions.allow"}, yaml_member(permissions, "allow"), take_cursor, &allow);
        each_text(&(struct place){import, "permissions.deny"}, yaml_member(permissions, "deny"), take_cursor, &deny);
    }
    say_unused(import, permissions, known);
    each_text(&(struct place){import, "mcpAllowlist"}, yaml_member(root, "mcpAllowlist"), take_pair, &allow);
    read_mcp_json(import, yaml_member(root, "mcpServers"));
}

/* ---- Codex: config.toml (disabled_tools after enabled_tools; a tool's approval_mode before the server's) ---- */

/* `approve` runs without asking, `prompt` asks. What `auto`, or nothing, comes to hangs on what the server says of a tool, so
 * that a person is asked. */
static enum import_effect effect_of(const struct yaml_node *mode, enum import_effect otherwise)
{
    if (mode == NULL)
        return otherwise;
    return mode->type == YAML_STRING && span_is(mode->text, "approve") ? IMPORT_ALLOW : IMPORT_ASK;
}

static void read_codex_tools(const struct place *place, const struct yaml_node *server, enum import_effect usual)
{
    const struct yaml_node *enabled = yaml_member(server, "enabled_tools"), *tools = yaml_member(server, "tools");
    const struct of_server of = {usual, server->key, true};

    if (enabled == NULL)
        import_add(place->import, usual, server->key, SPAN_LIT("*"), from_of(place, -1, server->key));
    for (const struct yaml_node *tool = tools != NULL ? tools->child : NULL; tool != NULL; tool = tool->next) {
        enum import_effect effect = effect_of(yaml_member(tool, "approval_mode"), usual);
        const struct of_server own = {effect, server->key, enabled != NULL};
        bool is_enabled = enabled == NULL;

        for (const struct yaml_node *one = enabled != NULL ? enabled->child : NULL; one != NULL; one = one->next)
            is_enabled = is_enabled || span_equals(one->text, tool->key);
        if (is_enabled && enabled == NULL && usual == IMPORT_ASK && effect == IMPORT_ALLOW)
            import_leave(place->import, from_of(place, -1, tool->key), "the server's other tools ask, and no one tool is taken "
                         "out of that here: list the server's tools in `enabled_tools`");
        else if (is_enabled && effect != usual)
            take_tool(place, &own, tool->key, from_of(place, -1, tool->key));
    }
    for (const struct yaml_node *one = enabled != NULL ? enabled->child : NULL; one != NULL; one = one->next) {
        const struct yaml_node *own = tools != NULL ? yaml_member_named(tools, one->text) : NULL;

        if (own == NULL || effect_of(yaml_member(own, "approval_mode"), usual) == usual)
            take_tool(place, &of, one->text, from_of(place, -1, one->text));
    }
}

static void read_codex(struct import *import, const struct yaml_node *root)
{
    const struct yaml_node *servers = yaml_member(root, "mcp_servers");
    const struct yaml_node *policy = yaml_member(root, "approval_policy");
    const struct place place = {import, "mcp_servers"}, top = {import, "approval_policy"};

    if (policy != NULL)
        import_leave(import, from_of(&top, -1, policy->text), "it is about what the client itself runs");
    for (const struct yaml_node *node = servers != NULL ? servers->child : NULL; node != NULL; node = node->next) {
        const struct yaml_node *on = yaml_member(node, "enabled"), *enabled = yaml_member(node, "enabled_tools");
        const struct of_server denied = {IMPORT_DENY, node->key, false};

        if (node->type != YAML_MAP || (on != NULL && (on->type != YAML_BOOL || !on->truth)) ||
            (enabled != NULL && enabled->type != YAML_LIST)) {
            import_add(import, IMPORT_DENY, node->key, SPAN_LIT(""), from_of(&place, -1, node->key));
            continue;
        }
        each_text(&(struct place){import, "mcp_servers.disabled_tools"}, yaml_member(node, "disabled_tools"), take_tool,
                  &denied);
        read_codex_tools(&place, node, effect_of(yaml_member(node, "default_tools_approval_mode"), IMPORT_ASK));
    }
}

/* ---- Docker MCP gateway: tools.yaml, catalogs; ToolHive: MCPToolConfig, an exported workload ---- */

static void read_docker(struct import *import, const struct yaml_node *root)
{
    const struct yaml_node *registry = yaml_member(root, "registry");

    for (const struct yaml_node *node = (registry != NULL ? registry : root)->child; node != NULL; node = node->next) {
        const struct of_server of = {IMPORT_ALLOW, node->key, true};
        const struct place place = {import, registry != NULL ? "registry.tools" : "tools"};
        const struct yaml_node *tools = registry != NULL ? yaml_member(node, "tools") : node;

        if (tools == NULL || tools->type != YAML_LIST) {
            import_leave(import, from_of(&place, -1, node->key), "it lists no tools");
            continue;
        }
        for (const struct yaml_node *tool = tools->child; tool != NULL; tool = tool->next) {
            const struct yaml_node *name = tool->type == YAML_MAP ? yaml_member(tool, "name") : tool;

            if (name != NULL && name->type == YAML_STRING)
                take_tool(&place, &of, name->text, from_of(&place, -1, name->text));
            else
                import_leave(import, from_of(&place, -1, node->key), "a tool of it has no name");
        }
    }
}

static void take_toolhive(const struct place *place, const void *context, struct span text, struct span from)
{
    const struct yaml_node *renamed = context;
    const struct of_server of = {IMPORT_ALLOW, span_text(place->import->upstream), true};

    for (const struct yaml_node *one = renamed != NULL ? renamed->child : NULL; one != NULL; one = one->next) {
        const struct yaml_node *name = one->type == YAML_MAP ? yaml_member(one, "name") : NULL;

        if (name != NULL && (span_equals(one->key, text) || span_equals(name->text, text))) {
            import_leave(place->import, from, "it is renamed, and which of its names is meant cannot be told");
            return;
        }
    }
    take_tool(place, &of, text, from);
}

static enum code read_toolhive(struct import *import, const struct yaml_node *root, const char *file, struct faults *faults)
{
    const struct yaml_node *spec = yaml_member(root, "spec"), *name = yaml_member(root, "name");
    const struct yaml_node *of = spec != NULL ? spec : root;
    const struct yaml_node *list = yaml_member(of, spec != NULL ? "toolsFilter" : "tools_filter");
    const struct yaml_node *renamed = yaml_member(of, spec != NULL ? "toolsOverride" : "tools_override");
    struct span kept = SPAN_NONE;

    if (import->upstream[0] == '\0' && spec == NULL && name != NULL && name->type == YAML_STRING &&
        arena_keep(&import->arena, name->text, &kept) == CODE_OK)
        import->upstream = kept.at;
    if (import->upstream[0] == '\0') {
        faults_add(faults, file, 1, 1, "it names no server; say which with --upstream");
        return CODE_INVALID;
    }
    each_text(&(struct place){import, spec != NULL ? "spec.toolsFilter" : "tools_filter"}, list, take_toolhive, renamed);
    if (list == NULL || (list->type == YAML_LIST && list->count == 0))
        import_leave(import, span_text(import->upstream), "it has no list of tools, so that there all are shown");
    return CODE_OK;
}

/* ---- the whole ---- */

static enum code read_root(struct import *import, enum import_form form, const struct yaml_node *root, const char *file,
                           struct faults *faults)
{
    if (root->type != YAML_MAP) {
        faults_add(faults, file, 1, 1, "it is no map of settings; is this the right file?");
        return CODE_INVALID;
    }
    switch (form) {
    case IMPORT_CLAUDE: read_claude(import, root); break;
    case IMPORT_CURSOR: read_cursor(import, root); break;
    case IMPORT_CODEX: read_codex(import, root); break;
    case IMPORT_DOCKER: read_docker(import, root); break;
    case IMPORT_TOOLHIVE: return read_toolhive(import, root, file, faults);
    }
    return CODE_OK;
}

enum code import_read(struct import *import, enum import_form form, struct span text, const char *file, struct span upstream,
                      struct faults *faults)
{
    struct yaml_tree *tree = NULL;
    struct span kept = SPAN_LIT("");
    struct buf json;
    enum code code = upstream.len > 0 ? arena_keep(&import->arena, upstream, &kept) : CODE_OK;

    import->upstream = kept.at;
    buf_init(&json, JSON_BYTES);
    if (code == CODE_OK && form == IMPORT_CODEX)
        code = toml_to_json(text, file, &json, faults);
    if (code == CODE_OK)
        code = yaml_read(form == IMPORT_CODEX ? buf_peek(&json) : text, file, &tree, faults);
    if (code == CODE_OK)
        code = read_root(import, form, yaml_root(tree), file, faults);
    yaml_tree_free(&tree);
    buf_fini(&json);
    return code != CODE_OK ? code : import->code;
}
