/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

#include <stdio.h>

#define DEPTH_MAX 16 /* of not, any and all in each other: evaluation recurses */
#define WHERE_MAX 192

/* Where a condition stands. */
struct place {
    bool negated; /* under an odd number of `not` */
    unsigned depth;
    const char *where; /* "when[0].any[1]" */
};

static const char *const known[] = {
    "arg", "meta", "param", "not", "any", "all", "optional", "absent", "quantify", "anchor", "not_matches",
#define X(name, word, reads_text) word,
    OPERATOR_TABLE(X)
#undef X
    "keys", "decode", "during", "session", "client", "annotations", NULL};

static enum code compile_condition(struct compiler *c, const struct yaml_node *node, const struct place *place,
                                   struct condition *condition);

/* Meaning 5: a permit's conditions open, the others' close, each `not` swaps. */
static bool is_opening(const struct compiler *c, const struct place *place)
{
    return (c->effect == EFFECT_PERMIT) != place->negated;
}

static enum code set_label(struct compiler *c, const struct yaml_node *node, const struct place *place, const char *more,
                           struct condition *condition)
{
    char text[512];
    int len = snprintf(text, sizeof text, "%.*s: %s%s", SPAN_ARG(c->rule_id), place->where, more);

    condition->line = node->line;
    if (len < 0 || (size_t)len >= sizeof text)
        len = (int)sizeof text - 1;
    return policy__copy(c, span_of(text, (size_t)len), &condition->label);
}

/* ---- leaves ---- */

/* What the members beside the operators say, for all operators of one condition. */
struct manner {
    const struct yaml_node *quantify, *anchor, *optional, *absent;
    bool every_written, whole_written;
    bool lets_apply; /* an absent value lets the rule apply */
};

static void read_absence(struct compiler *c, const struct yaml_node *node, struct manner *manner)
{
    static const char *const words[] = {"applies", "ignored", NULL};
    bool permit = c->effect == EFFECT_PERMIT;

    manner->optional = yaml_member(node, "optional");
    manner->absent = yaml_member(node, "absent");
    if ((manner->optional != NULL || manner->absent != NULL) && yaml_member(node, "exists") != NULL)
        FAULT(c, node, "`exists` alone decides absence; leave `%s` out", manner->optional ? "optional" : "absent");
    if (manner->optional != NULL) {
        if (!permit)
            FAULT_KEY(c, manner->optional, "`optional` is for permits; write `absent: applies` to have the rule apply "
                      "where the argument is absent");
        else if (manner->optional->type != YAML_BOOL)
            FAULT(c, manner->optional, "`optional` is yes or no; write true or false");
        else
            manner->lets_apply = manner->optional->truth;
    }
    if (manner->absent != NULL) {
        if (permit)
            FAULT_KEY(c, manner->absent, "`absent` is for forbid and require_approval; write `optional: true` to let the "
                      "permit apply where the argument is absent");
        else
            manner->lets_apply = policy__word(c, manner->absent, words) == 0;
    }
}

static void read_manner(struct compiler *c, const struct yaml_node *node, struct manner *manner)
{
    static const char *const quantifiers[] = {"every", "any", NULL}, *const anchors[] = {"whole", "anywhere", NULL};

    *manner = (struct manner){.quantify = yaml_member(node, "quantify"), .anchor = yaml_member(node, "anchor")};
    if (manner->quantify != NULL)
        manner->every_written = policy__word(c, manner->quantify, quantifiers) == 0;
    if (manner->anchor != NULL) {
        manner->whole_written = policy__word(c, manner->anchor, anchors) == 0;
        if (yaml_member(node, "matches") == NULL && yaml_member(node, "not_matches") == NULL)
            FAULT_KEY(c, manner->anchor, "`anchor` belongs to `matches` and `not_matches`; other operators are always whole");
    }
    read_absence(c, node, manner);
}

/* What a leaf asks about: the same for all operators of one condition. */
struct subject {
    struct path path; /* without text: not usable, which was told */
    enum condition_root from;
    bool keys;
    unsigned decoders;
};

static unsigned read_decoders(struct compiler *c, const struct yaml_node *list)
{
    unsigned decoders = 0;

    if (list == NULL || !policy__is_list(c, list))
        return 0;
    if (list->count == 0)
        FAULT(c, list, "an empty `decode` decodes nothing; leave it out");
    for (const struct yaml_node *word = list->child; word != NULL; word = word->next) {
        int decoder = policy__word(c, word, policy__decoder_text);

        if (decoder >= 0 && (decoders >> decoder & 1) != 0)
            FAULT(c, word, "`%.*s` stands here twice; name it once, nested readings are found all the same",
                  SPAN_ARG(word->text));
        decoders |= decoder >= 0 ? 1u << decoder : 0;
    }
    return decoders;
}


