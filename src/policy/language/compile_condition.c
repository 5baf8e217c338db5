/* SPDX-License-Identifier: Apache-2.0 */
#include "language/compile_priv.h"
#include "policy/other.h"
#include "words/text_condition.h"

#include <stdio.h>

#define DEPTH_MAX 16 /* of not, any and all in each other: evaluation recurses */
#define WHERE_MAX 192

/* Where a condition stands. */
struct condition_place {
    bool negated;   /* under an odd number of `not` */
    bool under_not; /* under any number of them: it finds nothing that could be cut */
    unsigned depth;
    const char *where; /* "when[0].any[1]" */
};

static const char *const known[] = {
    "arg", "meta", "param", "claim", "value", "not", "any", "all", "optional", "absent", "quantify", "anchor", "front", "rest",
    "not_matches", "not_equals",
#define X(word) #word,
    OPERATOR_TABLE(X)
#undef X
    "keys", "decode", "joined", "links", "ignore_case", "during", "session", "client", "annotations", "plan", "size", "media",
    NULL};

static void compile_condition(struct compiler *c, const struct yaml_node *node, const struct condition_place *place,
                              struct condition *condition);

/* Meaning 5: a permit's conditions open, the others' close, each `not` swaps. */
static bool is_opening(const struct compiler *c, const struct condition_place *place)
{
    return (c->effect == EFFECT_PERMIT) != place->negated;
}

static void set_label(struct compiler *c, const struct yaml_node *node, const struct condition_place *place, const char *more,
                      struct condition *condition)
{
    char text[512];
    int len = snprintf(text, sizeof text, "%.*s: %s%s", SPAN_ARG(c->rule_id), place->where, more);

    condition->line = node->line;
    condition->number = c->policy->condition_count++;
    if (len < 0 || (size_t)len >= sizeof text)
        len = (int)sizeof text - 1;
    condition->label = compiler_copy(c, span_of(text, (size_t)len));
}

/* ---- leaves ---- */

/* What a condition says beside its operators, which holds for all of them. */
struct manner {
    const struct yaml_node *quantify, *anchor, *absent;
    bool every_written, whole_written;
    bool lets_apply; /* an absent value lets the rule apply */
    bool or_null;    /* and so does null */
    bool folds;      /* `ignore_case` */
    bool moments;    /* `is: time` */
};

static void read_absence(struct compiler *c, const struct yaml_node *node, struct manner *manner)
{
    const struct yaml_node *optional = yaml_member(node, "optional"), *absent = yaml_member(node, "absent");
    bool permit = c->effect == EFFECT_PERMIT;

    manner->absent = absent;
    if ((optional != NULL || absent != NULL) && yaml_member(node, "exists") != NULL)
        FAULT(c, node, "`exists` alone decides absence; leave `%s` out", optional ? "optional" : "absent");
    if (optional != NULL && !permit)
        FAULT_KEY(c, optional,
                  "`optional` is for permits; write `absent: applies` to have the rule apply where the argument is "
                  "absent");
    else if (optional != NULL && optional->type == YAML_STRING && span_is(optional->text, "or_null"))
        manner->or_null = manner->lets_apply = true;
    else if (optional != NULL && optional->type != YAML_BOOL)
        FAULT(c, optional, "`optional` is true, false or or_null%s", yaml_bool_words(optional));
    else if (optional != NULL)
        manner->lets_apply = optional->truth;
    if (absent != NULL && permit)
        FAULT_KEY(c, absent,
                  "`absent` is for forbid and require_approval; write `optional: true` to let the permit apply where "
                  "the argument is absent");
    else if (absent != NULL)
        manner->lets_apply = compile__absent_applies(c, absent);
}

static bool read_bool(struct compiler *c, const struct yaml_node *node, const char *word)
{
    if (node != NULL && node->type != YAML_BOOL)
        FAULT(c, node, "`%s` is true or false%s", word, yaml_bool_words(node));
    return node != NULL && node->truth;
}

