/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/diff_priv.h"
#include "author/words.h"
#include "fill/parameters.h"

#include <stdlib.h>

#define ARENA_MAX_BYTES ((size_t)256 << 20)
#define RENAMES_MAX 1000000 /* pairs of rules that are compared */

const char *diff_way_text(enum diff_way way)
{
    switch (way) {
    case DIFF_EITHER: return "may go either way";
    case DIFF_PERMITS: return "becomes permitted";
    case DIFF_DENIES: return "becomes denied";
    case DIFF_HOLDS: return "becomes held for approval";
    case DIFF_RELEASES: return "is no longer held for approval";
    case DIFF_KEEPS_BACK: return "keeps more of answers back";
    case DIFF_LETS_BACK: return "lets more of answers go on";
    case DIFF_NOTHING:
    case DIFF_WAYS: break;
    }
    return "changes no verdict";
}

/* ---- one side ---- */

struct side {
    const struct policy *policy;
    struct yaml_tree **trees;  /* by source */
    struct diff_rule *rules, *answers; /* by id; those for calls, those for answers */
};

static int by_id(const void *a, const void *b)
{
    return span_compare(((const struct diff_rule *)a)->rule->id, ((const struct diff_rule *)b)->rule->id);
}

static enum code read_side(struct side *side, const struct policy *policy)
{
    enum code code = CODE_OK;

    side->policy = policy;
    side->trees = mem_array(policy->source_count + 1, sizeof *side->trees);
    side->rules = mem_array(policy->rule_count + 1, sizeof *side->rules);
    side->answers = mem_array(policy->answer_count + 1, sizeof *side->answers);
    if (side->trees == NULL || side->rules == NULL || side->answers == NULL)
        return CODE_NOMEM;
    for (uint32_t i = 0; i < policy->rule_count; i++)
        side->rules[i].rule = policy->by_id[i];
    for (uint32_t i = 0; i < policy->answer_count; i++)
        side->answers[i].rule = &policy->answers[i];
    if (policy->answer_count > 0)
        qsort(side->answers, policy->answer_count, sizeof *side->answers, by_id);
    return code == CODE_OK ? parameters_trees(policy, true, side->trees) : code; /* names of lists are what is compared */
}

static int id_against(const void *id, const void *rule)
{
    return span_compare(*(const struct span *)id, ((const struct diff_rule *)rule)->rule->id);
}

/* Takes: key: under which they stand in the files. */
static void take_nodes(const struct side *side, const char *key, struct diff_rule *of, uint32_t count)
{
    for (uint32_t i = 0; i < side->policy->source_count; i++) {
        const struct yaml_node *root = yaml_root(side->trees[i]);
        const struct yaml_node *rules = yaml_member(root, key);

        for (const struct yaml_node *node = rules ? rules->child : NULL; node != NULL; node = node->next) {
            const struct yaml_node *id = yaml_member(node, "id");
            struct diff_rule *rule = NULL;

            if (id != NULL)
                rule = count > 0 ? bsearch(&id->text, of, count, sizeof *rule, id_against) : NULL;
            if (rule == NULL)
                continue;
            rule->node = node;
            rule->root = root;
            rule->trees = side->trees;
            rule->tree_count = side->policy->source_count;
        }
    }
}

static void free_side(struct side *side)
{
    for (uint32_t i = 0; side->trees != NULL && i < side->policy->source_count; i++)
        yaml_tree_free(&side->trees[i]);
    mem_free(side->trees);
    mem_free(side->rules);
    mem_free(side->answers);
}

/* ---- both ---- */

/* Whether a rule that is gone came back under another name. */
static bool is_renamed(const struct diff_pair *gone, const struct diff_pair *came)
{
    const struct yaml_node *a = gone->before.node, *b = came->after.node;

    if (a == NULL || b == NULL || a->count != b->count ||
        strcmp(words_effect(gone->before.rule), words_effect(came->after.rule)) != 0)
        return false;
    for (const struct yaml_node *member = a->child; member != NULL; member = member->next) {
        const struct yaml_node *other = diff__member(b, member->key);

        if (!span_is(member->key, "id") && (other == NULL || !diff__same(&gone->before, member, &came->after, other)))
            return false;
    }
    return true;
}

static void pair_renamed(struct diff_pair *pairs, size_t count)
{
    uint64_t tried = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count && pairs[i].before.rule != NULL && pairs[i].after.rule == NULL; j++)
            if (pairs[j].before.rule == NULL && pairs[j].after.rule != NULL && tried++ < RENAMES_MAX &&
                is_renamed(&pairs[i], &pairs[j])) {
                pairs[i].after = pairs[j].after;
                pairs[j].after.rule = NULL;
            }
}

/* Takes: counts: of the rules before and after, which are by id. */
static enum code compare_rules(struct diff *diff, const struct diff_rule *before, const struct diff_rule *after,
                               const uint32_t counts[2], struct diff_pair *pairs, size_t *count)
{
    uint32_t i = 0, j = 0;
    enum code code = CODE_OK;

    while (i < counts[0] || j < counts[1]) {
        struct diff_pair *pair = &pairs[(*count)++];
        int order = i == counts[0] ? 1 : j == counts[1] ? -1 : span_compare(before[i].rule->id, after[j].rule->id);

        *pair = (struct diff_pair){.differs = false};
        if (order <= 0)
            pair->before = before[i++];
        if (order >= 0)
            pair->after = after[j++];
    }
    pair_renamed(pairs, *count);
    for (size_t at = 0; at < *count && code == CODE_OK; at++)
        if (pairs[at].before.rule != NULL || pairs[at].after.rule != NULL)
            code = diff__compare(diff, &pairs[at]);
    return code;
}