/* `arg: PATH`, `meta: PATH` or `param: PATH`, `keys` and `decode`. */
static enum code read_subject(struct compiler *c, const struct yaml_node *node, struct subject *subject)
{
    const struct yaml_node *arg = yaml_member(node, "arg"), *meta = yaml_member(node, "meta");
    const struct yaml_node *param = yaml_member(node, "param"), *path = arg != NULL ? arg : meta != NULL ? meta : param;
    const struct yaml_node *keys = yaml_member(node, "keys");
    enum code code;

    *subject = (struct subject){.from = path == arg ? FROM_ARG : path == meta ? FROM_META : FROM_PARAM,
                                .decoders = read_decoders(c, yaml_member(node, "decode"))};
    if ((arg != NULL) + (meta != NULL) + (param != NULL) > 1)
        FAULT_KEY(c, param ? param : meta, "a condition asks about one of `arg`, `meta` and `param`; write two conditions");
    code = policy__path(c, path, &subject->path);
    if (code != CODE_OK || keys == NULL)
        return code;
    subject->keys = keys->truth;
    if (keys->type != YAML_BOOL)
        FAULT(c, keys, "`keys` is yes or no; write true to ask for the members' names");
    return keys->truth && subject->path.text.at ? path_select_members(&subject->path, &c->policy->arena) : CODE_OK;
}

static void set_subject(struct condition *leaf, const struct subject *subject)
{
    leaf->path = subject->path;
    leaf->from = subject->from;
    leaf->asks_keys = subject->keys;
    leaf->decoders = subject->decoders;
}

/* Meaning 7: what the leaf says of an absent value, all its operators together. */
static enum truth absent_truth(const struct condition *leaf, const struct manner *manner, bool negated)
{
    enum truth others = manner->lets_apply != negated ? TRUTH_TRUE : TRUTH_FALSE;
    enum truth all = TRUTH_TRUE;

    for (uint32_t i = 0; i < leaf->op_count; i++) {
        const struct op *op = &leaf->ops[i];

        all = truth_and(all, op->kind == OP_EXISTS ? (op->truth ? TRUTH_FALSE : TRUTH_TRUE) : others);
    }
    return all;
}

static enum code label_leaf(struct compiler *c, const struct yaml_node *node, const struct place *place,
                            struct condition *leaf)
{
    static const char *const from_text[] = {[FROM_ARG] = "", [FROM_META] = "meta ", [FROM_PARAM] = "param "};
    char more[320];
    int len = snprintf(more, sizeof more, " %s%s%.200s", from_text[leaf->from], leaf->asks_keys ? "keys of " : "",
                       leaf->path.text.at);

    for (uint32_t i = 0; i < leaf->op_count && len > 0 && (size_t)len < sizeof more; i++)
        len += snprintf(more + len, sizeof more - (size_t)len, " %s", policy__op_text[leaf->ops[i].kind]);
    return set_label(c, node, place, more, leaf);
}

/* The one name that this step of a path selects; at == NULL: there is no such step, or perhaps it selects others. */
static struct span name_at(const struct path *path, uint32_t step)
{
    const struct path_segment *segment = step < path->count ? &path->segments[step] : NULL;
    bool is_one = segment != NULL && !segment->descends && segment->count == 1 &&
                  segment->selectors[0].kind == SELECTOR_NAME;

    return is_one ? segment->selectors[0].name : SPAN_NONE;
}

/* Takes: name.at == NULL: perhaps any member, or _meta itself. */
static enum code add_meta(struct compiler *c, struct meta_asks *asks, struct span name)
{
    struct meta_key *key;

    if (name.at == NULL) {
        asks->all = true;
        return CODE_OK;
    }
    key = policy__alloc(c, 1, sizeof *key);
    if (key == NULL)
        return CODE_NOMEM;
    *key = (struct meta_key){name, asks->keys};
    asks->keys = key;
    return CODE_OK;
}

/* Notes what the leaf may see of _meta, in calls with arguments and in others. */
static enum code note_meta(struct compiler *c, const struct condition *leaf)
{
    struct meta_asks *asks = c->policy->meta_asks;
    struct span first = name_at(&leaf->path, 0), name = first;
    enum code code = CODE_OK;

    if (leaf->from != FROM_META) {
        if (first.at != NULL && !span_is(first, "_meta"))
            return CODE_OK;
        name = first.at != NULL ? name_at(&leaf->path, 1) : SPAN_NONE;
    }
    if (leaf->from != FROM_ARG)
        code = add_meta(c, &asks[true], name);
    return code == CODE_OK && !c->needs_arguments ? add_meta(c, &asks[false], name) : code;
}

