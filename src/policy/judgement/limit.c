/* SPDX-License-Identifier: Apache-2.0 */
/* What a call would take of a permit's limits (Meaning 12): 1 where calls are counted, the sum of all values that the limit's
 * path selects, exactly, or the one value that it selects. What would not be counted exactly is not counted: of a sum a value
 * that is no number, is negative or finer than a millionth, and more than 10^12; of different values none, or several; and
 * what the record may not hold. */
#include "judgement/judge_priv.h"
#include "policy/trace.h"
#include "policy/walk.h"

#define DIGESTED_EACH 64 /* bytes of a value that cost as much as a visit */

struct selecting {
    struct path_walk path;
    struct rule_walk *walk;
    const struct verdict *verdict;
    struct policy_amount *amount;
    bool has_value, is_unclear, is_hidden;
    bool is_another; /* of different values: the call has several, or none that could be counted */
};

/* Whether the value is redacted: the record names the sum, and a start counts different values by the record, so that neither
 * counts a redacted one. Agents choose how many values there are, so that the redacted ones, which are sorted and do not
 * overlap, are searched by halves. */
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
    struct selecting *selecting = path->context;
    uint64_t *sum = &selecting->amount->number, amount = 0;

    selecting->has_value = true;
    if (path->hidden != NULL && question_hides(path->hidden, value))
        selecting->is_hidden = true;
    else if (value->type != JSON_NUMBER || json_number_scaled(value->raw, POLICY_SUM_PLACES, &amount) != CODE_OK ||
             amount > POLICY_SUM_MAX - *sum || is_redacted(selecting->verdict, value->raw))
        selecting->is_unclear = true;
    else
        *sum += amount;
    path->stop = selecting->is_hidden || selecting->is_unclear;
    return true;
}

static bool take_value(struct path_walk *path, const struct json_node *value)
{
    struct selecting *selecting = path->context;
    struct rule_walk *walk = selecting->walk;

    if (path->hidden != NULL && question_hides(path->hidden, value)) {
        selecting->is_hidden = true;
    } else if (selecting->has_value || !policy_is_value(value)) {
        selecting->is_another = true;
    } else {
        selecting->is_unclear =
            is_redacted(selecting->verdict, value->raw) || !walk_charge(walk, value->raw.len / DIGESTED_EACH);
        if (!selecting->is_unclear)
            walk->no_memory |= policy_value_of(value, &selecting->amount->value) != CODE_OK;
    }
    selecting->has_value = true;
    path->stop = selecting->is_hidden || selecting->is_another || walk->no_memory;
    return true;
}

static bool look(struct path_walk *path)
{
    struct selecting *selecting = path->context;

    return walk_look(selecting->walk, path);
}

/* The amount of a recorded call that has lost the values. The record has the sum. A value that nobody knows any more may have
 * been any; it counts as one that no other call had, so that a limit has no more room than it had. */
static enum truth recorded_amount(struct rule_walk *walk, const struct policy_limit *limit, struct policy_amount *amount)
{
    const struct question_hidden *hidden = walk->question->hidden;
    const struct json_node *spent =
        limit->kind == LIMIT_SUM ? question_recorded_sum(hidden->rules, limit->path_text) : NULL;

    if (spent != NULL && spent->type == JSON_NUMBER &&
        json_number_scaled(spent->raw, POLICY_SUM_PLACES, &amount->number) == CODE_OK)
        return TRUTH_TRUE;
    amount->number = limit->kind == LIMIT_DISTINCT;
    policy_value_lost(hidden->number, &amount->value);
    amount->is_lost = true;
    return walk_guess(walk, true);
}

enum truth eval__amount(struct rule_walk *walk, const struct verdict *verdict, const struct policy_limit *limit,
                        struct policy_amount *amount)
{
    struct selecting selecting = {.walk = walk, .verdict = verdict, .amount = amount};

    *amount = (struct policy_amount){.number = limit->kind != LIMIT_SUM};
    if (limit->kind == LIMIT_CALLS)
        return TRUTH_TRUE;
    selecting.path = (struct path_walk){.path = limit->path, .visit = limit->kind == LIMIT_SUM ? add : take_value,
                                        .context = &selecting, .visits_left = &walk->visits_left, .look = look,
                                        .hidden = walk->question->hidden};
    if (!walk->budget->spent && walk_look(walk, &selecting.path))
        path_run(&selecting.path, walk->question->root);
    if (!walk_spend(walk) || selecting.path.spent) {
        walk->spent = true;
        return TRUTH_UNDECIDED;
    }
    if (selecting.is_another)
        return TRUTH_FALSE;
    if (selecting.is_hidden || selecting.path.met_hidden)
        return recorded_amount(walk, limit, amount);
    if (selecting.is_unclear || walk->no_memory)
        return TRUTH_UNDECIDED;
    return truth_of(selecting.has_value && !selecting.path.element_lacks);
}

enum truth policy_recorded_value(const struct policy_limit *limit, const struct json_node *root, struct policy_value *value)
{
    static const struct verdict nothing;
    const struct question question = {.root = root};
    struct policy_amount amount;
    struct walk_alone alone;
    enum truth known;

    walk_alone_init(&alone, &question);
    known = eval__amount(&alone.walk, &nothing, limit, &amount);
    walk_alone_fini(&alone);
    *value = amount.value;
    return known;
}