static const struct yaml_node *redactions(const struct side *side, struct span name)
{
    for (uint32_t i = 0; i < side->policy->source_count; i++)
        if (span_equals(side->policy->sources[i].name, name))
            return yaml_member(yaml_root(side->trees[i]), "redact");
    return NULL;
}

static enum code compare_files(struct diff *diff, const struct side *before, const struct side *after)
{
    enum code code = CODE_OK;

    for (uint32_t i = 0; i < before->policy->source_count && code == CODE_OK; i++) {
        struct span name = before->policy->sources[i].name;

        code = diff__compare_redactions(diff, name, redactions(before, name), redactions(after, name));
    }
    for (uint32_t i = 0; i < after->policy->source_count && code == CODE_OK; i++) {
        struct span name = after->policy->sources[i].name;

        if (redactions(before, name) == NULL)
            code = diff__compare_redactions(diff, name, NULL, redactions(after, name));
    }
    return code;
}

static int by_way(const void *a, const void *b)
{
    static const int places[DIFF_WAYS] = {[DIFF_PERMITS] = 0,  [DIFF_DENIES] = 1, [DIFF_HOLDS] = 2,
                                          [DIFF_RELEASES] = 3, [DIFF_EITHER] = 4, [DIFF_KEEPS_BACK] = 5,
                                          [DIFF_LETS_BACK] = 6, [DIFF_NOTHING] = 7};
    const struct diff_change *left = a, *right = b;
    int order = places[left->way] - places[right->way];

    if (order == 0)
        order = span_compare(left->rule, right->rule);
    return order != 0 ? order : span_compare(left->text, right->text);
}

/* The rules for calls or those for answers: compared in words, and tried. */
static enum code compare_all(struct diff *diff, const struct side *before, const struct side *after, bool of_answers)
{
    const struct policy *a = before->policy, *b = after->policy;
    const uint32_t counts[2] = {of_answers ? a->answer_count : a->rule_count, of_answers ? b->answer_count : b->rule_count};
    struct diff_rule *rules[2] = {of_answers ? before->answers : before->rules, of_answers ? after->answers : after->rules};
    const char *key = of_answers ? "answers" : "rules";
    struct diff_pair *pairs = mem_array((size_t)counts[0] + counts[1] + 1, sizeof *pairs);
    size_t count = 0;
    enum code code = pairs != NULL ? CODE_OK : CODE_NOMEM;

    if (code == CODE_OK) {
        take_nodes(before, key, rules[0], counts[0]);
        take_nodes(after, key, rules[1], counts[1]);
        code = compare_rules(diff, rules[0], rules[1], counts, pairs, &count);
    }
    if (code == CODE_OK)
        code = of_answers ? diff__probe_answers(diff, pairs, count) : diff__probe(diff, pairs, count);
    mem_free(pairs);
    return code;
}

static enum code compare(struct diff *diff, struct side *before, struct side *after)
{
    enum code code = read_side(before, diff->before);

    if (code == CODE_OK)
        code = read_side(after, diff->after);
    if (code == CODE_OK)
        code = compare_all(diff, before, after, false);
    if (code == CODE_OK)
        code = compare_all(diff, before, after, true);
    if (code == CODE_OK)
        code = compare_files(diff, before, after);
    if (diff->change_count > 1)
        qsort(diff->changes, diff->change_count, sizeof *diff->changes, by_way);
    return code;
}

enum code diff_new(struct policy *before, struct policy *after, struct diff **diff)
{
    struct side sides[2] = {{.trees = NULL}};
    struct diff *made = mem_zalloc(sizeof *made);
    enum code code;

    *diff = NULL;
    if (made == NULL)
        return CODE_NOMEM;
    arena_init(&made->arena, ARENA_MAX_BYTES);
    made->before = policy_ref(before);
    made->after = policy_ref(after);
    made->tests_before = before->case_count;
    made->tests_after = after->case_count;
    code = compare(made, &sides[0], &sides[1]);
    free_side(&sides[0]);
    free_side(&sides[1]);
    if (code == CODE_OK)
        *diff = made;
    else
        diff_free(&made);
    return code == CODE_OK ? code : CODE_NOMEM;
}

void diff_free(struct diff **diff)
{
    struct diff *gone = *diff;

    *diff = NULL;
    if (gone == NULL)
        return;
    policy_unref(&gone->before);
    policy_unref(&gone->after);
    mem_free(gone->changes);
    arena_fini(&gone->arena);
    mem_free(gone);
}

bool diff_is_empty(const struct diff *diff)
{
    return diff->change_count == 0;
}

struct span diff_also(const struct diff_change *change, struct span after)
{
    bool is_behind = false;

    for (const struct diff_site *site = change->sites; site != NULL; site = site->next) {
        struct span id = site->rules[1] != NULL ? site->rules[1]->id : site->rules[0]->id;

        if (is_behind && !span_equals(id, after))
            return id;
        is_behind |= span_equals(id, after);
    }
    return SPAN_NONE;
}
