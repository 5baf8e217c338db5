/* SPDX-License-Identifier: Apache-2.0 */
/* What paths a route has: their form, the slugs in them, and declared paths. */
#include "conf/conf_priv.h"

#include <string.h>

#define MAX_LIST 256

/* ---- slugs ---- */

static void read_slug_list(struct conf_reader *reader, const struct yaml_node *list, struct proxy_route *route)
{
    struct span *globs = conf__array(reader, list->count, sizeof *globs);

    if (globs == NULL)
        return;
    route->slugs.globs = globs;
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next) {
        struct span glob = conf__text(reader, node);

        if (glob.at == NULL)
            continue;
        if (!slug_glob_is_fit(glob))
            CONF_FAULT(reader, node, "a slug is 1 to %d of `a-z`, `0-9`, `_`, `-` and `.` and begins with a letter or digit; "
                       "`*` and `?` stand for more of them. Write such a one; a server whose slug has another form gets a "
                       "route of its own", SLUG_MAX_BYTES);
        if (slug_is_named(&route->slugs, glob))
            CONF_FAULT(reader, node, "the slug %.*s is listed twice; leave one out", SPAN_ARG(glob));
        globs[route->slugs.count++] = glob;
    }
}

/* The mark stands in path, name and upstream, or nowhere: each server has a name that policies judge, and a place. */
void conf__slugs(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    const struct yaml_node *list = conf__list(reader, map, "slugs", MAX_LIST), *path = yaml_member(map, "path");
    const struct yaml_node *name = yaml_member(map, "name"), *upstream = yaml_member(map, "upstream");
    bool has = slug_is_in(route->path);

    if (list != NULL)
        read_slug_list(reader, list, route);
    if (!has && yaml_member(map, "slugs") != NULL)
        CONF_FAULT(reader, yaml_member(map, "slugs"), "`slugs` has no meaning without `%s` in the path; write it where the "
                   "slug stands, as in /mcp/%s", SLUG_MARK, SLUG_MARK);
    if (!has && yaml_member(map, "unlisted") != NULL)
        CONF_FAULT(reader, yaml_member(map, "unlisted"), "`unlisted` speaks of slugs, and the path has none; leave it out");
    if (has && yaml_member(map, "slugs") == NULL)
        CONF_FAULT(reader, path, "the path has a slug, and `slugs` is missing: whoever calls would choose by it which paths of "
                   "the server are reached, and invent names for the policy; list them: slugs: [search, 'shop-*']");
    if (has && name != NULL && !slug_is_in(route->name))
        CONF_FAULT(reader, name, "one name for all slugs, and a policy could not tell one server from another; write "
                   "`name: 'dojo-%s'`, or leave it out: the slug is the name then", SLUG_MARK);
    if (!has && name != NULL && slug_is_in(route->name))
        CONF_FAULT(reader, name, "the name has a slug, and the path none; write `path: /mcp/%s`", SLUG_MARK);
    if (route->upstream.path.at != NULL && has != slug_is_in(route->upstream.path))
        CONF_FAULT(reader, upstream,
                   has ? "the path has a slug, and the upstream's URL none: all slugs would be one server; write it there too, "
                         "as in 'https://api.example.com/mcp/" SLUG_MARK "'"
                       : "the upstream's URL has a slug, and the path none; write `path: /mcp/" SLUG_MARK "`");
}

/* ---- declared paths ---- */

static bool is_template(const struct proxy_route *route, struct span path, bool is_wild)
{
    return (slug_path_is_fit(path) || (is_wild && path.len == 0)) && span_find(path, '*') == path.len &&
           !(is_wild && span_ends_with(path, SPAN_LIT("/"))) && (route->slugs.count > 0 || !slug_is_in(path));
}

static bool cut_star(struct span *path)
{
    bool has = span_ends_with(*path, SPAN_LIT("/*"));

    if (has)
        path->len -= 2;
    return has;
}

/* 'GET /path', 'POST /path', 'GET /path/\*', each perhaps with ' -> /upstream-path' */
static void read_entry(struct conf_reader *reader, const struct yaml_node *node, const struct proxy_route *route,
                       struct proxy_pass *pass)
{
    struct span text = conf__text(reader, node), verb = span_cut(text, ' ', &text), target = text;
    const char *arrow = text.len > 0 ? memmem(text.at, text.len, " -> ", 4) : NULL;
    bool leads_wild;

    if (verb.at == NULL)
        return;
    pass->is_post = span_is(verb, "POST");
    if (!pass->is_post && !span_is(verb, "GET")) {
        CONF_FAULT(reader, node, "a path that passes unjudged is read, or posted to; write 'GET /path' (HEAD goes with it) or "
                   "'POST /path'");
        return;
    }
    if (arrow != NULL) {
        target = span_of(arrow + 4, (size_t)(text.at + text.len - arrow - 4));
        text.len = (size_t)(arrow - text.at);
    }
    pass->is_wild = cut_star(&text);
    leads_wild = cut_star(&target);
    if (pass->is_wild != leads_wild || !is_template(route, text, pass->is_wild) || !is_template(route, target, leads_wild) ||
        (slug_is_in(target) && !slug_is_in(text))) {
        CONF_FAULT(reader, node, "this is not a plain path: no `%%`, `..`, `//`, `;`, query or blank, `*` only as a last `/*` "
                   "on both sides, and `%s` where the route's path has it; write 'GET /llms.txt', "
                   "'GET /llms.txt -> /shop/llms.txt' or 'GET /.well-known/openid-configuration'", SLUG_MARK);
        return;
    }
    if (pass->is_post && pass->is_wild)
        CONF_FAULT(reader, node, "what is posted goes to one path; write 'POST /register' for each without `*`");
    pass->path = text;
    pass->upstream_path = target;
}

void conf__pass(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route)
{
    const struct yaml_node *list = conf__list(reader, map, "pass", MAX_LIST);
    struct proxy_pass *pass;

    if (list == NULL || (pass = conf__array(reader, list->count, sizeof *pass)) == NULL)
        return;
    route->pass = pass;
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next) {
        struct proxy_pass *entry = &pass[route->pass_count++];

        read_entry(reader, node, route, entry);
        if ((entry->is_post || entry->is_wild) && yaml_member(yaml_member(map, "upstream"), "certificate") != NULL)
            CONF_FAULT(reader, node, "whoever comes this way would come with the gate's own certificate, which its connections "
                       "show; declare each path to GET by its name, or this on a route without `certificate`");
        for (const struct proxy_pass *other = pass; entry->path.at != NULL && other < entry; other++)
            if (span_equals(other->path, entry->path) && other->is_post == entry->is_post && other->is_wild == entry->is_wild)
                CONF_FAULT(reader, node, "%.*s is listed already; leave one of the two out", SPAN_ARG(entry->path));
    }
}
