/* SPDX-License-Identifier: Apache-2.0 */
/* For commands; a gate has the whole configuration. */
#include "names/route_names_read.h"

#include "args/command.h"

enum code route_names_read(struct conf_file *file, struct route_names *names, struct faults *faults)
{
    const struct yaml_node *root;
    enum code code = conf_file_root(file, &root, faults);
    const struct yaml_node *routes = code == CODE_OK ? yaml_member(root, "routes") : NULL;

    for (const struct yaml_node *route = routes ? routes->child : NULL; route != NULL && code == CODE_OK; route = route->next) {
        const struct yaml_node *name = yaml_member(route, "name"), *slugs = yaml_member(route, "slugs");
        struct span text = name != NULL ? name->text : slugs != NULL ? SPAN_LIT(SLUG_MARK) : SPAN_NONE;

        if (slugs == NULL && text.len > 0 && yaml_member(route, "servers") == NULL && !conf_is_front(route))
            code = route_names_add(names, text);
        for (const struct yaml_node *slug = slugs ? slugs->child : NULL; slug != NULL && code == CODE_OK; slug = slug->next)
            code = route_names_add_slug(names, text, slug->text);
    }
    return code;
}

/* Whether policies may call the route so: by its name, or by one with some slug in it. */
static bool is_called(struct span name, struct span upstream)
{
    size_t at = 0;

    while (at < name.len && !span_starts_with(span_part(name, at, SIZE_MAX), SPAN_LIT(SLUG_MARK)))
        at++;
    if (at >= name.len)
        return span_equals(name, upstream);
    return upstream.len >= name.len - (sizeof SLUG_MARK - 1) && span_starts_with(upstream, span_part(name, 0, at)) &&
           span_ends_with(upstream, span_part(name, at + sizeof SLUG_MARK - 1, SIZE_MAX));
}

bool conf_unwraps(struct conf_file *file, struct span upstream, struct span tool)
{
    const struct yaml_node *root, *routes;
    static struct faults unheard;
    bool is_declared = false;

    faults_init(&unheard);
    routes = conf_file_root(file, &root, &unheard) == CODE_OK ? yaml_member(root, "routes") : NULL;
    for (const struct yaml_node *route = routes ? routes->child : NULL; route != NULL && !is_declared; route = route->next) {
        const struct yaml_node *name = yaml_member(route, "name"), *list = yaml_member(route, "unwrap"), *of;

        if (!is_called(name != NULL ? name->text : SPAN_LIT(SLUG_MARK), upstream))
            continue;
        for (const struct yaml_node *one = list ? list->child : NULL; one != NULL && !is_declared; one = one->next)
            is_declared = (of = yaml_member(one, "tool")) != NULL && span_equals(of->text, tool);
    }
    return is_declared;
}

enum code route_names_connected(struct conf_file *file, struct route_names *names, struct faults *faults)
{
    const struct yaml_node *root;
    enum code code = conf_file_root(file, &root, faults);
    const struct yaml_node *routes = code == CODE_OK ? yaml_member(root, "routes") : NULL;

    for (const struct yaml_node *route = routes ? routes->child : NULL; route != NULL && code == CODE_OK; route = route->next)
        if (yaml_member(yaml_member(yaml_member(route, "upstream"), "authorization"), "connect") != NULL &&
            yaml_member(route, "name") != NULL)
            code = route_names_add(names, yaml_member(route, "name")->text);
    return code;
}

int route_names_take(struct conf_file *file, struct route_names *names)
{
    struct faults faults;
    enum code code;

    faults_init(&faults);
    code = route_names_read(file, names, &faults);
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
