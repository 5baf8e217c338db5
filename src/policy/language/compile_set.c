/* SPDX-License-Identifier: Apache-2.0 */
/* A set of files becomes a policy: read, compiled file by file, then looked over as a whole. */
#include "language/compile_priv.h"
#include "fill/parameters.h"
#include "policy/index.h"

#include "base/num.h"
#include "crypto/parts.h"

#include <stdlib.h>

#define FILES_MAX 4096

struct parsed { /* a source with its tree, so that both are sorted together */
    struct policy_source source;
    struct open_file open;
};

static int by_effect_and_id(const void *a, const void *b)
{
    const struct rule *left = a, *right = b;

    if (left->effect != right->effect)
        return left->effect < right->effect ? -1 : 1;
    return span_compare(left->id, right->id);
}

static int by_strength_and_id(const void *a, const void *b)
{
    const struct rule *left = a, *right = b;

    return left->answer != right->answer ? (left->answer > right->answer ? -1 : 1) : span_compare(left->id, right->id);
}

static int by_id(const void *a, const void *b)
{
    const struct rule *left = *(const struct rule *const *)a, *right = *(const struct rule *const *)b;

    return span_compare(left->id, right->id);
}

static int by_name(const void *a, const void *b)
{
    return span_compare(((const struct parsed *)a)->source.name, ((const struct parsed *)b)->source.name);
}

/* Tells of two rules with one id the later one: in one file by line, in two files by the files' names.
 * Takes: rules: all of them, by id. */
static void check_ids(struct compiler *c, const struct rule *const *rules, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct rule *first = rules[i - 1], *second = rules[i];
        bool swapped = first->source == second->source ? first->line > second->line : first->source > second->source;

        if (!span_equals(first->id, second->id) || span_is(first->id, "?"))
            continue;
        if (swapped) {
            second = first;
            first = rules[i];
        }
        faults_add(c->faults, second->source->path_text, second->line, second->column,
                   "the id `%.*s` is taken by %s:%d; ids are unique over all files, so give one of them another",
                   SPAN_ARG(second->id),
                   first->source->path_text, first->line);
    }
}

/* Ids are unique over rules for calls and for answers, since both stand in one record. */
static void check_all_ids(struct compiler *c)
{
    const struct policy *policy = c->policy;
    uint32_t count = policy->rule_count + policy->answer_count;
    const struct rule **all = mem_array(count, sizeof *all);

    c->no_memory |= all == NULL;
    if (all == NULL)
        return;
    for (uint32_t i = 0; i < count; i++)
        all[i] = i < policy->rule_count ? policy->by_id[i] : &policy->answers[i - policy->rule_count];
    qsort(all, count, sizeof *all, by_id);
    check_ids(c, all, count);
    mem_free(all);
}

static void sort_rules(struct compiler *c)
{
    struct policy *policy = c->policy;

    policy->rule_count = c->rule_count;
    policy->answer_count = c->answer_count;
    policy->redaction_count = c->redaction_count;
    policy->case_count = c->case_count;
    qsort(policy->rules, policy->rule_count, sizeof *policy->rules, by_effect_and_id);
    qsort(policy->answers, policy->answer_count, sizeof *policy->answers, by_strength_and_id);
    policy->by_id = compiler_alloc(c, policy->rule_count, sizeof(struct rule *));
    if (policy->by_id == NULL)
        return;
    for (uint32_t i = 0; i < policy->rule_count; i++)
        policy->by_id[i] = &policy->rules[i];
    qsort(policy->by_id, policy->rule_count, sizeof(struct rule *), by_id);
    check_all_ids(c);
    parameters_check_copies(c);
    if (c->author != NULL)
        c->author->check_tests(c);
    compile__check_named(c);
}

void compile__hash_file(struct digest *digest, struct span name, struct span text)
{
    parts_add(digest, name);
    parts_add(digest, text);
}

static void hash_sources(struct policy *policy)
{
    unsigned char digest[DIGEST_BYTES];
    struct digest state;

    digest_init(&state);
    for (uint32_t i = 0; i < policy->source_count; i++)
        compile__hash_file(&state, policy->sources[i].name, policy->sources[i].text);
    digest_final(&state, digest);
    num_hex(digest, sizeof digest, policy->hash);
}

/* ---- the set of files ---- */

void compile__read_source(struct compiler *c, const struct policy_file *file, struct policy_source *source,
                          struct yaml_tree **tree)
{
    source->path = compiler_copy(c, file->path);
    source->text = compiler_copy(c, file->text);
    source->path_text = source->path.at;
    if (!c->no_memory)
        c->no_memory = yaml_read(source->text, source->path_text, tree, c->faults) == CODE_NOMEM;
}

