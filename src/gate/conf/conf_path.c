/* SPDX-License-Identifier: Apache-2.0 */
/* Single paths of the configuration, for commands that need no more of it. */
#include "conf/conf_priv.h"

#include "base/mem.h"

#include <string.h>

#define ARENA_MAX_BYTES ((size_t)1 << 20)

/* The path under `key` of the map that `section` names, or of the root for NULL. */
static enum code one_path(const char *path, const char *section, const char *key, const char *usual, char **out,
                          struct faults *faults)
{
    struct arena arena;
    struct conf_reader reader = {.path = path, .arena = &arena, .faults = faults};
    struct yaml_tree *tree;
    size_t before = faults->count;
    enum code code = conf__tree(path, &tree, NULL, faults);
    const struct yaml_node *map;
    const char *found;

    *out = NULL;
    if (code != CODE_OK)
        return code;
    arena_init(&arena, ARENA_MAX_BYTES);
    reader.tree = tree;
    map = section != NULL ? yaml_member(yaml_root(tree), section) : yaml_root(tree);
    found = conf__path(&reader, map, key, usual);
    if (found != NULL)
        *out = mem_dup(found, strlen(found));
    if (faults->count > before)
        code = CODE_INVALID;
    else if (*out == NULL)
        code = CODE_NOMEM;
    arena_fini(&arena);
    yaml_tree_free(&tree);
    return code;
}

enum code conf_store_path(const char *path, char **store, struct faults *faults)
{
    return one_path(path, NULL, "store", "callgate.db", store, faults);
}

enum code conf_audit_path(const char *path, char **database, struct faults *faults)
{
    return one_path(path, "audit", "database", "audit.db", database, faults);
}
