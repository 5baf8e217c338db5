/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/index.h"
#include "texts/reading.h"

#include "base/glob.h"
#include "base/hash.h"

/* Every rule stands below the names of one dimension. Of the dimensions whose names are all exact it is the one whose names
 * fewest other rules have. So a call meets the rules of its own tool, tenant, upstream, method and principal, and the rules
 * that no exact name narrows. */

struct index_bucket {
    struct span key;
    enum dimension dimension;
    uint32_t uses;   /* rules that name it, indexed here or not */
    uint32_t count;
    uint32_t *rules; /* ascending */
};

struct naming {
    uint64_t hash;
    const struct names *upstreams, *methods;
};

struct index {
    struct index_bucket *buckets; /* a closed hash table */
    size_t bucket_count;    /* a power of two */
    uint32_t *general;      /* rules that no exact name narrows, which every new kind of call must look at */
    uint32_t general_count;
    struct naming *namings; /* which methods are named for which upstreams */
    uint32_t naming_count;
};

static struct index_bucket *slot_of(const struct index *index, enum dimension dimension, struct span key)
{
    size_t at = (size_t)hash_mix(hash_span(key), dimension) & (index->bucket_count - 1);
    while (index->buckets[at].key.at != NULL &&
           (index->buckets[at].dimension != dimension || !span_equals(index->buckets[at].key, key)))
        at = (at + 1) & (index->bucket_count - 1);
    return &index->buckets[at];
}

static bool is_exact(const struct names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (names->name[i].kind != NAME_LITERAL)
            return false;
    return names->given;
}

static void count_uses(struct index *index, const struct rule *rule)
{
    for (enum dimension d = DIM_TENANT; d < DIM_HELD; d++) {
        const struct names *names = &rule->match.by[d];
        bool exact = is_exact(names);

        for (uint32_t i = 0; i < names->count; i++) {
            struct index_bucket *bucket;

            if (names->name[i].kind != NAME_LITERAL)
                continue;
            bucket = slot_of(index, d, names->name[i].text);
            bucket->key = names->name[i].text;
            bucket->dimension = d;
            bucket->uses += exact;
        }
    }
}

/* Returns: DIM_COUNT where no dimension is exact. */
static enum dimension best_dimension(const struct index *index, const struct rule *rule)
{
    enum dimension best = DIM_COUNT;
    uint64_t fewest = UINT64_MAX;

    for (enum dimension d = DIM_TENANT; d < DIM_HELD; d++) {
        const struct names *names = &rule->match.by[d];
        uint64_t uses = 0;

        if (!is_exact(names))
            continue;
        for (uint32_t i = 0; i < names->count; i++)
            uses += slot_of(index, d, names->name[i].text)->uses;
        if (uses < fewest) {
            fewest = uses;
            best = d;
        }
    }
    return best;
}

/* Puts the rules into their buckets, or with `fill` false only counts them. A rule that has a name twice stands in its bucket
 * once. */
static void hang_up(const struct policy *policy, struct index *index, bool fill)
{
    index->general_count = 0;
    for (size_t i = 0; i < index->bucket_count; i++)
        index->buckets[i].count = 0;
    for (uint32_t r = 0; r < policy->rule_count; r++) {
        enum dimension d = best_dimension(index, &policy->rules[r]);
        const struct names *names = d < DIM_COUNT ? &policy->rules[r].match.by[d] : NULL;

        if (names == NULL) {
            if (fill)
                index->general[index->general_count] = r;
            index->general_count++;
        }
        for (uint32_t i = 0; names != NULL && i < names->count; i++) {
            struct index_bucket *bucket = slot_of(index, d, names->name[i].text);

            if (fill && bucket->count > 0 && bucket->rules[bucket->count - 1] == r)
                continue;
            if (fill)
                bucket->rules[bucket->count] = r;
            bucket->count++;
        }
    }
}

static uint64_t hash_names(const struct names *names)
{
    uint64_t hash = names->given;

    for (uint32_t i = 0; i < names->count; i++)
        hash = hash_mix(hash_mix(hash, names->name[i].kind * 2 + names->name[i].whole), hash_span(names->name[i].text));
    return hash;
}

/* Rules mostly share their upstreams and methods, so each pair of lists is kept once. A seeded hash of 64 bits stands for the
 * lists. Were two hashes ever equal, a refusal would be worded as an unknown method. Monitored rules are left out: the agent
 * must not see them. */
