/* SPDX-License-Identifier: Apache-2.0 */
#include "app/route_names.h"

#include "app/conf_priv.h"

#define ARENA_MAX_BYTES ((size_t)64 << 20)
#define NAME_MAX_BYTES 256

void route_names_init(struct route_names *names)
{
    *names = (struct route_names){.count = 0};
    arena_init(&names->arena, ARENA_MAX_BYTES);
}

void route_names_fini(struct route_names *names)
{
    mem_free(names->routes);
    arena_fini(&names->arena);
    *names = (struct route_names){.count = 0};
}

static enum code add_name(struct route_names *names, struct span name)
{
    if (names->count == names->size) {
        size_t size = names->size * 2 + 16;
        struct policy_route *routes = mem_resize(names->routes, size * sizeof *routes);

        if (routes == NULL)
            return CODE_NOMEM;
        names->routes = routes;
        names->size = size;
    }
    names->routes[names->count] = (struct policy_route){.name = arena_dup(&names->arena, name.at, name.len)};
    return names->routes[names->count++].name != NULL ? CODE_OK : CODE_NOMEM;
}

static enum code add_slug(struct route_names *names, struct span name, struct span glob)
{
    char whole[NAME_MAX_BYTES];
    size_t len = slug_put(name, glob, whole, sizeof whole);

    return len == SIZE_MAX ? CODE_OK : add_name(names, span_of(whole, len));
}

enum code route_names_of(const struct proxy_conf *conf, struct route_names *names)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < conf->route_count && code == CODE_OK; i++) {
        const struct proxy_route *route = &conf->routes[i];

        if (route->slugs.count == 0)
            code = add_name(names, route->name);
        for (size_t s = 0; s < route->slugs.count && code == CODE_OK; s++)
            code = add_slug(names, route->name, route->slugs.globs[s]);
    }
    return code;
}

enum code route_names_read(const char *config, struct route_names *names, struct faults *faults)
{
    struct yaml_tree *tree;
    enum code code = conf__tree(config, &tree, faults);
    const struct yaml_node *routes = code == CODE_OK ? yaml_member(yaml_root(tree), "routes") : NULL;

    for (const struct yaml_node *route = routes ? routes->child : NULL; route != NULL && code == CODE_OK; route = route->next) {
        const struct yaml_node *name = yaml_member(route, "name"), *slugs = yaml_member(route, "slugs");
        struct span text = name != NULL ? name->text : slugs != NULL ? SPAN_LIT(SLUG_MARK) : SPAN_NONE;

        if (slugs == NULL && text.len > 0)
            code = add_name(names, text);
        for (const struct yaml_node *slug = slugs ? slugs->child : NULL; slug != NULL && code == CODE_OK; slug = slug->next)
            code = add_slug(names, text, slug->text);
    }
    yaml_tree_free(&tree);
    return code;
}

int route_names_take(const char *config, struct route_names *names)
{
    struct faults faults;
    enum code code;

    faults_init(&faults);
    code = route_names_read(config, names, &faults);
    if (code == CODE_OK)
        return OPTIONS_GO;
    return code == CODE_INVALID ? complain_faults(&faults) : complain(STATUS_CANNOT, "%s", code_text(code));
}

struct checking {
    struct faults *faults, *warnings;
};

static void add_stray(void *context, const struct policy_stray *stray)
{
    const struct checking *checking = context;

    faults_add(stray->is_lost ? checking->faults : checking->warnings, stray->path_text, stray->line, stray->column, "%s",
               stray->text);
}

void route_names_check(const struct policy *policy, const struct route_names *names, struct faults *faults,
                       struct faults *warnings)
{
    struct checking checking = {faults, warnings};

    policy_strays(policy, names->routes, names->count, add_stray, &checking);
}
