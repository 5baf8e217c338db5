/* SPDX-License-Identifier: Apache-2.0 */
/* What `callgate pipe` and `callgate hook` have to know of their route: no certificate and no credential is read. */
#include "conf/conf_priv.h"

#include "base/mem.h"

#define ARENA_MAX_BYTES ((size_t)64 << 20)
#define LINE_BYTES ((uint64_t)4 << 20)

static bool is_for_hooks(const struct yaml_node *route)
{
    const struct yaml_node *dialect = yaml_member(route, "dialect");

    return dialect != NULL && span_is(dialect->text, dialect_hook.name);
}

static const struct yaml_node *find_route(struct conf_reader *reader, const struct yaml_node *root, const char *name,
                                          bool hooks)
{
    const struct yaml_node *routes = yaml_member(root, "routes"), *found = NULL;

    for (const struct yaml_node *node = routes != NULL ? routes->child : NULL; node != NULL; node = node->next) {
        const struct yaml_node *named = yaml_member(node, "name");

        if (!conf__is_pipe(node) || is_for_hooks(node) != hooks || named == NULL ||
            (name != NULL && !span_is(named->text, name)))
            continue;
        if (found != NULL) {
            CONF_FAULT(reader, node, "there are several routes for pipes; say which with --route NAME");
            return NULL;
        }
        found = node;
    }
    if (found == NULL)
        CONF_FAULT(reader, routes != NULL ? routes : root, "there is no route for %s%s%s; write one beside the others: "
                   "{name: %s, dialect: %s, identity: [%s]}", hooks ? "hooks" : "pipes", name != NULL ? " named " : "",
                   name != NULL ? name : "", name != NULL ? name : "files", hooks ? "hook" : "mcp",
                   hooks ? "{login: {tenant: desk}}" : "{none: {principal: me, tenant: desk}}");
    return found;
}

static void read_key(struct conf_reader *reader, const struct yaml_node *node, struct conf_pipe_route *out)
{
    struct proxy_route route = {.is_pipe = true};

    conf__identity(reader, node, &route);
    for (size_t i = 0; i < route.identity_count; i++) {
        const struct identity_source *source = &route.identity[i];

        if (source->kind == IDENTITY_NONE)
            return;
        if (source->kind == IDENTITY_API_KEY)
            out->key_header = span_text(source->header);
        else if (source->kind == IDENTITY_BEARER && span_is_empty(out->key_header)) {
            out->key_header = SPAN_LIT("Authorization");
            out->key_prefix = "Bearer ";
        }
    }
}

/* The names of all other routes. A front is no server: who is called like one is not judged there. */
static void read_servers(struct conf_reader *reader, const struct yaml_node *root, struct conf_pipe_route *out)
{
    const struct yaml_node *routes = yaml_member(root, "routes");
    struct span *names = conf__array(reader, 2 * routes->count, sizeof *names), *urls = names + routes->count;

    out->servers = names;
    out->urls = urls;
    for (const struct yaml_node *node = routes->child; node != NULL && names != NULL; node = node->next)
        if (!is_for_hooks(node) && !conf_is_front(node) && yaml_member(node, "name") != NULL) {
            urls[out->server_count] = conf__text_of(reader, node, "public_url");
            names[out->server_count++] = conf__text_of(reader, node, "name");
        }
}

enum code conf_pipe_route(const char *path, const char *name, bool hooks, struct conf_pipe_route *out,
                          struct faults *faults)
{
    struct conf_reader reader = {.path = path, .arena = &out->arena, .faults = faults, .warnings = faults};
    const struct yaml_node *root, *node;
    struct yaml_tree *tree;
    size_t before = faults->added;
    enum code code = conf__tree(path, &tree, NULL, faults);

    *out = (struct conf_pipe_route){.key_prefix = ""};
    if (code != CODE_OK)
        return code;
    arena_init(&out->arena, ARENA_MAX_BYTES);
    reader.tree = tree;
    root = yaml_root(tree);
    (void)conf__read(&reader, yaml_member(root, "pipe"), conf__pipes, "`pipe`", &out->pipe);
    conf__check_pipe(&reader, root, &out->pipe);
    out->pipe.user = conf__text_of(&reader, root, "user").at;
    node = find_route(&reader, root, name, hooks);
    if (node != NULL) {
        out->name = conf__text_of(&reader, node, "name");
        out->dialect = conf__dialect(&reader, node);
        out->line_bytes = conf__size(&reader, yaml_member(node, "limits"), "body", 1024, (uint64_t)256 << 20);
        if (hooks)
            read_servers(&reader, root, out);
        else
            read_key(&reader, node, out);
    }
    if (out->line_bytes == 0)
        out->line_bytes = LINE_BYTES;
    yaml_tree_free(&tree);
    return reader.out_of_memory ? CODE_NOMEM : faults->added > before ? CODE_INVALID : CODE_OK;
}
