/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy_priv.h"

#include <stdlib.h>

struct redacting {
    struct policy_scratch *scratch;
    const struct json_node **nodes;
    uint32_t count, size;
    bool no_memory, too_many;
};

#define SELECTED_MAX 65536 /* values, the same one each time it is selected; with more all arguments go */

static bool collect(struct path_walk *walk, const struct json_node *value)
{
    struct redacting *redacting = walk->context;

    if (redacting->count == SELECTED_MAX) {
        redacting->too_many = walk->stop = true;
        return true;
    }
    if (redacting->count == redacting->size) {
        uint32_t size = redacting->size ? redacting->size * 2 : 16;
        const struct json_node **nodes = arena_alloc(&redacting->scratch->arena, size * sizeof *nodes);

        if (nodes == NULL) {
            redacting->no_memory = walk->stop = true;
            return true;
        }
        if (redacting->count > 0)
            memcpy(nodes, redacting->nodes, redacting->count * sizeof *nodes);
        redacting->nodes = nodes;
        redacting->size = size;
    }
    redacting->nodes[redacting->count++] = value;
    return true;
}

/* Document order; of two that begin at one place (there are none but a node twice) the longer first. */
static int by_place(const void *a, const void *b)
{
    const struct json_node *left = *(const struct json_node *const *)a, *right = *(const struct json_node *const *)b;

    if (left->raw.at != right->raw.at)
        return left->raw.at < right->raw.at ? -1 : 1;
    return left->raw.len > right->raw.len ? -1 : left->raw.len < right->raw.len;
}

/* What lies inside a redacted value goes with it. */
static uint32_t keep_outermost(const struct json_node **nodes, uint32_t count)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct span *last = kept > 0 ? &nodes[kept - 1]->raw : NULL;

        if (last == NULL || nodes[i]->raw.at >= last->at + last->len)
            nodes[kept++] = nodes[i];
    }
    return kept;
}

/* Returns: false where all must go. */
static bool collect_all(const struct path *paths, uint32_t count, const struct json_node *root, uint64_t *visits_left,
                        struct redacting *redacting)
{
    for (uint32_t p = 0; p < count; p++) {
        struct path_walk walk = {.path = &paths[p], .visit = collect, .context = redacting, .visits_left = visits_left};

        path_run(&walk, root);
        if (walk.spent || redacting->too_many || path_is_root(&paths[p]))
            return false;
    }
    return true;
}

enum code policy__redact(const struct policy *policy, const struct candidates *candidates, const struct json_node *root,
                         bool is_answer, struct policy_scratch *scratch, struct verdict *verdict)
{
    struct redacting redacting = {.scratch = scratch};
    uint64_t visits_left = VISITS_MAX;

    for (uint32_t i = 0; i < candidates->redaction_count && !verdict->redact_all; i++) {
        const struct redaction *redaction = &policy->redactions[candidates->redactions[i].at];
        const struct path *paths = is_answer ? redaction->answer_paths : redaction->paths;
        uint32_t count = is_answer ? redaction->answer_path_count : redaction->path_count;

        verdict->redact_all |= count > 0 && (candidates->redactions[i].match == TRUTH_UNDECIDED ||
                                             !collect_all(paths, count, root, &visits_left, &redacting));
    }
    if (redacting.no_memory)
        return CODE_NOMEM;
    if (verdict->redact_all || redacting.count == 0)
        return CODE_OK;
    qsort(redacting.nodes, redacting.count, sizeof(struct json_node *), by_place);
    verdict->redact = redacting.nodes;
    verdict->redact_count = keep_outermost(redacting.nodes, redacting.count);
    return CODE_OK;
}

void policy_redact_answer(const struct policy *policy, const struct question *question, const struct json_node *answer,
                          struct policy_scratch *scratch, struct verdict *verdict)
{
    struct candidates candidates = {.redaction_count = 0};
    bool any = false;

    memset(verdict, 0, offsetof(struct verdict, rules));
    arena_reset(&scratch->arena);
    verdict->redact_all = policy == NULL || policy__candidates(policy, question, scratch, &candidates) != CODE_OK;
    for (uint32_t i = 0; i < candidates.redaction_count; i++)
        any |= policy->redactions[candidates.redactions[i].at].answer_path_count > 0;
    if (verdict->redact_all || !any)
        return;
    verdict->redact_all = answer == NULL || policy__redact(policy, &candidates, answer, true, scratch, verdict) != CODE_OK ||
                          verdict->redact_all;
}
