/* SPDX-License-Identifier: Apache-2.0 */
#include "judgement/answer_priv.h"
#include "judgement/decode_priv.h"
#include "judgement/judge_priv.h"
#include "judgement/judgement.h"
#include "policy/snapshot.h"
#include "policy/trace.h"
#include "words/operators.h"

#include <stdlib.h>

#define DEPTH_MAX 512 /* of a schema's conditions, which nest as deep as the value; what lies deeper is undecided */

static enum truth condition_truth(struct rule_walk *walk, const struct condition *condition, struct span *undecided);

/* ---- leaves: one path, its values, one quantifier ---- */

struct leaf_walk {
    struct path_walk path;
    struct rule_walk *walk;
    const struct condition *leaf;
    enum truth truth;
    bool has_value;
    bool collects;   /* collect all that makes the leaf true, for walk->cuts */
    bool is_settled; /* the leaf is decided; what it still looks for is not traced */
};

enum truth eval__truth_here(struct rule_walk *walk, const struct condition *condition, const struct json_node *value)
{
    const struct json_node *around = walk->here;
    struct span undecided;
    enum truth truth;

    walk->here = value;
    truth = condition_truth(walk, condition, &undecided);
    walk->here = around;
    return truth;
}

enum truth eval__ops(struct rule_walk *walk, const struct condition *leaf, const struct json_node *value)
{
    enum truth all = TRUTH_TRUE;

    for (uint32_t i = 0; i < leaf->op_count && all != TRUTH_FALSE; i++) {
        enum truth truth = policy_op(walk, &leaf->ops[i], value);

        if (walk->trace != NULL)
            walk->trace->op(walk->trace, &leaf->ops[i], truth);
        all = truth_and(all, truth);
    }
    return all;
}

static enum truth value_truth(struct rule_walk *walk, const struct condition *leaf, const struct json_node *value,
                              const struct span *parts, size_t count)
{
    bool any;

    if (leaf->kind == CONDITION_EACH)
        return eval__truth_here(walk, leaf->members, value);
    if (leaf->links)
        return eval__links(walk, leaf, value, &any);
    if (leaf->decoders != 0 && value->type == JSON_STRING)
        return eval__decoded(walk, leaf, value, parts, count);
    return eval__ops(walk, leaf, value);
}

bool policy_fulfils(const struct condition *leaf, const struct question *question, const struct json_node *value)
{
    struct walk_alone alone;
    bool fulfils;

    walk_alone_init(&alone, question);
    fulfils = value_truth(&alone.walk, leaf, value, NULL, 0) == TRUTH_TRUE;
    walk_alone_fini(&alone);
    return fulfils;
}

/* Meaning 6: every selected value, or any. Kleene's words decide early: false of `every`, true of `any`. */
static void fold(struct leaf_walk *leaf, enum truth truth)
{
    bool every = leaf->leaf->every;

    leaf->truth = !leaf->has_value ? truth : every ? truth_and(leaf->truth, truth) : truth_or(leaf->truth, truth);
    leaf->has_value = true;
    if (leaf->truth != (every ? TRUTH_FALSE : TRUTH_TRUE))
        return;
    leaf->is_settled = leaf->collects && !every;
    leaf->path.stop = !leaf->is_settled;
    if (leaf->is_settled)
        leaf->walk->trace = NULL;
}

static bool is_blind(const struct leaf_walk *leaf, const struct json_node *value)
{
    return leaf->path.hidden != NULL && policy_leaf_is_blind(leaf->path.hidden, leaf->leaf, value);
}

static struct json_node string_of(struct span text)
{
    return (struct json_node){.type = JSON_STRING, .text = text, .raw = text};
}

