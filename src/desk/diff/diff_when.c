/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions compared: which became which, and whether that lets more through. */
#include "diff/diff_priv.h"
#include "words/operators.h"

static bool is_bound(struct span key, bool *upper)
{
    *upper = span_starts_with(key, SPAN_LIT("max")) || span_is(key, "calls") || span_is(key, "at_most") ||
             span_is(key, "most");
    return *upper || span_is(key, "min") || span_starts_with(key, SPAN_LIT("min_"));
}

static bool is_number(const struct yaml_node *node)
{
    return node->type == YAML_INT || node->type == YAML_FLOAT;
}

/* The values of an `in`, its own or those of the list that it names; the members of a group. */
static const struct yaml_node *values_of(const struct diff_rule *rule, const struct yaml_node *in)
{
    const struct yaml_node *name = in->type == YAML_MAP ? yaml_member(in, "list") : NULL;

    return name != NULL ? diff__definition(rule, name->key, name) : in->type == YAML_LIST ? in : NULL;
}

static bool lacks_some(const struct diff_telling *t, const struct yaml_node *list, bool is_before,
                       const struct yaml_node *values)
{
    for (const struct yaml_node *value = values->child; value != NULL; value = value->next)
        if (!diff__holds(t, list, is_before, value))
            return true;
    return false;
}

/* What a bound, list or operator that differs, or is there on one side alone, does to how much is let through. */
enum turn { TURN_UNKNOWN = 0, TURN_WIDER = 1, TURN_NARROWER = 2 };

static enum turn turn_of(const struct diff_telling *t, const struct yaml_node *old, const struct yaml_node *new)
{
    const struct operator *operator = policy_operator(old ? old->key : new->key);
    bool upper = false, gains, narrows;

    if (old == NULL || new == NULL)
        return operator == NULL || operator->decides_absence ? TURN_UNKNOWN : old != NULL ? TURN_WIDER : TURN_NARROWER;
    if (span_is(old->key, "distinct"))
        return diff__is_one_way(t, old, new, &upper) ? upper ? TURN_WIDER : TURN_NARROWER : TURN_UNKNOWN;
    if (is_bound(old->key, &upper) && is_number(old) && is_number(new))
        return (json_number_compare(new->json, old->json) > 0) == upper ? TURN_WIDER : TURN_NARROWER;
    narrows = span_is(old->key, "all");
    if (!narrows && !span_is(old->key, "any") && !span_is(old->key, "in"))
        return TURN_UNKNOWN;
    old = values_of(&t->pair->before, old);
    new = values_of(&t->pair->after, new);
    if (old == NULL || new == NULL)
        return TURN_UNKNOWN;
    gains = lacks_some(t, old, true, new);
    return lacks_some(t, new, false, old) == gains ? TURN_UNKNOWN : gains != narrows ? TURN_WIDER : TURN_NARROWER;
}

/* Whether all in which two conditions, or limits, differ turns one way, and then whether the new one lets more through. */
bool diff__is_one_way(const struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after, bool *wider)
{
    unsigned turns = 0;
    bool is_known = before->type == YAML_MAP && after->type == YAML_MAP;

    for (const struct yaml_node *old = before->child; is_known && old != NULL; old = old->next) {
        const struct yaml_node *new = diff__member(after, old->key);
        bool differs = new == NULL || !diff__same(&t->pair->before, old, &t->pair->after, new);
        enum turn turn = differs ? turn_of(t, old, new) : TURN_UNKNOWN;

        is_known = !differs || turn != TURN_UNKNOWN;
        turns |= turn;
    }
    for (const struct yaml_node *new = after->child; is_known && new != NULL; new = new->next)
        if (diff__member(before, new->key) == NULL) {
            enum turn turn = turn_of(t, NULL, new);

            is_known = turn != TURN_UNKNOWN;
            turns |= turn;
        }
    *wider = turns == TURN_WIDER;
    return is_known && (turns == TURN_WIDER || turns == TURN_NARROWER);
}

static void compare_named(struct diff_telling *t, struct span what, struct span name, const struct yaml_node *before,
                          const struct yaml_node *after, enum diff_way way)
{
    if (before == NULL || after == NULL || diff__same(&t->pair->before, before, &t->pair->after, after))
        return;
    SAY(t, "asks by the %.*s `%.*s`, which is ", SPAN_ARG(what), SPAN_ARG(span_part(name, 0, 80)));
    diff__say(&t->text, after);
    SAY(t, " and was ");
    diff__say(&t->text, before);
    diff__keep_as(t, way, true);
}

/* The capital words of forms: which of them a form names stands in its text, so each that differs is told. */
static void compare_kinds(struct diff_telling *t, enum diff_way way)
{
    const struct yaml_node *before = t->pair->before.root != NULL ? yaml_member(t->pair->before.root, "kinds") : NULL;
    const struct yaml_node *after = t->pair->after.root != NULL ? yaml_member(t->pair->after.root, "kinds") : NULL;

    for (const struct yaml_node *kind = after != NULL ? after->child : NULL; kind != NULL && before != NULL; kind = kind->next)
        compare_named(t, SPAN_LIT("kind"), kind->key, diff__member(before, kind->key), kind, way);
}

