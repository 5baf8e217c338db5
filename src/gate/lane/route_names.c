/* SPDX-License-Identifier: Apache-2.0 */
#include "lane/route_names.h"

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

enum code route_names_add(struct route_names *names, struct span name)
{
    struct policy_route *routes = mem_room(names->routes, &names->size, names->count + 1, sizeof *routes);

    if (routes == NULL)
        return CODE_NOMEM;
    names->routes = routes;
    names->routes[names->count] = (struct policy_route){.name = arena_dup(&names->arena, name.at, name.len)};
    return names->routes[names->count++].name != NULL ? CODE_OK : CODE_NOMEM;
}

enum code route_names_add_slug(struct route_names *names, struct span name, struct span glob)
{
    char whole[NAME_MAX_BYTES];
    size_t len = slug_put(name, glob, whole, sizeof whole);

    return len == SIZE_MAX ? CODE_OK : route_names_add(names, span_of(whole, len));
}

enum code route_names_of(const struct proxy_conf *conf, struct route_names *names)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < conf->route_count && code == CODE_OK; i++) {
        const struct proxy_route *route = &conf->routes[i];

        if (route->server_count > 0)
            continue; /* an endpoint of many servers judges nothing, so that no rule could mean it */
        if (route->slugs.count == 0)
            code = route_names_add(names, route->name);
        for (size_t s = 0; s < route->slugs.count && code == CODE_OK; s++)
            code = route_names_add_slug(names, route->name, route->slugs.globs[s]);
    }
    return code;
}