static void read_files(struct compiler *c, const struct policy_file *files, size_t count, struct parsed *parsed)
{
    struct open_file *open = mem_array(count, sizeof *open);

    c->no_memory |= open == NULL;
    for (size_t i = 0; i < count && !c->no_memory; i++) {
        compile__read_source(c, &files[i], &parsed[i].source, &parsed[i].open.tree);
        parsed[i].open.source = &parsed[i].source;
        open[i] = parsed[i].open;
    }
    if (!c->no_memory)
        parameters_put(c, open, count, false);
    for (size_t i = 0; i < count && !c->no_memory; i++) {
        parsed[i].open = open[i];
        if (open[i].tree == NULL)
            continue;
        c->source = &parsed[i].source;
        c->tree = open[i].tree;
        compile__name(c);
        compile__count_parts(open[i].tree, c->policy);
    }
    mem_free(open);
}

static void check_names(struct compiler *c, const struct parsed *parsed, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (parsed[i].source.name.len > 0 && span_equals(parsed[i].source.name, parsed[i - 1].source.name))
            faults_add(c->faults, parsed[i].source.path_text, 1, 1,
                       "the policy name `%.*s` is also that of %s; names are unique over the version",
                       SPAN_ARG(parsed[i].source.name), parsed[i - 1].source.path_text);
}

static void find_shared(struct compiler *c, const struct parsed *parsed, size_t count)
{
    struct shared_file *shared = compiler_alloc(c, count, sizeof *shared);

    c->shared = shared;
    for (size_t i = 0; i < count && shared != NULL; i++) {
        const struct yaml_node *root = parsed[i].open.tree != NULL ? yaml_root(parsed[i].open.tree) : NULL;

        if (root != NULL && compiler_shares(root))
            shared[c->shared_count++] = (struct shared_file){root, parsed[i].source.path_text};
    }
}

static bool at_file(struct compiler *c, const struct parsed *parsed, size_t i)
{
    c->source = &c->policy->sources[i];
    c->tree = parsed[i].open.tree;
    return c->tree != NULL;
}

static void compile_set(struct compiler *c, struct parsed *parsed, size_t count)
{
    struct policy *policy = c->policy;

    qsort(parsed, count, sizeof *parsed, by_name);
    check_names(c, parsed, count);
    find_shared(c, parsed, count);
    policy->sources = compiler_alloc(c, count, sizeof *policy->sources);
    policy->rules = compiler_alloc(c, policy->rule_count, sizeof *policy->rules);
    policy->answers = compiler_alloc(c, policy->answer_count, sizeof *policy->answers);
    policy->redactions = compiler_alloc(c, policy->redaction_count, sizeof *policy->redactions);
    policy->cases = c->author != NULL ? compiler_alloc(c, policy->case_count, sizeof *policy->cases) : NULL;
    for (size_t i = 0; i < count && !c->no_memory; i++) {
        policy->sources[i] = parsed[i].source;
        policy->source_count++;
        if (at_file(c, parsed, i)) {
            compile__labels(c);
            compiler_detectors(c);
        }
    }
    for (size_t i = 0; i < count && !c->no_memory; i++)
        if (at_file(c, parsed, i))
            compile__file(c, parsed[i].open.lists_used);
    if (!c->no_memory)
        sort_rules(c);
    if (!c->no_memory && c->faults->count == 0)
        c->no_memory = policy_index_build(policy) != CODE_OK;
}

static void compile_files(struct compiler *c, const struct policy_file *files, size_t count)
{
    struct parsed *parsed = mem_array(count, sizeof *parsed);

    c->no_memory = parsed == NULL;
    if (parsed == NULL)
        return;
    read_files(c, files, count, parsed);
    if (!c->no_memory)
        compile_set(c, parsed, count);
    if (!c->no_memory && c->faults->count == 0)
        hash_sources(c->policy);
    for (size_t i = 0; i < count; i++)
        yaml_tree_free(&parsed[i].open.tree);
    mem_free(parsed);
}

/* Hands over the policy or its faults. When memory ran out the faults are dropped: a name that could not be kept
 * would be told as missing. */
enum code compile__hand_over(struct compiler *c, struct policy **policy, struct faults *faults)
{
    enum code code = c->no_memory ? CODE_NOMEM : c->faults->count > 0 ? CODE_INVALID : CODE_OK;

    for (size_t i = 0; !c->no_memory && i < c->faults->count; i++) {
        if (i < FAULTS_MAX && faults->count < FAULTS_MAX)
            faults->fault[faults->count] = c->faults->fault[i];
        faults->count++;
        faults->added++;
    }
    if (c->policy->cases == NULL) /* they were counted, and nobody reads them, or there was no room for them */
        c->policy->case_count = 0;
    if (code == CODE_OK)
        *policy = c->policy;
    else
        policy_unref(&c->policy);
    return code;
}

enum code policy_compile_for(const struct authoring *author, const struct policy_file *files, size_t count, uint64_t version,
                             struct policy **policy, struct faults *faults, struct faults *warnings)
{
    struct faults mine;
    struct compiler c = {.policy = policy_new(version), .author = author, .faults = &mine, .warnings = warnings,
                         .pumps = version == 0};

    *policy = NULL;
    if (c.policy == NULL)
        return CODE_NOMEM;
    faults_init(&mine);
    if (count > FILES_MAX)
        faults_add(&mine, "", 0, 0, "more than %d files; put more rules into each", FILES_MAX);
    else
        compile_files(&c, files, count);
    return compile__hand_over(&c, policy, faults);
}
