/* SPDX-License-Identifier: Apache-2.0 */
#include "words/public.h"

#include "base/bug.h"
#include "base/take_in.h"
#include "yaml/yaml.h"

extern const char words__public_text[];

TAKE_IN(words__public_text, "policies/words/public.yaml");

struct range_list {
    struct address_range *range;
    uint32_t count;
};

struct name_list {
    struct span *name;
    uint32_t count;
};

struct public_space {
    struct range_list reachable, not_reachable, holds_ipv4;
    struct name_list special, lead_inside;
};

/* ---- reading the lists ---- */

static const struct yaml_node *list_of(const struct yaml_node *root, const char *name)
{
    const struct yaml_node *list = yaml_member(yaml_member(root, "lists"), name);

    BUG_ON(list == NULL || list->type != YAML_LIST || list->count == 0);
    return list;
}

static bool read_ranges(const struct yaml_node *root, const char *name, struct arena *arena, struct range_list *ranges)
{
    const struct yaml_node *list = list_of(root, name);

    ranges->range = arena_zalloc(arena, list->count * sizeof *ranges->range);
    for (const struct yaml_node *one = list->child; ranges->range != NULL && one != NULL; one = one->next)
        BUG_ON(address_range_read(one->text, &ranges->range[ranges->count++]) != NULL);
    return ranges->range != NULL;
}

static bool read_names(const struct yaml_node *root, const char *name, struct arena *arena, struct name_list *names)
{
    const struct yaml_node *list = list_of(root, name);

    names->name = arena_zalloc(arena, list->count * sizeof *names->name);
    for (const struct yaml_node *one = list->child; names->name != NULL && one != NULL; one = one->next) {
        struct span *copy = &names->name[names->count++];

        copy->at = arena_dup(arena, one->text.at, one->text.len);
        copy->len = one->text.len;
        if (copy->at == NULL)
            return false;
    }
    return names->name != NULL;
}

enum code public_space_make(struct arena *arena, const struct public_space **space)
{
    struct public_space *made = arena_zalloc(arena, sizeof *made);
    struct yaml_tree *tree = NULL;
    const struct yaml_node *root;
    struct faults faults;
    enum code code;
    bool whole;

    if (made == NULL)
        return CODE_NOMEM;
    faults_init(&faults);
    code = yaml_read(span_text(words__public_text), "public.yaml", &tree, &faults);
    BUG_ON(code == CODE_INVALID);
    if (code != CODE_OK)
        return code;
    root = yaml_root(tree);
    whole = read_ranges(root, "reachable", arena, &made->reachable) &&
            read_ranges(root, "not-reachable", arena, &made->not_reachable) &&
            read_ranges(root, "holds-ipv4", arena, &made->holds_ipv4) &&
            read_names(root, "special-names", arena, &made->special) &&
            read_names(root, "names-that-lead-inside", arena, &made->lead_inside);
    yaml_tree_free(&tree);
    *space = made;
    return whole ? CODE_OK : CODE_NOMEM;
}

/* ---- asking them ---- */

/* The longest prefix of a range that holds the address; -1: none does. */
static int narrowest(const struct range_list *ranges, const struct address *address)
{
    int bits = -1;

    for (uint32_t i = 0; i < ranges->count; i++)
        if ((int)ranges->range[i].bits > bits && address_range_holds(&ranges->range[i], address))
            bits = (int)ranges->range[i].bits;
    return bits;
}

bool public_holds_address(const struct public_space *space, const struct address *address)
{
    int prefix = narrowest(&space->holds_ipv4, address);
    struct address inside = {.family = 4};

    if (prefix >= 0)
        memcpy(inside.bytes, address->bytes + prefix / 8, 4);
    else
        inside = *address;
    return narrowest(&space->reachable, &inside) > narrowest(&space->not_reachable, &inside);
}

/* Whether the name is one of these or lies below one. */
static bool lies_below(const struct name_list *names, struct span name)
{
    for (uint32_t i = 0; i < names->count; i++) {
        size_t before = name.len - names->name[i].len;

        if (span_ends_with(name, names->name[i]) && (before == 0 || name.at[before - 1] == '.'))
            return true;
    }
    return false;
}

bool public_holds_name(const struct public_space *space, struct span name)
{
    return span_find(name, '.') < name.len && !lies_below(&space->special, name) && !lies_below(&space->lead_inside, name);
}

uint32_t public_entries(const struct public_space *space)
{
    return space->reachable.count + space->not_reachable.count + space->holds_ipv4.count + space->special.count +
           space->lead_inside.count;
}
