/* SPDX-License-Identifier: Apache-2.0 */
/* A set of policy files in memory: what a version holds, and what a change would make of it. */
#include "language/store_set.h"

#include "base/num.h"
#include "language/compile_priv.h"

#include <stdlib.h>

#define SET_MAX_BYTES ((size_t)256 << 20)

enum code policy_set_add(struct policy_set *set, struct span name, struct span path, struct span text,
                          enum policy_store_fate fate)
{
    struct policy_member member = {.fate = fate}, *members;
    enum code code = arena_keep(&set->arena, name, &member.name);

    if (code == CODE_OK)
        code = arena_keep(&set->arena, path, &member.path);
    if (code == CODE_OK)
        code = arena_keep(&set->arena, text, &member.text);
    if (code != CODE_OK)
        return code;
    members = mem_room(set->members, &set->size, set->count + 1, sizeof *members);
    if (members == NULL)
        return CODE_NOMEM;
    set->members = members;
    members[set->count++] = member;
    return CODE_OK;
}

void policy_set_init(struct policy_set *set)
{
    *set = (struct policy_set){.count = 0};
    arena_init(&set->arena, SET_MAX_BYTES);
}

void policy_set_fini(struct policy_set *set)
{
    mem_free(set->members);
    arena_fini(&set->arena);
}

static int by_name(const void *a, const void *b)
{
    return span_compare(((const struct policy_member *)a)->name, ((const struct policy_member *)b)->name);
}

struct policy_member *policy_set_find(struct policy_set *set, struct span name)
{
    for (size_t i = 0; i < set->count; i++)
        if (span_equals(set->members[i].name, name))
            return &set->members[i];
    return NULL;
}

enum code policy_set_compile(const struct policy_set *set, uint64_t version, const struct authoring *author,
                             struct policy **policy, struct faults *faults, struct faults *warnings)
{
    struct policy_file *files = mem_array(set->count, sizeof *files);
    size_t count = 0;
    enum code code;

    if (files == NULL)
        return CODE_NOMEM;
    for (size_t i = 0; i < set->count; i++)
        if (set->members[i].fate != POLICY_REMOVED)
            files[count++] = (struct policy_file){set->members[i].path, set->members[i].text};
    code = policy_compile_for(author, files, count, version, policy, faults, warnings);
    mem_free(files);
    return code;
}

void policy_set_hash(const struct policy_set *set, char hex[2 * DIGEST_BYTES])
{
    unsigned char bytes[DIGEST_BYTES];
    struct digest digest;

    digest_init(&digest);
    for (size_t i = 0; i < set->count; i++)
        compile__hash_file(&digest, set->members[i].name, set->members[i].text);
    digest_final(&digest, bytes);
    num_hex(bytes, sizeof bytes, hex);
}

void policy_set_sort(struct policy_set *set)
{
    if (set->count > 0)
        qsort(set->members, set->count, sizeof *set->members, by_name);
}