static bool visit(struct path_walk *path, const struct json_node *value)
{
    struct leaf_walk *leaf = path->context;
    const struct member_names *names = leaf->leaf->names;
    enum truth truth, takes = names != NULL ? eval__takes_name(leaf->walk, names, value->key) : TRUTH_TRUE;
    bool has_links = true, told = false, blind;
    struct json_node name;

    if (leaf->leaf->asks_keys) {
        if (value->key.at == NULL) /* an element of an array */
            return false;
        name = string_of(value->key);
        value = &name;
    }
    if (takes == TRUTH_FALSE || policy_leaf_skips(leaf->leaf, path->path, value))
        return false;
    blind = is_blind(leaf, value);
    if (leaf->leaf->null_is_none && value->type == JSON_NULL && !blind)
        return false;
    arena_reset(leaf->walk->arena);
    if (blind)
        truth = walk_guess(leaf->walk, leaf->leaf->opening);
    else if ((told = leaf->leaf->links) != false)
        truth = eval__links(leaf->walk, leaf->leaf, value, &has_links);
    else
        truth = value_truth(leaf->walk, leaf->leaf, value, NULL, 0);
    if (!has_links) /* no URL is no value */
        return false;
    if (takes == TRUTH_UNDECIDED)
        truth = truth_or(truth, TRUTH_UNDECIDED);
    if (leaf->walk->trace != NULL && leaf->leaf->kind == CONDITION_LEAF && !told)
        leaf->walk->trace->value(leaf->walk->trace, leaf->leaf, value, truth);
    if (leaf->collects && truth != TRUTH_FALSE)
        eval__cut(leaf->walk, leaf->leaf, value, path->within, truth);
    fold(leaf, truth);
    return true;
}

/* ---- several values joined ---- */

#define JOINED_MAX 65536

struct joined_part {
    const char *place, *inside; /* inside: the place in the JSON that a string holds, or NULL */
    struct span text;
    bool can_cut;
};

struct joining {
    struct leaf_walk walk; /* first, so that look() finds it */
    struct joined_part *parts; /* in the walk's arena, which is not emptied while they are joined */
    size_t count, room;
    bool blind, no_memory;
};

static bool collect(struct path_walk *path, const struct json_node *value)
{
    struct joining *joining = path->context;
    bool keys = joining->walk.leaf->asks_keys, string = value->type == JSON_STRING && !keys;
    struct joined_part *parts;

    joining->blind |= !keys && is_blind(&joining->walk, value);
    if (keys ? value->key.at == NULL : !string && value->type != JSON_NUMBER)
        return true;
    parts = arena_room(joining->walk.walk->arena, joining->parts, &joining->room, joining->count + 1, sizeof *parts);
    joining->no_memory |= parts == NULL;
    path->stop |= parts == NULL;
    if (parts == NULL)
        return true;
    joining->parts = parts;
    joining->parts[joining->count++] =
        (struct joined_part){.place = path->within != NULL ? path->within->string->raw.at : value->raw.at,
                             .inside = path->within != NULL ? value->raw.at : NULL,
                             .text = keys ? value->key : string ? value->text : value->raw,
                             .can_cut = string};
    path->stop |= joining->count == JOINED_MAX;
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct joined_part *left = a, *right = b;
    const char *one = left->place == right->place ? left->inside : left->place;
    const char *other = left->place == right->place ? right->inside : right->place;

    return one < other ? -1 : one > other;
}

/* Sorts the parts as they were sent and keeps each once. Where parts of the JSON in a string were selected,
 * they stand for the string. */
static void put_in_order(struct joining *joining)
{
    struct joined_part *parts = joining->parts;
    size_t kept = 0;

    qsort(parts, joining->count, sizeof *parts, by_place);
    for (size_t i = 0; i < joining->count; i++) {
        bool again = kept > 0 && by_place(&parts[kept - 1], &parts[i]) == 0;

        if (again || (kept > 0 && parts[kept - 1].place == parts[i].place && parts[kept - 1].inside == NULL))
            kept--;
        parts[kept++] = parts[i];
    }
    joining->count = kept;
}

/* Joins the parts. *texts: the place of each part in the whole. Returns: the whole; at == NULL: no memory. */
static struct span join(const struct joining *joining, struct span *texts)
{
    size_t len = 0;
    char *whole;