static enum code finish_leaf(struct compiler *c, const struct yaml_node *node, const struct place *place,
                             const struct manner *manner, struct condition *leaf)
{
    bool only_exists = leaf->op_count == 1 && leaf->ops[0].kind == OP_EXISTS;

    leaf->kind = CONDITION_LEAF;
    leaf->opening = is_opening(c, place);
    leaf->every = manner->quantify ? manner->every_written : leaf->opening;
    leaf->absent = absent_truth(leaf, manner, place->negated);
    leaf->counts_lacks = leaf->opening && leaf->path.has_inner_wild;
    for (uint32_t i = 0; i < leaf->op_count; i++)
        leaf->skips_containers |= leaf->path.ends_everywhere && policy__op_reads_text(leaf->ops[i].kind);
    if (c->effect != EFFECT_PERMIT && manner->absent == NULL && !only_exists)
        policy__warn_absence(c, node, leaf);
    if (note_meta(c, leaf) != CODE_OK)
        return CODE_NOMEM;
    policy__warn_decode(c, node, leaf);
    policy__warn_ports(c, node, leaf);
    return label_leaf(c, node, place, leaf);
}

/* The operators of one condition but not_matches. */
static enum code compile_ops(struct compiler *c, const struct yaml_node *node, const struct place *place,
                             const struct manner *manner, struct condition *leaf)
{
    struct op *ops = policy__alloc(c, node->count, sizeof *ops);

    leaf->ops = ops;
    if (ops == NULL)
        return CODE_NOMEM;
    for (const struct yaml_node *member = node->child; member != NULL; member = member->next) {
        int kind = policy__op_of(member->key);
        enum code code;

        if (kind < 0)
            continue;
        if (kind == OP_MATCHES)
            code = policy__compile_matches(c, member, manner->anchor ? manner->whole_written : is_opening(c, place),
                                           &ops[leaf->op_count++]);
        else
            code = policy__compile_op(c, member, (enum op_kind)kind, &ops[leaf->op_count++]);
        if (code != CODE_OK)
            return code;
    }
    return CODE_OK;
}

/* Meaning 5: `not_matches` is exactly `not: {matches}`, so it becomes that, with a leaf of its own. */
static enum code compile_not_matches(struct compiler *c, const struct yaml_node *node, const struct place *place,
                                     const struct manner *manner, const struct subject *subject,
                                     struct condition *condition)
{
    struct place inner = {.negated = !place->negated, .depth = place->depth + 1, .where = place->where};
    struct condition *leaf = policy__alloc(c, 1, sizeof *leaf);
    struct op *op = policy__alloc(c, 1, sizeof *op);
    enum code code;

    if (leaf == NULL || op == NULL)
        return CODE_NOMEM;
    set_subject(leaf, subject);
    leaf->ops = op;
    leaf->op_count = 1;
    code = policy__compile_matches(c, yaml_member(node, "not_matches"),
                                   manner->anchor ? manner->whole_written : is_opening(c, &inner), op);
    if (code != CODE_OK)
        return code;
    condition->kind = CONDITION_NOT;
    condition->count = 1;
    condition->members = leaf;
    code = finish_leaf(c, node, &inner, manner, leaf);
    return code == CODE_OK ? set_label(c, node, place, " not", condition) : code;
}

static enum code compile_leaf(struct compiler *c, const struct yaml_node *node, const struct place *place,
                              struct condition *condition)
{
    bool has_not = yaml_member(node, "not_matches") != NULL, has_others = false;
    struct condition *both = NULL, *leaf = condition;
    struct manner manner;
    struct subject subject;
    enum code code = read_subject(c, node, &subject);

    for (const struct yaml_node *member = node->child; member != NULL; member = member->next)
        has_others |= policy__op_of(member->key) >= 0;
    if (!has_not && !has_others)
        FAULT(c, node, "this condition asks nothing; add an operator, as in {arg: limit, max: 100}");
    if (code != CODE_OK || !subject.path.text.at || (!has_not && !has_others))
        return code;
    read_manner(c, node, &manner);
    if (has_not && !has_others)
        return compile_not_matches(c, node, place, &manner, &subject, condition);
    if (has_not) {
        both = policy__alloc(c, 2, sizeof *both);
        if (both == NULL)
            return CODE_NOMEM;
        *condition = (struct condition){.kind = CONDITION_ALL, .count = 2, .members = both};
        leaf = &both[0];
        code = set_label(c, node, place, "", condition);
        if (code == CODE_OK)
            code = compile_not_matches(c, node, place, &manner, &subject, &both[1]);
    }
    set_subject(leaf, &subject);
    if (code == CODE_OK)
        code = compile_ops(c, node, place, &manner, leaf);
    return code == CODE_OK ? finish_leaf(c, node, place, &manner, leaf) : code;
}