/* `ignore_case`: something must compare texts, and no regex stand beside it for which it would seem to hold. */
static bool read_folds(struct compiler *c, const struct yaml_node *node)
{
    const struct yaml_node *folds = yaml_member(node, "ignore_case");
    bool can_fold = false;

    if (folds == NULL || !read_bool(c, folds, "ignore_case"))
        return false;
    for (const struct yaml_node *member = node->child; member != NULL; member = member->next) {
        const struct operator *operator = policy_operator(member->key);

        can_fold |= (operator != NULL && operator->can_fold) || span_is(member->key, "not_equals");
        if (span_is(member->key, "matches") || span_is(member->key, "not_matches"))
            FAULT_KEY(c, folds, "`ignore_case` says nothing to a regex; write (?i) in front of it, and a condition for each");
    }
    if (!can_fold)
        FAULT_KEY(c, folds, "`ignore_case` goes with `equals`, `not_equals`, `in`, `contains`, `glob`, `starts_with` and "
                  "`ends_with`; leave it out");
    return true;
}

/* Whether `is` takes times, so that bounds beside it are moments. */
static bool is_of_times(const struct yaml_node *is)
{
    for (const struct yaml_node *one = is != NULL && is->type == YAML_LIST ? is->child : is; one != NULL;
         one = one == is ? NULL : one->next)
        if (one->type == YAML_STRING && span_is(one->text, "time"))
            return true;
    return false;
}

static void read_manner(struct compiler *c, const struct yaml_node *node, struct manner *manner)
{
    static const char *const quantifiers[] = {"every", "any", NULL}, *const anchors[] = {"whole", "anywhere", NULL};

    *manner = (struct manner){.quantify = yaml_member(node, "quantify"), .anchor = yaml_member(node, "anchor")};
    if (manner->quantify != NULL)
        manner->every_written = compiler_word(c, manner->quantify, quantifiers) == 0;
    if (manner->anchor != NULL)
        manner->whole_written = compiler_word(c, manner->anchor, anchors) == 0;
    compiler_companions(c, node);
    read_absence(c, node, manner);
    manner->folds = read_folds(c, node);
    manner->moments = is_of_times(yaml_member(node, "is"));
}

static unsigned read_decoders(struct compiler *c, const struct yaml_node *list)
{
    unsigned decoders = 0;

    if (list == NULL || !compiler_is_list(c, list))
        return 0;
    if (list->count == 0)
        FAULT(c, list, "an empty `decode` decodes nothing; leave it out");
    for (const struct yaml_node *word = list->child; word != NULL; word = word->next) {
        int decoder = compiler_word(c, word, policy_decoder_text);

        if (decoder >= 0 && (decoders >> decoder & 1) != 0)
            FAULT(c, word, "`%.*s` stands here twice; name it once, nested readings are found all the same",
                  SPAN_ARG(word->text));
        decoders |= decoder >= 0 ? 1u << decoder : 0;
    }
    return decoders;
}

/* Where the leaf's path is written; NULL: nowhere. */
static const struct yaml_node *root_node(const struct yaml_node *node, enum condition_root *from)
{
    const struct yaml_node *found = NULL;

    for (*from = FROM_ARG; *from < FROM_COUNT && found == NULL; ++*from)
        found = yaml_member(node, policy_root_text[*from]);
    --*from;
    return found;
}

/* `arg: PATH`, `meta: PATH`, `param: PATH` or `claim: PATH`, of arguments several, `keys`, `joined`, `links` and `decode`. */
static void read_subject(struct compiler *c, const struct yaml_node *node, struct condition *subject)
{
    const struct yaml_node *path = root_node(node, &subject->from), *joined = yaml_member(node, "joined");

    subject->decoders = read_decoders(c, yaml_member(node, "decode"));
    for (enum condition_root other = subject->from + 1; other < FROM_COUNT; other++)
        if (yaml_member(node, policy_root_text[other]) != NULL)
            FAULT_KEY(c, yaml_member(node, policy_root_text[other]),
                      "a condition asks about one of `arg`, `meta`, `param` and `claim`; write two conditions");
    if (subject->from == FROM_VALUE && !c->of_answers)
        FAULT_KEY(c, path, "`value` asks about what came back, which no rule for calls knows; write it under `answers:`");
    compiler_paths(c, path, &subject->path);
    if (subject->from == FROM_CLAIM && subject->path.next != NULL)
        FAULT(c, path, "`claim` names one path, by which its value is kept in the audit; write a condition for each");
    subject->asks_keys = read_bool(c, yaml_member(node, "keys"), "keys");
    subject->links = read_bool(c, yaml_member(node, "links"), "links");
    if (subject->path.text.at == NULL)
        return;
    if (subject->asks_keys && path_select_members(&subject->path, &c->policy->arena) != CODE_OK)
        c->no_memory = true;
    subject->joined = read_bool(c, joined, "joined");
    if (subject->joined && path_is_single(&subject->path))
        FAULT_KEY(c, joined, "`%.*s` selects one value, and there is nothing to be joined with it; write '$..*' or leave "
                  "`joined` out", SPAN_ARG(subject->path.text));
    if (subject->joined && subject->links)
        FAULT_KEY(c, joined, "`joined` makes one text of several, and `links` asks about parts of each; write two conditions");
}