/* The same words that now stand for something else. */
void diff__compare_definitions(struct diff_telling *t, struct span key, const struct yaml_node *node, enum diff_way way)
{
    bool is_detector = span_is(key, "detect") || span_is(key, "none_of");
    struct span what = span_is(key, "labels") ? SPAN_LIT("label") : is_detector ? SPAN_LIT("detector") : key;

    compare_named(t, what, node->text, diff__definition(&t->pair->before, key, node),
                  diff__definition(&t->pair->after, key, node), way);
    if (node->type == YAML_MAP && span_is(key, "words"))
        compare_kinds(t, way);
    for (const struct yaml_node *member = node->child; member != NULL; member = member->next)
        diff__compare_definitions(t, node->type == YAML_MAP ? member->key : key, member, way);
}

/* An entry of `when` that the other side does not have as it stands, and the one that it became or came from. */
struct entry {
    const struct yaml_node *node;
    struct entry *mate;
    uint32_t number; /* from 1 */
};

/* What two entries may have in common, the most first. */
enum likeness { READS_ALIKE, SAME_OPERATORS, SAME_SUBJECT, LIKENESS_COUNT };

static bool has_same_keys(const struct yaml_node *a, const struct yaml_node *b)
{
    for (const struct yaml_node *member = a->child; member != NULL; member = member->next)
        if (diff__member(b, member->key) == NULL)
            return false;
    return a->count == b->count;
}

/* What a condition is about: its argument, or the word of a group or fact. */
static bool is_alike(const struct yaml_node *a, const struct yaml_node *b, enum likeness likeness)
{
    if (likeness == READS_ALIKE || a->type != YAML_MAP || b->type != YAML_MAP || a->child == NULL || b->child == NULL)
        return diff__reads_alike(a, b);
    if (likeness == SAME_OPERATORS && !has_same_keys(a, b))
        return false;
    for (const char *const *word = policy_root_text; *word != NULL; word++) {
        const struct yaml_node *first = yaml_member(a, *word), *second = yaml_member(b, *word);

        if (first != NULL || second != NULL)
            return first != NULL && second != NULL && span_equals(first->json, second->json);
    }
    return span_equals(a->child->key, b->child->key);
}

/* The entries of one side that the other has not. Returns: how many; *entries is the diff's. */
static size_t take_entries(struct diff_telling *t, const struct yaml_node *list, bool is_before, const struct yaml_node *other,
                           struct entry **entries)
{
    size_t count = 0;
    uint32_t number = 0;

    *entries = arena_zalloc(&t->diff->arena, (list != NULL ? list->count + 1 : 1) * sizeof **entries);
    if (*entries == NULL)
        t->code = CODE_NOMEM;
    for (const struct yaml_node *node = list && *entries ? list->child : NULL; node != NULL; node = node->next) {
        number++;
        if (!diff__holds(t, other, !is_before, node))
            (*entries)[count++] = (struct entry){.node = node, .number = number};
    }
    return count;
}

static void tell_entry(struct diff_telling *t, const struct yaml_node *gone, const struct yaml_node *came)
{
    bool wider = came == NULL, is_sure = gone == NULL || came == NULL || diff__is_one_way(t, gone, came, &wider);
    enum diff_way way = is_sure ? diff__way_of(t->pair, wider) : diff__either(t->pair);

    if (gone != NULL && came != NULL && diff__reads_alike(gone, came)) {
        diff__compare_definitions(t, gone->key, gone, way);
        return;
    }
    SAY(t, gone == NULL ? "also asks " : came == NULL ? "no longer asks " : "asks ");
    diff__say(&t->text, came != NULL ? came : gone);
    if (gone != NULL && came != NULL) {
        SAY(t, "; it asked ");
        diff__say(&t->text, gone);
    }
    diff__keep(t, way);
}

void diff__compare_when(struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after)
{
    struct entry *gone, *came;
    size_t gone_count = take_entries(t, before, true, after, &gone), came_count = take_entries(t, after, false, before, &came);

    for (enum likeness likeness = READS_ALIKE; likeness < LIKENESS_COUNT; likeness++)
        for (size_t i = 0; i < gone_count; i++)
            for (size_t j = 0; j < came_count && gone[i].mate == NULL; j++)
                if (came[j].mate == NULL && is_alike(gone[i].node, came[j].node, likeness)) {
                    gone[i].mate = &came[j];
                    came[j].mate = &gone[i];
                }
    t->part = DIFF_WHEN;
    for (size_t i = 0; i < gone_count; i++) {
        t->at[0] = gone[i].number;
        t->at[1] = gone[i].mate != NULL ? gone[i].mate->number : 0;
        tell_entry(t, gone[i].node, gone[i].mate != NULL ? gone[i].mate->node : NULL);
    }
    t->at[0] = 0;
    for (size_t j = 0; j < came_count; j++) {
        t->at[1] = came[j].number;
        if (came[j].mate == NULL)
            tell_entry(t, NULL, came[j].node);
    }
}