    for (size_t i = 0; i < joining->count; i++)
        len += joining->parts[i].text.len;
    whole = arena_alloc(joining->walk.walk->arena, len + 1);
    for (size_t i = 0, at = 0; whole != NULL && i < joining->count; at += texts[i++].len) {
        const struct joined_part *part = &joining->parts[i];

        texts[i] = span_of(whole + at, part->text.len);
        if (part->text.len > 0)
            memcpy(whole + at, part->text.at, part->text.len);
    }
    return span_of(whole, len);
}

struct blanking {
    char *at;
    bool any;
};

static void blank(void *context, struct span name, size_t offset, size_t length)
{
    struct blanking *blanking = context;

    (void)name;
    memset(blanking->at + offset, '\n', length);
    blanking->any |= length > 0;
}

/* Blanks in the whole what can be cut out of its parts. Takes: texts: the parts in it. Returns: whether something was. */
static bool blank_parts(const struct joining *joining, const struct span *texts)
{
    struct rule_walk *walk = joining->walk.walk;
    const struct condition *leaf = joining->walk.leaf;
    struct blanking blanking = {.any = false};

    for (size_t i = 0; i < joining->count; i++)
        for (uint32_t k = 0; k < leaf->op_count && joining->parts[i].can_cut; k++) {
            blanking.at = (char *)texts[i].at;
            if (op_finds(&leaf->ops[k]))
                (void)leaf->ops[k].operator->find(walk, &leaf->ops[k], joining->parts[i].text, blank, &blanking);
        }
    return blanking.any;
}

/* Takes: node: the whole; at == NULL: there was no memory for it. */
static enum truth joined_truth(const struct joining *joining, const struct json_node *node, const struct span *texts)
{
    struct rule_walk *walk = joining->walk.walk;
    const struct condition *leaf = joining->walk.leaf;
    enum truth truth = TRUTH_UNDECIDED;

    if (joining->blind)
        truth = walk_guess(walk, leaf->opening);
    else if (node->text.at != NULL && joining->count < JOINED_MAX && walk_charge(walk, node->text.len / 16))
        truth = value_truth(walk, leaf, node, texts, joining->count);
    if (walk->trace != NULL)
        walk->trace->value(walk->trace, leaf, node, truth);
    return truth;
}

/* Collects what only the whole holds, and no string that could be cut. Takes: truth: of the whole, where `asked`. */
static void cut_joined(const struct joining *joining, const struct json_node *node, const struct span *texts, bool asked,
                       enum truth truth)
{
    bool is_blanked = node->text.at != NULL && blank_parts(joining, texts);

    if (is_blanked || !asked)
        truth = joined_truth(joining, node, texts);
    if (truth != TRUTH_FALSE)
        eval__cut_nowhere(joining->walk.walk, joining->walk.leaf, node->text, truth);
}

/* Asks about all the values joined, as a reader sees them who puts the pieces together. Where there are several, the joined
 * text is folded as one value more. */
static void ask_joined(struct rule_walk *walk, struct leaf_walk *leaf, const struct json_node *root)
{
    struct joining joining = {.walk = *leaf};
    bool asked = !leaf->is_settled;
    enum truth truth = leaf->truth;
    struct trace *trace;
    struct span *texts;
    struct json_node node;

    arena_reset(walk->arena);
    joining.walk.path.visit = collect;
    joining.walk.path.context = &joining;
    path_run(&joining.walk.path, root);
    leaf->path.spent |= joining.walk.path.spent;
    if (joining.count > 1 && joining.count < JOINED_MAX && !joining.no_memory)
        put_in_order(&joining);
    if (leaf->path.spent || (joining.count < 2 && !joining.blind))
        return;
    texts = joining.no_memory ? NULL : arena_alloc(walk->arena, joining.count * sizeof *texts);
    node = string_of(texts != NULL ? join(&joining, texts) : SPAN_NONE);
    node.key = SPAN_LIT("joined"); /* trace_is_joined */
    walk->no_memory |= node.text.at == NULL;
    if (asked) {
        truth = joined_truth(&joining, &node, texts);
        fold(leaf, truth);
    }
    trace = walk->trace;
    walk->trace = NULL;
    if (leaf->collects && leaf->truth == TRUTH_TRUE)
        cut_joined(&joining, &node, texts, asked, truth);
    walk->trace = trace;
}

