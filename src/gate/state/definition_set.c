/* SPDX-License-Identifier: Apache-2.0 */
#include "state/definition_set.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/ref.h"

#include <string.h>

#define BYTES_MAX ((size_t)64 << 20)

struct definition_set {
    struct ref ref;
    struct arena arena;
    const struct definition **buckets;
    size_t bucket_count, count, most;
};

enum code definition_set_new(size_t count, struct definition_set **out)
{
    struct definition_set *set = mem_zalloc(sizeof *set);

    *out = set;
    if (set == NULL)
        return CODE_NOMEM;
    ref_init(&set->ref);
    arena_init(&set->arena, BYTES_MAX);
    set->most = count;
    set->bucket_count = count + 1;
    set->buckets = count <= DEFINITION_SET_MAX ? mem_array(set->bucket_count, sizeof(struct definition *)) : NULL;
    if (set->buckets != NULL)
        return CODE_OK;
    definition_set_unref(out);
    return count <= DEFINITION_SET_MAX ? CODE_NOMEM : CODE_LIMIT;
}

static const struct definition **bucket_of(const struct definition_set *set, struct span upstream, struct span tool)
{
    return &set->buckets[hash_mix(hash_span(upstream), hash_span(tool)) % set->bucket_count];
}

enum code definition_set_add(struct definition_set *set, const struct definition *definition)
{
    struct definition *copy = arena_alloc(&set->arena, sizeof *copy);
    char *upstream = arena_dup(&set->arena, definition->upstream.at, definition->upstream.len);
    char *tool = arena_dup(&set->arena, definition->tool.at, definition->tool.len);
    const struct definition **bucket = bucket_of(set, definition->upstream, definition->tool);

    struct policy_schema *schema = definition->schema;
    bool is_full = set->count == set->most;

    if (copy == NULL || upstream == NULL || tool == NULL || is_full) {
        policy_schema_unref(&schema);
        return is_full ? CODE_LIMIT : CODE_NOMEM;
    }
    *copy = *definition;
    copy->upstream.at = upstream;
    copy->tool.at = tool;
    copy->next = *bucket;
    *bucket = copy;
    set->count++;
    return CODE_OK;
}

struct definition_set *definition_set_ref(struct definition_set *set)
{
    if (set != NULL)
        ref_take(&set->ref);
    return set;
}

void definition_set_unref(struct definition_set **set)
{
    struct definition_set *gone = *set;

    *set = NULL;
    if (gone == NULL || !ref_drop(&gone->ref))
        return;
    for (size_t i = 0; gone->buckets != NULL && i < gone->bucket_count; i++)
        for (const struct definition *at = gone->buckets[i]; at != NULL; at = at->next) {
            struct policy_schema *schema = at->schema;

            policy_schema_unref(&schema);
        }
    arena_fini(&gone->arena);
    mem_free(gone->buckets);
    mem_free(gone);
}

const struct definition *definition_set_find(const struct definition_set *set, struct span upstream, struct span tool,
                                             const unsigned char *digest)
{
    const struct definition *at = set != NULL ? *bucket_of(set, upstream, tool) : NULL;

    for (; at != NULL; at = at->next)
        if (span_equals(at->upstream, upstream) && span_equals(at->tool, tool) &&
            (digest != NULL ? memcmp(at->digest, digest, DIGEST_BYTES) == 0 : at->is_latest))
            return at;
    return NULL;
}

const struct definition *definition_set_accepted(const struct definition_set *set, struct span upstream, struct span tool,
                                                 const unsigned char digest[DIGEST_BYTES])
{
    const struct definition *found = definition_set_find(set, upstream, tool, digest);

    return found != NULL && found->is_accepted ? found : NULL;
}

const struct policy_schema *definition_set_schema(const struct definition_set *set, struct span upstream, struct span tool)
{
    const struct definition *found = definition_set_find(set, upstream, tool, NULL);

    return found != NULL && found->is_accepted ? found->schema : NULL;
}