static void collect_namings(const struct policy *policy, struct index *index)
{
    for (uint32_t r = 0; r < policy->rule_count; r++) {
        const struct match *match = &policy->rules[r].match;
        uint64_t hash = hash_mix(hash_names(&match->by[DIM_UPSTREAM]), hash_names(&match->by[DIM_METHOD]));
        uint32_t at = 0;

        if (!match->by[DIM_METHOD].given || policy->rules[r].monitor)
            continue;
        while (at < index->naming_count && index->namings[at].hash != hash)
            at++;
        if (at == index->naming_count)
            index->namings[index->naming_count++] =
                (struct naming){hash, &match->by[DIM_UPSTREAM], &match->by[DIM_METHOD]};
    }
}

enum code policy_index_build(struct policy *policy)
{
    struct index *index = arena_zalloc(&policy->arena, sizeof *index);
    size_t names = 0, size = 16;

    if (index == NULL)
        return CODE_NOMEM;
    policy->index = index;
    for (uint32_t r = 0; r < policy->rule_count; r++)
        for (enum dimension d = DIM_TENANT; d < DIM_HELD; d++)
            names += policy->rules[r].match.by[d].count;
    while (size < names * 2)
        size *= 2;
    index->buckets = arena_zalloc(&policy->arena, size * sizeof *index->buckets);
    index->namings = arena_alloc(&policy->arena, policy->rule_count * sizeof *index->namings);
    if (index->buckets == NULL || index->namings == NULL)
        return CODE_NOMEM;
    index->bucket_count = size;
    for (uint32_t r = 0; r < policy->rule_count; r++)
        count_uses(index, &policy->rules[r]);
    hang_up(policy, index, false);
    index->general = arena_alloc(&policy->arena, index->general_count * sizeof *index->general);
    if (index->general == NULL)
        return CODE_NOMEM;
    for (size_t i = 0; i < size; i++) {
        struct index_bucket *bucket = &index->buckets[i];

        if (bucket->count == 0)
            continue;
        bucket->rules = arena_alloc(&policy->arena, bucket->count * sizeof *bucket->rules);
        if (bucket->rules == NULL)
            return CODE_NOMEM;
    }
    hang_up(policy, index, true);
    collect_namings(policy, index);
    return CODE_OK;
}

enum code policy_index_each(const struct policy *policy, const struct question *question,
                            enum code (*add)(void *context, const uint32_t *rules, uint32_t count), void *context)
{
    const struct index *index = policy->index;
    enum code code = add(context, index->general, index->general_count);
    struct uri_readings readings;
    uint32_t any = question->hidden != NULL ? question->hidden->names : 0; /* bits: whatever rules name there */

    if (question->any_resource || (policy->asks_resource && reading_of_uri(question->resource, &readings) != READING_ONE))
        any |= UINT32_C(1) << DIM_RESOURCE;
    for (size_t i = 0; any != 0 && i < index->bucket_count && code == CODE_OK; i++)
        if ((any >> index->buckets[i].dimension & 1) != 0 && index->buckets[i].count > 0)
            code = add(context, index->buckets[i].rules, index->buckets[i].count);
    for (enum dimension d = DIM_TENANT; d <= DIM_HELD && code == CODE_OK; d++) {
        /* An answer also counts under the method that it answers. */
        struct span key = d < DIM_HELD ? question_name(question, d) : question->answers;
        const struct index_bucket *bucket = key.len > 0 ? slot_of(index, d < DIM_HELD ? d : DIM_METHOD, key) : NULL;

        if (bucket != NULL && bucket->count > 0)
            code = add(context, bucket->rules, bucket->count);
    }
    return code;
}

bool policy_names_method(const struct policy *policy, const struct question *question, struct regex_budget *budget)
{
    for (uint32_t n = 0; n < policy->index->naming_count; n++) {
        const struct naming *naming = &policy->index->namings[n];

        if (policy_names_match(naming->upstreams, DIM_UPSTREAM, false, question, budget) == TRUTH_FALSE)
            continue;
        for (uint32_t i = 0; i < naming->methods->count; i++) {
            struct names one = {.given = true, .count = 1, .name = &naming->methods->name[i]};

            if (one.name->kind != NAME_REGEX &&
                policy_names_match(&one, DIM_METHOD, false, question, budget) == TRUTH_TRUE)
                return true;
        }
    }
    return false;
}

bool policy_names_tool(const struct policy *policy, struct span tool)
{
    return slot_of(policy->index, DIM_TOOL, tool)->key.at != NULL;
}