/* ---- not, any, all ---- */

static enum code compile_members(struct compiler *c, const struct yaml_node *list, const struct place *place,
                                 const char *word, struct condition *condition)
{
    struct condition *members = policy__alloc(c, list->count, sizeof *members);
    char where[WHERE_MAX];
    uint32_t at = 0;

    condition->members = members;
    condition->count = list->count;
    if (members == NULL)
        return CODE_NOMEM;
    for (const struct yaml_node *member = list->child; member != NULL; member = member->next, at++) {
        struct place inner = {.negated = place->negated, .depth = place->depth + 1, .where = where};
        enum code code;

        snprintf(where, sizeof where, "%s%s%s[%u]", place->where, *place->where && *word ? "." : "", word, at);
        code = compile_condition(c, member, &inner, &members[at]);
        if (code != CODE_OK)
            return code;
    }
    return CODE_OK;
}

static enum code compile_not(struct compiler *c, const struct yaml_node *node, const struct place *place,
                             struct condition *condition)
{
    struct condition *inner = policy__alloc(c, 1, sizeof *inner);
    char where[WHERE_MAX];
    struct place below = {.negated = !place->negated, .depth = place->depth + 1, .where = where};

    condition->kind = CONDITION_NOT;
    condition->count = 1;
    condition->members = inner;
    if (inner == NULL)
        return CODE_NOMEM;
    snprintf(where, sizeof where, "%s.not", place->where);
    return compile_condition(c, node, &below, inner);
}

static enum code compile_fact(struct compiler *c, const struct yaml_node *node, enum fact_kind kind, const struct place *place,
                              struct condition *condition)
{
    char more[32];
    enum code code = policy__compile_fact(c, node, place->negated, &condition->fact);

    condition->kind = CONDITION_FACT;
    condition->opening = is_opening(c, place);
    snprintf(more, sizeof more, " %s", policy__fact_text[kind]);
    return code == CODE_OK ? set_label(c, node, place, more, condition) : code;
}

static enum code compile_condition(struct compiler *c, const struct yaml_node *node, const struct place *place,
                                   struct condition *condition)
{
    static const char *const words[] = {"not", "any", "all", NULL};
    const struct yaml_node *word = NULL;
    bool is_leaf = yaml_member(node, "arg") != NULL || yaml_member(node, "meta") != NULL || yaml_member(node, "param") != NULL;
    enum fact_kind kind;
    enum code code;

    if (!policy__is_map(c, node))
        return CODE_OK;
    policy__check_keys(c, node, known, "a condition");
    if (policy__fact_node(node, &kind) != NULL)
        return compile_fact(c, node, kind, place, condition);
    for (const char *const *w = words; *w != NULL && word == NULL; w++)
        word = yaml_member(node, *w);
    if (word == NULL && is_leaf)
        return compile_leaf(c, node, place, condition);
    if (word == NULL) {
        FAULT(c, node, "a condition begins with `arg`, `meta`, `param`, `not`, `any`, `all`, `during`, `session`, `client` or "
              "`annotations`; write {arg: NAME, OPERATOR: VALUE}");
        return CODE_OK;
    }
    if (node->count != 1) {
        FAULT(c, node, "`not`, `any` and `all` stand alone in their condition; write another entry for the rest");
        return CODE_OK;
    }
    if (place->depth >= DEPTH_MAX) {
        FAULT(c, node, "conditions nested more than %d deep; write several rules", DEPTH_MAX);
        return CODE_OK;
    }
    code = set_label(c, node, place, "", condition);
    if (code != CODE_OK || span_is(word->key, "not"))
        return code == CODE_OK ? compile_not(c, word, place, condition) : code;
    condition->kind = span_is(word->key, "any") ? CONDITION_ANY : CONDITION_ALL;
    if (!policy__is_list(c, word))
        return CODE_OK;
    if (word->count == 0)
        FAULT(c, word, "an empty `%.*s` says nothing; leave it out", SPAN_ARG(word->key));
    return compile_members(c, word, place, span_is(word->key, "any") ? "any" : "all", condition);
}

enum code policy__compile_when(struct compiler *c, const struct yaml_node *list, const struct condition **when)
{
    struct condition *all = policy__alloc(c, 1, sizeof *all);
    struct place place = {.where = "when"};
    enum code code;

    if (all == NULL)
        return CODE_NOMEM;
    if (!policy__is_list(c, list))
        return CODE_OK;
    if (list->count == 0)
        FAULT(c, list, "an empty `when` says nothing; leave it out");
    all->kind = CONDITION_ALL;
    code = set_label(c, list, &place, "", all);
    if (code != CODE_OK)
        return code;
    *when = all;
    return compile_members(c, list, &place, "", all);
}