static bool look(struct path_walk *path)
{
    struct leaf_walk *leaf = path->context;

    return walk_look(leaf->walk, path);
}

static enum truth leaf_truth(struct rule_walk *walk, const struct condition *condition)
{
    struct leaf_walk leaf = {.walk = walk, .leaf = condition, .truth = TRUTH_FALSE,
                             .collects = walk->cuts != NULL && condition->from == FROM_VALUE && !condition->opening};
    struct trace *trace = walk->trace;
    const struct json_node *root = walk_root(walk, condition->from);
    struct path path = condition->path;
    bool lacks;

    leaf.path = (struct path_walk){
        .path = &path, .visit = visit, .context = &leaf, .visits_left = &walk->visits_left, .look = look,
        .look_at = walk->visits_left > VISITS_EACH ? walk->visits_left - VISITS_EACH : 0, .hidden = walk->question->hidden};
    if (condition->from == FROM_VALUE) {
        leaf.path.inside = walk->inside;
        leaf.path.inside_count = walk->inside_count;
    }
    if (walk_has_lost(walk, condition->from, condition->claim, &path, &root))
        return walk_guess(walk, condition->opening);
    if (!walk->budget->spent) { /* a spent budget denies the call, whatever this leaf says */
        path_run(&leaf.path, root);
        if (condition->joined && !leaf.path.stop)
            ask_joined(walk, &leaf, root);
    }
    walk->trace = trace;
    if (!walk_spend(walk) || leaf.path.spent) {
        walk->spent = true;
        return leaf.is_settled ? TRUTH_TRUE : TRUTH_UNDECIDED;
    }
    if (leaf.path.met_hidden)
        return walk_guess(walk, condition->opening);
    lacks = condition->counts_lacks && leaf.path.element_lacks;
    if (lacks || !leaf.has_value) {
        if (walk->trace != NULL)
            walk->trace->absent(walk->trace, condition, lacks);
        fold(&leaf, condition->absent);
    }
    return leaf.truth;
}

/* ---- all, any, not ---- */

/* Meaning 3. The first undecided member is named only where the group stays undecided. Where cuts are collected, every member
 * of an `any` is asked, since each may have some; an undecided one may have more than it has collected. */
static enum truth group_truth(struct rule_walk *walk, const struct condition *group, struct span *undecided)
{
    bool all = group->kind == CONDITION_ALL, may_have_more = false;
    enum truth truth = all ? TRUTH_TRUE : TRUTH_FALSE;
    struct trace *trace = walk->trace;
    struct span first = SPAN_NONE;

    for (uint32_t i = 0; i < group->count; i++) {
        struct span inner = SPAN_NONE;
        enum truth member = condition_truth(walk, &group->members[i], &inner);

        if (member == TRUTH_UNDECIDED && first.at == NULL)
            first = inner;
        may_have_more |= member == TRUTH_UNDECIDED;
        truth = all ? truth_and(truth, member) : truth_or(truth, member);
        if (truth != (all ? TRUTH_FALSE : TRUTH_TRUE))
            continue;
        if (all || walk->cuts == NULL)
            break;
        walk->trace = NULL; /* the group is decided: what members still find is only cut */
    }
    walk->trace = trace;
    if (truth == TRUTH_TRUE && may_have_more && walk->cuts != NULL)
        eval__cut_undecided(walk->cuts);
    if (truth == TRUTH_UNDECIDED)
        *undecided = first;
    return truth;
}