/* Meaning 7: what the leaf says of an absent value, all its operators together. */
static enum truth absent_truth(const struct condition *leaf, const struct manner *manner, bool negated)
{
    enum truth others = manner->lets_apply != negated ? TRUTH_TRUE : TRUTH_FALSE;
    enum truth all = TRUTH_TRUE;

    for (uint32_t i = 0; i < leaf->op_count; i++) {
        const struct op *op = &leaf->ops[i];

        all = truth_and(all, op->operator->decides_absence ? truth_of(!op->truth) : others);
    }
    return all;
}

static void label_leaf(struct compiler *c, const struct yaml_node *node, const struct condition_place *place,
                       struct condition *leaf)
{
    bool is_arg = leaf->from == FROM_ARG;
    char more[320];
    int len = snprintf(more, sizeof more, " %s%s%s%s%.200s", is_arg ? "" : policy_root_text[leaf->from], is_arg ? "" : " ",
                       leaf->links ? "links in " : "", leaf->asks_keys ? "keys of " : "", leaf->path.text.at);

    for (uint32_t i = 0; i < leaf->op_count && len > 0 && (size_t)len < sizeof more; i++)
        len += snprintf(more + len, sizeof more - (size_t)len, " %s", leaf->ops[i].operator->word);
    set_label(c, node, place, more, leaf);
}

/* Takes: name.at == NULL: perhaps any member, or _meta itself. */
static void add_meta(struct compiler *c, struct meta_asks *asks, struct span name)
{
    struct meta_key *key = name.at != NULL ? compiler_alloc(c, 1, sizeof *key) : NULL;

    if (key == NULL) {
        asks->all = true;
        return;
    }
    *key = (struct meta_key){name, asks->keys};
    asks->keys = key;
}

/* Notes what one of the leaf's paths may see of _meta, in calls with arguments and in others. */
static void note_meta(struct compiler *c, const struct condition *leaf, const struct path *path)
{
    struct meta_asks *asks = c->policy->meta_asks;
    struct span first = path_name_at(path, 0), name = first;

    if (c->of_answers || leaf->from == FROM_VALUE) /* no approval is bound to an answer */
        return;
    if (leaf->from != FROM_META) {
        if (first.at != NULL && !span_is(first, "_meta"))
            return;
        name = first.at != NULL ? path_name_at(path, 1) : SPAN_NONE;
    }
    if (leaf->from != FROM_ARG)
        add_meta(c, &asks[true], name);
    if (!c->needs_arguments)
        add_meta(c, &asks[false], name);
}

/* What asks about texts that were joined, or about the links in them, must ask about texts. */
static void check_texts(struct compiler *c, const struct yaml_node *node, const struct condition *leaf)
{
    const char *word = leaf->joined ? "joined" : "links";

    for (uint32_t i = 0; i < leaf->op_count && (leaf->joined || leaf->links); i++)
        if (!op_reads_decoded(&leaf->ops[i]))
            FAULT_KEY(c, yaml_member(node, word), "`%s` %s, and `%s` asks nothing of a text; write a condition of its own",
                      word, leaf->joined ? "makes one text of several" : "asks about the URLs in a text",
                      leaf->ops[i].operator->word);
}

