/* SPDX-License-Identifier: Apache-2.0 */
#include "author/diff_priv.h"
#include "author/words.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define MEMBERS_SHOWN 12

/* Where the words of one pair go. */
struct diff_telling {
    struct diff *diff;
    const struct diff_pair *pair;
    struct buf text;
    size_t size; /* of diff->changes */
    enum code code;
};

/* ---- comparing what was written ---- */

static const struct yaml_node *definition(const struct diff_rule *rule, const struct yaml_node *node)
{
    const struct yaml_node *map = span_is(node->key, "pattern") ? rule->patterns
                                  : span_is(node->key, "list")  ? rule->lists
                                                                : NULL;

    for (const struct yaml_node *member = map ? map->child : NULL; member != NULL; member = member->next)
        if (node->type == YAML_STRING && span_equals(member->key, node->text))
            return member;
    return NULL;
}

static const struct yaml_node *member_like(const struct yaml_node *map, struct span key)
{
    for (const struct yaml_node *member = map->child; member != NULL; member = member->next)
        if (span_equals(member->key, key))
            return member;
    return NULL;
}

/* Maps are sets. Names of patterns and lists count by what they stand for. */
static bool same(const struct diff_rule *left, const struct yaml_node *a, const struct diff_rule *right,
                 const struct yaml_node *b)
{
    const struct yaml_node *first = definition(left, a), *second = definition(right, b), *other = b->child;

    if (a->type != b->type || a->count != b->count || !span_equals(a->json, b->json))
        return false;
    if (first != NULL && second != NULL && first != a && !same(left, first, right, second))
        return false;
    for (const struct yaml_node *member = a->child; member != NULL; member = member->next) {
        if (a->type == YAML_MAP)
            other = member_like(b, member->key);
        if (other == NULL || !same(left, member, right, other))
            return false;
        other = other->next;
    }
    return true;
}

static bool holds(const struct diff_telling *t, const struct yaml_node *list, bool is_before, const struct yaml_node *wanted)
{
    const struct diff_rule *here = is_before ? &t->pair->before : &t->pair->after;
    const struct diff_rule *there = is_before ? &t->pair->after : &t->pair->before;

    for (const struct yaml_node *member = list ? list->child : NULL; member != NULL; member = member->next)
        if (same(here, member, there, wanted))
            return true;
    return false;
}

/* ---- words ---- */

#define SAY(t, ...) buf_addf(&(t)->text, __VA_ARGS__)

static void say_node(struct diff_telling *t, const struct yaml_node *node);

static void say_members(struct diff_telling *t, const struct yaml_node *node, const char *between, bool with_keys,
                        const char *but)
{
    uint32_t said = 0;

    for (const struct yaml_node *member = node->child; member != NULL; member = member->next) {
        if (but != NULL && span_is(member->key, but))
            continue;
        if (said == MEMBERS_SHOWN) {
            SAY(t, "%s%u more", between, node->count - said - (but != NULL));
            return;
        }
        SAY(t, "%s", said++ > 0 ? between : "");
        if (with_keys)
            SAY(t, "%.*s ", SPAN_ARG(member->key));
        say_node(t, member);
    }
}

static void say_node(struct diff_telling *t, const struct yaml_node *node)
{
    const struct yaml_node *arg = node->type == YAML_MAP ? yaml_member(node, "arg") : NULL;

    if (node->type == YAML_STRING) {
        words_text(&t->text, node->text);
    } else if (node->type == YAML_LIST && (span_is(node->key, "any") || span_is(node->key, "all"))) {
        SAY(t, "of (");
        say_members(t, node, "; ", false, NULL);
        SAY(t, ")");
    } else if (node->type == YAML_LIST) {
        SAY(t, "[");
        say_members(t, node, ", ", false, NULL);
        SAY(t, "]");
    } else if (arg != NULL && arg->type == YAML_STRING) {
        SAY(t, "`%.*s`: ", SPAN_ARG(span_part(arg->text, 0, 200)));
        say_members(t, node, ", ", true, "arg");
    } else if (node->type == YAML_MAP && node->count == 1) {
        say_members(t, node, "", true, NULL);
    } else if (node->type == YAML_MAP) {
        SAY(t, "{");
        say_members(t, node, ", ", true, NULL);
        SAY(t, "}");
    } else {
        SAY(t, "%.*s", SPAN_ARG(node->json));
    }
}

