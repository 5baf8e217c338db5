/* SPDX-License-Identifier: Apache-2.0 */
#include "judgement/candidates_priv.h"
#include "judgement/judgement.h"
#include "policy/walk.h"

#include <stdlib.h>

struct redacting {
    struct policy_scratch *scratch;
    const struct json_node **nodes;
    uint32_t count;
    size_t room;
    bool no_memory, too_many;
};

#define SELECTED_MAX 65536 /* values, of which one that is selected twice counts twice; with more, everything is redacted */

static bool collect(struct path_walk *walk, const struct json_node *value)
{
    struct redacting *redacting = walk->context;
    const struct json_node **nodes;

    if (redacting->count == SELECTED_MAX) {
        redacting->too_many = walk->stop = true;
        return true;
    }
    nodes = arena_room(&redacting->scratch->arena, redacting->nodes, &redacting->room, redacting->count + 1, sizeof *nodes);
    if (nodes == NULL) {
        redacting->no_memory = walk->stop = true;
        return true;
    }
    redacting->nodes = nodes;
    nodes[redacting->count++] = value;
    return true;
}

/* Sorts by place; of two that begin at one place the longer comes first. */
static int by_place(const void *a, const void *b)
{
    const struct json_node *left = *(const struct json_node *const *)a, *right = *(const struct json_node *const *)b;

    if (left->raw.at != right->raw.at)
        return left->raw.at < right->raw.at ? -1 : 1;
    return left->raw.len > right->raw.len ? -1 : left->raw.len < right->raw.len;
}

/* Leaves out the values that lie inside another redacted value, since they go with it. */
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

/* Takes: parts: the lists of the redaction whose paths lead into root, as bits 1 << enum redaction_part.
 * Returns: false: everything must be redacted. */
static bool collect_all(const struct redaction *redaction, unsigned parts, const struct json_node *root, uint64_t *visits_left,
                        struct redacting *redacting)
{
    for (enum redaction_part part = REDACT_ARGS; part < REDACT_PART_COUNT; part++)
        for (uint32_t p = 0; (parts & (1U << part)) != 0 && p < redaction->of[part].count; p++) {
            const struct path *path = &redaction->of[part].path[p];
            struct path_walk walk = {.path = path, .visit = collect, .context = redacting, .visits_left = visits_left};

            path_run(&walk, root);
            if (walk.spent || redacting->too_many || (path_is_root(path) && part != REDACT_PARAMS))
                return false;
        }
    return true;
}

static bool redacts(const struct redaction *redaction, unsigned parts)
{
    for (enum redaction_part part = REDACT_ARGS; part < REDACT_PART_COUNT; part++)
        if ((parts & (1U << part)) != 0 && redaction->of[part].count > 0)
            return true;
    return false;
}

/* Finds the values below root that are redacted, or sets *all. */
static enum code redact_parts(const struct policy *policy, const struct candidates *candidates, unsigned parts,
                              const struct json_node *root, struct policy_scratch *scratch, bool *all,
                              const struct json_node *const **found, uint32_t *count)
{
    struct redacting redacting = {.scratch = scratch};
    uint64_t visits_left = VISITS_MAX;

    for (uint32_t i = 0; i < candidates->redaction_count && !*all; i++) {
        const struct redaction *redaction = &policy->redactions[candidates->redactions[i].at];

        *all = redacts(redaction, parts) && (candidates->redactions[i].match == TRUTH_UNDECIDED ||
                                             !collect_all(redaction, parts, root, &visits_left, &redacting));
    }
    if (redacting.no_memory)
        return CODE_NOMEM;
    if (*all || redacting.count == 0)
        return CODE_OK;
    qsort(redacting.nodes, redacting.count, sizeof(struct json_node *), by_place);
    *found = redacting.nodes;
    *count = keep_outermost(redacting.nodes, redacting.count);
    return CODE_OK;
}

enum code eval__redact(const struct policy *policy, const struct candidates *candidates, const struct question *question,
                       struct policy_scratch *scratch, struct verdict *verdict)
{
    bool apart = question_has_arguments(question); /* other methods: the paths of both lead into params */
    unsigned args = 1U << REDACT_ARGS, params = 1U << REDACT_PARAMS;
    enum code code = redact_parts(policy, candidates, apart ? args : args | params, question->root, scratch,
                                  &verdict->redact_all, &verdict->redact, &verdict->redact_count);

    if (code == CODE_OK && apart)
        code = redact_parts(policy, candidates, params, question->params, scratch, &verdict->redact_all,
                            &verdict->redact_params, &verdict->redact_param_count);
    for (uint32_t i = 0; i < candidates->redaction_count; i++)
        verdict->redact_query |= policy->redactions[candidates->redactions[i].at].query; /* also where the match is undecided */
    return code;
}

void policy_redact_answer(const struct policy *policy, const struct question *question, const struct json_node *answer,
                          struct policy_scratch *scratch, struct verdict *verdict)
{
    struct candidates candidates = {.redaction_count = 0};
    unsigned parts = 1U << REDACT_ANSWER;
    bool any = false;

    memset(verdict, 0, offsetof(struct verdict, rules));
    arena_reset(&scratch->arena);
    verdict->redact_all = policy == NULL || eval__candidates(policy, question, NULL, scratch, &candidates) != CODE_OK;
    for (uint32_t i = 0; i < candidates.redaction_count; i++)
        any |= redacts(&policy->redactions[candidates.redactions[i].at], parts);
    if (verdict->redact_all || !any)
        return;
    verdict->redact_all = answer == NULL;
    if (redact_parts(policy, &candidates, parts, answer, scratch, &verdict->redact_all, &verdict->redact,
                     &verdict->redact_count) != CODE_OK)
        verdict->redact_all = true;
}