/* What operands name of the call is recorded and bound like what the leaf's own path selects. */
static void note_others(struct compiler *c)
{
    const struct condition as = {.kind = CONDITION_LEAF, .from = FROM_ARG};

    for (struct op_other *other = c->others; other != NULL; other = other->next)
        if (other->path.text.at != NULL && other->from == FROM_CLAIM)
            other->claim = compile__claim(c, &other->path);
        else if (other->path.text.at != NULL)
            note_meta(c, &as, &other->path);
    c->others = NULL;
}

/* Takes: leaf: with its subject and its operators. */
static void finish_leaf(struct compiler *c, const struct yaml_node *node, const struct condition_place *place,
                        const struct manner *manner, struct condition *leaf)
{
    bool only_exists = leaf->op_count == 1 && leaf->ops[0].operator->decides_absence, is_silent = false;

    leaf->opening = is_opening(c, place);
    leaf->every = manner->quantify ? manner->every_written : leaf->opening;
    leaf->absent = absent_truth(leaf, manner, place->negated);
    leaf->null_is_none = manner->or_null;
    leaf->folds = manner->folds;
    for (const struct path *path = &leaf->path; path != NULL; path = path->next)
        leaf->counts_lacks |= leaf->opening && path->has_inner_wild;
    check_texts(c, node, leaf);
    for (uint32_t i = 0; i < leaf->op_count && c->of_answers; i++)
        c->rule->finds |= leaf->from == FROM_VALUE && !place->under_not && (leaf->links || op_finds(&leaf->ops[i]));
    if (leaf->from == FROM_VALUE && c->of_answers)
        c->rule->reads_value = true;
    else
        is_silent = c->effect != EFFECT_PERMIT && manner->absent == NULL && !only_exists;
    if (leaf->from == FROM_CLAIM)
        leaf->claim = compile__claim(c, &leaf->path);
    note_others(c);
    for (const struct path *path = leaf->from != FROM_CLAIM ? &leaf->path : NULL; path != NULL; path = path->next)
        note_meta(c, leaf, path);
    if (c->warnings != NULL)
        c->author->warn_leaf(c, node, leaf, is_silent);
    label_leaf(c, node, place, leaf);
}

static void compile_op(struct compiler *c, const struct yaml_node *node, const struct condition_place *place,
                       const struct manner *manner, const struct operator *operator, struct op *op)
{
    op->operator = operator;
    op->types = operator->types;
    op->opening = is_opening(c, place);
    op->whole = manner->anchor ? manner->whole_written : op->opening;
    op->folds = manner->folds && operator->can_fold;
    op->moments = manner->moments;
    operator->compile(c, node, op);
}

/* The operators of one condition but the negated ones. */
static void compile_ops(struct compiler *c, const struct yaml_node *node, const struct condition_place *place,
                        const struct manner *manner, struct condition *leaf)
{
    struct op *ops = compiler_alloc(c, node->count, sizeof *ops);

    leaf->ops = ops;
    for (const struct yaml_node *member = node->child; ops != NULL && member != NULL; member = member->next) {
        const struct operator *operator = policy_operator(member->key);

        if (operator != NULL)
            compile_op(c, member, place, manner, operator, &ops[leaf->op_count++]);
    }
    finish_leaf(c, node, place, manner, leaf);
}

/* Meaning 5: these are exactly `not: {...}` of the other word, so each becomes that, with a leaf of its own. */
static const struct {
    const char *word;
    struct span inner;
} negated[] = {{"not_matches", SPAN_LIT("matches")}, {"not_equals", SPAN_LIT("equals")}};

#define NEGATED (sizeof negated / sizeof *negated)

static void compile_negated(struct compiler *c, const struct yaml_node *node, const struct condition_place *place,
                            const struct manner *manner, const struct condition *subject, size_t which,
                            struct condition *condition)
{
    struct condition_place inner = {.negated = !place->negated, .under_not = true, .depth = place->depth + 1,
                                    .where = place->where};
    struct condition *leaf = compiler_alloc(c, 1, sizeof *leaf);
    struct op *op = compiler_alloc(c, 1, sizeof *op);

    if (leaf == NULL || op == NULL)
        return;
    *leaf = *subject;
    leaf->ops = op;
    leaf->op_count = 1;
    compile_op(c, yaml_member(node, negated[which].word), &inner, manner, policy_operator(negated[which].inner), op);
    condition->kind = CONDITION_NOT;
    condition->count = 1;
    condition->members = leaf;
    finish_leaf(c, node, &inner, manner, leaf);
    set_label(c, node, place, " not", condition);
}