/* ---- ways ---- */

/* What it does to verdicts that the rule applies to more calls, or to fewer. */
static enum diff_way way_of(const struct diff_pair *pair, bool wider)
{
    const struct rule *rule = pair->after.rule ? pair->after.rule : pair->before.rule;

    if (rule->monitor)
        return DIFF_NOTHING;
    if (pair->before.rule != NULL && pair->after.rule != NULL && pair->before.rule->effect != rule->effect)
        return DIFF_EITHER;
    switch (rule->effect) {
    case EFFECT_PERMIT: return wider ? DIFF_PERMITS : DIFF_DENIES;
    case EFFECT_FORBID: return wider ? DIFF_DENIES : DIFF_PERMITS;
    case EFFECT_REQUIRE_APPROVAL: return wider ? DIFF_HOLDS : DIFF_RELEASES;
    }
    return DIFF_EITHER;
}

static enum diff_way either(const struct diff_pair *pair)
{
    return way_of(pair, true) == DIFF_NOTHING ? DIFF_NOTHING : DIFF_EITHER;
}

/* Keeps what was said as a change. */
static void keep(struct diff_telling *t, enum diff_way way)
{
    struct diff *diff = t->diff;
    const struct rule *rule = t->pair == NULL ? NULL : t->pair->after.rule ? t->pair->after.rule : t->pair->before.rule;
    struct diff_change change = {.way = way};

    if (t->code == CODE_OK)
        t->code = buf_code(&t->text);
    if (t->code == CODE_OK && (diff->change_count & (diff->change_count - 1)) == 0) { /* full at each power of two */
        size_t size = diff->change_count > 0 ? diff->change_count * 2 : 1;
        struct diff_change *changes = mem_resize(diff->changes, size * sizeof *changes);

        if (changes == NULL)
            t->code = CODE_NOMEM;
        else
            diff->changes = changes;
    }
    if (rule != NULL) {
        change.rule = rule->id;
        change.effect = rule->effect;
        change.file = rule->source->path;
        change.line = rule->line;
    }
    if (t->code == CODE_OK) {
        change.text = span_of(arena_dup(&diff->arena, buf_peek(&t->text).at, buf_len(&t->text)), buf_len(&t->text));
        t->code = change.text.at != NULL ? CODE_OK : CODE_NOMEM;
    }
    if (t->code == CODE_OK)
        diff->changes[diff->change_count++] = change;
    buf_clear(&t->text);
}

/* ---- lists of names ---- */

static uint32_t say_missing(struct diff_telling *t, const struct yaml_node *from, const struct yaml_node *list, bool is_before)
{
    uint32_t count = 0;

    for (const struct yaml_node *member = from->child; member != NULL; member = member->next) {
        if (holds(t, list, is_before, member))
            continue;
        SAY(t, "%s", count++ > 0 ? ", " : "");
        say_node(t, member);
    }
    return count;
}

/* Methods have a usual value, which hangs on what else is named (Meaning 10); a permit's is tools/call. */
static bool moves_methods(const struct diff_telling *t, const char *what)
{
    const struct rule *rule = t->pair->after.rule ? t->pair->after.rule : t->pair->before.rule;

    return strcmp(what, "match.methods") == 0 ||
           (rule->effect == EFFECT_PERMIT && (strcmp(what, "match.resources") == 0 || strcmp(what, "match.prompts") == 0));
}

static void compare_list(struct diff_telling *t, const char *what, const struct yaml_node *before,
                         const struct yaml_node *after)
{
    if (before == NULL || after == NULL) {
        SAY(t, before == NULL ? "%s is now " : "%s is left out; it was ", what);
        say_node(t, before ? before : after);
        keep(t, moves_methods(t, what) ? either(t->pair) : way_of(t->pair, after == NULL));
        return;
    }
    SAY(t, "%s also takes ", what);
    if (say_missing(t, after, before, true) > 0)
        keep(t, way_of(t->pair, true));
    buf_clear(&t->text);
    SAY(t, "%s no longer takes ", what);
    if (say_missing(t, before, after, false) > 0)
        keep(t, way_of(t->pair, false));
    buf_clear(&t->text);
}

typedef void (*compare_fn)(struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after);

