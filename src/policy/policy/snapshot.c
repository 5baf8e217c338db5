/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/schema.h"
#include "policy/snapshot.h"

#include "crypto/parts.h"

#include <stdlib.h>

#define SNAPSHOT_MAX_BYTES ((size_t)1 << 30)

static _Atomic uint64_t last_serial;

struct policy *policy_new(uint64_t version)
{
    struct policy *policy = mem_zalloc(sizeof *policy);

    if (policy == NULL)
        return NULL;
    ref_init(&policy->ref);
    policy->version = version;
    policy->serial = atomic_fetch_add_explicit(&last_serial, 1, memory_order_relaxed) + 1;
    arena_init(&policy->arena, SNAPSHOT_MAX_BYTES);
    return policy;
}

uint64_t policy_version(const struct policy *policy)
{
    return policy->version;
}

struct span policy_hash(const struct policy *policy)
{
    return span_of(policy->hash, sizeof policy->hash);
}

size_t policy_rule_count(const struct policy *policy)
{
    return policy->rule_count;
}

const struct policy_limit *policy_limit_of(const struct policy *policy, struct span id)
{
    const struct rule *rule = policy_rule_by_id(policy, id);

    return rule != NULL ? rule->limit : NULL;
}

struct policy_besides policy_besides_of(const struct policy *policy, struct span id)
{
    const struct rule *rule = policy_rule_by_id(policy, id);

    if (rule == NULL)
        return (struct policy_besides){.stops_us = NULL};
    return (struct policy_besides){rule->reason, rule->alerts, rule->stops_us};
}

int64_t policy_memory_us(const struct policy *policy)
{
    int64_t longest_us = 0;

    for (const struct watch *watch = policy->watches; watch != NULL; watch = watch->next)
        longest_us = longest_us > watch->view.longest_us ? longest_us : watch->view.longest_us;
    for (uint32_t i = 0; i < policy->rule_count; i++)
        for (const struct policy_limit *limit = policy->rules[i].limit; limit != NULL; limit = limit->next)
            longest_us = limit->per_us > longest_us ? limit->per_us : longest_us;
    return longest_us;
}

static void digest_limit(const struct policy_limit *limit, unsigned char words[DIGEST_BYTES])
{
    struct digest digest;

    digest_init(&digest);
    parts_add(&digest, SPAN_LIT("limit"));
    parts_add(&digest, limit->rule);
    parts_add(&digest, limit->path_text);
    parts_add_number(&digest, limit->kind);
    parts_add_number(&digest, limit->kind == LIMIT_CALLS ? limit->most : 0);
    parts_add_number(&digest, (uint64_t)limit->per_us);
    parts_add_number(&digest, limit->by);
    digest_final(&digest, words);
}

static void digest_watch(const struct policy_watch *watch, enum policy_by by, unsigned char words[DIGEST_BYTES])
{
    struct digest digest;

    digest_init(&digest);
    parts_add(&digest, SPAN_LIT("watch"));
    parts_add(&digest, watch->key);
    parts_add_number(&digest, by);
    digest_final(&digest, words);
}

void policy_each_memory(const struct policy *policy,
                        void (*told)(void *context, const unsigned char words[DIGEST_BYTES], int64_t reach_us), void *context)
{
    unsigned char words[DIGEST_BYTES];

    for (uint32_t i = 0; i < policy->rule_count; i++)
        for (const struct policy_limit *limit = policy->rules[i].limit; limit != NULL; limit = limit->next) {
            digest_limit(limit, words);
            told(context, words, limit->per_us);
        }
    for (const struct watch *watch = policy->watches; watch != NULL; watch = watch->next)
        for (enum policy_by by = POLICY_BY_TENANT; by < POLICY_BY_COUNT; by++)
            if (watch->view.by & UINT32_C(1) << by) {
                digest_watch(&watch->view, by, words);
                told(context, words, watch->view.longest_us);
            }
}

bool policy_limits_by(const struct policy *policy, enum policy_limit_kind kind)
{
    for (uint32_t i = 0; i < policy->rule_count; i++)
        for (const struct policy_limit *limit = policy->rules[i].limit; limit != NULL; limit = limit->next)
            if (limit->kind == kind)
                return true;
    return false;
}

struct span policy_approval_hash(const struct policy *policy, struct span rule_id)
{
    const struct rule *rule = policy_rule_by_id(policy, rule_id);

    if (rule == NULL || (rule->effect != EFFECT_REQUIRE_APPROVAL && !rule->asks) || rule->monitor)
        return SPAN_NONE;
    return rule->people.rule_hash;
}

struct policy *policy_ref(struct policy *policy)
{
    ref_take(&policy->ref);
    return policy;
}

void policy_unref(struct policy **policy)
{
    struct policy *gone = *policy;

    *policy = NULL;
    if (gone == NULL || !ref_drop(&gone->ref))
        return;
    for (size_t i = 0; i < PATTERN_BUCKETS; i++)
        for (struct pattern *pattern = gone->patterns[i]; pattern != NULL; pattern = pattern->next)
            regex_free(&pattern->regex);
    for (struct kept_buf *kept = gone->kept; kept != NULL; kept = kept->next)
        buf_fini(&kept->buf);
    for (uint32_t i = 0; gone->cases != NULL && i < gone->case_count; i++) /* NULL: there was no memory for them */
        policy_schema_unref(&gone->cases[i].schema);
    arena_fini(&gone->arena);
    mem_free(gone);
}

static int id_against(const void *id, const void *rule)
{
    return span_compare(*(const struct span *)id, (*(const struct rule *const *)rule)->id);
}

const struct rule *policy_rule_by_id(const struct policy *policy, struct span id)
{
    const struct rule **found =
        policy->rule_count > 0 ? bsearch(&id, policy->by_id, policy->rule_count, sizeof *found, id_against) : NULL;

    return found != NULL ? *found : NULL;
}

const struct rule *policy_answer_by_id(const struct policy *policy, struct span id)
{
    for (uint32_t i = 0; i < policy->answer_count; i++)
        if (span_equals(policy->answers[i].id, id))
            return &policy->answers[i];
    return NULL;
}

bool policy_asks_query(const struct policy *policy)
{
    return policy->asks_query;
}

bool policy_holds(const struct policy *policy)
{
    return policy->holds;
}

bool policy_asks_meta(const struct policy *policy, const struct question *question, struct span key)
{
    for (const struct meta_key *at = policy->meta_asks[question_has_arguments(question)].keys; at != NULL; at = at->next)
        if (span_equals(at->name, key))
            return true;
    return policy_asks_all_meta(policy, question);
}

bool policy_asks_all_meta(const struct policy *policy, const struct question *question)
{
    return policy->meta_asks[question_has_arguments(question)].all;
}
