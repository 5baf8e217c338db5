/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the configuration, for commands that need no more of it: read when the first is asked for, and once. */
#include "conf/conf_priv.h"

#include "base/mem.h"

#include <string.h>

#define ARENA_MAX_BYTES ((size_t)1 << 20)

struct conf_file {
    const char *given, *path;
    bool is_read;
    enum code code;       /* of reading */
    struct faults faults; /* likewise */
    struct yaml_tree *tree;
};

struct conf_file *conf_file_new(const char *given)
{
    struct conf_file *file = mem_zalloc(sizeof *file);

    if (file != NULL)
        file->given = given;
    return file;
}

void conf_file_free(struct conf_file **file)
{
    if (*file != NULL)
        yaml_tree_free(&(*file)->tree);
    mem_free(*file);
    *file = NULL;
}

const char *conf_file_path(struct conf_file *file)
{
    if (file->path == NULL)
        file->path = conf_find(file->given);
    return file->path;
}

enum code conf_file_root(struct conf_file *file, const struct yaml_node **root, struct faults *faults)
{
    if (!file->is_read) {
        faults_init(&file->faults);
        file->code = conf__tree(conf_file_path(file), &file->tree, NULL, &file->faults);
        file->is_read = true;
    }
    for (size_t i = 0; i < file->faults.count && i < FAULTS_MAX; i++) {
        const struct fault *fault = &file->faults.fault[i];

        faults_add(faults, fault->file, fault->line, fault->column, "%s", fault->text);
    }
    *root = file->code == CODE_OK ? yaml_root(file->tree) : NULL;
    return file->code;
}

/* The path under `key` of the map that `section` names, or of the root for NULL. */
static enum code one_path(struct conf_file *file, const char *section, const char *key, const char *usual, char **out,
                          struct faults *faults)
{
    struct arena arena;
    struct conf_reader reader = {.path = conf_file_path(file), .arena = &arena, .faults = faults};
    const struct yaml_node *root;
    size_t before = faults->added;
    enum code code = conf_file_root(file, &root, faults);
    const char *found;

    *out = NULL;
    if (code != CODE_OK)
        return code;
    arena_init(&arena, ARENA_MAX_BYTES);
    reader.tree = file->tree;
    found = conf__path(&reader, section != NULL ? yaml_member(root, section) : root, key, usual);
    if (found != NULL)
        *out = mem_dup(found, strlen(found));
    arena_fini(&arena);
    return faults->added > before ? CODE_INVALID : *out == NULL ? CODE_NOMEM : CODE_OK;
}

enum code conf_store_path(struct conf_file *file, char **store, struct faults *faults)
{
    return one_path(file, NULL, "store", "callgate.db", store, faults);
}

enum code conf_audit_path(struct conf_file *file, char **database, struct faults *faults)
{
    return one_path(file, "audit", "database", "audit.db", database, faults);
}

enum code conf__begin(struct conf_file *file, struct arena *arena, struct faults *unheard, struct faults *faults,
                      struct conf_reader *reader, const struct yaml_node **root)
{
    enum code code = conf_file_root(file, root, faults);

    faults_init(unheard);
    arena_init(arena, ARENA_MAX_BYTES);
    *reader = (struct conf_reader){
        .path = conf_file_path(file), .tree = file->tree, .arena = arena, .faults = faults, .warnings = unheard};
    return code;
}

enum part { PEOPLE, CONSOLE, FLEET };

/* Takes: out: zeroed. */
static enum code read_part(struct conf_file *file, enum part part, struct arena *arena, void *out, struct faults *faults)
{
    struct faults unheard;
    struct conf_reader reader;
    const struct yaml_node *root;
    size_t before = faults->added;
    enum code code = conf__begin(file, arena, &unheard, faults, &reader, &root);

    if (code != CODE_OK)
        return code;
    switch (part) {
    case PEOPLE: conf__people_of(&reader, root, out); break;
    case CONSOLE: conf__console_of(&reader, root, out); break;
    case FLEET: conf__fleet_of(&reader, root, out); break;
    }
    return reader.out_of_memory ? CODE_NOMEM : faults->added > before ? CODE_INVALID : CODE_OK;
}

enum code conf_people(struct conf_file *file, struct arena *arena, struct conf_people *out, struct faults *faults)
{
    *out = (struct conf_people){.is_on = false};
    return read_part(file, PEOPLE, arena, out, faults);
}

enum code conf_console(struct conf_file *file, struct arena *arena, struct conf_console *out, struct faults *faults)
{
    *out = (struct conf_console){.address = NULL};
    return read_part(file, CONSOLE, arena, out, faults);
}

enum code conf_fleet(struct conf_file *file, struct arena *arena, struct conf_fleet *out, struct faults *faults)
{
    *out = (struct conf_fleet){.membership = NULL};
    return read_part(file, FLEET, arena, out, faults);
}