/* Each member that stands on either side, those of the old one first. Takes: maps, or NULL. */
static void each_member(struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after,
                        compare_fn compare)
{
    for (const struct yaml_node *member = before ? before->child : NULL; member != NULL; member = member->next)
        compare(t, member, after ? member_like(after, member->key) : NULL);
    for (const struct yaml_node *member = after ? after->child : NULL; member != NULL; member = member->next)
        if (before == NULL || member_like(before, member->key) == NULL)
            compare(t, NULL, member);
}

static void compare_names(struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after)
{
    char what[64];

    snprintf(what, sizeof what, "match.%.*s", SPAN_ARG(span_part(before ? before->key : after->key, 0, 40)));
    compare_list(t, what, before, after);
}

/* ---- conditions ---- */

static bool is_bound(struct span key, bool *upper)
{
    *upper = span_starts_with(key, SPAN_LIT("max"));
    return *upper || span_is(key, "min") || span_starts_with(key, SPAN_LIT("min_"));
}

/* The one member in which two maps differ, as it was; or NULL. */
static const struct yaml_node *lone_difference(const struct diff_telling *t, const struct yaml_node *before,
                                               const struct yaml_node *after)
{
    const struct yaml_node *differs = NULL;

    if (before->type != YAML_MAP || after->type != YAML_MAP || before->count != after->count)
        return NULL;
    for (const struct yaml_node *member = before->child; member != NULL; member = member->next) {
        const struct yaml_node *other = member_like(after, member->key);

        if (other == NULL)
            return NULL;
        if (same(&t->pair->before, member, &t->pair->after, other))
            continue;
        if (differs != NULL)
            return NULL;
        differs = member;
    }
    return differs;
}

/* The values of an `in`: its own, or those of the list that it names. */
static const struct yaml_node *values_of(const struct diff_rule *rule, const struct yaml_node *in)
{
    const struct yaml_node *name = in->type == YAML_MAP ? yaml_member(in, "list") : NULL;

    return name != NULL ? definition(rule, name) : in->type == YAML_LIST ? in : NULL;
}

static bool lacks_some(const struct diff_telling *t, const struct yaml_node *list, bool is_before,
                       const struct yaml_node *values)
{
    for (const struct yaml_node *value = values->child; value != NULL; value = value->next)
        if (!holds(t, list, is_before, value))
            return true;
    return false;
}

/* Whether two conditions, or limits, differ in one bound or list alone, and then whether the new one lets more through. */
static bool is_one_way(const struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after, bool *wider)
{
    const struct yaml_node *old = lone_difference(t, before, after), *new = old ? member_like(after, old->key) : NULL;
    bool upper = false, loses, gains;

    if (old == NULL)
        return false;
    if (is_bound(old->key, &upper) || span_is(old->key, "calls")) {
        if ((old->type != YAML_INT && old->type != YAML_FLOAT) || (new->type != YAML_INT && new->type != YAML_FLOAT))
            return false;
        *wider = (json_number_compare(new->json, old->json) > 0) == (upper || span_is(old->key, "calls"));
        return true;
    }
    if (!span_is(old->key, "in"))
        return false;
    old = values_of(&t->pair->before, old);
    new = values_of(&t->pair->after, new);
    if (old == NULL || new == NULL)
        return false;
    loses = lacks_some(t, new, false, old);
    gains = lacks_some(t, old, true, new);
    *wider = gains;
    return gains != loses;
}

/* The condition that took the place of one that is gone: of the same argument, and not there before. */
static const struct yaml_node *successor(const struct diff_telling *t, const struct yaml_node *gone,
                                         const struct yaml_node *before,
                                         const struct yaml_node *after)
{
    const struct yaml_node *arg = gone->type == YAML_MAP ? yaml_member(gone, "arg") : NULL;

    for (const struct yaml_node *entry = after ? after->child : NULL; arg != NULL && entry != NULL; entry = entry->next) {
        const struct yaml_node *other = entry->type == YAML_MAP ? yaml_member(entry, "arg") : NULL;

        if (other != NULL && span_equals(arg->json, other->json) && !holds(t, before, true, entry))
            return entry;
    }
    return NULL;
}