/* Several parts, each a condition. Takes: has_others: operators that are none of those above. */
static void compile_parts(struct compiler *c, const struct yaml_node *node, const struct condition_place *place,
                          const struct manner *manner, const struct condition *subject, uint32_t nots, bool has_others,
                          struct condition *condition)
{
    struct condition *parts = compiler_alloc(c, nots + has_others, sizeof *parts);
    uint32_t at = has_others;

    if (parts == NULL)
        return;
    *condition = (struct condition){.kind = CONDITION_ALL, .count = nots + has_others, .members = parts};
    set_label(c, node, place, "", condition);
    for (size_t which = 0; which < NEGATED; which++)
        if (yaml_member(node, negated[which].word) != NULL)
            compile_negated(c, node, place, manner, subject, which, &parts[at++]);
    if (!has_others)
        return;
    parts[0] = *subject;
    compile_ops(c, node, place, manner, &parts[0]);
}

static void compile_leaf(struct compiler *c, const struct yaml_node *node, const struct condition_place *place,
                         struct condition *condition)
{
    struct condition subject = {.kind = CONDITION_LEAF};
    struct manner manner;
    bool has_others = false;
    uint32_t nots = 0;
    size_t only = 0;

    c->condition = node;
    read_subject(c, node, &subject);
    for (const struct yaml_node *member = node->child; member != NULL; member = member->next)
        has_others |= policy_operator(member->key) != NULL;
    for (size_t which = 0; which < NEGATED; which++)
        if (yaml_member(node, negated[which].word) != NULL) {
            nots++;
            only = which;
        }
    if (nots == 0 && !has_others)
        FAULT(c, node, "this condition asks nothing; add an operator, as in {arg: limit, max: 100}");
    if (subject.path.text.at == NULL || (nots == 0 && !has_others))
        return;
    read_manner(c, node, &manner);
    if (nots == 0) {
        *condition = subject;
        compile_ops(c, node, place, &manner, condition);
    } else if (nots == 1 && !has_others) {
        compile_negated(c, node, place, &manner, &subject, only, condition);
    } else {
        compile_parts(c, node, place, &manner, &subject, nots, has_others, condition);
    }
}

/* ---- not, any, all ---- */

static void compile_members(struct compiler *c, const struct yaml_node *list, const struct condition_place *place,
                            const char *word, struct condition *condition)
{
    struct condition *members = compiler_alloc(c, list->count, sizeof *members);
    char where[WHERE_MAX];
    struct condition_place inner = {.negated = place->negated, .under_not = place->under_not, .depth = place->depth + 1,
                                    .where = where};
    uint32_t at = 0;

    condition->members = members;
    condition->count = members != NULL ? list->count : 0;
    for (const struct yaml_node *member = list->child; members != NULL && member != NULL; member = member->next, at++) {
        snprintf(where, sizeof where, "%s%s%s[%u]", place->where, *place->where && *word ? "." : "", word, at);
        compile_condition(c, member, &inner, &members[at]);
    }
}

static void compile_not(struct compiler *c, const struct yaml_node *node, const struct condition_place *place,
                        struct condition *condition)
{
    struct condition *inner = compiler_alloc(c, 1, sizeof *inner);
    char where[WHERE_MAX];
    struct condition_place below = {.negated = !place->negated, .under_not = true, .depth = place->depth + 1, .where = where};

    condition->kind = CONDITION_NOT;
    condition->count = inner != NULL;
    condition->members = inner;
    snprintf(where, sizeof where, "%s.not", place->where);
    if (inner != NULL)
        compile_condition(c, node, &below, inner);
}

static void compile_fact(struct compiler *c, const struct yaml_node *node, enum fact_kind kind,
                         const struct condition_place *place, struct condition *condition)
{
    char more[32];

    condition->kind = CONDITION_FACT;
    condition->fact = compile__fact(c, node, place->negated);
    condition->opening = is_opening(c, place);
    snprintf(more, sizeof more, " %s", policy_fact_text[kind]);
    set_label(c, node, place, more, condition);
}

