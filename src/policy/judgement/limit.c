/* SPDX-License-Identifier: Apache-2.0 */
/* What a call would take of a permit's limits (Meaning 12): 1 where calls are counted, else the sum of all values that the
 * limit's path selects, exactly. What would not be counted exactly is not counted: a value that is no number, is negative or
 * finer than a millionth, a sum beyond 10^12, and one that the record may not hold. */
#include "judgement/judge_priv.h"
#include "policy/trace.h"
#include "policy/walk.h"

#include <inttypes.h>

struct summing {
    struct path_walk path;
    struct rule_walk *walk;
    const struct verdict *verdict;
    uint64_t sum;
    bool has_value, is_unclear, is_hidden;
};

/* Whether the value is redacted: the record names the sum, so that a redacted value cannot be part of it. Agents choose how
 * many values there are, so that the redacted ones, which are sorted and apart, are searched by halves. */
static bool is_redacted(const struct verdict *verdict, struct span value)
{
    uint32_t from = 0, to = verdict->redact_count; /* the redacted values before `from` begin no later than this one */

    while (from < to) {
        uint32_t middle = from + (to - from) / 2;

        if (verdict->redact[middle]->raw.at <= value.at)
            from = middle + 1;
        else
            to = middle;
    }
    return verdict->redact_all ||
           (from > 0 && value.at < verdict->redact[from - 1]->raw.at + verdict->redact[from - 1]->raw.len);
}

static bool add(struct path_walk *path, const struct json_node *value)
{
    struct summing *summing = path->context;
    uint64_t amount = 0;

    summing->has_value = true;
    if (path->hidden != NULL && question_hides(path->hidden, value))
        summing->is_hidden = true;
    else if (value->type != JSON_NUMBER || json_number_scaled(value->raw, POLICY_SUM_PLACES, &amount) != CODE_OK ||
             amount > POLICY_SUM_MAX - summing->sum || is_redacted(summing->verdict, value->raw))
        summing->is_unclear = true;
    else
        summing->sum += amount;
    path->stop = summing->is_hidden || summing->is_unclear;
    return true;
}

static bool look(struct path_walk *path)
{
    struct summing *summing = path->context;

    return walk_look(summing->walk, path);
}

/* The sum of a recorded call that has lost the values: the record has it. */
static enum truth recorded_sum(struct rule_walk *walk, const struct policy_limit *limit, uint64_t *amount)
{
    const struct json_node *spent = json_member(walk->question->hidden->spent, limit->sum_text);

    if (spent != NULL && spent->type == JSON_NUMBER && json_number_scaled(spent->raw, POLICY_SUM_PLACES, amount) == CODE_OK)
        return TRUTH_TRUE;
    *amount = 0;
    return walk_guess(walk, true);
}

enum truth eval__amount(struct rule_walk *walk, const struct verdict *verdict, const struct policy_limit *limit,
                        uint64_t *amount)
{
    struct summing summing = {.walk = walk, .verdict = verdict};

    *amount = 1;
    if (limit->sum == NULL)
        return TRUTH_TRUE;
    summing.path = (struct path_walk){.path = limit->sum, .visit = add, .context = &summing, .visits_left = &walk->visits_left,
                                      .look = look, .hidden = walk->question->hidden};
    if (!walk->budget->spent && walk_look(walk, &summing.path))
        path_run(&summing.path, walk->question->root);
    if (!walk_spend(walk) || summing.path.spent) {
        walk->spent = true;
        return TRUTH_UNDECIDED;
    }
    if (summing.is_hidden || summing.path.met_hidden)
        return recorded_sum(walk, limit, amount);
    *amount = summing.sum;
    if (summing.is_unclear)
        return TRUTH_UNDECIDED;
    return truth_of(summing.has_value && !summing.path.element_lacks);
}