static void tell_successor(struct diff_telling *t, const struct yaml_node *gone, const struct yaml_node *entry)
{
    bool wider = false, is_sure = is_one_way(t, gone, entry, &wider);

    SAY(t, "asks ");
    say_node(t, entry);
    SAY(t, "; it asked ");
    say_node(t, gone);
    keep(t, is_sure ? way_of(t->pair, wider) : either(t->pair));
}

/* The same words that now stand for something else. */
static void compare_definitions(struct diff_telling *t, const struct yaml_node *node, enum diff_way way)
{
    const struct yaml_node *before = definition(&t->pair->before, node), *after = definition(&t->pair->after, node);

    if (before != NULL && after != NULL && !same(&t->pair->before, before, &t->pair->after, after)) {
        SAY(t, "asks by the %.*s `%.*s`, which is ", SPAN_ARG(node->key), SPAN_ARG(span_part(node->text, 0, 80)));
        say_node(t, after);
        SAY(t, " and was ");
        say_node(t, before);
        keep(t, way);
    }
    for (const struct yaml_node *member = node->child; member != NULL; member = member->next)
        compare_definitions(t, member, way);
}

/* The entry that is written like this one, whatever its patterns and lists stand for; or NULL. */
static const struct yaml_node *reads_alike(const struct yaml_node *list, const struct yaml_node *entry)
{
    static const struct diff_rule nobody;

    for (const struct yaml_node *member = list ? list->child : NULL; member != NULL; member = member->next)
        if (same(&nobody, member, &nobody, entry))
            return member;
    return NULL;
}

static void compare_when(struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after)
{
    for (const struct yaml_node *gone = before ? before->child : NULL; gone != NULL; gone = gone->next) {
        const struct yaml_node *next, *alike;
        bool wider = false;

        if (holds(t, after, false, gone))
            continue;
        next = successor(t, gone, before, after);
        alike = reads_alike(after, gone);
        if (alike != NULL) {
            bool is_sure = is_one_way(t, gone, alike, &wider);

            compare_definitions(t, gone, is_sure ? way_of(t->pair, wider) : either(t->pair));
        } else if (next != NULL) {
            tell_successor(t, gone, next);
        } else {
            SAY(t, "no longer asks ");
            say_node(t, gone);
            keep(t, way_of(t->pair, true));
        }
    }
    for (const struct yaml_node *entry = after ? after->child : NULL; entry != NULL; entry = entry->next) {
        if (holds(t, before, true, entry) || reads_alike(before, entry) != NULL)
            continue;
        if (before != NULL && successor(t, entry, after, before) != NULL)
            continue; /* told with the one that it replaces */
        SAY(t, "also asks ");
        say_node(t, entry);
        keep(t, way_of(t->pair, false));
    }
}

/* ---- everything else ---- */

static enum diff_way other_way(const struct diff_telling *t, struct span key, const struct yaml_node *before,
                               const struct yaml_node *after)
{
    static const char *const harmless[] = {"reason", "say", "slow_regex", NULL};
    bool wider = false;

    for (const char *const *word = harmless; *word != NULL; word++)
        if (span_is(key, *word))
            return DIFF_NOTHING;
    if (before == NULL || after == NULL)
        return way_of(t->pair, after == NULL);
    return is_one_way(t, before, after, &wider) ? way_of(t->pair, wider) : either(t->pair);
}

static void compare_other(struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after)
{
    struct span key = before ? before->key : after->key;

    SAY(t, "`%.*s` ", SPAN_ARG(key));
    if (after != NULL) {
        SAY(t, "is now ");
        say_node(t, after);
    }
    if (before != NULL) {
        SAY(t, after != NULL ? "; it was " : "is left out; it was ");
        say_node(t, before);
    }
    keep(t, other_way(t, key, before, after));
}

static void compare_member(struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after)
{
    struct span key = before ? before->key : after->key;

    if (span_is(key, "id") || span_is(key, "effect") || span_is(key, "mode"))
        return; /* told from what they became */
    if (span_is(key, "when")) {
        compare_when(t, before, after);
        return;
    }
    if (before != NULL && after != NULL && same(&t->pair->before, before, &t->pair->after, after))
        return;
    if (span_is(key, "match"))
        each_member(t, before, after, compare_names);
    else if (span_is(key, "only_args"))
        compare_list(t, "only_args", before, after);
    else
        compare_other(t, before, after);
}