static enum truth fact_truth(struct rule_walk *walk, const struct condition *condition)
{
    const struct question_hidden *hidden = walk->question->hidden;

    return hidden != NULL && hidden->around ? walk_guess(walk, condition->opening) : eval__fact(walk, condition->fact);
}

/* Exactly one member holds. A guess about members says nothing about their number, so that the group is guessed as a whole. */
static enum truth one_truth(struct rule_walk *walk, const struct condition *group)
{
    uint32_t holding = 0, undecided = 0;
    bool guessed = walk->guessed;
    struct span inner;
    enum truth truth;

    walk->guessed = false;
    for (uint32_t i = 0; i < group->count && holding < 2; i++) {
        truth = condition_truth(walk, &group->members[i], &inner);
        holding += truth == TRUTH_TRUE;
        undecided += truth == TRUTH_UNDECIDED;
    }
    truth = holding < 2 && undecided > 0 ? TRUTH_UNDECIDED : truth_of(holding == 1);
    if (walk->guessed)
        truth = walk_guess(walk, group->opening);
    walk->guessed |= guessed;
    return truth;
}

static enum truth condition_truth(struct rule_walk *walk, const struct condition *condition, struct span *undecided)
{
    enum truth truth = TRUTH_UNDECIDED;
    struct cuts *cuts = walk->cuts;
    struct cuts_mark mark = eval__mark_cuts(cuts);

    *undecided = condition->label;
    if (walk->here != NULL && (walk->depth == DEPTH_MAX || !walk_charge(walk, 1)))
        return TRUTH_UNDECIDED;
    walk->depth++;
    if (walk->trace != NULL)
        walk->trace->enter(walk->trace, condition);
    if (condition->kind != CONDITION_LEAF && condition->kind != CONDITION_ALL && condition->kind != CONDITION_ANY)
        walk->cuts = NULL; /* a condition under `not` is true by what is missing, so there is nothing to cut */
    switch (condition->kind) {
    case CONDITION_LEAF:
    case CONDITION_EACH: truth = leaf_truth(walk, condition); break;
    case CONDITION_FACT: truth = fact_truth(walk, condition); break;
    case CONDITION_ONE: truth = one_truth(walk, condition); break;
    case CONDITION_ALL:
    case CONDITION_ANY: truth = group_truth(walk, condition, undecided); break;
    case CONDITION_NOT: truth = truth_not(condition_truth(walk, condition->members, undecided)); break;
    }
    if (walk->trace != NULL)
        walk->trace->leave(walk->trace, condition, truth);
    walk->depth--;
    walk->cuts = cuts;
    if (truth != TRUTH_TRUE)
        eval__rewind_cuts(cuts, &mark);
    return truth;
}

bool eval__still_holds(struct rule_walk *walk, const struct condition *leaf, struct span text)
{
    struct json_node string = {.type = JSON_STRING, .text = text, .raw = text};

    arena_reset(walk->arena);
    return value_truth(walk, leaf, &string, NULL, 0) != TRUTH_FALSE;
}

enum truth policy_rule_conditions(struct rule_walk *walk, const struct rule *rule, struct span *undecided)
{
    enum truth truth = rule_lasts(rule, walk->question), args;
    struct span inner = SPAN_NONE;

    if (truth == TRUTH_UNDECIDED)
        *undecided = rule->until_label;
    if (rule->when != NULL && truth != TRUTH_FALSE) {
        enum truth when = group_truth(walk, rule->when, &inner);

        if (when == TRUTH_UNDECIDED && truth == TRUTH_TRUE)
            *undecided = inner;
        truth = truth_and(truth, when);
    }
    if (rule->effect != EFFECT_PERMIT || truth == TRUTH_FALSE)
        return truth;
    args = eval__arguments(walk, rule, &inner);
    if (args == TRUTH_UNDECIDED && truth == TRUTH_TRUE)
        *undecided = inner;
    return truth_and(truth, args);
}