static void compile_group(struct compiler *c, const struct yaml_node *list, const struct condition_place *place,
                          struct condition *condition)
{
    bool any = span_is(list->key, "any");

    condition->kind = any ? CONDITION_ANY : CONDITION_ALL;
    if (!compiler_is_list(c, list))
        return;
    if (list->count == 0)
        FAULT(c, list, "an empty `%.*s` says nothing; leave it out", SPAN_ARG(list->key));
    compile_members(c, list, place, any ? "any" : "all", condition);
}

/* {limit: {max: 100}}, as other languages have it. */
static bool is_turned_inside_out(struct compiler *c, const struct yaml_node *node)
{
    const struct yaml_node *only = node->type == YAML_MAP && node->count == 1 ? node->child : NULL;
    const struct yaml_node *inner = only != NULL && only->type == YAML_MAP ? only->child : NULL;

    if (inner == NULL || policy_operator(inner->key) == NULL || policy_operator(only->key) != NULL || span_is(only->key, "not"))
        return false;
    FAULT_KEY(c, only, "a condition is one map with its path in it; write {arg: %.*s, %.*s: ...}", SPAN_ARG(only->key),
              SPAN_ARG(inner->key));
    return true;
}

/* A condition that has no path and no word of its own. */
static void fault_begin(struct compiler *c, const struct yaml_node *node)
{
    for (const struct yaml_node *member = node->child; member != NULL; member = member->next)
        if (policy_operator(member->key) != NULL) {
            FAULT(c, node, "`%.*s` does not say of which value; write it in one entry with its path, as in {%s: NAME, %.*s: "
                  "...}", SPAN_ARG(member->key), c->of_answers ? "value" : "arg", SPAN_ARG(member->key));
            return;
        }
    FAULT(c, node, "a condition begins with `arg`, `meta`, `param`, `claim`, `not`, `any`, `all`, `during`, `session`, "
          "`client`, `annotations` or `plan`, of answers `value`, `size` or `media`; write {%s, OPERATOR: VALUE}",
          c->of_answers ? "value: PATH" : "arg: NAME");
}

static void compile_condition(struct compiler *c, const struct yaml_node *node, const struct condition_place *place,
                              struct condition *condition)
{
    static const char *const words[] = {"not", "any", "all", NULL};
    const struct yaml_node *word = NULL;
    enum condition_root from;
    enum fact_kind kind;
    size_t before = c->faults->added;

    if (is_turned_inside_out(c, node) || !compiler_is_map_of(c, node, known, "a condition") || c->faults->added > before)
        return; /* without the word that is not known it would seem to ask nothing */
    if (compile__fact_node(node, &kind) != NULL) {
        compile_fact(c, node, kind, place, condition);
        return;
    }
    for (const char *const *w = words; *w != NULL && word == NULL; w++)
        word = yaml_member(node, *w);
    if (word == NULL && root_node(node, &from) != NULL)
        compile_leaf(c, node, place, condition);
    else if (word == NULL)
        fault_begin(c, node);
    else if (node->count != 1)
        FAULT(c, node, "`%.*s` stands alone in its condition, and what it asks stands in it, path and all; write {%s}, and "
              "another entry for the rest", SPAN_ARG(word->key),
              span_is(word->key, "not") ? "not: {arg: NAME, OPERATOR: VALUE}" : "any: [{arg: NAME, OPERATOR: VALUE}, ...]");
    else if (place->depth >= DEPTH_MAX)
        FAULT(c, node, "conditions nested more than %d deep; write several rules", DEPTH_MAX);
    else {
        set_label(c, node, place, "", condition);
        (span_is(word->key, "not") ? compile_not : compile_group)(c, word, place, condition);
    }
}

const struct condition *compile__when(struct compiler *c, const struct yaml_node *list)
{
    struct condition *all;
    struct condition_place place = {.where = "when"};

    if (!compiler_is_list(c, list))
        return NULL;
    if (list->count == 0)
        FAULT(c, list, "an empty `when` asks nothing; write a condition, or leave `when` out where every such call is meant");
    all = compiler_alloc(c, 1, sizeof *all);
    if (all == NULL)
        return NULL;
    all->kind = CONDITION_ALL;
    set_label(c, list, &place, "", all);
    compile_members(c, list, &place, "", all);
    return all;
}