/* What was held is perhaps denied now: an undecided require_approval applied, an undecided permit does not. */
static enum diff_way effect_way(const struct rule *before, const struct rule *after)
{
    if (before->monitor && after->monitor)
        return DIFF_NOTHING;
    if (after->effect == EFFECT_PERMIT)
        return before->effect == EFFECT_FORBID ? DIFF_PERMITS : DIFF_RELEASES;
    return after->effect == EFFECT_FORBID ? DIFF_DENIES : DIFF_HOLDS;
}

static void compare_nature(struct diff_telling *t, const struct rule *before, const struct rule *after)
{
    if (before->effect != after->effect) {
        SAY(t, "is a %s, was a %s", effect_text(after->effect), effect_text(before->effect));
        keep(t, effect_way(before, after));
    }
    if (before->monitor != after->monitor) {
        struct diff_pair enforced = {.after.rule = before->monitor ? after : before};

        SAY(t, after->monitor ? "is only monitored, was enforced" : "is enforced, was only monitored");
        keep(t, way_of(&enforced, before->monitor));
    }
    if (!span_equals(before->source->name, after->source->name)) {
        SAY(t, "stands in the policy `%.*s`, stood in `%.*s`", SPAN_ARG(after->source->name), SPAN_ARG(before->source->name));
        keep(t, DIFF_NOTHING);
    }
}

/* What a rule says that is new or gone. */
static void tell_whole(struct diff_telling *t, const struct diff_rule *rule, bool is_new)
{
    const struct yaml_node *match = rule->node ? yaml_member(rule->node, "match") : NULL;
    const struct yaml_node *when = rule->node ? yaml_member(rule->node, "when") : NULL;

    SAY(t, is_new ? "is new" : "is gone");
    if (rule->rule->monitor)
        SAY(t, " (only monitored)");
    SAY(t, ": for %s", match != NULL && match->count > 0 ? "" : "all calls");
    if (match != NULL)
        say_members(t, match, ", ", true, NULL);
    for (const struct yaml_node *entry = when ? when->child : NULL; entry != NULL; entry = entry->next) {
        SAY(t, entry == when->child ? " where " : " and ");
        say_node(t, entry);
    }
    for (const struct yaml_node *member = rule->node ? rule->node->child : NULL; member != NULL; member = member->next)
        if (span_is(member->key, "only_args") || span_is(member->key, "limit")) {
            SAY(t, ", %.*s ", SPAN_ARG(member->key));
            say_node(t, member);
        }
    keep(t, way_of(t->pair, is_new));
}

enum code diff__compare(struct diff *diff, struct diff_pair *pair)
{
    struct diff_telling t = {.diff = diff, .pair = pair};
    const struct yaml_node *before = pair->before.node, *after = pair->after.node;
    size_t first = diff->change_count;

    buf_init(&t.text, TEXT_MAX_BYTES);
    if (pair->before.rule == NULL || pair->after.rule == NULL) {
        tell_whole(&t, pair->after.rule ? &pair->after : &pair->before, pair->after.rule != NULL);
    } else if (before != NULL && after != NULL) {
        compare_nature(&t, pair->before.rule, pair->after.rule);
        each_member(&t, before, after, compare_member);
    }
    buf_fini(&t.text);
    for (size_t i = first; i < diff->change_count; i++)
        pair->differs |= diff->changes[i].way != DIFF_NOTHING;
    return t.code;
}

enum code diff__compare_redactions(struct diff *diff, struct span file, const struct yaml_node *before,
                                   const struct yaml_node *after)
{
    struct diff_pair nobody = {.differs = false};
    struct diff_telling t = {.diff = diff, .pair = &nobody};
    const struct yaml_node *const sides[] = {before, after};

    buf_init(&t.text, TEXT_MAX_BYTES);
    for (int side = 0; side < 2; side++)
        for (const struct yaml_node *entry = sides[side] ? sides[side]->child : NULL; entry; entry = entry->next) {
            if (reads_alike(sides[!side], entry) != NULL)
                continue;
            SAY(&t, "the policy `%.*s` %s in the audit: ", SPAN_ARG(file), side == 0 ? "no longer redacts" : "also redacts");
            say_members(&t, entry, ", ", true, NULL);
            t.pair = NULL;
            keep(&t, DIFF_NOTHING);
            t.pair = &nobody;
        }
    buf_fini(&t.text);
    return t.code;
}
